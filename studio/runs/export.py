"""What a person takes away: predictions, the model, figures, and the run as a script or a notebook.

Text from users is written as a Python literal, a JSON string or a CSV cell, never as code, markup or a formula.
"""

from __future__ import annotations

import ast
import io
import json
import keyword
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import polars as pl

import hetcore as hc
from hetcore.data.text import quoted
from hetcore.errors import ParameterError
from studio import forms, recipes, scenarios
from studio.runs.run import Run

__all__ = ["bundle", "csv", "figure_html", "file_name", "notebook_of_run", "parquet", "script_of_run"]

WHERE = "Run it where hetcore is installed: pip install -e . in its folder."
_FORMULA = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # the last four are the wide ones of East Asian keyboards
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))}


def csv(frame: pl.DataFrame) -> bytes:
    """Return a table as CSV in UTF-8; text that a spreadsheet would run as a formula gets a ' in front of it."""
    frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)) if frame.width else frame
    text = [name for name, kind in frame.schema.items() if kind == pl.String]
    safe = [pl.when(pl.col(c).str.contains(_FORMULA)).then("'" + pl.col(c)).otherwise(pl.col(c)).alias(c) for c in text]
    frame = frame.with_columns(safe)
    frame = frame.rename({name: f"'{name}" for name in frame.columns if re.match(_FORMULA, name)})
    return frame.write_csv().encode()


def parquet(frame: pl.DataFrame) -> bytes:
    """Return a table as Parquet, values as they are."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def figure_html(figure: Any, title: str = "hetcore") -> str:
    """Return a Plotly figure (or its dict) as one HTML page that loads nothing from anywhere."""
    import plotly.io

    config = {"showSendToCloud": False, "displaylogo": False}
    page = plotly.io.to_html(figure, config=config, include_plotlyjs=True, full_html=True, validate=False)
    return page.replace("<head>", f"<head><title>{_html(title)}</title>", 1)


def _html(text: str) -> str:
    import html

    return html.escape(text)


def file_name(text: str, ending: str) -> str:
    """Return a name for a download that every system takes: letters, digits, dots, dashes, at most 80 characters."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[: 79 - len(ending)].strip("-.")
    if not stem or stem.split(".")[0].lower() in _DEVICES:
        stem = f"run-{stem}".strip("-")
    return f"{stem}.{ending}"


def script_of_run(run: Run) -> str:
    """Return a Python script that does the run again and prints its metric.

    Parameters
    ----------
    run : Run
        With `settings`: "data" (see `studio.recipes`), "operations" (see `studio.scenarios`), "params", and "fit" for
        further arguments of fit. Uploaded files must lie beside the script under their names.

    Raises
    ------
    ParameterError, DataError
        If the settings are not those of a run that can be repeated.
    """
    head = f'"""Repeat a run of the hetcore studio and print its metric. {WHERE}"""\n\n'
    return head + "\n\n".join(code for _, code in _steps(run)) + "\n"


def notebook_of_run(run: Run) -> bytes:
    """Return the run as a Jupyter notebook; raises as `script_of_run` does."""
    cells = [_cell("markdown", f"# A run of the hetcore studio\n\n{WHERE}")]
    for text, code in _steps(run):
        cells += [_cell("markdown", text), _cell("code", code)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}
    return json.dumps(_numbered(notebook), indent=1).encode()


def bundle(run: Run, parts: Mapping[str, bytes]) -> bytes:
    """Return a zip with the script, the notebook and other files by name; raises as `script_of_run` does."""
    members = {"run.py": script_of_run(run).encode(), "run.ipynb": notebook_of_run(run), **parts}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _cell(kind: str, source: str) -> dict[str, Any]:
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True), **more}


def _numbered(notebook: dict[str, Any]) -> dict[str, Any]:
    for k, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{k}"
    return notebook


# The code of a run ----------------------------------------------------------------------------------------------------


def _steps(run: Run) -> list[tuple[str, str]]:
    """Return the steps of a run as (words without user text, code)."""
    data = run.settings.get("data") or {"example": run.dataset}
    operations = scenarios.checked(run.settings.get("operations") or ())
    with_labels = scenarios.choose(operations)
    form = run.settings.get("form") or {}
    imports = _imports(run.method, data, operations, bool(form))
    steps = [("What is needed.", imports), ("The data.", recipes.as_code(data))]
    if operations:
        steps.append(("What if: the changes to the data.", scenarios.as_code(operations)))
    if form:
        steps.append(("The arrays that the method takes.", forms.as_code(form, with_labels)))
    steps.append(("The training.", _training(run, with_labels, form)))
    steps.append(("The result.", _scoring(with_labels, bool(form))))
    for _, code in steps:
        ast.parse(code)
    return steps


def _imports(method: str, data: Mapping[str, Any], operations: list[dict[str, Any]], formed: bool) -> str:
    lines = [] if "example" in data else ["from pathlib import Path", ""]
    lines += ["import datasets"] if "example" in data else []
    lines += ["import hetcore as hc", "from hetcore import metrics"]
    lines += ["from hetcore.data import splits"] if "splits." in scenarios.as_code(operations) else []
    lines += [] if _of_hetcore(method) else [f"from {_module(method)} import {method}"]
    lines += ["from hetcore.data import plain"] if formed else []
    if "example" not in data:
        own = any("label" in part for part in data["sources"])
        lines += ["from studio.readers.domain_tables import domain_table, own_labels"] if own else []
        lines += ["from studio.uploads import Options, read_graph, read_images, read_table", ""]
        lines += ['HERE = Path(__file__).parent if "__file__" in globals() else Path()']
    return "\n".join(lines)


def _of_hetcore(method: str) -> bool:
    return method in hc.__all__ and method[:1].isupper()


def _module(method: str) -> str:
    from studio.jobs.worker_tasks import find_estimator

    return find_estimator(method).__module__


def _training(run: Run, with_labels: bool, form: Mapping[str, Any]) -> str:
    params = "".join(
        f"    {_name(key)}={_literal(key, value)},\n" for key, value in run.settings.get("params", {}).items()
    )
    fit = "".join(f", {_name(key)}={_literal(key, value)}" for key, value in run.settings.get("fit", {}).items())
    maker = f"hc.{run.method}" if _of_hetcore(run.method) else run.method
    given = forms.fit_code(form) if form else "data, y" if with_labels else "data"
    return f"model = {maker}({chr(10) + params if params else ''})\nmodel.fit({given}{fit})"


def _name(key: str) -> str:
    if not key.isidentifier() or keyword.iskeyword(key):
        raise ParameterError(f"{quoted(key)} is no name of a parameter: leave it out.")
    return key


def _literal(key: str, value: Any) -> str:
    """Return a value as Python that reads back equal."""
    text = repr(value)
    try:
        if ast.literal_eval(text) == value:
            return text
    except (ValueError, SyntaxError):
        pass
    raise ParameterError(f"{key}={quoted(value)} cannot be written into a script: use numbers, text, lists or None.")


def _scoring(with_labels: bool, formed: bool) -> str:
    known, rows = "held_out", "X"
    if not formed:
        known, rows = ("eval_y" if with_labels else "data.y"), "data"
    lines = [f"known = {known}"]
    lines += ['metric = metrics.error_rate if data.target_kind == "classification" else metrics.rmse']
    where = "held-out" if with_labels else "training"
    lines += [f'print(metric.__name__, "on {where} labels:", metric(known, model.predict({rows})))']
    return "\n".join(lines)
