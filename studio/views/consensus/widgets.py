"""What the Consensus page draws of a run: curves, weights, one instance, the bound, the sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.figures import basic
from studio.jobs.results import contribution_columns
from studio.messages import difference
from studio.views.common.curves import ROWS, SCORED, SHARES, Curves, by_name, figure, heaviest, scored_rows
from studio.views.common.widgets import chart, escape, live_chart, moved, number, show_table
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.common.widgets_tabs import tabs
from studio.views.consensus import words

__all__ = [
    "UNIT", "WORST_FIRST", "curves", "explain", "figures_of", "headline", "neighbours", "one_instance", "remarks",
    "theorem", "views", "wrong_first",
]  # fmt: skip

WORST_FIRST = "Those predicted worst come first; type to search."
"""Of a list in the order of `wrong_first`."""
LAST = "of the last round"
"""Begins the key of what is of the last round, which the page's style says while another is shown."""
UNIT = "label's unit"
"""Of what is added to numbers whose column has no name."""
PART = "Its weight among the tables, as the chart of weights draws it; graphs have a chart of their own."


def figures_of(
    events: Sequence[Any], data: HetData, before: Sequence[Any] = (), without: tuple[str, float] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the live figures of a run by name: error, loss, weights, graph weights, and what else it tells.

    Parameters
    ----------
    events, before : sequence of RoundEnd
        Of the run, and of the one before it.
    data : HetData
    without : (str, float), optional
        What one would do without consensus, and its error: a line beside the learning curve.
    """
    metric = events[-1].detail["metric_name"]
    order = [*reversed(SCORED.values())]

    def named(pick: Any) -> Any:
        return lambda event: {SCORED.get(name, name): value for name, value in pick(event).items()}

    def lines(pick: Any, title: str, order: Sequence[str]) -> dict[str, Any]:
        return figure(by_name(events, pick), by_name(before, pick), ("round", title), order)

    drawn = {
        "error": lines(named(lambda e: e.detail["metric"]), metric, order),
        "loss": lines(named(lambda e: e.losses), "loss", order),
        "weights": _weights(events, before, data.source_names),
        "sources": lines(lambda e: e.detail.get("per_source", {}), f"{metric}, one source alone", data.source_names),
        "disagreement": lines(lambda e: {"disagreement": e.detail.get("disagreement", np.nan)}, "disagreement", ()),
        "steps": lines(
            lambda e: e.detail.get("steps", {}), "step of the last tree", [*data.source_names, *data.graph_names]
        ),
    }
    if without is not None and np.isfinite(without[1]):
        # As wide as what is drawn, and at least two rounds, or a line of one round would be a point.
        # A short name: a long one makes the legend as high as the curves.
        last = max(2.0, *(each[-1].index + 1.0 for each in (events, before) if each))
        basic.level(drawn["error"], "without", without[1], (1.0, last))
    if not drawn["steps"]["data"]:
        # Algorithm 1 as it is printed alone has them.
        del drawn["steps"]
    if events[-1].detail.get("views"):
        drawn["views"] = _view_weights(events, data)
        drawn["views"]["layout"]["yaxis"] |= {"hoverformat": SHARES}
    if events[-1].graph_weights:
        drawn["graph weights"] = lines(lambda e: e.graph_weights, "graph weight", data.graph_names)
        title = "correlation of residuals over links"
        drawn["autocorrelation"] = lines(lambda e: e.residual_autocorrelation, title, data.graph_names)
    # Weights of many sources are all small: the axis ends a little above the largest, and never above one.
    for name in ("weights", "graph weights"):
        if name in drawn:
            tops = [np.nanmax(each["y"]) for each in drawn[name]["data"] if np.isfinite(each["y"]).any()]
            drawn[name]["layout"]["yaxis"] |= {"hoverformat": SHARES, "range": [0, min(1.02, 1.15 * max([*tops, 0.2]))]}
    return drawn


def _weights(events: Sequence[Any], before: Sequence[Any], order: Sequence[str]) -> dict[str, Any]:
    """Draw the sources' weights from round 0 on, in which all count the same (Algorithm 1, step 2)."""

    def begun(rounds: Sequence[Any]) -> Curves:
        found = by_name(rounds, lambda event: event.source_weights)
        return {name: (np.append(0.0, x), np.append(1 / len(found), y)) for name, (x, y) in found.items()}

    return figure(begun(events), begun(before), ("round", "source weight"), order)


def _view_weights(events: Sequence[Any], data: HetData) -> dict[str, Any]:
    """Draw the weights of the views that are the heaviest now."""
    last = events[-1].detail["views"]
    heavy = words.heaviest(last)
    found = by_name(events, lambda event: {name: event.detail["views"].get(name, np.nan) for name in heavy})
    drawn = figure(found, {}, ("round", "weight of a view"), list(last))
    looks = words.looks(last, data.source_names, data.graph_names)
    for trace in drawn["data"]:
        look = looks[trace["name"]]
        trace["line"] |= {"color": look.colour, "dash": look.dash}
    return drawn


def headline(events: Sequence[Any], before: Sequence[Any] = (), without: tuple[str, float] | None = None) -> None:
    """Show the run's numbers so far, and the error without consensus where it is known."""
    last = events[-1]
    metric, name = last.detail["metric"], last.detail["metric_name"]
    shown = scored_rows(metric)
    now = metric[shown]
    earlier = before[-1].detail["metric"].get(shown) if before else None
    delta = None
    # Only at the end: half a training beside a whole one would mislead.
    if earlier is not None and np.isfinite(earlier) and last.index + 1 == last.total:
        delta = f"{difference(100 * now, 100 * earlier, 1):+.1f} points" if name == "error" else f"{now - earlier:+.3f}"
        delta = delta if float(delta.removesuffix(" points")) else None  # nothing to see is neither good nor bad
    label = f"{'Error' if name == 'error' else name}, {SCORED[shown]}"
    heavy, weight = heaviest(last)
    with st.container(horizontal=True, gap="medium", key="headline"):
        st.metric(label, number(now, name), width="content", help=ROWS, **moved(delta, None))
        if without is not None:
            st.metric(f"Without: {without[0]}", number(without[1], name), width="content")
        st.metric("Round", f"{last.index + 1} of {last.total}", width="content")
        # A graph may have more than any table.
        title = "Most weight among tables" if last.graph_weights else "Most weight"
        st.metric(title, f"{escape(heavy)} · {weight:.2f}", width="content", help=PART)
        st.metric("Seconds", f"{last.seconds:.1f}", width="content")


def remarks(setting: Any, data: HetData, predictions: pl.DataFrame | None) -> None:
    """Say what of a training's numbers is easily taken for more, or for less, than it is."""
    for sentence in filter(None, (words.few_held_out(predictions), words.unpulled(setting, data))):
        st.caption(escape(sentence))


def curves(
    events: Sequence[Any],
    data: HetData,
    before: Sequence[Any] = (),
    without: tuple[str, float] | None = None,
    say: Callable[[], None] = lambda: None,
) -> dict[str, dict[str, Any]]:
    """Draw the live figures and return them by name: error and weights, then what `say` draws, then the others."""
    drawn, points = figures_of(events, data, before, without), len(events)
    left, right = st.columns(2)
    with left:
        st.caption("Learning curve: error by round", help=ROWS)
        live_chart(drawn["error"], "live_curves", points)
    with right:
        st.caption("Source weights by round")
        live_chart(drawn["weights"], "live_weights", points)
    say()
    if sentences := words.why(events[-1].detail):
        st.caption(escape(" ".join(sentences)))
    names = {
        "Views": "views",
        "Loss": "loss",
        "Each source alone": "sources",
        "Graphs": "graph weights",
        "Residuals along links": "autocorrelation",
        "Disagreement": "disagreement",
    } | ({"Steps": "steps"} if "steps" in drawn else {})
    parts = {tab: lambda name=name: _about(name, drawn, events, data) for tab, name in names.items()}
    tabs(parts, "about", alone=False)
    return drawn


def _about(name: str, drawn: Mapping[str, Any], events: Sequence[Any], data: HetData) -> None:
    """Draw what one of the tabs tells of the rounds."""
    if name == "views":
        views(drawn, events, data)
    elif name in drawn:
        # As printed a graph's weight is its part of the pull; of the default nothing is added by it.
        if name == "graph weights" and "views" in drawn:
            st.caption("How alike linked instances are, all graphs together 1. What a graph adds stands under Views.")
        if name == "autocorrelation" and (sentence := words.linked(events[-1].detail)):
            st.caption(escape(sentence))
        live_chart(drawn[name], f"live_{name.replace(' ', '_')}", len(events))
    else:
        st.caption("No graph is in use.")


def views(drawn: Mapping[str, Any], events: Sequence[Any], data: HetData) -> None:
    """Draw which views a source's weight comes from, the views' weights, and the losses that chose a λ."""
    last = events[-1].detail
    if "views" not in drawn:
        st.caption("As printed, a source is one table and has one weight: there are no views.")
        return
    st.caption("Which views a source's weight comes from: all bars together are the consensus, 1.", help=words.VIEWS)
    with st.container(key=f"{LAST} parts"):
        dealt = words.dealt_figure(last, data.source_names, data.graph_names)
        live_chart(dealt, "live_dealt", len(events))
    left, right = st.columns(2)
    with left:
        st.caption("Weights of the heaviest views by round", help=words.VIEWS)
        live_chart(drawn["views"], "live_views", len(events))
    with right:
        for name in last.get("paths", {}):
            st.caption(f"Left-out loss by {words.SYMBOLS[name]}; the star was chosen")
            live_chart(words.path_figure(last, name), f"live_path_{name}", len(events))


def one_instance(result: Any, data: HetData, trained: HetData) -> None:
    """Let the person pick an instance and show what each source says of it, and its neighbours.

    `trained` are the data after the what-ifs of the training: it had no other links than theirs.
    """
    frame = result.predictions
    if frame is None or result.contributions is None:
        return
    if "held_out" not in frame:  # every label is known: those that are predicted wrongly all the same come first
        frame = frame.with_columns(held_out=pl.col("label"))
    ids = wrong_first(frame)
    chosen = st.selectbox("Instance", ids, asked_choice("instance", ids), help=WORST_FIRST, **in_link("instance"))
    row = frame.filter(pl.col("id") == chosen).row(0, named=True)
    truth = row["label"] if row["label"] is not None else row["held_out"]
    with st.container(key=f"{LAST} prediction"):
        known = f"labelled **{escape(_shown(truth))}**" if truth is not None else "no label known"
        st.markdown(f"Predicted **{escape(_shown(row['prediction']))}**, {known}.")
    adds = result.contributions.filter(pl.col("id") == chosen).drop("id").row(0, named=True)
    graphs = [f"graph {name}" if name in data.sources else name for name in data.graph_names]
    names = dict(zip(contribution_columns(data.source_names, data.graph_names), [*data.source_names, *graphs]))
    values = {names[column]: float(v) for column, v in adds.items() if v is not None and column in names}
    left, right = st.columns(2)
    with left:
        unit = "score" if data.target_kind == "classification" else basic.label_title(data, UNIT)
        figure = basic.contributions(values, [*data.source_names, *graphs], unit)
        _follow(figure, result.additions, chosen, {name: column for column, name in names.items()})
    with right, st.container(key=f"{LAST} neighbours"):
        neighbours(trained, chosen, frame)


def _follow(figure: dict[str, Any], additions: pl.DataFrame | None, chosen: str, columns: Mapping[str, str]) -> None:
    """Draw what sources add to an instance: in the round that the charts show, where that was recorded."""
    order = [columns[name] for name in figure["data"][0]["y"]]
    found = None if additions is None else additions.filter(pl.col("id") == chosen).sort("round")
    if found is None or not found.height:
        chart(figure, "adds", "contributions")
        st.caption("Of the last round: of this instance the others were not recorded.")
        return
    # The last round is the prediction, as the model makes it.
    lengths = [*found.select(order).cast(pl.Float64).rows()[:-1], tuple(figure["data"][0]["x"])]
    shown = [[float(f"{value:.4g}") for value in basic.without_rounding(each)] for each in lengths]
    live_chart(figure, "adds", len(lengths), shown)
    st.caption("What each adds in the round that the charts show.")


def wrong_first(frame: pl.DataFrame, most: int = 800) -> list[str]:
    """Return ids of predictions: those farthest from their label, then others, as many as a list can hold.

    Parameters
    ----------
    frame : polars DataFrame
        "id", "prediction" and, where known, "held_out" or "label".
    most : int, default=800
    """
    known = next((name for name in ("held_out", "label") if name in frame.columns), None)
    wrong = frame.head(0) if known is None else frame.filter(pl.col(known) != pl.col("prediction"))
    if wrong["prediction"].dtype.is_numeric() and wrong.height:
        wrong = wrong.sort((pl.col(known) - pl.col("prediction")).abs(), descending=True, maintain_order=True)
    # Once each, in the order in which they come.
    return list(dict.fromkeys([*wrong["id"].head(most // 4), *frame["id"].head(most)]))


def neighbours(data: HetData, chosen: str, frame: pl.DataFrame) -> None:
    """Show an instance's neighbours, their labels and what is predicted of them."""
    near = _neighbours(data, chosen, frame)
    st.caption("Neighbours" if near.height else "This instance has no neighbour in a graph.")
    if near.height:
        show_table(near, width="stretch", height=280, alt="Neighbours and their predictions")


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _neighbours(data: HetData, chosen: str, frame: pl.DataFrame) -> pl.DataFrame:
    place, found = data.position[chosen], []
    for name, graph in data.graphs.items():
        # A hub has thousands of neighbours; twenty show what they are like.
        near = graph.indices[graph.indptr[place] : graph.indptr[place + 1]][:20]
        found += [{"graph": name, "id": data.ids[j]} for j in near]
    if not found:
        return pl.DataFrame()
    return pl.DataFrame(found).join(frame.select("id", "label", "prediction"), on="id", how="left").head(60)


def theorem(events: Sequence[Any]) -> None:
    """Draw the bound of theorem 4.1 for the two heaviest sources, with the learned weights' point on it."""
    last = events[-1]
    alone = {n: e for n, e in last.detail.get("per_source", {}).items() if np.isfinite(e)}
    heavy = sorted(alone, key=lambda name: -last.source_weights.get(name, 0.0))[:2]
    if len(heavy) < 2 or last.detail["metric_name"] != "error":
        st.caption("Two sources and a classification are needed for the bound.")
        return
    first, second = heavy
    w1, w2 = last.source_weights[first], last.source_weights[second]
    # Two sources without any weight: the bound is drawn for equal ones.
    weight = w1 / (w1 + w2) if w1 + w2 > 0 else 0.5
    st.caption(
        f"Theorem 4.1: weights that follow the errors bound the consensus lower than equal weights. "
        f"{escape(first)} errs on {alone[first]:.1%}, {escape(second)} on {alone[second]:.1%}; the star: their weights."
    )
    chart(basic.bound(alone[first], alone[second], weight), "bound", "bound of theorem 4.1")


def explain() -> None:
    """Say what the symbols are."""
    st.markdown(
        "**λ0** pulls rows without a label to what all sources agree on. **λ1** pulls predictions to those of their "
        "neighbours in the graphs. **Weights** are each source's share in what the model explains of labels it did "
        "not see: one that tells nothing by itself, alone or beside the others, has none. **Left out** is measured on "
        "labelled rows that a round did not train on, **held out** on labels that were hidden from training."
    )
