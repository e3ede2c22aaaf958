"""R15: how many small faults, put into the kernels, parsers, loader and store one at a time, their tests find.

    python -m benchmarks.mutants [--most 20] [--seed 0] [kernels parsers loader store splitting parsing_text ...]

Faults are those of `benchmarks.mutant_faults`; a random sample of every module's is tried. Each gets the tests that
have been on its lines, the quickest first, until one fails or takes five times as long as it did: then it is found.
Faults that nothing can find (x + 0.0 for x - 0.0) count as not found, and so do those on lines that no test is on.

Kernels run as plain Python (NUMBA_DISABLE_JIT=1), with records for structured arrays and `add_row`, which is machine
code, in plain Python too; uploads are read in the tests' process instead of one of their own. Tests that fail so, that
take over 3 s, that start a PostgreSQL server or that reach a module only in processes of their own are left out. The
source on disk is never changed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import select
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.mutant_faults import Fault, faults

ROOT = Path(__file__).resolve().parent.parent
SLOWEST = 3.0
"""Seconds of processor time of one test; slower ones are left out."""
PATIENCE = 20.0
"""Seconds of processor time of all tests of one fault; the slowest beyond are left out."""


class Group(NamedTuple):
    """What is looked at together: modules, the functions of them, tests, and whether kernels are compiled."""

    modules: list[str]
    tests: list[str]
    wanted: Callable[[str], bool] = bool
    compiled: bool = True


def _modules(pattern: str, *more: str) -> list[str]:
    return [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted(ROOT.glob(pattern))] + list(more)


def _kernels() -> list[str]:
    """Return the modules that hold kernels."""
    found = _modules("hetcore/kernels/*.py")
    return [name for name in found if "= kernel(_" in _source(name).read_text(encoding="utf-8").split('"""')[-1]]


def _source(module: str) -> Path:
    return ROOT / f"{module.replace('.', '/')}.py"


GROUPS = {
    "kernels": Group(
        _kernels(), ["test_kernels*.py", "test_weights.py", "test_binning.py", "test_trees.py"], compiled=False
    ),
    "parsers": Group(
        _modules("studio/parsing*.py", "studio.sentences", "studio.uploads"),
        ["test_upload*.py", "test_parsing*.py", "test_hostile.py"],
    ),
    "loader": Group(
        ["hetcore.persistence", "hetcore.archive", "hetcore.npy"], ["test_persistence*.py", "test_model_files.py"]
    ),
    "store": Group(
        ["studio.store", "studio.database", "studio.run", "studio.salvage", "studio.streams"],
        ["test_store*.py", "test_streams.py"],
    ),
}


class Worker:
    """A process of `benchmarks.mutant_worker`, started when it is asked."""

    def __init__(self, name: str, folder: str) -> None:
        self._name, self._folder = name, folder
        self._process: subprocess.Popen[str] | None = None
        self.fresh = True

    def ask(self, request: dict[str, Any], seconds: float) -> Any:
        """Return the answer; None if the process dies or says nothing in time."""
        if self._process is None:
            self._start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            said = select.select([self._process.stdout], [], [], seconds)[0] and self._process.stdout.readline()
        except BrokenPipeError:
            said = ""
        if not said:
            self.end()
        return json.loads(said) if said else None

    def end(self) -> None:
        """End the process; the next question starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process, self.fresh = None, True

    def _start(self) -> None:
        group = GROUPS[self._name]
        environment = {**os.environ, "TMPDIR": self._folder, "NUMBA_DISABLE_JIT": "0" if group.compiled else "1"}
        command = [sys.executable, "-m", "benchmarks.mutant_worker"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        tests = [str(path) for pattern in group.tests for path in sorted((ROOT / "tests").glob(pattern))]
        task = {"group": self._name, "modules": group.modules, "tests": tests, "folder": f"{self._folder}/tests"}
        self._process.stdin.write(json.dumps(task) + "\n")


Survey = dict[str, tuple[float, set[tuple[str, int]]]]


def surveyed(worker: Worker) -> Survey:
    """Return how long each test takes and which lines it is on, without those that fail, skip or take too long."""
    found = worker.ask({"survey": SLOWEST}, 3600.0)
    worker.end()
    if found is None:
        raise RuntimeError("the process of the tests ended before they did")
    passed = {name: each for name, each in found.items() if each is not None and each[1]}
    return {name: (seconds, {(file, line) for file, line in lines}) for name, (seconds, lines) in passed.items()}


def tests_of(file: Path, fault: Fault, survey: Survey) -> list[tuple[str, float]]:
    """Return the tests that have been on a fault's lines with their seconds, the quickest first."""
    lines = {(str(file), line) for line in range(fault.first, fault.last + 1)}
    sorted_ = sorted((seconds, name) for name, (seconds, seen) in survey.items() if lines & seen)
    chosen, spent = [], 0.0
    for seconds, name in sorted_:
        spent += seconds
        if spent <= PATIENCE:
            chosen.append((name, seconds))
    return chosen


def survives(worker: Worker, file: Path, fault: Fault, tests: list[tuple[str, float]]) -> bool:
    """Whether no test finds a fault; one after which tests fail without it is tried again in a new process."""
    if not tests:
        return True
    patience = 180.0 + 20.0 * sum(seconds for _, seconds in tests)  # of the clock: other programs may run beside
    for _ in range(2):
        was_fresh, worker.fresh = worker.fresh, False
        said = worker.ask({"file": str(file), "fault": fault, "tests": tests}, patience)
        if said == "spoilt":
            worker.end()
        if said != "spoilt" or was_fresh:
            return said == "not found"
    return False


def measured(name: str, chosen: list[str], most: int, seed: int) -> Iterator[tuple[str, int, int, list[str]]]:
    """Yield of every module how many faults there are and were tried, and those that were not found."""
    group = GROUPS[name]
    with tempfile.TemporaryDirectory(prefix="hetcore-mutants-") as folder:
        worker = Worker(name, folder)
        survey = surveyed(worker)
        for module in [each for each in group.modules if name in chosen or each in chosen]:
            file = _source(module)
            every = faults(file, group.wanted)
            some = random.Random(f"{seed} {module}").sample(every, min(most, len(every)))
            left = [each for each in sorted(some) if survives(worker, file, each, tests_of(file, each, survey))]
            said = [f"{file.relative_to(ROOT)}:{each.first}: {each.function}: {each.what}" for each in left]
            yield module, len(every), len(some), said
        worker.end()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="GROUP or MODULE")
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    every = {module.rpartition(".")[2]: module for group in GROUPS.values() for module in group.modules}
    chosen = [name if name in GROUPS else every.get(name, name) for name in given.names or GROUPS]
    began, totals, left = time.monotonic(), defaultdict(lambda: [0, 0]), []
    print("| module | faults | tried | found | score |\n|---|---|---|---|---|", flush=True)
    for name, group in GROUPS.items():
        for module, n, tried, said in (
            measured(name, chosen, given.most, given.seed) if {name, *group.modules} & set(chosen) else ()
        ):
            print(_row(module, n, tried, tried - len(said)), flush=True)
            totals[name][0] += tried
            totals[name][1] += tried - len(said)
            left += said
    for name, (tried, found) in totals.items():
        print(_row(f"**{name}**", "", tried, found))
    print("\nnot found:\n" + "\n".join(left))
    print(f"\n{(time.monotonic() - began) / 60:.0f} minutes")


def _row(name: str, n: int | str, tried: int, found: int) -> str:
    return f"| {re.sub('^(hetcore|studio)[.]', '', name)} | {n} | {tried} | {found} | {found / max(tried, 1):.0%} |"


if __name__ == "__main__":
    main()
