"""What a person takes away: predictions, the model, figures, and the run as a script, a notebook or all in one zip.

Text from users is written as a Python literal, a JSON string or a CSV cell, never as code, markup or a formula. What is
written uses hetcore alone, not the studio: a person's own data are read from the folder `data` of the zip.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

import hetcore as hc
from hetcore.bundles import bundle as bundles
from hetcore.bundles import report
from hetcore.bundles.code import HERE, Step, arguments, compared, notebook, script
from hetcore.bundles.data_files import data_files, parquet
from hetcore.data import HetData
from hetcore.errors import DataError
from studio import forms, recipes, scenarios
from studio.runs.differences import operation_text
from studio.runs.run import Run

__all__ = ["bundle", "csv", "figure_html", "file_name", "notebook_of_run", "parquet", "script_of_run"]

WHERE = "pip install the wheel of hetcore from the zip of the run, or `pip install .` in its folder."
# A spreadsheet runs a cell that begins like this; the file may have come from somebody else.
_FORMULA = "^[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # the last four are the wide ones of East Asian keyboards
# Names that Windows keeps for devices, whatever their ending.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))}


def csv(frame: pl.DataFrame) -> bytes:
    """Return a table as CSV in UTF-8; text that a spreadsheet would run as a formula gets a ' in front of it.

    Of any column type: categories are text, what CSV has no form for (lists, structs, bytes, durations, objects) is
    written as Python's text of it.
    """
    cells: dict[str, pl.Series] = {}
    for series in frame.iter_columns():
        # Headers are cells too.
        name = f"'{series.name}" if re.match(_FORMULA, series.name) else series.name
        while name in cells or (name != series.name and name in frame.columns):
            name = f"'{name}"
        cells[name] = _defused(series)
    return pl.DataFrame(cells).write_csv().encode()


def _defused(series: pl.Series) -> pl.Series:
    # Categories have no text functions, and a formula may hide in them too.
    if series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    elif series.dtype.is_nested() or series.dtype in (pl.Binary, pl.Duration, pl.Object):
        series = pl.Series([None if cell is None else str(cell) for cell in series.to_list()], dtype=pl.String)
    if series.dtype != pl.String:
        return series
    return pl.select(pl.when(series.str.contains(_FORMULA)).then("'" + series).otherwise(series)).to_series()


def figure_html(figure: Any, title: str = "hetcore") -> str:
    """Return a Plotly figure (or its dict) as one HTML page that loads nothing from anywhere."""
    import plotly.io

    # Plotly's button would send the figure, and so the data, to a server.
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
        further arguments of fit. A person's own data must lie beside the script in the folder `data` of the zip.

    Raises
    ------
    ParameterError, DataError
        If the settings are not those of a run that can be repeated.
    """
    return script(_steps(run), f"Repeat a run of the hetcore studio and print its metric. {_where(run)}")


def notebook_of_run(run: Run) -> bytes:
    """Return the run as a Jupyter notebook; raises as `script_of_run` does."""
    return notebook(_steps(run), f"# A run of the hetcore studio\n\n{_where(run)}")


def _where(run: Run) -> str:
    """Return where hetcore is, and a person's own data."""
    own = "example" not in (run.settings.get("data") or {"example": ""}) and not run.settings.get("whole")
    return f"{WHERE} The folder data of that zip has to lie beside this file." if own else WHERE


def bundle(run: Run, data: HetData, predictions: pl.DataFrame, model: bytes | None, history: Any = None) -> bytes:
    """Return a zip in which the run stands alone: two commands in an empty folder do it again, bit for bit.

    Parameters
    ----------
    run : Run
    data : HetData
        That the run was made on, before its operations.
    predictions : polars DataFrame
        Of the run, with a column `prediction`.
    model : bytes or None
        Its model file.
    history : polars DataFrame, optional
        Its rounds.

    Raises
    ------
    ParameterError, DataError
        As `script_of_run` does, and if the data are not those of the run.
    """
    # By digest, for data of the same name may have changed since the run.
    if run.digest and run.digest != data.digest():
        raise DataError("The data in use are not those of this run: reopen it first, or upload its files again.")
    steps = _steps(run, alone=True)
    if run.status != "stopped":  # one that was stopped by hand has fewer rounds than its settings say
        steps.append(compared("X" if run.settings.get("form") else "data"))
    files = {f"data/{name}": content for name, content in data_files(data).items()}
    files |= {"predictions.parquet": parquet(predictions), "predictions.csv": csv(predictions)}
    files |= {} if model is None else {"model.hetcore": model}
    files["report.html"] = report.html(_facts(run, data, history)).encode()
    return bundles.bundle(steps, files, run.method)


def _facts(run: Run, data: HetData, history: Any) -> report.Facts:
    scores = dict(run.results.get("scores") or {})
    metric = str(scores.pop("metric", "error"))
    words = {"held_out": "held-out", "train": "training"}
    return report.Facts(
        title=run.name or f"{run.method} on {run.dataset}",
        method=run.method,
        data=data,
        params=run.settings.get("params") or {},
        changes=[operation_text(each) for each in scenarios.checked(run.settings.get("operations") or ())],
        scores={f"{metric} on {words[name]} labels": scores[name] for name in words if scores.get(name) is not None},
        history=history,
        source_weights=run.results.get("source_weights") or {},
        graph_weights=run.results.get("graph_weights") or {},
    )


# The code of a run ----------------------------------------------------------------------------------------------------


def _steps(run: Run, alone: bool = False) -> list[Step]:
    """Return the steps of a run; `alone` reads an example too from the folder of its data."""
    # Checked again: a stored run is a file, and a file may have been edited.
    data = recipes.checked(run.settings.get("data") or {"example": run.dataset})
    example = None if alone else data.get("example")
    operations = scenarios.checked(run.settings.get("operations") or ())
    with_labels = scenarios.choose(operations)
    form = run.settings.get("form") or {}
    whole = bool(run.settings.get("whole")) and "scan" in data
    read = f"data = datasets.load({example!r})" if example else 'data = hc.read_data(HERE / "data")'
    read = _scanned(data["scan"]) if whole else read
    imports = _imports(run.method, example, operations, formed=bool(form), alone=alone)
    imports += "\nimport polars as pl" if whole and not alone else ""
    steps = [Step("What is needed.", imports), Step("The data.", read)]
    if operations:
        steps.append(Step("What if: the changes to the data.", scenarios.as_code(operations)))
    if form:
        steps.append(Step("The arrays that the method takes.", forms.as_code(form, with_labels)))
    steps.append(Step("The training.", _training(run, with_labels, form)))
    steps.append(Step("The result.", _scoring(with_labels, bool(form))))
    return steps


def _scanned(scan: Mapping[str, Any]) -> str:
    """Return the line that opens data by path, on a machine that sees these paths."""
    target, key = scan["target"], scan["id"]
    labels = f"pl.read_parquet({target['path']!r}, columns={[key, target['label']]!r})" if target else None
    given = [repr(scan["sources"]), repr(scan["graphs"]), labels or "None", repr(key), f"task={scan['task']!r}"]
    return f"data = hc.HetData.scan(\n    {(',' + chr(10) + '    ').join(given)},\n)"


def _imports(method: str, example: str | None, operations: list[dict[str, Any]], *, formed: bool, alone: bool) -> str:
    lines = [] if example else ["from pathlib import Path", ""]
    lines += ["import numpy as np", "import polars as pl", ""] if alone else []
    lines += ["import datasets"] if example else []
    lines += ["import hetcore as hc", "from hetcore import metrics"]
    lines += [] if _of_hetcore(method) else [f"from {_module(method)} import {method}"]
    lines += ["from hetcore.data import plain"] if formed else []
    # Only imports that the code uses, for the script is read by people.
    lines += ["from hetcore.data import splits"] if "splits." in scenarios.as_code(operations) else []
    return "\n".join(lines if example else [*lines, "", HERE])


def _of_hetcore(method: str) -> bool:
    return method in hc.__all__ and method[:1].isupper()


def _module(method: str) -> str:
    from studio.jobs.worker_tasks import find_estimator

    return find_estimator(method).__module__


def _training(run: Run, with_labels: bool, form: Mapping[str, Any]) -> str:
    params = "".join(f"    {each},\n" for each in arguments(run.settings.get("params") or {}))
    fit = "".join(f", {each}" for each in arguments(run.settings.get("fit") or {}))
    maker = f"hc.{run.method}" if _of_hetcore(run.method) else run.method
    given = forms.fit_code(form) if form else "data, y" if with_labels else "data"
    # chr(10), for an f-string of Python 3.11 takes no backslash.
    return f"model = {maker}({chr(10) + params if params else ''})\nmodel.fit({given}{fit})"


def _scoring(with_labels: bool, formed: bool) -> str:
    known, rows = "held_out", "X"
    if not formed:
        known, rows = ("eval_y" if with_labels else "data.y"), "data"
    lines = [f"known = {known}"]
    lines += ['metric = metrics.error_rate if data.target_kind == "classification" else metrics.rmse']
    where = "held-out" if with_labels else "training"
    lines += [f'print(metric.__name__, "on {where} labels:", metric(known, model.predict({rows})))']
    return "\n".join(lines)
