"""How one scenario differs from another: "without the graph cites: error 6.1% → 5.4%, weight moved to fac."."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from hetcore.data.text import counted, quoted
from hetcore.errors import DataError, ParameterError
from studio.messages import number, shown
from studio.scenarios import OPERATIONS, checked

__all__ = [
    "OMITTED", "VALUES", "Outcome", "as_run", "changed", "describe", "named", "operation_text", "operations_text",
    "sentence", "value_text", "within",
]  # fmt: skip

SYMBOLS = {
    "lambda0": "λ0",
    "lambda1": "λ1",
    "learning_rate": "learning rate",
    "n_iterations": "rounds",
    "max_depth": "depth",
    "random_state": "seed",
    "n_factors": "factors D",
    "n_deviation_factors": "factors of the deviation",
    "regularisation": "penalty λ",
    "eta": "η",
    "eta_on": "η on",
    "direction": "neighbours",
    "no_neighbor": "no known neighbour",
    "column_sample": "columns a tree sees",
    "deviation_rate": "learning rate of the deviation",
    "epochs": "epochs of a learner",
    "first_trees": "trees of the first stage",
    "hessian": "curvature of the 2nd order",
    "inner_iterations": "inner rounds",
    "max_leaf_nodes": "leaves",
    "min_samples_leaf": "rows of a leaf",
    "n_stages": "stages M of BFV",
    "step": "steps ε, δ",
    "subsample": "rows a learner sees",
    "trees_per_stage": "trees of a stage",
}
VALUES = {
    "column_sample": {"auto": "by left-out rows"},
    "direction": {"both": "on either side of a link", "in": "those that point here", "out": "those pointed at"},
    "eta": {"auto": "by left-out rows", "linear": "100 n_T / n_S", "squared": "100 n_T² / n_S"},
    "lambda0": {"auto": "chosen out of fold"},
    "lambda1": {"auto": "chosen out of fold"},
    "learning_rate": {"auto": "by cross-validation"},
    "max_leaf_nodes": {"auto": "by left-out rows"},
    "n_factors": {"auto": "by cross-validation"},
    "no_neighbor": {"nan": "missing", "zero": "zero"},
    "regularisation": {"auto": "by cross-validation"},
}
"""Values of a parameter as its control has them."""
OMITTED = ("domain_names",)
"""Parameters that follow from the operations."""
MOVED = 0.05
"""Weight that must have moved to be worth a word."""
ALIKE = 0.01
"""Gains of weight that differ by less are one to whoever reads the shares."""


class Outcome(NamedTuple):
    """What a run was and came to.

    Attributes
    ----------
    operations : sequence of mappings
        What-if operations, see `studio.scenarios`.
    params : mapping
        Parameters of the estimator.
    metric : str
        "error" (shown in percent), "RMSE" or another name.
    value : float or None
        The metric, lower is better; None where it is not known.
    weights : mapping of str to float
        Source weights in [0, 1].
    rows : str
        Whose metric it is in words, such as "held out"; empty where nobody says.
    """

    operations: tuple[Mapping[str, Any], ...] = ()
    params: Mapping[str, Any] = {}
    metric: str = "error"
    value: float | None = None
    weights: Mapping[str, float] = {}
    rows: str = ""


def named(parameter: str) -> str:
    """Return what a reader calls a parameter."""
    return SYMBOLS.get(parameter, parameter.replace("_", " "))


def _edges(add: Sequence[Any], cut: Sequence[Any]) -> str:
    done = [f"{counted(len(each), 'edge')} {what}" for each, what in ((add, "added"), (cut, "cut")) if each]
    return " and ".join(done) or "no other edges"


class _Phrases(NamedTuple):
    """An operation in words, and its absence where it was there before."""

    done: Callable[..., str]
    undone: Callable[..., str]


def _few(ids: Iterable[str]) -> str:
    ids = list(ids)
    return shown(ids[0], 30) if len(ids) == 1 else counted(len(ids), "instance")


_PHRASES: dict[str, _Phrases] = {
    "drop_source": _Phrases(
        lambda name: f"without the source {shown(name)}", lambda name: f"with the source {shown(name)}"
    ),
    "drop_graph": _Phrases(
        lambda name: f"without the graph {shown(name)}", lambda name: f"with the graph {shown(name)}"
    ),
    "noise": _Phrases(
        lambda name, sd, seed: f"with noise of {sd:g} sd in {shown(name)}",
        lambda name, sd, seed: f"without noise in {shown(name)}",
    ),
    "rewire": _Phrases(
        lambda name, share, seed: f"with {share:.0%} of {shown(name)} rewired",
        lambda name, share, seed: f"with {shown(name)} as given",
    ),
    "thin": _Phrases(
        lambda name, share, seed: f"without {share:.0%} of the edges of {shown(name)}",
        lambda name, share, seed: f"with all edges of {shown(name)}",
    ),
    "edges": _Phrases(
        lambda name, add, cut: f"with {_edges(add, cut)} in {shown(name)}",
        lambda name, add, cut: f"with the edges of {shown(name)} as given",
    ),
    "hide_source": _Phrases(
        lambda name, ids: f"without {_few(ids)} in {shown(name)}",
        lambda name, ids: f"with {_few(ids)} in {shown(name)}",
    ),
    "hide_labels": _Phrases(
        lambda ids: f"without the label of {_few(ids)}", lambda ids: f"with the label of {_few(ids)}"
    ),
    "drop_instances": _Phrases(lambda ids: f"without {_few(ids)}", lambda ids: f"with {_few(ids)}"),
    "kinds": _Phrases(
        lambda name, kinds: f"with {counted(len(kinds), 'column')} of {shown(name)} read as another kind",
        lambda name, kinds: f"with the columns of {shown(name)} as guessed",
    ),
    "sample": _Phrases(
        lambda fraction, seed: f"on {fraction:.0%} of the instances", lambda fraction, seed: "on all instances"
    ),
    "non_overlapping": _Phrases(
        lambda share, seed: f"with half of the sources hidden for {share:.0%} of the instances",
        lambda share, seed: "with every source where it was given",
    ),
    "labels": _Phrases(
        lambda fraction, seed: f"trained on {fraction:.0%} of the labels",
        lambda fraction, seed: "trained on all labels",
    ),
    "one_class": _Phrases(
        lambda label, seed: f"with {shown(label, 30)} against the other classes",
        lambda label, seed: "with all classes",
    ),
    "target_labels": _Phrases(
        lambda name, count, seed: f"with {counted(count, 'example')} a class of {shown(name)}",
        lambda name, count, seed: f"with all labels of {shown(name)}",
    ),
    "flip_source_labels": _Phrases(
        lambda name, share, seed: f"with {share:.0%} of the labels of {shown(name)} flipped",
        lambda name, share, seed: f"with the labels of {shown(name)} as given",
    ),
    "forget_labels": _Phrases(
        lambda ids: f"without the label of {_few(ids)}", lambda ids: f"with the label of {_few(ids)}"
    ),
    "flip_labels": _Phrases(
        lambda share, seed: f"with {share:.0%} of the training labels flipped",
        lambda share, seed: "with no training label flipped",
    ),
    "label_noise": _Phrases(
        lambda share, sd, seed: f"with noise of {sd:g} sd in {share:.0%} of the training labels",
        lambda share, sd, seed: "with no noise in the training labels",
    ),
}
_SEVERAL = {"drop_source": "without the sources", "drop_graph": "without the graphs"}


def operation_text(operation: Mapping[str, Any], undone: bool = False) -> str:
    """Say an operation in words, or that it is no longer done."""
    (operation,) = checked([operation])
    arguments = {key: value for key, value in operation.items() if key != "op"}
    return _PHRASES[operation["op"]][undone](**arguments)


def operations_text(operations: Iterable[Mapping[str, Any]]) -> str:
    """Say the operations of a stored run in words, also those that this studio does not know."""
    parts = []
    for each in _together(operations):
        try:
            parts.append(_text_of(each))
        # One run that cannot be read must not hide the others.
        except (DataError, ParameterError, TypeError, KeyError):  # a run of another version of the studio
            parts.append("a change that this studio does not know")
    return ", ".join(parts)


def describe(operations: Iterable[Mapping[str, Any]]) -> str:
    """Say a scenario in words, "the data as given" if it changes nothing."""
    return ", ".join(map(_text_of, _together(operations))) or "the data as given"


def _together(operations: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return operations in turn, those that leave out several of a kind as one."""
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for place, operation in enumerate(operations):
        op = operation.get("op")
        groups.setdefault(op if op in _SEVERAL else place, []).append(operation)
    return list(groups.values())


def _text_of(alike: Sequence[Mapping[str, Any]]) -> str:
    if len(alike) == 1:
        return operation_text(alike[0])
    *names, last = (shown(operation["name"]) for operation in checked(alike))
    return f"{_SEVERAL[alike[0]['op']]} {', '.join(names)} and {last}"


def sentence(before: Outcome, after: Outcome) -> str:
    """Say in one sentence what changed from one outcome to another, and what came of it."""
    effects = [_metric_changed(before, after), _weight_moved(before, after)]
    done = [new for _, new in _operations_changed(before, after)]
    text = "; ".join(done + _params_changed(before, after)) or "the same settings again"
    came = ", ".join(filter(None, effects))
    return f"{text}: {came}." if came else f"{text}."


def changed(before: Outcome, after: Outcome) -> list[str]:
    """Say each change of operations and parameters in words, from what it was to what it is."""
    pairs = _operations_changed(before, after)
    # Of two draws the words are the same.
    operations = [f"{old} → {new}" if old != new else f"{new}, differently" for old, new in pairs]
    return operations + _params_changed(before, after)


def _operations_changed(before: Outcome, after: Outcome) -> list[tuple[str, str]]:
    """Return each change of operations as what was done before and what is done now; those undone come last."""
    old, new = checked(before.operations), checked(after.operations)
    gone, pairs = [operation for operation in old if operation not in new], []
    for operation in (operation for operation in new if operation not in old):
        # Arguments that changed in place are one change.
        twin = next((each for each in gone if _place(each) == _place(operation)), None)
        if twin is not None:
            gone.remove(twin)
        was = operation_text(operation, undone=True) if twin is None else operation_text(twin)
        pairs.append((was, operation_text(operation)))
    return pairs + [(operation_text(operation), operation_text(operation, undone=True)) for operation in gone]


def _place(operation: Mapping[str, Any]) -> tuple[str, Any]:
    """Return what an operation is done to, so that a changed argument counts as one change and not as two."""
    return operation["op"], None if OPERATIONS[operation["op"]].chooses else operation.get("name")


def _params_changed(before: Outcome, after: Outcome) -> list[str]:
    names = [name for name in after.params if before.params.get(name) != after.params[name] and name not in OMITTED]
    return [f"{named(name)} {_param(before, name)} → {_param(after, name)}" for name in names]


def _param(outcome: Outcome, name: str) -> str:
    """Return the value of a parameter as a run had it."""
    return within(as_run(outcome.params).get(name), name)


def as_run(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return parameters as a run had them: as printed no loss is out of fold, by which a λ could be chosen."""
    chosen = [name for name in ("lambda0", "lambda1") if params.get(name) == "auto"]
    if not (chosen and params.get("as_printed")):
        return params
    # here: kernels come with it, which the first page needs not wait for
    from hetcore.consensus.printed.algorithm1 import PRINTED_AUTO

    return {**params, **dict.fromkeys(chosen, PRINTED_AUTO)}


def value_text(value: Any, parameter: str = "") -> str:
    """Return the value of a setting as a reader has it."""
    if isinstance(value, str):
        return shown(VALUES.get(parameter, {}).get(value, value))
    if value is None:  # whatever the method takes by itself
        return "as usual"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values()):
        return shown(", ".join(f"{name}: {each}" for name, each in value.items()) or "none")
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return shown(", ".join(value) or "none")
    return shown(json.dumps(value, default=str))


def within(value: Any, parameter: str) -> str:
    """Return the value of a setting as it stands within a sentence: several words are in quotes."""
    text = value_text(value, parameter)
    return quoted(text) if parameter in VALUES and value is not None and " " in text else text


def _metric_changed(before: Outcome, after: Outcome) -> str:
    if after.value is None or before.value is None or before.metric != after.metric:
        # Two metrics cannot be compared; only the new one is told.
        return "" if after.value is None else f"{after.metric} {_metric(after, after.value)}"
    old, new = _metric(after, before.value), _metric(after, after.value)
    # Labels that nobody learned from are one thing, those left out in turn another: side by side they are no change.
    if before.rows != after.rows:
        return f"{after.metric} {old} {before.rows}, now {new} {after.rows}, which are not to be compared"
    # Equal as shown: digits that nobody sees are no change.
    return f"{after.metric} stays at {new}" if old == new else f"{after.metric} {old} → {new}"


def _metric(outcome: Outcome, value: float) -> str:
    return number(value, outcome.metric)


def _weight_moved(before: Outcome, after: Outcome) -> str:
    gains = _gains(before.weights, after.weights)
    if not gains or max(gains.values()) < MOVED:
        return ""
    winners = [name for name, gain in gains.items() if gain > max(gains.values()) - ALIKE]
    loser = min(gains, key=gains.get)
    # The loser is named only if it lost as clearly as the winner won.
    loses = gains[loser] <= -MOVED
    names = " and ".join(map(shown, winners)) if len(winners) < 3 else f"{counted(len(winners), 'source')} alike"
    return f"weight moved {f'from {shown(loser)} ' if loses else ''}to {names}"


def _gains(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Return the weight that each source has gained; of a source that is gone the others are not said to gain theirs.

    One that was not there before began at zero.
    """
    kept = sum(weight for name, weight in before.items() if name in after)
    scale = sum(before.values()) / kept if kept else 1.0
    return {name: weight - scale * before.get(name, 0.0) for name, weight in after.items()} if before else {}
