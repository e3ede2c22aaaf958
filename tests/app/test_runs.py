"""The Runs page: list, name, compare, delete, reopen, take away."""

from __future__ import annotations

import secrets
from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from hetcore.data import HetData
from studio.jobs import manager
from studio.jobs.job import Job, TrainingTask
from studio.runs import compare as run_compare
from studio.runs import reopening, store, table
from studio.runs.run import Run
from studio.session import Current
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PARAMS = {"lambda0": 1.0, "lambda1": 0.5, "n_iterations": 3}


@pytest.fixture
def owner() -> str:
    """A new session's name."""
    return secrets.token_hex(8)


def stored(owner: str, error: float = 0.05, prediction: str = "a", **more) -> str:
    """Store a run as the Consensus page does."""
    settings = {"data": {"example": "digits_views"}, "operations": [], "params": PARAMS | more.pop("params", {})}
    results = {
        "scores": {"metric": "error", "train": 0.0, "held_out": error},
        "source_weights": {"fou": 0.4, "pix": 0.6},
        "rounds": 3,
    }
    run = Run(owner, "Consensus", "GBCClassifier", "digits_views", settings=settings, results=results, **more)
    history = pl.DataFrame({"iteration": [0, 1, 2], "metric:held_out": [0.5, 0.2, error]})
    predictions = pl.DataFrame({"id": ["i0", "i1"], "held_out": ["a", "a"], "prediction": ["a", prediction]})
    return store.shared().add(run, history, predictions, b"model")


def opened(owner: str, **state) -> AppTest:
    """Open 9_Runs.py as the session of this owner."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.session_state["owner"] = owner
    for name, value in state.items():
        app.session_state[name] = value
    app.run()
    return app.switch_page("pages/9_Runs.py").run()


def button(app: AppTest, label: str):
    """Return the button of this name."""
    return next(button for button in app.button if button.label == label)


def words(app: AppTest) -> str:
    """Return all the text of a page."""
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.subheader])


def test_without_runs_it_says_how_to_get_one(owner):
    app = opened(owner)
    assert not app.exception
    assert "No runs yet" in words(app) and not app.dataframe


def test_lists_what_tells_runs_apart(owner):
    stored(owner, 0.031, name="first")
    app = opened(owner)
    assert not app.exception
    row = app.dataframe[0].value.iloc[0]
    assert (row["name"], row["result"], row["rounds"], row["status"]) == ("first", "error 3.1%", 3, "finished")


def test_others_runs_are_not_shown(owner):
    stored("somebody else", name="secret")
    stored(owner, name="mine")
    assert list(opened(owner).dataframe[0].value["name"]) == ["mine"]


def test_a_run_can_be_renamed(owner):
    run_id = stored(owner)
    app = opened(owner)
    app.text_input[0].set_value("  the best\none ")
    button(app, "Save name").click().run()
    assert not app.exception
    assert store.shared().get(owner, run_id).name == "the best one"
    assert "the best one" in list(app.dataframe[0].value["name"])


def test_a_run_is_deleted_after_a_question_and_the_others_stay(owner):
    old, new = stored(owner, name="old"), stored(owner, name="new")
    app = opened(owner)
    assert "Delete **new** for good" in words(app)
    button(app, "Yes, delete").click().run()
    assert not app.exception
    assert [run.id for run in store.shared().list(owner)] == [old] and new != old


def test_a_run_that_is_deleted_is_not_opened_by_its_link_either(owner):
    run_id = stored(owner)
    manages = manager.manager()
    # Seen now: one that was seen last when the machine started is forgotten at the next look at runs that ended.
    task, now = TrainingTask("GBCClassifier", PARAMS, None), manages.clock()
    manages.restore(Job(run_id, owner, task, paused=False, last_seen=now, state="finished"))
    app = opened(owner)
    assert manager.manager().status(run_id, owner).state == "finished"
    button(app, "Yes, delete").click().run()
    with pytest.raises(manager.UnknownRunError):
        manager.manager().status(run_id)


def test_two_runs_are_compared_by_settings_curves_weights_and_instances(owner):
    first, second = stored(owner, params={"lambda0": 2.0}), stored(owner, prediction="b")
    app = opened(owner, chosen_runs=[first, second])
    assert not app.exception
    differing = app.dataframe[2].value
    assert list(differing["setting"]) == ["λ0"]
    assert list(differing.iloc[0])[1:] == ["2", "1"]
    text = words(app).replace("\\", "")
    assert "1 of 2 predictions differ between runs 1 and 2. Of the 1 with a known label, run 1 is right in 1" in text
    assert "Not kept" not in words(app)


def test_weights_of_sources_and_of_graphs_each_have_a_chart_of_their_own(owner):
    results = {"scores": {}, "source_weights": {"fou": 0.4, "pix": 0.6}, "graph_weights": {"cites": 1.0}}
    run = Run(owner, "Consensus", "GBCClassifier", "films", settings={}, results=results)
    assert table.weights(run) == {"fou": 0.4, "pix": 0.6} and table.weights(run, graphs=True) == {"cites": 1.0}
    app = opened(owner, chosen_runs=[store.shared().add(run, None, None, None)])
    assert not app.exception
    titles = {f"##### Weights of {kind}, among themselves" for kind in ("sources", "graphs")}
    assert titles <= {each.value for each in app.markdown}


def test_graphs_have_colours_of_their_own_beside_the_sources(owner, monkeypatch):
    tables = {name: pl.DataFrame({"id": ["1", "2"], "x": [0.0, 1.0]}) for name in ("fou", "pix")}
    data = HetData(tables, {"cites": pl.DataFrame({"source": ["1"], "target": ["2"]})})
    results = {"scores": {}, "source_weights": {"fou": 0.4, "pix": 0.6}, "graph_weights": {"cites": 1.0}}
    run = Run(owner, "Consensus", "GBCClassifier", "own", settings={}, results=results, digest=data.digest())
    run_id = store.shared().add(run, None, None, None)
    drawn = []
    draws = run_compare.weights_figure
    monkeypatch.setattr(run_compare, "weights_figure", lambda *given: drawn.append(draws(*given)) or drawn[-1])
    app = opened(owner, chosen_runs=[run_id], uploaded=Current(data, "own", "", {}))
    assert not app.exception
    sources, graphs = ({*figure["data"][0]["marker"]["color"]} for figure in drawn[-2:])
    assert (len(sources), len(graphs)) == (2, 1) and not sources & graphs


def test_runs_of_different_methods_and_measures_are_compared_on_an_axis_each(owner):
    first, second = stored(owner), stored(owner)
    results = {"scores": {"metric": "RMSE", "held_out": 9.5}, "rounds": 2}
    settings = {"data": {"example": "movie_revenue"}, "operations": [{"op": "labels", "fraction": 0.5, "seed": 0}],
                "params": {"leaf": "median"}, "fit": {"graph": ["producer"]}}  # fmt: skip
    other = Run(owner, "Collective", "MGBRegressor", "Films", settings=settings, results=results)
    history = pl.DataFrame({"iteration": [0, 1], "metric:held_out": [10.0, 9.5]})
    third = store.shared().add(other, history, pl.DataFrame({"id": ["f"], "label": [1.0], "prediction": [2.0]}), None)
    app = opened(owner, chosen_runs=[first, second, third])
    assert not app.exception
    assert list(app.dataframe[1].value["method"]) == ["GBCClassifier", "GBCClassifier", "MGBRegressor"]
    settings = app.dataframe[2].value.set_index("setting")
    assert list(settings.loc["changes to the data"])[-1] == "trained on 50% of the labels"
    assert list(settings.loc["leaf"]) == ["–", "–", "median"] and "graph" in settings.index
    assert "Judged by error and RMSE" in words(app) and "no instance in common" in words(app)


def test_runs_are_taken_away_as_files(owner):
    stored(owner)
    app = opened(owner)
    labels = {button.label for button in app.get("download_button")}
    assert {"Predictions (CSV)", "Predictions (Parquet)", "Model", "Script", "Notebook", "Everything (ZIP)"} <= labels


def test_names_are_shown_as_they_are(owner):
    stored(owner, name="[x](http://evil.example) <b>bold</b>")
    app = opened(owner)
    assert not app.exception
    assert "](http" not in words(app) and "<b>" not in words(app)


def test_a_run_of_files_that_are_gone_cannot_be_reopened(owner):
    settings = {"data": {"sources": []}, "params": {}}
    store.shared().add(Run(owner, "Consensus", "GBCClassifier", "films", settings=settings))
    app = opened(owner)
    assert not app.exception
    assert button(app, "Reopen").disabled


def test_a_trouble_of_the_store_is_reported(owner, monkeypatch):
    monkeypatch.setattr(store.RunStore, "warning", property(lambda _: "The database is [locked]."))
    monkeypatch.setattr(store.shared(), "list", lambda owner: [])
    assert "locked" in opened(owner).warning[0].value


def test_noise_of_another_draw_than_the_pages_stays_a_what_if():
    operations = [{"op": "noise", "name": "fou", "sd": 2.0, "seed": 7}, {"op": "labels", "fraction": 0.3, "seed": 0}]
    settings = {"data": {"example": "digits_views"}, "params": PARAMS, "operations": operations}
    run = Run("me", "Consensus", "GBCClassifier", "Digits", settings=settings)
    assert reopening.operations(run) == operations[:1]
    assert reopening.controls(run, "Digits", ["fou"], [])["noisy Digits"] == "none"


def test_reopening_parts_the_data_page_s_operations_from_the_consensus_page_s():
    before = [{"op": "sample", "fraction": 0.5, "seed": 0}, {"op": "drop_source", "name": "zer"}]
    own = [
        {"op": "noise", "name": "fou", "sd": 2.0, "seed": 0},
        {"op": "drop_source", "name": "pix"},
        {"op": "labels", "fraction": 0.3, "seed": 0},
    ]
    settings = {"data": {"example": "digits_views"}, "params": PARAMS, "operations": before + own}
    run = Run("me", "Consensus", "GBCClassifier", "Digits", settings=settings)
    assert reopening.operations(run) == before
    values = reopening.controls(run, "Digits", ["fou", "pix"], ["mor"])
    assert values == {
        "l0": 1.0, "l1": 0.5, "l0auto": False, "l1auto": False, "rounds": 3, "sources Digits": ["fou"],
        "graphs Digits": ["mor"], "known": 30,
        "noisy Digits": "fou", "sd": 2.0,
    }  # fmt: skip
