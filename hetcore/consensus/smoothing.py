"""lambda1: the consensus made smooth along the links, and the weights of the graphs.

The third term of the objective (4.4), minimised for the consensus itself: with E~ the average over the neighbours,

    e(x) = (E(x) + lambda1 E~(x)) / (1 + lambda1) ,    E~(x) = sum_g w^_g mean of e over x's neighbours in g ,

where labelled neighbours count with the score that their label stands for, and rows without a link stay as they are. A
few sweeps solve it: each shrinks the error by lambda1 / (1 + lambda1), and ten at most are made.

Linked instances may be alike in what e misses of them, rather than in their labels: readings of one animal, days of one
street. Numbers have that added (Jia and Benson 2020, "Residual correlation in graph neural network regression"):

    e(x) + rho sum_g w^_g mean of (y - e) over x's neighbours in g ,    0 for those without a label,

with rho the slope of the labels' left-out residuals on what is added, at most 1, where it is above 0 by `CLEAR`
standard errors (White 1980); else nothing is added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hetcore.consensus.link_sums import JoinedLinks, degrees, linked_rows, nothing, times
from hetcore.consensus.neighbor_columns import walk
from hetcore.consensus.view_weights import self_normalised

__all__ = ["LinkBlend", "Pairs", "graph_weights", "share_of_residuals", "smoothed"]

MOST_SWEEPS, CLOSE = 10, 0.01  # sweeps shrink the error to this share, or end
GRAPH_SHARPNESS = 3.0
SURE = 3.0  # standard errors that linked instances must be closer than others, for a graph to count
MOST_PAIRS = 50_000
CLEAR = 2.0  # standard errors that the slope on neighbours' residuals must be above 0


class Pairs(NamedTuple):
    """Linked instances of a graph: at most about MOST_PAIRS of its links, evenly drawn.

    Attributes
    ----------
    a, b : (e,) int32
        The ends.
    weight : (e,) float64
    linked : (m,) int64
        The instances that have a link.
    """

    a: NDArray
    b: NDArray
    weight: NDArray
    linked: NDArray

    @classmethod
    def of(cls, links: Any, rows: NDArray[np.bool_] | None = None) -> Pairs:
        """Return those of links (n, n), between `rows` (n,) or all."""
        ends = sparse.triu(links, k=1).tocoo()
        a, b, weight = ends.row, ends.col, ends.data
        if rows is not None:
            # labelled pairs alone where residuals are compared: only they have any
            inside = rows[a] & rows[b]
            a, b, weight = a[inside], b[inside], weight[inside]
        linked = np.flatnonzero(np.bincount(np.concatenate([a, b])))
        # every so many: the links of a graph are in no order of the values; copied, or all of them would stay
        step = max(1, a.size // MOST_PAIRS)
        return cls(a[::step].copy(), b[::step].copy(), weight[::step].copy(), linked)


class LinkBlend:
    """The average over neighbours in all graphs.

    Parameters
    ----------
    links : mapping of str to (n, n) CSR array
        By graph; its memory is shared.
    n_jobs : int, default=1
        Threads of products with very many links; the same bits.
    """

    def __init__(self, links: Mapping[str, Any], n_jobs: int = 1) -> None:
        self.links, self.n_jobs = links, n_jobs
        self._alone: dict[str, Any] = {}
        self._several: dict[tuple[str, ...], JoinedLinks] = {}

    def of(self, weights: Mapping[str, float], go_on: Callable[[], Any] = nothing) -> Any:
        """Return the average over neighbours as a matrix (n, n): rows sum to 1, or are 0 without a link of weight.

        Parameters
        ----------
        weights : mapping of str to float
            The graphs' weights; those of 0 take no part.
        go_on : callable, optional
            Called before each graph, and now and then; what it raises ends the work.
        """
        used = {name: each for name, each in self.links.items() if weights.get(name, 0.0) > 0}
        # none of weight: an average of nobody, of the right size
        if not used:
            n = next(iter(self.links.values())).shape[0]
            return sparse.csr_array((n, n), dtype=np.float64)
        # the average over one graph's neighbours is the same in every round
        if len(used) == 1:
            (name,) = used
            if name not in self._alone:
                self._alone = {name: walk(used[name].astype(np.float64))}
            return self._alone[name]
        names = tuple(used)
        # the last ones only: mostly the same graphs have weight
        if names not in self._several:
            self._several.clear()
            several = list(used.values())
            self._several[names] = JoinedLinks(several, [degrees(each) for each in several], go_on, self.n_jobs)
        go_on()
        return self._several[names].average(np.array([weights[name] for name in names]))


def smoothed(
    blend: Any, scores: NDArray, lambda1: float, known: NDArray[np.bool_], working: NDArray,
    *, go_on: Callable[[], Any] = nothing,
) -> NDArray[np.float64]:  # fmt: skip
    """Return e (n, k) for scores E (n, k); neighbours that are `known` (n,) or (n, k) count with `working` (n, k).

    `go_on` is called before each sweep; what it raises ends the work.
    """
    # rows without a link stay as they are
    linked = linked_rows(blend)[:, None]
    if not lambda1 or not linked.any():
        return scores
    now, sweeps = scores, int(np.ceil(np.log(CLOSE) / np.log(lambda1 / (1.0 + lambda1))))
    for _ in range(min(MOST_SWEEPS, sweeps)):
        go_on()
        # labelled neighbours count with their labels, in each sweep
        near = times(blend, np.where(known.reshape(len(known), -1), working, now))
        now = np.where(linked, (scores + lambda1 * near) / (1.0 + lambda1), scores)
    return now


def share_of_residuals(
    near: NDArray[np.float64], missed: NDArray[np.float64], of_others: NDArray[np.float64]
) -> float:
    """Return rho in [0, 1] for left-out residuals `missed` (l,) by the means of those of the neighbours, `near` (l,).

    A labelled row's neighbours have learned from its label, and miss less than those of rows without one: of the means
    that these have, `of_others` (u,), what is more than labelled rows have counts as noise.
    """
    size = float(near @ near)
    # no labelled row has a neighbour with a label
    if not size > 0:
        return 0.0
    slope = float(near @ missed) / size
    error = float(np.sqrt(np.sum((near * (missed - slope * near)) ** 2))) / size
    if not slope > CLEAR * error:
        return 0.0
    usual, there = (float(np.mean(each[each != 0] ** 2)) if each.any() else 0.0 for each in (near, of_others))
    return min(slope, 1.0) * (usual / there if there > usual else 1.0)


def graph_weights(pairs: Mapping[str, tuple[Pairs, Pairs]], fitted: NDArray, missed: NDArray) -> dict[str, float]:
    """Return (4.11): a graph's weight by how much less its linked instances differ than any two do.

    With d_g the mean squared difference of `fitted` (n, k) over the links, over that of two instances drawn at random,
    w^ is (4.10) of d_g cubed over the graphs whose linked instances are clearly alike. A graph of others may still link
    instances for which the tables miss alike: then d_g is of `missed` (n, k), the residuals of the labelled. All
    weights are 0 where there is no such graph: then there is nothing to smooth along.

    Parameters
    ----------
    pairs : mapping of str to (Pairs, Pairs)
        By graph, all, and those between labelled instances.
    fitted, missed : (n, k) float64
    """
    weights, clear = dict.fromkeys(pairs, 0.0), {}
    for name, (everywhere, labelled) in pairs.items():
        # labels and predictions first: a graph along which they agree is one, whatever the residuals
        for values, among in ((fitted, everywhere), (missed, labelled)):
            ratio, alike = _ratio(among, values)
            # by several standard errors: else a chance difference would smooth
            if alike:
                clear[name] = ratio
                break
    # a graph alone has weight 1
    if clear:
        found = self_normalised(np.array(list(clear.values())) ** GRAPH_SHARPNESS)
        weights |= dict(zip(clear, found.tolist()))
    return weights


def _ratio(pairs: Pairs, values: NDArray) -> tuple[float, bool]:
    """Return d_g, and whether linked instances are clearly alike.

    The latter by the correlation over the links, each instance as often as it has links (Newman 2003, "Mixing patterns
    in networks", eq. 21), so that hubs and rare classes do not count as likeness; its standard error by the links.
    """
    # no pair: as far apart as any two
    a, b, weight, linked = pairs
    if not a.size:
        return 1.0, False
    gaps, whole = values[a] - values[b], weight.sum()
    apart = np.einsum("mk,mk->m", gaps, gaps) @ weight / whole
    # twice the variance is the mean squared distance of any two
    spread = 2.0 * float(values[linked].var(axis=0).sum())
    share = np.bincount(np.concatenate([a, b]), np.tile(weight, 2), len(values)) / (2.0 * whole)
    off = values - share @ values
    products = weight * np.einsum("mk,mk->m", off[a], off[b]) / whole
    size = float(share @ np.einsum("nk,nk->n", off, off))
    if not min(spread, size) > 0:
        return 1.0, False
    # pairs share instances, so that their number alone would make too small an error
    error = np.sqrt(max(1.0 / min(a.size, linked.size), float(products @ products) / size**2))
    return float(apart / spread), bool(products.sum() / size > SURE * error + 0.01)
