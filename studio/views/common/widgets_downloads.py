"""What a training page and the Runs page offer to take away: predictions, model, figures, script, notebook, all in one.

Files are made when they are asked for, so that a page is drawn without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from hetcore.errors import DataError, ParameterError
from studio import session
from studio.runs import export, rendering
from studio.views.common import training
from studio.views.common.widgets import escape

__all__ = ["EVERYTHING", "ICON", "STANDS_ALONE", "downloads", "figure_files", "learned_from"]

ICON = ":material/download:"
EVERYTHING = "Everything (ZIP)"
STANDS_ALONE = "Data, script, notebook, model, report and hetcore itself: it runs in an empty folder."


def downloads(run: Any, result: Any, drawn: Mapping[str, dict[str, Any]]) -> None:
    """Offer predictions, model, figures, script and notebook of a run."""
    stem = f"{run.dataset} {run.method}"
    learned_from(run.settings.get("operations") or ())
    with st.container(horizontal=True):
        if result.predictions is not None:
            table = result.predictions
            _offer("Predictions (CSV)", lambda: export.csv(table), stem, "csv", "text/csv")
            parquet = "application/octet-stream"
            _offer("Predictions (Parquet)", lambda: export.parquet(table), stem, "parquet", parquet)
        if result.model is not None:
            _offer("Model", result.model, stem, "hetcore", "application/octet-stream")
        script = _code(run, stem)
        # All data by path are in no zip: the script reads them where they are.
        if script and result.predictions is not None and not run.settings.get("whole"):
            _everything(run, result, stem)
    figure_files(drawn, stem)
    if script:
        with st.expander("The code of this run"):
            st.code(script, language="python")


def learned_from(operations: Sequence[Mapping[str, Any]]) -> None:
    """Say how many of the labels a model has seen, unless it has seen all: most would take away one of all."""
    share = next((operation["fraction"] for operation in operations if operation["op"] == "labels"), 1.0)
    if share < 1:
        text = f"This model learned from {share:.0%} of the labels, so that the others score it"
        st.caption(f"{text}: to learn from more, raise the share that is known and train.")


def _code(run: Any, stem: str) -> str:
    """Offer script and notebook; return the script, empty where the run cannot be written as code."""
    try:
        script, notebook = export.script_of_run(run), export.notebook_of_run(run)
    except (DataError, ParameterError) as error:
        st.warning(escape(error), icon=":material/warning:")
        return ""
    _offer("Script", script, stem, "py", "text/x-python")
    _offer("Notebook", notebook, stem, "ipynb", "application/x-ipynb+json")
    return script


def _everything(run: Any, result: Any, stem: str) -> None:
    """Offer the run with the data in use, which it was made on, in one zip."""
    data = session.current().data
    # A stopped run has fewer rounds than its settings, and the zip must know.
    run = replace(run, status="stopped" if result.stopped else run.status, results=training.results_of(result))
    st.download_button(
        # Made when asked for: a zip with the data takes seconds.
        EVERYTHING, lambda: export.bundle(run, data, result.predictions, result.model, result.history),
        export.file_name(stem, "zip"), "application/zip", key="take everything", icon=ICON, on_click="ignore",
        help=STANDS_ALONE,
    )  # fmt: skip


def _offer(label: str, content: Any, stem: str, ending: str, mime: str) -> None:
    name = export.file_name(stem, ending)
    # "ignore", for a download changes nothing that the page would have to show.
    st.download_button(label, content, name, mime, key=f"take {label}", icon=ICON, on_click="ignore")


def figure_files(drawn: Mapping[str, dict[str, Any]], stem: str, key: str = "take") -> None:
    """Offer one of several figures as HTML, SVG and PNG; a sentence says what to install where there is no renderer.

    Parameters
    ----------
    drawn : mapping of str to dict
        Plotly figures by name.
    stem : str
        What the files are called.
    key : str, default="take"
        Tells the buttons of one place on a page from those of another.
    """
    # A figure without anything drawn is no file.
    drawn = {name: figure for name, figure in drawn.items() if figure and figure.get("data")}
    if not drawn:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = next(iter(drawn))
        if len(drawn) > 1:
            help_ = "Which of the figures above to save."
            name = st.selectbox("Figure", list(drawn), format_func=_titled, key=f"{key} figure", width=240, help=help_)
        stem = f"{stem} {name}"
        figure = drawn[name]
        st.download_button(
            "Figure (HTML)", lambda: export.figure_html(figure, stem), export.file_name(stem, "html"), "text/html",
            key=f"{key} html", icon=ICON, on_click="ignore",
        )  # fmt: skip
        reason = rendering.missing()
        for kind, mime in {} if reason else rendering.KINDS.items():
            _image(figure, kind, mime, stem, key)
    if reason:
        st.caption(reason)


def _titled(name: str) -> str:
    return name[:1].upper() + name[1:].replace("_", " ")


def _image(figure: dict[str, Any], kind: str, mime: str, stem: str, key: str) -> None:
    """Offer a figure as an image, which is drawn when it is asked for: it takes a browser some seconds."""
    st.download_button(
        f"Figure ({kind.upper()})", lambda: rendering.image(figure, kind), export.file_name(stem, kind), mime,
        key=f"{key} {kind}", icon=ICON, on_click="ignore", help="A browser draws it: some seconds.",
    )  # fmt: skip
