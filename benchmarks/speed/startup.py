"""Seconds until hetcore, the studio's pages and an estimator are there, each in a process of its own, files cached.

    python -m benchmarks.speed.startup

Medians of 7 of the processor's seconds and of wall seconds, less those of an interpreter that imports nothing. Rows 4
to 6 are the parts that cannot be had for less. The last two, medians of 3, are the README's ten lines to the end of
their training: where no kernel is compiled yet, and once more.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator

REPEATS = 7
FIRST_USES = 3  # each compiles all that the ten lines need
WHAT = {
    "import hetcore": "import hetcore",
    "import app (the studio's server)": "import app",
    "hetcore.GBCClassifier": "import hetcore; hetcore.GBCClassifier",
    "polars, scipy.sparse": "import polars, scipy.sparse",
    "streamlit": "import streamlit.web.cli",
    "numba, scikit-learn": "import numba, sklearn.base",
}
TEN_LINES = """
import datasets
import hetcore as hc
from hetcore.data.splits import label_split
data = datasets.load("digits_views")
y = label_split(data, fraction=0.1, seed=0)
hc.GBCClassifier(random_state=0).fit(data, y, eval_y=data.y)
"""


def once(code: str, **variables: str) -> tuple[float, float]:
    """Return (processor, wall) seconds of an interpreter that runs the code, with more environment variables."""
    before, started = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, env={**os.environ, **variables})
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.perf_counter() - started


def first_uses() -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """Yield the seconds of the ten lines with an empty cache of kernels, and with what that left there."""
    for _ in range(FIRST_USES):
        with tempfile.TemporaryDirectory() as folder:
            yield once(TEN_LINES, HETCORE_CACHE=folder), once(TEN_LINES, HETCORE_CACHE=folder)


def main() -> None:
    print("| what | processor, s | wall, s |\n|---|---|---|")
    nothing = medians(once("pass") for _ in range(REPEATS))

    def row(words: str, cpu: float, wall: float) -> None:
        print(f"| {words} | {cpu - nothing[0]:.2f} | {wall - nothing[1]:.2f} |", flush=True)

    for words, code in WHAT.items():
        once(code)
        row(words, *medians(once(code) for _ in range(REPEATS)))
    first, again = zip(*first_uses())
    row("the ten lines, nothing compiled", *medians(first))
    row("the ten lines again", *medians(again))


def medians(seconds: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Return the medians of processor and wall seconds."""
    cpu, wall = zip(*seconds)
    return statistics.median(cpu), statistics.median(wall)


if __name__ == "__main__":
    main()
