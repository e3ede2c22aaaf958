"""The network of the Collective page: coloured, clicked on, edited; one node's story; and who changes by an edit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st
from numpy.typing import NDArray

from hetcore import figures, figures_graph
from hetcore.data import HetData
from hetcore.data.words import counted
from hetcore.errors import DataError, ParameterError
from hetcore.figures_graph import brief
from studio import jobs, scenarios
from studio.collective import Inference, changes, columns_of, neighbours, residuals
from studio.differences import words
from studio.sentences import shown
from studio.training import Setting
from studio.widgets import chart, escape
from studio.widgets_graph import network_chart

__all__ = ["Trained", "edits", "network"]

MOST_NODES = 30_000
MOST_CHOICES = 5_000
KEPT = 8
COLOURS = ("Label", "Prediction", "Residual", "Change")


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
    """

    def __init__(self, run: str, setting: Setting, result: Any, before: Any = None) -> None:
        self.run, self.setting, self.result, self.before = run, setting, result, before


# Edits ----------------------------------------------------------------------------------------------------------------


def edits(title: str) -> list[dict[str, Any]]:
    """Return the edits of the data of that title, as operations."""
    kept = st.session_state.get("collective edits")
    return list(kept[1]) if kept and kept[0] == title else []


def _edit(title: str, base: HetData, operation: dict[str, Any]) -> None:
    """Add an edit, if it can be done after those before it."""
    log = [*edits(title), operation]
    try:
        scenarios.apply(base, log)
    except (DataError, ParameterError) as error:
        st.session_state["edit refused"] = str(error)
        return
    st.session_state["collective edits"] = (title, log)


def _undo(title: str, everything: bool = False) -> None:
    left = [] if everything else edits(title)[:-1]
    st.session_state["collective edits"] = (title, left)
    if not left:
        st.session_state["edits trained"] = False


def _train_again() -> None:
    st.session_state["edits trained"] = st.session_state["train_now"] = True


# What workers compute -------------------------------------------------------------------------------------------------


def _asked(slot: str, key: str, path: str, kwargs: Mapping[str, Any], owner: str) -> tuple[Any, bool]:
    """Return (value, pending) of a call in a worker, which is made once for a key; (None, False) if it failed."""
    kept = st.session_state.setdefault(slot, {})
    if key not in kept:
        while len(kept) >= KEPT:
            kept.pop(next(iter(kept)))
        try:
            kept[key] = ("run", jobs.manager().run_task(path, dict(kwargs), owner))
        except ValueError:
            return None, False
    kind, held = kept[key]
    if kind == "value":
        return held, False
    try:
        status = jobs.manager().status(held)
    except jobs.UnknownRunError:
        kept.pop(key)
        return None, False
    if status.active:
        return None, True
    result = jobs.manager().result(held)
    kept[key] = ("value", None if result is None else result.value)
    return kept[key][1], False


def _places(data: HetData, graph: str, owner: str) -> tuple[NDArray | None, bool]:
    kwargs = {"data": data, "name": graph}
    return _asked("layouts", data.graphs[graph].digest(), "studio.layouts:layout", kwargs, owner)


def _inferred(data: HetData, trained: Trained, new: Sequence[Any], owner: str) -> tuple[Inference | None, bool]:
    """Return what a trained model infers with edits that it has not seen."""
    kwargs = {"model": trained.result.model, "data": data}
    kwargs |= {"operations": list(trained.setting.operations), "edits": list(new)}
    key = f"{trained.run} {json.dumps(list(new))}"
    return _asked("inferences", key, "studio.collective:infer", kwargs, owner)


# The network ----------------------------------------------------------------------------------------------------------


def network(
    title: str,
    original: HetData,
    base: HetData,
    graph: str,
    trained: Mapping[str, Trained],
    owner: str,
) -> None:
    """Draw the network, the node that was chosen, the edits, and who changes by them.

    Parameters
    ----------
    title : str
        Of the data in use.
    original : HetData
        Before what-if operations, as trainings are given it.
    base : HetData
        After those of the Data page.
    graph : str
        The graph to draw.
    trained : mapping of str to Trained
        By label; empty before the first training has ended.
    owner : str
    """

    def look() -> None:
        was = st.session_state.get("network pending", False)
        pending = _drawn(title, original, base, graph, trained, owner)
        st.session_state["network pending"] = pending
        if was != pending:
            st.rerun()

    st.fragment(look, run_every=0.7 if st.session_state.get("network pending") else None)()


def _drawn(
    title: str, original: HetData, base: HetData, graph: str, trained: Mapping[str, Trained], owner: str
) -> bool:
    """Draw everything; return whether a worker still computes something of it."""
    if refused := st.session_state.pop("edit refused", ""):
        st.warning(escape(refused))
    log = edits(title)
    edited = scenarios.apply(base, log).data if log else base
    model = _model(trained)
    new = [each for each in log if each not in model.setting.operations] if model else log
    now, later = _inferred(original, model, new, owner) if model else (None, False)
    first, sooner = _inferred(original, model, [], owner) if model and new else (now, later)
    moved, against = _moved(model, new, first, now)
    places, drawing = _places(base, graph, owner)
    left, right = st.columns([2.1, 1], gap="medium")
    with right:
        place = _choice(base)
        if place is not None:
            _node(base, edited, graph, place, model, now, first if new else None)
    with left:
        _picture(edited, graph, places, drawing, place, model, now, moved)
    _edit_bar(title, base, edited, graph, place, model, new)
    if moved is not None and (new or model.before is not None):
        _who(moved, against)
    return drawing or later or sooner


def _model(trained: Mapping[str, Trained]) -> Trained | None:
    """Let the person choose whose predictions are shown."""
    if not trained:
        return None
    names = list(trained)
    if st.session_state.get("network model") not in names:
        st.session_state["network model"] = names[-1]
    with st.container(horizontal=True):
        label = st.segmented_control("Model", names, key="network model", required=True, help="Whose predictions.")
        st.segmented_control(
            "Colour",
            COLOURS,
            key="network colour",
            default=None if "network colour" in st.session_state else "Prediction",
            required=True,
            help="What the colours of the nodes mean.",
        )
    return trained[label or names[-1]]


def _moved(
    model: Trained | None, new: Sequence[Any], first: Inference | None, now: Inference | None
) -> tuple[pl.DataFrame | None, str]:
    """Return who changed, and against what: by edits, else against the training before."""
    if model is None:
        return None, ""
    if new:
        if first is None or now is None:
            return None, ""
        return changes(first.predictions, now.predictions), f"{', '.join(map(words, new))}, inferred again"
    if model.before is not None and model.before.predictions is not None:
        same = model.before.predictions["prediction"].dtype == model.result.predictions["prediction"].dtype
        if same:
            return changes(model.before.predictions, model.result.predictions), "against the training before"
    return None, ""


def _choice(data: HetData) -> int | None:
    """Let the person choose a node by its id; a click on the network does the same."""
    if st.session_state.get("node") not in data.position:
        st.session_state.pop("node", None)
    if data.n <= MOST_CHOICES:
        ids = data.ids.tolist()
        chosen = st.selectbox("Node", ids, index=None, key="node", placeholder="Click one, or type its id")
    else:
        chosen = st.text_input("Node", key="node", placeholder="Click one, or type its id") or None
    return data.position.get(chosen) if chosen else None


def _picture(
    data: HetData,
    graph: str,
    places: NDArray | None,
    drawing: bool,
    place: int | None,
    model: Trained | None,
    now: Inference | None,
    moved: pl.DataFrame | None,
) -> None:
    if data.n > MOST_NODES:
        st.info(f"{counted(data.n, 'node')} are too many to draw: choose one by its id.")
        return
    if places is None:
        said = (
            "The network is being laid out: a few seconds, once." if drawing else "The network could not be laid out."
        )
        st.info(said, icon=":material/hub:")
        return
    links = data.graphs[graph]
    ends = figures_graph.drawn_edges(links)
    look, known = _look(data, model, now, moved)
    near = links.indices[links.indptr[place] : links.indptr[place + 1]] if place is not None else None
    figure = figures_graph.network(places, ends, look, data.ids, known, place, near)
    name = f"{graph} {data.n}"

    def picked(at: int) -> None:
        st.session_state["node"] = str(data.ids[at])

    network_chart(figure, "network", name, picked)
    thin = f"{len(ends[0]):,} of " if len(ends[0]) < links.n_edges else ""
    lonely = int((links.degree == 0).sum())
    alone = f" {counted(lonely, 'node')} without a link are not drawn." if lonely else ""
    st.caption(f"{thin}{counted(links.n_edges, 'edge')} shown, drag to move, scroll to zoom, click a node.{alone}")


def _look(
    data: HetData, model: Trained | None, now: Inference | None, moved: pl.DataFrame | None
) -> tuple[figures_graph.Look, NDArray | None]:
    """Return the colours of the nodes, and whose label is known in training."""
    if model is None:
        return _valued(data, data.y, "label"), None
    frame, colour = model.result.predictions, st.session_state.get("network colour") or "Prediction"
    known = frame["label"].is_not_null().to_numpy()
    said = frame["prediction"] if now is None else now.predictions["prediction"]
    text = _told(data, frame, said)
    if colour == "Residual":
        frame = frame.with_columns(prediction=said)
        left = residuals(frame, data.target_kind)
        numbers = data.target_kind == "regression"
        words = np.array([None if np.isnan(v) else ("wrong" if v else "right") for v in left], object)
        look = figures_graph.signed(left, "residual") if numbers else figures_graph.by_class(words, ("right", "wrong"))
    elif colour == "Change":
        look = figures_graph.signed(_change(data, moved), "change")
    elif colour == "Label":
        look = _valued(data, data.y, "label")
    else:
        look = _valued(data, said.to_numpy(), "prediction")
    return figures_graph.Look(look.colour, look.axis, look.legend, text), known


def _change(data: HetData, moved: pl.DataFrame | None) -> NDArray:
    """Return each instance's change, 0 where there is none."""
    change = np.zeros(data.n)
    if moved is not None and moved.height:
        change[[data.position[one] for one in moved["id"]]] = moved["change"].to_numpy()
    return change


def _valued(data: HetData, values: NDArray, title: str) -> figures_graph.Look:
    if data.target_kind == "regression":
        return figures_graph.by_quantile(np.asarray(values, float), data.y[data.labelled].astype(float), title)
    return figures_graph.by_class([None if v is None else str(v) for v in values], data.classes)


def _told(data: HetData, frame: pl.DataFrame, said: pl.Series) -> list[str]:
    """Return what each node says under the pointer."""
    truth = frame["label"].fill_null(frame["held_out"]) if "held_out" in frame.columns else frame["label"]
    hidden = frame["label"].is_null()
    return [
        f"predicted {_cell(p)}" + ("" if t is None else f", label {_cell(t)}{' (hidden)' if h else ''}")
        for p, t, h in zip(said, truth, hidden)
    ]


def _cell(value: Any) -> str:
    return brief(value) if isinstance(value, float) else figures_graph.escape(shown(str(value), 30))


# One node -------------------------------------------------------------------------------------------------------------


def _node(
    base: HetData,
    edited: HetData,
    graph: str,
    place: int,
    model: Trained | None,
    now: Inference | None,
    first: Inference | None,
) -> None:
    """Show a node's prediction, how it moved over the sweeps, its neighbours and its features."""
    frame = None if model is None else model.result.predictions
    if frame is not None and now is not None:
        frame = frame.with_columns(prediction=now.predictions["prediction"])
        row = frame.row(place, named=True)
        truth = row["label"] if row["label"] is not None else row.get("held_out")
        told = f"Predicted **{escape(_plain(row['prediction']))}**"
        told += "" if truth is None else f", label **{escape(_plain(truth))}**"
        st.markdown(
            told + ("." if row["label"] is not None else " (hidden from training)." if truth is not None else ".")
        )
    near = neighbours(edited, graph, place, frame)
    story, around, about = st.tabs(["Sweeps", f"Neighbours ({near.height})", "Features"])
    with story:
        _sweeps(edited, place, near, now, first)
    with around:
        if near.height:
            st.dataframe(near, hide_index=True, width="stretch", height=300)
        else:
            st.caption("No neighbour in this graph.")
    with about:
        st.dataframe(columns_of(base, place), hide_index=True, width="stretch", height=300)


def _plain(value: Any) -> str:
    return brief(value) if isinstance(value, float) else str(value)


def _sweeps(data: HetData, place: int, near: pl.DataFrame, now: Inference | None, first: Inference | None) -> None:
    """Draw how the prediction of a node, and of its nearest neighbours, moved over the sweeps."""
    if now is None:
        st.caption("Train first: then this shows how its prediction moves while all are inferred together.")
        return
    if now.trace.shape[0] < 2:
        st.caption("GB predicts each node on its own: there are no sweeps.")
        return
    around = [data.position[one] for one in near["id"][:4]]
    unit = "prediction" if data.target_kind == "regression" else "probability of its class"
    series = {"this node": now.trace[:, place]}
    series |= {figures_graph.escape(shown(str(data.ids[j]), 18)): now.trace[:, j] for j in around}
    pale = {} if first is None else {"this node": (np.arange(len(first.trace)), first.trace[:, place])}
    figure = figures.lines(np.arange(len(now.trace)), series, "sweep", unit, pale=pale)
    figure["layout"] |= {"height": 260}
    chart(figure, "sweeps of a node", "how a prediction moved over the sweeps")
    if np.ptp(now.trace[:, place]) == 0:
        st.caption("Its line stands still: a known label is what neighbours see.")


# What if --------------------------------------------------------------------------------------------------------------


def _edit_bar(
    title: str, base: HetData, edited: HetData, graph: str, place: int | None, model: Trained | None, new: Sequence[Any]
) -> None:
    """Offer edits of the chosen node, list them, and offer to take them back or to train again."""
    log = edits(title)
    with st.container(border=True, key="edits"):
        st.markdown("**What if?** " + ("Choose a node: hide its label, cut or add an edge." if place is None else ""))
        if place is not None:
            _offers(title, base, edited, graph, place, model)
        if log:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(escape("; ".join(map(words, log))))
                st.button("Undo", on_click=_undo, args=(title,), icon=":material/undo:", key="undo edit")
                st.button("Undo all", on_click=_undo, args=(title, True), key="undo edits")
                if new and model is not None:
                    help_ = "The trained models have only inferred again; this trains them with the edits, too."
                    if st.button("Train again with the edits", on_click=_train_again, key="train edits", help=help_):
                        st.rerun()


def _offers(title: str, base: HetData, edited: HetData, graph: str, place: int, model: Trained | None) -> None:
    node, links = str(base.ids[place]), edited.graphs[graph]
    near = [str(one) for one in base.ids[links.indices[links.indptr[place] : links.indptr[place + 1]]]]
    frame = None if model is None else model.result.predictions
    known = base.labelled[place] if frame is None else frame["label"][place] is not None
    gone = any(each["op"] == "forget_labels" and node in each["ids"] for each in edits(title))
    hide, cut, add = st.columns(3)
    with hide:
        why = "" if known and not gone else "Its label is hidden already."
        operation = {"op": "forget_labels", "ids": [node]}
        st.button(
            f"Hide the label of {escape(shown(node, 24))}", on_click=_edit, args=(title, base, operation),
            disabled=bool(why), help=why or None, key="hide label", width="stretch",
        )  # fmt: skip
    with cut:
        _edge(title, base, graph, node, near, "cut")
    with add:
        _edge(title, base, graph, node, near, "add")


def _edge(title: str, base: HetData, graph: str, node: str, near: Sequence[str], what: str) -> None:
    """Offer to cut the edge to a neighbour, or to add one to another node."""
    label = "Neighbour to cut off" if what == "cut" else "Node to link to"
    few = what == "cut" or base.n <= MOST_CHOICES
    if few:
        options = near if what == "cut" else [str(one) for one in base.ids if one != node and one not in set(near)]
        other = st.selectbox(
            label, options, index=None, key=f"{what} {node}", label_visibility="collapsed", placeholder=label
        )
    else:
        other = st.text_input(label, key=f"{what} {node}", label_visibility="collapsed", placeholder=label)
    operation = {"op": "edges", "name": graph, "add": [], "cut": []} | {what: [[node, other]]}
    st.button(
        f"{what.capitalize()} the edge", on_click=_edit, args=(title, base, operation), disabled=not other,
        key=f"{what} edge", width="stretch",
    )  # fmt: skip


def _who(moved: pl.DataFrame, against: str) -> None:
    """Say who changed, and list the largest changes."""
    if not moved.height:
        st.success(escape(f"Nobody changes: {against}."))
        return
    first = moved.row(0, named=True)
    top = f"most {shown(first['id'], 40)}, {_plain(first['before'])} → {_plain(first['after'])}"
    with st.container(key="who"):
        st.success(escape(f"{counted(moved.height, 'prediction')} changed ({against}): {top}."))
        st.dataframe(moved.head(200), hide_index=True, width="stretch", height=240)
