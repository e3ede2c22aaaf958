"""Experiments: files that say what is run, cells that are kept, verdicts that can fail."""

import inspect
import json
import subprocess
import sys
from importlib import import_module

import joblib
import numpy as np
import polars as pl
import pytest

from experiments import __main__ as shell
from experiments import cells as kept
from experiments import experiment, info, names, outcome, rules, run, tables
from experiments.judging import judged
from experiments.protocols import PROTOCOLS, Protocol
from experiments.rules import SAYS
from hetcore.errors import ParameterError
from tests.house.test_house import ROOT

TOY = """
paper = "gbc"
part = "Figure 99"
title = "A toy"
claim = ["Good is better than bad."]
protocol = "toy"
[cells]
data = ["d", "e"]
method = ["good", "bad"]
level = [0.1, 0.9]
seed = 4
[page]
data = ["d"]
seed = 2
[figure]
x = "level"
[verdict]
rules = [
  { ours = "good", theirs = "bad", says = "below" },
  { ours = "bad", theirs = "good", says = "alike", beside = true },
]
"""


def run_cell(data, method, level, seed):
    """The toy protocol; a call leaves its trace."""
    CALLS.append((data, method, level, seed))
    noise = np.random.default_rng([seed, len(method)]).normal() * 0.01
    return {"error": (1.0 if method == "good" else 2.0) * level + noise}


CALLS: list = []


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Make the toy the only experiment; return the folder of its cells."""
    (tmp_path / "gbc-figure-99.toml").write_text(TOY)
    monkeypatch.setattr(experiment, "FILES", tmp_path)
    monkeypatch.setitem(PROTOCOLS, "toy", Protocol(__name__, "toy"))
    experiment._all.cache_clear()
    CALLS.clear()
    yield tmp_path / "cells"
    experiment._all.cache_clear()


def test_seeds_are_outermost_and_a_page_runs_less(toy):
    keys = info("gbc-figure-99").keys("full")
    assert len(keys) == 2 * 2 * 2 * 4
    assert {key[-1] for key in keys[:8]} == {0}
    assert set(info("gbc-figure-99").keys("page")) < set(keys)
    assert len(info("gbc-figure-99").keys("page")) == 8


def test_a_run_that_was_stopped_goes_on_where_it_was(toy):
    run("gbc-figure-99", "page", toy, [lambda event: event.index == 2])
    assert len(CALLS) == 3
    found = run("gbc-figure-99", "page", toy)
    assert len(CALLS) == len(set(CALLS)) == 8
    assert found.cells.height == found.total == 8 and found.seconds == 0
    run("gbc-figure-99", "full", toy)
    assert len(CALLS) == len(set(CALLS)) == 32


def test_events_tell_each_cell(toy):
    events = []
    run("gbc-figure-99", "page", toy, [events.append])
    assert [event.index for event in events] == list(range(8)) and events[0].total == 8
    assert events[0].detail["cell"]["method"] == "good"


def test_cells_spread_over_workers_are_the_same(toy):
    one = run("gbc-figure-99", "page", toy / "one").cells
    with joblib.Parallel(2, backend="threading", return_as="generator_unordered") as parallel:
        two = run("gbc-figure-99", "page", toy / "two", parallel=parallel).cells
    order = ["data", "method", "level", "seed"]
    assert one.drop("seconds").sort(order).equals(two.drop("seconds").sort(order))


def test_a_torn_line_costs_one_cell(toy):
    run("gbc-figure-99", "page", toy)
    path = toy / "toy.jsonl"
    path.write_text(path.read_text()[:-25])
    assert outcome("gbc-figure-99", "page", toy).cells.height == 7
    assert run("gbc-figure-99", "page", toy).cells.height == 8
    assert len(CALLS) == 9


def test_numbers_that_are_not_finite_are_null(tmp_path):
    kept.append(tmp_path / "x.jsonl", {"error": float("nan"), "weights": [np.float64(0.5), float("inf")]})
    assert json.loads((tmp_path / "x.jsonl").read_text()) == {"error": None, "weights": [0.5, None]}


def test_the_verdict_follows_the_cells(toy):
    found = run("gbc-figure-99", "page", toy)
    assert found.verdict.word == "holds"
    assert str(found.verdict).startswith("Holds. good: lower error than bad in 2 of 2 places (4")
    assert "% lower on average). bad: the same error as" in str(found.verdict)
    turned = found.cells.with_columns(pl.when(pl.col("method") == "good").then(9.0).otherwise("error").alias("error"))
    assert judged(found.experiment, turned).word == "doesn't hold here"
    half = turned.with_columns(
        pl.when(pl.col("level") == 0.1).then(pl.col("error") * 0).otherwise("error").alias("error")
    )
    mixed = half.with_columns(pl.when((pl.col("method") == "bad") & (pl.col("level") == 0.1)).then(1.0)
                              .otherwise("error").alias("error"))  # fmt: skip
    assert judged(found.experiment, mixed).word == "holds in part"
    assert outcome("gbc-figure-99", "page", toy / "elsewhere").verdict.word == "not run yet"


def test_what_is_beside_the_claim_does_not_count(toy):
    found = run("gbc-figure-99", "page", toy)
    assert [finding.beside for finding in found.verdict.findings] == [False, True]
    assert found.verdict.findings[1].held == 0 and found.verdict.word == "holds"


def test_the_figure_has_a_panel_for_each_of_the_data_and_a_line_for_each_method(toy):
    figure = run("gbc-figure-99", "full", toy).figure
    assert list(figure) == ["d", "e"]
    lines = {trace["name"]: trace["y"] for trace in figure["d"]["data"]}
    assert list(lines) == ["good", "bad"]
    assert np.allclose(lines["good"], [0.1, 0.9], atol=0.02) and np.allclose(lines["bad"], [0.2, 1.8], atol=0.02)


def test_the_table_says_claim_verdict_and_numbers(toy):
    run("gbc-figure-99", "page", toy)
    text = tables.page([outcome("gbc-figure-99", "full", toy)], "somewhere")
    assert "*The paper:* Good is better than bad." in text and "(8 of 32 cells): **holds**" in text
    assert "--results somewhere --table" in text
    row = next(line for line in text.splitlines() if line.startswith("| bad"))
    assert "[2]" in row and "±" in row


def test_the_shell_lists_runs_prints_and_refuses(toy, capsys):
    assert shell.main([]) == 0
    assert capsys.readouterr().out == "gbc-figure-99  Figure 99: A toy\n"
    assert shell.main(["gbc-figure-99", "--scope", "page", "--results", str(toy)]) == 0
    assert capsys.readouterr().out.startswith("gbc-figure-99: Holds.")
    assert shell.main(["all", "--table", "--results", str(toy)]) == 0
    assert "Figure 99" in capsys.readouterr().out
    assert shell.main(["all", "--claims", "--results", str(toy)]) == 0
    assert "| Figure 99 | Good is better than bad. |" in capsys.readouterr().out
    assert shell.main(["figure-0"]) == 2
    assert "is no experiment: give one of 'gbc-figure-99'" in capsys.readouterr().err


def test_an_unknown_scope_is_refused(toy):
    with pytest.raises(ParameterError, match="'page', 'full'"):
        run("gbc-figure-99", "week", toy)


@pytest.mark.parametrize("name", names())
def test_every_file_is_whole(name):
    found = info(name)
    assert found.paper in experiment.PAPERS and found.protocol in PROTOCOLS
    assert 1 <= len(found.claim) <= 3 and all(sentence.endswith(".") for sentence in found.claim)
    assert set(found.page) <= set(found.cells)
    assert set(found.keys("page")) <= set(found.keys("full")), "what the page runs counts for the full run"
    methods = set(found.cells.get("method", ()))
    module = import_module(PROTOCOLS[found.protocol].module)
    assert methods and methods <= set(module.METHODS)
    assert set(inspect.signature(module.run_cell).parameters) == set(found.cells)
    assert set(found.page.get("method", methods)) <= set(found.seconds), "a time is told before anything has run"
    assert len(found.why) <= len(found.claim)


@pytest.mark.parametrize("name", names())
def test_every_sentence_of_a_claim_is_judged_by_rules_that_can_be_read(name):
    found, given = info(name), info(name).verdict["rules"]
    methods = set(found.cells["method"])
    assert {rule["claim"] for rule in ({"claim": 1} | rule for rule in given) if not rule.get("beside")} == set(
        range(1, len(found.claim) + 1)
    )
    for rule in given:
        assert rule["says"] in SAYS and {rule["ours"], rule.get("theirs", rule["ours"])} <= methods
        assert "theirs" in rule or "than" in rule
        for part, value in rule.get("where", {}).items():
            assert set(value if isinstance(value, list) else [value]) <= set(found.cells[part])
    seen = set(found.page.get("method", methods))
    assert any({rule["ours"], rule.get("theirs", rule["ours"])} <= seen for rule in given if not rule.get("beside"))


def _judged(rule, **lines):
    """Return the finding of a rule on means at the levels 0.1 and 0.9, by method."""
    cells = pl.DataFrame(
        [{"data": "d", "method": method, "level": level, "seed": seed, "error": value}
         for method, values in lines.items() for level, value in zip((0.1, 0.9), values) for seed in (0, 1)]
    )  # fmt: skip
    return rules.finding(info("gbc-figure-99"), cells, {"ours": "good"} | rule)


@pytest.mark.parametrize(
    "rule, held",
    [
        ({"theirs": "bad", "says": "below"}, 2),
        ({"theirs": "bad", "says": "above"}, 0),
        ({"than": 0.2, "says": "below"}, 1),
        ({"than": 0.25, "within": 0.06, "says": "about"}, 1),
        ({"theirs": "bad", "says": "narrows"}, 1),
        ({"theirs": "bad", "says": "widens"}, 0),
        ({"theirs": "bad", "says": "narrows", "better": "above"}, 0),
        ({"theirs": "bad", "than": 0.8, "says": "cuts"}, 1),
        ({"theirs": "bad", "than": 0.95, "says": "cuts"}, 0),
        ({"theirs": "bad", "says": "below", "where": {"level": [0.9]}}, 1),
        ({"theirs": "bad", "factor": 0.1, "says": "above"}, 2),
    ],
)
def test_rules_by_hand(toy, rule, held):
    found = _judged(rule, good=(0.1, 0.3), bad=(0.9, 0.4))
    assert found.held == held and found.words.startswith("good: ")


def test_a_rule_says_by_how_much(toy):
    several = _judged({"theirs": "bad", "says": "below"}, good=(0.1, 0.2), bad=(0.2, 0.4))
    assert "(50.0% lower on average)" in several.words
    one = _judged({"theirs": "bad", "says": "below", "where": {"level": 0.1}}, good=(0.1, 0.2), bad=(0.2, 0.4))
    assert "(0.1 against 0.2), level 0.1" in one.words
    nothing = _judged({"theirs": "worse", "says": "below"}, good=(0.1, 0.2))
    assert nothing.places == 0


def test_claims_are_a_row_each_with_the_reason_where_they_fail(toy):
    text = (toy.parent / "gbc-figure-99.toml").read_text()
    text = text.replace('claim = ["Good is better than bad."]',
                        'claim = ["Good is better.", "Bad is better."]\nwhy = ["", "It is not."]')  # fmt: skip
    text = text.replace("rules = [", 'rules = [\n  { ours = "bad", theirs = "good", says = "below", claim = 2 },')
    (toy.parent / "gbc-figure-99.toml").write_text(text)
    experiment._all.cache_clear()
    run("gbc-figure-99", "page", toy)
    text = tables.claimed([outcome("gbc-figure-99", "full", toy)])
    rows = [line for line in text.splitlines() if "Figure 99" in line]
    assert len(rows) == 2 and "**holds**" in rows[0] and "(8 of 32 cells)" in rows[0]
    assert "**doesn't hold here**" in rows[1] and "It is not." in rows[1] and "It is not." not in rows[0]


def test_the_time_of_missing_cells_is_that_of_their_method(toy, monkeypatch):
    for key in info("gbc-figure-99").keys("page"):
        if key[1] == "good" or key[3] == 0:
            kept.append(toy / "toy.jsonl", dict(zip(info("gbc-figure-99").cells, key))
                        | {"error": 1.0, "seconds": 1.0 if key[1] == "good" else 60.0})  # fmt: skip
    assert outcome("gbc-figure-99", "page", toy).seconds == pytest.approx(2 * 60.0)
    assert np.isnan(outcome("gbc-figure-99", "page", toy / "elsewhere").seconds)


def test_before_anything_has_run_the_time_is_that_of_the_file(toy):
    text = (toy.parent / "gbc-figure-99.toml").read_text() + '[seconds]\n"good" = 2.0\n"bad" = 30.0\n'
    (toy.parent / "gbc-figure-99.toml").write_text(text)
    experiment._all.cache_clear()
    assert outcome("gbc-figure-99", "page", toy).seconds == 4 * 2.0 + 4 * 30.0


@pytest.mark.parametrize("name", names())
def test_no_claim_is_left_out_of_the_results(name):
    rows = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert all(f"| {sentence} |" in rows for sentence in info(name).claim), "print docs/results.md anew"
    assert f"### {info(name).part}: {info(name).title}" in page, "print docs/papers.md anew"


def test_a_cell_of_the_consensus_protocol_repeats():
    from experiments.consensus import run_cell as consensus

    key = {"data": "planted", "setting": "uniform", "method": "GBC, trees only", "fraction": 0.5, "split": 0}
    first, second = consensus(**key), consensus(**key)
    assert first["error"] == second["error"] > 0 and sum(first["weights"].values()) == pytest.approx(1, abs=1e-3)


def test_a_cell_of_the_collective_protocol_repeats_and_leaves_the_truth_alone():
    from experiments.collective import labels, load
    from experiments.collective import run_cell as collective

    key = {"data": "planted 0.8", "method": "GB, as printed", "fraction": 0.4, "fold": 1}
    first, second = collective(**key), collective(**key)
    assert first["error"] == second["error"] > 0
    shares = [np.isfinite(labels(load("planted 0.8", 1), fraction, 1)).mean() for fraction in (0.2, 0.4, 0.6, 0.8)]
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_a_customer_cell_tells_how_the_weights_follow_the_quality():
    from experiments import customers

    found = customers.run_cell(600, "GBC", 0)
    assert 0 < found["error"] < 0.5 and -1 <= found["quality"] <= 1
    assert "quality" not in customers.run_cell(600, "histogram GBDT + neighbour means", 0)


def test_a_killed_run_loses_at_most_the_cell_it_was_at(tmp_path):
    path, parts = tmp_path / "collective.jsonl", list(info("mgb-planted").cells)
    command = [
        sys.executable,
        "-m",
        "experiments",
        "mgb-planted",
        "--scope",
        "page",
        "--results",
        str(tmp_path),
    ]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) as process:  # noqa: S603 - our own module
        for _ in iter(lambda: process.stderr.read(16), b""):  # the bar is drawn anew after each cell
            if len(kept.read(path, parts)) >= 2:
                process.kill()
                break
    before = kept.read(path, parts)
    assert 2 <= len(before) < len(info("mgb-planted").keys("page"))
    run("mgb-planted", "page", tmp_path, [lambda event: True])
    after = kept.read(path, parts)
    assert len(after) == len(before) + 1 and all(after[key] == cell for key, cell in before.items())
