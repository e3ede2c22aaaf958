"""Tabs of which only the open one is made; which one that is stands in the address, so that a link opens it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from studio import session
from studio.views.common.widgets import details
from studio.views.common.widgets_controls import in_link

__all__ = ["tabs"]


def tabs(parts: Mapping[str, Callable[[], None]], key: str, alone: bool = True) -> None:
    """Draw tabs; the closed ones cost nothing, neither here nor in the browser.

    Parameters
    ----------
    parts : mapping of str to callable
        What draws a tab, by its name.
    key : str
        The same over reruns, one of `state.TABS`.
    alone : bool, default=True
        Whether opening a tab, or a widget in one, leaves the rest of the page as it is. Not where what is in a tab
        starts trainings that the page has to hear of, nor within a fragment that looks again and again: its last
        look and the page after it may meet in the browser, which then finds the inner fragment's place taken.
    """
    if st.session_state.get(key) not in parts:
        # Of a run that had other tabs, or of another page.
        st.session_state.pop(key, None)
    # Streamlit forgets the open tab while a training goes on, for then there are no tabs; the address knows it.
    if key not in st.session_state and (asked := session.asked().get(key)) in parts:
        st.session_state[key] = asked

    def show() -> None:
        opened = st.tabs(list(parts), **in_link(key))
        for tab, draw in zip(opened, parts.values()):
            if tab.open:
                with tab:
                    draw()

    with details(key):
        (st.fragment(show) if alone else show)()
