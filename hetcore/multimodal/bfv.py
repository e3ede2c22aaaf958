r"""BFV+DNN: boosted feature vectors in the second branch of a network.

1. Boost M stages of trees on the table (CatBoost); F_m(x) holds the N classes' raw scores after stage m.
2. The boosted feature vector of x is [F_1(x), F_2(x) - F_1(x), ..., F_M(x) - F_(M-1)(x)], M N numbers.
3. Train a network with a branch for the unstructured source (DNN1) and one for the boosted feature vector (DNN2); the
   branches meet by concatenation or by product, and DNN3 follows (Figure 1): `after_fusion`.

By default the network learns from cross-fitted vectors (`n_cross_fits`): those of rows that the trees have learned
tell their labels as those of new rows do not, and it came out too sure. The trees' questions stay, and the vectors of
one half of the labelled rows have leaf values of the other (`cross_fitted.py`). Predictions have the trees' own.

`features="raw"` is the baseline without step 1: the second branch gets the table's columns. `features="none"` leaves
the table out.

Departures: `n_cross_fits`, which 0 leaves out, as printed; trees are CatBoost's, oblivious ones, where the paper has
scikit-learn's CARTs; of two classes the vector has both raw scores, 2 M numbers, where a single tree a stage makes M in
the paper (which calls classes M and stages N); any number of unstructured sources, a branch each; an instance that
lacks one has zeros (concatenation) or ones (product) there; without PyTorch one scikit-learn network takes all inputs
side by side.

Reference: A. Trevino Gavito, D. Klabjan, J. Utke, "Gradient-boosted based structured and unstructured learning", 2023
(arXiv 2302.14299), section 3.1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from hetcore import metrics
from hetcore.base import BoostedEstimator, ClassifierScore
from hetcore.data import HetData
from hetcore.data.text import listed
from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.multimodal import deep
from hetcore.multimodal.boosted_vectors import BoostedFeatures, RawFeatures
from hetcore.multimodal.branch_networks import NETWORKS
from hetcore.multimodal.branches import Branch
from hetcore.multimodal.cross_fitted import CrossFitted
from hetcore.multimodal.learners import Inputs, default_learner, scaling
from hetcore.multimodal.parameters import AFTER, CLASS_NAMES, DEVICE, HIDDEN, SOURCE
from hetcore.multimodal.stopping import log_loss
from hetcore.parameters import OneOf, Seed, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import Parts, block, prefixed
from hetcore.targets import Problem

__all__ = ["BoostedFeatureNetworkClassifier"]


@dataclass
class Crossed:
    """What the table's branch gets of labelled instances, rows (m,) of the data, while the network learns."""

    branch: Branch
    rows: NDArray[np.int64]
    fitted: CrossFitted

    def inputs(self, epoch: int) -> NDArray[np.float32]:
        """Return the scaled vectors (m, d) of an epoch."""
        return self.branch.scaled(self.fitted.vectors(epoch))


@dataclass
class Training:
    """The state of a fit: one epoch a round."""

    problem: Problem
    branches: list[Branch]
    network: Any
    inputs: list[tuple[NDArray, NDArray]]
    tree_seconds: float
    crossed: Crossed | None = None
    epochs: int = 0
    seconds: float = 0.0
    scores: NDArray = field(default_factory=lambda: np.zeros(0))

    def round(self) -> None:
        """Pass over the labelled rows once."""
        started = time.perf_counter()
        rows = np.flatnonzero(self.problem.labelled)
        y = self.problem.target[rows].argmax(axis=1)
        inputs = [(x[rows], mask[rows]) for x, mask in self.inputs]
        if self.crossed is not None:
            inputs[-1][0][np.searchsorted(rows, self.crossed.rows)] = self.crossed.inputs(self.epochs)
        self.network.epoch(inputs, y, self.epochs)
        self.epochs += 1
        self.seconds = time.perf_counter() - started
        self.scores = self.network.scores(self.inputs)

    def view(self) -> dict[str, Any]:
        """Return the fields of `RoundEnd`."""
        problem = self.problem
        sets = {"train": (problem.labelled, problem.target), "held_out": (problem.scored, problem.truth)}
        evaluated = {
            name: (self.scores[rows], codes[rows].argmax(axis=1)) for name, (rows, codes) in sets.items() if rows.any()
        }
        labels = {name: (y, scores.argmax(axis=1)) for name, (scores, y) in evaluated.items()}
        detail = {
            "metric_name": "error",
            "metric": {name: metrics.error_rate(*each) for name, each in labels.items()},
            "F1": {name: metrics.macro_f1_of_codes(*each) for name, each in labels.items()},
            "seconds": {"trees": self.tree_seconds, "network": self.seconds},
        }
        losses = {name: log_loss(scores, y) for name, (scores, y) in evaluated.items()}
        return {"losses": losses, "detail": detail}


class NetworkWeights:
    """A network's kind and the arrays that it checks itself."""

    def put(self, name: str, given: Any, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add them to what a file holds."""
        meta["network"], weights = given
        arrays |= prefixed("network", weights)

    def get(self, name: str, meta: dict[str, Any], arrays: dict[str, NDArray], sizes: dict[str, int]) -> Any:
        """Return them."""
        if meta["network"] not in list(NETWORKS):
            raise ModelFileError(f"The model file has a network of kind {meta['network']!r}, which is not known.")
        return meta["network"], block(arrays, "network")


@estimator(MemoryNeed(cell=60, record=400, score=300))
class BoostedFeatureNetworkClassifier(ClassifierScore, BoostedEstimator):
    """A network with a branch for each unstructured source and one for the boosted feature vector of the table.

    Rounds are epochs of the network: an event's `detail` holds "metric_name": "error", "metric", "F1" (macro) and
    "seconds" {"trees": the boosting before the first epoch, "network": the epoch}; losses are mean cross-entropies in
    nats.

    Attributes
    ----------
    classes_ : (K,) object
        Class names, sorted.
    table_ : str or None
        The structured source.
    history_ : polars DataFrame
        One row per epoch.
    n_iterations_ : int
        Epochs done.

    References
    ----------
    Trevino Gavito, Klabjan, Utke, "Gradient-boosted based structured and unstructured learning", arXiv 2302.14299.
    """

    _task = "classification"
    _stored = {
        "_network_state": NetworkWeights(), "classes": CLASS_NAMES, "n_iterations": Whole(1), "table": SOURCE,
        "branches": Parts(Branch),
    }  # fmt: skip

    table: str | None = param(None, SOURCE, "The structured source; by default the first that is a table without text.")
    features: str = param(
        "boosted",
        OneOf("boosted", "raw", "none"),
        "What the table's branch gets: the boosted feature vector; the table's columns (the baseline); no such branch.",
    )
    fusion: str = param(
        "concatenation", OneOf("concatenation", "product"), 'How the branches meet; "product" needs PyTorch.'
    )
    network: str = param(
        "auto",
        OneOf("auto", *NETWORKS),
        "PyTorch's branches, or scikit-learn's one network on all inputs side by side; \"auto\" takes PyTorch if it is "
        "installed.",
    )
    n_stages: int = param(50, Whole(1), "Stages M of the boosting.", Slider("Stages M of BFV", 5, 200, 5))
    max_depth: int = param(4, Whole(1, 16), "Depth of its trees.")
    n_cross_fits: int = param(
        5,
        Whole(0),
        "Dealings of the labelled rows into halves, which epochs take turns at: the network learns from vectors whose "
        "leaves have their values from the other half; 0: from the trees' own, as printed.",
    )
    n_iterations: int = param(20, Whole(1), "Epochs.", Slider("Epochs of BFV and branches", 1, 100, 1))
    hidden: Sequence[int] = param((100, 50), HIDDEN, "Units of the dense layers of a branch.")
    after_fusion: Sequence[int] = param(
        (), AFTER, "Units of the layers after the branches meet, DNN3; none: the last, linear layer follows at once."
    )
    random_state: int | None = param(0, Seed(), "Seed; an int makes a fit repeatable bit for bit.")
    device: str = DEVICE

    def _start(self, problem: Problem) -> Training:
        # one seed for the trees and the network: drawn from the person's, so that None draws anew
        kind, seed = self._kind(), int(np.random.default_rng(self.random_state).integers(1 << 30))
        self.table_ = self._table(problem.data)
        recorded = [name for name, source in problem.data.sources.items() if source.n_rows]
        others = [name for name in recorded if name != self._structured(problem.data)]
        if not others and self.features == "none":
            raise DataError("There is no source beside the table: give one, or features='boosted'.")
        started = time.perf_counter()
        branches, crossed = [self._branch(problem.data, name, kind) for name in others], None
        if self.features != "none":
            branches.append(self._table_branch(problem, seed))
        if self.features == "boosted" and self.n_cross_fits:
            crossed = self._crossed(problem, branches[-1], seed)
        # trees are timed apart from the network, for the page compares the two
        seconds = time.perf_counter() - started
        shapes = [branch.shape for branch in branches]
        further = {"after": tuple(self.after_fusion)} | ({"device": self.device} if kind == "torch" else {})
        network = NETWORKS[kind](
            shapes, problem.scale.n_outputs, tuple(self.hidden), self.fusion, seed, **further
        )
        inputs = [branch.read(problem.data) for branch in branches]
        return Training(problem, branches, network, inputs, seconds, crossed=crossed)

    def _kind(self) -> str:
        """Return the kind of network, asked once and before it is made: what a branch reads depends on it."""
        kind = ("torch" if deep.has_torch() else "scikit-learn") if self.network == "auto" else self.network
        if kind == "torch":
            deep.check_device(self.device)
            return kind
        for name, without in (("fusion", "concatenation"), ("device", "cpu")):
            if (given := getattr(self, name)) != without:
                rule = f"needs the branches of PyTorch: run `{deep.HOW}`, or use {name}={without!r}"
                raise ParameterError(f"{name}={given!r} {rule}.")
        return kind

    def _structured(self, data: HetData) -> str:
        """Return the name of the structured source."""
        if self.table is not None:
            if self.table not in data.sources or data.sources[self.table].array is not None:
                raise ParameterError(
                    f"table={self.table!r} is no table of the data: give one of {listed(data.sources)}."
                )
            return self.table
        tables = [name for name, source in data.sources.items() if source.n_rows and default_learner(source) == "tree"]
        if not tables:
            raise DataError("None of the sources is a table without text: name the structured one with table=....")
        return tables[0]

    def _table(self, data: HetData) -> str | None:
        return self._structured(data) if self.features != "none" else None

    def _branch(self, data: HetData, name: str, kind: str) -> Branch:
        source = data.sources[name]
        images = kind == "torch" and source.array is not None and source.array.ndim in (3, 4)
        return Branch(name, inputs=Inputs.of(source, images))

    def _table_branch(self, problem: Problem, seed: int) -> Branch:
        source, rows = problem.data.sources[self.table_], problem.data.rows(self.table_)
        # what the table has of labelled rows: others can't be learned from
        known = problem.labelled[rows]
        y = problem.target[rows[known]].argmax(axis=1)
        # CatBoost makes no score for a class that it has not seen
        if len(np.unique(y)) < problem.scale.n_outputs:
            raise DataError(f"Not every class has a labelled instance in the table {self.table_!r}: label some there.")
        if self.features == "boosted":
            made = BoostedFeatures.fit(
                source, np.flatnonzero(known), y, n_stages=self.n_stages, max_depth=self.max_depth, seed=seed
            )
        else:
            made = RawFeatures.fit(source)
        # scaled by the labelled rows, as the table's features were learned from them
        return Branch(self.table_, made, None, *scaling(made.transform(source)[known], together=False))

    def _crossed(self, problem: Problem, branch: Branch, seed: int) -> Crossed:
        rows = problem.data.rows(branch.name)
        known = np.flatnonzero(problem.labelled[rows])
        y, source = problem.target[rows[known]].argmax(axis=1), problem.data.sources[branch.name]
        found = branch.features.cross_fitted(source, known, y, self.n_cross_fits, seed)
        return Crossed(branch, rows[known], found)

    def _view(self, state: Training) -> dict[str, Any]:
        return state.view()

    def _finish(self, state: Training) -> None:
        self.classes_, self.branches_ = state.problem.scale.classes, state.branches
        self.network_ = state.network

    def decision_function(self, data: HetData) -> NDArray[np.float64]:
        """Return the raw score of each class in the order of `classes_`, (n, K); absent sources take no part.

        Raises
        ------
        DataError
            If `data` is no HetData.
        """
        self._check_predictable(data)
        return self.network_.scores([branch.read(data) for branch in self.branches_])

    def predict(self, data: HetData) -> NDArray[np.object_]:
        """Predict each instance from the sources that it has, class names (n,) aligned with `data.ids`."""
        best = self.decision_function(data).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, data: HetData) -> NDArray[np.float64]:
        """Return the probability in [0, 1] of each class in the order of `classes_`, (n, K)."""
        return softmax(self.decision_function(data), axis=1)

    @property
    def _network_state(self) -> tuple[str, dict[str, NDArray]]:
        return self.network_.kind, self.network_.to_arrays()

    @_network_state.setter
    def _network_state(self, given: tuple[str, dict[str, NDArray]]) -> None:
        # branches come after it in the file, and say its shape
        self.network_ = given

    def _restored(self, sizes: dict[str, int]) -> str:
        (kind, weights), shapes = self.network_, [branch.shape for branch in self.branches_]
        self.network_ = NETWORKS[kind](
            shapes, self.classes_.size, tuple(self.hidden), self.fusion, 0, after=tuple(self.after_fusion)
        )
        self.network_.restore(weights)
        return ""
