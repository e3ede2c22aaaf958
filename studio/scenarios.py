"""The what-if language: operations on a HetData that can be stored, sent, applied and printed as library code.

An operation is a JSON-able mapping with "op" and its arguments ("seed" is 0 where it is left out):

    {"op": "drop_source", "name": "fou"}                          the data without a source
    {"op": "drop_graph", "name": "cites"}                         the data without a graph
    {"op": "noise", "name": "fac", "sd": 1.0, "seed": 0}          noise, in standard deviations of each column
    {"op": "rewire", "name": "cites", "share": 0.2, "seed": 0}    a share of a graph's edges exchange their ends
    {"op": "thin", "name": "cites", "share": 0.2, "seed": 0}      a share of a graph's edges goes
    {"op": "edges", "name": "cites", "add": [["a", "b"]], "cut": []}   edges added and cut by hand
    {"op": "hide_source", "name": "fou", "ids": ["a"]}            some instances lose their records in a source
    {"op": "hide_labels", "ids": ["a", "b"]}                      some instances lose their label
    {"op": "drop_instances", "ids": ["a"]}                        some instances go
    {"op": "kinds", "name": "fou", "kinds": {"x": "nominal"}}     other kinds of columns
    {"op": "sample", "fraction": 0.3, "seed": 0}                  a share of the instances
    {"op": "non_overlapping", "share": 0.3, "seed": 0}            a share of the instances loses half of the sources
    {"op": "labels", "fraction": 0.1, "seed": 0}                  train on a share of the labels, score on the others
    {"op": "flip_labels", "share": 0.2, "seed": 0}                a share of the labels trained on gets another class
    {"op": "label_noise", "share": 0.2, "sd": 1.0, "seed": 0}     a share of them noise, in their standard deviations
    {"op": "flip_source_labels", "name": "web", "share": 0.2, "seed": 0}   flips in one source only
    {"op": "forget_labels", "ids": ["a", "b"]}                    some of the labels trained on go, the choice stays
    {"op": "one_class", "label": "mug", "seed": 0}                one class, and as many of the others in each source
    {"op": "target_labels", "name": "dslr", "count": 3, "seed": 0}   train on so many of each class of one source

They are applied in order, except that "labels" (or "target_labels", which scores on the source's others) chooses among
the labels that the others leave, and after it labels are corrupted, so that those to score by stay as they are. How one
scenario differs from another in words is told in `studio.runs.differences`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.data import HetData, splits
from hetcore.data.text import listed, quoted
from hetcore.errors import DataError, ParameterError

__all__ = ["OPERATIONS", "Scenario", "aligned", "apply", "as_code", "checked", "choose"]


class Scenario(NamedTuple):
    """Data after the operations; `y` and `eval_y` are (n,) like `data.ids`, or None where nothing chose them."""

    data: Any
    y: NDArray | None = None
    eval_y: NDArray | None = None


class Field(NamedTuple):
    """What an argument must be: a test, and its words."""

    fits: Callable[[Any], bool]
    text: str


def _is_number(value: Any) -> bool:
    # A bool is an int to Python, and a share of True would pass.
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def _is_pairs(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(_is_names(pair) and len(pair) == 2 for pair in value)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_names([*value.keys(), *value.values()])


NAME = Field(lambda value: isinstance(value, str), "a name")
NUMBER = Field(_is_number, "a finite number")
COUNT = Field(lambda value: _is_seed(value) and value > 0, "a whole number of at least 1")
SEED = Field(_is_seed, "a whole number of at least 0")
NAMES = Field(_is_names, "a list of names")
PAIRS = Field(_is_pairs, "a list of pairs of names")
MAPPING = Field(_is_mapping, "names with names")


class Kind(NamedTuple):
    """What an operation takes, does to the data, and looks like as library code."""

    fields: Mapping[str, Field]
    run: Callable[..., Any]
    code: str
    corrupts: bool = False
    # The code is printed from here, so that what runs and what is shown stand side by side.
    """Whether it changes labels, and so comes last and only to those that are trained on."""
    chooses: bool = False
    """Whether it chooses the labels to train on."""


def _without(names: Sequence[str], name: str, what: str) -> list[str]:
    if name not in names:
        raise DataError(f"There is no {what} {quoted(name)} to leave out among {listed(names)}: choose one of them.")
    return [other for other in names if other != name]


def _drop_source(data: HetData, name: str) -> HetData:
    return data.select(sources=_without(data.source_names, name, "source"))


def _drop_graph(data: HetData, name: str) -> HetData:
    return data.select(graphs=_without(data.graph_names, name, "graph"))


def _flip_source(data: HetData, name: str, share: float, seed: int) -> HetData:
    return data.with_flipped_labels(share, seed, source=name)


HIDE = (
    "eval_y = data.y.copy()\n"
    "eval_y[data.with_target(y, data.target_kind).labelled] = None  # score only what was hidden"
)
OPERATIONS: dict[str, Kind] = {
    "drop_source": Kind(
        {"name": NAME}, _drop_source, "data = data.select(sources=[s for s in data.source_names if s != {name}])"
    ),
    "drop_graph": Kind(
        {"name": NAME}, _drop_graph, "data = data.select(graphs=[g for g in data.graph_names if g != {name}])"
    ),
    "noise": Kind(
        {"name": NAME, "sd": NUMBER, "seed": SEED},
        HetData.with_noise,
        "data = data.with_noise({name}, sd={sd}, seed={seed})",
    ),
    "rewire": Kind(
        {"name": NAME, "share": NUMBER, "seed": SEED},
        HetData.with_graph_noise,
        "data = data.with_graph_noise({name}, share={share}, seed={seed})",
    ),
    "thin": Kind(
        {"name": NAME, "share": NUMBER, "seed": SEED},
        partial(HetData.with_graph_noise, how="thin"),
        "data = data.with_graph_noise({name}, share={share}, seed={seed}, how='thin')",
    ),
    "edges": Kind(
        {"name": NAME, "add": PAIRS, "cut": PAIRS},
        HetData.with_edges,
        "data = data.with_edges({name}, add={add}, cut={cut})",
    ),
    "hide_source": Kind({"name": NAME, "ids": NAMES}, HetData.hide_source, "data = data.hide_source({name}, {ids})"),
    "hide_labels": Kind({"ids": NAMES}, HetData.hide_labels, "data = data.hide_labels({ids})"),
    "drop_instances": Kind({"ids": NAMES}, HetData.drop_instances, "data = data.drop_instances({ids})"),
    "kinds": Kind({"name": NAME, "kinds": MAPPING}, HetData.with_kinds, "data = data.with_kinds({name}, {kinds})"),
    "sample": Kind({"fraction": NUMBER, "seed": SEED}, HetData.sample, "data = data.sample({fraction}, seed={seed})"),
    "non_overlapping": Kind(
        {"share": NUMBER, "seed": SEED},
        splits.non_overlapping,
        "data = splits.non_overlapping(data, share={share}, seed={seed})",
    ),
    "labels": Kind(
        {"fraction": NUMBER, "seed": SEED},
        splits.label_split,
        f"y = splits.label_split(data, {{fraction}}, seed={{seed}})\n{HIDE}",
        chooses=True,
    ),
    "one_class": Kind(
        {"label": NAME, "seed": SEED},
        splits.one_against_rest,
        "data = splits.one_against_rest(data, {label}, seed={seed})",
    ),
    "target_labels": Kind(
        {"name": NAME, "count": COUNT, "seed": SEED},
        splits.target_split,
        f"y = splits.target_split(data, {{name}}, {{count}}, seed={{seed}})\n{HIDE}",
        chooses=True,
    ),
    "flip_source_labels": Kind(
        {"name": NAME, "share": NUMBER, "seed": SEED},
        _flip_source,
        "with_flipped_labels({share}, seed={seed}, source={name})",
        corrupts=True,
    ),
    "flip_labels": Kind(
        {"share": NUMBER, "seed": SEED},
        HetData.with_flipped_labels,
        "with_flipped_labels({share}, seed={seed})",
        corrupts=True,
    ),
    "forget_labels": Kind({"ids": NAMES}, HetData.hide_labels, "hide_labels({ids})", corrupts=True),
    "label_noise": Kind(
        {"share": NUMBER, "sd": NUMBER, "seed": SEED},
        HetData.with_label_noise,
        "with_label_noise({share}, sd={sd}, seed={seed})",
        corrupts=True,
    ),
}


def checked(operations: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the operations with their arguments in order and their defaults filled in.

    Raises
    ------
    ParameterError
        If an operation or an argument is unknown, missing or of another type, or the labels are chosen twice.
    """
    # Defaults are filled in at once, so that two spellings of one scenario are stored alike.
    result = [_checked(operation) for operation in operations]
    if sum(OPERATIONS[operation["op"]].chooses for operation in result) > 1:
        raise ParameterError("The labels to train on are chosen twice among the operations: keep one of the two.")
    return result


def _checked(operation: Mapping[str, Any]) -> dict[str, Any]:
    name = operation.get("op") if isinstance(operation, Mapping) else None
    if not isinstance(name, str) or name not in OPERATIONS:
        raise ParameterError(f"op={quoted(name)} is not an operation: use one of {listed(OPERATIONS)}.")
    fields = OPERATIONS[name].fields
    if unknown := set(operation) - set(fields) - {"op"}:
        raise ParameterError(
            f"{name} takes {listed(fields)}, not {quoted(sorted(map(str, unknown))[0])}: leave it out."
        )
    return {"op": name} | {key: _argument(operation, key, field) for key, field in fields.items()}


def _argument(operation: Mapping[str, Any], key: str, field: Field) -> Any:
    # A seed alone has a default: every other argument changes what is meant.
    value = operation.get(key, 0 if field is SEED else None)
    if not field.fits(value):
        raise ParameterError(f"{operation['op']} needs {key} as {field.text}, not {quoted(value)}: correct it.")
    return [tuple(pair) for pair in value] if field is PAIRS else value


def apply(data: HetData, operations: Iterable[Mapping[str, Any]]) -> Scenario:
    """Apply the operations to data, which stay as they are.

    Raises
    ------
    ParameterError
        If an operation is not valid, or an argument is outside its domain.
    DataError
        If it names a source, graph or instance that is not there (any more), or leaves nothing to train on.
    """
    scenario = Scenario(data)
    for operation in _ordered(checked(operations)):
        # Once labels are chosen, those to score by must not be touched any more.
        if OPERATIONS[operation["op"]].chooses:
            scenario = _hidden(scenario.data, _run(scenario.data, operation))
        elif scenario.y is None:
            scenario = Scenario(_run(scenario.data, operation))
        else:
            # Only the labels trained on are changed, by the same operation as for whole data.
            trained = scenario.data.with_target(scenario.y, scenario.data.target_kind)
            scenario = scenario._replace(y=_run(trained, operation).y)
    return scenario


def _ordered(operations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the operations in order, the choice of labels after the others, what spoils labels last."""
    kinds = [OPERATIONS[operation["op"]] for operation in operations]
    # sorted is stable: within each of the three groups the order is the person's.
    return [operations[k] for k in sorted(range(len(kinds)), key=lambda k: (kinds[k].corrupts, kinds[k].chooses))]


def _run(data: HetData, operation: dict[str, Any]) -> Any:
    arguments = {key: value for key, value in operation.items() if key != "op"}
    return OPERATIONS[operation["op"]].run(data, **arguments)


def _hidden(data: HetData, y: NDArray) -> Scenario:
    eval_y = data.y.copy()
    # Scored by those that were hidden alone, or training labels would flatter the score.
    eval_y[data.with_target(y, data.target_kind).labelled] = None
    return Scenario(data, y, eval_y)


def choose(operations: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether one of the operations chooses the labels to train on, and so leaves others to score by."""
    return any(OPERATIONS[operation["op"]].chooses for operation in operations)


def aligned(values: NDArray | None, before: Any, after: Any) -> NDArray | None:
    """Return labels (n_before,) of `before.ids` in the order of `after.ids`, which may be fewer."""
    if values is None or after is before:
        return values
    return np.asarray(values)[[before.position[identifier] for identifier in after.ids]]


def as_code(operations: Iterable[Mapping[str, Any]]) -> str:
    """Print the operations as lines of Python on `data`, with `hetcore.data.splits` as `splits`; names as literals.

    What chooses labels comes after the others and leaves `y` and `eval_y`; what spoils labels comes last and changes
    `y`, or the data where nothing chose labels.
    """
    ordered = _ordered(checked(operations))
    chosen = choose(ordered)
    return "\n".join(_line(operation, chosen) for operation in ordered)


def _line(operation: dict[str, Any], chosen: bool) -> str:
    kind = OPERATIONS[operation["op"]]
    code = kind.code.format(**{key: repr(value) for key, value in operation.items()})
    if not kind.corrupts:
        return code
    return f"y = data.with_target(y, data.target_kind).{code}.y" if chosen else f"data = data.{code}"
