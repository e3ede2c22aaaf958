"""Twin of `hetcore.kernels.nodes`: what moves rows; the rest is bookkeeping that only whole trees show."""

import numpy as np


def partition(bins, threshold, missing_left, rows, buffer):
    left = (bins[rows] <= threshold) | ((bins[rows] == 255) & bool(missing_left))
    rows[:] = np.concatenate([rows[left], rows[~left]])
    return int(left.sum())
