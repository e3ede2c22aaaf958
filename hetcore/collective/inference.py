"""ICA2: what an instance of unknown label says is inferred together with what its neighbours say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hetcore.data import Graph
from hetcore.kernels.collective import Net, Rules, Stages, relate, staged_scores, start, sweep

__all__ = ["Conversation", "net_of"]


def net_of(graphs: Sequence[Graph | None], n: int, weighted: bool) -> Net:
    """Return graphs over the same n instances for the kernels; None is one without edges.

    Parameters
    ----------
    graphs : sequence of Graph or None
    n : int
    weighted : bool
        Whether edges have their weights, or each 1.
    """
    indices = [np.empty(0, np.int32) if graph is None else graph.indices for graph in graphs]
    weights = [np.empty(0, np.float32) if graph is None else graph.weights for graph in graphs]
    begins = [np.zeros(n + 1, np.int64) if graph is None else graph.indptr.astype(np.int64) for graph in graphs]
    offsets = np.cumsum([0, *(each.size for each in indices)])
    indptr = (
        np.stack([begin + offset for begin, offset in zip(begins, offsets)])
        if begins
        else np.empty((0, n + 1), np.int64)
    )
    joined = np.concatenate([np.empty(0, np.float32), *weights])
    return Net(indptr, np.concatenate([np.empty(0, np.int32), *indices]), joined if weighted else np.ones_like(joined))


@dataclass
class Conversation:
    """What every instance says to its neighbours, some of them of unknown label.

    Attributes
    ----------
    net, rules
        See `hetcore.kernels.collective`.
    said : (n, W) float64
        Target, less its center, then residuals by stage; zero where there is nothing to say yet.
    scores : (n, K) float64
        Raw scores of the last stage.
    voice : (n,) float64
        How much each instance counts.
    unknown : (u,) int64
        Instances whose targets are inferred.
    changes, visits : list
        Of the last inference, by sweep: largest change of a target (in the scale's unit), and instances visited.
    """

    net: Net
    rules: Rules
    said: NDArray[np.float64]
    scores: NDArray[np.float64]
    voice: NDArray[np.float64]
    unknown: NDArray[np.int64]
    changes: list[float] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)

    @classmethod
    def over(cls, net: Net, rules: Rules, n_stages: int, n_outputs: int, known: NDArray[np.bool_]) -> Conversation:
        """Return a conversation about stages 0..`n_stages` in which nothing was said yet; only the known count."""
        n = net.indptr.shape[1] - 1
        said, scores = np.zeros((n, (n_stages + 1) * n_outputs)), np.zeros((n, n_outputs))
        return cls(net, rules, said, scores, known.astype(np.float64), np.flatnonzero(~known))

    def tell(self, rows: NDArray, stage: int, values: NDArray) -> None:
        """Let `rows` say `values` (m, K): the target at stage 0, else the residual of a stage."""
        K = self.scores.shape[1]
        self.said[rows, stage * K : (stage + 1) * K] = values

    def columns(self, rows: NDArray, own: NDArray, stage: int) -> NDArray[np.float32]:
        """Return the relational columns (m, R) of a stage for `rows`, whose scores before it are `own` (m, K)."""
        n_graphs, K = self.net.indptr.shape[0], own.shape[1]
        out = np.empty((rows.size, n_graphs * (3 * K + 1) + K), np.float32)
        relate(self.net, self.rules, self.said, self.voice, rows.astype(np.int64), own, stage, out)
        return out

    def begin(self, stages: Stages, voice: float, as_algorithm_4: bool = False) -> None:
        """Let the unknown speak for the first time, from the known alone; from then on they count `voice`."""
        self.voice[self.unknown] = 0.0
        args = self.net, self.rules, stages, self.said, self.scores, self.voice
        start(*args, self.unknown, as_algorithm_4)
        self.voice[self.unknown] = voice

    def infer(
        self,
        stages: Stages,
        rng: np.random.Generator,
        sweeps: int,
        tol: float,
        skip: bool = True,
        traced: list | None = None,
        turns: bool = False,
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
        skip : bool, default=True
            Whether to pass over instances around which nothing changed.
        traced : list, optional
            Receives the targets said (n, K) after each sweep.
        turns : bool, default=False
            Whether an instance has its turn whoever else is unknown: what-if answers then differ by the question alone.
        """
        waiting = np.zeros(self.voice.size, bool)
        waiting[self.unknown] = True
        self.changes, self.visits = [], []
        args = self.net, self.rules, stages, self.said, self.scores, self.voice
        for _ in range(sweeps if self.unknown.size else 0):
            order = self._turns(rng) if turns else rng.permutation(self.unknown)
            change, visits = sweep(*args, order, waiting, skip)
            self.changes.append(float(change))
            self.visits.append(int(visits))
            if traced is not None:
                traced.append(self.said[:, : self.scores.shape[1]].copy())
            if change <= tol:
                break

    def _turns(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the unknown in the order that they have among all instances."""
        waits = np.zeros(self.voice.size, bool)
        waits[self.unknown] = True
        order = rng.permutation(self.voice.size)
        return order[waits[order]]

    def staged(self, stages: Stages, rows: NDArray) -> NDArray[np.float64]:
        """Return what each stage predicts for `rows`, (m, S, K), as if their own labels were unknown."""
        out = np.empty((rows.size, stages.begins.size - 1, self.scores.shape[1]))
        staged_scores(self.net, self.rules, stages, self.said, self.voice, rows.astype(np.int64), out)
        return out
