"""The timeline of a training: its rounds played, stepped and scrubbed in the browser, by all charts at once.

Whatever has come so far lies in the browser, so that a round is shown without asking the server. A chart whose x is the
round takes part; the others are drawn as they come. `timeline.js` has the states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from studio.messages import number

__all__ = ["BAR", "CHART", "ROUND", "TIMELINE", "html", "texts", "timeline"]

TIMELINE = (Path(__file__).parent / "timeline.js").read_text("utf-8")
CHART = "\nexport default chartModule;\n"
BAR = "\nexport default barModule;\n"
ROUND = "round that figures are of"
"""In the session while a page draws its trainings: the rounds that there are, told to each chart."""
MOST_TEXTS = 300
"""Rounds whose numbers are told beside the bar."""
SPEEDS = {0: "Speed: by itself", 1: "1 a second", 3: "3 a second", 10: "10 a second", 30: "30 a second"}
HTML = """
<div class="timeline" role="group" aria-label="Timeline of the training">
  BUTTONS
  <input type="range" min="1" max="1" step="1" value="1" aria-label="Round that the charts show">
  <select aria-label="Rounds a second">OPTIONS</select>
  <output aria-live="off"></output>
  <span class="ended" role="status"></span>
</div>
"""
BUTTONS = (
    ("first", "Replay from the first round", "M3 3h2v10H3zM13 3v10L6 8z"),
    ("back", "One round back", "M11 3v10L4 8zM11 3h2v10h-2z"),
    ("play", "Play the recording", "M5 3l8 5-8 5z"),
    ("forward", "One round on", "M5 3v10l7-5zM3 3h2v10H3z"),
)
"""Class, words and the path of the picture, 16 by 16."""
CSS = """
.timeline svg { display: block; width: 1rem; height: 1rem; margin: auto; fill: currentColor; }
.timeline { display: flex; flex-wrap: wrap; align-items: center; gap: 0.25rem 0.5rem; font: inherit; }
.timeline button, .timeline select { min-width: 2rem; min-height: 2rem; font: inherit; color: inherit;
  background: transparent; border: 1px solid rgba(128, 128, 128, 0.6); border-radius: 0.5rem; cursor: pointer; }
.timeline select option { color: #222; background: #fff; }
.timeline input { flex: 1 1 10rem; min-width: 8rem; height: 2rem; accent-color: var(--st-primary-color, #0072B2); }
.timeline .ended { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.timeline output { flex: 1 0 100%; font-variant-numeric: tabular-nums; }
.timeline :focus-visible { outline: 2px solid var(--st-primary-color, #0072B2); outline-offset: 2px; }
"""
Events = Mapping[str, Sequence[Any]]


def timeline(events: Events, run: str, total: int, ended: bool, fresh: bool, *, settled: bool) -> None:
    """Draw the bar.

    Parameters
    ----------
    events : mapping of str to sequence of RoundEnd
        By training.
    run : str
        Tells one set of trainings from the next.
    total : int
        Rounds asked for.
    ended : bool
        Whether no more rounds come.
    fresh : bool
        Whether the trainings were started here, and so are shown from their first round on.
    settled : bool
        Whether the whole page is drawn of ended trainings: `data-settled` tells a test to go on.
    """
    last = max(map(len, events.values()), default=0)
    # A run that was stopped has fewer rounds than were planned, and the bar ends there.
    content = {"run": run, "last": last, "total": last if ended else max(total, last), "texts": texts(events)}
    content |= {"ended": ended, "fresh": fresh, "settled": settled}
    st.session_state[ROUND] = last
    with st.container(key="timeline"):
        _bar()(data=content, key="timeline_bar")


def texts(events: Events) -> list[str]:
    """Return what is told of each round of a single training: its error, and its heaviest source."""
    # Several trainings have no one error to tell, and long ones too many words for the browser.
    rounds = next(iter(events.values())) if len(events) == 1 else ()
    return [_summary(event) for event in rounds] if len(rounds) <= MOST_TEXTS else []


def _summary(event: Any) -> str:
    metric, name = event.detail.get("metric") or {}, event.detail.get("metric_name", "loss")
    # Labels that nobody saw first.
    value = next((metric[rows] for rows in ("held_out", "left_out", "train") if rows in metric), None)
    parts = [] if value is None else [f"{name} {number(value, name)}"]
    if event.source_weights:
        heaviest = max(event.source_weights, key=event.source_weights.get)
        parts.append(f"most weight: {heaviest} {event.source_weights[heaviest]:.2f}")
    return " · ".join(parts)


def html() -> str:
    """Return the bar."""
    options = "".join(f"<option value='{value}'>{text}</option>" for value, text in SPEEDS.items())
    buttons = "".join(
        f"<button class='{kind}' aria-label='{text}' title='{text}'><svg viewBox='0 0 16 16' aria-hidden='true'>"
        f"<path d='{path}'/></svg></button>"
        for kind, text, path in BUTTONS
    )
    return HTML.replace("OPTIONS", options).replace("BUTTONS", buttons)


def _bar() -> Any:
    return st.components.v2.component("hetcore_timeline", html=html(), css=CSS, js=TIMELINE + BAR, isolate_styles=False)
