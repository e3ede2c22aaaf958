"""What remains of a collective fit: everything that predicts, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.checks import number_in
from hetcore.collective.inference import Conversation, net_of
from hetcore.collective.stages import Stack
from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.data.identity import positions
from hetcore.errors import ModelFileError
from hetcore.kernels.collective import Rules
from hetcore.targets import Scale

__all__ = ["CollectiveModel", "Manner", "OwnColumns"]


class OwnColumns:
    """The columns of all sources side by side, in bins; missing where a source has no record."""

    def __init__(self, encoders: dict[str, SourceEncoder], mapper: BinMapper | None = None) -> None:
        self.encoders, self.mapper = encoders, mapper

    @classmethod
    def fitted(cls, data: HetData) -> tuple[OwnColumns, NDArray[np.uint8]]:
        """Learn encoders and bins; return the columns (d, n) of the same data too."""
        own = cls({name: SourceEncoder().fit(source) for name, source in data.sources.items()})
        values = own._values(data)
        own.mapper = BinMapper().fit(values)
        return own, own.mapper.transform(values)

    def bins(self, data: HetData) -> NDArray[np.uint8]:
        """Return the columns (d, n) of some data, which may lack sources."""
        return self.mapper.transform(self._values(data))

    def _values(self, data: HetData) -> NDArray[np.float32]:
        blocks = []
        for name, encoder in self.encoders.items():
            block = np.full((data.n, len(encoder.feature_names)), np.nan, np.float32)
            if name in data.sources:
                block[data.rows(name)] = encoder.transform(data.sources[name])
            blocks.append(block)
        return np.hstack(blocks)


@dataclass(frozen=True)
class Manner:
    """How the unknown are inferred.

    Attributes
    ----------
    linked : bool
        Whether neighbours speak at all.
    as_printed : bool
        Whether inference starts as Algorithm 4 does.
    weighted : bool
        Whether edges count by their weights.
    voice : float
        How much an instance of unknown label counts beside a known one's 1.
    sweeps : int
    tol : float
        In the scale's unit.
    seed : int
        Of the order of the sweeps.
    """

    linked: bool
    as_printed: bool
    weighted: bool
    voice: float
    sweeps: int
    tol: float
    seed: int


@dataclass
class CollectiveModel:
    """A fitted model.

    Attributes
    ----------
    scale : Scale
    own : OwnColumns
    stack : Stack
    graphs : list of str
    rules : Rules
    manner : Manner
    ids : polars Series (m,)
        The labelled instances of the fit.
    said : (m, S K) float64
        What they say: see `Conversation`.
    """

    scale: Scale
    own: OwnColumns
    stack: Stack
    graphs: list[str]
    rules: Rules
    manner: Manner
    ids: pl.Series
    said: NDArray[np.float64]

    def infer(self, data: HetData, labels: HetData | None, traced: list | None = None) -> NDArray[np.float64]:
        """Return probabilities (n, K), or numbers (n, 1) in the scale's unit, each as if its own label were unknown.

        Parameters
        ----------
        data : HetData
        labels : HetData, optional
            Whose `y` is what is known, in the learned unit; by default what was known in the fit.
        traced : list, optional
            Receives what is said of the targets (n, K) at the start and after every sweep.
        """
        known, new, view = self._conversation(data, labels)
        stages = self.stack.ready(np.ascontiguousarray(self.own.bins(data).T), self.scale)
        view.begin(stages, self.manner.voice, self.manner.as_printed)
        if new.size:
            self._tell_residuals(view, new, view.staged(stages, new))
        if traced is not None:
            traced.append(view.said[:, : self.scale.n_outputs].copy())
        if self.manner.linked:
            rng = np.random.default_rng(self.manner.seed)
            view.infer(stages, rng, self.manner.sweeps, self.manner.tol, traced=traced, turns=labels is not None)
        fitted = view.said[:, : self.scale.n_outputs] + self._center
        fitted[known] = view.staged(stages, np.flatnonzero(known))[:, -1]
        return fitted

    @property
    def _center(self) -> NDArray[np.float64]:
        return self.scale.mean if self.scale.is_classifier else np.zeros(1)

    def _conversation(
        self, data: HetData, labels: HetData | None
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], Conversation]:
        """Return who is known, which of them the fit did not know as such, and what they say."""
        place, K = positions(data.id_series, self.ids), self.scale.n_outputs
        met = place >= 0
        net = net_of([data.graphs.get(name) for name in self.graphs], data.n, self.manner.weighted)
        said = np.zeros((data.n, self.said.shape[1]))
        said[met] = self.said[place[met]]
        known = met if labels is None else labels.labelled & self._in_classes(labels)
        new = np.empty(0, np.int64)
        if labels is not None:
            target = np.where(known[:, None], self.scale.codes(labels.y, known) - self._center, 0.0)
            new = np.flatnonzero(known & ~(met & (np.abs(target - said[:, :K]) < 1e-9).all(axis=1)))
            said[~known] = 0.0
            said[new] = 0.0
            said[new, :K] = target[new]
        view = Conversation.over(net, self.rules, said.shape[1] // K - 1, K, known)
        view.said[:] = said
        return known, new, view

    def _in_classes(self, labels: HetData) -> NDArray[np.bool_]:
        if not self.scale.is_classifier:
            return np.ones(labels.n, bool)
        return np.isin(labels.y.astype(str), self.scale.classes.astype(str))

    def _tell_residuals(self, view: Conversation, rows: NDArray[np.int64], staged: NDArray) -> None:
        """Let instances whose labels the fit did not know say their residuals."""
        target = view.said[rows, : self.scale.n_outputs] + self._center
        for stage in range(1, staged.shape[1]):
            view.tell(rows, stage, target - staged[:, stage - 1])

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return everything as a JSON-able dict and arrays."""
        arrays = {"said": self.said, "scale:mean": self.scale.mean}
        arrays |= {f"stack:{name}": array for name, array in self.stack.to_arrays().items()}
        arrays |= {f"bins:{name}": array for name, array in self.own.mapper.to_arrays().items()}
        sources = {}
        for i, (name, encoder) in enumerate(self.own.encoders.items()):
            sources[name], held = encoder.to_state()
            arrays |= {f"source{i}:{key}": array for key, array in held.items()}
        rules = {key: (None if value != value else value) for key, value in self.rules._asdict().items()}
        scale = {"classes": list(self.scale.classes), "deviation": self.scale.deviation}
        meta = {"scale": scale, "sources": sources, "graphs": self.graphs, "rules": rules, "ids": self.ids.to_list()}
        return meta | {"manner": vars(self.manner), "n_own": self.stack.n_own}, arrays

    @classmethod
    def from_state(cls, scale: Scale, meta: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> CollectiveModel:
        """Rebuild a model.

        Raises
        ------
        ModelFileError
            If anything in it does not fit together.
        """
        encoders = {
            name: SourceEncoder.from_state(state, _block(arrays, f"source{i}"))
            for i, (name, state) in enumerate(meta["sources"].items())
        }
        own = OwnColumns(encoders, BinMapper.from_arrays(_block(arrays, "bins")))
        width = sum(len(encoder.feature_names) for encoder in encoders.values())
        G, K = len(meta["graphs"]), scale.n_outputs
        if own.mapper.n_bins.size != width or meta["n_own"] != width or not _are_names(meta["graphs"]):
            raise ModelFileError("The columns of the model file are not those of its bins: save the model again.")
        stack = Stack.from_arrays(_block(arrays, "stack"), width, width + G * (3 * K + 1) + K, K)
        said, ids = arrays["said"], meta["ids"]
        good = _are_names(ids) and said.shape == (len(ids), stack.n_stages * K) and said.dtype == np.float64
        if not good or not np.isfinite(said).all():
            raise ModelFileError("What the model file remembers of its instances does not fit together: save it again.")
        series = pl.Series("id", ids, dtype=pl.String)
        return cls(scale, own, stack, list(meta["graphs"]), _rules(meta), _manner(meta["manner"]), series, said)


def _block(arrays: Mapping[str, NDArray], name: str) -> dict[str, NDArray]:
    return {k.removeprefix(f"{name}:"): v for k, v in arrays.items() if k.startswith(f"{name}:")}


def _are_names(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(each, str) for each in given) and len(set(given)) == len(given)


def _rules(meta: Mapping[str, Any]) -> Rules:
    given = meta["rules"]
    fills = [np.nan if given[name] is None else number_in(given[name], -1e300, 1e300) for name in Rules._fields[2:]]
    if set(given) != set(Rules._fields) or not isinstance(given["median"], bool):
        raise ModelFileError("The model file's way to sum up neighbours is not known: save the model again.")
    return Rules(given["median"], number_in(given["shrinkage"], 0.0, 1e9), *fills)


def _manner(given: Mapping[str, Any]) -> Manner:
    flags = ("linked", "as_printed", "weighted")
    manner = Manner(**given)
    whole = all(type(given[name]) is int and 0 <= given[name] < 1 << 63 for name in ("sweeps", "seed"))
    if not whole or not all(isinstance(given[name], bool) for name in flags):
        raise ModelFileError("The model file's way to infer is not known: save the model again.")
    number_in(manner.voice, 0.0, 1.0)
    number_in(manner.tol, 0.0, 1e300)
    return manner
