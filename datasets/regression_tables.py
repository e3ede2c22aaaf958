"""Five regressions of the heteroscedastic learning paper: abalone, housing, cpu_small, bodyfat, pyrim.

One table each, read from ARFF files.
"""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets._fetch import RemoteFile, fetch
from hetcore.data import HetData

__all__ = ["ABALONE", "BODYFAT", "CPU_SMALL", "HOUSING", "PYRIM", "REGRESSIONS", "frames"]

SHA256 = {
    "abalone": "3f955702660d3a6c022baf88b69f314534a625ac3fdebb761878ddff5960a560",
    "bodyfat": "b366fa056ef9284683fb4017e06c37af6e1073eec4451e71148949f4b974274f",
    "cpu.small": "be6a626bd91804c81cc2f26d015f8df23afcce7af952c522c8dfe06bc187203c",
    "housing": "b5290bfb04d1eaeccc18b22812d391bcc8933428b58de63c6e3ed40162b7afaf",
    "pyrim": "7d233ca6b9663b73f9b48abf0ad0a50379582d8eca2707faeaa5e0eda5f77f84",
}
FILES = {
    name: RemoteFile(
        "renatopp/arff-datasets", "c59f172882592bb58982cc54d2d3c8a2b57e9b73", f"regression/{name}.arff", sha256
    )
    for name, sha256 in SHA256.items()
}


def frames(name: str, thing: str) -> Frames:
    """Return one of the tables as polars frames; its last column is the target.

    Parameters
    ----------
    name : str
        A key of `FILES`.
    thing : str
        What a row is: ids are "thing-0001", ...
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from scipy.io import arff

        records, meta = arff.loadarff(fetch(FILES[name]))
    columns = [_column(column, records[column], meta[column]) for column in meta.names()]
    ids = pl.Series("id", [f"{thing}-{row:04d}" for row in range(1, len(records) + 1)])
    table = pl.DataFrame(columns[:-1])
    kinds = {column: _kind(meta[column]) for column in table.columns}
    target = pl.DataFrame([ids, columns[-1].cast(pl.Float64).alias("y")])
    return Frames({"features": table.insert_column(0, ids)}, {}, target, {"features": kinds})


def _column(name: str, values: np.ndarray, facts: tuple) -> pl.Series:
    if facts[0] == "nominal":
        return pl.Series(name, [value.decode() for value in values])
    return pl.Series(name, np.asarray(values, np.float64))


def _kind(facts: tuple) -> str:
    if facts[0] != "nominal":
        return "real"
    return "binary" if len(facts[1]) == 2 else "nominal"


def _entry(file: str, thing: str, title: str, story: str, citation: str, terms: str) -> Dataset:
    def load() -> HetData:
        return assemble(frames(file, thing))

    name = file.replace(".", "_")
    return Dataset(
        name, title, story, task="regression", load=load, licence=terms, citation=citation, files=(FILES[file],)
    )


UCI = "UCI Machine Learning Repository (CC BY 4.0 there); the repository of this copy states none."
DELVE = "DELVE, University of Toronto, and L. Torgo's collection: no terms stated."
STATLIB = "StatLib, Carnegie Mellon University: free to use with acknowledgement."

ABALONE = _entry(
    "abalone", "shell", "Age of abalone",
    story="4,177 shells: tell an abalone's rings, and so its age, from its sizes and weights.",
    citation="Nash, W., Sellers, T., Talbot, S., Cawthorn, A., Ford, W. (1995). Abalone. UCI Machine Learning "
    "Repository. https://doi.org/10.24432/C55C7W", terms=UCI,
)  # fmt: skip
HOUSING = _entry(
    "housing", "tract", "Boston housing",
    story="506 census tracts: tell the median value of homes (1,000 $) from crime, air, rooms and more.",
    citation="Harrison, D., Rubinfeld, D. L. (1978). Hedonic prices and the demand for clean air. J. Environ. "
    "Economics and Management 5, 81-102. Its column B is built on a wrong and racist premise: use it for comparison "
    "with old results only.", terms=STATLIB,
)  # fmt: skip
CPU_SMALL = _entry(
    "cpu.small", "sample", "CPU activity",
    story="8,192 moments of a computer: tell the share of CPU time in user mode.",
    citation="DELVE, comp-activ, the small prototask: https://www.cs.toronto.edu/~delve/data/comp-activ/desc.html",
    terms=DELVE,
)  # fmt: skip
BODYFAT = _entry(
    "bodyfat", "man", "Share of body fat",
    story="252 men: tell the share of body fat (percent) from density, age and circumferences.",
    citation="Penrose, K., Nelson, A., Fisher, A. (1985). Generalized body composition prediction equation for men "
    "using simple measurement techniques. Medicine and Science in Sports and Exercise 17(2), 189.", terms=STATLIB,
)  # fmt: skip
PYRIM = _entry(
    "pyrim", "drug", "Pyrimidines",
    story="74 drugs: tell how strongly a pyrimidine inhibits an enzyme from 27 properties.",
    citation="King, R. D., Muggleton, S., Lewis, R. A., Sternberg, M. J. E. (1992). Drug design by machine learning. "
    "PNAS 89, 11322-11326.", terms=DELVE,
)  # fmt: skip
REGRESSIONS = (ABALONE, HOUSING, CPU_SMALL, BODYFAT, PYRIM)
