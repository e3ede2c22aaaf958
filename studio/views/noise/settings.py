"""What the Noise page trains, without a page: kinds of data, pairs of settings, and why data do not suit.

A mode pairs a plain method with one that learns a deviation for every row:

    Table    GBM  HGBM     X, y              Matrix   MF   HMF    user, item       Tensor   PTF  HTF    three modes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

import hetcore as hc
from hetcore.data import HetData
from hetcore.data.text import counted
from studio import scenarios
from studio.jobs.job import Setting
from studio.readers.columns import looks_like_id

__all__ = [
    "DONE",
    "MODES",
    "Mode",
    "chosen",
    "guessed_modes",
    "operations_of",
    "records",
    "why_not",
    "settings",
    "suited",
    "table_method",
    "without_code",
]

LEAST_ROWS = 20
DONE = {True: "disturbed", False: "flipped"}  # what is done to labels, by whether they are numbers
SPARE_COLUMNS = 2  # beside the codes of a record, such as when it was made; a table of more is one of features
USERS = ("user", "users", "userid", "user_id", "person", "customer", "reviewer")
ITEMS = ("item", "items", "itemid", "item_id", "movie", "movieid", "film", "product")
TIMES = ("time", "timestamp", "year", "quarter", "month", "week", "date", "day", "hour", "minute", "second", "epoch")


class Mode(NamedTuple):
    """A way of looking at noise.

    Attributes
    ----------
    plain, learned : str
        Labels of the two trainings: without and with a learned deviation.
    examples : tuple of str
        Data sets that show it, best first.
    n_codes : int
        Columns of codes; 0 for a table.
    labels : str
        What is predicted, in the plural.
    """

    plain: str
    learned: str
    examples: tuple[str, ...]
    n_codes: int
    labels: str


MODES = {
    "Table": Mode("GBM", "HGBM", ("digits_views", "planted_noise", "planted_flips", "abalone"), 0, "labels"),
    "Matrix": Mode("MF", "HMF", ("movielens_100k", "planted_ratings"), 2, "ratings"),
    "Tensor": Mode("PTF", "HTF", ("intel_lab", "planted_sensors"), 3, "readings"),
}


# What is trained ------------------------------------------------------------------------------------------------------


def settings(
    mode: str, data: HetData, params: Mapping[str, Any], operations: Sequence[Mapping[str, Any]], codes: Sequence[str]
) -> dict[str, Setting]:
    """Return the two settings of a mode by label, the one that learns a deviation first.

    Parameters
    ----------
    mode : str
        Of `MODES`.
    data : HetData
    params : mapping
        Of the one that learns a deviation.
    operations : sequence of mappings
    codes : sequence of str
        Columns of codes, unless the mode is a table.
    """
    about, params, operations = MODES[mode], dict(params), [dict(operation) for operation in operations]
    if mode == "Table":
        name, form = table_method(data), {"form": "table"}
        both = {about.learned: params | {"deviation": "learned"}, about.plain: params | {"deviation": "constant"}}
        return {label: Setting(name, given, operations, form=form) for label, given in both.items()}
    form = {"form": "codes", "columns": list(codes)}
    names = {"Matrix": ("HMF", "MatrixFactorization"), "Tensor": ("HTF", "TensorFactorization")}[mode]
    taken = getattr(hc, names[1])().get_params()
    # The plain one takes fewer parameters: those of the deviation mean nothing to it.
    fewer = {name: value for name, value in params.items() if name in taken}
    return {
        about.learned: Setting(names[0], params, operations, form=form),
        about.plain: Setting(names[1], fewer, operations, form=form),
    }


def chosen(settings: Mapping[str, Setting], events: Mapping[str, Sequence[Any]]) -> str:
    """Say which numbers parameters of "auto" became in the trainings; empty where none is.

    Parameters
    ----------
    settings : mapping of str to Setting
        By label.
    events : mapping of str to sequence of RoundEnd
        By label.
    """
    # not before: a server begins without numba
    from hetcore.factorization.choice import FIXED
    from hetcore.factorization.estimator import FEWEST, MOST

    # None of a training without an epoch yet: what it chose is not known.
    found = {label: events[label][-1].detail.get("choices", {}) for label in settings if events.get(label)}
    found = {label: numbers for label, numbers in found.items() if "auto" in settings[label].params.values()}
    if not found:
        return ""
    if any("max_leaf_nodes" in numbers for numbers in found.values()):
        each = "; ".join(f"{label} {numbers['max_leaf_nodes']}" for label, numbers in found.items() if numbers)
        return f"Leaves of a tree: {each}."
    if any(found.values()):
        return f"Chosen by cross-validation: {'; '.join(f'{label} {_named(found[label])}' for label in found)}."
    params = settings[next(iter(found))].params
    numbers = _named({name: number for name, number in FIXED.items() if params.get(name) == "auto"})
    if not numbers:
        return ""
    printed = "as printed nothing is left out to choose by"
    return f"{numbers}: {printed if params['as_printed'] else f'cross-validation is for {FEWEST} to {MOST:,} ratings'}."


def _named(numbers: Mapping[str, float]) -> str:
    return ", ".join(f"{getattr(hc.HMF, name).slider.label} = {number:g}" for name, number in numbers.items())


def operations_of(data: HetData, known: float, share: float, sd: float, seed: int) -> list[dict[str, Any]]:
    """Return the operations that keep a share of the labels to train on and spoil a share of those.

    Classes are flipped; numbers get noise of `sd` of their standard deviations.
    """
    done: list[dict[str, Any]] = []
    if known < 1:
        done.append({"op": "labels", "fraction": float(known), "seed": seed})
    # After the choice of labels, so that those to score by stay as they are.
    if share > 0 and data.target_kind == "classification":
        done.append({"op": "flip_labels", "share": float(share), "seed": seed})
    elif share > 0 and sd > 0:
        done.append({"op": "label_noise", "share": float(share), "sd": float(sd), "seed": seed})
    return scenarios.checked(done)


def table_method(data: HetData) -> str:
    """Return the method that a table is trained with."""
    return "HGBMClassifier" if data.target_kind == "classification" else "HGBMRegressor"


def why_not(mode: str, data: HetData) -> str:
    """Return in one sentence why the data don't suit a mode; empty if they do."""
    if data.target_kind is None or not data.labelled.any():
        return "The data have no label: choose a label column on the Data page, or use an example."
    if not MODES[mode].n_codes:
        few = int(data.labelled.sum()) < LEAST_ROWS
        return f"Fewer than {LEAST_ROWS} rows have a label: choose larger data." if few else ""
    codes = records(data, MODES[mode].n_codes)
    if codes and _are_starred(data, codes[0], MODES[mode].n_codes):
        return f"The {MODES[mode].labels} are read as classes: on the Data page choose that the labels are numbers."
    wanted = "a user, an item and a rating" if mode == "Matrix" else "three codes (such as sensor, time, quantity)"
    if data.target_kind != "regression" or not codes:
        return f"These data are no {mode.lower()}: it takes a table with {wanted} in each row, and a number to predict."
    return ""


def _are_starred(data: HetData, table: str, n_codes: int) -> bool:
    """Whether a narrow table of codes has whole numbers, such as one to five stars, that were guessed to be classes."""
    if data.target_kind != "classification" or len(data.sources[table].columns) > n_codes + SPARE_COLUMNS:
        return False
    classes = pl.Series([str(each) for each in data.classes])
    return not classes.cast(pl.Float64, strict=False).null_count()


def suited(data: HetData) -> str:
    # The one that asks for more first: a tensor's table suits a matrix too.
    """Return the mode to begin with: a matrix or a tensor for a table of nothing but two or three codes."""
    for mode in ("Tensor", "Matrix"):
        about = MODES[mode]
        found = records(data, about.n_codes) if data.target_kind == "regression" else None
        if found and len(found[1]) == len(data.sources[found[0]].columns) == about.n_codes:
            source = data.sources[found[0]]
            # The date of a rating is no third code.
            dates = () if _are_rated(source.columns, found[1]) else source.moments
            # Whole numbers may be ages as well as codes, so that they need the name of one.
            if all(source.kinds[c] != "real" or c in dates or c.lower() in USERS + ITEMS or looks_like_id(c)
                   for c in found[1]):  # fmt: skip
                return mode
        if mode == "Matrix" and found and _are_rated(data.sources[found[0]].columns, found[1]):
            return mode
    return "Table"


def _are_rated(columns: Sequence[str], codes: Sequence[str]) -> bool:
    """Whether a table names a user and an item, and beside them at most when one rated the other."""
    rated = {column.lower() for column in columns} - {*TIMES}
    named = all(rated & {*names} for names in (USERS, ITEMS))
    return named and len(rated) == 2 and rated <= {code.lower() for code in codes}


def records(data: HetData, count: int) -> tuple[str, list[str]] | None:
    """Return the table that holds records of codes, and the columns that may be codes; None without one.

    A column of codes repeats its values: fewer than half as many as rows. Numbers with a fraction are measurements.
    """
    for name, source in data.sources.items():
        if source.frame is None:
            continue
        frame = source.frame
        # A code comes again and again, at least twice on average.
        repeats = [c for c in frame.columns if source.kinds[c] != "array" and 2 * frame[c].n_unique() < frame.height]
        repeats = [c for c in repeats if not frame[c].dtype.is_float() or (frame[c].drop_nulls() % 1 == 0).all()]
        if len(repeats) >= count:
            return name, repeats
    return None


def without_code(data: HetData, columns: Sequence[str]) -> str:
    """Return in a sentence how many records lack one of their codes, and so are left out; empty where none does."""
    name, _ = records(data, len(columns))
    missing = int(data.sources[name].frame.select(pl.any_horizontal(pl.col(columns).is_null())).to_series().sum())
    return f"Left out: {counted(missing, 'record')} without {' or '.join(columns)}." if missing else ""


def guessed_modes(columns: Sequence[str], count: int) -> list[str]:
    """Return which columns are the modes, by their names where they tell, else the first ones."""
    names = {column.lower(): column for column in columns}
    if count == 2:
        user = next((names[name] for name in USERS if name in names), None)
        item = next((names[name] for name in ITEMS if name in names), None)
        if user and item:
            return [user, item]
    return list(columns[:count])
