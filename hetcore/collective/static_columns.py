"""What a stage knows of an instance before anything is inferred: own columns, and those of `neighbor_columns`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.category_labels import CategoryLabels
from hetcore.collective.neighbor_columns import FeatureReduction, Hops
from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder, side_by_side
from hetcore.kernels.collective_columns import Net
from hetcore.kernels.layout import MISSING_BIN
from hetcore.parameters import Whole
from hetcore.schema import Part, Parts, Stored

__all__ = ["StaticColumns"]

Folds = tuple[NDArray[np.int64], NDArray[np.int64] | None]  # two of each instance whose labels are not seen


@dataclass
class StaticColumns(Stored):
    """The columns of all sources side by side, those of their neighbours, and those of labels: of neighbours, and by
    category. Missing where a source has no record.

    Attributes
    ----------
    encoders : dict of str to SourceEncoder
    reduction : FeatureReduction
        Of own columns, before they are summed up over neighbours.
    feature_hops, label_hops : int
        How far neighbours' features and known labels are seen: 0, 1 or 2 links.
    mapper, label_mapper : BinMapper
        Of own and feature columns; of label columns.
    by_category : CategoryLabels, optional
        Of columns of more categories than encoders tell apart, whose label columns are last, and count as own.
    """

    _stored = {
        "mapper": Part(BinMapper, at="bins"), "label_mapper": Part(BinMapper, at="label_bins"),
        "reduction": Part(FeatureReduction, "d", at=""),
        "encoders": Parts(SourceEncoder, at="source{}", named="dict", key="sources"),
        "feature_hops": Whole(0, 2), "label_hops": Whole(0, 2), "by_category": Part(CategoryLabels, optional=True),
    }  # fmt: skip

    encoders: dict[str, SourceEncoder]
    reduction: FeatureReduction
    feature_hops: int
    label_hops: int
    mapper: BinMapper
    label_mapper: BinMapper
    by_category: CategoryLabels | None = None

    @classmethod
    def fitted(
        cls,
        data: HetData,
        net: Net,
        feature_hops: int,
        label_hops: int,
        rows: NDArray | slice = slice(None),
        *,
        max_bins: int = MISSING_BIN,
    ) -> tuple[StaticColumns, NDArray[np.float32], NDArray[np.uint8]]:
        """Learn encoders, and bins from `rows`; return own and feature columns of the same data, values (n, d) and
        bins (d, n), too.
        """
        # one encoder a source, learned from all its records, labelled or not
        recorded = {name: source for name, source in data.sources.items() if source.n_rows}
        encoders = {name: SourceEncoder().fit(source) for name, source in recorded.items()}
        own = side_by_side(data, encoders)
        columns = cls(
            encoders=encoders,
            reduction=FeatureReduction.of(own),
            feature_hops=feature_hops,
            label_hops=label_hops,
            mapper=BinMapper(),
            label_mapper=BinMapper(),
        )
        values = columns._with_features(own, Hops(net, data.n))
        columns.mapper = BinMapper(max_bins).fit(values[rows])
        return columns, values, columns.mapper.transform(values)

    def label_columns(
        self, data: HetData, hops: Hops, targets: NDArray, known: NDArray[np.bool_], folds: Folds
    ) -> NDArray[np.float32]:
        """Return the columns of known labels (n, L): see `Hops.label_columns` and `CategoryLabels.of_instances`."""
        of_neighbors = hops.label_columns(targets, known, self.label_hops)
        if self.by_category is None:
            return of_neighbors
        found = self.by_category.of_instances(data, folds[0], np.arange(data.n), folds[1])
        return np.hstack([of_neighbors, found[:, : self.n_categories]])

    def groups(self, n_graphs: int) -> list[NDArray[np.int32]]:
        """Return which columns are own; own ones and labels; all of them: no group twice, none empty."""
        last, labels = self.mapper.n_bins.size, self.label_mapper.n_bins.size
        numbers = np.arange(last + labels, dtype=np.int32)
        own, categories = self._own(n_graphs), numbers[numbers.size - self.n_categories :]
        # beside its category a row's mean of labels tells a tree the label that is missing in it
        features = numbers[self._n_first(n_graphs) : last]
        nested = (
            np.concatenate([own, categories]),
            np.concatenate([own, numbers[last:]]),
            np.concatenate([own, features, numbers[last:]]),
        )
        return list({group.size: group for group in nested if group.size}.values())

    def n_own(self, n_graphs: int) -> int:
        """Return the number of own columns: the first ones that are split by, and the last ones by category."""
        return self._own(n_graphs).size + self.n_categories

    def _n_first(self, n_graphs: int) -> int:
        return self.mapper.n_bins.size - self._n_features(n_graphs)

    def _own(self, n_graphs: int) -> NDArray[np.int32]:
        """Return the first columns, but for those of the categories for which `by_category` stands."""
        numbers = np.arange(self._n_first(n_graphs), dtype=np.int32)
        if self.by_category is None:
            return numbers
        of = set(zip(self.by_category.tables, self.by_category.columns))
        widths = [(table, *each) for table, encoder in self.encoders.items() for each in encoder.widths]
        return numbers[np.repeat([(table, name) not in of for table, name, _ in widths], [w for _, _, w in widths])]

    @property
    def n_categories(self) -> int:
        """The number of columns of labels by category."""
        return 0 if self.by_category is None else self.by_category.width(counted=False)

    def _n_features(self, n_graphs: int) -> int:
        """Return the number of columns of neighbours' features."""
        return n_graphs * (self.feature_hops * self.reduction.width + 1) if self.feature_hops else 0

    def table(
        self, data: HetData, net: Net, targets: NDArray, known: NDArray[np.bool_], fold: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """Return all columns of some data, which may lack sources: values (n, d + L) and bins (d + L, n).

        Parameters
        ----------
        data : HetData
        net : Net
        targets : (n, K) float64
            Less their mean.
        known : (n,) bool
        fold : (n,) int64
            Of the fit, whose labels by category are not seen; -1 for others.
        """
        hops = Hops(net, data.n)
        own = self._with_features(side_by_side(data, self.encoders), hops)
        labels = self.label_columns(data, hops, targets, known, (fold, None))
        bins = np.concatenate([self.mapper.transform(own), self.label_mapper.transform(labels)])
        return np.hstack([own, labels]), bins

    def _with_features(self, own: NDArray[np.float32], hops: Hops) -> NDArray[np.float32]:
        if not self.feature_hops:
            return own
        return np.hstack([own, hops.feature_columns(self.reduction.apply(own), self.feature_hops)])

    def _fault(self, sizes: dict[str, int]) -> str:
        sizes["w"] = self.mapper.n_bins.size + self.label_mapper.n_bins.size
        width = sum(len(encoder.feature_names) for encoder in self.encoders.values())
        return "" if sizes["d"] == width else "The columns of the model file are not those of its sources"

    def fits(self, n_graphs: int, n_outputs: int) -> bool:
        """Return whether there are as many bins as own columns and so many graphs and outputs make."""
        own, features = len(self.reduction.components), self._n_features(n_graphs)
        labels = n_graphs * self.label_hops * (n_outputs + 1) + self.n_categories
        return (self.mapper.n_bins.size, self.label_mapper.n_bins.size) == (own + features, labels)
