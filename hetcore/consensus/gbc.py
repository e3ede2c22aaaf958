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

`as_printed=True` runs Algorithm 1 to the letter (`hetcore.consensus.printed.algorithm1`). On our data that loses to
what one would do instead, for two reasons: every f_i is fitted to y alone on one table and then averaged, so what the
sources know together is lost; and a graph reaches the model only through trees on table columns. The default
(`hetcore.consensus.boosting`) keeps the consensus of boosted sources, connectivity, weights by loss, missing sources
and instances.

Departures of the default from the paper
----------------------------------------
- A source is a *view* (`hetcore.consensus.views`): each table, the joined tables, and of each graph the neighbours'
  labels, hidden by fold, and features. Each has trees, and a smooth learner (kernel ridge or linear); joined columns
  have shallow trees too, and deep ones where labels are many, the widest oblivious ones.
- Views are boosted side by side in folds of the labelled rows, so that every round has out-of-fold predictions. A view
  says what it said in its best round so far.
- One more view is the sum of the others, scaled for the lowest out-of-fold loss (`hetcore.consensus.view_sum`).
- For numbers E is corrected by a ridge regression of its out-of-fold residuals on the views, held to 0
  (`hetcore.consensus.view_sum`); no weight changes by it.
- Weights are (4.10) of out-of-fold losses to the power q (`sharpness`); q = 1 is the paper's. They enter E, lambda0's
  pull and the prediction. A loss is over the records of a view, for what is usual there (`losses_on_own_rows` of
  `hetcore.consensus.view_weights`). A table's weight is the sum over its views' mean parts in E; that of a view of
  several tables and graphs is dealt to these by how much of what it predicts each predicts alone (`deal` there).
- Graphs' weights are (4.11) of how much less linked instances differ than any two do, cubed, in labels and predictions
  or else in residuals; 0 where these correlate over the links in neither by three standard errors.
- The third term of (4.4) is minimised for the consensus itself, which is made smooth along the links with lambda1
  (`hetcore.consensus.smoothing`); as a pull on the learners it did not pay (docs/trials.md).
- Classes are softmax scores with the consensus' class shares as the pull's targets; L(f, E) with the logistic loss and
  a real E has no bound.
- lambda0 is relative: all unlabelled rows together against all labelled ones, of which no row weighs more than lambda0
  labels. Only views that see no label pull and are pulled, to an E of the labels' size.
- Of at most 300 labelled rows all this is done twice, below 60 four times, on folds dealt anew; what is said is the
  mean (`hetcore.consensus.repeated`).
- The fit ends when the out-of-fold loss of the consensus no longer falls; N is the most rounds there may be.

Reference: X. Shi, J.-F. Paiement, D. Grangier, P. S. Yu, "Learning from heterogeneous sources via gradient boosting
consensus", SIAM Data Mining 2012; equation numbers are those of its extended version.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hetcore.base import BoostedEstimator, ClassifierScore, RegressorScore
from hetcore.category_labels import CategoryLabels
from hetcore.consensus.boosting import ViewBoosting
from hetcore.consensus.executor import Executor, LocalExecutor
from hetcore.consensus.predictor import StagewiseModel, in_no_table
from hetcore.consensus.printed.algorithm1 import Printed, PrintedModel, Tempering
from hetcore.consensus.repeated import RepeatedBoosting, RepeatedModel, model_of, start
from hetcore.consensus.view_predictor import ViewModel
from hetcore.data import HetData
from hetcore.data.columns import check_flags
from hetcore.data.text import counted
from hetcore.errors import MissingColumnsWarning
from hetcore.kernels.threads import n_threads
from hetcore.parameters import Flag, Interval, OneOf, SeedAndThreads, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.round_scores import describe, scores_of_tables, shares
from hetcore.schema import SHARES, Part
from hetcore.targets import Problem, Scale

__all__ = ["Explanation", "GBCClassifier", "GBCRegressor"]


MODELS = {model.kind: model for model in (ViewModel, RepeatedModel, StagewiseModel, PrintedModel)}


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
    source_weights_ : dict of str to float
        Weights in [0, 1], summing to 1: of each table, the sum over its views' weights. With `as_printed`, w of (4.10),
        the mean over the classes.
    graph_weights_ : dict of str to float
        Weights by (4.11), summing to 1: how alike linked instances are. 0 for a graph along which they are not, which
        may tell as much: see `contributions`.
    view_weights_ : dict of str to float
        Each view's mean part of E over the labelled instances; of a default fit.
    lambda0_, lambda1_, sharpness_ : float
        As given or chosen; of a default fit.
    history_ : polars DataFrame
        One row per round: "iteration", "seconds", "loss:SET", "metric:SET", "weight:SOURCE", "graph_weight:GRAPH",
        "view:VIEW", "choice:PARAMETER", "per_source:SOURCE", "autocorrelation:GRAPH", "disagreement"; as printed no
        "view:VIEW" and "choice:PARAMETER", but "step:SOURCE".
    n_iterations_ : int
        Rounds done.

    Notes
    -----
    Each event (`RoundEnd`) is one round. `losses`: "train", "left_out" (out of fold; not as printed) and "held_out"
    (with `eval_y`), of the scaled labels. `detail`:

    - "metric_name": "RMSE" (in the labels' unit) or "error"; "metric": by the same sets of rows;
    - "per_source": {table: the metric of what it says alone, on held-out rows where there are some, else on labelled};
      "disagreement": how far tables are from the consensus, the share of other classes or the mean distance in the
      labels' unit; "linked_pairs": {graph: pairs that `residual_autocorrelation` is of};
    - "steps": {table: step of its line search}, as printed; the rest is of a default fit:
    - "views": {view: weight}, as `view_weights_`; "view_losses": {view: out-of-fold loss of its last round}; "dealt":
      {view: {table or "graph NAME": its part of that weight}};
    - "choices": {"lambda0", "lambda1", "sharpness", of numbers also "residual_share"}; "paths": {lambda of "auto",
      where several were tried: list of (value, out-of-fold loss)};
    - "graphs_explain_nothing": whether all graphs have the weight 0; "repeats": fits on folds dealt anew, `n_repeats`.
    """

    _stored = {
        "model": Part(MODELS, "K k", at=""), "scale": Part(Scale, "K"), "n_iterations": Whole(1),
        "source_weights": SHARES, "graph_weights": SHARES,
    }  # fmt: skip

    _positional = ()  # those of the printed algorithm come first, which hardly anybody gives

    # of models of earlier versions: a file that has them is opened, and they are dropped
    _retired = ("consensus_rounds", "clamp_labels")

    lambda0: float | str = param(
        0.3,
        Interval(0, 1e9, cure="0 switches the consensus off").or_text("auto"),
        "Pull of unlabelled instances to the consensus of the views, relative to the labels' pull; 0 for none. "
        '"auto" takes what gives the smooth learners of the tables the lowest out-of-fold loss in a short trial; as '
        "printed, 0.03.",
        Slider("λ0 · consensus", 0.0, 3.0, 0.05),
    )
    lambda1: float | str = param(
        "auto",
        Interval(0, 1e9, cure="0 lets no neighbour smooth the consensus").or_text("auto"),
        'How smooth the consensus is made along the links; "auto" takes what has the lowest out-of-fold loss, 0 where '
        "smoothing does not help. As printed, the pull to the neighbours, of which 'auto' is 0.03.",
        Slider("λ1 · neighbours", 0.0, 3.0, 0.05),
    )
    smooth_residuals: bool = param(
        True,
        Flag(),
        "Whether numbers have added what the labels of linked instances were missed by, as far as labels left out say "
        "that it helps. Never as printed.",
    )
    sharpness: float | str = param(
        "auto",
        Interval(0, 100, "(]", "1 is the paper's (4.10)").or_text("auto"),
        "q: weights are (4.10) of the out-of-fold losses to the power q; 1 is the paper's, and so it is as printed. "
        '"auto" takes what gives the consensus the lowest out-of-fold loss.',
    )
    n_repeats: int | str = param(
        "auto",
        Whole(1).or_text("auto"),
        "How many fits there are, each on folds dealt anew, of which the consensus is the mean. "
        '"auto" is 4 below 60 labelled rows, 2 up to 300, else 1; also 1 beyond 5,000 instances and with '
        "join_tables=False. Never as printed.",
    )
    n_iterations: int = param(100, Whole(1), "Rounds N.", Slider("Rounds N", 5, 200, 5))
    learning_rate: float = param(
        0.06,
        Interval(0, 10, "(]"),
        "Shrinkage of a tree's step; not as printed, where `shrinkage` is.",
        Slider("Learning rate η", 0.01, 1.0, 0.01),
    )
    max_depth: int = param(
        5, Whole(1, also={-1: "no limit"}), "Depth of the trees, in splits.", Slider("Depth", 1, 8, 1)
    )
    min_samples_leaf: int = param(3, Whole(1), "Fewest rows of a leaf.")
    l2: float = param(1.0, Interval(0, ends="()"), "Added under every leaf's Newton step; none as printed.")
    subsample: float = param(
        0.7, Interval(0, 1, "(]"), "Share of the labelled rows that a tree is grown on; all as printed."
    )
    column_sample: float = param(
        1.0,
        Interval(0, 1, "(]"),
        "Share of a view's columns that a tree may split by; all as printed. 8 columns at least; at most 120 (30 of "
        "more than two classes), or twice the root of their number if that is more.",
    )
    base_learner: str = param(
        "both",
        OneOf("both", "kernel", "tree"),
        "Learners of views: trees, smooth (kernel and linear) ones, or both; trees as printed.",
    )
    join_tables: bool = param(
        True,
        Flag(),
        "Whether some views join the columns of several tables, or of tables and neighbours, for which one process "
        "needs all tables; without, each view is of one table, read where it is, or of neighbours' labels. Never as "
        "printed.",
    )
    weights: str = param(
        "entropy",
        OneOf("entropy", "softmax", "equal", "learned"),
        "How views are weighted by their out-of-fold losses: by (4.10), by exp(-loss) normalised, all the same, or "
        'fitted on the simplex. As printed, "learned" is "entropy", on the training loss.',
    )
    pull: str = param(
        "unlabelled", OneOf("unlabelled", "all"), "As printed, which instances are pulled to the consensus."
    )
    schedule: str = param(
        "sequential",
        OneOf("sequential", "parallel"),
        "As printed, whether sources see others' newest values or the same state.",
    )
    as_printed: bool = param(False, Flag(), "Run the paper's Algorithm 1 to the letter, on one thread; see its module.")

    @property
    def _without_effect(self) -> tuple[str, ...]:
        # as printed a step is the line search's
        return ("learning_rate",) if self.as_printed else ()

    def _start(self, problem: Problem, executor: Executor | None = None) -> ViewBoosting | RepeatedBoosting | Printed:
        rng, params = np.random.default_rng(self.random_state), self.get_params(deep=False)
        if not self.as_printed:
            executor = LocalExecutor(n_threads(self.n_jobs)) if executor is None else executor
            return start(problem, params, rng, executor)
        return Printed.start(problem, params, rng, executor)

    def _view(self, state: ViewBoosting | Printed) -> dict[str, Any]:
        if self.as_printed:
            # every labelled row is trained on, in some round at least: as printed no score is out of fold
            view, more = describe(state.problem, state.raw, None, state.alone()), _weights_printed(state)
            more["detail"] = {"steps": {name: step for name, step in state.steps.items() if name}}
        else:
            alone = scores_of_tables(state.problem, state.raw, state.alone())
            view, more = describe(state.problem, state.raw, state.held_back, alone), _weights_of(state)
        view["detail"] |= more.pop("detail") | state.executor.statistics()
        return view | more

    def _finish(self, state: ViewBoosting | Printed) -> None:
        view = _weights_printed(state) if self.as_printed else _weights_of(state)
        self.source_weights_, self.graph_weights_ = view["source_weights"], view["graph_weights"]
        self.scale_ = state.problem.scale
        if self.as_printed:
            self.model_ = state.finish()
        else:
            self.model_ = model_of(state)
            self.view_weights_ = view["detail"]["views"]
            self.lambda0_, self.lambda1_, self.sharpness_ = state.lambda0, state.lambda1, state.sharpness
        if self.scale_.is_classifier:
            self.classes_ = self.scale_.classes

    @property
    def _known_parts(self) -> tuple[Collection[str], Collection[str]]:
        return self.source_weights_, self.graph_weights_

    @property
    def _category_labels(self) -> CategoryLabels | None:
        columns = getattr(self.model_, "columns", None)
        return None if columns is None else columns.by_category

    def _explained(self, data: HetData, by_row: bool = False) -> tuple[list[NDArray], NDArray[np.float64]]:
        """Return what each part adds to the raw scores, and what comes of it: probabilities or standardised numbers.

        With `by_row` what it adds to each, which takes the predictions of each part alone too.
        """
        self._check_predictable(data)
        of_views = isinstance(self.model_, (ViewModel, RepeatedModel))
        if of_views and (bare := self.model_.stripped(data)):
            are, have = ("is", "has") if bare == 1 else ("are", "have")
            who = f"{counted(bare, 'labelled instance')} of the fit"
            text = f"{who} {are} linked here and {have} no record in any source"
            cure = "give all records and links beside the new ones, for neighbours are predicted from those too."
            warnings.warn(f"{text}: {cure}", MissingColumnsWarning, stacklevel=3)
        if by_row and of_views:
            plain, adds = self.model_.by_row(data)
        else:
            plain = adds = self.model_.contributions(data)
        return adds, self.model_.fitted(data, self.graph_weights_, plain)

    def predict(self, data: HetData, return_coverage: bool = False) -> Any:
        """Predict each instance from the sources that it has, also instances never seen.

        Labels in `data` are not looked at: what neighbours say comes from the labels of the fit. Their records and
        links are those of `data`: give the instances of the fit beside new ones that are linked to them.

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

        Warns
        -----
        MissingColumnsWarning
            If labelled instances of the fit, even a single one, have links here and no record, which they had there.
        """
        check_flags(return_coverage=return_coverage)
        _, fitted = self._explained(data)
        labels = self.scale_.labels(fitted)
        return (labels, self._coverage(data)) if return_coverage else labels

    def _coverage(self, data: HetData) -> NDArray[np.object_]:
        rests = np.full(data.n, "none", object)
        for name, graph in data.graphs.items():
            if name in self.graph_weights_:
                # sources after graphs: an instance with both rests on its sources
                rests[graph.degree > 0] = "graphs"
        rests[~in_no_table(data, self.source_weights_)] = "sources"
        return rests

    def contributions(self, data: HetData, per_class: bool = False, graphs: bool = False) -> NDArray[np.float64]:
        """Return what each source adds to each prediction.

        What a view of several sources predicts of a row is what each predicts of it alone, as far as a ridge regression
        of out-of-fold predictions goes; the rest is dealt by their shares in the view (docs/consensus.md).

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
            prior (the mean label) plus the sum of sources and graphs is the prediction; a classifier's are raw scores,
            before the softmax. With `as_printed` an instance in no table gets its neighbours' average as a whole, of
            which no part is anybody's: its contributions are 0.
        """
        check_flags(per_class=per_class, graphs=graphs)
        adds, fitted = self._explained(data, by_row=True)
        stack = self._stacked(adds, graphs)
        # what speaks for the class that is predicted
        return stack if per_class else stack[np.arange(data.n), :, fitted.argmax(axis=1)]

    def _stacked(self, adds: list[NDArray], graphs: bool) -> NDArray[np.float64]:
        nothing = np.zeros_like(adds[0])
        count = len(self.source_weights_) + (len(self.graph_weights_) if graphs else 0)
        # graphs add nothing as printed, and have no entry among what is added
        return np.stack([*adds, *[nothing for _ in self.graph_weights_]][:count], axis=1) * self.scale_.deviation

    def explain(self, data: HetData) -> Explanation:
        """Return predictions and what they rest on in one pass: cheaper than asking for each by itself.

        Parameters
        ----------
        data : HetData
            As for `predict`.

        Returns
        -------
        Explanation
            `prediction`, `coverage`, `probabilities` (None for numbers) and `contributions`, those of graphs too, each
            as its own method returns it.
        """
        adds, fitted = self._explained(data, by_row=True)
        stack = self._stacked(adds, graphs=True)
        return Explanation(
            self.scale_.labels(fitted),
            self._coverage(data),
            fitted if self.scale_.is_classifier else None,
            stack[np.arange(data.n), :, fitted.argmax(axis=1)],
        )

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        # two classes have one score
        K = max(1, len(meta["scale"]["classes"]))
        return {"K": K, "k": 1 if K <= 2 else K}

    def _restored(self, sizes: dict[str, int]) -> str:
        # kept once in a file, as the estimator's
        self.model_.scale = self.scale_
        if self.scale_.is_classifier:
            self.classes_ = self.scale_.classes
        if self.scale_.is_classifier != (self._task == "classification"):
            return "The labels of the model file are not those of this kind of model"
        # names and arrays come from two places of a file
        same = list(self.source_weights_) == self.model_.source_names
        return "" if same else "The weights of the model file are not those of its sources"


def _weights_of(state: ViewBoosting | RepeatedBoosting) -> dict[str, Any]:
    """Return the weights of sources, graphs and views, whose weight is dealt to which source, and what was chosen."""
    weights = dict(zip(state.view_names, state.effective.tolist()))
    chosen = {"lambda0": state.lambda0, "lambda1": state.lambda1, "sharpness": state.sharpness}
    chosen |= {} if state.outputs.is_classifier else {"residual_share": state.residual_share}
    dealt = state.dealt()
    return {
        "source_weights": state.source_weights(dealt),
        "graph_weights": dict(state.graph_weights),
        "detail": {
            "steps": {},
            "views": weights,
            "view_losses": state.last_losses,
            "dealt": _by_source(state, dealt),
            "choices": chosen,
            "paths": {name: list(path) for name, path in state.paths.items()},
            "graphs_explain_nothing": bool(state.graph_weights) and not any(state.graph_weights.values()),
            "repeats": state.repeats,
        },
    }


def _by_source(state: ViewBoosting | RepeatedBoosting, dealt: NDArray) -> dict[str, dict[str, float]]:
    """Return by view the part of its weight that each table's is, and under "graph NAME" each graph's; no zeros."""
    names = [*state.columns.tables.names, *(f"graph {name}" for name in state.graph_weights)]
    # parts below 1e-6 are rounding, and would fill the history
    parts = ({name: float(part) for name, part in zip(names, row) if part > 1e-6} for row in dealt)
    return {name: part for name, part in zip(state.view_names, parts) if part}


def _weights_printed(state: Printed) -> dict[str, Any]:
    data = state.problem.data
    return {
        "source_weights": shares(state.weights.mean(axis=1), data.source_names),
        "graph_weights": shares(state.graph_weights.mean(axis=1), data.graph_names),
    }


@estimator(MemoryNeed(cell=160, record=14_300, score=175, link=12))
class GBCRegressor(RegressorScore, _GBC, SeedAndThreads):
    """Gradient Boosting Consensus for numbers.

    References
    ----------
    Shi, Paiement, Grangier, Yu, "Learning from heterogeneous sources via gradient boosting consensus", SDM 2012.
    """

    _task = "regression"


@estimator(MemoryNeed(cell=160, record=18_300, score=375, link=12))
class GBCClassifier(ClassifierScore, _GBC, SeedAndThreads):
    """Gradient Boosting Consensus for two or more classes, which are `classes_`, sorted.

    References
    ----------
    Shi, Paiement, Grangier, Yu, "Learning from heterogeneous sources via gradient boosting consensus", SDM 2012.
    """

    _task = "classification"

    def predict_proba(self, data: HetData) -> NDArray[np.float64]:
        """Return the probability in [0, 1] of each class in the order of `classes_`, (n, K)."""
        return self._explained(data)[1]
