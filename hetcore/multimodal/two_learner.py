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
| w, w~, w^ | (1), (5), and below (5): `hetcore.multimodal.risk` |
| N, N2 | `n_iterations`, `inner_iterations` |

Algorithm 1, first order (2WL)

1. f <- 0.
2. N times: w_i = 1/2 sum_k v_k exp(-<f, v_k> / 2) for every labelled row (1);
3. fit g to w from one modality, h from the other, ..., each by least squares (2), (3);
4. (eps, delta, ...) <- least risk of f + eps g + delta h + ... (4); f <- f + eps g + delta h + ....

Algorithm 2, second order (2WL2O): steps 3 and 4 run for j = 0 .. N2, from eps = delta = 0.1, each learner fitted to its
target (7), (8), which holds the steps eps_j, delta_j; the j of least risk R_j is kept.

`as_printed=True` does that and nothing else: no shrinkage, all rows, Bayesian optimisation ("fixed" is 2WL_Fix). What
the paper leaves open is named here: the box of that search is [0, `largest_step`], for the text calls eps and delta
learning rates and prints no box; f^0 .. f^N are N rounds (the loop is printed as t = 0 .. N, the result as f^N); the
inner loop is run as printed, N2 + 1 times (the text counts N2 networks a round); trees of our own, which cut a column
of more than 128 distinct values at the borders of 128 quantile bins, and a network as scikit-learn's stand for the
paper's.

Departures of the default (each a parameter, to be had alone; `parameters.PRINTED` holds what the paper has)
----------
- Differences f_y - f_k and a shift by the largest exponent: nothing overflows. The constant term k = y_i is left out.
  Both are in the printed steps too: they change no number but by rounding.
- The risk is convex in the steps: `step="newton"` finds them exactly. "bayes", "grid" and "fixed" are the paper's.
- `first_scores="shares"`: f starts at the log of the class shares, the constant of least risk, not at zero.
- Any number of modalities; an instance that lacks one gets nothing from it, neither in training nor in prediction.
- `hessian="exact"` keeps the quadratic form, where the paper's two rewritings are no identities (`risk`).
- `kept_step="chosen"`: order 2 goes on with the steps at which its risk R_j was least, not with those before them.
- `learning_rate` shrinks the steps; `subsample` below 1 fits learners to a share of the rows and chooses the steps on
  the rest, so that a network that learns its rows by heart is not trusted for it. Both are 1 in the paper.
- `validation_fraction`: rows that nothing is fitted to end the training and weigh the modalities (`stopping`).
- `decision_scoring="f1_macro"`: those rows choose a weight for each class before one is named (`decisions`).
- `learners=None`: the learner of a modality is the one that does best on left-out rows, boosted alone (`choosing`).
- `refit`: of fewer than 1,000 labels all are learned from, for as many rounds as three draws of those rows say; the
  penalty of a linear learner is that of least leave-one-out error, and a network is one of random features.
- `min_samples_leaf`: leaves of 20 rows, or a 15th of the labels; in the paper they are of any size.
- `scale_targets`: networks are fitted to targets of unit size.

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

from hetcore.base import BoostedEstimator, ClassifierScore
from hetcore.data import HetData
from hetcore.data.columns import check_flags
from hetcore.data.text import listed, quoted
from hetcore.errors import DataError, ParameterError
from hetcore.multimodal.choosing import candidates, compared, is_few
from hetcore.multimodal.decisions import class_weights
from hetcore.multimodal.learners import MODALITIES, Dense, Trees, default_learner
from hetcore.multimodal.line_search import STEPS
from hetcore.multimodal.networks import LinearLearner, NetworkLearner, RandomFeatureLearner
from hetcore.multimodal.parameters import CLASS_NAMES, DEVICE, HIDDEN, LEARNERS, PRINTED, SOURCE, as_printed
from hetcore.multimodal.risk import direction
from hetcore.multimodal.rounds import TwoLearners
from hetcore.parameters import Domain, Flag, Interval, OneOf, Seed, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import SHARES, Array, Parts, Value
from hetcore.targets import Problem
from hetcore.trees import TreeParams

__all__ = ["OneWeakLearnerClassifier", "TwoWeakLearnerClassifier"]

SLOW_RATE, FAST_RATE = 0.1, 0.3
LEAVES, LEAST_LEAF = 15, 2
DRAWS, MOST_INSTANCES = 3, 20_000  # of validation rows, where labels are few; every learner is asked about all


@estimator(MemoryNeed(cell=60, record=400, score=300))
class TwoWeakLearnerClassifier(ClassifierScore, BoostedEstimator):
    """Boosting with a weak learner for each modality: 2WL (order 1) and 2WL2O (order 2).

    Each source of the data is a modality. An event's `detail` holds, beside "metric_name": "error", "metric" and "F1"
    (macro) by set of rows: "steps" {source: step, before shrinkage; they grow as the direction w shrinks}, "moved"
    {source: root mean square of what it added to the scores}, "seconds" {source: time its learner took},
    "step_seconds", "kept_round" (the best so far by validation rows, the last without any), "ended" (whether that ends
    the training), and "per_source" {source: error of its part alone, on held-out rows where there are some}. Losses are
    mean risks.

    Attributes
    ----------
    source_weights_ : dict of str to float
        Weights in [0, 1], summing to 1: a source's share in the fall of the validation rows' log loss from the class
        shares to the model, which is its slope integrated on the way; without validation rows, and in each event, in
        the fall of the logarithm of the risk that steps are chosen by, along every step.
    classes_ : (K,) object
        Class names, sorted.
    history_ : polars DataFrame
        One row per round: "iteration", "seconds", "loss:SET", "metric:SET", "weight:SOURCE", "step:SOURCE",
        "per_source:SOURCE". Of each round's own scores: the model, whose parts are weighed at the end and, by `refit`,
        learned from all labels, errs otherwise; `score` says how.
    n_iterations_ : int
        Rounds done; with validation rows the model is that after `kept_round_`.
    kept_round_ : int
        The round of least validation loss, the last one without validation rows.
    validation_rows_ : (v,) int64
        Rows of the data that ended the training. Where `refit` has not learned from them too, nothing was fitted to
        them, and a threshold can be chosen on them. Not kept in a file.
    part_weights_ : dict of str to float
        What each modality counts in the model: 1 without validation rows.
    class_weights_ : (K,) float64 or None
        What the probabilities are multiplied by before a class is named; None unless `decision_scoring` asks for them.
    learners_ : dict of str to object
        The learner of each source.
    comparison_ : dict of str to dict
        Left-out log loss of each kind of learner by source, in nats, where the learner was not given. Like
        `kept_round_`, `part_weights_` and `learners_` not kept in a file.

    References
    ----------
    Trevino Gavito, Klabjan, Utke, "Gradient-boosted based structured and unstructured learning", arXiv 2302.14299.
    """

    _task = "classification"
    _stored = {
        "prior": Array("K"), "classes": CLASS_NAMES, "modalities": Parts(MODALITIES, "K", named="list"),
        "n_iterations": Whole(1), "source_weights": Value(SHARES, key="weights"),
        "class_weights": Array("K", low=0.0, optional=True),
    }  # fmt: skip

    order: int = param(
        1, replace(OneOf(1, 2), words="1 (2WL) or 2 (2WL2O)"), "First order (2WL), or second with inner rounds (2WL2O)."
    )
    as_printed: bool = param(False, Flag(), "Run the paper's Algorithm 1 or 2 to the letter; see its module.")
    step: str = param(
        "newton",
        OneOf(*STEPS),
        "How the steps are chosen: exactly; by 10 random points and 20 of a Gaussian process; by a grid of 9 values; "
        '0.1. With `as_printed`, "newton" is "bayes".',
    )
    largest_step: float = param(
        1.0, Interval(0, 1e3, "(]"), "Steps by Bayesian optimisation and by grid are in [0, largest_step]."
    )
    hessian: str = param(
        "printed", OneOf("printed", "exact"), "The form of order 2: the paper's (7), (8), or the quadratic form."
    )
    kept_step: str = param(
        "chosen",
        OneOf("chosen", "fitted"),
        "Order 2 goes on with the steps at which its risk was least, or with those that its learners were fitted with.",
    )
    first_scores: str = param(
        "shares", OneOf("shares", "zero"), "Where f starts: at the log of the class shares, or at 0."
    )
    n_iterations: int = param(300, Whole(1), "Rounds N at most.", Slider("Rounds N", 1, 500, 1))
    inner_iterations: int = param(
        1, Whole(0), "N2 of the inner loop j = 0 .. N2 of order 2.", Slider("Inner rounds N2", 0, 10, 1)
    )
    validation_fraction: float = param(
        0.15, Interval(0, 0.5), "Share of the labelled rows that nothing is fitted to: they end the training; 0: none."
    )
    refit: bool = param(
        True,
        Flag(),
        "Below 1,000 labels, whether what is kept has learned from the rows of `validation_fraction` too: beside the "
        'rounds that these end and weigh, the same ones are done with all labels. Not with "cnn" or a learner of your '
        "own, which may take long.",
    )
    n_iter_no_change: int = param(20, Whole(1), "Rounds without a lower validation loss that end the training.")
    decision_scoring: str | None = param(
        None,
        OneOf("f1_macro", None),
        "What the named class is best for: None names the most probable one; \"f1_macro\" multiplies the probabilities "
        "by a weight a class, chosen on the rows of `validation_fraction` (1 without any).",
    )
    learners: Mapping[str, Any] | None = param(
        None,
        Domain(lambda v: v is None or isinstance(v, Mapping), "a dict of source to learner, or None"),
        'By source: "tree", "linear", "network", "random_features", "cnn" (needs PyTorch), or anything with fit(X, W) '
        "and predict(X), W being (m, K); it gets encoded, standardised columns, or images (m, height, width, channels) "
        "if it has `takes_images = True`. By default the one that does best on left-out rows; with `as_printed`, trees "
        "for a table, a network for an array and for a table with text.",
    )
    scale_targets: bool = param(True, Flag(), "Fit networks to targets of root mean square 1.")
    learning_rate: float | None = param(
        None,
        Interval(0, 1, "(]").or_none(),
        "Shrinkage of the steps; 1 takes them whole. None is 0.1, and 0.3 where a network is among the learners, for "
        "its rounds take long.",
        Slider("Learning rate", 0.05, 1.0, 0.05),
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
    min_samples_leaf: int = param(
        20,
        Whole(1),
        "Fewest rows of a leaf; no more than a 15th of the labels, and 2, so that trees of few labels split. With "
        "`as_printed` leaves are of any size.",
        Slider("Rows of a leaf", 1, 100, 1),
    )
    hidden: Sequence[int] = param((100, 50), HIDDEN, "Units of the network's hidden layers.")
    epochs: int = param(
        10, Whole(1), "Passes over the rows in which a network is fitted.", Slider("Epochs of a learner", 1, 50, 1)
    )
    random_state: int | None = param(0, Seed(), "Seed; an int makes a fit repeatable bit for bit.")
    device: str = DEVICE

    def _start(self, problem: Problem) -> TwoLearners:
        for name in self.learners or {}:
            if name not in problem.data.sources:
                known = listed(problem.data.sources)
                raise ParameterError(f"learners names the source {quoted(name)}: name one of {known}.")
        problem, params = self._with_sources(problem), self.get_params(deep=False)
        params = as_printed(params) if self.as_printed else params
        seeds = np.random.default_rng(self.random_state)
        seed = int(seeds.integers(1 << 30))
        _check_covered(problem)
        self.comparison_: dict[str, dict[str, float]] = {}
        self.learners_ = {name: self._learner(problem, name, params, seed) for name in problem.data.sources}
        modalities = {name: self._modality(problem, name, learner, seed) for name, learner in self.learners_.items()}
        # networks take long for a round, so that they take larger steps in fewer rounds
        if params["learning_rate"] is None:
            cheap = all(learner in ("tree", "linear") for learner in map(str, self.learners_.values()))
            params["learning_rate"] = SLOW_RATE if cheap else FAST_RATE
        prior = np.zeros(problem.scale.n_outputs) if params["first_scores"] == "zero" else problem.scale.prior
        state = TwoLearners(problem, params, modalities, seeds, prior)
        quick = all(isinstance(learner, str) and learner != "cnn" for learner in self.learners_.values())
        if params["refit"] and quick and is_few(problem) and state.stopping.rows.size:
            self._use_again(state, seed)
        return state

    def _use_again(self, state: TwoLearners, seed: int) -> None:
        """Let few labels end the rounds in several draws, and all of them be learned from in what is kept."""

        def another(fraction: float, own: int) -> TwoLearners:
            modalities = {name: self._modality(state.problem, name, each, own) for name, each in self.learners_.items()}
            params = {**state.params, "validation_fraction": fraction}
            return TwoLearners(state.problem, params, modalities, np.random.default_rng(own), state.prior)

        if state.problem.data.n <= MOST_INSTANCES:
            state.draws = [another(self.validation_fraction, seed + k) for k in range(1, DRAWS)]
        state.on_all = another(0.0, seed)

    def _with_sources(self, problem: Problem) -> Problem:
        return problem

    def _learner(self, problem: Problem, name: str, params: Mapping[str, Any], seed: int) -> Any:
        """Return the learner of a source: the given one, or the one that left-out rows choose."""
        source, given = problem.data.sources[name], (self.learners or {}).get(name)
        if given is not None:
            return given
        # as printed nothing is tried first
        if self.as_printed:
            return default_learner(source)
        kinds = candidates(source, is_few(problem))
        self.comparison_[name] = compared(
            problem, name, kinds, lambda kind: self._modality(problem, name, kind, seed), params
        )
        # the first of equal losses
        return min(self.comparison_[name], key=self.comparison_[name].get)

    def _modality(self, problem: Problem, name: str, learner: Any, seed: int) -> Trees | Dense:
        source, n_outputs = problem.data.sources[name], problem.scale.n_outputs
        if isinstance(learner, str) and learner not in LEARNERS:
            raise ParameterError(f"The learner {learner!r} of {quoted(name)} must be one of {', '.join(LEARNERS)}.")
        if learner == "tree":
            return Trees.of(source, TreeParams(self.max_depth, -1, self._fewest(problem)), n_outputs)
        if learner == "linear":
            learner = LinearLearner()
        elif learner == "network":
            learner = NetworkLearner(self.hidden, self.epochs, seed)
        elif learner == "cnn":
            learner = MODALITIES["cnn"].learner_class()(self.epochs, seed, self.device)
        elif learner == "random_features":
            learner = RandomFeatureLearner(random_state=seed)
        modality = Dense.of(source, learner, n_outputs, self.scale_targets and not self.as_printed)
        if isinstance(learner, LinearLearner) and is_few(problem) and not self.as_printed:
            _tune(problem, name, modality)
        return modality

    def _fewest(self, problem: Problem) -> int:
        """Return the fewest rows of a leaf: a tree of 30 rows with leaves of 20 would be a constant."""
        # the paper has no least size of a leaf
        if self.as_printed:
            return PRINTED["min_samples_leaf"]
        return min(self.min_samples_leaf, max(LEAST_LEAF, int(problem.labelled.sum()) // LEAVES))

    def _view(self, state: TwoLearners) -> dict[str, Any]:
        return state.view()

    def _finish(self, state: TwoLearners) -> None:
        self.classes_, self.prior_ = state.problem.scale.classes, state.prior
        self.part_weights_ = state.stopping.finish(state.prior, state.final_modalities)
        # rounds have their own: those after the best one are gone, and parts are weighed by now
        self.source_weights_ = state.stopping.source_weights(state.prior, self.part_weights_) or state.weights()
        self.class_weights_ = self._decided(state)
        self.kept_round_ = state.stopping.kept_round or state.stopping.round
        self.validation_rows_ = state.stopping.rows
        self.modalities_ = state.final_modalities

    def _decided(self, state: TwoLearners) -> NDArray[np.float64] | None:
        """Return the weights of the classes, chosen on the validation rows; None for plain probabilities."""
        stopping = state.stopping
        if self.decision_scoring is None:
            return None
        if stopping.parts is None:
            return np.ones(len(self.classes_))
        scores = state.prior + np.tensordot(list(self.part_weights_.values()), stopping.parts, 1)
        return class_weights(softmax(scores, axis=1), stopping.y)

    def decision_function(self, data: HetData) -> NDArray[np.float64]:
        """Return the raw score f of each class in the order of `classes_`, (n, K)."""
        # first: before a fit there is no prior
        parts = self.parts(data)
        return self.prior_ + parts.sum(axis=1)

    def parts(self, data: HetData) -> NDArray[np.float64]:
        """Return what each source adds to the raw score of each class, (n, p, K), in the order of `source_weights_`.

        An instance gets nothing from a source that has no record of it, or that `data` lacks altogether.

        Raises
        ------
        DataError
            If `data` is no HetData.
        """
        self._check_predictable(data)
        parts = np.zeros((data.n, len(self.modalities_), len(self.classes_)))
        for j, (name, modality) in enumerate(self.modalities_.items()):
            if name in data.sources:
                parts[data.rows(name), j] = modality.scores(data.sources[name], name)
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
        check_flags(per_class=per_class)
        parts = self.parts(data)
        if per_class:
            return parts
        best = self._named(self.prior_ + parts.sum(axis=1))
        # what all classes get moves no prediction
        return parts[np.arange(data.n), :, best] - parts.mean(axis=2)

    def predict(self, data: HetData) -> NDArray[np.object_]:
        """Predict each instance from the sources that it has, class names (n,) aligned with `data.ids`."""
        scores = self.decision_function(data)
        return self.classes_[self._named(scores)]

    def _named(self, scores: NDArray) -> NDArray[np.int64]:
        """Return the class code (n,) of scores (n, K)."""
        return (scores if self.class_weights_ is None else scores + np.log(self.class_weights_)).argmax(axis=1)

    def predict_proba(self, data: HetData) -> NDArray[np.float64]:
        """Return the probability in [0, 1] of each class in the order of `classes_`, (n, K)."""
        return softmax(self.decision_function(data), axis=1)

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        return {"K": len(meta["classes"])}

    def _restored(self, sizes: dict[str, int]) -> str:
        # names and modalities come from two places of a file
        same = list(self.source_weights_) == list(self.modalities_)
        return "" if same else "The weights of the model file are not those of its sources"


@estimator(MemoryNeed(cell=60, record=400, score=300))
class OneWeakLearnerClassifier(TwoWeakLearnerClassifier, first=("source",)):
    """1WL: the same boosting with one modality and its learner alone; the special case of one source.

    Events are as of `TwoWeakLearnerClassifier`.
    """

    source: str | None = param(None, SOURCE, "The source to learn from; the first of the data by default.")

    def _with_sources(self, problem: Problem) -> Problem:
        names = problem.data.source_names
        if self.source is not None and self.source not in names:
            raise ParameterError(f"source={self.source!r} is no source of the data: give one of {listed(names)}.")
        data = problem.data.select(sources=[self.source or names[0]])
        return Problem(data, *(getattr(problem, name) for name in ("scale", "target", "labelled", "scored", "truth")))


def _tune(problem: Problem, name: str, modality: Dense) -> None:
    """Choose the penalty of a ridge learner by the first direction of the labelled rows, each left out in turn."""
    rows = problem.data.rows(name)
    known = np.flatnonzero(problem.labelled[rows])
    y = problem.target[rows[known]].argmax(axis=1)
    modality.learner.tune(modality.X[known], direction(np.tile(problem.scale.prior, (len(y), 1)), y))


def _check_covered(problem: Problem) -> None:
    for name in problem.data.sources:
        if not problem.labelled[problem.data.rows(name)].any():
            raise DataError(f"No labelled instance is in the source {quoted(name)}: leave it out, or label some.")
