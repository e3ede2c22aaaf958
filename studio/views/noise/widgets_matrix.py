"""What the Noise page draws of ratings and of sensors: who strays, and what was filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.figures import basic
from hetcore.figures import noise as figures_noise
from studio.jobs.job import Setting
from studio.views.common import widgets_tabs
from studio.views.common.widgets import chart, escape, number, show_table
from studio.views.noise import rows as noise_rows
from studio.views.noise import settings as noise
from studio.views.noise.widgets import once, planted, take_away
from studio.views.noise.widgets_curve import measured

__all__ = ["tabs"]

MOST_CODES, FEW_CODES = 200, 8
ROW = 35
"""Pixels of a row of a table."""


def tabs(
    mode: str, data: HetData, current: Any, settings: Mapping[str, Setting], results: Mapping[str, Any],
    drawn: Mapping[str, Any], owner: str,
) -> None:  # fmt: skip
    """Draw what two factorizations leave behind."""
    about, columns = noise.MODES[mode], settings[noise.MODES[mode].learned].form["columns"]
    run = (current.title, repr(settings), [result.seconds for result in results.values()])
    predictions = {label: result.predictions for label, result in results.items()}
    rows = once(
        f"rows {mode}", run,
        lambda: {label: noise_rows.scored_codes(each, data, columns) for label, each in predictions.items()},
    )  # fmt: skip
    pair = (about.learned, about.plain)
    st.markdown(noise_rows.bought(*(rows[label] for label in pair), True, pair))
    learned, more = rows[about.learned], "How much noise" if mode == "Matrix" else "How many readings"
    parts = {
        "Filled in": lambda: _filled_in(rows, columns),
        "Who strays": lambda: _stray(learned, columns),
        "Deviation": lambda: _deviation(learned, planted(current.example)),
        more: lambda: measured(mode, current.data, settings, owner),
        "Take away": lambda: take_away(mode, current, settings, results=results, drawn=drawn, owner=owner),
    }
    if mode == "Matrix":
        del parts["Filled in"]
    widgets_tabs.tabs(parts, "after", alone=False)


def _stray(rows: pl.DataFrame, columns: Sequence[str]) -> None:
    """Draw how the deviation spreads over the codes of each column, and list the most erratic ones."""
    alike = noise_rows.trusts_alike(rows)
    for place, column in zip(st.columns(len(columns)), columns):
        spreads = noise_rows.by_code(rows, column)
        with place:
            which = ": the same of all, so nobody is distrusted" if alike else "; most erratic below"
            st.caption(f"Mean deviation of each {escape(column)}{which}")
            if not alike:
                chart(_spread(spreads, column), f"stray_{column}", f"Mean deviation by {column}")
            shown = {name: st.column_config.NumberColumn(format="%.3f") for name in ("deviation", "held-out RMSE")}
            height = min(300, ROW * (spreads.height + 1) + 3)
            show_table(
                spreads.head(MOST_CODES), width="stretch", height=height, key=f"erratic_{column}",
                column_config=shown, alt=f"The most erratic {column}s",
            )  # fmt: skip


def _spread(spreads: pl.DataFrame, column: str) -> dict[str, Any]:
    """Draw a bar for each of a few codes, a histogram of many."""
    if spreads.height <= FEW_CODES:
        values = dict(zip(spreads[column].to_list(), spreads["deviation"].to_list()))
        return basic.bars(values, "mean learned σ", order=["-"])
    bins = min(30, max(6, spreads.height // 4))
    return figures_noise.histograms({column: spreads["deviation"]}, "mean learned σ", "share of them", bins)


def _deviation(rows: pl.DataFrame, truth: pl.DataFrame | None) -> None:
    """Draw the spread of held-out residuals where the model says so, and the planted deviation where it is known."""
    held = rows.filter("held") if rows["held"].any() else rows
    left, right = st.columns(2)
    with left:
        st.caption("Spread of held-out residuals, where the model says that they spread so")
        titles = ("learned σ", "root mean square of residuals")
        figure = figures_noise.deviations(held["std"], held["residual"], titles)
        chart(figure, "said_seen", "Spread of residuals against learned deviation")
    with right:
        known = truth is not None
        held = held.join(truth, on="id", how="inner") if known else held
        against = held["planted"] if known else held["residual"].abs()
        name = "planted σ" if known else "|value − prediction|"
        rank = noise_rows.rank_correlation(against.to_numpy(), held["std"].to_numpy())
        note = f"; rank correlation {rank:.2f}" if rank == rank else ""
        st.caption(f"Learned deviation against {'the planted one' if known else 'the size of the residual'}{note}")
        chart(figures_noise.cloud(against, {"held-out": held["std"]}, (name, "learned σ")), "against", name)


def _filled_in(rows: Mapping[str, pl.DataFrame], columns: Sequence[str]) -> None:
    """Draw what was filled in for one sensor, by each model."""
    learned = next(iter(rows.values()))
    guess = noise_rows.guessed_time(columns, learned)
    first, *places = st.columns(len(columns))
    time = first.selectbox("Time", list(columns), list(columns).index(guess), key="tensor_time",
                           help="The column that runs from left to right.")  # fmt: skip
    chosen: dict[str, str] = {}
    for place, column in zip(places, [column for column in columns if column != time]):
        # Of those that come with what was chosen before: not every sensor has every quantity.
        codes = noise_rows.by_code(learned, column)[column].to_list()
        help_ = "The most erratic one comes first."
        chosen[column] = place.selectbox(column.capitalize(), codes, key=f"tensor {column}", help=help_)
        learned = learned.filter(pl.col(f"code:{column}") == chosen[column])
    for place, (label, each) in enumerate(rows.items()):
        _one_sensor(noise_rows.sensor(each, time, chosen), label, place, time)


def _one_sensor(rows: pl.DataFrame, label: str, place: int, time: str) -> None:
    known, hidden = (rows.filter(pl.col("held") == held) for held in (False, True))
    error = (hidden["residual"] ** 2).mean()
    st.caption(f"{escape(label)}: {known.height:,} of {rows.height:,} readings known"
               + (f", RMSE of the hidden ones {number(error**0.5, 'rmse')}" if error is not None else ""))  # fmt: skip
    dots = [(each["at"], each["truth"]) for each in (known, hidden)]
    figure = figures_noise.imputation(rows["at"], *dots, rows["prediction"], rows["std"], (time, "reading"), place)
    if noise_rows.are_dates(rows[f"code:{time}"]):
        # How numbers are written and set apart is not how dates are.
        figure["layout"]["xaxis"] |= {"type": "date", "tickformat": None, "dtick": None}
    chart(figure, f"sensor_{label}", f"Readings over time with what {label} filled in")
