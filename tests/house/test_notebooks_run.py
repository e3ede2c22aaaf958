"""The notebooks of docs/: scripts that run as plain Python, and notebooks that are made of them."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "notebooks"
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.name != "build.py")
EACH = """
import contextlib, io, json, pathlib, runpy, sys, traceback
found, out = {}, sys.stdout
for path in sys.argv[1:]:
    error, printed = "", io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(path, run_name="__main__")
        except Exception:
            error = traceback.format_exc()
    found[pathlib.Path(path).stem] = error, printed.getvalue()
json.dump(found, out)
"""
FROM_FILES = {"consensus", "collective_inference", "transfer", "noisy_labels", "ratings"}  # data that are downloaded


def build():
    """Return docs/notebooks/build.py, for whose import jsonschema compiles a grammar of addresses, which takes 4 s."""
    spec = importlib.util.spec_from_file_location("build", FOLDER / "build.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "rfc3987_syntax", None)  # a notebook has none, and jsonschema goes without
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_becomes_a_notebook_with_prose_and_code(path):
    made = build().notebook(path.read_text(encoding="utf-8"))
    assert made.cells[0].cell_type == "markdown" and made.cells[0].source.startswith("# ")
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    assert len(code) >= 2 and all(cell.source and not cell.outputs for cell in code)
    assert "# %%" not in "".join(cell.source for cell in made.cells)


def test_a_cell_keeps_its_text():
    made = build().notebook("# %% [markdown]\n# # Title\n#\n# words\n\n# %%\nx = 1  # one\n\n\nx\n")
    assert [(cell.cell_type, cell.source) for cell in made.cells] == [
        ("markdown", "# Title\n\nwords"),
        ("code", "x = 1  # one\n\n\nx"),
    ]


def test_one_command_of_the_readme_opens_them():
    readme = (ROOT / "README.md").read_text("utf-8")
    (command,) = re.findall(r"`(python3 -m venv \S+ && [^`]+jupyter lab [^`]+)`", readme)
    _, install, build_them, open_them = [part.split() for part in command.split(" && ")]
    pinned = re.findall(r"^([\w-]+)==", (ROOT / install[-1]).read_text("utf-8"), re.MULTILINE)
    assert {"anywidget", "jupyterlab", "notebook", "marimo"} <= set(pinned)
    assert (ROOT / build_them[-1]).samefile(FOLDER / "build.py") and (ROOT / open_them[-1]).samefile(FOLDER)


def can_run(path: Path) -> bool:
    """Tell whether a script finds here what it uses."""
    watches = "hc.watch" in path.read_text(encoding="utf-8")
    return (not watches or importlib.util.find_spec("anywidget") is not None) and (
        path.stem not in FROM_FILES or "HETCORE_DATA" in os.environ
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory) -> dict[str, list[str]]:
    """Run all scripts, one after the other in one process without tests; return what each has raised and printed.

    A process takes seconds to load what all of them use.
    """
    command = [sys.executable, "-W", "error", "-c", EACH, *map(str, filter(can_run, SCRIPTS))]
    environment, folder = os.environ | {"PYTHONPATH": str(ROOT)}, tmp_path_factory.mktemp("scripts")
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_runs_as_plain_python(path, ran):
    if not can_run(path):
        pytest.skip("anywidget is not installed, or HETCORE_DATA is not set and the data would be downloaded")
    assert ran[path.stem][0] == "" and ran[path.stem][1]


@pytest.mark.slow
def test_a_notebook_is_executed_and_shows_its_data_and_widget(tmp_path, monkeypatch):
    pytest.importorskip("anywidget", reason="anywidget is not installed")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    module = build()
    monkeypatch.setattr(module, "HERE", tmp_path)
    text = (FOLDER / "your_own_data.py").read_text(encoding="utf-8") + "\n# %%\nhc.watch(hc.GBCRegressor(), data)\n"
    page = module.page(module.notebook(text))
    assert "Watch(GBCRegressor, idle)" in page and "widget-view" not in page
    assert "Bring your own tables and graphs" in page and "aria-label=" in page and "Coverage: budget" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
