r"""MGB: gradient boosting with collective inference, beside the two models it is measured by.

Some instances of a graph have a label, and linked instances are alike. GB predicts from an instance's own features. RGB
adds what the neighbours' labels are (Rf1), and predicts the unlabelled ones together, each from what is predicted for
its neighbours (ICA). MGB boosts: each stage adds trees fitted to the residuals of the stages before, and sees the
neighbours' residuals too (Rf2, Rf3), so that what is still correlated along the edges is what the next stage explains.

| symbol | here |
|---|---|
| m, M | stage; `n_iterations` stages after the first, F_0 |
| F_m(i) | raw prediction of stage m; `predict` is F_M |
| r_m(j) | residual y_j - F_{m-1}(j) |
| Rf1 | what the neighbours' targets are (predicted where unlabelled) |
| Rf2, Rf3 | the neighbours' residuals of stage m, and of stage m - 1 |
| Rf4 | the instance's own F_{m-1} |
| t | `n_rounds` rounds in which labels are hidden and inferred |

`as_printed=True` runs Algorithms 1 to 4 to the letter (`hetcore.collective.algorithms`): one unshrunk tree with
median leaves a stage, medians over the neighbours, zero where there is no known one, three rounds that each hide a
random fifth of the labels.

Departures of the default (`hetcore.collective.crossfit`)
--------------------------------------------------------------
- A stage is several small shrunken trees; F_0 is a boosted model of own features (of RGB: of Rf1 too). Leaves are
  means: the RMSE asks for them.
- Labels are hidden in K folds, and every label is predicted by trees and neighbours that never saw it, stage by stage.
  Residuals are then what they will be at new instances, and the left-out loss is honest: `select_stages` uses it.
- Neighbours are summed up by means that are shrunk to zero where they are few, with their weight beside them; an
  instance whose label is inferred counts `voice`, a known one 1; no neighbour is a missing value, not a zero.
- Without any edge all four features are left out, and all three models are the same.

Classes are softmax scores: targets are one-hot rows, F_m is a score per class, residuals are of probabilities.

Reference: I. Alodah, J. Neville, "Combining gradient boosting machines with collective inference to predict continuous
values", Statistical Relational AI workshop 2016, arXiv:1607.00110.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from hetcore.collective.estimator import Classifies, Collective
from hetcore.parameters import Domain, Flag, Interval, OneOf, Seed, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator

__all__ = ["GBRegressor", "MGBClassifier", "MGBRegressor", "RGBRegressor"]

FEATURES = ("rf1", "rf2", "rf3", "rf4")


def _features(value: Any) -> bool:
    return not isinstance(value, str) and set(value) <= set(FEATURES) and len(set(value)) == len(value)


MORE = 1e9  # no penalty that helps is larger


class Stages:
    """Parameters of boosting by stages."""

    n_iterations: int = param(10, Whole(1), "Stages M after the first.", Slider("Stages M", 1, 50, 1))
    first_trees: int = param(
        100, Whole(1), "Trees of F_0; one as printed.", Slider("Trees of the first stage", 1, 300, 1)
    )
    trees_per_stage: int = param(
        4, Whole(1), "Trees of every further stage; one as printed.", Slider("Trees of a stage", 1, 30, 1)
    )
    learning_rate: float = param(
        0.05, Interval(0, 1, "(]"), "Shrinkage of each tree; 1 as printed.", Slider("Shrinkage", 0.01, 1.0, 0.01)
    )
    max_depth: int | None = param(
        None,
        Whole(1, also={-1: "no limit"}).or_none(),
        "Depth of the trees, in splits; None is 4, and 5 as printed.",
        Slider("Depth", 1, 8, 1),
    )
    max_leaf_nodes: int = param(-1, Whole(2, also={-1: "no limit"}), "Most leaves of a tree.")
    min_samples_leaf: int | None = param(
        None, Whole(1).or_none(), "Fewest rows of a leaf; None is 10, and 1 as printed."
    )
    l2: float = param(1.0, Interval(0, MORE), "Added under every leaf's value; 0 as printed.")
    subsample: float = param(0.7, Interval(0, 1, "(]"), "Share of the rows that a tree sees; all as printed.")
    column_sample: float = param(0.5, Interval(0, 1, "(]"), "Share of the columns that a tree sees; all as printed.")
    folds: int = param(5, Whole(2), "Folds K in which labels are hidden; none as printed.")
    select_stages: bool | None = param(
        None,
        OneOf(True, False, None),
        "Whether the stages after the lowest left-out loss are dropped at the end; never as printed. None drops them "
        "unless neighbours' residuals are seen: those stages were the better for being all kept "
        "(docs/collective.md), or all dropped where none of them lowered that loss.",
    )


class Neighbors:
    """Parameters of what is seen of the neighbours."""

    summary: str = param("mean", OneOf("mean", "median"), "Of the neighbours; the median as printed.")
    shrinkage: float = param(
        3.0,
        Interval(0, MORE),
        "Weight of a neighbour more who has zero (the mean target, no residual); none as printed.",
    )
    voice: float = param(
        0.3, Interval(0, 1), "How much an instance whose label is inferred counts beside a known one's 1; 1 as printed."
    )
    edge_weights: bool = param(True, Flag(), "Whether neighbours count by the weight of the edge; never as printed.")
    counts: bool = param(True, Flag(), "Whether the neighbours' total weight is a column too; never as printed.")
    no_neighbor: str | None = param(
        None,
        OneOf("nan", "zero", None),
        'What Rf1 to Rf3 are without a neighbour: "nan", which None stands for, or "zero", which is as printed.',
    )
    sweeps: int = param(10, Whole(1), "Sweeps of collective inference at most.")
    tol: float = param(
        0.001,
        Interval(0, MORE),
        "Inference ends when no prediction changes by more, in standard deviations of the target; 0 as printed.",
    )


class Features:
    """The parameter that is MGB's own."""

    features: tuple[str, ...] = param(
        ("rf1", "rf2", "rf3", "rf4"),
        Domain(_features, f"some of {', '.join(map(repr, FEATURES))}, each once"),
        'Which of the four a tree may split by; "rf1" alone is RGB, none is GB.',
    )


class Rounds:
    """Parameters of the rounds as printed."""

    rounds: str = param(
        "random",
        OneOf("random", "cover"),
        'As printed only: each round hides a random fifth of the labels ("random"), or all, fifth by fifth ("cover").',
    )
    n_rounds: int = param(3, Whole(1), "As printed only: rounds t after each stage.")


class Leaves:
    """Parameters of models of numbers."""

    leaf: str = param("mean", OneOf("mean", "median"), "Of the residuals in a leaf; the median as printed.")
    target_transform: str | None = param(
        None,
        OneOf("log", None),
        '"log" learns the logarithm of the target, which must be above 0; the RMSE stays in the labels\' unit.',
    )
    as_printed: bool = param(False, Flag(), "Run the paper's algorithm to the letter.")


class Seeded:
    """The seed."""

    random_state: int | None = param(0, Seed(), "Seed; an int makes a fit repeatable bit for bit, None does not.")


@estimator(MemoryNeed(cell=30, record=150, score=400, link=6))
class GBRegressor(RegressorMixin, Stages, Leaves, Seeded, Collective):
    """Gradient boosting on an instance's own features alone: Algorithm 1."""

    _task, _features = "regression", ()


@estimator(MemoryNeed(cell=30, record=150, score=400, link=6))
class RGBRegressor(RegressorMixin, Stages, Neighbors, Leaves, Seeded, Collective):
    """Gradient boosting on own features and Rf1, predicted together by ICA: Algorithms 1 and 2."""

    _task, _features, _first_linked = "regression", ("rf1",), True


@estimator(MemoryNeed(cell=30, record=150, score=400, link=6))
class MGBRegressor(RegressorMixin, Stages, Neighbors, Features, Rounds, Leaves, Seeded, Collective):
    """Gradient boosting with collective inference for numbers: Algorithms 3 and 4."""

    _task = "regression"


@estimator(MemoryNeed(cell=30, record=150, score=400, link=6))
class MGBClassifier(ClassifierMixin, Stages, Neighbors, Features, Seeded, Classifies, Collective):
    """Gradient boosting with collective inference for classes; features=() is GB, features=("rf1",) RGB."""

    _task = "classification"
