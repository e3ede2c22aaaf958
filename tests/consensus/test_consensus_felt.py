"""What must be seen of the default: weights move while it learns, it ends by itself, both lambdas are felt."""

from __future__ import annotations

import numpy as np
import pytest

import datasets
from datasets.planted.generator import make_heterogeneous
from experiments.planted.strengths import run_cell
from hetcore.data.splits import label_split
from tests.consensus.test_consensus import model, planted

CASES = {
    "planted classes": lambda: make_heterogeneous(600, 3, task="classification", labelled=0.4, seed=0)[0],
    "planted parts": lambda: make_heterogeneous(600, 3, together="parts", labelled=0.4, seed=0)[0],
    "digits_views": lambda: datasets.load("digits_views"),
    "movie_ratings": lambda: datasets.load("movie_ratings"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_view_weights_still_move_in_the_second_half_of_the_rounds(name):
    data = CASES[name]()
    y = None if name.startswith("planted") else label_split(data, 0.3, 0)
    history = model(data.target_kind, n_iterations=40).fit(data, y).history_
    weights = history.select([name for name in history.columns if name.startswith("view:")]).to_numpy()
    assert 0.5 * np.abs(weights[-1] - weights[len(weights) // 2]).sum() > 0.01  # total variation


def test_a_fit_ends_when_its_consensus_no_longer_improves():
    data, _ = planted("regression")
    fit = model("regression", n_iterations=200).fit(data)
    assert 1 < fit.n_iterations_ < 200
    losses = fit.history_["loss:left_out"].to_numpy()
    assert losses[-1] < 1.1 * losses.min()


@pytest.mark.slow
@pytest.mark.parametrize("name,inside,far", [("lambda0", "1", "300"), ("lambda1", "0.3", "30")])
def test_each_lambda_has_an_interior_best_beyond_two_standard_errors_of_none(name, inside, far):
    def errors(value, seeds):
        return np.array([run_cell(name, value, seed)["error"] for seed in range(seeds)])

    best, none = (errors(value, 12) for value in (inside, "0"))
    gain = none - best
    assert gain.mean() > 2.0 * gain.std(ddof=1) / np.sqrt(gain.size)
    assert errors(far, 6).mean() > 1.02 * best[:6].mean()
