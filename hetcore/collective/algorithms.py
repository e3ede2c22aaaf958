r"""GB, RGB and MGB as printed (Algorithms 1 to 4).

    1  F_0: a tree on [X, Rf1], Rf1 the median of the known neighbours' targets
    2  y~ = F_0, and after `n_rounds` rounds, which each hide labels and infer them by ICA2, what was inferred
    3  for m = 1..M:
    4      r_m = y - y~;  Rf2, Rf3: medians of the neighbours' r_m and r_{m-1};  Rf4 = y~
    5      T_m: a tree with median leaves on r_m;  F_m = y~ + T_m
    6      y~ = F_m, and after the rounds, what was inferred

GB is lines 1, 4 and 5 on X alone, RGB on [X, Rf1]; neither has rounds. Only labelled instances take part until it is
predicted: "random" rounds hide a fifth of the labels each, and leave about half of them never hidden after three.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.collective.crossfit import Table, relational_columns
from hetcore.collective.inference import Conversation, net_of
from hetcore.collective.stages import Grower, Stack
from hetcore.data import Graph
from hetcore.forest import Forest
from hetcore.kernels.collective import Rules
from hetcore.targets import Problem
from hetcore.trees import TreeParams

__all__ = ["Printed", "printed_fill"]

HIDDEN = 5  # one label in five is hidden in a round


def printed_fill(problem: Problem, no_neighbor: str) -> float:
    """Return Rf1 without a known neighbour: NaN, or a target of zero in the scale's unit."""
    return np.nan if no_neighbor == "nan" else -float(problem.scale.mean[0]) / problem.scale.deviation


class Printed:
    """State of the fit as printed; one round is one stage, the first of them F_0."""

    def __init__(
        self,
        problem: Problem,
        graphs: dict[str, Graph],
        own: tuple[NDArray[np.uint8], NDArray[np.int32]],
        params: dict[str, Any],
    ) -> None:
        self.problem, self.graphs, self.params, self.stage = problem, graphs, params, 0
        seeds = np.random.SeedSequence(params["random_state"]).spawn(3)
        self.rng_rounds, self.rng_sweeps, self.rng_asked = (np.random.default_rng(seed) for seed in seeds)
        net = net_of(list(graphs.values()), problem.data.n, weighted=False)
        self.features = params["features"] if net.indices.size else ()
        self.labelled = np.flatnonzero(problem.labelled)
        self.table = Table.of(*own, self.labelled, 4 * len(graphs) + 1)
        self.target, self.stack = problem.target[self.labelled], Stack(own[0].shape[0], 1)
        residual_fill = np.nan if params["no_neighbor"] == "nan" else 0.0
        rules = Rules(True, 0.0, printed_fill(problem, params["no_neighbor"]), residual_fill)
        n_stages = params["n_iterations"]
        self.view = Conversation.over(net, rules, n_stages, 1, problem.labelled)
        self.view.tell(self.labelled, 0, self.target)
        self.asked = Conversation.over(net, rules, n_stages, 1, problem.labelled)

    @property
    def trained(self) -> NDArray[np.float64]:
        """y~ of the labelled rows (m, 1)."""
        return self.view.scores[self.labelled]

    @property
    def best(self) -> int:
        """The last stage done."""
        return self.stage - 1

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """Return y~ of the labelled rows (m, 1)."""
        return {"train": self.trained}

    def round(self) -> None:
        """Add a stage."""
        before = self.trained.copy()
        columns = self.view.columns(self.labelled, before, self.stage)
        mapper = BinMapper().fit(columns)
        forest = self._grow(mapper, columns, before)
        self.stack.append(forest, mapper)
        self.view.scores[self.labelled] = before + forest.predict(self.table.binned)
        self.stage += 1
        if {"rf2", "rf3", "rf4"} & set(self.features):
            self._hide_and_infer()
        if self.stage <= self.params["n_iterations"]:
            self.view.tell(self.labelled, self.stage, self.target - self.trained)
        self._predict()

    def _grow(self, mapper: BinMapper, columns: NDArray[np.float32], before: NDArray) -> Forest:
        """Lines 1 and 5."""
        more = relational_columns(self.features, len(self.graphs), 1, self.stage, counts=False)
        allowed = np.concatenate([np.arange(self.table.d), self.table.d + more]).astype(np.int32)
        n_bins = np.concatenate([self.table.n_bins, mapper.n_bins]).astype(np.int32)
        limits = TreeParams(self.params["max_depth"], self.params["max_leaf_nodes"], self.params["min_samples_leaf"])
        grower = Grower(self.problem.scale, limits, 1.0, True, 1.0, 1.0, self.rng_rounds)
        table = self.table.fill(mapper, columns), n_bins, allowed
        return grower.stage(table, self.target, before, np.arange(self.labelled.size, dtype=np.int32), 1)

    def _hide_and_infer(self) -> None:
        """Lines 2 and 6."""
        stages = self.stack.ready(self.table.bins, self.problem.scale)
        inferred = self.trained.copy()
        for _ in range(self.params["n_rounds"]):
            fold = self.rng_rounds.permutation(self.labelled.size) % HIDDEN
            for k in range(HIDDEN if self.params["rounds"] == "cover" else 1):
                inferred[fold == k] = self._inferred(stages, self.labelled[fold == k])
        self.view.scores[self.labelled] = inferred

    def _inferred(self, stages: Any, hidden: NDArray[np.int64]) -> NDArray[np.float64]:
        """Algorithm 4 over labelled instances: hide some of the targets, and infer them."""
        view = Conversation(
            self.view.net,
            self.view.rules,
            self.view.said.copy(),
            self.view.scores.copy(),
            self.view.voice.copy(),
            hidden,
        )
        view.begin(stages, 1.0, as_algorithm_4=True)
        view.infer(stages, self.rng_sweeps, self.params["sweeps"], 0.0)
        return view.scores[hidden]

    def _predict(self) -> None:
        """Infer the unlabelled instances for the event of this stage, if anyone looks."""
        asked = self.asked
        asked.said[self.labelled], asked.voice[:] = self.view.said[self.labelled], self.view.voice
        if not (self.params["watched"] or self.problem.scored.any()):
            return
        stages = self.stack.ready(self.table.bins, self.problem.scale)
        asked.begin(stages, 1.0, as_algorithm_4=True)
        asked.infer(stages, self.rng_asked, self.params["sweeps"], 0.0)
