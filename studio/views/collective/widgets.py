"""What the Collective page draws of trainings: controls, errors by stage, what is left along the links, convergence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

import hetcore as hc
from hetcore.collective.estimator import sizes
from hetcore.data import HetData
from hetcore.figures import graph as figures_graph
from studio import session
from studio.messages import minus
from studio.runs.differences import VALUES
from studio.views.collective import settings
from studio.views.collective.settings import LABELS
from studio.views.common.curves import (
    ROWS,
    SCORED,
    Curves,
    Events,
    about_stars,
    aligned,
    by_training,
    figure,
    kept,
    metric_name,
    scored_set,
    starred,
)
from studio.views.common.paired import Paired
from studio.views.common.widgets import escape, live_chart, moved, number
from studio.views.common.widgets_controls import (
    Limits,
    asked_choice,
    held,
    in_link,
    labels_known,
    multiselect,
    parameter_slider,
)
from studio.views.common.widgets_tabs import tabs

__all__ = ["controls", "curves", "explain", "graph_shown", "headline", "offer_example", "offer_more"]

BEST = "by its stage best on left-out labels"
"""Over the star of a stage that predicts."""
PRINTED_DEPTH = 5
GRAPH = "graph shown"
"""In the session: the choice of `graph_shown`."""


# Controls -------------------------------------------------------------------------------------------------------------


def offer_example(why: str, use: Callable[[str], None]) -> None:
    """Say why the data in use do not fit, and offer examples that do.

    Parameters
    ----------
    why : str
    use : callable
        Called with the name of the example that is chosen.
    """
    st.info(escape(why), icon=":material/info:")
    offer_more(use)
    st.page_link("pages/1_Data.py", label="Bring your own: a table and an edge list", icon=":material/upload_file:")


def offer_more(use: Callable[[str], None], used: str | None = None) -> None:
    """Offer the examples that show the page best, but the one in use."""
    import datasets

    names = [name for name in settings.EXAMPLES if name != used]
    with st.container(horizontal=True, vertical_alignment="center"):
        if used is not None:
            st.caption("Other examples for this page")
        for name in names:
            about, kind = datasets.info(name), "primary" if used is None and name == names[0] else "secondary"
            text = f"Use {escape(about.title)}"
            st.button(text, type=kind, on_click=use, args=(name,), key=f"use {name}", help=escape(about.story))


def controls(data: HetData, title: str) -> dict[str, Any]:
    """Draw the controls; return "params", "features", "graphs", "known" (per cent) and "seed".

    Parameters
    ----------
    data : HetData
    title : str
        Of the data in use.
    """
    numbers, names = data.target_kind == "regression", data.graph_names
    graphs = names
    if len(names) > 1:
        graphs = multiselect("Graphs to infer along", names, f"collective graphs {title}", "graphs")
    known = labels_known(40, "share")
    features = st.pills(
        "What MGB sees of the neighbours",
        list(settings.FEATURES),
        selection_mode="multi",
        key=held("rf", list(settings.FEATURES), Limits(choices=list(settings.FEATURES)), label="What MGB sees"),
        format_func=str.capitalize,
        help=". ".join(f"{name.capitalize()}: {text}" for name, text in settings.FEATURES.items()) + ".",
    )
    printed = numbers and st.toggle(
        "As printed in the paper",
        key=held("to the letter", False, name="printed", label="As printed in the paper"),
        on_change=_depth_follows,
        help="Algorithms 1 to 4 to the letter: one unshrunk tree with median leaves a stage.",
    )
    stages = parameter_slider(hc.MGBClassifier.n_iterations, "stages")
    usual = sizes(1 if numbers else len(data.classes), round(known / 100 * int(data.labelled.sum())))
    if printed:
        depth = parameter_slider(hc.MGBClassifier.max_depth, "levels", PRINTED_DEPTH)
    else:
        depth = _sized(hc.MGBClassifier.max_depth, "levels", usual)
    params = {"n_iterations": stages, "max_depth": depth} | _trees(data, printed, usual) | _direction(data, graphs)
    with st.expander("More parameters"):
        params |= _more(data, printed, usual)
        key = held("split", 0, Limits(0, 9999), label="Seed")
        seed = int(st.number_input("Seed", 0, 9999, key=key, help="Of the split and of training."))
    params |= {"random_state": seed} | ({"as_printed": True} if printed else {})
    return {"params": params, "features": features, "graphs": graphs, "known": known, "seed": seed}


def _direction(data: HetData, graphs: Sequence[str]) -> dict[str, str]:
    """Draw the choice of whom an instance has as neighbours, where edges lead one way."""
    if all(data.graphs[name].arcs is None for name in graphs):
        return {}
    words = VALUES["direction"]
    key = held("direction", "both", Limits(choices=list(words)), label="Neighbours")
    text = "Edges of these data lead one way, as said on the Data page."
    return {"direction": st.selectbox("Neighbours", list(words), key=key, format_func=words.get, help=text)}


def _depth_follows() -> None:
    st.session_state["levels"] = PRINTED_DEPTH if st.session_state["to the letter"] else sizes(1)["max_depth"]


def _sized(parameter: Any, key: str, usual: dict[str, Any]) -> Any:
    """Draw the slider of a parameter whose default depends on the classes and labels; each default has its own key."""
    start = usual[parameter.name]
    # A default of its own key, or a value chosen for two classes would stay for ten.
    return parameter_slider(parameter, key if start == sizes(1)[parameter.name] else f"{key} {start}", start, name=key)


def _trees(data: HetData, printed: bool, usual: dict[str, Any]) -> dict[str, Any]:
    """Draw shrinkage and leaf, which the printed algorithm sets itself."""
    if printed:
        st.caption("As printed: learning rate 1, median leaves.")
        return {}
    rate = _sized(hc.MGBClassifier.learning_rate, "shrinkage", usual)
    if data.target_kind == "classification":
        return {"learning_rate": rate}
    leaf = st.segmented_control(
        "Leaf",
        ["mean", "median"],
        key=held("leaf", "mean", Limits(choices=["mean", "median"]), label="Leaf"),
        required=True,
        help="What a leaf predicts: the mean or the median of its residuals.",
    )
    return {"learning_rate": rate, "leaf": leaf or "mean"}


def _more(data: HetData, printed: bool, usual: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if not printed:
        params["first_trees"] = _sized(hc.MGBClassifier.first_trees, "first", usual)
        params["trees_per_stage"] = parameter_slider(hc.MGBClassifier.trees_per_stage, "trees")
        params["summary"] = st.selectbox(
            "Neighbours by their",
            ["mean", "median"],
            key=held("summary", "mean", Limits(choices=["mean", "median"]), label="Neighbours by their"),
            help="How Rf1, Rf2 and Rf3 sum neighbours up.",
        )
    label, fills = "Without a known neighbour", ["nan", "zero"]
    fill = st.selectbox(
        label,
        fills,
        key=held(f"fill {bool(printed)}", fills[bool(printed)], Limits(choices=fills), "fill", label=label),
        format_func=VALUES["no_neighbor"].get,
        help="What Rf1, Rf2 and Rf3 are then. Missing: trees learn where it goes. Zero: as printed in the paper.",
    )
    # The logarithm needs labels above zero.
    if data.target_kind == "regression" and (data.y[data.labelled] > 0).all():
        log = st.toggle(
            "Learn the logarithm of the label",
            key=held("log", False, label="Learn the logarithm of the label"),
            help="For heavy tails; the RMSE stays in its unit.",
        )
        params |= {"target_transform": "log"} if log else {}
    return params | {"no_neighbor": fill}


def graph_shown(names: Sequence[str]) -> str:
    """Return the graph that figures show; draw a choice where there are several."""
    asked = session.asked().get("graph")
    # Before there was a choice on this page it is a link's.
    if asked is not None and asked not in names and GRAPH not in st.session_state:
        session.note("graph", f"The graph of the link is not in use here: {names[0]} is shown.")
        st.query_params.pop("graph", None)
    if len(names) == 1:
        return names[0]
    # Data may have changed since the choice was made.
    if st.session_state.get(GRAPH) not in names:
        st.session_state[GRAPH] = names[asked_choice("graph", names)]
    return st.selectbox("Graph shown", names, help="Of curves and network.", **in_link("graph", GRAPH))


# Stage by stage -------------------------------------------------------------------------------------------------------


def headline(events: Events, graph: str, to_plain: Mapping[str, Paired]) -> None:
    """Show the three errors, where they are seen to differ from GB's by how much, and what is left along the links."""
    # Only an ended training has a best stage.
    scored, ended = scored_set(events), all(map(_ended, events.values()))
    shown = {label: kept(each) if ended else each[-1] for label, each in events.items() if each}
    base = shown["GB"].detail["metric"][scored] if "GB" in shown else 0.0
    with st.container(horizontal=True, gap="medium", key="headline"):
        for label, event in shown.items():
            name, value = event.detail["metric_name"], event.detail["metric"][scored]
            title, gap = f"{'Error' if name == 'error' else name} of {label}", to_plain.get(label)
            if gap is not None and gap.less is None:
                look = {"delta": "within chance of GB", "delta_color": "off", "delta_arrow": "off"}
            else:
                # GB itself is the base.
                text = f"{value / base - 1:+.1%} to GB" if base and label != "GB" else None
                look = moved(text, "down")
            st.metric(title, number(value, name), width="content", **look)
        if "MGB" in shown:
            left = shown["MGB"].detail["moran"].get(graph, np.nan)
            # Undefined where no two rows that are scored are linked.
            st.metric("Moran's I left", minus(f"{left:.3f}") if np.isfinite(left) else "–", width="content")
        seconds, words = sum(event.seconds for event in shown.values()), "Of all of them, though they ran side by side."
        st.metric("Seconds", f"{seconds:.1f}", width="content", help=words)


def _by_stage(events: Events, pick: Callable[[Any], float]) -> Curves:
    """Return the models' curves over the stages, the first of which is 0: what is there before any tree."""
    return by_training({label: events.get(label, ()) for label in LABELS}, pick, lambda event: event.index)


def _drawn(events: Events, before: Events, pick: Callable[[Any], float], title: str) -> dict[str, Any]:
    return figure(_by_stage(events, pick), _by_stage(before, pick), ("stage", title), LABELS)


def figures_of(events: Events, before: Events, graph: str) -> dict[str, dict[str, Any]]:
    """Return the live figures by name.

    Parameters
    ----------
    events, before : mapping of str to sequence of RoundEnd
        By label; the trainings before are drawn pale.
    graph : str
        Whose residual autocorrelation is shown.
    """
    scored, name = scored_set(events), metric_name(events)
    drawn = {
        # The key is bound now: a lambda in a loop would see the last one.
        key: _drawn(events, before, lambda e, key=key: e.detail["metric"].get(key, np.nan), f"{name}, {text}")
        for key, text in SCORED.items()
        if any(key in each[-1].detail["metric"] for each in events.values() if each)
    }
    best = {label: kept(each) for label, each in events.items() if each and _ended(each)}
    for key, of, pick in (
        ("error", drawn[scored], lambda e: e.detail["metric"][scored]),
        ("moran", _moran(events, before, graph), lambda e: e.detail["moran"].get(graph, np.nan)),
    ):
        drawn[key] = starred(of, {label: (event.index, pick(event)) for label, event in best.items()}, BEST)
    title = "correlation of residuals over links"
    drawn["pearson"] = _drawn(events, before, lambda e: e.residual_autocorrelation.get(graph, np.nan), title)
    last = {label: each[-1].detail for label, each in events.items() if each}
    unit = "probability" if name == "error" else "label's unit"
    changes = {label: detail["sweeps"] for label, detail in last.items() if detail["sweeps"]}
    drawn["sweeps"] = figures_graph.convergence(changes, LABELS, f"largest change ({unit})")
    visits = {label: detail["visits"] for label, detail in last.items() if detail["visits"]}
    drawn["visits"] = figures_graph.convergence(visits, LABELS, "instances visited")
    return drawn


def _ended(events: Sequence[Any]) -> bool:
    return bool(events) and events[-1].index + 1 == events[-1].total


def _moran(events: Events, before: Events, graph: str) -> dict[str, Any]:
    pick = lambda event: event.detail["moran"].get(graph, np.nan)  # noqa: E731
    x, y = aligned(_by_stage(events, pick))
    # The band is of the stages, and the longest training has most of them; of MGB, as is what is said of it, where
    # others are as long.
    longest = max(reversed(events.values()), key=len)
    band = np.array([event.detail["band"].get(graph, (np.nan, np.nan)) for event in longest], float)
    label = longest[-1].detail["label_moran"].get(graph)
    return figures_graph.autocorrelation(x, y, band, label, pale=_by_stage(before, pick), order=LABELS)


def curves(events: Events, before: Events, graph: str) -> dict[str, dict[str, Any]]:
    """Draw the live figures and return them by name.

    Parameters
    ----------
    events, before : mapping of str to sequence of RoundEnd
    graph : str
        Whose residual autocorrelation is shown.
    """
    events = {label: each for label, each in events.items() if each}
    drawn, points = figures_of(events, before, graph), max(map(len, events.values()))
    scored = SCORED[scored_set(events)]
    left, right = st.columns(2)
    with left:
        st.caption(f"Error by stage, {scored}", help=ROWS)
        live_chart(drawn["error"], "collective_error", points)
    with right:
        st.caption(f"What is left along graph {escape(graph)}: grey is noise")
        live_chart(drawn["moran"], "collective_moran", points)
    if text := about_stars(drawn["error"], drawn["moran"]):
        st.caption(text)
    names = {"sweeps": "Inference by sweep", "visits": "Visited", "train": "Training error", "left_out": "Left out"}
    names = {name: text for name, text in names.items() if name in drawn} | {"pearson": "Correlation over links"}

    def about(name: str) -> None:
        if name in WORDS:
            st.caption(WORDS[name])
        if drawn[name]["data"]:
            live_chart(drawn[name], f"collective_{name}", points)
        else:  # empty axes would look like a fault
            st.caption("No model has inferred anything.")

    tabs({text: lambda name=name: about(name) for name, text in names.items()}, "about", alone=False)
    return drawn


WORDS = {
    "sweeps": "The largest change of a prediction in each sweep of the last stage's inference: GB infers nothing. "
    "A sweep that changed nothing has no point.",
    "visits": "Instances that a sweep visited: it skips those around which nothing has changed.",
    "left_out": "Labels that were hidden in turn: what stages are chosen by.",
    "pearson": "The paper's own measure: the correlation of residuals over linked pairs.",
}


def explain() -> None:
    """Say what the words mean."""
    rows = "\n".join(f"| {name.capitalize()} | {text} |" for name, text in settings.FEATURES.items())
    st.markdown(
        "**GB** boosts trees on an instance's own features. **RGB** sees its neighbours' targets too (Rf1) and "
        "predicts the unlabelled instances together. **MGB** also boosts along the graph: each stage sees what the "
        "stages before left at the neighbours, and its first stage sees the neighbours' features and known labels, up "
        "to two links away. **Collective inference** predicts every unlabelled instance "
        "from its neighbours' predictions, again and again (sweeps), until nothing moves.\n\n"
        f"| MGB sees | |\n|---|---|\n{rows}\n\n"
        "**Moran's I** says how alike linked instances are: about 0 if links say nothing, towards 1 if neighbours are "
        "the same. The grey band holds 95% of its values for the same residuals shuffled over the instances: a model "
        "whose line lies in it has left nothing that the graph could still explain. The dotted line is Moran's I of "
        "the labels. A **star** marks the stage that a model predicts by, chosen by labels left out, where that is not "
        "the last one."
    )
