"""Playground: made-up data in two dimensions, and what each source and the consensus predict over the plane."""

from __future__ import annotations

import streamlit as st

from studio import session
from studio.views.common.widgets import frame, panes
from studio.views.common.widgets_controls import share, write
from studio.views.playground.widgets import knobs, pictures

frame("Playground")
st.markdown("Three sources see the same points, each badly in its own way: **turn a knob and see which is trusted.**")
bar, main, side = panes()
with side:
    wanted = knobs()
with bar:
    # Above the pictures on a phone too, where the knobs come last.
    share()
    # After the knobs, for the address tells what they say; here, where it is seen what a link asked for in vain.
    write()
with main:
    pictures(wanted, session.owner())
