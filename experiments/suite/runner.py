"""Run the cells of the suite that are not there yet: one file a family, one line a cell, also for a fit that failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments import cells as kept
from experiments.suite.uses import USES, Use
from hetcore.errors import ParameterError

__all__ = ["PARTS", "applies", "read", "run"]

PARTS = ("problem", "method", "share", "split")


def path_of(results: str | Path, use: str, family: str) -> Path:
    """Return the file of a family's cells."""
    return Path(results) / f"suite-{use}-{family}.jsonl"


def read(results: str | Path, use: str, problems: Iterable[Any]) -> list[kept.Cell]:
    """Return the finished cells of some problems."""
    found: list[kept.Cell] = []
    families = {problem.family: problem for problem in problems}
    for family in families:
        found += kept.read(path_of(results, use, family), PARTS).values()
    return found


def applies(model: Any, data: Any) -> bool:
    """Return whether a method is another one than without graphs, or there are some."""
    spreads = getattr(model, "needs_graph", False) or getattr(model, "hops", 0)
    return not spreads or bool(getattr(data, "graphs", True))


def run(
    use: str,
    problems: Sequence[Any],
    methods: Sequence[str],
    shares: Sequence[float] | None,
    splits: int,
    results: str | Path,
    progress: Callable[[str], Any] = lambda line: None,
    first: int = 0,
    parallel: Any = None,
) -> int:
    """Run what is missing, problem by problem; return how many cells were run.

    Parameters
    ----------
    use : {"consensus", "collective", "transfer"}
        The use; see `experiments.suite.uses`.
    problems : sequence of SuiteProblem
        Each has name, family, task and load().
    methods : sequence of str
        Methods and peers of the use, by name.
    shares : sequence of float, optional
        Label shares in percent, or numbers of labels; those of the use by default.
    splits : int
        Seeds `first` .. `first` + splits - 1.
    results : path
        Folder of the finished cells.
    progress : callable
        Gets a line after each cell, and one for methods that do not learn what a problem asks for.
    first : int, default=0
        The first seed.
    parallel : joblib.Parallel, optional
        Spreads the cells of a problem, which its workers load by its name; it returns a generator.

    Raises
    ------
    ParameterError
        If there is no such method.
    """
    how, count = USES[use], 0
    for name in methods:
        if how.maker(name) is None:
            known = ", ".join([*how.methods, *how.peers])
            raise ParameterError(f"method={name!r} is not known: give some of {known}.")
    for problem in problems:
        path = path_of(results, use, problem.family)
        done = kept.read(path, PARTS)
        able = [name for name in methods if _learns(how.maker(name), problem.task)]
        if others := [name for name in methods if name not in able]:
            progress(f"{problem.name}: {', '.join(others)} left out, for this problem is a {problem.task}.")
        asked = _keys(problem.name, able, shares or how.shares, range(first, first + splits))
        keys = [key for key in asked if key not in done]
        for cell in _computed(use, problem, keys, parallel):
            if cell is not None:
                kept.append(path, cell)
                count += 1
                progress(f"{' · '.join(str(cell[part]) for part in PARTS)}: {_in_words(cell)}")
    return count


def _learns(maker: Callable[[str, int], Any], task: str) -> bool:
    """Return whether what is made for a task learns it: a regressor has one task alone."""
    return getattr(maker(task, 0), "_task", task) == task


def _in_words(cell: kept.Cell) -> str:
    return cell.get("failure") or format(cell["error"], ".4g")


def _computed(use: str, problem: Any, keys: Sequence[kept.Key], parallel: Any) -> Iterable[kept.Cell | None]:
    if parallel is None or not keys:
        data = problem.load() if keys else None
        return (_cell(USES[use], problem, data, key) for key in keys)
    from joblib import delayed

    return parallel(delayed(_cell_elsewhere)(use, problem, key) for key in keys)


# the last problem alone: a worker gets the cells of one after the other
_LOADED: dict[tuple[str, str], Any] = {}


def _cell_elsewhere(use: str, problem: Any, key: kept.Key) -> kept.Cell | None:
    """Return a finished cell in a process that has its own copy of the data."""
    where = use, problem.name
    data = _LOADED.get(where)
    if data is None:
        data = problem.load()
        _LOADED.clear()
        _LOADED[where] = data
    return _cell(USES[use], problem, data, key)


def _keys(problem: str, methods: Sequence[str], shares: Sequence[float], splits: range) -> Iterator[kept.Key]:
    for share in shares:
        for split in splits:
            yield from ((problem, method, share, split) for method in methods)


def _cell(how: Use, problem: Any, data: Any, key: kept.Key) -> kept.Cell | None:
    """Return a finished cell; None where the method needs a graph and there is none."""
    _, method, share, split = key
    model = how.maker(method)(problem.task, split)
    if not applies(model, data):
        return None
    try:
        found = how.run(data, problem.task, model, share, split)
    except Exception as error:  # a method that fails has failed here: it is counted, and the others go on
        found = {"error": None, "failure": f"{type(error).__name__}: {error}"[:300]}
    return dict(zip(PARTS, key)) | found
