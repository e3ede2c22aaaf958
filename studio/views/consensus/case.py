"""One case: what a model predicts of an instance if its values were others, and why.

A case is an instance, or a new one of typical values, with some values changed. Everybody else stays as recorded, links
included (`hetcore.consensus.variants`).

References
----------
E. Štrumbelj, I. Kononenko, "Explaining prediction models and individual predictions with feature contributions",
Knowledge and Information Systems 41, 2014 (columns' contributions: Shapley values over drawn orders). S. Wachter,
B. Mittelstadt, C. Russell, "Counterfactual explanations without opening the black box", 2017 (the nearest change).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore import model_files
from hetcore.consensus.variants import explain_variants
from hetcore.data import HetData
from hetcore.data.text import quoted
from hetcore.errors import DataError
from studio import scenarios
from studio.views.consensus.case_values import Player, Record, players_of, record_of

__all__ = ["Case", "Explained", "Operations", "Values", "along", "explain", "grid"]

Values = Mapping[str, Mapping[str, Any]] | Sequence[tuple[str, Mapping[str, Any]]]
Operations = Sequence[Mapping[str, Any]]
ROWS = 1_500
"""Variants that the columns' contributions are drawn from, about."""
FEWEST_ORDERS = 2
POINTS = 25
"""Values of a column along which a prediction is drawn."""
MOST_LEVELS = 20
SHOWN_CLASSES, FAINT = 4, 0.05
"""Classes that are drawn along a column, and the probability that one has somewhere."""


class Explained(NamedTuple):
    """What is predicted for a case, and why.

    Attributes
    ----------
    prediction : str or float
    value : float
        Probability of the predicted class, or the predicted number, among all variants that were looked at; see
        `hetcore.consensus.variants` on links of unequal weight.
    probabilities : dict of str to float
        By class; empty for numbers.
    sources : dict of str to float
        What each source and graph adds to the score, as the model deals it out.
    start : float
        `value` on average over other instances' values in the case's place.
    columns : list of (source, column, float)
        What each column adds to `start`, the largest first; together with it they are `value`.
    """

    prediction: Any
    value: float
    probabilities: dict[str, float]
    sources: dict[str, float]
    start: float
    columns: list[tuple[str, str, float]]


class Case:
    """A model, the data that it was trained on, and the case's record in each source.

    Parameters
    ----------
    model : bytes
        Of a consensus of `hetcore`.
    data : HetData
        That it was trained on.
    like : str or None
        The instance; None for a new one of typical values.
    values : mapping of str to mapping of str to value, or its items
        By source, the columns that are changed; None for a missing value.
    operations : sequence of mappings
        What-ifs of the training that are not done in the data yet.

    Raises
    ------
    DataError
        If there is no such instance, source or column, or a value does not fit its column.
    """

    def __init__(
        self, model: bytes, data: HetData, like: str | None, values: Values, operations: Operations = ()
    ) -> None:
        self.model, self.like = _loaded(model), like
        self.data = scenarios.apply(data, operations).data
        self.record: Record = record_of(self.data, like, dict(values))
        self.players: list[Player] = players_of(self.record)
        self.classes = list(getattr(self.model, "classes_", []))

    def predicted(self, tables: Mapping[str, Any]) -> NDArray[np.float64]:
        """Return probabilities (v, K), or numbers (v, 1), of variants of the case."""
        found = explain_variants(self.model, self.data, tables, self.like)
        return found.prediction[:, None] if found.probabilities is None else found.probabilities

    def variants(self, picks: NDArray[np.int64], others: Mapping[str, Any]) -> dict[str, Any]:
        """Return variants' records: by player, the case's own value at 0, that of row k - 1 of `others` at k.

        Parameters
        ----------
        picks : (v, players) int64
        others : mapping of str to polars DataFrame or array
            By source, rows to take values from.
        """
        made: dict[str, Any] = {}
        for name, own in self.record.items():
            both: Any = (pl.concat if isinstance(own, pl.DataFrame) else np.concatenate)([own, others[name]])
            mine = [(player, picks[:, k]) for k, player in enumerate(self.players) if player.source == name]
            if len(mine) == 1 and not mine[0][0].column:
                # A source that counts as a whole takes the other's record whole.
                made[name] = both[mine[0][1]]
            else:
                made[name] = pl.DataFrame([both[player.column].gather(rows) for player, rows in mine])
        return made


# One model only: a worker is asked about the one that a page shows, and models can be large.
@lru_cache(maxsize=1)
def _loaded(model: bytes) -> Any:
    return model_files.load(model)


def explain(model: bytes, data: HetData, like: str | None, values: Values, operations: Operations = ()) -> Explained:
    """Return what is predicted for a case, and what each source and column adds to it; parameters as of `Case`."""
    case = Case(model, data, like, values, operations)
    found = explain_variants(case.model, case.data, case.record, like)
    # The class that is predicted is the one that is explained.
    target = 0 if found.probabilities is None else int(found.probabilities[0].argmax())
    start, adds = shapley(case, target)
    value = start + float(adds.sum())
    # The largest first, of either sign.
    order = np.argsort(-np.abs(adds), kind="stable")
    by_class = {} if found.probabilities is None else dict(zip(case.classes, found.probabilities[0].tolist()))
    sources = case.model.source_weights_
    # A graph may be called like a source.
    names = [*sources, *(f"graph {name}" if name in sources else name for name in case.model.graph_weights_)]
    prediction = found.prediction[0] if by_class else float(found.prediction[0])
    columns = [(case.players[k].source, case.players[k].column, float(adds[k])) for k in order]
    dealt = dict(zip(names, found.contributions[0].tolist()))
    return Explained(prediction, value, by_class, sources=dealt, start=start, columns=columns)


def shapley(case: Case, target: int, seed: int = 0) -> tuple[float, NDArray[np.float64]]:
    """Return the start and what each player adds to it (players,), which together are the case's prediction.

    Another instance's values are replaced by the case's one after the other, in an order and in its reverse; what a
    column changes on average over orders and instances is its contribution.
    """
    rng, count = np.random.default_rng(seed), len(case.players)
    # As many orders as the rows allow, an even number, for each comes with its reverse.
    orders = max(ROWS // (count + 1), FEWEST_ORDERS) // 2 * 2
    others = _drawn(case, rng, orders // 2)
    # Each order and its reverse: what one counts too early the other counts too late, so that fewer orders are enough.
    ranks = np.array([order for _ in range(orders // 2) for order in _both_ways(rng.permutation(count))])
    replaced = ranks[:, None, :] < np.arange(count + 1)[None, :, None]
    picks = np.where(replaced, 0, 1 + np.arange(orders)[:, None, None] // 2)
    predicted = case.predicted(case.variants(picks.reshape(-1, count), others))[:, target].reshape(orders, count + 1)
    gains = np.take_along_axis(np.diff(predicted, axis=1), ranks, axis=1)
    # Not normalised: the differences along an order add up to the prediction by themselves.
    return float(predicted[:, 0].mean()), gains.mean(axis=0)


def _both_ways(order: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return order, len(order) - 1 - order


def _drawn(case: Case, rng: np.random.Generator, count: int) -> dict[str, Any]:
    """Return rows of drawn instances by source; of others where an instance has none."""
    chosen, drawn = rng.integers(0, case.data.n, count), {}
    for name in case.record:
        # -1 marks instances that have no record.
        source, rows = case.data.sources[name], np.full(case.data.n, -1)
        rows[case.data.rows(name)] = np.arange(source.n_rows)
        mine = rows[chosen]
        # Of another instance then, for a record of the source is needed to take the place of the case's own.
        mine = np.where(mine < 0, rng.integers(0, source.n_rows, count), mine)
        drawn[name] = source.frame[mine] if source.array is None else source.array[mine]
    return drawn


def along(
    model: bytes,
    data: HetData,
    like: str | None,
    values: Values,
    of: tuple[str, str],
    operations: Operations = (),
) -> tuple[list[Any], dict[str, list[float]]]:
    """Return values of a column and what is predicted along them.

    Parameters
    ----------
    model, data, like, values, operations
        As of `Case`.
    of : (source, column)

    Returns
    -------
    points : list of float or str
        Ascending numbers, or the most frequent levels.
    curves : dict of str to list of float
        The likeliest classes' probabilities, or "prediction".
    """
    source, column = of
    case = Case(model, data, like, values, operations)
    places = [k for k, player in enumerate(case.players) if player == (source, column)]
    if not places:
        raise DataError(f"The case has no column {quoted(column)} in {quoted(source)}: choose one of those it has.")
    points = grid(case.data.sources[source].frame[column], case.data.sources[source].kinds[column], POINTS)
    others = {name: _repeated(own, len(points)) for name, own in case.record.items()}
    others[source] = others[source].with_columns(points)
    picks = np.zeros((len(points), len(case.players)), np.int64)
    picks[:, places[0]] = 1 + np.arange(len(points))
    predicted = case.predicted(case.variants(picks, others))
    if not case.classes:
        return points.to_list(), {"prediction": predicted[:, 0].tolist()}
    # Classes that are never likely would be lines along zero.
    most = predicted.max(axis=0)
    heavy = [k for k in np.argsort(-most, kind="stable") if most[k] >= FAINT][:SHOWN_CLASSES]
    return points.to_list(), {str(case.classes[k]): predicted[:, k].tolist() for k in sorted(heavy)}


def _repeated(own: Any, count: int) -> Any:
    return own[np.zeros(count, np.int64)]


def grid(values: pl.Series, kind: str, count: int) -> pl.Series:
    """Return values that a column takes: evenly over most of its numbers, or its most frequent levels."""
    known = values.drop_nulls()
    if known.dtype.is_numeric() and kind == "real":
        # Between the percentiles, for one far value would leave most of the curve to nobody's cases.
        points = pl.Series(values.name, np.linspace(known.quantile(0.01), known.quantile(0.99), count))
        # Whole numbers stay whole, and equal ones after rounding are asked about once.
        return (points if known.dtype.is_float() else points.round()).cast(known.dtype).unique().sort()
    frequent = known.value_counts(sort=True)[values.name]
    return frequent[: min(count, MOST_LEVELS)].sort()
