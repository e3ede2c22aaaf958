r"""Weights of sources and views: the self-normalised rule of GBC (eqs. 4.10, 4.11), other readings, and what is dealt.

The paper prints w_i = exp(-l_i / z) "with z such that the weights sum to one": z is inside the exponent. So z is the
root of sum_i exp(-l_i / z) = 1. It exists and is unique for two or more positive losses, and has no scale: losses times
a constant give the same weights. Equal losses give 1/p; l = (1, 10) gives (0.835, 0.165).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, softmax, stdtrit

from hetcore.consensus.outputs import Outputs
from hetcore.errors import ParameterError
from hetcore.kernels.simplex import log_temperature
from hetcore.kernels.threads import run_each
from hetcore.numerics import cache_blocks

__all__ = [
    "FIRM", "RULES", "SHARPNESS", "consensus", "deal", "explained", "fitted_mix", "losses_of_each",
    "losses_on_own_rows", "needed", "rivals_of", "self_normalised", "sharpness_for",
    "slopes_on_parts", "weights_from_losses", "weights_of",
]  # fmt: skip

RULES = ("entropy", "softmax", "equal")
SHARPNESS = (3.0, 1.0, 2.0, 4.5, 6.0, 9.0, 12.0, 18.0, 27.0, 36.0)  # that "auto" chooses from; 1 is the paper's
LABELS_PER_SHARPNESS = 15  # labelled rows for each 1 of the largest sharpness above the first
AT_ONCE = 100_000  # numbers up to which views are summed in one call
FAINT = 1e-9  # of the largest weight: views below it are skipped where others cover the same
PSEUDO_ROWS, PSEUDO_RATIO = 10, 2.0  # rows that a partial view is shrunk by, and its loss on them over the usual one
SURE = 1.0  # standard errors that a table's views must beat the prior by, for it to explain anything
FIRM = 2.0  # the same for a part of what several tables' views weigh, where another table's views do
MOST_PARTS = 200  # tables and graphs up to which a view of several is dealt by what each predicts alone
NEEDED = 3.0  # the same that a part's slope beside all others must be above 0 by, for it to have a share with them
HELD = 0.03  # share of the mean square of what a part predicts alone that is added to it: slopes are held to 0 by it
LEAST_VARIANCE = 1e-9  # of a direction in which tables predict the same


def self_normalised(losses: ArrayLike) -> NDArray[np.float64]:
    """Return the weights of eq. (4.10), (p,), each in [0, 1], summing to one.

    Parameters
    ----------
    losses : (p,) array-like of float
        Not negative, finite. One loss gives weight 1; losses of zero share all the weight.

    Raises
    ------
    ParameterError
        If a loss is negative or not finite, or there is none.
    """
    losses = _checked(losses)
    largest = losses.max()
    # a source without any loss takes all: the root z does not exist, and this is what it goes to
    none = losses <= largest * 1e-300
    if losses.size == 1 or none.any():
        return none / none.sum() if none.any() else np.ones(1)
    # the rule has no scale, so that losses may as well be near 1, where exp neither over- nor underflows
    relative = losses / largest
    weights = np.exp(-relative * np.exp(-log_temperature(relative)))
    return weights / weights.sum()


def weights_from_losses(losses: ArrayLike, rule: str = "entropy") -> NDArray[np.float64]:
    """Return weights from losses by a rule: "entropy" (4.10), "softmax" (exp(-l) normalised) or "equal".

    Raises
    ------
    ParameterError
        If the rule is none of these, or a loss is negative or not finite.
    """
    losses = _checked(losses)
    if rule == "entropy":
        return self_normalised(losses)
    if rule == "softmax":
        return softmax(-losses)
    if rule == "equal":
        return np.full(losses.size, 1.0 / losses.size)
    raise ParameterError(f"weights={rule!r} is not one of {', '.join(map(repr, RULES))}: give one of these.")


def _checked(losses: ArrayLike) -> NDArray[np.float64]:
    losses = np.asarray(losses, np.float64)
    if losses.size == 0 or not np.isfinite(losses).all() or (losses < 0).any():
        raise ParameterError(f"losses={losses.tolist()!r} must be finite numbers, not negative: check the scores.")
    return losses


def weights_of(losses: NDArray, rule: str, sharpness: float) -> NDArray[np.float64]:
    """Return w (v,): (4.10), or another rule, of the losses to the power of the sharpness.

    Parameters
    ----------
    losses : (v,) float64
        Over the prior's loss.
    rule : str
        As `weights_from_losses` takes it.
    sharpness : float
        Above 0; 1 is the paper's rule.
    """
    return weights_from_losses(np.minimum(losses, 1e6) ** sharpness, rule)


def sharpness_for(n_known: int) -> tuple[float, ...]:
    """Return what "auto" chooses the sharpness from: few labels can't tell views apart sharply."""
    return tuple(q for q in SHARPNESS if q <= max(SHARPNESS[0], n_known / LABELS_PER_SHARPNESS))


def losses_on_own_rows(losses: NDArray, covers: NDArray[np.bool_], usual: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return views' mean losses (v,) as they would be on all rows, from those of the rows that each covers.

    (4.10) takes a source's loss over its own records, which may be easier than others: a view that loses half of what
    is usual there counts as if it did so everywhere. One of few rows may be lucky: it counts as if it had lost
    `PSEUDO_RATIO` times what is usual on up to `PSEUDO_ROWS` more. Inf for one that covers none.

    Parameters
    ----------
    losses : (v, l) float64
    covers : (v, l) bool
    usual : (l,) float64
        Losses of a consensus.
    """
    rows = covers.sum(axis=1)
    own, there = np.einsum("vl,vl->v", covers, losses), np.einsum("vl,l->v", covers, usual)
    more, times = np.minimum(PSEUDO_ROWS, covers.shape[1] - rows), own / np.maximum(there, 1e-300)
    return np.where(rows > 0, (times * rows + PSEUDO_RATIO * more) / (rows + more) * usual.mean(), np.inf)


def rivals_of(covers: NDArray[np.bool_], step: int = 1) -> list[tuple[NDArray, NDArray, NDArray]]:
    """Return, group by group, views that cover the same labelled rows, those that cover these all, and the rows.

    Parameters
    ----------
    covers : (v, l) bool
    step : int
        Of the rows every so many-th is returned.
    """
    groups: dict[bytes, list[int]] = {}
    # by their bytes: NumPy's unique rows would be records of as many fields as there are labelled rows
    for i, own in enumerate(covers):
        groups.setdefault(own.tobytes(), []).append(i)
    found = [(np.array(alike), np.flatnonzero(covers[alike[0]])) for alike in groups.values()]
    return [(alike, np.flatnonzero(covers[:, rows].all(axis=1)), rows[::step]) for alike, rows in found]


def consensus(weights: NDArray, predicted: Sequence[NDArray], covers: NDArray, prior: NDArray) -> NDArray[np.float64]:
    """Return E (n, k) of what views say (v, n, k), weights (v,) divided by their sum over those that cover (v, n)."""
    used = np.flatnonzero(weights > FAINT * weights.max(initial=0.0))
    if not np.array_equal(covers[used].any(axis=0), covers[weights > 0].any(axis=0)):
        used = np.flatnonzero(weights > 0)
    if used.size and covers[used].all():
        # one number for all rows, and no pass over them for each
        return _sum_of(weights, predicted, used) / weights[used].sum()
    mass, total = weights[used] @ covers[used], _sum_of(weights, predicted, used, covers)
    some = mass > 0
    return np.where(some[:, None], total / np.where(some, mass, 1.0)[:, None], prior)


def _sum_of(
    weights: NDArray, predicted: Sequence[NDArray], used: NDArray[np.int64], covers: NDArray | None = None
) -> NDArray[np.float64]:
    """Return the sum (n, k) of what some views say times their weights, added up one after the other."""
    total = np.zeros_like(predicted[0])
    # few rows at once: a call for each view takes longer than the sum. Of a single number NumPy adds in another order
    if total.size > 1 and 0 < used.size * total.size <= AT_ONCE:
        parts = weights[used, None] if covers is None else weights[used, None] * covers[used]
        return (parts[:, :, None] * np.array([predicted[i] for i in used])).sum(axis=0)
    for i in used:
        total += (weights[i] if covers is None else (weights[i] * covers[i])[:, None]) * predicted[i]
    return total


def _of_each(weights: NDArray, predicted: NDArray, covers: NDArray, prior: NDArray) -> NDArray[np.float64]:
    """Return E (c, n, k) by each of c choices of weights (c, v), what views say being (v, n, k); see `consensus`."""
    spoken = predicted if covers.all() else np.where(covers[:, :, None], predicted, 0.0)
    total = (weights @ spoken.reshape(len(spoken), -1)).reshape(len(weights), *predicted.shape[1:])
    mass = (weights @ covers)[:, :, None]
    return np.divide(total, mass, out=np.broadcast_to(prior, total.shape).copy(), where=mass > 0)


def losses_of_each(
    outputs: Outputs,
    weights: NDArray,
    predicted: NDArray,
    covers: NDArray,
    codes: NDArray[np.float64],
    n_jobs: int = 1,
) -> NDArray[np.float64]:
    """Return the mean loss (c,) of E by each of c choices of weights (c, v), some rows at a time; same bits on threads.

    Parameters
    ----------
    outputs : Outputs
    weights : (c, v) float64
    predicted : (v, n, k) float64
    covers : (v, n) bool
    codes : (n, k) float64
    n_jobs : int, default=1
    """

    def total(some: slice) -> NDArray[np.float64]:
        mixed = _of_each(weights, predicted[:, some], covers[:, some], outputs.prior)
        return outputs.loss(mixed, codes[some]).sum(axis=1)

    totals = run_each(total, cache_blocks(len(codes), len(weights) * outputs.k), n_jobs)
    return sum(totals[1:], totals[0]) / len(codes)


def fitted_mix(
    outputs: Outputs, predicted: NDArray, covers: NDArray, codes: NDArray, start: NDArray
) -> NDArray[np.float64]:
    """Return the weights on the simplex with the lowest loss of the consensus plus KL(w, start) / n.

    Exponentiated gradient with backtracking. Views say the prior where they do not cover, so that nothing is divided.

    Parameters
    ----------
    outputs : Outputs
    predicted : (v, n, k) float64
    covers : (v, n) bool
    codes : (n, k) float64
    start : (v,) float64
    """
    start = np.maximum(start, 1e-6) / np.maximum(start, 1e-6).sum()
    predicted = np.where(covers[:, :, None], predicted, outputs.prior)
    n, weights, rate = len(codes), start.copy(), 1.0

    def value(w: NDArray) -> float:
        pull = 1.0 / n * float(w @ np.log(w / start))
        return float(outputs.loss(np.tensordot(w, predicted, 1), codes).mean()) + pull

    now = value(weights)
    for _ in range(200):
        slope = np.einsum("nk,vnk->v", outputs.fitted(np.tensordot(weights, predicted, 1)) - codes, predicted) / n
        slope += 1.0 / n * np.log(weights / start)
        while rate > 1e-4:
            moved = np.maximum(weights * np.exp(rate * (slope.min() - slope)), 1e-9)  # at most 1: nothing overflows
            moved /= moved.sum()
            new = value(moved)
            if new <= now:
                break
            rate *= 0.5
        else:
            return weights
        done = now - new < 1e-9
        weights, now, rate = moved, new, rate * 1.3
        if done:
            break
    return weights


def explained(prior: NDArray, losses: NDArray) -> tuple[float, float]:
    """Return the share of the prior's loss (l,) that a view takes away, less `SURE` and less `FIRM` standard errors."""
    total, gains = max(float(prior.mean()), 1e-300), prior - losses
    mean, error = gains.mean(), gains.std()
    sure, firm = (float(mean - errors * error / np.sqrt(gains.size)) / total for errors in (SURE, FIRM))
    return max(0.0, sure), max(0.0, firm)


def needed(alone: NDArray[np.float64], missed: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which parts (p,) explain something beside the others, though alone it may drown in what these explain.

    Least squares of what the prior misses on what each part predicts alone; by standard errors of rows whose spread
    differs (White 1980), and Student's quantile.

    Parameters
    ----------
    alone : (p, l, k) float64
        What each predicts alone less the prior, left out.
    missed : (l, k) float64
        Codes less what is fitted by the prior.
    """
    found = alone.any(axis=(1, 2))
    freedom = len(missed) - int(found.sum()) - 1
    if not found.any() or freedom < 1:
        return np.zeros(len(alone), bool)
    X = alone[found]
    inner = np.einsum("plk,qlk->pq", X, X)
    inner[np.diag_indices_from(inner)] *= 1.0 + LEAST_VARIANCE
    inverse = np.linalg.inv(inner)
    slopes = inverse @ np.einsum("plk,lk->p", X, missed)
    by_row = inverse @ np.einsum("plk,lk->pl", X, missed - np.tensordot(slopes, X, 1))
    found[found] = slopes > stdtrit(freedom, ndtr(NEEDED)) * np.sqrt((by_row**2).sum(axis=1))
    return found


def slopes_on_parts(places: Sequence[NDArray], change: NDArray, own: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the slopes (v, p + q) of what views of several tables and graphs predict on what each predicts alone.

    A ridge regression of left-out predictions; 0 for other views, and for what has no view of its own.

    Parameters
    ----------
    places : sequence of (parts,) int64
        By view, its tables and graphs among all p + q.
    change : (v, m) float64
        What views predict less the prior, left out; 0 where they do not cover.
    own : (p + q,) int64
        The view of each alone; -1 for none.
    """
    slopes = np.zeros((len(places), own.size))
    for seen, those in _alike(places, own).items():
        alone = change[own[list(seen)]]
        inner = alone @ alone.T
        inner[np.diag_indices_from(inner)] *= 1.0 + HELD
        slopes[np.ix_(those, seen)] = np.linalg.solve(inner, alone @ change[those].T).T
    return slopes


def deal(
    places: Sequence[NDArray], change: NDArray, own: NDArray[np.int64], gains: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each view's shares (v, p + q) in its tables and graphs; rows sum to 1.

    Relative weights: of the variance that least squares on what each predicts alone explain, its part by way of the
    nearest uncorrelated ones (Johnson 2000, "A heuristic method for estimating the relative weight of predictor
    variables", Multivariate Behavioral Research 35, eqs. 1 to 5). Those that predict the same have the same. Where none
    predicts anything, in proportion to the gains.

    Parameters
    ----------
    places, change, own
        As `slopes_on_parts` has them.
    gains : (p + q,) float64
        What each explains alone.
    """
    shares = np.zeros((len(places), own.size))
    for seen, those in _alike(places, own).items():
        if len(seen) <= MOST_PARTS:
            shares[np.ix_(those, seen)] = _relative_weights(change[own[list(seen)]], change[those])
    for row, each in zip(shares, places):
        if not row.any():
            row[each] = gains[each] if gains[each].any() else 1.0
    return shares / shares.sum(axis=1, keepdims=True)


def _alike(places: Sequence[NDArray], own: NDArray[np.int64]) -> dict[tuple[int, ...], list[int]]:
    """Return the views of several tables and graphs by which of these have a view of their own."""
    found: dict[tuple[int, ...], list[int]] = {}
    for i, each in enumerate(places):
        if each.size > 1 and (seen := tuple(each[own[each] >= 0].tolist())):
            found.setdefault(seen, []).append(i)
    return found


def _relative_weights(of: NDArray, found: NDArray) -> NDArray[np.float64]:
    """Return (f, p): how much of each of `found` (f, m) each of p rows `of` (p, m) explains beside the others."""
    unit = of / np.linalg.norm(of, axis=1)[:, None]
    variance, directions = np.linalg.eigh(unit @ unit.T)
    spread = np.sqrt(np.maximum(variance, LEAST_VARIANCE))
    # correlations with the nearest uncorrelated rows, and slopes on these
    to_nearest = (directions * spread) @ directions.T
    slopes = (found @ unit.T) @ (directions / spread) @ directions.T
    return slopes**2 @ to_nearest**2
