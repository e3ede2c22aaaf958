"""The Two learners page without a page: what suits, settings and labels, what a failing source costs, reopening."""

import numpy as np
import polars as pl
import pytest

import datasets
import hetcore as hc
from hetcore.data import Source
from hetcore.events import RoundEnd
from hetcore.figures import two_learners as figures
from hetcore.model_files import dumps
from studio import scenarios
from studio.runs import reopening
from studio.runs.run import Run
from studio.views.common.curves import kept
from studio.views.two_learners import settings, whatif, widgets
from studio.views.two_learners.settings import BRANCHES, FEATURES, FIRST, SECOND

PARAMS = {
    "n_iterations": 2, "step": "newton", "learning_rate": 0.5, "subsample": 0.8, "max_depth": 3, "min_samples_leaf": 5,
    "epochs": 2, "random_state": 3, "hessian": "exact", "inner_iterations": 1, "n_stages": 5, "network_epochs": 2,
    "fusion": "concatenation",
}  # fmt: skip
LABELS = {"op": "labels", "fraction": 0.5, "seed": 3}


def made(n=60, y=None, **sources):
    ids = [f"r{k}" for k in range(n)]
    tables = {name: Source(ids, values) for name, values in sources.items()}
    y = [["a", "b"][k % 2] for k in range(n)] if y is None else y
    return hc.HetData(tables, target=pl.DataFrame({"id": ids, "y": y}))


def table(seed=0, n=60):
    return pl.DataFrame(np.random.default_rng(seed).normal(size=(n, 2)), schema=["a", "b"])


def pixels(n=60):
    return np.random.default_rng(1).integers(0, 255, (n, 4, 4, 1), dtype=np.uint8)


def test_what_suits_and_what_does_not():
    assert settings.why_not(made(t=table(), i=pixels())) == ""
    assert "single source" in settings.why_not(made(t=table()))
    assert "is a number" in settings.why_not(made(y=[float(k) for k in range(60)], t=table(), i=pixels()))
    assert "the same class" in settings.why_not(made(y=["a"] * 60, t=table(), i=pixels()))
    assert "no label" in settings.why_not(made(y=[None] * 60, t=table(), i=pixels()))
    assert "different rows" in settings.why_not(datasets.load("planted_domains"))


def test_a_table_has_trees_and_what_is_beside_it_a_network():
    assert settings.first_learners(made(i=pixels(), t=table())) == {"t": "tree", "i": "network"}
    assert settings.first_learners(made(t=table(), u=table(1), v=table(2))) == {"t": "tree", "u": "network"}
    assert settings.possible_learners(Source(["a"], pixels(1)), deep=True) == ["network", "linear", "cnn"]
    assert settings.possible_learners(Source(["a"], pixels(1)), deep=False) == ["network", "linear"]
    assert settings.possible_learners(Source(["a"], np.ones((1, 5))), deep=True) == ["network", "linear"]


def test_labels_name_learner_and_source_and_settings_find_them_again():
    data, learners = made(t=table(), i=pixels(), u=table(1)), {"t": "tree", "i": "network"}
    known = settings.labels(data, learners)
    assert known == ["Trees on t", "Network on i", FIRST, SECOND, FEATURES, BRANCHES]
    found = settings.settings(data, learners, known, PARAMS, [LABELS])
    assert list(found) == known
    for label, setting in found.items():
        assert settings.label_of(setting.estimator, setting.params) == label
        assert setting.operations == [{"op": "drop_source", "name": "u"}, LABELS]
        getattr(hc, setting.estimator)(**setting.params)
    assert "inner_iterations" not in found[FIRST].params and found[SECOND].params["hessian"] == "exact"
    assert found[BRANCHES].params["n_iterations"] == 2 and "n_stages" not in found[BRANCHES].params
    assert list(settings.settings(data, learners, [SECOND], PARAMS, [])) == [SECOND]
    images = made(i=pixels(), j=pixels())
    assert settings.labels(images, {"i": "network", "j": "cnn"})[-1] == SECOND


def test_what_is_shown_has_its_colours_from_what_was_trained():
    data, learners = made(a=table(), b=table(1), i=pixels()), {"a": "linear", "i": "network"}
    every = settings.settings(data, learners, settings.labels(data, learners), PARAMS, [LABELS])
    assert list(settings.trained(data, every).items()) == list(learners.items())
    alone = {label: each for label, each in every.items() if label == "Network on i"}
    assert settings.labels(data, settings.trained(data, alone))[1] == "Network on i"
    assert settings.in_order(data, ["b", "i", "a"]) == ["a", "i", "b"]


def test_each_step_has_a_letter():
    assert list(settings.symbols("abcdefg").values()) == ["ε", "δ", "ζ", "η", "θ", "θ2", "θ3"]


def event(f1, index=0):
    return RoundEnd("m", index, 2, {"train": 1.0}, detail={"F1": {"train": 1.0, "held_out": f1}})


def test_the_verdict_compares_with_the_best_one_alone():
    events = {"Trees on t": [event(0.6)], "Network on i": [event(0.5), event(0.7, 1)], FIRST: [event(0.9)]}
    assert "Together gains 0.200 against Network on i" in settings.verdict(events)
    assert settings.verdict(events).startswith("F1, held out: Trees on t 0.600")
    events[FIRST] = [event(0.65)]
    assert "loses 0.050" in settings.verdict(events)
    # As the two shown numbers have it, .724 and .700, and not .025 of those behind them.
    events[FIRST] = [event(0.72449)]
    assert "gains 0.024" in settings.verdict(events | {"Network on i": [event(0.69951)]})
    events[FIRST] = [event(0.702)]
    assert "is no better than Network on i" in settings.verdict(events)
    assert settings.verdict({FIRST: [event(0.9)]}) == ""


def test_a_gain_of_few_rows_is_within_chance():
    truth = ["a", "b"] * 20
    frame = lambda wrong: pl.DataFrame({"held_out": truth, "prediction": ["b"] * wrong + truth[wrong:]})  # noqa: E731
    events = {"Trees on t": [event(0.6)], FIRST: [event(0.7)]}
    few = settings.verdict(events, {"Trees on t": frame(8), FIRST: frame(4)})  # 4 and 2 of 40 are wrong
    assert few.endswith("Within chance: their errors on 40 rows differ by less than two standard errors.")
    assert "chance" not in settings.verdict(events, {"Trees on t": frame(30), FIRST: frame(4)})
    assert "chance" not in settings.verdict(events)


def test_what_the_verdict_compares_is_compared_over_seeds_first():
    events = {"Trees on t": [event(0.6)], "Network on i": [event(0.7)], FIRST: [event(0.9)], FEATURES: [event(0.8)]}
    first, *more = settings.pairs(events)
    assert first == ("Network on i", FIRST)
    assert more == [(label, FEATURES) for label in ("Trees on t", "Network on i", FIRST)]
    assert settings.pairs({FIRST: [event(0.9)]}) == []


def test_a_change_is_of_the_numbers_shown_and_one_of_nothing_has_no_arrow(monkeypatch):
    deltas = []
    monkeypatch.setattr(widgets.st, "metric", lambda label, value, delta=None, **_: deltas.append(delta))

    def trained(f1):
        last = event(f1, 1)
        last.detail["metric"] = {"held_out": 1 - f1}
        return {FIRST: [event(0.5), last]}

    def predicted(right):
        return {
            FIRST: pl.DataFrame(
                {"held_out": ["a", "b"] * 10, "prediction": ["a", "b"] * right + ["a"] * (20 - 2 * right)}
            )
        }

    widgets.headline(trained(0.72449), trained(0.69951), {}, {})
    widgets.headline(trained(0.7001), trained(0.6999), {}, {})
    # Where both have predicted, of the predictions that are shown, not of the rounds.
    widgets.headline(trained(0.7), trained(0.6), predicted(10), predicted(10))
    assert deltas == ["+0.024", None, None]


def test_the_round_that_is_kept_is_the_best_one_by_validation():
    events = [event(0.6), event(0.8, 1), event(0.7, 2)]
    for each in events:
        each.detail["kept_round"] = min(each.index + 1, 2)
    assert settings.last_f1({FIRST: events}) == {FIRST: 0.8} and kept(events) is events[1]
    assert not settings.ended(events[0]) and settings.ended(events[1])  # two of two rounds
    events[0].detail["ended"] = True
    assert settings.ended(events[0])
    assert settings.last_f1({FIRST: [event(0.5)]}) == {FIRST: 0.5}


def test_f1_is_of_the_predictions_of_a_model_that_is_there():
    rows = {"label": ["a", "b", None, None], "held_out": [None, None, "a", "b"], "prediction": ["a", "b", "b", "b"]}
    frame = pl.DataFrame(rows)
    truth, predicted = settings.predicted_rows(frame)
    assert truth.tolist() == ["a", "b"] and predicted.tolist() == ["b", "b"]
    assert settings.last_f1({FIRST: [event(0.5)]}, {FIRST: frame, "gone": frame}) == {FIRST: pytest.approx(1 / 3)}
    assert settings.predicted_rows(frame.drop("held_out"))[0].tolist() == ["a", "b"]


def test_a_star_marks_a_round_that_is_not_the_last_one():
    series, order = {"a": ([1, 2, 3], [0.5, 0.7, 0.6]), "b": ([1, 2], [0.5, 0.6])}, ["a", "b"]
    drawn = figures.curves(series, ("round", "F1"), order, stars={"a": ([2], [0.7]), "b": ([2], [0.6])})
    stars = [trace for trace in drawn["data"] if trace["mode"] == "markers"]
    assert [(trace["name"], trace["x"], trace["y"]) for trace in stars] == [("a, kept", [2], [0.7])]


def test_steps_run_against_rounds_or_seconds():
    series = {"m": {"s": [1.0, 2.0]}}
    assert figures.per_source(series, "step", ["s"])["data"][0]["x"].tolist() == [1, 2]
    timed = figures.per_source(series, "step", ["s"], seconds={"m": [0.5, 0.9]})
    assert list(timed["data"][0]["x"]) == [0.5, 0.9] and "seconds" in timed["layout"]["xaxis"]["title"]["text"]


def test_as_printed_is_a_setting_and_opens_again():
    data, learners = made(t=table(), i=pixels()), {"t": "tree", "i": "network"}
    params = PARAMS | {"as_printed": True, "step": "fixed"}
    setting = settings.settings(data, learners, [FIRST], params, [])[FIRST]
    assert setting.params["as_printed"] and setting.params["step"] in settings.PRINTED
    run = Run("me", "Two learners", setting.estimator, "Mine", settings=setting.stored({"example": "planted"}))
    values = reopening.controls(run, "Mine", data.source_names, [])
    assert values["two_printed"] is True and values["two_printed_step"] == "fixed"


@pytest.fixture(scope="module")
def fitted():
    """Two halves of a label, and the models of each alone and of both."""
    data, _ = datasets.make_two_modalities(n=500, seed=0)
    small = PARAMS | {"n_iterations": 6, "epochs": 10}
    found = settings.settings(
        data, {"table": "tree", "image": "network"}, ["Trees on table", "Network on image", FIRST], small, [LABELS]
    )
    scenario = scenarios.apply(data, [LABELS])
    models = {}
    for label, setting in found.items():
        models[label] = getattr(hc, setting.estimator)(**setting.params).fit(scenario.data, scenario.y)
    return data, scenario, models


def contents(models):
    return {label: dumps(model) for label, model in models.items()}


def test_a_source_that_fails_costs_those_that_read_it(fitted):
    data, scenario, models = fitted
    seen = []
    cells = whatif.what_if(data, [LABELS], contents(models), "image", callbacks=[seen.append])
    assert len(seen) == len(cells) == 18 and seen[-1].total == 18
    f1 = whatif.by_model(cells)
    assert list(f1) == list(models)
    assert list(f1[FIRST]) == ["0", "0.5", "1", "2", "4", "blank"]
    assert len(set(f1["Trees on table"].values())) == 1
    rows = hc.metrics.known_targets(scenario.eval_y)
    sentence = models[FIRST].predict(data.select(sources=["table"]))[rows]
    assert f1[FIRST]["blank"] == hc.metrics.macro_f1(scenario.eval_y[rows], sentence)
    assert f1[FIRST]["0"] > f1[FIRST]["4"] and f1[FIRST]["0"] > f1[FIRST]["blank"] + 0.1
    words = whatif.summary(cells, "image")
    assert words.startswith("Without image, F1: Trees on table") and "→" in words
    assert whatif.summary(cells[:5], "image") == ""


def test_it_stops_when_asked_and_scores_all_labels_where_none_was_hidden(fitted):
    data, _, models = fitted
    cells = whatif.what_if(data, [], contents(models), "table", callbacks=[lambda event: True])
    assert len(cells) == 1
    assert cells[0]["error"] == hc.metrics.error_rate(data.y, models["Trees on table"].predict(data))


def test_figures_keep_colours_and_count_every_row():
    order = ["a", "b", "c"]
    one = figures.curves({"b": ([1, 2], [0.5, 0.6])}, ("round", "F1"), order, pale={"b": ([1], [0.4])})
    both = figures.curves({"a": ([1], [1]), "b": ([1, 2], [0.5, 0.6])}, ("round", "F1"), order)
    assert one["data"][2]["line"]["color"] == both["data"][1]["line"]["color"] != both["data"][0]["line"]["color"]
    assert [trace["name"] for trace in one["data"]] == ["b, before", "the training before", "b"]
    assert one["data"][0]["opacity"] < 1 and one["data"][0]["meta"] == "before"  # no timeline moves it
    steps = figures.per_source({"m": {"s": [1.0, 2.0]}, "n": {"s": [3.0]}}, "step", ["s"], names={"s": "ε s"})
    assert [trace["name"] for trace in steps["data"]] == ["ε s · m", "ε s · n"]
    assert len({trace["line"]["color"] for trace in steps["data"]}) == 1
    assert len({trace["line"]["dash"] for trace in steps["data"]}) == 2
    squares = figures.confusion(["x", "x", "y", "y"], ["x", "y", "y", "y"])
    assert squares["data"][0]["customdata"].tolist() == [[1, 1], [0, 2]]
    shown = {(y, x): text for t in squares["data"][1:] for x, y, text in zip(t["x"], t["y"], t["text"])}
    assert shown == {("x", "x"): "1", ("x", "y"): "1", ("y", "y"): "2"}
    many = figures.confusion([str(k) for k in range(30)], ["0"] * 30)
    assert len(many["data"][0]["x"]) == 20 and "0" in many["data"][0]["x"]
    fall = figures.failing({"b": {"0": 0.9, "blank": 0.1}}, "pixels", order)
    assert [trace["x"] for trace in fall["data"]] == [["0"], ["blank"]]


def test_a_stored_run_opens_with_its_controls():
    data, learners = made(t=table(), i=pixels(), u=table(1)), {"t": "tree", "i": "network"}
    before = [{"op": "sample", "fraction": 0.5, "seed": 0}]
    found = settings.settings(data, learners, settings.labels(data, learners), PARAMS, [*before, LABELS])
    for label, setting in found.items():
        run = Run("me", "Two learners", setting.estimator, "Mine", settings=setting.stored({"example": "planted"}))
        assert reopening.operations(run) == before
        assert reopening.page_file(run) == "pages/6_Two_learners.py"
        values = reopening.controls(run, "Mine", data.source_names, [])
        assert values["two_models"] == [label] and values["two_known"] == 50 and values["two_seed"] == 3
        assert values["modalities Mine"] == ["t", "i"]
    values = reopening.controls(
        Run("me", "Two learners", found[SECOND].estimator, "Mine", settings=found[SECOND].stored({})), "Mine",
        data.source_names, [],
    )  # fmt: skip
    assert values["learner Mine t"] == "tree" and values["two_inner"] == 1 and values["two_hessian"] == "exact"


def test_the_star_is_at_the_headline_s_f1_also_where_sources_were_weighed_anew():
    events = [event(0.6), event(0.8, 1), event(0.7, 2)]
    for each in events:
        each.detail.update(kept_round=min(each.index + 1, 2), metric={"held_out": 0.1}, metric_name="error")
    columns = {"id": "abcd", "held_out": "xxyy", "prediction": "xxyx"}
    frame = pl.DataFrame({name: list(values) for name, values in columns.items()})
    came = settings.came_to({"alone": frame})
    headline = settings.last_f1({"alone": events}, {"alone": frame})["alone"]
    drawn = widgets.figures_of({"alone": events}, {}, "rounds", ["alone"], sources=[], scored="held_out", came=came)
    star = {each["name"]: each for each in drawn["F1"]["data"]}["alone, kept"]
    assert star["x"] == [2.0] and star["y"] == [headline] and headline not in (0.6, 0.7, 0.8)
    assert {each["name"]: each for each in drawn["error"]["data"]}["alone, kept"]["y"] == [0.25]


def test_a_source_keeps_its_colour_where_another_is_in_use_beside_it():
    def colour(sources):
        detail = {"F1": {"train": 0.5}, "metric": {"train": 0.5}, "steps": dict.fromkeys(sources, 1.0)}
        detail |= {"moved": detail["steps"], "kept_round": 1}
        events = {FIRST: [RoundEnd("m", 0, 2, {"train": 1.0}, dict.fromkeys(sources, 0.5), detail=detail)]}
        given = {"order": [FIRST], "sources": sources, "scored": "train", "every": ["a", "b", "c"]}
        drawn = widgets.figures_of(events, {}, "rounds", **given)["weights"]
        return {each["name"]: each["line"]["color"] for each in drawn["data"]}

    assert colour(["a", "c"])["c"] == colour(["c", "b"])["c"] != colour(["c", "b"])["b"]
