"""One real JupyterLab in the browser tier: a slider moved, a training watched to its end, its model used.

The whole journeys, and marimo's, are in `test_notebooks`, a tier of its own.
"""

from __future__ import annotations

import pytest
from e2e_notebook import jupyterlab, notebook_of
from e2e_studio import TRAINING
from playwright.sync_api import expect
from test_notebooks import LIVE, ended, opened, output, press, run_cell

pytestmark = pytest.mark.e2e

WATCH = """import datasets
import hetcore as hc
data = datasets.load("planted")
widget = hc.watch(hc.GBCRegressor(n_iterations=8, as_printed=True, random_state=0), data)
widget"""
USE = "print(widget.state, widget.params['max_depth'], widget.model_.max_depth, widget.model_.predict(data).shape)"


def test_a_slider_is_moved_a_training_watched_and_its_model_used_in_the_next_cell(tmp_path, page):
    (tmp_path / "run.ipynb").write_bytes(notebook_of(WATCH, USE))
    with jupyterlab(tmp_path) as url:
        opened(page, url)
        run_cell(page, 0)
        live = page.locator(LIVE)
        expect(live).to_be_visible(timeout=TRAINING)
        live.get_by_role("slider", name="Depth").press("ArrowRight")
        press(page, "Train")
        ended(page, "finished")
        expect(live).to_have_attribute("data-rounds", "8")
        run_cell(page, 1)
        expect(output(page, 1)).to_have_text("finished 6 6 (600,)\n", timeout=TRAINING)
    assert page.foreign == []
