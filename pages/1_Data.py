"""Data: choose an example or bring tables and graphs, see what is in them, ask what if."""

from __future__ import annotations

import streamlit as st

import datasets
from datasets.shapes import SHAPES
from studio import session, uploads
from studio.views.common.widgets import escape, frame
from studio.views.common.widgets_controls import write
from studio.views.common.widgets_style import cards
from studio.views.data.pictures import image
from studio.views.data.widgets import in_use, pictures, what_if
from studio.views.data.widgets_folders import folder_panel
from studio.views.data.widgets_kept import kept_panel
from studio.views.data.widgets_upload import upload_panel
from studio.views.data.widgets_whole import all_rows

frame("Data")
EXAMPLES, FILES, FOLDERS = "An example", "Your files", "A folder of the server"
HEIGHT, FEW = 480, 6
"""Pixels of the list of examples, and how many fit into it."""


def use_chosen() -> None:
    """Use the example that was just chosen."""
    if st.session_state["example_choice"] is not None:
        session.use_example(st.session_state["example_choice"])


def choose_example() -> None:
    """Show the examples that match what is looked for, each with its story, in a list that scrolls."""
    text = "A word of its title or story, such as “graph” or “films”."
    # More examples than anybody reads through.
    wanted = st.text_input("Find an example", key="example_search", help=text).strip().lower()
    found = [name for name in datasets.names() if wanted in described(name).lower()]
    if not found:
        st.caption("No example has these words.")
        return
    chosen = session.current().example
    # A choice that is filtered out would make the list raise, and choosing nothing changes no data.
    st.session_state["example_choice"] = chosen if chosen in found else None
    cards("examples")
    with st.container(height=HEIGHT if len(found) > FEW else "content", key="examples"):
        st.radio(
            "Example",
            found,
            key="example_choice",
            on_change=use_chosen,
            format_func=lambda name: escape(datasets.info(name).title),
            captions=[card(name) for name in found],
            width="stretch",
        )


def described(name: str) -> str:
    """Return what an example is found by."""
    about = datasets.info(name)
    return f"{name} {about.title} {about.story} {about.task}"


def card(name: str) -> str:
    """Return what stands below an example's title: its picture, its story, and whether it is on this machine."""
    about = datasets.info(name)
    # A tenth at least, for a file is never of 0.0 MB.
    size = f"{about.size / 1e6:.0f}" if about.size >= 1e6 else f"{max(about.size / 1e6, 0.1):.1f}"
    place = ":material/check: ready" if about.is_here else f":material/cloud_download: download, {size} MB"
    return f"{image(SHAPES[name])}  \n{escape(about.story)} {place}"


uploads.warm_up()
st.markdown("Choose what to learn from: a ready example, or tables and graphs of your own.")
# Without folders that the server allows there is no such tab, so that nobody looks for what cannot be.
by_path = session.folders()
session.current()  # brings the files of the address back, after a reload
own = bool(session.files_in_hand()) or session.OWN_FILES.items() <= st.query_params.to_dict().items()
# The tab of the data in use: a page that opens on another one looks as if they were gone.
shown = FOLDERS if by_path and session.summary() else FILES if own else EXAMPLES
examples, files, *folders = st.tabs([EXAMPLES, FILES, *([FOLDERS] if by_path else [])], default=shown)
with examples:
    choose_example()
with files:
    upload_panel()
    kept_panel()
if folders:
    with folders[0]:
        folder_panel(by_path)
st.divider()
data = in_use()
# Between the sample and its what-ifs: what follows changes the sample alone.
all_rows()
what_if(data)
pictures(data)
write(session.OWN_FILES if session.OWN_FILES.items() <= st.query_params.to_dict().items() else {})
