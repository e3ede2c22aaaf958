"""R14: as many random problems for every method as there is time for; what broke a law, and how many were refused.

    python -m benchmarks.reliability.random_cases [--cases 10000] [--minutes 30] [--seed 0] [GBCClassifier ...]

The problems and the laws are those of `tests/contract/random_cases.py` and `tests/contract/test_properties_methods.py`;
each seed draws others. One problem in twenty has up to 2,000 rows, the others up to 24. On each data set the method
is fitted with four settings, for to draw the data takes as long as many fits. A method stops after its share of
the minutes; what it leaves of it is the others'. Rows are added to docs/results/random_cases.jsonl with --keep.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from hetcore.errors import PrecisionWarning
from tests.contract.random_cases import METHODS, Case, cases, settings_of
from tests.contract.test_properties_methods import assert_lawful

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "results" / "random_cases.jsonl"
SETTINGS = 4
"""Settings that a method is fitted with on each data set."""


class _OutOfTime(Exception):
    """The method's share of the minutes is over."""


def broken(name: str, count: int, seconds: float, number: int) -> tuple[Counter[str], int, int]:
    """Return what broke a law, by error, how many problems were drawn, and how many of them were refused in words."""
    found: Counter[str] = Counter()
    drawn = refused = 0
    until = time.monotonic() + seconds

    @seed(number)
    @settings(
        max_examples=-(-count // SETTINGS), deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(cases(name, large=True), st.lists(settings_of(name), min_size=SETTINGS - 1, max_size=SETTINGS - 1))
    def law(case: Case, more: list[dict[str, Any]]) -> None:
        nonlocal drawn, refused
        for model in (case.model, *(METHODS[name](**params) for params in more)):
            if time.monotonic() > until:
                raise _OutOfTime
            drawn += 1
            try:
                refused += not assert_lawful(case._replace(model=model))
            except Exception as error:  # any error is a finding
                found[f"{_place(error)}: {type(error).__name__}: {' '.join(str(error).split())}"[:200]] += 1

    try:
        law()
    except BaseException as error:
        if not (isinstance(error, _OutOfTime) or "_OutOfTime" in repr(error) or "Flaky" in type(error).__name__):
            raise
    return found, drawn, refused


def _place(error: Exception) -> str:
    """Return the last line of hetcore that an error came through, or that of the law."""
    paths = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    ours = [each for each in paths if each[0].is_relative_to(ROOT / "hetcore")]
    path, line = (ours or [each for each in paths if each[0].is_relative_to(ROOT / "tests")] or paths)[-1]
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name}:{line}"


def main() -> None:
    """Run and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", choices=[[], *METHODS])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true")
    given_ = parser.parse_args()
    warnings.simplefilter("error")
    # some problems have columns that hardly vary
    warnings.simplefilter("ignore", PrecisionWarning)
    names = given_.methods or list(METHODS)
    print("| method | problems | refused in words | laws broken |\n|---|---|---|---|")
    until = time.monotonic() + 60 * given_.minutes
    for place, name in enumerate(names):
        seconds = (until - time.monotonic()) / (len(names) - place)
        found, drawn, refused = broken(name, given_.cases, seconds, given_.seed)
        print(f"| {name} | {drawn:,} | {refused:,} | {found.total()} |", flush=True)
        for words, times in found.most_common(5):
            print(f"    {times} x {words}", flush=True)
        if given_.keep:
            row = {"method": name, "seed": given_.seed, "problems": drawn, "refused": refused, "broken": found.total()}
            with KEPT.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
