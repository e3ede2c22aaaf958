"""Which method to start with on given data, and why, in one sentence with evidence from the data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hetcore.data import HetData, Source
from hetcore.data.text import counted, listed, quoted
from hetcore.metrics import residual_autocorrelation
from studio.views.noise.settings import suited, why_not

__all__ = ["Advice", "advise", "label_autocorrelation"]

ALIKE = 0.1
"""Correlation of labels over links from which a graph alone is worth a method."""
CODES = 0.1
"""Different values to rows, up to which a column of records looks like codes of things that come again and again."""
MOST_ALIKE = 2_000_000
"""Links of a graph up to which the labels' correlation is measured at once."""
CONSENSUS = ("Gradient Boosting Consensus", "Consensus")
"""Method and page for all data that nothing else suits."""


class Advice(NamedTuple):
    """A method's name, the page where it is, and the sentence that says why."""

    method: str
    page: str
    text: str


def advise(data: HetData) -> Advice:
    """Return the method to start with.

    Looked at in turn: are the tables domains, records of codes, modalities; do graphs link tables; is there one table.
    """
    # From the most particular to the most general: domains have no graph, and a consensus takes anything.
    for look in (_domains, _records, _modalities, _one_graph):
        if found := look(data):
            return found
    if len(data.sources) + len(data.graphs) > 1:
        return _several(data)
    if not data.labelled.any():
        return Advice(*CONSENSUS, "one table, no graph and no label: choose a label on the Data page")
    if why_not("Table", data):  # too few labels to tell which to trust
        return Advice(*CONSENSUS, f"one table and no graph, {_known(data)}: see what little they teach")
    text = "see which rows to trust (another table or a graph would allow a consensus)"
    return Advice("Heteroscedastic boosting", "Noise", f"one table and no graph, {_known(data)}: {text}")


def _known(data: HetData) -> str:
    """Say how many instances there are, and which share of them has a label."""
    return f"{data.labelled.mean():.0%} of {counted(data.n, 'instance')} labelled"


def _domains(data: HetData) -> Advice | None:
    """Tables with the same columns about different things, and classes to tell."""
    sources = list(data.sources.values())
    # One instance in two tables, and the tables tell different things of the same one.
    if len(sources) < 2 or data.target_kind == "regression" or (data.mask.sum(axis=0) > 1).any():
        return None
    shapes = {_columns(source) for source in sources}
    if len(shapes) > 1:
        return None
    few, share = _fewest(data)
    fewest = f", fewest in {quoted(few)}: {share:.0%}" if share < 1.0 else ""
    text = f"the {len(sources)} tables have the same columns and share no id ({_known(data)}{fewest})"
    goal = quoted(few) if fewest else "one of them"
    return Advice("Transfer boosting", "Transfer", f"{text}: learn for {goal} from the others")


def _fewest(data: HetData) -> tuple[str, float]:
    """Return the source of whose rows the smallest share is labelled, and that share."""
    # A source without a row has no share, and a mean over nothing is a warning.
    shares = {name: float(data.labelled[has].mean()) for name, has in zip(data.source_names, data.mask) if has.any()}
    name = min(shares, key=shares.get, default="")
    return name, shares.get(name, 1.0)


def _columns(source: Source) -> object:
    return source.array.shape[1:] if source.array is not None else tuple(sorted(source.columns))


def _records(data: HetData) -> Advice | None:
    """One table of two or three columns of codes that come again and again, and a number."""
    if len(data.sources) != 1 or data.graphs or data.target_kind != "regression":
        return None
    source = next(iter(data.sources.values()))
    # So few rows tell nothing about who repeats.
    if source.frame is None or source.frame.width not in (2, 3) or source.n_rows < 100:
        return None
    distinct = [source.frame[column].n_unique() for column in source.columns]
    if max(distinct) > CODES * source.n_rows and suited(data) == "Table":
        return None
    names = listed(source.columns)
    text = f"{counted(source.n_rows, 'record')} of {names} and a number: fill in the rest, and see whom to trust"
    return Advice("Heteroscedastic factorization", "Noise", text)


def _modalities(data: HetData) -> Advice | None:
    """A source of images or text beside another source."""
    unlike = [name for name, source in data.sources.items() if _is_unstructured(source)]
    if not unlike or len(data.sources) < 2 or data.target_kind != "classification" or data.graphs:
        return None
    text = f"{quoted(unlike[0])} holds {_what(data.sources[unlike[0]])} beside a table, {_known(data)}"
    return Advice("Two weak learners", "Two learners", f"{text}: see what each adds")


def _is_unstructured(source: Source) -> bool:
    return (source.array is not None and source.array.ndim > 2) or set(source.kinds.values()) == {"text"}


def _what(source: Source) -> str:
    return "images" if source.array is not None else "text"


def _one_graph(data: HetData) -> Advice | None:
    """One table whose labels are alike along a graph."""
    if len(data.sources) != 1 or not data.graphs or data.target_kind != "regression":
        return None
    name, value = _most_alike(data)
    # Not `value < ALIKE`: NaN, where nothing could be measured, must not count as alike.
    if not value >= ALIKE:
        return None
    links = counted(data.graphs[name].n_edges, "link")
    alike = f"neighbours in {quoted(name)} have like labels (correlation {value:.2f} over {links})"
    text = f"one table, {_known(data)}, and {alike}: infer them together"
    return Advice("Boosting with collective inference", "Collective", text)


def _several(data: HetData) -> Advice:
    parts = [counted(len(data.sources), "table")] + ([counted(len(data.graphs), "graph")] if data.graphs else [])
    name, value = _most_alike(data)
    known = ""
    if np.isfinite(value):
        alike = "have like labels" if value >= ALIKE else "have labels that are hardly alike"
        known = f", neighbours in {quoted(name)} {alike} (correlation {value:.2f})"
    text = f"{' and '.join(parts)}, {_known(data)}{known}: learn how much to trust each"
    return Advice(*CONSENSUS, text)


def _most_alike(data: HetData) -> tuple[str, float]:
    """Return the graph along which labels are most alike, and how much; NaN where none can be measured."""
    # This is worked out while a page waits; a larger graph is left out rather than waited for.
    small = [name for name, graph in data.graphs.items() if graph.n_edges <= MOST_ALIKE]
    values = {name: label_autocorrelation(data, name) for name in small} if data.labelled.any() else {}
    values = {name: value for name, value in values.items() if np.isfinite(value)}
    name = max(values, key=values.get, default="")
    return name, values.get(name, float("nan"))


def label_autocorrelation(data: HetData, name: str) -> float:
    """Return the correlation of labels over the links of a graph, of one-hot columns for classes; NaN if undefined."""
    if not data.labelled.any():
        return float("nan")
    if data.target_kind == "regression":
        return residual_autocorrelation(data.y, data.graphs[name])
    # One column a class, so that the correlation does not depend on how classes are numbered.
    hot = np.array([data.y == label for label in data.classes], dtype=float).T
    hot[~data.labelled] = np.nan
    return residual_autocorrelation(hot, data.graphs[name])
