"""The part of the Data page that says which files are kept, and forgets them."""

from __future__ import annotations

import streamlit as st

from hetcore.data.text import counted
from studio import session
from studio.limits import MIB
from studio.runs import kept_files

__all__ = ["kept_panel"]


def kept_panel() -> None:
    """Say how much of the quota the person's kept files take, and offer to forget them."""
    files, owner = kept_files.shared(), session.owner()
    count = files.count(owner)
    if not count:
        st.caption("Files that you use are kept on this server, for you alone: a reload and your runs find them again.")
        return
    with st.container(horizontal=True, vertical_alignment="center", key="kept"):
        size = f"{files.size(owner) / MIB:.1f} of {files.quota // MIB} MB"
        text = f"The files of {counted(count, 'data set')} are kept for you alone ({size}); the oldest go first."
        st.caption(text, width="content")
        with st.popover("Forget them", icon=":material/delete:"):
            st.markdown("Delete all your files from this server? Runs stay, and can't be reopened without them.")
            st.button("Yes, forget them", type="primary", on_click=_forget, key="forget files")


def _forget() -> None:
    kept_files.shared().forget(session.owner())
    st.session_state["uploaded"] = None
    st.session_state["files"] = {}
    st.session_state["operations"] = []
    st.query_params.pop("data", None)
