r"""As much transfer as the target's own rows ask for: weighted ridge machines, blended by their leave-one-out error.

A candidate c gives every row of the target the weight 1 and every row of source k the weight rho_ck, and solves

    min_{v, b}  |v|^2 / (2 C) + sum_i w_i (y_i - v.z_i - b - b_k)^2 / 2                  (a least-squares SVM)

over features z: the standardised columns, or an RBF kernel's. b_k is 0 for the target. Candidates are the target alone
(all rho = 0; cost C, 10 C and 100 C), and, for rho = 0.01, 0.03, 0.1, 0.3, 1, all sources alike and each source alone,
once with the intercept of the target (b_k = 0) and once with an intercept of its own for each source (b_k free: a
source that is shifted, or has other shares of the classes, then lends its directions only). What the fit without target
row i says of it follows in closed form, y_i - yhat_i = (y_i - f(z_i)) / (1 - h_i), h_i = w_i z_i' A^-1 z_i, so that the
target's rows judge every candidate at the cost of one fit:

    share of c  ~  prior_c exp(-2 sum_i (y_i - yhat_ci)^2),    f = sum_c share_c f_c

With two target rows the shares are nearly even; with a hundred nearly all is on the best. The target alone is among the
candidates, each with the prior of five others, so that bad sources fade away as target rows come in: it does not lose
to no transfer by more than the price of finding that out. This is our answer to the open problem of Antunes et al.
(2019), whose transfer methods all end below a no-transfer SVM; it is not in the paper. What else was tried:
docs/transfer.md.

All candidates share second moments per domain, computed once, and one pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from hetcore.parameters import Seed, param
from hetcore.registry import MemoryNeed, estimator
from hetcore.schema import Array
from hetcore.transfer.estimator import TransferProblem, scored
from hetcore.transfer.kernel_scores import KernelEstimator, KernelScores, kernel_matrix, kernel_width
from hetcore.transfer.linear_learner import TargetUnits

__all__ = ["RidgeTransferClassifier", "candidates", "weighted_ridge"]

RHOS = (0.01, 0.03, 0.1, 0.3, 1.0)
TRUST = 2.0  # in exp(-TRUST * squared leave-one-out error)
PRIOR = 5.0  # of the target alone
OWN, SHARED = 1e-4, 1e6  # penalty of a source's intercept: next to none, and so high that it is 0
TARGET_COSTS = (1.0, 10.0, 100.0)
N_LANDMARKS = 1000  # most support points of the RBF kernel


class Candidate(NamedTuple):
    """One way to weigh the sources.

    Attributes
    ----------
    name : str
    rho : (p,) float64
        Weight of the rows of each source; a target row weighs 1.
    cost : float
        What C is multiplied by.
    penalty : float
        On the sources' own intercepts.
    """

    name: str
    rho: NDArray[np.float64]
    cost: float
    penalty: float

    @property
    def prior(self) -> float:
        """What its share is multiplied by."""
        return 1.0 if self.rho.any() else PRIOR


def candidates(names: list[str]) -> list[Candidate]:
    """Return the candidates for some sources: the target alone, all sources alike, each source alone."""
    p = len(names)
    found = [_target_only(p, cost) for cost in TARGET_COSTS]
    # all sources together only where there are several
    groups = [("all", np.ones(p))] * (p > 1) + [(name, np.eye(p)[j]) for j, name in enumerate(names)]
    for name, who in groups:
        for rho in RHOS:
            found.append(Candidate(f"{name} x {rho:g}", rho * who, 1.0, SHARED))
            found.append(Candidate(f"{name} x {rho:g}, own intercept", rho * who, 1.0, OWN))
    return found


def _target_only(p: int, cost: float) -> Candidate:
    return Candidate("target only" if cost == 1.0 else f"target only, {cost:g} C", np.zeros(p), cost, SHARED)


def weighted_ridge(moments: NDArray, crosses: NDArray, penalty: NDArray) -> tuple[NDArray, Any]:
    """Solve min sum_j penalty_j v_j^2 / 2 + sum_i w_i |y_i - v.z_i|^2 / 2 from weighted moments.

    Parameters
    ----------
    moments : (m, m) float64
        sum_i w_i z_i z_i'.
    crosses : (m, K) float64
        sum_i w_i z_i y_i'.
    penalty : (m,) float64
        At least 0.

    Returns
    -------
    solution : (m, K) float64
        v.
    factor : tuple
        Cholesky factor of A = moments + diag(penalty), for `scipy.linalg.cho_solve`.
    """
    system = moments.copy()
    system[np.diag_indices(len(system))] += penalty
    # the penalised matrix is positive definite, and Cholesky the cheapest way to solve it
    factor = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, crosses, check_finite=False), factor


@dataclass
class State:
    """The candidates tried so far; a round is one more.

    Attributes
    ----------
    problem : TransferProblem
    features : (n, m) float64
        z.
    held_out : (n_held_out, m) float64
        z of the held-out rows.
    signs : (n, K) float64
    C : float
    """

    problem: TransferProblem
    features: NDArray
    held_out: NDArray
    signs: NDArray
    C: float
    solutions: list[NDArray] = field(default_factory=list)
    left_out: list[NDArray] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    errors_by_row: list[NDArray] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.candidates = candidates(self.problem.names)
        p = len(self.problem.names)
        # an intercept for each source beside the common one
        intercepts = (self.problem.domain[:, None] == np.arange(1, p + 1)).astype(np.float64)
        whole = np.column_stack([self.features, np.ones(len(self.features)), intercepts])
        rows = [np.flatnonzero(self.problem.domain == k) for k in range(p + 1)]
        self.sizes = np.array([len(each) for each in rows], np.float64)
        parts = [whole[each] for each in rows]
        # moments by domain once; each candidate is a weighted sum of them
        self.moments = np.stack([part.T @ part for part in parts])
        self.crosses = np.stack([part.T @ self.signs[each] for part, each in zip(parts, rows)])
        self.own, self.own_signs = parts[0], self.signs[rows[0]]
        self.log_priors = np.log([candidate.prior for candidate in self.candidates])
        weight = np.array([np.append(1.0, candidate.rho) for candidate in self.candidates]) * self.sizes
        self.row_shares = weight / weight.sum(axis=1, keepdims=True)

    def round(self) -> bool:
        """Fit one more candidate and see what it says of each target row without that row."""
        candidate, m = self.candidates[len(self.solutions)], self.features.shape[1]
        weight = np.append(1.0, candidate.rho)
        moments, crosses = (np.tensordot(weight, each, 1) for each in (self.moments, self.crosses))
        penalty = np.full(len(moments), candidate.penalty)
        penalty[:m], penalty[m] = 1.0 / (self.C * candidate.cost), 0.0
        solution, factor = weighted_ridge(moments, crosses, penalty)
        leverage = (self.own * cho_solve(factor, self.own.T, check_finite=False).T).sum(axis=1)
        # a row that the fit goes through has leverage 1: nothing is left to divide by
        residual = (self.own_signs - self.own @ solution) / np.maximum(1.0 - leverage, 1e-12)[:, None]
        self.solutions.append(solution[: m + 1])
        self.left_out.append(self.own_signs - residual)
        # two columns of signs in the place of one: their squares count half
        halves = 1.0 if self.signs.shape[1] == 1 else 0.5
        squares = (self.own_signs - self.left_out[-1]) ** 2
        self.errors.append(halves * squares.sum())
        self.errors_by_row.append(halves * squares.sum(axis=1))
        return len(self.solutions) == len(self.candidates)

    def shares(self) -> NDArray[np.float64]:
        """Return the share of each candidate tried so far in the blend; they sum to 1."""
        return self._shares(np.array(self.errors))

    def _shares(self, errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the shares (C, ...) for sums of squared errors (C, ...)."""
        logs = self.log_priors[: len(errors)].reshape(-1, *[1] * (errors.ndim - 1)) - TRUST * errors
        # less the largest: exp of so many squared errors underflows for all
        shares = np.exp(logs - logs.max(axis=0))
        return shares / shares.sum(axis=0)

    def blended_left_out(self) -> NDArray[np.float64]:
        """Return what the blend says of each target row (n_T, K), by machines and shares without it."""
        without = self._shares(np.array(self.errors)[:, None] - np.stack(self.errors_by_row))
        return np.einsum("cn,cnk->nk", without, np.stack(self.left_out))

    def masses(self) -> NDArray[np.float64]:
        """Return the share of all row weight that the target (first) and each source have in the blend."""
        return self.shares() @ self.row_shares[: len(self.errors)]

    def blend(self) -> NDArray[np.float64]:
        """Return v and, last, b of the blend, (m + 1, K)."""
        return np.tensordot(self.shares(), np.stack(self.solutions), 1)


@estimator(MemoryNeed(cell=40, score=300))
class RidgeTransferClassifier(KernelEstimator):
    """As much transfer as helps: machines from target only to all sources, blended by the target's leave-one-out error.

    How, is in the docstring of the module. It has no rounds of boosting and no eta: it is what to use, the printed
    methods are what to study. Missing values become the column's mean.

    Attributes
    ----------
    classes_ : (K,) array
        Sorted.
    blend_ : dict of str to float
        Share of each candidate, "target only", "all x 0.1", "1 x 0.3, own intercept", ...; they sum to 1.
    source_weights_ : dict of str to float
        Share of all row weight that each source has in the blend; with the target's they sum to 1.
    left_out_error_ : float
        The blend's error on the target's rows, each left out of every candidate, and of the shares, in turn.
    history_ : polars DataFrame
        One row per candidate.

    Notes
    -----
    A `RoundEnd` comes after every candidate, for the blend so far: `source_weights` as in `source_weights_`; losses
    "train", "left_out" and "held_out" (of eval_set) in nats; detail: "metric_name" = "error", "metric" = {"train",
    "left_out", "held_out"}; "candidate": its name; "candidate_error": its own leave-one-out error; "blend" =
    {candidate: share}; "target_mass": the target's share of all row weight.

    References
    ----------
    Antunes, Bernardino, Smailagic, Siewiorek, "Weighted Multisource Tradaboost", IbPRIA 2019: sections 5 and 6, whose
    open problem it answers; the method is ours.
    """

    _stored = KernelEstimator._stored | {"_centre": Array("d", key="centre"), "_scale": Array("d", low=0, key="scale")}
    _steepness = 2.0
    _allows_missing = True

    kernel = replace(
        KernelEstimator.kernel,
        words="Over standardised columns: a.b / d, or exp(-gamma |a - b|^2) with at most 1,000 support points.",
    )
    random_state: int | None = param(0, Seed(), "Seed of the support points, where there are more rows than that.")

    def _total(self, problem: TransferProblem) -> int:
        return len(candidates(problem.names))

    def _start(self, problem: TransferProblem) -> State:
        known = np.isfinite(problem.X)
        counts = np.maximum(known.sum(axis=0), 1)
        self._centre = np.where(known, problem.X, 0.0).sum(axis=0) / counts
        deviation = np.sqrt((np.where(known, problem.X - self._centre, 0.0) ** 2).sum(axis=0) / counts)
        # a constant column has a deviation of rounding alone
        varies = deviation > 1e-12 * np.maximum(np.abs(self._centre), 1e-300)
        units = TargetUnits.of(problem.X, problem.domain, np.where(varies, deviation, 0.0))
        self._centre, deviation = units.instead(self._centre, deviation)
        # a constant column says nothing: it gets no weight, rather than an infinite one
        self._scale = np.where(varies, 1.0 / np.where(varies, deviation, 1.0), 0.0)
        features = self._featured(self._seen(units.held(problem.X)))
        nothing = problem.held_out is None
        held_out = features[:0] if nothing else self._features_of(self._seen(problem.held_out.X))
        signs = np.column_stack([problem.signs(k) for k in range(problem.n_problems)])
        return State(problem, features, held_out, signs, float(self.C))

    def _seen(self, X: NDArray) -> NDArray[np.float64]:
        """Return standardised columns over the root of their number, 0 for missing, (n, d)."""
        # over the root of the columns, so that C means the same for narrow and wide tables
        unit = self._scale / np.sqrt(len(self._scale))
        return np.where(np.isnan(X), 0.0, (X - self._centre) * unit)

    def _featured(self, Z: NDArray) -> NDArray[np.float64]:
        """Return features whose products are the kernel's, and keep how to go back to support points."""
        self._width = kernel_width(Z, self.gamma)
        # rows in number, or columns: the smaller of the two is solved for
        if self.kernel == "linear" and len(Z) > Z.shape[1]:
            self._support = self._back = np.eye(Z.shape[1])
            return Z
        most = len(Z) if self.kernel == "linear" else N_LANDMARKS
        # sorted, so that points keep the rows' order
        chosen = np.sort(np.random.default_rng(self.random_state).permutation(len(Z))[:most])
        self._support = Z[chosen]
        values, vectors = np.linalg.eigh(kernel_matrix(self._support, self._support, self.kernel, self._width))
        # directions of no size are rounding
        used = values > 1e-10 * max(values[-1], 1e-300)
        self._back = vectors[:, used] / np.sqrt(values[used])
        return self._features_of(Z)

    def _features_of(self, Z: NDArray) -> NDArray[np.float64]:
        return kernel_matrix(Z, self._support, self.kernel, self._width) @ self._back

    def _view(self, state: State) -> dict[str, Any]:
        problem, shares = state.problem, state.shares()
        blend = state.blend()
        held_out = None if problem.held_out is None else state.held_out @ blend[:-1] + blend[-1]
        view = self._measured(problem, state.own[:, : len(blend)] @ blend, held_out)
        codes = problem.codes[problem.target]
        loss, error = scored(codes, self._probabilities(state.blended_left_out()))
        view["losses"]["left_out"], view["detail"]["metric"]["left_out"] = loss, error
        mass = state.masses()
        view["source_weights"] = dict(zip(problem.names, mass[1:].tolist()))
        names = [candidate.name for candidate in state.candidates]
        view["detail"] |= {
            "candidate": names[len(shares) - 1],
            "candidate_error": scored(codes, self._probabilities(state.left_out[-1]))[1],
            "blend": dict(zip(names, shares.tolist())),
            "target_mass": float(mass[0]),
        }
        return view

    def _finish(self, state: State) -> None:
        view = self._view(state)
        self.source_weights_, self.blend_ = view["source_weights"], view["detail"]["blend"]
        self.left_out_error_ = view["detail"]["metric"]["left_out"]
        blend = state.blend()
        self._model = KernelScores.used(self._support, self._back @ blend[:-1], blend[-1], self.kernel, self._width)
        # what the fit alone needs
        del self._support, self._back, self._width
