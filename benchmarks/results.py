"""Print docs/results.md: what each method reaches on real data and on planted ones, beside its peers.

python -m benchmarks.results > docs/results.md
"""

from __future__ import annotations

from importlib import import_module

SECTIONS = (
    "claims_tables",
    "consensus_tables",
    "collective_tables",
    "two_learner_tables",
    "transfer_tables",
    "heteroscedastic_tables",
    "factorization_tables",
)
"""Modules of benchmarks/ whose `render()` returns a section, a second-level heading first."""

HEAD = """# Results

Printed by `python -m benchmarks.results` from the cells in `results/`, which the commands named below run. A cell that
stands there is not run again.
"""


def main() -> None:
    print(HEAD)
    for name in SECTIONS:
        print(import_module(f"benchmarks.{name}").render())


if __name__ == "__main__":
    main()
