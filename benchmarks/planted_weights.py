"""Do learned weights rank sources as they were planted? Prints the rank correlation over 20 seeds.

    python -m benchmarks.planted_weights > docs/planted-weights.md
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

import hetcore as hc
from datasets.generator import make_heterogeneous

SEEDS = 20
HEAD = """# Learned weights against planted truth

Printed by `python -m benchmarks.planted_weights`: five informative sources and two of noise, half of the labels
known, default GBC. Spearman's rank correlation of `source_weights_` and the planted share of the signal, over
{seeds} seeds.
"""


def correlation(task: str, together: str, seed: int) -> float:
    """Return Spearman's rank correlation between learned weights and planted informativeness of one drawn data set."""
    data, truth = make_heterogeneous(
        600, 5, n_noise_sources=2, task=task, together=together, labelled=0.5, n_graphs=2, seed=seed
    )
    model = (hc.GBCRegressor if task == "regression" else hc.GBCClassifier)().fit(data)
    planted = [truth.informativeness[name] for name in data.source_names]
    return float(spearmanr([model.source_weights_[name] for name in data.source_names], planted).statistic)


def main() -> None:
    print(HEAD.format(seeds=SEEDS))
    print("| task | sources see | mean | lowest |")
    print("|---|---|---|---|")
    for task in ("regression", "classification"):
        for together in ("views", "parts"):
            found = [correlation(task, together, seed) for seed in range(SEEDS)]
            print(f"| {task} | {together} | {np.mean(found):.3f} | {min(found):.3f} |", flush=True)


if __name__ == "__main__":
    main()
