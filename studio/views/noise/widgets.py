"""What the Noise page draws of two trainings, whatever the data: curves side by side, a verdict, what to take away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

import datasets
from hetcore.data import HetData
from studio.jobs.job import Setting
from studio.views.common import training
from studio.views.common.curves import (
    ROWS,
    SCORED,
    Events,
    about_stars,
    by_training,
    figure,
    metric_name,
    round_of,
    scored_rows,
    scored_set,
    starred,
)
from studio.views.common.paired import against
from studio.views.common.widgets import escape, live_chart, number
from studio.views.common.widgets_downloads import downloads
from studio.views.noise import rows as noise_rows
from studio.views.noise import settings as noise

__all__ = ["curves", "once", "planted", "corrupted_rows", "take_away", "true_labels", "verdict"]

LIKELIHOOD = "How unlikely the model held each label, on average: −log of its probability, of numbers of its density."
FLIPPED = "planted_flips"
"""The example whose recipe flips labels."""


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
    came = {label: _came_to(mode, events[label], results[label]) for label in order if results.get(label) is not None}
    rounds = {label: each[:-1] if label in came and came[label][0] else each for label, each in events.items()}
    earlier = {label: each[:-1] if _went_back(mode, each) else each for label, each in before.items()}
    drawn, points = {}, max(map(len, events.values()))
    for name, pick in (("error", lambda e: e.detail["metric"]), ("loss", lambda e: e.losses)):
        lines = [by_training(each, lambda e, pick=pick: pick(e).get(shown, np.nan)) for each in (rounds, earlier)]
        title = f"{metric if name == 'error' else 'negative log-likelihood'}, {SCORED[shown]}"
        ends = {label: round_of(events[label][-1]) for label in came}
        stars = {label: (ends[label], scores[name].get(shown, np.nan)) for label, (_, scores) in came.items()}
        drawn[name] = starred(figure(*lines, (unit, title), order), stars)
    scored = f"{SCORED[shown].replace(' ', '-')} {about.labels}"
    text = {"error": f"{_title(metric)} on {scored}", "loss": "Negative log-likelihood there: less is better"}
    names = ["error", "loss"] if mode == "Table" else ["error"]
    for column, name in zip(st.columns(len(names)), names):
        with column:
            st.caption(text[name], help=ROWS if name == "error" else LIKELIHOOD)
            live_chart(drawn[name], f"noise_{name}", points)
    if text := about_stars(*drawn.values()):
        st.caption(text)
    return drawn


def _went_back(mode: str, events: Sequence[Any]) -> bool:
    """Return whether the last event of an ended training is of an earlier round: forests go back where none gained."""
    return mode == "Table" and len(events) > 1 and events[-1].index + 1 < events[-1].total


def _came_to(mode: str, events: Sequence[Any], result: Any) -> tuple[bool, dict[str, Mapping[str, float]]]:
    """Return whether the last event is that of the kept model, no round like those before, and the model's scores."""
    back = not result.stopped and _went_back(mode, events)
    # Where all rounds were done nobody measured the likelihood of the model that is kept.
    return back, {"error": result.scores, "loss": events[-1].losses if back else {}}


def _headline(events: Events, shown: str, metric: str, results: Mapping[str, Any], unit: str) -> None:
    """Show the last round's numbers; once a training has ended, those of the rounds that were kept."""
    with st.container(horizontal=True, gap="large", key="headline"):
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


def verdict(mode: str, current: Any, live: Any, results: Mapping[str, Any]) -> None:
    """Say which of the two is more accurate, whether it distrusts the right rows, and what a change did."""
    about = noise.MODES[mode]
    good, plain = results[about.learned].scores, results[about.plain].scores
    shown = scored_rows(good)
    with st.container(key="verdict"):
        gap = against(results, about.plain).get(about.learned)
        chance = gap is not None and gap.less is None
        rows = SCORED[shown].replace(" ", "-")
        alike = noise_rows.trusts_alike(results[about.learned].predictions)
        text = _verdict(about, good[shown], plain[shown], good["metric"], rows, chance=chance, alike=alike)
        st.markdown(text + (_caught(mode, current, live, results[about.learned]) if mode == "Table" else ""))
    # What was merely trained again came to the same.
    if about.learned in live.before and live.before[about.learned][0] != live.settings[about.learned]:
        events = live.events()[about.learned]
        earlier = live.result_before(about.learned)
        old = training.outcome(*live.before[about.learned], earlier and earlier.scores)
        with st.container(key="change"):
            new = training.outcome(live.settings[about.learned], events, results[about.learned].scores)
            st.success(escape(f"{about.learned}: {training.difference(old, new)}"))


def _verdict(
    about: noise.Mode, good: float, plain: float, metric: str, rows: str, *, chance: bool, alike: bool = False
) -> str:
    values = {name: number(value, metric) for name, value in ((about.learned, good), (about.plain, plain))}
    shown = {name: f"{name} {escape(value)}" for name, value in values.items()}
    # Bold is the better one, where one is.
    if not chance and len(set(values.values())) > 1:
        better = about.learned if good < plain else about.plain
        shown[better] = f"**{shown[better]}**"
    what = ", ".join(shown.values())
    gap = plain - good
    # Against nothing there is no share.
    size = f"{100 * abs(gap):.1f} points" if metric == "error" else f"{abs(gap) / max(plain, 1e-12):.1%}"
    # What it did not learn saves nothing.
    if alike:
        came = f"{about.learned} trusts all rows alike here"
    # Equal as shown: digits that nobody sees are no change.
    elif values[about.learned] == values[about.plain]:
        came = "learning which rows to trust changes nothing here"
    else:
        came = f"learning which rows to trust {'saves' if gap > 0 else 'costs'} {escape(size)} here"
        came += ", within chance" if chance else ""
    return f"{_title(metric)} on {rows} {about.labels}: {what}; {came}."


def _caught(mode: str, current: Any, live: Any, result: Any) -> str:
    """Say how many of the rows that are trusted least were corrupted, if classes were."""
    wrong = corrupted_rows(current.data, live.settings[noise.MODES[mode].learned], current.example)
    if current.data.target_kind != "classification" or not wrong.height or noise_rows.trusts_alike(result.predictions):
        return ""
    return f" {noise_rows.caught(noise_rows.distrusted(result.predictions, wrong))}."


def corrupted_rows(data: HetData, setting: Setting, example: str | None = None) -> pl.DataFrame:
    """Return the rows whose label is known to be corrupted; the data are those before the setting's operations."""
    stamp = (data.digest(), repr(setting), example)
    return once("corrupted", stamp, lambda: noise_rows.corrupted(data, setting.operations, true_labels(example)))


def _title(metric: str) -> str:
    return "Error" if metric == "error" else escape(metric)


def planted(example: str | None) -> pl.DataFrame | None:
    """Return the deviation planted in the rows of an example, None where nothing is known."""
    return once("planted", example, lambda: datasets.planted_deviation(example or ""))


def true_labels(example: str | None) -> pl.DataFrame | None:
    """Return "id" and "truth", the label without the flips that were planted in an example; None where none were."""
    if example != FLIPPED:
        return None
    data, noise = datasets.make_flipped()
    return pl.DataFrame({"id": data.ids.astype(str), "truth": noise.signal.astype(str)})


def take_away(
    mode: str, current: Any, settings: Mapping[str, Setting], results: Mapping[str, Any], drawn: Mapping[str, Any],
    owner: str,
) -> None:  # fmt: skip
    """Offer predictions, model, figure, script and notebook of one of the two."""
    label = st.segmented_control("Of", list(settings), default=next(iter(settings)), required=True, key=f"of {mode}")
    run = training.run_of("Noise", settings[label], current.recipe, current.title, owner)
    if drawn:
        downloads(run, results[label], drawn)
