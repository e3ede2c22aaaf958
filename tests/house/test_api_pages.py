"""The docstrings as pages and as code: every public name has its place, every example does what it shows."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hetcore as hc

ROOT = Path(__file__).resolve().parents[2]
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for folder in ("hetcore", "datasets", "experiments")
    for path in (ROOT / folder).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


LOADS = [pytest.param(name, marks=pytest.mark.slow) for name in WITH_EXAMPLES if name.startswith("datasets")]


@pytest.mark.parametrize("name", [*(name for name in WITH_EXAMPLES if not name.startswith("datasets")), *LOADS])
def test_examples_do_what_they_show(name, tmp_path, monkeypatch):
    if name.startswith("hetcore.widget"):
        pytest.importorskip("anywidget", reason="anywidget is not installed")
    monkeypatch.chdir(tmp_path)
    if name == "datasets.suite" and "HETCORE_DATA" not in os.environ:
        pytest.skip("HETCORE_DATA is not set: the data would be downloaded")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


def test_every_example_runs():
    text = "".join(Path(importlib.import_module(name).__file__).read_text("utf-8") for name in WITH_EXAMPLES)
    lines = [line for line in text.splitlines() if line.strip().startswith(">>> ")]
    assert len(lines) >= 10 and [line for line in lines if "+SKIP" in line] == []


def named() -> set[tuple[str, str]]:
    """Return what README, guides and notebooks import or name with its module, as pairs of module and name."""
    paths = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/notebooks/*.py")]
    text = "\n".join(path.read_text("utf-8") for path in paths)
    imported = re.findall(r"^ *from ((?:hetcore|datasets|experiments)[\w.]*) import ([\w, ]+)$", text, re.MULTILINE)
    found = {(module, name.strip()) for module, names in imported for name in names.split(",")}
    dotted = re.findall(r"\b(?:hc|hetcore)\.((?:[a-z_]+\.)*)(\w+)\(", text)
    return found | {(f"hetcore.{module}".rstrip("."), name) for module, name in dotted}


def broken(path: Path, text: str, folder: Path) -> list[str]:
    """Return the links of a page that lead nowhere; what is outside of the pages is beside them in the checkout."""
    links = [link for link in re.findall(r"href=['\"]([^'\"#]+)", text) if not re.match(r"[a-z]+:", link)]
    outside = "../../../"
    places = [ROOT / link.removeprefix(outside) if link.startswith(outside) else path.parent / link for link in links]
    return [link for link, place in zip(links, places) if not place.exists()]


def shown(folder: Path, module: str, name: str) -> bool:
    """Tell whether a name has its place on the page of its module, or is a module that has a page."""
    page, own = (folder / f"{each.replace('.', '/')}.html" for each in (module, f"{module}.{name}"))
    return own.is_file() or (page.is_file() and f'id="{name}"' in page.read_text("utf-8"))


@pytest.mark.slow
def test_every_public_name_has_its_place_on_the_pages(tmp_path):
    pytest.importorskip("pdoc", reason="pdoc is not installed")
    code = "import sys, pathlib; from docs import api; api.build(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "hetcore.html").read_text("utf-8")
    assert {*hc.__all__, "watch", "LiveView"} <= set(re.findall(r'<section id="(\w+)"', page))
    texts = {path: path.read_text("utf-8") for path in tmp_path.rglob("*.html")}
    assert all(f'id="{name}"' in texts[tmp_path / "hetcore" / f"{name}.html"] for name in {*hc.__all__, "watch"})
    assert 'id="GBCRegressor.fit"' in texts[tmp_path / "hetcore" / "GBCRegressor.html"]  # inherited too
    made = {path.relative_to(tmp_path).with_suffix("").as_posix() for path in texts}
    guides = {f"guides/{path.stem}" for path in (*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md")}
    notebooks = {f"notebooks/{path.stem}" for path in ROOT.glob("docs/notebooks/*.py") if path.stem != "build"}
    assert guides | notebooks <= made and len(notebooks) >= 9
    pages = "".join(texts.values())
    assert len(named()) > 20 and [each for each in sorted(named()) if not shown(tmp_path, *each)] == []
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=.https?:", pages)
    anchors = {path: set(re.findall(r'href="#([^"]+)"', text)) for path, text in texts.items()}
    assert [each for path, found in anchors.items() for each in found if f'id="{each}"' not in texts[path]] == []
    ours = {path: text for path, text in texts.items() if path.parent.name in ("guides", "notebooks")}
    ours[tmp_path / "index.html"] = texts[tmp_path / "index.html"]
    assert [(path.name, link) for path, text in ours.items() for link in broken(path, text, tmp_path)] == []
