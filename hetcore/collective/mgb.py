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
random fifth of the labels. What the paper leaves open is an option there.

Departures of the default (`hetcore.collective.crossfit`)
--------------------------------------------------------------
- F_0 is a boosted model of own columns, the neighbours' features and the neighbours' known labels, at up to two links
  (`hops`); of RGB: of own columns and Rf1. It is a convex mix of models that see less and more of that (`mix`), each of
  as many trees as give the lowest out-of-fold loss, and of ridge regressions (`linear`); the same loss chooses the
  weights. Unless the mix errs less than own
  columns alone by more than two standard errors (one where their residuals are alike along links), the whole model is
  GB, bit for bit: the stages see no neighbour either.
  A further stage is several small shrunken trees. Leaves are means: the RMSE asks for them.
- Labels are hidden in K folds, and every label is predicted by trees and from neighbours that never saw it, stage by
  stage. Residuals are then what they will be at new instances. New instances are predicted by the mean over the views.
- Neighbours are summed up by means that are shrunk to zero where they are few, with their weight beside them; an
  instance whose label is inferred counts `inferred_weight`, a known one 1; no neighbour is a missing value, not a zero.
- Where hardly a label is of an instance without a neighbour, no tree has met one: such instances are predicted by own
  columns alone.
- Without any edge all of that is left out, and all three models are the same.

Direction, weight, sign
-----------------------
In a graph made with its directions (`hetcore.data.Graph(..., directed=True)`) the neighbours of an instance are, with
`direction="in"`, the sources of the edges that lead to it, with "out" the targets of those that leave it, with "both"
either. Neighbours count by |weight|; with a negative one (`signed=True`) by the opposite of target and residual.
`edge_weights=False` lets the sign alone count.

Classes are softmax scores: targets are one-hot rows, F_m is a score per class, residuals are of probabilities.

Reference: I. Alodah, J. Neville, "Combining gradient boosting machines with collective inference to predict continuous
values", Statistical Relational AI workshop 2016, arXiv:1607.00110.
"""

from __future__ import annotations

from typing import Any

from hetcore.base import ClassifierScore, RegressorScore
from hetcore.collective.algorithms import Algorithm3
from hetcore.collective.estimator import FEATURES, Classifies, Collective
from hetcore.collective.predictor import DIRECTIONS
from hetcore.parameters import Declared, Domain, Flag, Interval, OneOf, SeedAndThreads, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator

__all__ = ["GBRegressor", "MGBClassifier", "MGBRegressor", "RGBRegressor"]

NO_LIMIT = {-1: "no limit"}


def _some_features(value: Any) -> bool:
    return not isinstance(value, str) and set(value) <= set(FEATURES) and len(set(value)) == len(value)


class _Stages(Declared):
    """The parameters of the trees."""

    n_iterations: int = param(10, Whole(1), "Stages M after the first.", Slider("Stages M", 1, 50, 1))
    first_trees: int | None = param(
        None,
        Whole(1).or_none(),
        "Trees of F_0 at most; None is 400, and 75 of more than five classes; one as printed.",
        Slider("Trees of the first stage", 1, 600, 1),
    )
    patience: int = param(
        40, Whole(1), "F_0 ends where so many trees have not lowered the out-of-fold loss; never as printed."
    )
    trees_per_stage: int = param(
        4, Whole(1), "Trees of every further stage; one as printed.", Slider("Trees of a stage", 1, 30, 1)
    )
    learning_rate: float | None = param(
        None,
        Interval(0, 1, "(]").or_none(),
        "Shrinkage of each tree; None is 0.05, 0.1 from 5,000 labels on, and 0.15 of more than five classes; 1 as "
        "printed.",
        Slider("Learning rate", 0.01, 1.0, 0.01),
    )
    max_depth: int | None = param(
        None,
        Whole(1, also=NO_LIMIT).or_none(),
        "Depth of trees; None is 4, 7 from 5,000 labels on, and 5 as printed.",
        Slider("Depth", 1, 8, 1),
    )
    max_leaf_nodes: int = param(-1, Whole(2, also=NO_LIMIT), "Most leaves of a tree.")
    min_samples_leaf: int | None = param(
        None,
        Whole(1).or_none(),
        "Fewest rows of a leaf; None is a 25th of the labels, of K > 6 classes a 4K-th, in [2, 10], and 1 as printed. "
        "Rarer values are alike.",
    )
    l2: float = param(
        1.0, Interval(0, 1e9), "Added under every leaf's value, of K > 2 classes 4 (K - 1) / K² of it; 0 as printed."
    )
    subsample: float = param(0.7, Interval(0, 1, "(]"), "Share of the rows that a tree sees; all as printed.")
    column_sample: float | None = param(
        None,
        Interval(0, 1, "(]").or_none(),
        "Share of the columns that a tree sees; None is half of them, all from 5,000 labels on and as printed, and of "
        "numbers F_0 then mixes oblivious trees too, which see all. Of more than five classes at most 40, or twice the "
        "root of all.",
    )
    linear: bool = param(
        True,
        Flag(),
        "Whether F_0 mixes ridge regression of own columns, and of all that it sees, with the trees; never as printed.",
    )
    folds: int = param(5, Whole(2), "Folds K in which labels are hidden; none as printed.")
    select_stages: bool = param(
        True, Flag(), "Whether the stages after the lowest left-out loss are dropped at the end; never as printed."
    )


class _Neighbors(Declared):
    """The parameters of what is seen along the links."""

    summary: str = param("mean", OneOf("mean", "median"), "How neighbours are summed up; the median as printed.")
    shrinkage: float = param(
        3.0, Interval(0, 1e9), "Weight of a further neighbour with message zero (the mean target); none as printed."
    )
    inferred_weight: float = param(
        0.3, Interval(0, 1), "How much an inferred label counts beside a known one's 1; 1 as printed."
    )
    edge_weights: bool = param(
        True, Flag(), "Whether neighbours count by the weight of the edge, or by its sign; never as printed."
    )
    direction: str = param(
        "both", OneOf(*DIRECTIONS), "Which ends of its edges an instance has as neighbours, in a directed graph."
    )
    hops: int = param(2, Whole(0, 2), "How far F_0 sees neighbours' features and known labels, in links; 0 as printed.")
    mix: bool = param(
        True,
        Flag(),
        "Whether F_0 is a convex mix of models of own columns, neighbours' labels too, and their features too (where "
        "the mix is not clearly better than own columns alone, all is GB), or the last of these; never as printed.",
    )
    counts: bool = param(True, Flag(), "Whether the neighbours' total weight is a column too; never as printed.")
    no_neighbor: str | None = param(
        None,
        OneOf("nan", "zero", None),
        'Rf1 to Rf3 without a neighbour: missing ("nan") or "zero"; None is "nan", and "zero" as printed.',
    )
    sweeps: int | None = param(
        None, Whole(1).or_none(), "Sweeps of collective inference at most; None is 10, and 50 as printed."
    )
    damping: float = param(
        0.0, Interval(0, 0.99), "Sweep t = 0, 1, ... goes (1 - damping)^t of the way to what is next; 0 as printed."
    )
    tol: float = param(
        0.001, Interval(0, 1e9), "Inference ends when no prediction changes by more target deviations; 0 as printed."
    )


class _Features(Declared):
    """Which relational features MGB sees."""

    features: tuple = param(
        FEATURES,
        Domain(_some_features, f"some of {', '.join(map(repr, FEATURES))}, each once"),
        "Which of the four a tree may split by; none is GB.",
    )


class _Rounds(Declared):
    """What the letter leaves open: see `hetcore.collective.algorithms`."""

    rounds: str = param(
        "random",
        OneOf("random", "cover"),
        'As printed only: each round hides a random fifth of the labels ("random"), or all, fifth by fifth ("cover").',
    )
    n_rounds: int = param(3, Whole(1), "As printed only: rounds t after each stage.")
    first_rf2: str = param(
        "zero",
        OneOf("zero", "target"),
        "As printed only: Rf2 at the first stage, zero or the neighbours' targets, which change nothing beside Rf1: it "
        "has the same.",
    )
    estimate: str = param(
        "first", OneOf("first", "sum"), "As printed only: an unknown neighbour's target in Rf1, by F_0 or all stages."
    )


class _Leaf(Declared):
    """The parameters of numbers."""

    leaf: str = param("mean", OneOf("mean", "median"), "What a leaf predicts of its residuals; the median as printed.")
    target_transform: str | None = param(
        None, OneOf("log", None), '"log" learns the logarithm of a target above 0; the RMSE is in the labels\' unit.'
    )
    as_printed: bool = param(False, Flag(), "Run the paper's algorithm to the letter.")


@estimator(MemoryNeed(cell=36, record=200, score=400, link=6))
class GBRegressor(RegressorScore, _Stages, _Leaf, SeedAndThreads, Collective):
    """Gradient boosting on an instance's own features alone: Algorithm 1.

    References
    ----------
    Alodah, Neville, "Combining gradient boosting machines with collective inference to predict continuous values",
    StarAI 2016, arXiv 1607.00110: section "Gradient Boosting Machine (GB)", Algorithm 1, (1) to (7).
    """

    _task, _features = "regression", ()


@estimator(MemoryNeed(cell=32, record=1250, score=400, link=6))
class RGBRegressor(RegressorScore, _Stages, _Neighbors, _Leaf, SeedAndThreads, Collective):
    """Gradient boosting on own features and Rf1, predicted together by ICA: Algorithms 1 and 2.

    References
    ----------
    Alodah, Neville, "Combining gradient boosting machines with collective inference to predict continuous values",
    StarAI 2016, arXiv 1607.00110: Algorithms 1 and 2, section "Relational Gradient Boosting", Rf1 of (8).
    """

    _task, _features = "regression", ("rf1",)

    def _hops(self, params: dict[str, Any]) -> tuple[int, int]:
        """The neighbours' labels are Rf1; nothing else is seen of them."""
        return 0, min(params["hops"], 1)


@estimator(MemoryNeed(cell=32, record=1250, score=400, link=6))
class MGBRegressor(RegressorScore, _Stages, _Neighbors, _Features, _Rounds, _Leaf, SeedAndThreads, Collective):
    """Gradient boosting with collective inference for numbers: Algorithms 3 and 4.

    References
    ----------
    Alodah, Neville, "Combining gradient boosting machines with collective inference to predict continuous values",
    StarAI 2016, arXiv 1607.00110: Algorithms 3 and 4, Rf1 to Rf4 of (8) to (11).
    """

    _task, _printed = "regression", Algorithm3


@estimator(MemoryNeed(cell=38, record=1200, score=460, link=6))
class MGBClassifier(ClassifierScore, Classifies, _Stages, _Neighbors, _Features, SeedAndThreads, Collective):
    """Gradient boosting with collective inference for classes; without features it is GB.

    The paper is of numbers: what a parameter is as printed holds for `MGBRegressor` alone.

    References
    ----------
    Alodah, Neville, "Combining gradient boosting machines with collective inference to predict continuous values",
    StarAI 2016, arXiv 1607.00110: Algorithms 3 and 4, Rf1 to Rf4 of (8) to (11), which are of numbers.
    """

    _task = "classification"
