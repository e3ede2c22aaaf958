"""TrAdaBoost against the adapt package, and against the same algorithm in plain NumPy and scikit-learn, in turn.

5,000 source rows and 100 target rows of 300 columns, 50 rounds of stumps; the error is that on 2,000 other target rows.
adapt 0.4.5 imports TensorFlow and scikeras as it starts; where they are missing the plain version is the only peer.

    python -m benchmarks.speed.transfer
"""

from __future__ import annotations

import importlib.metadata
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import hetcore as hc
from hetcore.kernels.warm import warm_up
from hetcore.numerics import standard_error

N_SOURCE, N_TARGET, N_TEST, N_COLUMNS, ROUNDS, REPEATS = 5_000, 100, 2_000, 300, 50, 5


def problem(seed: int) -> tuple[NDArray, ...]:
    """Return source X, y, target X, y, test X, y: the source is shifted, a tenth of its labels wrong."""
    rng = np.random.default_rng(seed)
    rule = np.zeros(N_COLUMNS)
    rule[:10] = rng.normal(size=10)
    # Related and not the same: on equal rules nothing has to be transferred.
    other = rule + np.where(rule != 0, 0.3 * rng.normal(size=N_COLUMNS), 0.0)

    def rows(n: int, w: NDArray, shift: float, flip: float) -> tuple[NDArray, NDArray]:
        X = rng.normal(size=(n, N_COLUMNS))
        y = (X @ w > 0) ^ (rng.random(n) < flip)
        return X + shift, y.astype(np.int64)

    return *rows(N_SOURCE, other, 0.2, 0.1), *rows(N_TARGET, rule, 0.0, 0.0), *rows(N_TEST, rule, 0.0, 0.0)


class Plain:
    """TrAdaBoost as one writes it: Dai et al. (2007), NumPy arrays, a scikit-learn stump a round."""

    def fit(self, Xs: NDArray, ys: NDArray, Xt: NDArray, yt: NDArray) -> Plain:
        """Fit to source and target."""
        X, y, n = np.vstack([Xs, Xt]), np.append(ys, yt), len(ys)
        w = np.full(len(y), 1.0 / len(y))
        beta = 1.0 / (1.0 + np.sqrt(2.0 * np.log(n) / ROUNDS))
        self.output = []
        for _ in range(ROUNDS):
            w /= w.sum()
            stump = DecisionTreeClassifier(max_depth=1).fit(X, y, sample_weight=w)
            wrong = stump.predict(X) != y
            error = w[n:][wrong[n:]].sum() / w[n:].sum()
            # Bounded, for an error of one half or more would turn the weights round.
            error = min(max(error, 1e-10), 0.49)
            w[:n] *= beta ** wrong[:n]
            w[n:] *= ((1.0 - error) / error) ** wrong[n:]
            self.output.append((0.5 * np.log((1.0 - error) / error), stump))
        return self

    def predict(self, X: NDArray) -> NDArray:
        """Predict by the later half."""
        late = self.output[ROUNDS // 2 :]
        return (sum(alpha * (2.0 * stump.predict(X) - 1.0) for alpha, stump in late) > 0).astype(np.int64)


def _ours(Xs: NDArray, ys: NDArray, Xt: NDArray, yt: NDArray) -> Any:
    domain = np.repeat([1, -1], [len(ys), len(yt)])
    return hc.TrAdaBoostClassifier(n_iterations=ROUNDS).fit(np.vstack([Xs, Xt]), np.append(ys, yt), domain)


def _plain(*data: NDArray) -> Any:
    return Plain().fit(*data)


def _adapt() -> tuple[Callable[..., Any] | None, str]:
    """Return a fit of adapt's TrAdaBoost, or None and what is missing."""
    # TensorFlow's messages would stand in the table.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        from adapt.instance_based import TrAdaBoost
    except ImportError as error:
        return None, f"adapt is not compared: {error}"

    def fit(Xs: NDArray, ys: NDArray, Xt: NDArray, yt: NDArray) -> Any:
        stump = DecisionTreeClassifier(max_depth=1)
        return TrAdaBoost(stump, n_estimators=ROUNDS, Xt=Xt, yt=yt, random_state=0, verbose=0).fit(Xs, ys)

    return fit, f"adapt {importlib.metadata.version('adapt')}"


def main() -> None:
    warnings.simplefilter("ignore")
    warm_up()
    adapt, output = _adapt()
    print(output)
    fits = {"hetcore": _ours, "plain NumPy + scikit-learn": _plain} | ({"adapt": adapt} if adapt else {})
    seconds, errors = ({name: [] for name in fits} for _ in range(2))
    # Compiles, on a problem that is not measured.
    _ours(*problem(99)[:4])
    for seed in range(REPEATS):
        data = problem(seed)
        for name, fit in fits.items():
            start = time.perf_counter()
            model = fit(*data[:4])
            seconds[name].append(time.perf_counter() - start)
            errors[name].append(float(np.mean(np.ravel(model.predict(data[4])) != data[5])))
    ours = np.median(seconds["hetcore"])
    print("| | seconds (median) | times ours | error, % |\n|---|---|---|---|")
    for name in fits:
        t, e = np.median(seconds[name]), 100 * np.array(errors[name])
        print(f"| {name} | {t:.3f} | {t / ours:.1f} | {e.mean():.1f} ± {standard_error(e):.1f} |")


if __name__ == "__main__":
    main()
