"""Noise in labels for what-if questions: some change their class, some numbers are disturbed.

A larger share takes in the labels of a smaller one, and a larger noise is the smaller one stretched: a slider works on
the same rows wherever it stands.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import DataError, ParameterError

if TYPE_CHECKING:
    from hetcore.data.hetdata import HetData

__all__ = ["LabelNoise"]


class LabelNoise:
    """The what-if methods of `HetData` that spoil labels; those that are not known stay so."""

    def with_flipped_labels(self: HetData, share: float, seed: int = 0, source: str | None = None) -> HetData:
        """Give a random share of the labels another class.

        Parameters
        ----------
        share : float
            Share of the labels in [0, 1].
        seed : int, default=0
            Seed of the choice, and of the other classes, each as likely.
        source : str, optional
            Spoil only the labels of instances that this source records.

        Raises
        ------
        DataError
            If the labels are not at least two classes, or there is no such source.
        ParameterError
            If `share` is outside [0, 1].
        """
        _check_share(share)
        if len(self.classes) < 2:
            raise DataError("There are no two classes among the labels to change: disturb numbers with noise instead.")
        order, rng = self._shuffled(seed, source)
        # drawn for all, used for some: a larger share takes in the smaller one's turns
        turns = rng.integers(1, len(self.classes), size=len(order))
        hit = order[: round(share * len(order))]
        # 1 to K - 1 classes further: never the label itself
        codes = np.searchsorted(self.classes, self.y[hit].astype(str)) + turns[: len(hit)]
        y = self.y.copy()
        y[hit] = np.array(self.classes, object)[codes % len(self.classes)]
        of = "" if source is None else f", source={source!r}"
        return self._replaced(f"with_flipped_labels({share!r}, seed={seed!r}{of})", y=y)

    def with_label_noise(self: HetData, share: float, sd: float = 1.0, seed: int = 0) -> HetData:
        """Add normal noise to a random share of the labels.

        Parameters
        ----------
        share : float
            Share of the labels in [0, 1].
        sd : float, default=1.0
            Standard deviation of the noise in units of the labels' own, at least 0.
        seed : int, default=0
            Seed of the choice and of the noise.

        Raises
        ------
        DataError
            If the labels are not numbers.
        ParameterError
            If `share` is outside [0, 1], or `sd` is negative or not finite.
        """
        _check_share(share)
        if not (math.isfinite(sd) and sd >= 0):
            raise ParameterError(f"sd={sd!r} must be finite and at least 0: 1 is as much noise as the labels vary.")
        if self.target_kind != "regression" or not self.labelled.any():
            raise DataError("The labels are not numbers, so no noise can be added: change their classes instead.")
        order, rng = self._shuffled(seed)
        # noise for all labels, of which the first ones in the order get theirs
        noise = rng.standard_normal(len(order)) * (sd * np.std(self.y[self.labelled]))
        hit = order[: round(share * len(order))]
        y = self.y.copy()
        y[hit] += noise[: len(hit)]
        return self._replaced(f"with_label_noise({share!r}, sd={sd!r}, seed={seed!r})", y=y)

    def _shuffled(self: HetData, seed: int, source: str | None = None) -> tuple[NDArray[np.int64], np.random.Generator]:
        """Return the places of the labelled instances (of a source) in random order, and the generator."""
        rng, known = np.random.default_rng(seed), self.labelled
        if source is not None:
            recorded = np.zeros(self.n, dtype=bool)
            recorded[self.rows(source)] = True
            known = known & recorded
        return rng.permutation(np.flatnonzero(known)), rng


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise ParameterError(f"share={share!r} must be in [0, 1]: 0 changes no label, 1 changes every one.")
