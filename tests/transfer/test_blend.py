"""The transfer blend: shares by left-out loss, candidates with trees, regression, domains that lack columns."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import hetcore as hc
from hetcore.transfer.candidates import candidates
from hetcore.transfer.linear_learner import Projection
from hetcore.transfer.shares import by_kind, mixture, shares_by_squares
from tests.transfer.test_transfer import planted


def test_the_shares_are_those_of_least_log_loss():
    rng = np.random.default_rng(0)
    likelihood, weights = rng.uniform(0.05, 1.0, size=(60, 2)), rng.exponential(size=60)
    grid = np.linspace(0.0, 1.0, 2001)
    losses = [-weights @ np.log(likelihood @ [s, 1.0 - s]) for s in grid]
    assert mixture(likelihood, weights)[0] == pytest.approx(grid[int(np.argmin(losses))], abs=0.01)


def test_the_shares_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    values = np.stack([y + rng.normal(size=80), y + rng.normal(size=80)], axis=1)
    grid = np.linspace(0.0, 1.0, 2001)
    losses = [((values @ [s, 1.0 - s] - y) ** 2).sum() for s in grid]
    assert shares_by_squares(values, y, np.ones(80))[0] == pytest.approx(grid[int(np.argmin(losses))], abs=0.01)


@pytest.mark.parametrize("seed", range(20))
def test_no_other_shares_have_less_squared_error(seed):
    rng = np.random.default_rng(seed)
    C = int(rng.integers(1, 12))
    y, sizes = rng.normal(size=30), 10.0 ** rng.integers(-6, 6, C)
    values, weights = y[:, None] + sizes * rng.normal(size=(30, C)), rng.exponential(size=30)
    shares = shares_by_squares(values, y, weights)
    assert (shares >= 0).all() and shares.sum() == pytest.approx(1.0)
    others = np.vstack([np.eye(C), rng.dirichlet(np.ones(C), 200)])
    loss = weights @ (values @ shares - y) ** 2
    assert loss <= (weights @ (values @ others.T - y[:, None]) ** 2).min() * (1 + 1e-6)


def test_one_that_misses_nothing_gets_all():
    y = np.arange(5.0)
    assert shares_by_squares(np.stack([y + 1, y, y], 1), y, np.ones(5)).tolist() == [0, 1, 0]


def test_a_line_that_all_domains_share_is_found_as_exactly_as_it_is():
    # .005 of the labels' deviation are noise; .046 were missed while every machine on all rows had a penalty of 10
    rng = np.random.default_rng(0)
    X = rng.normal(size=(320, 5))
    y = X @ [3.0, -2.0, 1.0, 0.5, 0.0]
    domain = np.where(np.arange(320) < 220, 1 + np.arange(320) % 2, -1)
    known, noise = np.arange(320) < 240, 0.005 * y.std() * rng.normal(size=320)
    model = hc.TransferRegressor().fit(X[known], (y + noise)[known], domain[known])
    assert np.sqrt(np.mean((model.predict(X[~known]) - y[~known]) ** 2)) < 0.005 * y.std()


def test_source_rows_choose_among_machines_on_all_and_target_rows_between_the_kinds():
    own = np.arange(400) < 40
    right = np.where(own, 0.9, 0.5)  # a machine on the target alone, which knows nothing of the sources' rows
    line, trees = np.where(own, 0.3, 0.6), np.where(own, 0.3, 0.9)
    shares = by_kind(
        np.stack([right, line, trees], 1),
        None,
        own,
        weights=np.ones(400),
        kinds=["target", "all", "all"],
        everyone="all",
    )
    assert shares[0] > 0.9 and shares[2] > 10 * shares[1]
    few = by_kind(
        np.full((3, 2), 0.5), None, np.ones(3, bool), weights=np.ones(3), kinds=["target", "all"], everyone="all"
    )
    np.testing.assert_allclose(few, [1 / 3, 2 / 3], atol=0.01)  # rows that say nothing leave the prior
    y = np.where(own, 1.0, -1.0)
    numbers = by_kind(
        np.stack([np.ones(400), -np.ones(400)], 1),
        y,
        own,
        weights=np.ones(400),
        kinds=["target", "all"],
        everyone="all",
    )
    assert numbers[0] > 0.85


@pytest.mark.parametrize("numbers", [False, True])
def test_shares_within_a_kind_that_were_found_before_are_the_same(numbers):
    rng, kinds, known = np.random.default_rng(0), ["target", "all", "all", "target", "all"], {}
    own, values, y = np.arange(60) < 20, rng.random((60, 5)), rng.normal(size=60) if numbers else None
    for c in range(1, 6):
        given = values[:, :c], y, own, np.ones(60), kinds[:c]
        again = by_kind(*given, everyone="all", known=known)
        np.testing.assert_array_equal(again, by_kind(*given, everyone="all"))
    assert set(known) == {("target", 1), ("target", 2), ("all", 1), ("all", 2), ("all", 3)}


def test_trees_are_taken_where_the_rule_is_no_line():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(660, 3)), np.repeat([1, 2, -1], [300, 300, 60])
    crossed, straight = (X[:, 0] > 0) ^ (X[:, 1] > 0), X[:, 0] + X[:, 1] > 0
    shares = []
    for y in (crossed, straight):
        blend = hc.TransferClassifier().fit(X, y, domain).blend_
        shares.append(sum(share for name, share in blend.items() if name.startswith("trees")))
    assert shares[0] > 0.9 and shares[1] < 0.3


def test_numbers_that_are_a_function_of_a_column_get_trees_of_small_leaves():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(1000, 4)), np.repeat([1, 2, -1], [300, 300, 400])
    y = np.exp(1.5 * X[:, 0]) + 0.5 * domain
    known = ~((domain < 0) & (np.arange(1000) >= 620))  # twenty of the target
    model = hc.TransferRegressor().fit(X[known], y[known], domain[known])
    assert model.blend_["trees, all, domain column, leaves of 2"] > 0.5
    assert model.score(X[~known], y[~known]) > 0.85
    # of classes there is none
    names = [each.name for each in candidates(["a", "b"], 100, False, numbers=False)]
    assert not any("leaves" in name for name in names)


def test_a_hostile_source_costs_little_once_there_are_target_rows():
    X, y, domain, (X_test, y_test) = planted(0, n_target=150, flips=(1.0,), n_source=300)
    own = domain < 0
    alone = hc.TransferClassifier().fit(X[own], y[own]).score(X_test, y_test)
    model = hc.TransferClassifier().fit(X, y, domain)
    assert model.score(X_test, y_test) > alone - 0.03
    assert model.blend_["linear, all"] + model.blend_["trees, all"] < 0.1


def test_few_target_rows_take_all_sources():
    X, y, domain, (X_test, y_test) = planted(0, n_target=4, flips=(0.1, 0.1), n_source=300)
    model = hc.TransferClassifier().fit(X, y, domain)
    assert sum(model.source_weights_.values()) > 0.8 and model.score(X_test, y_test) > 0.8


def test_the_slopes_of_the_target_are_its_own():
    names = [each.name for each in candidates(["a", "b"], 100, False, numbers=False)]
    assert "linear, all, target's own slopes" in names and "linear, with b" in names
    assert all("target only" in each.name for each in candidates([], 100, False, numbers=False))


@pytest.mark.parametrize("rows", [1, 2])
def test_a_target_of_one_or_two_rows_and_a_domain_of_one_class(rows):
    X, y, domain, held_out = planted(0, n_target=rows, flips=(0.1, 0.1), n_source=80)
    y = np.where(domain == 2, 1, y)
    model = hc.TransferClassifier().fit(X, y, domain, eval_set=held_out)
    assert np.isfinite(model.predict_proba(held_out[0])).all()
    assert model.score(*held_out) > 0.6


def test_a_domain_may_lack_a_column():
    X, y, domain, (X_test, y_test) = planted(0, n_target=60, flips=(0.1, 0.1), n_source=200)
    X[domain == 1, 0] = np.nan
    assert hc.TransferClassifier().fit(X, y, domain).score(X_test, y_test) > 0.8


def test_numbers_are_blended_too():
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(640, 4)), np.repeat([1, 2, -1], [300, 300, 40])
    y = 2.0 * X[:, 0] + np.sin(3.0 * X[:, 1]) + np.where(domain == 2, -4.0 * X[:, 0], 0.0) + 100.0
    X_test = rng.normal(size=(300, 4))
    y_test = 2.0 * X_test[:, 0] + np.sin(3.0 * X_test[:, 1]) + 100.0
    events = []
    model = hc.TransferRegressor(domain_names=["kin", "foe"])
    model.fit(X, y, domain, callbacks=[events.append], eval_set=(X_test, y_test))
    miss = np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2))
    assert miss < 0.8 < y_test.std() and model.score(X_test, y_test) > 0.85
    assert events[-1].losses["held_out"] == pytest.approx(miss)
    assert events[-1].losses["left_out"] == model.left_out_error_
    assert sum(model.blend_.values()) == pytest.approx(1.0) and set(model.source_weights_) == {"kin", "foe"}


@pytest.mark.parametrize("kind", [hc.TransferRegressor, hc.TransferClassifier])
def test_a_label_left_out_has_no_part_in_the_shares_of_what_its_row_is_predicted_by(kind):
    X, y, domain, _ = planted(n_source=20, n_target=12)
    model = kind()
    state = model._start(model._problem(X, y if kind is hc.TransferClassifier else y + X[:, 0], domain, None))
    while not state.round():
        pass
    found, target, codes = state.blended_left_out(), state.problem.target, state.problem.codes
    for fold in range(3):
        hidden = state.folds[target] == fold
        kept = codes[target[hidden]].copy()
        codes[target[hidden]] = 1 - kept
        state._within.clear()
        now = state.blended_left_out()
        np.testing.assert_array_equal(now[hidden], found[hidden])
        assert (now[~hidden] != found[~hidden]).any()
        codes[target[hidden]] = kept


def test_labels_by_chance_have_the_left_out_error_of_new_ones():
    left_out, seen = [], []
    for draw in range(5):
        rng = np.random.default_rng(draw)
        X, y, domain = rng.normal(size=(230, 3)), rng.normal(size=230), np.repeat([1, 2, -1], [10, 10, 210])
        model = hc.TransferRegressor().fit(X[:30], y[:30], domain[:30])
        left_out.append(model.left_out_error_ / y[20:30].std())
        seen.append(np.sqrt(np.mean((model.predict(X[30:]) - y[30:]) ** 2)) / y[30:].std())
    # shares by the same rows made .91 of it
    assert np.mean(left_out) > 0.95 * np.mean(seen)


def test_what_is_no_number_is_reported():
    X, y, domain, _ = planted()
    with pytest.raises(hc.DataError, match="TransferClassifier classes"):
        hc.TransferRegressor().fit(X, np.array(["a", "b"])[y % 2], domain)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_blend_is_kept_in_a_file(kind, tmp_path):
    X, y, domain, (X_test, _) = planted(n_source=60, n_target=40)
    model = hc.TransferClassifier() if kind == "classes" else hc.TransferRegressor()
    model.fit(X, y if kind == "classes" else X[:, 0] + y, domain)
    hc.save(model, tmp_path / "m.hetcore")
    loaded = hc.load(tmp_path / "m.hetcore")
    np.testing.assert_array_equal(loaded.predict(X_test), model.predict(X_test))
    assert loaded.blend_ == model.blend_


def test_an_event_tells_of_the_blend_so_far():
    X, y, domain, held_out = planted(n_source=60, n_target=40, n_classes=3)
    events = []
    model = hc.TransferClassifier().fit(X, y, domain, callbacks=[events.append], eval_set=held_out)
    assert len(events) == model.n_iterations_ == len(model.blend_)
    for event in events:
        assert sum(event.detail["blend"].values()) == pytest.approx(1.0)
        assert sum(event.source_weights.values()) + event.detail["target_mass"] == pytest.approx(1.0)
        assert set(event.losses) == {"train", "left_out", "held_out"}
    assert events[-1].detail["metric"]["held_out"] == (model.predict(held_out[0]) != held_out[1]).mean()


@pytest.mark.parametrize("kind", [hc.TransferClassifier, hc.TransferRegressor, hc.RidgeTransferClassifier])
@pytest.mark.parametrize("what", ["other units", "shifted", "a bad row"])
def test_a_source_in_other_units_or_with_a_bad_row_leaves_the_target_its_machines(kind, what):
    rng = np.random.default_rng(0)
    slopes, domain = rng.normal(size=6), np.repeat([1, -1], [100, 60])
    X, X_test = rng.normal(size=(160, 6)), rng.normal(size=(500, 6))
    given = {"other units": X * 1000.0, "shifted": X + 1000.0, "a bad row": np.where(np.eye(160)[:, :1], -999999.0, X)}
    y, truth = X @ slopes, X_test @ slopes
    if kind is not hc.TransferRegressor:
        y, truth = y > 0, truth > 0
    model = kind().fit(np.where(domain[:, None] > 0, given[what], X), y, domain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hc.errors.UnfamiliarValuesWarning)
        missed = np.abs(model.predict(X_test).astype(float) - truth)
    # no better than a guess before: .45 and more of the classes
    assert missed.mean() < 0.15


def test_few_target_rows_that_lie_close_by_chance_are_in_no_other_units():
    X, domain = np.random.default_rng(0).normal(size=(100, 3)), np.repeat([0, 1], [3, 97])
    X[:3] = [[0.5, 0.1, 1.0], [0.52, 0.1, -1.0], [0.54, 0.1, 0.0]]
    found, held = Projection.with_held(X, 10, domain)
    np.testing.assert_array_equal(found.scale, Projection.of(X).scale)
    np.testing.assert_array_equal(held, X)
