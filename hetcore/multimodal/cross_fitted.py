"""Boosted feature vectors of the rows that the trees were grown on, by leaves that have not learned from them.

Vectors of rows that the trees have learned tell their labels as those of new rows do not, and a network trained on them
is too sure. So:

1  deal the rows into two halves, class by class; the trees' questions stay as they are
2  for each half boost anew: every leaf gets the value that the rows of that half alone give it
3  a row's vector has the values of the half that it is not in

Halves are dealt several times, and epochs take turns: of one dealing a network learns what a leaf's other half lacks,
which is what its own half has. The questions were chosen on all rows, and that is what is left of their labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetcore.data.splits import dealt_in_order
from hetcore.multimodal.oblivious_trees import ObliviousTrees
from hetcore.numerics import softmax

__all__ = ["CrossFitted", "newton_values"]


@dataclass
class CrossFitted:
    """Vectors of m rows, by R dealings of them into halves.

    Attributes
    ----------
    leaves : (M, m) uint16
        The leaf of each row in each tree.
    half : (R, m) int64
        0 or 1; a row's vector has the values of the other.
    values : (R, M, 2, L, K) float32
        What each leaf adds to the K scores, by the rows of each half.
    single : (m,) bool
        The only rows of their class, whose vector has the values of their own half: the other has no such class.
    """

    leaves: NDArray[np.uint16]
    half: NDArray[np.int64]
    values: NDArray[np.float32]
    single: NDArray[np.bool_]

    @classmethod
    def of(
        cls, trees: ObliviousTrees, X: NDArray, y: NDArray[np.int64], rates: tuple[float, float], how: tuple[int, int]
    ) -> CrossFitted:
        """Boost the halves.

        Parameters
        ----------
        trees : ObliviousTrees
        X : (m, d)
            The rows that they were grown on.
        y : (m,) int64
            Class codes.
        rates : (float, float)
            Learning rate and L2 penalty of the trees.
        how : (int, int)
            Dealings R, and the seed.
        """
        (n_dealings, seed), n_classes = how, trees.values.shape[2]
        rng, leaves = np.random.default_rng(seed), trees.leaves(X).astype(np.uint16)
        half = np.stack([dealt_in_order(y, rng.permutation(len(y)), 2) for _ in range(n_dealings)])
        values = [newton_values(leaves, each, y, trees.values.shape[1:], rates) for each in half]
        return cls(leaves, half, np.stack(values), np.bincount(y, minlength=n_classes)[y] == 1)

    def vectors(self, dealing: int) -> NDArray[np.float32]:
        """Return the vectors (m, M K) by one of the dealings, which take turns as it grows."""
        r = dealing % len(self.half)
        whose = np.where(self.single, self.half[r], 1 - self.half[r])
        found = self.values[r][np.arange(len(self.leaves))[:, None], whose, self.leaves]
        return found.transpose(1, 0, 2).reshape(len(whose), -1)


def newton_values(
    leaves: NDArray, half: NDArray, y: NDArray[np.int64], shape: tuple[int, int], rates: tuple[float, float]
) -> NDArray[np.float32]:
    """Return what each leaf adds (M, 2, L, K), by boosting each half: CatBoost's Newton steps of the multi-class loss.

    Parameters
    ----------
    leaves : (M, m) int
    half : (m,) int
        0 or 1.
    y : (m,) int
        Class codes.
    shape : (int, int)
        Leaves L of a tree, and classes K.
    rates : (float, float)
        Learning rate and L2 penalty.
    """
    (n_leaves, k), (rate, l2) = shape, rates
    scores, truth, places = np.zeros((len(y), k)), np.eye(k)[y], np.arange(k)
    values = np.zeros((len(leaves), 2 * n_leaves, k))
    for m, leaf in enumerate(leaves):
        # leaf by leaf, of each half
        at = half * n_leaves + leaf
        order = np.argsort(at, kind="stable")
        found, first = np.unique(at[order], return_index=True)
        shares = softmax(scores)
        gradients = np.add.reduceat((truth - shares)[order], first)
        hessians = -_products(shares[order], first)
        hessians[:, places, places] += np.add.reduceat(shares[order], first) + l2
        values[m, found] = rate * np.linalg.solve(hessians, gradients[:, :, None])[:, :, 0]
        # a row's scores go on with its own half, whose leaves learn from them
        scores += values[m, at]
    return values.reshape(len(leaves), 2, n_leaves, k).astype(np.float32)


def _products(shares: NDArray[np.float64], first: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sums of the outer products of rows (m, K) that begin at `first`, (b, K, K)."""
    ends = [*first[1:].tolist(), len(shares)]
    return np.stack([shares[begin:end].T @ shares[begin:end] for begin, end in zip(first.tolist(), ends)])
