"""The section of docs/results.md on the two weak learners and boosted feature vectors, from the finished cells."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.results.cells import RESULTS, finished
from experiments.two_learner import BASELINE, DATA, MAKERS, PEOPLE, STEPS

HEAD = f"""## Two weak learners and boosted feature vectors

From the cells in `results/two_learners.jsonl`, which the command
`HETCORE_DATA=../shared/data python -m experiments 2wl --results docs/results` runs. The
protocol of the paper's Tables 3 to 5: macro F1 on held-out rows and its relative improvement over the two-branch
network without boosted features. A run draws {PEOPLE:,} of the 99,762 people, or half of the 6,480 places, and holds
out a third of them. The baseline's F1 is in %, the others' relative improvement in %, mean ± standard error over the
runs, paired with the baseline of the same run; the number of runs where it is not 5 stands in brackets. A fifth of
the rows to learn from chooses the number of epochs (at most 20) or rounds (at most 20, each network fitted in 3 passes;
with the pictures 10 and 6), for every method.

Of the paper's numbers its abstract's range is at hand, improvements of 0.1% to 4.7% over its baselines; its column
splits and pictures are not, so these are like tasks, not the same.
"""

STEP_HEAD = """### Newton against Bayes

2WL with whole steps on all rows, 20 rounds, the same seeds: mean training risk after the last round, and the median
seconds that choosing the steps of a round took.

| data | runs | """


ERROR_HEAD = """### The same fits: errors

Share of the held-out rows in %, mean ± standard error. Where one class is rare (6% of the people), a method with
calibrated probabilities names it seldom: its error is low, and its F1 too.
"""


def render() -> str:
    """Return the section."""
    cells = finished(RESULTS / "two_learners.jsonl", ("data", "method", "run"))
    steps = STEP_HEAD + " | ".join(STEPS) + " | Newton is faster than Bayes |\n|---|---" + "|---" * len(STEPS) + "|---|"
    tables = [HEAD, *_table(cells, _improvement), ERROR_HEAD, *_table(cells, _error), steps, *_steps(cells)]
    return "\n".join([*tables, ""])


def _table(cells: dict, told: Callable[[dict, str, str, list[int]], tuple[NDArray, str]]) -> list[str]:
    shown = [data for data in DATA if any(key[0] == data and key[1] in MAKERS for key in cells)]
    lines = ["| method | " + " | ".join(shown) + " |", "|---" * (1 + len(shown)) + "|"]
    for method in MAKERS:
        lines.append(f"| {method} | " + " | ".join(_cell(cells, data, method, told) for data in shown) + " |")
    return [*lines, ""]


def _improvement(cells: dict, data: str, method: str, runs: list[int]) -> tuple[NDArray, str]:
    """Return the baseline's F1 in %, or another's relative improvement over it in %, and how to print it."""
    own, base = (np.array([cells[data, name, run]["F1"] for run in runs]) for name in (method, BASELINE))
    return (100 * own, "{:.1f}") if method == BASELINE else (100 * (own / base - 1), "{:+.1f}")


def _error(cells: dict, data: str, method: str, runs: list[int]) -> tuple[NDArray, str]:
    return 100 * np.array([cells[data, method, run]["error"] for run in runs]), "{:.1f}"


def _cell(cells: dict, data: str, method: str, told: Callable) -> str:
    runs = [run for run in range(100) if (data, method, run) in cells and (data, BASELINE, run) in cells]
    if not runs:
        return "–"
    values, words = told(cells, data, method, runs)
    text = words.format(values.mean())
    if len(runs) > 1:
        text += f" ± {values.std(ddof=1) / np.sqrt(len(runs)):.1f}"
    return text + (f" [{len(runs)}]" if len(runs) != 5 else "")


def _steps(cells: dict) -> list[str]:
    lines = []
    for data in DATA:
        runs = [run for run in range(100) if all((data, f"step: {step}", run) in cells for step in STEPS)]
        if runs:
            told = {step: [cells[data, f"step: {step}", run] for run in runs] for step in STEPS}
            row = [_step(told[step]) for step in STEPS]
            ratio = np.median([b["step_seconds"] / n["step_seconds"] for n, b in zip(told["newton"], told["bayes"])])
            lines.append(f"| {data} | {len(runs)} | " + " | ".join(row) + f" | {ratio:.0f} times |")
    return lines


def _step(cells: list[dict]) -> str:
    risk, seconds = (np.array([cell[name] for cell in cells]) for name in ("risk", "step_seconds"))
    return f"{risk.mean():.4f}, {np.median(seconds):.4f} s"
