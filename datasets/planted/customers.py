"""A stand-in for the GBC paper's telephone customers, whose data can't be had: one wide table, many graphs.

A customer has six hidden traits; the label is the sign of a sum of all six, some drawn at random. The table's columns
are noisy mixtures of the first four traits, and half of the rows have lost 60% of their cells. Each graph links a
random subset of the customers; with its own probability, its quality, a link joins customers who are alike in all six,
else any two. So a graph tells of two traits that no column has, if its quality is high.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
import scipy

from datasets._dataset import Dataset
from datasets.planted._checks import check_counts, check_least, check_seed, check_shares
from hetcore.data import Graph, HetData, Source

__all__ = ["CUSTOMERS", "CustomerTruth", "make_customers"]

N_TRAITS, N_SEEN = 6, 4
NEAR = 5
"""Places in the order of the score within which customers are alike, to either side."""


@dataclass(frozen=True)
class CustomerTruth:
    """What was planted.

    Attributes
    ----------
    quality : mapping of str to float
        By graph, the share in [0, 1] of its links that join customers who are alike.
    members : mapping of str to int
        By graph, how many customers it can link.
    score : (n,) float64
        The sum whose sign is the label.
    y : (n,) object
        All labels as drawn, also those that the data hide.
    """

    quality: Mapping[str, float]
    members: Mapping[str, int]
    score: np.ndarray
    y: np.ndarray


def make_customers(
    n: int = 20_000,
    n_graphs: int = 90,
    n_columns: int = 196,
    *,
    links: float = 5.0,
    missing: float = 0.6,
    noise: float = 0.1,
    labelled: float = 0.1,
    seed: int = 0,
) -> tuple[HetData, CustomerTruth]:
    """Return a table and graphs of differing quality over differing customers.

    Parameters
    ----------
    n : int, default=20,000
        Customers; the paper has 500,000.
    n_graphs, n_columns : int, default=90, 196
    links : float, default=5.0
        Links of a graph over n: 2.5 million at 500,000 customers.
    missing : float, default=0.6
        Share in [0, 1] of the cells that half of the rows have lost.
    noise : float, default=0.1
        Share in [0, 1] of the labels drawn at random.
    labelled : float, default=0.1
        Share in [0, 1] of the customers whose label is known.
    seed : int, default=0

    Returns
    -------
    data : HetData
        The table "customer" and the graphs "graph_01", ...; labels "leaves" and "stays".
    truth : CustomerTruth

    Raises
    ------
    ParameterError
        If an argument is outside its domain.
    """
    check_counts(n=(n, 20), n_graphs=(n_graphs, 0), n_columns=(n_columns, 1))
    check_least(links=(links, 0))
    check_shares(missing=missing, noise=noise, labelled=labelled)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    traits = rng.standard_normal((n, N_TRAITS), dtype=np.float32)
    score = traits.sum(axis=1, dtype=np.float64) / np.sqrt(N_TRAITS)
    ids = pl.Series("id", np.arange(n)).cast(pl.String)
    source = Source(ids, _table(traits[:, :N_SEEN], n_columns, missing, rng))
    names = [f"graph_{k + 1:02d}" for k in range(n_graphs)]
    quality = dict(zip(names, rng.permutation(np.linspace(0.9, 0.0, n_graphs)).tolist()))
    members = dict(zip(names, rng.integers(max(20, n // 5), n + 1, n_graphs).tolist()))
    graphs = {k: Graph((ids, _links(score, int(links * n), members[k], quality[k], rng))) for k in names}
    y = _labels(score, noise, rng)
    target = pl.DataFrame({"id": ids, "y": np.where(rng.random(n) < labelled, y, None).tolist()})
    return HetData({"customer": source}, graphs, target, id_column="id"), CustomerTruth(quality, members, score, y)


def _table(seen: np.ndarray, n_columns: int, missing: float, rng: np.random.Generator) -> pl.DataFrame:
    """Return noisy mixtures of the traits, one column at a time; half of the rows have lost cells."""
    n, hit = len(seen), rng.random(len(seen)) < 0.5
    columns = {}
    for k in range(n_columns):
        mixture = rng.standard_normal(seen.shape[1], dtype=np.float32) * np.float32(0.5)
        values = seen @ mixture + rng.standard_normal(n, dtype=np.float32)
        values[hit & (rng.random(n, dtype=np.float32) < missing)] = np.nan
        columns[f"c{k + 1:03d}"] = pl.Series(values).fill_nan(None)
    return pl.DataFrame(columns)


def _links(score: np.ndarray, count: int, members: int, quality: float, rng: np.random.Generator) -> object:
    """Return links (n, n) among some customers, a share of them between customers whose scores are close."""
    n = len(score)
    own = rng.choice(n, members, replace=False)
    own = own[np.argsort(score[own], kind="stable")]
    a = rng.integers(0, members, count)
    near = (a + rng.integers(1, NEAR + 1, count) * rng.choice((-1, 1), count)) % members
    b = np.where(rng.random(count) < quality, near, rng.integers(0, members, count))
    kept = a != b
    ones = np.ones(int(kept.sum()), np.float32)
    return scipy.sparse.coo_array((ones, (own[a[kept]], own[b[kept]])), shape=(n, n))


def _labels(score: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    leaves = np.where(rng.random(len(score)) < noise, rng.random(len(score)) < 0.5, score > 0)
    return np.where(leaves, "leaves", "stays").astype(object)


CUSTOMERS = Dataset(
    name="customers",
    title="Customers (made up)",
    story="20,000 made-up customers: who leaves, from one wide table with gaps and 90 graphs of differing quality.",
    task="classification",
    load=lambda: make_customers()[0],
    licence="Made up: no terms.",
    citation="Stands in for the data of Shi, Paiement, Grangier, Yu (2012), which can't be had.",
)
