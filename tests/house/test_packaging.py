"""What `pip install .` gives: the library without the studio, extras, and a typed package."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.house.test_house import parsed

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LIBRARY = PROJECT["project"]["dependencies"]
EXTRAS = PROJECT["project"]["optional-dependencies"]
IMPORTED_AS = {"scikit-learn": "sklearn", "pillow": "PIL"}
OPTIONAL = {"anywidget", "traitlets", "torch"}  # whoever uses these modules is told what to install
COMES_ALONG = {"llvmlite"}  # with numba
STUDIO_ONLY = ("streamlit", "authlib", "sqlalchemy", "defusedxml", "fastexcel", "psutil", "plotly", "PIL", "pyarrow")


def asked(name: str) -> set[str]:
    """Return what a file of requirements asks for by itself."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith(("#", "-r "))}


def test_library_and_studio_are_the_requirements_and_the_extras_those_of_their_files():
    assert set(LIBRARY) | set(EXTRAS["studio"]) == asked("requirements.in")
    assert not set(LIBRARY) & set(EXTRAS["studio"])
    assert set(EXTRAS["notebook"]) <= asked("requirements-notebook.in")
    assert all(set(EXTRAS[name]) == asked(f"requirements-{name}.txt") for name in ("deep", "dask", "bench"))


@pytest.mark.parametrize("folder", ["hetcore", "datasets"])
def test_what_is_imported_at_once_is_a_dependency(folder):
    ours = {IMPORTED_AS.get(name, name) for name in (Requirement(line).name for line in LIBRARY)}
    known = ours | OPTIONAL | COMES_ALONG | set(sys.stdlib_module_names) | {"hetcore", "datasets"}
    trees = {path: parsed(path) for path in (ROOT / folder).rglob("*.py")}
    foreign = {(path.name, name) for path, tree in trees.items() for name in _at_once(tree) if name not in known}
    assert len(trees) > 10 and foreign == set()


def _at_once(tree: ast.Module) -> set[str]:
    """Return the packages that are imported when a module is."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def test_the_package_is_typed_and_carries_the_widget():
    data = PROJECT["tool"]["setuptools"]["package-data"]["hetcore"]
    assert all((ROOT / "hetcore" / name).is_file() for name in data) and "py.typed" in data


@pytest.mark.slow
def test_the_library_trains_where_the_studio_is_not_installed():
    code = re.sub(
        r"\s+",
        " ",
        f"""import sys; sys.modules.update(dict.fromkeys({STUDIO_ONLY!r}));
        import datasets, hetcore as hc;
        model = hc.GBCRegressor(n_iterations=2, random_state=0).fit(datasets.load('planted'));
        sys.stdout.write(str(model.n_iterations_)); [getattr(hc, name) for name in hc.__all__]""",
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2"), done.stderr
