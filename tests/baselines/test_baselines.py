"""The baselines: joined features by hand, planted truth found again, no label leaking, wrong parameters refused."""

import re

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

import datasets
from hetcore import HetData, metrics
from hetcore.baselines import peers
from hetcore.baselines.features import Joined, JoinedFeatures, neighbor_means
from hetcore.baselines.learners import BoostedTrees, KernelMachine
from hetcore.baselines.spreading import LabelPropagation
from hetcore.data.splits import label_split, stratified
from hetcore.errors import DataError, ParameterError

FAST = {"n_iterations": 40, "learning_rate": 0.2, "max_depth": 3, "column_sample": 1.0}
SVMS = [peers.JoinedSVM(), peers.SelfTrainedSVM()]
TREES = [peers.JoinedGBDT(**FAST), peers.SelfTrainedGBDT(**FAST), peers.NeighborMeansGBDT(**FAST)]
ALL = [*SVMS, *TREES]


def named(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def numbers():
    return datasets.make_heterogeneous(240, 2, coverage=0.9, n_features=6, seed=0)[0]


@pytest.fixture(scope="module")
def classes():
    return datasets.make_heterogeneous(240, 2, coverage=0.9, n_features=6, task="classification", seed=0)[0]


def small(y=("red", "red", "blue", None)):
    return HetData(
        sources={
            "a": pl.DataFrame({"id": ["p", "q", "r"], "x": [1.0, 3.0, None]}),
            "b": pl.DataFrame({"id": ["r", "s"], "text": ["deep sea", "deep wood"]}),
        },
        graphs={"g": pl.DataFrame({"source": ["p", "q", "q"], "target": ["q", "r", "s"], "weight": [1.0, 2.0, 1.0]})},
        target=(["p", "q", "r", "s"], list(y)),
        kinds={"a": {"x": "real"}, "b": {"text": "text"}},
    )


# Joined features.


def test_missing_cells_take_the_mean_or_stay_nan():
    filled = JoinedFeatures(adjacency=False).fit(small()).transform(small())
    assert filled.tables[:, 0].tolist() == [1.0, 3.0, 2.0, 2.0]
    assert filled.tables[0, 1] == pytest.approx(filled.tables[2:, 1].mean())
    left = JoinedFeatures(adjacency=False, fill="nan").fit(small()).transform(small())
    assert np.isnan(left.tables[:, 0]).tolist() == [False, False, True, True]
    assert filled.words.tolist() == [False, True] and filled.links.shape == (4, 0)


def test_adjacency_rows_stand_beside_the_tables():
    joined = JoinedFeatures().fit(small()).transform(small())
    assert joined.links.toarray().tolist() == [[0, 1, 0, 0], [1, 0, 2, 1], [0, 2, 0, 0], [0, 1, 0, 0]]
    assert joined.tables.shape == (4, 2)


def test_links_of_other_data_point_to_the_training_instances():
    features = JoinedFeatures().fit(small())
    other = HetData(
        sources={"a": pl.DataFrame({"id": ["new", "q"], "x": [5.0, None]})},
        graphs={"g": pl.DataFrame({"source": ["new", "new"], "target": ["r", "stranger"]})},
    )
    joined = features.transform(other)
    assert other.ids.tolist() == ["new", "q", "r", "stranger"]
    assert joined.links.toarray().tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert joined.tables[:, 0].tolist() == [5.0, 2.0, 2.0, 2.0]


def test_the_number_of_words_is_no_word():
    source = pl.DataFrame({"id": ["p", "q"], "text": ["sea", "the wood"]})
    data = HetData({"b": source}, kinds={"b": {"text": "text"}})
    assert JoinedFeatures().fit(data).transform(data).words.tolist() == [False]


def test_neighbor_means_are_weighted_and_never_see_the_own_label():
    graph = small().graphs["g"]  # p-q 1, q-r 2, q-s 1
    means = neighbor_means(graph, np.array([[1.0], [np.nan], [4.0], [7.0]]))
    np.testing.assert_allclose(means[:, 0], [np.nan, (1 + 2 * 4 + 7) / 4, np.nan, np.nan])
    changed = neighbor_means(graph, np.array([[1.0], [99.0], [4.0], [7.0]]))
    assert changed[1, 0] == means[1, 0] and changed[:, 0].tolist()[::2] == [99.0, 99.0]


# The learners.


def joined_of(tables, links=None, words=None):
    tables = np.asarray(tables, dtype=np.float32)
    links = scipy.sparse.csr_array(np.zeros((len(tables), 0)) if links is None else links, dtype=np.float32)
    return Joined(tables, links, np.zeros(tables.shape[1], bool) if words is None else np.asarray(words))


def test_the_machine_is_scikit_learns_on_the_scaled_columns():
    rng = np.random.default_rng(1)
    tables, links = rng.normal(3.0, [1.0, 5.0, 0.2], (90, 3)), (rng.random((90, 20)) < 0.1) * 2.0
    y = (tables[:, 1] + 2 * links[:, 0] > 3).astype(int)
    machine = KernelMachine(2, [10.0], [0.3], 5, 0)
    machine.prepare(joined_of(tables, links, [False, False, True]))
    machine.fit(np.arange(60), y[:60])
    scaled = np.hstack([(tables - tables.mean(axis=0)) / [*tables.std(axis=0)[:2], 1.0], links])
    peer = SVC(C=10.0, gamma=0.3 / scaled.var(axis=0).sum()).fit(scaled[:60], y[:60])
    decided = np.diff(np.log(machine.scores()), axis=1)[:, 0] / 2
    np.testing.assert_allclose(decided, peer.decision_function(scaled), atol=1e-4)


def test_the_machine_scores_in_blocks_as_at_once(monkeypatch):
    joined = joined_of(np.random.default_rng(2).normal(size=(50, 4)))
    machine = KernelMachine(0, [1.0], [1.0], 5, 0)
    machine.prepare(joined)
    machine.fit(np.arange(30), np.asarray(joined.tables[:30, 0], dtype=np.float64))
    at_once = machine.scores()
    monkeypatch.setattr("hetcore.baselines.learners.BLOCK", 7)
    np.testing.assert_allclose(machine.scores(), at_once)
    assert np.corrcoef(at_once[30:], joined.tables[30:, 0])[0, 1] > 0.8


def test_a_column_in_another_unit_changes_nothing():
    rng = np.random.default_rng(3)
    tables = rng.normal(size=(60, 3))
    values = []
    for unit in (1.0, 1000.0):
        machine = KernelMachine(0, [1.0], [1.0], 5, 0)
        machine.prepare(joined_of(tables * [unit, 1.0, 1.0]))
        machine.fit(np.arange(60), tables[:, 0])
        values.append(machine.scores())
    np.testing.assert_allclose(values[0], values[1], atol=1e-4)


def test_the_cross_validation_takes_the_better_cost():
    rng = np.random.default_rng(4)
    tables = rng.normal(size=(200, 2))
    machine = KernelMachine(0, [1e-4, 10.0], [1.0], 4, 0)
    machine.prepare(joined_of(tables))
    machine.fit(np.arange(200), np.sin(2 * tables[:, 0]))
    assert machine.chosen == (10.0, 1.0)


def test_probabilities_are_as_sure_as_they_are_right():
    rng = np.random.default_rng(5)
    tables = rng.normal(size=(1200, 2))
    y = (tables[:, 0] + rng.normal(size=1200) > 0).astype(int)
    machine = KernelMachine(2, [1.0], [1.0, 0.3], 4, 0)
    machine.prepare(joined_of(tables))
    machine.fit(np.arange(600), y[:600])
    probabilities = machine.scores()[600:]
    right = (probabilities.argmax(axis=1) == y[600:]).mean()
    assert probabilities.max(axis=1).mean() == pytest.approx(right, abs=0.06)
    assert metrics.log_loss(y[600:], probabilities, [0, 1]) < 0.62


@pytest.mark.parametrize("learner", [KernelMachine(3, [1.0], [1.0], 5, 0), BoostedTrees(3, 0, iterations=5)])
def test_classes_that_the_rows_lack_get_no_probability(learner):
    joined = joined_of(np.random.default_rng(6).normal(size=(30, 2)))
    learner.prepare(joined)
    learner.fit(np.arange(30), np.arange(30) % 2 * 2)
    assert learner.scores()[:, 1].max() == 0 and learner.scores().sum(axis=1) == pytest.approx(1.0)
    learner.fit(np.arange(30), np.ones(30, dtype=int))
    assert learner.scores()[:, 1].min() == 1


def test_trees_take_the_links_that_vary_over_the_rows():
    links = np.zeros((40, 6))
    links[:20, 2] = links[20:, 5] = 1.0
    trees = BoostedTrees(2, 0, iterations=10)
    trees.prepare(joined_of(np.zeros((40, 1)), links))
    trees.fit(np.arange(30), (np.arange(30) < 20).astype(int))
    assert (trees.scores().argmax(axis=1) == (np.arange(40) < 20)).all()


def test_folds_are_dealt_by_class():
    y = np.repeat([0, 1, 2], [10, 5, 1])
    folds = stratified(y, 5, np.random.default_rng(0))
    assert np.bincount(folds[y == 0]).tolist() == [2] * 5 and np.bincount(folds[y == 1]).tolist() == [1] * 5


# The baselines.


def held_out(data, y):
    return data.labelled & ~metrics.known_targets(y)


@pytest.mark.parametrize("estimator", ALL, ids=named)
def test_planted_numbers_are_predicted_well_beyond_the_mean(estimator, numbers):
    y = label_split(numbers, 0.6, seed=1)
    rest = held_out(numbers, y)
    predicted = clone(estimator).fit(numbers, y).predict(numbers)
    assert predicted.shape == (numbers.n,) and predicted.dtype == np.float64
    assert metrics.rmse(numbers.y[rest], predicted[rest]) < 0.85 * numbers.y[rest].std()


@pytest.mark.parametrize("estimator", ALL, ids=named)
def test_planted_classes_are_predicted_well_beyond_chance(estimator, classes):
    y = label_split(classes, 0.6, seed=1)
    rest = held_out(classes, y)
    fitted = clone(estimator).fit(classes, y)
    predicted, probabilities = fitted.predict(classes), fitted.predict_proba(classes)
    assert fitted.classes_.tolist() == classes.classes
    assert metrics.error_rate(classes.y[rest], predicted[rest]) < 0.5
    assert probabilities.shape == (classes.n, 3) and probabilities.sum(axis=1) == pytest.approx(1.0)
    assert metrics.log_loss(classes.y[rest], probabilities[rest], fitted.classes_) < np.log(3)


@pytest.mark.parametrize("estimator", ALL, ids=named)
def test_hidden_labels_never_reach_a_prediction(estimator, classes):
    y = label_split(classes, 0.5, seed=2)
    scrambled = np.where(held_out(classes, y), "class_1", classes.y).astype(object)
    one = clone(estimator).fit(classes, y).predict_proba(classes)
    two = clone(estimator).fit(classes.with_target(scrambled), y).predict_proba(classes.with_target(scrambled))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("estimator", ALL, ids=named)
def test_parameters_are_scikit_learns(estimator):
    parameters = estimator.get_params()
    assert {"adjacency", "random_state"} <= set(parameters)
    other = type(estimator)(**(parameters | {"random_state": 5, "adjacency": False}))
    assert other.get_params() == parameters | {"random_state": 5, "adjacency": False}


@pytest.mark.parametrize("estimator", [peers.JoinedSVM(), peers.NeighborMeansGBDT(**FAST)], ids=named)
def test_a_fit_repeats_itself(estimator, numbers):
    once, again = (clone(estimator).fit(numbers).predict(numbers) for _ in range(2))
    np.testing.assert_array_equal(once, again)


@pytest.mark.parametrize("estimator", ALL, ids=named)
def test_new_instances_are_predicted_from_what_they_have(estimator, numbers):
    known = numbers.ids[:200]
    train = HetData(
        {n: s.frame.with_columns(id=s.id_series).filter(pl.col("id").is_in(known)) for n, s in numbers.sources.items()},
        {
            n: g.to_frame().filter(pl.col("source").is_in(known) & pl.col("target").is_in(known))
            for n, g in numbers.graphs.items()
        },
        (known, numbers.y[:200]),
    )
    predicted = clone(estimator).fit(train).predict(numbers.select(sources=numbers.source_names[:2]))
    assert np.corrcoef(predicted[200:], numbers.y[200:])[0, 1] > 0.5


def ring(seed):
    """Return data whose one table is noise, and whose graph alone tells the class."""
    rng = np.random.default_rng(seed)
    n = 160
    y = np.where(np.arange(n) < n // 2, "low", "high").astype(object)
    a = rng.integers(n // 2, size=600) + np.repeat([0, n // 2], 300)
    b = rng.integers(n // 2, size=600) + np.repeat([0, n // 2], 300)
    ids = [f"i{k}" for k in range(n)]
    table = pl.DataFrame({"id": ids, "x": rng.normal(size=n)})
    edges = pl.DataFrame({"source": [ids[k] for k in a], "target": [ids[k] for k in b]})
    return HetData({"t": table}, {"g": edges}, (ids, y))


def test_what_only_a_graph_knows_is_found_through_it():
    data = ring(0)
    y = label_split(data, 0.3, seed=0)
    rest = held_out(data, y)

    def error(estimator):
        return metrics.error_rate(data.y[rest], estimator.fit(data, y).predict(data)[rest])

    assert error(peers.NeighborMeansGBDT(**FAST)) < 0.1
    assert error(peers.JoinedSVM()) < 0.3
    assert error(peers.JoinedSVM(adjacency=False)) > 0.35
    assert error(peers.JoinedGBDT(adjacency=False, **FAST)) > 0.35


def test_self_training_reaches_along_a_chain_of_alike_rows():
    """Two bands of points with a label at one end each: only rows labelled on the way lead to the other end."""
    steps = np.linspace(0.0, 8.0, 120)
    x = np.concatenate([np.column_stack([steps, 0.12 * steps]), np.column_stack([steps, 0.12 * steps + 1.0])])
    ids = [f"i{k}" for k in range(240)]
    y = np.full(240, None, dtype=object)
    y[:6], y[120:126] = "under", "over"
    data = HetData({"t": pl.DataFrame({"id": ids, "x": x[:, 0], "y": x[:, 1]})}, target=(ids, y))
    truth = np.repeat(["under", "over"], 120).astype(object)
    settings = {"costs": (10.0,), "widths": (10.0,)}
    plain = metrics.error_rate(truth, peers.JoinedSVM(**settings).fit(data).predict(data))
    trained = peers.SelfTrainedSVM(**settings, n_rounds=20, share=0.05).fit(data).predict(data)
    assert metrics.error_rate(truth, trained) < plain - 0.1


def test_no_round_of_self_training_is_none_at_all(numbers):
    y = label_split(numbers, 0.5, seed=3)
    plain = peers.JoinedSVM().fit(numbers, y).predict(numbers)
    np.testing.assert_array_equal(peers.SelfTrainedSVM(n_rounds=0).fit(numbers, y).predict(numbers), plain)
    everything = peers.SelfTrainedSVM().fit(numbers).predict(numbers)
    np.testing.assert_array_equal(everything, peers.JoinedSVM().fit(numbers).predict(numbers))


@pytest.mark.parametrize("estimator", [*ALL, LabelPropagation()], ids=named)
def test_what_is_no_data_is_refused_in_a_sentence(estimator):
    with pytest.raises(DataError, match="fit takes a HetData, not int: build one from tables"):
        clone(estimator).fit(3)


@pytest.mark.parametrize("estimator", ALL, ids=named)
@pytest.mark.parametrize("y", [("red", "red", "red", None), ("red", "blue", None, None)])
def test_one_class_or_two_labels_are_enough(estimator, y):
    data = small(y)
    assert set(clone(estimator).fit(data).predict(data)) <= set(filter(None, y))


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (peers.JoinedSVM(costs=()), "costs=() must be one or more positive"),
        (peers.JoinedSVM(widths=(0.0, 1.0)), "widths=(0.0, 1.0) must be"),
        (peers.JoinedSVM(n_folds=1), "n_folds=1 must be a whole number, at least 2"),
        (peers.JoinedGBDT(n_iterations=0), "n_iterations=0 must be a whole number, at least 1"),
        (peers.JoinedGBDT(fill="zero"), "fill='zero' must be one of 'mean', 'nan'"),
        (peers.JoinedGBDT(column_sample=0.0), "column_sample=0.0 must be in (0, 1]"),
        (peers.JoinedGBDT(learning_rate=-1.0), "learning_rate=-1.0 must be in (0, 1]"),
        (peers.SelfTrainedGBDT(share=0.0), "share=0.0 must be in (0, 1]"),
        (peers.SelfTrainedSVM(n_rounds=-1), "n_rounds=-1 must be a whole number, at least 0"),
    ],
)
def test_a_parameter_outside_its_domain_is_refused(estimator, words):
    with pytest.raises(ParameterError, match=re.escape(words)):
        estimator.fit(small())


def test_without_labels_or_fit_it_says_so(numbers):
    with pytest.raises(DataError, match="None of the 4 instances is labelled"):
        peers.JoinedSVM().fit(small((None,) * 4))
    with pytest.raises(NotFittedError):
        peers.JoinedSVM().predict(numbers)
    with pytest.raises(ParameterError, match="JoinedSVM was fitted to numbers"):
        peers.JoinedSVM().fit(numbers).predict_proba(numbers)


def test_a_grid_grows_while_its_best_lies_on_an_edge(numbers):
    machine = KernelMachine(0, (0.001, 0.01), (3.0, 9.0), 3, 0, widen=True)
    joined = JoinedFeatures(adjacency=False).fit(numbers).transform(numbers)
    machine.prepare(joined)
    machine.fit(np.arange(numbers.n), numbers.y.astype(float))
    costs, widths = ([point[axis] for point in machine.grid] for axis in (0, 1))
    assert min(costs) < machine.chosen[0] < max(costs) and min(widths) < machine.chosen[1] < max(widths)
    assert machine.chosen[0] > 0.01 and machine.chosen[1] < 3.0 and len(machine.grid) > 4
    fixed = KernelMachine(0, (0.001, 0.01), (3.0, 9.0), 3, 0)
    fixed.prepare(joined)
    fixed.fit(np.arange(numbers.n), numbers.y.astype(float))
    assert len(fixed.grid) == 4 and fixed.chosen in fixed.grid
