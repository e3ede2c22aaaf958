"""One round of the two weak learners, Algorithms 1 and 2, and what it came to."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore import metrics
from hetcore.multimodal.learners import Dense, Trees
from hetcore.multimodal.line_search import FIXED, MOST_RISE, STEPS, RiskAlongStep, bounded, held_back
from hetcore.multimodal.risk import Exact, direction, log_risk, printed_target, tilted
from hetcore.multimodal.stopping import LeftOut, Stopping
from hetcore.numerics import root_mean_square
from hetcore.round_scores import shares
from hetcore.targets import Problem

__all__ = ["TwoLearners"]

LARGEST_LOG = 700.0
FEW_ROWS = 50  # left out, below which steps are bounded by what they can show
NODES = (0.0, 0.25, 0.5, 0.75, 1.0)  # Boole's rule: the fall of the risk along a step is smooth
NODE_WEIGHTS = (7 / 90, 32 / 90, 12 / 90, 32 / 90, 7 / 90)


@dataclass
class TwoLearners:
    """The state of a fit.

    Attributes
    ----------
    problem : Problem
    params : dict
        The estimator's parameters; with `as_printed` those that the paper's steps have.
    modalities : dict of str to Trees or Dense
        By source.
    rng : Generator
    parts : dict of str to (n, K) float64
        What each source has added to the raw scores.
    fall : dict of str to float
        How far each source's steps have lowered the logarithm of the risk that steps are chosen by.
    steps : (p,) float64
        Of the last round, without shrinkage.
    output_rms : dict of str to float
        Root mean square of what each source added to the labelled rows' scores in the last round.
    draws : list of TwoLearners
        The same rounds with other validation rows, which of few labels end the training too.
    on_all : TwoLearners or None
        The same rounds with the validation rows among those that learners are fitted to: what is kept of few labels.
    seconds, step_seconds
        What fitting each learner and choosing the steps took in the last round.
    """

    problem: Problem
    params: dict[str, Any]
    modalities: dict[str, Trees | Dense]
    rng: np.random.Generator
    prior: NDArray[np.float64]
    parts: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    fall: dict[str, float] = field(default_factory=dict)
    steps: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    seconds: dict[str, float] = field(default_factory=dict)
    output_rms: dict[str, float] = field(default_factory=dict)
    step_seconds: float = 0.0
    left_out: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    draws: list[TwoLearners] = field(default_factory=list)
    on_all: TwoLearners | None = None

    def __post_init__(self) -> None:
        n, K = self.problem.target.shape
        self.y = self.problem.target.argmax(axis=1)
        self.parts = {name: np.zeros((n, K)) for name in self.modalities}
        self.fall = dict.fromkeys(self.modalities, 0.0)
        self.steps = np.full(len(self.modalities), FIXED)
        self.stopping = Stopping.of(self.problem, self.params, self.rng)
        # rows to stop by take part in nothing else
        self.known = np.setdiff1d(np.flatnonzero(self.problem.labelled), self.stopping.rows)
        self.record = {name: _records(self.problem.data.rows(name), n) for name in self.modalities}
        self.scores = np.tile(self.prior, (n, 1))

    def round(self) -> bool:
        """Fit the learners to w (1) or to the second-order targets, choose the steps, add both; True to stop."""
        fitted, validation = self._rows()
        self.left_out = np.setdiff1d(self.known, fitted)
        self.seconds, self.step_seconds = dict.fromkeys(self.modalities, 0.0), 0.0
        round_of = {1: self._first_order, 2: self._second_order}[self.params["order"]]
        candidates, moves, steps = round_of(fitted, validation)
        # what each modality made the risk fall by, along the way that is gone
        self._credit(RiskAlongStep(self.scores[validation], moves[:, validation], self.y[validation]), steps)
        self.steps = steps
        for (name, modality), candidate, move, step in zip(self.modalities.items(), candidates, moves, steps):
            shrunk = self.params["learning_rate"] * step
            if candidate is not None:
                modality.keep(candidate, shrunk)
            self.parts[name] += shrunk * move
            self.scores += shrunk * move
            # the size of the move, for a curve that shows who moves
            self.output_rms[name] = root_mean_square(shrunk * move[self.problem.labelled])
        for each in (*self.draws, self.on_all):
            if each is not None:
                each.round()
        return self.stopping.ended(self.validated(), self.final_modalities)

    def validated(self) -> LeftOut:
        """Return what all draws say of their validation rows, one after the other."""
        own = self.stopping.rows
        found = [LeftOut(self.scores[own], np.stack([part[own] for part in self.parts.values()]), self.y[own])]
        scores, parts, y = zip(*found, *(each.validated() for each in self.draws))
        return LeftOut(np.concatenate(scores), np.concatenate(parts, axis=1), np.concatenate(y))

    @property
    def final_modalities(self) -> dict[str, Trees | Dense]:
        """The modalities that predict after the fit: those of all labels, where there are any."""
        return self.modalities if self.on_all is None else self.on_all.modalities

    def _rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the labelled rows that learners are fitted to, and those that steps are chosen by."""
        labelled = self.known
        count = int(np.ceil(self.params["subsample"] * len(labelled)))
        # none left to choose the steps by: the same rows, as in the paper
        if count == len(labelled):
            return labelled, labelled
        mixed = self.rng.permutation(labelled)
        # few rows are told apart by some step or other, which says nothing
        return np.sort(mixed[:count]), labelled if self.few else np.sort(mixed[count:])

    @property
    def few(self) -> bool:
        """Whether so few rows are left out, of four none, that all choose the steps, and bound them."""
        left_out = len(self.known) - int(np.ceil(self.params["subsample"] * len(self.known)))
        return self.params["subsample"] < 1 and left_out < FEW_ROWS

    def _fit(self, name: str, rows: NDArray, target: NDArray, exact: Exact | None) -> tuple[Any, NDArray]:
        """Fit a source's learner to those of the rows that the source has; return it and its move (n, K).

        None, which moves nothing, where the source has none of the rows.
        """
        started = time.perf_counter()
        has = self.record[name][rows] >= 0
        move = np.zeros_like(self.scores)
        if not has.any():
            # an instance without the source gets nothing from it
            return None, move
        own = None if exact is None else exact.take(has)
        candidate, predicted = self.modalities[name].fit(self.record[name][rows[has]], target[has], None, own)
        move[self.problem.data.rows(name)] = predicted
        self.seconds[name] += time.perf_counter() - started
        return candidate, move

    def _choose(self, moves: NDArray, validation: NDArray) -> NDArray[np.float64]:
        started = time.perf_counter()
        line = RiskAlongStep(self.scores[validation], moves[:, validation], self.y[validation])
        steps = STEPS[self.params["step"]](line, self.rng, self.params["largest_step"])
        known = self.known
        # the other searches have a box; no exponent moves by more than this
        farthest = float(np.abs(steps) @ (0.5 * np.ptp(moves, axis=2).max(axis=1)))
        if self.params["step"] == "newton" and farthest > MOST_RISE:
            steps = held_back(RiskAlongStep(self.scores[known], moves[:, known], self.y[known]), steps)
        if self.few:
            steps = bounded(line, steps)
        self.step_seconds += time.perf_counter() - started
        return steps

    def _first_order(self, fitted: NDArray, validation: NDArray) -> tuple[list[Any], NDArray, NDArray]:
        w = direction(self.scores[fitted], self.y[fitted])
        found = [self._fit(name, fitted, w, None) for name in self.modalities]
        moves = np.stack([move for _, move in found])
        return [candidate for candidate, _ in found], moves, self._choose(moves, validation)

    def _second_order(self, fitted: NDArray, validation: NDArray) -> tuple[list[Any], NDArray, NDArray]:
        """Run the inner loop j = 0 .. N2 of Algorithm 2; return learners and steps of the j* of least risk R_j.

        R_j is the risk at (g_j, h_j, eps_(j+1), delta_(j+1)). The paper then goes on with eps_(j*), the steps that the
        learners were fitted with: `kept_step="fitted"`; "chosen" goes on with eps_(j*+1), at which the risk was that.
        """
        moves = np.zeros((len(self.modalities), *self.scores.shape))
        candidates: list[Any] = [None] * len(moves)
        # the first inner loop has no steps yet: the paper begins at 0.1
        steps, best = np.full(len(moves), FIXED), None
        for _ in range(self.params["inner_iterations"] + 1):
            before = steps
            for j, name in enumerate(self.modalities):
                target, exact = self._second_target(j, fitted, moves, steps)
                candidates[j], moves[j] = self._fit(name, fitted, target, exact)
                # the exact target of the next learner reckons with the whole of this one
                steps = np.where(np.arange(len(steps)) == j, 1.0, steps) if exact is not None else steps
            steps = self._choose(moves, validation)
            risk = log_risk((self.scores + np.tensordot(steps, moves, 1))[validation], self.y[validation])
            if best is None or risk < best[0]:
                kept = before if self.params["kept_step"] == "fitted" else steps
                best = (risk, list(candidates), moves.copy(), kept)
        return best[1:]

    def _second_target(
        self, j: int, fitted: NDArray, moves: NDArray, steps: NDArray
    ) -> tuple[NDArray[np.float64], Exact | None]:
        scores, y = self.scores[fitted], self.y[fitted]
        if self.params["hessian"] == "printed":
            # clipped for the target alone; the step itself stays as chosen
            within = np.clip(steps, 0.0, self.params["largest_step"])  # beyond it (7), (8) point uphill
            return printed_target(direction(scores, y), tilted(scores, y), within, j), None
        others = np.where(np.arange(len(steps)) == j, 0.0, steps)
        return np.tensordot(others, moves[:, fitted], 1), Exact(scores, y)

    def _credit(self, line: RiskAlongStep, steps: NDArray) -> None:
        """Share the fall of the log risk among the sources: each's slope, integrated along the step."""
        # Boole's rule over the way: a fall is shared by who caused it, also where both pull
        slopes = sum(weight * line.model(at * steps)[1] for at, weight in zip(NODES, NODE_WEIGHTS))
        for name, fall in zip(self.modalities, -steps * slopes):
            self.fall[name] += float(fall)

    def weights(self) -> dict[str, float]:
        """Return each source's share of the fall of the log risk; a source that raised it has 0."""
        # a modality that made the risk rise has no negative share
        return shares(np.maximum(list(self.fall.values()), 0.0), list(self.modalities))

    def view(self) -> dict[str, Any]:
        """Return the fields of `RoundEnd`."""
        problem = self.problem
        sets = {"train": (self.known, self.y)}
        if problem.scored.any():
            sets["held_out"] = (np.flatnonzero(problem.scored), problem.truth.argmax(axis=1))
        losses = {name: _risk(self.scores[rows], y[rows]) for name, (rows, y) in sets.items()}
        codes = {name: (of[at], self.scores[at].argmax(axis=1)) for name, (at, of) in sets.items()}
        rows, y = sets.get("held_out", sets["train"])
        if self.left_out.size:
            losses["left_out"] = _risk(self.scores[self.left_out], self.y[self.left_out])
        if self.stopping.rows.size:
            scores, _, own = self.validated()
            losses["validation"], codes["validation"] = _risk(scores, own), (own, scores.argmax(axis=1))
        detail = {
            "metric_name": "error",
            "metric": {name: metrics.error_rate(*each) for name, each in codes.items()},
            "F1": {name: metrics.macro_f1_of_codes(*each) for name, each in codes.items()},
            "steps": {name: float(step) for name, step in zip(self.modalities, self.steps)},
            "moved": dict(self.output_rms),
            "seconds": dict(self.seconds),
            "step_seconds": self.step_seconds,
            "kept_round": self.stopping.kept_round or self.stopping.round,
            "ended": self.stopping.over,
            "per_source": {name: self._alone(name, rows, y) for name in self.modalities},
        }
        return {"losses": losses, "source_weights": self.weights(), "detail": detail}

    def _alone(self, name: str, rows: NDArray, y: NDArray) -> float:
        """Return the error of one source's part alone, over those of the rows that it has."""
        has = rows[self.record[name][rows] >= 0]
        if not has.size:
            return float("nan")
        return metrics.error_rate(y[has], (self.prior + self.parts[name][has]).argmax(axis=1))


def _records(rows: NDArray, n: int) -> NDArray[np.int64]:
    """Return the record of each instance, (n,), -1 where it has none."""
    record = np.full(n, -1, np.int64)
    record[rows] = np.arange(len(rows))
    return record


def _risk(scores: NDArray, y: NDArray) -> float:
    # the logarithm is exact; its exponential may be no number
    return float(np.exp(min(log_risk(scores, y), LARGEST_LOG)))
