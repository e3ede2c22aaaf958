"""Forests: sums of trees, saved and loaded bit by bit, and refused where they are not forests."""

import io

import numpy as np
import pytest

from hetcore.errors import DataError, ModelFileError
from hetcore.trees import BinMapper, Forest, TreeParams, grow


def made_forest(n_outputs=2, n_trees=5, missing=0.1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    mapper = BinMapper(30).fit(X)
    binned, forest, trees = mapper.transform(X), Forest(n_outputs), []
    for t in range(n_trees):
        rows = rng.permutation(200)[:150]
        params = TreeParams(max_leaf_nodes=2 + 3 * t, min_samples_leaf=5)
        trees.append(
            grow(
                binned,
                rng.normal(size=(200, n_outputs)),
                None,
                rows=rows,
                columns=None,
                params=params,
                n_bins=mapper.n_bins,
            )
        )
        forest.append(trees[-1], 1.0 / (t + 1))
    return forest, trees, binned, mapper, X


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_forest_is_the_sum_of_its_trees(n_outputs):
    forest, trees, binned, _, _ = made_forest(n_outputs)
    parts = [tree.predict(binned) / (t + 1) for t, tree in enumerate(trees)]
    np.testing.assert_allclose(forest.predict(binned), sum(parts), atol=1e-14)
    rows = np.array([5, 5, 199, 0])
    np.testing.assert_array_equal(forest.predict(binned, rows), forest.predict(binned)[rows])
    np.testing.assert_allclose(forest.predict(binned, first=1, stop=3), parts[1] + parts[2], atol=1e-14)
    stages = list(forest.staged_predict(binned, rows))
    assert len(stages) == len(forest) == 5
    for t, stage in enumerate(stages):
        np.testing.assert_allclose(stage, sum(parts[: t + 1])[rows], atol=1e-14)
    assert forest.predict(binned[:, :0]).shape == (0, n_outputs)


@pytest.mark.parametrize("count", [0, 2, 5, 9])
def test_the_first_trees_are_a_forest_of_their_own(count):
    forest, _, binned, *_ = made_forest()
    expected = forest.predict(binned, stop=min(count, 5))
    first = forest.first(count)
    assert len(first) == min(count, 5)
    np.testing.assert_array_equal(first.predict(binned), expected)


def test_a_forest_that_shares_trees_stays_when_the_other_grows():
    forest, trees, binned, *_ = made_forest()
    before, twice = forest.predict(binned), Forest(2)
    twice.extend(forest, 2.0)
    twice.append(trees[0])
    forest.extend(forest.first(1))
    np.testing.assert_array_equal(twice.predict(binned), 2.0 * before + trees[0].predict(binned))
    np.testing.assert_array_equal(forest.predict(binned), before + trees[0].predict(binned))


def test_an_empty_forest_predicts_zero():
    forest = Forest(3)
    np.testing.assert_array_equal(forest.predict(np.zeros((1, 4), np.uint8)), np.zeros((4, 3)))
    again = Forest.from_arrays(forest.to_arrays(), 1)
    assert len(again) == 0 and again.n_outputs == 3


def test_what_would_read_beyond_the_table_is_refused():
    forest, trees, binned, *_ = made_forest()
    for predict in (forest.predict, trees[-1].predict):
        with pytest.raises(DataError, match="binned has 1 columns, the trees need 4"):
            predict(binned[:1])
        with pytest.raises(DataError, match="binned is 2-dimensional int16"):
            predict(binned.astype(np.int16))
        for rows in ([200], [-1], [[0]], [0.0]):
            with pytest.raises(DataError, match=r"rows must be .* in \[0, 199\]"):
                predict(binned, np.array(rows))
    out = np.zeros((10, 2))
    trees[-1].add_to(out, binned[:, :10])
    np.testing.assert_array_equal(out, trees[-1].predict(binned[:, :10]))


def test_trees_of_another_width_are_refused():
    forest, trees, *_ = made_forest(2)
    with pytest.raises(ValueError, match="tree of 2 outputs cannot join a forest of 1"):
        Forest(1).append(trees[0])


def through_files(arrays):
    """Write and read arrays as .npy without pickle."""
    loaded = {}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        buffer.seek(0)
        loaded[name] = np.load(buffer, allow_pickle=False)
    return loaded


def test_saved_and_loaded_forests_agree_to_the_last_bit():
    forest, _, binned, mapper, X = made_forest()
    loaded = Forest.from_arrays(through_files(forest.to_arrays()), 4)
    bins = BinMapper.from_arrays(through_files(mapper.to_arrays()))
    np.testing.assert_array_equal(bins.transform(X), binned)
    np.testing.assert_array_equal(loaded.predict(binned), forest.predict(binned))
    for name, array in loaded.to_arrays().items():
        assert array.tobytes() == forest.to_arrays()[name].tobytes(), name


def changed(arrays, name, at, field, value):
    arrays = {key: array.copy() for key, array in arrays.items()}
    part = arrays[name] if field is None else arrays[name][field]
    part[at] = value
    return arrays


BROKEN = {
    "child before its parent": ("nodes", 3, "left", 0),
    "child that is its parent": ("nodes", 3, "right", 0),
    "child beyond the tree": ("nodes", 0, "left", 3),
    "child far away": ("nodes", 0, "right", 2**31 - 1),
    "child of two": ("nodes", 0, "left", 2),
    "half a leaf": ("nodes", 1, "right", 2),
    "feature beyond the table": ("nodes", 0, "feature", 4),
    "negative feature": ("nodes", 0, "feature", -1),
    "missing to a third side": ("nodes", 0, "missing_left", 2),
    "root below the ground": ("nodes", 3, "depth", 1),
    "child on a wrong level": ("nodes", 1, "depth", 2),
    "value that is none": ("values", (0, 1), None, np.nan),
    "endless value": ("values", (0, 0), None, np.inf),
    "endless scale": ("scales", 0, None, -np.inf),
    "start that is not 0": ("starts", 0, None, 1),
    "end that is not the end": ("starts", -1, None, 10**6),
    "tree without nodes": ("starts", 1, None, 0),
    "starts that fall": ("starts", 1, None, 60),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_forest_is_refused(change):
    arrays = made_forest()[0].to_arrays()
    Forest.from_arrays(arrays, 4)
    with pytest.raises(ModelFileError, match="trees of the model file"):
        Forest.from_arrays(changed(arrays, *change), 4)


def test_arrays_of_another_kind_are_refused():
    arrays = made_forest()[0].to_arrays()
    for name, wrong in (
        ("nodes", arrays["nodes"][["feature", "left"]]),
        ("values", arrays["values"].astype(np.float32)),
        ("values", arrays["values"][:, 0]),
        ("values", arrays["values"][:, :0]),
        ("values", arrays["values"][:-1]),
        ("starts", arrays["starts"].astype(np.int32)),
        ("scales", arrays["scales"][:-1]),
        ("starts", arrays["starts"][:0]),
    ):
        with pytest.raises(ModelFileError, match="trees of the model file"):
            Forest.from_arrays({**arrays, name: wrong}, 4)
    with pytest.raises(ModelFileError, match="lack nodes"):
        Forest.from_arrays({}, 4)


def test_broken_bins_are_refused():
    arrays = made_forest()[3].to_arrays()
    thresholds, n_bins = arrays["thresholds"], arrays["n_bins"]
    falling, nan = thresholds.copy(), thresholds.copy()
    falling[[3, 4]], nan[0] = falling[[4, 3]], np.nan
    for wrong in (
        {},
        {"thresholds": thresholds},
        {"thresholds": thresholds[:-1], "n_bins": n_bins},
        {"thresholds": thresholds, "n_bins": n_bins - 1},
        {"thresholds": thresholds.astype(float), "n_bins": n_bins},
        {"thresholds": thresholds, "n_bins": n_bins.astype(np.int64)},
        {"thresholds": thresholds[None], "n_bins": n_bins},
        {"thresholds": falling, "n_bins": n_bins},
        {"thresholds": nan, "n_bins": n_bins},
        {"thresholds": thresholds, "n_bins": np.array([256, 30, 30, 30], np.int32)},
        {"thresholds": thresholds, "n_bins": np.array([0, 31, 31, 31], np.int32)},
    ):
        with pytest.raises(ModelFileError, match="model file"):
            BinMapper.from_arrays(wrong)
