"""Heterogeneous data with planted truth: how much each source knows, who covers whom, how alike linked instances are.

The signal s of an instance is standard normal: one number for a regression, one a class for a classification. A source
with informativeness r has a hidden view u of it whose correlation with s is sqrt(r), so that no rule on that source
alone explains more than the share r of the signal's variance (and E[s | u] = sqrt(r) u explains that much):

    together="views"    u_i = sqrt(r_i) s + sqrt(1 - r_i) e_i      every source sees the whole, through its own noise
    together="parts"    s = sum_i sqrt(r_i) u_i (+ the rest)       every source sees a part that no other one sees

A source's columns are standard normal, and u is one sum over a few of them; a noise source has r = 0. The target is the
signal plus noise (regression), or the class with the largest signal, some labels drawn at random (classification).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets.planted import _planting as planting
from datasets.planted._checks import check_counts, check_least, check_seed, check_shares, check_words, numbers_each
from hetcore.data import HetData
from hetcore.errors import ParameterError

__all__ = ["PLANTED", "Truth", "make_heterogeneous"]

MOST, LEAST = 0.8, 0.2  # the default informativeness and homophily fall from one to the other


@dataclass(frozen=True)
class Truth:
    """What was planted.

    Attributes
    ----------
    informativeness : mapping of str to float
        By source, the share in [0, 1] of the signal's variance that the source can explain at most; 0 for pure noise.
    homophily : mapping of str to float
        By graph, as realised: the Pearson correlation of the targets over linked pairs, each pair both ways round
        (regression), or the share of links within a class (classification).
    signal : (n,) or (n, n_classes) float64 array
        The noiseless signal.
    y : (n,) array
        All the targets in the order of `data.ids`, also those that the data hide: float64 or str.
    mask : (n_sources, n) bool array
        Which source, in the order of `informativeness`, records which instance.
    """

    informativeness: Mapping[str, float]
    homophily: Mapping[str, float]
    signal: np.ndarray
    y: np.ndarray
    mask: np.ndarray


def make_heterogeneous(
    n: int = 600,
    n_sources: int = 3,
    *,
    n_noise_sources: int = 1,
    informativeness: float | Sequence[float] | None = None,
    together: str = "views",
    coverage: float | Sequence[float] = 0.8,
    n_features: int = 12,
    missing: float = 0.0,
    n_graphs: int = 2,
    homophily: float | Sequence[float] | None = None,
    degree: float = 6.0,
    task: str = "regression",
    n_classes: int = 3,
    noise: float = 0.1,
    labelled: float = 1.0,
    seed: int = 0,
) -> tuple[HetData, Truth]:
    """Return heterogeneous data and the truth planted in them.

    Parameters
    ----------
    n : int, default=600
        Instances, at least 2.
    n_sources : int, default=3
        Informative sources, "source_1", ...; at least 1.
    n_noise_sources : int, default=1
        Sources of pure noise, "noise_1", ....
    informativeness : float or sequence of float, optional
        Shares of the signal's variance in [0, 1], one for all or one an informative source; with together="parts" their
        sum is at most 1. Default: falling evenly from 0.8 to 0.2, for "parts" scaled to the sum 1.
    together : {"views", "parts"}, default="views"
        Whether each source sees the whole signal through noise of its own, or a part of it.
    coverage : float or sequence of float, default=0.8
        Share in [0, 1] of the instances that each source records: one for all, or one a source, noise sources last. An
        instance that none would record is given to one source at random.
    n_features : int, default=12
        Columns of each source, at least 1 (for a classification, at least `n_classes`).
    missing : float, default=0.0
        Share in [0, 1] of the cells that are empty.
    n_graphs : int, default=2
        Graphs, "graph_1", ....
    homophily : float or sequence of float, optional
        One for all or one a graph, in [0, 1]: the correlation of targets over links (regression), or the share of links
        within a class (classification). Default: falling evenly from 0.8 to 0.2.
    degree : float, default=6.0
        Links of an instance on average, before repeated ones are merged.
    task : {"regression", "classification"}, default="regression"
        Kind of target.
    n_classes : int, default=3
        Classes of a classification, "class_1", ...; at least 2.
    noise : float, default=0.1
        Share in [0, 1] of the target's variance that is noise, or of the labels that are drawn at random.
    labelled : float, default=1.0
        Share in [0, 1] of the instances whose target the data tell.
    seed : int, default=0
        Seed of everything.

    Returns
    -------
    data : HetData
        The data, with the targets of the labelled instances.
    truth : Truth
        What was planted.

    Raises
    ------
    ParameterError
        If a parameter is outside its domain.
    """
    check_words(together=(together, ("views", "parts")), task=(task, ("regression", "classification")))
    check_counts(n=(n, 2), n_sources=(n_sources, 1), n_noise_sources=(n_noise_sources, 0), n_classes=(n_classes, 2))
    n_views = 1 if task == "regression" else n_classes
    check_counts(n_features=(n_features, n_views), n_graphs=(n_graphs, 0))
    check_least(degree=(degree, 0))
    check_shares(missing=missing, noise=noise, labelled=labelled)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    shares = _informativeness(informativeness, n_sources, together) + [0.0] * n_noise_sources
    signal, views = planting.signal_and_views(shares, together, n, n_views, rng)
    mask = planting.coverage_mask(_each("coverage", coverage, len(views)), n, rng)
    y = planting.targets(signal, task, noise, rng)
    wanted = _each("homophily", homophily, n_graphs)
    pairs = [planting.assortative_pairs(y, alike, round(n * degree / 2), rng) for alike in wanted]
    columns = [planting.carrying_columns(view[row], n_features, missing, rng) for view, row in zip(views, mask)]
    labelled_rows = np.sort(rng.permutation(n)[: round(labelled * n)])
    names = _numbered("source", n_sources) + _numbered("noise", n_noise_sources)
    graphs = dict(zip(_numbered("graph", n_graphs), pairs))
    alike = {name: planting.realised_homophily(y, pair) for name, pair in graphs.items()}
    truth = Truth(dict(zip(names, shares)), alike, signal.squeeze(), y, mask)
    return assemble(_frames(dict(zip(names, columns)), graphs, truth, labelled_rows)), truth


def _frames(
    columns: Mapping[str, np.ndarray], graphs: Mapping[str, np.ndarray], truth: Truth, labelled_rows: np.ndarray
) -> Frames:
    n = len(truth.y)
    ids = np.array([f"instance-{row:0{len(str(n))}d}" for row in range(1, n + 1)])
    tables = {name: _table(name, ids[row], columns[name]) for name, row in zip(columns, truth.mask)}
    return Frames(
        sources=tables,
        graphs={g: pl.DataFrame({"source": ids[p[:, 0]], "target": ids[p[:, 1]]}) for g, p in graphs.items()},
        target=pl.DataFrame({"id": ids[labelled_rows], "y": truth.y[labelled_rows]}),
        kinds={name: dict.fromkeys(table.columns[1:], "real") for name, table in tables.items()},
    )


def _table(name: str, ids: np.ndarray, columns: np.ndarray) -> pl.DataFrame:
    schema = [f"{name}_{position}" for position in range(1, columns.shape[1] + 1)]
    return pl.DataFrame(columns, schema=schema, nan_to_null=True).insert_column(0, pl.Series("id", ids))


def _numbered(word: str, count: int) -> list[str]:
    return [f"{word}_{number}" for number in range(1, count + 1)]


def _informativeness(given: float | Sequence[float] | None, n_sources: int, together: str) -> list[float]:
    shares = _each("informativeness", given, n_sources)
    if together == "parts" and given is None:
        return [share / sum(shares) for share in shares]
    if together == "parts" and sum(shares) > 1 + 1e-9:
        raise ParameterError(
            f"informativeness={given!r} sums to {sum(shares):.3g} over {n_sources} sources, but parts of a whole "
            'sum to at most 1: give smaller shares, or together="views".'
        )
    return shares


def _each(name: str, given: float | Sequence[float] | None, count: int) -> list[float]:
    """Return one share for each of `count`: the one given for all, the sequence given, or falling evenly."""
    if given is None:
        return np.linspace(MOST, LEAST, count).tolist()
    return numbers_each(name, given, count, 0, 1)


def load() -> HetData:
    """Return the data of `make_heterogeneous()` as they are by default: a regression with one noise source."""
    return make_heterogeneous()[0]


PLANTED = Dataset(
    name="planted",
    title="Planted truth",
    story="600 made-up instances: a number to predict, three sources of falling worth, one of pure noise, two graphs.",
    task="regression",
    load=load,
    licence="Generated here, free for any use.",
    citation="datasets.make_heterogeneous() with its defaults.",
)
