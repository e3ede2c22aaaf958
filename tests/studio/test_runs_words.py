"""What the Runs page says of runs that have nothing to draw."""

from __future__ import annotations

import pytest

from studio.runs import table
from studio.runs.run import Run

NONE = "This method has none."


@pytest.mark.parametrize(
    ("status", "words"),
    [("training", "Not yet"), ("interrupted", "did not end"), ("failed", "did not end"), ("finished", NONE)],
)
def test_a_run_that_has_not_ended_is_no_run_without_curve_and_weights(status, words):
    run = Run("anna", "Consensus", "GBCRegressor", "planted", status=status)
    assert words in table.why_none([run], NONE)
