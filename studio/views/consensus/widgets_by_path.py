"""Consensus on all rows of data by path, while the page has a sample of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from hetcore.data import HetData
from studio.jobs import cluster, memory
from studio.jobs.job import Setting
from studio.limits import JOBS
from studio.messages import number
from studio.views.common.widgets_controls import held

__all__ = ["Names", "NoComparison", "names", "on_all_rows", "parameters", "scored", "why_not"]

POSSIBLE = ("drop_source", "drop_graph", "labels")
"""Operations that take no rows into memory."""


class Names(NamedTuple):
    """What can be left out of a training."""

    source_names: list[str]
    graph_names: list[str]


class NoComparison:
    """In place of `widgets_without.Without`: nothing is trained beside the consensus."""

    def line(self) -> None:
        """Return no line."""

    def start(self) -> None:
        """Begin nothing."""

    def say(self, *_: Any) -> None:
        """Say nothing."""

    def draw(self, *_: Any) -> None:
        """Draw nothing."""


def on_all_rows(current: Any) -> bool:
    """Draw whether all rows of data by path are trained on; False where the data in use are all."""
    if "scan" not in current.recipe:
        return False
    words = "A worker reads them where they are. Off trains on the sample that the pages show."
    return st.toggle("On all rows", key=held("whole", True, label="On all rows"), help=words)


def names(current: Any, operations: Sequence[Mapping[str, Any]], whole: bool) -> Names:
    """Return the names of the tables and graphs that what-ifs leave.

    Of all rows by path those of all rows, for a sample may have no edge of a graph.
    """
    scan = current.recipe.get("scan") if whole else None
    given = (scan["sources"], scan["graphs"]) if scan else (current.data.source_names, current.data.graph_names)
    gone = [{each["name"] for each in operations if each["op"] == op} for op in ("drop_source", "drop_graph")]
    return Names(*([name for name in every if name not in left_out] for every, left_out in zip(given, gone)))


def parameters(as_printed: bool) -> dict[str, Any]:
    """Return the parameters with which no process needs all tables."""
    return {} if as_printed else {"join_tables": False, "base_learner": "tree"}


def why_not(setting: Setting, data: HetData, sources: Mapping[str, Mapping[str, Any]]) -> str:
    """Return why a setting can't be trained on all rows, empty if it can.

    Parameters
    ----------
    setting : Setting
    data : HetData
        The sample.
    sources : mapping
        Of each table of all rows its "rows" and "columns", by name.
    """
    if not all(operation["op"] in POSSIBLE for operation in setting.operations):
        words = "Of all rows only tables, graphs and labels can be left out"
        return f"{words}: undo the other changes on the Data page, or train on the sample."
    # On a cluster its workers hold the tables.
    if cluster.address():
        return ""
    dropped = {operation["name"] for operation in setting.operations if operation["op"] == "drop_source"}
    tables = [(each["rows"], each["columns"]) for name, each in sources.items() if name not in dropped]
    classes = len(data.classes) if data.target_kind == "classification" else 1
    outputs = classes if classes > 2 else 1
    return memory.why_not_by_path(tables, outputs, bool(setting.params.get("as_printed")), JOBS)


def scored(result: Any, data: HetData) -> str:
    """Return in words what a training on all rows was scored on, and of whom the page tells."""
    scores = dict(result.scores)
    name = str(scores.pop("metric", "error"))
    words = {"train": "labels trained on", "held_out": "held-out labels"}
    parts = [f"{name} {number(value, name)} on all {words[key]}" for key, value in scores.items() if key in words]
    shown = f"predictions, and what they rest on, are shown for the {data.n:,} instances of the sample"
    text = f"{'; '.join([*parts, shown])}, with those of their neighbours that are in it."
    return text[:1].upper() + text[1:]
