"""Rounds of transfer boosting with trees that vote: candidates, their errors, the best one, and the weights after it.

What `hetcore.transfer.rounds.Boosting` does with a `TreeLearner`, many rounds in one call: a tree of a hundred rows
takes some microseconds, and to go back to Python for each would take ten times as long.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hetcore.kernels.cache import kernel
from hetcore.kernels.members import grow_members

# Numbers of a round, by position in `VoteState.numbers`, and its counters, in `VoteState.counters`.
EPSILON, ALPHA = range(2)
N_MODELS, WAS_RESET, DONE, N_KEPT = range(4)
TIES = 1e12  # errors are compared by so many digits, see `hetcore.transfer.rounds.TIE_DIGITS`


class VoteRule(NamedTuple):
    """What does not change from round to round.

    Attributes
    ----------
    signs : (n,) float64
        +1 or -1.
    domain : (n,) int64
        0 for the target, k for source k, negative for a row that takes no part.
    soft : bool
        Whether a leaf says the mean sign of its rows.
    share : float
        Of the target in the error by which a candidate is chosen.
    most : float
        Largest alpha_t.
    up, down, lift : float
        What alpha_t raises missed target rows by, the fall of missed source rows, the rise of the target's.
    start : float
        Logarithm of a row's first weight.
    """

    signs: np.ndarray
    domain: np.ndarray
    soft: bool
    share: float
    most: float
    up: float
    down: float
    lift: float
    start: float


class VoteState(NamedTuple):
    """What a round changes, and room to work in.

    Attributes
    ----------
    log_weights : (n,) float64
    gradients, hessians : (C, n, 1) float32
        Of the trees of C candidates; 0 outside of their rows.
    numbers : (2,) float64
        epsilon_t and alpha_t.
    counters : (4,) int64
        Models so far, whether weights were set back, whether nothing is left to do, trees kept by this call.
    """

    log_weights: np.ndarray
    gradients: np.ndarray
    hessians: np.ndarray
    numbers: np.ndarray
    counters: np.ndarray


class KeptVotes(NamedTuple):
    """The trees of some rounds.

    Attributes
    ----------
    nodes : (R, capacity) NODE_DTYPE
    values : (R, capacity, 1) float64
    sizes : (R,) int64
    alphas : (R,) float64
    votes : (R, n) float64
        What each tree says of every row.
    """

    nodes: np.ndarray
    values: np.ndarray
    sizes: np.ndarray
    alphas: np.ndarray
    votes: np.ndarray


def _largest(logs, rows):
    """Return the largest of some logarithms."""
    top = -np.inf
    for r in rows:
        top = max(top, logs[r])
    return top


largest = kernel(_largest, allocates=False)


def _weigh(rows, rule, state, c):
    """Write gradients and hessians of candidate c: weights relative to the heaviest row, of Kish's sum where soft."""
    top, total, squares = largest(state.log_weights, rows), 0.0, 0.0
    for r in rows:
        weight = math.exp(state.log_weights[r] - top)
        total += weight
        squares += weight * weight
        state.hessians[c, r, 0] = weight
    scale = total / squares if rule.soft else 1.0
    for r in rows:
        # rounded once, from the exact weight: a second rounding would make other trees
        weight = np.float32(math.exp(state.log_weights[r] - top) * scale) if rule.soft else state.hessians[c, r, 0]
        state.hessians[c, r, 0] = weight
        state.gradients[c, r, 0] = -rule.signs[r] * weight


weigh = kernel(_weigh, allocates=False)


def _vote(values, size, soft):
    """Make votes of the values of a tree: within [-1, 1], or their signs."""
    for node in range(size):
        value = values[node, 0]
        if soft:
            values[node, 0] = min(max(value, -1.0), 1.0)
        else:
            values[node, 0] = 1.0 if value > 0.0 else -1.0


vote = kernel(_vote, allocates=False)


def _errors_of(values, leaves, rule, log_weights, tops):
    """Return the weighted errors of a tree on the target's rows and on the sources'; `tops` are their largest logs."""
    missed_target, target, missed_source, source = 0.0, 0.0, 0.0, 0.0
    for i in range(leaves.shape[0]):
        k = rule.domain[i]
        if k == 0 or (k > 0 and rule.share < 1.0):
            miss = 0.5 * abs(values[leaves[i], 0] - rule.signs[i])
            weight = math.exp(log_weights[i] - tops[0 if k == 0 else 1])
            if k == 0:
                target += weight
                missed_target += weight * miss
            else:
                source += weight
                missed_source += weight * miss
    return missed_target / target, missed_source / source if source > 0.0 else 0.0


errors_of = kernel(_errors_of, allocates=False)


def _best_candidate(rule, state, grown):
    """Return the candidate of least error on the target (and the sources), and its error on the target."""
    top_target, top_source, sources = -np.inf, -np.inf, False
    for i in range(rule.domain.shape[0]):
        if rule.domain[i] == 0:
            top_target = max(top_target, state.log_weights[i])
        elif rule.domain[i] > 0:
            top_source, sources = max(top_source, state.log_weights[i]), True
    best, least, error = -1, np.inf, 0.0
    for c in range(grown.sizes.shape[0]):
        vote(grown.values[c], grown.sizes[c], rule.soft)
        of_target, of_sources = errors_of(
            grown.values[c], grown.leaves[c], rule, state.log_weights, (top_target, top_source)
        )
        mixed = of_target
        if sources and rule.share < 1.0:
            mixed = rule.share * of_target + (1.0 - rule.share) * of_sources
        # equal but for the order of a sum is a tie, which the first one wins
        mixed = np.rint(mixed * TIES)
        if mixed < least:
            best, least, error = c, mixed, of_target
    return best, error


best_candidate = kernel(_best_candidate, allocates=False)


def _divide_by_sum(log_weights):
    """Let the weights sum to 1, in logarithms: weights of 1e-300 and less must still be told apart."""
    top, total = -np.inf, 0.0
    for value in log_weights:
        top = max(top, value)
    for value in log_weights:
        total += math.exp(value - top)
    total = top + math.log(total)
    for i in range(log_weights.shape[0]):
        log_weights[i] -= total


divide_by_sum = kernel(_divide_by_sum, allocates=False)


def _move_weights(votes, rule, state, alpha):
    """Raise missed target rows, lower missed source rows, and let the weights sum to 1 again."""
    for i in range(votes.shape[0]):
        miss = 0.5 * abs(votes[i] - rule.signs[i])
        if rule.domain[i] == 0:
            state.log_weights[i] += rule.up * alpha * miss + rule.lift
        elif rule.domain[i] > 0:
            state.log_weights[i] -= rule.down * miss
    divide_by_sum(state.log_weights)


move_weights = kernel(_move_weights, allocates=False)


def _keep(c, alpha, grown, state, kept):
    """Keep the tree of candidate c with its votes."""
    at, size = state.counters[N_KEPT], grown.sizes[c]
    for node in range(size):
        kept.nodes[at, node] = grown.nodes[c, node]
        kept.values[at, node, 0] = grown.values[c, node, 0]
    for i in range(grown.leaves.shape[1]):
        kept.votes[at, i] = grown.values[c, grown.leaves[c, i], 0]
    kept.sizes[at], kept.alphas[at] = size, alpha
    state.counters[N_KEPT] += 1
    state.counters[N_MODELS] += 1


keep = kernel(_keep, allocates=False)


def _end_round(c, grown, rule, state, kept):
    """Count a round whose best candidate is c: keep it and move the weights, or set them back if it does not help."""
    epsilon = state.numbers[EPSILON]
    # by more than rounding: the tree of the round before, found again, errs in one half of the new weights
    if np.rint(epsilon * TIES) < 0.5 * TIES:
        alpha = rule.most if epsilon <= 0.0 else min(0.5 * math.log((1.0 - epsilon) / epsilon), rule.most)
        state.numbers[ALPHA] = alpha
        keep(c, alpha, grown, state, kept)
        move_weights(kept.votes[state.counters[N_KEPT] - 1], rule, state, alpha)
        return
    state.numbers[ALPHA] = 0.0
    state.counters[DONE] = state.counters[WAS_RESET]
    # once: a second time the same weights would lead to the same end
    if state.counters[WAS_RESET] == 0:
        for i in range(rule.domain.shape[0]):
            if rule.domain[i] == 0:
                state.log_weights[i] = rule.start
        divide_by_sum(state.log_weights)
        state.counters[WAS_RESET] = 1
    # something must vote
    if state.counters[DONE] == 1 and state.counters[N_MODELS] == 0:
        keep(c, rule.most, grown, state, kept)


end_round = kernel(_end_round, allocates=False)


def _boost_votes(problem, parts, params, work, scratch, buffers, begins, grown, rule, state, kept, n_rounds):
    """Do rounds, until there are `n_rounds`, `kept` is full, or nothing is left to do.

    Parameters
    ----------
    problem, parts, params, work, scratch, buffers, begins, grown
        As of `members.grow_members`, whose members are the candidates.
    rule : VoteRule
    state : VoteState
    kept : KeptVotes
        Receives `state.counters[N_KEPT]` trees.
    n_rounds : int

    Returns
    -------
    int
        0, or as `members.grow_members`.
    """
    state.counters[N_KEPT] = 0
    for _ in range(n_rounds):
        if state.counters[DONE] == 1 or state.counters[N_KEPT] == kept.sizes.shape[0]:
            break
        for c in range(grown.sizes.shape[0]):
            weigh(parts.rows[parts.starts[c] : parts.starts[c + 1]], rule, state, c)
        wrong = grow_members(
            problem,
            parts,
            0,
            grown.sizes.shape[0],
            params,
            work,
            scratch,
            state.gradients,
            state.hessians,
            grown,
            buffers,
            begins,
        )
        if wrong != 0:
            return wrong
        best, state.numbers[EPSILON] = best_candidate(rule, state, grown)
        end_round(best, grown, rule, state, kept)
    return 0


boost_votes = kernel(_boost_votes, allocates=False)
