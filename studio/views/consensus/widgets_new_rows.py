"""The tab that predicts rows which were uploaded after the training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.messages import explained
from studio.runs import export
from studio.uploads import Options, file_name, preview_table, read_table
from studio.views.common.widgets import escape, show_table
from studio.views.common.widgets_downloads import ICON
from studio.views.common.widgets_task import answer
from studio.views.consensus.new_rows import with_sheets

__all__ = ["predict_new"]

FUNCTION = "studio.views.consensus.new_rows:predict"
SLOT, GIVEN, CHOICE = "new rows", "new rows given", "new rows files"
"""In the session: the predictions, the files that they are of, and the choice of files."""
MOST_BOXES = 3
MOST = 1_000
"""Rows that are shown; the file has all."""


def predict_new(model: bytes | None, data: HetData, recipe: Mapping[str, Any], owner: str) -> None:
    """Take files with the columns of the sources; show what differs, and what a model predicts for their rows.

    Parameters
    ----------
    model : bytes or None
        The model file of the run.
    data : HetData
        What it was trained on.
    recipe : mapping
        How these came about, see `studio.recipes`: new rows are joined and dated as they were.
    owner : str
    """
    if model is None:
        st.caption("This method has no model file to predict with.")
        return
    text = "One table or sheet a source, with its columns; the label is not needed. Ids join rows of several tables."
    more = {"key": CHOICE, "help": text, "on_change": _give, "args": (data.digest(),)}
    chosen = st.file_uploader("New rows", accept_multiple_files=True, **more)
    given = _given(data.digest())
    if not given:
        st.caption("Upload rows with the columns of the tables here: each gets a prediction, and what it rests on.")
        return
    if not chosen:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Given before: {escape(', '.join(file.name for file in given))}.", width="content")
            st.button("Forget them", key="forget new rows", on_click=_forget, icon=":material/delete:")
    # Streamlit gives each file an id: the same files are not predicted again at every click.
    stamp = (hash(model), *(file.file_id for file in given))
    if st.session_state.get(SLOT, (None,))[0] != stamp:
        st.session_state[SLOT] = (stamp, *_predicted(model, data, recipe, given, owner))
    _show(*st.session_state[SLOT][1:])


def _give(digest: str) -> None:
    """Keep the chosen files by the data that they are rows of: Streamlit forgets them with the tab."""
    st.session_state[GIVEN] = digest, list(st.session_state[CHOICE])


def _given(digest: str) -> list[Any]:
    """Return the files that were chosen for these data."""
    of, files = st.session_state.get(GIVEN, ("", []))
    return files if of == digest else []


def _forget() -> None:
    st.session_state.pop(GIVEN, None)
    st.session_state.pop(SLOT, None)


def _predicted(
    model: bytes, data: HetData, recipe: Mapping[str, Any], given: Any, owner: str
) -> tuple[pl.DataFrame | None, list[str], list[str]]:
    """Return the predictions, what differs, and what went wrong; a file that can't be read takes no other along."""
    options, files, wrong = _options(recipe), {}, []
    for file in given:
        try:
            files |= _tables_of(data, file_name(file.name), file, options)
        except DataError as error:
            wrong.append(explained(error))
    if not files:
        return None, [], wrong
    arguments = {"model": model, "data": data, "files": tuple(files.items()), "recipe": dict(recipe)}
    try:
        found, why = answer(FUNCTION, arguments, owner, "Predicting …")
    except ValueError as error:
        # Our own sentences as they are, and the queue's, which is one.
        found, why = None, explained(error) if isinstance(error, DataError) else str(error)
    wrong += [why] if why else []
    return (None, [], wrong) if found is None else (*found, wrong)


def _tables_of(data: HetData, name: str, file: Any, options: Options) -> dict[str, pl.DataFrame]:
    """Return the table of a file, or of a workbook with several those that are of the data's sources."""
    preview = preview_table(name, file, options)
    if len(preview.sheets) < 2:
        return {name: preview.frame}
    first, *others = preview.sheets
    sheets = {first: preview.frame} | {each: read_table(name, file, options._replace(sheet=each)) for each in others}
    return with_sheets(data, name, sheets)


def _options(recipe: Mapping[str, Any]) -> Options:
    """Return what the person said of dates such as 3/4/2015, unless of two files different things."""
    chosen = {part.get("options", {}).get("day_first") for part in recipe.get("sources", ())} - {None}
    return Options(day_first=chosen.pop() if len(chosen) == 1 else None)


def _show(found: pl.DataFrame | None, warnings: list[str], wrong: list[str]) -> None:
    for sentence in wrong:
        st.error(escape(sentence))
    # The gravest come first; a box for each of thirty columns would hide the predictions below them.
    boxes = warnings if len(warnings) <= MOST_BOXES else warnings[: MOST_BOXES - 1]
    for sentence in boxes:
        st.warning(escape(sentence), icon=":material/difference:")
    if rest := warnings[len(boxes) :]:
        with st.expander(f"{len(rest)} more differences", icon=":material/difference:"):
            show_table({"difference": rest}, key="new differences", alt="What differs from the training data")
    if found is None:
        return
    rests = found["sources"].value_counts().sort("sources").rows()
    counts = ", ".join(f"{count:,} from {counted(sources, 'table')}" for sources, count in rests)
    st.markdown(f"**{counted(found.height, 'prediction')}**: {counts}. Graphs know nothing of new instances.")
    show_table(found.head(MOST), key="new predictions", alt="Predictions of the new rows")
    table = export.csv(found)
    st.download_button("New predictions (CSV)", table, "predictions.csv", "text/csv", on_click="ignore", icon=ICON)
