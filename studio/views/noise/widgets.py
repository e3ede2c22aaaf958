"""What the Noise page draws of two trainings, whatever the data: curves side by side, a verdict, what to take away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

import datasets
from hetcore.data import HetData
from studio.jobs.job import Setting
from studio.views.common import training
from studio.views.common.curves import SCORED, Events, by_training, figure, metric_name, scored_rows, scored_set
from studio.views.common.paired import against
from studio.views.common.widgets import escape, live_chart, number
from studio.views.common.widgets_downloads import downloads
from studio.views.noise import rows as noise_rows
from studio.views.noise import settings as noise

__all__ = ["curves", "once", "planted", "corrupted_rows", "take_away", "verdict"]



# A page runs again at every click, and what is made here takes longer than a click.
def once(key: str, runs: Any, make: Callable[[], Any]) -> Any:
    """Return what `make` returns, kept in the session as long as `runs` stay the same."""
    state_key = f"noise {key}"
    kept = st.session_state.get(state_key)
    if kept is None or kept[0] != runs:
        kept = st.session_state[state_key] = (runs, make())
    return kept[1]


# While it trains ------------------------------------------------------------------------------------------------------


def curves(mode: str, events: Events, before: Events, results: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Draw both trainings so far, pale the ones before, and return the figures by name.

    Parameters
    ----------
    mode : str
    events, before : mapping of str to sequence of RoundEnd
        By label.
    results : mapping of str to RunResult
        Of ended trainings, by label.
    """
    about, shown = noise.MODES[mode], scored_set(events)
    order = (about.learned, about.plain)
    events, before = ({label: each.get(label, ()) for label in order} for each in (events, before))
    metric = metric_name(events)
    unit = "round" if mode == "Table" else "epoch"
    _headline(events, shown, metric, results, unit.capitalize())
    drawn, points = {}, max(map(len, events.values()))
    for name, pick in (("error", lambda e: e.detail["metric"]), ("loss", lambda e: e.losses)):
        scores = [by_training(each, lambda e, pick=pick: pick(e).get(shown, np.nan)) for each in (events, before)]
        title = f"{metric if name == 'error' else 'negative log-likelihood'}, {SCORED[shown]}"
        drawn[name] = figure(*scores, (unit, title), order)
    scored = f"{SCORED[shown].replace(' ', '-')} {about.labels}"
    text = {"error": f"{_title(metric)} on {scored}", "loss": "Surprise at those labels: less is better"}
    names = ["error", "loss"] if mode == "Table" else ["error"]
    for column, name in zip(st.columns(len(names)), names):
        with column:
            st.caption(text[name])
            live_chart(drawn[name], f"noise_{name}", points)
    return drawn


def _headline(events: Events, shown: str, metric: str, results: Mapping[str, Any], unit: str) -> None:
    """Show the last round's numbers; once a training has ended, those of the rounds that were kept."""
    with st.container(horizontal=True, gap="large"):
        for label, each in events.items():
            if each:
                # Scores of the rounds that were kept, which are not those of the last round.
                scores = each[-1].detail["metric"] if results.get(label) is None else results[label].scores
                value = scores.get(shown, each[-1].detail["metric"].get(shown, np.nan))
                st.metric(f"{_title(metric)} of {label}", number(value, metric), width="content")
        longest = max(events.values(), key=len)
        st.metric(unit, f"{longest[-1].index + 1} of {longest[-1].total}", width="content")
        st.metric("Seconds", f"{max(each[-1].seconds for each in events.values() if each):.1f}", width="content")


# Once both have ended -------------------------------------------------------------------------------------------------


def verdict(mode: str, data: HetData, live: Any, results: Mapping[str, Any]) -> None:
    """Say which of the two is more accurate, whether it distrusts the right rows, and what a change did."""
    about = noise.MODES[mode]
    good, plain = results[about.learned].scores, results[about.plain].scores
    shown = scored_rows(good)
    with st.container(key="verdict"):
        gap = against(results, about.plain).get(about.learned)
        chance = gap is not None and gap.less is None
        rows = SCORED[shown].replace(" ", "-")
        text = _verdict(about, good[shown], plain[shown], good["metric"], rows, chance=chance)
        st.markdown(text + (_caught(mode, data, live, results[about.learned]) if mode == "Table" else ""))
    if about.learned in live.before:
        events = live.events()[about.learned]
        old = training.outcome(*live.before[about.learned])
        with st.container(key="change"):
            text = training.difference(old, training.outcome(live.settings[about.learned], events))
            st.success(escape(f"{about.learned} {text}"))


def _verdict(about: noise.Mode, good: float, plain: float, metric: str, rows: str, *, chance: bool) -> str:
    values = {name: number(value, metric) for name, value in ((about.learned, good), (about.plain, plain))}
    what = f"**{about.learned} {escape(values[about.learned])}**, {about.plain} {escape(values[about.plain])}"
    gap = plain - good
    # Against nothing there is no share.
    size = f"{100 * abs(gap):.1f} points" if metric == "error" else f"{abs(gap) / max(plain, 1e-12):.1%}"
    # Equal as shown: digits that nobody sees are no change.
    if values[about.learned] == values[about.plain]:
        came = "learning which rows to trust changes nothing here"
    else:
        came = f"learning which rows to trust {'saves' if gap > 0 else 'costs'} {escape(size)} here"
        came += ", within chance" if chance else ""
    return f"{_title(metric)} on {rows} {about.labels}: {what}; {came}."


def _caught(mode: str, data: HetData, live: Any, result: Any) -> str:
    """Say how many of the rows that are trusted least were corrupted, if classes were."""
    wrong = corrupted_rows(data, live.settings[noise.MODES[mode].learned])
    if data.target_kind != "classification" or not wrong.height:
        return ""
    count, found = noise_rows.hits(noise_rows.distrusted(result.predictions, wrong))
    return f" Of the {count:,} labels that it trusts least, **{found / count:.0%} are flipped ones**."


def corrupted_rows(data: HetData, setting: Setting) -> pl.DataFrame:
    """Return the rows whose label was corrupted; the data are those before the setting's operations."""
    return once("corrupted", (data.digest(), repr(setting)), lambda: noise_rows.corrupted(data, setting.operations))


def _title(metric: str) -> str:
    return "Error" if metric == "error" else escape(metric)


def planted(example: str | None) -> pl.DataFrame | None:
    """Return the deviation planted in the rows of an example, None where nothing is known."""
    return once("planted", example, lambda: datasets.planted_deviation(example or ""))


def take_away(
    mode: str, current: Any, settings: Mapping[str, Setting], results: Mapping[str, Any], drawn: Mapping[str, Any],
    owner: str,
) -> None:  # fmt: skip
    """Offer predictions, model, figure, script and notebook of one of the two."""
    label = st.segmented_control("Of", list(settings), default=next(iter(settings)), required=True, key=f"of {mode}")
    run = training.run_of("Noise", settings[label], current.recipe, current.title, owner)
    if drawn:
        downloads(run, results[label], drawn)
