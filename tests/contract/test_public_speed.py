"""benchmarks/speed/public.py: every public estimator has a contest, and its ratios are those of its seconds."""

import math

import pytest

from benchmarks.speed import public
from benchmarks.speed.public import Row, Taken, measured, summary
from benchmarks.speed.public_contests import CONTESTS, missing
from hetcore.registry import METHODS

PUBLIC = {name for name, module in METHODS.items() if module.startswith("hetcore.")}


def test_every_public_estimator_is_timed_once_at_three_sizes():
    timed = [name for contest in CONTESTS.values() for name in contest.ours]
    assert sorted(timed) == sorted(PUBLIC)
    for contest in CONTESTS.values():
        assert contest.peers and len(contest.sizes) == 3 and list(contest.sizes) == sorted(contest.sizes)


def test_ratios_are_to_the_fastest_and_to_the_fastest_that_errs_no_more():
    peers = {"quick": Taken(0.5, 0.5, 0.4), "slow": Taken(3.0, 1.0, 0.3), "same": Taken(1.9, 0.1, 0.202)}
    row = Row("A", 300, Taken(2.0, 1.0, 0.2), peers)
    assert (row.fastest, row.no_worse, row.met) == (3.0, 1.5, False)
    best = Row("B", 300, Taken(9.0, 1.0, 0.1), peers)
    assert (best.fastest, best.no_worse, best.met) == (10.0, None, True)
    assert summary([row, best]).endswith("no worse error: 1 of 2. Largest ratios: A at 300: 1.5.")


def test_a_negative_likelihood_that_is_lower_is_better():
    row = Row("A", 300, Taken(2.0, 0.0, -1.0), {"worse": Taken(1.0, 0.0, -0.9), "equal": Taken(4.0, 0.0, -0.995)})
    assert row.no_worse == 0.5


def test_a_peer_that_is_not_installed_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr("benchmarks.speed.public_contests.find_spec", lambda name: None)
    assert missing("cornac MF") == "cornac MF is not compared: cornac is not installed (requirements-bench.txt)."
    assert missing("LightGBM") == ""


def test_contests_without_any_peer_are_left_out_in_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(public, "missing", lambda name: f"{name} is not here.")
    monkeypatch.setattr("sys.argv", ["public", next(iter(CONTESTS))])
    public.main()
    printed = capsys.readouterr().out
    assert f"No peer of {next(iter(CONTESTS))} is installed" in printed and "|" not in printed


def test_a_contest_is_run(monkeypatch):
    monkeypatch.setattr("benchmarks.speed.public_contests.find_spec", lambda name: None)
    (row,) = measured(CONTESTS["linear"], 60, repeats=2)
    assert row.name == "HLR" and list(row.peers) == ["LinearRegression"]
    assert math.isclose(row.taken.error, row.peers["LinearRegression"].error, rel_tol=1e-6)
    assert row.line().startswith("| HLR | 60 | ") and row.line().count("|") == len(public.COLUMNS) + 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hetcore.errors.UnfamiliarValuesWarning")  # 120 ratings know hardly a user
@pytest.mark.parametrize("name", sorted(CONTESTS))
def test_every_problem_is_made_and_predicted_by_ours(name):
    contest = CONTESTS[name]
    problem = contest.make(120)
    for rival in contest.ours.values():
        assert math.isfinite(contest.error_of(problem, rival.predict(rival.fit(problem), problem)))
