"""From uploaded files to a recipe: which is a table, a graph or labels, which column holds ids, what the label is.

Everything here is a guess with its reason, for the person to correct on the Data page, and knows no UI framework.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from hetcore.data.columns import clean_columns
from hetcore.data.identity import as_ids
from hetcore.data.kinds import guess_kinds
from hetcore.data.report import Finding
from hetcore.data.text import counted, quoted
from hetcore.errors import DataError
from studio.messages import shown
from studio.readers import domain_tables
from studio.readers.columns import end_columns, looks_like_id
from studio.uploads import Options, preview_graph, preview_images, preview_table

__all__ = [
    "EACH", "ROLES", "TABULAR", "Label", "Upload", "domain_columns", "edge_lists", "file_name", "first_row",
    "guess_ids", "guess_label", "guess_task", "read", "recipe_of", "source_names",
]  # fmt: skip

ROLES = ("table", "graph", "labels", "images")
TABULAR = ("table", "labels")
EACH = ""
"""The file of a `Label` where each table is a domain with its own labels."""
_GRAPH_ENDINGS = (".graphml", ".gexf", ".gml", ".mtx", ".edges", ".edgelist")
_GRAPH_NAMES = re.compile(r"(edge|link|graph|network|adjacency|cites|citations)", re.I)
_LABEL_FILES = re.compile(r"(^|[\W_])(labels?|targets?|classes|truth)($|[\W_\d])", re.I)
_LABEL_COLUMNS = ("y", "label", "target", "class", "labels", "outcome", "rating", "category")
_LABEL_WORD = re.compile(r"(?:^|[\W_])(label|target|class|outcome|rating|category)$", re.I)
_FEW = 20
"""Different values at most of a last column that may be the label without being named so."""
_ENDS = 0.9
# Not all, for edge lists are often of a larger collection than the tables.
"""Share of a column's values that are ids of a table, where it holds ends of edges."""
# The first values are enough for a share, and a list of edges can be long.
_SAMPLE = 2_000


class Upload(NamedTuple):
    """A file that could be read.

    Attributes
    ----------
    name, role, digest : str
        File name; "table", "graph", "labels" or "images"; SHA-256 of the content.
    frame : polars.DataFrame
        The table, the edges, or the ids of the images ("id").
    guesses : list of str
        What was guessed to read it, in words.
    findings : list of Finding
        What was found in it.
    kinds : mapping of str to (str, str)
        Kind and reason of each usable column; empty for a graph and for images.
    pixels : (m, h, w, c) uint8 or None
        Images, in the order of their ids.
    header : bool or None
        Whether the first row names the columns, as the person says; None leaves the guess.
    """

    name: str
    role: str
    digest: str
    frame: pl.DataFrame
    guesses: list[str]
    findings: list[Finding]
    kinds: Mapping[str, tuple[str, str]]
    pixels: np.ndarray | None = None
    header: bool | None = None


class Label(NamedTuple):
    """Where the labels are: a file and its column; in each table a column of this name, where `file` is `EACH`."""

    file: str
    column: str


# Only the last part of a path, with either slash: browsers differ in what they send.
def file_name(given: str) -> str:
    """Return a file's name without folders and control characters."""
    name = shown(given.replace("\\", "/").rpartition("/")[2], 120).strip()
    return "file" if name in ("", ".", "..") else name


def read(name: str, content: bytes, role: str | None = None, header: bool | None = None) -> Upload:
    """Read a file in the role that the person gives it, or in the one that its name and content suggest.

    Parameters
    ----------
    name : str
    content : bytes
    role : str, optional
        One of `ROLES`.
    header : bool, optional
        Whether the first row of a delimited text names the columns.

    Raises
    ------
    DataError
        In one sentence, if it cannot be read.
    """
    # Of the bytes, so that a file is known again whatever it was read as.
    digest = hashlib.sha256(content).hexdigest()
    if role == "images" or (role is None and name.lower().endswith(".zip")):
        images = preview_images(name, content)
        frame = pl.DataFrame({"id": images.ids})
        return Upload(
            name,
            "images",
            digest,
            frame=frame,
            guesses=images.guesses,
            findings=images.findings,
            kinds={},
            pixels=images.pixels,
        )
    if role == "graph" or (role is None and _graph_by_name(name, content)):
        graph = preview_graph(name, content, Options(header=header))
        return Upload(
            name,
            "graph",
            digest,
            frame=graph.edges,
            guesses=graph.guesses,
            findings=graph.findings,
            kinds={},
            header=header,
        )
    table = preview_table(name, content, Options(header=header))
    # Read as a table first, for only its columns tell; then again as what it is.
    if role is None and _edges_by_columns(name, table.frame):
        return read(name, content, "graph", header)
    role = role or ("labels" if _labels_by_name(name, table.frame) else "table")
    kinds = _kinds(table.frame)
    return Upload(name, role, digest, table.frame, table.guesses, findings=table.findings, kinds=kinds, header=header)


def _kinds(frame: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Return kind and reason of each usable column; a date says that it is one, and not the number it becomes."""
    kinds = guess_kinds(clean_columns(frame))[0]
    # A date becomes a number, and its reason would speak of that.
    dates = {name: frame[name] for name, kind in frame.schema.items() if kind in (pl.Date, pl.Datetime)}
    ranges = {name: f"dates from {days.min():%Y-%m-%d} to {days.max():%Y-%m-%d}" for name, days in dates.items()}
    return {name: (kind, ranges.get(name, why)) for name, (kind, why) in kinds.items()}


def first_row(upload: Upload) -> bool | None:
    """Return whether the first row of a delimited text was taken for names of columns; None for other formats."""
    if not any(guess.endswith(" between columns") for guess in upload.guesses):
        return None
    return not any(guess.startswith("no header") for guess in upload.guesses)


def edge_lists(uploads: Sequence[Upload]) -> dict[str, bool]:
    """Return the tables whose first two columns hold ids of other tables, and so are edges, whatever they are called.

    Returns
    -------
    dict of str to bool
        By file name, whether its first row names the columns: it does unless both names are such ids too.
    """
    unique = {upload.name: _unique_columns(upload.frame) for upload in uploads if upload.role in TABULAR}
    found = {}
    for upload in (upload for upload in uploads if upload.role == "table" and _may_be_edges(upload.frame)):
        theirs = [ids for name, columns in unique.items() if name != upload.name for ids in columns.values()]
        ends = [set(as_ids(upload.frame[column].drop_nulls().head(_SAMPLE))[0]) for column in upload.frame.columns[:2]]
        for ids in theirs:
            if all(end and len(end & ids) >= _ENDS * len(end) for end in ends):
                # True where the ids are another kind of thing, so that the person is told what links what.
                found[upload.name] = not set(upload.frame.columns[:2]) <= ids
    return found


def _may_be_edges(frame: pl.DataFrame) -> bool:
    """Tell whether two columns are text, or whole numbers that come again: a count beside ids is among them too."""
    if frame.width not in (2, 3):
        # Two ends, and perhaps a weight.
        return False
    ends = [frame.to_series(place) for place in (0, 1)]
    if all(end.dtype == pl.String for end in ends):
        return True
    # A column of numbers that are all different is an id or a measurement, and no end of edges.
    return all(end.dtype.is_integer() and end.n_unique() < len(end) for end in ends)


def _graph_by_name(name: str, content: bytes) -> bool:
    if name.lower().endswith(_GRAPH_ENDINGS):
        return True
    beginning = content[:4096].lstrip()
    markup = re.search(rb"<(\w+:)?(graphml|gexf)\b", beginning) or beginning.startswith(b"%%MatrixMarket")
    node_link = beginning.startswith(b"{") and re.search(rb'"(links|edges)"\s*:', content) and b'"nodes"' in content
    return bool(markup or node_link)


def _edges_by_columns(name: str, frame: pl.DataFrame) -> bool:
    if frame.width <= 4 and end_columns(frame.columns):
        return True
    return frame.width in (2, 3) and _GRAPH_NAMES.search(PurePosixPath(name).stem) is not None


def _labels_by_name(name: str, frame: pl.DataFrame) -> bool:
    return frame.width <= 3 and _LABEL_FILES.search(PurePosixPath(name).stem) is not None


def source_names(files: Iterable[str]) -> dict[str, str]:
    """Return a name for each file: its own without the ending, with the ending where two would be the same."""
    files = list(files)
    stems = [PurePosixPath(file).stem or file for file in files]
    return {file: stem if stems.count(stem) == 1 else file for file, stem in zip(files, stems)}


def domain_columns(uploads: Sequence[Upload]) -> list[str]:
    """Return the columns of tables that may be domains: at least two, all with the same columns; else nothing."""
    if any(upload.role == "labels" for upload in uploads):
        return []
    return domain_tables.shared_columns([upload.frame for upload in uploads if upload.role == "table"])


def guess_ids(uploads: Sequence[Upload]) -> dict[str, tuple[str, str]]:
    """Return the id column of each table, and why it was taken."""
    tables = [upload for upload in uploads if upload.role in TABULAR]
    if domain_columns(uploads):
        return {upload.name: domain_tables.guess_id(upload.frame) for upload in tables}
    unique = {upload.name: _unique_columns(upload.frame) for upload in tables}
    nodes = [set(upload.frame["source"].head(_SAMPLE)) for upload in uploads if upload.role == "graph"]
    nodes += [set(upload.frame["id"].head(_SAMPLE)) for upload in uploads if upload.role == "images"]
    return {upload.name: _guess_id(upload, unique, nodes) for upload in tables}


def _unique_columns(frame: pl.DataFrame) -> dict[str, set[str]]:
    """Return the columns of text or whole numbers that differ in every row, with some of their values as text."""
    typed = [name for name, kind in frame.schema.items() if kind == pl.String or kind.is_integer()][:200]
    full = [name for name in typed if frame[name].null_count() == 0 and frame[name].n_unique() == frame.height]
    return {name: set(as_ids(frame[name].head(_SAMPLE))[0]) for name in full[:20]}


def _guess_id(upload: Upload, unique: Mapping[str, Mapping[str, set]], nodes: list[set]) -> tuple[str, str]:
    others = {file: columns for file, columns in unique.items() if file != upload.name}
    found = []
    for column, values in unique[upload.name].items():
        sharing = [file for file, theirs in others.items() if any(values & other for other in theirs.values())]
        score = (len(sharing) + sum(bool(values & known) for known in nodes), looks_like_id(column))
        found.append((score, column, sharing))
    if found:
        score, column, sharing = max(found, key=lambda entry: entry[0])  # the first of the best
        shared = f", and shared with {counted(score[0], 'other file')}" if score[0] else ""
        return column, f"different in every row{shared}"
    named = next((column for column in upload.frame.columns if looks_like_id(column)), None)
    return (named, "named like an id") if named else (upload.frame.columns[0], "the first column")


def guess_label(uploads: Sequence[Upload], ids: Mapping[str, str]) -> Label | None:
    """Return where the labels seem to be: in a file of labels, a column named like one, or the only one of few ids."""
    tables = [upload for upload in uploads if upload.role in TABULAR]
    # The label of domains has one name in all tables.
    if shared := [column for column in domain_columns(uploads) if column not in ids.values()]:
        named = [column for column in shared if column.strip().lower() in _LABEL_COLUMNS]
        return Label(EACH, (named or shared[-1:])[0])
    # A file of labels comes before a column that is merely called like one.
    for upload in sorted(tables, key=lambda upload: upload.role != "labels"):
        columns = [column for column in upload.frame.columns if column != ids.get(upload.name)]
        # The last, for ids stand first.
        if upload.role == "labels" and columns:
            return Label(upload.name, columns[-1])
        if named := _named_like_labels(columns):
            return Label(upload.name, named)
    few = [(upload.name, upload.frame.columns[-1]) for upload in tables if _few_values(upload, ids)]
    return _alone(tables, ids) or (Label(*few[0]) if few else None)


def _alone(tables: Sequence[Upload], ids: Mapping[str, str]) -> Label | None:
    """Return the one column of the only table that has an id, one column and fewer ids than all others."""
    heights = sorted(upload.frame.height for upload in tables)
    least = [upload for upload in tables if upload.frame.height == heights[0]]
    if len(tables) < 2 or len(least) > 1 or least[0].frame.width != 2:
        return None
    return Label(least[0].name, next(column for column in least[0].frame.columns if column != ids.get(least[0].name)))


def _named_like_labels(columns: Sequence[str]) -> str | None:
    """Return the column that is called like a label, else the one whose last word is: "imdb_rating"."""
    exact = [column for column in columns if column.strip().lower() in _LABEL_COLUMNS]
    return next(iter(exact + [column for column in columns if _LABEL_WORD.search(column.strip())]), None)


def _few_values(upload: Upload, ids: Mapping[str, str]) -> bool:
    """Tell whether the last column has a few values that come again and again, as classes do."""
    column = upload.frame.columns[-1]
    series = upload.frame[column].drop_nulls()
    # Measured numbers are no classes, however few there are.
    if column == ids.get(upload.name) or series.dtype.is_float() or series.dtype.is_nested():
        return False
    # Each three times at least: what does not come again is no class.
    return 2 <= series.n_unique() <= min(_FEW, len(series) // 3)


def guess_task(series: pl.Series) -> tuple[str, str]:
    """Return "classification" or "regression" for a column of labels, and why."""
    values = series.drop_nulls().n_unique()
    if not series.dtype.is_numeric():
        return "classification", f"{counted(values, 'different word')}"
    # Up to ten, as of ratings and digits; more whole numbers are rather counts.
    if series.dtype.is_integer() and values <= 10:
        return "classification", f"only {counted(values, 'whole number')}"
    return "regression", f"{counted(values, 'different number')}"


def recipe_of(
    uploads: Sequence[Upload],
    ids: Mapping[str, str],
    label: Label | None,
    task: str | None,
    kinds: Mapping[str, Mapping[str, str]],
    without: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Compose a recipe for `studio.recipes`.

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
        By file, columns to leave out.

    Raises
    ------
    DataError
        If there is no table, or an id column is not there or stands for the label too.
    """
    gone = without or {}
    sources = [_source(upload, ids, label, kinds, gone) for upload in uploads if upload.role == "table"]
    sources = [part for part in sources if part]
    sources += [{"file": upload.name, "images": True} for upload in uploads if upload.role == "images"]
    if not sources:
        raise DataError("There is no table to learn from: add at least one file in the role of a table, or images.")
    names = source_names(part["file"] for part in sources)
    graphs = [upload.name for upload in uploads if upload.role == "graph"]
    recipe: dict[str, Any] = {"sources": [{"name": names[part["file"]]} | part for part in sources]}
    if graphs:
        headers = {upload.name: _header(upload) for upload in uploads}
        named = source_names(graphs).items()
        recipe["graphs"] = [
            {"name": name, "file": file} | ({"options": headers[file]} if headers[file] else {}) for file, name in named
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


def _source(
    upload: Upload,
    ids: Mapping[str, str],
    label: Label | None,
    kinds: Mapping[str, Any],
    without: Mapping[str, Sequence[str]],
) -> dict[str, Any] | None:
    """Return the part of a recipe for a table; None if it has nothing but ids and what is left out."""
    identifier, own = ids.get(upload.name), label is not None and label.file == EACH
    if identifier not in [*upload.frame.columns, *([""] if own else [])]:
        raise DataError(f"{upload.name} has no id column {quoted(identifier)}: choose one of its columns.")
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
    options = _header(upload) | ({"text_columns": [identifier]} if typed else {})
    return {"options": options} if options else {}


def _header(upload: Upload) -> dict[str, Any]:
    return {} if upload.header is None else {"header": upload.header}
