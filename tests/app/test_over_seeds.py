"""What a comparison over seeds may say: no verdict before all seeds are in, and what its interval is of."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.jobs.running import PATIENCE

LOWER = [[0.30, 0.25], [0.31, 0.26], [0.30, 0.26], [0.29, 0.24]]


def _looked_at(pairs, state):
    from types import SimpleNamespace

    from studio.jobs.job import Status
    from studio.views.common import widgets_chance

    events = [SimpleNamespace(detail={"metric": "error", "pairs": pairs})]
    widgets_chance._look(Status("run", state), events, lambda: None, "key")


@pytest.mark.parametrize("state", ["running", "stopped"])
def test_some_of_the_seeds_tell_nothing_of_chance(state):
    page = AppTest.from_function(_looked_at, args=(LOWER, state), default_timeout=PATIENCE).run()
    text = page.markdown[0].value.replace("\\", "")
    assert not page.exception and "over 4 of 10 seeds, too few to tell" in text and "chance" not in text


def test_all_seeds_tell_and_the_interval_is_of_the_mean():
    page = AppTest.from_function(_looked_at, args=(LOWER[:2] * 5, "finished"), default_timeout=PATIENCE).run()
    text = page.markdown[0].value.replace("\\", "")
    assert not page.exception and "over 10 seeds: beyond chance: lower" in text
    assert "where the mean difference over many more seeds would lie, with 95% confidence" in text
    assert "95 of 100 such draws" not in text
