"""GBC's protocol: on a share of the labels of a data set, a method is fitted; its error is that on the others.

Key of a cell: data, setting, method, fraction (of the labels known), split (seed).

Settings are the paper's (section 5.2). "uniform": only instances that all tables record, of digits 800 and of films
1,000 drawn anew in each split. "non_overlapping": of these, 30% lose half of their sources, tables and graphs alike.
"as given": all instances.

Three arms. "as printed": Algorithm 1 to the letter. "tempered": with its four helps. Both choose lambda0, lambda1 and N
by cross-validation within the known labels, as the paper does. "GBC": the default. Peers are tuned within the known
labels as well, or have 600 trees.
"""

from __future__ import annotations

import time
import warnings
from functools import cache
from typing import Any

from hetcore import metrics
from hetcore.baselines import PEERS, peers
from hetcore.consensus.gbc import GBCClassifier, GBCRegressor
from hetcore.data import HetData
from hetcore.data.splits import label_split, non_overlapping
from hetcore.errors import ParameterError
from hetcore.tuning import cross_validate

__all__ = ["ARMS", "METHODS", "PRINTED", "TEMPERED", "fitted", "run_cell"]

PRINTED: dict[str, Any] = {"as_printed": True, "max_depth": 3}
TEMPERED: dict[str, Any] = PRINTED | {
    "shrinkage": 0.3,
    "relative_lambda": True,
    "clamp_neighbors": True,
    "left_out_weights": True,
}
ROUNDS = {False: 12, True: 20}  # most rounds of the cross-validation, by whether steps are shrunk
VALUES = (0.0, 0.1)
N_FOLDS = 3
SIZES = {"mfeat": 800, "movie_ratings": 1000}  # instances of a split, drawn anew for each: a cell is to take seconds
ZERO = {"lambda0": (0.0,), "lambda1": (0.0,)}
ONLY_GRAPHS = ({"lambda0": (0.0,), "lambda1": VALUES},)
ONLY_CONSENSUS = ({"lambda0": VALUES, "lambda1": (0.0,)},)
BOTH = (*ONLY_GRAPHS, *({"lambda0": VALUES[1:], "lambda1": (value,)} for value in VALUES))
GRIDS = {"": BOTH, ", λ0 = 0": ONLY_GRAPHS, ", λ1 = 0": ONLY_CONSENSUS, ", λ0 = λ1 = 0": (ZERO,)}


def _arms(name: str, params: dict[str, Any]) -> dict[str, tuple[dict[str, Any], tuple[dict[str, Any], ...]]]:
    """Return an arm, the arm without each term and without both, and the arm with equal weights."""
    found = {f"{name}{what}": (params, grid) for what, grid in GRIDS.items()}
    return found | {f"{name}, equal weights": (params | {"weights": "equal"}, BOTH)}


ARMS = _arms("as printed", PRINTED) | _arms("tempered", TEMPERED)
"""Parameters of GBC by arm, and the grids of its cross-validation."""
GBC: dict[str, dict[str, Any]] = {
    "GBC": {},
    "GBC, equal weights": {"weights": "equal"},
    "GBC, λ0 = λ1 = 0": {"lambda0": 0.0, "lambda1": 0.0},
    "GBC, λ0 = 0": {"lambda0": 0.0},
    "GBC, λ1 = 0": {"lambda1": 0.0},
    "GBC, trees only": {"base_learner": "tree"},
    "GBC, smooth learners only": {"base_learner": "kernel"},
}
"""Parameters of the default by method."""
PEERS_JOINED: dict[str, Any] = {
    "SVM, joined": lambda: peers.JoinedSVM(widen=True),
    "SVM, self-trained": lambda: peers.SelfTrainedSVM(widen=True),
    "GBDT, joined": peers.JoinedGBDT,
    "GBDT, self-trained": peers.SelfTrainedGBDT,
    "GBDT, tables only": lambda: peers.JoinedGBDT(adjacency=False),
    "CatBoost, two hops": lambda: PEERS["CatBoost2hop"]("regression", 0),
}
METHODS = (*GBC, *ARMS, *PEERS_JOINED)


@cache
def _loaded(name: str) -> HetData:
    import datasets  # beside hetcore, not below it: only experiments need it

    return datasets.load(name)


def given(data: str, setting: str, split: int) -> HetData:
    """Return the data of a setting; the sources that instances lose depend on the split."""
    whole = _loaded(data)
    if setting == "as given":
        return whole
    # Those that all tables record, as the paper asks.
    full = whole.drop_instances(~whole.mask.all(axis=0)) if not whole.mask.all() else whole
    if data in SIZES:
        full = full.sample(SIZES[data] / full.n, seed=split)
    if setting == "uniform":
        return full
    if setting == "non_overlapping":
        return non_overlapping(full, seed=split, graphs=True)
    raise ParameterError(f"setting={setting!r} is not known: give 'uniform', 'non_overlapping' or 'as given'.")


def fitted(data: HetData, y: Any, method: str, seed: int = 0) -> tuple[Any, dict[str, Any]]:
    """Fit a method to labels y (n,); return the model, and what was chosen for it.

    Parameters
    ----------
    data : HetData
    y : (n,) array
        NaN or None where the label is hidden.
    method : str
        One of `METHODS`.
    seed : int, default=0
        Of the folds and of the fit.
    """
    kind = GBCClassifier if data.target_kind == "classification" else GBCRegressor
    if method in PEERS_JOINED:
        return PEERS_JOINED[method]().fit(data, y), {}
    if method in GBC:
        return kind(**GBC[method], random_state=seed).fit(data, y), {}
    params, grid = ARMS[method]
    seen = data.with_target(y, task=data.target_kind)
    # Without a graph lambda1 says nothing, and half of the grid would be fitted twice.
    grid = grid if data.graphs else [each | {"lambda1": (0.0,)} for each in grid if 0.0 in each["lambda1"]]
    n_iterations = ROUNDS[params.get("shrinkage", 1.0) < 1.0]
    model = kind(**params, random_state=seed)
    # Within the known labels, as the paper says; the hidden ones are seen by nobody.
    found = cross_validate(model, seen, grid, n_folds=N_FOLDS, n_iterations=n_iterations, random_state=seed)
    return found.best_estimator(seen), found.best_params | {"n_iterations": found.best_n_iterations}


def run_cell(data: str, setting: str, method: str, fraction: float, split: int) -> dict[str, Any]:
    """Fit on a share of the labels.

    Returns
    -------
    dict
        "error" (an error rate, or an RMSE in the labels' unit), "seconds", "chosen" by cross-validation where it was,
        and "weights" by source where there are.
    """
    whole = given(data, setting, split)
    y = label_split(whole, fraction, split)
    hidden = whole.labelled & ~whole.with_target(y, task=whole.target_kind).labelled
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers warn of what their users would set
        model, chosen = fitted(whole, y, method, split)
        predicted = model.predict(whole)[hidden]
    seconds = time.perf_counter() - started
    metric = metrics.error_rate if whole.target_kind == "classification" else metrics.rmse
    cell = {"error": float(metric(whole.y[hidden], predicted)), "seconds": round(seconds, 2)}
    weights = getattr(model, "source_weights_", None)
    cell |= {"weights": {name: round(w, 4) for name, w in weights.items()}} if weights else {}
    return cell | ({"chosen": chosen} if chosen else {})
