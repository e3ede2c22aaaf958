"""How the data of a run came about, as JSON: the files are read again from it when a run is reopened.

    {"example": "mfeat"}
    {
        "sources": [{"name": "films", "file": "films.csv", "id": "title", "drop": ["rating"],
                     "kinds": {"year": "nominal"}, "options": {"delimiter": ";"}},
                    {"name": "posters", "file": "posters.zip", "images": true}],
        "graphs": [{"name": "cast", "file": "cast.csv", "options": {}}],
        "target": {"file": "films.csv", "id": "title", "column": "rating", "options": {"delimiter": ";"}},
        "task": "regression",
        "spelling": ["case", "space"]
    }

Data by path have the recipe of a sample, whose files are kept, and "scan" beside it: what all of them are, see
`studio.scans.parts`.

"drop", "kinds", "options", "graphs", "target", "task" and "spelling" may be left out. Files are named without
folders. Tables that are domains, with the same columns and rows of their own, have each its own labels in place of a
target; "id": "" numbers the rows (see `studio.readers.domain_tables`), as it does those of a table alone:

    {"name": "shop", "file": "shop.csv", "id": "", "label": "class"}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from hetcore.data import Graph, HetData, Source
from hetcore.data.spelling import check_ways
from hetcore.data.text import quoted
from hetcore.errors import DataError
from studio.messages import shown
from studio.readers.domain_tables import ROW_ID, domain_table, own_labels
from studio.readers.upload_schema import EACH, Label, stands_alone
from studio.scans.parts import check_scan
from studio.uploads import Options, Upload, read_graph, read_images, read_table

__all__ = ["build", "checked", "files", "label_of", "parts", "recipe_of", "source_names"]

Recipe = Mapping[str, Any]
_PART = {"name": str, "file": str, "id": str, "column": str, "drop": list, "kinds": dict, "options": dict}
_PART |= {"images": bool, "label": str}
_NEEDS = {"sources": ("name", "file", "id"), "graphs": ("name", "file"), "target": ("file", "id", "column")}


# A recipe comes from a database or a file, which anybody may have edited.
def checked(recipe: Recipe) -> Recipe:
    """Return a recipe that has what it needs and nothing else.

    Raises
    ------
    DataError
        If a part is missing, unknown or of another type, or a file has a folder in its name.
    """
    if set(recipe) == {"example"} and isinstance(recipe["example"], str):
        return recipe
    # Unknown parts are refused and not passed over: a later studio may mean something by them.
    if not recipe.get("sources") or set(recipe) - {"sources", "graphs", "target", "task", "spelling", "scan"}:
        raise DataError("A recipe has an example, or sources with graphs, target and task: give one of the two.")
    for kind in ("sources", "graphs"):
        for part in recipe.get(kind) or ():
            _check_part(part, kind)
    if recipe.get("target"):
        _check_part(recipe["target"], "target")
        if any("label" in part for part in recipe["sources"]):
            raise DataError("A recipe has its labels in a target or in each table, not in both: leave one out.")
    if recipe.get("task") not in (None, "regression", "classification"):
        raise DataError(f"task={quoted(recipe['task'])} is no task: give 'regression' or 'classification'.")
    if "scan" in recipe:
        check_scan(recipe["scan"])
    check_ways(recipe.get("spelling") or ())
    return recipe


def _check_part(part: Mapping[str, Any], kind: str) -> None:
    needs = ("name", "file") if part.get("images") else _NEEDS[kind]
    for field in needs:
        if field not in part:
            raise DataError(f"A part of {kind} lacks its {field}: give it.")
    for field, value in part.items():
        if field not in _PART or not isinstance(value, _PART[field]):
            raise DataError(f"{kind}: {field}={quoted(value)} is not what a recipe has there: correct it.")
    # A name with folders could read files that are not of this upload.
    if "/" in part["file"] or "\\" in part["file"] or part["file"] in ("", ".", ".."):
        raise DataError(f"The file {quoted(part['file'])} must be a name without folders: rename it.")
    if unknown := set(part.get("options", ())) - set(Options._fields):
        raise DataError(f"{quoted(sorted(unknown)[0])} is no option of reading a file: leave it out.")


def files(recipe: Recipe) -> list[str]:
    """Return the names of the files that a recipe reads, each once."""
    # A file may be a source and the target; it is read once.
    return list(dict.fromkeys(part["file"] for part in parts(recipe)))


def parts(recipe: Recipe) -> list[Mapping[str, Any]]:
    """Return the parts of a recipe that read files, none of an example."""
    return [*recipe.get("sources", ()), *(recipe.get("graphs") or ()), *filter(None, [recipe.get("target")])]


def build(recipe: Recipe, content: Callable[[str], bytes]) -> HetData:
    """Return the data of a recipe.

    Parameters
    ----------
    recipe : mapping
        See the module.
    content : callable
        Returns the bytes of a file by its name.

    Raises
    ------
    DataError
        If the recipe is not valid, or a file cannot be used; the message says which and why.
    """
    recipe = checked(recipe)
    if "example" in recipe:
        import datasets

        return datasets.load(recipe["example"])
    sources = {part["name"]: _source(part, content) for part in recipe["sources"]}
    graphs = {part["name"]: _graph(part, content) for part in recipe.get("graphs") or ()}
    target = _target(recipe["target"], content) if recipe.get("target") else _own_labels(recipe, content)
    return HetData(sources, graphs, target, task=recipe.get("task"), spelling=recipe.get("spelling") or ())


def _options(part: Mapping[str, Any]) -> Options:
    options = {
        # JSON has lists only, where the options of a reader are tuples.
        key: tuple(value) if isinstance(value, list) else value
        for key, value in part.get("options", {}).items()
    }
    return Options(**options)


def _source(part: Mapping[str, Any], content: Callable[[str], bytes]) -> Source:
    if part.get("images"):
        return read_images(part["file"], content(part["file"]))
    table, column = _table(part, content), ROW_ID if _of_its_own(part) else part["id"]
    # A label among the features would give itself away.
    table = table.drop(part.get("drop", []) + ([part["label"]] if part.get("label") in table.columns else []))
    try:
        return Source.from_frame(table, column, part.get("kinds"))
    except DataError as error:
        raise DataError(f"Source {quoted(part['name'])}: {error}") from None


def _table(part: Mapping[str, Any], content: Callable[[str], bytes]) -> pl.DataFrame:
    table = read_table(part["file"], content(part["file"]), _options(part))
    return domain_table(table, part["name"], part["id"]) if _of_its_own(part) else table


def _of_its_own(part: Mapping[str, Any]) -> bool:
    """Return whether the rows of a table are matched with those of no other."""
    return "label" in part or not part["id"]


def label_of(recipe: Mapping[str, Any]) -> str:
    """Return the column of the labels in brackets, to be written behind them; empty where it has no name."""
    each = [part["label"] for part in recipe.get("sources", ()) if part.get("label")]
    column = (recipe.get("target") or {}).get("column") or next(iter(each), "")
    return f" ({shown(column)})" if column else ""


def _own_labels(recipe: Recipe, content: Callable[[str], bytes]) -> tuple[Any, Any] | None:
    """Return the labels of the tables that have their own, None if none has."""
    parts = [part for part in recipe["sources"] if "label" in part]
    return own_labels({part["name"]: (_table(part, content), part["label"]) for part in parts}) if parts else None


def _graph(part: Mapping[str, Any], content: Callable[[str], bytes]) -> Graph:
    return read_graph(part["file"], content(part["file"]), _options(part))


def _target(part: Mapping[str, Any], content: Callable[[str], bytes]) -> tuple[Any, Any]:
    table = read_table(part["file"], content(part["file"]), _options(part))
    for column in (part["id"], part["column"]):
        if column not in table.columns:
            raise DataError(f"There is no column {quoted(column)} in {part['file']}: choose another for the target.")
    return table[part["id"]], table[part["column"]]


# Composing ------------------------------------------------------------------------------------------------------------


def recipe_of(
    uploads: Sequence[Upload],
    ids: Mapping[str, str],
    label: Label | None,
    task: str | None,
    kinds: Mapping[str, Mapping[str, str]],
    without: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Compose the recipe of uploaded files.

    Parameters
    ----------
    uploads : sequence of Upload
        The files.
    ids : mapping of str to str
        Id column by file.
    label : Label or None
        Where the labels are.
    task : str or None
        "regression" or "classification".
    kinds : mapping of str to mapping of str to str
        By file, the columns whose kind the person changed.
    without : mapping of str to sequence of str, optional
        By file, columns to leave out; of a graph or images anything leaves all of it out.

    Raises
    ------
    DataError
        If there is no table, or an id column is not there or stands for the label too.
    """
    if label is not None and stands_alone(uploads) and not ids[label.file]:
        label = Label(EACH, label.column)
    gone = without or {}
    whole = [upload for upload in uploads if upload.name not in gone]
    _check_ids(uploads, ids, numbered=stands_alone(uploads) or (label is not None and label.file == EACH))
    sources = [_part(upload, ids, label, kinds, gone) for upload in uploads if upload.role == "table"]
    sources = [part for part in sources if part]
    sources += [{"file": upload.name, "images": True} for upload in whole if upload.role == "images"]
    if not sources:
        raise DataError("There is no table to learn from: add at least one file in the role of a table, or images.")
    names = source_names(part["file"] for part in sources)
    graphs = [upload.name for upload in whole if upload.role == "graph"]
    recipe: dict[str, Any] = {"sources": [{"name": names[part["file"]]} | part for part in sources]}
    if graphs:
        options = {each.name: _as_chosen(each) | ({"directed": True} if each.directed else {}) for each in uploads}
        named = source_names(graphs).items()
        recipe["graphs"] = [
            {"name": name, "file": file} | ({"options": options[file]} if options[file] else {}) for file, name in named
        ]
    if label is not None:
        files = [label.file] if label.file else [part["file"] for part in sources if "label" in part]
        # Refused here, in the words of the page; the library would speak of a column that is gone.
        if wrong := [file for file in files if ids[file] == label.column]:
            raise DataError(f"{quoted(label.column)} cannot be the id and the label of {wrong[0]}: choose another.")
        if label.file:
            known = {upload.name: upload for upload in uploads}[label.file]
            target = {"file": label.file, "id": ids[label.file], "column": label.column}
            recipe["target"] = target | _as_written(known, ids[label.file])
        recipe["task"] = task
    return recipe


def _check_ids(uploads: Sequence[Upload], ids: Mapping[str, str], numbered: bool) -> None:
    for upload in (upload for upload in uploads if upload.role == "table"):
        if (identifier := ids.get(upload.name)) not in [*upload.frame.columns, *([""] if numbered else [])]:
            raise DataError(f"{upload.name} has no id column {quoted(identifier)}: choose one of its columns.")


def _part(
    upload: Upload,
    ids: Mapping[str, str],
    label: Label | None,
    kinds: Mapping[str, Any],
    without: Mapping[str, Sequence[str]],
) -> dict[str, Any] | None:
    """Return the part of a recipe for a table; None if it has nothing but ids and what is left out."""
    identifier, own = ids.get(upload.name), label is not None and label.file == EACH
    drop = [label.column] if label is not None and label.file == upload.name else []
    drop += [c for c in without.get(upload.name, ()) if c in upload.frame.columns and c not in (identifier, *drop)]
    gone = {identifier, *drop, *([label.column] if own else [])}
    # A table of ids alone teaches nothing.
    if drop and set(upload.frame.columns) <= gone:
        return None
    part: dict[str, Any] = {"file": upload.name, "id": identifier} | ({"drop": drop} if drop or not own else {})
    part |= {"label": label.column} if own else {}
    usable = {column: kind for column, kind in kinds.get(upload.name, {}).items() if column not in gone}
    return part | ({"kinds": usable} if usable else {}) | _as_written(upload, identifier)


def _as_written(upload: Upload, identifier: str) -> dict[str, Any]:
    """Return the options that read ids as written where they were taken for numbers: 1E5 is not 100000."""
    # Text columns are named one by one, for the others keep the types that they were given.
    typed = identifier in upload.frame.columns and upload.frame[identifier].dtype != pl.String
    options = _as_chosen(upload) | ({"text_columns": [identifier]} if typed else {})
    return {"options": options} if options else {}


def _as_chosen(upload: Upload) -> dict[str, Any]:
    """Return the options that the person chose in place of guesses, and the sheet that was read of several."""
    # Named also where it is the guess, which is of the first sheet and may be another's after a repair.
    sheet = next(iter(upload.sheets), None)
    chosen = {"header": upload.header, "day_first": upload.day_first, "sheet": sheet}
    return {name: value for name, value in chosen.items() if value is not None}


def source_names(files: Iterable[str]) -> dict[str, str]:
    """Return a name for each file: its own without the ending, with the ending where two would be the same."""
    files = list(files)
    stems = [PurePosixPath(file).stem or file for file in files]
    return {file: stem if stems.count(stem) == 1 else file for file, stem in zip(files, stems)}
