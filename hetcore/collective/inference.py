"""ICA2: the messages of instances of unknown label are inferred together with those of their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hetcore.data import Graph
from hetcore.kernels.collective_columns import Aggregation, Net, counting, relate
from hetcore.kernels.collective_sweeps import Stages, State, add_stage_to, staged_scores, start, sweep

__all__ = ["Inference", "net_of", "unlinked"]


def unlinked(net: Net) -> NDArray[np.bool_]:
    """Return who has no neighbour in any graph (n,)."""
    return (np.diff(net.indptr, axis=1) == 0).all(axis=0)


def net_of(graphs: Sequence[Graph | None], n: int, weighted: bool, direction: str = "both") -> Net:
    """Return graphs over the same n instances for the kernels; None is one without edges.

    Parameters
    ----------
    graphs : sequence of Graph or None
    n : int
    weighted : bool
        Whether edges have their weights, or each 1.
    direction : {"both", "in", "out"}
        Who is a neighbour of i in a directed graph: both ends of its edges, the sources of those that lead to i, or the
        targets of those that leave it.
    """
    # a graph that the data lack is one without edges: columns keep their places
    links = [None if graph is None else graph.neighbors(direction) for graph in graphs]
    indices = [np.empty(0, np.int32) if each is None else each.indices for each in links]
    weights = [np.empty(0, np.float32) if each is None else each.data for each in links]
    begins = [np.zeros(n + 1, np.int64) if each is None else each.indptr.astype(np.int64) for each in links]
    offsets = np.cumsum([0, *(each.size for each in indices)])
    shifted = [begin + offset for begin, offset in zip(begins, offsets)]
    indptr = np.stack(shifted) if shifted else np.empty((0, n + 1), np.int64)
    joined = _joined(weights, np.float32)
    # signs, where strengths are not asked for: a negative edge stays one
    return Net(indptr, _joined(indices, np.int32), joined if weighted else np.sign(joined))


def _joined(parts: list[NDArray], kind: type) -> NDArray:
    """Return the graphs' indices or weights, one graph's after another's."""
    # SciPy widens the indices of a graph that it turns round, and shared memory is read-only: the kernels would be
    # compiled for those too. What a single graph holds is read where it is
    return np.require(parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, kind), *parts]), kind, "CW")


@dataclass
class Inference:
    """Messages of all instances, some of them of unknown label.

    Attributes
    ----------
    net, aggregation
        See `hetcore.kernels.collective_columns`.
    state : State
        Messages (n, W): target, less its center, then residuals by stage, zero where there is none yet; scores; how
        much each instance counts; Rf4 at stage 0.
    unknown : (u,) int64
        Instances whose targets are inferred.
    directed : bool
        Whether i may be a neighbour of j, but not j of i.
    changes, visits, moving : list
        Of the last inference, by sweep: largest change of a target (in the scale's unit), instances visited, and those
        that changed by more than `tol`.
    """

    net: Net
    aggregation: Aggregation
    state: State
    unknown: NDArray[np.int64]
    directed: bool = False
    changes: list[float] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    moving: list[int] = field(default_factory=list)

    @classmethod
    def over(
        cls,
        net: Net,
        aggregation: Aggregation,
        n_stages: int,
        n_outputs: int,
        known: NDArray[np.bool_],
        directed: bool = False,
    ) -> Inference:
        """Return stages 0..`n_stages` without a message; only the known count."""
        n = net.indptr.shape[1] - 1
        zeros = np.zeros((n, (n_stages + 1) * n_outputs)), np.zeros((n, n_outputs))
        state = State(*zeros, known.astype(np.float64), np.zeros((n, n_outputs)))
        return cls(net, aggregation, state, np.flatnonzero(~known), directed)

    @property
    def scores(self) -> NDArray[np.float64]:
        """Raw scores (n, K) of the last stage."""
        return self.state.scores

    def set_messages(self, rows: NDArray, stage: int, values: NDArray) -> None:
        """Set the messages of `rows` to `values` (m, K): the target at stage 0, else the residual of a stage."""
        K = self.scores.shape[1]
        self.state.messages[rows, stage * K : (stage + 1) * K] = values

    def columns(
        self,
        rows: NDArray,
        own: NDArray,
        stage: int,
        before: NDArray[np.float32] | None = None,
        net: Net | None = None,
    ) -> NDArray[np.float32]:
        """Return the relational columns (m, R) of a stage for `rows`, whose scores before it are `own` (m, K).

        Parameters
        ----------
        rows : (m,) int64
        own : (m, K) float64
        stage : int
        before : (m, R) float32, optional
            What this gave for the stage before, where no message of that stage or an earlier one has changed since:
            then the messages of this stage alone are summed up.
        net : Net, optional
            What `counting` gave for these rows: the edges to those that count, all of them the known of weight 1.
        """
        K = own.shape[1]
        if stage == 0 or before is None:
            # Rf1 needs the targets, Rf2 and Rf3 the residuals of two stages: no more is summed up
            seen = [0] if stage == 0 else [0, stage - 1, stage] if stage > 2 else list(range(stage + 1))
            blocks = np.concatenate([self.state.messages[:, each * K : (each + 1) * K] for each in seen], axis=1)
            return self._related(rows, own, blocks, self.aggregation, net)
        # what is summed up here are residuals, whose fill is another
        residual = self.aggregation._replace(fill_target=self.aggregation.fill_residual)
        messages = np.ascontiguousarray(self.state.messages[:, stage * K : (stage + 1) * K])
        new, out = self._related(rows, own, messages, residual, net), before.copy()
        for at in range(0, out.shape[1] - K, 3 * K + 1):
            # Rf3 of a stage is Rf2 of the one before, and Rf1 has not changed
            out[:, at + 2 * K : at + 3 * K] = before[:, at + K : at + 2 * K]
            out[:, at + K : at + 2 * K] = new[:, at : at + K]
        out[:, -K:] = own
        return out

    def _related(
        self, rows: NDArray, own: NDArray, messages: NDArray, aggregation: Aggregation, net: Net | None
    ) -> NDArray[np.float32]:
        """Return the relational columns (m, R) of a stage that some messages (n, (stage + 1) K) give."""
        n_graphs, K = self.net.indptr.shape[0], own.shape[1]
        stage = messages.shape[1] // K - 1
        out = np.empty((rows.size, n_graphs * (3 * K + 1) + K), np.float32)
        given = rows.astype(np.int64), np.ascontiguousarray(own)
        if net is None:
            relate(self.net, aggregation, messages, self.state.weights, *given, stage, out)
        else:
            relate(net, aggregation, messages, np.empty(0), *given, stage, out)
        return out

    def start_from_neighbors(self, rows: NDArray[np.int64]) -> None:
        """Let Rf4 of `rows` at stage 0 be Rf1 of the first graph, from the known alone (end of the experiments)."""
        K = self.scores.shape[1]
        # the unknown say nothing yet
        self.state.weights[self.unknown] = 0.0
        if self.net.indptr.shape[0]:
            self.state.initial[rows] = self.columns(rows, self.state.initial[rows], 0)[:, :K]

    def add_residuals(self, stages: Stages, rows: NDArray[np.int64]) -> None:
        """Set known instances' residuals, stage by stage, from their known neighbours: Algorithm 4, lines 1 to 9."""
        self.state.weights[self.unknown] = 0.0
        target = self.state.messages[rows, : self.scores.shape[1]].copy()
        # edges of others, and to those that do not count, are left out once rather than at each stage
        scores, columns, net = stages.prior[rows].copy(), None, counting(self.net, self.state.weights, rows)
        for stage in range(stages.begins.size - 2):
            own = self.state.initial[rows] if stage == 0 else scores
            columns = self.columns(rows, own, stage, columns, net=net)
            add_stage_to(stages, stage, rows, columns, scores)
            self.set_messages(rows, stage + 1, target - scores)

    def begin(self, stages: Stages, weight: float) -> None:
        """Write the first messages of the unknown, from the known alone; from then on they count `weight`."""
        self.state.weights[self.unknown] = 0.0
        start(self.net, self.aggregation, stages, self.state, self.unknown)
        self.state.weights[self.unknown] = weight

    def begin_from_targets(self, stages: Stages, weight: float) -> None:
        """Write the first messages of the unknown, numbers, from the known's targets alone; then they count `weight`.

        So hetcore 0.1 began Algorithm 4: every stage sees Rf2 = Rf3 = 0, and Rf4 = Rf1 of the first graph.
        """
        self.state.weights[self.unknown] = 0.0
        rows, scores = self.unknown, np.ascontiguousarray(stages.prior[self.unknown])
        columns, before = self.columns(rows, scores, 0), np.zeros_like(scores)
        for graph in range(self.net.indptr.shape[0]):
            # hetcore 0.1 knew no residual of a neighbour at that point
            columns[:, 4 * graph + 1 : 4 * graph + 3] = 0.0
            columns[:, -1] = columns[:, 0]
        fitted = [before]
        for stage in range(stages.begins.size - 1):
            add_stage_to(stages, stage, rows, columns, scores)
            fitted.append(scores.copy())
        for stage, each in enumerate(fitted[:-1]):
            self.set_messages(rows, stage, scores - each)
        self.state.scores[rows] = scores
        self.state.weights[self.unknown] = weight

    def infer(
        self,
        stages: Stages,
        rng: np.random.Generator,
        sweeps: int,
        tol: float,
        damping: float = 0.0,
        skip: bool = True,
        traced: list | None = None,
        fixed_order: bool = False,
    ) -> None:
        """Sweep over the unknown, in a new random order each time, until no target changes by more than `tol`.

        Parameters
        ----------
        stages : Stages
        rng : Generator
        sweeps : int
            At most.
        tol : float
            In the scale's unit.
        damping : float, default=0.0
            In [0, 1): sweep t = 0, 1, ... goes (1 - damping)^t of the way from each old message to the new one.
        skip : bool, default=True
            Whether to pass over instances around which nothing changed.
        traced : list, optional
            Receives the targets' messages (n, K) after each sweep.
        fixed_order : bool, default=False
            Whether an instance has its turn whoever else is unknown: what-if answers then differ by the question alone.
        """
        waiting = np.zeros(len(self.scores), bool)
        waiting[self.unknown] = True
        self.changes, self.visits, self.moving = [], [], []
        for t in range(sweeps if self.unknown.size else 0):
            order = self._fixed_order(rng) if fixed_order else rng.permutation(self.unknown)
            # in a directed graph an instance does not know who listens to it, so nobody can be skipped
            args = self.net, self.aggregation, stages, self.state, order, waiting, skip and not self.directed
            change, visits, moving = sweep(*args, (1.0 - damping) ** t, tol)
            self.changes.append(float(change))
            self.visits.append(int(visits))
            self.moving.append(int(moving))
            if traced is not None:
                traced.append(self.state.messages[:, : self.scores.shape[1]].copy())
            if change <= tol:
                break

    def _fixed_order(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the unknown in the order that they have among all instances."""
        unknown = np.zeros(len(self.scores), bool)
        unknown[self.unknown] = True
        order = rng.permutation(unknown.size)
        # the same relative order whoever else is unknown: showing one label must not reshuffle all others
        return order[unknown[order]]

    def staged(self, stages: Stages, rows: NDArray) -> NDArray[np.float64]:
        """Return what each stage predicts for `rows`, (m, S, K), as if their own labels were unknown."""
        out = np.empty((rows.size, stages.begins.size - 1, self.scores.shape[1]))
        staged_scores(self.net, self.aggregation, stages, self.state, rows.astype(np.int64), out)
        return out
