"""Where the memory of the three largest runs goes: peak and the functions that hold it, by memray.

    python -m benchmarks.speed.allocations    # customers 100,000 x 90 graphs, a million nodes, a million ratings

Each run has a process of its own. "held" is what a function, or what it calls of other libraries, holds at the run's
peak.
Only here: `pip install memray`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

MOST = 6
ROOT = Path(__file__).resolve().parents[2]


def consensus() -> Callable[[], object]:
    """Customers: 100,000 instances, 196 columns, 90 graphs of half a million links."""
    import datasets
    import hetcore as hc

    data, _ = datasets.make_customers(100_000, seed=0)
    return lambda: hc.GBCClassifier(n_iterations=8, random_state=0).fit(data)


def collective() -> Callable[[], object]:
    """A million nodes, ten million links, 11 stages."""
    from benchmarks.speed.collective import SIZES, make, printed

    data, y = make(*SIZES["large"])
    return lambda: printed(n_rounds=1, sweeps=2).fit(data, y)


def factorization() -> Callable[[], object]:
    """A million ratings, 100 factors."""
    import hetcore as hc
    from benchmarks.speed.factorization import made

    X, y = made()
    return lambda: hc.HMF(100, 2, random_state=0).fit(X, y)


RUNS = {run.__name__: run for run in (consensus, collective, factorization)}


def profile(name: str) -> None:
    """Make the data, fit under memray, and print the peak and who held it."""
    import memray

    from hetcore.kernels import warm_up

    warm_up()
    fit = RUNS[name]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.bin"
        with memray.Tracker(path, follow_fork=False):
            fit()
        with memray.FileReader(path) as reader:
            held: dict[str, int] = defaultdict(int)
            for record in reader.get_high_watermark_allocation_records(merge_threads=True):
                held[_ours(record.stack_trace())] += record.size
    total = sum(held.values()) / 2**20
    print(f"\n{name} ({RUNS[name].__doc__.strip()}): {total:,.0f} MiB at the peak, the data aside\n")
    print("| function | held, MiB |\n|---|---|")
    for place, size in sorted(held.items(), key=lambda item: -item[1])[:MOST]:
        print(f"| `{place}` | {size / 2**20:,.0f} |")


def _ours(stack: list[tuple[str, str, int]]) -> str:
    """Return the innermost function of hetcore's in a stack; lines would age."""
    for function, file, _ in stack:
        path = Path(file)
        if path.is_relative_to(ROOT / "hetcore"):
            return f"{path.relative_to(ROOT)} {function}"
    return "elsewhere"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", choices=list(RUNS))
    asked = parser.parse_args().name
    if asked:
        profile(asked)
        return
    for name in RUNS:
        subprocess.run([sys.executable, "-m", "benchmarks.speed.allocations", name], check=True)


if __name__ == "__main__":
    main()
