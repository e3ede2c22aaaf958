"""Rows that were uploaded after the training: which source each file is of, what differs, and the model's predictions.

A file is of the source with which it shares most columns. What it lacks is missing, what the model does not know is
left out, and each difference is a sentence. The model's graphs know nothing of new instances.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import polars as pl

from hetcore import model_files
from hetcore.data import HetData, Source
from hetcore.data.columns import plain
from hetcore.data.kinds import as_numbers, as_text, levels
from hetcore.data.ranges import known_ranges, messages, shifted_columns
from hetcore.data.text import counted, listed, quoted
from hetcore.errors import DataError, MissingColumnsWarning, UnfamiliarValuesWarning
from studio.readers.columns import looks_like_id
from studio.views.consensus.case_values import as_written, read_value

__all__ = ["Joins", "NewRows", "joins_of", "matched", "predict", "unfamiliar", "with_sheets"]


OF_FILE = " of "
"""Between the name of a workbook's sheet and that of its file."""


class Joins(NamedTuple):
    """How the rows of the training's tables were joined.

    By source its id column, "" where its rows were numbered; and the ways of one spelling.
    """

    id_columns: Mapping[str, str] = {}
    spelling: tuple[str, ...] = ()


class NewRows(NamedTuple):
    """New instances, the source that each file became, and what differs from the training data, in sentences."""

    data: HetData
    sources: dict[str, str]
    warnings: list[str]


def joins_of(recipe: Mapping[str, Any]) -> Joins:
    """Return how a recipe, see `studio.recipes`, joins the rows of its tables."""
    ids = {part["name"]: part["id"] for part in recipe.get("sources", ()) if "id" in part}
    return Joins(ids, tuple(recipe.get("spelling") or ()))


def matched(
    trained: HetData,
    files: Mapping[str, pl.DataFrame],
    joins: Joins = Joins(),  # noqa: B008 - immutable
    used: Collection[str] | None = None,
) -> NewRows:
    """Return new instances in the shape of those that a model was trained on.

    Parameters
    ----------
    trained : HetData
    files : mapping of str to polars.DataFrame
        New tables by file name; one with an id column joins the others by it.
    joins : Joins
        How the training's were joined, so that these are in the same way.
    used : collection of str, optional
        The sources that the model knows; all unless told.

    Raises
    ------
    DataError
        If no file has a column of any source, or two files of the same source have rows of the same id.
    """
    sources: dict[str, Source] = {}
    of_file, warnings, strange = {}, [], []
    known = [name for name in trained.source_names if used is None or name in used]
    for name, frame in files.items():
        source = _source_of(trained, name, frame)
        if source is None:
            edges = " Edges of new instances are not used." if trained.graphs else ""
            strange.append(f"{name} has no column of the training data: name its columns as they were then.{edges}")
            continue
        if source not in known:
            warnings.append(f"{name} is of {quoted(source)}, which the model was trained without: left out.")
            continue
        # Rows that are numbered in each of two files are not the same ones.
        ids = _ids(trained.sources[source], frame, joins.id_columns.get(source), name if len(files) > 1 else "new")
        found, notes = _aligned(trained.sources[source], frame, name, *ids)
        sources[source] = _below(trained, source, sources[source], found) if source in sources else found
        of_file[name], warnings = source, warnings + notes
    if not sources:
        nothing = "There is no file to predict from: upload at least one table with the columns of a source."
        raise DataError(strange[0] if strange else nothing)
    # Told, and no reason to leave the other files without predictions.
    warnings = strange + warnings
    lacking = [name for name in known if name not in sources]
    if lacking:
        warnings.append(f"No file is of {listed(lacking)}: predicted without.")
    data = HetData(sources, spelling=joins.spelling)
    warnings += _apart(data)
    # Told, for one might think that the model looks up what it was trained on.
    again = len(set(data.ids) & set(trained.ids))
    if again:
        warnings.append(f"{counted(again, 'id')} also in the training data: predicted from the new values alone.")
    return NewRows(data, of_file, warnings)


def with_sheets(trained: HetData, name: str, sheets: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the sheets of a workbook that have columns of the training data, as files; the first if none has.

    Parameters
    ----------
    trained : HetData
    name : str
        The file's.
    sheets : mapping of str to polars.DataFrame
    """
    columns = {column for source in trained.sources.values() if source.frame is not None for column in source.columns}
    of_data = {sheet: frame for sheet, frame in sheets.items() if columns & set(frame.columns)}
    return {f"{sheet}{OF_FILE}{name}": frame for sheet, frame in (of_data or dict(list(sheets.items())[:1])).items()}


def _source_of(trained: HetData, name: str, frame: pl.DataFrame) -> str | None:
    """Return the source with which a file shares most columns, None where it shares none."""
    tables = {each: source for each, source in trained.sources.items() if source.frame is not None}
    shared = {each: len(set(frame.columns) & set(source.columns)) for each, source in tables.items()}
    # By the share of its columns that the file has, so that a wide source does not win by its size; of two with the
    # same columns by the name.
    stem = PurePosixPath(name).stem

    def fit(each: str) -> tuple[float, bool]:
        return shared[each] / len(tables[each].columns), each in (stem, name) or name.startswith(f"{each}{OF_FILE}")

    best = max(shared, key=fit, default=None)
    return best if best is not None and shared[best] else None


def _apart(data: HetData) -> list[str]:
    """Return sentences on rows of the files that are not joined, though they may be of the same instances."""
    found = [finding for finding in data.report if finding.kind in ("near_id", "no_common_id")]
    problems = [(finding, re.split("[;,:]", finding.message)[0]) for finding in found]
    near = "{}, such as {}: write them the same way, or they are different ones"
    alone = "The table of {} has {}: its rows are predicted from it alone"
    return [
        f"{near.format(problem, each.examples[0]) if each.kind == 'near_id' else alone.format(each.where, problem)}."
        for each, problem in problems
    ]


def _aligned(
    source: Source, frame: pl.DataFrame, name: str, ids: pl.Series, identifier: str | None, wrong: str
) -> tuple[Source, list[str]]:
    """Return a file as a source with the columns of the training, and sentences on what differs."""
    lacking = [column for column in source.columns if column not in frame.columns]
    unknown = [column for column in frame.columns if column not in (*source.columns, identifier)]
    warnings = [f"{name} {wrong}: its rows are numbered."] if wrong else []
    warnings += [f"{name} lacks {listed(lacking)}: taken as missing."] if lacking else []
    warnings += [f"The model does not know {listed(unknown)} of {name}: left out."] if unknown else []
    columns = {}
    for column in source.columns:
        before = source.frame[column]
        given = frame[column] if column in frame.columns else pl.Series([None] * frame.height, dtype=before.dtype)
        columns[column], note = _like(source, given.alias(column))
        warnings += [f"{name}: {note}"] if note else []
    found = Source(ids, pl.DataFrame(columns))
    known = known_ranges(source)
    far, _ = shifted_columns(known, found)
    return found, [*messages(name, known, far, {}), *warnings]


def _below(trained: HetData, name: str, first: Source, second: Source) -> Source:
    """Return the rows of two files of one source, one below the other."""
    tables = {each: source for each, source in trained.sources.items() if source.frame is not None}
    alike = [each for each, source in tables.items() if set(source.columns) == set(first.columns)]
    if len(alike) > 1:
        raise DataError(f"Two of the files may be of any of {listed(alike)}: give each file the name of its table.")
    again = sorted(set(first.ids) & set(second.ids))
    if again:
        text = f"Two of the files have the columns of {quoted(name)} and {counted(len(again), 'id')} in common"
        raise DataError(f"{text}, such as {quoted(again[0])}: keep one row of each.")
    return Source([*first.ids, *second.ids], pl.concat([first.frame, second.frame], how="vertical_relaxed"))


def _ids(
    source: Source, frame: pl.DataFrame, trained: str | None, counter: str
) -> tuple[pl.Series, str | None, str]:
    """Return the ids of new rows and their column, the training's if it is there; numbers and why where it can't be."""
    others = [column for column in frame.columns if column not in source.columns]
    unique = [c for c in others if frame[c].null_count() == 0 and frame[c].n_unique() == frame.height]
    if trained in others:
        identifier = trained
    else:
        # A measurement can differ in every row, and is no id all the same. Named like an id first.
        typed = [c for c in unique if not frame[c].dtype.is_float() and not frame[c].dtype.is_nested()]
        identifier = next(iter([c for c in typed if looks_like_id(c)] + typed), None)
    if identifier in unique:
        return as_text(frame[identifier]), identifier, ""
    numbers = pl.Series([f"{counter} {place}" for place in range(1, frame.height + 1)])
    if identifier is None:
        # As they were in training, which is nothing to tell.
        return numbers, None, "" if trained == "" else "has no id column"
    return numbers, identifier, f"has ids in {quoted(identifier)} that are missing or come again"


def _like(source: Source, given: pl.Series) -> tuple[pl.Series, str]:
    """Return new values of a column in the type of the training's, and a sentence on those that differ."""
    before, kind = source.frame[given.name], source.kinds[given.name]
    # Dates, moments and durations are the numbers that they were in training: of days, of seconds.
    given = plain(given)[0] if given.dtype.is_temporal() else given
    # In the training's own type, for the encoder of the model knows no other.
    if before.dtype.is_numeric() or before.dtype == pl.Boolean or kind == "real":
        numbers = as_numbers(given)
        lost = given.filter(numbers.is_null() & given.is_not_null())
        if len(lost):
            what, cure = ("date", "; write it as 2020-12-31") if before.name in source.moments else ("number", "")
            text = f"{counted(len(lost), 'value')} of {quoted(before.name)} no {what}, such as {quoted(lost[0])}"
            return numbers, f"{text}: taken as missing{cure}."
        return numbers, _beyond(source, as_numbers(before), numbers)
    texts = as_text(given)
    # Texts are hardly ever the same twice, so that nothing new in them is worth a word.
    unseen = [] if kind == "text" else [each for each in levels(texts) if each not in set(levels(before))]
    if not unseen:
        return texts, ""
    return texts, f"{counted(len(unseen), 'value')} of {quoted(before.name)} never seen, such as {quoted(unseen[0])}."


def _beyond(source: Source, before: pl.Series, given: pl.Series) -> str:
    """Say how many numbers lie outside those of the training, beyond which trees see no difference."""
    low, high = before.min(), before.max()
    beyond = 0 if low is None else int(((given < low) | (given > high)).sum())
    if not beyond:
        return ""
    dated = given.name in source.moments
    ends = [as_written(source, given.name, end) if dated else f"{end:.4g}" for end in (low, high)]
    note = f"{counted(beyond, 'value')} of {quoted(given.name)} outside {ends[0]} to {ends[1]}"
    return f"{note}, where no row was trained."


def unfamiliar(trained: HetData, values: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a sentence on each value of a case, by source and column, that lies outside those of the training."""
    found = []
    for name, given in values.items():
        source = trained.sources[name]
        for column, value in given.items():
            # An empty field is a missing value, which is familiar, and so is one of two.
            if value not in (None, "") and source.frame[column].dtype != pl.Boolean:
                plainly = read_value(source, column, value)[0] if column in source.moments else value
                found.append(_like(source, pl.Series(column, [str(plainly)]))[1])
    return [note for note in found if note]


def predict(
    model: bytes,
    data: HetData,
    files: Sequence[tuple[str, pl.DataFrame]],
    recipe: Mapping[str, Any] = {},  # noqa: B006 - not changed
) -> tuple[pl.DataFrame, list[str]]:
    """Return the predictions of a model file for new instances, and what differs from the training data, in sentences.

    In a worker, which holds the data since the training: another one would have to load the library first.

    Parameters
    ----------
    model : bytes
        Of a consensus of `hetcore`.
    data : HetData
        That it was trained on.
    files : sequence of (str, polars.DataFrame)
        As of `matched`, by pairs.
    recipe : mapping
        How the training data came about: the new rows are joined in the same way.

    Returns
    -------
    polars.DataFrame
        "id", "prediction", "coverage", "sources" and "p:CLASS".
    list of str
        The differences.

    Raises
    ------
    DataError
        As `matched` does.
    """
    loaded = model_files.load(model)
    # A what-if may have left some of the sources out.
    data, _, differences = matched(data, dict(files), joins_of(recipe), loaded.source_weights_)
    with warnings.catch_warnings():
        # `matched` has found the same, and the page shows it
        for category in (MissingColumnsWarning, UnfamiliarValuesWarning):
            warnings.simplefilter("ignore", category)
        explained = loaded.explain(data)
    columns = {"id": list(data.ids), "prediction": explained.prediction.tolist()}
    columns["coverage"] = explained.coverage.tolist()
    columns["sources"] = data.mask.sum(axis=0).tolist()
    if explained.probabilities is not None:
        columns |= {f"p:{label}": explained.probabilities[:, k] for k, label in enumerate(loaded.classes_)}
    return pl.DataFrame(columns, strict=False), differences
