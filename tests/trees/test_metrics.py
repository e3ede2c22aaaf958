"""Each metric against its formula worked by hand, against scikit-learn, and at its edges."""

from decimal import Decimal
from types import SimpleNamespace

import networkx as nx
import numpy as np
import polars as pl
import pytest
from sklearn import metrics as peer

import hetcore as hc
from hetcore import metrics
from hetcore.errors import DataError, ParameterError


def graph_of(*edges, n, weights=None):
    """Return what the metrics read of a graph: symmetric CSR."""
    g = nx.Graph()
    g.add_nodes_from(range(n))
    g.add_weighted_edges_from((a, b, w) for (a, b), w in zip(edges, weights or [1.0] * len(edges)))
    matrix = nx.to_scipy_sparse_array(g, format="csr")
    return SimpleNamespace(indptr=matrix.indptr, indices=matrix.indices, weights=matrix.data.astype(np.float32))


def random_graph(n, p, seed):
    return graph_of(*nx.gnp_random_graph(n, p, seed=seed).edges, n=n)


@pytest.mark.parametrize(
    ("y", "known"),
    [
        ([1.0, float("nan"), 3.0], [True, False, True]),
        (np.array(["a", None, "b"], dtype=object), [True, False, True]),
        (np.array([0.5, None, float("nan")], dtype=object), [True, False, False]),
        (["a", "b"], [True, True]),
        ([1, 0], [True, True]),
    ],
)
def test_known_targets_are_neither_none_nor_nan(y, known):
    assert metrics.known_targets(y).tolist() == known


def test_error_rate_passes_over_unknown_labels():
    true = np.array(["a", "b", None, "b"], dtype=object)
    assert metrics.error_rate(true, np.array(["a", "a", "a", "b"], dtype=object)) == pytest.approx(1 / 3)


def test_numbers_as_classes_are_the_text_that_predictions_have():
    true, pred = [1, 2, None, 2], np.array(["1", "1", "1", "2"], object)
    for given in (true, [1.0, 2.0, None, 2.0], np.array([1.0, 2.0, np.nan, 2.0])):
        assert metrics.error_rate(given, pred) == pytest.approx(1 / 3)
        assert metrics.macro_f1(given, pred) == pytest.approx(2 / 3)
        assert metrics.log_loss(given, np.full((4, 2), 0.5), ["1", "2"]) == pytest.approx(np.log(2))
    assert metrics.error_rate([True, False], ["true", "true"]) == 0.5
    assert metrics.error_rate([1, 2], [1, 1]) == 0.5


def test_rmse_by_hand():
    true, pred = [0.0, float("nan"), 2.0], [3.0, 100.0, 6.0]
    assert metrics.rmse(true, pred) == pytest.approx(np.sqrt((9 + 16) / 2))


def test_classification_metrics_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    true, pred = rng.integers(4, size=200).astype(str), rng.integers(4, size=200).astype(str)
    proba = rng.dirichlet(np.ones(4), size=200)
    assert metrics.macro_f1(true, pred) == pytest.approx(peer.f1_score(true, pred, average="macro"))
    assert metrics.error_rate(true, pred) == pytest.approx(peer.zero_one_loss(true, pred))
    assert metrics.log_loss(true, proba, list("0123")) == pytest.approx(peer.log_loss(true, proba))


def test_log_loss_of_an_impossible_label_is_finite():
    assert metrics.log_loss(["b"], [[1.0, 0.0]], ["a", "b"]) == pytest.approx(-np.log(1e-15))
    assert metrics.log_loss(["z"], [[0.5, 0.5]], ["a", "b"]) == pytest.approx(-np.log(1e-15))


def test_gaussian_nll_is_smallest_at_the_true_deviation():
    y = np.random.default_rng(1).normal(0.0, 2.0, 5000)
    at = [metrics.gaussian_nll(y, np.zeros(5000), np.full(5000, s)) for s in (1.0, y.std(), 4.0)]
    assert at[1] < min(at[0], at[2])
    assert at[1] == pytest.approx(np.log(y.std() * np.sqrt(2 * np.pi * np.e)), rel=1e-3)


def test_interval_coverage_counts_ends_as_inside():
    assert metrics.interval_coverage([1.0, 2.0, float("nan"), 5.0], [1.0, 0.0, 0.0, 6.0], [2.0, 2.0, 9.0, 7.0]) == 2 / 3


def test_autocorrelation_is_pearson_over_both_directions():
    graph, values = random_graph(60, 0.1, seed=3), np.random.default_rng(3).normal(size=60)
    row = np.repeat(np.arange(60), np.diff(graph.indptr))
    expected = np.corrcoef(values[row], values[graph.indices])[0, 1]
    assert metrics.residual_autocorrelation(values, graph) == pytest.approx(expected, abs=1e-12)


def test_autocorrelation_of_two_columns_weighs_them_by_variance():
    graph, rng = random_graph(40, 0.2, seed=5), np.random.default_rng(5)
    loud, still = rng.normal(size=40), np.full(40, 0.3)
    both = metrics.residual_autocorrelation(np.column_stack([loud, still]), graph)
    assert both == pytest.approx(metrics.residual_autocorrelation(loud, graph))


def test_autocorrelation_sees_only_links_with_two_known_ends():
    graph = graph_of((0, 1), (1, 2), (2, 3), n=4)
    values = np.array([1.0, 1.0, np.nan, 5.0])
    assert np.isnan(metrics.residual_autocorrelation(values, graph))  # only 0-1 is left, and both are 1
    values[1] = 2.0
    assert metrics.residual_autocorrelation(values, graph) == pytest.approx(-1.0)


@pytest.mark.parametrize("measure", [metrics.residual_autocorrelation, metrics.morans_i])
def test_autocorrelation_is_undefined_without_links_or_spread(measure):
    assert np.isnan(measure([1.0, 2.0, 3.0], graph_of(n=3)))
    assert np.isnan(measure([0.1, 0.1, 0.1], graph_of((0, 1), (1, 2), n=3)))
    assert np.isnan(measure([np.nan, np.nan], graph_of((0, 1), n=2)))


def test_morans_i_agrees_with_the_double_sum():
    graph = graph_of((0, 1), (1, 2), (0, 3), n=5, weights=[2.0, 0.5, 1.0])
    x = np.array([1.0, 4.0, 2.0, 2.5, 0.5])
    w = np.zeros((5, 5))
    for (a, b), weight in {(0, 1): 2.0, (1, 2): 0.5, (0, 3): 1.0}.items():
        w[a, b] = w[b, a] = weight
    z = x - x.mean()
    expected = len(x) / w.sum() * sum(w[i, j] * z[i] * z[j] for i in range(5) for j in range(5)) / (z @ z)
    assert metrics.morans_i(x, graph) == pytest.approx(expected)


def test_morans_i_centres_over_the_known():
    graph = graph_of((0, 1), (1, 2), (2, 3), n=4)
    part = graph_of((0, 1), n=3)
    assert metrics.morans_i([1.0, 2.0, np.nan, 9.0], graph) == pytest.approx(metrics.morans_i([1.0, 2.0, 9.0], part))


def test_the_band_holds_noise_and_not_a_planted_pattern():
    graph = graph_of(*((i, i + 1) for i in range(199)), n=200)
    noise, trend = np.random.default_rng(7).normal(size=200), np.linspace(0.0, 1.0, 200)
    low, high = metrics.morans_i_band(noise, graph)
    assert low < -1 / 199 < high
    assert low < metrics.morans_i(noise, graph) < high
    assert metrics.morans_i(trend, graph) > metrics.morans_i_band(trend, graph)[1] + 0.5
    assert metrics.morans_i_band(noise, graph) == (low, high)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: metrics.rmse([1.0], [1.0, 2.0]), "same length"),
        (lambda: metrics.rmse([np.nan], [1.0]), "at least one"),
        (lambda: metrics.log_loss(["a"], [[0.5, 0.5]], ["a"]), "one column each"),
        (lambda: metrics.log_loss(["a"], [[5, -4]], ["a", "b"]), "holds 5, outside"),
        (lambda: metrics.log_loss(["a"], [[np.nan, 0.5]], ["a", "b"]), "holds nan, outside"),
        (lambda: metrics.gaussian_nll([1.0], [1.0], [0.0]), "must be positive"),
        (lambda: metrics.morans_i([1.0], graph_of((0, 1), n=2)), "one value a node"),
        (lambda: metrics.morans_i(["a", "b"], graph_of((0, 1), n=2)), "a number for each node"),
        (lambda: metrics.residual_autocorrelation([1.0, 2.0], None), r"NoneType is no graph .* give a hetcore\.Graph"),
        (lambda: metrics.interval_coverage([1.0, 2.0], [0.0, np.nan], [3.0, 3.0]), "an end that is NaN"),
    ],
)
def test_wrong_input_is_refused_with_the_cure(call, words):
    with pytest.raises(DataError, match=words):
        call()


WRONG_BANDS = [{"n_permutations": 0}, {"n_permutations": 2.5}, {"level": 1.0}, {"random_state": "a"}]


@pytest.mark.parametrize("wrong", WRONG_BANDS)
def test_a_wrong_band_is_refused(wrong):
    with pytest.raises(ParameterError, match="at least 1 permutation|random_state='a' must be"):
        metrics.morans_i_band([1.0, 2.0], graph_of((0, 1), n=2), **wrong)


def test_an_end_that_is_missing_where_no_target_is_known_changes_no_coverage():
    assert metrics.interval_coverage([1.0, np.nan], [0.0, np.nan], [3.0, np.nan]) == 1.0


@pytest.mark.parametrize(
    ("metric", "arrays"),
    [
        (metrics.rmse, ([1.0, 2.0], [1.5, 2.0])),
        (metrics.error_rate, (["a", "b"], ["a", "a"])),
        (metrics.macro_f1, (["a", "b"], ["a", "a"])),
        (metrics.gaussian_nll, ([1.0, 2.0], [1.5, 2.0], [1.0, 2.0])),
        (metrics.interval_coverage, ([1.0, 2.0], [0.0, 0.0], [3.0, 1.0])),
    ],
)
def test_a_column_is_one_value_a_row_and_another_shape_is_refused(metric, arrays):
    expected, column = metric(*arrays), np.array(arrays[1])[:, None]
    assert metric(arrays[0], column, *arrays[2:]) == expected
    assert metric(np.array(arrays[0])[:, None], *arrays[1:]) == expected
    for wrong in (arrays[1][0], np.hstack([column, column])):
        with pytest.raises(DataError, match="one value for each row"):
            metric(arrays[0], wrong, *arrays[2:])


@pytest.mark.parametrize(
    ("metric", "more"), [(metrics.rmse, ()), (metrics.gaussian_nll, ([1, 1],)), (metrics.interval_coverage, ([9, 9],))]
)
def test_numbers_among_objects_are_read_and_what_is_none_is_refused(metric, more):
    assert metric([Decimal(1), Decimal(2)], [1, 2], *more) == metric(["1", "2"], [1.0, 2.0], *more)
    assert np.isnan(metrics.rmse([1, 2], [1, None]))
    days = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
    for wrong in (["a", "b"], days):
        with pytest.raises(DataError, match="The arrays hold values that are no numbers: give a number for each row"):
            metric(wrong, wrong, *more)


def test_the_log_loss_takes_a_column_of_labels_and_refuses_bare_numbers():
    shares = np.array([[0.7, 0.3], [0.4, 0.6]])
    expected = metrics.log_loss(["a", "b"], shares, ["a", "b"])
    assert metrics.log_loss([["a"], ["b"]], shares, ["a", "b"]) == expected
    with pytest.raises(DataError):
        metrics.log_loss(["a", "b"], 0.5, ["a", "b"])


def test_arrays_that_are_no_numbers_or_of_several_lengths_are_refused():
    uneven, complex_ones = [[1.0], [1.0, 2.0]], np.full(2, 1j)
    graph = hc.Graph(pl.DataFrame({"source": ["a"], "target": ["b"]}))
    for call in (
        lambda: metrics.rmse(uneven, [1.0, 2.0]),
        lambda: metrics.rmse([1.0, 2.0], complex_ones),
        lambda: metrics.log_loss(["a", "b"], [["x", "y"]] * 2, ["a", "b"]),
        lambda: metrics.log_loss(["a", "b"], uneven, ["a", "b"]),
        lambda: metrics.morans_i([], graph),
        lambda: metrics.known_targets(3.0),
        lambda: metrics.links_among(None, np.ones(2, bool)),
        lambda: metrics.links_among(graph, [0, 1]),
    ):
        with pytest.raises(DataError):
            call()
