"""What uploaded files say together: which tables are edges or domains, which column holds ids, what the label is.

Everything here is a guess with its reason, for the person to correct on the Data page, and knows no UI framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from hetcore.data.identity import as_ids
from hetcore.data.spelling import respelled
from hetcore.data.text import counted, listed, quoted
from studio.readers import domain_tables
from studio.readers.columns import LABEL_NAMES, looks_like_id, looks_like_label
from studio.uploads import TABULAR, Upload

__all__ = [
    "EACH", "Label", "domain_columns", "edge_lists", "first_row", "guess_ids", "guess_label", "guess_task",
    "ids_of_domains", "nearly_domains", "repeated_ids", "row_numbers", "stands_alone",
]  # fmt: skip

EACH = ""
"""The file of a `Label` where each table is a domain with its own labels."""
_RATINGS = ("rating", "ratings", "stars")
_FEW = 20
"""Different values at most of a last column that may be the label without being named so."""
_ENDS = 0.9
# Not all, for edge lists are often of a larger collection than the tables.
"""Share of a column's values that are ids of a table, where it holds ends of edges."""
# The first values are enough for a share, and a list of edges can be long.
_SAMPLE = 2_000
_MUCH = 0.5
"""Share of a column's values that another file has too, where both are ids of the same things."""


_NEARLY = 0.9
"""Share of rows with a value of their own from which a column may hold ids, where none differs in every row."""
_FIRST, _NAMED = "the first column", "named like an id"


class Label(NamedTuple):
    """Where the labels are: a file and its column; in each table a column of this name, where `file` is `EACH`."""

    file: str
    column: str


def first_row(upload: Upload) -> bool | None:
    """Return whether the first row of a delimited text was taken for names of columns; None for other formats."""
    if not any(guess.endswith(" between columns") for guess in upload.guesses):
        return None
    return not any(guess.startswith("no header") for guess in upload.guesses)


def edge_lists(uploads: Sequence[Upload]) -> dict[str, bool]:
    """Return the tables whose first two columns hold ids of other tables, and so are edges, whatever they are called.

    Among them are graphs whose first row was taken for an edge, and has no such ids.

    Returns
    -------
    dict of str to bool
        By file name, whether its first row names the columns: it does unless both names are such ids too.
    """
    tables = {upload.name: upload.frame for upload in uploads if upload.role in TABULAR}
    unique = {name: frame.select(_unique_columns(frame)) for name, frame in tables.items()}
    found = {}
    for upload in uploads:
        frame, names = _below_first_row(upload)
        if not names:
            continue
        ends = [_ids(frame[column].head(_SAMPLE)) for column in frame.columns[:2]]
        # all ids, not the first of one table: an end may be of any row, and no table need have all instances
        theirs: dict[str, list[pl.Series]] = {}
        for column in (each for name, frame in unique.items() if name != upload.name for each in frame.iter_columns()):
            theirs.setdefault(column.name, []).append(_ids(column))
        for ids in map(pl.concat, theirs.values()):
            # As written first, for that is quick; ends with a space behind them are ends too, which a button mends.
            header = _header_above(names, ends, ids, _as_written)
            header = _header_above(names, ends, ids, respelled) if header is None else header
            # An edge from a known node to an unknown one is no header.
            if upload.role == "table" and header is not None or header and not set(names) & set(ids):
                found[upload.name] = header
    return found


def _as_written(texts: pl.Series) -> pl.Series:
    return texts


def _below_first_row(upload: Upload) -> tuple[pl.DataFrame, list[str]]:
    """Return what may be edges and what stands in the first row above them, nothing where it is known."""
    if upload.role == "table" and _may_be_edges(upload.frame):
        return upload.frame, upload.frame.columns[:2]
    if upload.role == "graph" and first_row(upload) is False and upload.frame.height > 1:
        ends, names = upload.frame.select("source", "target")[1:], [*upload.frame["source", "target"].row(0)]
        # A node that comes again is one, known or not.
        return ends, [] if any(ends[end].is_in(names).any() for end in ends.columns) else names
    return upload.frame, []


def _header_above(
    names: Sequence[str], ends: Sequence[pl.Series], ids: pl.Series, spelled: Callable[[pl.Series], pl.Series]
) -> bool | None:
    """Return whether the first row names the columns, of a table whose ends are among ids; None where they are not."""
    known = spelled(ids)
    if not all(len(end) and spelled(end).is_in(known.implode()).mean() >= _ENDS for end in ends):
        return None
    # True where the ids are another kind of thing, so that the person is told what links what.
    return not set(spelled(pl.Series(names))) <= set(known)


def _ids(series: pl.Series) -> pl.Series:
    """Return the different ids of a column."""
    return as_ids(series.drop_nulls())[0].unique()


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


def domain_columns(uploads: Sequence[Upload]) -> list[str]:
    """Return the columns of tables that may be domains, at least two with the same columns, or most; else nothing."""
    tables = [upload for upload in uploads if upload.role == "table"]
    shared = domain_tables.shared_columns([upload.frame for upload in tables])
    if not shared or any(upload.role == "labels" for upload in uploads):
        return []
    return [] if _lacking(tables) and not _apart_by_label(tables, shared) else shared


def _lacking(tables: Sequence[Upload]) -> dict[str, list[str]]:
    """Return the columns that each table lacks of those of all, of the tables that lack some."""
    every = dict.fromkeys(column for upload in tables for column in upload.frame.columns)
    lacks = {upload.name: [column for column in every if column not in upload.frame.columns] for upload in tables}
    return {name: columns for name, columns in lacks.items() if columns}


def _apart_by_label(tables: Sequence[Upload], shared: Sequence[str]) -> bool:
    """Tell whether tables that lack columns have a label each all the same, and are of different things."""
    named = _labels_among(list(dict.fromkeys(column for upload in tables for column in upload.frame.columns)))
    labels = set(named[:1] or [upload.frame.columns[-1] for upload in tables])
    if len(labels) > 1 or not labels <= set(shared):
        return False
    return not ids_of_domains(tables, {upload.name: domain_tables.guess_id(upload.frame)[0] for upload in tables})


def nearly_domains(uploads: Sequence[Upload]) -> str:
    """Return a sentence of the columns that some of several tables lack, and what follows for domains, else ""."""
    tables = [upload for upload in uploads if upload.role == "table"]
    lacks = _lacking(tables)
    if not lacks or not domain_tables.shared_columns([upload.frame for upload in tables]):
        return ""
    found = "; ".join(f"{quoted(name)} lacks {listed(columns)}" for name, columns in lacks.items())
    if domain_columns(uploads):
        return f"{found}: Transfer learns from the columns that all tables have."
    cure = "add or rename columns until all have the same, empty where a value is not known"
    return f"{found}: {cure}, and the tables can be domains, each with its own labels, for Transfer."


def stands_alone(uploads: Sequence[Upload]) -> bool:
    """Tell whether there is one table and nothing else, so that its rows are matched with nothing."""
    return [upload.role for upload in uploads] == ["table"]


class _Column(NamedTuple):
    """A column that differs in every row: some of its values as text, in one spelling, and how many rows it has."""

    values: set[str]
    height: int
    counts_rows: bool = False

    def meets(self, other: _Column) -> bool:
        """Tell whether any of the values are values of the other too."""
        return not self.values.isdisjoint(other.values)

    def is_of(self, other: _Column) -> bool:
        """Tell whether at least about half of the values of the shorter are values of the other too."""
        if not self.meets(other):
            return False
        # What samples of two columns in random order have in common, if the longer has all values of the shorter.
        expected = len(self.values) * len(other.values) / max(self.height, other.height)
        return len(self.values & other.values) >= _MUCH * expected


def guess_ids(uploads: Sequence[Upload]) -> dict[str, tuple[str, str]]:
    """Return the id column of each table, and why it was taken."""
    tables = [upload for upload in uploads if upload.role in TABULAR]
    if domain_columns(uploads):
        return {upload.name: domain_tables.guess_id(upload.frame) for upload in tables}
    unique = {upload.name: _id_columns(upload.frame) for upload in tables}
    guesses = {upload.name: _guess_id(upload, unique, _nodes(uploads)) for upload in tables}
    # Any column would drop the rows in which it comes again.
    if stands_alone(uploads) and guesses[uploads[0].name][1] in (_FIRST, _NAMED):
        return {uploads[0].name: ("", "no column differs in every row")}
    return guesses


def row_numbers(uploads: Sequence[Upload], ids: Mapping[str, str]) -> str:
    """Return a sentence if the ids of several tables look like row numbers that nothing confirms, else ""."""
    tables = [upload for upload in uploads if upload.role in TABULAR and ids.get(upload.name)]
    chosen = {upload.name: _id_columns(upload.frame.select(ids[upload.name])) for upload in tables}
    found = [(file, column) for file, columns in chosen.items() for column in columns.values()]
    counters = {file: column for file, column in found if column.counts_rows}
    others = [*_nodes(uploads), *(column for file, column in found if file not in counters)]
    if len(counters) < 2 or any(column.meets(other) for column in counters.values() for other in others):
        return ""
    files = listed(counters)
    return f"The ids of {files} look like row numbers: choose other columns unless row 1 is the same thing in each."


def ids_of_domains(uploads: Sequence[Upload], ids: Mapping[str, str]) -> str:
    """Return a sentence if at least half of the ids of some domain are those of another too, else ""."""
    tables = [upload for upload in uploads if upload.role == "table" and ids.get(upload.name)]
    columns = {upload.name: _id_columns(upload.frame.select(ids[upload.name])) for upload in tables}
    # Rows of any two tables may be numbered from 1 on.
    found = [(file, each) for file, some in columns.items() for each in some.values() if not each.counts_rows]
    pairs = [(a, b) for place, (a, one) in enumerate(found) for b, other in found[:place] if one.is_of(other)]
    if not pairs:
        return ""
    files = listed(dict.fromkeys(file for file in columns if any(file in pair for pair in pairs)))
    return f"{files} have the same ids, which are different things here: if they are not, choose one file of labels."


def repeated_ids(uploads: Sequence[Upload], ids: Mapping[str, str]) -> str:
    """Return a sentence if rows of domains are numbered though a column seems to hold their ids, else ""."""
    parts = []
    for upload in (upload for upload in uploads if upload.role == "table" and not ids.get(upload.name)):
        nearly = [column for column in _unique_columns(upload.frame, _NEARLY) if looks_like_id(column)]
        # What tells the rows of another domain apart is the id here too, however often it comes again.
        columns = [column for column in upload.frame.columns if column in (*ids.values(), *nearly)]
        repeated = [column for column in columns if upload.frame[column].drop_nulls().n_unique() < upload.frame.height]
        parts += [f"{quoted(upload.name)} has ids in {quoted(column)}" for column in repeated[:1]]
    more = "rows are numbered, and they are a column as any other"
    return f"{'; '.join(parts)} that are missing or come again: {more}." if parts else ""


def _nodes(uploads: Sequence[Upload]) -> list[_Column]:
    """Return some of the ids of each graph and of each zip of images."""
    ends = {"graph": "source", "images": "id"}
    found = [_texts(upload.frame[ends[upload.role]]) for upload in uploads if upload.role in ends]
    return [_Column(values, len(values)) for values in found]


def _texts(series: pl.Series) -> set[str]:
    """Return some values as text, in one spelling."""
    return set(respelled(as_ids(series.head(_SAMPLE))[0]))


def _unique_columns(frame: pl.DataFrame, least: float = 1.0) -> list[str]:
    """Return the columns of text or whole numbers of which at least a share of all rows has a value of its own."""
    typed = [name for name, kind in frame.schema.items() if kind == pl.String or kind.is_integer()][:200]
    return [name for name in typed if frame[name].drop_nulls().n_unique() >= max(1, least * frame.height)][:20]


def _id_columns(frame: pl.DataFrame) -> dict[str, _Column]:
    """Return the columns that differ in every row; without one, the first or one named like an id that nearly does."""
    names = _unique_columns(frame)
    # An empty row, or one that is listed twice, makes its id no less an id.
    nearly = [] if names else _unique_columns(frame, _NEARLY)
    names = names or [name for name in nearly if name == frame.columns[0] or looks_like_id(name)]
    columns = {name: frame[name].drop_nulls() for name in names}
    return {name: _Column(_texts(column), frame.height, _counts_rows(column)) for name, column in columns.items()}


def _counts_rows(series: pl.Series) -> bool:
    """Tell whether values that differ in every row are the whole numbers from 0 or 1 on, in any order."""
    numbers = series.cast(pl.Int64, strict=False)
    return numbers.null_count() == 0 and numbers.min() in (0, 1) and numbers.max() - numbers.min() == len(series) - 1


def _guess_id(
    upload: Upload, unique: Mapping[str, Mapping[str, _Column]], nodes: Sequence[_Column]
) -> tuple[str, str]:
    others = [list(columns.values()) for file, columns in unique.items() if file != upload.name]
    others += [[each] for each in nodes]
    found = []
    for name, column in unique[upload.name].items():
        sharing = sum(any(column.meets(other) for other in theirs) for theirs in others)
        # Any two tables have row numbers in common, which need not number the same things.
        telling = any(column.meets(each) for each in nodes) or not column.counts_rows
        telling &= any(column.is_of(other) for theirs in others for other in theirs)
        found.append(((telling, sharing, looks_like_id(name)), name))
    if found:
        (_, sharing, _), name = max(found, key=lambda entry: entry[0])  # the first of the best
        shared = f", and shared with {counted(sharing, 'other file')}" if sharing else ""
        every = upload.frame[name].drop_nulls().n_unique() == upload.frame.height
        return name, f"different in {'' if every else 'nearly '}every row{shared}"
    named = next((column for column in upload.frame.columns if looks_like_id(column)), None)
    return (named, _NAMED) if named else (upload.frame.columns[0], _FIRST)


def guess_label(uploads: Sequence[Upload], ids: Mapping[str, str]) -> Label | None:
    """Return where the labels seem to be: in a file of labels, a column named like one, or the only one of few ids."""
    tables = [upload for upload in uploads if upload.role in TABULAR]
    # The label of domains has one name in all tables.
    if shared := [column for column in domain_columns(uploads) if column not in ids.values()]:
        frames = [upload.frame for upload in tables]
        possible = [column for column in shared if not any(_all_different(frame[column]) for frame in frames)]
        return Label(EACH, (_labels_among(shared) or possible[-1:] or shared[-1:])[0])
    # A file of labels comes before a column that is merely called like one.
    for upload in sorted(tables, key=lambda upload: upload.role != "labels"):
        columns = [column for column in upload.frame.columns if column != ids.get(upload.name)]
        # The last, for ids stand first.
        if upload.role == "labels" and columns:
            return Label(upload.name, columns[-1])
        if named := _named_like_labels(columns):
            return Label(upload.name, named)
    # What stands alone beside its ids is rather a label than the last of several columns.
    few = sorted((upload for upload in tables if _few_values(upload, ids)), key=lambda upload: upload.frame.width > 2)
    return _alone(tables, ids) or (Label(few[0].name, _last(few[0])) if few else None)


def _alone(tables: Sequence[Upload], ids: Mapping[str, str]) -> Label | None:
    """Return the one column of the only table that has an id, one column and fewer filled rows than all others."""
    filled = sorted((_filled(upload, ids), place) for place, upload in enumerate(tables))
    if len(tables) < 2 or filled[0][0] == filled[1][0]:
        return None
    least = tables[filled[0][1]]
    if least.frame.width != 2:
        return None
    column = next(column for column in least.frame.columns if column != ids.get(least.name))
    return None if _all_different(least.frame[column]) else Label(least.name, column)


def _filled(upload: Upload, ids: Mapping[str, str]) -> int:
    """Return how many rows have a value beside the id: a list of labels may name whom has none yet."""
    values = [column for column in upload.frame.columns if column != ids.get(upload.name)]
    return int(upload.frame.select(pl.any_horizontal(pl.col(values).is_not_null()).sum()).item()) if values else 0


def _named_like_labels(columns: Sequence[str]) -> str | None:
    """Return the column that is called like a label, else the one whose last word is: "imdb_rating"."""
    return next(iter(_labels_among(columns) + [column for column in columns if looks_like_label(column)]), None)


def _labels_among(columns: Sequence[str]) -> list[str]:
    """Return the columns whose name is one of a label, a mere "y" last: it may be a coordinate."""
    named = [column for column in columns if column.strip().lower() in LABEL_NAMES]
    return sorted(named, key=lambda column: column.strip().lower() == "y")


def _all_different(series: pl.Series) -> bool:
    """Tell whether it is text that is another in nearly each row, as reports are: nothing could be learned of it."""
    given = series.drop_nulls()
    return given.dtype == pl.String and given.n_unique() >= max(2, _NEARLY * len(given))


def _whole(series: pl.Series) -> bool:
    """Tell whether all are whole numbers: classes beside missing values are often written as 0.0 and 1.0."""
    return series.dtype.is_integer() or (series.dtype.is_float() and bool((series == series.round()).all()))


def _last(upload: Upload) -> str:
    """Return the last column that does not merely say from which domain a row is."""
    columns = upload.frame.columns
    return next((each for each in reversed(columns) if each != domain_tables.domain_column(upload.frame)), columns[-1])


def _few_values(upload: Upload, ids: Mapping[str, str]) -> bool:
    """Tell whether the last column has a few values that come again and again, as classes do."""
    column = _last(upload)
    series = upload.frame[column].drop_nulls()
    # Measured numbers are no classes, however few there are.
    measured = series.dtype.is_float() and not _whole(series)
    if column == ids.get(upload.name) or measured or series.dtype.is_nested():
        return False
    # Each three times at least: what does not come again is no class.
    return 2 <= series.n_unique() <= min(_FEW, len(series) // 3)


def guess_task(series: pl.Series) -> tuple[str, str]:
    """Return "classification" or "regression" for a column of labels, and why."""
    values = series.drop_nulls().n_unique()
    if not series.dtype.is_numeric():
        return "classification", f"{counted(values, 'different word')}"
    # One star is nearer to two than to five: what fills in ratings asks for numbers.
    if series.name.strip().lower() in _RATINGS:
        return "regression", "the name of a rating"
    # Up to ten, as of digits; more whole numbers are rather counts.
    if _whole(series) and values <= 10:
        return "classification", f"only {counted(values, 'whole number')}"
    return "regression", f"{counted(values, 'different number')}"
