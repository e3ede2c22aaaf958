"""What remains of a collective fit: everything that predicts, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.checks import finite
from hetcore.collective.algorithms import SENDS, algorithm4
from hetcore.collective.base_model import Mix
from hetcore.collective.inference import Inference, net_of, unlinked
from hetcore.collective.stages import Stack
from hetcore.collective.static_columns import StaticColumns
from hetcore.data import HetData
from hetcore.data.identity import positions
from hetcore.kernels.collective_columns import Aggregation, Net
from hetcore.kernels.collective_sweeps import REMAINDER, Stages
from hetcore.parameters import Domain, Flag, Interval, OneOf, Whole
from hetcore.schema import IDS, TEXTS, Array, Part, Stored, Value, value
from hetcore.targets import Scale

__all__ = ["DIRECTIONS", "CollectiveModel", "InferenceParams"]

DIRECTIONS = ("both", "in", "out")
STARTS = ("stages", "targets")


@dataclass(frozen=True)
class InferenceParams(Stored):
    """How the unknown are inferred.

    Attributes
    ----------
    linked : bool
        Whether anything is seen of neighbours' messages.
    as_printed, residuals : bool
        Whether by Algorithms 2 and 4, and whether known instances' residuals are recomputed (Algorithm 4).
    estimate : {"first", "sum"}
        As printed: see `hetcore.collective.algorithms`.
    weighted : bool
        Whether edges count by their weights.
    direction : {"both", "in", "out"}
    inferred_weight : float
        How much an instance of unknown label counts beside a known one's 1.
    sweeps : int
    tol : float
        In the scale's unit.
    damping : float
    seed : int
        Of the order of the sweeps.
    start : {"stages", "targets"}
        Where the first messages come from; "targets" in models of numbers that hetcore 0.1 fitted as printed.
    """

    linked: bool = value(Flag())
    as_printed: bool = value(Flag())
    residuals: bool = value(Flag())
    estimate: str = value(OneOf(*SENDS))
    weighted: bool = value(Flag())
    direction: str = value(OneOf(*DIRECTIONS))
    inferred_weight: float = value(Interval(0, 1))
    sweeps: int = value(Whole(0, 2**63 - 1))
    tol: float = value(Interval(0))
    damping: float = value(Interval(0, 1))
    seed: int = value(Whole(0, 2**63 - 1))
    start: str = value(OneOf(*STARTS), default="stages")


def _plain_aggregation(aggregation: Aggregation) -> dict[str, Any]:
    # JSON has no NaN
    return {name: None if number != number else number for name, number in aggregation._asdict().items()}


def _aggregation(given: dict[str, Any]) -> Aggregation:
    # a whole number in a file is a float too: for another type the sweeps would be compiled anew
    numbers = [np.nan if given[name] is None else float(given[name]) for name in Aggregation._fields[1:]]
    return Aggregation(given["median"], *numbers)


AGGREGATION = Value(
    Domain(
        lambda v: (
            set(v) == set(Aggregation._fields)
            and isinstance(v["median"], bool)
            and v["shrinkage"] in Interval(0, 1e9)
            and all(v[name] is None or finite(v[name]) for name in Aggregation._fields[2:])
        ),
        "a known way to sum up neighbours",
    ),
    _aggregation,
    _plain_aggregation,
)


@dataclass
class CollectiveModel(Stored):
    """A fitted model.

    Attributes
    ----------
    scale : Scale
    columns : StaticColumns
    base : Mix
        F_0, over the static columns.
    stack : Stack
    graphs : list of str
    aggregation : Aggregation
    how : InferenceParams
    ids : polars Series (m,)
        The labelled instances of the fit.
    messages : (m, S K) float64
        Theirs: see `Inference`.
    alone : Mix, optional
        Own columns' part of F_0, for instances without a neighbour where the fit had hardly one.
    fold : (m,) int64, optional
        Of the labelled instances, where there are columns of labels by category.
    """

    _stored = {
        "columns": Part(StaticColumns, "w", at=""), "messages": Array("m s"), "scale": Part(Scale, "K"),
        "stack": Part(Stack, "K d=w"), "base": Part(Mix, "d=w"), "graphs": Value(TEXTS), "aggregation": AGGREGATION,
        "how": Part(InferenceParams), "ids": IDS, "alone": Part(Mix, "d=w", optional=True),
        "fold": Array("m", np.int64, 0, optional=True),
    }  # fmt: skip

    scale: Scale
    columns: StaticColumns
    base: Mix
    stack: Stack
    graphs: list[str]
    aggregation: Aggregation
    how: InferenceParams
    ids: pl.Series
    messages: NDArray[np.float64]
    alone: Mix | None = None
    fold: NDArray[np.int64] | None = None

    def infer(self, data: HetData, labels: HetData | None, traced: list | None = None) -> NDArray[np.float64]:
        """Return probabilities (n, K), or numbers (n, 1) in the scale's unit, each as if its own label were unknown.

        Parameters
        ----------
        data : HetData
        labels : HetData, optional
            Whose `y` is what is known, in the learned unit; by default what was known in the fit.
        traced : list, optional
            Receives the targets' messages (n, K) at the start and after every sweep.
        """
        return self._inferred(data, labels, traced)[0]

    def staged(self, data: HetData, labels: HetData | None) -> NDArray[np.float64]:
        """Return what `infer` is after each stage (S, n, K): the last is what is inferred, those before are what the
        first stages say of an instance among neighbours as they ended.
        """
        fitted, stages, view = self._inferred(data, labels, None)
        scores = view.staged(stages, np.arange(data.n))
        scores[:, -1] = fitted
        return np.moveaxis(scores, 1, 0)

    def _inferred(
        self, data: HetData, labels: HetData | None, traced: list | None
    ) -> tuple[NDArray[np.float64], Stages, Inference]:
        known, new, view = self._inference(data, labels)
        stages, lone = self._stages(data, view, known)
        rows = np.flatnonzero(known)
        # with labels given, a fixed order, so that one label more does not reshuffle the sweeps
        rng, fixed = np.random.default_rng(self.how.seed), labels is not None
        if self.how.as_printed:
            # without links one pass through the stages is all
            sweeps = self.how.sweeps if self.how.linked else 0
            settings = {"sweeps": sweeps, "traced": traced, "fixed_order": fixed}
            algorithm4(view, stages, rows, self.how.residuals, rng, **settings)
            fitted = self.scale.fitted(view.scores.copy())
        else:
            self._default(view, stages, new, rng=rng, traced=traced, fixed=fixed)
            fitted = view.state.messages[:, : self.scale.n_outputs] + self._center
        # a known instance is predicted as if its label were unknown, from its neighbours as they ended
        fitted[known] = view.staged(stages, rows)[:, -1]
        if lone is not None:
            fitted[unlinked(view.net)] = lone
        return fitted, stages, view

    def _default(
        self,
        view: Inference,
        stages: Stages,
        new: NDArray[np.int64],
        rng: np.random.Generator,
        traced: list | None,
        fixed: bool,
    ) -> None:
        begin = view.begin_from_targets if self.how.start == "targets" else view.begin
        begin(stages, self.how.inferred_weight)
        # labels that the fit did not know have no residuals yet
        if new.size:
            self._set_residuals(view, new, view.staged(stages, new))
        if traced is not None:
            traced.append(view.state.messages[:, : self.scale.n_outputs].copy())
        if self.how.linked:
            settings = {"damping": self.how.damping, "traced": traced, "fixed_order": fixed}
            view.infer(stages, rng, self.how.sweeps, self.how.tol, **settings)

    def _stages(
        self, data: HetData, view: Inference, known: NDArray[np.bool_]
    ) -> tuple[Stages, NDArray[np.float64] | None]:
        """Return the stages over the columns of `data`, from F_0 on, and what own columns alone say of instances
        without a neighbour, where they do.
        """
        # messages of stage 0 are the targets
        targets = view.state.messages[:, : self.scale.n_outputs]
        fold = np.full(data.n, -1)
        if self.fold is not None:
            place = positions(data.id_series, self.ids)
            fold[place >= 0] = self.fold[place[place >= 0]]
        values, bins = self.columns.table(data, view.net, targets, known, fold)
        prior, lone = self.scale.prior + self.base.predict(values, bins), None
        if self.alone is not None:
            rows = np.flatnonzero(unlinked(view.net))
            lone = self.scale.fitted(self.scale.prior + self.alone.predict(values, bins, rows))
        sends = SENDS[self.how.estimate] if self.how.residuals else REMAINDER
        return self.stack.ready(np.ascontiguousarray(bins.T), self.scale, prior, sends), lone

    @property
    def _center(self) -> NDArray[np.float64]:
        return self.scale.mean if self.scale.is_classifier else np.zeros(1)

    def _net(self, data: HetData) -> Net:
        graphs = [data.graphs.get(name) for name in self.graphs]
        return net_of(graphs, data.n, self.how.weighted, self.how.direction)

    def _inference(
        self, data: HetData, labels: HetData | None
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], Inference]:
        """Return who is known, which of them the fit did not know as such, and the messages."""
        place, K = positions(data.id_series, self.ids), self.scale.n_outputs
        met = place >= 0
        messages = np.zeros((data.n, self.messages.shape[1]))
        messages[met] = self.messages[place[met]]
        # who is known was known to the fit, or is said now
        known = met if labels is None else labels.labelled
        new = np.empty(0, np.int64)
        if labels is not None:
            target = np.where(known[:, None], self.scale.codes(labels.y, known) - self._center, 0.0)
            # a label that is the same as the fit knew keeps its residuals
            new = np.flatnonzero(known & ~(met & (np.abs(target - messages[:, :K]) < 1e-9).all(axis=1)))
            messages[~known] = 0.0
            messages[new] = 0.0
            messages[new, :K] = target[new]
        directed = self.how.direction != "both"
        view = Inference.over(
            self._net(data), self.aggregation, messages.shape[1] // K - 1, n_outputs=K, known=known, directed=directed
        )
        view.state.messages[:] = messages
        return known, new, view

    def _set_residuals(self, view: Inference, rows: NDArray[np.int64], staged: NDArray) -> None:
        """Set the residuals of instances whose labels the fit did not know."""
        target = view.state.messages[rows, : self.scale.n_outputs] + self._center
        for stage in range(1, staged.shape[1]):
            view.set_messages(rows, stage, target - staged[:, stage - 1])

    def _fault(self, sizes: dict[str, int]) -> str:
        G, K = len(self.graphs), self.scale.n_outputs
        nodes, rows = self.stack.nodes, (len(self.ids), self.stack.n_stages * K)
        seen = nodes["feature"].max(initial=0) < sizes["w"] + G * (3 * K + 1) + K
        by_category = self.columns.by_category
        if (by_category is None) != (self.fold is None):
            return "The labels by category and the folds of the model file do not belong together"
        if by_category is not None and not 0 <= self.fold.max(initial=0) < by_category.sums.shape[1]:
            return "The folds of the model file are not those of its labels by category"
        if seen and self.columns.fits(G, K) and self.messages.shape == rows and self.base.n_outputs == K:
            return ""
        return "The columns, the stages or the messages of the model file are not those of its graphs"
