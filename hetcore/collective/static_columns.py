"""What a stage knows of an instance before anything is inferred: own columns, and those of `neighbor_columns`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.collective.neighbor_columns import FeatureReduction, Hops
from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import ModelFileError
from hetcore.kernels.collective_columns import Net

__all__ = ["StaticColumns", "with_prefix"]


@dataclass
class StaticColumns:
    """The columns of all sources side by side, then those of their neighbours; missing where a source has no record.

    Attributes
    ----------
    encoders : dict of str to SourceEncoder
    reduction : FeatureReduction
        Of own columns, before they are summed up over neighbours.
    feature_hops, label_hops : int
        How far neighbours' features and known labels are seen: 0, 1 or 2 links.
    mapper, label_mapper : BinMapper
        Of own and feature columns; of label columns.
    """

    encoders: dict[str, SourceEncoder]
    reduction: FeatureReduction
    feature_hops: int
    label_hops: int
    mapper: BinMapper
    label_mapper: BinMapper

    @classmethod
    def fitted(
        cls, data: HetData, net: Net, feature_hops: int, label_hops: int, rows: NDArray | slice = slice(None)
    ) -> tuple[StaticColumns, NDArray[np.uint8]]:
        """Learn encoders, and bins from `rows`; return own and feature columns (d, n) of the same data too."""
        encoders = {name: SourceEncoder().fit(source) for name, source in data.sources.items()}
        own = _own_values(data, encoders)
        columns = cls(encoders, FeatureReduction.of(own), feature_hops, label_hops, BinMapper(), BinMapper())
        values = columns._with_features(own, Hops(net, data.n))
        columns.mapper = BinMapper().fit(values[rows])
        return columns, columns.mapper.transform(values)

    def label_columns(self, net: Net, targets: NDArray, known: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the columns of known labels (n, L): see `Hops.label_columns`."""
        return Hops(net, known.size).label_columns(targets, known, self.label_hops)

    def bins(self, data: HetData, net: Net, targets: NDArray, known: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """Return all columns (d + L, n) of some data, which may lack sources.

        Parameters
        ----------
        data : HetData
        net : Net
        targets : (n, K) float64
            Less their mean.
        known : (n,) bool
        """
        own = self._with_features(_own_values(data, self.encoders), Hops(net, data.n))
        labels = self.label_mapper.transform(self.label_columns(net, targets, known))
        return np.concatenate([self.mapper.transform(own), labels])

    def _with_features(self, own: NDArray[np.float32], hops: Hops) -> NDArray[np.float32]:
        if not self.feature_hops:
            return own
        return np.hstack([own, hops.feature_columns(self.reduction.apply(own), self.feature_hops)])

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return everything as a JSON-able dict and arrays."""
        arrays = {f"bins:{name}": array for name, array in self.mapper.to_arrays().items()}
        arrays |= {f"label_bins:{name}": array for name, array in self.label_mapper.to_arrays().items()}
        arrays["components"], sources = self.reduction.components, {}
        for i, (name, encoder) in enumerate(self.encoders.items()):
            sources[name], held = encoder.to_state()
            arrays |= {f"source{i}:{key}": array for key, array in held.items()}
        return {"sources": sources, "feature_hops": self.feature_hops, "label_hops": self.label_hops}, arrays

    @classmethod
    def from_state(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], n_graphs: int, n_outputs: int
    ) -> StaticColumns:
        """Rebuild the columns.

        Raises
        ------
        ModelFileError
            If the parts do not fit together.
        """
        encoders = {
            name: SourceEncoder.from_state(state, with_prefix(arrays, f"source{i}"))
            for i, (name, state) in enumerate(meta["sources"].items())
        }
        mappers = [BinMapper.from_arrays(with_prefix(arrays, name)) for name in ("bins", "label_bins")]
        reduction = FeatureReduction(arrays["components"])
        columns = cls(encoders, reduction, meta["feature_hops"], meta["label_hops"], *mappers)
        columns._check(n_graphs, n_outputs)
        return columns

    def _check(self, n_graphs: int, n_outputs: int) -> None:
        """Raise ModelFileError unless the bins are those of the columns."""
        width = sum(len(encoder.feature_names) for encoder in self.encoders.values())
        hops, components = (self.feature_hops, self.label_hops), self.reduction.components
        good = all(type(each) is int and 0 <= each <= 2 for each in hops)
        good = good and components.ndim == 2 and components.dtype == np.float32 and len(components) == width
        good = good and bool(np.isfinite(components).all())
        if good:
            features = n_graphs * (self.feature_hops * self.reduction.width + 1) if self.feature_hops else 0
            good = self.mapper.n_bins.size == width + features
            good = good and self.label_mapper.n_bins.size == n_graphs * self.label_hops * (n_outputs + 1)
        if not good:
            raise ModelFileError("The columns of the model file are not those of its bins: save the model again.")


def _own_values(data: HetData, encoders: Mapping[str, SourceEncoder]) -> NDArray[np.float32]:
    blocks = []
    for name, encoder in encoders.items():
        block = np.full((data.n, len(encoder.feature_names)), np.nan, np.float32)
        if name in data.sources:
            block[data.rows(name)] = encoder.transform(data.sources[name])
        blocks.append(block)
    return np.hstack(blocks)


def with_prefix(arrays: Mapping[str, NDArray], name: str) -> dict[str, NDArray]:
    """Return the arrays of one part of a file."""
    return {key.removeprefix(f"{name}:"): array for key, array in arrays.items() if key.startswith(f"{name}:")}
