"""What the Noise page draws of two ended models of a table: bands, distrusted rows, deviation, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.data.plain import plain_table
from hetcore.figures import noise as figures_noise
from studio.jobs.job import Setting
from studio.views.common import widgets_tabs
from studio.views.common.widgets import chart, show_table
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.noise import rows as noise_rows
from studio.views.noise import settings as noise
from studio.views.noise.widgets import corrupted_rows, once, planted, take_away, true_labels
from studio.views.noise.widgets_curve import measured

__all__ = ["tabs"]

MOST_ROWS = 300
ALIKE = "All rows counted the same in training, to one per cent: none is distrusted."


def tabs(
    mode: str, data: HetData, current: Any, settings: Mapping[str, Setting], results: Mapping[str, Any],
    drawn: Mapping[str, Any], owner: str,
) -> None:  # fmt: skip
    """Draw what two models of a table leave behind."""
    about = noise.MODES[mode]
    numbers = data.target_kind == "regression"
    setting = settings[about.learned]
    wrong = corrupted_rows(current.data, setting, current.example)
    frames = {label: noise_rows.with_residuals(result.predictions, numbers) for label, result in results.items()}
    predictions = results[about.learned].predictions
    ranked = noise_rows.distrusted(predictions, wrong)
    widgets_tabs.tabs(
        {
            "At a glance": lambda: _glance(data, about, frames, ranked, true_labels(current.example) is not None),
            "Distrusted rows": lambda: _distrusted(predictions, wrong, numbers),
            "Deviation": lambda: _deviation(frames, ranked, planted(current.example), about, numbers),
            "Calibration": lambda: _calibration(results, numbers),
            "How much noise": lambda: measured(mode, current.data, settings, owner),
            "Take away": lambda: take_away(mode, current, settings, results=results, drawn=drawn, owner=owner),
        },
        "after",
        alone=False,
    )


def _glance(
    data: HetData, about: noise.Mode, frames: Mapping[str, pl.DataFrame], ranked: pl.DataFrame, known: bool
) -> None:
    """Say what the weights brought; `known` says whether the data came with flips that are known."""
    numbers = data.target_kind == "regression"
    st.markdown(noise_rows.bought(frames[about.learned], frames[about.plain], numbers, (about.learned, about.plain)))
    if numbers:
        _bands(data, about, frames)
    if noise_rows.trusts_alike(ranked):
        st.caption(ALIKE)
        return
    if not numbers:
        _weights(ranked)
        if known:
            st.caption("Flipped is every label that differs from the true one, which this example knows.")
    st.caption("The rows that counted least in training:" if numbers else "The labels that were trusted least:")
    _table(ranked.head(8), "glance_rows", numbers)


def _bands(data: HetData, about: noise.Mode, frames: Mapping[str, pl.DataFrame]) -> None:
    """Draw labels with the band of each model, along the prediction or a feature; or the residuals."""
    table = once("features", data.digest(), lambda: plain_table(data))
    left, right = st.columns(2)
    along = _along(left, frames[about.learned], data, table)
    kinds = ["labels", "residuals"]
    look = {"default": kinds[asked_choice("band", kinds)], **in_link("band", "band_kind")}
    kind = right.segmented_control("Show", kinds, required=True, **look)
    for place, (column, label) in enumerate(zip(st.columns(2), (about.learned, about.plain))):
        rows = frames[label]
        rows = rows.filter("held") if rows["held"].any() else rows
        x = rows["prediction"] if along == "prediction" else _feature(rows, data, table, along)
        with column:
            inside = (rows["residual"].abs() <= rows["half"]).mean()
            draw = figures_noise.band if kind == "labels" else figures_noise.residuals
            y = rows["truth"] if kind == "labels" else rows["residual"]
            given = (x, y, rows["prediction"], rows["half"]) if kind == "labels" else (x, y, rows["half"])
            titles = (str(along), "label" if kind == "labels" else "label − prediction")
            figure = draw(*given, titles, place)
            far = noise_rows.beyond(figure, x, y)
            st.caption(f"{label}: {inside:.0%} of the labels lie in the 90% band{far}")
            chart(figure, f"band_{label}", f"{kind} and 90% band of {label}")


def _along(place: Any, rows: pl.DataFrame, data: HetData, table: Any) -> str:
    """Let the person choose what rows are sorted by, at first the feature along which the deviation changes most."""
    names, key = ["prediction", *table.feature_names[:MOST_ROWS]], f"along {data.digest()}"
    places = [data.position[one] for one in rows["id"]]
    best = once(
        "telling", (key, rows["std"].to_list()),
        lambda: noise_rows.telling(table.X[places][:, :MOST_ROWS], names[1:], rows["std"].to_numpy()),
    )  # fmt: skip
    # Where the list begins in the browser too, which forgets what was chosen while there is no list.
    first = asked_choice("along", names, names.index(best or "prediction"))
    text = "From left to right; at first where the deviation changes most."
    return place.selectbox("Along", names, first, help=text, **in_link("along", key))


def _feature(rows: pl.DataFrame, data: HetData, table: Any, name: str) -> np.ndarray:
    places = [data.position[one] for one in rows["id"]]
    return table.X[places, table.feature_names.index(name)]


def _weights(ranked: pl.DataFrame) -> None:
    """Draw how much rows counted, those with a corrupted label apart, and what that finds."""
    left, right = st.columns(2)
    bad = ranked.filter("corrupted")
    with left:
        groups = {"other labels": ranked.filter(~pl.col("corrupted"))["weight"], "flipped labels": bad["weight"]}
        figure = figures_noise.histograms(groups, "weight of a row in training", "share of its group")
        st.caption("How much rows counted" + ("" if bad.height else ": flip some labels to see whether it notices"))
        chart(figure, "weights", "Weights of rows with and without a flipped label")
    with right:
        if bad.height:
            st.caption(noise_rows.caught(ranked))
            chart(figures_noise.found(ranked["corrupted"], bad.height / ranked.height), "found", "Flipped labels found")


def _distrusted(predictions: pl.DataFrame, wrong: pl.DataFrame, numbers: bool) -> None:
    """List the rows that count least, or whose labels stray farthest, and say how many of them were corrupted."""
    by = "weight"
    if numbers:
        text = {"weight": "least weight", "surprise": "largest surprise"}
        by = st.segmented_control(
            "Most distrusted by", list(text), format_func=text.get, default=[*text][asked_choice("by", [*text])],
            required=True, **in_link("by"),
            help="Weight says where labels stray; surprise is how far this label strays, in standard deviations.",
        )  # fmt: skip
    ranked = noise_rows.distrusted(predictions, wrong, by)
    if by == "weight" and noise_rows.trusts_alike(ranked):
        st.caption(ALIKE)
        return
    count, found = noise_rows.hits(ranked)
    done = noise.DONE[numbers]
    if count:
        st.markdown(
            f"**{found:,} of the {count:,}** most distrusted rows have a {done} label: {found / count:.0%}, by "
            f"chance {count / ranked.height:.0%}."
        )
        if numbers and by == "weight":
            st.caption(
                "Weight depends on where a row lies, not on its own label: noise spread at random over all rows shows "
                "in the surprise."
            )
    else:
        st.caption(f"No label was {done} on this page. Raise the share with the slider to see how many are found.")
    _table(ranked.head(MOST_ROWS), "distrusted", numbers)


def _table(rows: pl.DataFrame, key: str, numbers: bool) -> None:
    names = {"was": "label before", "corrupted": noise.DONE[numbers]}
    forms = {c: st.column_config.NumberColumn(format="%.3g") for c, t in rows.schema.items() if t == pl.Float64}
    shown = rows if rows["corrupted"].any() else rows.drop("was", "corrupted")
    config = {names.get(c, c): form for c, form in forms.items()}
    shown = shown.rename({old: new for old, new in names.items() if old in shown.columns})
    show_table(shown, width="stretch", key=key, column_config=config, alt="The most distrusted rows")


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
            _contradicted(frames[about.learned])


def _contradicted(rows: pl.DataFrame) -> None:
    """Draw how many training labels contradict the prediction, where so many were said to be wrong."""
    trained = rows.filter(pl.col("label").is_not_null())
    n_classes = sum(column.startswith("p:") for column in rows.columns)
    expected = trained["deviation"] * (1.0 - 1.0 / max(n_classes, 2))
    st.caption("Training labels that contradict the prediction, where the model says that so many are wrong")
    titles = ("said to be wrong", "contradict the prediction")
    figure = figures_noise.deviations(expected, trained["label"] != trained["prediction"], titles, squares=False)
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] |= {"tickformat": ".0%"}
    chart(figure, "said_seen", "Contradicted labels against those said to be wrong")


def _against(rows: pl.DataFrame, column: str, is_planted: bool, numbers: bool) -> None:
    symbol = "σ" if numbers else "ε"
    if not (is_planted or numbers):
        st.caption("Where labels are drawn blindly")
        chart(figures_noise.histograms({"all": rows[column]}, f"learned {symbol}", "share of rows"), "against", "ε")
        return
    truth = rows["planted"] if is_planted else rows["residual"].abs()
    name = ("planted " + ("σ" if numbers else "chance of a flip")) if is_planted else "|label − prediction|"
    rank = noise_rows.rank_correlation(truth.to_numpy(), rows[column].to_numpy())
    note = f"; rank correlation {rank:.2f}" if np.isfinite(rank) else ""
    figure = figures_noise.cloud(truth, {"held-out rows": rows[column]}, (name, f"learned {symbol}"))
    note += noise_rows.beyond(figure, truth, rows[column])
    st.caption(f"Learned deviation against {'the planted one' if is_planted else 'the size of the residual'}{note}")
    chart(figure, "against", name)


def _calibration(results: Mapping[str, Any], numbers: bool) -> None:
    if numbers:
        coverages = {label: result.value for label, result in results.items() if result.value}
        if not coverages:
            st.caption("Hide some labels to see whether the intervals hold what they promise.")
            return
        nominal = next(iter(coverages.values()))["nominal"]
        lines = {label: value["achieved"] for label, value in coverages.items()}
        st.caption("Share of held-out labels in the interval, against the share that was asked for")
        figure = figures_noise.calibration(nominal, lines, ("asked for", "achieved"))
    else:
        coverages = {label: noise_rows.reliability(result.predictions) for label, result in results.items()}
        if any(value is None for value in coverages.values()):
            st.caption("Hide some labels to see whether the probabilities hold what they promise.")
            return
        st.caption(
            "How often a prediction is right on held-out labels, against how sure the model was of the class. Above "
            "the line it is right more often than it says: it has learned from labels some of which were wrong."
        )
        figure = _reliability(coverages)
    left, _ = st.columns([2, 1])
    with left:
        chart(figure, "calibration", "Achieved against promised")


def _reliability(curves: Mapping[str, tuple[list[float], list[float]]]) -> dict[str, Any]:
    figure = figures_noise.calibration([], {label: [] for label in curves}, ("how sure", "how often right"))
    for trace, (sure, right) in zip(figure["data"][1:], curves.values()):
        keep = np.isfinite(sure)
        trace |= {"x": np.array(sure)[keep], "y": np.array(right)[keep], "mode": "lines+markers"}
    return figure
