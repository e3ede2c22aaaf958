r"""The default round of Gradient Boosting Consensus.

Raw score of instance x:  F(x) = prior + g(x) sum_i b_i f_i(x) + sum_i T_i(x),  over tables and graphs i that have x.

    1  prior: the constant that minimises the loss over the labelled rows T; E(x) = 0
    2  for t = 1..N:
    3    while t <= consensus_rounds, for each source i in random order:
    4      table: f_i <- kernel ridge on i's columns: labels on T, pulled to the consensus E by lambda0 on U   (4.4)
    5      graph: f_i <- the neighbours' average: a label counts 1, what tables say of the unlabelled lambda1  (E~)
    6    b <- argmin over b >= 0 of the loss of F on T, f_i as it would be had each row been left out    (4.8, 4.10)
    7    E <- what F says, centred
    8    from t = consensus_rounds on, draw a subsample S of T; for each source i in random order:
    9      h <- regression tree on i's columns to the residual of F on S, Newton leaves                          (4.7)
    10     rho <- what the trees of i were worth so far on the rows that their subsample left out, in [0, 1]     (4.8)
    11     T_i <- T_i + learning_rate rho h                                                                      (4.9)
    12   w_i <- the share of source i in what F explains of the labels on rows left out                          (4.10)

A graph is a source like any other: its columns are what the neighbours say, never the instance's own label. Two graphs
or more make one more, in which a link counts the cube of the number of graphs that have it; what it adds is shared out
among them by their part in it. Nothing that sets a weight or a step has seen the row that it is judged on, so a source
of noise gets weight zero instead of weight by memory. g(x) makes up for the tables that x lacks:
(sum_i v_i / sum_{i covers x} v_i)^gamma with v_i the size of b_i f_i, gamma in {0, 1/2, 1} by the loss of line 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.leaf_values import curvature_of
from hetcore.consensus.neighbor_means import joint_links, joint_shares
from hetcore.consensus.source_learners import TreeRule
from hetcore.consensus.source_states import Crew, GraphPart, Part, TablePart
from hetcore.targets import Problem
from hetcore.trees import Tree, TreeParams
from hetcore.weights import fit_scales, weights_from_losses

__all__ = ["Stagewise", "gap_factor"]

SHRINKAGE = 2.0  # neighbours' voices that the prior counts for
N_FOLDS = 2  # of the labelled rows, so that what a row hears of its unlabelled neighbours has not seen its label
FIRST_STEP = 0.5  # most that a source's very first tree is worth
MOST_JOINT_LINKS = 50_000_000  # links of all graphs above which they are not joined
DIVERGED = 1e30  # residual, in the labels' deviation, at which a large learning rate gets no more trees
GAMMAS = (0.0, 0.5, 1.0)


@dataclass
class Stagewise:
    """The state of a fit; `round` is one pass of lines 3 to 12."""

    problem: Problem
    params: dict[str, Any]
    rng: np.random.Generator
    crew: Crew
    parts: list[Part]
    scales: NDArray[np.float64]
    base: NDArray[np.float64]  # prior + g sum b f
    grown: NDArray[np.float64]  # sum of T_i
    left_out: NDArray[np.float64]  # the part of `grown` that did not see the row
    n_left_out: NDArray[np.int64]
    consensus: NDArray[np.float64]  # E
    hearsay: list[tuple[NDArray[np.bool_], NDArray[np.float64]]]  # what tables say of the unlabelled, to whom
    worth: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # (2, parts): numerator, denominator of rho
    gain: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    steps: dict[str, float] = field(default_factory=dict)
    own_scales: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # b of each part, were it alone
    joint_shares: dict[str, float] = field(default_factory=dict)  # each graph's in the joint links
    gamma: float = 0.0
    n_rounds: int = 0
    n_tree_rounds: int = 0

    @classmethod
    def start(
        cls, problem: Problem, params: dict[str, Any], rng: np.random.Generator, crew: Crew | None = None
    ) -> Stagewise:
        """Encode the sources; line 1."""
        n, K, labelled = problem.data.n, problem.scale.n_outputs, problem.labelled
        crew = Crew() if crew is None else crew
        parts: list[Part] = [crew.table(problem.data, name, labelled, K) for name in problem.data.source_names]
        graphs, shares = _graph_parts(problem, crew)
        for part, width in zip(parts, crew.ask("width", parts)):
            part.width = width
        parts += graphs
        zeros = np.zeros((n, K))
        state = cls(
            problem, params, rng, crew, parts, np.zeros(len(parts)), zeros + problem.scale.prior, zeros.copy(),
            zeros.copy(), np.zeros(n, np.int64), zeros.copy(), [(np.ones(n, bool), zeros)], np.zeros((2, len(parts))),
            np.zeros(len(parts)),
        )  # fmt: skip
        state.joint_shares = shares
        if params["base_learner"] != "tree":
            state._prepare_smoothers()
            if problem.data.graphs and (params["lambda1"] > 0 or not params["clamp_labels"]):
                state.hearsay = state._hearsay()
        return state

    def _hearsay(self) -> list[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
        """Return what unlabelled neighbours say to whom: (listeners (n,), values (n, K)).

        An unlabelled neighbour was pulled by the label of the very row that listens. So labelled rows are dealt into
        folds, and a row hears the tables' consensus of the other folds' labels; unlabelled rows hear the mean of them.
        """
        labelled = np.flatnonzero(self.problem.labelled)
        fold = np.full(self.problem.data.n, -1)
        fold[self.rng.permutation(labelled)] = np.arange(labelled.size) % N_FOLDS
        said = [self._consensus_of(self.problem.labelled & (fold != k)) for k in range(N_FOLDS)]
        return [*((fold == k, said[k]) for k in range(N_FOLDS)), (fold < 0, np.mean(said, axis=0))]

    def _consensus_of(self, known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the centred consensus (n, K) of the tables' smooth learners fitted to the labels of `known` alone."""
        scale, said = self.problem.scale, self.crew.ask("smoothed", self.tables, (known,))
        scores = np.stack([part.spread(values) for part, values in zip(self.tables, said)])
        scales = fit_scales(scores[:, known], self.problem.target[known], scale.prior)
        return self._bounded(scale.centred(scale.prior + np.tensordot(scales, scores, 1)), known)

    def _prepare_smoothers(self) -> None:
        labelled = self.problem.labelled
        pulled = ~labelled if self.params["pull"] == "unlabelled" else np.ones(len(labelled), bool)
        pull = self.params["lambda0"] * labelled.sum() / max(1, pulled.sum()) * pulled
        self.crew.ask("smooth", self.tables, (self.problem.centred, pull))

    @property
    def tables(self) -> list[TablePart]:
        """The parts that are tables."""
        return [part for part in self.parts if isinstance(part, TablePart)]

    @property
    def raw(self) -> NDArray[np.float64]:
        """F (n, K): labelled rows as trained."""
        return self.base + self.grown

    @property
    def honest(self) -> NDArray[np.float64]:
        """F (n, K) where each labelled row is scored by the learners that did not see it."""
        seen = np.maximum(self.n_left_out, 1)
        scale = np.where(self.n_left_out > 0, self.n_tree_rounds / seen, 1.0)[:, None]
        return self.base + np.where(self.problem.labelled[:, None], self.left_out * scale, self.grown)

    def round(self) -> None:
        """Lines 3 to 12."""
        smooth = self.params["base_learner"] != "tree"
        if self.n_rounds < self.params["consensus_rounds"]:
            order = [self.parts[i] for i in self.rng.permutation(len(self.parts))]
            for parts in self._turns(order):
                self._refit(parts)
                if smooth and self.params["schedule"] == "sequential" and self.n_rounds:
                    self._combine(self.scales)
            if smooth:
                self._combine(self._fitted_scales())
            if self.n_rounds + 1 == self.params["consensus_rounds"] or not smooth:
                self._fix_columns()
        if self.params["base_learner"] != "kernel" and self.n_rounds + 1 >= self.params["consensus_rounds"]:
            self._grow_round()
        self.n_rounds += 1

    def _turns(self, order: list[Any]) -> list[list[Any]]:
        """Return who goes at once: all from the same state, or one after the other."""
        return [order] if self.params["schedule"] == "parallel" else [[each] for each in order]

    def _refit(self, parts: list[Part]) -> None:
        """Lines 4 and 5. What neighbours say does not change from round to round."""
        tables = [part for part in parts if isinstance(part, TablePart)]
        graphs = [part for part in parts if isinstance(part, GraphPart) and not self.n_rounds]
        if tables and self.params["base_learner"] != "tree":
            said = self.crew.ask("refit", tables, (self.consensus,))
            for part, values in zip(tables, said):
                part.score = part.spread(values)
        if graphs:
            said = self.crew.ask("listen", graphs, (*self._told(), self.voices, SHRINKAGE))
            for part, values in zip(graphs, said):
                part.score = part.spread(values)

    def _told(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return what neighbours say (s, n, K) to each kind of listener, and the listeners' kinds (n,)."""
        says, hears = self._says(), np.zeros(self.problem.data.n, np.int64)
        for kind, (listeners, _) in enumerate(says):
            hears[listeners] = kind
        return np.stack([values for _, values in says]), hears

    def _says(self) -> list[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
        """Return what neighbours say to whom: their label, or what the tables predict for them."""
        known = self.problem.labelled[:, None] & self.params["clamp_labels"]
        return [(who, np.where(known, self.problem.centred, said)) for who, said in self.hearsay]

    def says_to_strangers(self) -> NDArray[np.float64]:
        """Return what each instance says (n, K) to one that had no part in the fit."""
        return self._says()[-1][1]

    @property
    def voices(self) -> NDArray[np.float64]:
        """How loudly each instance speaks to its neighbours, (n,)."""
        return np.where(self.problem.labelled, 1.0, self.params["lambda1"])

    def _fitted_scales(self) -> NDArray[np.float64]:
        """Line 6."""
        labelled, scale = self.problem.labelled, self.problem.scale
        scores = np.stack([part.score[labelled] for part in self.parts])
        target = self.problem.target[labelled]
        self.own_scales = np.array([fit_scales(score[None], target, scale.prior)[0] for score in scores])
        if self.params["weights"] == "learned":
            return self._scales_over_gaps(scores, target)
        losses = [self._own_loss(i, scores, target) for i in range(len(self.parts))]
        weights = weights_from_losses(losses, self.params["weights"])
        joint = np.tensordot(weights, scores, 1)[None]
        return weights * fit_scales(joint, target, scale.prior)

    def _own_loss(self, i: int, scores: NDArray, target: NDArray) -> float:
        """Return the mean loss of one source alone over the labelled rows that it covers."""
        covers = self.parts[i].covers[self.problem.labelled]
        prior, loss = self.problem.scale.prior, self.problem.scale.loss
        if not covers.any():
            return float(loss.value(prior[None], target).mean())
        return float(loss.value(prior + self.own_scales[i] * scores[i, covers], target[covers]).mean())

    def _scales_over_gaps(self, scores: NDArray, target: NDArray) -> NDArray[np.float64]:
        """Fit b for each exponent gamma and keep the better; without missing records there is nothing to choose."""
        prior, loss, labelled = self.problem.scale.prior, self.problem.scale.loss, self.problem.labelled
        if all(part.covers.all() for part in self.parts if isinstance(part, TablePart)):
            return fit_scales(scores, target, prior)
        first = fit_scales(scores, target, prior)
        best = (np.inf, first)
        for gamma in GAMMAS:
            factor = gap_factor(self.sizes(first), self._table_covers(), gamma)[labelled]
            scales = fit_scales(scores * factor[None, :, None], target, prior)
            raw = prior + factor[:, None] * np.tensordot(scales, scores, 1)
            value = float(loss.value(raw, target).mean())
            if value < best[0] - 1e-6:
                best, self.gamma = (value, scales), gamma
        self._gap_sizes = self.sizes(first)
        return best[1]

    def sizes(self, scales: NDArray) -> NDArray[np.float64]:
        """Return the size of b_i f_i of each table: its root mean square where the table has a record."""
        tables = [part for part in self.parts if isinstance(part, TablePart)]
        return np.array([b * np.sqrt((part.score[part.rows] ** 2).mean()) for b, part in zip(scales, tables)])

    def _table_covers(self) -> NDArray[np.bool_]:
        return np.stack([part.covers for part in self.parts if isinstance(part, TablePart)])

    @property
    def gap_sizes(self) -> NDArray[np.float64]:
        return getattr(self, "_gap_sizes", self.sizes(self.scales))

    def _combine(self, scales: NDArray) -> None:
        """Line 7."""
        self.scales = scales
        factor = gap_factor(self.gap_sizes, self._table_covers(), self.gamma) if self.gamma else 1.0
        total = np.zeros_like(self.base)
        for b, part in zip(scales, self.parts):
            if b:
                total += b * part.score
        self.base = self.problem.scale.prior + (total * factor[:, None] if self.gamma else total)
        self.consensus = self._bounded(self.problem.scale.centred(self.raw), self.problem.labelled)

    def _bounded(self, consensus: NDArray, labelled: NDArray[np.bool_]) -> NDArray:
        """Keep the consensus of unlabelled rows from spreading wider than honest predictions of labelled rows do.

        Class shares are bounded as they are; numbers would be pulled up by agreement alone, round after round.
        """
        if self.problem.scale.is_classifier or labelled.all() or not labelled.any():
            return consensus
        known, pulled = consensus[labelled].std(), consensus[~labelled].std()
        return consensus * min(1.0, known / pulled) if pulled > 0 else consensus

    def _fix_columns(self) -> None:
        graphs = [part for part in self.parts if isinstance(part, GraphPart) and not part.width and part.rows.size]
        for part, width in zip(graphs, self.crew.ask("bin", graphs) if graphs else ()):
            part.width = width

    def _grow_round(self) -> None:
        """Lines 8 to 11."""
        labelled = np.flatnonzero(self.problem.labelled)
        size = max(1, int(round(self.params["subsample"] * labelled.size)))
        inside = np.zeros(self.problem.data.n, bool)
        inside[self.rng.choice(labelled, size, replace=False)] = True
        order = [i for i in self.rng.permutation(len(self.parts)) if self.parts[i].width]
        for numbers in self._turns(order):
            self._grow(numbers, inside)
        self.n_left_out += self.problem.labelled & ~inside
        self.n_tree_rounds += 1

    def _grow(self, numbers: list[int], inside: NDArray[np.bool_]) -> None:
        """Lines 9 to 11 for the sources of these numbers, all from the same F."""
        alone = len(numbers) == 1
        rows = self._labelled_rows(self.parts[numbers[0]]) if alone else np.flatnonzero(self.problem.labelled)
        residual, seen = self._residual(rows), inside[rows]
        place = None if alone else np.cumsum(self.problem.labelled) - 1
        growing, own = [], []
        for i in numbers:
            part = self.parts[i]
            spots = slice(None) if alone else place[self._labelled_rows(part)]
            if seen[spots].any() and np.abs(residual[spots]).max() < DIVERGED:
                growing.append((i, residual[spots], seen[spots]))
                own.append((self._columns(part.width),))
        shared = seen, residual[seen], alone, self._tree_rule
        grown = self.crew.ask("grow", [self.parts[i] for i, _, _ in growing], shared, own) if growing else []
        for (i, slope, chosen), (nodes, values, leaf) in zip(growing, grown):
            self._join(i, Tree(nodes, values), values[leaf], slope, chosen)

    def _join(self, i: int, tree: Tree, said: NDArray, residual: NDArray, chosen: NDArray[np.bool_]) -> None:
        """Lines 10 and 11 for a tree that says `said` (m, K); labelled rows (l,) but the chosen were left out."""
        part = self.parts[i]
        left = part.labelled_rows(self.problem.labelled)[~chosen]
        residual = residual[~chosen]
        step = self._step(i, said[left], residual, curvature_of(residual, self.problem.scale.is_classifier))
        self.steps[part.name] = step
        if step > 0:
            self._add(i, part, tree, said, left, step * self.params["learning_rate"])

    @property
    def _tree_rule(self) -> TreeRule:
        limits = TreeParams(self.params["max_depth"], -1, self.params["min_samples_leaf"])
        return TreeRule(limits, self.params["l2"], self.problem.scale.is_classifier)

    def _labelled_rows(self, part: Part) -> NDArray[np.int64]:
        return part.rows[part.labelled_rows(self.problem.labelled)]

    def _residual(self, rows: NDArray) -> NDArray[np.float64]:
        """Return the negative gradient (m, K) of the loss at labelled rows."""
        return self.problem.target[rows] - self.problem.scale.fitted(self.base[rows] + self.grown[rows])

    def _columns(self, d: int) -> NDArray[np.int32]:
        """Draw a tree's columns: a share of d, at least three."""
        count = min(d, max(int(np.ceil(self.params["column_sample"] * d)), min(d, 3)))
        return self.rng.choice(d, count, replace=False).astype(np.int32)

    def _step(self, i: int, said: NDArray, residual: NDArray, curvature: NDArray) -> float:
        """Line 10: the best common step of all trees of source i so far on the rows that each left out."""
        if self.params["subsample"] >= 1.0:
            return 1.0
        first = self.worth[1, i] == 0.0
        self.worth[:, i] += (said * residual).sum(), (curvature * said**2).sum()
        if self.worth[1, i] <= 0.0:
            return 0.0
        return float(np.clip(self.worth[0, i] / self.worth[1, i], 0.0, FIRST_STEP if first else 1.0))

    def _add(self, i: int, part: Part, tree: Tree, said: NDArray, left: NDArray, scale: float) -> None:
        """Line 11."""
        part.forest.append(tree, scale)
        said = scale * said
        part.trees[part.rows] += said
        self.grown[part.rows] += said
        left_out = part.rows[left]
        self.left_out[left_out] += said[left]
        if left.size:
            self.gain[i] += (said[left] * self.problem.centred[left_out]).sum() / left.size

    def explained(self) -> NDArray[np.float64]:
        """Line 12, before normalising: what each part explains of the centred labels, a mean over rows it covers."""
        centred, labelled = self.problem.centred, self.problem.labelled
        shares = np.zeros(len(self.parts))
        for i, (b, part) in enumerate(zip(self.scales, self.parts)):
            covered = labelled & part.covers
            if covered.any():
                shares[i] = b * (part.score[covered] * centred[covered]).sum() / covered.sum() + self.gain[i]
        return np.maximum(shares, 0.0)


def _graph_parts(problem: Problem, crew: Crew) -> tuple[list[GraphPart], dict[str, float]]:
    """Return the parts of the graphs, of two or more also of their joint links, and each graph's share in those."""
    graphs, labelled, K = problem.data.graphs, problem.labelled, problem.scale.n_outputs
    links = {name: graph.adjacency() for name, graph in graphs.items()}
    parts = [crew.graph(name, each, labelled, K) for name, each in links.items()]
    sizes = [each.nnz for each in links.values()]
    if np.count_nonzero(sizes) < 2 or sum(sizes) > MOST_JOINT_LINKS:
        return parts, {}
    units = {part.name: part.unit for part in parts}
    joint = joint_links(graphs, units)
    return [*parts, crew.graph("", joint, labelled, K)], joint_shares(graphs, units, joint)


def gap_factor(sizes: NDArray, covers: NDArray, gamma: float) -> NDArray[np.float64]:
    """Return g (n,): how much louder the tables that an instance has speak for those (p, n) that it lacks."""
    total = sizes.sum()
    present = sizes @ covers
    if total <= 0:
        return np.ones(covers.shape[1])
    return np.where(present > 0, total / np.maximum(present, 1e-12 * total), 1.0) ** gamma
