"""R14's laws of order: problems with something to learn, written down in another way, as many as there is time for.

    python -m benchmarks.reliability.changed_problems [--minutes 30] [--seed 0] [GBCClassifier ...]

The laws are those of `tests/contract/order_laws.py`: equal after permuting rows, columns, sources, ids and hidden
labels, equal when a source of no record is added, better than the prior. Prints for each method how many problems were
drawn, how many comparisons held, were refused in words, and broke, and the first five of those.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter

from tests.contract.order_laws import broken_laws
from tests.contract.random_cases import METHODS


def tried(name: str, seconds: float, first: int) -> tuple[Counter[str], list[str], int]:
    """Return how many comparisons held, were refused and broke, what broke, and how many problems were drawn."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    until, drawn = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        try:
            for law, words in broken_laws(name, first + drawn):
                counts[words if words in ("", "refused") else "broken"] += 1
                broken += [f"seed {first + drawn}, {law}: {words}"] if words not in ("", "refused") else []
        except Exception as error:  # any error is a finding
            counts["broken"] += 1
            broken.append(f"seed {first + drawn}: {type(error).__name__}: {error}"[:200])
        drawn += 1
    return counts, broken, drawn


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", choices=[[], *METHODS])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("error")
    names = given.methods or list(METHODS)
    print("| method | problems | laws held | refused in words | laws broken |\n|---|---|---|---|---|")
    total: Counter[str] = Counter()
    for name in names:
        counts, broken, drawn = tried(name, 60 * given.minutes / len(names), given.seed)
        total += counts + Counter(problems=drawn)
        print(f"| {name} | {drawn:,} | {counts['']:,} | {counts['refused']:,} | {counts['broken']:,} |", flush=True)
        for words in broken[:5]:
            print(f"    {words}", flush=True)
    print(f"| all | {total['problems']:,} | {total['']:,} | {total['refused']:,} | {total['broken']:,} |")


if __name__ == "__main__":
    main()
