r"""Gradient Boosting Consensus to the letter: Algorithm 1 of the paper.

    1  f_i <- the constant that minimises sum_T L(., y), i = 1..p
    2  w_i <- 1/p; w^_g <- 1/q
    3  for t = 1..N:
    4    for each source i:
           E(x) = sum_i w_i f_i(x) over the sources that cover x                                          (4.2)
           E~_i(x) = sum_g w^_g / |{(z, x) in G_g}| sum_{(z, x) in G_g} f_i(z)                            (4.3)
    5      z_i(x) = - dL/df_i(x), as displayed below                                                (4.5), (4.7)
    6      h <- regression tree on source i's columns to z_i
    7      rho <- argmin of the objective along h                                                   (4.4), (4.8)
    8      f_i <- f_i + rho h                                                                             (4.9)
    10   w_i <- exp(-sum_{x in T} L(f_i(x), y) / z), sum_i w_i = 1                                       (4.10)
         w^_g <- exp(-(1/c) sum_{a ~ b in G_g} sum_i w_i L(f_i(a), f_i(b)) / z), sum_g w^_g = 1          (4.11)
    12 predict P(sum_i w_i f_i(x)): identity, or the sign; classes one against the others                  (4.6)

L is the squared error for numbers (half of it here: no step, weight or prediction changes) and the logistic loss of
labels +1 and -1 for classes. The display below (4.5) has, for the squared error,

    dL/df_i = 2 w_i ((f_i - y) on T + lambda0 (f_i - E) on U_i) + lambda1 (f_i - E~_i) on U_i

without 2 w_i before lambda1, though the objective (4.4) has w_i there: that is done as displayed. So h need not be a
descent direction of the objective, and rho may be negative. For the logistic loss all three terms have w_i.

Departures, each the smallest that lets the algorithm run where a source or a link is missing
------------------------------------------------------------------------------------------
- T and U_i of source i are the labelled and unlabelled instances that it covers. The sums of E, E~_i and (4.6) are
  divided by the weights of the sources that cover x and of the graphs in which x has a neighbour, so that they still
  are the "expected prediction" whose weights sum to one.
- Neighbours that source i does not cover have no f_i and are not counted in (4.3); a link of weight a counts a times.
- E and E~_i are held fixed in the line search, as the gradient holds them.
- c in (4.11), which the paper does not name, is the number of the graph's edges that some source covers at both ends. A
  graph without such an edge gets weight 0.
- Line 1's constant is that of all labels, the same for every source, and not of those that source i covers.
- An instance without a label that no term pulls (lambda0 = 0, and lambda1 = 0 or no neighbour) has no z_i: it is in no
  tree of line 6, where a zero would pull the leaves to 0.
- A cut of line 6's tree, whose place the paper does not say, lies right above the lower of the two values it parts:
  what lies between them, and was in no tree, goes to the upper side.
- That tree cuts a column of more than 255 distinct values at the borders of 255 quantile bins, not between any two.
- A source without a labelled instance has no loss in (4.10): it counts with that of line 1's constant over all of T.
- The logistic loss may fall for ever along h: one step moves no score by more than 1e6.
- An instance that no table has is predicted by its neighbours' average.

With all four helps of `Tempering` at their defaults it is the paper's algorithm; with any of them it is the
*tempered* arm of the experiments. They are off unless asked for.

Reference: X. Shi, J.-F. Paiement, D. Grangier, P. S. Yu, "GBC: Gradient boosting consensus model for heterogeneous
data".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.consensus.executor import Executor, LocalExecutor, SourceState
from hetcore.consensus.neighbor_columns import FAINTEST
from hetcore.consensus.outputs import widened
from hetcore.consensus.predictor import Memory, in_no_table, neighbour_averages
from hetcore.consensus.printed.partial_sums import BLOCK
from hetcore.consensus.printed.source_learners import (
    PrintedTask,
    TableContent,
    TableLearner,
)
from hetcore.consensus.view_weights import weights_from_losses
from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.forest import Forest
from hetcore.parameters import Declared, Flag, Interval, param
from hetcore.round_scores import TableScores, validation_rows
from hetcore.schema import TEXTS, Stored, array, part, parts, value
from hetcore.targets import Problem, Scale
from hetcore.trees import Tree

__all__ = ["PRINTED_AUTO", "Printed", "PrintedModel", "Tempering"]

LEFT_OUT = 1.0 / 3.0  # of the labelled rows in a round, if they set the weights
# small: the sums grow with the unlabelled rows
PRINTED_AUTO = 0.03  # what "auto" is of lambda0 and lambda1: no loss here is out of fold, which could choose


class Tempering(Declared):
    """The four helps, each usable by itself: parameters of `GBCClassifier` and `GBCRegressor`."""

    shrinkage: float = param(
        1.0,
        Interval(0, 1, "(]", "1 takes the whole step of the line search, as printed"),
        "As printed, the share of the line search's step that is taken; 1 is the paper's.",
    )
    relative_lambda: bool = param(
        False,
        Flag(),
        "As printed, whether the sums of lambda0 and lambda1 are scaled to as many rows as are labelled; the paper's "
        "sums grow with the unlabelled rows.",
    )
    clamp_neighbors: bool = param(
        False, Flag(), "As printed, whether a labelled neighbour counts with its label, not its prediction."
    )
    left_out_weights: bool = param(
        False,
        Flag(),
        "As printed, whether a third of the labelled rows, drawn anew each round, trains nothing in it and sets the "
        "weights (4.10); the paper takes the training loss.",
    )


@dataclass
class Printed:
    """The state of a fit as printed; `round` is one pass of lines 3 to 9. K is 1 for numbers and two classes.

    f_i and lines 5 to 8 are a source's learner's (`hetcore.consensus.printed.source_learners`), wherever that is.
    """

    problem: Problem
    task: PrintedTask
    executor: Executor
    tables: list[SourceState]
    forests: list[list[Forest]]
    weights: NDArray[np.float64]  # (p, K) w
    graph_weights: NDArray[np.float64]  # (q, K) w^
    edges: NDArray[np.int64]  # (q,) c, by graph
    steps: dict[str, float]
    rng: np.random.Generator
    left_out: NDArray[np.bool_]  # (n,) labelled rows that train nothing in this round
    losses: NDArray[np.float64]  # (p, K) of (4.10)
    edge_losses: NDArray[np.float64]  # (p, q, K) of (4.11)
    ended: NDArray[np.float64] | None = None  # (n, K) E of after the last round

    @classmethod
    def start(
        cls, problem: Problem, params: dict[str, Any], rng: np.random.Generator, executor: Executor | None = None
    ) -> Printed:
        """Line 1."""
        data, executor = problem.data, LocalExecutor() if executor is None else executor
        task = _task(problem, params)
        K, p, q = task.sign.shape[1], len(data.sources), len(data.graphs)
        forests = [[Forest(1) for _ in range(K)] for _ in data.sources]
        tables = [SourceState(name, data.rows(name), data.n) for name in data.source_names]
        for table, own in zip(tables, forests):
            # with the trees that the fit will add: a learner that is lost is made again from them
            executor.add(table, TableLearner, task, TableContent(data.sources[table.name], own))
        return cls(
            problem=problem,
            task=task,
            executor=executor,
            tables=tables,
            forests=forests,
            weights=np.full((p, K), 1.0 / p),
            graph_weights=np.full((q, K), 1.0 / max(q, 1)),
            edges=np.array([_covered(tables, *ends) for ends in task.edges], np.int64),
            steps={},
            rng=rng,
            left_out=np.zeros(data.n, bool),
            losses=np.zeros((p, K)),
            edge_losses=np.zeros((p, q, K)),
        )

    @property
    def consensus(self) -> NDArray[np.float64]:
        """E (n, K): the sources' weighted mean over those that cover x; the constant of line 1 where none does."""
        # an underflowed weight is not none: the source still speaks where nobody else does
        weights = np.maximum(self.weights, FAINTEST)
        mass = np.zeros((self.problem.data.n, weights.shape[1]))
        for table, weight in zip(self.tables, weights):
            mass[table.rows] += weight
        total = self.executor.weighted_sum(self.tables, weights)
        return np.divide(total, mass, out=np.tile(self.task.start_value, (len(total), 1)), where=mass > 0)

    def round(self) -> None:
        """Lines 4 to 10."""
        if self.task.params["left_out_weights"]:
            self.left_out = self.problem.labelled & (self.rng.random(self.problem.data.n) < LEFT_OUT)
        every, parallel = list(range(len(self.tables))), self.task.params["schedule"] == "parallel"
        # E of before the round, for the parallel schedule, in which nobody sees this round's steps
        before = self.last if parallel and self.task.params["lambda0"] else None
        # side by side only where an executor has several workers; one after the other gives the same bits
        for numbers in [every] if parallel and self.executor.concurrent else [[i] for i in every]:
            self._fit(numbers, self.consensus if not parallel and self.task.params["lambda0"] else before)
        self.weights = np.stack([self._weights(k) for k in range(self.weights.shape[1])], axis=1)
        if len(self.edges):
            self.graph_weights = self._graph_weights()
        self.ended = self.consensus

    @property
    def last(self) -> NDArray[np.float64]:
        """E (n, K) after the last round."""
        return self.consensus if self.ended is None else self.ended

    def _fit(self, numbers: list[int], consensus: NDArray | None) -> None:
        """Lines 5 to 8 for the sources of these numbers, all from the same E; None where nothing is pulled to it."""
        parts, own = [self.tables[i] for i in numbers], [self.weights[i] for i in numbers]
        asked = consensus, self.graph_weights, self.left_out
        for i, done in zip(numbers, self.executor.step(parts, asked, own)):
            for forest, tree, scale in zip(self.forests[i], done.trees, done.scales):
                if tree is not None:
                    forest.append(Tree(*tree), scale)
            self.steps[self.tables[i].name] = float(np.mean(done.steps))
            self.losses[i], self.edge_losses[i] = done.losses, done.edge_losses

    def _weights(self, k: int) -> NDArray[np.float64]:
        """(4.10), by the sum over the labelled rows that a source covers; by the mean if they are rows left out."""
        return weights_from_losses(self.losses[:, k].tolist(), _rule(self.task.params))

    def _graph_weights(self) -> NDArray[np.float64]:
        """(4.11), (q, K); a graph without an edge that a source covers gets 0."""
        known = self.edges > 0
        losses = (self.weights[:, None] * self.edge_losses).sum(axis=0)[known] / self.edges[known, None]
        weights = np.zeros(self.graph_weights.shape)
        if known.any():
            rule = _rule(self.task.params)
            weights[known] = np.stack([weights_from_losses(column, rule) for column in losses.T], axis=1)
        return weights

    @property
    def raw(self) -> NDArray[np.float64]:
        """Raw scores (n, K of the scale)."""
        return widened(self.last, self.problem.scale)

    def added(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what each table, then each graph, adds to the raw score of some instances after the last round.

        As `PrintedModel.contributions` says it of the last one: graphs add nothing by themselves. Only where the
        learners are in this process.

        Parameters
        ----------
        rows : (m,) int64

        Returns
        -------
        (m, p + q, K of the scale) float64
            In the labels' unit, or raw scores of each class.
        """
        weights, covered = np.maximum(self.weights, FAINTEST), np.stack([each.covers[rows] for each in self.tables])
        adds = np.zeros((len(rows), len(self.tables) + len(self.graph_weights), weights.shape[1]))
        for i, table in enumerate(self.tables):
            adds[:, i] = table.learner.weighted(weights[i])[rows]
        mass = covered.T.astype(np.float64) @ weights
        mass[mass == 0] = 1.0
        return widened(adds / mass[:, None], self.problem.scale) * self.problem.scale.deviation

    def alone(self) -> TableScores:
        """Return what each table says alone after the last round."""
        found = self.executor.alone(self.tables, self.last)
        metrics = {table.name: each.metric for table, each in zip(self.tables, found)}
        distance, count = sum(each.distance for each in found), sum(each.count for each in found)
        return TableScores(metrics, distance / count if count else float("nan"))

    def finish(self) -> PrintedModel:
        """Return what predicts."""
        memory = Memory(
            # float32: neighbours' messages, of which nobody needs more digits, halve the file
            self.problem.data.id_series,
            self.last.astype(np.float32),
            np.ones(self.problem.data.n, np.float32),
        )
        kept = self.executor.keep_tables(self.tables)
        sources = [SourceTrees(k.encoder, k.mapper, forests) for k, forests in zip(kept, self.forests)]
        names = [part.name for part in self.tables]
        return PrintedModel(
            self.problem.scale, self.weights, self.task.start_value, memory=memory, sources=sources, names=names
        )


def _task(problem: Problem, params: dict[str, Any]) -> PrintedTask:
    """Return what all sources share, with the constant of line 1."""
    scale, graphs = problem.scale, problem.data.graphs.values()
    params = params | {name: PRINTED_AUTO for name in ("lambda0", "lambda1") if params[name] == "auto"}
    sign = _signs(problem.target, problem.labelled, scale)
    # a class without a label would have an infinite constant
    share = np.clip((sign[problem.labelled].mean(axis=0) + 1.0) / 2.0, 1e-6, 1.0 - 1e-6)
    validation, truth = validation_rows(problem)
    return PrintedTask(
        scale=scale,
        params=params,
        sign=sign,
        labelled=problem.labelled,
        start_value=np.log(share / (1.0 - share)) if scale.is_classifier else np.zeros(1),
        # what nobody asks for does not travel
        links=[_row_normalised(graph) for graph in graphs] if params["lambda1"] else [],
        edges=[graph.edges()[:2] for graph in graphs],
        truth=truth,
        validation=validation,
        block=BLOCK,
    )


def _covered(tables: list[SourceState], a: NDArray, b: NDArray) -> int:
    """Return how many edges have both ends in some table."""
    found = np.zeros(a.size, bool)
    for table in tables:
        found |= table.covers[a] & table.covers[b]
    return int(found.sum())


def _rule(params: Mapping[str, Any]) -> str:
    return "entropy" if params["weights"] == "learned" else params["weights"]


def _signs(target: NDArray, labelled: NDArray, scale: Scale) -> NDArray[np.float64]:
    if not scale.is_classifier:
        return target
    # two classes have one margin
    codes = target[:, 1:] if scale.n_outputs == 2 else target
    return np.where(labelled[:, None], 2.0 * codes - 1.0, 0.0)


def _row_normalised(graph: Any) -> Any:
    links = graph.adjacency().astype(np.float64)
    degree = links @ np.ones(graph.n)
    # a node without a link keeps its empty row
    links.data /= np.repeat(np.maximum(degree, 1e-300), np.diff(links.indptr))
    return links


@dataclass
class SourceTrees(Stored):
    """A source's encoder, its bins, and a forest of each score."""

    encoder: SourceEncoder = part(SourceEncoder, "d", inline=True)
    mapper: BinMapper = part(BinMapper, "d", at="bins")
    forests: list[Forest] = parts(Forest, "d", at="forest {0}", count="k")

    def _fault(self, sizes: dict[str, int]) -> str:
        one = all(forest.n_outputs == 1 for forest in self.forests)
        return "" if one else "The trees of the model file have the wrong number of outputs"


@dataclass
class PrintedModel(Stored):
    """GBC as printed after its last round."""

    kind = "printed"

    scale: Scale | None
    weights: NDArray[np.float64] = array("p k", low=0)
    start_value: NDArray[np.float64] = array("k", key="start")
    memory: Memory = part(Memory, "K=k", inline=True)
    sources: list[SourceTrees] = parts(SourceTrees, "k", key="encoders")
    names: list[str] = value(TEXTS)

    @property
    def source_names(self) -> list[str]:
        return self.names

    def contributions(self, data: HetData) -> list[NDArray[np.float64]]:
        """Return each source's weighted share of the raw score, (n, K) each; graphs add nothing by themselves."""
        K, weights = self.weights.shape[1], np.maximum(self.weights, FAINTEST)
        adds, mass = [np.zeros((data.n, K)) for _ in self.names], np.zeros((data.n, K))
        for i, (name, source) in enumerate(zip(self.names, self.sources)):
            if name in data.sources:
                rows = data.rows(name)
                table = data.sources[name]
                binned = source.mapper.transform_blocks(source.encoder.blocks(table, name), table.n_rows)
                f = np.column_stack([forest.predict(binned)[:, 0] for forest in source.forests]) + self.start_value
                adds[i][rows] = weights[i] * f
                mass[rows] += weights[i]
        # rows that no table has: 0 / 1, and `fitted` predicts them by their neighbours
        mass[mass == 0] = 1.0
        return [widened(added / mass, self.scale) for added in adds]

    def fitted(self, data: HetData, graph_weights: Mapping[str, float], adds: list[NDArray]) -> NDArray[np.float64]:
        """Return probabilities (n, K), one against the others, or standardised numbers (n, 1), from contributions."""
        raw = sum(adds)
        bare = in_no_table(data, self.names)
        raw[bare] = widened(self.start_value[None], self.scale)
        if bare.any() and data.graphs:
            # the memory holds margins
            margins = raw[:, 1:] if self.scale.n_outputs == 2 else raw
            values, _ = self.memory.recall(data, margins, 1.0)
            average, has = neighbour_averages(data, graph_weights, values)
            raw[bare & has] = widened(average, self.scale)[bare & has]
        return self.scale.fitted(raw)

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> PrintedModel:
        return cls(None, **values)

    def _fault(self, sizes: dict[str, int]) -> str:
        return "" if len(self.sources) == len(self.names) == sizes["p"] else "The model file's sources do not add up"
