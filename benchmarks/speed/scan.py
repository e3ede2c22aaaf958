"""Peak memory of data by path beside data in memory: reading, fit as printed, prediction with contributions.

    python -m benchmarks.speed.scan                        # half a GiB of Parquet, both ways
    python -m benchmarks.speed.scan --gib 6 --columns 100 --only path

Eight tables of numbers about 80% of the instances each, in files of 100,000 rows; one instance in ten has a label. Each
way runs in a process of its own; what is printed is the most that it had resident up to the end of each step (pages of
files that the system keeps mapped count too), and the processor's seconds of the step. The model files of both ways are
compared byte for byte. The data are in a temporary folder and go with it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

TABLES, COLUMNS, COVERED, PER_FILE, GIB = 8, 25, 0.8, 100_000, 2**30
WAYS = ("path", "memory")
ROUNDS = 5


def make(folder: Path, gib: float, width: int = COLUMNS) -> int:
    """Write tables of so many columns, a file at a time; return the instances."""
    n = round(gib * GIB / (TABLES * COVERED * width * 8))
    write(folder, n, tables=TABLES, width=width)
    return n


def write(folder: Path, n: int, *, tables: int, width: int) -> None:
    """Write tables of so many columns over n instances, a file at a time, and labels."""
    for table in range(tables):
        (folder / f"table {table}").mkdir()
        for number, start in enumerate(range(0, n, PER_FILE)):
            rng = np.random.default_rng([table, number])
            ids = start + np.flatnonzero(rng.random(min(PER_FILE, n - start)) < COVERED)
            columns = {f"x{j}": rng.normal(size=ids.size) + (ids % 7) * (j == 0) for j in range(width)}
            made = pl.DataFrame({"id": ids} | columns).with_columns(pl.col("id").cast(pl.String))
            made.write_parquet(folder / f"table {table}" / f"{number:05}.parquet", compression="lz4")
    labels = np.arange(0, n, 10)
    made = pl.DataFrame({"id": labels, "y": (labels % 7).astype(float)}).with_columns(pl.col("id").cast(pl.String))
    made.write_parquet(folder / "labels.parquet")


def opened(folder: Path, way: str) -> Any:
    """Return the data, by path or with all tables in memory."""
    import hetcore as hc

    paths = {each.name: each for each in sorted(folder.iterdir()) if each.is_dir()}
    if way == "path":
        return hc.HetData.scan(paths, target=folder / "labels.parquet")
    tables = {name: pl.read_parquet(path) for name, path in paths.items()}
    return hc.HetData(tables, target=pl.read_parquet(folder / "labels.parquet"))


def resident(pid: int | str = "self") -> float:
    """Return the most that a process had resident so far, in GiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024 / GIB


def steps(folder: Path, way: str) -> dict[str, Any]:
    """Read, fit, predict in this process; return seconds and memory of each step, and the model's digest."""
    import hetcore as hc
    from hetcore import model_files

    found: dict[str, Any] = {}

    def timed(step: str, run: Callable[[], Any]) -> Any:
        began = time.process_time()
        result = run()
        found[step] = (time.process_time() - began, resident())
        return result

    # compiled and loaded before anything is measured
    small = pl.DataFrame({"id": ["a", "b", "c", "d"], "x": [1.0, 2.0, 3.0, 4.0]})
    warm = hc.HetData({"t": small}, target=(["a", "b", "c"], [1.0, 2.0, 3.0]))
    hc.GBCRegressor(as_printed=True, n_iterations=2).fit(warm).contributions(warm)
    found["begin"] = (0.0, resident())
    data = timed("read", lambda: opened(folder, way))
    model = hc.GBCRegressor(as_printed=True, n_iterations=ROUNDS, schedule="parallel")
    timed("fit", lambda: model.fit(data))
    timed("predict", lambda: model.predict(data))
    timed("contributions", lambda: model.contributions(data))
    found["digest"] = hashlib.sha256(model_files.dumps(model)).hexdigest()
    return found


def measured(folder: Path, way: str) -> dict[str, Any]:
    """Return what `steps` returns, of a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed.scan", "--steps", way, str(folder)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=0.5, help="of Parquet")
    parser.add_argument("--columns", type=int, default=COLUMNS, help="of each table")
    parser.add_argument("--only", choices=WAYS)
    parser.add_argument("--steps", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.steps:
        print(json.dumps(steps(Path(given.steps[1]), given.steps[0])))
        return
    with tempfile.TemporaryDirectory(prefix="hetcore-scan-") as name:
        folder = Path(name)
        n = make(folder, given.gib, given.columns)
        size = sum(file.stat().st_size for file in folder.rglob("*.parquet")) / GIB
        print(f"{size:.2f} GiB of Parquet, {n:,} instances, {TABLES} tables of {given.columns} numbers\n")
        names = ("read", "fit", "predict", "contributions")
        print("| data | " + " | ".join(f"{step}: s, GiB" for step in names) + " |")
        print("| --- " * 5 + "|")
        digests = set()
        for way in [given.only] if given.only else WAYS:
            found = measured(folder, way)
            digests.add(found.pop("digest"))
            begin = found.pop("begin")[1]
            cells = [f"{seconds:.1f}, {gib:.2f}" for seconds, gib in found.values()]
            print(f"| by {way} ({begin:.2f} GiB before) | " + " | ".join(cells) + " |", flush=True)
        if not given.only:
            print("\nThe model files are " + ("the same." if len(digests) == 1 else "NOT the same."))


if __name__ == "__main__":
    main()
