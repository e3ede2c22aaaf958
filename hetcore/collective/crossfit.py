r"""The default way to MGB: every label is predicted by trees and by neighbours that never saw it.

The labels are dealt into K folds, and K + 1 views are kept: in view k > 0 the labels of fold k are hidden, in view 0
none is. Each view has its own conversation (what everyone says) and its own trees, grown without fold k.

    F_0: boosted trees on own columns (RGB: and Rf1); from then on F_0 of a label is what trees without it predict
    for stage s = 0..M:
        for each labelled i of fold k:  columns of i in view k;  target y_i - F_{s-1}(i) as view k predicts it
        for each view k: grow `trees_per_stage` small shrunken trees on the rows outside of fold k
        for each view k: F_s of the known, each by the trees that did not see its label; their residuals are said
        for each view k: ICA2 over its hidden and its unlabelled instances, through all stages so far

So a stage sees neighbours' residuals as it will see them at new instances, and "left_out" is an honest score after each
stage. Boosting inside of a view goes on from stage to stage as usual, on the residuals that its trees leave at the rows
they are grown on, but starts afresh after F_0, from the honest scores: what F_0 memorised is a residual again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.collective.inference import Conversation, net_of
from hetcore.collective.stages import Grower, Stack
from hetcore.data import Graph
from hetcore.forest import Forest
from hetcore.kernels.collective import Rules
from hetcore.targets import Problem
from hetcore.trees import TreeParams

__all__ = ["CrossFitted", "Table", "relational_columns"]

HIDDEN_SWEEPS = 2  # in the views in which labels are hidden; more change the stages' columns by nothing that counts


def relational_columns(
    features: tuple[str, ...], n_graphs: int, n_outputs: int, stage: int, counts: bool
) -> NDArray[np.int64]:
    """Return which relational columns a stage may split by: see `hetcore.kernels.collective.stage_columns`."""
    there = [("rf1" in features), ("rf2" in features and stage > 0), ("rf3" in features and stage > 1)]
    block = np.repeat([*there, counts and any(there)], [n_outputs] * 3 + [1])
    own = np.full(n_outputs, "rf4" in features and stage > 0)
    return np.flatnonzero(np.concatenate([np.tile(block, n_graphs), own]))


@dataclass
class Table:
    """Own columns of all instances, and room for the columns of a stage.

    Attributes
    ----------
    bins : (n, d) uint8
    n_bins : (d,) int32
    labelled : (m,) int64
        Rows with a label.
    binned : (d + R, m) uint8
        Of the labelled rows; the last R are written anew for every stage and view.
    """

    bins: NDArray[np.uint8]
    n_bins: NDArray[np.int32]
    labelled: NDArray[np.int64]
    binned: NDArray[np.uint8]

    @classmethod
    def of(cls, own: NDArray[np.uint8], n_bins: NDArray[np.int32], labelled: NDArray[np.int64], n_more: int) -> Table:
        """Return the table of own columns (d, n)."""
        binned = np.zeros((own.shape[0] + n_more, labelled.size), np.uint8)
        binned[: own.shape[0]] = own[:, labelled]
        return cls(np.ascontiguousarray(own.T), n_bins, labelled, binned)

    @property
    def d(self) -> int:
        return self.bins.shape[1]

    def fill(self, mapper: BinMapper, columns: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Write the relational columns (m, R) and return all binned columns."""
        self.binned[self.d :] = mapper.transform(columns)
        return self.binned


class CrossFitted:
    """State of the default fit; one round is one stage."""

    def __init__(
        self,
        problem: Problem,
        graphs: dict[str, Graph],
        own: tuple[NDArray[np.uint8], NDArray[np.int32]],
        params: dict[str, Any],
    ) -> None:
        self.problem, self.graphs, self.params, self.stage = problem, graphs, params, 0
        seeds = np.random.SeedSequence(params["random_state"]).spawn(3)
        self.rng_folds, self.rng_trees, self.rng_sweeps = (np.random.default_rng(seed) for seed in seeds)
        net = net_of(list(graphs.values()), problem.data.n, params["edge_weights"])
        self.features = params["features"] if net.indices.size else ()
        K, G = problem.scale.n_outputs, len(graphs)
        chosen = params["select_stages"]
        self.select = not {"rf2", "rf3"} & set(self.features) if chosen is None else chosen
        self.labelled = np.flatnonzero(problem.labelled)
        self.table = Table.of(*own, self.labelled, G * (3 * K + 1) + K)
        self.target = problem.target[self.labelled]
        n_folds = min(params["folds"], self.labelled.size)
        self.fold = 1 + self.rng_folds.permutation(self.labelled.size) % n_folds
        self.stacks = [Stack(self.table.d, K) for _ in range(n_folds + 1)]
        self.views = [self._conversation(net, k) for k in range(n_folds + 1)]
        self.best, self.lowest, self.paid = 0, np.inf, False
        self.trained = [np.tile(problem.scale.prior, (self.labelled.size, 1)) for _ in self.stacks]

    def _conversation(self, net: Any, k: int) -> Conversation:
        """Return the conversation of view k, in which the labels of fold k are hidden."""
        known = self.problem.labelled.copy()
        known[self.labelled[self.fold == k]] = False
        fill = np.nan if self.params["no_neighbor"] == "nan" else 0.0
        rules = Rules(self.params["summary"] == "median", float(self.params["shrinkage"]), fill, fill)
        n_outputs = self.problem.scale.n_outputs
        view = Conversation.over(net, rules, self.params["n_iterations"], n_outputs, known)
        view.scores[:] = self.problem.scale.prior
        view.tell(self.labelled, 0, self._centred(self.target))
        return view

    def _centred(self, target: NDArray) -> NDArray[np.float64]:
        return target - self.problem.scale.mean if self.problem.scale.is_classifier else target

    @property
    def asked(self) -> Conversation:
        """The conversation in which every label is known."""
        return self.views[0]

    @property
    def stack(self) -> Stack:
        """The trees that saw every label."""
        return self.stacks[0]

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """Return raw scores (m, K) of the labelled rows: as trained, and left out."""
        return {"train": self.trained[0], "left_out": self.honest}

    def round(self) -> None:
        """Add a stage."""
        columns = [view.columns(self.labelled, view.scores[self.labelled], self.stage) for view in self.views]
        own = np.stack([columns[k][at] for at, k in enumerate(self.fold)])
        mapper = BinMapper().fit(own)
        if self.stage == 1:
            self.trained = [self.honest for _ in self.stacks]
        forests = self._grow(mapper, own)
        for stack, forest in zip(self.stacks, forests):
            stack.append(forest, mapper)
        for k, view in enumerate(self.views):
            self._hear(k, view, self.table.fill(mapper, columns[k]), forests)
        self.stage += 1
        for k, view in enumerate(self.views):
            self._infer(k, view)
        loss = float(self.problem.scale.loss.value(self.honest, self.target).mean())
        self._choose(loss)

    def _choose(self, loss: float) -> None:
        """Choose the stage that predicts, by the loss (a mean over honest predictions) after each.

        With `select` it is the best one, F_0 alone only if that looks at neighbours itself. Else all stages predict, or
        F_0 alone if none of the others was better: then there is nothing along the links.
        """
        first = self.stage == 1
        linked = not first and bool(self.features)
        if self.select:
            if loss < self.lowest or (self.stage == 2 and linked and not self.params["first_linked"]):
                self.lowest, self.best = loss, self.stage - 1
            return
        self.paid = self.paid or (not first and loss < self.lowest)
        self.lowest = min(self.lowest, loss)
        self.best = self.stage - 1 if self.paid else 0

    def _grow(self, mapper: BinMapper, own: NDArray[np.float32]) -> list[Forest]:
        """Grow the stage's trees of every view on honest columns, targets and scores."""
        G, K = len(self.graphs), self.target.shape[1]
        features = self.features if self.stage or self.params["first_linked"] else ()
        more = relational_columns(features, G, K, self.stage, self.params["counts"])
        allowed = np.concatenate([np.arange(self.table.d), self.table.d + more]).astype(np.int32)
        n_bins = np.concatenate([self.table.n_bins, mapper.n_bins]).astype(np.int32)
        table = self.table.fill(mapper, own), n_bins, allowed
        count = self.params["trees_per_stage"] if self.stage else self.params["first_trees"]
        rows = np.arange(self.labelled.size, dtype=np.int32)
        grown = [rows if k == 0 else rows[self.fold != k] for k in range(len(self.stacks))]
        grower, forests = self._grower(), []
        for r, score in zip(grown, self.trained):
            forests.append(grower.stage(table, self.target, score, r, count) if r.size else Forest(K))
            score += forests[-1].predict(table[0])
        return forests

    def _grower(self) -> Grower:
        p = self.params
        limits = TreeParams(p["max_depth"], p["max_leaf_nodes"], p["min_samples_leaf"], 1e-3, float(p["l2"]))
        shares = p["subsample"], p["column_sample"]
        return Grower(self.problem.scale, limits, p["learning_rate"], p["leaf"] == "median", *shares, self.rng_trees)

    def _hear(self, k: int, view: Conversation, binned: NDArray[np.uint8], forests: list[Forest]) -> None:
        """Add the stage to the labelled instances' scores, and let the known say their residuals."""
        for q in range(1, len(forests)):
            rows = np.flatnonzero(self.fold == q)
            view.scores[self.labelled[rows]] += forests[q].predict(binned, rows.astype(np.uint32))
        if self.stage < self.params["n_iterations"]:
            known = self.fold != k
            rows = self.labelled[known]
            residual = self.target[known] - self.problem.scale.fitted(view.scores[rows])
            view.tell(rows, self.stage + 1, residual)

    def _infer(self, k: int, view: Conversation) -> None:
        stages = self.stacks[k].ready(self.table.bins, self.problem.scale)
        if self.stage == 1:
            view.begin(stages, self.params["voice"])
        sweeps = min(self.params["sweeps"], HIDDEN_SWEEPS) if k else self.params["sweeps"]
        view.infer(stages, self.rng_sweeps, sweeps, self.params["tol"])

    @property
    def honest(self) -> NDArray[np.float64]:
        """Scores (m, K) of the labelled rows, each by view and trees that did not see its label."""
        own = np.empty_like(self.target)
        for k, view in enumerate(self.views[1:], 1):
            own[self.fold == k] = view.scores[self.labelled[self.fold == k]]
        return own
