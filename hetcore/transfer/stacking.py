r"""The transfer blend: machines on the target, on all domains and between, mixed by their left-out log loss.

A blend, not boosting: it has no rounds of boosting and no eta. Every candidate c of `hetcore.transfer.candidates` is
fitted with each of three folds of all domains left out, and p_ci is what it then says of row i of that fold. The shares
among the candidates that are fitted to all rows are those of the mixture that explains the labels best,

    max over s on the simplex of  sum_i u_i ln sum_c s_c p_ci(y_i)        (numbers: min of the weighted squared error)

found by expectation maximisation (of numbers exactly). A target row counts u_i = 1; all source rows together count as
a^2 / (a + n_T) target rows, a = `SOURCE_ROWS`: with few target rows the sources say which machine suits the data. How
much these machines count beside those on the target alone, and on one source with it, only target rows decide, with a
prior towards all sources: `hetcore.transfer.shares`. Scores are first multiplied by the tau_c in {1/2, 1, 2, 4, 8} of
least left-out log loss, a strongly regularised machine saying too little for what it knows; of machines that are not
on all rows tau_c is that of least loss over the target's rows + (ln tau)^2. Then every candidate is fitted to all of
its rows.

This answers the open problem of Antunes et al. (2019), whose transfer methods all end below a no-transfer SVM; it is
not in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.numerics import softmax
from hetcore.parameters import Declared, Seed, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import SHARES, Part
from hetcore.transfer.blend import RidgeTransferClassifier
from hetcore.transfer.candidates import ALL, TARGET, WIDE, Candidate, Design, candidates, fitted
from hetcore.transfer.estimator import TransferEstimator, TransferProblem, scored
from hetcore.transfer.files import Machines
from hetcore.transfer.left_out import folds_of
from hetcore.transfer.ordering import by_content, numbered_by_content
from hetcore.transfer.shares import by_kind

__all__ = ["Blend", "State", "TransferClassifier", "answers"]

N_FOLDS = 3
SOURCE_ROWS = 30.0
STEEPNESSES = (0.5, 1.0, 2.0, 4.0, 8.0)
LEAST = 1e-3  # share below which a candidate is left out
FLOOR = 1e-4  # of a probability: no single row outweighs all others


def answers(scores: NDArray, n_classes: int, steepness: float) -> NDArray[np.float64]:
    """Return probabilities (m, K) for a machine's scores, or the scores (m, 1) themselves for 0 classes."""
    return np.maximum(softmax(steepness * scores), FLOOR) if n_classes else scores


@dataclass
class State:
    """The candidates tried so far; a round is one more.

    Attributes
    ----------
    problem : TransferProblem
    n_classes : int
        0 for numbers.
    seed : int or None
        Of the folds.
    """

    problem: TransferProblem
    n_classes: int
    seed: int | None
    left_out: list[NDArray] = field(default_factory=list)
    machines: list[Any] = field(default_factory=list)
    steepnesses: list[float] = field(default_factory=list)
    # shares that a later round asks for again, by the fold that has no part in them
    _within: dict[int, dict[tuple[str, int], NDArray]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.problem
        # how sources are numbered must not change what is learned
        domain = numbered_by_content(problem)
        self.design, self.table = Design.of(problem.X, domain, len(problem.names) + 1)
        held_out = problem.X[:0] if problem.held_out is None else problem.held_out.X
        self.held_out = self.design.table(held_out, np.zeros(len(held_out), np.int64))
        groups = domain * max(self.n_classes, 1) + (problem.codes if self.n_classes else 0)
        self.folds = folds_of(groups, N_FOLDS, self.seed)
        n_target = len(problem.target)
        self.candidates = candidates(problem.names, n_target, problem.X.shape[1] > WIDE, numbers=not self.n_classes)
        source_weight = SOURCE_ROWS**2 / (SOURCE_ROWS + n_target)
        self.own = problem.domain == 0
        self.weights = np.where(self.own, 1.0, source_weight / max(len(problem.X) - n_target, 1))

    def round(self) -> bool:
        """Try one more candidate."""
        candidate = self.candidates[len(self.machines)]
        rows, problem = self._rows(candidate), self.problem
        out = np.zeros((len(problem.X), max(self.n_classes, 1)))
        for fold in range(self.folds.max() + 1):
            kept, left = rows[self.folds[rows] != fold], np.flatnonzero(self.folds == fold)
            if not (problem.domain[kept] == 0).any() and candidate.rows == "target only":
                kept = problem.target  # a single row can't be left out
            out[left] = self._fit(candidate, kept).scores(self.table, left)
        self.steepnesses.append(self._steepness(out, candidate.rows == ALL))
        self.left_out.append(answers(out, self.n_classes, self.steepnesses[-1]))
        self.machines.append(self._fit(candidate, rows))
        return len(self.machines) == len(self.candidates)

    def _steepness(self, scores: NDArray, everyone: bool) -> float:
        """Return tau of least left-out log loss, over all rows where the machine is on `everyone`; 1 for numbers."""
        if not self.n_classes:
            return 1.0
        rows, codes = np.arange(len(scores)), self.problem.codes
        weights = self.weights if everyone else self.own.astype(np.float64)
        losses = [-weights @ np.log(answers(scores, self.n_classes, tau)[rows, codes]) for tau in STEEPNESSES]
        distance = np.zeros(len(STEEPNESSES)) if everyone else np.log(STEEPNESSES) ** 2
        return STEEPNESSES[int(np.argmin(losses + distance))]

    def _fit(self, candidate: Candidate, rows: NDArray) -> Any:
        codes, n_bins = self.problem.codes, self.design.mapper.n_bins
        return fitted(candidate, self.table, rows, y=codes[rows], n_classes=self.n_classes, n_bins=n_bins)

    def _rows(self, candidate: Candidate) -> NDArray[np.int64]:
        domain = self.problem.domain
        if candidate.rows == "all":
            return np.arange(len(domain))
        if candidate.rows == "target only":
            return self.problem.target
        return np.flatnonzero((domain == 0) | (domain == self.problem.names.index(candidate.rows) + 1))

    def shares(self, without: int = -1) -> NDArray[np.float64]:
        """Return the share of each candidate tried so far; they sum to 1, small ones are 0.

        The target's rows of the fold `without` have no part in them, if others are left; -1 is no fold.
        """
        rows = np.flatnonzero(~self.own | (self.folds != without))
        if not self.own[rows].any():
            rows = np.arange(len(self.own))
        codes = self.problem.codes[rows]
        each = [out[rows, codes] if self.n_classes else out[rows, 0] for out in self.left_out]
        kinds = [candidate.rows for candidate in self.tried]
        used = [c for c, kind in enumerate(kinds) if kind != TARGET or self.own.sum() > 1 or set(kinds) == {TARGET}]
        y = None if self.n_classes else codes
        found = by_kind(
            np.stack(each, axis=1)[:, used],
            y,
            self.own[rows],
            weights=self.weights[rows],
            kinds=[kinds[c] for c in used],
            everyone=ALL,
            known=self._within.setdefault(without, {}),
        )
        shares = np.zeros(len(kinds))
        shares[used] = np.where(found >= LEAST, found, 0.0)
        return shares / shares.sum()

    def blended_left_out(self) -> NDArray[np.float64]:
        """Return the blend's answers (n_T, K) for the target's rows, each by machines and shares without its fold."""
        target = self.problem.target
        found = np.empty((len(target), self.left_out[0].shape[1]))
        for fold in np.unique(self.folds[target]):
            own = self.folds[target] == fold
            found[own] = sum(s * out[target[own]] for s, out in zip(self.shares(fold), self.left_out))
        return found

    def masses(self, shares: NDArray) -> NDArray[np.float64]:
        """Return the share of rows that the target (first) and each source have in the blend."""
        p = len(self.problem.names) + 1
        counts = np.array([np.bincount(self.problem.domain[self._rows(c)], minlength=p) for c in self.tried])
        return shares @ (counts / counts.sum(axis=1, keepdims=True))

    @property
    def tried(self) -> list[Candidate]:
        """The candidates so far."""
        return self.candidates[: len(self.machines)]

    def blended(self, table: Any, rows: NDArray, shares: NDArray) -> NDArray[np.float64]:
        """Return the mean answer (m, K) of the machines for some rows."""
        each = zip(shares, self.steepnesses, self.machines)
        return sum(s * answers(m.scores(table, rows), self.n_classes, tau) for s, tau, m in each if s > 0)


class Blend(Declared):
    """What the blends of classes and of numbers share."""

    _allows_missing = True
    _blended = {"_design": Part(Design, "d m", at="", inline=True), "_machines": Machines(), "blend": SHARES}
    random_state: int | None = param(0, Seed(), "Seed of the folds.")

    def _total(self, problem: TransferProblem) -> int:
        wide, numbers = problem.X.shape[1] > WIDE, not self._n_classes
        return len(candidates(problem.names, len(problem.target), wide, numbers=numbers))

    def _start(self, problem: TransferProblem) -> State:
        return State(by_content(problem), self._n_classes, self.random_state)

    def _view(self, state: State) -> dict[str, Any]:
        shares, problem = state.shares(), state.problem
        held_out = None
        if problem.held_out is not None:
            held_out = state.blended(state.held_out, np.arange(len(problem.held_out.codes)), shares)
        view = self._measured(problem, self._raw(state.blended(state.table, problem.target, shares)),
                              None if held_out is None else self._raw(held_out))  # fmt: skip
        loss, metric = self._left_out(problem, state.blended_left_out())
        view["losses"]["left_out"], view["detail"]["metric"]["left_out"] = loss, metric
        mass = state.masses(shares)
        view["source_weights"] = dict(zip(problem.names, mass[1:].tolist()))
        names = [candidate.name for candidate in state.tried]
        blend = dict(zip(names, shares.tolist()))
        view["detail"] |= {"candidate": names[-1], "blend": blend, "target_mass": float(mass[0])}
        return view

    def _finish(self, state: State) -> None:
        view, shares = self._view(state), state.shares()
        self.source_weights_, self.blend_ = view["source_weights"], view["detail"]["blend"]
        self.left_out_error_ = view["detail"]["metric"]["left_out"]
        self._design = state.design
        each = zip(shares.tolist(), state.steepnesses, state.machines)
        self._machines = [(share, tau, machine) for share, tau, machine in each if share > 0]

    def _scores(self, X: NDArray) -> NDArray[np.float64]:
        table, rows = self._design.table(X, np.zeros(len(X), np.int64)), np.arange(len(X))
        total = 0.0
        for share, tau, machine in self._machines:
            total = total + share * answers(machine.scores(table, rows), self._n_classes, tau)
        return self._raw(total)

    def _sizes(self, meta: dict[str, Any]) -> dict[str, int]:
        return super()._sizes(meta) | {"C": 1}


@estimator(MemoryNeed(cell=80, score=400))
class TransferClassifier(Blend, TransferEstimator):
    """A blend of machines from target only to all sources, linear and trees, by the target's left-out log loss.

    How, is in the docstring of the module: it is no boosting, and has no eta. Missing values are allowed, so that
    domains may lack columns that others have.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    blend_ : dict of str to float
        Share of each candidate, "linear, all", "trees, all, domain column", ...; they sum to 1.
    source_weights_ : dict of str to float
        Share of the rows that each source has in the blend; with the target's they sum to 1.
    left_out_error_ : float
        The blend's error on the target's left-out rows, in whose fold's shares they have no part.
    history_ : polars DataFrame
        One row per candidate.

    Notes
    -----
    A `RoundEnd` comes after every candidate, for the blend so far: `source_weights` as in `source_weights_`; losses
    "train", "left_out" and "held_out" (of eval_set) in nats; detail: "metric_name" = "error", "metric" = {"train",
    "left_out", "held_out"}; "candidate": its name; "blend" = {candidate: share}; "target_mass": the target's share of
    the rows.

    References
    ----------
    Antunes, Bernardino, Smailagic, Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019: sections 5 and 6, whose
    open problem it answers; the method is ours.
    """

    _stored = TransferEstimator._stored | Blend._blended

    @classmethod
    def _from_format_1(
        cls, parameters: dict[str, Any], meta: dict[str, Any], arrays: dict[str, NDArray]
    ) -> tuple[type, dict[str, Any], dict[str, Any], dict[str, NDArray]]:
        """Return the class of a file of format 1 too: in hetcore 0.1 this name was the ridge blend's."""
        return (RidgeTransferClassifier if "model" in meta else cls), parameters, meta, arrays

    @property
    def _n_classes(self) -> int:
        return len(self.classes_)

    def _left_out(self, problem: TransferProblem, answers: NDArray) -> tuple[float, float]:
        return scored(problem.codes[problem.target], answers / answers.sum(axis=1, keepdims=True))

    def _raw(self, answers: NDArray) -> NDArray[np.float64]:
        """Return mean probabilities as log odds (n, 1), or logarithms (n, K)."""
        logs = np.log(answers)
        return logs[:, 1:] - logs[:, :1] if answers.shape[1] == 2 else logs
