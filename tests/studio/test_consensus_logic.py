"""What the Consensus page says: why a λ was chosen, whose a view's weight is, what one would do without consensus."""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import datasets
import hetcore as hc
from hetcore.baselines.best_joined import QUICK_TREES
from hetcore.consensus import table_views
from hetcore.data import HetData
from hetcore.figures import basic
from studio import session
from studio.jobs.job import Setting, Status
from studio.scenarios import apply
from studio.views.common.training import operations_of
from studio.views.consensus import widgets, without, words
from studio.views.consensus.widgets import figures_of, wrong_first
from studio.views.consensus.widgets_without import standing

FOUND = {
    "name": "SVM", "metric_name": "error", "cross_validated": {"SVM": 0.3, "CatBoost": 0.4}, "held_out": 0.5,
    "losses": np.array([1.0, 0.0, 1.0, 0.0]), "n_folds": 3,
}  # fmt: skip


def event(**metric):
    return SimpleNamespace(detail={"metric": metric})


def predictions(text):
    return pl.DataFrame({"held_out": [None, "a", "a", "b", "b"], "prediction": ["a", *text]})


def test_a_lambda_is_reported_with_the_loss_that_chose_it():
    detail = {"choices": {"lambda1": 0.3}, "paths": {"lambda1": [(0.0, 0.5), (0.3, 0.4), (1.0, 0.6)]}}
    assert words.why(detail) == [
        "λ1 = 0.3, chosen out of fold: the left-out loss is 0.4 with it, 20.0% less than without."
    ]
    detail["paths"]["lambda1"][1] = (0.3, 0.4999)
    assert words.why(detail)[0].endswith("the left-out loss is 0.5 with it, and about the same without.")
    detail = {"choices": {"lambda0": 0.0}, "paths": {"lambda0": [(0.0, 0.5), (0.3, 0.7), (1.0, 0.6)]}}
    assert words.why(detail) == ["λ0 = 0, chosen out of fold: the left-out loss is 0.5, and 0.6 at 1."]
    detail["paths"]["lambda0"][2] = (1.0, 0.5001)
    assert words.why(detail)[0].endswith("the left-out loss is 0.5, and about the same at 1.")
    assert words.why({"choices": {"lambda0": 0.3}, "repeats": 1}) == []
    few = words.why({"choices": {"lambda0": 0.3}, "repeats": 4})
    assert few == ["Labels are few, so this is the mean of 4 fits, each on folds dealt anew."]
    detail = {"choices": {"lambda1": 3.0}, "paths": {"lambda1": [(0.0, 0.5), (3.0, 0.4)]}}
    assert words.why(detail)[0].startswith("λ1 = 3, the largest that was tried, chosen out of fold: ")
    assert words.why({"choices": {"residual_share": 0.0}}) == []
    (sentence,) = words.why({"choices": {"residual_share": 0.6}})
    assert sentence.startswith("Linked instances are missed alike: 60% of what the neighbours' labels were missed by")
    # Not "of the labels": a view that smooths along the same links may be among the heaviest.
    assert "no more alike than any two" in words.why({"graphs_explain_nothing": True})[0]


def test_what_few_held_out_labels_are_worth_and_what_pulls_nothing_is_remarked():
    many = predictions("aabb")
    assert words.few_held_out(many) == (
        "Held out: 0 of 4 wrong; so few leave the error uncertain: 0% to 49% (95% interval)."
    )
    assert words.few_held_out(pl.concat([many] * 30)) == words.few_held_out(None) == ""
    numbers = pl.DataFrame({"held_out": [1.0], "prediction": [1.5]})
    assert words.few_held_out(numbers) == words.few_held_out(many.drop("held_out")) == ""
    data = HetData({"a": pl.DataFrame({"id": ["1", "2"], "x": [0.0, 1.0]})}, target=(["1", "2"], ["a", "b"]))
    pulled = Setting("GBCClassifier", {"lambda0": 0.3}, [{"op": "labels", "fraction": 0.5, "seed": 0}])
    all_known = Setting("GBCClassifier", {"lambda0": 0.3}, [])
    assert words.unpulled(all_known, data).startswith("Every row has a label: λ0")
    assert words.unpulled(pulled, data) == words.unpulled(all_known, data.hide_labels(["1"])) == ""
    assert words.unpulled(Setting("GBCClassifier", {"lambda0": 0}, []), data) == ""


def test_a_correlation_along_links_says_how_many_they_are():
    detail = {"metric": {"train": 0.1, "held_out": 0.2}, "linked_pairs": {"roads": 26}}
    assert words.linked(detail) == "Over 26 links between held-out rows."
    detail = {"metric": {"left_out": 0.1}, "linked_pairs": {"roads": 1_300, "rivers": 1}}
    assert words.linked(detail) == "Over 1,300 links of roads, 1 link of rivers between labelled rows."
    assert words.linked({"metric": {}, "linked_pairs": {}}) == words.linked({"metric": {}}) == ""  # stored before


def test_the_chosen_lambda_is_marked_on_its_path():
    detail = {"choices": {"lambda1": 1.0}, "paths": {"lambda1": [(0.0, 0.5), (0.3, 0.4), (1.0, 0.3)]}}
    line, star = words.path_figure(detail, "lambda1")["data"]
    assert list(line["y"]) == [0.5, 0.4, 0.3] and star["x"] == [2.0] and star["y"] == [0.3]
    assert "range" not in words.path_figure(detail, "lambda1")["layout"]["yaxis"]
    detail["paths"]["lambda1"] = [(0.0, 0.5), (0.3, 0.5), (1.0, 0.5001)]  # a part of a thousand is no mountain
    low, high = words.path_figure(detail, "lambda1")["layout"]["yaxis"]["range"]
    assert low < 0.498 and high > 0.502


def test_a_view_has_one_look_in_bars_and_lines():
    views = {f"view {k} (trees)": 0.01 * (k + 1) for k in range(12)}
    parts = {name: {"a": weight} for name, weight in views.items()}
    drawn = words.dealt_figure({"views": views, "dealt": parts}, ["a"], ["b"])
    bars = {each["name"]: each["marker"]["color"] for each in drawn["data"]}
    event = SimpleNamespace(index=0, detail={"views": views})
    data = SimpleNamespace(source_names=["a"], graph_names=["b"])
    lines = {each["name"]: each["line"]["color"] for each in widgets._view_weights([event], data)["data"]}
    assert len(lines) == words.MOST_LINES and lines.items() <= bars.items()
    looks = {(each["marker"]["color"], each["marker"]["pattern"]["shape"]) for each in drawn["data"]}
    assert len(looks) == len(bars) == words.MOST_VIEWS + 1


def test_a_view_of_one_table_has_its_colour_and_no_other_has():
    sources, graphs = ["fac", "fac (trees)", "mor"], ["mor"]
    views = [f"table {name} ({learner})" for name in sources for learner in ("trees", "kernel")]
    views += [f"{table_views.NEAR}mor (linear)", "joined (trees)", "joined (kernel)", "labels of mor (trees)"]
    found = words.looks(views, sources, graphs)
    colours = [basic.style(place)["colour"] for place in range(4)]
    assert [found[view].colour for view in views[:7]] == [*np.repeat(colours[:3], 2), colours[2]]
    assert found["labels of mor (trees)"].colour == colours[3]
    assert not {found[view].colour for view in views[7:9]} & {*colours}
    # those of one colour differ by dash, and by pattern
    assert len({(look.colour, look.dash) for look in found.values()}) == len(views)
    assert len({(look.colour, look.pattern) for look in found.values()}) == len(views)
    many = words.looks(["joined (trees)", "joined and graphs (trees)"], [f"s{k}" for k in range(12)], [])
    assert len({look.colour for look in many.values()} - {*basic.COLOURS}) == 2


def test_the_heaviest_views_are_reported_and_the_rest_is_one():
    parts = {f"view {k}": {"a": 0.01 * k, "b": 0.001} for k in range(12)}
    found = words.dealt({"dealt": parts})
    assert list(found)[0] == "view 11" and len(found) == words.MOST_VIEWS + 1
    for name in "ab":
        whole = sum(part[name] for part in parts.values())
        assert sum(part[name] for part in found.values()) == pytest.approx(whole)


@pytest.mark.parametrize(
    ("ours", "text", "pays"),
    [(0.0, "aabb", "No difference"), (0.5, "baab", "No difference"), (1.0, "bbaa", "No difference")],
)
def test_four_rows_show_no_difference(ours, text, pays):
    both = without.compared(FOUND, event(held_out=ours), predictions(text))
    assert both.difference == pytest.approx(ours - 0.5)
    assert without.verdict(FOUND, both).startswith(pays)


def test_a_difference_beyond_two_standard_errors_is_reported():
    many = FOUND | {"losses": np.tile(FOUND["losses"], 50)}
    rows = pl.concat([predictions("aabb")] * 50)
    both = without.compared(many, event(held_out=0.0), rows)
    assert both.pays is True and "Consensus pays on these data: 0.0% against 50.0%" in without.verdict(many, both)
    both = without.compared(many, event(held_out=1.0), pl.concat([predictions("bbaa")] * 50))
    assert both.pays is False and "does not pay" in without.verdict(many, both)
    assert without.verdict(many, without.compared(many, event(held_out=0.1))) == "Consensus: 10.0%."


def test_without_hidden_labels_errors_within_the_labels_are_compared():
    found = FOUND | {"held_out": float("nan"), "losses": np.empty(0)}
    both = without.compared(found, event(left_out=0.2, train=0.1))
    assert (both.ours, both.theirs) == (0.2, 0.3)
    assert without.sentence(found) == "SVM on all tables joined: 30.0%"
    assert "cross-validated in 3 folds" in without.chosen_among(found)
    # numbers of the folds must not read as errors on the hidden labels, which stand above them
    assert "it was chosen by 3 folds of the known labels alone, where errors are: " in without.chosen_among(FOUND)
    assert f"CatBoost has {QUICK_TREES} trees" in without.chosen_among(found)
    assert "hide some to compare" in without.verdict(found, without.compared(found, event(train=0.1)))
    few = found | {"cross_validated": {}}
    assert "too few labels" in without.chosen_among(few) and without.sentence(few).endswith("–")


def test_the_comparison_depends_on_data_and_labels_and_nothing_else():
    labels = [{"op": "labels", "fraction": 0.3, "seed": 0}]
    key = without.key_of("digest", labels)
    assert key == without.key_of("digest", [dict(reversed(labels[0].items()))])
    others = [("other", labels), ("digest", []), ("digest", [labels[0] | {"seed": 1}])]
    assert key not in {without.key_of(*other) for other in others}


def test_old_comparisons_are_forgotten(monkeypatch):
    monkeypatch.setattr(without, "MOST_KEPT", 2)
    monkeypatch.setattr(without, "_kept", type(without._kept)())
    for key in "abc":
        without.keep(key, {"name": key})
    assert without.kept("a") is None and without.kept("c") == {"name": "c"}


def test_instances_that_are_predicted_worst_come_first():
    frame = pl.DataFrame({"id": list("abcd"), "prediction": ["x", "y", "x", "y"], "held_out": ["x", "x", None, "y"]})
    assert wrong_first(frame) == ["b", "a", "c", "d"] and wrong_first(frame.drop("held_out")) == list("abcd")
    numbers = pl.DataFrame({"id": list("abc"), "prediction": [1.0, 2.0, 3.0], "label": [1.5, None, 0.0]})
    assert wrong_first(numbers) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (Status("run", "queued", place=1), "it waits for 1 other comparison to end"),
        (Status("run", "queued", place=3), "it waits for 3 other comparisons to end"),
        (Status("run", "starting", place=1), "its process is starting"),
        (Status("run", "running"), "joining the tables; trainings go first"),
        (Status("run", "running", rounds=2, total=13), "2 of 13 fits"),
    ],
)
def test_a_comparison_says_what_it_waits_for(status, text):
    assert standing(status) == text


def _views(weights):
    detail = {"metric": {"held_out": 0.1}, "metric_name": "error", "views": dict(weights)}
    event = SimpleNamespace(detail=detail, losses={}, source_weights={}, graph_weights={}, index=0, total=1)
    return {each["name"]: each["line"]["color"] for each in figures_of([event], DATA)["views"]["data"]}


DATA = SimpleNamespace(source_names=["a"], graph_names=[])
NAMES = [f"labels near in {name}" for name in "abcdefghijklmn"]


def test_a_view_keeps_its_colour_whatever_it_weighs_and_no_two_are_alike():
    first = _views(zip(NAMES, np.linspace(0.02, 0.3, 14)))
    again = _views(zip(NAMES, np.linspace(0.3, 0.02, 14)))
    assert set(first) == {*NAMES[8:]} and set(again) == {*NAMES[:6]}
    other = _views({name: 0.1 * (name in NAMES[8:13]) for name in NAMES})
    assert all(first[name] == colour for name, colour in other.items())
    for drawn in (first, again):
        assert len(set(drawn.values())) == 6 and not {basic.COLOURS[5], basic.COLOURS[6]} & set(drawn.values())


def test_weights_begin_at_round_0_where_all_sources_count_the_same():
    detail = {"metric": {"held_out": 0.1}, "metric_name": "error"}
    weights = {"a": 0.7, "b": 0.2, "c": 0.1}
    event = SimpleNamespace(detail=detail, losses={}, source_weights=weights, graph_weights={}, index=0, total=1)
    data = SimpleNamespace(source_names=["a", "b", "c", "dropped"], graph_names=[])
    drawn = figures_of([event], data)["weights"]["data"]
    assert {each["name"]: list(each["y"]) for each in drawn} == {name: [1 / 3, w] for name, w in weights.items()}
    assert all(list(each["x"]) == [0, 1] for each in drawn)


@pytest.mark.parametrize(("rounds", "before", "last"), [(5, 0, 5), (5, 8, 8), (1, 0, 2)])
def test_the_line_without_consensus_is_as_wide_as_the_curve(rounds, before, last):
    detail = {"metric": {"held_out": 0.1}, "metric_name": "error"}
    events = [
        SimpleNamespace(detail=detail, losses={}, source_weights={"a": 1.0}, graph_weights={}, index=index, total=100)
        for index in range(8)
    ]
    drawn = figures_of(events[:rounds], DATA, events[:before], ("SVM", 0.2))["error"]["data"][-1]
    assert drawn["name"] == "without" and drawn["x"] == [1, last]


@pytest.mark.slow
def test_the_opening_example_shows_a_noisy_source_that_loses_its_weight_and_an_error_that_falls():
    data, events = datasets.load(session.DEFAULT), []
    noise = (session.OPENING["noisy"], float(session.OPENING["sd"]))
    known = int(session.OPENING["known"]) / 100
    operations = operations_of(data, data.source_names, data.graph_names, noise, known, seed=0)
    changed, y, eval_y = apply(data, operations)
    hc.GBCClassifier(random_state=0).fit(changed, y, eval_y=eval_y, callbacks=[events.append])
    last, first = events[-1], events[0].detail["metric"]["held_out"]
    assert last.source_weights[noise[0]] < 0.1 < min(w for n, w in last.source_weights.items() if n != noise[0])
    assert last.detail["metric"]["held_out"] < 0.75 * first
    assert max(abs(last.source_weights[n] - w) for n, w in events[0].source_weights.items()) > 0.025


def test_sessions_that_ask_alike_share_one_comparison_until_the_last_leaves(monkeypatch):
    monkeypatch.setattr(without, "_shared", OrderedDict())
    begun = []

    def asked(key, goes_on=True):
        return without.share(key, lambda: begun.append(key) or f"run {len(begun)}", lambda run: goes_on)

    assert [asked("a"), asked("a"), asked("b")] == ["run 1", "run 1", "run 2"]
    assert [without.leave("a"), without.leave("a"), without.leave("a")] == [False, True, True]
    assert asked("b", goes_on=False) == "run 3" and begun == ["a", "b", "b"]
