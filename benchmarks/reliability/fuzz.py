"""Coverage-guided fuzzing (atheris, libFuzzer) of the readers of uploads and of model files, in their own process.

    python -m benchmarks.reliability.fuzz --seconds 120              # two minutes a family
    python -m benchmarks.reliability.fuzz --seconds 60 gml json      # some families

Every file of tests/hostile below 20 KB is a seed of its family. A finding is any error but the sentence that refuses a
file (`DataError`, `ModelFileError`), and a file that takes over 5 seconds or ends the process; each is printed once by
its place, with the file in hexadecimal. Needs atheris (requirements-bench.txt).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = {
    "delimited": [("table", "a.csv"), ("graph", "g.csv"), ("graph", "g.txt")],
    "json": [("table", "a.json"), ("table", "a.ndjson"), ("graph", "g.json")],
    "xml": [("graph", "g.graphml"), ("graph", "g.gexf")],
    "gml": [("graph", "g.gml")],
    "matrix": [("graph", "g.mtx")],
    "arrow": [("table", "a.parquet"), ("table", "a.arrow")],
    "xlsx": [("table", "a.xlsx")],
    "images": [("images", "p.zip")],
    "model": [("model", "m.hetcore")],
}
LARGEST = 20_000
"""Bytes of a seed, at most."""


def seeds(family: str, folder: Path) -> int:
    """Write the seeds of a family, each behind a byte that chooses the reader; return how many."""
    from tests import hostile, model_files

    kinds, contents = FAMILIES[family], []
    if family == "model":
        contents = [(0, path.read_bytes()) for path in sorted(model_files.FOLDER.glob("format_*/*.hetcore"))]
    for case in (case for case in hostile.CASES if "bomb" not in case.label):
        key = case.want, case.name
        if key in kinds or (case.want == "images" and family == "images"):
            contents.append((kinds.index(key) if key in kinds else 0, case.content()))
    small = [(which, content) for which, content in contents if len(content) <= LARGEST]
    for k, (which, content) in enumerate(small):
        (folder / f"seed-{k:04d}").write_bytes(bytes([which]) + content)
    return len(small)


def child(family: str, corpus: str, seconds: int) -> None:
    """Fuzz until the time is over; libFuzzer then ends this process."""
    import atheris

    with atheris.instrument_imports(include=["studio", "hetcore.archive", "hetcore.schema", "hetcore.model_files"]):
        from hetcore import model_files as persistence
        from studio.readers import images, parsing  # noqa: F401 - which the first imports only when it needs it
    from hetcore.errors import DataError, ModelFileError

    if family == "model":
        for name in persistence.CLASSES:
            # Before the fuzzer's clock runs, which would call a slow import a hang.
            persistence._class(name)  # the first import of a method takes seconds
    kinds, seen = FAMILIES[family], set()

    def one(data: bytes) -> None:
        want, name = kinds[data[0] % len(kinds)] if data else kinds[0]
        try:
            if want == "model":
                persistence.load(data[1:])
            else:
                parsing.parse(name, want, {}, data[1:])
        except (DataError, ModelFileError) as error:
            if len(str(error)) > 2000 or not str(error):
                tell("a sentence of no length", data)
        except (MemoryError, RecursionError):
            pass  # answered at the edge, in studio.readers.parsing.why_not
        except BaseException as error:  # noqa: B036 - a panic of polars is no Exception
            ours = [frame for frame in traceback.extract_tb(error.__traceback__) if str(ROOT) in frame.filename]
            where = [frame for frame in ours if ".venv" not in frame.filename][-1]
            tell(f"{type(error).__name__} at {Path(where.filename).stem}:{where.lineno}: {str(error)[:150]!r}", data)

    def tell(what: str, data: bytes) -> None:
        # The same fault with another number is one finding.
        key = re.sub(r"\d+", "#", what[:70])
        if key not in seen:
            seen.add(key)
            with open(Path(corpus).parent / "findings", "a", encoding="utf-8") as file:
                file.write(json.dumps([what, data[:2000].hex()]) + "\n")

    options = [f"-max_total_time={seconds}", "-timeout=5", "-rss_limit_mb=4096", "-max_len=65536", "-close_fd_mask=1"]
    artifacts = f"-artifact_prefix={Path(corpus).parent}/"
    atheris.Setup([sys.argv[0], corpus, *options, artifacts, "-print_final_stats=1"], one)
    atheris.Fuzz()


def fuzz(family: str, seconds: int) -> tuple[str, list[str]]:
    """Fuzz a family in a process; return its row of the table, and its findings."""
    with tempfile.TemporaryDirectory(prefix="hetcore-fuzz-") as place:
        corpus = Path(place) / "corpus"
        corpus.mkdir()
        given = seeds(family, corpus)
        command = [
            sys.executable,
            "-m",
            "benchmarks.reliability.fuzz",
            "--child",
            family,
            str(corpus),
            "--seconds",
            str(seconds),
        ]
        process = subprocess.run(command, capture_output=True, text=True, errors="replace")  # noqa: PLW1510
        statistics = dict(re.findall(r"stat::(\w+):\s+(\d+)", process.stderr))
        covered = re.findall(r"cov: (\d+) ft: (\d+)", process.stderr)
        report = Path(place) / "findings"
        found = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        ends = [path for path in Path(place).glob("*-*") if path.name.startswith(("crash", "timeout", "oom", "slow"))]
        found += [(path.name.partition("-")[0], path.read_bytes()[:2000].hex()) for path in ends]
        size = sum(1 for _ in corpus.iterdir())
    if "number_of_executed_units" not in statistics and not ends:
        raise RuntimeError(process.stderr[-2000:])
    executions = int(statistics.get("number_of_executed_units", 0))
    edges = f"{int(covered[-1][0]):,}" if covered else "?"
    row = f"| {family} | {given:,} | {size:,} | {executions:,} | {seconds} | {edges} | {len(found)} |"
    return row, [f"{family}: {what}\n    {data}" for what, data in found]


def main(families: list[str], seconds: int) -> int:
    """Print the table; return 1 if there is a finding."""
    print(
        "| family | seeds | corpus | executions | seconds | edges covered | findings |\n|---|---|---|---|---|---|---|"
    )
    findings = []
    for family in families:
        row, found = fuzz(family, seconds)
        print(row, flush=True)
        findings += found
    print("\n" + "\n".join(findings))
    return 1 if findings else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--child", nargs=2, metavar=("FAMILY", "CORPUS"))
    given = parser.parse_args()
    if given.child:
        child(*given.child, given.seconds)
    else:
        sys.exit(main(given.families or list(FAMILIES), given.seconds))
