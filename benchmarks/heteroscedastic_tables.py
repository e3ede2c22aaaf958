"""The section of docs/results.md on heteroscedastic boosting: Table 4's protocol, and calibration beside peers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from benchmarks.cells import RESULTS, finished
from hetcore.experiments.heteroscedastic import CLASSIFICATIONS, NOISES, PREDICTORS, REGRESSIONS

TABLE4, CALIBRATION = RESULTS / "heteroscedastic.jsonl", RESULTS / "deviation.jsonl"
TABLE4_NAMES, CALIBRATION_NAMES = ("data", "noise", "method", "split"), ("data", "method", "split")
LEVEL = 0.05

HEAD = """## Heteroscedastic boosting

    HETCORE_DATA=../shared/data python -m hetcore.experiments hgbm --results docs/results
"""
TABLE4_HEAD = """### Table 4's protocol: clean and noisy labels

Accuracy in % (higher is better) or MSE (lower is better) on test rows with clean labels, mean over the splits. Noisy: a
fifth of the training labels flipped, or N(0, 0.1 var(y)) added. GBM is the same boosting with a constant deviation.
Where the paired t-test over the splits has P < 0.05, the better one is bold. "One model" and "as printed" have one
model of 100 rounds from all rows, without early stopping, on the first splits.
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


def paired(data: str, noise: str, cells: dict[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of GBM and of HGBM on the splits that both have."""
    gbm, hgbm = (scores(data, noise, method, cells) for method in ("GBM", "HGBM"))
    both = sorted(gbm.keys() & hgbm.keys())
    return np.array([gbm[split] for split in both]), np.array([hgbm[split] for split in both])


def verdict(data: str, gbm: np.ndarray, hgbm: np.ndarray) -> tuple[float, float]:
    """Return by how much HGBM is better (above 0) and the P of the paired t-test."""
    better = (hgbm - gbm) if data in CLASSIFICATIONS else (gbm - hgbm)
    if gbm.size < 2 or not better.any():
        return float(better.mean()) if gbm.size else 0.0, 1.0
    return float(better.mean()), float(ttest_rel(hgbm, gbm).pvalue)


def _shown(data: str, values: Any) -> str:
    values = list(values)
    if not values:
        return ""
    return f"{100 * np.mean(values):.2f}" if data in CLASSIFICATIONS else f"{np.mean(values):.4g}"


def _table4() -> list[str]:
    cells = finished(TABLE4, TABLE4_NAMES)
    lines = ["| data | labels | splits | GBM | HGBM | P | GBM, one model | HGBM, as printed |", "|" + "---|" * 8]
    ahead, behind = {noise: 0 for noise in NOISES}, {noise: [] for noise in NOISES}
    for noise in NOISES:
        for data in (*CLASSIFICATIONS, *REGRESSIONS):
            gbm, hgbm = paired(data, noise, cells)
            gain, p = verdict(data, gbm, hgbm)
            ahead[noise] += gain > 0
            behind[noise] += [data] if gain < 0 and p < LEVEL else []
            shown = [_shown(data, gbm), _shown(data, hgbm)]
            if p < LEVEL:
                shown[int(gain > 0)] = f"**{shown[int(gain > 0)]}**"
            others = [_shown(data, each) for each in _alone(data, noise, cells)]
            lines.append(f"| {data} | {noise} | {gbm.size} | {' | '.join([*shown, f'{p:.3f}', *others])} |")
    for noise in NOISES:
        names = ", ".join(behind[noise]) or "none"
        lines.append(
            f"\n{noise.capitalize()} labels: HGBM ahead on {ahead[noise]} of 10; significantly behind on: {names}."
        )
    return lines


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
