"""The part of the Data page that shows the data in use, and asks what if."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from hetcore.data import HetData
from hetcore.data.text import counted
from hetcore.errors import DataError, ParameterError
from hetcore.figures import basic
from studio import session
from studio.advice import advise, label_autocorrelation
from studio.messages import explained
from studio.readers.upload_problems import stray_edges
from studio.runs import differences
from studio.views.common.widgets import PAGES, chart, escape, number, show_table
from studio.views.common.widgets_controls import share
from studio.views.data.widgets_whole import sizes_of

__all__ = ["in_use", "pictures", "what_if"]

MOST_FINDINGS = 100
MOST_GRAPHS = 6
"""Drawn at once; the others wait until somebody looks."""
JOINS = {"part": "one", "ids": "ids of one", "other_ids": "ids of the other", "matched": "in both",
         "nearly": "more if spelled alike"}  # fmt: skip
"""Columns of `HetData.joins` as they are shown."""
BOTH_WAYS = "Edges lead both ways."
ONE_WAY = "Edges lead one way: Consensus looks along and against them, Collective has the choice."
NOISE, HIDE, HIDE_GRAPH, REWIRE, SAMPLE, THIN_OUT = (
    "Add noise to a table", "Hide a table", "Hide a graph", "Rewire a graph", "Take a sample",
    "Hide half of the tables for some",
)  # fmt: skip


def in_use() -> HetData:
    """Show what the data in use are; return them after the what-if operations."""
    now, data = session.current(), session.changed()
    st.header(f"In use: {escape(now.title)}", anchor=False)
    st.markdown(escape(now.story))
    labels, facts = int(data.labelled.sum()), session.summary()
    sizes = {"Instances": data.n, "Tables": len(data.sources), "Graphs": len(data.graphs), "Labels": labels}
    texts = sizes_of(facts) if facts else {name: f"{size:,}" for name, size in sizes.items()}
    with st.container(horizontal=True):
        for name, text in texts.items():
            st.metric(name, text, width="content" if facts else 120)
    # An example's own are part of it, and stand among the findings.
    for sentence in () if now.example else _kept(data, "stray", lambda: stray_edges(data)):
        st.warning(escape(sentence))
    with st.container(horizontal=True, vertical_alignment="center"):
        if labels:
            # Of data by path only a consensus is trained on all rows.
            page = "Consensus" if facts else _kept(data, "advice", lambda: advise(data)).page
            file = next(path for path, name, _ in PAGES if name == page)
            st.page_link(file, label=f"Train on it: {page}", icon=":material/arrow_forward:", width="content")
        else:
            st.caption("Choose a label first: without one nothing can be trained.", width="content")
        share()
    return data


def _kept(data: HetData, what: str, make: Callable[[], Any]) -> Any:
    """Return what was made of these data before, so that a click elsewhere does not make it anew."""
    kept = st.session_state.get("pictures")
    if kept is None or kept[0] is not data:
        kept = st.session_state["pictures"] = (data, {})
    if what not in kept[1]:
        kept[1][what] = make()
    return kept[1][what]


def _picture(data: HetData, title: str, key: str, make: Callable[[], Any], alt: str) -> None:
    st.markdown(f"**{title}**")
    figure = _kept(data, key, make)
    chart(figure, key, basic.alt_text(figure, alt))


def pictures(data: HetData) -> None:
    """Show findings, coverage, missing values, labels and graphs."""
    # Of one place, also while empty, or all charts below would be drawn anew.
    with st.container():
        _findings(data)
    _joins(data)
    left, right = st.columns(2)
    with left:
        _picture(data, "Which table has whom", "coverage", lambda: basic.coverage(data), "Records by table")
    with right:
        _picture(data, "How the tables overlap", "overlap", lambda: basic.overlap(data), "Instances by tables")
    with left:
        _picture(data, "Labels", "labels", lambda: basic.labels(data), "Labels") if data.labelled.any() else st.info(
            "There are no labels: look at the data here, and add labels to train."
        )
    with right:
        _missing(data)
    _graphs(data)


def _missing(data: HetData) -> None:
    """Draw which tables lack values; without any there is nothing to draw."""
    if any(source.missing_share for source in data.sources.values()):
        _picture(data, "Missing values", "missing", lambda: basic.missing(data), "Missing values by table")
    else:
        st.markdown("**Missing values**")
        st.caption("None: every table has all of its values.")


def _findings(data: HetData) -> None:
    findings = list(data.report)
    if not findings:
        # A what-if changes rows, edges or labels.
        if not session.operations():
            st.success("Nothing to report: every row, edge and label is used as given.", icon=":material/check:")
        return
    with st.expander(f"Findings: {len(findings):,}", icon=":material/fact_check:", expanded=len(findings) <= 5):
        st.markdown("\n".join(f"- {escape(finding)}" for finding in findings[:MOST_FINDINGS]))
        if len(findings) > MOST_FINDINGS:
            st.caption(f"The first {MOST_FINDINGS} of {len(findings):,}.")


def _joins(data: HetData) -> None:
    """Say how the ids of tables, graphs and labels meet."""
    found = _kept(data, "joins", data.joins)
    if found.is_empty():
        return
    near = int(found["nearly"].sum())
    text = f"How the ids meet{f': {near:,} nearly' if near else ''}"
    with st.expander(text, icon=":material/join:", expanded=near > 0):
        show_table(found.head(500).rename(JOINS), key="joins", alt="How many ids each two of the parts share")


def _graphs(data: HetData) -> None:
    _graph_pictures(data, 0, MOST_GRAPHS)
    if rest := data.graph_names[MOST_GRAPHS:]:
        text = counted(len(rest), "more graph")
        more = st.expander(text, icon=":material/hub:", key="more graphs", on_change="rerun")
        # Closed it costs nothing, of which a page of ninety graphs has much.
        if more.open:
            with more:
                _graph_pictures(data, MOST_GRAPHS, len(data.graphs))


def _graph_pictures(data: HetData, first: int, end: int) -> None:
    names = data.graph_names[first:end]
    # Pair by pair: on a phone, where columns stand one below the other, they keep their order.
    pairs = [st.columns(min(2, len(names))) for _ in names[::2]]
    for place, name in enumerate(names, first):
        with pairs[(place - first) // 2][(place - first) % 2]:
            graph = data.graphs[name]
            title = f"Graph {escape(name)}: {graph.n_edges:,} edges"
            _picture(data, title, f"degrees {place}", lambda name=name: basic.degrees(data, name), "Degrees")
            value = _kept(data, f"autocorrelation {place}", lambda name=name: label_autocorrelation(data, name))
            st.caption(f"{_neighbours(value)} {BOTH_WAYS if graph.arcs is None else ONE_WAY}")


def _neighbours(value: float) -> str:
    if not np.isfinite(value):
        return "Label autocorrelation unknown: no two neighbours have labels that differ."
    says = "neighbours tell much" if value > 0.5 else "neighbours tell something" if value > 0.1 else (
        "neighbours tell little" if value > -0.1 else "neighbours differ")  # fmt: skip
    return f"Label autocorrelation {number(value)}: {says}."


def what_if(data: HetData) -> None:
    """Show what was done to the data, and the controls that do more."""
    st.subheader("What if …", anchor=False)
    # Of one place, also while empty: what comes below would be drawn anew, and who pressed Apply by the keyboard lost.
    with st.container():
        for operation in session.operations():
            st.markdown(f"- {escape(differences.operation_text(operation))}")
    actions = [NOISE, HIDE, SAMPLE, THIN_OUT] + ([HIDE_GRAPH, REWIRE] if data.graphs else [])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        action = st.selectbox("Change", actions, key="what_if_action", width=300)
        operation = _operation(data, action)
        st.button("Apply", on_click=_add, args=(operation,), key="what_if_apply", icon=":material/science:")
        empty = not session.operations()
        st.button("Undo", on_click=session.undo, disabled=empty, key="what_if_undo", icon=":material/undo:")
    if sentence := st.session_state.pop("what_if_error", None):
        st.error(escape(sentence))


def _operation(data: HetData, action: str) -> dict[str, Any]:
    """Show the controls of an action; return its operation."""
    seed = len(session.operations())
    if action == SAMPLE:
        return {"op": "sample", "fraction": _share("Share of the instances", 50), "seed": seed}
    if action == THIN_OUT:
        return {"op": "non_overlapping", "share": _share("Share of the instances", 30), "seed": seed}
    if action in (HIDE_GRAPH, REWIRE):
        name = st.selectbox("Graph", data.graph_names, key="what_if_graph", width=220)
        if action == HIDE_GRAPH:
            return {"op": "drop_graph", "name": name}
        return {"op": "rewire", "name": name, "share": _share("Share of the edges", 30), "seed": seed}
    name = st.selectbox("Table", data.source_names, key="what_if_source", width=220)
    if action == HIDE:
        return {"op": "drop_source", "name": name}
    text = "In standard deviations of each column."
    sd = st.slider("Noise", 0.1, 5.0, 1.0, 0.1, format="%.1f sd", key="what_if_sd", help=text, width=220)
    return {"op": "noise", "name": name, "sd": sd, "seed": seed}


def _share(label: str, start: int) -> float:
    return st.slider(label, 5, 100, start, 5, format="%d%%", key=f"what_if_share {label} {start}", width=220) / 100


def _add(operation: dict[str, Any]) -> None:
    try:
        session.add_operation(operation)
    except (DataError, ParameterError) as error:
        st.session_state["what_if_error"] = explained(error)
