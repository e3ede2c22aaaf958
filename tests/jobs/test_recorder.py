"""What sources add to predictions is recorded round by round, and ends at what the model says."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from datasets.planted.generator import make_heterogeneous
from hetcore.player import Player
from studio.jobs import recorder, worker_tasks
from studio.jobs.job import TrainingTask
from studio.jobs.worker_tasks import perform

ROUNDS = 4
METHODS = {"regression": "GBCRegressor", "classification": "GBCClassifier"}


def planted(task):
    given = {"n_sources": 2, "n_noise_sources": 1, "n_features": 4, "n_graphs": 1, "labelled": 0.5, "coverage": 0.7}
    return make_heterogeneous(n=80, task=task, seed=0, **given)[0]


def result_of(data, task, **params):
    params = {"n_iterations": ROUNDS, "random_state": 0, "lambda1": 0.5} | params
    asked = TrainingTask(METHODS[task], params, data, operations=[{"op": "labels", "fraction": 0.6, "seed": 0}])
    return perform(asked, Player(lambda message: None))


@pytest.mark.parametrize("task", METHODS)
def test_the_last_round_is_what_the_model_says(task):
    data = planted(task)
    result = result_of(data, task)
    found, columns = result.additions, result.contributions.columns[1:]
    assert found.columns == ["id", "round", *columns] and found["id"].n_unique() == data.n
    assert found.group_by("id").len()["len"].unique().to_list() == [result.history.height]
    last = found.filter(pl.col("round") == found["round"].max())
    both = last.join(result.contributions, on="id", suffix=" said")
    for column in columns:
        assert_allclose(both[column], both[f"{column} said"], rtol=1e-4, atol=1e-5)
    staged = result.staged.join(result.predictions, on="id")
    assert staged.height == data.n and result.staged.width == 1 + result.history.height
    predicted = staged["prediction"].to_numpy()
    ends = staged[str(result.history.height)].to_numpy()
    if task == "regression":
        assert_allclose(ends, predicted, rtol=1e-4, atol=1e-5)
    else:
        assert (np.array(sorted(set(data.y) - {None}), object)[ends] == predicted).mean() == 1
    first = found.filter(pl.col("round") == 1)
    assert np.abs(first[columns[0]].to_numpy() - last[columns[0]].to_numpy()).max() > 1e-3


def test_within_a_limit_those_with_a_hidden_label_come_first(monkeypatch):
    data = planted("regression")
    monkeypatch.setattr(recorder, "MOST_VALUES", 4 * ROUNDS * 10)  # three sources and a graph, ten instances
    found = result_of(data, "regression").additions
    frame = result_of(data, "regression").predictions
    hidden = frame.filter(pl.col("held_out").is_not_null())["id"]
    assert found["id"].n_unique() == 10 and set(found["id"]) <= set(hidden)


@pytest.mark.parametrize("task", METHODS)
def test_as_printed_the_last_round_is_what_the_model_says_too(task):
    data = planted(task)
    result = result_of(data, task, as_printed=True)
    found, columns = result.additions, result.contributions.columns[1:]
    assert found.columns == ["id", "round", *columns] and found.height == data.n * ROUNDS
    both = found.filter(pl.col("round") == ROUNDS).join(result.contributions, on="id", suffix=" said")
    for column in columns:
        assert_allclose(both[column], both[f"{column} said"], rtol=1e-4, atol=1e-5)
    first = found.filter(pl.col("round") == 1)
    assert np.abs(first[columns[0]].to_numpy() - both[columns[0]].to_numpy()).max() > 1e-3


@pytest.mark.parametrize("task", METHODS)
def test_the_file_and_the_numbers_are_those_of_one_thread_whatever_cores_there_are(task, monkeypatch):
    data, results = planted(task), []
    for threads in (1, 3):
        monkeypatch.setattr(worker_tasks, "THREADS", threads)
        results.append(result_of(data, task))
    one, three = results
    assert one.model == three.model and one.predictions.equals(three.predictions)
    assert one.contributions.equals(three.contributions)
