"""Run the cells of an experiment that are not there yet, and put what came out beside the claim."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from experiments import cells as kept
from experiments.drawing import drawn
from experiments.experiment import Experiment, info
from experiments.protocols import PROTOCOLS
from experiments.verdicts import Claim, claims, verdict
from hetcore.events import Callback, RoundEnd

__all__ = ["Outcome", "forget", "outcome", "pack", "run", "stamp"]


@dataclass(frozen=True)
class Outcome:
    """What an experiment came to so far.

    Attributes
    ----------
    experiment : Experiment
    cells : polars.DataFrame
        One row a finished cell: its key and what it came to.
    total : int
        Cells asked for.
    seconds : float
        Estimated for the cells that are missing, from finished ones of the same method; NaN where nothing is known.
    figure : dict or None
        Plotly, None without a cell.
    claims : tuple of Claim
        Each sentence of the claim with its comparisons.
    """

    experiment: Experiment
    cells: pl.DataFrame
    total: int
    seconds: float
    figure: dict[str, Any] | None
    claims: tuple[Claim, ...]

    @property
    def verdict(self) -> str:
        """Return "holds", "in part", "no" or "not run": of all that is compared with the paper's method as printed.

        What holds by construction counts for nothing.
        """
        evidence = [claim for claim in self.claims if not claim.given]
        return verdict(each for claim in evidence for each in claim.comparisons if not each.beside)


def run(
    name: str,
    scope: str = "page",
    results: str | Path | None = None,
    callbacks: Iterable[Callback] = (),
    parallel: Any = None,
) -> Outcome:
    """Run an experiment, going on where an earlier run stopped.

    Parameters
    ----------
    name : str
        One of `names()`.
    scope : {"page", "full"}, default="page"
        A few seeds in minutes, or all that the paper's protocol asks for.
    results : path, optional
        Folder of the finished cells; `cells.folder()` unless given.
    callbacks : iterable of callable, default=()
        Called after each cell with a `RoundEnd` whose detail has the "cell"; one that returns True stops the run.
    parallel : joblib.Parallel, optional
        Spreads the cells, as for a Dask cluster under `joblib.parallel_config("dask")`; it returns a generator.

    Returns
    -------
    Outcome

    Raises
    ------
    ParameterError
        If there is no such experiment or scope.
    DataError
        If data can't be had.
    """
    experiment, callbacks, started = info(name), list(callbacks), time.perf_counter()
    path, parts = _file(experiment, results), list(experiment.cells)
    done = kept.read(path, parts)
    asked = experiment.keys(scope)
    # By key and not by count: a page's few cells are some of the full run's.
    missing = [key for key in asked if key not in done]
    for count, cell in enumerate(_computed(experiment, missing, parallel), len(asked) - len(missing)):
        # At once: whatever ends the run costs the cell in work, and no other.
        kept.append(path, cell)
        detail = {"cell": cell, "metric_name": "error", "metric": {"held_out": cell.get("error", float("nan"))}}
        event = RoundEnd(name, count, len(asked), {}, detail=detail, seconds=time.perf_counter() - started)
        # A list, so that each is called even where the first one stops the run.
        if any([callback(event) for callback in callbacks]):
            break
    return outcome(name, scope, results)


def _computed(experiment: Experiment, missing: Sequence[kept.Key], parallel: Any) -> Iterable[kept.Cell]:
    if parallel is None:
        return (_cell(experiment.protocol, list(experiment.cells), key) for key in missing)
    # Only a run that is spread needs it.
    from joblib import delayed

    return parallel(delayed(_cell)(experiment.protocol, list(experiment.cells), key) for key in missing)


def _cell(protocol: str, parts: list[str], key: kept.Key) -> kept.Cell:
    """Compute one cell: its key, what it came to, and the seconds it took."""
    compute: Callable[..., dict[str, Any]] = PROTOCOLS[protocol].load()
    started = time.perf_counter()
    # By name, for the protocols take the parts of a key in orders of their own.
    found = compute(**dict(zip(parts, key)))
    return dict(zip(parts, key)) | {"seconds": round(time.perf_counter() - started, 3)} | found


def _file(experiment: Experiment, results: str | Path | None) -> Path:
    return Path(results or kept.folder()) / f"{PROTOCOLS[experiment.protocol].file}.jsonl"


def outcome(name: str, scope: str = "page", results: str | Path | None = None) -> Outcome:
    """Return what is there of an experiment, without running anything; arguments as in `run`."""
    experiment = info(name)
    done = kept.read(_file(experiment, results), experiment.cells)
    asked = experiment.keys(scope)
    there = [done[key] for key in asked if key in done]
    # All rows decide a column's type: the first may lack what later protocols give.
    frame = pl.DataFrame(there, infer_schema_length=None) if there else pl.DataFrame()
    left = _estimate(experiment, done, [key for key in asked if key not in done])
    return Outcome(
        experiment,
        frame,
        len(asked),
        seconds=left,
        figure=drawn(experiment, frame),
        claims=tuple(claims(experiment, frame)),
    )


def stamp(name: str, results: str | Path | None = None) -> tuple[int, int]:
    """Return what changes whenever a cell is added to an experiment's files or taken out; arguments as in `run`."""
    path = _file(info(name), results)
    # Size and time: a cell more, or one rewritten, is seen without reading the file.
    there = [each.stat() for each in (path, path.with_suffix(".parquet")) if each.exists()]
    return sum(each.st_size for each in there), max((each.st_mtime_ns for each in there), default=0)


def pack(name: str, results: str | Path | None = None) -> int:
    """Move the finished cells of an experiment's family to Parquet; return how many there are; see `run`."""
    experiment = info(name)
    return kept.pack(_file(experiment, results), experiment.cells)


def _estimate(experiment: Experiment, done: Mapping[kept.Key, kept.Cell], missing: Sequence[kept.Key]) -> float:
    """Return the seconds that missing cells will take: each as the finished ones that are most like it."""
    parts = list(experiment.cells)
    # From the most alike to the least: the same but for the seed, then the same method and data, then the method.
    likes = ([part for part in parts if part != experiment.seed], ["method", parts[0]], ["method"])
    known = [_medians(done, [parts.index(part) for part in like]) for like in likes]
    known.append(([parts.index("method")], {(method,): each for method, each in experiment.seconds.items()}))
    known.append(_medians(done, []))
    return sum(_looked_up(known, key) for key in missing)


Medians = tuple[list[int], dict[kept.Key, float]]


def _medians(done: Mapping[kept.Key, kept.Cell], places: list[int]) -> Medians:
    """Return some places of a key, and the median seconds of finished cells by what stands there.

    A median: a cell that ran while the machine was busy or asleep says nothing of the next.
    """
    found: dict[kept.Key, list[float]] = {}
    for key, cell in done.items():
        found.setdefault(tuple(key[place] for place in places), []).append(cell.get("seconds") or 0.0)
    return places, {at: median(each) for at, each in found.items()}


def _looked_up(known: Iterable[Medians], key: kept.Key) -> float:
    """Return the first median that is known of a key's like; NaN if there is none."""
    asked = ((found, tuple(key[place] for place in places)) for places, found in known)
    return next((found[at] for found, at in asked if at in found), float("nan"))


def forget(name: str, scope: str = "page", results: str | Path | None = None) -> None:
    """Drop the finished cells of an experiment, so that they are run anew; arguments as in `run`."""
    experiment = info(name)
    path, asked = _file(experiment, results), set(experiment.keys(scope))
    kept.rewrite(path, [cell for key, cell in kept.read(path, experiment.cells).items() if key not in asked])
