"""Protocol of the factorizations: train on a share of the entries, RMSE on the others.

Key of a cell: data ("movielens_100k", "made_1m" of `experiments.noise.made_ratings`, "intel_lab", or the latter with
noise on ten sensors), method, fraction (of the entries observed), split. "As printed" chooses on a tenth of the
training entries, as the paper does, after which pass a fit ends and all the parameters that its arm has (`PRINTED`),
among as many settings for one arm of a pair as for the other: lambda and rank of MF and PTF together; of HMF and HTF
lambda, rank, Delta, K and the deviations' prior (of HTF their rate too) one after the other (`Chosen`). The other
methods' were chosen on two or three other splits of the same data. Surprise and tensorly must be installed for their
cells (requirements-bench.txt), and PyTorch for AutoRec's (requirements-deep.txt).
"""

from __future__ import annotations

import itertools
import time
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import norm

import hetcore as hc
from experiments.noise.autorec import AutoRec
from experiments.noise.llorma import LLORMA
from experiments.noise.made_ratings import made_ratings
from experiments.noise.rbm import RBM
from experiments.noise.robust_factors import RBMF, RCF
from hetcore import metrics
from hetcore.data.plain import codes
from hetcore.factorization.choice import FIXED
from hetcore.factorization.tensor_baselines import InverseDistance, NearestSensors, Tucker

__all__ = ["METHODS", "MODELS", "run_cell"]

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


class Chosen:
    """The setting that errs least on the validation part of its fit, which also says after which epoch.

    One parameter after the other in the order given, the others as they stand, from the first value of each; with
    `together`, every combination of the values.
    """

    def __init__(self, make: Any, together: bool = False, **values: list[Any]) -> None:
        self.make, self.together, self.values = make, together, values

    def fit(self, X: Any, y: Any) -> Any:
        """Return the best of the candidates, fitted; its `setting` are the parameters."""
        stages = [[*self.values]] if self.together else [[name] for name in self.values]
        best = self._fitted({name: each[0] for name, each in self.values.items()}, X, y)
        for stage in stages:
            tried = {name: best.setting[name] for name in stage}
            for each in itertools.product(*(self.values[name] for name in stage)):
                if (given := dict(zip(stage, each))) != tried:
                    best = min(best, self._fitted(best.setting | given, X, y), key=_left_out)
        return best

    def _fitted(self, setting: dict[str, Any], X: Any, y: Any) -> Any:
        model = _timed(self.make(as_printed=True, random_state=0, **setting), X, y)
        model.setting = setting
        return model


def _left_out(model: Any) -> float:
    return float(model.history_["metric:left_out"].min())


def _timed(model: Any, X: Any, y: Any) -> Any:
    """Return a fitted model with the seconds of the processor, `cpu_seconds_`, unless it has them of what it chose."""
    started = time.process_time()
    fitted = model.fit(X, y)
    if not hasattr(fitted, "cpu_seconds_"):
        fitted.cpu_seconds_ = time.process_time() - started
    return fitted


@cache
def _load_kernels() -> None:
    """Fit a few entries, so that the seconds of the first cell are those of its fit."""
    X = np.argwhere(np.ones((4, 4)))
    for make, printed in itertools.product((hc.HMF, hc.MatrixFactorization), (False, True)):
        make(n_iterations=1, as_printed=printed, validation_fraction=0.0).fit(X, X.sum(axis=1))


def _places() -> dict[str, Any]:
    from datasets.intel_lab import places  # beside hetcore, not below it: only experiments need it

    return {f"{sensor + 1:02d}": place for sensor, place in enumerate(places())}


LEFT_OUT = {"deviation_folds": 5, "deviation_start": 20, "deviation_epochs": 15}
TUNED = {"n_factors": 100, "n_epochs": 50, "lr_all": 0.01, "reg_all": 0.09}
RATINGS = {"learning_rate": [0.03], "n_iterations": [60]}
SENSORS = {"learning_rate": [0.1], "n_iterations": [300]}
PRINTED = {
    "HMF": RATINGS | {
        "regularisation": [12.0, 8.0, 18.0], "n_factors": [20, 10, 50], "base_variance": [0.3, 0.6, 1.2],
        "n_deviation_factors": [10, 30], "deviation_regularisation": [1.0, 3.0], "deviation_learning_rate": [0.01],
    },
    "biased MF": RATINGS | {"regularisation": [8.0, 12.0, 18.0], "n_factors": [10, 20, 50]},
    "HTF": SENSORS | {
        "regularisation": [1.0, 0.3, 3.0], "n_factors": [20, 5, 10, 40], "base_variance": [0.3, 0.1, 0.6],
        "n_deviation_factors": [5, 1, 20], "deviation_regularisation": [1.0, 10.0],
        "deviation_learning_rate": [0.05, 0.01],
    },
    "PTF": SENSORS | {"regularisation": [0.3, 1.0, 3.0], "n_factors": [5, 10, 20, 40]},
}  # fmt: skip
MATRIX = {
    "HMF": lambda fraction: hc.HMF(n_iterations=33, **WHOLE),
    "HMF, errors left out": lambda fraction: hc.HMF(n_iterations=33, **LEFT_OUT, **WHOLE),
    "biased MF": lambda fraction: hc.MatrixFactorization(n_iterations=22, **WHOLE),
    "HMF, stopped by a validation part": lambda fraction: hc.HMF(**FIXED, random_state=0),
    "biased MF, stopped by a validation part": lambda fraction: hc.MatrixFactorization(**FIXED, random_state=0),
    "HMF, cross-validated": lambda fraction: hc.HMF(random_state=0),
    "biased MF, cross-validated": lambda fraction: hc.MatrixFactorization(random_state=0),
    "HMF, as printed": lambda fraction: Chosen(hc.HMF, **PRINTED["HMF"]),
    "biased MF, as printed": lambda fraction: Chosen(hc.MatrixFactorization, together=True, **PRINTED["biased MF"]),
    "Surprise SVD": lambda fraction: Surprise(),
    "Surprise SVD, tuned": lambda fraction: Surprise(**TUNED),
    "AutoRec": lambda fraction: AutoRec(),
    "RBM": lambda fraction: RBM(),
    "RCF": lambda fraction: RCF(),
    "RBMF": lambda fraction: RBMF(),
    "LLORMA": lambda fraction: LLORMA(),
}
TENSOR = {
    "HTF": lambda fraction: hc.HTF(**WHOLE),
    "PTF": lambda fraction: hc.TensorFactorization(**WHOLE),
    "HTF, as printed": lambda fraction: Chosen(hc.HTF, **PRINTED["HTF"]),
    "PTF, as printed": lambda fraction: Chosen(hc.TensorFactorization, together=True, **PRINTED["PTF"]),
    "Tucker": lambda fraction: Tucker((1, 2, 2) if fraction < 0.12 else (3, 3, 2)),
    "spatial kNN": lambda fraction: NearestSensors(_places(), 3),
    "IDW": lambda fraction: InverseDistance(_places(), 3.0),
}
MODELS = {"movielens_100k": MATRIX, "made_1m": MATRIX, "intel_lab": TENSOR, "intel_lab_noisy": TENSOR}
METHODS = (*MATRIX, *TENSOR)


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and values of a data set."""
    import datasets

    if name == "made_1m":
        return made_ratings()
    modes = 2 if name == "movielens_100k" else 3
    X, y, _ = codes(datasets.load(name.removesuffix("_noisy")), COLUMNS[modes])
    return X, y


def run_cell(data: str, method: str, fraction: float, split: int) -> dict[str, Any]:
    """Train on a share of the entries and score the others, without the noise where some was added.

    Returns
    -------
    dict
        "error" (the RMSE), "seconds"; of the fit that was chosen, wall-clock "fit_seconds", "cpu_seconds" of the
        processor and both a pass ("epoch_seconds", "cpu_epoch_seconds"); "nll" and "coverage90" where the model has a
        deviation.
    """
    _load_kernels()
    X, y = load(data)
    rng = np.random.default_rng((20, split))
    order = rng.permutation(len(y))
    train, test = np.split(order, [int(round(fraction * len(y)))])
    observed = y + _noise(X, rng) if data.endswith("_noisy") else y
    started = time.perf_counter()
    model = _timed(MODELS[data][method](fraction), X[train], observed[train])
    fitted = model.predict(X[test])
    # Against the clean values, also where noise was added to what was trained on.
    cell = {"error": metrics.rmse(y[test], fitted), "seconds": time.perf_counter() - started}
    if hasattr(model, "setting"):
        cell["setting"] = model.setting
    if hasattr(model, "history_"):  # of the fit that was chosen, where several were tried
        seconds = float(model.history_["seconds"][-1])
        cell |= {"fit_seconds": seconds, "epoch_seconds": seconds / model.n_iterations_}
        cell |= {"cpu_seconds": model.cpu_seconds_, "cpu_epoch_seconds": model.cpu_seconds_ / model.n_iterations_}
    if hasattr(model, "deviation_by"):
        std = model.predict(X[test], return_std=True)[1]
        within = np.abs(y[test] - fitted) < norm.ppf(0.95) * std
        cell |= {"nll": metrics.gaussian_nll(y[test], fitted, std), "coverage90": float(within.mean())}
    return cell


def _noise(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return noise of deviation 1 on the readings of ten sensors, as large as what a day does."""
    sensors = np.unique(X[:, 0])
    noisy = np.isin(X[:, 0], rng.choice(sensors, NOISY_SENSORS, replace=False))
    return noisy * rng.standard_normal(len(X))
