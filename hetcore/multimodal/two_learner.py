r"""2WL and 2WL2O: boosting with a weak learner for each modality.

The same instances have a table and, beside it, images, text or a second table. Each source is a modality with its own
family of weak learners: trees with a vector in each leaf for tables, a network for images, arrays and text. A round
fits every learner to the negative gradient of the multiclass exponential risk and adds each with a step of its own.

| symbol | here |
|---|---|
| f, K | raw scores; number of classes |
| y^k, v_k | the k-th unit vector; y_i - y^k |
| g, h | what the learners of the modalities say; any number of them |
| eps, delta | their steps: `detail["steps"]` |
| w, w~, w^ | (1), (5), (6): `hetcore.multimodal.risk` |
| N, N2 | `n_iterations`, `inner_iterations` |

Algorithm, first order (2WL)

1. f <- the constant of least risk.
2. N times: w_i = 1/2 sum_k v_k exp(-<f, v_k> / 2) for every labelled row (1);
3. fit g to w from one modality, h from the other, ..., each by least squares;
4. (eps, delta, ...) <- least risk of f + eps g + delta h + ...; f <- f + eps g + delta h + ....

Second order (2WL2O): step 3 runs N2 times, each learner fitted to its target (7), (8), which holds the steps so far;
the learners and steps of least risk are kept.

Departures
----------
- Differences f_y - f_k and a shift by the largest exponent: nothing overflows. The constant term k = y_i is left out.
- The risk is convex in the steps: `step="newton"` finds them exactly. "bayes", "grid" and "fixed" are the paper's.
- f starts at the log of the class shares, which is the constant of least risk, not at zero.
- Any number of modalities; an instance that lacks one gets nothing from it, neither in training nor in prediction.
- `hessian="printed"` is our reading of the appendix, whose two rewritings of the quadratic form are no identities
  (see `two_learner_loss`); "exact" keeps the quadratic form.
- `learning_rate` shrinks the steps; `subsample` below 1 fits learners to a share of the rows and chooses the steps on
  the rest, so that a network that learns its rows by heart is not trusted for it. Both are 1 in the paper.

Reference: A. Trevino Gavito, D. Klabjan, J. Utke, "Gradient-boosted based structured and unstructured learning", 2023
(arXiv 2302.14299).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hetcore.base import BoostedEstimator
from hetcore.data import HetData, Source
from hetcore.data.text import listed, quoted
from hetcore.errors import DataError, ParameterError
from hetcore.multimodal.learners import MODALITIES, Dense, Trees, default_learner
from hetcore.multimodal.line_search import STEPS
from hetcore.multimodal.networks import NetworkLearner
from hetcore.multimodal.parameters import CLASS_NAMES, HIDDEN, LEARNERS, SOURCE
from hetcore.multimodal.rounds import TwoLearners
from hetcore.parameters import Domain, Interval, OneOf, Seed, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import SHARES, Array, Parts, Value
from hetcore.targets import Problem
from hetcore.trees import TreeParams

__all__ = ["OneWeakLearnerClassifier", "TwoWeakLearnerClassifier"]


@estimator(MemoryNeed(cell=60, record=400, score=300))
class TwoWeakLearnerClassifier(ClassifierMixin, BoostedEstimator):
    """Boosting with a weak learner for each modality: 2WL (order 1) and 2WL2O (order 2).

    Each source of the data is a modality. An event's `detail` holds, beside "metric" (error rate) and "F1" (macro) by
    set of rows: "steps" {source: step, before shrinkage; they grow as the direction w shrinks}, "moved" {source: root
    mean square of what it added to the scores}, "seconds" {source: time its learner took}, "step_seconds", and
    "per_source" {source: error of its part alone, on held-out rows where there are some}. Losses are mean risks.

    Attributes
    ----------
    source_weights_ : dict of str to float
        Weights in [0, 1], summing to 1: a source's share in the fall of the logarithm of the risk that steps are chosen
        by, which is its slope integrated along every step.
    classes_ : (K,) object
        Class names, sorted.
    history_ : polars DataFrame
        One row per round: "iteration", "seconds", "loss:SET", "metric:SET", "weight:SOURCE", "step:SOURCE",
        "per_source:SOURCE".
    n_iterations_ : int
        Rounds done.

    References
    ----------
    Trevino Gavito, Klabjan, Utke, "Gradient-boosted based structured and unstructured learning", arXiv 2302.14299.
    """

    _task = "classification"
    _stored = {
        "prior": Array("K"), "classes": CLASS_NAMES, "modalities": Parts(MODALITIES, "K", named="list"),
        "n_iterations": Whole(1), "source_weights": Value(SHARES, key="weights"),
    }  # fmt: skip

    order: int = param(
        1, replace(OneOf(1, 2), words="1 (2WL) or 2 (2WL2O)"), "First order (2WL), or second with inner rounds (2WL2O)."
    )
    step: str = param(
        "newton",
        OneOf(*STEPS),
        "How the steps are chosen: exactly; by 10 random points and 20 of a Gaussian process in [0, 4]; by a grid of 9 "
        "values there; 0.1.",
    )
    hessian: str = param(
        "printed", OneOf("printed", "exact"), "The form of order 2: as we read the paper, or the quadratic form."
    )
    n_iterations: int = param(30, Whole(1), "Rounds N.", Slider("Rounds N", 1, 100, 1))
    inner_iterations: int = param(
        3, Whole(1), "Rounds N2 of the inner loop, for order 2.", Slider("Inner rounds N2", 1, 10, 1)
    )
    learners: Mapping[str, Any] | None = param(
        None,
        Domain(lambda v: v is None or isinstance(v, Mapping), "a dict of source to learner, or None"),
        'By source: "tree", "network", "cnn" (needs PyTorch), or anything with fit(X, W) and predict(X), W being '
        "(m, K); it gets encoded, standardised columns, or images (m, height, width, channels) if it has "
        "`takes_images = True`. "
        "By default a tree for a table, a network for an array and for a table with text.",
    )
    learning_rate: float = param(
        0.5, Interval(0, 1, "(]"), "Shrinkage of the steps; 1 takes them whole.", Slider("Shrinkage", 0.05, 1.0, 0.05)
    )
    subsample: float = param(
        0.8,
        Interval(0, 1, "(]", "below 1, the rows left out choose the steps"),
        "Share of the labelled rows that a round's learners are fitted to; below 1 the rest choose the steps.",
        Slider("Rows a learner sees", 0.5, 1.0, 0.05),
    )
    max_depth: int = param(
        5, Whole(1, also={-1: "no limit"}), "Depth of the trees, in splits.", Slider("Depth", 1, 12, 1)
    )
    min_samples_leaf: int = param(20, Whole(1), "Fewest rows of a leaf.", Slider("Rows of a leaf", 1, 100, 1))
    hidden: Sequence[int] = param((100, 50), HIDDEN, "Units of the network's hidden layers.")
    epochs: int = param(
        10, Whole(1), "Passes over the rows in which a network is fitted.", Slider("Epochs of a learner", 1, 50, 1)
    )
    random_state: int | None = param(0, Seed(), "Seed; an int makes a fit repeatable bit for bit.")

    def _start(self, problem: Problem) -> TwoLearners:
        for name in self.learners or {}:
            if name not in problem.data.sources:
                known = listed(problem.data.sources)
                raise ParameterError(f"learners names the source {quoted(name)}: name one of {known}.")
        problem = self._with_sources(problem)
        seeds = np.random.default_rng(self.random_state)
        seed = int(seeds.integers(1 << 30))
        sources = problem.data.sources
        K = problem.scale.n_outputs
        modalities = {name: self._modality(name, source, K, seed) for name, source in sources.items()}
        _check_covered(problem)
        params = self.get_params(deep=False)
        return TwoLearners(problem, params, modalities, seeds, problem.scale.prior)

    def _with_sources(self, problem: Problem) -> Problem:
        return problem

    def _modality(self, name: str, source: Source, n_outputs: int, seed: int) -> Trees | Dense:
        learner = (self.learners or {}).get(name, default_learner(source))
        if isinstance(learner, str) and learner not in LEARNERS:
            raise ParameterError(f"The learner {learner!r} of {quoted(name)} must be one of {', '.join(LEARNERS)}.")
        if learner == "tree":
            return Trees.of(source, TreeParams(self.max_depth, -1, self.min_samples_leaf), n_outputs)
        if learner == "network":
            learner = NetworkLearner(self.hidden, self.epochs, seed)
        elif learner == "cnn":
            learner = MODALITIES["cnn"].learner_class()(epochs=self.epochs, random_state=seed)
        return Dense.of(source, learner, n_outputs)

    def _view(self, state: TwoLearners) -> dict[str, Any]:
        return state.view()

    def _finish(self, state: TwoLearners) -> None:
        self.source_weights_ = state.weights()
        self.classes_, self.prior_ = state.problem.scale.classes, state.prior
        self.modalities_ = state.modalities

    def decision_function(self, data: HetData) -> NDArray[np.float64]:
        """Return the raw score f of each class in the order of `classes_`, (n, K)."""
        return self.prior_ + self.parts(data).sum(axis=1)

    def parts(self, data: HetData) -> NDArray[np.float64]:
        """Return what each source adds to the raw score of each class, (n, p, K), in the order of `source_weights_`.

        An instance gets nothing from a source that has no record of it, or that `data` lacks altogether.

        Raises
        ------
        DataError
            If `data` is no HetData.
        """
        check_is_fitted(self)
        if not isinstance(data, HetData):
            raise DataError(f"A prediction takes a HetData, not {type(data).__name__}: build one with hetcore.HetData.")
        parts = np.zeros((data.n, len(self.modalities_), len(self.classes_)))
        for j, (name, modality) in enumerate(self.modalities_.items()):
            if name in data.sources:
                parts[data.rows(name), j] = modality.scores(data.sources[name])
        return parts

    def contributions(self, data: HetData, per_class: bool = False) -> NDArray[np.float64]:
        """Return what each source adds to each prediction.

        Parameters
        ----------
        data : HetData
        per_class : bool, default=False
            Whether to return every class's score (n, p, K); else that of the predicted class less the mean over the
            classes, (n, p).
        """
        parts = self.parts(data)
        if per_class:
            return parts
        best = (self.prior_ + parts.sum(axis=1)).argmax(axis=1)
        return parts[np.arange(data.n), :, best] - parts.mean(axis=2)

    def predict(self, data: HetData) -> NDArray[np.object_]:
        """Predict each instance from the sources that it has, class names (n,) aligned with `data.ids`."""
        return self.classes_[self.decision_function(data).argmax(axis=1)]

    def predict_proba(self, data: HetData) -> NDArray[np.float64]:
        """Return the probability in [0, 1] of each class in the order of `classes_`, (n, K)."""
        return softmax(self.decision_function(data), axis=1)

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        return {"K": len(meta["classes"])}

    def _restored(self, sizes: dict[str, int]) -> str:
        same = list(self.source_weights_) == list(self.modalities_)
        return "" if same else "The weights of the model file are not those of its sources"


@estimator(MemoryNeed(cell=60, record=400, score=300))
class OneWeakLearnerClassifier(TwoWeakLearnerClassifier, first=("source",)):
    """1WL: the same boosting with one modality and its learner alone; the special case of one source."""

    source: str | None = param(None, SOURCE, "The source to learn from; the first of the data by default.")

    def _with_sources(self, problem: Problem) -> Problem:
        names = problem.data.source_names
        if self.source is not None and self.source not in names:
            raise ParameterError(f"source={self.source!r} is no source of the data: give one of {listed(names)}.")
        data = problem.data.select(sources=[self.source or names[0]])
        return Problem(data, *(getattr(problem, name) for name in ("scale", "target", "labelled", "scored", "truth")))


def _check_covered(problem: Problem) -> None:
    for name in problem.data.sources:
        if not problem.labelled[problem.data.rows(name)].any():
            raise DataError(f"No labelled instance is in the source {quoted(name)}: leave it out, or label some.")
