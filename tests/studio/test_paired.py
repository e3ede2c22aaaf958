"""Whether two models differ on the same instances."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from studio.views.common.paired import Paired, against, held_losses, paired


def _predictions(predicted, held_out):
    return pl.DataFrame({"prediction": predicted, "held_out": held_out})


def test_losses_are_of_hidden_labels_alone():
    assert held_losses(_predictions([1.0, 2.0, 5.0], [3.0, None, 4.0])).tolist() == [4.0, 1.0]
    assert held_losses(_predictions(["a", "b", "b"], ["a", "a", None])).tolist() == [0.0, 1.0]
    assert held_losses(_predictions([1.0], pl.Series([None], dtype=pl.Float64))) is None
    assert held_losses(pl.DataFrame({"prediction": [1.0]})) is None
    assert held_losses(None) is None


def test_a_difference_is_seen_beyond_two_standard_errors():
    rng = np.random.default_rng(0)
    theirs = rng.random(400)
    assert paired(theirs - 0.1 + 0.2 * rng.random(400), theirs).less is None
    assert paired(theirs - 0.3 + 0.2 * rng.random(400), theirs).less is True
    assert paired(theirs + 0.1 * rng.random(400), theirs).less is False
    assert paired(theirs, theirs).less is None
    gap = paired([1.0, 3.0], [0.0, 0.0])
    assert gap == (2.0, pytest.approx(1.0))


def test_results_that_can_not_be_paired_are_left_out():
    held = [1.0, 2.0, 3.0]
    results = {
        "GB": SimpleNamespace(predictions=_predictions([1.0, 2.0, 4.0], held)),
        "RGB": SimpleNamespace(predictions=_predictions([1.0, 2.0, 3.0], held)),
        "MGB": SimpleNamespace(predictions=_predictions([1.0, 2.0, 3.0], [1.0, None, 3.0])),
        "none": None,
    }
    found = against(results, "GB")
    assert set(found) == {"RGB"} and found["RGB"] == Paired(pytest.approx(-1 / 3), pytest.approx(1 / 3))
    assert against({"RGB": results["RGB"]}, "GB") == {}
