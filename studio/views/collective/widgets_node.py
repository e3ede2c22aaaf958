"""One node of the Collective page's network: its prediction, how it moved over the sweeps, neighbours, features."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.figures import basic
from hetcore.figures import graph as figures_graph
from hetcore.figures.graph import brief
from studio.jobs.job import Setting
from studio.messages import shown
from studio.views.collective.edits import Inference, columns_of, neighbours
from studio.views.common.widgets import chart, escape, show_table

__all__ = ["Trained", "node", "plain"]

MOST_AROUND = 12


class Trained:
    """A model that has ended training, as the network shows it.

    Parameters
    ----------
    run : str
        Its run id.
    setting : Setting
    result : RunResult
    before : RunResult or None
        Of the training before.
    became : str, default=""
        That it became GB, and why; empty where it did not.
    """

    def __init__(self, run: str, setting: Setting, result: Any, before: Any = None, became: str = "") -> None:
        self.run, self.setting, self.result, self.before, self.became = run, setting, result, before, became


def node(
    base: HetData,
    edited: HetData,
    graph: str,
    place: int,
    model: Trained | None,
    now: Inference | None,
    first: Inference | None,
    hidden: bool,
    pending: bool,
) -> None:
    """Show a node's prediction, how it moved over the sweeps, its neighbours and its features.

    `hidden` says whether an edit hides its label, `pending` whether a worker still infers; see `widgets_graph.network`
    for the others.
    """
    frame = None if model is None else model.result.predictions
    if frame is not None and now is not None:
        frame = frame.with_columns(prediction=now.predictions["prediction"])
        row = frame.row(place, named=True)
        truth = row["label"] if row["label"] is not None else row.get("held_out")
        text = f"Predicted **{escape(plain(row['prediction']))}**"
        text += "" if truth is None else f", label **{escape(plain(truth))}**"
        by = " (hidden by an edit)" if hidden else " (hidden from training)" if row["label"] is None else ""
        st.markdown(f"{text}{by if truth is not None else ''}.")
    near = neighbours(edited, graph, place, frame)
    story, around, about = st.tabs(["Sweeps", f"Neighbours ({near.height})", "Features"])
    with story:
        if model is not None and now is None:
            words = "All are inferred together just now." if pending else "The inference failed: train again."
            st.caption(words)
        else:
            learned = frame is not None and frame["label"][place] is not None and not hidden
            _sweeps(edited, place, near, now, first, became=model.became if model else "", learned=learned)
    with around:
        if near.height:
            show_table(near, width="stretch", height=300)
        else:
            st.caption("No neighbour in this graph.")
    with about:
        show_table(columns_of(base, place), width="stretch", height=300)


def plain(value: Any) -> str:
    """Return a number briefly, anything else as text."""
    return brief(value) if isinstance(value, float) else str(value)


def _sweeps(
    data: HetData, place: int, near: pl.DataFrame, now: Inference | None, first: Inference | None, *, became: str,
    learned: bool = False,
) -> None:  # fmt: skip
    """Draw how the prediction of a node, and of its nearest neighbours, moved over the sweeps."""
    if now is None:
        st.caption("Train first: then this shows how its prediction moves while all are inferred together.")
        return
    if now.trace.shape[0] < 2:
        st.caption(escape(f"{became} GB predicts each node on its own: there are no sweeps.".lstrip()))
        return
    unit = "prediction" if data.target_kind == "regression" else "probability of its class"
    pale = {} if first is None else {"this node": (np.arange(len(first.trace)), first.trace[:, place])}
    sweeps = np.arange(len(now.trace))
    figure = basic.lines(sweeps, {"this node": now.trace[:, place]}, "sweep", unit, pale=pale)
    grey = {"color": figures_graph.GREY, "width": 1}
    for one in near["id"][:MOST_AROUND]:
        name, values = figures_graph.escape(shown(one, 30)), now.trace[:, data.position[one]]
        line = {"type": "scatter", "mode": "lines", "name": name, "x": sweeps, "y": values, "line": grey}
        figure["data"].insert(0, line)
    figure["layout"] |= {"height": 280, "showlegend": False, "hovermode": "closest"}
    chart(figure, "sweeps of a node", "how a prediction moved over the sweeps")
    st.caption(f"Blue: this node{', dotted without the edits' if first is not None else ''}. Grey: its neighbours.")
    if np.ptp(now.trace[:, place]) == 0:
        st.caption(f"It stands still: {'its label is known' if learned else 'nothing around it moves enough to tell'}.")
