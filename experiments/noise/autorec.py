"""I-AutoRec (Sedhain, Menon, Sanner, Xie 2015), the paper's neural rival: an item's ratings through a narrow layer.

r(i), the ratings of item i by all users with 0 for those not seen, is rebuilt as V s(W r(i) + m) + b, s the logistic
function. The loss is the sum of squared errors over ratings that were seen, and lambda / 2 times the squares of V, W.
PyTorch (the extra "deep") must be installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.noise.recommenders import Ratings, Recommender

__all__ = ["AutoRec"]

BATCH, RATE = 128, 3e-4  # items; of Adam


class AutoRec(Recommender):
    """I-AutoRec, its lambda and epoch chosen; ratings are less their mean, and 500 units wide as in the paper."""

    settings = {"penalty": [30.0, 10.0, 100.0], "hidden": [500]}
    n_iterations, patience = 150, 10

    def _passes(self, ratings: Ratings, setting: Mapping[str, Any], n: int) -> Iterator[NDArray]:
        import torch

        torch.manual_seed(0)
        shape = ratings.shape[::-1]
        given, mask = torch.zeros(shape), torch.zeros(shape)
        given[ratings.items, ratings.users] = torch.tensor(ratings.values - self.mean_, dtype=torch.float32)
        mask[ratings.items, ratings.users] = 1.0
        layers = torch.nn.Linear(shape[1], setting["hidden"]), torch.nn.Linear(setting["hidden"], shape[1])
        network = torch.nn.Sequential(layers[0], torch.nn.Sigmoid(), layers[1])
        adam, share = torch.optim.Adam(network.parameters(), lr=RATE), BATCH / shape[0]
        for _ in range(n):
            for rows in torch.randperm(shape[0]).split(BATCH):
                squares = sum((layer.weight**2).sum() for layer in layers)
                loss = (mask[rows] * (network(given[rows]) - given[rows]) ** 2).sum()
                adam.zero_grad()
                (loss + 0.5 * setting["penalty"] * share * squares).backward()
                adam.step()
            with torch.no_grad():
                yield network(given).numpy()

    def _predicted(self, learned: NDArray, users: NDArray, items: NDArray) -> NDArray[np.float64]:
        return self.mean_ + learned[items, users].astype(np.float64)
