r"""The candidates of the transfer blend: linear machines and boosted trees, on the target, on all domains, on some.

| name | rows | columns |
|---|---|---|
| linear or trees, target only, C | the target's | all |
| linear, all, C | all | all |
| linear or trees, all, domain column | all | all and which domain a row is of |
| linear, all, target's own slopes | all | all, and once more for the target's rows alone (Daume 2007) |
| trees, all | all | all |
| trees, all, domain column, leaves of 2 (numbers) | all | all and which domain a row is of |
| linear, with k, C | the target's and source k's | all |

Linear machines are logistic regression (regression: ridge) on standardised columns, missing cells at the mean, cut to
their `MOST_AXES` leading principal components where they are more. Trees are boosted with second-order steps of the log
loss (the squared loss), 31 leaves of 20 rows or more, learning rate 0.1, missing cells to the side that gains. Leaves
of 20 rows are steps too wide for a number that a column tells all but exactly.

Daume, H. (2007). Frustratingly easy domain adaptation. ACL.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from hetcore.binning import BinMapper
from hetcore.forest import Forest
from hetcore.numerics import softmax, to_float32
from hetcore.parameters import Whole
from hetcore.schema import Stored, part, value
from hetcore.transfer.linear_learner import Projection
from hetcore.trees import TreeParams, grow

__all__ = ["Candidate", "Design", "LinearMachine", "Table", "TreeMachine", "candidates", "fitted"]

MOST_AXES = 400
N_ROUNDS, RATE = 100, 0.1
ALL, TARGET = "all", "target only"
ABSENT = -30.0  # the score of a class without a row
WIDE = 100  # columns beyond which linear machines cost less
MANY = 400  # columns beyond which a tree looks at two fifths of them


class Candidate(NamedTuple):
    """A machine to blend.

    Attributes
    ----------
    name : str
    family : {"linear", "trees"}
    rows : str
        "target only", "all", or a source, whose rows join the target's.
    domain : {"", "column", "slopes"}
        What it is told of the domain.
    cost : float
        C of a linear machine.
    leaf : int
        Fewest rows of a tree's leaf, or a tenth of the rows where that is less.
    """

    name: str
    family: str
    rows: str
    domain: str = ""
    cost: float = 1.0
    leaf: int = 20


def candidates(names: list[str], n_target: int, wide: bool, *, numbers: bool) -> list[Candidate]:
    """Return the candidates for some sources; a wide table gets smaller costs, numbers weaker penalties too."""
    # wide tables need a stronger penalty: each column brings a weight
    unit = 0.01 if wide else 1.0
    found = [Candidate(f"linear, {TARGET}", "linear", TARGET, cost=0.3 * unit)]
    weak = numbers and not wide
    # so few rows of classes bear neither trees nor a weak penalty
    if n_target >= 30 or weak:
        found.append(Candidate(f"linear, {TARGET}, 10 C", "linear", TARGET, cost=3.0 * unit))
    if weak:
        found.append(Candidate(f"linear, {TARGET}, 1,000 C", "linear", TARGET, cost=300.0))
    if n_target >= 30:
        found.append(Candidate(f"trees, {TARGET}", "trees", TARGET))
    if not names:
        return found
    found += [
        Candidate("linear, all", "linear", ALL, cost=unit),
        Candidate("linear, all, 0.1 C", "linear", ALL, cost=0.1 * unit),
        Candidate("linear, all, domain column", "linear", ALL, "column", unit),
        Candidate("linear, all, target's own slopes", "linear", ALL, "slopes", 0.1 * unit),
        Candidate("trees, all", "trees", ALL),
        Candidate("trees, all, domain column", "trees", ALL, "column"),
    ]
    if numbers:
        found.append(Candidate("trees, all, domain column, leaves of 2", "trees", ALL, "column", leaf=2))
    # a penalty loses what is all but exact; a wide table bears none so weak
    if not wide:
        found += [
            Candidate("linear, all, 100 C", "linear", ALL, cost=100.0),
            Candidate("linear, all, domain column, 100 C", "linear", ALL, "column", 100.0),
        ]
    # each source by itself only where they are few: time grows with candidates
    some = names if 1 < len(names) <= 4 else []
    if weak:
        found += [Candidate(f"linear, with {name}, 1,000 C", "linear", name, cost=300.0) for name in some]
    return found + [Candidate(f"linear, with {name}", "linear", name, cost=0.3 * unit) for name in some]


@dataclass
class Design(Stored):
    """A table as candidates take it, made once for a fit.

    Attributes
    ----------
    projection : Projection
    mapper : BinMapper
        Over the columns and, last, the domain's number.
    n_domains : int
        Sources and the target.
    """

    projection: Projection = part(Projection, "d m", at="")
    mapper: BinMapper = part(BinMapper, "d=D", at="bins")
    n_domains: int = value(Whole(1))

    def _fault(self, sizes: dict[str, int]) -> str:
        return "" if sizes["D"] == sizes["d"] + 1 else "The bins of the model file are not those of its columns"

    @classmethod
    def of(cls, X: NDArray, domain: NDArray, n_domains: int) -> tuple[Design, Table]:
        """Return the design of a table X (n, d) with its domains (n,), 0 for the target, and the table in it."""
        projection, X = Projection.with_held(X, MOST_AXES, domain)
        # the domain is one more column of the bins, which only some trees may split by
        numbered = np.column_stack([X, domain])
        design = cls(projection, BinMapper().fit(to_float32(numbered)), n_domains)
        return design, design.table(X, domain)

    def table(self, X: NDArray, domain: NDArray) -> Table:
        """Return rows X (n, d) with their domains (n,) as candidates take them."""
        binned = self.mapper.transform(to_float32(np.column_stack([X, domain])))
        return Table(self.projection(X)[:, :-1], binned, domain, self.n_domains)


@dataclass
class Table:
    """Rows as candidates take them: columns (n, m) of linear machines, bins (d + 1, n) of trees, domains (n,)."""

    Z: NDArray[np.float64]
    binned: NDArray[np.uint8]
    domain: NDArray[np.int64]
    n_domains: int

    def features(self, what: str, rows: NDArray) -> NDArray[np.float64]:
        """Return the columns of a linear machine that is told `what` of the domain."""
        Z, domain = self.Z[rows], self.domain[rows]
        if not what:
            return Z
        marks = (domain[:, None] == np.arange(self.n_domains)).astype(np.float64)
        return np.column_stack([Z, marks] if what == "column" else [Z, marks[:, :1], Z * marks[:, :1]])

    def bins(self, rows: NDArray) -> NDArray[np.uint8]:
        """Return the bins of some rows."""
        return np.ascontiguousarray(self.binned[:, rows])


@dataclass
class LinearMachine:
    """Scores are features . weights + intercept: (m, K) and (K,)."""

    what: str
    weights: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def scores(self, table: Table, rows: NDArray) -> NDArray[np.float64]:
        """Return the scores (m, K) of some rows."""
        return table.features(self.what, rows) @ self.weights + self.intercept


@dataclass
class TreeMachine:
    """Scores are a forest's sum and a constant (K,)."""

    forest: Forest
    intercept: NDArray[np.float64]

    def scores(self, table: Table, rows: NDArray) -> NDArray[np.float64]:
        """Return the scores (m, K) of some rows."""
        return self.forest.predict(table.binned, rows) + self.intercept


def fitted(
    candidate: Candidate, table: Table, rows: NDArray, y: NDArray, n_classes: int, n_bins: NDArray
) -> LinearMachine | TreeMachine:
    """Fit a candidate to some rows, y (m,) being codes of `n_classes` classes, or numbers for 0 classes."""
    if candidate.family == "trees":
        return _trees(table.bins(rows), y, n_classes, n_bins, candidate)
    Z = table.features(candidate.domain, rows)
    if not n_classes:
        return _ridge(Z, y, candidate)
    present = np.unique(y.astype(np.int64))
    # one class among the rows: there is nothing to separate
    if len(present) == 1:
        return LinearMachine(candidate.domain, np.zeros((Z.shape[1], n_classes)), _only(present[0], n_classes, len(y)))
    with warnings.catch_warnings():
        # a machine that is not quite done is a candidate like others, judged by left-out rows
        warnings.simplefilter("ignore", ConvergenceWarning)
        # many classes of few rows each are taken for numbers
        warnings.filterwarnings("ignore", "The number of unique classes")
        model = LogisticRegression(C=candidate.cost, max_iter=100, tol=1e-3).fit(Z, y.astype(np.int64))
    weights, intercept = np.zeros((Z.shape[1], n_classes)), np.full(n_classes, ABSENT)
    # of two classes scikit-learn has one column: half to each side
    signed = np.stack([-0.5, 0.5])[:, None] if len(present) == 2 else None
    weights[:, present] = (model.coef_ if signed is None else signed * model.coef_).T
    intercept[present] = model.intercept_ if signed is None else 0.5 * np.array([-1, 1]) * model.intercept_[0]
    return LinearMachine(candidate.domain, weights, intercept)


def _only(code: int, n_classes: int, n: int) -> NDArray[np.float64]:
    """Return the scores of n rows of a single class: (n + 1) / (n + K) for it, by Laplace's rule."""
    return np.where(np.arange(n_classes) == code, np.log(n + 1.0), 0.0)


def _ridge(Z: NDArray, y: NDArray, candidate: Candidate) -> LinearMachine:
    centre, mean = Z.mean(axis=0), y.mean()
    shifted = Z - centre
    penalty = np.eye(Z.shape[1]) / (0.1 * candidate.cost)
    weights = np.linalg.solve(shifted.T @ shifted + penalty, shifted.T @ (y - mean))
    return LinearMachine(candidate.domain, weights[:, None], np.array([mean - centre @ weights]))


def _trees(binned: NDArray, y: NDArray, n_classes: int, n_bins: NDArray, candidate: Candidate) -> TreeMachine:
    """Boost trees on bins (d + 1, n), the last row of which is the domain, which some candidates see."""
    n, rng = len(y), np.random.default_rng(0)
    params = TreeParams(
        max_depth=-1,
        max_leaf_nodes=31,
        # a tenth of few rows, so that a tree can split at all
        min_samples_leaf=max(min(candidate.leaf, n // 10), 1),
        min_child_weight=1e-3,
        l2=1.0 if n_classes else 0.0,
        min_gain=0.0,
    )
    truth = np.eye(n_classes)[y.astype(np.int64)] if n_classes else y[:, None]
    start = np.log((truth.sum(axis=0) + 0.5) / n) if n_classes else truth.mean(axis=0)
    scores, forest = np.tile(start, (n, 1)), Forest(len(start))
    rate = RATE * (n_classes - 1) / n_classes if n_classes else RATE  # softmax has one score too many
    for _ in range(N_ROUNDS):
        shares = softmax(scores) if n_classes else scores
        # a sure row has hardly a curvature, and a leaf of such rows no bound
        hessians = np.maximum(shares * (1.0 - shares), 1e-6).astype(np.float32) if n_classes else None
        columns = _columns(len(binned) - 1, bool(candidate.domain), rng)
        tree = grow(
            binned,
            (shares - truth).astype(np.float32),
            hessians,
            rows=None,
            columns=columns,
            params=params,
            n_bins=n_bins,
        )
        tree.add_to(scores, binned, rate)
        forest.append(tree, rate)
    return TreeMachine(forest, start)


def _columns(d: int, with_domain: bool, rng: np.random.Generator) -> NDArray[np.int32]:
    """Return the columns that a tree looks at: all, or two fifths of many, and the domain's with `with_domain`."""
    chosen = np.arange(d) if d <= MANY else np.sort(rng.permutation(d)[: 2 * d // 5])
    return np.append(chosen, d if with_domain else []).astype(np.int32)
