"""Domains over which eta is judged: a target with a number of labels, and sources of unequal worth.

| set | target | sources |
|---|---|---|
| planted_domains | made up, ten columns, two classes | rules of correlation .95, .7, 0, -1 with the target's |
| office_caltech | one class of amazon or of caltech against as many others | the other three collections, two hostile |
| amazon_reviews | kitchen: for or against | books, dvd and electronics, two hostile |

A hostile source has its two labels exchanged; which two of the three are, the seed draws. Without a hostile source the
sources of these two sets agree with each other, and all of them pooled is best with few labels. Their columns (800
words of pictures, 400 of texts) are cut to `MOST_COLUMNS` leading principal components over all rows. A source gives
at most `MOST_SOURCE` rows; the target's labelled rows are dealt class by class, all others are tested.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.transfer import Run
from hetcore.data.plain import domains
from hetcore.transfer.linear_learner import Projection

__all__ = ["SETS", "drawn"]

MOST_SOURCE, MOST_TEST, MOST_COLUMNS = 300, 600, 30
TARGETS = ("amazon", "caltech")
FIRST = 1000  # seeds: the prior of eta and these sets were chosen by looking at others


Rows = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def planted(seed: int) -> Rows:
    """Return X, y and sample_domain of made-up domains."""
    import datasets  # beside hetcore, not below it: only experiments need it

    return coded(datasets.make_domains(n_target=100 + MOST_TEST, seed=seed)[0], "target")


@cache
def pictures(target: str) -> Any:
    """Return the four collections of pictures as plain rows, one of them the target."""
    import datasets

    found = domains(datasets.load("office_caltech"), target)
    return found._replace(X=cut(found.X))


def cut(X: NDArray) -> NDArray[np.float64]:
    """Return the leading principal components of standardised columns (n, d), (n, `MOST_COLUMNS`)."""
    return Projection.of(X, MOST_COLUMNS)(X)[:, :-1]


def one_class(seed: int) -> Rows:
    """Return one class of the pictures against as many rows of the others, in each domain."""
    d = pictures(TARGETS[seed % len(TARGETS)])
    classes, rng = sorted(set(d.y)), np.random.default_rng([7, seed])
    truth = (d.y == classes[seed // len(TARGETS) % len(classes)]).astype(np.int64)
    kept = []
    for k in np.unique(d.sample_domain):
        positive, negative = (np.flatnonzero((d.sample_domain == k) & (truth == label)) for label in (1, 0))
        kept += [positive, rng.permutation(negative)[: len(positive)]]
    rows = np.concatenate(kept)
    return d.X[rows], truth[rows], d.sample_domain[rows]


@cache
def reviews() -> Rows:
    """Return the reviews as plain rows, kitchen the target."""
    from datasets.suite import domains as suite

    given = suite.load_amazon()
    names = ["books", "dvd", "electronics", "kitchen"]
    X = np.vstack([given.tables[name].to_numpy() for name in names]).astype(np.float64)
    y = np.concatenate([(given.labels[name] == given.labels[name].max()).astype(np.int64) for name in names])
    sizes = [len(given.tables[name]) for name in names]
    domain = np.repeat([1, 2, 3, -1], sizes)
    return cut(X), y, domain


def coded(data: Any, target: str) -> Rows:
    """Return data as plain rows, classes as codes in the order of their names."""
    d = domains(data, target)
    return d.X, np.unique(d.y.astype(str), return_inverse=True)[1], d.sample_domain


SETS = {
    "planted_domains": planted,
    "office_caltech": one_class,
    "amazon_reviews": lambda seed: reviews(),
}


def drawn(data: str, labels: int, seed: int) -> Run:
    """Return a draw of a set: training rows with that many labels of the target, and test rows.

    Parameters
    ----------
    data : str
        A key of `SETS`.
    labels : int
        Of the target; fewer are those of more, the first of them.
    seed : int
    """
    X, y, domain = SETS[data](FIRST + seed)
    rng = np.random.default_rng([11, FIRST + seed])
    if data != "planted_domains":
        y = np.where(np.isin(domain, rng.permutation(3)[:2] + 1), 1 - y, y)
    own = in_turn(y, rng.permutation(np.flatnonzero(domain < 0)))
    sources = [rng.permutation(np.flatnonzero(domain == k))[:MOST_SOURCE] for k in np.unique(domain[domain > 0])]
    train, test = np.concatenate([*sources, own[:labels]]), own[labels:][:MOST_TEST]
    return Run(X[train], y[train], domain[train], X[test], y[test])


def in_turn(y: NDArray, rows: NDArray) -> NDArray[np.int64]:
    """Return rows with the two classes in turn, what one class has more of at the end."""
    place = np.empty(len(rows))
    for label in np.unique(y):
        place[y[rows] == label] = np.arange((y[rows] == label).sum())
    return rows[np.argsort(place, kind="stable")]
