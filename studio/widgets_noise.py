"""What the Noise page draws of a table: two models side by side, bands, calibration, the rows that are distrusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

import datasets
from hetcore import figures, figures_noise
from hetcore.data import HetData
from hetcore.data.plain import plain_table
from studio import noise, training
from studio.training import Setting
from studio.widgets import chart, escape, live_chart, number
from studio.widgets_consensus import downloads

__all__ = ["curves", "once", "planted", "take_away", "tabs", "verdict"]

SETS = {"held_out": "held out", "left_out": "left out", "train": "training"}
MOST_ROWS = 300
Events = Mapping[str, Sequence[Any]]


def once(key: str, runs: Any, make: Callable[[], Any]) -> Any:
    """Return what `make` returns, kept in the session as long as `runs` stay the same."""
    slot = f"noise {key}"
    kept = st.session_state.get(slot)
    if kept is None or kept[0] != runs:
        kept = st.session_state[slot] = (runs, make())
    return kept[1]


# While it trains ------------------------------------------------------------------------------------------------------


def _series(events: Events, pick: Callable[[Any], Mapping[str, float]], shown: str) -> tuple[np.ndarray, dict]:
    """Return rounds (from 1) and one line per label, NaN where a training has ended."""
    longest = max((len(each) for each in events.values()), default=0)
    found = {}
    for label, each in events.items():
        line = np.full(longest, np.nan)
        line[: len(each)] = [pick(event).get(shown, np.nan) for event in each]
        found[label] = line
    return np.arange(1, longest + 1, dtype=float), found


def _shown(events: Events) -> str:
    """Return which rows are scored: held-out ones where there are any."""
    known = next(each[-1].detail["metric"] for each in events.values() if each)
    return next(name for name in SETS if name in known)


def curves(mode: str, events: Events, before: Events) -> dict[str, dict[str, Any]]:
    """Draw both trainings so far, pale the ones before, and return the figures by name."""
    about, shown = noise.MODES[mode], _shown(events)
    order = (about.learned, about.plain)
    events = {label: events.get(label, ()) for label in order}
    metric = next(each[-1].detail["metric_name"] for each in events.values() if each)
    _headline(events, shown, metric)
    drawn, points = {}, max(map(len, events.values()))
    for name, pick in (("error", lambda e: e.detail["metric"]), ("loss", lambda e: e.losses)):
        x, lines = _series(events, pick, shown)
        old_x, old = _series(before, pick, shown) if any(before.values()) else (x, {})
        title = f"{metric if name == 'error' else 'negative log-likelihood'}, {SETS[shown]}"
        pale = {label: (old_x, line) for label, line in old.items() if label in order}
        drawn[name] = figures.lines(x, lines, "round" if mode == "Table" else "epoch", title, pale=pale, order=order)
    scored = f"{SETS[shown].replace(' ', '-')} labels"
    words = {"error": f"{_title(metric)} on {scored}", "loss": "Surprise at those labels: less is better"}
    names = ["error", "loss"] if mode == "Table" else ["error"]
    for column, name in zip(st.columns(len(names)), names):
        with column:
            st.caption(words[name])
            live_chart(drawn[name], f"noise_{name}", points)
    return drawn


def _headline(events: Events, shown: str, metric: str) -> None:
    with st.container(horizontal=True, gap="large"):
        for label, each in events.items():
            if each:
                value = each[-1].detail["metric"].get(shown, np.nan)
                st.metric(f"{_title(metric)} of {label}", number(value, metric), width="content")
        longest = max(events.values(), key=len)
        st.metric("Round", f"{longest[-1].index + 1} of {longest[-1].total}", width="content")
        st.metric("Seconds", f"{max(each[-1].seconds for each in events.values() if each):.1f}", width="content")


# Once both have ended -------------------------------------------------------------------------------------------------


def verdict(mode: str, live: Any, results: Mapping[str, Any]) -> None:
    """Say which of the two is more accurate, and what a change did."""
    about = noise.MODES[mode]
    good, plain = results[about.learned].scores, results[about.plain].scores
    shown = "held_out" if "held_out" in good else "train"
    with st.container(key="verdict"):
        st.markdown(_verdict(about, good[shown], plain[shown], good["metric"], SETS[shown].replace(" ", "-")))
    if about.learned in live.before:
        events = live.events()[about.learned]
        old = training.outcome(*live.before[about.learned])
        with st.container(key="change"):
            words = training.difference(old, training.outcome(live.settings[about.learned], events))
            st.success(escape(f"{about.learned} {words}"))


def _verdict(about: noise.Mode, good: float, plain: float, metric: str, rows: str) -> str:
    said = {name: number(value, metric) for name, value in ((about.learned, good), (about.plain, plain))}
    what = f"**{about.learned} {escape(said[about.learned])}**, {about.plain} {escape(said[about.plain])}"
    gap = plain - good
    size = f"{100 * abs(gap):.1f} points" if metric == "error" else f"{abs(gap) / max(plain, 1e-12):.1%}"
    if said[about.learned] == said[about.plain]:
        came = "learning whom to trust changes nothing here"
    else:
        came = f"learning whom to trust {'saves' if gap > 0 else 'costs'} {escape(size)} here"
    return f"{_title(metric)} on {rows} labels: {what}; {came}."


def _title(metric: str) -> str:
    return "Error" if metric == "error" else escape(metric)


def planted(example: str | None) -> pl.DataFrame | None:
    """Return the deviation planted in the rows of an example, None where nothing is known."""
    return once("planted", example, lambda: datasets.planted_deviation(example or ""))


def tabs(
    mode: str, data: HetData, current: Any, settings: Mapping[str, Setting], results: Mapping[str, Any],
    drawn: Mapping[str, Any], owner: str,
) -> None:  # fmt: skip
    """Draw what two models of a table leave behind."""
    about = noise.MODES[mode]
    numbers = data.target_kind == "regression"
    setting = settings[about.learned]
    run = (current.title, repr(setting))
    wrong = once("spoilt", run, lambda: noise.spoilt(current.data, setting.operations))
    frames = {label: noise.judged(result.predictions, numbers) for label, result in results.items()}
    names = ["At a glance", "Distrusted rows", "Deviation", "Calibration", "Take away"]
    glance, rows, spread, honest, take = st.tabs(names)
    ranked = noise.distrusted(results[about.learned].predictions, wrong)
    with glance:
        _glance(data, about, frames, ranked, numbers)
    with rows:
        _distrusted(results[about.learned].predictions, wrong, numbers)
    with spread:
        _deviation(frames, ranked, planted(current.example), about, numbers)
    with honest:
        _calibration(results, numbers)
    with take:
        take_away(mode, current, settings, results, drawn, owner)


def _glance(
    data: HetData, about: noise.Mode, frames: Mapping[str, pl.DataFrame], ranked: pl.DataFrame, numbers: bool
) -> None:
    if numbers:
        _bands(data, about, frames)
    else:
        _weights(ranked)
    st.caption("The rows that counted least in training:" if numbers else "The labels that were trusted least:")
    _table(ranked.head(8), "glance_rows")


def _bands(data: HetData, about: noise.Mode, frames: Mapping[str, pl.DataFrame]) -> None:
    """Draw labels with the band of each model, along the prediction or a feature; or the residuals."""
    table = once("features", data.digest(), lambda: plain_table(data))
    left, right = st.columns(2)
    along = left.selectbox(
        "Along", ["prediction", *table.feature_names[:200]], key=f"along {data.n} {len(table.feature_names)}",
        help="What the rows are sorted by, from left to right.",
    )  # fmt: skip
    kind = right.segmented_control("Show", ["labels", "residuals"], default="labels", required=True, key="band_kind")
    for place, (column, label) in enumerate(zip(st.columns(2), (about.learned, about.plain))):
        rows = frames[label]
        rows = rows.filter("held") if rows["held"].any() else rows
        x = rows["prediction"] if along == "prediction" else _feature(rows, data, table, along)
        with column:
            inside = (rows["residual"].abs() <= 1.645 * rows["std"]).mean()
            st.caption(f"{label}: {inside:.0%} of the labels lie in the 90% band")
            draw = figures_noise.band if kind == "labels" else figures_noise.residuals
            y = rows["truth"] if kind == "labels" else rows["residual"]
            given = (x, y, rows["prediction"], rows["std"]) if kind == "labels" else (x, y, rows["std"])
            titles = (str(along), "label" if kind == "labels" else "label − prediction")
            chart(draw(*given, titles, place), f"band_{label}", f"{kind} and 90% band of {label}")


def _feature(rows: pl.DataFrame, data: HetData, table: Any, name: str) -> np.ndarray:
    places = [data.position[one] for one in rows["id"]]
    return table.X[places, table.feature_names.index(name)]


def _weights(ranked: pl.DataFrame) -> None:
    """Draw how much rows counted, those with a spoilt label apart, and what that finds."""
    left, right = st.columns(2)
    bad = ranked.filter("spoilt")
    with left:
        groups = {"labels as given": ranked.filter(~pl.col("spoilt"))["weight"], "flipped labels": bad["weight"]}
        figure = figures_noise.histograms(groups, "weight of a row in training", "share of its group")
        st.caption("How much rows counted" + ("" if bad.height else ": flip some labels to see whether it notices"))
        chart(figure, "weights", "Weights of rows with and without a flipped label")
    with right:
        if bad.height:
            count, found = noise.hits(ranked)
            st.caption(f"Of the {count:,} least trusted labels {found / count:.0%} are flipped ones; by chance it were "
                       f"{count / ranked.height:.0%}")  # fmt: skip
            chart(figures_noise.found(ranked["spoilt"], count / ranked.height), "found", "Flipped labels found")


def _distrusted(predictions: pl.DataFrame, wrong: pl.DataFrame, numbers: bool) -> None:
    """List the rows that count least, or whose labels stray farthest, and say how many of them were spoilt."""
    by = "weight"
    if numbers:
        words = {"weight": "least weight", "surprise": "largest surprise"}
        by = st.segmented_control(
            "Most distrusted by", list(words), format_func=words.get, default="weight", required=True, key="by",
            help="Weight says where labels stray; surprise is how far this label strays, in standard deviations.",
        )  # fmt: skip
    ranked = noise.distrusted(predictions, wrong, by)
    count, found = noise.hits(ranked)
    if count:
        st.markdown(
            f"**{found:,} of the {count:,}** most distrusted rows have a spoilt label: {found / count:.0%}, by chance "
            f"{count / ranked.height:.0%}."
        )
        if numbers and by == "weight":
            st.caption(
                "Weight depends on where a row lies, not on its own label: noise spread at random over all rows shows "
                "in the surprise."
            )
    else:
        st.caption("No label was spoilt on this page. Spoil some with the slider to see how many are found.")
    _table(ranked.head(MOST_ROWS), "distrusted")


def _table(rows: pl.DataFrame, key: str) -> None:
    names = {"was": "label before", "spoilt": "spoilt"}
    numbers = {c: st.column_config.NumberColumn(format="%.3g") for c, t in rows.schema.items() if t == pl.Float64}
    shown = rows if rows["spoilt"].any() else rows.drop("was", "spoilt")
    config = {names.get(c, c): form for c, form in numbers.items()}
    shown = shown.rename({old: new for old, new in names.items() if old in shown.columns})
    st.dataframe(shown, hide_index=True, width="stretch", key=key, column_config=config, alt="The most distrusted rows")


def _deviation(
    frames: Mapping[str, pl.DataFrame], ranked: pl.DataFrame, truth: pl.DataFrame | None, about: noise.Mode,
    numbers: bool,
) -> None:  # fmt: skip
    """Draw the learned deviation against the planted one, else against |residual|."""
    rows = frames[about.learned]
    rows = rows.filter("held") if rows["held"].any() else rows
    column = "std" if numbers else "deviation"
    if column not in rows.columns:
        st.caption("This model tells no deviation.")
        return
    if truth is not None:
        rows = rows.join(truth, on="id", how="inner")
    left, right = st.columns(2)
    with left:
        _against(rows, column, truth is not None, numbers)
    with right:
        if numbers:
            st.caption("Spread of held-out residuals, where the model says that they spread so")
            titles = ("learned σ", "root mean square of residuals")
            figure = figures_noise.deviations(rows["std"], rows["residual"], titles)
            chart(figure, "said_seen", "Spread of residuals against learned deviation")
        else:
            groups = {name: values for name, values in (
                ("right", rows.filter(pl.col("truth") == pl.col("prediction"))[column]),
                ("wrong", rows.filter(pl.col("truth") != pl.col("prediction"))[column]),
            )}  # fmt: skip
            st.caption("Learned share of blind labels, where the prediction is right and where it is wrong")
            figure = figures_noise.histograms(groups, "learned ε", "share of its group")
            chart(figure, "said_seen", "Learned deviation of right and wrong predictions")


def _against(rows: pl.DataFrame, column: str, is_planted: bool, numbers: bool) -> None:
    symbol = "σ" if numbers else "ε"
    if not (is_planted or numbers):
        st.caption("Where labels are drawn blindly")
        chart(figures_noise.histograms({"all": rows[column]}, f"learned {symbol}", "share of rows"), "against", "ε")
        return
    truth = rows["planted"] if is_planted else rows["residual"].abs()
    name = ("planted " + ("σ" if numbers else "chance of a flip")) if is_planted else "|label − prediction|"
    rank = noise.rank_correlation(truth.to_numpy(), rows[column].to_numpy())
    said = f"; rank correlation {rank:.2f}" if np.isfinite(rank) else ""
    st.caption(f"Learned deviation against {'the planted one' if is_planted else 'the size of the residual'}{said}")
    chart(figures_noise.cloud(truth, {"held-out rows": rows[column]}, (name, f"learned {symbol}")), "against", name)


def _calibration(results: Mapping[str, Any], numbers: bool) -> None:
    if numbers:
        told = {label: result.value for label, result in results.items() if result.value}
        if not told:
            st.caption("Hide some labels to see whether the intervals hold what they promise.")
            return
        nominal = next(iter(told.values()))["nominal"]
        lines = {label: value["achieved"] for label, value in told.items()}
        st.caption("Share of held-out labels in the interval, against the share that was asked for")
        figure = figures_noise.calibration(nominal, lines, ("asked for", "achieved"))
    else:
        told = {label: noise.reliability(result.predictions) for label, result in results.items()}
        if any(value is None for value in told.values()):
            st.caption("Hide some labels to see whether the probabilities hold what they promise.")
            return
        st.caption("How often a prediction is right on held-out labels, against how sure the model was of the class")
        figure = _reliability(told)
    left, _ = st.columns([2, 1])
    with left:
        chart(figure, "calibration", "Achieved against promised")


def _reliability(told: Mapping[str, tuple[list[float], list[float]]]) -> dict[str, Any]:
    figure = figures_noise.calibration([], {label: [] for label in told}, ("how sure", "how often right"))
    for trace, (sure, right) in zip(figure["data"][1:], told.values()):
        keep = np.isfinite(sure)
        trace |= {"x": np.array(sure)[keep], "y": np.array(right)[keep], "mode": "lines+markers"}
    return figure


def take_away(
    mode: str, current: Any, settings: Mapping[str, Setting], results: Mapping[str, Any], drawn: Mapping[str, Any],
    owner: str,
) -> None:  # fmt: skip
    """Offer predictions, model, figure, script and notebook of one of the two."""
    label = st.segmented_control("Of", list(settings), default=next(iter(settings)), required=True, key=f"of {mode}")
    run = training.run_of("Noise", settings[label], current.recipe, current.title, owner)
    if drawn:
        downloads(run, results[label], drawn)
