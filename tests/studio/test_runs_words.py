"""What the Runs page says of runs that have nothing to draw."""

from __future__ import annotations

import polars as pl
import pytest

from studio.runs import compare, table
from studio.runs.run import Run

NONE = "This method has none."


@pytest.mark.parametrize(
    ("status", "words"),
    [("training", "Not yet"), ("interrupted", "did not end"), ("failed", "did not end"), ("finished", NONE)],
)
def test_a_run_that_has_not_ended_is_no_run_without_curve_and_weights(status, words):
    run = Run("anna", "Consensus", "GBCRegressor", "planted", status=status)
    assert words in table.why_none([run], NONE)
    # Beside one that ended, what did not end is no reason why that one has none.
    ended = Run("anna", "Consensus", "GBCRegressor", "planted", status="finished")
    assert table.why_none([ended, run], NONE) == (NONE if status != "training" else "Not yet: the training goes on.")


def test_a_change_that_all_runs_have_tells_none_of_them_apart():
    labels, drop = {"op": "labels", "fraction": 0.3, "seed": 0}, {"op": "drop_source", "name": "source_1"}
    settings = [(0.3, [labels]), (0.35, [labels]), (0.35, [drop, labels])]
    runs = [
        Run("anna", "Consensus", "GBCRegressor", "planted", settings={"params": {"lambda0": value}, "operations": done})
        for value, done in settings
    ]
    assert table.apart(runs, 60) == ["λ0 0.3", "λ0 0.35", "without the source source_1, λ0 0.35"]


@pytest.mark.parametrize("method, features", [("GBRegressor", {}), ("MGBClassifier", {"features": []})])
def test_plain_boosting_is_not_named_by_graphs_that_it_does_not_use(method, features):
    def runs(**more):
        settings = [{"label": "GB", "params": {"max_depth": 2} | more, "fit": {"graph": [name]}} for name in "ab"]
        return [Run("anna", "Collective", method, "Films", settings=each) for each in settings]

    assert table.apart(runs(**features), 60) == ["GB", "GB"]
    assert table.apart(runs(features=["rf1"]), 60)[:1] == ["graph a"] or method == "GBRegressor"


def test_curves_say_which_labels_they_are_scored_on_where_these_differ():
    held, learned = (pl.DataFrame({column: [0.5]}) for column in ("metric:held_out", "metric:train"))
    assert compare.scored_on({"1. a": held, "2. b": held}) == "On held-out labels."
    mixed = "Not on the same labels: run 1 on held-out labels, run 3 on training labels."
    assert compare.scored_on({"1. a": held, "2. b": None, "3. c": learned}) == mixed
    assert compare.scored_on({"1. a": None}) == ""


def test_a_result_on_labels_that_were_learned_from_says_so():
    learned = {"metric": "RMSE", "train": 0.289}
    scores = (learned, learned | {"held_out": 0.364})
    runs = [Run("anna", "Consensus", "GBCRegressor", "planted", results={"scores": each}) for each in scores]
    assert [*map(table.result, runs)] == ["RMSE 0.289 in training", "RMSE 0.364"]
    # In 90 pixels it read "RMSE 0.289 in trai".
    assert table.widths(runs)["result"] >= 150 and table.widths(runs[1:]) == table.WIDTHS


def test_what_tells_a_run_from_most_others_is_not_cut_off():
    drop = {"op": "drop_source", "name": "a table with a name of forty characters"}
    runs = [
        Run("anna", "Consensus", "GBCClassifier", "own", settings={
            "params": {"n_iterations": rounds}, "operations": [drop, {"op": "labels", "fraction": share, "seed": 0}],
        })
        for rounds, share in ((200, 0.5), (200, 0.6), (200, 0.7), (100, 0.8))
    ]  # fmt: skip
    runs.append(Run("anna", "Consensus", "GBCClassifier", "own", settings={"params": {"n_iterations": 100}}))
    names = table.apart(runs, 28)
    assert len({*names}) == 5 and names[0].startswith("trained on 50%") and names[3].startswith("trained on 80%")
    assert names[4] == "rounds 100" and max(map(len, names)) == 28


def test_weights_beside_each_other_stand_over_names_that_leave_them_room():
    name = "a table with a name of forty characters"
    figure = compare.weights_figure({"one": {name: 1.0}, "two": {name: 0.5, "2019": 0.5}})
    axis = figure["layout"]["xaxis"]
    assert axis["type"] == "category" and axis["ticktext"] == ["a table with a na…", "2019"]
    assert all(trace["customdata"] == [name, "2019"] for trace in figure["data"])
    many = compare.weights_figure({f"run {k}": {name: 1.0} for k in range(8)})
    assert many["layout"]["height"] == figure["layout"]["height"] + 6 * compare.ENTRY


def test_runs_on_own_data_name_their_files():
    recipes = [{"sources": [{"file": f"{name}.csv", "id": "", "name": name}]} for name in ("wine", "sensors")]
    runs = [Run("anna", "Noise", "HMF", "Your data", settings={"data": each}) for each in recipes]
    assert table.table(runs)["data"].to_list() == ["Your data: wine.csv", "Your data: sensors.csv"]
    example = Run("anna", "Noise", "HMF", "Planted ratings", settings={"data": {"example": "planted_ratings"}})
    assert table.table([example])["data"].to_list() == ["Planted ratings"]
