"""What the target's left-out rows said of η: the curve behind its slider, and where transfer hurts, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from hetcore.figures.transfer import rounded
from hetcore.transfer.left_out import BOOSTED, MARGIN
from studio.jobs.job import Setting

__all__ = ["FEW", "Path", "apart", "beyond", "but_eta", "path_of", "story"]

FLAT = 5e-4
"""Losses over η that differ by less are the same as shown."""
FEW = 30
"""Labelled rows of the target from which its left-out loss says more than chance: 6 may call good what errs more."""
NATS = 1.92
"""Of log-likelihood: an η that has as much less than the best one is out of the likelihood interval of 95%."""


class Path(NamedTuple):
    """The left-out log loss by η of one training.

    Attributes
    ----------
    etas, losses : list of float
        η, rising, and the log loss in nats.
    alone, pooled : float or None
        The loss of the target alone and of all domains pooled.
    eta, chosen : float, str
        What was trained: η, and "boosting" or what the guard took in its place.
    shares : list of float
        The share that each η has of the vote; empty of trainings of before all voted.
    voted : float or None
        The loss of all η together, by these shares; None of those trainings.
    """

    etas: list[float]
    losses: list[float]
    alone: float | None
    pooled: float | None
    eta: float
    chosen: str
    shares: list[float]
    voted: float | None = None


def but_eta(setting: Setting) -> Setting:
    """Return the setting that a curve over η is of, whatever η it was trained with."""
    return replace(setting, params={name: value for name, value in setting.params.items() if name != "eta"})


def path_of(events: Sequence[Any]) -> Path | None:
    """Return the path that the first event of a training holds; None of one without."""
    detail = events[0].detail if events else {}
    held = detail.get("eta_path") or {}
    rows = list(zip(*(held.get(name, ()) for name in ("kind", "learner", "eta", "loss"))))
    points = sorted((eta, loss) for _, learner, eta, loss in rows if eta is not None and learner == detail["learner"])
    # Two points are the least that can be called a curve.
    if len(points) < 2:
        return None
    etas, losses = map(list, zip(*points))
    voting = list(zip(held.get("eta", ()), held.get("share", ())))
    return Path(
        etas,
        losses,
        _least(rows, "target only"),
        pooled=_least(rows, "all pooled"),
        eta=detail["eta"],
        chosen=detail["chosen"],
        shares=[sum(share for at, share in voting if at == eta) for eta in etas] if voting else [],
        voted=next((loss for kind, _, eta, loss in rows if kind == BOOSTED and eta is None), None),
    )


def _least(rows: Iterable[Sequence[Any]], kind: str) -> float | None:
    return min((loss for found, _, _, loss in rows if found == kind), default=None)


def story(path: Path, rows: int | None = None) -> str:
    """Say where transfer helps most and where it hurts: loses more than the target alone; of few `rows` that they are.

    The page's own accuracy is of the target's other rows, and may say the opposite.
    """
    best = min(range(len(path.etas)), key=path.losses.__getitem__)
    what = "η makes no difference here" if _flat(path) else f"η = {path.etas[best]:g} is best"
    text = f"On the target's left-out rows {what} (log loss {path.losses[best]:.3f})."
    if path.alone is not None:
        text += _hurts(path.etas, path.losses, path.alone, best)
    text += _taken(path)
    if rows is not None and path.chosen == BOOSTED and _alone_wins(path):
        text += _unguarded(path, rows)
    if rows is not None and rows < FEW:
        text += f" But {rows} rows tell little: the shaded 95% likelihood interval has {_interval(path, rows)}."
        text += " See how examples drawn anew do, over 10 seeds."
    return text


def _flat(path: Path) -> bool:
    return max(path.losses) - min(path.losses) < FLAT


def _taken(path: Path) -> str:
    """Say what “auto” takes."""
    if path.chosen != BOOSTED:
        return f" No η is worth it here: the guard takes “{path.chosen}”."
    if _flat(path):
        return ""
    text = " “auto” lets every η vote, as far as these rows make it likely: the larger its point, the more."
    # Said of the vote and not of η: transfer may hurt at the mean alone, which no training used alone.
    together = "" if path.voted is None or _alone_wins(path) else f" Together they have {path.voted:.3f}."
    return f"{text}{together} η = {path.eta:g} is only their mean."


def _alone_wins(path: Path) -> bool:
    return path.alone is not None and path.alone <= min(path.losses)


def _unguarded(path: Path, rows: int) -> str:
    """Say why boosting is kept though the target alone loses less than at every η: few rows hardly reach the margin."""
    voted = min(path.losses) if path.voted is None else path.voted
    less = rows * (voted - path.alone)
    if less <= 0:
        return f" “auto” boosts all the same: all η together have {voted:.3f}."
    # The guard counts beside the losses how far each has to be made steeper than usual.
    text = f"over these {rows} rows that is {less:.1f} nats less, and its guard asks for {MARGIN:g}, steepness counted"
    return f" “auto” boosts all the same: {text}."


def apart(rows: int) -> float:
    """Return how much more mean log loss than the least an η must have to be told from the best one, by 95%.

    Half the quantile of chi-squared with one degree of freedom, as the loss of all rows is the negative log-likelihood
    (S. S. Wilks, "The large-sample distribution of the likelihood ratio", Ann. Math. Statist. 9, 1938).
    """
    return NATS / max(rows, 1)


def _interval(path: Path, rows: int) -> str:
    """Say which η of the path the rows do not tell from the best one."""
    like = [eta for eta, loss in zip(path.etas, path.losses) if loss <= min(path.losses) + apart(rows)]
    return f"η = {like[0]:g}" + (f" to {like[-1]:g}" if len(like) > 1 else "")


def beyond(path: Path, eta: float) -> str:
    """Say that an η lies beyond the curve, where no loss was measured; empty if it does not."""
    if path.etas[0] <= eta <= path.etas[-1]:
        return ""
    ends = f"{path.etas[0]:g} to {path.etas[-1]:g}"
    return f"η = {rounded(eta)} lies beyond the curve, {ends}: its loss was not measured. "


def _hurts(etas: Sequence[float], losses: Sequence[float], alone: float, best: int) -> str:
    # The slider goes further than what was measured.
    tried = f"at every η tried, {etas[0]:g} to {etas[-1]:g}"
    if losses[best] >= alone:
        return f" Transfer hurts {tried}: the target alone has {alone:.3f}."
    worse = [loss > alone for loss in losses]
    # Only an unbroken stretch to the end is called so; single values between are named one by one.
    above = next((k for k in range(best, len(etas)) if all(worse[k:])), len(etas))
    below = next((k for k in range(best, -1, -1) if all(worse[: k + 1])), -1)
    between = [eta for k, eta in enumerate(etas) if below < k < above and worse[k]]
    text = f" It beats the target alone ({alone:.3f})"
    ends = [f"from η = {etas[above]:g} on"] if above < len(etas) else []
    ends += [f"at η = {etas[below]:g}{' and less' if below else ''}"] if below >= 0 else []
    ends += ["at η = " + ", ".join(f"{eta:g}" for eta in between)] if between else []
    return text + (f"; {' and '.join(ends)} transfer hurts." if ends else f" {tried}.")
