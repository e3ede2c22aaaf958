"""Who does a source's steps during a fit: one executor in this process, and the interface of all executors.

A fit knows of each source its records and scores (`SourceState`, or a view's state); the columns are a learner's
(`hetcore.consensus.printed.source_learners`, `hetcore.consensus.view_learners`), which takes a step when called. The
local executor has the learners in this process; that of `hetcore.distributed` has them on the workers of a cluster.
What a learner is given and what it returns is all that travels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.printed.partial_sums import PartialSums
from hetcore.consensus.recall import MEMORY, Recalled
from hetcore.kernels.threads import run_each

if TYPE_CHECKING:  # which know of executors
    from hetcore.consensus.printed.source_learners import Alone, Kept, Stepped, TableLearner
    from hetcore.consensus.table_columns import TableEncoding
    from hetcore.consensus.view_learners import Advanced, ViewState

__all__ = ["Executor", "LocalExecutor", "SourceState"]


class SourceState:
    """What a fit as printed knows of a table.

    Attributes
    ----------
    name : str
    rows : (m,) int64
        Instances that the table has.
    covers : (n,) bool
    learner : TableLearner or None
        None if it is not in this process.
    number : int
        By which an executor elsewhere knows it.
    """

    def __init__(self, name: str, rows: NDArray[np.int64], n: int) -> None:
        self.name, self.rows = name, rows
        self.covers = np.zeros(n, bool)
        self.covers[rows] = True
        self.learner: TableLearner | None = None
        self.number = -1


class Executor(ABC):
    """Has the learners of a fit's sources and lets them take their steps; answers are in the order of the states.

    Attributes
    ----------
    concurrent : bool
        Whether the learners work at the same time, so that it pays to give many a step at once.
    n_jobs : int
        Threads that a learner may use.
    """

    concurrent, n_jobs = False, 1

    @abstractmethod
    def add(self, state: SourceState | ViewState, kind: type, common: Any, content: Any) -> None:
        """Make a state's learner of a kind from its rows, what all of the fit have in common, and its content."""

    @abstractmethod
    def step(self, tables: Sequence[SourceState], shared: tuple, weights: Sequence[NDArray]) -> list[Stepped]:
        """Take a step of each table, given what all share and its weights: see `TableLearner.step`."""

    @abstractmethod
    def weighted_sum(self, tables: Sequence[SourceState], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sum_i w_i f_i (n, K), w (p, K), added up as `hetcore.consensus.printed.partial_sums` says."""

    @abstractmethod
    def alone(self, tables: Sequence[SourceState], consensus: NDArray[np.float64]) -> list[Alone]:
        """Return what each table says alone, beside E (n, K)."""

    @abstractmethod
    def encodings(self, tables: Sequence[SourceState]) -> list[TableEncoding]:
        """Return what the columns of each table need, learned where it is: see `TableFitter`."""

    @abstractmethod
    def advance(self, views: Sequence[ViewState], t: int, pulls: Sequence[NDArray] | None) -> Iterable[Advanced]:
        """Take round t of each view, pulled to what the others say if `pulls` are given: see `ViewLearner.advance`."""

    @abstractmethod
    def members(self, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        """Return what each view's members say of its unlabelled rows: see `ViewLearner.members`."""

    @abstractmethod
    def pulled_members(self, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        """Return what each view's members say of its pulled rows: see `ViewLearner.pulled_members`."""

    @abstractmethod
    def keep_tables(self, tables: Sequence[SourceState]) -> list[Kept]:
        """Return what predicts of each table."""

    @abstractmethod
    def keep_views(self, views: Sequence[ViewState]) -> list[dict[str, NDArray]]:
        """Return what predicts of each view."""

    def statistics(self) -> dict[str, Any]:
        """Return what a round's `RoundEnd` has of the executor in its detail."""
        return {}


class _FromFirstStep:
    """A learner that is made when it is first asked for something, and so on the thread that asks."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._learner = make, None

    def __getattr__(self, name: str) -> Any:
        if self._learner is None:
            self._learner = self._make()
        return getattr(self._learner, name)


class LocalExecutor(Executor):
    """The learners in this process, one after the other, or each view on whichever thread is free.

    Parameters
    ----------
    n_jobs : int, default=1
        Threads for the rounds of views. Learners have no state in common, and answers are put in order, so that bits
        do not depend on it.
    """

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs, self.concurrent = n_jobs, n_jobs > 1

    def add(self, state: SourceState | ViewState, kind: type, common: Any, content: Any) -> None:
        """Make a state's learner: see `Executor.add`."""
        key = getattr(content, "key", "")
        made = partial(kind, state.rows, common, content)
        # with a key its rounds may be known from an earlier fit; without one there is nothing to find them by
        if key:
            state.learner = Recalled(MEMORY, key, made)
        else:
            # bins, landmarks and their spectra are half of a short fit
            state.learner = _FromFirstStep(made) if self.concurrent else made()

    def step(self, tables: Sequence[SourceState], shared: tuple, weights: Sequence[NDArray]) -> list[Stepped]:
        """Take a step of each table."""
        return [table.learner.step(*shared, each) for table, each in zip(tables, weights)]

    def weighted_sum(self, tables: Sequence[SourceState], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sum_i w_i f_i (n, K)."""
        sums = PartialSums((0, len(tables)))
        for i, (table, weight) in enumerate(zip(tables, weights)):
            sums.add((i, i + 1), table.learner.weighted(weight))
        return sums.total

    def alone(self, tables: Sequence[SourceState], consensus: NDArray[np.float64]) -> list[Alone]:
        """Return what each table says alone."""
        return [table.learner.alone_beside(consensus) for table in tables]

    def encodings(self, tables: Sequence[SourceState]) -> list[TableEncoding]:
        """Return what the columns of each table need."""
        return [table.learner.fit() for table in tables]

    def advance(self, views: Sequence[ViewState], t: int, pulls: Sequence[NDArray] | None) -> Iterable[Advanced]:
        """Take round t of each view."""
        # no pull is None for each
        given = list(zip(views, [None] * len(views) if pulls is None else pulls))
        if self.concurrent:
            return run_each(lambda each: each[0].learner.advance(t, each[1]), given, self.n_jobs)
        # one at a time as they are asked for, so that a fit can end between two
        return (view.learner.advance(t, pull) for view, pull in given)

    def members(self, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        """Return what each view's members say of its unlabelled rows."""
        return run_each(lambda view: view.learner.members(), views, self.n_jobs)

    def pulled_members(self, views: Sequence[ViewState]) -> list[NDArray[np.float64]]:
        """Return what each view's members say of its pulled rows."""
        return run_each(lambda view: view.learner.pulled_members(), views, self.n_jobs)

    def keep_tables(self, tables: Sequence[SourceState]) -> list[Kept]:
        """Return what predicts of each table."""
        return [table.learner.keep() for table in tables]

    def keep_views(self, views: Sequence[ViewState]) -> list[dict[str, NDArray]]:
        """Return what predicts of each view."""
        return run_each(lambda view: view.learner.keep(), views, self.n_jobs)
