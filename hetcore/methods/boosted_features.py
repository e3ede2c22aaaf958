"""BFV+DNN: boosted feature vectors in the second branch of a network (being built: parameters and events stand)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import ClassifierMixin

from hetcore.methods.base import BoostedEstimator

__all__ = ["BoostedFeatureNetworkClassifier"]


class BoostedFeatureNetworkClassifier(ClassifierMixin, BoostedEstimator):
    """A network with two branches: one for the unstructured source, one for the boosted feature vector of the table.

    The boosted feature vector holds what each of the M stages of gradient boosting on the table adds to the raw score
    of each of the N classes. Rounds are epochs of the network: an event's `detail` holds "metric" (error rate), "F1"
    (macro) and "seconds" {"trees", "network"}; losses are mean cross-entropies.

    Parameters
    ----------
    table : str, optional
        The structured source; by default the first that is a table without text.
    features : {"boosted", "raw", "none"}, default="boosted"
        What the second branch gets: the boosted feature vector; the table's columns (the baseline); nothing.
    fusion : {"concatenation", "product"}, default="concatenation"
        How the branches meet.
    network : {"auto", "torch", "scikit-learn"}, default="auto"
        PyTorch's two branches, or scikit-learn's one network on all inputs side by side; "auto" takes PyTorch if it is
        installed.
    n_stages : int, default=50
        Stages M of the boosting.
    max_depth : int, default=4
        Depth of its trees.
    n_iterations : int, default=20
        Epochs.
    hidden : sequence of int, default=(100,50)
        Units of the layers of a branch.
    random_state : int or None, default=0
        Seed.
    """

    _task = "classification"

    def __init__(
        self,
        table: str | None = None,
        features: str = "boosted",
        fusion: str = "concatenation",
        network: str = "auto",
        n_stages: int = 50,
        max_depth: int = 4,
        n_iterations: int = 20,
        hidden: Sequence[int] = (100, 50),
        random_state: int | None = 0,
    ) -> None:
        self.table, self.features, self.fusion, self.network = table, features, fusion, network
        self.n_stages, self.max_depth, self.n_iterations = n_stages, max_depth, n_iterations
        self.hidden, self.random_state = hidden, random_state

    def _start(self, problem: Any) -> Any:
        raise NotImplementedError
