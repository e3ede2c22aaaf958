"""The one loader of what model files hold: shapes, types, ranges and domains, and what each sentence names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

from hetcore.errors import ModelFileError
from hetcore.parameters import Interval, OneOf
from hetcore.schema import SHARES, Array, Stored, array, block, prefixed, value


@dataclass(frozen=True)
class Line(Stored):
    coef: NDArray = array("d K")
    spread: NDArray = array("d", np.float32, low=0)
    counts: NDArray = array("K", np.int64, 1, 9)
    width: float = value(Interval(0, ends="()"))
    kind: str = value(OneOf("a", "b"))


def parts():
    arrays = {"coef": np.ones((3, 2)), "spread": np.zeros(3, np.float32), "counts": np.array([1, 9])}
    return {"width": 0.5, "kind": "a"}, arrays


def test_what_is_written_is_read():
    meta, arrays = parts()
    line = Line.from_state(meta, arrays, K=2)
    assert (line.width, line.kind) == (0.5, "a") and line.coef is arrays["coef"]
    again, written = line.to_state()
    assert again == meta and list(written) == list(arrays)
    assert_array_equal(written["counts"], [1, 9])
    with pytest.raises(AttributeError):
        line.width = 1.0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("coef", None),
        ("coef", np.ones((3, 3))),
        ("coef", np.ones(3)),
        ("coef", np.ones((3, 2), np.float32)),
        ("coef", np.full((3, 2), np.inf)),
        ("spread", np.zeros(4, np.float32)),
        ("spread", -np.ones(3, np.float32)),
        ("spread", np.full(3, np.nan, np.float32)),
        ("counts", np.array([0, 1])),
        ("counts", np.array([1, 10])),
        ("width", 0.0),
        ("width", "0.5"),
        ("width", None),
        ("kind", "c"),
    ],
)
def test_anything_else_is_refused_by_its_name(name, wrong):
    meta, arrays = parts()
    kept = meta if name in meta else arrays
    kept[name] = wrong
    if wrong is None:
        kept.pop(name)
    with pytest.raises(ModelFileError, match=name) as caught:
        Line.from_state(meta, arrays, K=2)
    assert str(caught.value).endswith(": save it again.")


@pytest.mark.parametrize("allows, number", [("", np.nan), ("", np.inf), ("inf", np.nan), ("nan", -np.inf)])
def test_a_number_that_is_not_finite_is_named_as_such_unless_its_kind_is_allowed(allows, number):
    given = {"numbers": np.array([1.0, number])}
    with pytest.raises(ModelFileError, match="'numbers' that are not finite"):
        Array("n", allows=allows).read(given, "numbers")
    assert Array("n", allows=f"{allows} {'nan' if number != number else 'inf'}").read(given, "numbers").size == 2


@pytest.mark.parametrize("share", [np.nan, np.inf, -0.1, 1.1, "1", True, None])
def test_a_share_is_a_number_from_0_to_1(share):
    assert {"a": 0.0, "b": 1.0} in SHARES and {"a": share} not in SHARES


def test_a_letter_is_one_size_throughout():
    sizes = {"d": 3}
    Array("m d").read({"points": np.zeros((5, 3))}, "points", sizes)
    assert sizes == {"m": 5, "d": 3}
    with pytest.raises(ModelFileError, match="'dual'.*float64 of shape \\(m, K\\)"):
        Array("m K").read({"dual": np.zeros((4, 1))}, "dual", sizes)
    assert Array("n").read({"none": np.zeros(0)}, "none").size == 0


def test_blocks_are_put_under_a_name_and_taken_apart():
    arrays = {"a": np.zeros(1), "b": np.ones(1)}
    assert block(prefixed("x", arrays) | prefixed("xy", {"a": np.ones(2)}), "x") == arrays
