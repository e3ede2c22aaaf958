"""The event after each boosting round, and the callbacks that receive it.

A callback is any callable that takes a `RoundEnd` and may return True to stop: the model is then a valid model of the
rounds done. One with an attribute `stopped`, which another thread may set to True, ends GBC's round in its middle. The
library knows of no user interface; progress bars, early stopping and the studio's live view are callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hetcore.data.columns import finite, several, whole
from hetcore.data.text import shown
from hetcore.errors import ParameterError

__all__ = ["Callback", "EarlyStopping", "ProgressBar", "RoundEnd", "as_callbacks"]


@dataclass(frozen=True)
class RoundEnd:
    """What one boosting round ended with.

    Attributes
    ----------
    method : str
        Class name of the estimator.
    index : int
        Round just finished, from 0.
    total : int
        Rounds asked for.
    losses : mapping of str to float
        Loss by set of rows: "train" always; "left_out" (labelled rows that what scores them has not seen: other folds',
        or the round's subsample's), "validation" (rows kept out to end a training by) and "held_out" (rows of `eval_y`
        or `eval_set`) where there are such rows.
    source_weights, graph_weights : mapping of str to float
        Weights in [0, 1] by name; each mapping sums to 1, is empty, or, where linked rows are not alike, is all 0. Of a
        transfer method the sources' share of all weight, which sums to 1 with detail["target_mass"].
    residual_autocorrelation : mapping of str to float
        By graph: Pearson correlation in [-1, 1] of the residuals over linked labelled pairs, NaN where undefined.
    detail : mapping
        What the method adds, JSON-able: see the method's docstring.
    seconds : float
        Wall seconds since the fit began.
    compiling : float
        Of these, seconds in which kernels were compiled: the next fit of the process has none.
    """

    method: str
    index: int
    total: int
    losses: Mapping[str, float]
    source_weights: Mapping[str, float] = field(default_factory=dict)
    graph_weights: Mapping[str, float] = field(default_factory=dict)
    residual_autocorrelation: Mapping[str, float] = field(default_factory=dict)
    detail: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    compiling: float = 0.0


Callback = Callable[[RoundEnd], "bool | None"]


def as_callbacks(given: Any) -> list[Callback]:
    """Return callbacks as a list.

    Raises
    ------
    ParameterError
        If they are no list, or one of them can't be called with an event.
    """
    if not several(given):
        # one alone is what is meant, and an object's address says nothing
        own = callable(given) and not isinstance(given, type)
        name = getattr(given, "__name__", f"{type(given).__name__}()")
        cure = f"[{name}]" if own else "[...], or leave it out for none"
        raise ParameterError(f"callbacks={name if own else _shown(given)} is no list: give callbacks={cure}.")
    found = list(given)
    for each in found:
        # a class would be made anew of each event
        if isinstance(each, type) or not callable(each):
            cure = f"give {each.__name__}()" if isinstance(each, type) else "give a function, or hetcore.ProgressBar()"
            raise ParameterError(f"callbacks has {_shown(each)}, which takes no event after a round: {cure}.")
    return found


def _shown(given: Any) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else f"{given!r:.80}"


class ProgressBar:
    """Show a tqdm bar over the rounds, with the losses of the last one beside it."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, event: RoundEnd) -> None:
        # a callback may serve several fits, each of which begins at round 0
        if self._bar is None or event.index == 0:
            from tqdm.auto import tqdm

            self._bar = tqdm(total=event.total, desc=event.method)
        # by how far the bar has to go, for a fit that continues does not begin at 0
        self._bar.update(event.index + 1 - self._bar.n)
        self._bar.set_postfix({name: f"{value:.4g}" for name, value in event.losses.items()})
        if event.index + 1 == event.total:
            self._bar.close()

    def fit_ended(self, model: Any, error: BaseException | None) -> None:
        """Close the bar of a fit that ended before its last round, or failed."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


MONITORED = ("left_out", "held_out", "validation", "train")
"""The losses that a round may have."""


class EarlyStopping:
    """Stop when a loss has not fallen by more than `tol` for `patience` rounds.

    Parameters
    ----------
    patience : int, default=10
        Rounds without improvement before stopping; at least 1.
    monitor : {"left_out", "held_out", "validation", "train"}, default="left_out"
        Which of `RoundEnd.losses` to watch; rounds that lack it are passed over.
    tol : float, default=0.0
        Smallest fall that counts as an improvement, in the loss's own unit.

    Raises
    ------
    ParameterError
        If `patience` is no whole number from 1, `monitor` no loss of a round, or `tol` no finite number of at least 0.
    """

    def __init__(self, patience: int = 10, monitor: str = "left_out", tol: float = 0.0) -> None:
        if not (whole(patience) and patience >= 1):
            raise ParameterError(f"patience={shown(patience)} must be a whole number from 1: give the rounds to wait.")
        if not (isinstance(monitor, str) and monitor in MONITORED):
            among = ", ".join(map(repr, MONITORED))
            raise ParameterError(f"monitor={shown(monitor)} is no loss of a round: give one of {among}.")
        # no loss is below the best one less NaN: every fit would end after `patience` rounds
        if not (finite(tol) and tol >= 0):
            raise ParameterError(f"tol={shown(tol)} must be a finite number, at least 0: 0 counts any fall as a gain.")
        self.patience, self.monitor, self.tol = patience, monitor, tol
        self.best = float("inf")
        self.waited = 0

    def __call__(self, event: RoundEnd) -> bool:
        # the same object in a second fit must not remember the first one's best
        if event.index == 0:
            self.best, self.waited = float("inf"), 0
        value = event.losses.get(self.monitor)
        # what it watches is not there without labels left out: such a fit is never ended by it
        if value is None:
            return False
        if value < self.best - self.tol:
            self.best, self.waited = value, 0
        else:
            self.waited += 1
        return self.waited >= self.patience
