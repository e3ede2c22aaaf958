"""A callback of a consensus fit that records predictions round by round, and what each source adds to them.

What sources add is kept of as many instances as fit into a limit, predictions of more: those with a hidden label come
first, as the page lists them first too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data import HetData

__all__ = ["MOST_PREDICTED", "MOST_VALUES", "Recorder"]

MOST_VALUES = 1_000_000
"""Of all rounds, instances, sources, graphs and classes; four bytes each."""


MOST_PREDICTED = 2_500_000
"""Predictions of all rounds and instances."""


class Recorder:
    """Keeps what sources and graphs add after each round.

    Parameters
    ----------
    data : HetData
        Of the fit.
    scored : (n,) bool
        Whose hidden label is known.
    """

    def __init__(self, data: HetData, scored: NDArray[np.bool_]) -> None:
        self._ids, self._scored = data.ids, scored
        self._rows: NDArray[np.int64] | None = None
        self._rounds: list[NDArray[np.float32]] = []
        self._predicted: list[NDArray] = []

    def __call__(self, event: Any) -> bool:
        """Go on: the events are others' to take."""
        return False

    def see_state(self, state: Any) -> None:
        """Record a round."""
        # Late, for it loads what a fit of another method does without.
        from hetcore.consensus.printed.algorithm1 import Printed
        from hetcore.consensus.repeated import RepeatedBoosting, ViewBoosting, added_by

        if isinstance(state, Printed):
            self._see_printed(state)
        if not isinstance(state, (ViewBoosting, RepeatedBoosting)):
            return
        if self._rows is None:
            self._rows = self._chosen(added_by(state, np.arange(1)).size, state.params["n_iterations"])
        self._rounds.append(added_by(state, self._rows).astype(np.float32))
        scale = state.problem.scale
        raw = state.raw[self._first(MOST_PREDICTED // state.params["n_iterations"])]
        codes = raw.argmax(axis=1).astype(np.uint16) if scale.is_classifier else scale.labels(scale.fitted(raw))
        self._predicted.append(codes if scale.is_classifier else codes.astype(np.float32))

    def _see_printed(self, state: Any) -> None:
        """Record what tables add in a round as printed; on a cluster their scores are elsewhere."""
        if any(table.learner is None for table in state.tables):
            return
        if self._rows is None:
            self._rows = self._chosen(state.added(np.arange(1)).size, state.task.params["n_iterations"])
        self._rounds.append(state.added(self._rows).astype(np.float32))

    def _chosen(self, values: int, rounds: int) -> NDArray[np.int64]:
        return self._first(MOST_VALUES // (values * rounds))

    def _first(self, most: int) -> NDArray[np.int64]:
        """Return the rows of at most so many instances, those with a hidden label before the others, ascending."""
        return np.sort(np.argsort(~self._scored, kind="stable")[:most]).astype(np.int64)

    def staged(self) -> pl.DataFrame | None:
        """Return "id" and a column a round, "1" and on: the number of the predicted class, or the predicted number."""
        if not self._predicted or not len(self._predicted[0]):
            return None
        ids = self._ids[self._first(len(self._predicted[0]))]
        return pl.DataFrame({"id": ids} | {str(k): each for k, each in enumerate(self._predicted, 1)})

    def frame(self, names: list[str], classes: NDArray[np.int64]) -> pl.DataFrame | None:
        """Return "id", "round" from 1, and what each part adds; None where nothing was recorded.

        Parameters
        ----------
        names : list of str
            Of the parts.
        classes : (n,) int64
            The class of which the scores are, 0 for numbers.
        """
        if not self._rounds or not self._rows.size:
            return None
        found = np.stack(self._rounds)[:, np.arange(self._rows.size), :, classes[self._rows]]  # (m, rounds, parts)
        ids, rounds = self._ids[self._rows], np.arange(1, 1 + len(self._rounds))
        columns = dict(zip(names, np.moveaxis(found.reshape(-1, found.shape[2]), 1, 0)))
        return pl.DataFrame({"id": np.repeat(ids, len(rounds)), "round": np.tile(rounds, len(ids))} | columns)
