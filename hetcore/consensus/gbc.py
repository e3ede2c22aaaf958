r"""GBC: Gradient Boosting Consensus.

Several tables describe overlapping sets of things and several graphs link them; some have a label. Each source gets a
model f_i of its own. Labels pull f_i where there are some; elsewhere the consensus E of all sources does, with weight
lambda0, and what the neighbours say, with weight lambda1 (eq. 4.4):

    sum_i w_i sum_{x in T} L(f_i(x), y) + lambda0 sum_i w_i sum_{x in U_i} L(f_i(x), E(x))
        + lambda1 sum_i w_i sum_{x in U_i} L(f_i(x), E~_i(x))

| symbol | here |
|---|---|
| i, g, t | source (table), graph, iteration |
| T, U_i | labelled instances; unlabelled ones that source i covers |
| f_i, w_i | a source's model and weight: `contributions`, `source_weights_` |
| w^_g | a graph's weight: `graph_weights_` |
| E, E~ | consensus of the sources; average over the neighbours |
| lambda0, lambda1, N | `lambda0`, `lambda1`, `n_iterations` |

`as_printed=True` runs Algorithm 1 to the letter (`hetcore.consensus.algorithm1`). On our data that loses to what one
would do instead, for two reasons: every f_i is fitted to y alone and then averaged, so what the sources know together
is lost; and a graph reaches the model only through trees on table columns. The default (`hetcore.consensus.boosting`)
keeps sources in turn, consensus, connectivity, learned weights, missing sources and instances.

Departures of the default from the paper
----------------------------------------
- A source has two learners: kernel ridge in closed form, which solves the squared-loss objective (4.4) for f_i exactly,
  and trees that are fitted to what the ensemble of all sources leaves.
- Classes are softmax scores with class codes as the pull's targets; L(f, E) with the logistic loss and a real E has no
  bound.
- lambda is relative: the mean over U_i against the mean over T, whatever their sizes.
- A graph is a source: it says its neighbours' average, labels counting 1 and the consensus of unlabelled ones lambda1,
  with its own fitted weight and its own trees. Labels of labelled neighbours are used as they are (`clamp_labels`).
- Weights and steps are fitted on rows left out (leave-one-out for kernel ridge, the subsample's rest for trees).

Reference: X. Shi, J.-F. Paiement, D. Grangier, P. S. Yu, "Learning from heterogeneous sources via gradient boosting
consensus", SIAM Data Mining 2012; equation numbers are those of its extended version.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hetcore.base import BoostedEstimator
from hetcore.checks import whole
from hetcore.consensus.algorithm1 import Printed, PrintedModel
from hetcore.consensus.boosting import Stagewise
from hetcore.consensus.predictor import Columns, Memory, StagewiseModel, in_no_table
from hetcore.consensus.source_states import Crew, GraphPart, TablePart
from hetcore.consensus.tempering import Tempering
from hetcore.data import HetData
from hetcore.errors import DataError, ModelFileError
from hetcore.kernel_ridge import SmoothPrediction
from hetcore.parameters import Flag, Interval, OneOf, Seed, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.round_scores import describe, shares
from hetcore.targets import Problem, Scale

__all__ = ["Explanation", "GBCClassifier", "GBCRegressor"]


class Explanation(NamedTuple):
    """What is predicted for n instances, and why.

    Attributes
    ----------
    prediction : (n,) float64 or object
        As `predict` returns it.
    coverage : (n,) object
        As `predict` returns it with `return_coverage`.
    probabilities : (n, K) float64 or None
        As `predict_proba` returns them; None for numbers.
    contributions : (n, p + q) float64
        As `contributions` returns them with `graphs`.
    """

    prediction: NDArray
    coverage: NDArray[np.object_]
    probabilities: NDArray[np.float64] | None
    contributions: NDArray[np.float64]


class _GBC(Tempering, BoostedEstimator):
    """What regressor and classifier share.

    Attributes
    ----------
    source_weights_, graph_weights_ : dict of str to float
        Weights in [0, 1], each dict summing to 1: a source's share in what the model explains of the labels on rows
        left out. With `as_printed`, w of (4.10) and (4.11), the mean over the classes.
    history_ : polars DataFrame
        One row per round: "iteration", "seconds", "loss:SET", "metric:SET", "weight:SOURCE", "graph_weight:GRAPH",
        "step:PART", "per_source:SOURCE", "autocorrelation:GRAPH", "disagreement".
    n_iterations_ : int
        Rounds done.
    """

    lambda0: float = param(
        0.0,
        Interval(0, 1e9, cure="0 switches the consensus off"),
        "Pull of unlabelled instances to the consensus of the sources, relative to the labels' pull; 0 for none.",
        Slider("λ0 · consensus", 0.0, 3.0, 0.05),
    )
    lambda1: float = param(
        0.3,
        Interval(0, 1e9, cure="0 lets only labelled neighbours speak"),
        "How much an unlabelled neighbour counts beside a labelled one's 1; as printed, the pull to the neighbours.",
        Slider("λ1 · neighbours", 0.0, 3.0, 0.05),
    )
    n_iterations: int = param(40, Whole(1), "Rounds N.", Slider("Rounds N", 5, 200, 5))
    learning_rate: float = param(
        0.1,
        Interval(0, 10, "(]", "0.1 is a good start"),
        "Shrinkage of each tree's step.",
        Slider("Learning rate η", 0.01, 1.0, 0.01),
    )
    max_depth: int = param(
        3, Whole(1, also={-1: "no limit"}), "Depth of the trees, in splits.", Slider("Depth", 1, 8, 1)
    )
    min_samples_leaf: int = param(5, Whole(1), "Fewest rows of a leaf.")
    l2: float = param(1.0, Interval(0, ends="()"), "Added under every leaf's Newton step.")
    subsample: float = param(
        0.6,
        Interval(0, 1, "(]", "below 1, the rows left out set steps and weights"),
        "Share of the labelled rows that a round's trees are grown on; the rest set steps and weights. At 1 every step "
        "is taken whole and the trees' weights are not known.",
    )
    column_sample: float = param(
        0.3,
        Interval(0, 1, "(]", "the share of its columns that a tree sees"),
        "Share of a table's columns that a tree may split by; at least three columns.",
    )
    consensus_rounds: int = param(
        4,
        Whole(1),
        "Rounds in which the smooth learners are refitted to labels and consensus; trees start in the last of them.",
    )
    base_learner: str = param(
        "both", OneOf("both", "kernel", "tree"), "Learners of a source. Trees alone feel no lambda0."
    )
    weights: str = param(
        "learned",
        OneOf("learned", "entropy", "softmax", "equal"),
        "How sources are weighted: fitted on rows left out; from each source's own loss on rows left out by (4.10), or "
        'by exp(-loss) normalised; or all the same. As printed, "learned" is "entropy", on the training loss.',
    )
    pull: str = param("unlabelled", OneOf("unlabelled", "all"), "Which instances are pulled to the consensus.")
    clamp_labels: bool = param(
        True, Flag(), "Whether a labelled neighbour shows its label, or what is predicted for it."
    )
    schedule: str = param(
        "sequential",
        OneOf("sequential", "parallel"),
        "Whether a source sees the others' newest values, or all start from the same state.",
    )
    as_printed: bool = param(False, Flag(), "Run the paper's Algorithm 1 to the letter; see its module.")
    random_state: int | None = param(0, Seed(), "Seed; an int makes a fit repeatable bit for bit on one thread count.")

    def _start(self, problem: Problem, crew: Crew | None = None) -> Stagewise | Printed:
        rng = np.random.default_rng(self.random_state)
        cls = Printed if self.as_printed else Stagewise
        return cls.start(problem, self.get_params(deep=False), rng, crew)

    def _view(self, state: Stagewise | Printed) -> dict[str, Any]:
        alone, detail = (_alone_printed if self.as_printed else _alone)(state)
        view = describe(state.problem, state.raw, state.honest, alone)
        steps = {name: step for name, step in state.steps.items() if name}
        view["detail"] |= {"steps": steps} | detail.pop("detail", {}) | state.crew.tally()
        return view | detail

    def _finish(self, state: Stagewise | Printed) -> None:
        view = (_alone_printed if self.as_printed else _alone)(state)[1]
        self.source_weights_, self.graph_weights_ = view["source_weights"], view["graph_weights"]
        self.scale_ = state.problem.scale
        self.model_ = state.finish() if self.as_printed else _stagewise_model(state)
        if self.scale_.is_classifier:
            self.classes_ = self.scale_.classes

    def _explained(self, data: HetData) -> tuple[list[NDArray], NDArray[np.float64]]:
        """Return what each part adds to the raw scores, and what comes of it: probabilities or standardised numbers."""
        check_is_fitted(self)
        if not isinstance(data, HetData):
            kind = type(data).__name__
            raise DataError(f"A prediction takes a HetData, not {kind}: build one with hetcore.HetData.")
        adds = self.model_.contributions(data)
        return adds, self.model_.fitted(data, self.graph_weights_, adds)

    def predict(self, data: HetData, return_coverage: bool = False) -> Any:
        """Predict each instance from the sources that it has, also instances never seen.

        Labels in `data` are not looked at: what neighbours say comes from the labels of the fit.

        Parameters
        ----------
        data : HetData
            With some of the sources of the fit.
        return_coverage : bool, default=False
            Whether to return what each prediction rests on too.

        Returns
        -------
        (n,) float64 or object, aligned with `data.ids`
            In the labels' unit, or class names.
        (n,) object, with `return_coverage`
            "sources"; "graphs" for an instance in no table, predicted by its neighbours' weighted average; "none" for
            one that nothing covers, which gets the prior.
        """
        _, fitted = self._explained(data)
        labels = self.scale_.labels(fitted)
        return (labels, self._coverage(data)) if return_coverage else labels

    def _coverage(self, data: HetData) -> NDArray[np.object_]:
        rests = np.full(data.n, "none", object)
        for name, graph in data.graphs.items():
            if name in self.graph_weights_:
                rests[graph.degree > 0] = "graphs"
        rests[~in_no_table(data, self.source_weights_)] = "sources"
        return rests

    def contributions(self, data: HetData, per_class: bool = False, graphs: bool = False) -> NDArray[np.float64]:
        """Return what each source adds to each prediction.

        Parameters
        ----------
        data : HetData
        per_class : bool, default=False
            Whether to return the raw score of every class; else a classifier's are those of the predicted class.
        graphs : bool, default=False
            Whether graphs follow the sources.

        Returns
        -------
        (n, p) or (n, p, K) float64
            In the order of `source_weights_` (then `graph_weights_`). A regressor's are in the labels' unit, and the
            prior (the mean label) plus their sum is the prediction; a classifier's are raw scores, before the softmax.
        """
        adds, fitted = self._explained(data)
        stack = self._stacked(adds, graphs)
        return stack if per_class else stack[np.arange(data.n), :, fitted.argmax(axis=1)]

    def _stacked(self, adds: list[NDArray], graphs: bool) -> NDArray[np.float64]:
        nothing = np.zeros_like(adds[0])
        count = len(self.source_weights_) + (len(self.graph_weights_) if graphs else 0)
        return np.stack([*adds, *[nothing for _ in self.graph_weights_]][:count], axis=1) * self.scale_.deviation

    def explain(self, data: HetData) -> Explanation:
        """Return predictions and what they rest on in one pass: cheaper than asking for each by itself."""
        adds, fitted = self._explained(data)
        stack = self._stacked(adds, graphs=True)
        return Explanation(
            self.scale_.labels(fitted),
            self._coverage(data),
            fitted if self.scale_.is_classifier else None,
            stack[np.arange(data.n), :, fitted.argmax(axis=1)],
        )

    def _get_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        check_is_fitted(self)
        meta, arrays = self.model_.to_state()
        scale = {"classes": list(self.scale_.classes), "deviation": self.scale_.deviation}
        weights = {"source_weights": self.source_weights_, "graph_weights": self.graph_weights_}
        state = {"kind": self.model_.kind, "scale": scale, "model": meta, "n_iterations": self.n_iterations_} | weights
        return state, {**arrays, "scale:mean": self.scale_.mean}

    def _set_state(self, meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        self.scale_ = _scale_from(meta["scale"], arrays["scale:mean"], self._task)
        kinds = {"stagewise": StagewiseModel, "printed": PrintedModel}
        if meta["kind"] not in kinds:
            kind = meta["kind"]
            raise ModelFileError(f"The file holds a model of kind {kind!r}, which is not known: it is not loaded.")
        self.model_ = kinds[meta["kind"]].from_state(self.scale_, meta["model"], arrays)
        self.source_weights_ = _weights_from(meta["source_weights"])
        if list(self.source_weights_) != self.model_.source_names:
            raise ModelFileError("The weights of the model file are not those of its sources: save the model again.")
        self.graph_weights_ = _weights_from(meta["graph_weights"])
        self.n_iterations_ = meta["n_iterations"]
        if not whole(self.n_iterations_) or self.n_iterations_ < 1:
            raise ModelFileError(f"The model file tells of {self.n_iterations_!r} rounds: save the model again.")
        if self.scale_.is_classifier:
            self.classes_ = self.scale_.classes


def _scale_from(meta: dict[str, Any], mean: NDArray, task: str) -> Scale:
    names, deviation = meta["classes"], float(meta["deviation"])
    good = isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    good = good and (len(names) > 1 if task == "classification" else not names)
    good = good and mean.shape == (max(1, len(names)),) and mean.dtype == np.float64 and np.isfinite(mean).all()
    if not good or not np.isfinite(deviation) or deviation <= 0:
        raise ModelFileError("The labels of the model file are not those of this kind of model: save it again.")
    return Scale(np.array(names, dtype=object), mean, deviation)


def _weights_from(meta: Any) -> dict[str, float]:
    weights = {str(name): float(weight) for name, weight in meta.items()}
    if not all(0.0 <= weight <= 1.0 for weight in weights.values()):
        raise ModelFileError("The model file has a weight outside [0, 1]: save the model again.")
    return weights


def _alone(state: Stagewise) -> tuple[dict[str, tuple[NDArray, NDArray]], dict[str, Any]]:
    """Return what each table says alone and where, and the weights."""
    prior, problem = state.problem.scale.prior, state.problem
    own = state.own_scales if state.own_scales.size else state.scales
    tables = [(b, part) for b, part in zip(own, state.parts) if isinstance(part, TablePart)]
    alone = {part.name: (prior + b * part.score + part.trees, part.covers) for b, part in tables}
    explained, p, q = state.explained(), len(tables), len(problem.data.graphs)
    if state.joint_shares:
        explained = explained[:-1] + explained[-1] * np.array([0.0] * p + list(state.joint_shares.values()))
    return alone, {
        "source_weights": shares(explained[:p], problem.data.source_names),
        "graph_weights": shares(explained[p : p + q], problem.data.graph_names),
        "detail": {"shares": shares(explained, [*problem.data.source_names, *problem.data.graph_names])},
    }


def _alone_printed(state: Printed) -> tuple[dict[str, tuple[NDArray, NDArray]], dict[str, Any]]:
    problem = state.problem
    two = problem.scale.n_outputs == 2
    alone = {}
    for part, f in zip(state.tables, state.scores):
        alone[part.name] = (np.concatenate([np.zeros_like(f), f], axis=1) if two else f, part.covers)
    return alone, {
        "source_weights": shares(state.weights.mean(axis=1), problem.data.source_names),
        "graph_weights": shares(state.graph_weights.mean(axis=1), problem.data.graph_names),
    }


def _stagewise_model(state: Stagewise) -> StagewiseModel:
    tables, graphs = [], []
    sizes = iter(state.gap_sizes)
    for b, part, kept in zip(state.scales, state.parts, state.crew.ask("keep", state.parts)):
        if isinstance(part, GraphPart):
            graphs.append(Columns(part.name, float(b), part.forest, kept.mapper, unit=part.unit))
        else:
            smooth = SmoothPrediction(kept.smooth) if kept.smooth is not None else None
            size = float(next(sizes))
            tables.append(Columns(part.name, float(b), part.forest, kept.mapper, kept.encoder, smooth, size))
    said = state.says_to_strangers().astype(np.float32)
    memory = Memory(state.problem.data.id_series, said, state.voices.astype(np.float32))
    args = state.problem.scale, tables, graphs, memory, state.gamma, state.params["lambda1"]
    return StagewiseModel(*args, dict(state.joint_shares))


@estimator(MemoryNeed(cell=36, record=7_300, score=90, link=2))
class GBCRegressor(RegressorMixin, _GBC):
    """Gradient Boosting Consensus for numbers.

    The default lambda0 is 0: a number that all sources agree on is pulled to their common mean, which costs accuracy on
    the film ratings (docs/consensus.md).

    References
    ----------
    Shi, Paiement, Grangier, Yu, "Learning from heterogeneous sources via gradient boosting consensus", SDM 2012.
    """

    _task = "regression"


@estimator(MemoryNeed(cell=36, record=7_300, score=90, link=2))
class GBCClassifier(ClassifierMixin, _GBC):
    """Gradient Boosting Consensus for two or more classes, which are `classes_`, sorted.

    References
    ----------
    Shi, Paiement, Grangier, Yu, "Learning from heterogeneous sources via gradient boosting consensus", SDM 2012.
    """

    _task = "classification"

    lambda0 = 0.3
    lambda1 = 0.1

    def predict_proba(self, data: HetData) -> NDArray[np.float64]:
        """Return the probability in [0, 1] of each class in the order of `classes_`, (n, K)."""
        return self._explained(data)[1]
