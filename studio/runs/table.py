"""Stored runs as a page shows them: rows, labels, curves, weights and instances side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from studio import recipes
from studio.messages import number, shown
from studio.runs import export
from studio.runs.differences import OMITTED, as_run, named, operations_text, within
from studio.runs.run import Run

__all__ = [
    "WIDTHS", "apart", "downloads", "example_of", "label", "metric", "result", "rounds", "short", "table", "target",
    "unfinished", "weights", "why_none", "widths",
]  # fmt: skip

LONGEST = 60
"""Characters of a name in the table; data and method have columns of their own."""
WIDTHS = {"name": 160, "result": 90, "differs in": 260}
"""Pixels of the first columns, of 366 that a phone shows; the others are as wide as their words."""
LETTER = 7
"""Pixels of a letter of a table."""
IN_TRAINING = " in training"


def label(run: Run) -> str:
    """Return the person's name of a run, or what was trained on what: of several trained side by side by its label."""
    if run.name:
        return shown(run.name)
    own = _own(run)
    return f"{shown(own)}: {shown(run.dataset)}" if own else f"{shown(run.method)} on {shown(run.dataset)}"


def short(run: Run, most: int) -> str:
    """Return the person's name of a run, its label, or its method, where it stands beside others."""
    return shown(run.name or _own(run) or run.method, most)


def apart(runs: Iterable[Run], most: int) -> list[str]:
    """Return the short names of some runs; of those that share one, what each differs from the others in."""
    runs = list(runs)
    of_name: dict[str, list[dict[str, str]]] = {}
    for run in runs:
        of_name.setdefault(short(run, most), []).append(_of_data(run))
    found = [_differing(_of_data(run), of_name[short(run, most)]) for run in runs]
    # At its end: what differs comes first.
    cut = [text if text is None or len(text) <= most else f"{text[: most - 1]}…" for text in found]
    return [text or short(run, most) for text, run in zip(cut, runs)]


def _of_data(run: Run) -> dict[str, str]:
    return {"data": shown(run.dataset)} | _settings(run)


def _own(run: Run) -> str:
    """Return the label of one of several that were trained side by side, empty where a run was alone."""
    own = str(run.settings.get("label") or "")
    # A page that trains one thing has its own name for label.
    return "" if own == run.page else own


def metric(run: Run) -> tuple[str, float | None]:
    """Return the name of a run's metric and its value on labels that it did not see, where known."""
    scores = _scores(run)
    return str(scores.get("metric", "error")), scores.get(_scored(scores))


def _scores(run: Run) -> Mapping[str, Any]:
    # Runs of older versions have their scores at the top.
    return run.results.get("scores") or run.results


def _scored(scores: Mapping[str, Any]) -> str | None:
    """Return on which rows a run is judged, the best witnesses that there are; None without any."""
    kinds = ("held_out", "value", "left_out", "train")
    return next((kind for kind in kinds if _is_number(scores.get(kind))), None)


def _is_number(value: Any) -> bool:
    # True is an int to Python, and a number to nobody.
    return isinstance(value, int | float) and not isinstance(value, bool)


def rounds(run: Run) -> int | None:
    """Return how many rounds a run did, where known."""
    done = run.results.get("rounds")
    return int(done) if _is_number(done) else None


def weights(run: Run, graphs: bool = False) -> dict[str, float]:
    """Return the learned weights of a run's sources, or of its graphs: each kind has a sum of its own.

    Of transfer the target's share is among them; a method that weighs no source has none.
    """
    # Sources and graphs each sum to one, so that bars of both together would mislead.
    parts = [run.results.get(kind) for kind in (("graph_weights",) if graphs else ("source_weights", "weights"))]
    found = {str(k): float(v) for part in parts if isinstance(part, Mapping) for k, v in part.items() if _is_number(v)}
    if graphs or (aim := target(run)) is None:
        return found
    # What sources are given is a share of all weight, of which the target has the rest.
    return found | {aim: max(1.0 - sum(found.values()), 0.0)} if any(found.values()) else {}


def target(run: Run) -> str | None:
    """Return the domain that a run transfers to, None where it is no transfer."""
    form = run.settings.get("form") or {}
    return str(form["target"]) if form.get("form") == "domains" and "target" in form else None


def example_of(run: Run) -> str | None:
    """Return the name of the example data that a run was trained on; None for a person's own."""
    recipe = run.settings.get("data")
    return recipe.get("example") if isinstance(recipe, Mapping) else None


def table(runs: Iterable[Run]) -> pl.DataFrame:
    """Return one row a run: name, error or RMSE, settings in which those of its name differ, when (UTC), data, method
    where a name says less, rounds, status."""
    runs = list(runs)
    of_name: dict[str, list[dict[str, str]]] = {}
    for run in runs:
        of_name.setdefault(label(run), []).append(_settings(run))
    rows = [(*_row(run)[:2], _differing(_settings(run), of_name[label(run)]), *_row(run)[2:]) for run in runs]
    # What tells runs apart comes first, for a phone shows three columns.
    names = ("name", "result", "differs in", "when (UTC)", "data", "method", "rounds", "status")
    made = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String) | {"rounds": pl.Int64}, orient="row")
    return made.drop("method") if made["method"].equals(made["name"]) else made


def widths(runs: Iterable[Run]) -> dict[str, int]:
    """Return the pixels of the first columns, with room for results of labels that were learned from."""
    learned = any(result(run).endswith(IN_TRAINING) for run in runs)
    return WIDTHS | {"result": WIDTHS["result"] + learned * LETTER * len(IN_TRAINING)}


def _row(run: Run) -> tuple[Any, ...]:
    when = f"{run.created:%Y-%m-%d %H:%M}"
    return short(run, LONGEST), result(run), when, _data(run), shown(run.method), rounds(run), run.status


def _data(run: Run) -> str:
    """Return the name of a run's data, with the files of a person's own, all of which are called “Your data”."""
    recipe = run.settings.get("data")
    names = recipes.files(recipe) if isinstance(recipe, Mapping) else []
    return shown(": ".join([run.dataset, *filter(None, [", ".join(names)])]), LONGEST)


def _settings(run: Run) -> dict[str, str]:
    """Return what a run was trained with, in words by what each is of."""
    params = {name: value for name, value in as_run(run.settings.get("params") or {}).items() if name not in OMITTED}
    # Plain boosting is given graphs to say what it leaves along them, and learns the same without.
    plain = run.method == "GBRegressor" or ("features" in params and not params["features"])
    given = params | ({} if plain else dict(run.settings.get("fit") or {}))
    # Each by itself, for one that all of some runs have tells none of them apart.
    done = (operations_text([operation]) for operation in run.settings.get("operations") or ())
    texts = {name: f"{named(name)} {within(value, name)}" for name, value in given.items()}
    return texts | {each: each for each in done}


def _differing(own: Mapping[str, str], others: Iterable[Mapping[str, str]]) -> str | None:
    """Return those settings that are not the same in all of some runs; None where all are.

    Those first that tell a run from most others: what does not fit is cut off.
    """
    others = list(others)
    apart_from = {name: sum(other.get(name) != own[name] for other in others) for name in own}
    texts = [own[name] for name in sorted(own, key=apart_from.get, reverse=True) if apart_from[name]]
    return ", ".join(filter(None, texts)) or None


def result(run: Run) -> str:
    """Return the metric of a run with its name, "error 3.1%", and that it is of labels that were learned from."""
    name, value = metric(run)
    if value is None:
        return "–"
    learned = IN_TRAINING if _scored(_scores(run)) == "train" else ""
    return f"{shown(name, 20)} {number(value, name)}{learned}"


def unfinished(run: Run) -> str:
    """Return a sentence on a run that has no result, and what to do; empty for one that has."""
    if run.status == "training":
        return "This run goes on: its page shows it, and its result is kept here when it ends."
    if run.status == "interrupted":
        return "The studio ended before this run did: reopen it and train again, which gives the same to the last bit."
    if run.status == "failed":
        message = str(run.results.get("message") or "This run failed.")
        return f"{message} Reopen it to train again with other settings."
    return ""


def why_none(runs: Sequence[Run], otherwise: str) -> str:
    """Return why nothing can be drawn of runs: they have not ended, or did not; else `otherwise`."""
    if any(run.status == "training" for run in runs):
        return "Not yet: the training goes on."
    return "None: the training did not end." if all(map(unfinished, runs)) else otherwise


def downloads(
    run: Run, predictions: pl.DataFrame | None, model: bytes | None
) -> dict[str, tuple[str, bytes | str, str]]:
    """Return what a person can take away of a run: file name, content and MIME type by the words of the button.

    Raises
    ------
    ParameterError, DataError
        If the settings of the run cannot be written as code.
    """
    name, offers = label(run), {}
    if predictions is not None:
        offers["Predictions (CSV)"] = (export.file_name(name, "csv"), export.csv(predictions), "text/csv")
        parquet = export.parquet(predictions)
        offers["Predictions (Parquet)"] = (export.file_name(name, "parquet"), parquet, "application/octet-stream")
    if model is not None:
        offers["Model"] = (export.file_name(name, "hetcore"), model, "application/octet-stream")
    offers["Script"] = (export.file_name(name, "py"), export.script_of_run(run), "text/x-python")
    offers["Notebook"] = (export.file_name(name, "ipynb"), export.notebook_of_run(run), "application/x-ipynb+json")
    return offers
