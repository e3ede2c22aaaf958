"""How often columns in another unit are told, and how often columns of other rows by mistake.

    python -m tests.data.unit_cases

Tables of the suite's choosing half (40 columns of each at most), cut in two: at random, by the order of the rows, by
one column's values (its top or low 30%, its top 5%) and by one category. The first part stands for the training; the
column that cuts is not counted among the others.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np
import polars as pl

from datasets import suite
from hetcore.data import Source
from hetcore.data.kinds import as_numbers
from hetcore.data.ranges import shifted_columns

UNITS = {
    "x 1,000": lambda v: v * 1e3,
    "/ 1,000": lambda v: v / 1e3,
    "x 100": lambda v: v * 1e2,
    "/ 100": lambda v: v / 1e2,
    "x 60": lambda v: v * 60,
    "/ 60": lambda v: v / 60,
    "x 12": lambda v: v * 12,
    "x 2.54": lambda v: v * 2.54,
    "Celsius to Fahrenheit": lambda v: v * 1.8 + 32,
    "+ 1e9": lambda v: v + 1e9,
}
KINDS = ("real", "binary", "nominal")


def tables() -> Iterator[Source]:
    """Yield the tables, each once."""
    families: set[str] = set()
    for use in ("consensus", "noise"):
        for problem in suite.problems(use, "choosing"):
            if problem.family not in families:
                families.add(problem.family)
                for source in problem.load().sources.values():
                    names = [name for name, kind in source.kinds.items() if kind in KINDS][:40]
                    if source.frame is not None and names:
                        kinds = {name: source.kinds[name] for name in names}
                        yield Source(source.id_series, source.frame.select(names), kinds)


def cuts(source: Source, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, str]]:
    """Yield how a table is cut, which rows are new (n,), and the column that cuts."""
    n = source.n_rows
    places = np.arange(n)
    for _ in range(10):
        order = rng.permutation(n)
        for name, count in (("half at random", n // 2), ("20 rows", 20), ("5 rows", 5), ("1 row", 1)):
            yield name, order[:count], ""
    yield from (("last 30% of rows", places[int(0.7 * n) :], ""), ("first 30% of rows", places[: int(0.3 * n)], ""))
    for name, kind in source.kinds.items():
        if kind == "real":
            order = np.argsort(as_numbers(source.column(name)).fill_null(0).to_numpy(), kind="stable")
            for what, part in (("top 30%", order[int(0.7 * n) :]), ("low 30%", order[: int(0.3 * n)])):
                yield f"{what} of a column", part, name
            yield "top 5% of a column", order[int(0.95 * n) :], name
        else:
            texts = source.column(name).cast(pl.String).fill_null("")
            for value in texts.value_counts(sort=True)[name][:10]:
                if 5 <= (rows := (texts == value).arg_true().to_numpy()).size <= n - 20:
                    yield "one category", rows, name


def alarms() -> Counter:
    """Return by cut and what how many columns there were, of numbers and of categories, and how many were told."""
    counts, rng = Counter(), np.random.default_rng(0)
    for source in tables():
        for cut, rows, by in cuts(source, rng):
            rest = np.setdiff1d(np.arange(source.n_rows), rows)
            far, new = shifted_columns(source.take(rest).ranges, source.take(rows))
            numbers = {name for name, kind in source.kinds.items() if kind == "real"}
            counts[cut, "numbers"] += len(numbers - {by})
            counts[cut, "far"] += len(far.keys() - {by})
            counts[cut, "others"] += len(source.kinds) - len(numbers | {by})
            counts[cut, "unseen"] += len(new.keys() - {by})
            counts[cut, "cutting"] += by in far or by in new
    return counts


def found() -> tuple[int, Counter]:
    """Return how many columns were changed, and by unit how many of them were told; half the rows are new."""
    count, detected, rng = 0, Counter(), np.random.default_rng(1)
    for source in tables():
        order = rng.permutation(source.n_rows)
        known = source.take(np.sort(order[: len(order) // 2])).ranges
        new = source.take(np.sort(order[len(order) // 2 :]))
        # a column that is 0 in most rows is as 0 in any unit
        real = [name for name, five in known.items() if isinstance(five, list) and five[2] and five[0] < five[4]]
        count += len(real)
        for unit, change in UNITS.items():
            changed = [change(as_numbers(new.column(name))).alias(name) for name in real]
            other = new.with_values(new.frame.with_columns(changed))
            detected[unit] += len(set(shifted_columns(known, other)[0]) & set(real))
    return count, detected


def main() -> None:
    counts, what = alarms(), ("numbers", "far", "others", "unseen", "cutting")
    sys.stdout.write(f"| new rows | {' | '.join(what)} |\n|---|---|---|---|---|---|\n")
    for cut in dict.fromkeys(cut for cut, _ in counts):
        sys.stdout.write(f"| {cut} | {' | '.join(f'{counts[cut, each]:,}' for each in what)} |\n")
    count, by_unit = found()
    shares = ", ".join(f"{unit} {n / count:.0%}" for unit, n in by_unit.items())
    sys.stdout.write(f"\nOf {count:,} columns, told in another unit: {shares}\n")


if __name__ == "__main__":
    main()
