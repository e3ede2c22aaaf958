"""The map of λ0 and λ1 as it is seen: where the training above lies on it, and what its colours mean."""

import pytest

from studio.jobs.job import Setting
from studio.runs import lambda_map
from studio.views.consensus import widgets_lambda_map

FOUND = {pair: [0.1 + sum(pair), 0.2 + sum(pair)] for pair in lambda_map.PAIRS}


def test_a_setting_between_the_squares_has_a_diamond_there():
    drawn = lambda_map.figure(FOUND, "error", (0.2, 0.65))
    squares, now = drawn["data"]
    assert not any(squares["marker"]["line"]["width"])
    assert now["marker"]["symbol"] == "diamond" and (*now["y"], *now["x"]) == pytest.approx((1.5, 2.5))
    assert len(lambda_map.figure(FOUND, "error", (0.3, 1.0))["data"]) == 1  # framed
    far = lambda_map.figure(FOUND, "error", (3.0, 0.0))["data"][1]
    assert far["y"] == [3.0]  # at the end of the map, not beyond it


def test_the_colours_have_a_key():
    for metric, form in (("error", ".1%"), ("RMSE", None)):
        marker = lambda_map.figure(FOUND, metric, None)["data"][0]["marker"]
        assert marker["showscale"] and metric in marker["colorbar"]["title"]["text"]
        assert marker["colorbar"].get("tickformat") == form


def test_a_lambda_that_was_chosen_out_of_fold_has_its_place():
    setting = Setting("GBCClassifier", {"lambda0": 0.3, "lambda1": "auto"})
    assert widgets_lambda_map._here(setting, {"lambda1": 1.0}) == (0.3, 1.0)
    assert widgets_lambda_map._here(setting, {}) is None


def test_an_interval_is_promised_of_enough_seeds_alone():
    assert widgets_lambda_map._mean_of(FOUND) == "mean of 2 seeds so far"
    more = {pair: [*values, 0.3] for pair, values in FOUND.items()}
    assert widgets_lambda_map._mean_of(more) == "mean over the seeds ± its 95% interval"
