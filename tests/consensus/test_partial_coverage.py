"""Views of tables that not all instances are in: weighed, and given up, by the rows that they cover."""

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.consensus.view_weights import losses_on_own_rows, rivals_of


def test_a_loss_on_own_rows_counts_for_what_is_usual_there():
    usual = np.array([1.0] * 40 + [4.0] * 40)
    covers = np.zeros((4, 80), bool)
    covers[0], covers[1, :40], covers[2, 40:] = True, True, True
    losses = np.where(covers, usual * np.array([1.0, 0.5, 0.5, 1.0])[:, None], 9.0)
    found = losses_on_own_rows(losses, covers, usual)
    # halves of what is usual on easy and on hard rows are the same; ten rows more count twice what is usual
    np.testing.assert_allclose(found, [2.5, 2.5 * 0.8, 2.5 * 0.8, np.inf])


def test_of_all_rows_it_is_the_mean_and_nothing_is_divided_by_nothing():
    losses = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 6.0]])
    np.testing.assert_allclose(losses_on_own_rows(losses, np.ones((2, 3), bool), np.ones(3)), [0.0, 3.0])
    some = np.array([[True, True, True], [True, False, False]])
    assert not np.isnan(losses_on_own_rows(np.zeros((2, 3)), some, np.zeros(3))).any()


def test_rivals_cover_all_rows_of_a_view():
    covers = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]], bool)
    found = {i: (set(rivals), set(rows)) for alike, rivals, rows in rivals_of(covers) for i in alike}
    assert found[0] == found[3] == ({0, 3}, {0, 1, 2, 3})
    assert found[1] == ({0, 1, 3}, {0, 1})
    assert found[2] == ({0, 2, 3}, {1, 2})
    assert found[4] == ({0, 1, 2, 3, 4}, set())


def _half_covered(task, n=400):
    """Table a tells the label of the half of the instances that it has, b something of all."""
    rng = np.random.default_rng(0)
    x, ids = rng.normal(size=(n, 3)), np.arange(n).astype(str)
    number = x[:, 0] + 0.5 * x[:, 1]
    y = number if task == "regression" else np.where(number > 0, "up", "down").astype(object)
    a = pl.DataFrame({"id": ids[::2], "x": number[::2], "noise": x[::2, 2]})
    b = pl.DataFrame({"id": ids, "x": x[:, 0] + rng.normal(size=n), "noise": rng.normal(size=n)})
    shown = np.arange(0, n // 2)
    data = hc.HetData({"a": a, "b": b}, target=(ids[shown], y[shown]), task=task)
    place = np.array([data.position[i] for i in ids])
    return data, y, place


@pytest.mark.parametrize("kind", [hc.GBCRegressor, hc.GBCClassifier])
def test_a_table_that_half_of_the_instances_have_is_trusted_there(kind):
    data, y, place = _half_covered("regression" if kind is hc.GBCRegressor else "classification")
    found = kind(random_state=0).fit(data)
    predicted, with_a, without = found.predict(data)[place], np.arange(200, 400, 2), np.arange(201, 400, 2)
    if kind is hc.GBCRegressor:
        errors = [np.sqrt(np.mean((predicted[rows] - y[rows]) ** 2)) for rows in (with_a, without)]
        assert errors[0] < 0.2
        assert errors[1] < 1.0
    else:
        assert np.mean(predicted[with_a] != y[with_a]) <= 0.05
    # b is all that the others have
    assert found.source_weights_["b"] > 0.05


def test_a_table_without_a_labelled_instance_has_no_weight():
    data, *_ = _half_covered("regression")
    lone = hc.Source(np.arange(300, 400).astype(str), pl.DataFrame({"x": np.arange(100.0)}))
    found = hc.GBCRegressor(random_state=0).fit(data.with_source("lone", lone))
    assert found.source_weights_["lone"] < 1e-6
