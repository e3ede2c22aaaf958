"""A graph along which targets are alike, with planted truth: how much features know, how alike is what they leave.

A target is what its features know and what they leave, y = sqrt(f) s + sqrt(1 - f) u, both standard normal, f the
feature strength. Links are drawn so that over them s has the correlation rho_s and u the correlation rho_u:

    residual correlation   rho_u
    label correlation      f rho_s + (1 - f) rho_u

One end of a link is drawn by the degree law, the other is the instance closest to (rho_s s + .., rho_u u + ..) with
fresh normal noise. With rho_u = 0 the graph has nothing to tell that the features do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets.planted import _planting as planting
from datasets.planted._checks import check_counts, check_seed, check_shares, check_words
from hetcore.data import HetData
from hetcore.data.columns import finite
from hetcore.data.text import shown
from hetcore.errors import ParameterError

__all__ = ["AUTOCORRELATED", "Autocorrelation", "make_autocorrelated_graph"]

LAWS = ("even", "power")
TAIL = 2.5  # exponent of the power law of degrees
HUB = 0.01  # largest share of the links that begin at one instance


@dataclass(frozen=True)
class Autocorrelation:
    """What was planted, as realised over the links (Pearson, each link both ways round).

    Attributes
    ----------
    label_correlation, residual_correlation, feature_correlation : float
        Of the targets y, of what the features leave, u, and of what they know, s.
    feature_strength : float
        Squared correlation of s and y.
    signal, residual : (n,) float64 array
        s, and the part of y that no feature knows, sqrt(1 - f) u.
    """

    label_correlation: float
    residual_correlation: float
    feature_correlation: float
    feature_strength: float
    signal: np.ndarray
    residual: np.ndarray


def make_autocorrelated_graph(
    n: int = 1000,
    *,
    residual_correlation: float = 0.6,
    feature_strength: float = 0.3,
    label_correlation: float | None = None,
    degree: float = 10.0,
    degree_law: str = "even",
    n_features: int = 10,
    seed: int = 0,
) -> tuple[HetData, Autocorrelation]:
    """Return one table, one graph "links", targets for all, and what was planted.

    Parameters
    ----------
    n : int, default=1000
        Instances, at least 10.
    residual_correlation : float, default=0.6
        Correlation over links, in [0, 1], of what the features leave of the target.
    feature_strength : float, default=0.3
        Share in [0, 1] of the target's variance that the features know.
    label_correlation : float, optional
        Correlation of the targets over links. By default what the residuals alone bring,
        (1 - feature_strength) * residual_correlation; more, up to feature_strength more, lets linked instances have
        like features too.
    degree : float, default=10.0
        Links of an instance on average, before repeated ones are merged; above 0.
    degree_law : {"even", "power"}, default="even"
        Whether all instances are as likely to be linked, or by a power law of exponent 2.5.
    n_features : int, default=10
        Columns of the table, at least 1; s is a sum over three of them.
    seed : int, default=0
        Seed of everything.

    Returns
    -------
    data : HetData
    truth : Autocorrelation

    Raises
    ------
    ParameterError
        If a parameter is outside its domain.
    """
    rho_u, f = residual_correlation, feature_strength
    check_counts(n=(n, 10), n_features=(n_features, 1))
    check_words(degree_law=(degree_law, LAWS))
    check_shares(residual_correlation=rho_u, feature_strength=f)
    rho_s = _feature_correlation(label_correlation, rho_u, f)
    if not (finite(degree) and degree > 0):
        raise ParameterError(f"degree={shown(degree)} must be a finite number above 0: give the links of an instance.")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    s, u = rng.standard_normal((2, n))
    pairs = _pairs(np.column_stack([s, u]), np.array([rho_s, rho_u]), round(n * degree / 2), degree_law, rng)
    y = np.sqrt(f) * s + np.sqrt(1.0 - f) * u
    alike = [planting.realised_homophily(values, pairs) for values in (y, u, s)]
    strength = float(np.corrcoef(s, y)[0, 1] ** 2)
    columns = planting.carrying_columns(s[:, None], n_features, 0.0, rng)
    truth = Autocorrelation(*alike, strength, s, np.sqrt(1.0 - f) * u)
    return assemble(_frames(columns, pairs, y)), truth


def _feature_correlation(label: float | None, rho_u: float, f: float) -> float:
    """Return rho_s; raise ParameterError where there is none in [0, 1]."""
    least = (1.0 - f) * rho_u
    if label is None:
        return 0.0
    if not (finite(label) and least - 1e-12 <= label <= least + f + 1e-12):
        raise ParameterError(
            f"label_correlation={shown(label)} can't be: with this residual correlation and feature strength it is in "
            f"[{least:.3g}, {least + f:.3g}]; leave it out for {least:.3g}."
        )
    return float(np.clip((label - least) / f, 0.0, 1.0)) if f > 0 else 0.0


def _pairs(hidden: np.ndarray, rho: np.ndarray, n_pairs: int, degree_law: str, rng: np.random.Generator) -> np.ndarray:
    """Return distinct linked pairs (at most n_pairs, 2), first < second."""
    from scipy.spatial import cKDTree

    n = len(hidden)
    share = np.ones(n) if degree_law == "even" else (1.0 - rng.random(n)) ** (-1.0 / (TAIL - 1.0))
    share = np.minimum(share, HUB * share.sum())
    first = rng.choice(n, n_pairs, p=share / share.sum())
    wanted = rho * hidden[first] + np.sqrt(1.0 - rho**2) * rng.standard_normal((n_pairs, 2))
    near = cKDTree(hidden).query(wanted, k=2)[1]
    second = np.where(near[:, 0] == first, near[:, 1], near[:, 0])
    return np.unique(np.sort(np.column_stack([first, second]), axis=1), axis=0)


def _frames(columns: np.ndarray, pairs: np.ndarray, y: np.ndarray) -> Frames:
    ids = np.array([f"node-{row:0{len(str(len(y)))}d}" for row in range(1, len(y) + 1)])
    schema = [f"feature_{position}" for position in range(1, columns.shape[1] + 1)]
    return Frames(
        sources={"features": pl.DataFrame(columns, schema=schema).insert_column(0, pl.Series("id", ids))},
        graphs={"links": pl.DataFrame({"source": ids[pairs[:, 0]], "target": ids[pairs[:, 1]]})},
        target=pl.DataFrame({"id": ids, "y": y}),
        kinds={"features": dict.fromkeys(schema, "real")},
    )


def load() -> HetData:
    """Return the data of `make_autocorrelated_graph()` as they are by default."""
    return make_autocorrelated_graph()[0]


AUTOCORRELATED = Dataset(
    name="autocorrelated",
    title="Planted autocorrelation",
    story="1,000 made-up nodes: a number of which the features know 30%; the rest is alike along the links.",
    task="regression",
    load=load,
    licence="Generated here, free for any use.",
    citation="datasets.make_autocorrelated_graph() with its defaults.",
)
