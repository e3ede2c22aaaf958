"""What one would do without consensus, measured in a worker, kept by data and labels, and put into words."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from hetcore.data import HetData
from hetcore.events import Callback
from studio import scenarios
from studio.messages import number
from studio.views.common.paired import Paired, held_losses, paired

__all__ = [
    "TASK", "Compared", "chosen_among", "compared", "joined", "keep", "kept", "key_of", "leave", "level", "sentence",
    "share", "verdict",
]  # fmt: skip

TASK = "studio.views.consensus.without:joined"
MOST_KEPT = 64
"""Comparisons that the studio remembers, each of a few kilobytes."""
_kept: OrderedDict[str, dict[str, Any]] = OrderedDict()
_shared: OrderedDict[str, tuple[str, int]] = OrderedDict()
"""By key, the run that makes a comparison, and how many sessions have asked for it."""
_keeping = threading.Lock()


def key_of(digest: str, operations: Sequence[Mapping[str, Any]]) -> str:
    """Return what the comparison depends on, in short: the data, what is done to them, and which labels are known."""
    # Checked first, so that two spellings of one scenario have one key.
    text = json.dumps([digest, scenarios.checked(operations)], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def kept(key: str) -> dict[str, Any] | None:
    """Return what `joined` found for a key, None where nobody has asked yet."""
    # Pages of several sessions ask at once.
    with _keeping:
        return _kept.get(key)


def keep(key: str, found: dict[str, Any]) -> None:
    """Remember what `joined` found; of many the oldest is forgotten."""
    with _keeping:
        _kept[key] = found
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)


def share(key: str, begin: Callable[[], str], goes_on: Callable[[str], bool]) -> str:
    """Return the run that makes a comparison: one that another session began and that goes on, else a new one."""
    with _keeping:
        run, asking = _shared.pop(key, ("", 0))
        if not run or not goes_on(run):
            run, asking = begin(), 0
        _shared[key] = run, asking + 1
        while len(_shared) > MOST_KEPT:
            _shared.popitem(last=False)
        return run


def leave(key: str) -> bool:
    """Note that a session asks for a comparison no longer; return whether no other does."""
    with _keeping:
        run, asking = _shared.pop(key, ("", 0))
        if asking > 1:
            _shared[key] = run, asking - 1
        return asking <= 1


def joined(
    data: HetData, operations: Sequence[Mapping[str, Any]], callbacks: Iterable[Callback] = ()
) -> dict[str, Any] | None:
    """Return the best joined learner of the data after the operations; None if it was stopped.

    Parameters
    ----------
    data : HetData
        Before the operations.
    operations : sequence of mappings
        See `studio.scenarios`.
    callbacks : iterable of callable, default=()
        As `hetcore.baselines.best_joined` calls them.

    Returns
    -------
    dict
        "name", "metric_name", "cross_validated" (by learner), "held_out", "losses" (of each held-out instance) and
        "n_folds".
    """
    from hetcore.baselines.best_joined import best_joined

    scenario = scenarios.apply(data, operations)
    found = best_joined(scenario.data, scenario.y, scenario.eval_y, callbacks=callbacks)
    return None if found is None else vars(found)


class Compared(NamedTuple):
    """Consensus beside the best joined learner.

    Attributes
    ----------
    ours, theirs : float
        Errors on the labels that were hidden, or left out where none was hidden.
    difference, standard_error : float
        Of the mean losses, ours - theirs, paired by instance; NaN as long as there are no predictions to pair.
    """

    ours: float
    theirs: float
    difference: float = float("nan")
    standard_error: float = float("nan")

    @property
    def pays(self) -> bool | None:
        """Whether consensus errs less, beyond two standard errors; None where that can't be seen."""
        return Paired(self.difference, self.standard_error).less


def compared(found: Mapping[str, Any], event: Any, predictions: pl.DataFrame | None = None) -> Compared:
    """Compare what `joined` found with the last round of a training, and with its predictions once there are some."""
    metric = event.detail["metric"]
    # Without hidden labels the two are compared by what each left out itself.
    if not np.isfinite(found["held_out"]):
        return Compared(metric.get("left_out", float("nan")), level(found))
    ours = metric.get("held_out", float("nan"))
    losses = held_losses(predictions)
    # Other rows, and no pairs: the numbers are shown, and no difference is claimed.
    if losses is None or losses.size != len(found["losses"]):
        return Compared(ours, found["held_out"])
    return Compared(ours, found["held_out"], *paired(losses, found["losses"]))


def level(found: Mapping[str, Any]) -> float:
    """Return the error to draw: on the hidden labels, else the cross-validated one; NaN where there is neither."""
    held = found["held_out"]
    return held if np.isfinite(held) else found["cross_validated"].get(found["name"], float("nan"))


def sentence(found: Mapping[str, Any]) -> str:
    """Say what one would do without consensus, and what comes of it."""
    return f"{found['name']} on all tables joined: {number(level(found), found['metric_name'])}"


def verdict(found: Mapping[str, Any], both: Compared) -> str:
    """Say whether consensus pays."""
    ours, theirs = (number(value, found["metric_name"]) for value in (both.ours, both.theirs))
    if not np.isfinite(both.ours):
        return "As printed, the consensus leaves no label out: hide some to compare."
    if not np.isfinite(both.standard_error):
        return f"Consensus: {ours}."
    if both.pays is None:
        return f"No difference to be seen: consensus {ours}, {found['name']} {theirs}, within two standard errors."
    if both.pays:
        return f"Consensus pays on these data: {ours} against {theirs}, beyond two standard errors."
    return f"Consensus does not pay on these data: {ours} against {theirs}, beyond two standard errors."


def chosen_among(found: Mapping[str, Any]) -> str:
    """Say how the learner was chosen."""
    tried = found["cross_validated"]
    if not tried:
        return "There are too few labels to choose by cross-validation: it is the first that one would try."
    errors = [f"{name} {number(value, found['metric_name'])}" for name, value in tried.items()]
    where = "on the hidden labels" if np.isfinite(found["held_out"]) else f"cross-validated in {found['n_folds']} folds"
    # Of `hetcore.baselines.best_joined`, whose learners a page need not load to say so.
    quick = " CatBoost has 200 trees, to be quick." if "CatBoost" in tried else ""
    return (
        f"Its error is {where}; it was chosen by {found['n_folds']} folds of the known labels alone, where errors are: "
        f"{', '.join(errors)}.{quick}"
    )
