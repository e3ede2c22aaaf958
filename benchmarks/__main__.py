"""Every speed and size that hetcore claims, measured in one run on one machine, as the page docs/benchmarks.md.

    HETCORE_DATA=../shared/data OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks > docs/benchmarks.md
    python -m benchmarks --list
    python -m benchmarks trees startup             # some parts

Each part is a command of its own that prints ours and the peer, in turn, in one process tree, after compiling. What it
prints stands under it. It takes most of an hour; parts whose peer is not installed say so.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from typing import NamedTuple


class Part(NamedTuple):
    """One section: what it is called, the command's arguments after `python -m`, what it aims at, a word on it."""

    title: str
    command: str
    aim: str
    word: str = ""


PARTS = {
    "public": Part(
        "Every public estimator, fit and predict, beside its peer",
        "benchmarks.speed.public",
        "at most 1.0 of the fastest peer at no worse error.",
        "Errors: RMSE, error rate, or the mean negative log likelihood where a deviation is predicted; they are of one "
        "problem a size, made with known truth, so small differences say nothing.",
    ),
    "trees": Part(
        "Boosted trees against LightGBM",
        "benchmarks.speed.trees",
        "fit at most 1.0 times LightGBM's, prediction no slower.",
        "LightGBM with two threads spins where a core is busy, so the processor's seconds of that case say more "
        "than the wall's. Training losses are within 1%, but for ten outputs: one tree with ten numbers in each "
        "leaf has a tenth of the leaves of ten trees.",
    ),
    "consensus": Part(
        "Consensus: instances, links, sources",
        "benchmarks.speed.consensus_scale",
        "slopes of 1 (linear), the graph part at most ten plain reads of the graphs.",
        "The first rounds hold encoding, the kernel ridge, and up to 50 million links in all the joint graph, which "
        "larger data do without: so a fit of 80,000 need not cost more than one of 40,000. Links are read once a fit.",
    ),
    "full": Part(
        "Consensus at the size of the paper's customers",
        "benchmarks.speed.consensus_scale full",
        "100 rounds on two cores in at most 24 GiB.",
        "The graph part is paid once a fit.",
    ),
    "graphs": Part(
        "Neighbours' sums beside what memory can do",
        "benchmarks.speed.consensus_scale graphs",
        "at most 10 plain reads of the links at 500,000 instances.",
        "Of the machine's memory a bare look-up asks for one number of each neighbour, ours for two values and a "
        "weight.",
    ),
    "threads": Part(
        "Threads for one fit",
        "benchmarks.speed.threads",
        "2 threads at least 1.7 times as fast on 500,000 x 100; the same bits.",
        "By the clock it says something on idle cores alone; the longest way is of the processor.",
    ),
    "what-if": Part(
        "Consensus trained again with something changed",
        "benchmarks.speed.what_if",
        "a first point within 1 s and a final curve within 2 s on the page.",
        "A worker of the studio recalls in 768 MiB what a training has in common with earlier ones; the same bits. "
        "With another λ1 that is every round of every learner, with another λ0 those that see no pull.",
    ),
    "classes": Part("K classes", "benchmarks.speed.classes", "well under K fits."),
    "cluster": Part(
        "Consensus on a cluster: bytes",
        "benchmarks.speed.distributed_bytes",
        "the bytes of the formulas of scale.md.",
        "What travels: [scale.md](scale.md).",
    ),
    "startup": Part(
        "Start-up",
        "benchmarks.speed.startup",
        "import hetcore in at most 0.5 s; the first training that a new user runs, compiling included, in 10 s.",
        "`import hetcore` loads no other library: they come with the first name that is asked for. What is compiled is "
        "kept for every later process.",
    ),
    "memory": Part("Where memory goes", "benchmarks.speed.allocations", "no table copied per class or round."),
    "collective": Part(
        "Collective inference, the paper's size",
        "benchmarks.speed.collective paper",
        "300 times the plain version.",
        "The plain version's time is scaled up from a sample of its visits.",
    ),
    "collective large": Part(
        "Collective inference, a million nodes", "benchmarks.speed.collective large", "30 s and 2.2 GiB on one core."
    ),
    "collective trees": Part(
        "Trees of the public estimator against LightGBM",
        "benchmarks.speed.collective trees",
        "per tree no slower than LightGBM.",
    ),
    "two learners": Part(
        "Steps by Newton against Bayes", "benchmarks.speed.two_learners", "at least 30 times faster a step."
    ),
    "transfer": Part(
        "TrAdaBoost against adapt",
        "benchmarks.speed.transfer",
        "at least 20 times faster than adapt.",
        "adapt needs TensorFlow.",
    ),
    "heteroscedastic": Part(
        "Mean and deviation against NGBoost and CatBoost",
        "benchmarks.speed.heteroscedastic --repeats 1",
        "50 times NGBoost, no slower than CatBoost.",
        "The aim of 50 times NGBoost is missed where columns have many distinct values "
        "([heteroscedastic.md](heteroscedastic.md)).",
    ),
    "factorization": Part(
        "Factorization against Surprise and cornac",
        "benchmarks.speed.factorization",
        "5 times Surprise, no slower than cornac, HMF at most twice MF.",
    ),
}
HEAD = """# Speed and memory

Printed by `python -m benchmarks` on one machine ({machine}); the peers are in `requirements-bench.txt`. Seconds are
of the processor where a part says so, which other work on the machine changes little.
"""


def section(part: Part) -> str:
    """Run a part; return its section."""
    started = time.perf_counter()
    command = [sys.executable, "-W", "ignore", "-m", *part.command.split()]
    # A process a part: what one leaves in memory is not measured in the next.
    done = subprocess.run(command, capture_output=True, text=True)
    output = done.stdout.strip() or "Nothing was printed."
    # The page is printed all the same; a missing peer is one sentence in it.
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        output += f"\n\nIt ended early: {last}"
    # To the person who waits, for the page itself goes to a file.
    sys.stderr.write(f"{part.title}: {time.perf_counter() - started:.0f} s\n")
    # A part that prints a table is Markdown already; what else it prints keeps its spaces.
    body = output if "\n|---" in f"\n{output}" else f"```\n{output}\n```"
    word = f"\n{part.word}\n" if part.word else ""
    return f"## {part.title}\n\n`python -m {part.command}`. Aim: {part.aim}\n\n{body}\n{word}"


def machine() -> str:
    """Return what the machine is in a few words."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"


def main() -> None:
    """Print the sections asked for; the whole page where none is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help="one or several of --list; all of them by default")
    parser.add_argument("--list", action="store_true", help="print the parts and their commands")
    asked = parser.parse_args()
    if unknown := [name for name in asked.parts if name not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}: give some of {', '.join(PARTS)}")
    if asked.list:
        print("\n".join(f"{name}: python -m {part.command}" for name, part in PARTS.items()))
        return
    # Some parts alone are for a look, and no page.
    if not asked.parts:
        print(HEAD.format(machine=machine()), flush=True)
    for name in asked.parts or PARTS:
        print(section(PARTS[name]), flush=True)


if __name__ == "__main__":
    main()
