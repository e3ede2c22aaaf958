"""What K classes cost beside one: a fit of K classes against K fits of one class against the others, in turn.

    python -m benchmarks.speed.classes

A fit of K classes bins once and grows one tree with K numbers in each leaf; K fits do all of it K times. Seconds are of
the processor, one thread, medians of 3: 2,000 instances, three tables of 60 columns, a graph, half of the labels known,
20 rounds of trees alone (`base_learner="tree"`) and of the default.
"""

from __future__ import annotations

import time

import numpy as np

import datasets
import hetcore as hc

REPEATS = 3


def made(n_classes: int) -> hc.HetData:
    """Return data with so many classes, half of the labels known."""
    return datasets.make_heterogeneous(
        2_000, n_features=60, n_graphs=1, task="classification", n_classes=n_classes, labelled=0.5, seed=0
    )[0]


def seconds(data: hc.HetData, y: np.ndarray, learner: str) -> float:
    """Fit once; return the processor's seconds."""
    started = time.process_time()
    hc.GBCClassifier(n_iterations=20, base_learner=learner, random_state=0).fit(data, y)
    return time.process_time() - started


def one_against_others(data: hc.HetData, learner: str) -> float:
    """Fit each class against the others; return the seconds of all."""
    known = data.labelled
    labels = [np.where(known, np.where(data.y == each, "this", "other"), None) for each in data.classes]
    return sum(seconds(data, y, learner) for y in labels)


def main() -> None:
    print("| learners | classes K | one fit, s | K fits, s | K fits / one fit | one fit / a fit of 2 classes |")
    print("|---|---|---|---|---|---|")
    for learner in ("tree", "both"):
        two = np.median([seconds(made(2), made(2).y, learner) for _ in range(REPEATS + 1)][1:])
        for n_classes in (3, 10):
            data = made(n_classes)
            pairs = [(seconds(data, data.y, learner), one_against_others(data, learner)) for _ in range(REPEATS)]
            one, many = np.median(pairs, axis=0)
            words = f"| {learner} | {n_classes} | {one:.2f} | {many:.2f} | {many / one:.1f} | {one / two:.1f} |"
            print(words, flush=True)


if __name__ == "__main__":
    main()
