"""How the studio's readers answer the hostile corpus of tests/hostile: counts by format, seconds, memory.

    python -m benchmarks.reliability.hostile

"refused" files got one sentence, "read" ones were read with their findings; "at fault" counts files whose answer is not
as it must be, and rows that were neither used nor reported. Seconds are from the file in memory to the answer, with the
source or the graph made of it; memory is the largest of any reader's process, and the growth of the studio's own.
"""

from __future__ import annotations

import sys
import threading
from collections import defaultdict
from pathlib import Path

import numpy as np
import psutil

from studio import uploads
from studio.readers import sandbox
from tests import hostile
from tests.hostile.accounts import Outcome, faults, outcome

MIB = 2**20


class Watch(threading.Thread):
    """Looks every few milliseconds at the most memory that a reader's process has had."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self._done = 0, threading.Event()

    def run(self) -> None:
        """Look until `stop`."""
        server = psutil.Process(sandbox.shared()._process.pid)
        # Readers live for milliseconds, and are looked at while they do.
        while not self._done.wait(0.005):
            for child in server.children():
                self.most = max(self.most, _high_water(child.pid))

    def stop(self) -> int:
        """Return the bytes."""
        self._done.set()
        self.join()
        return self.most


def _high_water(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    # The system's own mark of the most; between two looks a reader may have had more.
    line = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
    return 1024 * int(line.split()[1])


def main() -> int:
    """Print the table; return 1 if an answer is not as it must be."""
    # The sandbox is started before anything is measured.
    uploads.read_table("a.csv", b"id,x\na,1\n")
    before, watch = psutil.Process().memory_info().rss, Watch()
    watch.start()
    results, wrong = _outcomes()
    most, grown = watch.stop(), psutil.Process().memory_info().rss - before
    _table(results)
    seconds = np.array([found.seconds for found, _ in sum(results.values(), [])])
    slowest = max(
        ((found.seconds, text) for each in results.values() for found, text in each), key=lambda pair: pair[0]
    )
    print(f"\n{len(seconds)} files in {len(results)} formats; {len(wrong)} at fault")
    spread = f"median {np.median(seconds):.3f}, 95% {np.quantile(seconds, 0.95):.3f}"
    print(f"seconds: {spread}, worst {slowest[0]:.2f} ({slowest[1]})")
    print(f"memory: {most / MIB:,.0f} MiB at most in a reader, {grown / MIB:+,.0f} MiB in the studio")
    for text in wrong:
        print(text)
    return 1 if wrong else 0


def _outcomes() -> tuple[dict[str, list[tuple[Outcome, str]]], list[str]]:
    results, wrong = defaultdict(list), []
    for case in hostile.CASES:
        found = outcome(case)
        results[case.form].append((found, case.label))
        wrong += [f"{case.form}: {case.label}: {fault}" for fault in faults(case, found)]
    return results, wrong


def _table(results: dict[str, list[tuple[Outcome, str]]]) -> None:
    print("| format | files | refused | read | median ms | worst ms |\n|---|---|---|---|---|---|")
    for form, each in sorted(results.items()):
        seconds = 1000 * np.array([found.seconds for found, _ in each])
        refused = sum(found.sentence != "" for found, _ in each)
        counts = f"{len(each)} | {refused} | {len(each) - refused}"
        print(f"| {form} | {counts} | {np.median(seconds):.0f} | {seconds.max():.0f} |")


if __name__ == "__main__":
    sys.exit(main())
