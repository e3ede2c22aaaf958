"""Every kernel against its slow twin in tests/naive: same results, same changes to the arrays passed in."""

import copy
import importlib

import numpy as np
import pytest

from hetcore.kernels.histogram import build_columns, build_group, build_sparse, subtract_sparse
from hetcore.kernels.layout import COLUMN, KEY, PackedLayout, TreeParams, make_scratch
from hetcore.kernels.packed_sums import pack_rows
from hetcore.kernels.splitting import node_terms, scan_column, scan_columns, scan_sparse
from tests.naive import binning as naive_binning
from tests.naive import histogram as naive_histogram
from tests.naive import packed_sums as naive_sums
from tests.naive import splitting as naive_splitting


def copies(args):
    return copy.deepcopy(args)


def agree(module, name, *args, rtol=1e-9, compare=None):
    """Run kernel and twin on copies of `args`; results and (the chosen) array arguments must agree afterwards."""
    ours, twins = copies(args), copies(args)
    got = getattr(importlib.import_module(f"hetcore.kernels.{module}"), name)(*ours)
    expected = getattr(importlib.import_module(f"tests.naive.{module}"), name)(*twins)
    for a, b in zip(np.atleast_1d(got), np.atleast_1d(expected)) if expected is not None else ():
        np.testing.assert_allclose(a, b, rtol=rtol, equal_nan=True)
    for i in range(len(args)) if compare is None else compare:
        if isinstance(args[i], np.ndarray):
            np.testing.assert_allclose(ours[i], twins[i], rtol=rtol, atol=1e-9, equal_nan=True)
    return got


NORMAL = np.random.default_rng(0).normal(size=3000)
VALUES = {
    "random": NORMAL,
    "few distinct": np.random.default_rng(1).integers(0, 7, 300),
    "one heavy value": np.where(np.random.default_rng(2).random(3000) < 0.6, 0, NORMAL),
    "constant": np.full(50, 3.5),
    "single": np.array([1.0]),
    "empty": np.array([]),
    "infinite": np.array([-np.inf, -1, 0, 1, np.inf, np.inf]),
    "next to each other": np.nextafter(np.float32(1), np.float32(2)) * np.array([1, 1]) - np.array([0, 2e-7]),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("max_bins", [2, 3, 16, 255])
def test_thresholds_and_bins(values, max_bins):
    values = np.sort(values.astype(np.float32))
    cuts = np.full(256, np.inf, np.float32)
    n_cuts = agree("binning", "find_thresholds", values, max_bins, np.zeros(254, np.float32))
    naive_binning.find_thresholds(values, max_bins, cuts)
    assert n_cuts < max_bins
    column = np.concatenate([values, [np.nan]]).astype(np.float32)[:, None]
    n_bins, out = np.array([n_cuts + 1], np.int32), np.zeros((1, len(column)), np.uint8)
    agree("binning", "bin_values", column, cuts[None], n_bins, out)
    agree("binning", "survey_runs", values, max_bins)
    if 0 < len(values):
        agree("binning", "run_length", values, 0)
        agree("binning", "between", values[0], values[-1])


def packed_table(n=200, n_outputs=1, n_hessians=0, seed=0):
    """Return gradients, hessians, rows, words and how to read them."""
    rng = np.random.default_rng(seed)
    gradients = rng.normal(size=(n, n_outputs)).astype(np.float32)
    hessians = rng.random((n, n_hessians)).astype(np.float32)
    rows = np.sort(rng.permutation(n)[: max(1, n * 3 // 4)]).astype(np.uint32)
    used = n_outputs + n_hessians
    width = used if used <= 2 else -4 * (-used // 4)
    layout = PackedLayout(np.ones(width), n_outputs, n_hessians, int(len(rows)).bit_length())
    packed = np.zeros((n, width), np.int64)
    assert naive_sums.pack_rows(gradients, hessians, rows, packed, layout) == 0
    return gradients, hessians, rows, packed, layout


SHAPES = [(1, 0), (1, 1), (2, 0), (3, 1), (4, 4), (10, 1)]


@pytest.mark.parametrize("n_outputs,n_hessians", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 200])
def test_packed_sums(n, n_outputs, n_hessians):
    gradients, hessians, rows, packed, layout = packed_table(n, n_outputs, n_hessians)
    agree("packed_sums", "pack_rows", gradients, hessians, rows, np.zeros_like(packed), layout)
    agree("packed_sums", "absolute_sum", gradients, rows, n_outputs - 1)
    totals = np.zeros(packed.shape[1])
    assert agree("packed_sums", "absolute_sums", gradients, hessians, rows, totals) == 0.0
    agree("packed_sums", "choose_units", np.arange(packed.shape[1]) + 0.5, 0.0, layout)
    agree("packed_sums", "write_words", gradients, hessians, rows, np.ones_like(packed), layout)
    agree("packed_sums", "gather_packed", packed, rows, np.zeros_like(packed[rows]), np.zeros_like(packed[0]))
    total = packed[rows].sum(axis=0)
    assert agree("packed_sums", "packed_count", total, layout) == len(rows)
    agree("packed_sums", "mean_hessian", total, layout)
    for k in range(n_outputs):
        value = agree("packed_sums", "packed_value", total, layout, k)
        np.testing.assert_allclose(value, gradients[rows, k].sum(dtype=float), atol=1e-6)
        agree("packed_sums", "output_hessian", total, layout, k)
    for l2, sums in ((0.0, total), (1.5, total), (0.0, np.zeros_like(total))):
        agree("grower", "write_value", sums, layout, l2, np.ones(n_outputs))


@pytest.mark.parametrize("total,bits", [(0.0, 40), (1.0, 40), (0.75, 61), (3e-30, 50), (1e30, 61), (1024.0, 10)])
def test_units(total, bits):
    unit = agree("packed_sums", "unit_for", total, bits)
    assert total / unit < 2.0**bits
    assert total == 0 or total / unit >= 2.0 ** (bits - 1)


def test_packing_says_what_is_wrong():
    gradients, hessians, rows, packed, layout = packed_table(50, 1, 1)
    cases = (gradients, np.nan, 1), (gradients, np.inf, 1), (hessians, np.nan, 1), (hessians, -1, 2)
    for array, value, code in cases:
        broken = array.copy()
        broken[rows[3]] = value
        pair = (broken, hessians) if array is gradients else (gradients, broken)
        assert pack_rows(*pair, rows, packed, layout) == code == naive_sums.pack_rows(*pair, rows, packed, layout)


def made_table(n=200, d=6, bins=20, missing=0.1, seed=0):
    rng = np.random.default_rng(seed)
    binned = rng.integers(0, bins, (d, n)).astype(np.uint8)
    binned[rng.random((d, n)) < missing] = 255
    return binned


@pytest.mark.parametrize("n_outputs,n_hessians", SHAPES)
@pytest.mark.parametrize("group", [[3], [0, 5], [4, 1, 2], [0, 1, 2, 3]])
def test_histograms(n_outputs, n_hessians, group):
    _, _, rows, packed, _ = packed_table(200, n_outputs, n_hessians)
    binned, width = made_table(), packed.shape[1]
    scratch, columns = np.zeros((4, 256, width), np.int64), np.array(group, np.int32)
    args = (scratch, binned, columns, np.full(len(group), 20, np.int32), rows, packed[rows])
    ours, twin = copies(args), copies(args)
    build_group(*ours)
    naive_histogram.build_group(*twin)
    assert np.array_equal(ours[0][: len(group)], twin[0][: len(group)])
    flat, compact = ours[0][0].ravel(), np.arange(21 * width)
    agree("histogram", "store", flat, compact, width)
    agree("histogram", "subtract", flat, compact, width)
    name = {1: "add_single", 2: "add_double"}.get(width, "add_many")
    agree("histogram", name, scratch, binned, columns, rows, packed[rows])


@pytest.mark.parametrize("n_outputs,n_hessians", SHAPES)
@pytest.mark.parametrize("chosen", [[2], [0, 5, 1, 3, 4, 2]])
def test_all_columns_of_a_node(n_outputs, n_hessians, chosen):
    _, _, rows, packed, layout = packed_table(200, n_outputs, n_hessians)
    columns, n_bins, width = np.array(chosen, np.int32), np.full(len(chosen), 20, np.int32), packed.shape[1]
    offsets, given = np.arange(len(chosen) + 1) * 21, (made_table(), columns, n_bins, rows, packed[rows])
    scratch, out = make_scratch(width, n_outputs), np.zeros(21 * len(chosen) * width, np.int64)
    build_columns(scratch, *given, out)
    twin = np.zeros_like(out)
    naive_histogram.build_columns(None, *given, twin)
    assert np.array_equal(out, twin)
    total, params = packed[rows].sum(axis=0), TreeParams(l2=1.5)
    ours, twin, task = np.zeros(4), np.zeros(4), (out.reshape(-1, width), offsets, total, layout, params)
    gain = scan_columns(*task, scratch, ours)
    np.testing.assert_allclose(gain, naive_splitting.scan_columns(*task, RoomWithTotal(total), twin), rtol=1e-7)
    np.testing.assert_allclose(ours, twin, rtol=1e-7)
    assert ours[COLUMN] >= 0


class RoomWithTotal:
    """What the twins of the scans look up beside the kernel's scratch."""

    def __init__(self, total):
        self.total = total


@pytest.mark.parametrize("n_outputs,n_hessians", SHAPES)
@pytest.mark.parametrize("l2", [0.0, 1.5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("limits", [(1, 0.0), (20, 0.0), (1, 30.0), (300, 0.0)])
def test_best_split_of_a_column(n_outputs, n_hessians, l2, missing, limits):
    _, _, rows, packed, layout = packed_table(200, n_outputs, n_hessians)
    params = TreeParams(min_samples_leaf=limits[0], min_child_weight=limits[1], l2=l2)
    full, total = np.zeros((256, packed.shape[1]), np.int64), packed[rows].sum(axis=0)
    naive_histogram.add_column(full, made_table(missing=missing)[0], rows, packed[rows])
    outputs = np.zeros((2, n_outputs))
    node = node_terms(total, layout, params, outputs)
    twin = naive_splitting.node_terms(total, layout, params, outputs.copy())
    np.testing.assert_allclose(node, twin, rtol=1e-9, atol=1e-12)
    ours, twin = np.array([node.floor, -1, -1, -1]), np.array([node.floor, -1, -1, -1])
    task = full[:20], full[255], node, layout, outputs
    found = scan_column(*task, make_scratch(packed.shape[1], n_outputs), ours)
    assert found == naive_splitting.scan_column(*task, RoomWithTotal(total), twin)
    np.testing.assert_allclose(ours, twin, rtol=1e-7)
    assert found == (limits[0] < 300)
    assert not found or ours[KEY] > node.floor


@pytest.mark.parametrize("n_outputs,n_hessians", SHAPES)
@pytest.mark.parametrize("l2", [0.0, 1.5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n", [2, 7, 40])
def test_few_rows_find_the_same_split_to_the_bit(n, missing, l2, n_outputs, n_hessians):
    column = made_table(n, 1, 120, missing)[0]
    for seed in range(20):
        _, _, rows, packed, layout = packed_table(n, n_outputs, n_hessians, seed)
        width, full = packed.shape[1], np.zeros((256, packed.shape[1]), np.int64)
        naive_histogram.add_column(full, column, rows, packed[rows])
        outputs, scratch = np.zeros((2, n_outputs)), make_scratch(width, n_outputs)
        node = node_terms(packed[rows].sum(axis=0), layout, TreeParams(l2=l2), outputs)
        expected, found = np.array([node.floor, -1, -1, -1]), np.array([node.floor, -1, -1, -1])
        better = scan_column(full[:120], full[255], node, layout, outputs, scratch, expected)
        n_filled = build_sparse(scratch, column, rows, packed[rows])
        bins = sorted(set(column[rows].tolist()) - {255})
        assert scratch.bins[:n_filled].tolist() == bins
        assert np.array_equal(scratch.packed[:width, : n_filled + 1].T, full[[*bins, 255]])
        assert not scratch.sums.any()
        assert not scratch.marks.any()
        parent = full[[*range(120), 255]] + 3
        subtract_sparse(scratch, n_filled, parent)
        assert (parent == 3).all()
        assert scan_sparse(n_filled, node, layout, outputs, scratch, found) == better
        assert np.array_equal(found, expected)


def test_loops_over_cuts():
    rng = np.random.default_rng(0)
    _, _, rows, packed, layout = packed_table(200, 1, 1)
    histogram = np.zeros((30, 2), np.int64)
    np.add.at(histogram, rng.integers(0, 30, len(rows)) // 3 * 3, packed[rows])
    start, bins, mask = packed[rows[:3]].sum(axis=0), np.zeros(256, np.uint8), 2**layout.count_bits - 1
    n = agree("splitting", "filled_bins", histogram, 1, mask, bins, compare=[])
    assert n == 10
    filled = (np.arange(10) * 3).astype(np.uint8)
    agree("splitting", "left_words", histogram, filled, start, np.zeros((2, 256), np.int64))
    wide = packed_table(60, 4, 1)[3]
    agree("splitting", "left_words", wide, filled, wide[7], np.zeros((8, 256), np.int64))
    agree("splitting", "running_sums", histogram, start, 1, np.zeros(30, np.int64))
    sums, weights = np.cumsum(histogram[:, 1]), np.sort(rng.random(30)) * 60
    agree("splitting", "cut_weights", sums, layout, np.zeros(30))
    agree("splitting", "cut_weights", sums, packed_table(200, 1, 0)[-1], np.zeros(30))
    agree("splitting", "add_squares", sums, layout.count_bits, 1e-9, 0.4, 1.0, weights, rng.random(30))
    task = sums, sums[::-1].copy(), layout.count_bits, (1e-9, 2e-9), 1e-9, (0.5, 0.4, 61.0)
    agree("splitting", "add_quotients", *task, weights, rng.random(30))
    node = node_terms(packed[rows].sum(axis=0), layout, TreeParams(min_samples_leaf=9), np.zeros((2, 1)))
    agree("splitting", "cut_products", sums, weights, mask, node, np.zeros(30))
    values, products = rng.random(30), np.where(rng.random(30) < 0.3, np.inf, rng.random(30))
    for key in (0.0, 1.0, 1e9):
        agree("splitting", "best_cut", values, products, key)
    gradients = np.cumsum(histogram[:, 0])
    task = "splitting", "any_better", gradients, 0, 0.1, sums, layout, node
    assert {agree(*task, key) for key in (1e-9, 1e9)} == {True, False}


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("threshold", [0, 9, 254])
@pytest.mark.parametrize("n", [1, 150])
def test_partition_keeps_the_order(n, threshold, missing_left):
    bins = made_table(200, 1, 255, 0.2)[0]
    rows = np.sort(np.random.default_rng(0).permutation(200)[:n]).astype(np.uint32)
    agree("grower", "partition", bins, threshold, missing_left, rows, np.zeros_like(rows), compare=[3])
