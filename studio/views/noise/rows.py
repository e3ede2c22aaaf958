"""What the Noise page works out of ended runs: which rows were corrupted, which are distrusted, which codes stray."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data import HetData, plain
from hetcore.data.kinds import as_text
from studio import scenarios
from studio.messages import number
from studio.views.common.paired import paired
from studio.views.noise.settings import TIMES

__all__ = [
    "are_dates", "beyond", "bought", "by_code", "caught", "distrusted", "guessed_time", "hits", "with_residuals",
    "rank_correlation", "reliability", "scored_codes", "sensor", "corrupted", "telling", "time_order", "trusts_alike",
]  # fmt: skip

BINS = np.linspace(0.0, 1.0, 11)
TELLING = 0.4
EPOCH, DAY_SECONDS = dt.datetime(1970, 1, 1), 86_400
DATE = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d)?")
ALIKE = 0.01
"""Share of the largest weight up to which the weights of all rows are said to be the same."""


def corrupted(
    data: HetData, operations: Sequence[Mapping[str, Any]], truth: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Return the rows whose label is known to be corrupted: "id", "was" (the label before).

    Parameters
    ----------
    data : HetData
        Before the operations.
    operations : sequence of mappings
    truth : DataFrame, optional
        "id" and "truth", the right labels of data that came with wrong ones: these count too, and one of them that the
        operations flip back does not.
    """
    checked = scenarios.checked(operations)
    if truth is not None:
        after = scenarios.apply(data, checked)
        given = [None if a is None else str(a) for a in (after.data.y if after.y is None else after.y)]
        seen = pl.DataFrame({"id": after.data.ids.astype(str), "label": given}, schema_overrides={"label": pl.String})
        # A label that is hidden from training is null, and null differs from nothing.
        wrong = seen.join(truth, on="id", maintain_order="left").filter(pl.col("label") != pl.col("truth"))
        return wrong.select("id", was="truth")
    clean = [operation for operation in checked if not scenarios.OPERATIONS[operation["op"]].corrupts]
    schema = {"id": pl.String, "was": pl.String if data.target_kind == "classification" else pl.Float64}
    # Nothing was corrupted, so that there is nothing to compare.
    if len(clean) == len(checked):
        return pl.DataFrame(schema=schema)
    before, after = scenarios.apply(data, clean), scenarios.apply(data, checked)
    old, new = (each.data.y if each.y is None else each.y for each in (before, after))
    # a == a: a label that is missing (NaN) is not a changed one.
    changed = np.array([a is not None and a == a and a != b for a, b in zip(old, new)], bool)
    return pl.DataFrame({"id": before.data.ids[changed].tolist(), "was": old[changed].tolist()}, schema=schema)


def with_residuals(predictions: pl.DataFrame, numbers: bool) -> pl.DataFrame:
    """Return the rows with a label, with "truth" (held out, or as trained on) and "held".

    Of numbers also with "residual" and, where the model tells a spread, "half": half the width of its 90% interval.
    """
    # The held-out label first: it is the truth, whatever was trained on.
    held = pl.col("held_out") if "held_out" in predictions.columns else pl.lit(None)
    frame = predictions.with_columns(truth=pl.coalesce(held, "label"), held=held.is_not_null())
    frame = frame.filter(pl.col("truth").is_not_null())
    if not numbers:
        return frame
    frame = frame.with_columns(residual=pl.col("truth") - pl.col("prediction"))
    if "high_90" in frame.columns:
        return frame.with_columns(half=(pl.col("high_90") - pl.col("low_90")) / 2)
    # Where no ends are kept: 1.645 standard deviations on either side hold 90% of a normal.
    return frame.with_columns(half=1.645 * pl.col("std")) if "std" in frame.columns else frame


def distrusted(predictions: pl.DataFrame, wrong: pl.DataFrame, by: str = "weight") -> pl.DataFrame:
    """Return the rows that were trained on, the most distrusted first.

    Parameters
    ----------
    predictions : DataFrame
        Of a run, with "weight".
    wrong : DataFrame
        See `corrupted`.
    by : {"weight", "surprise"}
        The least weight first, or the largest |label - prediction| in standard deviations ("surprise").

    Returns
    -------
    DataFrame
        "id", "weight", "label", "prediction", "surprise" (of numbers), "was", "corrupted".
    """
    rows = predictions.filter(pl.col("label").is_not_null()).join(wrong, on="id", how="left", maintain_order="left")
    rows = rows.with_columns(corrupted=pl.col("id").is_in(wrong["id"].implode()))
    if "std" in rows.columns:
        rows = rows.with_columns(surprise=(pl.col("label") - pl.col("prediction")).abs() / pl.col("std"))
    order = ["id", "weight", "label", "prediction", "surprise", "was", "corrupted"]
    kept = rows.select([column for column in order if column in rows.columns])
    return kept.sort(by, descending=by == "surprise", nulls_last=True)


def trusts_alike(predictions: pl.DataFrame) -> bool:
    """Tell whether all rows that were trained on have the same weight or deviation, so that none is distrusted."""
    column = next((name for name in ("weight", "std") if name in predictions.columns), None)
    weights = predictions[column].drop_nulls() if column else pl.Series([], dtype=pl.Float64)
    # Weights of 0.996 to 1 rank the rows, and distrust none.
    return len(weights) > 0 and weights.max() - weights.min() <= ALIKE * weights.max()


def beyond(figure: Mapping[str, Any], x: Any, y: Any) -> str:
    """Return in words how many dots lie beyond the axes that a figure opens with, and how many have no place there."""
    outside = np.zeros(len(x), bool)
    for axis, values in (("xaxis", x), ("yaxis", y)):
        low, high = figure["layout"][axis].get("range", (-np.inf, np.inf))
        outside |= (np.asarray(values, float) < low) | (np.asarray(values, float) > high)
    count, missing = int(outside.sum()), int(np.isnan(np.asarray(x, float)).sum())
    text = f"; {count:,} lie{'s' * (count == 1)} beyond the axes: double-click the chart" if count else ""
    are = "is" if missing == 1 else "are"
    return text + (f"; {missing:,} without a value of it {are} not drawn" if missing else "")


def hits(ranked: pl.DataFrame) -> tuple[int, int]:
    """Return how many rows were corrupted, and how many of as many most distrusted rows are among them."""
    count = int(ranked["corrupted"].sum())
    return count, int(ranked["corrupted"].head(count).sum())


def caught(ranked: pl.DataFrame) -> str:
    """Return in words how many of the least trusted labels are flipped ones, and how many would be by chance."""
    count, found = hits(ranked)
    share, by_chance = f"{found / count:.0%}", f"{count / ranked.height:.0%}"
    return f"Of the {count:,} least trusted labels {share} are flipped ones; by chance {by_chance}"


def bought(learned: pl.DataFrame, plain: pl.DataFrame, numbers: bool, names: tuple[str, str]) -> str:
    """Return in words what the weights of rows brought to the prediction itself, on rows neither model was trained on.

    Parameters
    ----------
    learned, plain : DataFrame
        Of `with_residuals`: of the model with weights, and of the mean model alone.
    numbers : bool
    names : (str, str)
        What the models are called.
    """
    both = learned.filter("held").join(plain.filter("held"), on="id", suffix=" of plain")
    # One row has no spread.
    if both.height < 2:
        return "Hold rows out to see what the weights bring to the prediction itself, beside the band."
    if numbers:
        costs = [both[column].to_numpy() ** 2 for column in ("residual", "residual of plain")]
        sizes = [float(np.sqrt(each.mean())) for each in costs]
        words = [f"has an RMSE of {number(sizes[1], 'rmse')}", number(sizes[0], "rmse")]
    else:
        costs = [(both["truth"] != both[column]).to_numpy().astype(float) for column in
                 ("prediction", "prediction of plain")]  # fmt: skip
        sizes = [float(each.mean()) for each in costs]
        words = [f"errs on {sizes[1]:.1%}", f"on {sizes[0]:.1%}"]
    less = paired(*costs).less
    text = f"On {both.height:,} rows held out, {names[1]}, the mean model alone, {words[0]}, "
    alike = trusts_alike(learned)
    text += f"{names[0]}{', which trusts all rows alike,' if alike else ' with its weights'} {words[1]}: "
    if less is not None:
        way = "less" if less else "more"
        bought = "" if alike else "the weights bring "
        text += f"{bought}{abs(sizes[0] / max(sizes[1], 1e-300) - 1.0):.1%} {way} error."
    elif numbers or alike:
        text += "no difference beyond two standard errors."
    else:
        text += "no difference beyond two standard errors. The weights may still tell which labels to doubt."
    return text + _band_bought(both, "deviation" if alike else "weights", even=less is None)


def _band_bought(both: pl.DataFrame, what: str, even: bool) -> str:
    """Return in words what was brought to the band, where both models have one; else nothing.

    Parameters
    ----------
    both : DataFrame
        Held-out rows of both models.
    what : str
        What brought it.
    even : bool
        Whether no difference of the means is seen.
    """
    if not {"std", "std of plain"} <= set(both.columns):
        return ""
    costs = [
        # The log likelihood of a normal, without the constant that both have.
        np.log(both[f"std{end}"].to_numpy()) + 0.5 * (both[f"residual{end}"] / both[f"std{end}"]).to_numpy() ** 2
        for end in ("", " of plain")
    ]
    found = paired(*costs)
    if found.less is None:
        return " Their bands do not differ beyond two standard errors."
    way = "below" if found.less else "above"
    # Only a band that is seen to be better is a gain.
    text = f" What is gained by the {what} is the band, not the mean." if found.less and even else ""
    gap = f"{number(abs(found.difference))} a row {way} that of a band of one width for all."
    return f"{text} By its band the labels have a negative log-likelihood of {gap}"


def reliability(predictions: pl.DataFrame) -> tuple[list[float], list[float]] | None:
    """Return, in ten bins, how sure the predicted class was on held-out rows, and how often it was right.

    Held-out labels are not corrupted, so labels drawn blindly are taken out of the probabilities where a model tells
    their share ("deviation"). None without held-out rows. An empty bin is NaN.
    """
    frame = with_residuals(predictions, numbers=False).filter("held")
    names = [column for column in frame.columns if column.startswith("p:")]
    if not frame.height or not names:
        return None
    sure = frame.select(names).to_numpy().max(axis=1)
    if "deviation" in frame.columns:
        share = np.clip(frame["deviation"].to_numpy(), 0.0, 0.99)
        # A deviation is the share of labels drawn blindly: taken out again, what is left is how sure the classifier
        # itself is.
        sure = np.clip((sure - share / len(names)) / (1.0 - share), 0.0, 1.0)
    right = (frame["truth"] == frame["prediction"]).to_numpy()
    place = np.clip(np.digitize(sure, BINS) - 1, 0, len(BINS) - 2)
    means = [_mean(values, place) for values in (sure, right)]
    return means[0], means[1]


def _mean(values: NDArray, place: NDArray) -> list[float]:
    found = [values[place == k] for k in range(len(BINS) - 1)]
    return [float(each.mean()) if len(each) else float("nan") for each in found]


def telling(features: NDArray, names: Sequence[str], spread: NDArray) -> str | None:
    """Return the feature along which a deviation changes most, by rank; None if none tells much of it.

    Parameters
    ----------
    features : (n, d) float64
        NaN is missing.
    names : (d,) sequence of str
    spread : (n,) float64
    """
    ranks = [abs(rank_correlation(column, spread)) for column in plain.filled(features).T]
    best = int(np.nanargmax(ranks)) if np.isfinite(ranks).any() else -1
    # A weak rank correlation tells nothing that one would see in a drawing.
    return names[best] if best >= 0 and ranks[best] > TELLING else None


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
    codes = pl.DataFrame({f"code:{c}": _written(source.frame[c], c in source.moments) for c in columns})
    codes = codes.insert_column(0, pl.Series("id", source.ids.astype(str)))
    return with_residuals(predictions, numbers=True).join(codes, on="id", how="inner", maintain_order="left")


def _written(codes: pl.Series, moments: bool) -> pl.Series:
    """Return codes as a person writes them; a moment is held as days since 1970."""
    if not moments:
        return as_text(codes)
    at = ((codes.cast(pl.Float64) * DAY_SECONDS).round().cast(pl.Int64) * 1000).cast(pl.Datetime("ms"))
    return at.dt.to_string("%Y-%m-%d" if (at.dt.time() == dt.time()).all() else "%Y-%m-%d %H:%M:%S")


def by_code(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return, for each code of a column, the most erratic first, its rows, mean deviation and spread of residuals.

    Returns
    -------
    DataFrame
        column, "rows", "deviation" (mean learned), "held-out RMSE" (null without held-out rows).
    """
    held = pl.col("residual").filter(pl.col("held"))
    spreads = rows.group_by(pl.col(f"code:{column}").alias(column)).agg(
        pl.len().alias("rows"),
        pl.col("std").mean().alias("deviation"),
        (held**2).mean().sqrt().alias("held-out RMSE"),
    )
    return spreads.sort("deviation", column, descending=[True, False])


def time_order(codes: Sequence[str]) -> dict[str, float]:
    """Return where each code stands in time: its number if all are numbers, milliseconds since 1970 if all are dates,
    else its place, digits as numbers."""
    # texts and digits in turn, so that like is compared with like
    known = sorted(set(codes), key=lambda code: [int(k) if k.isdecimal() else k for k in re.split(r"(\d+)", code)])
    try:
        # Numbers as numbers: in the alphabet 10 comes before 9.
        return {code: float(code) for code in known}
    except ValueError:
        if are_dates(known):
            return {code: (dt.datetime.fromisoformat(code) - EPOCH) / dt.timedelta(milliseconds=1) for code in known}
        return {code: float(place) for place, code in enumerate(known)}


def are_dates(codes: Iterable[str]) -> bool:
    """Return whether all codes are dates, or moments without a time zone, their year first."""
    return all(DATE.fullmatch(code) for code in codes)


def guessed_time(columns: Sequence[str], rows: pl.DataFrame) -> str:
    """Return which column of codes is time: by its name, else the one with the most codes."""
    named = [column for column in columns if column.lower() in (*TIMES, "step", "mode2")]
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
