r"""One metric, one function, its formula in the docstring.

Rows whose target is unknown (NaN or None) are passed over, so that a whole `data.y` can be given. In the formulas, m is
the number of rows with a known target, and sums run over those.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from hetcore.checks import check_random_state, even_array, finite, whole
from hetcore.data.identity import is_missing
from hetcore.data.target import as_labels
from hetcore.data.text import shown
from hetcore.errors import DataError, ParameterError
from hetcore.numerics import power_of_two, root_mean_square

__all__ = [
    "correlation_along",
    "error_rate",
    "gaussian_nll",
    "interval_coverage",
    "known_targets",
    "links_among",
    "log_loss",
    "macro_f1",
    "macro_f1_of_codes",
    "morans_i",
    "morans_i_band",
    "residual_autocorrelation",
    "rmse",
]

SMALLEST_PROBABILITY = 1e-15


def known_targets(y: ArrayLike) -> NDArray[np.bool_]:
    """Return (n,) bool: which targets are known, that is neither None nor NaN nor what pandas writes for them."""
    y = _column(y)
    if y.dtype.kind in "fc":
        return ~np.isnan(y)
    if y.dtype != object:
        return np.ones(len(y), dtype=bool)
    return np.array([not is_missing(value) for value in y], dtype=bool)


def error_rate(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the share of wrong labels, (1/m) sum_i [y_pred_i != y_true_i], in [0, 1].

    Parameters
    ----------
    y_true, y_pred : (n,) array-like
        Labels; y_true None where unknown.

    Raises
    ------
    DataError
        If lengths or shapes differ or no target is known.

    Examples
    --------
    >>> error_rate(["a", "b", None, "a"], ["a", "a", "a", "a"])
    0.3333333333333333
    """
    true, pred = _alike(*_known_rows(y_true, y_pred))
    return float(np.mean(true != pred))


def macro_f1(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the mean over the classes of F1 = 2 TP / (2 TP + FP + FN), in [0, 1].

    The classes are those that the known targets or their predictions hold.

    Parameters
    ----------
    y_true, y_pred : (n,) array-like
        Labels; y_true None where unknown.

    Raises
    ------
    DataError
        If lengths or shapes differ or no target is known.
    """
    true, pred = _alike(*_known_rows(y_true, y_pred))
    # as text: of mixed types, which have no order
    _, codes = np.unique(np.concatenate([true, pred]).astype(str), return_inverse=True)
    return macro_f1_of_codes(codes[: len(true)], codes[len(true) :])


def macro_f1_of_codes(true: NDArray[np.int64], pred: NDArray[np.int64]) -> float:
    """Return `macro_f1` of class codes (m,), each 0 or more and known."""
    size = max(true.max(), pred.max()) + 1
    hits = np.bincount(true[true == pred], minlength=size)
    named = np.bincount(true, minlength=size) + np.bincount(pred, minlength=size)
    # a class that occurs in neither has no F1, and 0 / 0 is not a miss
    return float(np.mean(2 * hits[named > 0] / named[named > 0]))


def log_loss(y_true: ArrayLike, probabilities: ArrayLike, classes: ArrayLike) -> float:
    """Return -(1/m) sum_i ln p_i(y_i) in nats; probabilities below 1e-15 count as 1e-15.

    Parameters
    ----------
    y_true : (n,) array-like
        Labels, None where unknown; a label that is not among `classes` has the probability 0.
    probabilities : (n, K) array-like
        Of each class, in [0, 1].
    classes : (K,) array-like
        The labels of the columns.

    Raises
    ------
    DataError
        If shapes do not fit, no target is known or a probability is outside [0, 1].
    """
    true, probabilities = _known_rows(y_true, probabilities, wide=True)
    probabilities = _numbers(probabilities)
    true, classes = _alike(true, _column(classes))
    # a sum of float32 may lie beyond 1 by its rounding
    if (strange := probabilities[~((probabilities >= 0) & (probabilities <= 1 + 1e-6))]).size:
        raise DataError(f"probabilities holds {strange[0]:g}, outside [0, 1]: give shares, as predict_proba does.")
    if probabilities.shape[1:] != classes.shape:
        raise DataError(
            f"probabilities has shape {probabilities.shape} for {len(classes)} classes: give one column each."
        )
    # a label that is no class has likelihood 0, and counts with the smallest probability
    likelihoods = np.where(true[:, None] == classes, probabilities, 0.0).sum(axis=1)
    return float(-np.log(np.maximum(likelihoods, SMALLEST_PROBABILITY)).mean())


def rmse(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Return the root of the mean squared error, sqrt((1/m) sum_i (y_pred_i - y_true_i)^2), in the target's unit.

    Parameters
    ----------
    y_true, y_pred : (n,) array-like
        Numbers; y_true NaN where unknown.

    Raises
    ------
    DataError
        If lengths or shapes differ, no target is known or a value is no number.
    """
    true, pred = _known_numbers(y_true, y_pred)
    return root_mean_square(pred - true)


def gaussian_nll(y_true: ArrayLike, mean: ArrayLike, deviation: ArrayLike) -> float:
    """Return (1/m) sum_i [ln(s_i sqrt(2 pi)) + (y_i - f_i)^2 / (2 s_i^2)] in nats.

    Parameters
    ----------
    y_true : (n,) array-like
        Numbers y; NaN where unknown.
    mean, deviation : (n,) array-like
        Predicted mean f and standard deviation s > 0.

    Raises
    ------
    DataError
        If lengths or shapes differ, no target is known, a value is no number or a deviation is not positive.
    """
    true, mean, deviation = _known_numbers(y_true, mean, deviation)
    # one that is 0 claims to be certain, and its logarithm is infinite
    if not (deviation > 0).all():
        raise DataError(f"The smallest deviation is {deviation.min():g}: standard deviations must be positive.")
    return float(np.mean(np.log(deviation * np.sqrt(2 * np.pi)) + 0.5 * ((true - mean) / deviation) ** 2))


def interval_coverage(y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """Return the share of targets inside their interval, (1/m) sum_i [lower_i <= y_i <= upper_i], in [0, 1].

    Parameters
    ----------
    y_true : (n,) array-like
        Numbers; NaN where unknown.
    lower, upper : (n,) array-like
        Ends of the intervals.

    Raises
    ------
    DataError
        If lengths or shapes differ, no target is known, a value is no number or an end is NaN.
    """
    true, lower, upper = _known_numbers(y_true, lower, upper)
    # it would hold no target, as an interval that missed one
    if np.isnan(lower).any() or np.isnan(upper).any():
        raise DataError("An interval has an end that is NaN: give two numbers for each row with a target.")
    return float(np.mean((lower <= true) & (true <= upper)))


def residual_autocorrelation(residuals: ArrayLike, graph: Any) -> float:
    r"""Return the Pearson correlation of residuals over linked pairs, in [-1, 1].

    With L the links between instances of known residual, each in both directions, and c the mean over them of r_i,

        sum_{(i,j) in L} (r_i - c)(r_j - c) / sum_{(i,j) in L} (r_i - c)^2 .

    Several columns (residuals by class) are centred one by one and their sums added up. 0 means that the links have
    nothing more to tell; the correlation of the labels themselves is the same with labels for residuals.

    Parameters
    ----------
    residuals : (n,) or (n, K) array-like of float
        Target minus prediction; NaN where the target is unknown.
    graph : hetcore.Graph
        Over the same n instances.

    Returns
    -------
    float
        NaN where it is undefined: no linked pair, or the same residual at both ends of all.

    Raises
    ------
    DataError
        If the graph is none or has another number of nodes, or a value is no number.
    """
    values = _columns_by_node(residuals, graph)
    known = ~np.isnan(values).any(axis=1)
    return correlation_along(values[known], links_among(graph, known))


def links_among(graph: Any, known: NDArray[np.bool_]) -> scipy.sparse.csr_array:
    """Return the links (m, m), each 1 in both directions, between the m instances that `known` (n,) marks.

    Raises
    ------
    DataError
        If the graph is none or has another number of nodes, or `known` is not of truth values.
    """
    _columns_by_node(known, graph)
    if (known := np.asarray(known)).dtype != bool:
        raise DataError("known holds values that are no truth values: give True or False for each node.")
    links = scipy.sparse.csr_array((graph.weights, graph.indices, graph.indptr), shape=(len(known),) * 2)
    links = links[known][:, known]
    # links count once whatever their weight: this asks whether neighbours are alike, not how strongly they are linked
    links.data = np.ones(links.nnz)
    return links


def correlation_along(values: NDArray, links: scipy.sparse.csr_array) -> float:
    """Return the `residual_autocorrelation` of values (m, K) of which none is missing, along links (m, m)."""
    linked = np.diff(links.indptr).astype(np.float64)
    if not links.nnz:
        return float("nan")
    # in a unit of about 1, so that squares of very large or small labels are numbers
    values = values / power_of_two(values)
    centred = values - linked @ values / links.nnz
    spread = linked @ (centred**2).sum(axis=1)
    # equal residuals leave sums of squares that are rounding alone, of which a quotient would be noise
    rounding = links.nnz * values.shape[1] * (1e-12 * np.abs(values[linked > 0]).max()) ** 2
    return float((centred * (links @ centred)).sum() / spread) if spread > rounding else float("nan")


def morans_i(values: ArrayLike, graph: Any) -> float:
    r"""Return Moran's I, (m / sum_ij w_ij) sum_ij w_ij z_i z_j / sum_i z_i^2 with z = value - mean.

    Unlike `residual_autocorrelation` it honours the weights w of the links and centres over all instances of known
    value, linked or not. Without autocorrelation its expectation is -1 / (m - 1).

    Parameters
    ----------
    values : (n,) array-like of float
        NaN where unknown.
    graph : hetcore.Graph
        Over the same n instances.

    Returns
    -------
    float
        NaN where it is undefined: no linked pair, or one value only.

    Raises
    ------
    DataError
        If the graph is none or has another number of nodes, or a value is no number.
    """
    values, weights, row, column = _links_of_known(values, graph)
    known = values[~np.isnan(values)]
    if not len(row):
        return float("nan")
    centred = values[:, 0] - known.mean()
    spread = ((known - known.mean()) ** 2).sum()
    cross = (weights * centred[row] * centred[column]).sum()
    # the same for Moran's I: no spread, no correlation
    return float(len(known) / weights.sum() * cross / spread) if spread > _rounding(known) else float("nan")


def morans_i_band(
    values: ArrayLike, graph: Any, n_permutations: int = 199, level: float = 0.95, random_state: int | None = 0
) -> tuple[float, float]:
    """Return the band of Moran's I for values that have nothing to do with the graph.

    The known values are shuffled over their instances `n_permutations` times. The ends are quantiles of the I's,
    and the share `level` of them lies between.

    Parameters
    ----------
    values : (n,) array-like of float
        NaN where unknown.
    graph : hetcore.Graph
        Over the same n instances.
    n_permutations : int, default=199
        Shuffles, at least 1.
    level : float, default=0.95
        Probability in (0, 1).
    random_state : int or None, default=0
        Seed of the shuffles.

    Returns
    -------
    low, high : float

    Raises
    ------
    ParameterError
        If `n_permutations`, `level` or `random_state` is outside its domain.
    DataError
        If the graph is none or has another number of nodes, or a value is no number.
    """
    if not (whole(n_permutations) and n_permutations >= 1 and finite(level) and 0 < level < 1):
        given = f"n_permutations={shown(n_permutations)}, level={shown(level)}"
        raise ParameterError(f"{given}: give at least 1 permutation and a level in (0, 1).")
    check_random_state(random_state)
    columns, weights, row, column = _links_of_known(values, graph)
    known = np.flatnonzero(~np.isnan(columns[:, 0]))
    centred = columns[known, 0] - (columns[known, 0].mean() if len(known) else 0.0)
    if not len(row) or (centred**2).sum() <= _rounding(columns[known, 0]):
        return float("nan"), float("nan")
    place = np.full(len(columns), -1, np.int32)
    place[known] = np.arange(len(known))
    from hetcore.kernels.csr import cross_products  # numba, which the other metrics do without

    order = np.random.default_rng(random_state).permuted(
        np.tile(np.arange(len(known), dtype=np.int32), (n_permutations, 1)), axis=1
    )
    # a link stands in both directions: each once, times two
    once = row < column
    cross = 2.0 * cross_products(place[row[once]], place[column[once]], weights[once], centred, order)
    shuffled = len(known) / weights.sum() * cross / (centred**2).sum()
    low, high = np.quantile(shuffled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _alike(one: NDArray, other: NDArray) -> tuple[NDArray, NDArray]:
    """Return labels of which some are text and some are not, all as the text that they are as classes: 1 as "1"."""
    if _is_text(one) == _is_text(other):
        return one, other
    return tuple(each if _is_text(each) else as_labels(each, "classification")[0] for each in (one, other))


def _is_text(labels: NDArray) -> bool:
    return labels.dtype.kind in "UT" or (labels.dtype == object and all(isinstance(each, str) for each in labels))


def _known_rows(y_true: ArrayLike, *others: ArrayLike, wide: bool = False) -> list[NDArray]:
    """Return all arrays at the rows whose target is known; (n, 1) is (n,), unless others are `wide`."""
    wide_or_not = (np.atleast_1d(even_array(each, "An array")) if wide else _column(each) for each in others)
    arrays = [_column(y_true), *wide_or_not]
    if len({len(array) for array in arrays}) > 1:
        raise DataError(f"The arrays have {[len(array) for array in arrays]} rows: give them the same length.")
    # by the labels: predictions are there for all rows, and unlabelled ones have nothing to be compared with
    known = known_targets(arrays[0])
    if not known.any():
        raise DataError(f"None of the {len(known)} targets is known: give at least one.")
    rows = [array[known] for array in arrays]
    numbers = all(array.dtype.kind in "fiub" for array in arrays[1:]) and arrays[0].dtype.kind in "fiub"
    # float64, for a sum of float32 over many rows loses digits
    return [row.astype(np.float64) for row in rows] if numbers else rows


def _known_numbers(*arrays: ArrayLike) -> list[NDArray[np.float64]]:
    """Return `_known_rows` as float64; raise DataError for moments, and for what reads as no number."""
    return [_numbers(row) for row in _known_rows(*arrays)]


def _numbers(values: NDArray) -> NDArray[np.float64]:
    try:
        if values.dtype.kind not in "mMc":
            return values.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise DataError("The arrays hold values that are no numbers: give a number for each row.") from None


def _column(values: ArrayLike) -> NDArray:
    """Return values as (n,), for NumPy would make (n, n) of (n,) and (n, 1); raise DataError for another shape."""
    array = even_array(values, "An array")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"An array has the shape {array.shape}: give one value for each row, (n,).")
    return array


def _links_of_known(values: ArrayLike, graph: Any) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return values as (n, K) columns, and weight, row and column of the links with known values at both ends."""
    values = _columns_by_node(_column(values), graph)
    known = ~np.isnan(values).any(axis=1)
    row = np.repeat(np.arange(len(values)), np.diff(graph.indptr))
    both = known[row] & known[graph.indices]
    return values, graph.weights[both].astype(np.float64), row[both], graph.indices[both]


def _columns_by_node(values: ArrayLike, graph: Any) -> NDArray[np.float64]:
    """Return values as (n, K) columns; raise DataError unless there is one row a node."""
    if not hasattr(graph, "indptr"):
        raise DataError(f"{type(graph).__name__} is no graph over the values: give a hetcore.Graph.")
    try:
        values = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("The values are no numbers: give a number for each node, NaN where unknown.") from None
    if values.ndim not in (1, 2):
        raise DataError(f"The values have the shape {values.shape}: give one row a node, (n,) or (n, K).")
    if len(values) + 1 != len(graph.indptr):
        raise DataError(f"There are {len(values)} values for {len(graph.indptr) - 1} nodes: give one value a node.")
    # no statistic of the graphs depends on the unit
    return values[:, None] / power_of_two(values) if values.ndim == 1 else values / power_of_two(values)


def _rounding(values: NDArray) -> float:
    """Return the sum of squares that rounding alone leaves where all values are the same."""
    return values.size * (1e-12 * np.abs(values).max()) ** 2
