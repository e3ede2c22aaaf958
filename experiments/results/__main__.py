"""Print docs/results.md: what each method reaches on real data and on planted ones, beside its peers.

python -m experiments.results > docs/results.md
"""

from __future__ import annotations

import sys
from importlib import import_module

SECTIONS = (
    "claims",
    "consensus",
    "collective",
    "two_learners",
    "transfer",
    "heteroscedastic",
    "factorization",
)
"""Modules of this folder whose `render()` returns a section, a second-level heading first."""

HEAD = """# Results

Printed by `python -m experiments.results` from the cells in `results/`, which the commands named below run. A cell that
stands there is not run again.
"""


def main() -> None:
    sys.stdout.write(HEAD + "\n")
    for name in SECTIONS:
        sys.stdout.write(import_module(f"experiments.results.{name}").render() + "\n")


if __name__ == "__main__":
    main()
