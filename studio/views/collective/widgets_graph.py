"""The network of the Collective page: laid out and inferred by a worker, coloured, clicked on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import streamlit as st
from numpy.typing import NDArray

from hetcore.data import Graph, HetData
from hetcore.data.text import counted
from hetcore.figures import graph as figures_graph
from hetcore.figures.graph import brief
from studio import scenarios, session
from studio.jobs import manager
from studio.messages import shown
from studio.runs.differences import operation_text
from studio.views.collective.edits import Inference, changes, effects, residuals
from studio.views.collective.widgets_edits import bar, edits, who
from studio.views.collective.widgets_node import Trained, node
from studio.views.common.widgets import escape
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.common.widgets_graph import coded, network_chart

__all__ = ["network"]

MOST_NODES = 30_000
MOST_CHOICES = 5_000
MOST_AROUND = 12
KEPT = 8
CLICKED = "node clicked"
"""How many nodes were clicked, and the last one's id."""
COLOURS = ("Label", "Prediction", "Residual", "Change")


# What workers compute -------------------------------------------------------------------------------------------------


def _asked(place: str, key: str, path: str, kwargs: Mapping[str, Any], owner: str) -> tuple[Any, bool]:
    """Return (value, pending) of a call in a worker, which is made once for a key; (None, False) if it failed."""
    kept = st.session_state.setdefault(place, {})
    if key not in kept:
        while len(kept) >= KEPT:
            kept.pop(next(iter(kept)))
        try:
            kept[key] = ("run", manager.manager().run_task(path, dict(kwargs), owner))
        except ValueError:
            return None, False
    kind, held = kept[key]
    if kind == "value":
        return held, False
    try:
        status = manager.manager().status(held)
    except manager.UnknownRunError:
        kept.pop(key)
        return None, False
    if status.active:
        return None, True
    result = manager.manager().result(held)
    kept[key] = ("value", None if result is None else result.value)
    return kept[key][1], False


def _places(data: HetData, graph: str, owner: str) -> tuple[NDArray | None, bool]:
    kwargs = {"data": data, "name": graph}
    return _asked("layouts", data.graphs[graph].digest(), "studio.views.common.layouts:layout", kwargs, owner)


def _inferred(data: HetData, trained: Trained, new: Sequence[Any], owner: str) -> tuple[Inference | None, bool]:
    """Return what a trained model infers with edits that it has not seen."""
    kwargs = {"model": trained.result.model, "data": data}
    kwargs |= {"operations": list(trained.setting.operations), "edits": list(new)}
    key = f"{trained.run} {json.dumps(list(new))}"
    return _asked("inferences", key, "studio.views.collective.edits:infer", kwargs, owner)


# The network ----------------------------------------------------------------------------------------------------------


def network(
    original: HetData,
    base: HetData,
    graph: str,
    trained: Mapping[str, Trained],
    owner: str,
) -> None:
    """Draw the network, the node that was chosen, the edits, and who changes by them.

    Parameters
    ----------
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
    log = edits(original.digest())

    def look() -> None:
        # The whole page then: its address, and whether what is shown was trained with these edits, follow them.
        if edits(original.digest()) != log:
            st.rerun()
        was = st.session_state.get("network pending", False)
        pending = _drawn(original, base, graph=graph, trained=trained, owner=owner)
        st.session_state["network pending"] = pending
        if was != pending:
            st.rerun()

    st.fragment(look, run_every=0.7 if st.session_state.get("network pending") else None)()


def _drawn(original: HetData, base: HetData, graph: str, trained: Mapping[str, Trained], owner: str) -> bool:
    """Draw everything; return whether a worker still computes something of it."""
    if refused := st.session_state.pop("edit refused", ""):
        st.warning(escape(refused))
    digest = original.digest()
    log = edits(digest)
    edited = scenarios.apply(base, log).data if log else base
    model = _model(trained)
    new = [each for each in log if each not in model.setting.operations] if model else log
    now, later = _inferred(original, model, new, owner) if model else (None, False)
    first, sooner = _inferred(original, model, [], owner) if model and new else (now, later)
    moved, against = _moved(base, model, new, first, now)
    places, drawing = _places(base, graph, owner)
    left, right = st.columns([2.1, 1], gap="medium")
    with right:
        place = _choice(base)
        if place is not None:
            gone = any(str(base.ids[place]) in each.get("ids", ()) for each in log)
            before = first if new else None
            states = {"hidden": gone, "pending": later}
            node(base, edited, graph, place=place, model=model, now=now, first=before, **states)
    with left:
        _picture(edited, graph, places, drawing=drawing, place=place, model=model, now=now, moved=moved)
    bar(digest, base, edited, graph=graph, place=place, model=model, new=new)
    if moved is not None and (new or model.before is not None):
        who(moved, against)
    return drawing or later or sooner


def _model(trained: Mapping[str, Trained]) -> Trained | None:
    """Let the person choose whose predictions are shown."""
    if not trained:
        return None
    names = list(trained)
    if st.session_state.get("network model") not in names:
        st.session_state.pop("network model", None)
    with st.container(horizontal=True):  # by default, not by the state: that is sent once, and a fragment draws again
        look = {"default": names[asked_choice("model", names, -1)], **in_link("model", "network model")}
        label = st.segmented_control("Model", names, required=True, help="Whose predictions.", **look)
        look = {"default": COLOURS[asked_choice("colour", COLOURS, 1)], **in_link("colour", "network colour")}
        text = "What the colours of the nodes mean."
        st.segmented_control("Colour", COLOURS, required=True, help=text, **look)
    return trained[label or names[-1]]


def _moved(
    base: HetData, model: Trained | None, new: Sequence[Any], first: Inference | None, now: Inference | None
) -> tuple[pl.DataFrame | None, str]:
    """Return who changed, and against what: by edits, else against the training before."""
    if model is None:
        return None, ""
    if new:
        if first is None or now is None:
            return None, ""
        return effects(base, new, first, now), f"{', '.join(map(operation_text, new))}, inferred again"
    if model.before is not None and model.before.predictions is not None:
        same = model.before.predictions["prediction"].dtype == model.result.predictions["prediction"].dtype
        if same:
            return changes(model.before.predictions, model.result.predictions), "against the training before"
    return None, ""


def _choice(data: HetData) -> int | None:
    """Let the person choose a node by its id; a click on the network does the same."""
    # A value that the server sets reaches the browser once, and a page that draws itself again before sends the old one
    # back. So a click makes the field anew, which begins with the node.
    clicks, clicked = st.session_state.get(CLICKED, (0, session.asked().get("node")))
    key, start = f"node {clicks}" if clicks else "node", data.position.get(clicked)
    if st.session_state.get(key) and st.session_state[key] not in data.position:
        del st.session_state[key]
    hint = "Click one, or type its id"
    if data.n <= MOST_CHOICES:
        chosen = st.selectbox("Node", data.ids.tolist(), index=start, key=key, placeholder=hint)
    else:
        chosen = st.text_input("Node", "" if start is None else clicked, key=key, placeholder=hint)
    place = data.position.get(chosen) if chosen else None
    session.tell("node", "" if place is None else chosen)
    return place


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
        text = "The network is being laid out: a few seconds, once." if drawing else "The network was not laid out."
        st.info(text, icon=":material/hub:")
        if not drawing:
            st.button("Try again", key="lay out", on_click=st.session_state["layouts"].clear)
        return
    links = data.graphs[graph]
    ends = figures_graph.drawn_edges(links)
    look, known = _look(data, model, now, moved)
    near = links.indices[links.indptr[place] : links.indptr[place + 1]] if place is not None else None
    figure = figures_graph.network(places, ends, look, names=data.ids, known=known, chosen=place, near=near)
    name, stages = f"{graph} {data.n}", _by_stage(data, model, now)

    def picked(at: int) -> None:
        node = None if at == place else str(data.ids[at])
        st.session_state[CLICKED] = st.session_state.get(CLICKED, (0, None))[0] + 1, node

    network_chart(figure, "network", name, picked, coded(stages, look) if stages else None)
    _legend(links, len(ends[0]), follows=bool(stages))


def _legend(links: Graph, drawn: int, follows: bool) -> None:
    """Say what of the network is drawn, and what can be done with it."""
    thin = f"{drawn:,} of " if drawn < links.n_edges else ""
    lonely = int((links.degree == 0).sum())
    alone = f" Not drawn: {counted(lonely, 'node')} without a link." if lonely else ""
    stage = " Its colours are of the stage that the charts show, up to the model that is kept." if follows else ""
    edges = f"{thin}{counted(links.n_edges, 'edge')} shown"
    st.caption(f"{edges}. Drag to move, scroll to zoom, click a node, and again to let it go.{alone}{stage}")


def _look(
    data: HetData, model: Trained | None, now: Inference | None, moved: pl.DataFrame | None
) -> tuple[figures_graph.Look, NDArray | None]:
    """Return the colours of the nodes, and whose label is known in training."""
    if model is None:
        # Of more classes than the eye tells apart by colour, the pointer names one.
        text = ["no label" if not known else f"label {_cell(y)}" for y, known in zip(data.y, data.labelled)]
        return replace(_valued(data, data.y, "label"), text=text), None
    frame, colour = model.result.predictions, st.session_state.get("network colour") or "Prediction"
    known = frame["label"].is_not_null().to_numpy()
    predicted = frame["prediction"] if now is None else now.predictions["prediction"]
    text = _hover_texts(frame, predicted)
    if colour == "Residual":
        look = _residual(data, frame, predicted)
    elif colour == "Change":
        look = figures_graph.signed(_change(data, moved), "change")
    elif colour == "Label":
        look = _valued(data, data.y, "label")
    else:
        look = _valued(data, predicted.to_numpy(), "prediction")
    return figures_graph.Look(look.colour, look.axis, look.legend, text, 1.8 if colour == "Change" else 1.0), known


def _residual(data: HetData, frame: pl.DataFrame, predicted: pl.Series) -> figures_graph.Look:
    left = residuals(frame.with_columns(prediction=predicted), data.target_kind)
    if data.target_kind == "regression":
        return figures_graph.signed(left, "residual")
    sides = np.array([None if np.isnan(v) else ("wrong" if v else "right") for v in left], object)
    return figures_graph.by_class(sides, ("right", "wrong"))


def _by_stage(data: HetData, model: Trained | None, now: Inference | None) -> list[NDArray]:
    """Return the nodes' colours after each stage, (n,) each; none where there is nothing that follows the stages."""
    colour = st.session_state.get("network colour") or "Prediction"
    if model is None or now is None or now.stages is None or colour not in ("Prediction", "Residual"):
        return []
    # A model that is kept with its first stage alone has nothing to go through.
    if len(now.stages) < 2:
        return []
    if colour == "Prediction":
        return [_valued(data, stage, "prediction").colour for stage in now.stages]
    frame = model.result.predictions
    return [_residual(data, frame, pl.Series(stage.tolist())).colour for stage in now.stages]


def _change(data: HetData, moved: pl.DataFrame | None) -> NDArray:
    """Return each instance's change, NaN where there is none."""
    change = np.full(data.n, np.nan)
    if moved is not None and moved.height:
        change[[data.position[one] for one in moved["id"]]] = moved["change"].to_numpy()
    return change


def _valued(data: HetData, values: NDArray, title: str) -> figures_graph.Look:
    if data.target_kind == "regression":
        return figures_graph.by_quantile(np.asarray(values, float), data.y[data.labelled].astype(float), title)
    return figures_graph.by_class([None if v is None else str(v) for v in values], data.classes)


def _hover_texts(frame: pl.DataFrame, predicted: pl.Series) -> list[str]:
    """Return what each node says under the pointer."""
    truth = frame["label"].fill_null(frame["held_out"]) if "held_out" in frame.columns else frame["label"]
    hidden = frame["label"].is_null()
    return [
        f"predicted {_cell(p)}" + ("" if t is None else f", label {_cell(t)}{' (hidden)' if h else ''}")
        for p, t, h in zip(predicted, truth, hidden)
    ]


def _cell(value: Any) -> str:
    return brief(value) if isinstance(value, float) else figures_graph.escape(shown(str(value), 30))
