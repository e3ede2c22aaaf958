"""The what-if language: operations on a HetData that can be stored, sent, applied and printed as library code.

An operation is a JSON-able mapping with "op" and its arguments:

    {"op": "drop_source", "name": "fou"}                          the data without a source
    {"op": "drop_graph", "name": "cites"}                         the data without a graph
    {"op": "noise", "name": "fac", "sd": 1.0, "seed": 0}          Gaussian noise, in standard deviations of each column
    {"op": "sample", "fraction": 0.3, "seed": 0}                  a share of the instances
    {"op": "non_overlapping", "share": 0.3, "seed": 0}            a share of the instances loses half of the sources
    {"op": "labels", "fraction": 0.1, "seed": 0}                  train on a share of the labels, score on the others

They are applied in order, except that "labels" chooses among the labels that the others leave. How one scenario
differs from another in words is told in `studio.differences`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hetcore.errors import DataError, ParameterError

__all__ = ["OPERATIONS", "Scenario", "aligned", "apply", "as_code", "checked"]

Operation = Mapping[str, Any]


class Scenario(NamedTuple):
    """Data after the operations; `y` and `eval_y` are (n,) like `data.ids`, or None where nothing chose them."""

    data: Any
    y: np.ndarray | None = None
    eval_y: np.ndarray | None = None


class Kind(NamedTuple):
    """What an operation takes (its default seed is 0), does to the data, and looks like as code."""

    fields: Mapping[str, type]
    run: Callable[..., Any]
    code: str


def _drop_source(data: Any, name: str) -> Any:
    _known(name, data.source_names, "source")
    return data.select(sources=[other for other in data.source_names if other != name], graphs=list(data.graph_names))


def _drop_graph(data: Any, name: str) -> Any:
    _known(name, data.graph_names, "graph")
    return data.select(sources=list(data.source_names), graphs=[other for other in data.graph_names if other != name])


def _noise(data: Any, name: str, sd: float, seed: int) -> Any:
    _known(name, data.source_names, "source")
    return data.with_noise(name, sd=sd, seed=seed)


def _sample(data: Any, fraction: float, seed: int) -> Any:
    return data.sample(fraction, seed=seed)


def _non_overlapping(data: Any, share: float, seed: int) -> Any:
    from hetcore.data.splits import non_overlapping

    return non_overlapping(data, share=share, seed=seed)


def _labels(data: Any, fraction: float, seed: int) -> np.ndarray:
    from hetcore.data.splits import label_split

    return label_split(data, fraction, seed)


_SELECT = "data = data.select(sources=[s for s in data.source_names{s}], graphs=[g for g in data.graph_names{g}])"
OPERATIONS: dict[str, Kind] = {
    "drop_source": Kind({"name": str}, _drop_source, _SELECT.format(s=" if s != {name}", g="")),
    "drop_graph": Kind({"name": str}, _drop_graph, _SELECT.format(s="", g=" if g != {name}")),
    "noise": Kind(
        {"name": str, "sd": float, "seed": int},
        _noise,
        "data = data.with_noise({name}, sd={sd}, seed={seed})",
    ),
    "sample": Kind({"fraction": float, "seed": int}, _sample, "data = data.sample({fraction}, seed={seed})"),
    "non_overlapping": Kind(
        {"share": float, "seed": int},
        _non_overlapping,
        "data = splits.non_overlapping(data, share={share}, seed={seed})",
    ),
    "labels": Kind(
        {"fraction": float, "seed": int},
        _labels,
        "y = splits.label_split(data, {fraction}, {seed})\n"
        "eval_y = data.y.copy()\n"
        "eval_y[data.with_target(y).labelled] = None  # score only what was hidden",
    ),
}


def checked(operations: Iterable[Operation]) -> list[dict[str, Any]]:
    """Return the operations with their arguments in order, defaults filled in and types right.

    Raises
    ------
    ParameterError
        If an operation or an argument is unknown, missing, of another type or not finite, or "labels" comes twice.
    """
    result = [_checked(operation) for operation in operations]
    if sum(operation["op"] == "labels" for operation in result) > 1:
        raise ParameterError('"labels" stands twice among the operations: keep the one share of labels to train on.')
    return result


def _checked(operation: Operation) -> dict[str, Any]:
    name = operation.get("op") if isinstance(operation, Mapping) else None
    if not isinstance(name, str) or name not in OPERATIONS:
        raise ParameterError(f"op={name!r:.80} is not an operation: use one of {', '.join(OPERATIONS)}.")
    fields = OPERATIONS[name].fields
    if unknown := set(operation) - set(fields) - {"op"}:
        raise ParameterError(f"{name} takes {', '.join(fields)}, not {sorted(map(str, unknown))[0]!r:.80}.")
    return {"op": name} | {field: _argument(operation, field, kind) for field, kind in fields.items()}


def _argument(operation: Operation, field: str, kind: type) -> Any:
    value = operation.get(field, 0 if field == "seed" else None)
    allowed = (int, float) if kind is float else kind
    if isinstance(value, bool) or not isinstance(value, allowed) or (kind is float and not math.isfinite(value)):
        words = {str: "a name", float: "a finite number", int: "a whole number"}[kind]
        raise ParameterError(f"{operation['op']} needs {field} as {words}, not {value!r:.80}.")
    return kind(value)


def apply(data: Any, operations: Iterable[Operation]) -> Scenario:
    """Apply the operations to a HetData, which stays as it is.

    Raises
    ------
    ParameterError
        If an operation is not valid.
    DataError
        If it names a source or graph that is not there (any more), or leaves nothing to train on.
    """
    operations = checked(operations)
    for operation in operations:
        if operation["op"] != "labels":
            data = _run(data, operation)
    for operation in operations:
        if operation["op"] == "labels":
            return _hide_labels(data, _run(data, operation))
    return Scenario(data)


def _run(data: Any, operation: dict[str, Any]) -> Any:
    arguments = {field: value for field, value in operation.items() if field != "op"}
    return OPERATIONS[operation["op"]].run(data, **arguments)


def _hide_labels(data: Any, y: np.ndarray) -> Scenario:
    eval_y = data.y.copy()
    eval_y[data.with_target(y).labelled] = None
    return Scenario(data, y, eval_y)


def aligned(values: np.ndarray | None, before: Any, after: Any) -> np.ndarray | None:
    """Return labels (n_before,) of `before.ids` in the order of `after.ids`, which may be fewer."""
    if values is None or after is before:
        return values
    return np.asarray(values)[[before.position[identifier] for identifier in after.ids]]


def as_code(operations: Sequence[Operation]) -> str:
    """Print the operations as lines of Python on `data`, with `hetcore.data.splits` as `splits`; names as literals."""
    operations = sorted(checked(operations), key=lambda operation: operation["op"] == "labels")
    return "\n".join(_line(operation) for operation in operations)


def _line(operation: dict[str, Any]) -> str:
    return OPERATIONS[operation["op"]].code.format(**{field: repr(value) for field, value in operation.items()})


def _known(name: str, names: Sequence[str], what: str) -> None:
    if name not in names:
        there = ", ".join(map(repr, names)) or "none"
        raise DataError(f"There is no {what} {name!r:.80} to change: the data have {there:.120}.")
