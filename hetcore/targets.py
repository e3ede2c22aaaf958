"""What a fit starts from: labels as numbers, who is labelled, who is only scored."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data import HetData
from hetcore.data.text import counted, listed
from hetcore.errors import DataError, UnscoredLabelsWarning
from hetcore.losses import HalfSquared, Softmax
from hetcore.metrics import links_among
from hetcore.numerics import softmax
from hetcore.parameters import Interval
from hetcore.schema import TEXTS, Stored, array, value

__all__ = ["KnownLabels", "Problem", "Scale", "class_counts"]


@dataclass(frozen=True)
class Scale(Stored):
    """How labels become the K raw scores' targets, and scores become predictions.

    Attributes
    ----------
    classes : (K,) object
        Class names in order; empty for a regression, where K = 1.
    mean : (K,) float64
        Class shares of the labelled rows, or the mean label.
    deviation : float
        Standard deviation of the labels; 1 for classes.
    """

    classes: NDArray[np.object_] = value(TEXTS, make=lambda names: np.array(names, dtype=object), plain=list)
    mean: NDArray[np.float64] = array("K")
    deviation: float = value(Interval(0, ends="()"), make=float)

    def _fault(self, sizes: dict[str, int]) -> str:
        fits = self.classes.size != 1 and self.mean.size == self.n_outputs
        return "" if fits else "The labels of the model file are not two classes or more, or numbers"

    @property
    def is_classifier(self) -> bool:
        return self.classes.size > 0

    @property
    def n_outputs(self) -> int:
        return max(1, self.classes.size)

    @property
    def prior(self) -> NDArray[np.float64]:
        """The constant raw score (K,) that minimises the loss over the labelled rows."""
        # a class that few labels have gets a large negative score, not minus infinity, from which no gradient leads
        # back
        return np.log(np.maximum(self.mean, 1e-12)) if self.is_classifier else np.zeros(1)

    @property
    def loss(self) -> HalfSquared | Softmax:
        return Softmax() if self.is_classifier else HalfSquared()

    def codes(self, y: NDArray, known: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the targets (n, K): one-hot rows, or standardised numbers; zero where not known."""
        codes = np.zeros((len(y), self.n_outputs))
        if self.is_classifier:
            place = {name: k for k, name in enumerate(self.classes)}
            codes[np.flatnonzero(known), [place[label] for label in y[known]]] = 1.0
        else:
            codes[known, 0] = (y[known].astype(float) - self.mean[0]) / self.deviation
        return codes

    def fitted(self, raw: NDArray) -> NDArray[np.float64]:
        """Return what raw scores (n, K) say in the targets' terms: probabilities, or standardised numbers."""
        return softmax(raw) if self.is_classifier else raw

    def centred(self, raw: NDArray) -> NDArray[np.float64]:
        """Return `fitted` less the mean: 0 is what one says who knows nothing."""
        return self.fitted(raw) - self.mean if self.is_classifier else raw

    def labels(self, fitted: NDArray) -> NDArray:
        """Return the predictions (n,) for fitted values (n, K): class names or numbers."""
        if self.is_classifier:
            return self.classes[fitted.argmax(axis=-1)]
        return fitted[..., 0] * self.deviation + self.mean[0]


@dataclass(frozen=True)
class Problem:
    """One fit's data and labels.

    Attributes
    ----------
    data : HetData
    scale : Scale
    target : (n, K) float64
        Codes of the labelled rows, zero elsewhere.
    labelled, scored : (n,) bool
        Rows to train on; rows of `eval_y` that are scored and never trained on.
    truth : (n, K) float64
        Codes of the scored rows, zero elsewhere.
    """

    data: HetData
    scale: Scale
    target: NDArray[np.float64]
    labelled: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    truth: NDArray[np.float64]

    @property
    def centred(self) -> NDArray[np.float64]:
        """The labelled rows' codes less their mean, zero elsewhere."""
        # numbers are standardised, and so centred, already
        shift = self.scale.mean if self.scale.is_classifier else 0.0
        return np.where(self.labelled[:, None], self.target - shift, 0.0)

    @cached_property
    def validation_links(self) -> dict[str, Any]:
        """By graph, its links (m, m) between the rows whose residuals are looked at: the scored, else the labelled."""
        rows = self.scored if self.scored.any() else self.labelled
        return {name: links_among(graph, rows) for name, graph in self.data.graphs.items()}

    @classmethod
    def of(cls, data: HetData, y: Any, eval_y: Any, task: str) -> Problem:
        """Read labels and scale.

        Raises
        ------
        DataError
            If no instance is labelled, a class problem has one class or as many as it has labels, all real numbers, a
            label that was given here is infinite, or labels can't be read as the task asks.
        """
        # labels are read again only if the task is another one: text of numbers may be classes or numbers
        given = data.y if y is None else y
        data = data if y is None and data.target_kind == task else _labelled(data, given, task, "y")
        labelled = np.asarray(data.labelled).copy()
        if not labelled.any():
            raise DataError(f"None of the {data.n:,} instances is labelled: give a target, or y with some labels.")
        scale = _scale(data, labelled, task)
        scored, truth = np.zeros(data.n, bool), np.zeros((data.n, scale.n_outputs))
        if eval_y is not None:
            evaluated = _labelled(data, eval_y, task, "eval_y")
            scored = _scored(evaluated, labelled, scale.classes)
            truth = scale.codes(evaluated.y, scored)
        return cls(
            data=data, scale=scale, target=scale.codes(data.y, labelled), labelled=labelled, scored=scored, truth=truth
        )


class KnownLabels(NamedTuple):
    """The labels of a fit by instance.

    Attributes
    ----------
    codes : (n, k) float64
        0 where not known.
    fold : (n,) int64
        Fold of a labelled instance, -1 for the others.
    """

    codes: NDArray[np.float64]
    fold: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which instances have a label, (n,)."""
        return self.fold >= 0

    @property
    def of_classes(self) -> bool:
        """Whether they are shares of classes: 0 or 1."""
        return bool(((self.codes == 0) | (self.codes == 1)).all())


def _scored(evaluated: HetData, labelled: NDArray[np.bool_], classes: NDArray) -> NDArray[np.bool_]:
    """Return which instances are scored (n,), with a word on those that can't be."""
    # a row that is trained on is not scored, whatever the caller gives
    unseen = scored = evaluated.labelled & ~labelled
    known, words = set(classes), ""
    if known:
        # a class that no label of the training has can't be predicted, so nothing is learned from scoring it
        scored = scored & np.array([label in known for label in evaluated.y])
        unseen = unseen & ~scored
        if unseen.any():
            names = listed(sorted(set(evaluated.y[unseen])), 5)
            words = f"{counted(unseen.sum(), 'label')} of eval_y not scored, for no label of the training is {names}"
            words += ": train on an instance of each class, or take these out"
    if evaluated.labelled.any() and not scored.any() and not words:
        words = "All labels of eval_y are of instances that are trained on, so none is scored: give held-out labels"
    if words:
        warnings.warn(f"{words}.", UnscoredLabelsWarning, stacklevel=6)
    return scored


def _labelled(data: HetData, given: Any, task: str, name: str) -> HetData:
    try:
        found = data.with_target(given, task)
    except DataError as error:
        # labels to train on are called y where they are refused
        raise DataError(str(error).replace("y has ", f"{name} has ", 1)) from None
    infinite = found.report.of("infinite_label")[len(data.report.of("infinite_label")) :]
    # data have a report that says that they count as unlabelled; of what a fit is given nobody would hear
    if infinite:
        raise DataError(f"{name} has {counted(infinite[0].count, 'infinite label')}: give NaN where there is no label.")
    return found


def _refuse_measurements(classes: NDArray, n_labels: int) -> None:
    """Refuse real numbers as classes: each would be one of its own, and nothing is learned of it."""
    # few different ones may be classes, such as sizes of 37.5 and 38
    if classes.size <= 20 or classes.size <= n_labels / 2:
        return
    numbers = pl.Series(classes.astype(str)).cast(pl.Float64, strict=False)
    if not numbers.has_nulls() and (numbers != numbers.round()).any():
        what = f"The {n_labels:,} labels are {classes.size:,} different numbers such as {classes[0]}"
        raise DataError(f"{what}, which are no classes: take a regressor, or make few classes of them.")


def _scale(data: HetData, labelled: NDArray[np.bool_], task: str) -> Scale:
    if task == "regression":
        values = data.y[labelled].astype(float)
        size = float(np.abs(values).max()) or 1.0
        # in units of the largest, for the square of a label of 1e200 is infinite
        mean, deviation = size * float((values / size).mean()), size * float((values / size).std())
        # equal labels have a deviation of rounding alone; dividing by it would turn noise into the target
        return Scale(np.empty(0, object), np.array([mean]), deviation if deviation > 1e-12 * size else size)
    classes, counts = class_counts(data.y[labelled])
    # half a label for each class, so that no class has prior 0
    return Scale(classes.astype(object), (counts + 0.5) / (counts + 0.5).sum(), 1.0)


def class_counts(labels: NDArray) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Return the classes (K,) of labels (m,), in order, and how many labels each has.

    Raises
    ------
    DataError
        If they are one class, or as many as there are labels, all real numbers.
    """
    classes, counts = np.unique(labels.astype(str), return_counts=True)
    if classes.size < 2:
        only, count = str(classes[0]), len(labels)
        which = "The only label is" if count == 1 else f"All {count:,} labels are"
        raise DataError(f"{which} {only!r}: a classifier needs at least two classes.")
    _refuse_measurements(classes, len(labels))
    return classes, counts
