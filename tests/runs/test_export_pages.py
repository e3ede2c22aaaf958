"""What each page's runs export: script and notebook print the run's number, predictions and model agree with it."""

from __future__ import annotations

import contextlib
import io
import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import datasets
import hetcore as hc
from hetcore.data import HetData
from hetcore.player import Player
from studio import forms, scenarios
from studio.jobs.job import Setting, TrainingTask
from studio.jobs.results import RunResult
from studio.jobs.worker import child_environment
from studio.jobs.worker_tasks import perform
from studio.runs import export, rendering
from studio.runs import table as run_table
from studio.runs.run import Run
from studio.views.collective import settings
from studio.views.common import training
from studio.views.noise import settings as noise
from studio.views.transfer import domains
from studio.views.transfer import widgets_settings as transfer
from studio.views.two_learners import settings as two_learners

HALF = [{"op": "labels", "fraction": 0.5, "seed": 1}]


class Case(NamedTuple):
    """A page, an example and the setting of one training there."""

    page: str
    example: str
    setting: Setting

    def __str__(self) -> str:
        return f"{self.page}-{self.setting.estimator}-{self.example}"


@cache
def loaded(name: str) -> HetData:
    return datasets.load(name)


def _consensus() -> list[Case]:
    small = {"n_iterations": 4, "random_state": 0}
    corrupted = [{"op": "noise", "name": "source_1", "sd": 1.0, "seed": 0}, *HALF]
    classes = [{"op": "drop_source", "name": "pix"}, {"op": "drop_graph", "name": "morph_noise"}, *HALF]
    classes = [each for each in classes if each.get("name") in (None, *loaded("digits_views").source_names)]
    return [
        Case("Consensus", "planted", Setting("GBCRegressor", small, corrupted)),
        Case("Consensus", "planted", Setting("GBCRegressor", small | {"as_printed": True}, HALF)),
        Case("Consensus", "digits_views", Setting("GBCClassifier", small | {"max_depth": 2}, classes)),
    ]


def _collective() -> list[Case]:
    data = loaded("autocorrelated")
    params = {"n_iterations": 2, "first_trees": 5, "trees_per_stage": 3, "random_state": 0}
    made = settings.settings(data, params, ("rf1", "rf4"), data.graph_names, HALF)
    return [Case("Collective", "autocorrelated", setting) for setting in made.values()]


def _transfer() -> list[Case]:
    data = loaded("planted_domains")
    target, *sources = data.source_names
    choice = transfer.Choice(
        target, tuple(sources), domains.first_class(data), examples=3, corrupted=(sources[0], 0.2), eta="linear",
        update="exponential", eta_on=None, n_iterations=4, max_depth=2, seed=0,
    )  # fmt: skip
    made = transfer.settings(data, choice, domains.METHODS)
    return [Case("Transfer", "planted_domains", setting) for setting in made.values()]


def _noise() -> list[Case]:
    cases = []
    for mode, examples, params in (
        ("Table", ("planted_noise", "planted_flips"), {"n_iterations": 4, "random_state": 0}),
        ("Matrix", ("planted_ratings",), {"n_iterations": 3, "n_factors": 3, "random_state": 0}),
        ("Tensor", ("planted_sensors",), {"n_iterations": 3, "n_factors": 3, "random_state": 0}),
    ):
        for example in examples:
            data = loaded(example)
            codes = noise.records(data, 3 if mode == "Tensor" else 2)[1] if mode != "Table" else ()
            corrupted = noise.operations_of(data, 0.6, 0.1, 1.0, 0)
            made = noise.settings(mode, data, params, corrupted, codes)
            cases += [Case("Noise", example, setting) for setting in made.values()]
    return cases


def _two_learners() -> list[Case]:
    data, learners = loaded("two_modalities"), {"table": "tree", "image": "network"}
    small = {"n_iterations": 2, "epochs": 2, "inner_iterations": 1, "network_epochs": 2, "random_state": 0}
    made = two_learners.settings(data, learners, two_learners.labels(data, learners), small, HALF)
    return [Case("Two learners", "two_modalities", setting) for setting in made.values()]


CASES = [*_consensus(), *_collective(), *_transfer(), *_noise(), *_two_learners()]


@cache
def trained(place: int) -> tuple[Run, RunResult]:
    """Return the run that a page stores, and what its worker sent back."""
    page, example, setting = CASES[place]
    task = TrainingTask(setting.estimator, setting.params, loaded(example), operations=setting.operations,
                        fit_params=setting.fit, form=setting.form)  # fmt: skip
    result = perform(task, Player([].append))
    run = training.run_of(page, setting, {"example": example}, example, "anna", results=training.results_of(result))
    return run, result


def printed_by(cells: list[str]) -> tuple[str, dict[str, Any]]:
    """Return what code prints, cell by cell, and the names that it leaves."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for cell in cells:
            exec(compile(cell, "exported", "exec"), names)  # noqa: S102 - what an exported script does
    return printed.getvalue(), names


def code_cells(notebook: bytes) -> list[str]:
    cells = json.loads(notebook)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def expected(result: RunResult) -> str:
    """Return the number of a run as the script prints it."""
    return repr(result.scores.get("held_out", result.scores.get("train")))


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(CASES)), ids=map(str, CASES))
def test_script_and_notebook_print_the_number_of_the_run(place):
    run, result = trained(place)
    script, _ = printed_by([export.script_of_run(run)])
    notebook, names = printed_by(code_cells(export.notebook_of_run(run)))
    assert script == notebook and script.split()[-1] == expected(result)
    rows = names["X"] if "X" in names else names["data"]
    assert list(names["model"].predict(rows)) == result.predictions["prediction"].to_list()


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(CASES)), ids=map(str, CASES))
def test_the_model_that_is_taken_away_predicts_what_the_table_says(place):
    run, result = trained(place)
    offers = run_table.downloads(run, result.predictions, result.model)
    assert {"Predictions (CSV)", "Predictions (Parquet)", "Script", "Notebook"} <= set(offers)
    table = pl.read_parquet(io.BytesIO(offers["Predictions (Parquet)"][1]))
    assert table.equals(result.predictions)
    assert pl.read_csv(offers["Predictions (CSV)"][1], infer_schema=False).height == table.height
    assert "Model" in offers, "every method of a page can be saved"
    scenario = scenarios.apply(loaded(CASES[place].example), run.settings["operations"])
    rows = forms.placed(scenario.data, run.settings["form"]).X if "form" in run.settings else scenario.data
    model = hc.load(offers["Model"][1])
    assert np.asarray(model.predict(rows)).tolist() == table["prediction"].to_list()


@pytest.mark.slow
def test_a_kernel_runs_the_notebook(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    run, result = trained(0)
    notebook = nbformat.reads(export.notebook_of_run(run).decode(), as_version=4)
    nbformat.validate(notebook)
    resources = {"metadata": {"path": str(tmp_path)}}
    done = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute(
        env=child_environment()
    )
    outputs = [output for cell in done.cells for output in cell.get("outputs", ())]
    printed = [output["text"] for output in outputs if output.output_type == "stream"]
    assert printed[-1].split()[-1] == expected(result)


@pytest.mark.slow
@pytest.mark.parametrize("kind, begins", [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_figure_is_drawn_where_there_is_a_renderer(kind, begins):
    if reason := rendering.missing():
        pytest.skip(reason)
    run, result = trained(0)
    from studio.runs.compare import curves

    (figure,) = curves({"1. run": run}, {"1. run": result.history}).values()
    assert rendering.image(figure, kind).startswith(begins)


def test_without_a_renderer_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "")
    monkeypatch.setattr("studio.runs.rendering.shutil.which", lambda name: None)
    monkeypatch.setattr("studio.runs.rendering.importlib.util.find_spec", lambda name: object())
    assert "install Chromium" in rendering.missing()
    monkeypatch.setattr("studio.runs.rendering.importlib.util.find_spec", lambda name: None)
    assert "pip install kaleido" in rendering.missing()
    with pytest.raises(hc.errors.DataError, match="kaleido"):
        rendering.image({"data": []})
