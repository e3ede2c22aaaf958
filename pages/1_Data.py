"""Data: choose an example or bring tables and graphs, see what is in them, ask what if."""

from __future__ import annotations

import streamlit as st

import datasets
from studio import session, uploads
from studio.views.common.widgets import escape, frame
from studio.views.data.widgets import in_use, pictures, what_if
from studio.views.data.widgets_upload import upload_panel

frame("Data")
EXAMPLES, FILES = "An example", "Your files"


def use_chosen() -> None:
    """Use the example that was just chosen."""
    if st.session_state["example_choice"] is not None:
        session.use_example(st.session_state["example_choice"])


def choose_example() -> None:
    """Show the examples, each with its story."""
    chosen = session.current().example
    st.session_state["example_choice"] = chosen
    st.radio(
        "Example",
        datasets.names(),
        key="example_choice",
        on_change=use_chosen,
        format_func=lambda name: escape(datasets.info(name).title),
        captions=[escape(datasets.info(name).story) for name in datasets.names()],
    )


uploads.warm_up()
st.markdown("Choose what to learn from: a ready example, or tables and graphs of your own.")
examples, files = st.tabs([EXAMPLES, FILES], default=FILES if session.files_in_hand() else EXAMPLES)
with examples:
    choose_example()
with files:
    upload_panel()
st.divider()
data = in_use()
what_if(data)
pictures(data)
