"""Repeated cross-fitting: where few rows are labelled, the mean of several fits of the default.

Of fifty labels it is luck which five a fold has. Each fit deals the labelled rows to folds of its own, draws its own
rows and columns, and weighs its own views; raw scores, weights and contributions are means over the fits, as
Chernozhukov et al. 2018 ("Double/debiased machine learning", section 3.4) average over splits. A labelled row is left
out once in each. The fits go side by side, round by round, until each has ended, with one lambda1 for all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.boosting import ViewBoosting
from hetcore.consensus.executor import Executor
from hetcore.consensus.recall import MEMORY, held_beside
from hetcore.consensus.view_consensus import choose_lambda1
from hetcore.consensus.view_predictor import ViewModel, added
from hetcore.consensus.views import ViewColumns
from hetcore.data import HetData
from hetcore.errors import MissingColumnsWarning
from hetcore.kernels.threads import run_each
from hetcore.schema import Stored, parts
from hetcore.targets import Problem, Scale

__all__ = ["RepeatedBoosting", "RepeatedModel", "added_by", "model_of", "repeats_for", "start"]

FEW, VERY_FEW = 300, 60  # labelled rows up to which two fits are made, and below which four
ROOM = 256 << 20  # bytes in which the fits share what no label changes
MOST_INSTANCES = 5_000  # beyond, columns cost more than rounds, and are not made twice
NUMBERS = count()  # of the repeated fits of this process


def repeats_for(problem: Problem, params: dict[str, Any]) -> int:
    """Return how many fits are made: as asked for, or by the number of labelled rows."""
    if params["n_repeats"] != "auto":
        return int(params["n_repeats"])
    labelled = int(problem.labelled.sum())
    # tables that stay where they are would be read again
    if labelled > FEW or problem.data.n > MOST_INSTANCES or not params["join_tables"]:
        return 1
    return 4 if labelled < VERY_FEW else 2


def start(
    problem: Problem, params: dict[str, Any], rng: np.random.Generator, executor: Executor
) -> ViewBoosting | RepeatedBoosting:
    """Return the state of a fit, or of several."""
    repeats = repeats_for(problem, params)
    if repeats == 1:
        return ViewBoosting.start(problem, params, rng, executor)
    # a name that no other fit of this process has; where fits are recalled, each is by what it is made from
    alike, fits = "" if MEMORY.room else f"repeated {next(NUMBERS)}", []
    with MEMORY.at_least(ROOM):
        for _ in range(repeats):
            with held_beside():
                fits.append(ViewBoosting.start(problem, params, rng, executor, alike))
            # lambda0 is chosen once
            params = params | {"lambda0": fits[0].lambda0}
    return RepeatedBoosting(fits)


class RepeatedBoosting:
    """The state of several fits of the default, which go side by side; what it says is their mean.

    Parameters
    ----------
    fits : list of ViewBoosting
        Of the same problem, with views of the same names.
    """

    def __init__(self, fits: list[ViewBoosting]) -> None:
        self.fits, self.going = fits, list(fits)
        first = fits[0]
        self.problem, self.params, self.executor = first.problem, first.params, first.executor
        self.outputs, self.columns, self.view_names = first.outputs, first.columns, first.view_names
        self.lambda0 = first.lambda0
        self._of_ended: dict[tuple[str, int], Any] = {}

    @property
    def repeats(self) -> int:
        """How many fits there are."""
        return len(self.fits)

    def round(self) -> bool:
        """Do one round of each fit that has not ended; return whether nothing is left to do."""
        # side by side, the parts of a round too that are not shared out by view
        run_each(lambda each: each.learn(), self.going, self.executor.n_jobs)
        # one lambda1 for all, the ended ones among them, for it has one value to a person
        ended = [each for each in self.fits if each not in self.going]
        if choose_lambda1(self.going, ended):
            for each in ended:
                each.smooth_again()
            # one that is asked to stop in it goes back to the graphs' weights of the round before
            self._of_ended.clear()
        self.going = [each for each in self.going if not each.conclude()]
        return not self.going

    @property
    def asked_to_stop(self) -> Callable[[], bool]:
        """Whether the fit is to end: see `ViewConsensus`."""
        return self.fits[0].asked_to_stop

    @asked_to_stop.setter
    def asked_to_stop(self, asked: Callable[[], bool]) -> None:
        for each in self.fits:
            each.asked_to_stop = asked

    def _mean(self, of: Callable[[ViewBoosting], Any]) -> Any:
        return sum(of(each) for each in self.fits) / len(self.fits)

    def _weighed(self, name: str) -> list[Any]:
        """Return what a method that smoothing doesn't change gives of each fit; of one that has ended it is kept."""
        found = []
        for i, fit in enumerate(self.fits):
            value = self._of_ended[name, i] if (name, i) in self._of_ended else getattr(fit, name)()
            if fit not in self.going:
                self._of_ended[name, i] = value
            found.append(value)
        return found

    def _mean_by_name(self, of: Callable[[ViewBoosting], dict[str, float]]) -> dict[str, float]:
        found = [of(each) for each in self.fits]
        return {name: sum(each[name] for each in found) / len(found) for name in found[0]}

    @property
    def raw(self) -> NDArray[np.float64]:
        """Raw scores (n, K); labelled rows as trained."""
        return self._mean(lambda fit: fit.raw)

    @property
    def held_back(self) -> NDArray[np.float64]:
        """Raw scores (n, K); each labelled row by the members that did not see it."""
        return self._mean(lambda fit: fit.held_back)

    def alone(self) -> dict[str, tuple[NDArray, NDArray]]:
        """Return by table what its own views say (n, K), and which instances it has."""
        found = self._weighed("alone")
        return {name: (sum(each[name][0] for each in found) / len(found), has) for name, (_, has) in found[0].items()}

    @property
    def effective(self) -> NDArray[np.float64]:
        """Each view's part of E (v,)."""
        return self._mean(lambda fit: fit.effective)

    def dealt(self) -> NDArray[np.float64]:
        """Return the part of each view's weight that is each table's, then each graph's (v, p + q)."""
        return sum(self._weighed("dealt")) / len(self.fits)

    def source_weights(self, dealt: NDArray) -> dict[str, float]:
        """Return the tables' parts, normalised."""
        return self.fits[0].source_weights(dealt)

    @property
    def graph_weights(self) -> dict[str, float]:
        """w^."""
        return self._mean_by_name(lambda fit: fit.graph_weights)

    @property
    def last_losses(self) -> dict[str, float]:
        """The out-of-fold loss of each view in its last round, by name."""
        return self._mean_by_name(lambda fit: fit.last_losses)

    @property
    def lambda1(self) -> float:
        """As given, or as chosen for all."""
        return self.fits[0].lambda1

    @property
    def sharpness(self) -> float:
        """q, the mean where each has chosen its own."""
        return self._mean(lambda fit: fit.sharpness)

    @property
    def residual_share(self) -> float:
        """How much of the neighbours' mean residual is added."""
        return self._mean(lambda fit: fit.residual_share)

    @property
    def paths(self) -> dict[str, list[tuple[float, float]]]:
        """Of each lambda that "auto" has chosen: the values tried, and the out-of-fold loss of each."""
        return self.fits[0].paths


@dataclass
class RepeatedModel(Stored):
    """Several fits of the default after the last round: the mean of their models.

    Attributes
    ----------
    models : list of ViewModel
    """

    kind = "repeated views"

    models: list[ViewModel] = parts(ViewModel, "K k", at="fit {0}")

    def _fault(self, sizes: dict[str, int]) -> str:
        names = [(each.source_names, list(each.graph_weights)) for each in self.models]
        same = bool(names) and all(each == names[0] for each in names)
        return "" if same else "The fits of the model file are not of the same tables and graphs"

    @property
    def scale(self) -> Scale | None:
        """The labels' scale, kept once in a file, as the estimator's."""
        return self.models[0].scale

    @scale.setter
    def scale(self, scale: Scale) -> None:
        for each in self.models:
            each.scale = scale

    @property
    def source_names(self) -> list[str]:
        return self.models[0].source_names

    @property
    def columns(self) -> ViewColumns:
        """Those of the first fit."""
        return self.models[0].columns

    def stripped(self, data: HetData) -> int:
        """Return how many labelled instances have lost their records: see `ViewModel.stripped`."""
        return self.models[0].stripped(data)

    def contributions(self, data: HetData) -> list[NDArray[np.float64]]:
        """Return the means of `ViewModel.contributions`."""
        return _means(self._of_each(lambda model: model.contributions(data)))

    def by_row(self, data: HetData) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        """Return the means of `ViewModel.by_row`."""
        plain, adds = zip(*self._of_each(lambda model: model.by_row(data)))
        return _means(plain), _means(adds)

    def alone(self, data: HetData) -> list[NDArray[np.float64]]:
        """Return what each table's own views add to the prior, (n, K) each: see `ViewModel.alone`."""
        return _means(self._of_each(lambda model: model.alone(data)))

    def _of_each(self, asked: Callable[[ViewModel], Any]) -> list[Any]:
        """Return what each model answers; what the first warns of columns that are gone is true of all."""
        first = asked(self.models[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingColumnsWarning)
            return [first, *map(asked, self.models[1:])]

    def fitted(self, data: HetData, graph_weights: Any, adds: list[NDArray]) -> NDArray[np.float64]:
        """Return probabilities (n, K) or standardised numbers (n, 1) from the contributions."""
        return self.models[0].fitted(data, graph_weights, adds)


def _means(found: Sequence[list[NDArray]]) -> list[NDArray[np.float64]]:
    return [sum(each) / len(found) for each in zip(*found)]


def model_of(state: ViewBoosting | RepeatedBoosting) -> ViewModel | RepeatedModel:
    """Return the model of a fit's state."""
    if isinstance(state, RepeatedBoosting):
        return RepeatedModel([ViewModel.of(each) for each in state.fits])
    return ViewModel.of(state)


def added_by(state: ViewBoosting | RepeatedBoosting, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each table, then each graph, adds in the present round: see `hetcore.consensus.view_predictor`."""
    if isinstance(state, RepeatedBoosting):
        return sum(added(each, rows) for each in state.fits) / len(state.fits)
    return added(state, rows)
