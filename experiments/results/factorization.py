"""The section of docs/results.md on factorization, from the finished cells."""

from __future__ import annotations

import numpy as np
from scipy.stats import ttest_rel

from experiments.factorization import FRACTIONS, MODELS
from experiments.results.cells import RESULTS, finished

HEAD = """## Heteroscedastic factorization

From the cells in `results/factorization.jsonl`, which this command runs:

    HETCORE_DATA=../shared/data python -m experiments hgbm --results docs/results

RMSE on the entries that were not observed, mean ± standard error over the splits (their number in brackets). **Bold**:
lowest of the column. Epochs and penalties of ours and of the peers were chosen on a few other splits of the same data.
The numbers of the paper's own tables are not at hand, so they do not stand beside these.
"""

SAID = {
    "movielens_100k": """### movielens_100k (90% of the ratings observed)

NLL and coverage are of the held-out ratings: mean negative log-likelihood of the Gaussian that is predicted, and the
share that lies within its 90% interval.
""",
    "intel_lab": """### intel_lab (share of the readings observed)

The readings as they are, in standard deviations of their quantity; no noise was added, so what is left is what the
models cannot say. Tucker has ranks (1, 2, 2) below 12% and (3, 3, 2) above, kNN three sensors, IDW the third power. Of
the 54 places in the lab's list the data have 50 and do not say which: see `datasets.intel_lab`.
""",
    "intel_lab_noisy": """### intel_lab_noisy (share of the readings observed)

The same with noise of one standard deviation on all readings of ten of the fifty sensors; errors are against the
readings without it.
""",
}
AGAINST = {"movielens_100k": ("HMF", ("biased MF", "Surprise SVD, tuned", "Surprise SVD")),
           "intel_lab": ("HTF", ("PTF", "Tucker", "spatial kNN", "IDW")),
           "intel_lab_noisy": ("HTF", ("PTF", "Tucker", "spatial kNN", "IDW"))}  # fmt: skip


def render() -> str:
    """Return the section."""
    cells = finished(RESULTS / "factorization.jsonl", ("data", "method", "fraction", "split"))
    return "\n".join([HEAD, *(_section(cells, data) for data in SAID)])


def _values(cells: dict, data: str, method: str, fraction: float, name: str = "error") -> dict[int, float]:
    return {k[3]: c[name] for k, c in cells.items() if k[:3] == (data, method, fraction) and name in c}


def _section(cells: dict, data: str) -> str:
    methods = [m for m in MODELS[data] if any(k[:2] == (data, m) for k in cells)]
    if not methods:
        return ""
    fractions = FRACTIONS[data]
    names = [f"{f:.0%} observed" for f in fractions] + (["NLL", "90% coverage"] if data == "movielens_100k" else [])
    lines = [SAID[data], "| method | " + " | ".join(names) + " |", "|---" * (1 + len(names)) + "|"]
    best = {f: min(np.mean([*_values(cells, data, m, f).values()] or [np.inf]) for m in methods) for f in fractions}
    for method in methods:
        row = [_cell(_values(cells, data, method, f), best[f]) for f in fractions]
        if data == "movielens_100k":
            row += [_mean(_values(cells, data, method, 0.9, name)) for name in ("nll", "coverage90")]
        lines.append(f"| {method} | " + " | ".join(row) + " |")
    return "\n".join([*lines, "", _compared(cells, data, fractions), ""])


def _cell(values: dict[int, float], best: float) -> str:
    if not values:
        return "–"
    each = np.array([*values.values()])
    text = f"**{each.mean():.4f}**" if each.mean() <= best else f"{each.mean():.4f}"
    error = each.std(ddof=1) / np.sqrt(each.size) if each.size > 1 else np.nan
    return f"{text} ± {error:.4f} [{each.size}]"


def _mean(values: dict[int, float]) -> str:
    return f"{np.mean([*values.values()]):.3f}" if values else "–"


def _compared(cells: dict, data: str, fractions: tuple[float, ...]) -> str:
    ours, peers = AGAINST[data]
    said = [text for peer in peers for f in fractions if (text := _paired(cells, data, ours, peer, f))]
    return f"{ours} less its peer, over the splits that both ran, P of a paired t test:\n\n" + "\n".join(said)


def _paired(cells: dict, data: str, ours: str, peer: str, fraction: float) -> str:
    one, other = _values(cells, data, ours, fraction), _values(cells, data, peer, fraction)
    both = sorted(set(one) & set(other))
    if len(both) < 2:
        return ""
    a, b = np.array([one[s] for s in both]), np.array([other[s] for s in both])
    gap, p = np.mean(a - b), ttest_rel(a, b).pvalue
    lower = f"lower on {(a < b).sum()} of {len(both)}"
    return f"- {peer}, {fraction:.0%}: {gap:+.4f} ({100 * gap / b.mean():+.1f}%), {lower}, P = {p:.1g}"
