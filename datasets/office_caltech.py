"""Office-Caltech10 with SURF features: ten kinds of things seen in four domains (Gong, Shi, Sha, Grauman 2012).

Pictures from an online shop (amazon), from a public collection (caltech), from a reflex camera (dslr) and from a web
camera (webcam), each a histogram of 800 visual words. As is usual, each picture's counts are divided by their sum and
every column is standardised within its domain, over all its pictures, labels not looked at.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets._fetch import RemoteFile, fetch
from hetcore.data import HetData

__all__ = ["CLASSES", "OFFICE_CALTECH", "frames", "load"]

CLASSES = (
    "backpack", "bike", "calculator", "headphones", "keyboard", "laptop", "monitor", "mouse", "mug", "projector",
)  # fmt: skip


def _file(name: str, sha256: str) -> RemoteFile:
    commit = "149f9250d8b17142775c886f7943f273a6123440"
    return RemoteFile("jtahmores/MDA", commit, f"data/{name}_SURF_L10.mat", sha256)


FILES = {
    "amazon": _file("amazon", "df32548b994e18d364c99e1f317e1fae100597259f0423a41b90f4f68187bb1f"),
    "caltech": _file("Caltech10", "4f9334c8ced489d5054de97a5fd51a61f017f3bcd1f38c9a85c6d78cb9d7bda5"),
    "dslr": _file("dslr", "44d673c68e1d07b837893aa74dba3b986e4a6cc3fd66f0dd357683bdef059216"),
    "webcam": _file("webcam", "a6a9c78b4b7181dfbb58bcfd351d4ebd737f171c31247b8884948aa156d3f700"),
}


def frames() -> Frames:
    """Return the four domains, with the same columns, and the kinds of things as polars frames."""
    tables, targets = {}, []
    for name, file in FILES.items():
        table, labels = _domain(name, file)
        tables[name] = table
        targets.append(pl.DataFrame({"id": table["id"], "y": labels}))
    kinds = {name: dict.fromkeys(table.columns[1:], "real") for name, table in tables.items()}
    return Frames(tables, {}, pl.concat(targets), kinds)


def _domain(name: str, file: RemoteFile) -> tuple[pl.DataFrame, list[str]]:
    """Return a domain's prepared features and its labels."""
    from scipy.io import loadmat

    held = loadmat(fetch(file), variable_names=["fts", "labels"])
    columns = [f"word_{number:03d}" for number in range(1, held["fts"].shape[1] + 1)]
    table = pl.DataFrame(prepared(held["fts"]), schema=columns)
    ids = pl.Series("id", [f"{name}/{number}" for number in range(len(table))])
    return table.insert_column(0, ids), [CLASSES[label - 1] for label in held["labels"].ravel()]


def prepared(counts: np.ndarray) -> np.ndarray:
    """Return counts (n, d) divided by each row's sum, then each column standardised; a constant column becomes 0."""
    shares = counts.astype(np.float64) / np.maximum(counts.sum(axis=1, keepdims=True, dtype=np.float64), 1.0)
    centred, deviation = shares - shares.mean(axis=0), shares.std(axis=0)
    return centred / np.where(deviation > 0, deviation, 1.0)


def load() -> HetData:
    """Return the pictures as HetData: 2,533 instances, four domains as sources of 800 columns, ten classes."""
    return assemble(frames())


OFFICE_CALTECH = Dataset(
    name="office_caltech",
    title="Office-Caltech10",
    story="2,533 pictures from four domains: tell ten kinds of things in one of them with the help of the others.",
    task="classification",
    load=load,
    licence="None is stated by the repository of this copy.",
    citation="Gong, B., Shi, Y., Sha, F., Grauman, K. (2012). Geodesic flow kernel for unsupervised domain "
    "adaptation. CVPR. Saenko, K., Kulis, B., Fritz, M., Darrell, T. (2010). Adapting visual category models to new "
    "domains. ECCV.",
    files=tuple(FILES.values()),
)
