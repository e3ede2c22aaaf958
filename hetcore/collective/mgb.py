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

from sklearn.base import ClassifierMixin, RegressorMixin

from hetcore.collective.estimator import Classifies, Collective
from hetcore.registry import MemoryNeed, estimator

__all__ = ["GBRegressor", "MGBClassifier", "MGBRegressor", "RGBRegressor"]

EVENTS = """
    Notes
    -----
    Each event (`RoundEnd`) is one stage m = 0..M, its `total` is M + 1. `losses`: "train", "left_out" (not as printed)
    and "held_out" (with `eval_y`), of the scaled target. `residual_autocorrelation`: by graph, of held-out residuals
    where there are some, else of the left-out (as printed: the training) ones. `detail`:

    - "metric_name": "RMSE" (in the labels' unit) or "error"; "metric": {"train", "left_out", "held_out"};
    - "stage": m; "best_stage": the stage of the lowest left-out loss so far (m as printed);
    - "moran": {graph: Moran's I of these residuals}; "band": {graph: [low, high]}, where 95% of the I's of shuffled
      residuals lie; "label_moran": {graph: Moran's I of the targets of the same instances}; for classes, of the
      probability that was missing for the true class, and of the first class;
    - "sweeps": list of the largest change of an unlabelled instance's prediction in each sweep of the inference after
      this stage, in the labels' unit (of the logarithm with target_transform="log"; a probability for classes);
    - "visits": list of how many instances each sweep visited; around the others nothing changed."""

STAGES = """n_iterations : int, default=10
        Stages M after the first.
    first_trees : int, default=100
        Trees of F_0; one as printed.
    trees_per_stage : int, default=4
        Trees of every further stage; one as printed.
    learning_rate : float, default=0.05
        Shrinkage of each tree in (0, 1]; 1 as printed.
    max_depth : int, default=None
        Depth of the trees in splits, -1 for no limit; None is 4, and 5 as printed.
    max_leaf_nodes : int, default=-1
        Most leaves of a tree; -1 for no limit.
    min_samples_leaf : int, default=None
        Fewest rows of a leaf; None is 10, and 1 as printed.
    l2 : float, default=1.0
        Added under every leaf's value; 0 as printed.
    subsample : float, default=0.7
        Share in (0, 1] of the rows that a tree sees; all as printed.
    column_sample : float, default=0.5
        Share in (0, 1] of the columns that a tree sees; all as printed.
    folds : int, default=5
        Folds K in which labels are hidden, at least 2; none as printed.
    select_stages : bool, default=None
        Whether the stages after the lowest left-out loss are dropped at the end; never as printed. None drops them
        unless neighbours' residuals are seen: those stages were the better for being all kept (docs/collective.md), or
        all dropped where none of them lowered that loss."""

LEAF = """leaf : str, default='mean'
        "mean", or "median" as printed.
    target_transform : str, default=None
        "log" learns the logarithm of the target, which must be above 0; the RMSE stays in the labels' unit."""

SEED = """as_printed : bool, default=False
        Run the paper's algorithm to the letter.
    random_state : int, default=0
        Seed; an int makes a fit repeatable bit for bit, None does not."""

NEIGHBORS = """summary : str, default='mean'
        "mean" or "median" of the neighbours; the median as printed.
    shrinkage : float, default=3.0
        Weight of a neighbour more who says zero (the mean target, no residual), at least 0; none as printed.
    voice : float, default=0.3
        How much an instance whose label is inferred counts beside a known one's 1, in [0, 1]; 1 as printed.
    edge_weights : bool, default=True
        Whether neighbours count by the weight of the edge; never as printed.
    counts : bool, default=True
        Whether the neighbours' total weight is a column too; never as printed.
    no_neighbor : str, default=None
        What Rf1 to Rf3 are without a neighbour: "nan", the default, or "zero", which is as printed.
    sweeps : int, default=10
        Sweeps of collective inference at most.
    tol : float, default=0.001
        Inference ends when no prediction changes by more, in standard deviations of the target; 0 as printed."""

ROUNDS = """features : tuple, default=('rf1','rf2','rf3','rf4')
        Which of the four a tree may split by; "rf1" alone is RGB, none is GB.
    rounds : str, default='random'
        As printed only: each round hides a random fifth of the labels ("random"), or all, fifth by fifth ("cover").
    n_rounds : int, default=3
        As printed only: rounds t after each stage."""

LEARNED = """n_iterations_ : int
        Stages done, the first counted.
    n_stages_ : int
        Stages kept.
    history_ : polars DataFrame
        One row per stage: "iteration", "seconds", "loss:SET", "metric:SET", "autocorrelation:GRAPH"."""


def _doc(title: str, *blocks: str) -> str:
    parameters = "\n    ".join(blocks)
    heads = (
        f"{title}\n\n    Parameters\n    ----------\n    {parameters}\n\n    Attributes\n    ----------\n    {LEARNED}"
    )
    return f"{heads}\n{EVENTS}\n    "


@estimator(MemoryNeed(cell=30, record=150, score=400, link=6))
class GBRegressor(RegressorMixin, Collective):
    __doc__ = _doc("Gradient boosting on an instance's own features alone: Algorithm 1.", STAGES, LEAF, SEED)

    _task, _features = "regression", ()

    def __init__(
        self,
        n_iterations: int = 10,
        first_trees: int = 100,
        trees_per_stage: int = 4,
        learning_rate: float = 0.05,
        max_depth: int | None = None,
        max_leaf_nodes: int = -1,
        min_samples_leaf: int | None = None,
        l2: float = 1.0,
        subsample: float = 0.7,
        column_sample: float = 0.5,
        folds: int = 5,
        select_stages: bool | None = None,
        leaf: str = "mean",
        target_transform: str | None = None,
        as_printed: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.n_iterations, self.first_trees, self.trees_per_stage = n_iterations, first_trees, trees_per_stage
        self.learning_rate, self.max_depth, self.max_leaf_nodes = learning_rate, max_depth, max_leaf_nodes
        self.min_samples_leaf, self.l2, self.subsample = min_samples_leaf, l2, subsample
        self.column_sample, self.folds, self.select_stages = column_sample, folds, select_stages
        self.leaf, self.target_transform = leaf, target_transform
        self.as_printed, self.random_state = as_printed, random_state


@estimator(MemoryNeed(cell=30, record=150, score=400, link=6))
class RGBRegressor(RegressorMixin, Collective):
    __doc__ = _doc(
        "Gradient boosting on own features and Rf1, predicted together by ICA: Algorithms 1 and 2.",
        STAGES, NEIGHBORS, LEAF, SEED,
    )  # fmt: skip

    _task, _features, _first_linked = "regression", ("rf1",), True

    def __init__(
        self,
        n_iterations: int = 10,
        first_trees: int = 100,
        trees_per_stage: int = 4,
        learning_rate: float = 0.05,
        max_depth: int | None = None,
        max_leaf_nodes: int = -1,
        min_samples_leaf: int | None = None,
        l2: float = 1.0,
        subsample: float = 0.7,
        column_sample: float = 0.5,
        folds: int = 5,
        select_stages: bool | None = None,
        summary: str = "mean",
        shrinkage: float = 3.0,
        voice: float = 0.3,
        edge_weights: bool = True,
        counts: bool = True,
        no_neighbor: str | None = None,
        sweeps: int = 10,
        tol: float = 0.001,
        leaf: str = "mean",
        target_transform: str | None = None,
        as_printed: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.n_iterations, self.first_trees, self.trees_per_stage = n_iterations, first_trees, trees_per_stage
        self.learning_rate, self.max_depth, self.max_leaf_nodes = learning_rate, max_depth, max_leaf_nodes
        self.min_samples_leaf, self.l2, self.subsample = min_samples_leaf, l2, subsample
        self.column_sample, self.folds, self.select_stages = column_sample, folds, select_stages
        self.summary, self.shrinkage, self.voice = summary, shrinkage, voice
        self.edge_weights, self.counts, self.no_neighbor = edge_weights, counts, no_neighbor
        self.sweeps, self.tol, self.leaf, self.target_transform = sweeps, tol, leaf, target_transform
        self.as_printed, self.random_state = as_printed, random_state


@estimator(MemoryNeed(cell=30, record=150, score=400, link=6))
class MGBRegressor(RegressorMixin, Collective):
    __doc__ = _doc(
        "Gradient boosting with collective inference for numbers: Algorithms 3 and 4.",
        STAGES, NEIGHBORS, ROUNDS, LEAF, SEED,
    )  # fmt: skip

    _task = "regression"

    def __init__(
        self,
        n_iterations: int = 10,
        first_trees: int = 100,
        trees_per_stage: int = 4,
        learning_rate: float = 0.05,
        max_depth: int | None = None,
        max_leaf_nodes: int = -1,
        min_samples_leaf: int | None = None,
        l2: float = 1.0,
        subsample: float = 0.7,
        column_sample: float = 0.5,
        folds: int = 5,
        select_stages: bool | None = None,
        summary: str = "mean",
        shrinkage: float = 3.0,
        voice: float = 0.3,
        edge_weights: bool = True,
        counts: bool = True,
        no_neighbor: str | None = None,
        sweeps: int = 10,
        tol: float = 0.001,
        features: tuple[str, ...] = ("rf1", "rf2", "rf3", "rf4"),
        rounds: str = "random",
        n_rounds: int = 3,
        leaf: str = "mean",
        target_transform: str | None = None,
        as_printed: bool = False,
        random_state: int | None = 0,
    ) -> None:
        self.n_iterations, self.first_trees, self.trees_per_stage = n_iterations, first_trees, trees_per_stage
        self.learning_rate, self.max_depth, self.max_leaf_nodes = learning_rate, max_depth, max_leaf_nodes
        self.min_samples_leaf, self.l2, self.subsample = min_samples_leaf, l2, subsample
        self.column_sample, self.folds, self.select_stages = column_sample, folds, select_stages
        self.summary, self.shrinkage, self.voice = summary, shrinkage, voice
        self.edge_weights, self.counts, self.no_neighbor = edge_weights, counts, no_neighbor
        self.sweeps, self.tol, self.features, self.rounds, self.n_rounds = sweeps, tol, features, rounds, n_rounds
        self.leaf, self.target_transform = leaf, target_transform
        self.as_printed, self.random_state = as_printed, random_state


@estimator(MemoryNeed(cell=30, record=150, score=400, link=6))
class MGBClassifier(ClassifierMixin, Classifies, Collective):
    __doc__ = _doc(
        'Gradient boosting with collective inference for classes; features=() is GB, features=("rf1",) RGB.',
        STAGES, NEIGHBORS, ROUNDS.partition("\n    rounds")[0],
        SEED.partition("letter.\n    ")[2],
    )  # fmt: skip

    _task = "classification"

    def __init__(
        self,
        n_iterations: int = 10,
        first_trees: int = 100,
        trees_per_stage: int = 4,
        learning_rate: float = 0.05,
        max_depth: int | None = None,
        max_leaf_nodes: int = -1,
        min_samples_leaf: int | None = None,
        l2: float = 1.0,
        subsample: float = 0.7,
        column_sample: float = 0.5,
        folds: int = 5,
        select_stages: bool | None = None,
        summary: str = "mean",
        shrinkage: float = 3.0,
        voice: float = 0.3,
        edge_weights: bool = True,
        counts: bool = True,
        no_neighbor: str | None = None,
        sweeps: int = 10,
        tol: float = 0.001,
        features: tuple[str, ...] = ("rf1", "rf2", "rf3", "rf4"),
        random_state: int | None = 0,
    ) -> None:
        self.n_iterations, self.first_trees, self.trees_per_stage = n_iterations, first_trees, trees_per_stage
        self.learning_rate, self.max_depth, self.max_leaf_nodes = learning_rate, max_depth, max_leaf_nodes
        self.min_samples_leaf, self.l2, self.subsample = min_samples_leaf, l2, subsample
        self.column_sample, self.folds, self.select_stages = column_sample, folds, select_stages
        self.summary, self.shrinkage, self.voice = summary, shrinkage, voice
        self.edge_weights, self.counts, self.no_neighbor = edge_weights, counts, no_neighbor
        self.sweeps, self.tol, self.features, self.random_state = sweeps, tol, features, random_state
