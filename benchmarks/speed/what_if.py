"""Time a consensus that is trained again with something changed, with and without what earlier trainings left.

    python -m benchmarks.speed.what_if

digits_views, a tenth of the labels, default settings. The seconds are of the processor, to the first round and to the
end, with what each source adds; the median of three, everything compiled and loaded.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import datasets
import hetcore as hc
from hetcore.consensus.recall import MEMORY
from hetcore.kernels.warm import warm_up

ROOM = 768 << 20
REPEATS = 3
CHANGES = {
    "λ0 to 0.5": {"lambda0": 0.5},
    "λ1 to 1": {"lambda1": 1.0},
    "noise in a source": {"noise": True},
    "a fifth of the labels hidden": {"hidden": 0.2},
    "nothing": {},
}


def data_and_labels() -> tuple[hc.HetData, Any]:
    """Return the opening data and a tenth of their labels."""
    data = datasets.load("digits_views")
    y = data.y.copy()
    y[np.random.default_rng(0).permutation(data.n)[data.n // 10 :]] = None
    return data, y


def seconds(
    data: hc.HetData, y: Any, noise: bool = False, hidden: float = 0.0, **params: Any
) -> tuple[float, float]:
    """Return the processor's seconds to the first round and to the end."""
    data, y = data.with_noise(data.source_names[0], 1.0) if noise else data, y.copy()
    known = np.flatnonzero([label is not None for label in y])
    y[known[: round(hidden * known.size)]] = None
    started, ends = time.process_time(), []
    model = hc.GBCClassifier(**params).fit(data, y, callbacks=[lambda _: ends.append(time.process_time())])
    model.explain(data)
    return ends[0] - started, time.process_time() - started


def times(data: hc.HetData, y: Any, change: dict[str, Any], room: int) -> tuple[float, float]:
    """Return the medians, with room after a training with default settings."""
    found = []
    for _ in range(REPEATS):
        MEMORY.give_room(0)
        MEMORY.give_room(room)
        if room:
            seconds(data, y)
        found.append(seconds(data, y, **change))
    MEMORY.give_room(0)
    return tuple(np.median(found, axis=0).tolist())


def main() -> None:
    warm_up()
    data, y = data_and_labels()
    seconds(data, y)
    print("| what changed | first round, s | recalled | ratio | end, s | recalled | ratio |")
    print("|---|---|---|---|---|---|---|")
    for words, change in CHANGES.items():
        alone, recalled = times(data, y, change, 0), times(data, y, change, ROOM)
        cells = [f"{a:.2f} | {b:.2f} | {b / a:.2f}" for a, b in zip(alone, recalled)]
        print(f"| {words} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
