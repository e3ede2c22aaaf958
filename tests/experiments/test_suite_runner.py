"""The open suite's runner and verdicts: cells by hand, a run that goes on, peers on domains, failures that count."""

from types import SimpleNamespace

import joblib
import numpy as np
import polars as pl
import pytest

import datasets
from experiments import cells as kept
from experiments.suite import __main__ as suite_shell
from experiments.suite import printing, runner, uses, verdict
from hetcore.baselines.pooled import TRANSFER_PEERS, aligned
from hetcore.errors import ParameterError


def cell(problem, method, share, split, error, seconds=1.0, **more):
    return {"problem": problem, "method": method, "share": share, "split": split, "error": error} | {
        "seconds": seconds,
        "floor": 0.0,
        **more,
    }


def cells_of(problem, share, **errors):
    return [cell(problem, name, share, k, e) for name, given in errors.items() for k, e in enumerate(given)]


@pytest.mark.parametrize(
    "ours, theirs, expected",
    [
        ([1.0, 1.0], [1.2, 1.2], "win"),
        ([1.2, 1.2], [1.0, 1.0], "loss"),
        ([1.009, 1.009], [1.0, 1.0], "tie"),  # within 1%
        ([1.011, 1.011], [1.0, 1.0], "loss"),
        ([0.8, 1.3], [1.0, 1.0], "tie"),  # gaps -0.2, 0.3: mean 0.05, standard error 0.25
        ([0.8, 0.9, 0.85], [1.0, 1.0, 1.0], "win"),  # mean -0.15, standard error 0.029
        ([0.9], [1.0], "win"),  # one split has no standard error
        ([0.5, np.nan], [1.0, 1.0], "loss"),  # failed
    ],
)
def test_a_place_is_won_tied_or_lost(ours, theirs, expected):
    assert verdict.outcome(np.array(ours), np.array(theirs)) == expected


def test_comparisons_by_hand():
    cells = cells_of("p", 10, M=[1.0, 1.0], A=[2.0, 2.0], B=[0.5, 0.5]) + cells_of("q", 10, M=[1.0, 1.0], A=[1.0, 1.0])
    cells += cells_of("p", 50, M=[3.0, 3.0], A=[4.0, None], B=[6.0, 6.0, 6.0])
    found = verdict.compared(verdict.places(cells), "M", ["A", "B"])
    assert [(each.problem, each.share, each.outcome, each.ratio) for each in found["A"]] == [
        ("p", 10, "win", 0.5),
        ("q", 10, "tie", 1.0),
    ]  # at 50% A failed
    assert [(each.problem, each.share, each.outcome, each.ratio) for each in found["B"]] == [
        ("p", 10, "loss", 2.0),
        ("p", 50, "win", 0.5),
    ]
    assert [each.peer for each in found[verdict.BEST]] == ["B", "B", "A"]
    text = printing.table(cells, "M", ["A", "B"])
    assert "| A | 1 | 1 | 0 | 100% | 0.707 |" in text
    assert "| **best of all** | 1 | 1 | 1 | 67% | 1.000 |" in text
    assert "| 10% | 0 | 1 | 1 | 50% | 1.414 |" in text and "Failed cells: 1." in text


def test_only_splits_that_both_have_are_compared():
    cells = cells_of("p", 10, M=[1.0, 9.0], A=[2.0])
    (each,) = verdict.compared(verdict.places(cells), "M", ["A"])["A"]
    assert (each.ours, each.theirs, each.outcome) == (1.0, 2.0, "win")


def test_an_error_of_zero_counts_as_half_a_mistake():
    found = uses.measured(np.array(["a", "b"]), np.array(["a", "b"]), "classification")
    assert found == {"error": 0.0, "floor": 0.25, "hidden": 2}
    cells = [cell("p", "M", 10, 0, 0.0, floor=0.25), cell("p", "A", 10, 0, 0.5)]
    (each,) = verdict.compared(verdict.places(cells), "M", ["A"])["A"]
    assert each.ratio == 0.5


def test_seconds_are_over_those_of_catboost_with_two_hops_or_joined():
    cells = [cell("p", "M", 10, split=k, error=1.0, seconds=s) for k, s in enumerate([2.0, 4.0, 30.0])]
    cells += [
        cell("p", "CatBoost2hop", 10, split=0, error=1.0, seconds=2.0),
        cell("p", "CatBoost", 10, split=0, error=1.0, seconds=1.0),
    ]
    cells += [
        cell("q", "M", 10, split=0, error=1.0, seconds=3.0),
        cell("q", "CatBoost", 10, split=0, error=1.0, seconds=6.0),
    ]
    assert verdict.seconds(verdict.places(cells), "M") == {("p", 10): (4.0, 2.0), ("q", 10): (3.0, 6.0)}
    text = printing.seconds_table(cells, "M")
    assert text.index("| p | 4.00 | 2.00 |") < text.index("| q | 3.00 | 0.50 |") and "most 2.00 (p at 10%)" in text
    cells += [cell("p", "M", 50, split=0, error=1.0, seconds=2.0)]
    cells += [cell("p", "CatBoost2hop", 50, split=0, error=1.0, seconds=4.0)]
    both = printing.seconds_table(cells, "M")
    assert "| p | 4.00 | 2.00 | 2.00 | 0.50 | 1.00 |" in both and "| q | 3.00 | – | 0.50 | – | 0.50 |" in both


@pytest.fixture(scope="module")
def problem():
    """A planted problem as those of the suite."""
    data, _ = datasets.make_heterogeneous(120, 2, n_features=4, seed=0)
    return SimpleNamespace(name="planted", family="made", task="regression", half="choosing", load=lambda: data)


def test_a_run_goes_on_where_it_stopped(problem, tmp_path, monkeypatch):
    lines = []
    asked = ["consensus", [problem], ["Linear", "SGC"], [20, 50], 2, tmp_path]
    assert runner.run(*asked, lines.append) == 8 == len(lines)
    path = runner.path_of(tmp_path, "consensus", "made")
    finished = kept.read(path, runner.PARTS)
    kept.rewrite(path, list(finished.values())[:5])
    assert runner.run(*asked) == 3
    again = kept.read(path, runner.PARTS)
    assert {key: each["error"] for key, each in again.items()} == {key: each["error"] for key, each in finished.items()}
    assert runner.run(*asked) == 0
    assert len(runner.read(tmp_path, "consensus", [problem])) == 8


def test_a_fit_that_fails_is_a_cell(problem, tmp_path, monkeypatch):
    def fails(data, y):
        raise RuntimeError("no luck")

    broken = SimpleNamespace(fit=fails)
    monkeypatch.setitem(uses.CONSENSUS, "broken", lambda task, seed: broken)
    assert runner.run("consensus", [problem], ["broken"], shares=[50], splits=1, results=tmp_path) == 1
    (each,) = runner.read(tmp_path, "consensus", [problem])
    assert each["error"] is None and each["failure"] == "RuntimeError: no luck"


def test_peers_of_graphs_are_left_out_where_there_is_none(problem, tmp_path):
    tables = problem.load().select(graphs=[])
    without = SimpleNamespace(**vars(problem) | {"load": lambda: tables})
    assert (
        runner.run("consensus", [without], ["Linear", "SGC", "HGB2hop"], shares=[50], splits=1, results=tmp_path) == 1
    )


def test_a_method_of_numbers_alone_is_left_out_of_classes_with_a_word(problem, tmp_path):
    lines = []
    problem.task = "classification"
    given = {"shares": [50], "splits": 1, "results": tmp_path, "progress": lines.append}
    assert runner.run("collective", [problem], ["GB"], **given) == 0
    assert lines == ["planted: GB left out, for this problem is a classification."]


def test_an_unknown_method_is_refused(problem, tmp_path):
    with pytest.raises(ParameterError, match="method='magic' is not known: give some of GBC"):
        runner.run("consensus", [problem], ["magic"], shares=[50], splits=1, results=tmp_path)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["--problems", "mfeat,nosuch"], "problem='nosuch' is not one of the use and half: give some of "),
        (["--problems", "mfeat", "--shares", "10,few"], "shares='10,few' are not numbers: give some as 10,50,90."),
    ],
)
@pytest.mark.parametrize("command", ["run", "table"])
def test_a_shell_with_a_wrong_word_runs_nothing_and_says_so(command, asked, sentence, tmp_path, capsys):
    assert suite_shell.main([command, *asked, "--results", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(sentence) and not list(tmp_path.iterdir())


def domains(task, n=80):
    """Return two domains that differ by a shift of the numbers."""
    rng = np.random.default_rng(0)
    tables, labels = {}, {}
    for k, name in enumerate(("source", "target")):
        X = rng.normal(size=(n, 3))
        score = X[:, 0] + 0.5 * X[:, 1]
        tables[name] = pl.DataFrame({f"x{j}": X[:, j] for j in range(3)} | {"c": ["a", "b"] * (n // 2)})
        labels[name] = score + k if task == "regression" else np.where(score > 0.3, "yes", "no").astype(object)
    return SimpleNamespace(target="target", tables=tables, labels=labels, task=task)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("name", TRANSFER_PEERS)
def test_transfer_peers_beat_the_prior(name, task, tmp_path):
    given = domains(task)
    problem = SimpleNamespace(name="shift", family="made", task=task, half="choosing", load=lambda: given)
    runner.run("transfer", [problem], [name], shares=[24], splits=1, results=tmp_path)
    (each,) = runner.read(tmp_path, "transfer", [problem])
    y = given.labels["target"]
    prior = np.std(y) if task == "regression" else np.mean(y == "yes")
    assert each["hidden"] == 56 and each["error"] < prior


def test_the_domain_column_takes_up_a_shift(tmp_path):
    given = domains("regression")
    problem = SimpleNamespace(name="shift", family="made", task="regression", half="choosing", load=lambda: given)
    runner.run(
        "transfer", [problem], ["linear, pooled", "linear, domain column"], shares=[24], splits=1, results=tmp_path
    )
    errors = {each["method"]: each["error"] for each in runner.read(tmp_path, "transfer", [problem])}
    assert errors["linear, domain column"] < 0.2 * errors["linear, pooled"]


def test_a_transfer_method_gets_all_source_rows_and_the_visible_ones_of_the_target(tmp_path):
    class Spy:
        def fit(self, X, y, sample_domain):
            self.rows = len(y), int((sample_domain < 0).sum())
            return self

        def predict(self, X):
            return np.zeros(len(X))

    spy = Spy()
    assert uses._run_domains(domains("regression"), "regression", spy, 24, 0)["hidden"] == 56
    assert spy.rows == (80 + 24, 24)


def test_coral_gives_sources_the_spread_of_the_target():
    rng = np.random.default_rng(0)
    X, own = rng.normal(size=(4000, 2)) * [1e3, 1e4], np.arange(4000) < 2000
    X[own] = X[own] @ [[2.0, 1.0], [0.0, 0.1]]
    moved = aligned(X, own)
    np.testing.assert_array_equal(moved[own], X[own])
    np.testing.assert_allclose(np.cov(moved[~own].T), np.cov(X[own].T), rtol=1e-4)


def test_cells_may_be_computed_elsewhere_and_come_to_the_same(problem, tmp_path):
    loads: list[int] = []
    runner._LOADED.clear()
    elsewhere = SimpleNamespace(**vars(problem) | {"load": lambda: loads.append(1) or problem.load()})
    asked = ["Linear", "SGC"], [20, 50], 2
    parallel = joblib.Parallel(1, return_as="generator_unordered")
    assert runner.run("consensus", [problem], *asked, tmp_path / "one") == 8
    assert runner.run("consensus", [elsewhere], *asked, tmp_path / "two", parallel=parallel) == 8
    # a process loads a problem once, whatever cells of it it gets
    assert len(loads) == 1 and runner.run("consensus", [elsewhere], *asked, tmp_path / "two", parallel=parallel) == 0
    errors = [
        {
            tuple(each[part] for part in runner.PARTS): each["error"]
            for each in runner.read(folder, "consensus", [problem])
        }
        for folder in (tmp_path / "one", tmp_path / "two")
    ]
    assert errors[0] == errors[1] and len(errors[0]) == 8


def test_the_suite_says_that_no_scheduler_answers(capsys, tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
    asked = ["run", "--problems", "none", "--results", str(tmp_path), "--cluster", "nonsense://x"]
    assert suite_shell.main(asked) == 2
    assert "No Dask scheduler answers at nonsense://x: start one" in capsys.readouterr().err


def test_a_run_may_begin_at_a_later_split(problem, tmp_path):
    assert runner.run("consensus", [problem], ["Linear"], shares=[50], splits=2, results=tmp_path, first=3) == 2
    assert [each["split"] for each in runner.read(tmp_path, "consensus", [problem])] == [3, 4]


@pytest.mark.slow
def test_the_letter_is_tuned_within_the_labels_of_a_cell(problem, tmp_path, monkeypatch):
    from experiments import consensus

    monkeypatch.setattr(consensus, "ROUNDS", {False: 3, True: 3})
    runner.run("consensus", [problem], ["GBC, as printed", "GBC, tempered"], shares=[50], splits=1, results=tmp_path)
    found = runner.read(tmp_path, "consensus", [problem])
    assert len(found) == 2 and all(each["error"] < problem.load().y.std() for each in found)
