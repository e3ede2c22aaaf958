"""The ten tables of the heteroscedastic learning paper: known facts of each."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import datasets
from hetcore.data.plain import plain_table

REAL = Path(os.environ.get("HETCORE_DATA", Path(__file__).parents[3] / "shared" / "data"))
REGRESSIONS = {  # rows, columns, least and largest label
    "abalone": (4177, 8, 1.0, 29.0),
    "housing": (506, 13, 5.0, 50.0),
    "cpu_small": (8192, 12, 0.0, 99.0),
    "bodyfat": (252, 14, 0.0, 47.5),
    "pyrim": (74, 27, 0.1, 0.9),
}
CLASSIFICATIONS = {  # rows, columns, counts by class
    "breast_cancer": (277, 9, {"no recurrence": 196, "recurrence": 81}),
    "diabetes": (768, 8, {"healthy": 500, "diabetes": 268}),
    "thyroid": (215, 5, {"normal": 150, "diseased": 65}),
    "german": (1000, 20, {"good": 700, "bad": 300}),
    "heart": (270, 13, {"absent": 150, "present": 120}),
}


@pytest.fixture
def load(monkeypatch):
    def loaded(name):
        if not all((REAL / file.name).is_file() for file in datasets.info(name).files):
            pytest.skip(f"the files of {name} are not in {REAL}; set HETCORE_DATA")
        monkeypatch.setenv("HETCORE_DATA", str(REAL))
        return datasets.load(name)

    return loaded


@pytest.mark.parametrize("name", REGRESSIONS)
def test_numbers(name, load):
    data = load(name)
    n, width, least, largest = REGRESSIONS[name]
    assert (data.n, data.target_kind) == (n, "regression") and data.source_names == ["features"]
    assert (data.y.min(), data.y.max()) == (least, pytest.approx(largest))
    X = plain_table(data).X
    assert not np.isnan(X).any() and X.shape == (n, width + (2 if name == "abalone" else 0))


@pytest.mark.parametrize("name", CLASSIFICATIONS)
def test_classes(name, load):
    data = load(name)
    n, width, counts = CLASSIFICATIONS[name]
    classes, found = np.unique(data.y.astype(str), return_counts=True)
    assert dict(zip(classes.tolist(), found.tolist())) == counts and data.n == n
    missing = np.isnan(plain_table(data).X)
    assert missing.shape == (n, width) and missing.any() == (name == "diabetes")


def test_zeros_that_mean_missing_are_missing(load):
    X, _, names = plain_table(load("diabetes"))
    missing = dict(zip(names, np.isnan(X).sum(axis=0).tolist()))
    assert missing["insulin"] == 374 and missing["skin"] == 227 and missing["glucose"] == 5
    assert missing["pregnancies"] == 0 == missing["age"]
