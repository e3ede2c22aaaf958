r"""GB, RGB and MGB to the letter: Algorithms 1 to 4 of the paper.

GB and RGB (Algorithm 1, `Algorithm1`)

    2  F_0 = mean of y
    3  for m = 1..M:
    4      r = y - F_{m-1}
    5      a tree on X (RGB: on [X, Rf1]) for r
    6      its leaves are the medians of r
    7      F_m = F_{m-1} + tree

RGB predicts by Algorithm 2 (ICA): Rf1 is the median of the neighbours' known labels and current predictions.

MGB (Algorithm 3, `Algorithm3`)

    1-3    F_0 = h_0: a tree on [X, Rf] for y; Rf1 = Rf4 = median of the known neighbours' y, Rf2 = Rf3 = 0
    4-9    y~_i: the mean of what ICA2 infers for i in the rounds that hide i; each hides a fifth of the labels
    11     for m = 1..M:
    12         r_m = y - y~
    13         Rf1, Rf2, Rf3: medians of the neighbours' y, r_m and r_{m-1} (r_0 is y);  Rf4 = y~
    15-16      a tree h_m on [X, Rf] for r_m;  F_m = F_{m-1} + h_m
    18-23      y~ as in lines 4-9, by F_m

ICA2 (Algorithm 4) first goes through the stages of the known instances, seeing known neighbours alone, for
their residuals (lines 1-9); then of the unknown ones, seeing known neighbours alone (lines 12-20); then 50 sweeps over
the unknown in random order, seeing all (21-33). An unknown instance's message of stage m is h_m (lines 17 and 28).

What the paper leaves open, or where it can't run
-------------------------------------------------
- l, 5, is the "max number of nodes" in the boxes, a depth in the text and the "max size" in the experiments. Here it is
  a depth, `max_depth=5`: up to 32 leaves. Five nodes, three leaves, are `max_depth=-1, max_leaf_nodes=3`. They decide
  what comes out: on the films RGB errs more than GB with depth 5, less with five nodes (docs/papers.md, Figure 1).
- An instance that no round hides has no y~: it keeps F_m on its training columns. `rounds="cover"` hides all.
- The experiments set Rf2 to zero at the first stage; below Eq. 9 it is the median of the targets: `first_rf2="target"`.
- What an unknown neighbour counts for in Rf1 is y~ in line 27, which h_0 alone sets; Eq. 8 speaks of the estimated
  value, which is the sum of all stages: `estimate="sum"`.
- Line 21 counts from 0 to itr, the experiments name 50 iterations: 50 sweeps, or fewer where nothing changes any more.
- Without a known neighbour all relational features are zero, Rf4 only where it is initialised, at stage 0.
- A tree cuts a column of more than 255 distinct values at the borders of 255 quantile bins, not between any two values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.collective.base_model import Mix
from hetcore.collective.inference import Inference, net_of
from hetcore.collective.stages import Grower, Stack, Table, relational_columns
from hetcore.data import Graph
from hetcore.forest import Forest
from hetcore.kernels.collective_columns import Aggregation
from hetcore.kernels.collective_sweeps import REMAINDER, STAGE, SUM_AND_STAGE, Stages
from hetcore.targets import Problem
from hetcore.trees import TreeParams

__all__ = ["SENDS", "Algorithm1", "Algorithm3", "algorithm4", "unscaled"]

FIFTHS = 5  # one label in five is hidden in a round
SENDS = {"first": STAGE, "sum": SUM_AND_STAGE}


def unscaled(problem: Problem) -> Problem:
    """Return the problem in the labels' own unit, but for a power of two.

    Medians of two neighbours lie half way between two targets, where trees split too: a rounding would decide.
    """
    # a power of two changes no digit, so that medians and splits are those of the labels' own unit
    exact = replace(problem.scale, mean=np.zeros(1), deviation=float(2.0 ** np.round(np.log2(problem.scale.deviation))))
    truth = np.where(problem.scored[:, None], problem.truth * problem.scale.deviation + problem.scale.mean, 0.0)
    target = exact.codes(problem.data.y, problem.labelled)
    return replace(problem, scale=exact, target=target, truth=truth / exact.deviation)


def algorithm4(
    view: Inference, stages: Stages, known: NDArray[np.int64], residuals: bool, rng: np.random.Generator, **how: Any
) -> None:
    """Infer the unknown, whose scores then are their predictions; also Algorithm 2, where messages are targets alone.

    Parameters
    ----------
    view : Inference
        Whose known instances have their targets as messages.
    stages : Stages
    known : (m,) int64
    residuals : bool
        Whether neighbours' residuals are seen: lines 1 to 9.
    rng : Generator
        Draws the orders.
    **how
        `sweeps`, and what else `Inference.infer` takes.
    """
    # lines 1 and 12: from the known alone
    view.start_from_neighbors(np.concatenate([known, view.unknown]))
    if residuals:
        view.add_residuals(stages, known)
    view.begin(stages, 1.0)
    # as printed: every sweep is done, whatever still moves
    view.infer(stages, rng, tol=0.0, **how)


class _Letter:
    """What both fits share; one round is one stage, the first of them F_0."""

    residuals = False

    def __init__(
        self, problem: Problem, graphs: dict[str, Graph], own: tuple[NDArray, NDArray], params: dict[str, Any]
    ) -> None:
        self.problem, self.graphs, self.params, self.stage = problem, graphs, params, 0
        # a stream for each thing that draws: another number of sweeps must not change which labels are hidden
        seeds = np.random.SeedSequence(params["random_state"]).spawn(3)
        self.rng_rounds, self.rng_sweeps, self.rng_unlabelled = (np.random.default_rng(seed) for seed in seeds)
        self.net = net_of(list(graphs.values()), problem.data.n, False, params["direction"])
        # without an edge, relational columns would be constants
        self.features = params["features"] if self.net.indices.size else ()
        self.labelled = np.flatnonzero(problem.labelled)
        self.table = Table.of(*own, self.labelled, 4 * len(graphs) + 1)
        self.target, self.stack = problem.target[self.labelled], Stack(own[0].shape[0], 1)
        # as printed a zero, where the default has a missing value
        fill = np.nan if params["no_neighbor"] == "nan" else 0.0
        self.aggregation = Aggregation(True, 0.0, fill, fill)
        self.mean = float(np.mean(self.target))
        self.start = 0.0  # F before the first tree
        self.view, self.unlabelled = self._inference(problem.labelled), self._inference(problem.labelled)
        self.direct = np.zeros_like(self.target)  # F_m on the columns of training
        self.seen: NDArray | None = None  # the relational columns of the stage before

    def _inference(self, known: NDArray[np.bool_]) -> Inference:
        """Return the messages of targets alone, of which the `known` are known."""
        n_stages, directed = self.params["n_iterations"], self.params["direction"] != "both"
        view = Inference.over(self.net, self.aggregation, n_stages, n_outputs=1, known=known, directed=directed)
        rows = np.flatnonzero(known)
        view.set_messages(rows, 0, self.problem.target[rows])
        return view

    @property
    def asked(self) -> Inference:
        """The inference of the unlabelled instances after the last stage."""
        return self.unlabelled

    @property
    def best(self) -> int:
        """The last stage done."""
        return self.stage - 1

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """Return F_m, or y~, of the labelled rows (m, 1)."""
        return {"train": self.trained}

    @property
    def predictor(self) -> tuple[Stack, Mix]:
        """Trees of the stages, and what stands before them."""
        return self.stack, Mix(Forest.constant(np.array([self.start])), None, None)

    def _grow(self, own: NDArray, before: NDArray) -> None:
        """Add a tree on own and relational columns for what `before` leaves; `own` is Rf4."""
        values = self.seen = self.view.columns(self.labelled, own, self.stage, self.seen)
        mapper = BinMapper().fit(values)
        more = relational_columns(self.features, len(self.graphs), 1, self.stage, self.params)
        # what a stage may not see keeps its place among the columns: trees of all stages count them alike
        allowed = np.concatenate([np.arange(self.table.d), self.table.d + more]).astype(np.int32)
        n_bins = np.concatenate([self.table.n_bins, mapper.n_bins]).astype(np.int32)
        limits = TreeParams(self.params["max_depth"], self.params["max_leaf_nodes"], self.params["min_samples_leaf"])
        grower = Grower(
            scale=self.problem.scale,
            limits=limits,
            learning_rate=1.0,
            median=True,
            subsample=1.0,
            column_sample=1.0,
            rng=self.rng_rounds,
        )
        table, rows = self.table.fill(mapper, values), np.arange(self.labelled.size, dtype=np.int32)
        center = self.mean if self.stage == 0 else 0.0  # splits are the same, and float32 sees small numbers
        forest = grower.stage((table, n_bins, allowed), self.target, before, rows, n_trees=1, center=center)
        self.stack.append(forest, mapper)
        self.direct += forest.predict(table)

    def _stages(self) -> Stages:
        sends = SENDS[self.params["estimate"]] if self.residuals else REMAINDER
        prior = np.full((self.table.bins.shape[0], 1), self.start)
        return self.stack.ready(self.table.bins, self.problem.scale, prior, sends)

    def _predict(self) -> None:
        """Infer the unlabelled instances for the event of this stage, if anyone looks."""
        # inference costs more than the stage itself, and nobody needs it before the end
        if self.params["watched"] or self.problem.scored.any():
            rng, sweeps = self.rng_unlabelled, self.params["sweeps"]
            self._infer(self.unlabelled, self.labelled, rng, sweeps)

    def _infer(self, view: Inference, known: NDArray, rng: np.random.Generator, sweeps: int) -> None:
        # without relational columns nothing that is inferred can change anything
        links = self.features and sweeps
        algorithm4(view, self._stages(), known, self.residuals, rng, sweeps=sweeps if links else 0)


class Algorithm1(_Letter):
    """State of GB's or RGB's fit."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.start = self.mean
        self.direct += self.start

    @property
    def trained(self) -> NDArray[np.float64]:
        """F_m of the labelled rows (m, 1)."""
        return self.direct

    def round(self) -> None:
        """Add a stage: F_0 is the mean."""
        if self.stage == 0:
            self.stack.skip_stage()
        else:
            self._grow(self.direct, self.direct)
        self.stage += 1
        self._predict()


class Algorithm3(_Letter):
    """State of MGB's fit."""

    residuals = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.trained = np.zeros_like(self.target)  # y~
        self.view.start_from_neighbors(self.labelled)

    def round(self) -> None:
        """Add a stage."""
        first = self.stage == 0
        self._grow(self.view.state.initial[self.labelled] if first else self.trained, self.trained)
        self.stage += 1
        self.trained = self._rounds()
        if self.stage <= self.params["n_iterations"]:
            self.view.set_messages(self.labelled, self.stage, self.target - self.trained)
        self._predict()

    def _rounds(self) -> NDArray[np.float64]:
        """Return y~ (m, 1): lines 4 to 9, and 18 to 23."""
        total, count = np.zeros_like(self.target), np.zeros(self.labelled.size)
        for _ in range(self.params["n_rounds"]):
            # a permutation modulo five: fifths of equal size, up to one
            fold = self.rng_rounds.permutation(self.labelled.size) % FIFTHS
            for k in range(FIFTHS if self.params["rounds"] == "cover" else 1):
                total[fold == k] += self._inferred(fold == k)
                count[fold == k] += 1
        some = count > 0
        # an instance that no round hid has no y~
        return np.where(some[:, None], total / np.maximum(count, 1)[:, None], self.direct)

    def _inferred(self, hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Hide some of the targets, and infer them among the labelled instances alone."""
        known = np.zeros(self.problem.labelled.size, bool)
        known[self.labelled[~hidden]] = True
        view = self._inference(known)
        # hidden instances alone: those without a label take no part in training
        view.unknown = self.labelled[hidden]
        self._infer(view, self.labelled[~hidden], self.rng_sweeps, self.params["sweeps"])
        return view.scores[self.labelled[hidden]]
