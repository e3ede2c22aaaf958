"""`hetcore.export`: a run as one zip that stands alone.

    data/ …                   the data, as Parquet (`hetcore.read_data`)
    arguments/NAME.parquet    arrays that fit took beside the data
    run.py, run.ipynb         the run: prints its metric, and whether the predictions are equal to the last bit
    predictions.parquet       what the run predicted
    model.hetcore             its model
    report.html               what was trained, curves, weights, caveats
    requirements.txt          the versions that it ran with, and the wheel
    hetcore-….whl             this hetcore
    README.txt                the two commands
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from hetcore import metrics
from hetcore.bundles.code import HERE, Step, arguments, compared, notebook, script
from hetcore.bundles.data_files import data_files, parquet
from hetcore.bundles.distribution import pins, wheel, zipped
from hetcore.bundles.report import Facts, html
from hetcore.data import HetData
from hetcore.errors import DataError, ParameterError
from hetcore.model_files import as_path, check_path, dumps, write_whole
from hetcore.parameters import Declared

__all__ = ["bundle", "export"]

HEAD = "Do a run of hetcore again, and print its metric. README.txt says what to install."
# torch is an extra of hetcore: only a run of these methods has to pin it.
NEEDS_TORCH = ("BoostedFeatureNetworkClassifier", "TwoWeakLearnerClassifier", "OneWeakLearnerClassifier")


def export(
    model: Any, data: Any, path: str | os.PathLike[str], y: Any = None, *, eval_y: Any = None, **fit: Any
) -> Path:
    """Write a run as a zip that stands alone: two commands in an empty folder do it again, bit for bit.

    Parameters
    ----------
    model : estimator or widget
        Fitted, not yet fitted (then a copy is fitted here), or `hetcore.watch(...)` after a training.
    data : HetData or (m, d) array
        What it was fitted to; other data are refused where sizes, names, ids or labels tell them apart.
    path : str or path
        Of the zip; an existing file is replaced.
    y : (n,) array-like, optional
        Labels that fit was given.
    eval_y : (n,) array-like, optional
        Labels to score by, never trained on.
    **fit
        Further arguments of fit: plain values, or one-dimensional arrays such as sample_domain.

    Returns
    -------
    Path
        Of the zip.

    Raises
    ------
    ParameterError
        If the model is none that can be saved, its seed is left to chance, or an argument can't be written.
    DataError
        If the data can't be written as Parquet, nothing can be learned from them, or the model was fitted to others.
    OSError
        If the file can't be written.
    """
    model, path = _checked(model), as_path(path)
    given = {name: value for name, value in {"y": y, "eval_y": eval_y, **fit}.items() if value is not None}
    # labels as an array, whatever they were given as: the script scores by them under their name
    columns = {name: value for name, value in given.items() if hasattr(value, "__array__") or name in ("y", "eval_y")}
    arrays = {name: _array(name, value) for name, value in columns.items()}
    plain = {name: value for name, value in given.items() if name not in arrays}
    # Everything that can be refused is looked at before a fit, which may take long, begins.
    check_path(path)
    _check_same(model, data, given.get("y"))
    steps = _steps(model, isinstance(data, HetData), arrays, plain)
    files = {f"data/{name}": content for name, content in _data_of(data).items()}
    model = _fitted(model, data, given)
    files |= {f"arguments/{name}.parquet": parquet(values.to_frame()) for name, values in arrays.items()}
    predicted = np.asarray(model.predict(data))
    # As plain values, for text arrays of NumPy have a width of their own.
    files["predictions.parquet"] = parquet(pl.DataFrame({"prediction": predicted.tolist()}))
    files |= {"model.hetcore": dumps(model), "report.html": html(_facts(model, data, given, predicted)).encode()}
    write_whole(path, bundle(steps, files, type(model).__name__))
    return path


def bundle(steps: Sequence[Step], files: Mapping[str, bytes], method: str) -> bytes:
    """Return the zip of a run.

    Parameters
    ----------
    steps : sequence of Step
        Its code.
    files : mapping of str to bytes
        What the code reads, and what else is worth to be taken along.
    method : str
        Class name of the estimator.
    """
    name, content = wheel()
    needed = [f"./{name}", *pins(["torch"] if method in NEEDS_TORCH else [])]
    made = {
        "README.txt": _readme(files).encode(),
        "run.py": script(steps, HEAD).encode(),
        "run.ipynb": notebook(steps, f"# A run of hetcore\n\n{HEAD}"),
        "requirements.txt": "\n".join([*needed, ""]).encode(),
    }
    return zipped({**made, **files, name: content})


def _readme(files: Mapping[str, bytes]) -> str:
    lines = [
        "A run of hetcore, to be done again in this folder:",
        "",
        "    pip install -r requirements.txt",
        "    python run.py",
        "",
        f"The run was exported from Python {platform.python_version()} on {platform.system()} {platform.machine()}:",
        "the same bits need these versions and this kind of processor. run.ipynb is the same as a notebook.",
    ]
    lines += ["report.html shows the run, in any browser."] if "report.html" in files else []
    return "\n".join([*lines, ""])


def _checked(model: Any) -> Any:
    """Return the estimator of what was given, with a seed."""
    if hasattr(model, "model_") and hasattr(model, "params"):  # a widget
        model = model.model_
        if model is None:
            raise ParameterError("The widget has trained nothing yet: press Train, or give an estimator.")
    if not isinstance(model, Declared):
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ParameterError(f"{kind} is no estimator of hetcore: give one such as hetcore.GBCRegressor().")
    # A run without a seed can be repeated by nobody.
    if "random_state" in model.get_params(deep=False) and model.random_state is None:
        raise ParameterError("random_state=None gives other numbers each time: set it to a whole number and fit again.")
    return model


def _array(name: str, value: Any) -> pl.Series:
    # of a list as it is: NumPy would make text of a mixed one
    array = np.asarray(value) if hasattr(value, "__array__") else np.asarray(value, dtype=object)
    if array.ndim != 1 or array.dtype.kind not in "iufbOU":
        raise ParameterError(f"{name} of shape {array.shape} can't be exported: give one value for each instance.")
    # Lists for text, for NumPy pads it to one width.
    try:
        return pl.Series(name, array.tolist() if array.dtype.kind in "OU" else array)
    except (TypeError, pl.exceptions.PolarsError):
        raise ParameterError(f"{name} mixes types, which a file can't hold: give text or numbers.") from None


def _fitted(model: Any, data: Any, given: Mapping[str, Any]) -> Any:
    # scikit-learn here and below: half a second that the studio's first page saves.
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        # A copy is fitted: the caller's estimator stays as it was given.
        model = type(model)(**model.get_params(deep=False))
        model.fit(data, **given)
    return model


def _check_same(model: Any, data: Any, y: Any) -> None:
    """Refuse other data than those of the fit, as far as an outline tells; a model that was loaded has none."""
    fitted = getattr(model, "_fitted_to", None)
    # of rows that were given as a list or a table nothing is known
    if fitted is not None and model._outline(data, y) not in (fitted, None):
        cure = "give what fit was given, labels and what-if changes too, or a model that is not fitted yet"
        raise DataError(f"The {type(model).__name__} was fitted to other data than are to be exported: {cure}.")


def _data_of(data: Any) -> dict[str, bytes]:
    if isinstance(data, HetData):
        return data_files(data)
    try:
        rows = np.asarray(data)
    # of several lengths
    except ValueError:
        rows = np.empty(0)
    if rows.ndim != 2 or rows.dtype.kind not in "iufbOU":
        raise DataError(f"Data of type {type(data).__name__} can't be exported: give a HetData or an array (m, d).")
    try:
        columns = [pl.Series(str(k), column.tolist() if rows.dtype.kind in "OU" else column.copy())
                   for k, column in enumerate(rows.T)]  # fmt: skip
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(f"The array mixes types in a column ({error}): give text or numbers.") from None
    return {"rows.parquet": parquet(pl.DataFrame(columns))}


def _steps(model: Any, tables: bool, arrays: Mapping[str, Any], plain: dict[str, Any]) -> list[Step]:
    """Return the code of a run on the files of its bundle."""
    imports = ["from pathlib import Path", "", "import numpy as np", "import polars as pl", ""]
    imports += ["import hetcore as hc", "from hetcore import metrics", "", HERE]
    lines = ['data = hc.read_data(HERE / "data")']
    if not tables:
        # In C order, as arrays are given: another memory order may add up in another order.
        lines = ['data = pl.read_parquet(HERE / "data" / "rows.parquet").to_numpy(order="c")']
    given = 'pl.read_parquet(HERE / "arguments" / "{0}.parquet")["{0}"].to_numpy()'
    lines += [f"{name} = {given.format(name)}" for name in arrays]
    params = "".join(f"    {each},\n" for each in arguments(_set(model)))
    taken = ", ".join(["data", *(f"{name}={name}" for name in arrays), *arguments(plain)])
    maker = f"hc.{type(model).__name__}({chr(10) + params if params else ''})"
    metric = "error_rate" if _classifies(model) else "rmse"
    known = "eval_y" if "eval_y" in arrays else "y" if "y" in arrays else "data.y"
    words = "held-out" if known == "eval_y" else "training"
    result = f'print("{metric} on {words} labels:", metrics.{metric}({known}, model.predict(data)))'
    return [
        Step("What is needed.", "\n".join(imports)),
        Step("The data.", "\n".join(lines)),
        Step("The training.", f"model = {maker}\nmodel.fit({taken})"),
        Step("The result.", result),
        compared("data"),
    ]


def _set(model: Any) -> dict[str, Any]:
    """Return the parameters that are not at their defaults, and the seed."""
    defaults = {name: each.default for name, each in model._parameters.items()}
    # Only what differs, so that the script shows what was chosen; the seed always, for the bits hang on it.
    params = model.get_params(deep=False)
    # repr, for == of arrays and of NaN is no answer.
    changed = {name for name, value in params.items() if name not in defaults or repr(value) != repr(defaults[name])}
    return {name: value for name, value in params.items() if name in changed or name == "random_state"}


def _classifies(model: Any) -> bool:
    from sklearn.base import is_classifier

    return is_classifier(model)


def _facts(model: Any, data: Any, given: Mapping[str, Any], predicted: Any) -> Facts:
    tables = data if isinstance(data, HetData) else None
    metric, name = (metrics.error_rate, "error") if _classifies(model) else (metrics.rmse, "RMSE")
    known = {"held-out": given.get("eval_y"), "training": given.get("y", getattr(tables, "y", None))}
    scores = {f"{name} on {words} labels": metric(y, predicted) for words, y in known.items() if y is not None}
    return Facts(
        title=f"{type(model).__name__} on {data.n if tables is not None else len(data):,} instances",
        method=type(model).__name__,
        data=tables,
        params=_set(model),
        changes=[] if tables is None else list(tables.steps),
        scores=scores,
        history=getattr(model, "history_", None),
        source_weights=getattr(model, "source_weights_", None) or {},
        graph_weights=getattr(model, "graph_weights_", None) or {},
    )
