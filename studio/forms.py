"""How data become the arrays that an estimator takes, as a mapping that can be stored, sent and printed as code.

    {"form": "table"}                                   X, y: all sources side by side
    {"form": "domains", "target": "dslr"}               X, y, sample_domain: every source a domain
    {"form": "codes", "columns": ["user", "item"]}      codes of records that have them all, y

Rows with a label are trained on; those whose label was hidden are scored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.data import plain
from hetcore.data.text import quoted
from hetcore.errors import ParameterError
from studio.scenarios import Scenario

__all__ = ["Arrays", "Placed", "arrays", "as_code", "fit_code", "labelled", "placed"]


class Placed(NamedTuple):
    """Rows of a form: X (m, d), what each row is (m,), and further arguments of fit by name, each (m,)."""

    X: NDArray
    ids: NDArray
    more: dict[str, NDArray]


class Arrays(NamedTuple):
    """What a form makes of a scenario.

    Attributes
    ----------
    fit : dict of str to array
        Arguments of fit: the rows to train on.
    eval_set : (X, y) or None
        The rows to score.
    X : (m, d) array
        All rows.
    y, held_out : (m,) array
        Labels to train on and to score by, NaN or None elsewhere.
    ids : (m,) object
        What each row is.
    """

    fit: dict[str, NDArray]
    eval_set: tuple[NDArray, NDArray] | None
    X: NDArray
    y: NDArray
    held_out: NDArray
    ids: NDArray


def arrays(scenario: Scenario, form: Mapping[str, Any]) -> Arrays:
    """Return the arrays of a scenario.

    Raises
    ------
    ParameterError
        If there is no such form.
    DataError
        If the data do not have it.
    """
    return labelled(scenario, placed(scenario.data, form))


def placed(data: Any, form: Mapping[str, Any]) -> Placed:
    """Return the rows of a form, without labels; raises as `arrays` does."""
    kind = form.get("form")
    if kind == "table":
        return Placed(plain.plain_table(data).X, data.ids, {})
    if kind == "domains":
        found = plain.domains(data, form["target"])
        return Placed(plain.filled(found.X), found.ids, {"sample_domain": found.sample_domain})
    if kind == "codes":
        found = plain.codes(data, form["columns"])
        whole = [None not in codes for codes in found.X.tolist()]
        return Placed(found.X[whole], found.ids[whole], {})
    raise ParameterError(f"form={quoted(kind)} is not known: give 'table', 'domains' or 'codes'.")


def labelled(scenario: Scenario, rows: Placed) -> Arrays:
    """Return rows with the labels of a scenario on the data that they came from."""
    # None and NaN are what "no label" is among words and among numbers.
    data = scenario.data
    y = data.y if scenario.y is None else scenario.y
    held_out = np.full(data.n, None if y.dtype == object else np.nan) if scenario.eval_y is None else scenario.eval_y
    # By id, for a form has rows of its own, in an order of its own.
    at = np.array([data.position[one] for one in rows.ids], np.int64)
    y, held_out = y[at], held_out[at]
    train, scored = known(y), known(held_out)
    # Methods that take arrays take no missing labels.
    fit = {"X": rows.X[train], "y": plainly(y[train])} | {name: values[train] for name, values in rows.more.items()}
    eval_set = (rows.X[scored], plainly(held_out[scored])) if scored.any() else None
    return Arrays(fit, eval_set, rows.X, y=y, held_out=held_out, ids=rows.ids)


def known(y: NDArray) -> NDArray[np.bool_]:
    """Return which labels are there."""
    return np.array([label is not None for label in y]) if y.dtype == object else ~np.isnan(y)


def plainly(y: NDArray) -> NDArray:
    """Return labels that are all there as numbers or text."""
    return y.astype(str) if y.dtype == object else y.astype(float)


def as_code(form: Mapping[str, Any], with_labels: bool) -> str:
    """Print a form as Python on `data` (and `y`, `eval_y`): leaves X, labels, held_out and train, the rows known."""
    kind, labels = form.get("form"), "y[at], eval_y[at]" if with_labels else "data.y[at], data.y[at]"
    lines = {
        "table": ["X, ids = plain.plain_table(data).X, data.ids"],
        "domains": [
            f"rows = plain.domains(data, {form.get('target')!r})",
            "X, ids, sample_domain = plain.filled(rows.X), rows.ids, rows.sample_domain",
        ],
        "codes": [
            f"rows = plain.codes(data, {form.get('columns')!r})",
            "whole = [None not in codes for codes in rows.X.tolist()]",
            "X, ids = rows.X[whole], rows.ids[whole]",
        ],
    }
    if kind not in lines:
        raise ParameterError(f"form={quoted(kind)} is not known: give 'table', 'domains' or 'codes'.")
    at = "at = [data.position[one] for one in ids]"
    return "\n".join([*lines[kind], at, f"labels, held_out = {labels}", "train = metrics.known_targets(labels)"])


def fit_code(form: Mapping[str, Any]) -> str:
    """Print the arguments of fit after `as_code`."""
    kind = 'str if data.target_kind == "classification" else float'
    more = ", sample_domain=sample_domain[train]" if form.get("form") == "domains" else ""
    return f"X[train], labels[train].astype({kind}){more}"
