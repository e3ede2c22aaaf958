"""The section of docs/results.md on heteroscedastic boosting: Table 4's protocol, and calibration beside peers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from experiments.heteroscedastic import CLASSIFICATIONS, NOISES, PREDICTORS, REGRESSIONS
from experiments.results.cells import RESULTS, finished

TABLE4, CALIBRATION = RESULTS / "heteroscedastic.jsonl", RESULTS / "deviation.jsonl"
TABLE4_NAMES, CALIBRATION_NAMES = ("data", "noise", "method", "split"), ("data", "method", "split")
LEVEL = 0.05

HEAD = """## Heteroscedastic boosting

    HETCORE_DATA=../shared/data python -m experiments hgbm --results docs/results
"""
TABLE4_HEAD = """### Table 4's protocol: clean and noisy labels

Accuracy in % (higher is better) or MSE (lower is better) on test rows with clean labels, mean over the splits. Noisy: a
fifth of the training labels flipped, or N(0, 0.1 var(y)) added. GBM is the same boosting with a constant deviation:
one forest of five members, where HGBM has two. So HGBM less a GBM of ten members, each of nine tenths of the rows,
stands beside: points of accuracy, or % of the MSE, with the number of splits in brackets, and its P. Where the paired
t-test over the splits has P < 0.05, the better of GBM and HGBM is bold. "One model" and "as printed" have one model of
100 rounds from all rows, without early stopping, on the first splits.
"""
CALIBRATION_HEAD = """### Calibration: negative log likelihood and 90% intervals

Mean over the splits and its standard error; share of test labels within the 90% interval; median CPU seconds of fit and
prediction, one thread. Peers have their default parameters, and the same with a tenth of the training rows to stop by.
The best NLL, and those within one standard error of it, are bold, methods with less than half of the splits aside.
"""


def render() -> str:
    """Return the section."""
    return "\n".join([HEAD, TABLE4_HEAD, *_table4(), "", CALIBRATION_HEAD, *_calibration(), ""])


def scores(data: str, noise: str, method: str, cells: dict[Any, Any]) -> dict[int, float]:
    """Return the scores of finished cells by split."""
    return {key[3]: cell["score"] for key, cell in cells.items() if key[:3] == (data, noise, method)}


def paired(data: str, noise: str, method: str, cells: dict[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of a method and of HGBM on the splits that both have."""
    other, hgbm = (scores(data, noise, name, cells) for name in (method, "HGBM"))
    both = sorted(other.keys() & hgbm.keys())
    return np.array([other[split] for split in both]), np.array([hgbm[split] for split in both])


def verdict(data: str, other: np.ndarray, hgbm: np.ndarray) -> tuple[float, float]:
    """Return by how much HGBM is better (above 0) and the P of the paired t-test."""
    better = (hgbm - other) if data in CLASSIFICATIONS else (other - hgbm)
    if other.size < 2 or not better.any():
        return float(better.mean()) if other.size else 0.0, 1.0
    return float(better.mean()), float(ttest_rel(hgbm, other).pvalue)


def _shown(data: str, values: Any) -> str:
    values = list(values)
    if not values:
        return ""
    return f"{100 * np.mean(values):.2f}" if data in CLASSIFICATIONS else f"{np.mean(values):.4g}"


def _table4() -> list[str]:
    cells = finished(TABLE4, TABLE4_NAMES)
    heads = "data | labels | splits | GBM | HGBM | P | HGBM less GBM of ten | P | GBM, one model | HGBM, as printed"
    lines = [f"| {heads} |", "|" + "---|" * 10]
    for noise in NOISES:
        for data in (*CLASSIFICATIONS, *REGRESSIONS):
            lines.append(_row(data, noise, cells))
    for noise in NOISES:
        for method in ("GBM", "GBM, ten members"):
            lines.append("\n" + _summary(noise, method, cells))
    return lines


def _row(data: str, noise: str, cells: dict[Any, Any]) -> str:
    gbm, hgbm = paired(data, noise, "GBM", cells)
    gain, p = verdict(data, gbm, hgbm)
    shown = [_shown(data, gbm), _shown(data, hgbm)]
    if p < LEVEL:
        shown[int(gain > 0)] = f"**{shown[int(gain > 0)]}**"
    ten, same = paired(data, noise, "GBM, ten members", cells)
    beside = [_less(data, ten, same), f"{verdict(data, ten, same)[1]:.3f}" if ten.size > 1 else ""]
    others = [_shown(data, each) for each in _alone(data, noise, cells)]
    return f"| {data} | {noise} | {gbm.size} | {' | '.join([*shown, f'{p:.3f}', *beside, *others])} |"


def _less(data: str, other: np.ndarray, hgbm: np.ndarray) -> str:
    """Return the difference of two means, in points of accuracy or in %, and over how many splits."""
    if not other.size:
        return ""
    size = 100 * (hgbm.mean() - other.mean()) / (1.0 if data in CLASSIFICATIONS else other.mean())
    return f"{size:+.2f}{'' if data in CLASSIFICATIONS else '%'} [{other.size}]"


def _summary(noise: str, method: str, cells: dict[Any, Any]) -> str:
    """Say in a sentence where HGBM is ahead of a method and where behind."""
    found = {data: verdict(data, *paired(data, noise, method, cells)) for data in (*CLASSIFICATIONS, *REGRESSIONS)}
    ahead = sum(gain > 0 for gain, _ in found.values())
    surely = [sum(sign * gain > 0 and p < LEVEL for gain, p in found.values()) for sign in (1, -1)]
    names = ", ".join(data for data, (gain, p) in found.items() if gain < 0 and p < LEVEL) or "none"
    start = f"{noise.capitalize()} labels: HGBM ahead of {method} on {ahead} of {len(found)} sets"
    return f"{start}, significantly on {surely[0]}; significantly behind on {surely[1]}: {names}."


def _alone(data: str, noise: str, cells: dict[Any, Any]) -> list[list[float]]:
    """Return the scores of GBM and of HGBM as printed, one model each, on the splits that both have."""
    each = [scores(data, noise, method, cells) for method in ("GBM, one model", "HGBM, as printed")]
    both = sorted(each[0].keys() & each[1].keys())
    return [[found[split] for split in both] for found in each]


def _calibration() -> list[str]:
    cells = finished(CALIBRATION, CALIBRATION_NAMES)
    lines = ["| data | method | splits | NLL | within 90% | RMSE | seconds |", "|" + "---|" * 7]
    for data in REGRESSIONS:
        rows = {method: [cell for key, cell in cells.items() if key[:2] == (data, method)] for method in PREDICTORS}
        rows = {method: each for method, each in rows.items() if each}
        means = {method: np.mean([cell["nll"] for cell in each]) for method, each in rows.items()}
        errors = {method: _error([cell["nll"] for cell in each]) for method, each in rows.items()}
        most = max((len(each) for each in rows.values()), default=0)
        best = min((method for method in rows if 2 * len(rows[method]) > most), key=means.get, default=None)
        for method, each in rows.items():
            near = 2 * len(each) > most and means[method] <= means[best] + errors[best]
            nll = f"{means[method]:.3f} ± {errors[method]:.3f}"
            numbers = [
                f"**{nll}**" if near else nll,
                f"{100 * np.mean([cell['coverage90'] for cell in each]):.1f}%",
                f"{np.mean([cell['rmse'] for cell in each]):.4g}",
                f"{np.median([cell['seconds'] for cell in each]):.2f}",
            ]
            lines.append(f"| {data} | {method} | {len(each)} | {' | '.join(numbers)} |")
    return lines


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
