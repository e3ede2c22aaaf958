"""What GB, RGB and MGB share: checked parameters, the fit, events, predictions, traces, and the state of a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hetcore.base import BoostedEstimator
from hetcore.category_labels import CategoryLabels
from hetcore.collective.algorithms import Algorithm1, Algorithm3, unscaled
from hetcore.collective.crossfit import SEVERAL, CrossFitted, bins_of
from hetcore.collective.events import described
from hetcore.collective.format1 import is_of_format_1, parameters_of_today, state_of_today
from hetcore.collective.inference import net_of
from hetcore.collective.predictor import CollectiveModel, InferenceParams
from hetcore.collective.static_columns import StaticColumns
from hetcore.collective.target_transform import TargetTransform
from hetcore.data import HetData
from hetcore.data.hetdata import check_het_data
from hetcore.data.identity import positions
from hetcore.data.text import counted, listed, quoted
from hetcore.errors import DataError, ParameterError
from hetcore.events import Callback, as_callbacks
from hetcore.kernels.layout import MISSING_BIN
from hetcore.parameters import Interval, OneOf, Whole
from hetcore.schema import Part, Value
from hetcore.targets import Problem, Scale
from hetcore.trees import MANY_LABELS

__all__ = ["FEATURES", "Classifies", "Collective", "sizes"]

FEATURES = ("rf1", "rf2", "rf3", "rf4")
# What a class has no parameter for.
OTHERWISE = {
    "summary": "mean", "shrinkage": 3.0, "inferred_weight": 0.3, "edge_weights": False, "counts": True,
    "no_neighbor": None, "sweeps": None, "tol": 0.0, "damping": 0.0, "direction": "both", "hops": 0, "mix": True,
    "rounds": "random", "n_rounds": 3, "first_rf2": "zero", "estimate": "first", "leaf": "mean",
    "target_transform": None, "as_printed": False,
}  # fmt: skip
# What None stands for: (by default, as printed).
NONE = {"max_depth": (None, 5), "min_samples_leaf": (None, 1), "no_neighbor": ("nan", "zero"), "sweeps": (10, 50)}


def sizes(n_outputs: int, n_labels: int = 0) -> dict[str, Any]:
    """Return what None stands for by number of classes, 1 for numbers, and of labels.

    The more classes, the dearer a tree; the more labels, the more it can learn.
    """
    several, many = n_outputs > SEVERAL, n_labels >= MANY_LABELS
    rate = 0.15 if several else 0.1 if many else 0.05
    shape = {"max_depth": 7 if many else 4, "column_sample": 1.0 if many else 0.5}
    return {"first_trees": 75 if several else 400, "learning_rate": rate} | shape


class CollectiveProblem(NamedTuple):
    """What a fit starts from: labels and data, the graphs to infer along by name, all parameters."""

    problem: Problem
    graphs: dict[str, Any]
    params: dict[str, Any]


class Collective(BoostedEstimator):
    """Base of GB, RGB and MGB.

    Attributes
    ----------
    n_iterations_ : int
        Stages done, the first counted.
    n_stages_ : int
        Stages kept.
    became_gb_ : bool
        Whether neighbours have no part in the model though they might have had: F_0 was not clearly better with them
        on left-out labels (`mix`), or there is no link. The model is then GB's, bit for bit. Never True of GB itself.
    history_ : polars DataFrame
        One row per stage: "iteration", "seconds", "loss:SET", "metric:SET", "autocorrelation:GRAPH".

    Notes
    -----
    Each event (`RoundEnd`) is one stage m = 0..M, its `total` is M + 1. `losses`: "train", "left_out" (not as printed)
    and "held_out" (with `eval_y`), of the scaled target. `residual_autocorrelation`: by graph, of held-out residuals
    where there are some, else of the left-out (as printed: the training) ones. `detail`:

    - "metric_name": "RMSE" (in the labels' unit) or "error"; "metric": {"train", "left_out", "held_out"};
    - "stage": m; "best_stage": the stage that would predict so far (m as printed); "became_gb": see `became_gb_`;
    - "moran": {graph: Moran's I of these residuals}; "band": {graph: [low, high]}, where 95% of the I's of shuffled
      residuals lie; "label_moran": {graph: Moran's I of the targets of the same instances}; for classes, of the
      probability that was missing for the true class, and of the first class;
    - "sweeps": list of the largest change of an unlabelled instance's prediction in each sweep of the inference after
      this stage, in the labels' unit (of the logarithm with target_transform="log"; a probability for classes);
    - "visits": list of how many instances each sweep visited; around the others nothing changed; "moving": of how many
      predictions changed by more than `tol`.
    """

    _features: ClassVar[tuple[str, ...]]
    _printed: type = Algorithm1

    def fit(
        self,
        data: HetData,
        y: Any = None,
        *,
        graph: Any = None,
        callbacks: Iterable[Callback] = (),
        eval_y: Any = None,
    ) -> Any:
        """Fit to the labelled instances; the unlabelled ones are inferred together with them.

        Parameters
        ----------
        data : HetData
        y : (n,) array-like, optional
            Replaces `data.y`; NaN or None is unlabelled.
        graph : str or list of str, optional
            Graphs to use; all by default. GB uses none, and measures the residuals' autocorrelation along them.
        callbacks : iterable of callable, default=()
            Each is called after every stage with a `RoundEnd` and may return True to stop.
        eval_y : (n,) array-like, optional
            Labels to score each stage by ("held_out"), never trained on.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is outside its domain, or `graph` is no name or list of names, or is empty.
        DataError
            If there is nothing to learn from, no graph to infer along, or none of a name that is given.
        """
        callbacks = as_callbacks(callbacks)
        # whoever watches wants a prediction at each stage; else only the last one is inferred
        return self._fit(callbacks, data, y, graph, eval_y, watched=bool(callbacks))

    def _problem(self, data: HetData, y: Any, graph: Any, eval_y: Any, watched: bool) -> CollectiveProblem:
        self._look_at(data)
        params = self._params() | {"watched": watched}
        graphs = self._chosen_graphs(data, graph)
        self._unit = TargetTransform(params["target_transform"] == "log")
        # the labels are transformed before anything is learned from them, those to score by as well
        y = self._unit.learned(data, data.y if y is None else y, "The target")
        problem = Problem.of(data, y, self._unit.learned(data, eval_y, "eval_y"), self._task)
        usual = sizes(problem.scale.n_outputs, int(problem.labelled.sum()))
        # of classes they err hardly less, and take two to three times as long where columns are many
        all_columns = params["column_sample"] is None and params["mix"]
        params["oblivious_trees"] = all_columns and not problem.scale.is_classifier
        params |= {name: each for name, each in usual.items() if params[name] is None}
        return CollectiveProblem(problem, graphs, params)

    def _total(self, problem: CollectiveProblem) -> int:
        return problem.params["n_iterations"] + 1

    def _params(self) -> dict[str, Any]:
        """Return all parameters with what None stands for."""
        given = self.get_params(deep=False)
        params = {"features": getattr(self, "_features", None)} | OTHERWISE | given
        printed = int(params["as_printed"])
        for name, values in NONE.items():
            params[name] = values[printed] if params[name] is None else params[name]
        params["features"] = tuple(params["features"])
        return params

    def _chosen_graphs(self, data: HetData, graph: Any) -> dict[str, Any]:
        given = isinstance(graph, Iterable) and not isinstance(graph, str)
        names = data.graph_names if graph is None else list(graph) if given else [graph]
        if not all(isinstance(name, str) for name in names):
            raise ParameterError(f"graph={quoted(graph)} must be the name of a graph, a list of names or None for all.")
        strange = [name for name in names if name not in data.graphs]
        if strange:
            raise DataError(
                f"There is no graph {quoted(strange[0])} among {listed(data.graph_names)}: name one of them."
            )
        if not names and self._needs_graphs:
            what = f"{type(self).__name__} infers along graphs, and"
            if graph is None:
                raise DataError(f"{what} the data have none: give HetData one.")
            raise ParameterError(f"{what} graph={quoted(graph)} leaves none: name one.")
        return {name: data.graphs[name] for name in names}

    @property
    def _needs_graphs(self) -> bool:
        return bool(getattr(self, "features", getattr(type(self), "_features", ())))

    def _start(self, given: CollectiveProblem) -> Any:
        problem, graphs, params = given
        problem = unscaled(problem) if params["as_printed"] else problem
        self._graphs = graphs
        links = graphs if params["features"] else {}
        net = net_of(list(links.values()), problem.data.n, params["edge_weights"], params["direction"])
        hops = (0, 0) if params["as_printed"] or not net.indices.size else self._hops(params)
        # the training graph of Algorithm 3 has known instances alone, so bins come of them
        learned_from = problem.labelled if params["as_printed"] else slice(None)
        most = MISSING_BIN if params["as_printed"] else bins_of(problem.scale)
        self._columns, values, bins = StaticColumns.fitted(problem.data, net, *hops, learned_from, max_bins=most)
        if params["as_printed"]:
            return self._printed(problem, links, (bins, self._columns.mapper.n_bins), params)
        return CrossFitted(problem, links, (self._columns, values, bins), params)

    def _hops(self, params: dict[str, Any]) -> tuple[int, int]:
        """Return how far neighbours' features and their known labels are seen."""
        return params["hops"], params["hops"]

    def _view(self, state: Any) -> dict[str, Any]:
        if not state.params["as_printed"]:
            # as printed there are no out-of-fold predictions to learn a smearing factor from
            self._unit.fit(*(state.problem.scale.labels(each) for each in (state.target, state.out_of_fold)))
        return described(state, self._graphs, self._unit)

    def _finish(self, state: Any) -> None:
        params, scale = state.params, state.problem.scale
        self.n_stages_ = state.best + 1
        printed, view = params["as_printed"], state.asked
        how = InferenceParams(
            linked=bool(state.features),
            as_printed=printed,
            residuals=printed and self._printed is Algorithm3,
            estimate=params["estimate"],
            weighted=params["edge_weights"] and not printed,
            direction=params["direction"],
            inferred_weight=1.0 if printed else params["inferred_weight"],
            sweeps=params["sweeps"],
            tol=0.0 if printed else params["tol"],
            damping=0.0 if printed else params["damping"],
            # drawn here, and kept, so that every prediction of the model sweeps in the same orders
            seed=int(state.rng_sweeps.integers(1 << 31)),
        )
        messages = np.zeros((state.labelled.size, self.n_stages_ * scale.n_outputs))
        known = view.state.messages[state.labelled, : messages.shape[1]]
        # as printed fewer stages may have sent than there are
        messages[:, : known.shape[1]] = known
        ids, graphs = state.problem.data.id_series[state.labelled], list(state.graphs)
        stack, base = state.predictor
        parts = base, stack.first(self.n_stages_), graphs, view.aggregation, how, ids, messages
        alone = None if printed else state.alone
        fold = None if self._columns.by_category is None else state.fold
        self.model_ = CollectiveModel(scale, self._columns, *parts, alone=alone, fold=fold)
        self.smearing_factor_ = self._unit.smearing_factor
        if scale.is_classifier:
            self.classes_ = scale.classes
        # what the fit alone needs would be kept with the estimator, the size of the data
        del self._columns, self._graphs, self._unit

    @property
    def became_gb_(self) -> bool:
        """Whether neighbours have no part in the model though they might have had."""
        check_is_fitted(self)
        return bool(self._params()["features"]) and not self.model_.how.linked

    @property
    def _known_parts(self) -> tuple[Collection[str], Collection[str]]:
        return self.model_.columns.encoders, self.model_.graphs

    @property
    def _category_labels(self) -> CategoryLabels | None:
        return self.model_.columns.by_category

    def _fitted(self, data: HetData, y: Any, traced: list | None = None) -> NDArray[np.float64]:
        self._check_predictable(data)
        return self.model_.infer(data, self._labels_shown(data, y), traced)

    def _labels_shown(self, data: HetData, y: Any) -> HetData | None:
        """Return the data with the labels that neighbours show; None for those of the fit."""
        if y is None:
            return None
        shown = data.with_target(self._learned_unit.learned(data, y, "y"), self._task)
        if self._task == "classification":
            given = shown.y[shown.labelled].astype(str)
            unknown = given[~np.isin(given, self.classes_.astype(str))]
            if unknown.size:
                # passed over, the neighbours would be asked another question than the one that was put
                raise DataError(
                    f"y has {counted(unknown.size, 'label')} of a class that the model was not trained on, such as "
                    f"{quoted(str(unknown[0]))}: hide them (None), or fit with a label of each class."
                )
        return shown

    @property
    def _learned_unit(self) -> TargetTransform:
        return TargetTransform(self._fit_params.get("target_transform") == "log", self.smearing_factor_)

    def predict(self, data: HetData, y: Any = None) -> NDArray:
        """Predict each instance, as if its own label were unknown, from its features and its neighbours.

        Parameters
        ----------
        data : HetData
            The data of the fit, perhaps changed (`with_edges`, `with_noise`, ...), or others.
        y : (n,) array-like, optional
            The labels that neighbours show; by default those of the fit, by id. For what-if questions: the labels of
            the fit with some hidden or added, each instance keeping its turn in the sweeps, so that answers differ by
            the question alone. The labels in `data` are not looked at.

        Returns
        -------
        (n,) float64 or object, aligned with `data.ids`
            In the labels' unit, or class names.

        Raises
        ------
        DataError
            If `y` has a label of a class that the model was not trained on.
        """
        fitted = self._fitted(data, y)
        return self._learned_unit.back(self.model_.scale.labels(fitted))

    def sweep_trace(self, data: HetData, ids: Any = None, y: Any = None) -> NDArray[np.float32]:
        """Return how predictions moved while they were inferred together.

        Parameters
        ----------
        data : HetData
        ids : str or sequence of str, optional
            Instances; all by default.
        y : (n,) array-like, optional
            As in `predict`.

        Returns
        -------
        (1 + sweeps, len(ids)) float32, or (1 + sweeps, len(ids), K) for classes
            In the labels' unit, or probabilities. Row 0 is the start, each further row the state after a sweep; a label
            that is known stands as it is.

        Raises
        ------
        DataError
            If an id is none of the data's.
        """
        # before the sweeps, which may take long
        check_het_data(data, "A prediction")
        places = np.arange(data.n) if ids is None else data._places(ids)
        traced: list[NDArray] = []
        self._fitted(data, y, traced)
        predicted = np.stack(traced)[:, places]
        scale: Scale = self.model_.scale
        if scale.is_classifier:
            # probabilities are kept less the mean
            return (predicted + scale.mean).astype(np.float32)
        values = self._learned_unit.back(scale.labels(predicted))
        known = self._known(data, y)[places]
        # a known label is shown as given, without the factor that unbiases predictions
        values[:, known] = TargetTransform(self._learned_unit.log).back(scale.labels(predicted[:, known]))
        return values.astype(np.float32)

    def staged_predict(self, data: HetData, y: Any = None) -> NDArray:
        """Return what is predicted after each stage, among neighbours as they were inferred in the end.

        Parameters
        ----------
        data : HetData
        y : (n,) array-like, optional
            As in `predict`.

        Returns
        -------
        (n_stages_, n) float64 or object
            In the labels' unit, or class names; the last row is what `predict` returns.
        """
        self._check_predictable(data)
        staged = self.model_.staged(data, self._labels_shown(data, y))
        return np.stack([self._learned_unit.back(self.model_.scale.labels(each)) for each in staged])

    def _known(self, data: HetData, y: Any) -> NDArray[np.bool_]:
        """Return whose label is shown, (n,)."""
        if y is None:
            return positions(data.id_series, self.model_.ids) >= 0
        return data.with_target(y, self._task).labelled

    @classmethod
    def _from_format_1(
        cls, parameters: dict[str, Any], meta: dict[str, Any], arrays: dict[str, NDArray]
    ) -> tuple[type, dict[str, Any], dict[str, Any], dict[str, NDArray]]:
        """Return class, parameters and state of today for what a file of format 1 holds."""
        # a file of format 1 may be of a later state: formats are of the archive
        if not is_of_format_1(meta, arrays):
            return cls, parameters, meta, arrays
        known = set(cls().get_params(deep=False))
        named = parameters_of_today(parameters, known, getattr(cls, "_features", ()))
        return cls, named, *state_of_today(meta, arrays, cls._task)

    _stored = {
        "model": Part(CollectiveModel, "K", at="", inline=True),
        "smearing_factor": Value(Interval(0, ends="()"), key="smear"),
        "n_iterations": Whole(1), "_task": Value(OneOf("classification", "regression"), key="task"),
    }  # fmt: skip

    def _restored(self, sizes: dict[str, int]) -> str:
        if hasattr(self, "features"):
            self.features = tuple(self.features)  # JSON has lists alone
        scale, self.n_stages_ = self.model_.scale, self.model_.stack.n_stages
        if scale.is_classifier:
            self.classes_ = scale.classes
        if not self._task == type(self)._task == ("classification" if scale.is_classifier else "regression"):
            return "The labels of the model file are not those of this kind of model"
        fits = self.n_stages_ <= self.n_iterations_ <= self._params()["n_iterations"] + 1
        return "" if fits else "The model file's stages do not add up"


class Classifies:
    """Probabilities of a collective classifier."""

    def predict_proba(self, data: HetData, y: Any = None) -> NDArray[np.float64]:
        """Return the probability in [0, 1] of each class in the order of `classes_`, (n, K); `y` as in `predict`."""
        return self._fitted(data, y)
