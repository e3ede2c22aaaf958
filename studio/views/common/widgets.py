"""What every page draws with: the frame, escaped text, charts."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import streamlit as st

from studio import session
from studio.jobs import manager
from studio.messages import escape, minus, number, shown
from studio.runs import restoring
from studio.server import PLOTLY_ADDRESS, login_header, needs_login, person
from studio.views.common.curves import as_written
from studio.views.common.widgets_controls import follow
from studio.views.common.widgets_menu import chart_config, letters, menu
from studio.views.common.widgets_present import LESSON_PLACE, presented
from studio.views.common.widgets_style import styled
from studio.views.common.widgets_timeline import CHART, CHARTS, ROUND

__all__ = [
    "LOAD_PLOTLY", "PAGES", "chart", "details", "escape", "frame", "live_chart", "moved", "number", "panes",
    "show_table",
]  # fmt: skip

LOAD_PLOTLY = """
function plotly(address) {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  return window.plotlyLoads ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = address; script.onload = () => done(window.Plotly); script.onerror = failed;
    document.head.appendChild(script);
  });
}
"""
"""Charts of all kinds wait for one script, which a page loads once."""
PAGES = (
    ("app.py", "Home", ":material/home:"),
    ("pages/1_Data.py", "Data", ":material/table:"),
    ("pages/2_Consensus.py", "Consensus", ":material/hub:"),
    ("pages/3_Collective.py", "Collective", ":material/share:"),
    ("pages/4_Transfer.py", "Transfer", ":material/move_up:"),
    ("pages/5_Noise.py", "Noise", ":material/grain:"),
    ("pages/6_Two_learners.py", "Two learners", ":material/join_inner:"),
    ("pages/7_Papers.py", "Papers", ":material/menu_book:"),
    ("pages/8_Playground.py", "Playground", ":material/blur_on:"),
    ("pages/9_Runs.py", "Runs", ":material/history:"),
)
# The import holds Python's lock on modules and much of the processor, which the first page needs itself.
PAUSE = 1.0
"""Seconds after which the server imports what the first training page needs: the first page comes first."""


def frame(title: str) -> None:
    """Begin a page: its name, width, and the way to the others."""
    st.set_page_config(page_title=f"{title} · hetcore", layout="wide")
    styled()
    logged_in = _log_in()
    _start()
    follow(title)
    if logged_in:
        # Without a login runs are a browser's own, and a link may show them to others.
        _forget_runs_of_others()
    with st.sidebar:
        menu(PAGES)
        letters(title)
        if logged_in and not login_header():
            if name := st.user.get("name") or st.user.get("email"):
                st.caption(f"Logged in as {escape(shown(name))}.")
            st.button("Log out", on_click=st.logout, icon=":material/logout:")
    # Home has a heading of its own.
    if title != "Home":
        st.title(title)
    session.notes(title)


def _log_in() -> bool:
    """Let nobody past who has not logged in where that is asked for; return whether it is."""
    if not needs_login() and not login_header():
        return False
    if login_header() and not person():
        st.error("The proxy did not say who you are: its header of the login is missing.", icon=":material/lock:")
        st.stop()
    if not person():
        st.title("hetcore studio")
        st.button("Log in", on_click=st.login, type="primary", icon=":material/login:")
        # Nothing below may be drawn, or what is secret would be on the page behind the button.
        st.stop()
    return True


def _forget_runs_of_others() -> None:
    """Take runs that are not the person's out of the address, before the page looks there."""
    for name in ("run", "before", "curve"):
        try:
            for run in st.query_params.get(name, "").split(","):
                if run and not restoring.restore(person(), run):
                    raise manager.UnknownRunError(run)
        except manager.UnknownRunError:
            del st.query_params[name]


# Once a server: Streamlit runs this file anew at every click.
@st.cache_resource
def _start() -> bool:
    """Start the worker processes, once for the server: they load and compile while the person looks around."""
    manager.manager()
    later = threading.Timer(PAUSE, import_module, ("hetcore.consensus.gbc",))
    # A daemon, so that a studio that is ended at once does not wait for an import.
    later.daemon = True
    later.start()
    return True


def panes() -> tuple[Any, Any, Any]:
    """Return where a page has its buttons, its charts and its controls, which stay in view beside long charts."""
    bar = st.container()
    # In this order, for columns are stacked on a phone: the charts first.
    with st.container(key="panes"):
        main, side = st.columns([3, 1.15], gap="large")
    # Presented, a lesson stands over the controls, which stay in view: a class reads the step beside the charts.
    st.session_state[LESSON_PLACE] = bar if presented() is None else side.container()
    return bar, main, side


def details(name: str) -> Any:
    """Return where charts have what one reads after them: on a phone the controls come before it."""
    return st.container(key=f"details {name}")


def moved(delta: str | None, good: str | None = "up") -> dict[str, Any]:
    """Return what `st.metric` takes of a change, whose true minus sign Streamlit itself does not take for a fall.

    Parameters
    ----------
    delta : str or None
        As `format` writes it, with its sign.
    good : {"up", "down"} or None
        Where it is green; nowhere if None.
    """
    if delta is None:
        return {}
    arrow = "down" if delta.startswith("-") else "up"
    colour = "off" if good is None else "green" if arrow == good else "red"
    return {"delta": minus(delta), "delta_arrow": arrow, "delta_color": colour}


def chart(figure: dict[str, Any], key: str, alt: str = "") -> None:
    """Draw a figure that does not change while one looks at it."""
    # Waited for here: `_start` may be in the midst of importing it, and Plotly would look into what is half there.
    import_module("pandas")
    st.plotly_chart(as_written(figure), key=key, width="stretch", config=chart_config(), alt=alt or None)


class _Numbers(json.JSONEncoder):
    def default(self, value: Any) -> Any:
        """Return arrays as lists, numbers that are not finite as null."""
        if isinstance(value, np.ndarray):
            return [None if isinstance(v, float) and not np.isfinite(v) else v for v in value.ravel().tolist()]
        return value.item() if isinstance(value, np.generic) else super().default(value)


def show_table(frame: Any, **more: Any) -> Any:
    """Draw a table without an index, a dash where a cell has nothing; `more` as for `st.dataframe`."""
    # Streamlit's own word for it is None.
    return st.dataframe(frame, hide_index=True, placeholder="–", **more)


def live_chart(
    figure: dict[str, Any], key: str, points: int, lengths: Sequence[Sequence[float]] | None = None
) -> None:
    """Draw a figure that keeps its node, zoom and hover while its data change; over rounds it follows the timeline.

    Parameters
    ----------
    figure : dict
        Plotly; one-dimensional arrays.
    key : str
        The same over reruns.
    points : int
        How many points a line has now, told to the page as data-points.
    lengths : sequence of sequence of float, optional
        By round, those of the bars of a figure that is one trace of bars: they follow the timeline as well.
    """
    text = json.dumps(figure, cls=_Numbers)
    content = {"figure": text, "address": PLOTLY_ADDRESS, "config": chart_config(), "points": points}
    # Told by a hash, so that the browser redraws only what has changed; the tools are part of what is drawn.
    content["version"] = str(hash((text, content["config"]["displayModeBar"])))
    content["lengths"] = lengths
    content["round"] = st.session_state.get(ROUND)
    with st.container(key=key):
        _live()(data=content, key=f"{key}_node", height="content")


def _live() -> Any:
    html = "<div class='live-chart' style='width:100%;min-height:320px'></div>"
    js = LOAD_PLOTLY + CHARTS + CHART
    return st.components.v2.component("hetcore_live_chart", html=html, js=js, isolate_styles=False)
