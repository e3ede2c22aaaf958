"""The run store while every write of SQLite fails in turn, and after thousands of damages to its file.

    python -m benchmarks.reliability.store_faults                  # writes to the last one, 3,000 damages
    python -m benchmarks.reliability.store_faults --damages 300

A store of three runs is copied, opened, and gets two runs, a new name and a deletion while its n-th write fails, once
or from then on, for n from 1 until no write fails any more; then the disk is well again, one more run is added, and a
new start must find a whole file with every run. Damages are a bit, a byte, 64 bytes or a page changed, or the end cut
off; what is read afterwards must be what was stored, or somebody must have been told.
"""

from __future__ import annotations

import argparse
import errno
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from tests.runs import store_faults
from tests.runs.store_faults import FailingWrites


def writes(base: Path, runs: dict, place: Path) -> int:
    """Print a row for each kind of failure; return how many faults there were."""
    print("| writes that fail | tried | at fault |\n|---|---|---|")
    faults = 0
    for for_ever in (False, True):
        for name in ("EIO", "ENOSPC"):
            nth, wrong, fired = 0, [], True
            while fired:
                nth += 1
                failing = FailingWrites(nth, for_ever, getattr(errno, name))
                folder = place / f"{name}-{for_ever}-{nth}"
                wrong += store_faults.after_a_failing_write(base, folder, runs, failing)
                fired = failing.fired
            print(f"| the n-th, {'for ever' if for_ever else 'once'}, {name} | {nth - 1} | {len(wrong)} |", flush=True)
            faults += len(wrong)
    return faults


def damages(base: Path, runs: dict, place: Path, count: int) -> int:
    """Print what became of damaged files; return how many were at fault."""
    content, found, faults = (base / "runs.db").read_bytes(), Counter(), 0
    for k in range(count):
        changed = store_faults.damaged(content, np.random.default_rng(k))
        outcome, wrong = store_faults.after_damage(place / str(k), changed, runs)
        found[outcome] += 1
        faults += bool(wrong)
        for text in wrong:
            print(f"damage {k}: {text}")
    print("\n| damages | noticed | harmless: the same data | at fault |\n|---|---|---|---|")
    print(f"| {count:,} | {found['noticed']:,} | {found['harmless']:,} | {faults} |")
    return faults


def main(count: int) -> int:
    """Print both tables; return 1 if something was lost without a word."""
    with tempfile.TemporaryDirectory(prefix="hetcore-store-") as folder:
        place = Path(folder)
        runs = store_faults.filled(place / "base", 3)
        return 1 if writes(place / "base", runs, place) + damages(place / "base", runs, place, count) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--damages", type=int, default=3_000)
    sys.exit(main(parser.parse_args().damages))
