"""Likelihood with tails: degrees of freedom that are planted are found, and a density of t is below the normal one."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.noise import tails as module
from experiments.noise.tails import densities, main
from hetcore.heteroscedastic.tails import tails


@pytest.mark.parametrize(("degrees", "factor"), [(3.0, 0.5), (1000.0, 1.0)])
def test_planted_tails_are_found(degrees, factor):
    z = factor * np.random.default_rng(0).standard_t(degrees, 4000)
    found, scale = tails(z)
    assert degrees / 2 < found < 2 * degrees or min(found, degrees) >= 25
    assert scale == pytest.approx(factor, rel=0.05)


def test_densities_are_of_labels_where_rows_far_out_are_common():
    rng = np.random.default_rng(1)
    z, later = rng.standard_t(2.5, (2, 500))
    normal, with_tails = densities(3.0 + 2.0 * later, np.full(500, 3.0), np.full(500, 2.0), z)
    assert normal > with_tails + 0.1
    # in another unit both move by the logarithm of it
    twice = densities(6.0 + 4.0 * later, np.full(500, 6.0), np.full(500, 4.0), z)
    assert np.subtract(twice, (normal, with_tails)) == pytest.approx(np.log(2.0))


def test_a_row_for_each_set_and_how_often_ours_is_lowest(monkeypatch, capsys):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    monkeypatch.setattr(module, "table", lambda name: (X, y))
    monkeypatch.setitem(
        module.PREDICTORS, "wide", lambda X, y, later: (np.zeros(len(later)), np.ones(len(later)), 1, 1)
    )
    assert main(["--sets", "noise_a", "--peers", "wide", "--splits", "2"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[2].startswith("| a | ")
    assert len(printed[2].split("|")) == len(printed[0].split("|")) == 7
    assert printed[-1] == "HGBM has the lowest NLL of all: normal 1 of 1; Student's t 1 of 1."
