"""Twins of `hetcore.kernels.histogram`."""

import numpy as np


def add_column(histogram, column, rows, ordered):
    np.add.at(histogram, column[rows], ordered[: len(rows)])


def add_many(scratch, binned, columns, rows, ordered):
    for q in range(4):
        add_column(scratch[q], binned[columns[min(q, len(columns) - 1)]], rows, ordered)


add_single = add_double = add_many


def build_group(scratch, binned, columns, n_bins, rows, ordered):
    for q in range(len(columns)):
        scratch[q] = 0
        add_column(scratch[q], binned[columns[q]], rows, ordered)


def store(histogram, out, width):
    out[:-width], out[-width:] = histogram[: len(out) - width], histogram[255 * width : 256 * width]


def subtract(histogram, out, width):
    child = np.empty_like(out)
    store(histogram, child, width)
    out -= child


def build_columns(scratch, binned, columns, n_bins, rows, ordered, out):
    first, width = 0, ordered.shape[1]
    for column, n in zip(columns, n_bins):
        full = np.zeros((256, width), np.int64)
        add_column(full, binned[column], rows, ordered)
        out[first : first + (n + 1) * width] = full[[*range(n), 255]].ravel()
        first += (n + 1) * width
