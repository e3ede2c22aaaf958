"""Planted leaks of the label and innocent look-alikes, each a small data set.

    python -m tests.data.leak_cases     how many leaks are found, and how many look-alikes are said by mistake

Ten draws of each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import polars as pl

from hetcore.data import HetData
from hetcore.data.leaks import Leak, find_leaks

N = 120


class Case(NamedTuple):
    """A name, whether the label leaks, and the data: columns of a table, label, edges and task by a generator."""

    name: str
    leaks: bool
    make: Callable[[np.random.Generator], HetData]


def classes(rng: np.random.Generator, k: int = 2) -> np.ndarray:
    """Return labels (N,) that occur about equally often."""
    return np.array([f"class {c}" for c in rng.permutation(np.arange(N) % k)])


def table(columns: dict, y: np.ndarray, ids: list | None = None, task: str | None = None, **more: object) -> HetData:
    """Return data of one table with a column of noise beside those given; the first half is labelled."""
    n = len(y)
    ids = ids or names(n)
    noise = np.random.default_rng(99).normal(size=n)
    sources = {"t": pl.DataFrame({"id": ids, "noise": noise, **columns}), **more.pop("sources", {})}
    half = np.random.default_rng(88).permutation(n)[: more.pop("labelled", n // 2)]
    target = pl.DataFrame({"id": [ids[k] for k in half], "outcome": y[half]})
    return HetData(sources, target=target, task=task, **more)


def names(n: int = N) -> list[str]:
    """Return ids (n,) in no order."""
    return [f"r{k * 7919 % n:04}" for k in range(n)]


def code(y: np.ndarray) -> np.ndarray:
    """Return classes as 0..k-1."""
    return np.unique(y, return_inverse=True)[1]


def links(y: np.ndarray, rng: np.random.Generator, share: float, equal: bool = True) -> pl.DataFrame:
    """Return 300 edges of which a share joins equal labels, or unequal ones, by intent."""
    ids, ends = names(), {}
    while len(ends) < 300:
        a, b = sorted(rng.integers(N, size=2))
        if a != b and ((y[a] == y[b]) == equal or rng.random() > share):
            ends[ids[a], ids[b]] = y[a] == y[b]
    return pl.DataFrame([(*pair, same) for pair, same in ends.items()], ["source", "target", "equal"], orient="row")


def _class(name: str, leaks: bool, make: Callable, k: int = 2, **more: object) -> Case:
    def data(rng: np.random.Generator) -> HetData:
        y = classes(rng, k)
        return table(make(y, rng), y, **more)

    return Case(name, leaks, data)


def _number(name: str, leaks: bool, make: Callable, draw: Callable | None = None, **more: object) -> Case:
    def data(rng: np.random.Generator) -> HetData:
        y = rng.lognormal(size=N) if draw is None else draw(rng)
        return table(make(y, rng), y, task="regression", **more)

    return Case(name, leaks, data)


def _graph(name: str, leaks: bool, share: float, k: int = 3, equal: bool = True, slips: int = 0) -> Case:
    def data(rng: np.random.Generator) -> HetData:
        y = classes(rng, k)
        ends = pl.concat([links(y, rng, share, equal), links(y, rng, 1.0, not equal).head(slips)])
        return table({}, y, graphs={"g": ends.drop("equal")}, labelled=N if slips else N // 2)

    return Case(name, leaks, data)


def _weights(name: str, leaks: bool, spread: float) -> Case:
    """Return a graph whose weights are 1 between equal labels and 0.5 between others, but for a spread."""

    def data(rng: np.random.Generator) -> HetData:
        y = classes(rng, 3)
        ends = links(y, rng, 0.3)
        weight = 0.5 + 0.5 * ends["equal"].to_numpy() + spread * rng.random(len(ends))
        return table({}, y, graphs={"g": ends.drop("equal").with_columns(weight=weight)})

    return Case(name, leaks, data)


def _records(name: str, leaks: bool, have: Callable, k: int = 2) -> Case:
    """Return data with a second table, of the instances whose codes (N,) say so."""

    def data(rng: np.random.Generator) -> HetData:
        y = classes(rng, k)
        ids = np.array(names())[have(code(y), rng)]
        refunds = pl.DataFrame({"id": ids, "amount": rng.normal(size=len(ids))})
        return table({}, y, sources={"refunds": refunds})

    return Case(name, leaks, data)


def _rare(name: str, leaks: bool, flag: Callable) -> Case:
    """Return 2,000 labelled rows of which 20 are of the rarer class, and a column made of which these are (n,)."""

    def data(rng: np.random.Generator) -> HetData:
        rare = rng.permutation(np.arange(2_000) < 20)
        return table({"closed": flag(rare, rng)}, np.where(rare, "fraud", "fine"), labelled=2_000)

    return Case(name, leaks, data)


def _slips(flags: np.ndarray, rng: np.random.Generator, false: int, missed: int) -> np.ndarray:
    """Return flags (n,) of which some are set and some are not by mistake."""
    changed = flags.copy()
    changed[rng.permutation(np.flatnonzero(~flags))[:false]] = True
    changed[rng.permutation(np.flatnonzero(flags))[:missed]] = False
    return changed


def _gaps(values: np.ndarray, where: np.ndarray) -> pl.Series:
    return pl.Series(values).set(pl.Series(where), None)


def _sorted_ids(y: np.ndarray) -> HetData:
    ids = np.empty(N, dtype=object)
    ids[np.argsort(y, kind="stable")] = [f"case {k:04}" for k in range(N)]
    return table({}, y, list(ids))


LEAKS = [
    _class("the label's own column", True, lambda y, rng: {"outcome": y}),
    _class("the label under another name", True, lambda y, rng: {"note": y}, 4),
    _class("name of the label in capitals, other values", True, lambda y, rng: {"OUTCOME ": rng.normal(size=N)}),
    _class("classes as numbers", True, lambda y, rng: {"v17": code(y)}, 5),
    _class("classes as shuffled numbers", True, lambda y, rng: {"v17": np.array([7, 1, 4])[code(y)]}, 3),
    _class("classes as other words", True, lambda y, rng: {"state": np.array(["paid", "late"])[code(y)]}),
    _class("classes as truth values", True, lambda y, rng: {"flag": code(y) == 1}),
    _class("the label with gaps", True, lambda y, rng: {"note": _gaps(y, rng.random(N) < 0.3)}, 3),
    _class(
        "a finer code of the class",
        True,
        lambda y, rng: {"zip": [f"{c}{d}" for c, d in zip(code(y), rng.integers(3, size=N))]},
    ),
    _class("a score above the threshold", True, lambda y, rng: {"score": code(y) + rng.random(N) * 0.9}),
    _class(
        "a field that only one class has", True, lambda y, rng: {"paid on": _gaps(rng.normal(size=N), code(y) == 0)}
    ),
    _class(
        "the label with one slip in a hundred",
        True,
        lambda y, rng: {"note": np.where(np.arange(N) == 5, "class 0", y)},
        3,
        labelled=N,
    ),
    _number("the number itself", True, lambda y, rng: {"total": y}),
    _number("the number in another unit", True, lambda y, rng: {"cents": 100 * y}),
    _number("the number's logarithm", True, lambda y, rng: {"log": np.log(y)}),
    _number("the number upside down", True, lambda y, rng: {"per day": 1 / y}),
    _number("the number as text", True, lambda y, rng: {"total": [f"{v:015.9f} EUR" for v in y]}),
    _number("the number with rounding noise", True, lambda y, rng: {"total": y * np.exp(rng.normal(size=N) * 0.01)}),
    _number("the number's rank", True, lambda y, rng: {"place": np.argsort(np.argsort(-y))}),
    _number(
        "stars of five", True, lambda y, rng: {"mood": 10.0 - 2 * y}, lambda rng: rng.integers(1, 6, N).astype(float)
    ),
    _graph("a graph of equal labels", True, 1.0),
    _graph("a graph of equal labels but for two links", True, 1.0, slips=2),
    _graph("a graph of unequal labels of two classes", True, 1.0, 2, equal=False),
    _weights("weights that are larger between equal labels", True, 0.2),
    _records("a table of one class", True, lambda c, rng: c == 1),
    _records("a table of all but one class of three", True, lambda c, rng: c != 2, 3),
    _class("one class of three by yes and no", True, lambda y, rng: {"is it": np.where(code(y) == 1, "yes", "no")}, 3),
    _class("one class of four by 0 and 1", True, lambda y, rng: {"b": (code(y) == 2).astype(int)}, 4),
    _class(
        "a field that one class of three lacks", True, lambda y, rng: {"on": _gaps(rng.normal(size=N), code(y) == 0)}, 3
    ),
    _rare("a rare class with two false alarms", True, lambda rare, rng: _slips(rare, rng, 2, 0)),
    _rare("a rare class of which one is missed", True, lambda rare, rng: _slips(rare, rng, 0, 1)),
    _rare(
        "a rare class in words with two slips",
        True,
        lambda rare, rng: np.where(_slips(rare, rng, 1, 1), "called back", "no"),
    ),
    Case("ids in the order of the classes", True, lambda rng: _sorted_ids(classes(rng, 3))),
]

INNOCENT = [
    _class("noise", False, lambda y, rng: {f"x{k}": rng.normal(size=N) for k in range(40)}),
    _class("a good feature", False, lambda y, rng: {"x": code(y) + rng.normal(size=N) * 0.4}),
    _class("a very good feature", False, lambda y, rng: {"x": code(y) + rng.normal(size=N) * 0.27}),
    _class(
        "two features that tell together",
        False,
        lambda y, rng: (lambda a: {"a": a, "b": a + code(y)})(rng.normal(size=N) * 3),
    ),
    _class("one word in ten wrong", False, lambda y, rng: {"sex": np.where(rng.random(N) < 0.1, "class 0", y)}),
    _class("one word in twenty wrong", False, lambda y, rng: {"sex": np.where(np.arange(N) % 20 == 0, "other", y)}, 4),
    _class("distinct names", False, lambda y, rng: {"who": [f"person {k}" for k in rng.permutation(N)]}),
    _class("a constant", False, lambda y, rng: {"unit": ["cm"] * N}),
    _class("an empty column", False, lambda y, rng: {"later": pl.Series([None] * N, dtype=pl.Float64)}),
    _class("gaps that tell nothing", False, lambda y, rng: {"x": _gaps(rng.normal(size=N), rng.random(N) < 0.5)}),
    _class(
        "gaps that tell a little",
        False,
        lambda y, rng: {"x": _gaps(rng.normal(size=N), (code(y) == 0) & (rng.random(N) < 0.8))},
    ),
    _class("a code of two for four classes", False, lambda y, rng: {"half": code(y) // 2}, 4),
    _class(
        "six labelled rows and many columns",
        False,
        lambda y, rng: {f"b{k}": rng.integers(2, size=N) for k in range(60)},
        labelled=6,
    ),
    _class("fifty rare flags", False, lambda y, rng: {f"b{k}": (rng.random(N) < 0.02).astype(int) for k in range(50)}),
    _class("a name that holds the label's", False, lambda y, rng: {"outcome of the day before": rng.normal(size=N)}),
    _number("correlation 0.9", False, lambda y, rng: {"x": np.log(y) + 0.48 * rng.normal(size=N)}),
    _number("correlation 0.98", False, lambda y, rng: {"x": np.log(y) + 0.2 * rng.normal(size=N)}),
    _number("the number in five classes", False, lambda y, rng: {"size": np.digitize(y, [0.4, 0.8, 1.3, 2.3])}),
    _number(
        "distinct codes beside distinct numbers", False, lambda y, rng: {"key": [f"k{k}" for k in rng.permutation(N)]}
    ),
    _number("counts", False, lambda y, rng: {"n": rng.poisson(np.log1p(y) * 20)}),
    _graph("a graph of friends", False, 0.9),
    _graph("a graph of equal labels but for a dozen links", False, 1.0, slips=12),
    _graph("a graph of rivals", False, 0.9, 2, equal=False),
    _graph("a graph of unequal labels of four classes", False, 1.0, 4, equal=False),
    _weights("weights that are often larger between equal labels", False, 1.5),
    _records("a table of half of each class", False, lambda c, rng: rng.random(N) < 0.5),
    _records("a table of most of one class", False, lambda c, rng: (c == 1) & (rng.random(N) < 0.8)),
    _records("a table of some of two classes of three", False, lambda c, rng: (c != 2) & (rng.random(N) < 0.7), 3),
    _records("a table of two classes of four", False, lambda c, rng: c < 2, 4),
    _class(
        "yes for most of one class of three",
        False,
        lambda y, rng: {"is it": np.where((code(y) == 1) & (rng.random(N) < 0.7), "yes", "no")},
        3,
    ),
    _class(
        "gaps in most of one class of three",
        False,
        lambda y, rng: {"x": _gaps(rng.normal(size=N), (code(y) == 1) & (rng.random(N) < 0.7))},
        3,
    ),
    _rare("a warning before a rare class", False, lambda rare, rng: _slips(rare, rng, 8, 4)),
    _rare("a score of a rare class", False, lambda rare, rng: rng.normal(size=len(rare)) + np.where(rare, 3.0, 0.0)),
    _class("ids in no order", False, lambda y, rng: {"row": np.arange(N)}, 3),
]
CASES = [*LEAKS, *INNOCENT]


def found(case: Case, seed: int = 0) -> list[Leak]:
    """Return what is said of a case."""
    return find_leaks(case.make(np.random.default_rng(seed)))


if __name__ == "__main__":
    counts = {True: 0, False: 0}
    for each in CASES:
        times = sum(bool(found(each, seed)) for seed in range(10))
        counts[each.leaks] += times
        if times != 10 * each.leaks:
            sys.stdout.write(f"{'leak' if each.leaks else 'look-alike'}, {each.name}: said in {times} of 10 draws\n")
    sys.stdout.write(f"{counts[True]} of {10 * len(LEAKS)} draws of {len(LEAKS)} planted leaks found\n")
    sys.stdout.write(f"{counts[False]} of {10 * len(INNOCENT)} draws of {len(INNOCENT)} look-alikes said by mistake\n")
