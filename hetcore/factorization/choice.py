"""Rank, penalty and learning rate of a matrix with few entries, chosen by cross-validation.

Fifty factors and their penalty are for tens of entries a row in hundreds of rows. Of fewer entries:

    1  deal the entries into folds; the fits that each leave one fold out go epoch by epoch together
    2  error of a setting: mean square over all entries, each by the fit that left it out, at its best epoch
    3  setting: the best of the usual one and of the ranks of the path at a middle penalty, then of the penalties at
       that rank
    4  deviations are learned from the errors left out, and stay if fits weighted by them make what they left out more
       likely
    5  the model: a fit to all entries, of as many epochs as were best

Reference: T. Hastie, R. Tibshirani, J. Friedman, "The Elements of Statistical Learning", 2009, section 7.10.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.factorization.codes import CodeBook
from hetcore.factorization.sgd import SURE, Entries, FactorState
from hetcore.numerics import root_mean_square

__all__ = ["FIXED", "PATH", "Choice", "cross_validated"]

FIXED = {"n_factors": 50, "learning_rate": 0.07, "regularisation": 0.095}  # of many entries
PATH = {"n_factors": (0, 1, 2, 3, 5, 8, 12), "learning_rate": (0.2,), "regularisation": (0.03, 0.02, 0.1)}  # of few
FOLDS = 5
ENOUGH = 2_000  # entries left out, by which settings are compared
TINY = 1e-300  # for errors that are none
PATIENCE = 15  # epochs; the error over all entries hardly jumps


class Choice(NamedTuple):
    """A setting and what its fits say of entries that they left out.

    Attributes
    ----------
    error : float
        Root of their mean square.
    params : dict
        "n_iterations" is the number of epochs.
    errors, deviations : (n,) float64
        Of the entries left out, in the values' unit.
    """

    error: float
    params: dict[str, Any]
    errors: NDArray[np.float64]
    deviations: NDArray[np.float64]


def cross_validated(params: dict[str, Any], free: set[str], book: CodeBook, entries: Entries) -> Choice:
    """Return the setting of least error; errors are of one size where weights do not pay.

    Parameters
    ----------
    params : dict
        Of the estimator, `FIXED` in place of what is free.
    free : set of str
        Names of `FIXED` that are chosen.
    book : CodeBook
    entries : Entries
    """
    plain = params | {"n_deviation_factors": 0}
    fold = np.random.default_rng(params["random_state"]).permutation(len(entries)) % FOLDS
    ranks, rates, penalties = ([{name: value} for value in PATH[name] if name in free] or [{}] for name in PATH)
    # of many entries a fold or two tell settings apart
    few = min(FOLDS, -(-ENOUGH * FOLDS // len(entries)))

    def best(*settings: tuple[dict[str, Any], ...]) -> Choice:
        tried = [_tried(plain | a | b | c, book, entries, fold, few) for a, b, c in settings]
        return min(tried, key=lambda each: each.error)

    found = best(({}, {}, {}), *product(ranks, rates, penalties[:1]))
    if found.params["n_factors"] > 0 and len(penalties) > 1:
        own = [{"n_factors": found.params["n_factors"]}]
        found = min(found, best(*product(own, rates, penalties[1:])), key=lambda each: each.error)
    if few < FOLDS:
        found = _tried(found.params | {"n_iterations": params["n_iterations"]}, book, entries, fold, FOLDS)
    return _weighted(found, params, book, entries, fold)


def _weighted(found: Choice, params: dict[str, Any], book: CodeBook, entries: Entries, fold: NDArray) -> Choice:
    """Return the choice with deviations, if there are any and they tell more; else with one error for all."""
    K = params["n_deviation_factors"]
    own = found.params | {"n_deviation_factors": K, "deviation_folds": FOLDS}
    if K > 0:
        # weights change how many epochs are best
        most = {"n_iterations": params["n_iterations"]}
        weighted = _tried(own | most, book, entries, fold, FOLDS, errors=found.errors)
        gain = _losses(found) - _losses(weighted)
        if gain.mean() > SURE * gain.std() / np.sqrt(len(gain)):
            return weighted._replace(errors=found.errors)
    return found._replace(params=own, errors=np.full(len(entries), found.error))


def _losses(choice: Choice) -> NDArray[np.float64]:
    """Return twice the negative log-likelihood (n,) of the errors, their deviations scaled to them as a whole."""
    squares = (choice.errors / choice.deviations) ** 2
    mean = max(float(squares.mean()), TINY)
    return squares / mean + np.log(mean) + 2.0 * np.log(choice.deviations)


def _tried(
    params: dict[str, Any],
    book: CodeBook,
    entries: Entries,
    fold: NDArray,
    n_folds: int,
    *,
    errors: NDArray | None = None,
) -> Choice:
    """Return a setting with its error at its best epoch; deviations are learned from errors, where given."""
    kept = [fold != k for k in range(n_folds)]
    given = [None if errors is None else errors[each] for each in kept]
    states = [FactorState.start(params, book, entries.take(each), {}, errors=own) for each, own in zip(kept, given)]
    best, left_out = Choice(np.inf, params | {"n_iterations": 0}, *np.zeros((2, 0))), np.zeros((2, len(entries)))
    for epoch in range(1, params["n_iterations"] + 1):
        for each, state in zip(kept, states):
            state.round()
            fitted, left_out[1, ~each] = state.tables().predict(entries.rows[~each])
            left_out[0, ~each] = entries.values[~each] - fitted
        if (error := root_mean_square(left_out[0, fold < n_folds])) < best.error:
            best = Choice(error, params | {"n_iterations": epoch}, *left_out.copy())
        if epoch - best.params["n_iterations"] >= PATIENCE:
            break
    return best
