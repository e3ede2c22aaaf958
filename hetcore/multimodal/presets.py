"""Tables 1 and 2 of the paper: the settings of its five data sets, as far as the classes here have them.

    hc.TwoWeakLearnerClassifier(**presets.two_weak_learners("CI-A", order=2))
    hc.BoostedFeatureNetworkClassifier(**presets.boosted_features("CI-B"))

What is not here: the pretrained VGG16 and Resnet50 of CT, MI and RW ("cnn", a small one, stands in), RMSPROP and SGD
(the networks here use Adam), the batch sizes, and layers of DNN1 that differ from DNN2's: both branches have DNN2's, so
that a product can be taken. N and N1 are printed as the rounds until convergence.

Reference: A. Trevino Gavito, D. Klabjan, J. Utke, arXiv 2302.14299, Tables 1 and 2.
"""

from __future__ import annotations

from typing import Any

from hetcore.errors import ParameterError

__all__ = ["TABLE_1", "TABLE_2", "boosted_features", "two_weak_learners"]

TABLE_1: dict[str, dict[str, Any]] = {
    "CI-A": {"hidden": (256, 32), "after_fusion": (256, 32), "fusion": "product", "n_stages": 2000},
    "CI-B": {"hidden": (100, 50), "after_fusion": (25,), "fusion": "concatenation", "n_stages": 1500},
    "CT": {"hidden": (1024, 200), "after_fusion": (64,), "fusion": "concatenation", "n_stages": 3000},
    "MI": {"hidden": (256,), "after_fusion": (128,), "fusion": "concatenation", "n_stages": 3000},
    "RW": {"hidden": (512,), "after_fusion": (16,), "fusion": "product", "n_stages": 2000},
}
"""BFV+DNN: DNN2, DNN3, how the branches meet, and the trees of the boosted feature vector."""

TABLE_2: dict[str, dict[str, Any]] = {
    "CI-A": {"hidden": (100, 50), "max_depth": 3, "N": 2000, "N1": 2100, "N2": 1},
    "CI-B": {"hidden": (100, 50), "max_depth": 3, "N": 3500, "N1": 750, "N2": 1},
    "CT": {"max_depth": 6, "N": 135, "N1": 25, "N2": 1},
    "MI": {"max_depth": 3, "N": 200, "N1": 10, "N2": 1},
    "RW": {"max_depth": 5, "N": 20, "N1": 70, "N2": 1},
}
"""2WL and 2WL2O: the network, the trees' depth, and the rounds."""


def two_weak_learners(name: str, order: int = 1, **changed: Any) -> dict[str, Any]:
    """Return the parameters of 2WL (order 1) or 2WL2O (order 2) as printed on one of the paper's data sets.

    Parameters
    ----------
    name : str
        "CI-A", "CI-B", "CT", "MI" or "RW".
    order : int, default=1
    **changed
        Parameters with another value, such as fewer rounds.

    Raises
    ------
    ParameterError
        If the paper has no such data set.
    """
    printed = dict(_row(TABLE_2, name))
    first, second, inner = printed.pop("N"), printed.pop("N1"), printed.pop("N2")
    rounds = {"n_iterations": first} if order == 1 else {"n_iterations": second, "inner_iterations": inner}
    return {"as_printed": True, "order": order} | printed | rounds | changed


def boosted_features(name: str, **changed: Any) -> dict[str, Any]:
    """Return the parameters of BFV+DNN on one of the paper's data sets; see `two_weak_learners`."""
    return dict(_row(TABLE_1, name)) | {"n_cross_fits": 0} | changed


def _row(table: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in table:
        raise ParameterError(f"name={name!r} is none of the paper's data sets: give one of {', '.join(table)}.")
    return table[name]
