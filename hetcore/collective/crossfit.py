r"""The default way to MGB: every label is predicted by trees and from neighbours that never saw it.

The labels are dealt into K folds, and K + 1 views are kept: in view k > 0 the labels of fold k are hidden, in view 0
none is. Each view has its own messages and its own trees, grown without fold k.

    F_0: boosted trees on own columns, neighbours' features, and neighbours' known labels, all at up to `hops` links;
         as many trees as give the lowest out-of-fold loss, mixed with others that see less (`base_model`);
         own columns alone unless the mix clearly errs less, and then GB's stages: no neighbour, no inference
    for stage s = 1..M:
        for each labelled i of fold k:  columns of i in view k
        for each view k: grow `trees_per_stage` small shrunken trees on the rows outside of fold k
        for each view k: F_s of the known, each by the trees that did not see its label; their residuals are messages
        for each view k: ICA2 over its hidden and its unlabelled instances, through all stages so far

So a stage sees neighbours' labels and residuals as it will see them at new instances, and "left_out" is the loss of
out-of-fold predictions after each stage. Trees are grown on the residuals that their own view leaves at the rows they
are grown on; out-of-fold residuals as targets would carry hidden labels from view to view (measured: the left-out loss
then rises while that of new instances falls). New instances are predicted by the mean of all views' trees.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.category_labels import CategoryLabels
from hetcore.collective.base_model import BaseModel, Columns, Mix
from hetcore.collective.events import alike
from hetcore.collective.inference import Inference, net_of, unlinked
from hetcore.collective.neighbor_columns import Hops
from hetcore.collective.stages import Grower, Stack, relational_columns
from hetcore.collective.static_columns import StaticColumns
from hetcore.collective.view_trees import grow_views
from hetcore.data import Graph
from hetcore.forest import Forest
from hetcore.kernels.collective_columns import Aggregation
from hetcore.kernels.collective_sweeps import Stages
from hetcore.kernels.layout import MISSING_BIN
from hetcore.kernels.threads import n_threads
from hetcore.targets import KnownLabels, Problem, Scale
from hetcore.trees import TreeParams

__all__ = ["SEVERAL", "CrossFitted", "bins_of"]

LEAVES, FEWEST, MOST = 25, 2, 10  # rows of a leaf: a 25th of the labels, from 2 to 10 (chosen where few are known)
LEAVES_OF_CLASS = 4  # or, where that is less, so many a class: a leaf as large as a class can't be of one
SEVERAL, BINS = 5, 32  # with more classes than that, columns have fewer bins: trees cost what their histograms do
# oblivious trees, which F_0 of numbers mixes with the others: levels and rows at most; by how much their learning rate
# is above that of the others, and up to where
LEVELS, MOST_ROWS, RATE_RATIO, MOST_RATE = 6, 5_000, 3.0, 0.15
LEAST_L2 = 1e-3  # their leaves may be without rows
MOST_COLUMNS = 40  # of a tree of more than five classes
SEEN_UNLINKED = 10  # labels of instances without a neighbour from which on trees know what that means
HIDDEN_SWEEPS = 2  # in the views in which labels are hidden; more change the stages' columns by nothing that counts


def bins_of(scale: Scale) -> int:
    """Return the most bins of a column."""
    return BINS if scale.n_outputs > SEVERAL else MISSING_BIN


def _codes_of(problem: Problem) -> NDArray[np.float64]:
    """Return what is averaged by category (n, k): of two classes one tells the other."""
    return problem.target[:, 1:] if problem.target.shape[1] == 2 else problem.target


class CrossFitted:
    """State of the default fit; one round is one stage."""

    def __init__(
        self,
        problem: Problem,
        graphs: dict[str, Graph],
        own: tuple[StaticColumns, NDArray[np.float32], NDArray[np.uint8]],
        params: dict[str, Any],
    ) -> None:
        self.problem, self.graphs, self.params, self.stage = problem, graphs, params, 0
        seeds = np.random.SeedSequence(params["random_state"]).spawn(3)
        # a stream each for folds, trees and sweeps, so that other trees leave the folds as they are
        self.rng_folds, self.rng_trees, self.rng_sweeps = (np.random.default_rng(seed) for seed in seeds)
        self.net = net_of(list(graphs.values()), problem.data.n, params["edge_weights"], params["direction"])
        self.features = params["features"] if self.net.indices.size else ()
        self.labelled = np.flatnonzero(problem.labelled)
        self.target = problem.target[self.labelled]
        # with fewer labels than folds, each label is a fold
        n_folds = min(params["folds"], self.labelled.size)
        # from 1: 0 is the view that hides nothing
        self.fold = 1 + self.rng_folds.permutation(self.labelled.size) % n_folds
        self.views = [self._inference(k) for k in range(n_folds + 1)]
        self.columns, values, self.own = own
        self.label_bins, labels = self._label_bins()
        # values are of the lines of F_0 alone
        self.values = (values, labels) if params["linear"] else None
        d = self.own.shape[0] + self.columns.label_mapper.n_bins.size
        self.n_bins = np.concatenate([self.columns.mapper.n_bins, self.columns.label_mapper.n_bins])
        self.stacks = [Stack(d, problem.scale.n_outputs) for _ in self.views]
        self.best, self.lowest = 0, np.inf
        self.trained = [np.tile(problem.scale.prior, (self.labelled.size, 1)) for _ in self.stacks]

    def _inference(self, k: int) -> Inference:
        """Return the messages of view k, in which the labels of fold k are hidden."""
        known = self.problem.labelled.copy()
        known[self.labelled[self.fold == k]] = False
        p, n_outputs = self.params, self.problem.scale.n_outputs
        fill = np.nan if p["no_neighbor"] == "nan" else 0.0
        aggregation = Aggregation(p["summary"] == "median", float(p["shrinkage"]), fill, fill)
        # without features there are no further messages, and room for them would be most of the memory
        n_stages, directed = p["n_iterations"] if self.features else 0, p["direction"] != "both"
        view = Inference.over(self.net, aggregation, n_stages, n_outputs=n_outputs, known=known, directed=directed)
        view.set_messages(self.labelled, 0, self._centred(self.target))
        return view

    def _centred(self, target: NDArray) -> NDArray[np.float64]:
        return target - self.problem.scale.mean if self.problem.scale.is_classifier else target

    def _label_bins(self) -> tuple[list[NDArray[np.uint8]], list[NDArray[np.float32]]]:
        """Return each view's columns of known labels (L, n), in bins of what rows see whose label is hidden, and as
        they are, (n, L).
        """
        targets = np.zeros_like(self.problem.target)
        targets[self.labelled] = self._centred(self.target)
        values, hidden, hops = [], [], Hops(self.net, self.problem.data.n)
        folds = np.full(self.problem.data.n, -1)
        folds[self.labelled] = self.fold
        self.columns.by_category = CategoryLabels.of(self.problem.data, KnownLabels(_codes_of(self.problem), folds))
        for k in range(len(self.views)):
            known = self.problem.labelled.copy()
            known[self.labelled[self.fold == k]] = False
            seen = folds, np.full(folds.size, k) if k else None
            values.append(self.columns.label_columns(self.problem.data, hops, targets, known, seen))
            # bins of what a row sees whose label is hidden, for that is what new instances see
            hidden.append(values[-1][self.labelled[self.fold == k]])
        self.columns.label_mapper = BinMapper(bins_of(self.problem.scale)).fit(np.concatenate(hidden))
        return [self.columns.label_mapper.transform(each) for each in values], values

    def _values(self, k: int) -> NDArray[np.float32] | None:
        """Return the static columns of view k, (n, d), that lines see; None where there is none."""
        if self.values is None:
            return None
        own, labels = self.values
        return np.hstack([own, labels[k]])

    def bins(self, k: int) -> NDArray[np.uint8]:
        """Return the static columns of view k, (d, n)."""
        return np.concatenate([self.own, self.label_bins[k]])

    @property
    def distinct(self) -> list[Inference]:
        """The views whose scores of labels differ: the first alone, where nothing is seen of neighbours."""
        return self.views if self.features or self.label_bins[0].size else self.views[:1]

    def _share_scores(self) -> None:
        """Give the views that are no others than the first its scores of the labelled."""
        for view in self.views[len(self.distinct) :]:
            view.scores[self.labelled] = self.views[0].scores[self.labelled]

    @property
    def asked(self) -> Inference:
        """The inference in which every label is known."""
        return self.views[0]

    @property
    def alone(self) -> Mix | None:
        """Own columns' part of F_0 for instances without a neighbour, where hardly a label is of one; else None."""
        several, groups = self.several, self.columns.groups(self.net.indptr.shape[0])
        own = groups[0].size == self.columns.n_own(self.net.indptr.shape[0])
        seen = unlinked(self.net)[self.labelled].sum() >= SEEN_UNLINKED
        return self.base.first if self.features and several and own and not seen else None

    def _predict_unlinked(self) -> None:
        """Give the unlabelled without a neighbour, in whose place nobody was trained, what own columns say alone."""
        rows, scores = self.lone
        self.asked.scores[rows] = scores

    @property
    def predictor(self) -> tuple[Stack, Mix]:
        """The means over the views: trees of the stages, and F_0."""
        return Stack.average(self.stacks), self.base.average()

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """Return raw scores (m, K) of the labelled rows: as trained, and left out."""
        return {"train": self.trained[0], "left_out": self.out_of_fold}

    def round(self) -> None:
        """Add a stage."""
        if self.stage == 0:
            self._first()
        else:
            self._further()
        self._predict_unlinked()
        self.stage += 1
        loss = float(self.problem.scale.loss.value(self.out_of_fold, self.target).mean())
        self._choose(loss)

    def _training_columns(self) -> Columns:
        """Return the static columns of the labelled rows, each as the view that hides its label has them."""
        d = self.own.shape[0]
        # contiguous once, or every tree would copy it
        binned = np.ascontiguousarray(self.bins(0)[:, self.labelled])
        values = None if self.values is None else self._values(0)[self.labelled]
        for k in range(1, len(self.views)):
            hidden = self.labelled[self.fold == k]
            binned[d:, self.fold == k] = self.label_bins[k][:, hidden]
            if values is not None:
                values[self.fold == k, d:] = self.values[1][k][hidden]
        return Columns(values, binned, self.n_bins)

    def _first(self) -> None:
        """F_0."""
        # the same table for all views: columns of labels are each row's own hidden ones
        table = self._training_columns()
        self.binned = table.binned
        self.base = BaseModel((self._grower, self._oblivious), self.params, self.fold, self._alike)
        groups = self.columns.groups(self.net.indptr.shape[0])
        groups = groups if self.params["mix"] else groups[-1:]
        self.several = len(groups) > 1
        self.base.fit(table, self.target, self.problem.scale, groups)
        self.trained, self.static = self.base.scores, groups[-1]
        if self.base.is_first_alone and groups[0].size == self.columns.n_own(self.net.indptr.shape[0]):
            # neighbours are not worth it: from here on all is GB's, bit for bit
            self.static, self.features, self.rng_trees = groups[0], (), self.base.rng_of_first
        for stack in self.stacks:
            stack.skip_stage()
        for k, view in enumerate(self.distinct):
            # in place: the view's state is what the kernels work on
            view.scores[:] = self._base_scores(k)
        self.lone = self._lone_scores()
        self.values = None  # nobody else asks for them, and they are four times as large as bins
        self._share_scores()
        self._send_residuals()
        # sweeps begin from F_0 in each stage
        self.priors = [view.scores.copy() for view in self.views] if self.features else []
        self._infer()

    def _alike(self, scores: NDArray) -> bool:
        """Return whether the residuals of out-of-fold scores (m, K) are alike along the links."""
        return alike(self.problem, self.problem.scale.fitted(scores), self.target, self.graphs)

    def _base_scores(self, k: int) -> NDArray[np.float64]:
        """Return F_0 (n, K) in view k: where a label is known by trees that did not see it, else by the view's own."""
        values, bins, n = self._values(k), self.bins(k), self.problem.data.n
        by = np.full(n, k)
        by[self.labelled] = self.fold
        scores = np.empty((n, self.problem.scale.n_outputs))
        for q in np.unique(by):
            # an unlabelled row was seen by no view's trees, and takes the mean of all
            mix = self.base.average() if q == 0 else self.base.mixes[q]
            scores[by == q] = self.problem.scale.prior + mix.predict(values, bins, np.flatnonzero(by == q))
        return scores

    def _lone_scores(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the unlabelled without a neighbour, in whose place nobody was trained, and their scores."""
        rows = np.flatnonzero(unlinked(self.net) & ~self.problem.labelled)
        if not rows.size or (alone := self.alone) is None:
            return rows[:0], np.empty((0, self.problem.scale.n_outputs))
        return rows, self.problem.scale.prior + alone.predict(self._values(0), self.bins(0), rows)

    def _further(self) -> None:
        """A stage after F_0."""
        columns = [view.columns(self.labelled, view.scores[self.labelled], self.stage) for view in self.distinct]
        own = columns[0].copy()
        for k, each in enumerate(columns[1:], 1):
            own[self.fold == k] = each[self.fold == k]
        # one table of bins for all views, from the columns that each label has where it is hidden
        mapper = BinMapper(bins_of(self.problem.scale)).fit(own)
        forests = self._grow(mapper, own)
        for stack, forest in zip(self.stacks, forests):
            stack.append(forest, mapper)
        for k, view in enumerate(self.distinct):
            self._add(k, view, mapper.transform(columns[k]), forests)
        self._share_scores()
        self._send_residuals()
        self._infer()

    def _choose(self, loss: float) -> None:
        """Choose the stage that predicts: the last one, or that of the lowest mean out-of-fold loss."""
        # a tie goes to the earlier stage, which costs less
        if loss < self.lowest or not self.params["select_stages"]:
            self.lowest, self.best = loss, self.stage - 1

    @property
    def _grower(self) -> Grower:
        p, n_outputs = self.params, self.problem.scale.n_outputs
        # few labels bear small leaves only; many need larger ones against noise
        leaves = max(LEAVES, LEAVES_OF_CLASS * n_outputs)
        fewest = p["min_samples_leaf"] or int(np.clip(self.labelled.size // leaves, FEWEST, MOST))
        # a row's curvature is p (1 - p), small of one class in many: l2 counts rows of two even classes
        curvature = 4.0 * (n_outputs - 1) / n_outputs**2 if n_outputs > 1 else 1.0
        limits = TreeParams(p["max_depth"], p["max_leaf_nodes"], fewest, 1e-3, curvature * p["l2"])
        shares = p["subsample"], p["column_sample"]
        several = n_outputs > SEVERAL
        rule = limits, p["learning_rate"], p["leaf"] == "median", *shares, self.rng_trees
        most = MOST_COLUMNS if several else None
        return Grower(self.problem.scale, *rule, most_columns=most, n_jobs=n_threads(p["n_jobs"]))

    @property
    def _oblivious(self) -> Grower | None:
        """Of oblivious trees that see all columns, for F_0's mix; None where they are not asked for."""
        # of one label a view would see none
        if not self.params["oblivious_trees"] or self.labelled.size < 2:
            return None
        grower, rate, depth = self._grower, self.params["learning_rate"], self.params["max_depth"]
        levels = min(depth, LEVELS) if depth > 0 else LEVELS
        limits = grower.limits._replace(max_depth=levels, min_samples_leaf=1, l2=max(grower.limits.l2, LEAST_L2))
        return replace(
            grower,
            limits=limits,
            learning_rate=max(rate, min(RATE_RATIO * rate, MOST_RATE)),
            subsample=min(grower.subsample, MOST_ROWS / self.labelled.size),
            column_sample=1.0,
            oblivious=True,
        )

    def _grow(self, mapper: BinMapper, own: NDArray[np.float32]) -> list[Forest]:
        """Grow the stage's trees of every view on out-of-fold columns, targets and scores."""
        n_graphs, n_outputs = self.net.indptr.shape[0], self.problem.scale.n_outputs
        more = relational_columns(self.features, n_graphs, n_outputs, self.stage, self.params)
        allowed = np.concatenate([self.static, self.binned.shape[0] + more]).astype(np.int32)
        n_bins = np.concatenate([self.n_bins, mapper.n_bins]).astype(np.int32)
        binned, grower = np.concatenate([self.binned, mapper.transform(own)]), self._grower
        rows = [np.flatnonzero(self.fold != k).astype(np.int32) for k in range(len(self.views))]
        table, n_trees = (binned, n_bins, allowed), self.params["trees_per_stage"]
        # in the view's own scores: a view's trees mend what its own trees left
        forests, added = grow_views(grower, table, self.target, self.trained, rows, n_trees=n_trees)
        self.trained = [before + each for before, each in zip(self.trained, added)]
        return forests

    def _add(self, k: int, view: Inference, relational: NDArray[np.uint8], forests: list[Forest]) -> None:
        """Add the stage to the labelled instances' scores, each by the trees that did not see its label."""
        labels = self.label_bins[k][:, self.labelled]
        binned = np.concatenate([self.binned[: self.own.shape[0]], labels, relational])
        for q in range(1, len(forests)):
            rows = np.flatnonzero(self.fold == q)
            view.scores[self.labelled[rows]] += forests[q].predict(binned, rows.astype(np.uint32))
        if not self.features and k == 0 and view.unknown.size:
            self._add_unlinked(view, forests)

    def _add_unlinked(self, view: Inference, forests: list[Forest]) -> None:
        """Add the stage to the unlabelled instances' scores, where no column is relational and nothing is inferred."""
        own = self.bins(0)[:, view.unknown]
        # trees split by relational columns too, which here are all missing
        more = np.full((forests[0].to_arrays()["nodes"]["feature"].max(initial=0) + 1, own.shape[1]), 255, np.uint8)
        binned = np.concatenate([own, more])
        view.scores[view.unknown] += sum(forest.predict(binned) for forest in forests) / len(forests)

    def _send_residuals(self) -> None:
        """Let the known of every view have their residuals as messages."""
        # after the last stage nobody reads them
        if not self.features or self.stage >= self.params["n_iterations"]:
            return
        for k, view in enumerate(self.views):
            rows = self.labelled[self.fold != k]
            residual = self.target[self.fold != k] - self.problem.scale.fitted(view.scores[rows])
            view.set_messages(rows, self.stage + 1, residual)

    def stages(self, k: int) -> Stages:
        """Return the trees by which the unknown of view k are inferred."""
        stack = self.stacks[k] if k else Stack.average(self.stacks)
        return stack.ready(np.ascontiguousarray(self.bins(k).T), self.problem.scale, self.priors[k])

    def _infer(self) -> None:
        """Infer the unknown of every view."""
        for k, view in enumerate(self.views if self.features else []):
            stages, p = self.stages(k), self.params
            if self.stage == 0:
                view.begin(stages, p["inferred_weight"])
            # hidden views need their neighbours' direction, not their last digit
            sweeps = min(p["sweeps"], HIDDEN_SWEEPS) if k else p["sweeps"]
            view.infer(stages, self.rng_sweeps, sweeps, p["tol"], p["damping"])

    @property
    def out_of_fold(self) -> NDArray[np.float64]:
        """Scores (m, K) of the labelled rows, each by view and trees that did not see its label."""
        own = np.empty_like(self.target)
        for k, view in enumerate(self.views[1:], 1):
            own[self.fold == k] = view.scores[self.labelled[self.fold == k]]
        return own
