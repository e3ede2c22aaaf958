"""Accuracy by number of target examples, measured in a worker, and where transfer starts to hurt, in words."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from hetcore import metrics
from hetcore.data import HetData
from hetcore.data.text import counted
from hetcore.events import Callback, RoundEnd
from hetcore.numerics import standard_error
from studio import forms, scenarios
from studio.jobs import worker_tasks
from studio.jobs.job import Setting
from studio.views.common.paired import STANDARD_ERRORS
from studio.views.transfer.domains import BASELINE, SIZES

__all__ = ["Points", "curve", "points", "sweep", "verdict"]


def sweep(data: HetData, trained: Mapping[str, Setting], target: str, possible: int, repeats: int) -> dict[str, Any]:
    """Return the arguments of `curve` for some settings that share operations.

    Parameters
    ----------
    data : HetData
    trained : mapping of str to Setting
        By method.
    target : str
    possible : int
        Most examples of each class.
    repeats : int
        Draws of the examples.
    """
    methods = [(name, setting.estimator, setting.params) for name, setting in trained.items()]
    done = [op for op in next(iter(trained.values())).operations if op["op"] != "target_labels"]
    sizes = [size for size in SIZES if size <= possible] or [1]
    return {
        "data": data, "done": done, "target": target, "methods": methods, "sizes": sizes, "repeats": repeats
    }  # fmt: skip


def curve(
    data: HetData,
    done: Sequence[Mapping[str, Any]],
    target: str,
    methods: Sequence[tuple[str, str, Mapping[str, Any]]],
    sizes: Sequence[int],
    repeats: int,
    callbacks: Iterable[Callback] = (),
) -> list[dict[str, Any]]:
    """Fit each method to each number of target examples, several times, and score it on the target's other rows.

    Parameters
    ----------
    data : HetData
        Its sources are domains.
    done : sequence of mappings
        What-if operations, none of which chooses labels.
    target : str
        The target domain.
    methods : sequence of (str, str, mapping)
        Name, class and parameters.
    sizes : sequence of int
        Examples of each class.
    repeats : int
        Draws of the examples; all methods learn from the same.
    callbacks : iterable of callable, default=()
        Each is called after every fit with a `RoundEnd` whose detail has "label" (the method), "size", "repeat",
        "accuracy" and "chance" (the commonest class), and may return True to stop.

    Returns
    -------
    list of dict
        The details, one for each fit.
    """
    started, cells = time.perf_counter(), []
    # Corruption comes after the choice of labels, which is another for each repeat.
    spoiling = [op for op in done if scenarios.OPERATIONS[op["op"]].corrupts]
    plain = scenarios.apply(data, [op for op in done if op not in spoiling]).data
    # Rows once for all fits: only their labels change.
    rows = forms.placed(plain, {"form": "domains", "target": target})
    total, held = repeats * len(sizes) * len(methods), None
    for repeat, size, (label, estimator, params) in product(range(repeats), sizes, methods):
        # The methods of one repeat and size learn from the same examples, and the arrays are kept for them.
        if held is None or held[0] != (repeat, size):
            choosing = {"op": "target_labels", "name": target, "count": size, "seed": repeat}
            held = (repeat, size), forms.labelled(scenarios.apply(plain, [choosing, *spoiling]), rows)
        cells.append(_cell(held[1], estimator, params) | {"label": label, "size": size, "repeat": repeat})
        event = _event(cells, total, time.perf_counter() - started)
        # A list and not a generator: every callback hears of the fit, also after one that said stop.
        if any([callback(event) for callback in callbacks]):
            break
    return cells


def _cell(arrays: forms.Arrays, estimator: str, params: Mapping[str, Any]) -> dict[str, float]:
    X, y = arrays.eval_set
    model = worker_tasks.find_estimator(estimator)(**params).fit(**arrays.fit)
    wrong = metrics.error_rate(y, model.predict(X))
    return {"accuracy": 1.0 - float(wrong), "chance": float(np.unique(y, return_counts=True)[1].max() / len(y))}


def _event(cells: list[dict[str, Any]], total: int, seconds: float) -> RoundEnd:
    last = cells[-1]
    error = {"held_out": 1.0 - last["accuracy"]}
    detail = {"metric_name": "error", "metric": error, **last}
    return RoundEnd(last["label"], len(cells) - 1, total, error, detail=detail, seconds=seconds)


class Points(NamedTuple):
    """Accuracy of one method: examples of each class, mean, standard error (0 of one repeat), values by repeat."""

    sizes: list[int]
    means: list[float]
    errors: list[float]
    values: dict[int, dict[int, float]]

    @property
    def band(self) -> tuple[list[int], list[float], list[float]]:
        """What a figure draws."""
        return self.sizes, self.means, self.errors


def points(cells: Iterable[Mapping[str, Any]]) -> dict[str, Points]:
    """Return the accuracy of each method from the details of `curve`, as far as they go."""
    found: dict[str, dict[int, dict[int, float]]] = {}
    for cell in cells:
        found.setdefault(cell["label"], {}).setdefault(cell["size"], {})[cell["repeat"]] = cell["accuracy"]
    return {label: _summary(values) for label, values in found.items()}


def _summary(values: dict[int, dict[int, float]]) -> Points:
    sizes = sorted(values)
    rows = [list(values[size].values()) for size in sizes]
    return Points(sizes, [float(np.mean(row)) for row in rows], [_error(row) for row in rows], values)


def _error(row: Sequence[float]) -> float:
    # A single draw has no spread, and is drawn without a bar.
    return float(np.nan_to_num(standard_error(row)))


def verdict(measured: Mapping[str, Points]) -> str:
    """Say in one sentence at how many target examples each method differs from no transfer, beyond two standard errors.

    A size counts once its examples were drawn twice.
    """
    if BASELINE not in measured:
        return f"Choose “{BASELINE}” too, to see from where on transfer hurts."
    base = measured[BASELINE]
    sizes = {size for each in measured.values() for size in each.sizes}
    parts = [_compared(name, each, base, sizes) for name, each in measured.items() if name != BASELINE]
    return "; ".join(parts)[:1].upper() + "; ".join(parts)[1:] + "." if parts else "Choose a method of transfer too."


def _compared(name: str, each: Points, base: Points, sizes: Collection[int]) -> str:
    gaps = {size: _gap(each.values[size], base.values[size]) for size in each.sizes if size in base.values}
    gaps = {size: gap for size, gap in gaps.items() if gap is not None}
    if not gaps:
        return f"{name} needs a second draw of the examples to be judged"
    clear = {size: float(np.sign(gain)) * (abs(gain) > STANDARD_ERRORS * error) for size, (gain, error) in gaps.items()}
    helps, hurts, neither = ([size for size in gaps if clear[size] == side] for side in (1, -1, 0))
    last, (gain, error) = max(gaps), gaps[max(gaps)]
    by = f"{100 * gain:+.1f} ± {100 * error:.1f} points at {last}".replace("-", "−")
    if helps and last in hurts:
        # Past the last size at which it is ahead, so that a single dip is not called the end.
        start = min(size for size in hurts if size > max(helps))
        return f"no transfer overtakes {name} at {counted(start, 'example')} ({by})"
    found = {"helps": helps, "hurts": hurts, "makes no clear difference": neither}
    by_effect = {what: at for what, at in found.items() if at}
    # The first draw is of all sizes before the second is made: none is still to come that is not among these.
    if len(gaps) == len(sizes) and len(by_effect) == 1:
        return f"{name} {next(iter(by_effect))} at {'any' if neither else 'every'} number of examples ({by})"
    return f"{name} {', '.join(f'{what} at {_list(at)}' for what, at in by_effect.items())} ({by})"


def _list(sizes: Sequence[int]) -> str:
    return " and ".join(filter(None, [", ".join(map(str, sizes[:-1])), str(sizes[-1])]))


def _gap(ours: Mapping[int, float], theirs: Mapping[int, float]) -> tuple[float, float] | None:
    """Return the mean gain over the same repeats, and its standard error; None of fewer than two, which have none."""
    # Of the same draws: how lucky a draw was is then in both.
    gains = [ours[repeat] - theirs[repeat] for repeat in ours if repeat in theirs]
    return (float(np.mean(gains)), _error(gains)) if len(gains) > 1 else None
