"""Files that are well by themselves and go badly together: labels that teach nothing, ids that never meet."""

from __future__ import annotations

from typing import NamedTuple

from tests.hostile.images import packed, picture
from tests.hostile.making import graphml

FEATURES = b"id,x,z\n" + b"".join(b"r%d,%d.5,%d\n" % (k, k, k % 3) for k in range(12))


class Project(NamedTuple):
    """Files by name; `hard` is a regular expression of what prevents their use, `finds` kinds that must be told."""

    files: dict[str, bytes]
    hard: str = ""
    finds: tuple[str, ...] = ()
    task: str = "classification"


def _labels(*lines: str) -> dict[str, bytes]:
    return {"features.csv": FEATURES, "labels.csv": ("id,label\n" + "".join(f"{line}\n" for line in lines)).encode()}


def _each(*values: str) -> dict[str, bytes]:
    return _labels(*(f"r{k},{value}" for k, value in enumerate(values)))


PROJECTS = {
    "no label at all": Project(_each(*[""] * 12), "label"),
    "one class": Project(_each(*["a"] * 12), "nothing to tell apart", ("one_class",)),
    "one row of each class": Project(_each(*(f"c{k}" for k in range(12)))),
    "one labelled row": Project(_labels("r0,a"), "nothing to tell apart", ("one_class",)),
    "labels of unknown rows only": Project(_labels("q1,a", "q2,b"), "id that a table has|label"),
    "labels of some unknown rows": Project(_labels("r0,a", "r1,b", "q2,b"), "", ("unrecorded_label",)),
    "labels that contradict": Project(_labels("r0,a", "r0,b", "r1,b", "r2,a"), "", ("contradicting_label",)),
    "labels of one value": Project(_each(*["1.5"] * 12), "value|number", ("one_value",), "regression"),
    "infinite labels": Project(
        _each("inf", "-inf", *(f"{k}.5" for k in range(10))), "", ("infinite_label",), "regression"
    ),
    "labels of text and numbers": Project(_each("1", "2", "three", *["4"] * 9), "", ("mixed_labels",)),
    "text as numbers to learn": Project(
        _each("1", "2", "three", *["4"] * 9), "can't be read as a number", (), "regression"
    ),
    "script as labels": Project(_each(*["<script>alert(1)</script>", "=1+1"] * 6)),
    "ids that never meet": Project(
        {
            "features.csv": FEATURES,
            "more.csv": b"id,w,label\n" + b"".join(b"q%d,%d,%d\n" % (k, k * k, k % 2) for k in range(12)),
        },
        "no id|in common|never",
        ("no_common_id",),
    ),
    "a graph of other ids": Project(
        _each(*["a", "b"] * 6) | {"links.csv": b"source,target\nq1,q2\nq2,q3\n"}, "no id in common", ("no_common_id",)
    ),
    "a graph of some other ids": Project(
        _each(*["a", "b"] * 6)
        | {"g.graphml": graphml("<node id='r1'/><node id='r2'/><edge source='r1' target='zz'/>")},
        "",
        ("unknown_id",),
    ),
    "a graph without edges": Project(
        _each(*["a", "b"] * 6) | {"g.graphml": graphml("<node id='r1'/>")}, "", ("no_edge",)
    ),
    "images of some rows, rows of some images": Project(
        _each(*["a", "b"] * 6) | {"photos.zip": packed({f"{name}.png": picture() for name in ("r1", "r2", "extra")})},
    ),
    "images of no row": Project(
        _each(*["a", "b"] * 6) | {"photos.zip": packed({"extra.png": picture()})}, "no id|in common", ("no_common_id",)
    ),
}
