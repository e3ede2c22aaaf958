"""What an upload gave: how long it took, what was said, and whether every record of it is used or reported.

`python -m tests.hostile.accounts` writes anew what each odd and each damaged file of the corpus gives.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import NamedTuple

from hetcore.data import Graph, Source
from hetcore.errors import DataError
from studio import uploads
from tests.hostile.making import Case

ANSWERS = Path(__file__).with_name("answers.json")
"""By file: "refused", or what of it was used, its digest, and the kinds of findings."""
# A finding of these kinds counts records that are left out or merged into another.
GONE = {
    "table": ("ragged_row", "blank_row", "repeated_id", "missing_id"),
    "graph": (
        "ragged_row",
        "missing_end",
        "self_loop",
        "bad_weight",
        "zero_weight",
        "repeated_edge",
        "both_directions",
    ),
    "images": ("no_image",),
}


class Outcome(NamedTuple):
    """`sentence` is empty for a file that was read; then `used` and `reported` count its records.

    `digest` is that of the values, which a damaged file that is read may have lost.
    """

    sentence: str
    used: int
    reported: int
    kinds: frozenset[str]
    seconds: float
    digest: str = ""

    def answer(self) -> str:
        """Return what is kept of it in `ANSWERS`."""
        return "refused" if self.sentence else " ".join([f"{self.used} {self.digest}", *sorted(self.kinds)])


def outcome(case: Case) -> Outcome:
    """Upload a file and make a source or a graph of it."""
    content = case.content()
    start = time.perf_counter()
    try:
        made, used, findings = {"table": _table, "graph": _graph, "images": _images}[case.want](case.name, content)
    except DataError as error:
        return Outcome(str(error), 0, 0, frozenset(), time.perf_counter() - start)
    seconds = time.perf_counter() - start
    reported = sum(finding.count for finding in findings if finding.kind in GONE[case.want])
    kinds = frozenset(finding.kind for finding in findings)
    # pixels differ with the versions of what unpacks them
    digest = made.digest()[:8] if case.want != "images" else ""
    return Outcome("", used, reported, kinds, seconds, digest=digest)


def _table(name: str, content: bytes) -> tuple[Source, int, list]:
    preview = uploads.preview_table(name, content)
    column = "id" if "id" in preview.frame.columns else preview.frame.columns[0]
    source = Source(preview.frame[column], preview.frame.drop(column))
    return source, source.n_rows, [*preview.findings, *source.findings]


def _graph(name: str, content: bytes) -> tuple[Graph, int, list]:
    preview = uploads.preview_graph(name, content)
    graph = Graph(preview.edges)
    return graph, graph.n_edges, [*preview.findings, *graph.findings]


def _images(name: str, content: bytes) -> tuple[Source, int, list]:
    preview = uploads.preview_images(name, content)
    source = Source(preview.ids, preview.pixels)
    return source, source.n_rows, preview.findings


def faults(case: Case, found: Outcome) -> list[str]:
    """Return what the outcome lacks: a sentence as it should be, the findings, records that nobody accounts for."""
    if found.sentence:
        return _faults_of_sentence(case, found.sentence)
    wrong = [f"{case.label} was read, not refused by {case.answer!r}"] if case.answer else []
    wrong += [f"no word on {kind}" for kind in case.finds if kind not in found.kinds]
    if case.rows is not None and found.used + found.reported != case.rows:
        wrong += [f"{case.rows} records in, {found.used} used, {found.reported} reported"]
    return wrong


def _faults_of_sentence(case: Case, text: str) -> list[str]:
    wrong = [f"no sentence: {text!r}"] if len(text) >= 300 or "\n" in text or not text.endswith((".", "…")) else []
    wrong += [f"names {word}" for word in ("Traceback", "site-packages", "/usr/", "/home/") if word in text]
    wrong += [] if case.name in text else [f"does not name {case.name}: {text}"]
    if case.answer == "":
        wrong += [f"refused: {text}"]
    return wrong + ([f"not {case.answer!r}: {text}"] if case.answer and not re.search(case.answer, text) else [])


def main() -> None:
    """Write what the files give that are not refused by what they are."""
    from tests import hostile  # the corpus imports what is here

    cases = [*hostile.DAMAGED, *hostile.READ]
    answers = {f"{case.form}: {case.label}": outcome(case).answer() for case in cases}
    ANSWERS.write_text(json.dumps(answers, indent=0, ensure_ascii=True, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
