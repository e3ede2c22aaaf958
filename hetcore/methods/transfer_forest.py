"""Transfer Learning Decision Forest (Goussies, Ubalde, Mejail 2014): splits that serve target and sources at once."""

from __future__ import annotations

from typing import Any

from hetcore.methods.transfer_frame import TransferEstimator, is_finite, is_whole

__all__ = ["TransferForestClassifier"]


class TransferForestClassifier(TransferEstimator):
    """Transfer Learning Decision Forest: the gain of a split is (1 - gamma) the target's + gamma the sources'.

    Parameters
    ----------
    gamma : float, default=0.8
        Share in [0, 1] of the sources in the gain of a split.
    n_iterations : int, default=3
        Trees; a round is a tree.
    max_depth : int, default=10
        Depth of a tree.
    domain_names : list of str, optional
        Name of source 1, 2, ...; by default "1", "2", ....
    random_state : int or None, default=0
        Seed of the columns that a node looks at.

    Notes
    -----
    A `RoundEnd` comes after every tree: `source_weights` are the shares of all split gain so far that are owed to each
    source (with "target_mass" they sum to 1); detail: "metric_name" = "error", "metric" = {"train", "held_out"},
    "propagated": share of the leaves that had no target row and got their labels from other leaves.
    """

    _allows_missing = True
    _rules = (
        ("gamma", lambda v: is_finite(v) and 0 <= v <= 1, "in [0, 1]: 0 looks at the target only"),
        ("n_iterations", lambda v: is_whole(v) and v >= 1, "a whole number, at least 1"),
        ("max_depth", lambda v: is_whole(v) and 1 <= v <= 30, "a whole number in [1, 30]"),
    )

    def __init__(
        self,
        *,
        gamma: float = 0.8,
        n_iterations: int = 3,
        max_depth: int = 10,
        domain_names: list[str] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.gamma, self.n_iterations, self.max_depth = gamma, n_iterations, max_depth
        self.domain_names, self.random_state = domain_names, random_state

    def _start(self, problem: Any) -> Any:
        raise NotImplementedError
