"""GB, RGB and MGB as printed against Algorithms 1 to 4 written from the paper's text, on 60 nodes."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from tests.naive import collective_letter as naive

LETTER = {"as_printed": True, "min_samples_leaf": naive.FEWEST}
ALL = ("rf1", "rf2", "rf3", "rf4")
N = 60


def made(seed):
    """Return 60 linked nodes, some without a known neighbour, their columns, targets (40 of them known), neighbours."""
    rng = np.random.default_rng(seed)
    ids = [f"n{i:02d}" for i in range(N)]
    X = rng.normal(size=(N, 3)).astype(np.float32)
    a, b = rng.integers(0, N, (2, 140))
    pairs = {(min(i, j), max(i, j)) for i, j in zip(a.tolist(), b.tolist()) if i != j}
    y = 50.0 + 10.0 * X[:, 0] + 10.0 * rng.normal(size=N).cumsum()
    known = rng.permutation(N)[:40]
    table = pl.DataFrame(X, schema=["a", "b", "c"]).insert_column(0, pl.Series("id", ids))
    edges = pl.DataFrame([(ids[i], ids[j]) for i, j in sorted(pairs)], schema=["source", "target"], orient="row")
    data = hc.HetData({"table": table}, {"links": edges}, pl.DataFrame({"id": ids, "y": y}))
    near = {i: sorted({j for pair in pairs if i in pair for j in pair if j != i}) for i in range(N)}
    shown = np.full(N, np.nan)
    shown[known] = y[known]
    assert list(data.ids) == ids
    return data, shown, X, dict(enumerate(y)), near, set(known.tolist())


def generators(model):
    """Return what draws the rounds and the orders of a fit, and the orders of its prediction."""
    rounds, sweeps, _ = (np.random.default_rng(seed) for seed in np.random.SeedSequence(model.random_state).spawn(3))
    return rounds, sweeps, np.random.default_rng(model.model_.how.seed)


def orders_of(rng):
    return lambda unknown: rng.permutation(np.array(unknown)).tolist()


def hidden_sets_of(rng, rounds, count=3):
    def drawn(rows):
        for _ in range(count):
            fifths = rng.permutation(len(rows)) % 5
            yield from ([rows[i] for i in np.flatnonzero(fifths == k)] for k in range(5 if rounds == "cover" else 1))

    return drawn


@pytest.mark.parametrize("seed", [0, 1])
def test_gb_is_algorithm_1(seed):
    data, shown, X, y, _, known = made(seed)
    F = naive.algorithm_1(X, y, known, M=10)
    ours = hc.GBRegressor(**LETTER).fit(data, shown).predict(data)
    np.testing.assert_allclose(ours, [F(row) for row in X], rtol=1e-10)


@pytest.mark.parametrize("seed", [0, 1])
def test_rgb_is_algorithm_1_with_rf1_and_predicts_by_algorithm_2(seed):
    data, shown, X, y, near, known = made(seed)
    unknown = sorted(set(range(N)) - known)
    F = naive.algorithm_1(X, y, known, 10, lambda i: naive.median([y[j] for j in near[i] if j in known]))
    model = hc.RGBRegressor(**LETTER).fit(data, shown)
    theirs = naive.algorithm_2(X, y, near, known=known, unknown=unknown, F=F, orders=orders_of(generators(model)[2]))
    np.testing.assert_allclose(model.predict(data)[unknown], [theirs[i] for i in unknown], rtol=1e-10)


CASES = [
    (0, {}),
    (9, {}),
    (1, {}),
    (2, {"features": ("rf1",)}),
    (3, {"features": ("rf4",)}),
    (4, {"features": ("rf1", "rf2", "rf3")}),
    (5, {"rounds": "cover"}),
    (6, {"features": ("rf2", "rf3", "rf4"), "first_rf2": "target"}),
    (7, {"estimate": "sum"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("seed, params", CASES)
def test_mgb_is_algorithms_3_and_4(seed, params):
    data, shown, X, y, near, known = made(seed)
    unknown = sorted(set(range(N)) - known)
    model = hc.MGBRegressor(**LETTER, **params).fit(data, shown)
    rounds, sweeps, asked = generators(model)
    choices = {name: params[name] for name in ("first_rf2", "estimate") if name in params}
    used = params.get("features", ALL)
    hidden_sets = hidden_sets_of(rounds, params.get("rounds"))
    h = naive.algorithm_3(
        X, y, near, known=known, M=10, hidden_sets=hidden_sets, orders=orders_of(sweeps), used=used, **choices
    )
    given = X, y, near, known, unknown, h, orders_of(asked), used
    theirs = naive.algorithm_4(*given, **choices)
    assert len(h) == 11 == model.n_stages_
    np.testing.assert_allclose(model.predict(data)[unknown], [theirs[i] for i in unknown], rtol=1e-10)


def test_a_choice_that_the_text_leaves_changes_the_prediction():
    data, shown, *_ = made(0)
    letter = hc.MGBRegressor(**LETTER).fit(data, shown).predict(data)
    for params in ({"estimate": "sum"}, {"rounds": "cover"}, {"no_neighbor": "nan"}, {"sweeps": 1}):
        assert (hc.MGBRegressor(**LETTER, **params).fit(data, shown).predict(data) != letter).any()
