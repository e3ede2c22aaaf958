"""Theorem 4.1 of GBC measured: two sources, of which the second gets noisier, and the bound of the error at weights.

With errors e1, e2 of the sources alone and weights w, 1 - w the error is bounded by sqrt(2 (w^2 e1 + (1 - w)^2 e2)):
sqrt((e1 + e2) / 2) for equal weights, at its lowest, for weights like 1 / e, sqrt(2 e1 e2 / (e1 + e2)).

Key of a cell: data ("planted": two classes, two views of one signal; "digits_views": Fourier coefficients and pixel
means), method, noise (standard deviations added to the second source), split. Half of the labels are known.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from hetcore import metrics
from hetcore.consensus.gbc import GBCClassifier
from hetcore.data import HetData
from hetcore.data.splits import label_split

__all__ = ["METHODS", "run_cell"]

PRINTED: dict[str, Any] = {"as_printed": True, "lambda0": 0.03, "lambda1": 0.0, "n_iterations": 30}
MAKERS: dict[str, dict[str, Any]] = {
    "equal weights": PRINTED | {"weights": "equal"},
    "learned weights": PRINTED,
    "GBC": {},
}
METHODS = (*MAKERS, "best weights")
LABELLED = 0.5


@cache
def _loaded(name: str, seed: int) -> HetData:
    import datasets  # beside hetcore, not below it: only experiments need it

    if name == "planted":
        views = {"n_noise_sources": 0, "informativeness": 0.5, "coverage": 1.0, "n_graphs": 0}
        return datasets.make_heterogeneous(800, 2, task="classification", n_classes=2, seed=seed, **views)[0]
    return datasets.load(name).select(sources=["fou", "pix"], graphs=[])


def run_cell(data: str, method: str, noise: float, split: int) -> dict[str, Any]:
    """Fit on half of the labels.

    Returns
    -------
    dict
        On the others: "error", "first" and "second", the errors of the sources alone, "weight" of the first. Where
        sources are averaged, the "bound" at that weight, and "room_under_the_bound", what the error stays below it.
        "best weights" are those of the theorem.
    """
    best = method == "best weights"
    error, e1, e2, weight = _fitted(data, "learned weights" if best else method, noise, split)
    weight = e2 / (e1 + e2) if best and e1 + e2 > 0 else weight
    bound = float(np.sqrt(2.0 * (weight**2 * e1 + (1.0 - weight) ** 2 * e2)))
    found = {"first": e1, "second": e2, "weight": weight} | ({} if best else {"error": error})
    if method == "GBC":  # adds what its sources say: the bound is of averages
        return found
    return found | {"bound": bound} | ({} if best else {"room_under_the_bound": bound - error})


@lru_cache(maxsize=256)
def _fitted(data: str, method: str, noise: float, split: int) -> tuple[float, float, float, float]:
    """Return the errors of the consensus, of the first and of the second source, and the weight of the first."""
    given = _loaded(data, split if data == "planted" else 0)
    first, second = given.source_names
    given = given.with_noise(second, noise, seed=split) if noise else given
    y, events = label_split(given, LABELLED, split), []
    model = GBCClassifier(**MAKERS[method]).fit(given, y, eval_y=given.y, callbacks=[events.append])
    hidden = ~given.with_target(y, task="classification").labelled
    alone = events[-1].detail["per_source"]
    error = float(metrics.error_rate(given.y[hidden], model.predict(given)[hidden]))
    return error, alone[first], alone[second], model.source_weights_[first]
