"""Regressions of uneven noise: sizes, halves, and columns that would give the target away."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from datasets import suite
from datasets.suite import noise
from hetcore.data.plain import plain_table

REAL = Path(os.environ.get("HETCORE_DATA", Path(__file__).parents[3] / "shared" / "data"))
SIZES = {
    "airfoil": (1503, 5), "machine": (207, 6), "concrete": (1030, 8), "energy": (768, 8), "yacht": (308, 6),
    "wine_red": (1599, 11), "power_plant": (5000, 4), "naval": (5000, 16), "fires": (517, 12), "skillcraft": (3338, 18),
    "imports": (159, 25), "servo": (167, 4), "protein": (5000, 9), "bikes": (5000, 13), "tickets": (337, 411),
    "employment": (334, 263), "issues": (1137, 23), "water": (1060, 16),
}  # fmt: skip


def test_six_are_to_choose_on_and_twelve_to_report():
    assert {problem.name for problem in noise.PROBLEMS} == {f"noise_{name}" for name in SIZES}
    halves = [problem.half for problem in noise.PROBLEMS]
    assert (halves.count("choosing"), halves.count("reporting")) == (6, 12)
    assert {problem.name for problem in suite.problems("noise")} > {f"noise_{name}" for name in SIZES}


@pytest.mark.slow
@pytest.mark.skipif(not REAL.is_dir(), reason="no real data")
@pytest.mark.parametrize("name", SIZES)
def test_a_table_has_its_size_and_no_column_that_is_the_target(name, monkeypatch):
    monkeypatch.setenv("HETCORE_DATA", str(REAL))
    data = suite.load(f"noise_{name}")
    X, y, _ = plain_table(data)
    source = data.sources["features"]
    assert (data.n, len(source.columns)) == SIZES[name] and np.isfinite(y).all() and np.unique(y).size > 3
    known = np.nan_to_num(X[:, np.nanstd(X, axis=0) > 0])
    assert np.abs(np.corrcoef(np.column_stack([known, y]).T)[-1, :-1]).max() < 0.999


def test_lines_of_another_width_and_marks_of_what_is_missing():
    cells = noise._cells("1,2,3\r4,?,6\r\n7,8\n\n9 10\t11\n")
    np.testing.assert_array_equal(cells, [[1, 2, 3], [4, np.nan, 6], [9, 10, 11]])
    np.testing.assert_array_equal(noise._cells("@relation a\n@data\n1,2\n"), [[1, 2]])
