"""I-AutoRec (Sedhain, Menon, Sanner, Xie 2015), the paper's neural rival: an item's ratings through a narrow layer.

r(i), the ratings of item i by all users with 0 for those not seen, is rebuilt as V s(W r(i) + m) + b, s the logistic
function. The loss is the sum of squared errors over ratings that were seen, and lambda / 2 times the squares of V, W.
No library that is kept up has it; PyTorch (the extra "deep") must be installed.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["AutoRec"]

BATCH, RATE = 128, 3e-4  # items; of Adam
VALIDATION = 0.1  # of the ratings
SCALE = (1.0, 5.0)


class AutoRec:
    """I-AutoRec with lambda and the epoch chosen on a tenth of the ratings; ratings are less their mean.

    Parameters
    ----------
    hidden : int
        Width of the narrow layer; 500 in the paper.
    penalties : tuple of float
        Values of lambda to choose from.
    n_iterations, patience : int
        Epochs at most, and without a smaller validation error before a fit ends.

    Attributes
    ----------
    rebuilt_ : (items, users) float64
        Ratings less the mean of all, `mean_`.
    history_ : dict
        "seconds" of the chosen fit, of the wall clock; its epochs are `n_iterations_`.
    """

    def __init__(
        self, hidden: int = 500, penalties: tuple[float, ...] = (10.0, 30.0, 100.0), n_iterations: int = 150,
        patience: int = 10,
    ) -> None:  # fmt: skip
        self.hidden, self.penalties, self.n_iterations, self.patience = hidden, penalties, n_iterations, patience

    def fit(self, X: NDArray, y: NDArray) -> AutoRec:
        """Fit to ratings y (n,) of users and items X (n, 2)."""
        users, items = (np.unique(X[:, column], return_inverse=True) for column in (0, 1))
        self.codes, self.mean_ = (users[0], items[0]), float(np.mean(y))
        order = np.random.default_rng(0).permutation(len(y))
        kept = np.ones(len(y), bool)
        kept[order[: int(VALIDATION * len(y))]] = False
        given, left = ((items[1][rows], users[1][rows], y[rows] - self.mean_) for rows in (kept, ~kept))
        fits = [self._fitted(given, left, penalty) for penalty in self.penalties]
        _, self.rebuilt_, seconds, self.n_iterations_ = min(fits, key=lambda fit: fit[0])
        self.history_ = {"seconds": [seconds]}
        return self

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return ratings (n,); the mean of all for a user or an item that was never seen."""
        at = [np.clip(np.searchsorted(known, X[:, k]), 0, known.size - 1) for k, known in enumerate(self.codes)]
        seen = (self.codes[0][at[0]] == X[:, 0]) & (self.codes[1][at[1]] == X[:, 1])
        return np.clip(self.mean_ + np.where(seen, self.rebuilt_[at[1], at[0]], 0.0), *SCALE)

    def _fitted(self, given: Any, left: Any, penalty: float) -> tuple[float, NDArray, float, int]:
        """Return the least validation RMSE, what was rebuilt there (items, users), seconds and epochs."""
        import torch

        torch.manual_seed(0)
        shape = len(self.codes[1]), len(self.codes[0])
        ratings, mask = torch.zeros(shape), torch.zeros(shape)
        ratings[given[0], given[1]], mask[given[0], given[1]] = torch.tensor(given[2], dtype=torch.float32), 1.0
        layers = torch.nn.Linear(shape[1], self.hidden), torch.nn.Linear(self.hidden, shape[1])
        network = torch.nn.Sequential(layers[0], torch.nn.Sigmoid(), layers[1])
        adam, started = torch.optim.Adam(network.parameters(), lr=RATE), time.perf_counter()
        best, share = (np.inf, np.zeros(shape), 0), BATCH / shape[0]
        for epoch in range(1, self.n_iterations + 1):
            for rows in torch.randperm(shape[0]).split(BATCH):
                squares = sum((layer.weight**2).sum() for layer in layers)
                loss = (mask[rows] * (network(ratings[rows]) - ratings[rows]) ** 2).sum()
                adam.zero_grad()
                (loss + 0.5 * penalty * share * squares).backward()
                adam.step()
            with torch.no_grad():
                rebuilt = network(ratings).numpy()
            error = float(np.sqrt(((rebuilt[left[0], left[1]] - left[2]) ** 2).mean()))
            if error < best[0]:
                best = error, rebuilt, epoch
            elif epoch - best[2] >= self.patience:
                break
        return best[0], best[1], time.perf_counter() - started, epoch
