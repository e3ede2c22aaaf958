"""What remains of a collective fit: everything that predicts, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.checks import number_in
from hetcore.collective.algorithms import SENDS, algorithm4
from hetcore.collective.inference import Inference, net_of
from hetcore.collective.stages import Stack
from hetcore.collective.static_columns import StaticColumns, with_prefix
from hetcore.data import HetData
from hetcore.data.identity import positions
from hetcore.errors import ModelFileError
from hetcore.forest import Forest
from hetcore.kernels.collective_columns import Aggregation, Net
from hetcore.kernels.collective_sweeps import REMAINDER, Stages
from hetcore.targets import Scale

__all__ = ["DIRECTIONS", "CollectiveModel", "InferenceParams"]

DIRECTIONS = ("both", "in", "out")
STARTS = ("stages", "targets")


@dataclass(frozen=True)
class InferenceParams:
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

    linked: bool
    as_printed: bool
    residuals: bool
    estimate: str
    weighted: bool
    direction: str
    inferred_weight: float
    sweeps: int
    tol: float
    damping: float
    seed: int
    start: str = "stages"


@dataclass
class CollectiveModel:
    """A fitted model.

    Attributes
    ----------
    scale : Scale
    columns : StaticColumns
    base : Forest
        Trees before the stages, over the static columns.
    stack : Stack
    graphs : list of str
    aggregation : Aggregation
    how : InferenceParams
    ids : polars Series (m,)
        The labelled instances of the fit.
    messages : (m, S K) float64
        Theirs: see `Inference`.
    """

    scale: Scale
    columns: StaticColumns
    base: Forest
    stack: Stack
    graphs: list[str]
    aggregation: Aggregation
    how: InferenceParams
    ids: pl.Series
    messages: NDArray[np.float64]

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
        known, new, view = self._inference(data, labels)
        stages, rows = self._stages(data, view, known), np.flatnonzero(known)
        rng, fixed = np.random.default_rng(self.how.seed), labels is not None
        if self.how.as_printed:
            sweeps = self.how.sweeps if self.how.linked else 0
            settings = {"sweeps": sweeps, "traced": traced, "fixed_order": fixed}
            algorithm4(view, stages, rows, self.how.residuals, rng, **settings)
            fitted = self.scale.fitted(view.scores.copy())
        else:
            self._default(view, stages, new, rng, traced, fixed)
            fitted = view.state.messages[:, : self.scale.n_outputs] + self._center
        fitted[known] = view.staged(stages, rows)[:, -1]
        return fitted

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
        if new.size:
            self._set_residuals(view, new, view.staged(stages, new))
        if traced is not None:
            traced.append(view.state.messages[:, : self.scale.n_outputs].copy())
        if self.how.linked:
            settings = {"damping": self.how.damping, "traced": traced, "fixed_order": fixed}
            view.infer(stages, rng, self.how.sweeps, self.how.tol, **settings)

    def _stages(self, data: HetData, view: Inference, known: NDArray[np.bool_]) -> Stages:
        """Return the stages over the columns of `data`, from F_0 on."""
        targets = view.state.messages[:, : self.scale.n_outputs]
        bins = self.columns.bins(data, view.net, targets, known)
        prior = self.scale.prior + self.base.predict(bins)
        sends = SENDS[self.how.estimate] if self.how.residuals else REMAINDER
        return self.stack.ready(np.ascontiguousarray(bins.T), self.scale, prior, sends)

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
        known = met if labels is None else labels.labelled & self._in_classes(labels)
        new = np.empty(0, np.int64)
        if labels is not None:
            target = np.where(known[:, None], self.scale.codes(labels.y, known) - self._center, 0.0)
            new = np.flatnonzero(known & ~(met & (np.abs(target - messages[:, :K]) < 1e-9).all(axis=1)))
            messages[~known] = 0.0
            messages[new] = 0.0
            messages[new, :K] = target[new]
        directed = self.how.direction != "both"
        view = Inference.over(self._net(data), self.aggregation, messages.shape[1] // K - 1, K, known, directed)
        view.state.messages[:] = messages
        return known, new, view

    def _in_classes(self, labels: HetData) -> NDArray[np.bool_]:
        if not self.scale.is_classifier:
            return np.ones(labels.n, bool)
        return np.isin(labels.y.astype(str), self.scale.classes.astype(str))

    def _set_residuals(self, view: Inference, rows: NDArray[np.int64], staged: NDArray) -> None:
        """Set the residuals of instances whose labels the fit did not know."""
        target = view.state.messages[rows, : self.scale.n_outputs] + self._center
        for stage in range(1, staged.shape[1]):
            view.set_messages(rows, stage, target - staged[:, stage - 1])

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return everything as a JSON-able dict and arrays."""
        columns, arrays = self.columns.to_state()
        scale, mean = self.scale.to_state()
        arrays |= {"messages": self.messages} | mean
        arrays |= {f"stack:{name}": array for name, array in self.stack.to_arrays().items()}
        arrays |= {f"base:{name}": array for name, array in self.base.to_arrays().items()}
        aggregation = {key: (None if value != value else value) for key, value in self.aggregation._asdict().items()}
        meta = {"scale": scale, "columns": columns, "graphs": self.graphs, "aggregation": aggregation}
        return meta | {"ids": self.ids.to_list(), "how": vars(self.how)}, arrays

    @classmethod
    def from_state(cls, scale: Scale, meta: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> CollectiveModel:
        """Rebuild a model.

        Raises
        ------
        ModelFileError
            If anything in it does not fit together.
        """
        if not _are_names(meta["graphs"]):
            raise ModelFileError("The graphs of the model file are not named: save the model again.")
        G, K = len(meta["graphs"]), scale.n_outputs
        columns = StaticColumns.from_state(meta["columns"], arrays, G, K)
        width = columns.mapper.n_bins.size + columns.label_mapper.n_bins.size
        base = Forest.from_arrays(with_prefix(arrays, "base"), width)
        stack = Stack.from_arrays(with_prefix(arrays, "stack"), width, width + G * (3 * K + 1) + K, K)
        messages, ids = arrays["messages"], meta["ids"]
        good = _are_names(ids) and messages.shape == (len(ids), stack.n_stages * K) and messages.dtype == np.float64
        if not good or not np.isfinite(messages).all() or base.n_outputs != K:
            raise ModelFileError("What the model file remembers of its instances does not fit together: save it again.")
        series = pl.Series("id", ids, dtype=pl.String)
        rest = list(meta["graphs"]), _aggregation(meta), _how(meta["how"]), series, messages
        return cls(scale, columns, base, stack, *rest)


def _are_names(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(each, str) for each in given) and len(set(given)) == len(given)


def _aggregation(meta: Mapping[str, Any]) -> Aggregation:
    given = meta["aggregation"]
    names = Aggregation._fields[2:]
    fills = [np.nan if given[name] is None else number_in(given[name], -1e300, 1e300) for name in names]
    if set(given) != set(Aggregation._fields) or not isinstance(given["median"], bool):
        raise ModelFileError("The model file's way to sum up neighbours is not known: save the model again.")
    return Aggregation(given["median"], number_in(given["shrinkage"], 0.0, 1e9), *fills)


def _how(given: Mapping[str, Any]) -> InferenceParams:
    flags = ("linked", "as_printed", "residuals", "weighted")
    how = InferenceParams(**given)
    whole = all(type(given[name]) is int and 0 <= given[name] < 1 << 63 for name in ("sweeps", "seed"))
    named = given["estimate"] in SENDS and given["direction"] in DIRECTIONS and how.start in STARTS
    if not whole or not named or not all(isinstance(given[name], bool) for name in flags):
        raise ModelFileError("The model file's way to infer is not known: save the model again.")
    number_in(how.inferred_weight, 0.0, 1.0)
    number_in(how.tol, 0.0, 1e300)
    number_in(how.damping, 0.0, 1.0)
    return how
