"""The factorization kernels against their twins, their gradients against finite differences."""

import numpy as np
import pytest

from hetcore.kernels import factorization as fast
from hetcore.kernels.factorization import Factors, Rates
from tests.naive import factorization as naive

FLOAT = np.float32
SIZES = (5, 4, 3)
CENTERS = np.zeros((3, 16), FLOAT)
RATES = {"learning_rate": 0.05, "deviation_rate": 0.03, "bias_regularisation": 0.02, "base_variance": 0.3,
         "mean_variance": 0.7, "level": 0.5, "stiffness": 0.8, "decay": 0.01,
         "prior_is_weighted": 1.0}  # fmt: skip


def rates(**changed):
    return Rates(*map(FLOAT, (RATES | changed).values()))


def made(n_modes, D=16, K=2, n=40, by_cell=False, seed=0):
    """Return codes, values and factors of a small problem, no row without a nonzero gradient."""
    rng, N = np.random.default_rng(seed), sum(SIZES[:n_modes])
    offsets = np.cumsum((0, *SIZES))[:n_modes]
    codes = np.stack([rng.integers(0, size, n) for size in SIZES[:n_modes]], axis=1) + offsets
    factors = Factors(
        rng.normal(0, 0.3, N).astype(FLOAT), rng.normal(0, 0.5, (N, D)).astype(FLOAT),
        rng.uniform(0.1, 1.0, (N, K)).astype(FLOAT), np.ones(N, FLOAT),
        np.ones((N, D if by_cell else 1), FLOAT), np.ones((N, max(1, K) if by_cell else 1), FLOAT),
    )  # fmt: skip
    return codes.astype(np.int32), rng.normal(0, 1, n).astype(FLOAT), factors


def copied(factors, dtype=FLOAT):
    return Factors(*(each.astype(dtype) for each in factors))


@pytest.mark.parametrize("n_modes", [2, 3])
@pytest.mark.parametrize(
    "D, K, by_cell", [(16, 2, False), (16, 0, False), (0, 1, False), (1, 1, False), (32, 3, True), (16, 0, True)]
)
def test_an_epoch_is_its_twin(n_modes, D, K, by_cell):
    codes, values, ours = made(n_modes, D, K, by_cell=by_cell)
    twin, totals = copied(ours, np.float64), np.zeros((2, 3))
    rng = np.random.default_rng(1)
    penalties, shrinkage = (rng.uniform(0.01, 0.1, len(ours.biases)).astype(FLOAT) for _ in range(2))
    starts, order = np.array([0, 10, 25, 40]), np.array([2, 0, 1])
    centers = rng.normal(0, 0.1, (3, D)).astype(FLOAT) * (not by_cell)  # by cell, the pull is to 0
    given = rates(deviation_rate=0.03 if K else 0.0, base_variance=0.3 if K else 1.0)
    fast.run_epoch(codes, values, starts, order, ours, given, penalties, centers, shrinkage, totals[0])
    naive.run_epoch(codes, values, starts, order, twin, given, penalties, centers, shrinkage, totals[1])
    np.testing.assert_allclose(*totals, rtol=1e-4)
    for name in Factors._fields[: 6 if K else 5]:
        np.testing.assert_allclose(getattr(ours, name), getattr(twin, name), rtol=2e-3, atol=2e-5, err_msg=name)
    assert not np.allclose(ours.biases, made(n_modes, D, K)[2].biases)


@pytest.mark.parametrize("n_modes", [2, 3])
def test_predictions_are_their_twins(n_modes):
    codes, _, factors = made(n_modes)
    ours, twin = np.zeros((2, len(codes))), np.zeros((2, len(codes)))
    fast.predict_entries(codes, *factors[:3], FLOAT(0.2), *ours)
    naive.predict_entries(codes, *copied(factors, np.float64)[:3], 0.2, *twin)
    np.testing.assert_allclose(ours, twin, rtol=1e-4, atol=1e-5)


def objective(codes, value, table, given, penalties, shrinkage):
    """Return what the step of one entry descends: its loss, and the priors of factors and of deviations."""
    fitted, variance = np.zeros(1), np.zeros(1)
    naive.predict_entries(codes, *table[:3], float(given.base_variance), fitted, variance)
    loss = (value - fitted[0]) ** 2 / (2 * variance[0]) + 0.5 * np.log(variance[0])
    rows = codes[0]
    prior = 0.5 * (penalties[rows] @ (table.factors[rows] ** 2).sum(axis=1))
    prior += 0.5 * given.bias_regularisation * (table.biases[rows] ** 2).sum()
    pull = 0.5 * given.stiffness * ((table.deviations[rows] - given.level) ** 2) + given.decay * table.deviations[rows]
    return loss, prior, shrinkage[rows] @ pull.sum(axis=1)


@pytest.mark.parametrize("n_modes", [2, 3])
@pytest.mark.parametrize("by_cell", [False, True])
@pytest.mark.parametrize("weighted", [0.0, 1.0])
def test_steps_go_along_the_gradient_by_finite_differences(n_modes, by_cell, weighted):
    codes, values, start = made(n_modes, D=16, K=2, n=1, by_cell=by_cell)
    for sums in start[3:]:
        sums[:] = 1e12  # so that a rate does not move with its own gradient
    scale = 1e6  # the root of it, taken back by the learning rate
    given = rates(learning_rate=scale * 1e-3, deviation_rate=scale * 1e-3, prior_is_weighted=weighted)
    penalties = shrinkage = np.full(len(start.biases), 0.05, FLOAT)
    after, total = copied(start), np.zeros(3)
    fast.run_epoch(
        codes, values, np.array([0, 1]), np.zeros(1, np.int64), after, given, penalties, CENTERS, shrinkage, total
    )
    variance = np.zeros(1)
    naive.predict_entries(codes, *copied(start, np.float64)[:3], float(given.base_variance), np.zeros(1), variance)
    strength = float(given.mean_variance / variance[0]) if weighted else 1.0
    for name, weight in (("biases", given.mean_variance), ("factors", given.mean_variance), ("deviations", 1.0)):
        for row in codes[0]:
            moved = np.atleast_1d(getattr(after, name)[row] - getattr(start, name)[row]) / -1e-3
            slopes = [slope(codes, values[0], start, given, penalties, name, row, cell, weight, strength)
                      for cell in range(moved.size)]  # fmt: skip
            np.testing.assert_allclose(moved, slopes, rtol=2e-2, atol=1e-3, err_msg=name)


def slope(codes, value, start, given, penalties, name, row, cell, weight, strength, h=1e-5):
    ends = []
    for sign in (1, -1):
        table = copied(start, np.float64)
        np.atleast_2d(getattr(table, name).reshape(len(table.biases), -1))[row, cell] += sign * h
        loss, prior, pull = objective(
            codes, float(value), table, given, penalties.astype(float), penalties.astype(float)
        )
        ends.append(weight * loss + (pull if name == "deviations" else strength * prior))
    return (ends[0] - ends[1]) / (2 * h)


@pytest.mark.parametrize("n_modes", [2, 3])
def test_deviations_stay_at_or_above_zero_under_wild_steps(n_modes):
    codes, values, factors = made(n_modes, n=200)
    totals, column = np.zeros(3), np.full(len(factors.biases), 0.01, FLOAT)
    for _ in range(5):
        fast.run_epoch(codes, 0.01 * values, np.array([0, 200]), np.zeros(1, np.int64), factors,
                       rates(deviation_rate=2.0), column, CENTERS, column, totals)  # fmt: skip
        assert (factors.deviations >= 0).all() and np.isfinite(totals).all()
    assert (factors.deviations == 0).any()
