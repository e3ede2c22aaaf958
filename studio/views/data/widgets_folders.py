"""The part of the Data page that opens a folder of the server by its path, where its operator allows some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import streamlit as st

from hetcore.errors import DataError
from studio import recipes, session
from studio.jobs import manager as jobs
from studio.messages import explained
from studio.scans import allowed
from studio.scans import parts as scans
from studio.views.common import widgets_task
from studio.views.common.widgets import escape
from studio.views.common.widgets_task import answer

__all__ = ["folder_panel"]

LOOK, OPEN = "studio.scans.parts:parts", "studio.scans.opening:opened"
LOOKED, OPENING = "folder looked at", "folder opening"
ROLES = {"table": "a table", "graph": "a graph", "labels": "labels", "none": "nothing"}
TASKS = {"regression": "numbers", "classification": "classes"}


def folder_panel(within: Sequence[str]) -> None:
    """Let the person choose a folder and what its parts are, and open it.

    Parameters
    ----------
    within : sequence of str
        The folders that they may read.
    """
    text = st.selectbox(
        "Folder", allowed.listing([Path(folder) for folder in within]), index=None, key="folder",
        accept_new_options=True, placeholder="Choose one, or type a path",
        help="With a Parquet file, or a folder of them, for each table. The tables stay there; a sample is shown.",
    )  # fmt: skip
    if not text:
        st.caption("Tables that are too large to upload: they are read where they are.")
        return
    if (found := _looked(text, within)) is not None:
        _choices(found, within)
    _opening()


def _looked(text: str, within: Sequence[str]) -> list[dict[str, Any]] | None:
    """Return the parts of a folder, looked at once; None and a sentence where it can't be read."""
    kept = st.session_state.get(LOOKED)
    if kept is None or kept[0] != text:
        # A failure is kept too: it may have taken a minute, which no other click on the page should take again.
        kept = st.session_state[LOOKED] = (text, *_found(text, within))
    if kept[1] is None:
        st.error(escape(kept[2]))
        st.button("Look again", on_click=_forget, key="look_again", icon=":material/refresh:")
    return kept[1]


def _forget() -> None:
    st.session_state.pop(LOOKED, None)


def _found(text: str, within: Sequence[str]) -> tuple[list[dict[str, Any]] | None, str]:
    """Return the parts of a folder, or None and why there are none."""
    try:
        return _asked(str(allowed.below(text, [Path(each) for each in within])), within), ""
    except DataError as error:
        return None, explained(error)
    except ValueError as error:  # the queue's, which is a sentence
        return None, str(error)


def _asked(folder: str, within: Sequence[str]) -> list[dict[str, Any]]:
    """Return what a worker finds in a folder; DataError if it can't be read."""
    found, why = answer(LOOK, {"folder": folder, "within": list(within)}, session.owner(), "Looking at the folder …")
    if why:
        raise DataError(why)
    return found


def _choices(found: list[dict[str, Any]], within: Sequence[str]) -> None:
    """Let the person say what each part is, and begin to open them."""
    base = pl.DataFrame(
        {
            "part": [part["name"] for part in found],
            "role": [part["role"] for part in found],
            "rows": [part["rows"] for part in found],
            "columns": [len(part["columns"]) for part in found],
        }
    )
    config = {
        "role": st.column_config.SelectboxColumn("use as", options=list(ROLES), format_func=ROLES.get, required=True),
        "rows": st.column_config.NumberColumn("rows", format="localized"),
    }
    edited = st.data_editor(
        base, key=f"parts of {st.session_state[LOOKED][0]}", hide_index=True, disabled=["part", "rows", "columns"],
        column_config=config, alt="The parts of the folder and what each is used as",
    )  # fmt: skip
    chosen = [part | {"role": role} for part, role in zip(found, edited["role"])]
    key, label, task = _names(chosen)
    if st.button("Open the folder", type="primary", icon=":material/folder_open:", key="open_folder", disabled=not key):
        try:
            scan = scans.scan_of(chosen, key, label, task)
        except DataError as error:
            st.error(escape(explained(error)))
            return
        widgets_task.stop(st.session_state.get(OPENING, ""), session.owner())
        arguments = {"scan": scan, "within": list(within)}
        st.session_state[OPENING] = widgets_task.start(OPEN, arguments, session.owner())


def _names(chosen: list[dict[str, Any]]) -> tuple[str, str, str | None]:
    """Let the person choose the id column, the label and what labels are."""
    tables = [part["columns"] for part in chosen if part["role"] in ("table", "labels")]
    shared = [name for name in (tables[0] if tables else ()) if all(name in columns for columns in tables)]
    if not shared:
        st.error("No column is in all of the tables: use parts that share an id column.")
        return "", "", None
    with st.container(horizontal=True):
        guess = scans.guess_id(chosen)
        words = "The same ids in every table, and with the labels."
        key = st.selectbox("Id column", shared, index=shared.index(guess), key="folder_id", help=words, width=220)
        labels = next((part["columns"] for part in chosen if part["role"] == "labels"), {})
        names = [name for name in labels if name != key]
        if not names:
            st.caption("Without labels the data can be looked at, and nothing can be trained.")
            return key, "", None
        label = st.selectbox("Label", names, key="folder_label", help="What is to be predicted.", width=220)
        numbers = labels[label].startswith(("Int", "UInt", "Float", "Decimal"))
        task = st.selectbox(
            "The labels are", list(TASKS), index=0 if numbers else 1, format_func=TASKS.get,
            key=f"folder_task {label}", width=160,
        )  # fmt: skip
    return key, label, task


def _opening() -> None:
    """Show how far the opening is, and use what was opened once."""
    run = st.session_state.get(OPENING)
    if not run:
        return
    widgets_task.watch(run, session.owner(), _show)
    try:
        status = jobs.manager().status(run, session.owner())
    except jobs.UnknownRunError:
        del st.session_state[OPENING]
        return
    if not status.active:
        del st.session_state[OPENING]
        _use(jobs.manager().result(run), status.message)


def _show(status: Any, _: Any) -> None:
    if status.active:
        st.info(f"Reading all rows once, {status.seconds:.0f} s so far …", icon=":material/hourglass_top:")
        st.button("Stop", key="stop_opening", on_click=widgets_task.stop, args=(status.run_id, session.owner()))


def _use(result: Any, message: str) -> None:
    """Use the sample that a worker has drawn; say why where there is none."""
    try:
        if result is None or result.value is None:
            raise DataError(message or "The folder was not opened: open it again.")
        recipe, files = result.value["recipe"], result.value["files"]
        session.use_upload(recipe, files, recipes.build(recipe, files.__getitem__))
        st.toast("A sample of your data is in use.", icon=":material/check:")
    except DataError as error:
        st.error(escape(explained(error)))
