"""The views of heterogeneous data: what each learner of the consensus looks at.

| view | columns |
|---|---|
| table NAME | a table's own |
| joined | all tables' side by side, where there are several |
| labels of GRAPH | neighbours' labels at one and two links and spread further, hidden by fold |
| smoothed over GRAPH | the joined columns averaged twice over the links and oneself (SGC) |
| joined and graphs | the joined columns, neighbours' labels and features at one and two links; for trees how many |
| joined and directions | the same of each side of directed graphs: "GRAPH, out" and "GRAPH, in" |
| labels near in TABLE | of classes: labels of the nearest rows and of their nearest, and spread, hidden by fold |
| labels by category | of columns of very many categories: labels of the same category, hidden by fold |
| joined and labels by category | both, for trees |

Of two or more graphs their union counts as one more, "all graphs": links over their graph's mean weight, summed. A
view of several tables or graphs covers an instance without one of them only where enough labelled rows are without it
too: what a learner never saw missing, it can't do without. Trees look at each view; at joined columns shallow ones
too, of two splits on a path, of 5,000 labels on deep ones, of three splits more, and at the widest oblivious ones;
kernel ridge at tables and joined columns; a linear learner where columns are many or are averages. For numbers of up
to 2,000 labels a kernel with a length scale of each column ("ARD kernel") looks at the joined columns too; trees leave
out labels alone, and kernel ridge the joined columns with graphs, unless some learners may not look or no view joins
tables: others say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hetcore.category_labels import CategoryLabels, links_within_categories
from hetcore.checks import check_folds, check_random_state, finite
from hetcore.consensus.link_sums import JoinedLinks, count_links, degrees, linked_rows, times
from hetcore.consensus.neighbor_columns import (
    NearestRows,
    dealt_folds,
    feature_means,
    label_columns,
    second_means,
    symmetric,
    unseen_columns,
    unseen_rows,
)
from hetcore.consensus.one_way import graph_of, is_side, one_way, sides_of
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.recall import MEMORY, held_views, hold_views, key_of, key_of_tables
from hetcore.consensus.table_columns import MOST_GRAPHS, TableColumns, TableEncoding, Tables
from hetcore.consensus.table_views import ARD, BY_CATEGORY, NEAR, DataView, TableView, Unseen, View
from hetcore.data import HetData
from hetcore.data.hetdata import check_het_data
from hetcore.errors import DataError
from hetcore.numerics import narrowed
from hetcore.parameters import Domain, Flag
from hetcore.projection import Projection, principal
from hetcore.schema import TEXTS, Array, Part, Parts, Stored, Value
from hetcore.targets import KnownLabels, Problem
from hetcore.trees import MANY_LABELS

__all__ = [
    "ALL_GRAPHS", "SMOOTH", "TREES", "ViewColumns", "enough_lack", "fitted_views", "views", "views_apart",
]  # fmt: skip

ALL_GRAPHS, ALL_TABLES, JOINED = "all graphs", "all tables", "joined and graphs"
SCALES = {JOINED: "graphs", "joined and directions": "directions"}
"""Columns of all tables and of several graphs, or of the sides of directed ones, and the name of their scale."""
TREES = ("trees", "shallow trees", "oblivious trees", "deep trees")
SMOOTH = ("kernel", "linear")
LEARNERS = (*TREES, *SMOOTH, ARD)
SEEN_BY = ("trees", "kernel", "linear")  # learners with columns of their own: all trees see the same
MOST_SUMS, FEWEST_AVERAGED = 500_000_000, 32  # links times columns that are averaged over a graph; columns at least
FEWER = "components "  # before the name of the columns that are averages of these
MOST_UNSEEN = 2_000  # rows that members learn from, all together, up to which their folds' labels are hidden there
MOST_UNSEEN_OF_CATEGORIES = 20_000  # the same of numbers, where a graph links rows of one category
MOST_UNSEEN_BY_CATEGORY = 200_000  # the same of labels by category
MOST_ARD, MOST_INSTANCES_ARD = 2_000, 10_000  # labelled rows, and instances, up to which such a kernel looks
COUNTS = 3  # last columns of neighbours' labels: how many there are
SEEN_LACKING = 5  # labelled rows without a table or link, or one in 20, from which a view of several may lack it


def _views_from(given: list[list[Any]]) -> list[View]:
    return [View(columns, learner, tuple(tables), tuple(graphs)) for columns, learner, tables, graphs in given]


def _plain_views(views: list[View]) -> list[list[Any]]:
    return [[view.columns, view.learner, list(view.tables), list(view.graphs)] for view in views]


VIEWS = Domain(lambda v: isinstance(v, list) and len(_views_from(v)) > 0, "views: columns, learner, tables, graphs")


class ViewColumns(Stored):
    """Learn what the columns of all views need, and give those of any data."""

    _stored = {
        "scales": Parts(Projection, at="scale {1}", named="dict"), "tables": Part(TableColumns, at=""),
        "units": Domain(lambda v: all(finite(unit) and unit > 0 for unit in v.values()), "mean weights by graph"),
        "shown": TEXTS, "views": Value(VIEWS, _views_from, _plain_views),
        "lacked": Array("s", np.int64, 0, 1, optional=True), "near": Part(NearestRows, optional=True),
        "by_category": Part(CategoryLabels, optional=True), "whole": Value(Flag(), absent=False),
    }  # fmt: skip

    origin, asked = "", LEARNERS  # digest of the data of `fit`, where it is recalled, and which learners might look
    whole = True  # labels counted as if none were hidden, two links that never lead back; not in files of before

    def fit(
        self,
        data: HetData,
        labels: KnownLabels,
        learners: tuple[str, ...] = LEARNERS,
        encodings: Mapping[str, TableEncoding] | None = None,
        n_jobs: int = 1,
        alike: str = "",
    ) -> ViewColumns:
        """Learn encoders, scales and components, and which views there are.

        Parameters
        ----------
        data : HetData
        labels : KnownLabels
        learners : tuple of str
            Which learners may look.
        encodings : mapping of str to TableEncoding, optional
            By table with a record, as learned where it is: no view joins tables, and no table is read here.
        n_jobs : int, default=1
            Threads; the same bits.
        alike : str, optional
            See `fitted_views`.
        """
        apart = encodings is not None

        def encoded() -> tuple[TableColumns, Tables]:
            columns = TableColumns()
            return columns, columns.fit_transform(data, not labels.of_classes, n_jobs)

        found = (TableColumns.apart(encodings), None) if apart else MEMORY.recalled("tables", alike, encoded)
        self.tables, tables = found
        linked = {name: graph for name, graph in data.graphs.items() if graph.n_edges}
        self.units = {name: float(graph.weights.mean(dtype=np.float64)) for name, graph in linked.items()}
        largest = sorted(linked, key=lambda name: -linked[name].n_edges)[:MOST_GRAPHS]
        shown = {name: graph for name, graph in linked.items() if name in largest}
        # a graph that is called so keeps the name
        whole = [ALL_GRAPHS] * (len(linked) > 1 and ALL_GRAPHS not in linked)
        self.shown = [*shown, *sides_of(shown, MOST_GRAPHS), *whole]
        self.scales: dict[str, Projection] = {}
        near = () if apart or "linear" not in learners else NearestRows.tables_of(data, labels)
        self.near = NearestRows.of(data.id_series, _columns_of(near, tables), labels) if near else None
        self.by_category = None if apart else CategoryLabels.of(data, labels)
        may = _asked(learners, labels, apart)
        self.views = [view for view in self._all_views() if view.learner in may and not (apart and view.joins)]
        if self.shown and not apart:
            # where columns are fewer and others have them too, one more view of the same costs more than it brings
            self.views = [view for view in self.views if view.graphs or view.learner != "oblivious trees"]
        if not labels.of_classes and not apart and set(learners) == set(LEARNERS):
            self.views = [view for view in self.views if not _is_spared(view)]
        self._unseen: dict[tuple[str, str], Unseen] = {}
        self._hidden = self._hides(data, labels, joins=not apart)
        if apart:
            self._made = self._apart(data, labels, learn=True, n_jobs=n_jobs)
        else:
            self._made = self._data_views(self._matrices(data, labels, tables, learn=True, n_jobs=n_jobs))
        self._made = self._with_unseen(self._made, labels)
        return self

    def _with_unseen(self, made: list[DataView], labels: KnownLabels) -> list[DataView]:
        """Return views with the columns that members learn from, where these are others than all see."""
        unseen, self._unseen = self._unseen, {}
        if not unseen:
            return made
        rows, found = unseen_rows(labels)[0], []
        for each in made:
            there = unseen.get((each.view.columns, each.view.sees))
            covers = np.zeros(len(labels.fold), bool)
            covers[each.rows] = True
            if there is not None and not covers.all():
                there = there._replace(values=there.values[covers[rows]])
            found.append(each._replace(unseen=there))
        return found

    @staticmethod
    def _hides(data: HetData, labels: KnownLabels, joins: bool) -> bool:
        """Return whether members learn from columns without their own fold's labels; `joins`: tables and graphs."""
        rows = int(labels.known.sum()) * int(labels.fold.max(initial=0))
        if rows <= MOST_UNSEEN:
            return True
        may_tell = joins and not labels.of_classes and rows <= MOST_UNSEEN_OF_CATEGORIES
        return may_tell and links_within_categories(data)

    def of_training(self) -> list[DataView]:
        """Return the views of the data of `fit`, once."""
        made, self._made = self._made, []
        return made

    def transform(self, data: HetData, labels: KnownLabels) -> list[DataView]:
        """Return the views of any data, whose instances' labels and folds are those of the training data."""
        if (made := held_views(self, data, labels)) is not None:
            return made
        if MEMORY.room and self.origin and self.origin == origin_of(data, labels, self.asked):
            _, made = MEMORY.get("views", self.origin) or (None, None)
            if made is not None:
                return made
        # nearest rows need all columns of their tables at once
        if self.near is None and self.by_category is None and not any(view.joins for view in self.views):
            return self._apart(data, labels, learn=False)
        return self._data_views(self._matrices(data, labels, self.tables.transform(data), learn=False))

    def _apart(self, data: HetData, labels: KnownLabels, learn: bool, n_jobs: int = 1) -> list[DataView]:
        """Return views of one table, whose columns their learners make, and of neighbours' labels."""
        links = {name: self.links(data, name, n_jobs) for name in self.shown}
        present = np.array([linked_rows(each) for each in links.values()]).reshape(len(links), data.n)
        if learn:
            has = [_has(data, name) for name in self.tables.names]
            self.lacked = _lacked(np.array([*has, *present]), labels.known)
        made: dict[tuple[str, str], tuple[NDArray, NDArray]] = {}
        for linked, (name, among) in zip(present, links.items()):
            near_labels = label_columns(among, labels, whole=self.whole, stands_for=_stand_ins(data))
            made |= self._label_matrices(name, linked, near_labels, learn=learn)
            if learn and self._hidden:
                self._keep_unseen_labels(name, unseen_columns(among, labels))
        of_graphs = iter(self._data_views(made, [view for view in self.views if view.graphs]))
        return [next(of_graphs) if view.graphs else self._of_table(view, data) for view in self.views]

    def _of_table(self, view: View, data: HetData) -> DataView:
        name, kind = view.tables[0], "trees" if view.sees == "trees" else "smooth"
        # as in the fit, where a single table without graphs was not apart
        kind = "linear" if view.learner == "linear" and self.tables.linear_sees_all else kind
        if name not in data.sources:
            return DataView(view, np.empty(0, np.int64), np.empty((0, self.width(view, 0)), np.float32))
        rows = data.rows(name)
        order = None if (np.diff(rows) > 0).all() else np.argsort(rows)
        made = TableView(data.sources[name], self.tables.encoding(name), name, order, kind)
        return DataView(view, rows if order is None else rows[order], made)

    def _data_views(
        self, made: Mapping[tuple[str, str], tuple[NDArray, NDArray]], views: Iterable[View] | None = None
    ) -> list[DataView]:
        found, taken = [], {}
        for view in self.views if views is None else views:
            covers, X = made[view.columns, view.sees]
            rows = np.flatnonzero(covers)
            # once for all learners that see the same
            if (id(covers), id(X)) not in taken:
                taken[id(covers), id(X)] = X if rows.size == len(X) else X[rows]
            found.append(DataView(view, rows, taken[id(covers), id(X)]))
        return found

    def _all_views(self) -> list[View]:
        tables, graphs = tuple(self.tables.names), tuple(self.units)
        several = len(tables) > 1
        views = [View(f"table {name}", learner, (name,), ()) for name in tables for learner in ("trees", "kernel")]
        whole = "joined" if several else f"table {tables[0]}"
        # a sum of what single columns, and pairs, say: learned from fewer labels than deep trees need; what pays only
        # together, as factors do, where a search node by node sees nothing
        views += [View(whole, "linear", tables, ()), *(View(whole, each, tables, ()) for each in TREES[1:])]
        if several:
            views += [View(whole, learner, tables, ()) for learner in ("trees", "kernel")]
        if self.by_category is not None:
            of = tuple(name for name in tables if name in self.by_category.tables)
            views += [View(f"{whole} and {BY_CATEGORY}", "trees", tables, ()), View(BY_CATEGORY, "linear", of, ())]
        for name in self.shown:
            of = graphs if self._are_all(name) else (graph_of(name, self.units)[0],)
            views += [View(f"labels of {name}", learner, (), of) for learner in ("trees", "linear")]
            views += [View(f"smoothed over {name}", "linear", tables, of)]
        for columns, names in self._joined_graphs().items():
            of = graphs if columns == JOINED else tuple(dict.fromkeys(graph_of(name, graphs)[0] for name in names))
            views += [View(columns, learner, tables, of) for learner in (*TREES, *SMOOTH)]
        if self.near is not None:
            near = tuple(self.near.names)
            views += [View(NEAR + name, "linear", (name,), ()) for name in near]
            views += [View(NEAR + ALL_TABLES, "linear", near, ())] * (len(near) > 1)
        # last, so that what the others draw is as without it
        return [*views, View(whole, ARD, tables, ())]

    def _matrices(
        self, data: HetData, labels: KnownLabels, tables: Tables, learn: bool, n_jobs: int = 1
    ) -> dict[tuple[str, str], tuple[NDArray, NDArray]]:
        """Return coverage (n,) and columns (n, d) by columns and learner."""
        made: dict[tuple[str, str], tuple[NDArray, NDArray]] = {}
        for name, has in tables.has.items():
            # the linear view of a table is there where it is the only one
            columns = tables.trees[name], tables.smooth[name], tables.joined_linear
            made |= {(f"table {name}", learner): (has, X) for learner, X in zip(SEEN_BY, columns)}
        links = {name: self.links(data, name, n_jobs) for name in self.shown}
        present = np.array([*tables.has.values(), *(linked_rows(each) for each in links.values())])
        if learn:
            self.lacked = _lacked(present, labels.known)
        if len(tables.has) > 1:
            covers = tables.in_any & self._usable(present)[: len(tables.has)].all(axis=0)
            columns = tables.joined, tables.joined_smooth, tables.joined_linear
            made |= {("joined", learner): (covers, X) for learner, X in zip(SEEN_BY, columns)}
        if self.near is not None:
            messages = self.near.columns(data.id_series, _columns_of(self.near.names, tables), labels)
            for name, (covers, X) in messages.items():
                key = NEAR + (name or ALL_TABLES)
                made[key, "linear"] = covers, self._scaled(key, X, learn)
        if self.by_category is not None:
            made |= self._category_matrices(data, labels, tables, present, learn=learn)
        if links:
            how = {"stands_for": _stand_ins(data), "learn": learn}
            made |= self._graph_matrices(links, labels, tables, present, **how)
        return made

    def _category_matrices(
        self, data: HetData, labels: KnownLabels, tables: Tables, present: NDArray[np.bool_], *, learn: bool
    ) -> dict[tuple[str, str], tuple[NDArray, NDArray]]:
        """Return labels by category beside the joined columns, for trees, and alone.

        Linear learners and kernels must not see them beside the categories: one Gram matrix of all rows serves all
        members, and its products of a category and the mean of its labels tell the labels that are left out.
        """
        by_category, usable = self.by_category, self._usable(present)
        joined = "joined" if len(tables.has) > 1 else f"table {next(iter(tables.has))}"
        keys = (f"{joined} and {BY_CATEGORY}", "trees"), (BY_CATEGORY, "linear")
        of = [place for place, name in enumerate(tables.has) if name in by_category.tables]
        covers = (
            tables.in_any & usable[: len(tables.has)].all(axis=0),
            present[of].any(axis=0) & usable[of].all(axis=0),
        )
        found = by_category.of_instances(data, labels.fold, np.arange(data.n))
        alone = found[:, : by_category.width(counted=False)]
        columns = np.hstack([tables.joined, found]), self._scaled(BY_CATEGORY, alone, learn)
        if learn and labels.known.sum() * labels.fold.max() <= MOST_UNSEEN_BY_CATEGORY:
            rows, members = unseen_rows(labels)
            found = by_category.of_instances(data, labels.fold, rows, members)
            alone = found[:, : by_category.width(counted=False)]
            unseen = _last_of(columns[0], found), _last_of(columns[1], self._scaled(BY_CATEGORY, alone, learn=False))
            self._unseen |= dict(zip(keys, unseen))
        return {key: each for key, each in zip(keys, zip(covers, columns))}

    def _usable(self, present: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return where each table and each graph's links are there, or may be missing, (p + s, n)."""
        return present | (True if self.lacked is None else self.lacked[:, None] > 0)  # a file of before says nothing

    def _graph_matrices(
        self,
        links: Mapping[str, Any],
        labels: KnownLabels,
        tables: Tables,
        present: NDArray[np.bool_],
        *,
        stands_for: NDArray[np.int64] | None,
        learn: bool,
    ) -> dict[tuple[str, str], tuple[NDArray, NDArray]]:
        made, blocks, usable, first = {}, {}, self._usable(present), len(tables.has)
        for place, (name, among) in enumerate(links.items(), first):
            near_labels = label_columns(among, labels, whole=self.whole, stands_for=stands_for)
            made |= self._label_matrices(name, present[place], near_labels, learn=learn)
            smoothing = symmetric(among, loops=True, stands_for=stands_for)
            columns = self._fewer(name, among, tables.joined_linear, learn)
            averaged = times(smoothing, times(smoothing, columns))
            # before the next graph's are made
            averaged = averaged.astype(columns.dtype, copy=False)
            del smoothing
            if not self.tables.has_words:
                averaged = self._scaled(f"smoothed over {name}", averaged, learn)
            somewhere = tables.in_any | present[first : place + 1].any(axis=0)
            made[f"smoothed over {name}", "linear"] = somewhere & usable[place], averaged
            near = feature_means(among, tables.flat)
            degree = np.log1p(degrees(among)).reshape(-1, 1).astype(np.float32)
            second = second_means(among, tables.flat, near, stands_for) if self.whole else feature_means(among, near)
            blocks[name] = near_labels, near, second, degree
        for columns, names in self._joined_graphs().items():
            # without the links of the other views, which may be missing
            there = [*range(first), *(first + place for place, name in enumerate(links) if name in names)]
            covers = present[there].any(axis=0) & usable[there].all(axis=0)
            seen = self._beside_graphs(columns, [blocks.pop(name) for name in names], tables, learn=learn)
            made |= {(columns, learner): (covers, X) for learner, X in zip(SEEN_BY, seen)}
            if learn and self._hidden:
                among = {name: links[name] for name in names}
                self._keep_unseen(columns, among, labels, dict(zip(SEEN_BY, seen)))
        return made

    def _joined_graphs(self) -> dict[str, list[str]]:
        """Return what is shown of graphs by the columns that it is in beside the tables'."""
        sides = [name for name in self.shown if is_side(name, self.units)]
        whole = [name for name in self.shown if name not in sides]
        return {columns: names for columns, names in zip(SCALES, (whole, sides)) if names}

    def _beside_graphs(
        self, columns: str, blocks: list[tuple[NDArray, ...]], tables: Tables, *, learn: bool
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Return the joined columns and those of some graphs, (n, d) each, as trees, kernels and lines see them."""
        graphs = np.hstack([np.hstack(each) for each in blocks])
        # the same without how many labels there are
        uncounted = np.hstack([np.hstack([each[0][:, :-COUNTS], *each[1:]]) for each in blocks])
        blocks.clear()
        # counts rise and fall together, and a line through them would run far where a new row has a part of its links;
        # files of before have them
        key = SCALES[columns]
        counted = not learn and self.scales[key].center.size == graphs.shape[1]
        scaled = self._scaled(key, graphs if counted else uncounted, learn)
        smooth = linear = narrowed(np.hstack([tables.joined_smooth, scaled]))
        # not twice where both learners see the same columns
        if tables.joined_linear is not tables.joined_smooth:
            linear = narrowed(np.hstack([tables.joined_linear, scaled]))
        return np.hstack([tables.joined, graphs]), smooth, linear

    def _fewer(self, name: str, links: Any, X: NDArray, learn: bool) -> NDArray:
        """Return the columns X (n, d) to average over a graph: of very many links components of them (n, r)."""
        key, rank = f"{FEWER}smoothed over {name}", max(FEWEST_AVERAGED, MOST_SUMS // max(1, count_links(links)))
        if learn and rank < X.shape[1]:
            # as they are: scaled already, or words, of which 0 stays 0
            width = X.shape[1]
            self.scales[key] = Projection(np.zeros(width), np.ones(width), components=principal(X, rank))
        return self.scales[key](X) if key in self.scales else X

    def _label_matrices(
        self, name: str, linked: NDArray[np.bool_], near_labels: NDArray, *, learn: bool
    ) -> dict[tuple[str, str], tuple[NDArray, NDArray]]:
        key = f"labels of {name}"
        return {
            (key, "trees"): (linked, near_labels),
            (key, "linear"): (linked, self._scaled(key, near_labels[:, :-COUNTS], learn)),
        }

    def _keep_unseen(
        self, joined: str, links: Mapping[str, Any], labels: KnownLabels, columns: Mapping[str, NDArray]
    ) -> None:
        """Keep what members of views of neighbours' labels learn from; `columns` are the joined ones, by learner."""
        values = [unseen_columns(among, labels) for among in links.values()]
        for name, near_labels in zip(links, values):
            self._keep_unseen_labels(name, near_labels)
        width, scale = values[0].shape[1], self.scales[SCALES[joined]]
        # of each graph's columns the first are labels, and the features behind them tell none
        for learner in SEEN_BY:
            n_labels = width if learner == "trees" else width - COUNTS
            seen = [each[:, :n_labels] for each in values]
            step = n_labels + 2 * self.tables.flat_width + 1
            places = (np.arange(len(seen))[:, None] * step + np.arange(n_labels)).ravel()
            found = np.hstack(seen) if learner == "trees" else scale.of_columns(places)(np.hstack(seen))
            first = columns[learner].shape[1] - len(seen) * step
            self._unseen[joined, learner] = Unseen(first + places, found)

    def _keep_unseen_labels(self, name: str, columns: NDArray) -> None:
        key = f"labels of {name}"
        scaled = self._scaled(key, columns[:, :-COUNTS], learn=False)
        for learner, each in (("trees", columns), ("linear", scaled)):
            self._unseen[key, learner] = Unseen(np.arange(each.shape[1]), each)

    def _are_all(self, name: str) -> bool:
        """Return whether a name stands for all graphs."""
        return name == ALL_GRAPHS and name not in self.units

    def links(self, data: HetData, name: str, n_jobs: int = 1) -> Any:
        """Return the links (n, n) of a graph or a side over its mean weight, or all; none where the data lack it.

        Products of very many links are made by `n_jobs` threads, with the same bits.
        """
        name, direction = graph_of(name, self.units)
        chosen = self.units if self._are_all(name) else {name: self.units[name]}
        have = [each for each in chosen if each in data.graphs]
        several = [data.graphs[each].adjacency() for each in have] if len(have) > 1 else []
        if several:
            return JoinedLinks(several, [chosen[each] for each in have], n_jobs=n_jobs).total()
        if not have:
            return sparse.csr_array((data.n, data.n), dtype=np.float64)
        graph, unit = data.graphs[have[0]], chosen[have[0]]
        return graph.adjacency().astype(np.float64) / unit if direction == "both" else one_way(graph, direction, unit)

    def width(self, view: View, k: int) -> int:
        """Return how many columns a view has for k scores a row."""
        trees, tables = view.sees == "trees", self.tables
        near_labels, flat = 3 * k + COUNTS, tables.flat_width
        linear = view.learner == "linear" and tables.linear_sees_all
        joined = sum(tables.widths().values()) if trees else tables.n_columns if linear else tables.smooth_width
        if view.columns.startswith(NEAR):
            return 3 * k
        if view.by_category:
            return self.by_category.width(trees) + joined * trees
        if (fewer := self.scales.get(FEWER + view.columns)) is not None:
            return fewer.components.shape[1]
        if not view.tables:
            return near_labels if trees else near_labels - COUNTS
        if view.columns in SCALES:
            key, shown = SCALES[view.columns], len(self._joined_graphs()[view.columns])
            counted = shown * (near_labels + 2 * flat + 1)
            # smooth learners of files of before see counts too
            seen = self.scales[key].center.size if key in self.scales and not trees else counted
            return joined + (seen if seen == counted - shown * COUNTS else counted)
        if view.graphs or view.columns == "joined" or linear:
            return joined
        return (tables.widths() if trees else tables.smooth_widths())[view.tables[0]]

    def _scaled(self, key: str, X: NDArray, learn: bool) -> NDArray[np.float64]:
        if learn:
            self.scales[key] = Projection.fit(X)
        return self.scales[key](X)

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> ViewColumns:
        made = cls()
        vars(made).update(values)
        return made

    def _fault(self, sizes: dict[str, int]) -> str:
        widths = self.tables.smooth_widths()
        graphs = {graph_of(name, self.units)[0] for name in self.shown}
        known = graphs <= {*self.units, ALL_GRAPHS} and set(self.views) <= set(self._all_views())
        if self.lacked is not None and len(self.lacked) != len(self.tables.names) + len(self.shown):
            return "The model file does not say of each table and graph whether it may be missing"
        if self.near is not None and self.near.rows.shape[1] != sum(widths.get(name, 0) for name in self.near.names):
            return "The model file's nearest rows are not those of its tables"
        return "" if known and self.views else "The views of the model file are not those of its tables and graphs"


def _asked(learners: tuple[str, ...], labels: KnownLabels, apart: bool) -> set[str]:
    """Return which learners that may look do, by how many labels and instances there are."""
    n_known, without = labels.known.sum(), set()
    if n_known < MANY_LABELS:
        without.add("deep trees")
    # of classes and with more labels it adds nothing, and each member keeps a kernel of all rows
    if apart or labels.of_classes or n_known > MOST_ARD or len(labels.known) > MOST_INSTANCES_ARD:
        without.add(ARD)
    return set(learners) - without


def _last_of(X: NDArray, values: NDArray) -> Unseen:
    """Return values (b, c) in the place of the last columns of X (n, d)."""
    return Unseen(np.arange(X.shape[1] - values.shape[1], X.shape[1]), values)


def _columns_of(names: Iterable[str], tables: Tables) -> dict[str, NDArray]:
    """Return what smooth learners see of some tables (n, d), NaN where an instance is without."""
    return {name: np.where(tables.has[name][:, None], tables.smooth[name], np.nan) for name in names}


def _is_spared(view: View) -> bool:
    """Return whether a view says of numbers what others, of other learners, say as well: it would cost its time."""
    if view.columns.startswith("labels of"):
        return view.learner == "trees"
    return view.columns in SCALES and view.learner == "kernel"


def _stand_ins(data: HetData) -> NDArray[np.int64] | None:
    """Return whose links each row has (n,); None where all have their own."""
    return next((graph.stands_for for graph in data.graphs.values()), None)


def _has(data: HetData, name: str) -> NDArray[np.bool_]:
    has = np.zeros(data.n, bool)
    has[data.rows(name)] = True
    return has


def views_apart(
    data: HetData, labels: KnownLabels, learners: tuple[str, ...], encodings: Mapping[str, TableEncoding]
) -> tuple[ViewColumns, list[DataView]]:
    """Return the columns of views that join no tables, each encoded as learned where it is, and the views."""
    columns = ViewColumns().fit(data, labels, learners, encodings)
    return columns, columns.of_training()


def fitted_views(
    data: HetData, labels: KnownLabels, learners: tuple[str, ...] = LEARNERS, n_jobs: int = 1, alike: str = ""
) -> tuple[ViewColumns, list[DataView]]:
    """Return the columns of all views, learned from some data, and its views; both recalled where they are known.

    What fits of one name, `alike`, are made from differs by the folds alone. Views that see no label are the same for
    them, and for all labels of one kind.
    """

    def fit() -> tuple[ViewColumns, list[DataView]]:
        tables = alike or (key_of(key_of_tables(data), labels.of_classes) if key else "")
        columns = ViewColumns().fit(data, labels, learners, n_jobs=n_jobs, alike=tables)
        columns.origin, columns.asked, found = key, learners, columns.of_training()
        if alike:
            keys = ["" if each.view.sees_labels else f"{alike} {each.view.columns} {each.view.sees}" for each in found]
            found = [each._replace(key=key) for each, key in zip(found, keys)]
        elif key:
            sees_all = columns.tables.linear_sees_all
            found = [each._replace(key=_key_of_view(each, data, labels, sees_all)) for each in found]
        hold_views(columns, data, labels, found)
        return columns, found

    key = origin_of(data, labels, learners) if MEMORY.room and not alike else ""
    return MEMORY.recalled("views", key, fit)


def origin_of(data: HetData, labels: KnownLabels, learners: Iterable[str]) -> str:
    """Return the digest of what views' columns are learned from."""
    return key_of(key_of_tables(data), labels.codes, labels.of_classes, labels.fold, sorted(learners))


def _key_of_view(made: DataView, data: HetData, labels: KnownLabels, sees_all: bool) -> str:
    """Return the digest of what a view's columns are made of; another source may change, or labels it does not see.

    `sees_all` is of `TableColumns`: how many graphs there are decides it, and for trees it changes nothing.
    """
    tables = [(name, data.sources[name].digest()) for name in made.view.tables]
    graphs = [(name, data.graphs[name].digest()) for name in made.view.graphs]
    # whether members have rows of their own hangs on any table's categories
    seen = (labels.codes, labels.fold, made.unseen is None) if made.view.sees_labels else ()
    seen += (sees_all,) if made.view.sees == "linear" else ()
    made_from = tables, graphs, data.ids.tolist(), labels.of_classes, *seen
    return key_of(tuple(made.view._replace(learner=made.view.sees)), *made_from, made.rows)


def enough_lack(known: NDArray[np.bool_]) -> int:
    """Return how many labelled rows, `known` (n,), must lack something that a learner may do without it."""
    return max(1, min(SEEN_LACKING, int(known.sum()) // 20))


def _lacked(present: NDArray[np.bool_], known: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return which parts (s,) enough known instances are without; all, where half of them would not be covered."""
    lacked = (~present[:, known]).sum(axis=1) >= enough_lack(known)
    covered = (present[:, known] | lacked[:, None]).all(axis=0)
    return lacked.astype(np.int64) if 2 * covered.sum() > covered.size else np.ones(len(present), np.int64)


def views(data: HetData, n_folds: int = 5, random_state: int | None = 0) -> list[DataView]:
    """Return the views that the consensus looks at, with the labels of `data` hidden by fold.

    Parameters
    ----------
    data : HetData
        With some labels.
    n_folds : int, default=5
        Folds of the labelled rows, at least 2.
    random_state : int or None, default=0
        Seed of the folds.

    Returns
    -------
    list of DataView
        Each with its `view` (name, tables, graphs, learner), the `rows` that it covers and their columns `X`.

    Raises
    ------
    ParameterError
        If there are less than two folds, or `random_state` is no seed.
    DataError
        If there is no label, or only one class, or the data are no HetData.
    """
    check_het_data(data, "views")
    # of a single fold all labels are hidden, of none some
    check_folds(n_folds)
    check_random_state(random_state)
    if data.target_kind is None:
        raise DataError("There is no label, which the neighbours' columns are made of: give a target.")
    problem = Problem.of(data, None, None, data.target_kind)
    codes = Outputs.of(problem.scale).codes(problem.target)
    labels = KnownLabels(codes, dealt_folds(problem, n_folds, random_state))
    return ViewColumns().fit(data, labels).of_training()
