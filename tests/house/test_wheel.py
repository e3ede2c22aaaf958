"""The wheel alone, beside its dependencies and without the studio's: complete, and it trains the README's ten lines."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from hetcore.bundles import distribution
from tests.house.test_packaging import ROOT, STUDIO_ONLY

PACKAGES = ("hetcore", "datasets", "experiments")
TEN_LINES = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def run(command: list[str], folder: Path) -> str:
    """Run a command in a folder, away from this checkout, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build the wheel of a copy, since building writes beside the sources."""
    if int(version("setuptools").partition(".")[0]) < 77:
        pytest.skip("setuptools is older than 77, which pyproject.toml asks for: pip install --upgrade setuptools")
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in (*PACKAGES, "studio"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", "made", "."], folder)
    return next((folder / "made").glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """Return the Python of a new environment with the wheel, our dependencies, and none of the studio's."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=os.name == "posix")
    names = {"base": str(folder), "platbase": str(folder)}
    scripts, packages = (Path(sysconfig.get_path(kind, "venv", names)) for kind in ("scripts", "purelib"))
    python = scripts / "python"
    run([*PIP, "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)], folder)
    blocked = f"import sys; sys.modules.update(dict.fromkeys({STUDIO_ONLY!r}))"
    (packages / "dependencies.pth").write_text(f"{blocked}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return python


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_library_and_none_of_the_studio(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = {path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_file()}
    ours = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    assert held == ours and {"hetcore/py.typed", "hetcore/widget/lines.js", "hetcore/widget/timeline.js"} <= held
    with zipfile.ZipFile(wheel) as built, zipfile.ZipFile(io.BytesIO(distribution.wheel()[1])) as exported:
        assert {name for name in exported.namelist() if ".dist-info/" not in name} == held
        assert all(exported.read(name) == built.read(name) for name in held)


@pytest.mark.slow
def test_the_wheel_says_what_it_needs(wheel):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    with zipfile.ZipFile(wheel) as archive:
        facts = archive.read(next(name for name in archive.namelist() if name.endswith("/METADATA"))).decode()
    needed = re.findall(r"^Requires-Dist: ([\w.-]+)[^;\n]*$", facts, re.MULTILINE)
    assert needed == [re.match(r"[\w.-]+", each)[0] for each in project["dependencies"]]
    assert set(re.findall(r"^Provides-Extra: (.+)$", facts, re.MULTILINE)) == set(project["optional-dependencies"])
    assert "License-Expression: MIT" in facts and not {"streamlit", "plotly"} & set(needed)


@pytest.mark.slow
def test_the_wheel_alone_trains_the_ten_lines_in_an_empty_folder(python, tmp_path):
    ending = "\nimport sys\nprint(hc.__file__, 'studio' in sys.modules or sys.modules.get('streamlit'))\n"
    (tmp_path / "ten.py").write_text(TEN_LINES + ending, encoding="utf-8")
    printed = run([str(python), "-W", "error", "ten.py"], tmp_path).splitlines()
    assert float(re.fullmatch(r"wrong on the hidden digits: ([\d.]+)%", printed[0])[1]) < 10
    assert printed[-1] == f"{next(python.parents[1].rglob('hetcore/__init__.py'))} None"
    assert (tmp_path / "digits.hetcore").is_file()


@pytest.mark.slow
def test_streamlit_cannot_be_imported_where_the_wheel_was_tried(python, tmp_path):
    code = "try:\n    import streamlit\nexcept ModuleNotFoundError:\n    print('blocked')"
    assert run([str(python), "-c", code], tmp_path).strip() == "blocked"
