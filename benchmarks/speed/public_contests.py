"""Every public estimator beside the peers that one would use in its place: who is compared, on what, at which sizes.

A rival is fitted to a problem and predicts it; peers that learn as they predict (those that see all rows at once) do
both in `predict`. Defaults of every library, one thread. A peer that is not installed is left out, in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import hetcore as hc
from benchmarks.speed import public_data as made
from benchmarks.speed.public_data import Problem
from experiments.calibration import PREDICTORS
from experiments.factorization import Surprise
from experiments.modalities.fair_fight import ARMS, Run
from experiments.suite.libraries import LibraryLearner
from hetcore import metrics
from hetcore.baselines import PEERS
from hetcore.baselines.pooled import TRANSFER_PEERS
from hetcore.multimodal.stopping import drawn_by_class

__all__ = ["CONTESTS", "Contest", "Rival", "missing"]

RATES = 1_000, 10_000, 100_000
NEEDS = {"adapt": "adapt", "NGBoost": "ngboost", "Surprise": "surprise", "cornac": "cornac", "two-branch": "torch"}
"""What a peer's name starts with, and the package that it needs beyond those of requirements-dev.txt."""


class Rival(NamedTuple):
    """How a method is fitted to a problem, and how it then predicts."""

    fit: Callable[[Problem], Any]
    predict: Callable[[Any, Problem], Any]


class Contest(NamedTuple):
    """Estimators and peers on the same problems.

    Attributes
    ----------
    make : callable
        A problem of a size.
    sizes : tuple of int
        Three sizes, the smallest first.
    error : {"error rate", "RMSE", "NLL"}
    ours, peers : mapping of str to Rival
    """

    make: Callable[[int], Problem]
    sizes: tuple[int, int, int]
    error: str
    ours: Mapping[str, Rival]
    peers: Mapping[str, Rival]

    def error_of(self, problem: Problem, predicted: Any) -> float:
        """Return the error of predictions."""
        if self.error == "NLL":
            return metrics.gaussian_nll(problem.truth, *predicted)
        counted = predicted if problem.counts is None else predicted[problem.counts]
        return (metrics.error_rate if self.error == "error rate" else metrics.rmse)(problem.truth, counted)


def missing(name: str) -> str:
    """Return a sentence on the package that a peer lacks here; empty where it has all."""
    package = next((needed for start, needed in NEEDS.items() if name.startswith(start)), None)
    there = package is None or find_spec(package) is not None
    return "" if there else f"{name} is not compared: {package} is not installed (requirements-bench.txt)."


def _model(make: Callable[[Problem], Any]) -> Rival:
    """Return a rival with scikit-learn's `fit` and `predict`."""
    return Rival(lambda problem: make(problem).fit(*problem.given), lambda model, problem: model.predict(problem.new))


def _ours(*names: str, **params: Any) -> dict[str, Rival]:
    return {name: _model(lambda _, name=name: getattr(hc, name)(**params)) for name in names}


def _by_task(table: Mapping[str, Any], *names: str) -> dict[str, Rival]:
    """Return some peers of a table of makers, which take a task and a seed."""
    return {name: _model(lambda problem, name=name: table[name](problem.task, 0)) for name in names}


def _whole(predicted: Callable[[Problem], Any]) -> Rival:
    return Rival(lambda problem: None, lambda _, problem: predicted(problem))


# Peers ----------------------------------------------------------------------------------------------------------------


def _on_table(make: Callable[[], Any]) -> Rival:
    """Return a learner of arrays, fitted to the labelled rows of the only table."""

    def fit(problem: Problem) -> Any:
        known = ~problem.counts
        return make().fit(problem.X[known], problem.given[1][known].astype(np.float64))

    return Rival(fit, lambda model, problem: model.predict(problem.X))


def _lightgbm(kind: str) -> Any:
    import lightgbm

    return getattr(lightgbm, f"LGBM{kind}")(n_jobs=1, verbose=-1, random_state=0)


def _catboost(kind: str) -> Any:
    import catboost

    return getattr(catboost, f"CatBoost{kind}")(thread_count=1, verbose=False, random_seed=0, allow_writing_files=False)


def _histogram(kind: str) -> Any:
    from sklearn import ensemble

    return getattr(ensemble, f"HistGradientBoosting{kind}")(random_state=0)


def _deviation(name: str) -> Rival:
    return _whole(lambda problem: PREDICTORS[name](*problem.given, problem.new)[:2])


def _linear_deviation(problem: Problem) -> tuple[NDArray, NDArray]:
    from ngboost import NGBRegressor
    from sklearn.linear_model import Ridge

    found = NGBRegressor(Base=Ridge(1.0), verbose=False, random_state=0).fit(*problem.given).pred_dist(problem.new)
    return found.loc, found.scale


def _bayesian(problem: Problem) -> tuple[NDArray, NDArray]:
    from sklearn.linear_model import BayesianRidge

    return BayesianRidge().fit(*problem.given).predict(problem.new, return_std=True)


def _least_squares(problem: Problem) -> NDArray:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(*problem.given).predict(problem.new)


def _support_vectors(problem: Problem) -> NDArray:
    from sklearn.svm import SVC

    X, y, domain = problem.given
    return SVC().fit(X[domain < 0], y[domain < 0]).predict(problem.new)


def _random_forest(problem: Problem) -> NDArray:
    from sklearn.ensemble import RandomForestClassifier

    X, y, _ = problem.given
    return RandomForestClassifier(random_state=0, n_jobs=1).fit(X, y).predict(problem.new)


def _cornac(problem: Problem) -> NDArray:
    from cornac.data import Dataset
    from cornac.models import MF

    X, y = problem.given
    data = Dataset.build(list(zip(X[:, 0].tolist(), X[:, 1].tolist(), y.tolist())))
    model = MF(k=50, max_iter=60, use_bias=True, num_threads=1, seed=0).fit(data)
    # cornac numbers users and items by itself, and -1 stands for one that it has not seen
    new = zip((data.uid_map, data.iid_map), problem.new.T.tolist())
    users, items = (np.array([ids.get(code, -1) for code in codes]) for ids, codes in new)
    bias = np.append(model.u_biases, 0.0)[users] + np.append(model.i_biases, 0.0)[items]
    U, V = (np.vstack([each, np.zeros(each.shape[1])]) for each in (model.u_factors, model.i_factors))
    return np.clip(model.global_mean + bias + (U[users] * V[items]).sum(axis=1), 1.0, 5.0)


def _codes_as_columns(problem: Problem) -> NDArray:
    model, columns = _catboost("Regressor"), list(range(problem.new.shape[1]))
    return model.fit(*problem.given, cat_features=columns).predict(problem.new)


def _arm(name: str) -> Rival:
    """Return an arm of the fair fight, which ends by 15% of the rows as the default of 2WL does."""

    def predicted(problem: Problem) -> NDArray:
        data = problem.new
        rows, codes = np.flatnonzero(~problem.counts), np.searchsorted(data.classes, data.y.astype(str))
        validated = drawn_by_class(codes, rows, 0.15, np.random.default_rng(0))
        found, _ = ARMS[name](Run(data, codes, np.setdiff1d(rows, validated), validated, 0))
        return np.array(data.classes, object)[found.argmax(axis=1)]

    return _whole(predicted)


# Contests -------------------------------------------------------------------------------------------------------------

BOOSTED = "MultiSourceTrAdaBoostClassifier", "TaskTrAdaBoostClassifier", "TrAdaBoostClassifier"
WEIGHTED = "TransferClassifier", "WeightedMultiSourceTrAdaBoostClassifier"
MACHINES = "MultiKTClassifier", "RidgeTransferClassifier", "TargetSVM"
LINKED = _by_task(PEERS, "CatBoost2hop", "HGB2hop")
POOLED = _by_task(TRANSFER_PEERS, "HGB, domain column", "linear, domain column")
BALANCED = "adapt: BalancedWeighting"
ADAPTED = {name: _model(lambda _, name=name: LibraryLearner(name)) for name in ("adapt: TrAdaBoost", BALANCED)}
TABLE_CLASSES = {
    "CatBoost": _model(lambda _: _catboost("Classifier")),
    "HGB": _model(lambda _: _histogram("Classifier")),
    "LightGBM": _model(lambda _: _lightgbm("Classifier")),
}
TABLE_NUMBERS = {
    "CatBoost": _on_table(partial(_catboost, "Regressor")),
    "HGB": _on_table(partial(_histogram, "Regressor")),
    "LightGBM": _on_table(partial(_lightgbm, "Regressor")),
}
DEVIATIONS = {
    name: Rival(
        lambda problem, name=name: getattr(hc, name)().fit(*problem.given),
        lambda model, problem: model.predict(problem.new, return_std=True),
    )
    for name in ("HGBMRegressor", "HeteroscedasticLinearRegression")
}

CONTESTS = {
    "consensus": Contest(made.numbers, (300, 3_000, 30_000), "RMSE", _ours("GBCRegressor"), LINKED),
    "consensus classes": Contest(made.classes, (300, 3_000, 30_000), "error rate", _ours("GBCClassifier"), LINKED),
    "boosting": Contest(made.unlinked, (500, 5_000, 50_000), "RMSE", _ours("GBRegressor"), TABLE_NUMBERS),
    "collective": Contest(made.collective, (500, 5_000, 50_000), "RMSE", _ours("RGBRegressor", "MGBRegressor"), LINKED),
    "collective classes": Contest(
        made.linked_classes, (500, 5_000, 50_000), "error rate", _ours("MGBClassifier"), LINKED
    ),
    "transfer": Contest(made.domains, (300, 1_500, 6_000), "error rate", _ours(*BOOSTED, *WEIGHTED), ADAPTED | POOLED),
    "transfer machines": Contest(
        made.domains, (300, 1_500, 6_000), "error rate", _ours(*MACHINES), {"SVC": _whole(_support_vectors)} | POOLED
    ),
    "transfer forest": Contest(
        made.domains,
        (300, 1_500, 6_000),
        "error rate",
        _ours("TransferForestClassifier"),
        {"random forest": _whole(_random_forest)} | POOLED,
    ),
    "transfer numbers": Contest(
        made.domain_numbers, (300, 1_500, 6_000), "RMSE", _ours("TransferRegressor"), ADAPTED | POOLED
    ),
    "deviation": Contest(
        made.noisy,
        (500, 5_000, 20_000),
        "NLL",
        {"HGBMRegressor": DEVIATIONS["HGBMRegressor"]},
        {name: _deviation(name) for name in ("CatBoost", "NGBoost", "NGBoost, early stopping")},
    ),
    "deviation classes": Contest(
        made.flips, (500, 5_000, 20_000), "error rate", _ours("HGBMClassifier"), TABLE_CLASSES
    ),
    "linear deviation": Contest(
        made.noisy,
        (500, 5_000, 20_000),
        "NLL",
        {"HeteroscedasticLinearRegression": DEVIATIONS["HeteroscedasticLinearRegression"]},
        {"NGBoost, linear": _whole(_linear_deviation), "BayesianRidge": _whole(_bayesian)},
    ),
    "linear": Contest(
        made.noisy, (500, 5_000, 20_000), "RMSE", _ours("HLR"), {"LinearRegression": _whole(_least_squares)}
    ),
    "ratings": Contest(
        made.ratings,
        RATES,
        "RMSE",
        _ours("MatrixFactorization", "HMF", random_state=0),
        {"Surprise SVD": _model(lambda _: Surprise()), "cornac MF": _whole(_cornac)},
    ),
    "tensors": Contest(
        made.sensors,
        (1_000, 10_000, 50_000),
        "RMSE",
        _ours("TensorFactorization", "HTF", random_state=0),
        {"CatBoost, codes": _whole(_codes_as_columns)},
    ),
    "two learners": Contest(
        made.modalities,
        (300, 1_500, 6_000),
        "error rate",
        _ours("OneWeakLearnerClassifier", "TwoWeakLearnerClassifier", "BoostedFeatureNetworkClassifier"),
        {"CatBoost, joined": _arm("CatBoost, joined"), "two-branch network": _arm("two-branch network")},
    ),
}
