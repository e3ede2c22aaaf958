"""Small networks as weak learners, kept and saved as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import ModelFileError
from hetcore.multimodal.network_training import trained

__all__ = ["LinearLearner", "NetworkLearner", "RandomFeatureLearner", "forward", "packed", "unpacked"]

PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)

Layers = list[tuple[NDArray[np.float32], NDArray[np.float32]]]


def forward(layers: Layers, X: NDArray) -> NDArray[np.float64]:
    """Return the outputs (m, K) of a network of rectified layers, the last one linear.

    Parameters
    ----------
    layers : list of (weights (a, b), biases (b,)), float32
    X : (m, d) float32
    """
    out = np.asarray(X, np.float32)
    # float32 as trained: a float64 product would be another one than scikit-learn's
    for i, (weights, biases) in enumerate(layers):
        out = out @ weights + biases
        if i + 1 < len(layers):
            np.maximum(out, 0.0, out=out)
    return out.astype(np.float64)


class NetworkLearner:
    """A network of rectified layers that fits vectors by least squares, as scikit-learn's MLPRegressor does.

    Parameters
    ----------
    hidden : sequence of int, default=(100, 50)
        Units of the hidden layers.
    epochs : int, default=10
        Passes over the rows, with Adam and batches of 200.
    random_state : int, default=0
        Seed of the first weights and of the batches.
    """

    kind = "network"

    def __init__(self, hidden: Sequence[int] = (100, 50), epochs: int = 10, random_state: int = 0) -> None:
        self.hidden, self.epochs, self.random_state = tuple(hidden), epochs, random_state
        self.layers: Layers = []

    def fit(self, X: NDArray, W: NDArray, sample_weight: NDArray | None = None) -> NetworkLearner:
        """Fit W (m, K) from X (m, d) float32, rows weighted by `sample_weight` (m,)."""
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        X, W = np.asarray(X, np.float32), np.asarray(W, np.float32)
        self.layers = trained(X, W, weights, hidden=self.hidden, epochs=self.epochs, seed=self.random_state)
        return self

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return the outputs (m, K) for X (m, d)."""
        return forward(self.layers, X)

    @staticmethod
    def pack(learners: Sequence[NetworkLearner]) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return fitted learners of one shape as a JSON-able dict and arrays."""
        return {}, packed([learner.layers for learner in learners])

    @classmethod
    def unpack(
        cls, facts: dict[str, Any], arrays: Mapping[str, NDArray], size: tuple[int, ...], n_outputs: int, count: int
    ) -> list[NetworkLearner]:
        """Rebuild `count` learners of `size` inputs; raises ModelFileError at anything else."""
        learners = [cls() for _ in range(count)]
        for learner, layers in zip(learners, unpacked(arrays, size[0], n_outputs, count)):
            learner.layers = layers
        return learners


class LinearLearner(NetworkLearner):
    """Ridge least squares in closed form: a network without a hidden layer, and kept as one.

    Parameters
    ----------
    l2 : float, default=1e-2
        Ridge, as a share of the mean square of a column; the constant has none.
    """

    def __init__(self, l2: float = 1e-2) -> None:
        self.l2 = l2
        self.layers: Layers = []

    def tune(self, X: NDArray, W: NDArray) -> None:
        """Set `l2` to the one of `PENALTIES` that predicts W (m, K) from X (m, d) best, each row left out in turn."""
        X, W = np.asarray(X, np.float64), np.asarray(W, np.float64)
        Z, V = X - X.mean(axis=0), W - W.mean(axis=0)
        # the rows' own products have the same vectors, in less time where columns are many
        squares, U = np.linalg.eigh(Z @ Z.T) if len(Z) < Z.shape[1] else _left_vectors(Z)
        squares, turned = np.maximum(squares, 0.0), U.T @ V

        def error(l2: float) -> float:
            kept = squares / (squares + l2 * float(squares.sum()) / max(Z.shape[1], 1) + 1e-12)
            # a row left out is told with its residual over 1 less its leverage, the mean's among it
            leverage = 1 / len(Z) + U**2 @ kept
            return float((((V - U @ (kept[:, None] * turned)) / np.maximum(1 - leverage, 1e-6)[:, None]) ** 2).sum())

        self.l2 = min(PENALTIES, key=error)

    def fit(self, X: NDArray, W: NDArray, sample_weight: NDArray | None = None) -> LinearLearner:
        """Fit W (m, K) from X (m, d) float32, rows weighted by `sample_weight` (m,)."""
        X, W = np.asarray(X, np.float64), np.asarray(W, np.float64)
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        total = weight.sum() or 1.0
        centre, mean = weight @ X / total, weight @ W / total
        # roots of weights: weighted least squares as a plain one
        Z = (X - centre) * np.sqrt(weight)[:, None]
        V = (W - mean) * np.sqrt(weight)[:, None]
        coefficients = _ridge(Z, V, self.l2)
        self.layers = [(coefficients.astype(np.float32), (mean - centre @ coefficients).astype(np.float32))]
        return self


class RandomFeatureLearner(LinearLearner):
    """Ridge least squares on rectified units with weights that are drawn, not trained: kept as a network.

    Of few rows, to which passes of a gradient bring hardly anything, it is a network that is fitted exactly; every fit
    draws other units, so that the sum of many is smooth.

    Parameters
    ----------
    units : int, default=200
    random_state : int, default=0
        Seed of the units.

    References
    ----------
    Rahimi and Recht, "Weighted sums of random kitchen sinks", NeurIPS 2008.
    """

    def __init__(self, units: int = 200, random_state: int = 0) -> None:
        super().__init__()
        self.units, self.random_state = units, random_state

    def _drawn(self, X: NDArray) -> Layers:
        rng, d = np.random.default_rng(self.random_state), X.shape[1]
        weights = rng.normal(size=(d, self.units)) / np.sqrt(max(d, 1))
        return [(weights.astype(np.float32), rng.normal(scale=0.5, size=self.units).astype(np.float32))]

    def tune(self, X: NDArray, W: NDArray) -> None:
        """Set `l2` as `LinearLearner` does, of the units' outputs."""
        super().tune(np.maximum(forward(self._drawn(X), X), 0.0), W)

    def fit(self, X: NDArray, W: NDArray, sample_weight: NDArray | None = None) -> RandomFeatureLearner:
        """Fit W (m, K) from X (m, d) float32, rows weighted by `sample_weight` (m,)."""
        drawn = self._drawn(X)
        super().fit(np.maximum(forward(drawn, X), 0.0), W, sample_weight)
        self.layers = drawn + self.layers
        return self


def _left_vectors(Z: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the squared singular values (r,) of Z (m, d) and their left vectors (m, r)."""
    U, sizes, _ = np.linalg.svd(Z, full_matrices=False)
    return sizes**2, U


def _ridge(Z: NDArray, V: NDArray, l2: float) -> NDArray[np.float64]:
    """Return the ridge coefficients (d, K), solved over columns or over rows, whichever are fewer."""
    m, d = Z.shape
    # relative to the columns' size, so that it means the same for words and pixels
    ridge = l2 * float((Z**2).sum()) / max(d, 1) + 1e-12
    if d <= m:
        return np.linalg.solve(Z.T @ Z + ridge * np.eye(d), Z.T @ V)
    # more columns than rows: the smaller system has the same solution
    return Z.T @ np.linalg.solve(Z @ Z.T + ridge * np.eye(m), V)


def packed(networks: Sequence[Layers]) -> dict[str, NDArray]:
    """Return networks of one shape as arrays "weights:i" (T, a, b) and "biases:i" (T, b)."""
    arrays: dict[str, NDArray] = {}
    for i in range(len(networks[0]) if networks else 0):
        arrays[f"weights:{i}"] = np.stack([layers[i][0] for layers in networks])
        arrays[f"biases:{i}"] = np.stack([layers[i][1] for layers in networks])
    return arrays


def unpacked(arrays: Mapping[str, NDArray], width: int, n_outputs: int, count: int) -> list[Layers]:
    """Return `count` networks from `packed` arrays.

    Raises
    ------
    ModelFileError
        Unless they are finite float32 layers that fit each other, `width` inputs and `n_outputs` outputs.
    """
    depth = len(arrays) // 2
    if count == 0 and not arrays:
        return []
    sizes = [width]
    for i in range(depth):
        weights, biases = arrays[f"weights:{i}"], arrays[f"biases:{i}"]
        # sizes follow from each other, from the columns to the classes
        good = weights.ndim == 3 and weights.shape[:2] == (count, sizes[-1]) and weights.dtype == np.float32
        good = good and biases.shape == (count, weights.shape[2]) and biases.dtype == np.float32
        if not good or not (np.isfinite(weights).all() and np.isfinite(biases).all()):
            raise ModelFileError(f"Layer {i} of a network in the model file does not fit the others: save it again.")
        sizes.append(weights.shape[2])
    if depth == 0 or sizes[-1] != n_outputs or count < 1 or len(arrays) != 2 * depth:
        raise ModelFileError("A network of the model file does not have the outputs of its classes: save it again.")
    each = range(depth)
    return [[(arrays[f"weights:{i}"][t], arrays[f"biases:{i}"][t]) for i in each] for t in range(count)]
