"""What a fit of the default knows of one view, and when it is done with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.table_views import View
from hetcore.consensus.view_learners import Advanced

__all__ = ["ViewState"]

HORIZON = 40  # rounds that a view is given to catch up
PATIENCE = {"trees": 4, "kernel": 3, "linear": 3}  # rounds without a lower loss after which a learner rests
LITTLE_OF_VIEW = 0.001  # share by which a view's loss must fall within its patience


@dataclass
class ViewState:
    """What a fit knows of one view.

    Attributes
    ----------
    view : View
    rows : (m,) int64
    name : str
    losses : list of float
        By round.
    best : int
        Best round so far.
    scores, trained : (n, k) float64
        What the view says in its best round; labelled rows by the member that did not see them, or by all members.
    covers : (n,) bool
    settled : bool
    learner, number
        As an executor uses them.
    """

    view: View
    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    trained: NDArray[np.float64]
    covers: NDArray[np.bool_]
    losses: list[float] = field(default_factory=list)
    best: int = -1
    settled: bool = False
    learner: Any = None
    number: int = -1

    @property
    def name(self) -> str:
        """The view's name."""
        return self.view.name

    def take(self, advanced: Advanced, labelled: NDArray[np.bool_]) -> bool:
        """Note what the learner said after a round; return whether that is another than before."""
        self.losses.append(advanced.loss)
        self.best = advanced.best
        if advanced.scores is not None:
            self.scores[self.rows] = self.trained[self.rows] = advanced.scores
            self.trained[self.rows[labelled[self.rows]]] = advanced.trained
        return advanced.scores is not None

    def settle(self, limit: float) -> None:
        """Rest once the loss no longer falls, or won't come down to a limit any more."""
        t = len(self.losses) - 1
        patience = PATIENCE[self.view.learner]
        if t >= patience:
            self.settled = min(self.losses[-patience:]) > (1.0 - LITTLE_OF_VIEW) * min(self.losses[:-patience])
        if t >= 2 and t % 2 == 0:
            self.settled |= self.losses[-1] - self._fall(t) > limit

    def _fall(self, t: int) -> float:
        """Return how much the loss still falls up to the horizon, if its falls go on shrinking as they do now."""
        step = 2 if t >= 4 else 1
        before, now = self.losses[-1 - 2 * step] - self.losses[-1 - step], self.losses[-1 - step] - self.losses[-1]
        if now <= 0:
            return 0.0
        shrinks = min(1.0, np.sqrt(now / before)) if before > 0 else 1.0  # the root: in doubt a view goes on
        return now * float((shrinks ** np.arange(1, 1 + max(0, HORIZON - t) // step)).sum())
