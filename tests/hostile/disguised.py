"""Every format's own name on files that are something else, and each format's good file damaged in the usual ways."""

from __future__ import annotations

import io
import pickle

import numpy as np
import polars as pl

from tests.hostile.images import packed, picture
from tests.hostile.making import FRAME, Case, arrow, cells, gexf, graphml, parquet, workbook

NODES = "<node id='007'/><node id='7'/><node id='&#228;'/>"
EDGES = "<edge source='007' target='7' weight='2.5'/><edge source='7' target='&#228;'/>"


def _stream(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_ipc_stream(buffer)
    return buffer.getvalue()


VALID = {
    ("table", "a.csv"): b"id,x,y\na,1,u\nb,2.5,v\nc,,\n",
    ("table", "a.tsv"): b"id\tx\na\t1\nb\t2\n",
    ("table", "a.json"): b'[{"id": "a", "x": 1.5}, {"id": "b", "x": 2}]',
    ("table", "a.ndjson"): b'{"id": "a", "x": 1}\n{"id": "b", "x": null}\n',
    ("table", "a.parquet"): parquet(FRAME),
    ("table", "a.arrow"): arrow(FRAME),
    ("table", "a.feather"): _stream(FRAME),
    ("table", "a.xlsx"): workbook(cells(A1=1, B1=2, A2=3, B2=4)),
    ("graph", "g.csv"): b"source,target,weight\n007,7,2.5\n7,a,1\n",
    ("graph", "g.txt"): b"# a graph\n1 2 0.5\n2 3 1\n",
    ("graph", "g.graphml"): graphml(NODES + EDGES),
    ("graph", "g.gexf"): gexf(f"<nodes>{NODES}</nodes><edges>{EDGES}</edges>"),
    (
        "graph",
        "g.gml",
    ): b'graph [ node [ id 1 label "a" ] node [ id 2 label "b" ] edge [ source 1 target 2 weight 2.5 ] ]',
    (
        "graph",
        "g.json",
    ): b'{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b", "weight": 2}]}',
    ("graph", "g.mtx"): b"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 2 1\n",
    ("images", "p.zip"): packed({"a.png": picture(), "b.jpg": picture(form="JPEG")}),
}
"""A small good file of each format."""

OTHERS = {
    "nothing": (b"", "is empty"),
    "blanks": (b" \n\t\r\n" * 50, "is blank"),
    "a PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "is a PDF document"),
    "a program": (b"MZ\x90\x00\x03" + bytes(200), "is a Windows program"),
    "a pickle": (pickle.dumps({"id": [1]}, protocol=4), "pickle, which is never opened"),
    "a web page": (b"<!DOCTYPE html><html><body>404 Not Found</body></html>", "is a web page"),
    "noise": (np.random.default_rng(0).bytes(3000), "NUL byte|no text|no valid XML"),
}


def _damaged(content: bytes) -> dict[str, bytes]:
    half = len(content) // 2
    return {
        "cut in half": content[:half],
        "last byte gone": content[:-1],
        "NUL in the middle": content[:half] + b"\x00" + content[half:],
        "bytes turned round": content[:half] + content[half:][::-1],
        "half of it zero": content[:half] + bytes(len(content) - half),
        "twice": content + content,
        "junk behind": content + b"\xff\xfe\xfd" * 20,
        "junk before": b"\xff\xfe\xfd" * 20 + content,
    }


def _case(label: str, content: bytes, answer: str | None, want: str, name: str) -> Case:
    return Case(f"{label}, as {name.rpartition('.')[2]}", name, lambda: content, answer, want)


DISGUISED = [
    _case(label, content, answer if want != "images" else "no zip", want, name)
    for label, (content, answer) in OTHERS.items()
    for want, name in VALID
]
DAMAGED = [
    _case(label, damaged, None, want, name)
    for (want, name), content in VALID.items()
    for label, damaged in _damaged(content).items()
]
"""Refused in words, or read: a text file cut in half may still be a table."""
