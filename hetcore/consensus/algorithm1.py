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
- A source without a labelled instance has no loss in (4.10): it counts with that of line 1's constant over all of T.
- The logistic loss may fall for ever along h: one step moves no score by more than 1e6.
- An instance that no table has is predicted by its neighbours' average.

The helps of `hetcore.consensus.tempering` are off unless asked for.

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
from hetcore.consensus.predictor import Memory, in_no_table, neighbour_averages
from hetcore.consensus.source_learners import Grown, binned_columns
from hetcore.data import Graph, HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.forest import Forest
from hetcore.losses import HalfSquared, Logistic
from hetcore.schema import TEXTS, Stored, array, part, parts, value
from hetcore.targets import Problem, Scale
from hetcore.trees import Tree, TreeParams
from hetcore.weights import weights_from_losses

__all__ = ["Printed", "PrintedModel", "line_search"]

LONGEST_MOVE = 1e6  # of a score in one step: a logistic loss may fall for ever
SMALLEST = 1e-200  # gradient that is taken for zero
LEFT_OUT = 1.0 / 3.0  # of the labelled rows in a round, if they set the weights
FAINTEST = 1e-100  # weight of a source or graph whose weight underflows: it speaks where nobody else does


@dataclass
class Printed:
    """The state of a fit as printed; `round` is one pass of lines 3 to 9. K is 1 for numbers and two classes."""

    problem: Problem
    params: dict[str, Any]
    executor: Executor
    tables: list[SourceState]
    forests: list[list[Forest]]
    links: list[Any]
    sign: NDArray[np.float64]  # (n, K) labels: numbers or +1, -1; 0 where unlabelled
    scores: NDArray[np.float64]  # (p, n, K) f_i
    weights: NDArray[np.float64]  # (p, K) w
    graph_weights: NDArray[np.float64]  # (q, K) w^
    start_value: NDArray[np.float64]  # (K,) the constant of line 1
    steps: dict[str, float]
    rng: np.random.Generator
    left_out: NDArray[np.bool_]  # (n,) labelled rows that train nothing in this round

    @classmethod
    def start(
        cls, problem: Problem, params: dict[str, Any], rng: np.random.Generator, executor: Executor | None = None
    ) -> Printed:
        """Line 1."""
        data, scale = problem.data, problem.scale
        executor = LocalExecutor() if executor is None else executor
        sign = _signs(problem.target, problem.labelled, scale)
        K, p, q = sign.shape[1], len(data.sources), len(data.graphs)
        # a class without a label would have an infinite constant
        share = np.clip((sign[problem.labelled].mean(axis=0) + 1.0) / 2.0, 1e-6, 1.0 - 1e-6)
        constant = np.log(share / (1.0 - share)) if scale.is_classifier else np.zeros(1)
        tables = [executor.table(data, name, problem.labelled) for name in data.source_names]
        scores = np.stack([np.where(part.covers[:, None], constant, 0.0) for part in tables])
        forests = [[Forest(1) for _ in range(K)] for _ in tables]
        links = [_row_normalised(graph) for graph in data.graphs.values()]
        return cls(
            problem=problem,
            params=params,
            executor=executor,
            tables=tables,
            forests=forests,
            links=links,
            sign=sign,
            scores=scores,
            weights=np.full((p, K), 1.0 / p),
            graph_weights=np.full((q, K), 1.0 / max(q, 1)),
            start_value=constant,
            steps={},
            rng=rng,
            left_out=np.zeros(data.n, bool),
        )

    @property
    def loss(self) -> HalfSquared | Logistic:
        return Logistic() if self.problem.scale.is_classifier else HalfSquared()

    @property
    def consensus(self) -> NDArray[np.float64]:
        """E (n, K): the sources' weighted mean over those that cover x; the constant of line 1 where none does."""
        # an underflowed weight is not none: the source still speaks where nobody else does
        weights = np.maximum(self.weights, FAINTEST)
        mass = (weights.T @ self._covers).T
        total = np.einsum("pk,pnk->nk", weights, self.scores)
        return np.divide(total, mass, out=np.tile(self.start_value, (len(total), 1)), where=mass > 0)

    @property
    def _covers(self) -> NDArray[np.bool_]:
        return np.stack([part.covers for part in self.tables])

    def round(self) -> None:
        """Lines 4 to 10."""
        if self.params["left_out_weights"]:
            self.left_out = self.problem.labelled & (self.rng.random(self.problem.data.n) < LEFT_OUT)
        # E of before the round, for the parallel schedule, in which nobody sees this round's steps
        before = self.consensus
        every, parallel = list(range(len(self.tables))), self.params["schedule"] == "parallel"
        # side by side only where an executor has several workers; one after the other gives the same bits
        for numbers in [every] if parallel and self.executor.concurrent else [[i] for i in every]:
            self._fit(numbers, before if parallel else self.consensus)
        self.weights = np.stack([self._weights(k) for k in range(self.sign.shape[1])], axis=1)
        if self.links:
            self.graph_weights = self._graph_weights()

    def _terms(self, i: int, part: SourceState, k: int, consensus: NDArray) -> tuple[NDArray, NDArray]:
        """Return targets (3, m) and their weights (3, m) in the objective of source i: y, E and E~_i (4.4)."""
        rows, labelled = part.rows, self.problem.labelled[part.rows]
        pulled = ~labelled if self.params["pull"] == "unlabelled" else np.ones(rows.size, bool)
        labelled = labelled & ~self.left_out[rows]
        near, has = self._neighbours_say(i, part, k)
        targets = np.stack([self.sign[rows, k], consensus[rows, k], near[rows]])
        weights = np.stack([labelled, pulled, pulled & has[rows]]).astype(np.float64)
        # the sums are of all rows, of which the unlabelled may be a thousand times as many as the labelled
        if self.params["relative_lambda"]:
            counts = weights.sum(axis=1, keepdims=True)
            weights *= np.where(counts > 0, counts[0] / np.maximum(counts, 1.0), 0.0)
        return targets, weights * np.array([[1.0], [self.params["lambda0"]], [self.params["lambda1"]]])

    def _neighbours_say(self, i: int, part: SourceState, k: int) -> tuple[NDArray, NDArray]:
        """Return E~_i (n,), and where there is one; nowhere if nothing is pulled to it."""
        if not self.params["lambda1"]:
            return np.zeros(len(self.sign)), np.zeros(len(self.sign), bool)
        if self.params["clamp_neighbors"] and self.links:
            known = np.where(self.problem.labelled, self.sign[:, k], self.scores[i, :, k])
            return self._neighbourhood(known, part.covers | self.problem.labelled, k)
        return self._neighbourhood(self.scores[i, :, k], part.covers, k)

    def _neighbourhood(self, values: NDArray, says: NDArray, k: int) -> tuple[NDArray, NDArray]:
        """Return E~ (n,) of values (n,) over the neighbours that say something, and where there is one."""
        total, mass = np.zeros(len(values)), np.zeros(len(values))
        for weight, links in zip(np.maximum(self.graph_weights[:, k], FAINTEST), self.links):
            share = links @ says.astype(np.float64)
            has = share > 0
            # links of graphs are row-normalised, but of those neighbours that say something: their share is divided out
            total[has] += weight * (links @ np.where(says, values, 0.0))[has] / share[has]
            mass += weight * has
        return np.divide(total, mass, out=total, where=mass > 0), mass > 0

    def _fit(self, numbers: list[int], consensus: NDArray) -> None:
        """Lines 5 to 8 for the sources of these numbers, all from the same scores."""
        parts, outputs = [self.tables[i] for i in numbers], range(self.sign.shape[1])
        terms = [[self._terms(i, part, k, consensus) for k in outputs] for i, part in zip(numbers, parts)]
        slopes = [[self._slope(i, k, *row[k]) for k in outputs] for i, row in zip(numbers, terms)]
        limits = TreeParams(self.params["max_depth"], -1, self.params["min_samples_leaf"])
        grown_by = self.executor.grow_each(parts, limits, [[slope and slope[:2] for slope in row] for row in slopes])
        for place, (i, grown) in enumerate(zip(numbers, grown_by)):
            steps = [
                0.0 if slopes[place][k] is None else self._step(i, k, grown[k], *terms[place][k]) / slopes[place][k][2]
                for k in outputs
            ]
            self.steps[self.tables[i].name] = float(np.mean(steps))

    def _slope(
        self, i: int, k: int, targets: NDArray, weights: NDArray
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_], float] | None:
        """Line 5: return -z over its size, so that no w_i is too small for float32, where z is asked, and its size."""
        f, w = self.scores[i, self.tables[i].rows, k], self.weights[i, k]
        # displayed without 2 w_i before lambda1: 2 is left out of all, the loss being half the square
        before = np.array([[w], [w], [w if self.problem.scale.is_classifier else 0.5]])  # displays below (4.5)
        slope = (before * weights * self.loss.gradient(f, targets)).sum(axis=0)
        # its largest, so that float32 gradients have digits however small w_i is
        size, rows = float(np.abs(slope).max(initial=0.0)), weights.any(axis=0)
        return None if not rows.any() or size < SMALLEST else (slope / size, rows, size)

    def _step(self, i: int, k: int, grown: Grown, targets: NDArray, weights: NDArray) -> float:
        """Lines 7 and 8; return rho."""
        nodes, values, leaf = grown
        f, h = self.scores[i, self.tables[i].rows, k], values[leaf][:, 0]
        step = line_search(self.loss, f, h, targets, weights)
        self.forests[i][k].append(Tree(nodes, values), self.params["shrinkage"] * step)
        self.scores[i, self.tables[i].rows, k] = f + self.params["shrinkage"] * step * h
        return step

    def _weights(self, k: int) -> NDArray[np.float64]:
        """(4.10), by the sum over the labelled rows that a source covers; by the mean if they are rows left out."""
        losses = []
        for i, table in enumerate(self.tables):
            own, left = self.problem.labelled[table.rows], self.left_out[table.rows]
            rows = table.rows[left if left.any() else own]
            f, y = self.scores[i, rows, k], self.sign[rows, k]
            # a source without a label has the loss of a constant: an empty sum would make it the best of all
            if not rows.size:
                f, y = self.start_value[k], self.sign[self.problem.labelled, k]
            loss = self.loss.value(f, y)
            # left-out rows vary in number from round to round, and so would their sum
            losses.append(float(loss.mean() if self.params["left_out_weights"] else loss.sum()))
        return weights_from_losses(losses, _rule(self.params))

    def _graph_weights(self) -> NDArray[np.float64]:
        """(4.11), (q, K); a graph without an edge that a source covers gets 0."""
        losses = np.stack([self._edge_loss(graph) for graph in self.problem.data.graphs.values()])
        known = ~np.isnan(losses[:, 0])
        weights = np.zeros(losses.shape)
        if known.any():
            rule = _rule(self.params)
            weights[known] = np.stack([weights_from_losses(column, rule) for column in losses[known].T], axis=1)
        return weights

    def _edge_loss(self, graph: Graph) -> NDArray[np.float64]:
        """Return (1/c) sum over the edges of sum_i w_i L(f_i(a), f_i(b)) (K,), over sources that cover both ends."""
        a, b, _ = graph.edges()
        total, found = np.zeros(self.sign.shape[1]), np.zeros(a.size, bool)
        for w, f, table in zip(self.weights, self.scores, self.tables):
            both = table.covers[a] & table.covers[b]
            # the usual case, all edges, without copying them
            one, other = (a, b) if both.all() else (a[both], b[both])
            # by columns: the loss is a call for each score, over contiguous numbers
            total += w * [float(self.loss.value(g[one], g[other]).sum()) for g in np.ascontiguousarray(f.T)]
            found |= both
        # nan for "no edge", which 0 would turn into the best of all graphs
        return total / found.sum() if found.any() else np.full(total.size, np.nan)

    @property
    def raw(self) -> NDArray[np.float64]:
        """Raw scores (n, K of the scale)."""
        return _spread(self.consensus, self.problem.scale)

    # as printed nothing is out of fold: the labelled rows are scored as trained
    out_of_fold = raw

    def finish(self) -> PrintedModel:
        """Return what predicts."""
        memory = Memory(
            # float32: neighbours' messages, of which nobody needs more digits, halve the file
            self.problem.data.id_series, self.consensus.astype(np.float32), np.ones(self.problem.data.n, np.float32)
        )
        kept = self.executor.keep_tables(self.tables)
        sources = [SourceTrees(k.encoder, k.mapper, forests) for k, forests in zip(kept, self.forests)]
        names = [part.name for part in self.tables]
        return PrintedModel(
            self.problem.scale, self.weights, self.start_value, memory=memory, sources=sources, names=names
        )


def _rule(params: Mapping[str, Any]) -> str:
    return "entropy" if params["weights"] == "learned" else params["weights"]


def _signs(target: NDArray, labelled: NDArray, scale: Scale) -> NDArray[np.float64]:
    if not scale.is_classifier:
        return target
    # two classes have one margin
    codes = target[:, 1:] if scale.n_outputs == 2 else target
    return np.where(labelled[:, None], 2.0 * codes - 1.0, 0.0)


def _spread(margins: NDArray, scale: Scale) -> NDArray[np.float64]:
    """Return the scale's raw scores for margins: two classes have one margin, against 0."""
    return np.concatenate([np.zeros_like(margins), margins], axis=-1) if scale.n_outputs == 2 else margins


def _row_normalised(graph: Any) -> Any:
    links = graph.adjacency().astype(np.float64)
    degree = links @ np.ones(graph.n)
    # a node without a link keeps its empty row
    links.data /= np.repeat(np.maximum(degree, 1e-300), np.diff(links.indptr))
    return links


def line_search(
    loss: HalfSquared | Logistic, f: NDArray, h: NDArray, targets: NDArray, weights: NDArray, steps: int = 50
) -> float:
    """Return the step rho that minimises sum_j weights_j L(f + rho h, targets_j), by safeguarded Newton (4.8).

    Parameters
    ----------
    loss : loss of `hetcore.losses`
        Convex; half the squared error is solved in one step.
    f, h : (m,) float64
        Scores, and the direction.
    targets, weights : (j, m) float64
    steps : int, default=50
        Most Newton steps.

    Returns
    -------
    float
        Never one that raises the objective; negative where -h is a descent direction.
    """
    counted = np.nonzero(weights)
    targets, weights, f, h = targets[counted], weights[counted], f[counted[1]], h[counted[1]]
    # the display's gradient is not that of the objective, so the search may have to go back
    if float((weights * loss.gradient(f, targets) * h).sum()) > 0:
        return -_descent(loss, f, -h, y=targets, weights=weights, steps=steps)
    return _descent(loss, f, h, y=targets, weights=weights, steps=steps)


def _descent(loss: HalfSquared | Logistic, f: NDArray, h: NDArray, y: NDArray, weights: NDArray, steps: int) -> float:
    """Return rho >= 0 for a direction that does not ascend; all arrays (m,), `weights` above 0."""
    # along an all-zero tree there is no longest move
    longest = LONGEST_MOVE / max(np.abs(h).max(initial=0.0), 1e-290)
    low, high, step = 0.0, longest, 0.0
    for _ in range(steps):
        at = f + step * h
        slope = float((weights * loss.gradient(at, y) * h).sum())
        curve = float((weights * loss.hessian(at, y) * h * h).sum())
        # the slope at `step` says on which side the minimum lies
        low, high = (step, high) if slope < 0 else (low, step)
        newton = step - slope / curve if curve > 0 else np.inf
        # no upper end known yet: double the step
        between = 0.5 * (low + high) if high < longest else min(2 * step + 1, high)
        nxt = newton if low <= newton <= high else between
        if abs(nxt - step) <= 1e-12 * nxt:
            break
        step = nxt
    before = (weights * loss.value(f, y)).sum()
    # a step that rounding made worse is not taken
    return float(step) if (weights * loss.value(f + step * h, y)).sum() <= before else 0.0


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
                binned = binned_columns(source.encoder, source.mapper, data.sources[name], name)
                f = np.column_stack([forest.predict(binned)[:, 0] for forest in source.forests]) + self.start_value
                adds[i][rows] = weights[i] * f
                mass[rows] += weights[i]
        # rows that no table has: 0 / 1, and `fitted` predicts them by their neighbours
        mass[mass == 0] = 1.0
        return [_spread(added / mass, self.scale) for added in adds]

    def fitted(self, data: HetData, graph_weights: Mapping[str, float], adds: list[NDArray]) -> NDArray[np.float64]:
        """Return probabilities (n, K), one against the others, or standardised numbers (n, 1), from contributions."""
        raw = sum(adds)
        bare = in_no_table(data, self.names)
        raw[bare] = _spread(self.start_value[None], self.scale)
        if bare.any() and data.graphs:
            # the memory holds margins
            margins = raw[:, 1:] if self.scale.n_outputs == 2 else raw
            values, _ = self.memory.recall(data, margins, 1.0)
            average, has = neighbour_averages(data, graph_weights, values)
            raw[bare & has] = _spread(average, self.scale)[bare & has]
        return self.scale.fitted(raw)

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> PrintedModel:
        return cls(None, **values)

    def _fault(self, sizes: dict[str, int]) -> str:
        return "" if len(self.sources) == len(self.names) == sizes["p"] else "The model file's sources do not add up"
