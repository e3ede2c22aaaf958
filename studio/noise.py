"""What the Noise page works out of data and runs, without a page: who was spoilt, who is distrusted, who strays.

A mode pairs a plain method with one that learns a deviation for every row:

    Table    GBM  HGBM     X, y              Matrix   MF   HMF    user, item       Tensor   PTF  HTF    three modes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hetcore as hc
from hetcore.data import HetData
from studio import scenarios
from studio.training import Setting

__all__ = [
    "MODES", "Mode", "by_code", "column_share", "distrusted", "guessed_modes", "guessed_time", "hits", "judged",
    "operations_of", "rank_correlation", "records", "refusal", "reliability", "scored_codes", "sensor", "settings",
    "spoilt", "time_order",
]  # fmt: skip

LEAST_ROWS = 20
MANY_COLUMNS = 50
BINS = np.linspace(0.0, 1.0, 11)
USERS = ("user", "users", "userid", "user_id", "person", "customer", "reviewer")
ITEMS = ("item", "items", "itemid", "item_id", "movie", "movieid", "film", "product")
TIMES = ("time", "hour", "date", "epoch", "day", "minute", "step", "mode2")


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
    """

    plain: str
    learned: str
    examples: tuple[str, ...]
    n_codes: int


MODES = {
    "Table": Mode("GBM", "HGBM", ("digits_views", "planted_noise", "planted_flips", "abalone"), 0),
    "Matrix": Mode("MF", "HMF", ("movielens_100k", "planted_ratings"), 2),
    "Tensor": Mode("PTF", "HTF", ("intel_lab", "planted_sensors"), 3),
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
        name, form = "HGBMClassifier" if data.target_kind == "classification" else "HGBMRegressor", {"form": "table"}
        both = {about.learned: params | {"deviation": "learned"}, about.plain: params | {"deviation": "constant"}}
        return {label: Setting(name, given, operations, form=form) for label, given in both.items()}
    form = {"form": "codes", "columns": list(codes)}
    names = {"Matrix": ("HMF", "MatrixFactorization"), "Tensor": ("HTF", "TensorFactorization")}[mode]
    taken = getattr(hc, names[1])().get_params()
    plain = {name: value for name, value in params.items() if name in taken}
    return {
        about.learned: Setting(names[0], params, operations, form=form),
        about.plain: Setting(names[1], plain, operations, form=form),
    }


def operations_of(data: HetData, known: float, share: float, sd: float, seed: int) -> list[dict[str, Any]]:
    """Return the operations that keep a share of the labels to train on and spoil a share of those.

    Classes are flipped; numbers get noise of `sd` of their standard deviations.
    """
    done: list[dict[str, Any]] = []
    if known < 1:
        done.append({"op": "labels", "fraction": float(known), "seed": seed})
    if share > 0 and data.target_kind == "classification":
        done.append({"op": "flip_labels", "share": float(share), "seed": seed})
    elif share > 0 and sd > 0:
        done.append({"op": "label_noise", "share": float(share), "sd": float(sd), "seed": seed})
    return scenarios.checked(done)


def column_share(data: HetData) -> float:
    """Return which share of the columns a tree should see: all of a few, a fifth of many."""
    return 0.2 if sum(source.n_columns or 0 for source in data.sources.values()) > MANY_COLUMNS else 1.0


def refusal(mode: str, data: HetData) -> str:
    """Return in one sentence why the data don't suit a mode; empty if they do."""
    if data.target_kind is None or not data.labelled.any():
        return "The data have no label: choose a label column on the Data page, or load an example."
    if not MODES[mode].n_codes:
        few = int(data.labelled.sum()) < LEAST_ROWS
        return f"Fewer than {LEAST_ROWS} rows have a label: choose larger data." if few else ""
    wanted = "a user, an item and a rating" if mode == "Matrix" else "three codes (such as sensor, time, quantity)"
    if data.target_kind != "regression" or not records(data, MODES[mode].n_codes):
        return f"These data are no {mode.lower()}: it takes a table with {wanted} in each row, and a number to predict."
    return ""


def records(data: HetData, count: int) -> tuple[str, list[str]] | None:
    """Return the table that holds records of codes, and the columns that may be codes; None without one.

    A column of codes repeats its values: fewer than half as many as rows.
    """
    for name, source in data.sources.items():
        if source.frame is None:
            continue
        frame = source.frame
        repeats = [c for c in frame.columns if source.kinds[c] != "array" and 2 * frame[c].n_unique() < frame.height]
        if len(repeats) >= count:
            return name, repeats
    return None


def guessed_modes(columns: Sequence[str], count: int) -> list[str]:
    """Return which columns are the modes, by their names where they tell, else the first ones."""
    names = {column.lower(): column for column in columns}
    if count == 2:
        user = next((names[name] for name in USERS if name in names), None)
        item = next((names[name] for name in ITEMS if name in names), None)
        if user and item:
            return [user, item]
    return list(columns[:count])


# What came of it ------------------------------------------------------------------------------------------------------


def spoilt(data: HetData, operations: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the rows whose label was spoilt: "id", "was" (the label before)."""
    checked = scenarios.checked(operations)
    clean = [operation for operation in checked if not scenarios.OPERATIONS[operation["op"]].spoils]
    schema = {"id": pl.String, "was": pl.String if data.target_kind == "classification" else pl.Float64}
    if len(clean) == len(checked):
        return pl.DataFrame(schema=schema)
    before, after = scenarios.apply(data, clean), scenarios.apply(data, checked)
    old, new = (each.data.y if each.y is None else each.y for each in (before, after))
    changed = np.array([a is not None and a == a and a != b for a, b in zip(old, new)], bool)
    return pl.DataFrame({"id": before.data.ids[changed].tolist(), "was": old[changed].tolist()}, schema=schema)


def judged(predictions: pl.DataFrame, numbers: bool) -> pl.DataFrame:
    """Return the rows with a label, with "truth" (held out, or as trained on), "held" and, of numbers, "residual"."""
    held = pl.col("held_out") if "held_out" in predictions.columns else pl.lit(None)
    frame = predictions.with_columns(truth=pl.coalesce(held, "label"), held=held.is_not_null())
    frame = frame.filter(pl.col("truth").is_not_null())
    return frame.with_columns(residual=pl.col("truth") - pl.col("prediction")) if numbers else frame


def distrusted(predictions: pl.DataFrame, wrong: pl.DataFrame, by: str = "weight") -> pl.DataFrame:
    """Return the rows that were trained on, the most distrusted first.

    Parameters
    ----------
    predictions : DataFrame
        Of a run, with "weight".
    wrong : DataFrame
        See `spoilt`.
    by : {"weight", "surprise"}
        The least weight first, or the largest |label - prediction| in standard deviations ("surprise").

    Returns
    -------
    DataFrame
        "id", "weight", "label", "prediction", "surprise" (of numbers), "was", "spoilt".
    """
    rows = predictions.filter(pl.col("label").is_not_null()).join(wrong, on="id", how="left", maintain_order="left")
    rows = rows.with_columns(spoilt=pl.col("id").is_in(wrong["id"].implode()))
    if "std" in rows.columns:
        rows = rows.with_columns(surprise=(pl.col("label") - pl.col("prediction")).abs() / pl.col("std"))
    order = ["id", "weight", "label", "prediction", "surprise", "was", "spoilt"]
    kept = rows.select([column for column in order if column in rows.columns])
    return kept.sort(by, descending=by == "surprise", nulls_last=True)


def hits(ranked: pl.DataFrame) -> tuple[int, int]:
    """Return how many rows were spoilt, and how many of as many most distrusted rows are among them."""
    count = int(ranked["spoilt"].sum())
    return count, int(ranked["spoilt"].head(count).sum())


def reliability(predictions: pl.DataFrame) -> tuple[list[float], list[float]] | None:
    """Return, in ten bins, how sure the predicted class was on held-out rows, and how often it was right.

    Held-out labels are not spoilt, so labels drawn blindly are taken out of the probabilities where a model tells
    their share ("deviation"). None without held-out rows. An empty bin is NaN.
    """
    frame = judged(predictions, numbers=False).filter("held")
    names = [column for column in frame.columns if column.startswith("p:")]
    if not frame.height or not names:
        return None
    sure = frame.select(names).to_numpy().max(axis=1)
    if "deviation" in frame.columns:
        share = np.clip(frame["deviation"].to_numpy(), 0.0, 0.99)
        sure = np.clip((sure - share / len(names)) / (1.0 - share), 0.0, 1.0)
    right = (frame["truth"] == frame["prediction"]).to_numpy()
    place = np.clip(np.digitize(sure, BINS) - 1, 0, len(BINS) - 2)
    means = [_mean(values, place) for values in (sure, right)]
    return means[0], means[1]


def _mean(values: NDArray, place: NDArray) -> list[float]:
    found = [values[place == k] for k in range(len(BINS) - 1)]
    return [float(each.mean()) if len(each) else float("nan") for each in found]


def rank_correlation(first: NDArray, second: NDArray) -> float:
    """Return Spearman's correlation of two arrays (n,); NaN where one is constant."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    ranks = [pl.Series(each).rank().to_numpy() for each in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


# Matrix and tensor ----------------------------------------------------------------------------------------------------


def scored_codes(predictions: pl.DataFrame, data: HetData, columns: Sequence[str]) -> pl.DataFrame:
    """Return the judged rows of a run with their codes, as "code:COLUMN"."""
    name = next(n for n, s in data.sources.items() if s.frame is not None and set(columns) <= set(s.columns))
    source = data.sources[name]
    codes = source.frame.select([pl.col(c).cast(pl.String).alias(f"code:{c}") for c in columns])
    codes = codes.insert_column(0, pl.Series("id", source.ids.astype(str)))
    return judged(predictions, numbers=True).join(codes, on="id", how="inner", maintain_order="left")


def by_code(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return, for each code of a column, the most erratic first, its rows, mean deviation and spread of residuals.

    Returns
    -------
    DataFrame
        column, "rows", "deviation" (mean learned), "held-out RMSE" (null without held-out rows).
    """
    held = pl.col("residual").filter(pl.col("held"))
    told = rows.group_by(pl.col(f"code:{column}").alias(column)).agg(
        pl.len().alias("rows"),
        pl.col("std").mean().alias("deviation"),
        (held**2).mean().sqrt().alias("held-out RMSE"),
    )
    return told.sort("deviation", column, descending=[True, False])


def time_order(codes: Sequence[str]) -> dict[str, float]:
    """Return where each code stands in time: its number if all are numbers, else its place in alphabetical order."""
    known = sorted(set(codes))
    try:
        return {code: float(code) for code in known}
    except ValueError:
        return {code: float(place) for place, code in enumerate(known)}


def guessed_time(columns: Sequence[str], rows: pl.DataFrame) -> str:
    """Return which column of codes is time: by its name, else the one with the most codes."""
    named = [column for column in columns if column.lower() in TIMES]
    return named[0] if named else max(columns, key=lambda column: rows[f"code:{column}"].n_unique())


def sensor(rows: pl.DataFrame, time: str, chosen: Mapping[str, str]) -> pl.DataFrame:
    """Return the rows of one sensor in the order of time, with "at".

    Parameters
    ----------
    rows : DataFrame
        See `scored_codes`.
    time : str
        The column of codes that is time.
    chosen : mapping of str to str
        The code of each other column.
    """
    for column, code in chosen.items():
        rows = rows.filter(pl.col(f"code:{column}") == code)
    places = time_order(rows[f"code:{time}"].to_list())
    at = pl.Series("at", [places[code] for code in rows[f"code:{time}"]], pl.Float64)
    return rows.with_columns(at).sort("at")
