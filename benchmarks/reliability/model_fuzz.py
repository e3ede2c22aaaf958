"""Model files that were changed: does loading or predicting end the process, hang, or let a changed file pass?

    python -m benchmarks.reliability.model_fuzz  # 100,000 files over all classes that can be saved: some 10 minutes
    python -m benchmarks.reliability.model_fuzz --files 2400    # fewer

Half of the files have one to three stretches of bytes or one bit changed, as a bad disk does it; the checksums then
speak. The other half are forged: one value, type or shape changed inside, and every checksum right, so that only the
loader's own validation stands between the file and the model; what it takes must then predict. Each class has a process
of its own.

    python -m benchmarks.reliability.model_fuzz --bits          # every bit of every class's file flipped, one at a time

"refused" files raised ModelFileError; "same" ones gave the predictions of the model that was saved, "other" ones
predict something else, as a forged leaf must; "at fault" ones raised another error than ours, loading or predicting.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import subprocess
import sys
import time
import warnings
from collections import Counter
from typing import Any

from hetcore.errors import ModelFileError
from hetcore.model_files import dumps, load
from tests import model_files
from tests.model_files.trying import changed, verdict

HANG = 30.0
"""Wall seconds after which a process is ended; CPU seconds above 1 are counted as hangs too."""


def work(name: str, start: int, stop: int) -> None:
    """Try the files of a class; print what became of each as it is tried."""
    warnings.simplefilter("ignore")
    model = model_files.fitted(name)
    content, expected = dumps(model), model_files.answers(name, model)
    # Said once: whoever reads knows a process that could not begin from one that a file ended.
    print("ready", flush=True)
    for k in range(start, stop):
        kind, file = changed(name, content, k)
        # The number goes first, so that a death is told of the file that caused it.
        print(k, end=" ", flush=True)
        # A watchdog outside of Python: a hang in compiled code never comes back to it.
        faulthandler.dump_traceback_later(HANG, exit=True)
        began = time.process_time()
        found = verdict(name, file, expected)
        # Of the processor: a busy machine is no hang.
        seconds = time.process_time() - began
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps([kind, found, seconds]), flush=True)


def fuzz(name: str, files: int) -> tuple[Counter[str], list[str], float]:
    """Try files of a class in a process, and again in a new one behind a file that ended it."""
    counts: Counter[str] = Counter()
    faults, worst, start = [], 0.0, 0
    while start < files:
        command = [sys.executable, "-m", "benchmarks.reliability.model_fuzz", "--worker", name, str(start), str(files)]
        process = subprocess.run(command, capture_output=True, text=True)  # noqa: PLW1510 - its end is the finding
        for line in process.stdout.splitlines()[1:]:
            number, _, rest = line.partition(" ")
            # The next process goes on behind the file that ended this one.
            start = int(number) + 1
            kind, found, seconds = json.loads(rest) if rest else ("", _death(process), HANG)
            worst = max(worst, seconds) if rest else worst
            counts[_counted(kind, found, seconds)] += 1
            if found not in ("refused", "same", "other") or seconds > 1.0:
                faults.append(f"{name} {number}: {found[:150]} ({seconds:.2f} s)")
        # It failed before the first file, and would fail for ever.
        if not process.stdout.startswith("ready"):
            raise RuntimeError(process.stderr[-2000:])
    return counts, faults, worst


def _death(process: subprocess.CompletedProcess) -> str:
    return "hang" if "Timeout" in process.stderr else f"death, status {process.returncode}"


def _counted(kind: str, found: str, seconds: float) -> str:
    if found == "hang" or seconds > 1.0:
        return "hang"
    if found.startswith("death"):
        return "death"
    if found in ("refused", "same", "other"):
        # A forged file may predict; a damaged one that was taken got past its checksum.
        return found if kind == "forged" or found == "refused" else "damaged, not refused"
    return "at fault"


def every_bit(name: str) -> tuple[int, int]:
    """Return how many bits the file of a class has, and with how many of them flipped it was refused."""
    content, refused = bytearray(dumps(model_files.fitted(name))), 0
    for bit in range(8 * len(content)):
        content[bit // 8] ^= 1 << bit % 8
        try:
            load(bytes(content))
        except ModelFileError:
            refused += 1
        content[bit // 8] ^= 1 << bit % 8
    # Each bit was set back, so that one at a time was wrong.
    return 8 * len(content), refused


def bits(names: list[str]) -> int:
    """Print a row for each class; return 1 if a file with a flipped bit was taken."""
    warnings.simplefilter("ignore")
    print("| class | bits flipped | refused |\n|---|---|---|")
    taken = 0
    for name in names:
        tried, refused = every_bit(name)
        taken += tried - refused
        print(f"| {name} | {tried:,} | {refused:,} |", flush=True)
    return 1 if taken else 0


def main(arguments: argparse.Namespace) -> int:
    """Print a row for each class, and what is at fault; return 1 if a process ended, hung or took a damaged file."""
    names = arguments.classes or model_files.NAMES
    total: Counter[str] = Counter()
    findings, began = [], time.perf_counter()
    columns = ("refused", "same", "other", "at fault", "damaged, not refused", "hang", "death")
    print("| class | files | " + " | ".join(columns) + " | worst s |\n" + "|---" * (len(columns) + 3) + "|", flush=True)
    for name in names:
        counts, faults, worst = fuzz(name, -(-arguments.files // len(names)))
        row = " | ".join(f"{counts[column]:,}" for column in columns)
        print(f"| {name} | {sum(counts.values()):,} | {row} | {worst:.2f} |", flush=True)
        total, findings = total + counts, findings + faults
    row = " | ".join(f"{total[column]:,}" for column in columns)
    print(
        f"| all | {sum(total.values()):,} | {row} | |\n\n{(time.perf_counter() - began) / 60:.1f} minutes", flush=True
    )
    print("\n".join(findings[:200]))
    return 1 if any(total[bad] for bad in columns[3:]) else 0


def _arguments() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--classes", nargs="*")
    parser.add_argument("--bits", action="store_true")
    parser.add_argument("--worker", nargs=3, metavar=("CLASS", "START", "STOP"))
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    if given.worker:
        work(given.worker[0], int(given.worker[1]), int(given.worker[2]))
    elif given.bits:
        sys.exit(bits(given.classes or model_files.NAMES))
    else:
        sys.exit(main(given))
