"""What-if operations: the code that is printed does what is done, wrong ones are refused, differences are told."""

from __future__ import annotations

import ast
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hetcore
from hetcore.data import HetData, splits
from hetcore.errors import DataError, ParameterError
from studio import scenarios
from studio.messages import number
from studio.runs.differences import (
    Outcome,
    changed,
    describe,
    named,
    operation_text,
    operations_text,
    sentence,
    value_text,
)


def made(kind: str = "classification") -> HetData:
    """Return data with two sources, two graphs and labels for most."""
    ids = [f"i{k}" for k in range(12)]
    a = pl.DataFrame({"id": ids, "x": [float(k % 5) for k in range(12)], "z": [k % 3 for k in range(12)]})
    b = pl.DataFrame({"id": ids[:8], "w": ["u", "v"] * 4})
    ring = pl.DataFrame({"source": ids, "target": ids[1:] + ids[:1]})
    star = pl.DataFrame({"source": [ids[0]] * 5, "target": ids[1:6]})
    y = [float(k) for k in range(10)] if kind == "regression" else ["p", "q"] * 5
    return HetData({"a": a, "it's": b}, {"ring": ring, "star": star}, (ids[:10], y))


CASES = [
    {"op": "drop_source", "name": "it's"},
    {"op": "drop_graph", "name": "ring"},
    {"op": "noise", "name": "a", "sd": 1.5, "seed": 3},
    {"op": "rewire", "name": "ring", "share": 0.5, "seed": 1},
    {"op": "thin", "name": "ring", "share": 0.5, "seed": 1},
    {"op": "edges", "name": "star", "add": [["i7", "i8"]], "cut": [["i0", "i1"]]},
    {"op": "hide_source", "name": "a", "ids": ["i0", "i1"]},
    {"op": "hide_labels", "ids": ["i3"]},
    {"op": "forget_labels", "ids": ["i4"]},
    {"op": "drop_instances", "ids": ["i11"]},
    {"op": "kinds", "name": "a", "kinds": {"z": "nominal"}},
    {"op": "sample", "fraction": 0.5, "seed": 2},
    {"op": "non_overlapping", "share": 0.5, "seed": 0},
    {"op": "flip_labels", "share": 0.3, "seed": 0},
    {"op": "label_noise", "share": 0.3, "sd": 2.0, "seed": 1},
    {"op": "one_class", "label": "p", "seed": 0},
    {"op": "flip_source_labels", "name": "it's", "share": 0.5, "seed": 0},
]
SPOILING = {case["op"]: case for case in CASES}


def test_every_operation_has_a_case_here():
    assert {case["op"] for case in CASES} | {"labels", "target_labels"} == set(scenarios.OPERATIONS)


@pytest.mark.parametrize("operation", CASES, ids=lambda operation: operation["op"])
def test_an_operation_changes_the_data_as_its_code_says(operation):
    kind = "regression" if operation["op"] == "label_noise" else "classification"
    data = made(kind)
    before = data.digest()
    changed = scenarios.apply(data, [operation])
    assert changed.y is None and changed.eval_y is None
    assert changed.data.digest() != before and data.digest() == before
    assert run_code([operation], kind)["data"].digest() == changed.data.digest()


def run_code(operations: list[dict], kind: str = "classification") -> dict:
    """Execute the printed code on fresh data, and return its variables."""
    variables = {"data": made(kind), "splits": splits}
    exec(scenarios.as_code(operations), variables)
    return variables


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_labels_are_chosen_among_what_the_others_leave(kind):
    operations = [{"op": "labels", "fraction": 0.5, "seed": 1}, {"op": "hide_labels", "ids": ["i0", "i1"]}]
    data, y, eval_y = scenarios.apply(made(kind), operations)
    assert data.labelled.sum() == 8
    trained, scored = data.with_target(y).labelled, data.with_target(eval_y).labelled
    assert trained.sum() == scored.sum() == 4 and not (trained & scored).any()
    assert (trained | scored).tolist() == data.labelled.tolist()
    variables = run_code(operations, kind)
    assert [str(v) for v in variables["y"]] == [str(v) for v in y]
    assert [str(v) for v in variables["eval_y"]] == [str(v) for v in eval_y]


@pytest.mark.parametrize(
    ("kind", "spoiling"),
    [("classification", SPOILING["flip_labels"]), ("regression", SPOILING["label_noise"] | {"share": 0.4})],
)
def test_only_labels_that_are_trained_on_are_corrupted_whatever_the_order(kind, spoiling):
    chosen = {"op": "labels", "fraction": 0.5, "seed": 1}
    clean = scenarios.apply(made(kind), [chosen])
    corrupted = scenarios.apply(made(kind), [spoiling, chosen])
    assert [str(v) for v in corrupted.eval_y] == [str(v) for v in clean.eval_y]
    changed = np.array([str(a) != str(b) for a, b in zip(corrupted.y, clean.y)])
    assert changed.sum() == 2 and clean.data.with_target(clean.y).labelled[changed].all()
    variables = run_code([spoiling, chosen], kind)
    assert [str(v) for v in variables["y"]] == [str(v) for v in corrupted.y]
    assert [str(v) for v in variables["eval_y"]] == [str(v) for v in corrupted.eval_y]


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_labels_that_are_forgotten_leave_the_choice_of_the_others_as_it_was(kind):
    chosen = {"op": "labels", "fraction": 0.5, "seed": 1}
    clean = scenarios.apply(made(kind), [chosen])
    gone = int(np.flatnonzero(clean.data.with_target(clean.y).labelled)[0])
    operations = [{"op": "forget_labels", "ids": [f"i{gone}"]}, chosen]
    fewer = scenarios.apply(made(kind), operations)
    changed = [str(a) != str(b) for a, b in zip(fewer.y, clean.y)]
    assert np.flatnonzero(changed).tolist() == [gone]
    assert [str(v) for v in fewer.eval_y] == [str(v) for v in clean.eval_y]
    assert [str(v) for v in run_code(operations, kind)["y"]] == [str(v) for v in fewer.y]


def test_a_few_labels_of_one_source_are_chosen_and_the_flips_of_another_leave_them_alone():
    operations = [
        {"op": "flip_source_labels", "name": "far", "share": 1.0},
        {"op": "target_labels", "name": "near", "count": 2, "seed": 3},
    ]
    variables = {"data": domains(), "splits": splits}
    exec(scenarios.as_code(operations), variables)
    data, y, eval_y = scenarios.apply(domains(), operations)
    near, known = data.rows("near"), data.with_target(y).labelled
    assert known[near].sum() == 4 and known.sum() == 14 and (known != data.with_target(eval_y).labelled).all()
    assert (y[near][known[near]] == data.y[near][known[near]]).all()
    assert (y[data.rows("far")] != data.y[data.rows("far")]).all()
    assert variables["y"].tolist() == y.tolist() and variables["eval_y"].tolist() == eval_y.tolist()


def domains() -> HetData:
    """Return two tables with the same columns and ten rows each of their own."""
    tables = {
        name: pl.DataFrame({"id": [f"{name}/{k}" for k in range(10)], "x": [float(k) for k in range(10)]})
        for name in ("near", "far")
    }
    return HetData(tables, target=(pl.concat([t["id"] for t in tables.values()]), ["p", "q"] * 10))


def test_operations_are_applied_in_order_and_survive_json():
    operations = json.loads(json.dumps([CASES[5], CASES[1], {"op": "noise", "name": "a", "sd": 1}]))
    once = scenarios.apply(made(), operations).data
    assert once.graph_names == ["star"] and ("i7", "i8") in set(edges_of(once))
    assert scenarios.checked(operations)[2] == {"op": "noise", "name": "a", "sd": 1, "seed": 0}
    assert run_code(operations)["data"].digest() == once.digest()


def edges_of(data: HetData) -> list[tuple[str, str]]:
    """Return the star's edges."""
    return data.graphs["star"].to_frame().select("source", "target").rows()


def test_labels_of_before_are_aligned_to_fewer_instances():
    data = made("regression")
    fewer = scenarios.apply(data, [{"op": "sample", "fraction": 0.5, "seed": 2}]).data
    values = np.arange(data.n, dtype=float)
    assert scenarios.aligned(values, data, fewer).tolist() == [values[data.position[i]] for i in fewer.ids]
    assert scenarios.aligned(values, data, data) is values and scenarios.aligned(None, data, fewer) is None


WRONG = [
    ({"op": "fly"}, "op='fly' is not an operation"),
    ({}, "op=None is not an operation"),
    ("noise", "is not an operation"),
    ({"op": ["noise"]}, "is not an operation"),
    ({"op": "noise", "name": "a"}, "noise needs sd as a finite number, not None"),
    ({"op": "noise", "name": "a", "sd": float("nan")}, "noise needs sd as a finite number"),
    ({"op": "noise", "name": "a", "sd": True}, "noise needs sd as a finite number"),
    ({"op": "noise", "name": 3, "sd": 1}, "noise needs name as a name, not 3"),
    ({"op": "noise", "name": "a", "sd": 1, "seed": 0.5}, "noise needs seed as a whole number"),
    ({"op": "noise", "name": "a", "sd": 1, "seed": -1}, "noise needs seed as a whole number"),
    ({"op": "noise", "name": "a", "sd": 1, "x": 1}, "noise takes 'name', 'sd', 'seed', not 'x'"),
    ({"op": "edges", "name": "a", "add": [["i0"]], "cut": []}, "edges needs add as a list of pairs"),
    ({"op": "hide_labels", "ids": "i0"}, "hide_labels needs ids as a list of names"),
    ({"op": "target_labels", "name": "a", "count": 0}, "target_labels needs count as a whole number of at least 1"),
    ({"op": "kinds", "name": "a", "kinds": {"x": 1}}, "kinds needs kinds as names with names"),
]


@pytest.mark.parametrize(("operation", "sentence"), WRONG, ids=[str(k) for k in range(len(WRONG))])
def test_wrong_operations_are_refused_in_words(operation, sentence):
    for use in (scenarios.checked, scenarios.as_code, lambda operations: scenarios.apply(made(), operations)):
        with pytest.raises(ParameterError) as caught:
            use([operation])
        assert sentence in str(caught.value)


def test_what_is_not_there_is_refused_and_labels_come_once():
    with pytest.raises(DataError, match="no source 'c' to leave out among 'a', \"it's\""):
        scenarios.apply(made(), [{"op": "drop_source", "name": "c"}])
    with pytest.raises(DataError):
        scenarios.apply(made(), [CASES[1], CASES[3]])
    with pytest.raises(ParameterError, match="twice"):
        scenarios.checked([{"op": "labels", "fraction": 0.5}] * 2)
    with pytest.raises(ParameterError, match="twice"):
        scenarios.checked([{"op": "labels", "fraction": 0.5}, {"op": "target_labels", "name": "a", "count": 1}])


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=30), st.sampled_from(["drop_source", "drop_graph", "noise", "hide_labels", "kinds"]))
def test_names_stand_in_the_code_as_literals_only(name, op):
    operation = {"op": op, "name": name, "sd": 1.0, "ids": [name], "kinds": {name: name}}
    fields = scenarios.OPERATIONS[op].fields
    tree = ast.parse(scenarios.as_code([{key: value for key, value in operation.items() if key in {"op", *fields}}]))
    assert len(tree.body) == 1
    assert name in {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}


# In words -------------------------------------------------------------------------------------------------------------


def test_a_scenario_is_described():
    assert describe([]) == "the data as given"
    assert describe([CASES[0], CASES[2]]) == "without the source it's, with noise of 1.5 sd in a"


def test_what_leaves_out_several_sources_says_so_once():
    drops = [{"op": "drop_source", "name": name} for name in "abc"]
    labels = {"op": "labels", "fraction": 0.1, "seed": 0}
    text = "without the sources a, b and c, trained on 10% of the labels"
    assert describe([*drops[:2], labels, drops[2]]) == operations_text([*drops[:2], labels, drops[2]]) == text
    assert describe([DROP, DROP | {"name": "b"}]) == "without the graphs noisy and b"
    assert operations_text([*drops[:2], {"op": "gone"}]).endswith("a and b, a change that this studio does not know")


def test_parameters_of_auto_have_the_words_of_their_switches():
    left = {"lambda1": "auto", "n_factors": "auto", "max_leaf_nodes": "auto"}
    words = ["chosen out of fold", "by cross-validation", "by left-out rows"]
    assert [value_text(value, name) for name, value in left.items()] == words
    assert value_text({"text": "network", "tab": "tree"}, "learners") == "text: network, tab: tree"
    before, after = Outcome((), {"lambda1": "auto"}), Outcome((), {"lambda1": 0.3})
    assert sentence(before, after) == "λ1 'chosen out of fold' → 0.3."


def test_parameters_have_the_words_of_their_sliders():
    words = {}
    for estimator in (hetcore.MGBClassifier, hetcore.GBCClassifier, hetcore.HGBMClassifier, hetcore.HMF,
                      hetcore.TwoWeakLearnerClassifier, hetcore.BoostedFeatureNetworkClassifier):  # fmt: skip
        for name, each in estimator._parameters.items():
            words[name] = f"{words.get(name, '')} {each.slider.label.lower()}" if each.slider else words.get(name)
    drawn = {name: labels for name, labels in words.items() if labels}
    assert len(drawn) > 15 and all(named(name).lower() in labels for name, labels in drawn.items())


def test_as_printed_no_weight_was_chosen_out_of_fold():
    before, after = (Outcome((), {"lambda1": value, "as_printed": True}) for value in ("auto", 0.45))
    assert sentence(before, after) == "λ1 0.03 → 0.45."


@pytest.mark.parametrize(
    "operation", [*CASES, {"op": "labels", "fraction": 0.1}], ids=lambda operation: operation["op"]
)
def test_every_operation_and_its_end_have_words(operation):
    assert len({operation_text(operation), operation_text(operation, undone=True)}) == 2


DROP = {"op": "drop_graph", "name": "noisy"}
PARAMS = {"lambda0": 1.0, "n_iterations": 100}
SENTENCES = [
    (
        Outcome((), PARAMS, "error", 0.061, {"fac": 0.3, "mor": 0.7}),
        Outcome((DROP,), PARAMS, "error", 0.054, {"fac": 0.5, "mor": 0.5}),
        "without the graph noisy: error 6.1% → 5.4%, weight moved from mor to fac.",
    ),
    (
        Outcome((DROP,), PARAMS, "error", 0.061, {"fac": 1.0}),
        Outcome((), PARAMS, "error", 0.06104, {"fac": 1.0}),
        "with the graph noisy: error stays at 6.1%.",
    ),
    (
        Outcome((), PARAMS, "RMSE", 1.23456, {"a": 1.0}),
        Outcome((), {"lambda0": 10.0, "n_iterations": 100}, "RMSE", 0.98765, {"a": 0.6, "b": 0.4}),
        "λ0 1 → 10: RMSE 1.23 → 0.988, weight moved from a to b.",
    ),
    (  # of whom all gain alike none is singled out
        Outcome((), PARAMS, "error", 0.1, {"a": 0.4, "b": 0.2, "c": 0.2, "d": 0.2}),
        Outcome((), {"lambda0": 2.0, "n_iterations": 100}, "error", 0.1, {"a": 0.1, "b": 0.3, "c": 0.301, "d": 0.299}),
        "λ0 1 → 2: error stays at 10.0%, weight moved from a to 3 sources alike.",
    ),
    (
        Outcome((), PARAMS, "error", 0.1, {"a": 0.6, "b": 0.2, "c": 0.2}),
        Outcome((), PARAMS, "error", 0.1, {"a": 0.4, "b": 0.3, "c": 0.3}),
        "the same settings again: error stays at 10.0%, weight moved from a to b and c.",
    ),
    (  # what a source that is gone had is shared by the others as they had shares: nobody gained
        Outcome((), PARAMS, "error", 0.1, {"a": 0.4, "b": 0.4, "c": 0.2}),
        Outcome(({"op": "drop_source", "name": "c"},), PARAMS, "error", 0.1, {"a": 0.5, "b": 0.5}),
        "without the source c: error stays at 10.0%.",
    ),
    (
        Outcome(({"op": "noise", "name": "a", "sd": 1.0},)),
        Outcome(({"op": "noise", "name": "a", "sd": 2.0},), value=0.5),
        "with noise of 2 sd in a: error 50.0%.",
    ),
    (  # of all labels none is held out: the error on others would read as a gain
        Outcome(({"op": "labels", "fraction": 0.8, "seed": 0},), PARAMS, "error", 0.237, rows="held out"),
        Outcome((), PARAMS, "error", 0.15, rows="left out"),
        "trained on all labels: error 23.7% held out, now 15.0% left out, which are not to be compared.",
    ),
    (Outcome(), Outcome(), "the same settings again."),
    (
        Outcome((), {"depth": None}, "error", 0.5),
        Outcome((), {"depth": 3, "weights": "learned"}, "RMSE", 0.5),
        "depth as usual → 3; weights as usual → learned: RMSE 0.500.",
    ),
]


@pytest.mark.parametrize(("before", "after", "expected"), SENTENCES, ids=[str(k) for k in range(len(SENTENCES))])
def test_what_changed_and_what_came_of_it_is_one_sentence(before, after, expected):
    assert sentence(before, after) == expected


KIN, TARGET = ({"op": "target_labels", "name": name, "count": 3, "seed": 0} for name in ("kin", "target"))
CHANGES = [
    ([], [DROP], "with the graph noisy → without the graph noisy"),
    ([{"op": "noise", "name": "a", "sd": 1.0}], [], "with noise of 1 sd in a → without noise in a"),
    ([KIN], [TARGET], "with 3 examples a class of kin → with 3 examples a class of target"),
    ([KIN], [KIN | {"count": 100}], "with 3 examples a class of kin → with 100 examples a class of kin"),
    ([KIN], [KIN | {"seed": 1}], "with 3 examples a class of kin, differently"),
]


@pytest.mark.parametrize(("old", "new", "expected"), CHANGES)
def test_a_changed_operation_has_what_it_was_and_what_it_is(old, new, expected):
    assert changed(Outcome(old), Outcome(new)) == [expected]
    if "→" in expected:
        assert changed(Outcome(new), Outcome(old)) == [" → ".join(reversed(expected.split(" → ")))]


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (0.0314, "error", "3.1%"), (0.7, "RMSE", "0.700"), (0.6823, "RMSE", "0.682"), (100.0, "RMSE", "100"),
        (9.999, "RMSE", "10.0"), (5863.2, "RMSE", "5,863"), (999.7, "RMSE", "1,000"), (-0.02, "log loss", "−0.0200"),
        (3.2e12, "RMSE", "3.20e+12"), (0.00001234, "RMSE", "1.23e-05"), (0.7, "", "0.7"), (7.0, "", "7"),
        (11400.0, "", "11,400"), (float("nan"), "RMSE", "–"), (None, "", "–"),
    ],
)  # fmt: skip
def test_a_metric_keeps_its_digits_and_thousands_are_written_out(value, metric, text):
    assert number(value, metric) == text
