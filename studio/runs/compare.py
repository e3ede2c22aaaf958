"""Runs beside each other, whatever their methods: settings that differ, curves, weights, instances seen differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from hetcore.figures import basic
from studio.messages import number, shown
from studio.runs.differences import OMITTED, as_run, named, operations_text, value_text
from studio.runs.run import Run
from studio.runs.table import metric, result, rounds

__all__ = [
    "curves", "differing", "differing_text", "in_order", "instances", "kept_model", "scored_on", "summary",
    "weights_figure", "widths",
]  # fmt: skip

CURVES = {"metric:held_out": "held-out labels", "metric:left_out": "left-out labels", "metric:train": "training labels"}
"""Columns of a history that say how good a run is, best first, and what they are scored on."""
NOT_SET = "–"
LETTER, MARGINS, WIDEST = 7, 24, 800
"""Pixels of a letter in a table, of a cell's two margins, and of a column at most."""
ENTRY = 20
"""Pixels of a run's name in a legend, beside which a second one may have no room."""


# Settings -------------------------------------------------------------------------------------------------------------


def summary(runs: Mapping[str, Run]) -> pl.DataFrame:
    """Return one row a run, by its name here: method, data, result, rounds, seconds of all its work."""
    rows = [
        (name, shown(run.method), shown(run.dataset), result(run), rounds(run), run.results.get("seconds"))
        for name, run in runs.items()
    ]
    kinds = {"run": pl.String, "method": pl.String, "data": pl.String, "result": pl.String, "rounds": pl.Int64,
             "seconds with predictions": pl.Float64}  # fmt: skip
    return pl.DataFrame(rows, schema=kinds, orient="row", strict=False)


def differing(runs: Mapping[str, Run]) -> pl.DataFrame:
    """Return the settings in which runs differ, in words: "setting", and one column a run by its name here."""
    facts_of = {name: _facts(run) for name, run in runs.items()}
    # A dictionary keeps the first order in which names come, which a set would not.
    names = list(dict.fromkeys(name for facts in facts_of.values() for name in facts))
    rows = [[name, *(facts.get(name, NOT_SET) for facts in facts_of.values())] for name in names]
    rows = [row for row in rows if len(set(row[1:])) > 1]
    return pl.DataFrame(rows, schema=dict.fromkeys(["setting", *runs], pl.String), orient="row")


def widths(frame: pl.DataFrame) -> dict[str, int]:
    """Return the pixels that each column of texts needs to be read, at most `WIDEST`: a table scrolls sideways."""
    longest = {name: max(map(len, [name, *frame[name]])) for name in frame.columns}
    return {name: min(LETTER * letters + MARGINS, WIDEST) for name, letters in longest.items()}


def _facts(run: Run) -> dict[str, str]:
    """Return the settings of a run by what a reader calls them."""
    given = run.settings
    facts = {"method": shown(run.method), "data": shown(run.dataset)}
    facts["changes to the data"] = operations_text(given.get("operations") or ()) or "none"
    facts |= {named(k): value_text(v, k) for k, v in as_run(given.get("params") or {}).items() if k not in OMITTED}
    facts |= {named(k): value_text(v) for part in ("fit", "form") for k, v in (given.get(part) or {}).items()}
    # Eight digits tell two data sets apart and still fit in a cell.
    return facts | {"fingerprint of the data": run.digest[:8]}


# Curves and weights ---------------------------------------------------------------------------------------------------


def curves(runs: Mapping[str, Run], histories: Mapping[str, pl.DataFrame | None]) -> dict[str, basic.Figure]:
    """Return learning curves by metric: runs of one metric share an axis, an error and an RMSE don't.

    Parameters
    ----------
    runs, histories : mapping of str
        By the name of a run here; a run without a history has no line.
    """
    order, found = list(runs), {}
    for name, run in runs.items():
        line = _curve(histories.get(name))
        if line is not None:
            # By metric, for an error in percent and an RMSE in units share no axis.
            found.setdefault(metric(run)[0], {})[name] = line
    return {title: _lines(series, title, order) for title, series in found.items()}


def _lines(series: Mapping[str, np.ndarray], title: str, order: Sequence[str]) -> basic.Figure:
    longest = max(map(len, series.values()))
    # Runs have different lengths; NaN ends a line, where a zero would draw a fall.
    padded = {k: np.concatenate([v, np.full(longest - len(v), np.nan)]) for k, v in series.items()}
    figure = basic.per_cent(basic.lines(np.arange(1, longest + 1), padded, "round", title, order=order))
    # One line alone has none unless it is asked for, and then nothing says whose it is.
    figure["layout"]["showlegend"] = True
    return _with_room(figure)


def _with_room(figure: basic.Figure) -> basic.Figure:
    """Return a figure that is higher by what its legend takes, which would lie over what is drawn."""
    figure["layout"]["height"] += ENTRY * max(len(figure["data"]) - 2, 0)
    return figure


def _curve(history: pl.DataFrame | None) -> np.ndarray | None:
    name = _scored(history)
    return history[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() if name else None


def _scored(history: pl.DataFrame | None) -> str:
    """Return the column of a history that its curve is of, empty where there is none."""
    # A column may be there and be empty, where a run had no labels of that kind.
    names = [] if history is None else [c for c in CURVES if c in history.columns and history[c].count()]
    return names[0] if names else ""


def scored_on(histories: Mapping[str, pl.DataFrame | None]) -> str:
    """Say on which labels the curves of runs are scored, by the names of the runs where they differ; "" without any."""
    rows = {name: CURVES[line] for name, history in histories.items() if (line := _scored(history))}
    if len(set(rows.values())) > 1:
        each = ", ".join(f"run {_number(name)} on {what}" for name, what in rows.items())
        return f"Not on the same labels: {each}."
    return f"On {next(iter(rows.values()))}." if rows else ""


def kept_model(run: Run, history: pl.DataFrame | None) -> str:
    """Say so where the result of a run is not what its curve ends with; "" where it is."""
    name, value = metric(run)
    line, scores = _scored(history), run.results.get("scores") or {}
    # On other rows the two have nothing to do with each other.
    if value is None or not line or scores.get(line.removeprefix("metric:")) != value:
        return ""
    last, kept = number(history[line].drop_nulls()[-1], name), number(value, name)
    return "" if last == kept else f"The last round had {last}; the result, {kept}, is of the model that was kept."


def in_order(weights: Mapping[str, float], history: pl.DataFrame | None, graphs: bool = False) -> dict[str, float]:
    """Return the weights of a run in the order of its data, which its history's columns have."""
    start = "graph_weight:" if graphs else "weight:"
    columns = [] if history is None else [c.removeprefix(start) for c in history.columns if c.startswith(start)]
    # By their places, for what is stored is sorted by name; others stay behind, as they are.
    return {name: weights[name] for name in dict.fromkeys([*columns, *weights]) if name in weights}


def weights_figure(by_run: Mapping[str, Mapping[str, float]], order: Sequence[str] = ()) -> basic.Figure | None:
    """Return the weights of runs side by side, a group of bars a source; None if no run has any.

    The bars of one run have the colours that its sources have elsewhere, in the `order` of all, those that the run went
    without among them; of several, each run has its own.
    """
    names = list(dict.fromkeys(name for learned in by_run.values() for name in learned))
    if not names:
        return None
    figure = basic.bars(dict.fromkeys(names, 0.0), "weight", horizontal=False)
    figure["data"] = [
        {"type": "bar", "name": run, "x": names, "y": [learned.get(name) for name in names],
         "customdata": figure["data"][0]["customdata"], "hovertemplate": "%{customdata}: %{y}",
         # None leaves a gap for a source that the run did not have; zero would say that it was useless.
         "marker": {"color": basic.style(place)["colour"]}}
        for place, (run, learned) in enumerate(by_run.items()) if learned
    ]  # fmt: skip
    if len(by_run) == 1:
        every = list(order) if {*names} <= {*order} else names
        figure["data"][0]["marker"] = {"color": [basic.style(every.index(name))["colour"] for name in names]}
    # By itself an axis of zeros goes from -1 to 1, and a weight is never below 0.
    if not any(value for learned in by_run.values() for value in learned.values()):
        figure["layout"]["yaxis"]["range"] = [0.0, 1.0]
    # A single run is named above its figures.
    figure["layout"] |= {"barmode": "group", "showlegend": len(by_run) > 1}
    return _with_room(figure)


# Instances ------------------------------------------------------------------------------------------------------------


def instances(predictions: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the instances that all runs have and that they see differently, most different first.

    Parameters
    ----------
    predictions : mapping of str to DataFrame
        By the name of a run here, at least two: "id", "prediction", and "label" or "held_out" where known.

    Returns
    -------
    DataFrame
        "id", "truth" where a run knows one, a column a run, and "spread" (numbers) or "right" (classes: which runs).
    """
    names = list(predictions)
    both = _truths(predictions)
    for name, frame in predictions.items():
        # An id may stand in several rows, which a join would multiply.
        predicted = frame.unique("id", maintain_order=True).select("id", pl.col("prediction").alias(name))
        both = both.join(predicted, on="id", maintain_order="left")
    if all(both[name].dtype.is_numeric() for name in names):
        spread = pl.max_horizontal(names) - pl.min_horizontal(names)
        both = both.with_columns(spread.alias("spread"))
        return both.filter(pl.col("spread") > 0).sort("spread", descending=True)
    # As text, for one run may give labels as numbers and the other as words.
    both = both.with_columns(pl.col(name).cast(pl.String) for name in names)
    differ = pl.any_horizontal([pl.col(name) != pl.col(names[0]) for name in names[1:]])
    return _right(both.filter(differ), names)


def _truths(predictions: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the ids of the first run, with the label that any run knows."""
    first = next(iter(predictions.values()))
    found = first.select("id").unique(maintain_order=True)
    known = [
        frame.select("id", pl.col(column).cast(pl.String).alias("truth")).drop_nulls()
        for frame in predictions.values() for column in ("held_out", "label") if column in frame.columns
    ]  # fmt: skip
    if not known:
        return found
    truths = pl.concat(known).unique("id", keep="first", maintain_order=True)
    found = found.join(truths, on="id", how="left", maintain_order="left")
    # Numbers again where every known label is one, so that they can be subtracted.
    numbers = found["truth"].cast(pl.Float64, strict=False)
    numeric = first["prediction"].dtype.is_numeric() and numbers.count() == found["truth"].count()
    return found.with_columns(numbers.alias("truth")) if numeric else found


def _right(differ: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    if "truth" not in differ.columns:
        return differ
    columns = [pl.when(pl.col(name) == pl.col("truth").cast(pl.String)).then(pl.lit(_number(name))) for name in names]
    # No run may be right: an empty text then, and not a missing one.
    right = pl.concat_str(columns, separator=", ", ignore_nulls=True)
    return differ.with_columns(pl.when(pl.col("truth").is_null()).then(None).otherwise(right).alias("right"))


def _number(name: str) -> str:
    """Return "2" of "2. GBC on digits"."""
    return name.split(".")[0]


def differing_text(predictions: Mapping[str, pl.DataFrame], differ: pl.DataFrame) -> str:
    """Say in one sentence how many instances are seen differently, and which run is right more often there."""
    names = list(predictions)
    # Runs on different samples share some instances only; the count is of these.
    common = len(set.intersection(*(set(frame["id"].to_list()) for frame in predictions.values())))
    if not common:
        return "The runs have no instance in common."
    first, last = _number(names[0]), _number(names[-1])
    among = f"between runs {first} and {last}" if len(names) == 2 else f"among runs {first} to {last}"
    text = f"{differ.height:,} of {common:,} predictions differ {among}"
    if "right" not in differ.columns or not differ["right"].count():
        return f"{text}."
    known = differ.drop_nulls("right")
    right = {name: (known[name] == known["truth"].cast(pl.String)).sum() for name in names}
    counts = [f"run {_number(name)} is right in {count:,}" for name, count in right.items()]
    return f"{text}. Of the {known.height:,} with a known label, {', '.join(counts)}."
