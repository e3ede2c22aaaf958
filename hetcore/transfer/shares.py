r"""The shares of the candidates of a transfer blend: first among those of a kind, then between the kinds.

A kind is "all" (fitted to all rows), "target only", or one source with the target. Within "all" source rows count
too: they say which machine suits the data. Between the kinds only target rows are, since a source row is as foreign to
a machine on the target alone as the target's rows are to one on the sources. With q_gi = sum_c s_c p_ci the mix of kind
g, p_0 twice as much for "all" as for each other kind, and kappa = `PRIOR_ROWS`,

    max over t on the simplex of  sum_i ln sum_g t_g q_gi(y_i) + kappa sum_g p_0g ln t_g        (i: the target's rows)

so that few target rows leave most to "all". For numbers: least squares in the place of the log loss, and kappa rows of
the best kind's mean squared error that draw t to p_0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

__all__ = ["PRIOR_ROWS", "by_kind", "mixture", "shares_by_squares"]

PRIOR_ROWS, PRIOR_OF_ALL = 3.0, 2.0
N_STEPS = 200


def mixture(likelihood: NDArray, weights: NDArray, prior: NDArray | None = None) -> NDArray[np.float64]:
    """Return the shares of least weighted log loss, by expectation maximisation.

    Parameters
    ----------
    likelihood : (n, C) float64
        p_ci(y_i), above 0.
    weights : (n,) float64
        u_i, at least 0, not all 0.
    prior : (C,) float64, optional
        kappa p_0, in rows; nothing unless given.

    Returns
    -------
    (C,) float64
        At least 0, summing to 1.
    """
    C = likelihood.shape[1]
    prior = np.zeros(C) if prior is None else prior
    shares = np.full(C, 1.0 / C)
    for _ in range(N_STEPS):
        mixed = likelihood * shares
        before, shares = shares, weights @ (mixed / mixed.sum(axis=1, keepdims=True)) + prior
        shares /= shares.sum()
        if (shares == before).all():  # every further step gives the same bits
            break
    return shares


def shares_by_squares(values: NDArray, y: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Return the shares of least weighted squared error of values (n, C) from y (n,).

    With R = sqrt(weights) (values - y) the least |R u|^2 + (sum(u) - 1)^2 over u >= 0 is a multiple of the shares.
    """
    apart = np.sqrt(weights)[:, None] * (values - y[:, None])
    sizes = np.sqrt((apart**2).sum(axis=0))
    if not sizes.all():
        return (np.arange(len(sizes)) == sizes.argmin()).astype(np.float64)
    # of the best one's size, beside which the sum is of size 1 too; a triangle has the same squares
    triangle = np.linalg.qr(apart / sizes.min(), mode="r")
    system = np.vstack([triangle, np.ones(len(sizes))])
    found = nnls(system, np.append(np.zeros(len(triangle)), 1.0), maxiter=1000)[0]
    return found / found.sum()


def by_kind(
    values: NDArray,
    y: NDArray | None,
    own: NDArray,
    weights: NDArray,
    kinds: Sequence[str],
    everyone: str,
    known: dict[tuple[str, int], NDArray] | None = None,
) -> NDArray[np.float64]:
    """Return the shares of candidates, first within their kind, then between the kinds.

    Parameters
    ----------
    values : (n, C) float64
        p_ci(y_i) of classes, predictions of numbers.
    y : (n,) float64 or None
        The numbers; None for classes.
    own : (n,) bool
        Which rows are the target's.
    weights : (n,) float64
        u_i: 1 of a target row, the sources' within the kind `everyone`.
    kinds : sequence of str
        Of each candidate.
    everyone : str
        The kind that is fitted to all rows.
    known : dict, optional
        Shares within a kind by its name and number of candidates, which are taken and added: for calls that differ by
        further candidates alone.

    Returns
    -------
    (C,) float64
        At least 0, summing to 1.
    """
    names, known = list(dict.fromkeys(kinds)), {} if known is None else known
    within = np.zeros((len(names), len(kinds)))
    for g, name in enumerate(names):
        chosen = np.array([kind == name for kind in kinds])
        rows, key = np.ones(len(own), bool) if name == everyone else own, (name, int(chosen.sum()))
        if key not in known:
            known[key] = _best(values[np.ix_(rows, chosen)], None if y is None else y[rows], weights[rows])
        within[g, chosen] = known[key]
    prior = np.where([name == everyone for name in names], PRIOR_OF_ALL, 1.0)
    mixes = values[own] @ within.T
    return _between(mixes, None if y is None else y[own], prior / prior.sum()) @ within


def _best(values: NDArray, y: NDArray | None, weights: NDArray) -> NDArray[np.float64]:
    return mixture(values, weights) if y is None else shares_by_squares(values, y, weights)


def _between(mixes: NDArray, y: NDArray | None, prior: NDArray) -> NDArray[np.float64]:
    rows = np.ones(len(mixes))
    if y is None:
        return mixture(mixes, rows, PRIOR_ROWS * prior)
    # of the best kind, for one that is far off would make the prior the stronger
    unit = np.sqrt(PRIOR_ROWS * np.mean((mixes - y[:, None]) ** 2, axis=0).min())
    drawn = np.vstack([mixes, unit * np.eye(len(prior))]), np.append(y, unit * prior)
    return shares_by_squares(*drawn, np.ones(len(drawn[1])))
