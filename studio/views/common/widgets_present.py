"""A page as it is projected: `?present=known,l0` shows it in large type, with these controls only and without the menu.

The words are the controls' names in the address; "none" shows none. Everything stays as it was, and is only hidden. A
word that is no control of the page is named there; where none is, nothing is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st

from studio.messages import escape
from studio.messages import shown as visible

__all__ = ["LESSON_PLACE", "NOTHING", "PRESENT", "present", "presented", "style"]

PRESENT, NOTHING = "present", "none"
LESSON_PLACE = "lesson place"
"""In the session: where a lesson is drawn on the page that is drawn now."""
LARGE = "135%"
ALWAYS = """
html { font-size: LARGE !important; }
h1 { font-size: 1.75rem !important; padding: 0 !important; }
.st-key-leave-presenter { position: fixed; top: 0.5rem; right: 4rem; z-index: 999991; width: auto !important; }
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], .st-key-hold, .st-key-share-link,
.stExpander:not(:has(SHOWN)) { display: none !important; }
"""


def presented() -> list[str] | None:
    """Return the names of the controls that are shown, None where all are, which is so unless it is presented."""
    given = st.query_params.get(PRESENT)
    # An empty word is no presentation; "none" says that no control is shown.
    return None if not given else [name for name in given.split(",") if name != NOTHING]


def style(names: Mapping[str, str], shown: list[str]) -> str:
    """Return the style of a page that is presented.

    Parameters
    ----------
    names : mapping of str to str
        Name in the address by key of each control.
    shown : list of str
        Names of those that are shown.
    """
    kept = [_selector(key) for key, name in names.items() if name in shown]
    hidden = [_selector(key) for key, name in names.items() if name not in shown]
    rules = ALWAYS.replace("LARGE", LARGE).replace("SHOWN", ", ".join(kept) or ".nothing")
    return rules + (f"{', '.join(hidden)} {{ display: none !important; }}" if hidden else "")


def _selector(key: str) -> str:
    """Return the class that Streamlit gives the widget of a key."""
    # As Streamlit makes the class from the key.
    return ".st-key-" + re.sub(r"[^a-zA-Z0-9_-]", "-", key.strip())


def present(names: Mapping[str, str]) -> None:
    """Hide what is not presented, and offer the way back."""
    shown = presented()
    if shown is None:
        return
    unknown = escape(visible(", ".join(name for name in shown if name not in names.values())))
    # Some controls come with what they are about, so that the words stay in the address.
    if shown and not set(shown) & set(names.values()):
        st.warning(f"Not on this page now: {unknown}. All controls are shown.", icon=":material/link_off:")
        return
    # Hidden and not left out: a widget that is not drawn loses its value.
    st.html(f"<style>{style(names, shown)}</style>")
    st.button("Show all controls", key="leave presenter", on_click=_leave, icon=":material/close_fullscreen:")
    if unknown:
        st.caption(f"Not on this page now: {unknown}.")


def _leave() -> None:
    st.query_params.pop(PRESENT, None)
