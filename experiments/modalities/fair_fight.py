"""Two modalities, every arm with the same rows, end and threshold: macro F1, accuracy, average precision.

Key of a cell: data, method, run (seed). A run trains on two thirds of the rows. Of these, 15%, each class in its share,
are kept out: every arm ends by their log loss, and has one weight a class, which multiplies its probabilities, chosen
on them by macro F1. "accuracy" and "average_precision" are of the probabilities as they are.

The data sets are dealt as wholes: defaults were chosen on `CHOOSING`; `REPORTING` judges them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.metrics import average_precision_score

import hetcore as hc
from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.data.splits import label_split
from hetcore.metrics import error_rate, macro_f1_of_codes
from hetcore.multimodal.decisions import class_weights
from hetcore.multimodal.stopping import drawn_by_class, log_loss

__all__ = ["CHOOSING", "METHODS", "REPORTING", "run_cell"]

CHOOSING = ("CI-A", "CI-B", "MI", "RW", "digits_table_and_pixels")
REPORTING = ("CT", "mv_msrc", "mv_bbcsport", "mv_webkb", "berka_loans")
TRAINED, VALIDATED = 2 / 3, 0.15
EPOCHS, PATIENCE = 100, 10
TREES, TREE_RATE, TREE_PATIENCE = 500, 0.1, 30


class Run(NamedTuple):
    """What an arm is given.

    Attributes
    ----------
    data : HetData
    codes : (n,) int
        Class codes.
    fitted, validated : (m,), (v,) int
        Rows.
    seed : int
    """

    data: HetData
    codes: NDArray[np.int64]
    fitted: NDArray[np.int64]
    validated: NDArray[np.int64]
    seed: int

    def labels(self, rows: NDArray) -> NDArray[np.object_]:
        """Return labels (n,), None but at some rows."""
        y = np.full(self.data.n, None, object)
        y[rows] = self.data.y[rows]
        return y


def load(name: str, seed: int) -> Run:
    """Return the data of a run."""
    import datasets  # beside hetcore, not below it: only experiments need it
    from datasets import structured_unstructured, suite

    if name in structured_unstructured.NAMES:
        data, training = structured_unstructured.load(name, seed)
    else:
        data = datasets.load(name) if name in datasets.names() else suite.load(name)
        training = np.array([label is not None for label in label_split(data, TRAINED, seed)])
    # Without graphs, which no rival takes.
    data = HetData(data.sources, target=(data.ids, data.y))
    codes, rows = np.searchsorted(data.classes, data.y.astype(str)), np.flatnonzero(training & data.labelled)
    validated = drawn_by_class(codes, rows, VALIDATED, np.random.default_rng(seed))
    return Run(data, codes, np.setdiff1d(rows, validated), validated, seed)


def ours(run: Run, source: str | None = None) -> tuple[NDArray, NDArray]:
    """Return the probabilities (n, K) of 2WL's default, or of one source alone, and its own validation rows."""
    # thresholds are chosen on rows that nothing was fitted to, of few labels too
    how = {"random_state": run.seed, "validation_fraction": VALIDATED, "refit": False}
    model = hc.TwoWeakLearnerClassifier(**how) if source is None else hc.OneWeakLearnerClassifier(source, **how)
    model.fit(run.data, run.labels(np.union1d(run.fitted, run.validated)))
    # Its own, where it kept some: thresholds are chosen on rows that it did not learn from.
    rows = model.validation_rows_
    return model.predict_proba(run.data), rows if rows.size else run.validated


def network(run: Run, features: str) -> tuple[NDArray, NDArray]:
    """Return the probabilities of the two-branch network ("raw") or of BFV+DNN ("boosted") after its best epoch."""
    model, best = hc.BoostedFeatureNetworkClassifier(features=features, n_iterations=EPOCHS, **_branches(run)), [np.inf]
    # Scores of the best epoch are copied, since the network goes on and would overwrite them.
    scores, epochs, view = [None], [0], model._view

    def watched(state: Any) -> dict[str, Any]:
        loss = log_loss(state.scores[run.validated], run.codes[run.validated])
        if loss < best[0]:
            best[0], scores[0], epochs[0] = loss, state.scores.copy(), state.epochs
        return view(state)

    model._view = watched
    model.fit(run.data, run.labels(run.fitted), callbacks=[lambda event: event.index + 1 >= epochs[0] + PATIENCE])
    return softmax(scores[0], axis=1), run.validated


def _branches(run: Run) -> dict[str, Any]:
    tables = [name for name, source in run.data.sources.items() if source.array is None]
    # vectors as the paper has them: what these cells measure is its method
    how = {"after_fusion": (32,), "n_stages": 200, "n_cross_fits": 0}
    return {"table": tables[0], "network": "torch", "random_state": run.seed} | how


def catboost(run: Run, sources: list[str]) -> tuple[NDArray, NDArray]:
    """Return the probabilities of CatBoost on the joined columns of some sources, missing ones missing."""
    from catboost import CatBoostClassifier

    columns = []
    for name in sources:
        source = run.data.sources[name]
        # NaN where a row is not in the table: CatBoost has a way of its own for missing values.
        wide = np.full((run.data.n, SourceEncoder().fit(source).transform(source).shape[1]), np.nan, np.float32)
        wide[run.data.rows(name)] = SourceEncoder().fit(source).transform(source)
        columns.append(wide)
    X = np.hstack(columns)
    model = CatBoostClassifier(
        iterations=TREES, learning_rate=TREE_RATE, early_stopping_rounds=TREE_PATIENCE, loss_function="MultiClass",
        random_seed=run.seed, thread_count=1, verbose=False, allow_writing_files=False,
    )  # fmt: skip
    model.fit(X[run.fitted], run.codes[run.fitted], eval_set=(X[run.validated], run.codes[run.validated]))
    found = np.zeros((run.data.n, len(run.data.classes)))
    # A class that no fitted row has is no column of CatBoost's.
    found[:, model.classes_.ravel().astype(int)] = model.predict_proba(X)
    return found, run.validated


def late_fusion(run: Run) -> tuple[NDArray, NDArray]:
    """Return the mean, over the sources that a row has, of one model's probabilities for each source.

    A source's model is CatBoost or a network, whichever has the lower log loss on the validation rows.
    """
    total, count = np.zeros((run.data.n, len(run.data.classes))), np.zeros((run.data.n, 1))
    for name in run.data.sources:
        part = run._replace(data=run.data.select(sources=[name]))
        here = [catboost(part, [name])[0], _network_alone(part)]
        # By the rows that choose for every arm, and not by those that judge.
        best = min(here, key=lambda p: log_loss(np.log(p[run.validated] + 1e-12), run.codes[run.validated]))
        has = run.data.rows(name)
        total[has] += best[has]
        count[has] += 1
    return (total + 1e-9) / (total + 1e-9).sum(axis=1, keepdims=True), run.validated


def _network_alone(run: Run) -> NDArray[np.float64]:
    if next(iter(run.data.sources.values())).array is None:
        return network(run, "raw")[0]
    table = pl.DataFrame({"nothing": np.zeros(run.data.n)})  # the class asks for a table: a constant tells it nothing
    sources = {**run.data.sources, "no table": hc.Source(run.data.ids, table, {"nothing": "real"})}
    return network(run._replace(data=HetData(sources, target=(run.data.ids, run.data.y))), "raw")[0]


def _first(run: Run, which: int) -> str:
    return run.data.source_names[which]


ARMS: dict[str, Callable[[Run], tuple[NDArray, NDArray]]] = {
    "2WL": ours,
    "first source alone": lambda run: ours(run, _first(run, 0)),
    "second source alone": lambda run: ours(run, _first(run, 1)),
    "two-branch network": lambda run: network(run, "raw"),
    "BFV+DNN": lambda run: network(run, "boosted"),
    "CatBoost, joined": lambda run: catboost(run, run.data.source_names),
    "late fusion": late_fusion,
}
METHODS = tuple(ARMS)


def run_cell(data: str, method: str, run: int) -> dict[str, Any]:
    """Fit an arm and score it on the third of the rows that nothing saw.

    Returns
    -------
    dict
        "F1" (macro, with the class weights), "accuracy", "average_precision" (mean over the classes, each against the
        rest) and "log_loss" of the probabilities as they are, and "seconds".
    """
    given, started = load(data, run), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks and peers warn of what their users would set
        p, validated = ARMS[method](given)
    seconds = time.perf_counter() - started
    known = np.flatnonzero(given.data.labelled)
    # What neither fitted nor chose anything.
    hidden = np.setdiff1d(known, np.union1d(given.fitted, given.validated))
    weights, truth, held = class_weights(p[validated], given.codes[validated]), given.codes[hidden], p[hidden]
    # Of classes that the hidden rows have: of others there is no precision.
    precisions = [average_precision_score(truth == k, held[:, k]) for k in np.unique(truth)]
    return {
        "F1": macro_f1_of_codes(truth, (held * weights).argmax(axis=1)),
        "accuracy": 1.0 - error_rate(truth, held.argmax(axis=1)),
        "average_precision": float(np.mean(precisions)),
        "log_loss": log_loss(np.log(held + 1e-12), truth),
        "seconds": round(seconds, 2),
    }
