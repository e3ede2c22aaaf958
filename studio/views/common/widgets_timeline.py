"""The timeline of a training: its rounds played, stepped and scrubbed in the browser, by all charts at once.

Whatever has come so far lies in the browser, so that a round is shown without asking the server. A chart whose x is the
round takes part; the others are drawn as they come. Timeline and lines are those of the notebook's widget
(`hetcore.widget.front`); the files of `OWN` are the studio's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from hetcore.widget.front import SHARED
from studio import session
from studio.messages import number
from studio.views.common.curves import heaviest

__all__ = ["BAR", "CHART", "CHARTS", "HTML", "ROUND", "texts", "timeline"]

OWN = ("bars", "figures", "charts")
CHARTS = SHARED + "".join(Path(__file__).with_name(f"{name}.js").read_text("utf-8") for name in OWN)
CHART = "\nexport default chartModule;\n"
BAR = "\nexport default barModule;\n"
ROUND = "round that figures are of"
"""In the session while a page draws its trainings: the rounds that there are, told to each chart."""
BAR_KEY = "timeline_bar"
MOST_TEXTS = 300
"""Rounds whose numbers are told beside the bar."""
HTML = "<div class='timeline'></div>"
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
    content |= {"ended": ended, "fresh": fresh, "settled": settled, "at": session.asked_round() if ended else 0}
    st.session_state[ROUND] = last
    with st.container(key="timeline"):
        _bar()(data=content, key=BAR_KEY, on_round_change=_tell_round)


def _tell_round() -> None:
    """Write the round that is looked at to the address."""
    at = st.session_state[BAR_KEY]["round"]
    # Streamlit calls this too when the value is reset to nothing.
    if at is not None:
        session.tell_round(int(at))


def texts(events: Events) -> list[str]:
    """Return what is told of each round of a single training: its error, and what has most weight."""
    # Several trainings have no one error to tell, and long ones too many words for the browser.
    rounds = next(iter(events.values())) if len(events) == 1 else ()
    return [_summary(event) for event in rounds] if len(rounds) <= MOST_TEXTS else []


def _summary(event: Any) -> str:
    metric, name = event.detail.get("metric") or {}, event.detail.get("metric_name", "loss")
    # Labels that nobody saw first.
    value = next((metric[rows] for rows in ("held_out", "left_out", "train") if rows in metric), None)
    parts = [] if value is None else [f"{name} {number(value, name)}"]
    if event.source_weights:
        name, weight = heaviest(event)
        # A graph may have more, and a phone has room for few words.
        parts.append(f"{'heaviest table' if event.graph_weights else 'most weight'}: {name} {weight:.2f}")
    return " · ".join(parts)


def _bar() -> Any:
    return st.components.v2.component("hetcore_timeline", html=HTML, js=CHARTS + BAR, isolate_styles=False)
