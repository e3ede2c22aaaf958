"""Normal scores of skewed columns, values far out that linear learners see, and numbers predicted beyond the labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

import hetcore as hc
from hetcore.errors import ModelFileError
from hetcore.metrics import rmse
from hetcore.projection import FEWEST_VALUES, Projection

N = 600


def of_logarithms(seed: int) -> tuple[dict[str, pl.DataFrame], np.ndarray, np.ndarray]:
    """Return two tables of prices and sizes, a number that is linear in their logarithms (deviation 1), and its ids."""
    rng = np.random.default_rng(seed)
    logs, ids = rng.normal(size=(N, 8)), np.array([f"i{k}" for k in range(N)])
    slopes = rng.normal(size=8)
    y = logs @ slopes / np.linalg.norm(slopes) + 0.3 * rng.normal(size=N)
    frames = [
        pl.DataFrame({"id": ids} | {f"c{j}": np.exp(logs[:, j]) for j in some}) for some in (range(4), range(4, 8))
    ]
    return dict(zip(("prices", "sizes"), frames)), y, ids


@pytest.mark.parametrize("seed", range(2))
def test_what_is_linear_in_logarithms_is_learned_from_the_columns_as_they_are(seed: int) -> None:
    # .47 with the columns alone; the noise is .3
    tables, y, ids = of_logarithms(seed)
    some = np.random.default_rng(seed).permutation(N)[:200]
    data, rest = hc.HetData(tables, None, (ids[some], y[some])), np.setdiff1d(np.arange(N), some)
    assert rmse(y[rest], hc.GBCRegressor(random_state=0).fit(data).predict(data)[rest]) < 0.36


def test_scores_are_those_of_any_rising_function_and_stand_beside_the_column() -> None:
    rng = np.random.default_rng(0)
    skewed = np.exp(rng.normal(size=(500, 1))).astype(np.float32)
    X = np.hstack([skewed, rng.normal(size=(500, 1)).astype(np.float32)])
    made = Projection.fit(X).with_scores(X)
    assert made.skewed.tolist() == [0] and made.width == 3
    columns = made(X)
    assert np.array_equal(columns[:, :2], Projection.fit(X)(X))
    assert abs(columns[:, 2].mean()) < 0.02 and abs(columns[:, 2].std() - 1) < 0.02
    cubed = np.hstack([skewed.astype(np.float64) ** 3, X[:, 1:]])
    again = Projection.fit(cubed).with_scores(cubed)(cubed)
    # between two of 33 knots a line is drawn, which is another line of the cubes
    assert np.abs(again[:, 2] - columns[:, 2]).max() < 0.15
    ranks = ndtri((skewed[:, 0].argsort().argsort() + 0.5) / 500)
    assert np.abs(columns[:, 2] - ranks).max() < 0.15


def test_missing_values_have_the_mean_score_and_new_ones_the_score_of_the_nearest_end() -> None:
    x = np.exp(np.random.default_rng(1).normal(size=(300, 1)))
    x[::3] = np.nan
    made = Projection.fit(x).with_scores(x)
    known = made(x)[1::3, 1]
    assert np.all(made(x)[::3, 1] == 0.0) and made(x)[:, 1].std() == pytest.approx(1.0, abs=0.05)
    ends = made(np.array([[-1e30], [1e30]]))[:, 1]
    low, high = np.nanargmin(x), np.nanargmax(x)
    assert ends.tolist() == [made(x)[low, 1], made(x)[high, 1]] and ends[0] <= known.min() and known.max() <= ends[1]


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(0).normal(size=400),
        np.random.default_rng(0).integers(0, 2, 400).astype(float),
        np.random.default_rng(0).exponential(size=400) * (np.arange(400) % 2),  # half of them 0
        np.repeat(2.0 ** np.arange(FEWEST_VALUES - 1), 400),
        np.full(400, np.nan),
        np.full(400, 3.0),
    ],
    ids=["even", "two values", "mostly zeros", "few values", "none", "constant"],
)
def test_other_columns_have_none(column: np.ndarray) -> None:
    X = column.reshape(-1, 1)
    assert Projection.fit(X).with_scores(X).skewed is None


def test_blocks_side_by_side_keep_whose_scores_they_are() -> None:
    X = np.exp(np.random.default_rng(2).normal(size=(200, 3)) * [1.0, 0.01, 1.0])
    apart = Projection.joined([Projection.fit(part).with_scores(part) for part in (X[:, :2], X[:, 2:])])
    assert apart.skewed.tolist() == [0, 2]
    assert np.array_equal(apart(X), Projection.fit(X).with_scores(X)(X))


def test_a_file_keeps_them_and_one_without_a_part_of_them_is_refused() -> None:
    X = np.exp(np.random.default_rng(3).normal(size=(200, 2)))
    made = Projection.fit(X).with_scores(X)
    meta, arrays = made.to_state()
    assert np.array_equal(Projection.from_state(meta, arrays, d=2)(X), made(X))
    plain = replace(made, skewed=None, knots=None, scores=None)
    assert np.array_equal(Projection.from_state(*plain.to_state(), d=2)(X), made(X)[:, :2])
    for lacking in ("skewed", "knots", "scores"):
        with pytest.raises(ModelFileError, match="lacks the scores of skewed columns"):
            Projection.from_state(meta, {name: each for name, each in arrays.items() if name != lacking}, d=2)
    with pytest.raises(ModelFileError, match="not those of its table"):
        Projection.from_state(meta, arrays | {"skewed": np.array([0, 2])}, d=2)
    with pytest.raises(ModelFileError, match="not those of its table"):
        Projection.from_state(meta, arrays | {"knots": arrays["knots"][:, ::-1].copy()}, d=2)


@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 39.9, 40.1), (0.7, 2.0, 14.0)])
def test_a_line_is_followed_beyond_the_labels_as_far_as_it_tells_them(noise: float, low: float, high: float) -> None:
    # labels range over some 5 with noise, and nearly half of what varies is the line's
    x, ids = np.concatenate([np.linspace(-1.0, 1.0, 201), [40.0]]), np.array([f"i{k}" for k in range(202)])
    y = x[:201] + noise * np.random.default_rng(0).normal(size=201)
    data = hc.HetData({"t": pl.DataFrame({"id": ids, "x": x, "noise": np.sin(97.0 * x)})}, None, (ids[:201], y))
    predicted = hc.GBCRegressor(random_state=0, lambda0=0.0).fit(data).predict(data)
    assert low < predicted[-1] < high


@pytest.mark.parametrize("seed", range(2))
def test_what_is_linear_in_columns_with_far_values_is_learned_there_too(seed: int) -> None:
    # .9 and .5 where all values count as four deviations at most; ridge regression has .31
    rng = np.random.default_rng(seed)
    X, ids = rng.standard_t(3, (500, 6)), np.array([f"i{k}" for k in range(500)])
    y = X[:, 0] - X[:, 3] + 0.5 * X[:, 4] + 0.3 * rng.normal(size=500)
    tables = {
        name: pl.DataFrame({"id": ids} | {f"{name}{j}": X[:, j] for j in some})
        for name, some in (("a", range(3)), ("b", range(3, 6)))
    }
    some = rng.permutation(500)[:150]
    data, rest = hc.HetData(tables, None, (ids[some], y[some])), np.setdiff1d(np.arange(500), some)
    assert rmse(y[rest], hc.GBCRegressor(random_state=0).fit(data).predict(data)[rest]) < 0.36


@pytest.mark.parametrize("lambda0", [0.0, 0.3])
def test_a_row_far_out_does_not_keep_members_that_lack_it_from_the_line(lambda0: float) -> None:
    # one Gram matrix of all rows is nearly that row's alone: the error was 7 and more where the deviation is 2.3
    rng = np.random.default_rng(0)
    X, ids = rng.normal(size=(120, 3)), np.array([f"i{k}" for k in range(120)])
    X[0, 0] = 400.0
    y = 2.0 * X[:, 0] + X[:, 1]
    data = hc.HetData({"t": pl.DataFrame({"id": ids} | {f"x{j}": X[:, j] for j in range(3)})}, None, (ids[:60], y[:60]))
    assert rmse(y[60:], hc.GBCRegressor(random_state=0, lambda0=lambda0).fit(data).predict(data)[60:]) < 0.01


def test_only_linear_learners_see_far_values_and_new_ones_as_far_as_those_of_the_fit() -> None:
    X = np.random.default_rng(4).standard_t(2, (400, 2))
    X[::7, 0] = np.nan
    X[:, 1] = np.clip(X[:, 1], -1, 1)
    made = Projection.fit(X).with_scores(X).with_reach(X)
    rows = made(X)
    uncut = made.uncut(X, rows)
    known = ~np.isnan(X[:, 0])
    assert np.abs(rows[:, 0]).max() == 4.0 < np.abs(uncut[:, 0]).max() == made.reach[0]
    assert np.allclose(uncut[known, 0], ((X - made.center) * made.factor)[known, 0]) and not uncut[~known, 0].any()
    assert np.array_equal(uncut[:, 1:], rows[:, 1:]) and not np.shares_memory(uncut, rows)
    far = np.array([[1e30, 0.0], [-1e30, 0.0]])
    assert made.uncut(far, made(far))[:, 0].tolist() == [made.reach[0], -made.reach[0]]
    read = Projection.from_state(*made.to_state(), d=2)
    assert np.array_equal(read.uncut(X, rows), uncut)
    # a file of before
    before = replace(made, reach=None)
    assert before.uncut(X, rows) is rows and Projection.from_state(*before.to_state(), d=2).reach is None
    even = Projection.fit(X[:, 1:]).with_reach(X[:, 1:])
    columns = even(X[:, 1:])
    assert even.reach[0] < 4.0 and even.uncut(X[:, 1:], columns) is columns


def test_of_classes_linear_learners_see_what_kernels_see() -> None:
    X, ids = np.random.default_rng(5).standard_t(2, (200, 2)), np.array([f"i{k}" for k in range(200)])
    tables = {"t": pl.DataFrame({"id": ids, "a": X[:, 0], "b": X[:, 1]})}
    for y, far in ((X[:, 0], True), (np.where(X[:, 0] > 0, "yes", "no"), False)):
        data = hc.HetData(tables, None, (ids, y))
        by_learner = {made.view.learner: made.X for made in hc.views(data)}
        assert (np.abs(by_learner["linear"]).max() > 4.0) == far and np.abs(by_learner["kernel"]).max() == 4.0
