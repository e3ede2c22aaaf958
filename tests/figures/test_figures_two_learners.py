"""Confusion matrices against counts by hand."""

from __future__ import annotations

import numpy as np

from hetcore.figures.two_learners import MOST_CLASSES, confusion


def test_shares_of_a_confusion_are_of_all_rows_of_a_class():
    truth = np.repeat([f"class {k:02}" for k in range(MOST_CLASSES)], 4)
    # one row of four of the first class is taken for one that is too rare to be drawn
    predicted = truth.copy()
    predicted[0] = "rare"
    heat = confusion(truth, predicted)["data"][0]
    assert "rare" not in heat["x"] and len(heat["x"]) == MOST_CLASSES
    np.testing.assert_array_equal(np.diag(heat["z"]), [0.75, *np.ones(MOST_CLASSES - 1)])
    assert heat["customdata"][0, 0] == 3
