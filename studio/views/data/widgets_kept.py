"""The part of the Data page that says which files are kept, opens them again and forgets them."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from hetcore.data.text import counted
from hetcore.errors import DataError
from studio import session
from studio.limits import MIB
from studio.messages import shown
from studio.runs import kept_files
from studio.runs.kept_files import Kept
from studio.views.common.widgets import escape
from studio.views.data.widgets_upload import EMPTIED

__all__ = ["kept_panel"]


def kept_panel() -> None:
    """Say how much of the quota the person's kept files take, and offer to open them again or to forget them."""
    files, owner = kept_files.shared(), session.owner()
    count = files.count(owner)
    own = st.session_state.get("uploaded")
    if own is not None and not own.kept:
        text = "The files in use could not be kept, as on a full disk: a reload of the page loses them."
        st.warning(text, icon=":material/warning:")
    if not count:
        if own is None or own.kept:
            text = "Files that you use are kept on this server, for you alone: a reload and your runs find them again."
            st.caption(text)
        return
    with st.container(horizontal=True, vertical_alignment="center", key="kept"):
        size = f"{files.size(owner) / MIB:.1f} of {files.quota // MIB} MB"
        text = f"The files of {counted(count, 'data set')} are kept for you alone ({size}); the oldest go first."
        st.caption(text, width="content")
        _open_again([each for each in files.listed(owner) if each.name != session.current().kept])
        with st.popover("Forget them", icon=":material/delete:"):
            st.markdown("Delete all your files from this server? Runs stay, and can't be reopened without them.")
            st.button("Yes, forget them", type="primary", on_click=_forget, key="forget files")


def _open_again(others: list[Kept]) -> None:
    """Offer the kept data that are not in use."""
    if not others:
        return
    with st.popover("Open again", icon=":material/folder_open:"):
        words = {each.name: described(each) for each in others}
        # One that was forgotten meanwhile makes Streamlit raise.
        if st.session_state.get("kept again") not in words:
            st.session_state.pop("kept again", None)
        name = st.selectbox("Kept files", list(words), key="kept again", format_func=words.get)
        if st.button("Use these files", type="primary", key="use kept"):
            try:
                _use(name)
            except (LookupError, DataError) as error:
                st.error(escape(error.args[0]))
                return
            st.rerun()


def described(kept: Kept) -> str:
    """Return what tells kept data from others: their files, or their folder, and when they were used last."""
    scan = kept.recipe.get("scan")
    what = f"folder {Path(next(iter(scan['sources'].values()))).parent.name}" if scan else ", ".join(kept.files)
    return f"{shown(what)} · {kept.used:%d %b %H:%M} UTC"


def _use(name: str) -> None:
    """Use kept data in place of those in use, without the what-ifs that are of these."""
    before = st.session_state.get("uploaded")
    # Files that were brought and not used yet stay in hand; those of the data before make room.
    in_hand = session.files_in_hand()
    if not in_hand or (before is not None and in_hand == before.files):
        st.session_state.pop("files", None)
        # The uploader would go on naming those of before.
        st.session_state[EMPTIED] = st.session_state.get(EMPTIED, 0) + 1
    st.query_params.clear()
    session.use_kept(name)


def _forget() -> None:
    kept_files.shared().forget(session.owner())
    session.leave_own()
    st.session_state["files"] = {}
    st.query_params.pop("data", None)
