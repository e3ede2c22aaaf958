"""Experiments: files that say what is run, cells that are kept, verdicts that can fail."""

import inspect
import json
import re
import subprocess
import sys
from importlib import import_module

import joblib
import numpy as np
import polars as pl
import pytest

from experiments import __main__ as shell
from experiments import cells as kept
from experiments import experiment, info, names, outcome, pack, run, tables, verdicts
from experiments.protocols import PROTOCOLS, Protocol
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


def _verdict(cells):
    return verdicts.claims(info("gbc-figure-99"), cells)[0].verdict


def test_the_verdict_follows_the_cells(toy):
    found = run("gbc-figure-99", "full", toy)
    assert found.verdict == verdicts.HOLDS
    good, first = pl.col("method") == "good", pl.col("level") == 0.1
    turned = found.cells.with_columns(error=pl.when(good).then(pl.col("error") + 9.0).otherwise("error"))
    assert _verdict(turned) == verdicts.NO
    mixed = found.cells.with_columns(error=pl.when(good & first & (pl.col("data") == "d")).then(9.0).otherwise("error"))
    assert _verdict(mixed) == verdicts.IN_PART
    assert outcome("gbc-figure-99", "page", toy / "elsewhere").verdict == verdicts.NOT_RUN


def test_noise_is_not_seen(toy):
    """Differences that are within two standard errors of zero count neither for nor against."""
    cells = run("gbc-figure-99", "full", toy).cells
    noise = np.random.default_rng(0).normal(size=cells.height)
    found = verdicts.compare(info("gbc-figure-99"), cells.with_columns(error=pl.lit(noise)),
                             {"ours": "good", "theirs": "bad", "says": "below"})  # fmt: skip
    assert found.held == found.against == 0 and found.places == 4 and abs(found.difference) < 2 * found.standard_error
    assert verdicts.verdict([found]) == verdicts.NO


def test_one_seed_shows_nothing(toy):
    cells = run("gbc-figure-99", "full", toy).cells.filter(pl.col("seed") == 0)
    found = verdicts.claims(info("gbc-figure-99"), cells)[0]
    assert found.verdict == verdicts.NOT_RUN and found.comparisons == ()


def test_what_is_beside_the_claim_does_not_count(toy):
    found = run("gbc-figure-99", "full", toy)
    assert [each.beside for each in found.claims[0].comparisons] == [False, True]
    assert found.claims[0].comparisons[1].held == 0 and found.verdict == verdicts.HOLDS


def test_packed_cells_are_the_same_cells_and_a_later_line_counts(toy):
    before = run("gbc-figure-99", "page", toy).cells
    kept.append(toy / "toy.jsonl", {"data": "e", "method": "good", "level": 0.1, "seed": 0, "weights": {"a": 0.5}})
    assert pack("gbc-figure-99", toy) == 9 and not (toy / "toy.jsonl").exists()
    assert outcome("gbc-figure-99", "page", toy).cells.equals(before)
    parts = ["data", "method", "level", "seed"]
    assert kept.read(toy / "toy.jsonl", parts)["e", "good", 0.1, 0]["weights"] == {"a": 0.5}
    run("gbc-figure-99", "page", toy)
    assert len(CALLS) == 8, "nothing that is packed runs again"
    kept.append(toy / "toy.jsonl", {"data": "d", "method": "good", "level": 0.1, "seed": 0, "error": 7.0})
    assert kept.read(toy / "toy.jsonl", parts)["d", "good", 0.1, 0]["error"] == 7.0


def test_the_figure_has_a_panel_for_each_of_the_data_and_a_line_for_each_method(toy):
    figure = run("gbc-figure-99", "full", toy).figure
    assert list(figure) == ["d", "e"]
    lines = {trace["name"]: trace["y"] for trace in figure["d"]["data"]}
    assert list(lines) == ["good", "bad"]
    assert np.allclose(lines["good"], [0.1, 0.9], atol=0.02) and np.allclose(lines["bad"], [0.2, 1.8], atol=0.02)


def test_the_table_has_means_errors_and_counts(toy):
    run("gbc-figure-99", "page", toy)
    text = tables.page([outcome("gbc-figure-99", "full", toy)], "somewhere")
    assert "--results somewhere --table" in text and "Figure 99: A toy" in text
    row = next(line for line in text.splitlines() if line.startswith("| bad"))
    assert "Everywhere: data d." in text and "[2]" in row and "±" in row
    assert "Figure 99" not in tables.page([outcome("gbc-figure-99", "full", toy / "elsewhere")])


def test_data_sets_are_columns_of_a_table_while_they_fit(toy, monkeypatch):
    run("gbc-figure-99", "full", toy)
    lines = tables.page([outcome("gbc-figure-99", "full", toy)]).splitlines()
    assert "| method, level | d · 0.1 | d · 0.9 | e · 0.1 | e · 0.9 |" in lines
    row = next(line for line in lines if line.startswith("| bad")).split(" | ")
    assert [float(each.split()[0]) for each in row[1:]] == pytest.approx([0.2, 1.8, 0.2, 1.8], abs=0.02)
    monkeypatch.setattr(tables, "COLUMNS", 3)
    lines = tables.page([outcome("gbc-figure-99", "full", toy)]).splitlines()
    assert "| method, level | 0.1 | 0.9 |" in lines and any(line.startswith("| e · bad |") for line in lines)


def test_the_shell_lists_runs_prints_and_refuses(toy, capsys):
    assert shell.main([]) == 0
    assert capsys.readouterr().out == "gbc-figure-99  Figure 99: A toy\n"
    assert shell.main(["gbc-figure-99", "--scope", "page", "--results", str(toy)]) == 0
    assert capsys.readouterr().out == "gbc-figure-99: holds\n"
    assert shell.main(["gbc-figure-99", "--pack", "--results", str(toy)]) == 0 and (toy / "toy.parquet").exists()
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
    assert 1 <= len(found.claim) <= 4 and all(sentence.endswith(".") for sentence in found.claim)
    assert set(found.page) <= set(found.cells)
    assert set(found.keys("page")) <= set(found.keys("full")), "what the page runs counts for the full run"
    methods = set(found.cells.get("method", ()))
    module = import_module(PROTOCOLS[found.protocol].module)
    assert methods and methods <= set(module.METHODS)
    assert set(inspect.signature(module.run_cell).parameters) == set(found.cells)
    assert set(found.page.get("method", methods)) <= set(found.seconds), "a time is told before anything has run"
    assert len(found.why) <= len(found.claim) and set(found.by_construction) <= set(range(1, len(found.claim) + 1))


KEYS = {"ours", "theirs", "than", "says", "or", "within", "factor", "better", "measure", "where", "chosen", "almost",
        "claim", "beside"}  # fmt: skip


@pytest.mark.parametrize("name", names())
def test_every_sentence_of_a_claim_is_evaluated_by_rules_that_can_be_read(name):
    found, given = info(name), info(name).verdict["rules"]
    methods = set(found.cells["method"])
    assert {rule["claim"] for rule in ({"claim": 1} | rule for rule in given) if not rule.get("beside")} == set(
        range(1, len(found.claim) + 1)
    )
    for rule in given:
        assert rule["says"] in verdicts.RULES
        assert {rule["ours"], rule.get("theirs", rule["ours"]), *rule.get("or", ())} <= methods
        assert "theirs" in rule or "than" in rule
        assert set(rule) <= KEYS and ("within" in rule) == (rule["says"] == "about")
        for part, value in rule.get("where", {}).items():
            assert set(value if isinstance(value, list) else [value]) <= set(found.cells[part])
    seen = set(found.page.get("method", methods))
    assert any({rule["ours"], rule.get("theirs", rule["ours"])} <= seen for rule in given if not rule.get("beside"))


def _compared(rule, **lines):
    """Return the comparison of a rule on means at the levels 0.1 and 0.9, by method; two seeds, 0.002 apart."""
    cells = pl.DataFrame(
        [{"data": "d", "method": method, "level": level, "seed": seed,
          "error": value + 0.001 * seed * (method == "good")}
         for method, values in lines.items() for level, value in zip((0.1, 0.9), values) for seed in (-1, 1)]
    )  # fmt: skip
    return verdicts.compare(info("gbc-figure-99"), cells, {"ours": "good"} | rule)


@pytest.mark.parametrize(
    "rule, held, against",
    [
        ({"theirs": "bad", "says": "below"}, 2, 0),
        ({"theirs": "bad", "says": "above"}, 0, 2),
        ({"than": 0.2, "says": "below"}, 1, 1),
        ({"than": 0.25, "within": 0.07, "says": "about"}, 1, 1),
        ({"than": 0.25, "within": 0.06, "says": "about"}, 0, 1),  # 0.05 off, give or take 0.013
        ({"theirs": "bad", "says": "alike"}, 0, 2),
        ({"theirs": "bad", "says": "narrows"}, 1, 0),
        ({"theirs": "bad", "says": "widens"}, 0, 1),
        ({"theirs": "bad", "says": "narrows", "better": "above"}, 0, 1),
        ({"theirs": "bad", "than": 0.8, "says": "cuts"}, 1, 0),
        ({"theirs": "bad", "than": 0.95, "says": "cuts"}, 0, 1),
        ({"theirs": "bad", "says": "below", "where": {"level": [0.9]}}, 1, 0),
        ({"theirs": "bad", "factor": 0.1, "says": "above"}, 1, 0),  # 0.01 apart at the left, give or take 0.013
        ({"than": 0.2, "says": "below", "almost": 0.5}, 1, 1),
        ({"or": ["bad"], "than": 0.35, "says": "below"}, 2, 0),
        ({"or": ["bad"], "than": 0.35, "says": "above"}, 2, 0),
        ({"than": 0.0, "says": "falls"}, 0, 0),  # at its best at the right end
        ({"ours": "bad", "than": 0.0, "says": "falls"}, 1, 0),
        ({"ours": "bad", "than": 0.6, "says": "falls"}, 0, 0),
    ],
)
def test_rules_by_hand(toy, rule, held, against):
    found = _compared(rule, good=(0.1, 0.3), bad=(0.9, 0.4))
    assert (found.held, found.against) == (held, against)


def test_few_seeds_decide_nothing_that_chance_does(toy):
    """Two seeds show a difference beyond 12.7 standard errors, and none at two: noise would be taken for one."""
    hits = {2: 0, 4: 0}
    for trial in range(60):
        noise = np.random.default_rng(trial).normal(size=(4, 8))
        for n in hits:
            cells = pl.DataFrame([{"data": "d", "method": method, "level": level, "seed": seed,
                                   "error": noise[seed, 4 * (method == "good") + place]}
                                  for method in ("good", "bad") for place, level in enumerate((0.1, 0.3, 0.6, 0.9))
                                  for seed in range(n)])  # fmt: skip
            rule = {"ours": "good", "theirs": "bad", "says": "below"}
            found = verdicts.compare(info("gbc-figure-99"), cells, rule)
            hits[n] += found.held + found.against
    assert max(hits.values()) < 0.1 * 240  # 5% of 240; by two standard errors two seeds would see 30%


def _noisy(values, says, **rule):
    """Return the comparison of one place with these values, against 0.5 as a number or as another method's."""
    cells = pl.DataFrame([{"data": "d", "method": method, "level": 0.1, "seed": seed, "error": float(value)}
                          for method, of in (("good", values), ("bad", [0.5] * len(values)))
                          for seed, value in enumerate(of)])  # fmt: skip
    other = {"theirs": "bad"} if says in ("alike", "cuts") else {"than": 0.5}
    found = verdicts.compare(info("gbc-figure-99"), cells, {"ours": "good", "says": says} | other | rule)
    return found.held, found.against


@pytest.mark.parametrize(
    "values, says, rule, found",
    [
        ([0.2, 0.8], "about", {"within": 0.1}, (0, 0)),  # right on average, by chance
        ([0.49, 0.5, 0.51, 0.5], "about", {"within": 0.1}, (1, 0)),
        ([0.89, 0.9, 0.91, 0.9], "about", {"within": 0.1}, (0, 1)),
        ([0.2, 0.8], "alike", {}, (0, 0)),
        ([0.2, 0.8, 0.4, 0.6, 0.5], "alike", {}, (1, 0)),
        ([0.0, 0.3], "cuts", {"than": 0.7}, (0, 0)),  # 70% on average, which two runs don't show
        ([0.2, 0.5], "cuts", {"than": 0.8}, (0, 0)),  # 30%: nothing refutes 80%, and nothing reaches it
        ([0.1, 0.11, 0.09], "cuts", {"than": 0.7}, (1, 0)),
        ([0.3, 0.31, 0.29], "cuts", {"than": 0.7}, (0, 1)),
    ],
)
def test_noise_is_neither_near_nor_a_cut(toy, values, says, rule, found):
    assert _noisy(values, says, **rule) == found


def test_only_cells_that_chose_a_term_speak_of_it(toy):
    def held(chosen):
        cells = pl.DataFrame([{"data": "d", "method": "good", "level": 0.1, "seed": seed, "error": 0.1,
                               "chosen": {"lambda0": each}} for seed, each in enumerate(chosen)])  # fmt: skip
        rule = {"ours": "good", "than": 0.5, "says": "below", "chosen": "lambda0"}
        found = verdicts.compare(info("gbc-figure-99"), cells, rule)
        return found.held, found.places

    assert held([0.1, 0.1, 0.0]) == (1, 1)
    assert held([0.0, 0.0, 0.0]) == held([0.1, 0.0, 0.0]) == (0, 0)


def test_almost_every_place_may_miss_some(toy):
    good, bad = (0.1, 0.3), (0.2, 0.2)
    found = _compared({"theirs": "bad", "says": "below", "almost": 0.5}, good=good, bad=bad)
    assert (found.held, found.places, found.spared) == (1, 2, 1)
    assert verdicts.verdict([found]) == verdicts.HOLDS
    assert verdicts.verdict([found._replace(spared=0)]) == verdicts.NO
    # A fifth of two places is none of them.
    assert _compared({"theirs": "bad", "says": "below", "almost": 0.2}, good=good, bad=bad).spared == 0


def test_the_count_has_papers_and_ours_apart_and_nothing_that_can_not_fail(toy):
    path = toy.parent / "gbc-figure-99.toml"
    text = path.read_text().replace('claim = ["Good is better than bad."]',
                                    'claim = ["Good is better.", "Good is good."]\nby_construction = [2]')  # fmt: skip
    rule = '{ ours = "good", theirs = "good", says = "above", claim = 2 }'
    path.write_text(text.replace("rules = [", f"rules = [\n  {rule},"))
    (toy.parent / "gbc-beyond.toml").write_text(TOY.replace("Figure 99", "Beyond 1").replace('"below"', '"above"'))
    experiment._all.cache_clear()
    run("gbc-figure-99", "full", toy)
    printed = tables.claimed([outcome(name, "full", toy) for name in names()])
    # One seed, of which nothing can be said.
    few = tables.claimed([outcome("gbc-figure-99", "full", toy / "elsewhere")])
    assert "Of what the papers claim, not run: 1." in few
    assert "Of what the papers claim, holds: 1." in printed
    assert "Not counted, for nothing that runs could refute them: 1 that hold by construction." in printed
    assert "Of what goes beyond the papers, no: 1." in printed
    assert "**no** by construction" in printed and outcome("gbc-figure-99", "full", toy).verdict == verdicts.HOLDS


def test_a_cut_is_reported_as_a_share_and_another_measure_by_its_name(toy):
    found = _compared({"theirs": "bad", "than": 0.8, "says": "cuts"}, good=(0.1, 0.3), bad=(0.9, 0.4))
    assert tables.in_numbers(found) == "good, share of bad cut off, 80% asked: 88.9% ± 0.11%, 1 for, 0 against of 1"
    other = found._replace(says="below", measure="cpu_seconds", difference=-0.5, standard_error=0.01)
    assert tables.in_numbers(other) == "good − bad (cpu seconds): -0.5 ± 0.01, 1 for, 0 against of 1"


def test_a_comparison_is_reported_as_numbers(toy):
    found = _compared({"theirs": "bad", "says": "below"}, good=(0.1, 0.2), bad=(0.2, 0.4))
    assert (found.difference, found.relative) == pytest.approx((-0.15, -0.5))
    # Each place has differences that are 0.002 apart, a standard error of 0.001; two places have 0.001 / sqrt 2.
    assert found.standard_error == pytest.approx(0.001 / np.sqrt(2))
    assert tables.in_numbers(found) == "good − bad: -0.15 ± 0.00071 (-50.0%), 2 for, 0 against of 2"
    assert _compared({"theirs": "worse", "says": "below"}, good=(0.1, 0.2)).places == 0


def test_claims_are_a_row_each_with_their_place_and_number(toy):
    text = (toy.parent / "gbc-figure-99.toml").read_text()
    text = text.replace('claim = ["Good is better than bad."]',
                        'claim = ["Good is better.", "Bad is better."]\n'
                        'place = ["Section 9"]\nnumber = ["1 < 2"]\nstand_in = "toys for data"')  # fmt: skip
    text = text.replace("rules = [", 'rules = [\n  { ours = "bad", theirs = "good", says = "below", claim = 2 },')
    (toy.parent / "gbc-figure-99.toml").write_text(text)
    experiment._all.cache_clear()
    run("gbc-figure-99", "full", toy)
    first, second = (
        line for line in tables.claimed([outcome("gbc-figure-99", "full", toy)]).splitlines() if "better." in line
    )
    assert first.startswith("| Section 9 | Good is better. | 1 < 2 |") and "**holds**; toys for data |" in first
    assert second.startswith("| Figure 99 | Bad is better. | – |") and "**no**" in second


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


@pytest.mark.parametrize("page", ["papers.md", "results.md"])
def test_a_page_is_what_its_command_prints(page, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    command = re.search(r"Printed by `python -m experiments ([^`]*)`", text)[1]
    assert shell.main(command.split()) == 0
    assert capsys.readouterr().out == text, f"print docs/{page} anew"


@pytest.mark.slow
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
