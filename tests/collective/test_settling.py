"""What the default promises: inference settles, and links that say nothing cost nothing."""

import numpy as np
import pytest

import datasets
import hetcore as hc
from datasets.planted.autocorrelated import make_autocorrelated_graph
from hetcore.data.splits import label_split
from hetcore.errors import DataError
from tests.collective.test_collective import rmse, small

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_at_most_one_prediction_in_a_hundred_still_moves(share):
    try:
        data = datasets.load("movie_revenue")
    except DataError:
        pytest.skip("the data are not here")
    ends = []
    hc.MGBRegressor().fit(data, label_split(data, share, seed=0), callbacks=[lambda event: ends.append(event.detail)])
    for end in ends:
        assert end["moving"][-1] <= 0.01 * end["visits"][0]
        assert len(end["sweeps"]) == len(end["moving"]) <= 10


def test_it_says_how_many_still_move_where_it_does_not_settle():
    data = make_autocorrelated_graph(300, residual_correlation=0.8, seed=0)[0]
    ends = []
    model = small(hc.MGBRegressor, sweeps=1, tol=0.0)
    model.fit(data, label_split(data, 0.4, seed=0), callbacks=[lambda event: ends.append(event.detail)])
    assert ends[-1]["moving"][-1] > 0.5 * ends[-1]["visits"][0]


def test_links_that_say_nothing_cost_nothing_beyond_two_standard_errors():
    worse = []
    for seed in range(6):
        data = make_autocorrelated_graph(300, residual_correlation=0.0, seed=seed)[0]
        y = label_split(data, 0.5, seed=seed)
        hidden = np.isnan(y)
        errors = [
            rmse(cls(first_trees=100).fit(data, y).predict(data)[hidden], data.y[hidden])
            for cls in (hc.MGBRegressor, hc.GBRegressor)
        ]
        worse.append(errors[0] / errors[1] - 1)
    assert np.mean(worse) <= 2 * np.std(worse, ddof=1) / np.sqrt(len(worse))
