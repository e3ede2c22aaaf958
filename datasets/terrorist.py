"""Terrorist attacks (LINQS and the MIND Lab, University of Maryland): one table, two graphs, six kinds of attack.

1,293 attacks. Many of them share no place with another: 648 are isolated in the first graph and 1,033 in the second.
The data hold one informative table only, so that the GBC paper adds noisy ones: `attributes_noisy` is the table with
Gaussian noise on its 0/1 cells.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets._fetch import RemoteFile, fetch
from hetcore.data import HetData

__all__ = ["TERRORIST_ATTACKS", "frames", "load"]

N_ATTRIBUTES = 106
NOISE_SD = 1.0
NOISE_SEED = 7
EVENTS = "http://counterterror.mindswap.org/2005/ict_events.owl#"
CLASSES = {
    "Arson": "arson",
    "Bombing": "bombing",
    "Kidnapping": "kidnapping",
    "NBCR_Attack": "NBCR",
    "Weapon_Attack": "weapon",
    "other_attack": "other",
}


def _file(name: str, sha256: str) -> RemoteFile:
    path = f"data/TerrorAttack/terrorist_attack{name}"
    return RemoteFile("Axeln78/TerrorAttacksNtds", "9452a0a027123d7a835b4a27044ca6fe9d23a95b", path, sha256)


NODES = _file(".nodes", "f8255e4f6c04ac3d56ca75de3d7f62a4701838e6f7ef9a030e58ecf86b146636")
EDGES = {
    "location": _file("_loc.edges", "ae8004a29765a20081c145e0ea458cd0a41ceedc6df4a8ade9e00b13bcbb5d35"),
    "location_organisation": _file(
        "_loc_org.edges", "01d798a3da8e0e2ca1b04784db21700dfbe234ee3719206d49b225bb9a7669a4"
    ),
}


def frames(noise_sd: float = NOISE_SD, seed: int = NOISE_SEED) -> Frames:
    """Return the table, its noisy copy, the two graphs and the kinds of attack as polars frames.

    Parameters
    ----------
    noise_sd : float, default=1.0
        Standard deviation of the Gaussian noise on the 0/1 cells of `attributes_noisy`.
    seed : int, default=7
        Seed of that noise.
    """
    nodes = _nodes()
    table = nodes.drop("y")
    names = table.columns[1:]
    return Frames(
        sources={"attributes": table, "attributes_noisy": _noisy(table, noise_sd, seed)},
        graphs={name: _edges(file) for name, file in EDGES.items()},
        target=nodes.select("id", "y"),
        kinds={"attributes": dict.fromkeys(names, "binary"), "attributes_noisy": dict.fromkeys(names, "real")},
    )


def _nodes() -> pl.DataFrame:
    names = [f"attribute_{number:03d}" for number in range(1, N_ATTRIBUTES + 1)]
    table = pl.read_csv(
        fetch(NODES), separator="\t", has_header=False, new_columns=["id", *names, "y"], infer_schema_length=None
    )
    return table.with_columns(_short("id"), pl.col("y").str.split("#").list.last().replace_strict(CLASSES))


def _edges(file: RemoteFile) -> pl.DataFrame:
    edges = pl.read_csv(fetch(file), separator=" ", has_header=False, new_columns=["source", "target"])
    return edges.with_columns(_short("source"), _short("target"))


def _short(column: str) -> pl.Expr:
    """Shorten the addresses of the main list of events to their last part, which is unique among those only."""
    return pl.col(column).str.strip_prefix(EVENTS)


def _noisy(table: pl.DataFrame, noise_sd: float, seed: int) -> pl.DataFrame:
    cells = table.drop("id").to_numpy().astype(np.float64)
    cells += np.random.default_rng(seed).normal(0.0, noise_sd, cells.shape)
    return pl.DataFrame(cells, schema=table.columns[1:]).insert_column(0, table["id"])


def load() -> HetData:
    """Return the attacks as HetData: 1,293 instances, 2 tables (one of them noisy), 2 graphs, 6 classes."""
    return assemble(frames())


TERRORIST_ATTACKS = Dataset(
    name="terrorist_attacks",
    title="Terrorist attacks",
    story="1,293 attacks: tell the kind of attack from 106 attributes, a noisy copy, and two graphs of shared places.",
    task="classification",
    load=load,
    licence="The repository of this copy is MIT; the terms of the data themselves are not stated.",
    citation="Zhao, B., Sen, P., Getoor, L. (2006). Event classification and relationship labeling in affiliation "
    "networks. ICML Workshop on Statistical Network Analysis.",
    files=(NODES, *EDGES.values()),
)
