"""Run the cells of the factorization tables: data set x method x observed share x split.

Each finished cell is one line of docs/results/factorization.jsonl; a cell that stands there is not run again. Epochs
and penalties, those of the peers too, were chosen on two or three other splits of the same data.

    HETCORE_DATA=../shared/data python -m benchmarks.factorization_cells movielens_100k --splits 0 10
    HETCORE_DATA=../shared/data python -m benchmarks.factorization_cells intel_lab intel_lab_noisy --splits 0 100
    python -m benchmarks.results > docs/results.md

Surprise and tensorly are only needed here: `pip install scikit-surprise tensorly`.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from scipy.stats import norm

import datasets
import hetcore as hc
from benchmarks.cells import RESULTS, finished, run_cells
from datasets.intel_lab import places
from hetcore.data.plain import codes
from hetcore.methods.tensor_baselines import InverseDistance, NearestSensors, Tucker

CELLS = RESULTS / "factorization.jsonl"
NAMES = ("data", "method", "fraction", "split")
FRACTIONS = {"movielens_100k": (0.9,), "intel_lab": (0.05, 0.1, 0.15, 0.2), "intel_lab_noisy": (0.05, 0.1, 0.15, 0.2)}
COLUMNS = {2: ("user", "item"), 3: ("sensor", "time", "quantity")}
NOISY_SENSORS = 10
WHOLE = {"validation_fraction": 0.0, "random_state": 0}


class Surprise:
    """Surprise's SVD: biased matrix factorization by stochastic gradient descent, predictions kept within 1 to 5."""

    def __init__(self, **params: Any) -> None:
        self.params = params

    def fit(self, X: Any, y: Any) -> Surprise:
        """Fit to ratings."""
        import pandas as pd
        from surprise import SVD, Dataset, Reader

        table = pd.DataFrame({"user": X[:, 0], "item": X[:, 1], "rating": y})
        data = Dataset.load_from_df(table, Reader(rating_scale=(1, 5))).build_full_trainset()
        self.model = SVD(random_state=0, **self.params).fit(data)
        return self

    def predict(self, X: Any) -> Any:
        """Predict ratings."""
        return np.array([self.model.predict(user, item).est for user, item in X])


def _places() -> dict[str, Any]:
    return {f"{sensor + 1:02d}": place for sensor, place in enumerate(places())}


LEFT_OUT = {"deviation_folds": 5, "deviation_start": 20, "deviation_epochs": 15}
TUNED = {"n_factors": 100, "n_epochs": 50, "lr_all": 0.01, "reg_all": 0.09}
MATRIX = {
    "HMF": lambda fraction: hc.HMF(n_iterations=33, **WHOLE),
    "HMF, errors left out": lambda fraction: hc.HMF(n_iterations=33, **LEFT_OUT, **WHOLE),
    "biased MF": lambda fraction: hc.MatrixFactorization(n_iterations=22, **WHOLE),
    "HMF, stopped by a validation part": lambda fraction: hc.HMF(random_state=0),
    "biased MF, stopped by a validation part": lambda fraction: hc.MatrixFactorization(random_state=0),
    "HMF, as printed": lambda fraction: hc.HMF(as_printed=True, random_state=0),
    "biased MF, as printed": lambda fraction: hc.MatrixFactorization(as_printed=True, random_state=0),
    "Surprise SVD": lambda fraction: Surprise(),
    "Surprise SVD, tuned": lambda fraction: Surprise(**TUNED),
}
TENSOR = {
    "HTF": lambda fraction: hc.HTF(**WHOLE),
    "PTF": lambda fraction: hc.TensorFactorization(**WHOLE),
    "Tucker": lambda fraction: Tucker((1, 2, 2) if fraction < 0.12 else (3, 3, 2)),
    "spatial kNN": lambda fraction: NearestSensors(_places(), 3),
    "IDW": lambda fraction: InverseDistance(_places(), 3.0),
}
METHODS = {"movielens_100k": MATRIX, "intel_lab": TENSOR, "intel_lab_noisy": TENSOR}


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and values of a data set."""
    modes = 2 if name == "movielens_100k" else 3
    X, y, _ = codes(datasets.load(name.removesuffix("_noisy")), COLUMNS[modes])
    return X, y


def run_cell(name: str, X: np.ndarray, y: np.ndarray, method: str, fraction: float, split: int) -> dict[str, Any]:
    """Train on a share of the entries and score the others, without the noise where some was added.

    Parameters
    ----------
    name : str
        Data set.
    X, y : (n, modes), (n,)
    method : str
    fraction : float
        Share of the entries that is observed.
    split : int
        Seed.
    """
    rng = np.random.default_rng((20, split))
    order = rng.permutation(len(y))
    train, test = np.split(order, [int(round(fraction * len(y)))])
    observed = y + _noise(X, rng) if name.endswith("_noisy") else y
    started = time.perf_counter()
    model = METHODS[name][method](fraction).fit(X[train], observed[train])
    fitted = model.predict(X[test])
    cell = {"error": float(np.sqrt(((y[test] - fitted) ** 2).mean())), "seconds": time.perf_counter() - started}
    if hasattr(model, "deviation_by"):
        cell |= _calibration(y[test] - fitted, model.predict(X[test], return_std=True)[1])
    return cell


def _noise(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return noise of deviation 1 on the readings of ten sensors, as large as what a day does."""
    sensors = np.unique(X[:, 0])
    noisy = np.isin(X[:, 0], rng.choice(sensors, NOISY_SENSORS, replace=False))
    return noisy * rng.standard_normal(len(X))


def _calibration(errors: np.ndarray, std: np.ndarray) -> dict[str, float]:
    scores = errors / std
    nll = 0.5 * np.mean(scores**2 + np.log(2.0 * np.pi * std**2))
    return {"nll": float(nll), "coverage90": float(np.mean(np.abs(scores) < norm.ppf(0.95)))}


def done() -> dict[tuple, dict[str, Any]]:
    """Return the finished cells by (data, method, fraction, split)."""
    return finished(CELLS, NAMES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", choices=list(FRACTIONS))
    parser.add_argument("--method", nargs="+")
    parser.add_argument("--splits", type=int, nargs=2, default=(0, 10), metavar=("FIRST", "STOP"))
    args = parser.parse_args()
    loaded = {name: load(name) for name in args.data}
    keys = [
        (name, method, fraction, split)
        for split in range(*args.splits)
        for name in args.data
        for method in args.method or METHODS[name]
        for fraction in FRACTIONS[name]
    ]

    def run(name: str, method: str, fraction: float, split: int) -> dict[str, Any]:
        return run_cell(name, *loaded[name], method, fraction, split)

    for cell in run_cells(CELLS, NAMES, keys, run):
        print(json.dumps(cell), flush=True)


if __name__ == "__main__":
    main()
