"""Twins of `hetcore.kernels.draws`: NumPy's own generator."""

import numpy as np


def draw_sets(rng, sizes, counts):
    return np.concatenate([np.sort(rng.choice(n, m, replace=False)) for n, m in zip(sizes, counts)])
