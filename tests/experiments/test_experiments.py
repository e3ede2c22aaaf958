"""Experiments: files that say what is run, cells that are kept, tables and figures of them."""

import inspect
import json
import re
import subprocess
import sys
from importlib import import_module

import joblib
import numpy as np
import pytest

from experiments import __main__ as shell
from experiments import cells as kept
from experiments import experiment, info, names, outcome, pack, run, tables
from experiments.protocols import PROTOCOLS
from hetcore.errors import ParameterError
from tests.experiments.toy import CALLS
from tests.house.test_house import ROOT


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
