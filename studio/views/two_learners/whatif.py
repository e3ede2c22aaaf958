"""What if a modality fails when predicting: the models of the Two learners page on noisier data, or without it.

cells = what_if(data, operations, {"Together": result.model}, "pixels")    # in a worker
summary(cells, "pixels")                                                   # one sentence
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hetcore import metrics, model_files
from hetcore.data import HetData
from hetcore.events import Callback, RoundEnd
from hetcore.metrics import known_targets
from studio import scenarios
from studio.messages import shown

__all__ = ["BLANK", "LEVELS", "PATH", "by_model", "summary", "what_if"]

PATH = "studio.views.two_learners.whatif:what_if"
LEVELS = (0.5, 1.0, 2.0, 4.0)
"""Noise, in standard deviations of each column or pixel."""
BLANK = "blank"
"""The modality is not there at all."""


def what_if(
    data: HetData,
    operations: Sequence[Mapping[str, Any]],
    models: Mapping[str, bytes],
    name: str,
    seed: int = 0,
    callbacks: Sequence[Callback] = (),
) -> list[dict[str, Any]]:
    """Return how well fitted models predict with more and more noise in one source, and without it.

    Parameters
    ----------
    data : HetData
        As it was before the operations.
    operations : sequence of mappings
        Those of the training: rows whose labels they hide are scored, or all labelled rows if they hide none.
    models : mapping of str to bytes
        Model files by label.
    name : str
        Source that fails.
    seed : int, default=0
        Of the noise.
    callbacks : sequence of callable
        Called with a RoundEnd for each cell; one that returns True ends it.

    Returns
    -------
    list of dict
        "label", "level" ("0" for the data as they are, a noise in standard deviations, "blank"), "F1" (macro) and
        "error", in [0, 1].
    """
    started, cells = time.perf_counter(), []
    scenario = scenarios.apply(data, operations)
    truth = scenario.data.y if scenario.eval_y is None else scenario.eval_y
    rows = known_targets(truth)
    fitted = {label: model_files.load(content) for label, content in models.items()}
    total = len(fitted) * (len(LEVELS) + 2)
    for level, changed in _versions(scenario.data, name, seed):
        for label, model in fitted.items():
            predicted = model.predict(changed)[rows]
            scores = {"F1": metrics.macro_f1(truth[rows], predicted)}
            scores["error"] = metrics.error_rate(truth[rows], predicted)
            cells.append({"label": label, "level": level} | scores)
            event = RoundEnd(label, len(cells) - 1, total, {"held_out": scores["error"]}, detail=cells[-1],
                             seconds=time.perf_counter() - started)  # fmt: skip
            # A list and not a generator: every callback hears of the step, also after one that said stop.
            if any([callback(event) for callback in callbacks]):
                return cells
    return cells


def _versions(data: HetData, name: str, seed: int) -> Iterator[tuple[str, HetData]]:
    yield "0", data
    for sd in LEVELS:
        yield f"{sd:g}", data.with_noise(name, sd, seed)
    yield BLANK, data.select(sources=[other for other in data.source_names if other != name])


def by_model(cells: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return F1 by level for each model, as far as the cells go."""
    found: dict[str, dict[str, float]] = {}
    for cell in cells:
        found.setdefault(cell["label"], {})[cell["level"]] = float(cell["F1"])
    return found


def summary(cells: Sequence[Mapping[str, Any]], name: str) -> str:
    """Say in one sentence how far each model falls without the source; empty before that is known."""
    falls = {label: (f1["0"], f1[BLANK]) for label, f1 in by_model(cells).items() if BLANK in f1}
    if not falls:
        return ""
    # The one that falls least first.
    ordered = sorted(falls, key=lambda label: float(np.subtract(*falls[label])))
    changes = ", ".join(f"{label} {falls[label][0]:.3f} → {falls[label][1]:.3f}" for label in ordered)
    return f"Without {shown(name)}, F1: {changes}."
