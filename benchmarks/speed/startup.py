"""Seconds until hetcore, the studio's pages and an estimator are there, each in a process of its own, files cached.

    python -m benchmarks.speed.startup

Medians of 7 of the processor's seconds and of wall seconds, less those of an interpreter that imports nothing. The last
rows are the parts that cannot be had for less.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

REPEATS = 7
WHAT = {
    "import hetcore": "import hetcore",
    "import app (the studio's server)": "import app",
    "hetcore.GBCClassifier": "import hetcore; hetcore.GBCClassifier",
    "polars, scipy.sparse": "import polars, scipy.sparse",
    "streamlit": "import streamlit.web.cli",
    "numba, scikit-learn": "import numba, sklearn.base",
}


def once(code: str) -> tuple[float, float]:
    """Return (processor, wall) seconds of an interpreter that runs the code."""
    before, started = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.perf_counter() - started


def main() -> None:
    print("| what | processor, s | wall, s |\n|---|---|---|")
    nothing = [statistics.median(each) for each in zip(*(once("pass") for _ in range(REPEATS)))]
    for words, code in WHAT.items():
        once(code)
        cpu, wall = (statistics.median(each) for each in zip(*(once(code) for _ in range(REPEATS))))
        print(f"| {words} | {cpu - nothing[0]:.2f} | {wall - nothing[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
