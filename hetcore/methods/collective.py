r"""MGB: gradient boosting with collective inference, beside the two models it is measured by.

Some instances of a graph have a label, and linked instances are alike. GB predicts from an instance's own features. RGB
adds what the neighbours' labels are (Rf1), and predicts the unlabelled ones together, each from what is predicted for
its neighbours (ICA). MGB boosts: each stage adds trees fitted to the residuals of the stages before, and sees the
neighbours' residuals too (Rf2, Rf3), so that what is still correlated along the edges is what the next stage explains.

| symbol | here |
|---|---|
| m, M | stage; `n_iterations` stages after the first, F_0 |
| F_m(i) | raw prediction of stage m; `predict` is F_M |
| r_m(j) | residual y_j - F_{m-1}(j) |
| Rf1 | what the neighbours' targets are (predicted where unlabelled) |
| Rf2, Rf3 | the neighbours' residuals of stage m, and of stage m - 1 |
| Rf4 | the instance's own F_{m-1} |
| t | `n_rounds` rounds in which labels are hidden and inferred |

`as_printed=True` runs Algorithms 1 to 4 to the letter: one unshrunk tree with median leaves a stage, medians over the
neighbours, zero where there is no known neighbour, three rounds that each hide a random fifth of the labels.

Reference: I. Alodah, J. Neville, "Combining gradient boosting machines with collective inference to predict continuous
values", Statistical Relational AI workshop 2016, arXiv:1607.00110.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from hetcore.data import HetData
from hetcore.events import Callback
from hetcore.methods.base import BoostedEstimator

__all__ = ["GBRegressor", "MGBRegressor", "RGBRegressor"]


class _Collective(BoostedEstimator):
    """What the models share."""

    def fit(
        self,
        data: HetData,
        y: Any = None,
        *,
        graph: Any = None,
        callbacks: Iterable[Callback] = (),
        eval_y: Any = None,
    ) -> Any:
        """Fit to the labelled instances.

        Parameters
        ----------
        data : HetData
        y : (n,) array-like, optional
            Replaces `data.y`; NaN or None is unlabelled.
        graph : str or list of str, optional
            Graphs to use; all by default. GB uses none and measures the residuals' autocorrelation along them.
        callbacks : iterable of callable, default=()
            Each is called after every stage with a `RoundEnd` and may return True to stop.
        eval_y : (n,) array-like, optional
            Labels to score each stage by ("held_out"), never trained on.

        Returns
        -------
        self
        """
        raise NotImplementedError

    def predict(self, data: HetData, y: Any = None) -> NDArray:
        """Predict each instance, as if its own label were unknown, from its features and its neighbours.

        Parameters
        ----------
        data : HetData
            The data of the fit, perhaps changed (`with_edges`, `with_noise`, ...), or others.
        y : (n,) array-like, optional
            The labels that the neighbours show; by default those of the fit, by id. For a what-if question: the fit's
            labels with some hidden. The labels in `data` are not looked at.

        Returns
        -------
        (n,) float64, in the labels' unit
        """
        raise NotImplementedError

    def sweep_trace(self, data: HetData, ids: Any = None, y: Any = None) -> NDArray:
        """Return how predictions moved while they were inferred together.

        Parameters
        ----------
        data : HetData
        ids : list of str, optional
            Instances; all by default.
        y : (n,) array-like, optional
            As in `predict`.

        Returns
        -------
        (1 + sweeps, len(ids)) float32, in the labels' unit
            Row 0 is the start, each further row the state after a sweep; a label that is known stands as it is.
        """
        raise NotImplementedError


class MGBRegressor(RegressorMixin, _Collective):
    """Gradient boosting with collective inference for numbers.

    Each event (`RoundEnd`) is one stage m = 0..M, `total` is M + 1. Its `losses` have "train" (and "held_out" with
    `eval_y`): half the mean squared error of the standardised target. `residual_autocorrelation` is of the held-out
    residuals where there are some, else of the training ones, by graph. Its `detail` has

    - "metric_name": "RMSE"; "metric": {"train": ..., "held_out": ...} in the labels' unit;
    - "stage": m;
    - "moran": {graph: Moran's I of these residuals}, "band": {graph: [low, high]}, where 95% of the I's of shuffled
      residuals lie;
    - "label_moran": {graph: Moran's I of the labels of the same instances};
    - "sweeps": list of the largest change of a prediction in each sweep of collective inference over the unlabelled, in
      the labels' unit (empty for GB);
    - "visits": list of how many instances each sweep visited, the others being skipped as nothing around them changed.
    """

    _task = "regression"

    def __init__(
        self,
        n_iterations: int = 10,
        max_depth: int = 4,
        max_leaf_nodes: int = -1,
        learning_rate: float = 0.1,
        leaf: str = "mean",
        rounds: str = "cover",
        no_neighbor: str = "nan",
        target_transform: str | None = None,
        features: tuple[str, ...] = ("rf1", "rf2", "rf3", "rf4"),
        as_printed: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.n_iterations, self.max_depth, self.max_leaf_nodes = n_iterations, max_depth, max_leaf_nodes
        self.learning_rate, self.leaf, self.rounds, self.no_neighbor = learning_rate, leaf, rounds, no_neighbor
        self.target_transform, self.features = target_transform, features
        self.as_printed, self.random_state = as_printed, random_state


class RGBRegressor(RegressorMixin, _Collective):
    """Gradient boosting on own features and Rf1, predicted by ICA; events as those of `MGBRegressor`."""

    _task = "regression"


class GBRegressor(RegressorMixin, _Collective):
    """Gradient boosting on own features alone; events as those of `MGBRegressor`."""

    _task = "regression"
