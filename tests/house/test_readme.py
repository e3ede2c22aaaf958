"""What the README and docs/ say is so: code runs, commands are those of CI, numbers and tables are printed by code."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
from pathlib import Path

import polars as pl
import pytest
from packaging.requirements import Requirement

import datasets
import hetcore as hc
from datasets.__main__ import document
from studio.limits import GIB, JOBS, MIB, UPLOADS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
STUDIO = (ROOT / "docs" / "studio.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
STUDIO_COMMAND = "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt && .venv/bin/streamlit run app.py"
TEST_COMMAND = "python3 -m venv .venv && .venv/bin/pip install -r requirements-dev.txt && .venv/bin/pytest"
ERROR_TOLERANCE, WEIGHT_TOLERANCE = 0.5, 0.05  # percentage points, shares: linear algebra differs between processors


def blocks(language: str) -> list[str]:
    """Return the README's blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def numbers(output: str) -> tuple[float, dict[str, float]]:
    """Return the error in percent and the source weights that the first block prints."""
    first, second = output.strip().splitlines()
    return float(re.search(r"([\d.]+)%", first).group(1)), ast.literal_eval(second)


def test_it_opens_with_a_sentence_and_a_small_picture():
    title, sentence, picture = README.split("\n\n")[:3]
    assert title == "# hetcore" and sentence.count(".") == 1 and sentence.endswith(".")
    path = ROOT / re.fullmatch(r"!\[[^\]]{20,}\]\((.+)\)", picture).group(1)
    assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size < 300_000


@pytest.mark.slow
def test_ten_lines_print_what_stands_below_them(tmp_path, monkeypatch, capsys):
    code, *_ = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ten.py").write_text(code, encoding="utf-8")
    made = runpy.run_path("ten.py")
    error, weights = numbers(capsys.readouterr().out)
    printed_error, printed_weights = numbers(blocks("text")[0])
    assert error == pytest.approx(printed_error, abs=ERROR_TOLERANCE)
    assert weights == pytest.approx(printed_weights, abs=WEIGHT_TOLERANCE)
    assert (hc.load("digits.hetcore").predict(made["data"]) == made["model"].predict(made["data"])).all()


def test_your_own_data_are_tables_and_edges():
    films = [f"film {k}" for k in range(40)]
    given = {
        "hc": hc,
        "plots": pl.DataFrame({"film": films, "plot": ["a heist" if k % 2 else "a wedding" for k in range(40)]}),
        "budgets": pl.DataFrame({"film": films[:30], "budget": [float(k % 7) for k in range(30)]}),
        "same_director": pl.DataFrame({"source": films[:20], "target": films[20:]}),
        "ratings": pl.DataFrame({"film": films[:25], "rating": [5.0 + k % 2 for k in range(25)]}),
    }
    exec(compile(blocks("python")[1], "README.md", "exec"), given)
    predicted = pl.DataFrame({"film": films}).join(given["predicted"], "film", maintain_order="left")["rating"]
    assert predicted[1::2].min() > predicted[::2].max()


def test_both_commands_are_complete_and_ci_runs_the_second():
    assert [block.strip() for block in blocks("sh")] == [STUDIO_COMMAND, TEST_COMMAND]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert TEST_COMMAND in script.splitlines() and (ROOT / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_what_the_commands_install_is_there(name):
    assert any(name in shlex.split(command) for command in (STUDIO_COMMAND, TEST_COMMAND))
    pinned = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
    hashes = re.findall(r"--hash=sha256:[0-9a-f]{64}\b", (ROOT / name).read_text(encoding="utf-8"))
    assert pinned and len(hashes) >= len(pinned)
    lines = (ROOT / name).with_suffix(".in").read_text(encoding="utf-8").splitlines()
    asked = [Requirement(line) for line in lines if line and not line.startswith(("#", "-r "))]
    for each in asked:
        versions = [version for package, version in pinned if package == each.name.lower()]
        assert versions and all(each.specifier.contains(version) for version in versions), each


def test_some_data_sets_and_every_estimator_are_in_a_table():
    shown = re.findall(r"\[`(\w+)`\]\(docs/data\.md#\1\)", README)
    assert len(shown) == 5 and set(shown) < set(datasets.names())
    assert f"These and {len(datasets.names()) - 5} more" in README
    estimators = [name for name in hc.__all__ if name.endswith(("Classifier", "Regressor", "Regression"))]
    assert estimators and all(f"`hc.{name}`" in README for name in estimators)


def test_data_md_is_what_the_registry_prints():
    assert (ROOT / "docs" / "data.md").read_text(encoding="utf-8") == document() + "\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith(("http:", "https:"))]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_every_environment_variable_is_explained():
    folders = ("hetcore", "datasets", "studio", "pages")
    code = "\n".join(path.read_text(encoding="utf-8") for name in folders for path in (ROOT / name).rglob("*.py"))
    explained = re.findall(r"^\| `(HETCORE_[A-Z_]+)`", STUDIO, re.MULTILINE)
    assert set(explained) == set(re.findall(r"HETCORE_[A-Z_]+", code))


def test_the_limits_are_those_of_the_code():
    table = {name: value for name, value in re.findall(r"^\| ([^|`]+) \| ([^|]+) \|$", STUDIO, re.MULTILINE)}
    size, unpacked = f"{UPLOADS.file_bytes // MIB} MB", f"{UPLOADS.unpacked_bytes // MIB} MB"
    assert table["size of a file"] == size
    assert table["unpacked size"] == f"{unpacked}, and {UPLOADS.unpacked_ratio} times the packed size"
    wide = f"{UPLOADS.rows:,}, {UPLOADS.columns:,}, {UPLOADS.cells:,} ({UPLOADS.text_cells:,} of a text file)"
    assert table["rows, columns, cells of a table"] == wide
    assert table["edges of a graph"] == f"{UPLOADS.edges:,}"
    cost = f"{UPLOADS.parser_seconds:.0f} s, {UPLOADS.parser_memory // GIB} GB"
    assert table["time and memory to read a file"] == cost
    assert re.search(rf"stops \| {JOBS.idle_seconds / 60:.0f} \|", STUDIO)


@pytest.mark.parametrize(("page", "most"), [("results.md", 250), ("trust.md", 150)])
def test_a_page_stays_short_enough_to_read(page, most):
    assert len((ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()) <= most
