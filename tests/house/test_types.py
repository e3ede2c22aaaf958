"""`py.typed` holds: a type checker finds nothing wrong in the library, and knows every public name to who uses it."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hetcore as hc
from tests.house.test_house import ROOT

USER = """from typing import assert_type

import hetcore as hc

data = hc.HetData({{"one": [1]}}, target=([1], [2.0]))
assert_type(data.n, int)
assert_type(data.select(sources=["one"]), hc.HetData)
model = hc.GBCRegressor(n_iterations=3, lambda0="auto", random_state=0)
assert_type(model.n_iterations, int)
{made}
hc.HetData(3)  # wrong: a mapping
hc.GBCRegressor(rounds=3)  # wrong: no such parameter
hc.GBCRegresor()  # wrong: no such name
data.selects()  # wrong: no such method
"""


def test_a_type_checker_reads_every_public_name_and_no_other():
    tree = ast.parse((ROOT / "hetcore" / "__init__.py").read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    found = {alias.name: node.module for node in block.body for alias in node.names}
    imported = {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "hetcore.errors"
        for alias in node.names
    }
    assert set(found) | imported == set(hc.__all__) | {"LiveView", "watch", *hc._MODULES}
    assert {name: module for name, module in found.items() if name in hc.METHODS} == hc.METHODS


def errors(config: Path, *arguments: str) -> list[str]:
    """Return what the type checker finds wrong, a line each."""
    if importlib.util.find_spec("pyrefly") is None:
        pytest.skip("pyrefly is not installed")
    command = [sys.executable, "-m", "pyrefly", "check", "--output-format=min-text", f"--config={config}"]
    command += [f"--python-interpreter-path={sys.executable}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert re.search(r"INFO [\d,]+ errors?", done.stderr + done.stdout), done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("ERROR ")]


def defaults(estimator: type) -> str:
    """Return the parameters of an estimator by name with those defaults that are plain."""
    given = {name: parameter.default for name, parameter in estimator._parameters.items()}
    plain = (bool, int, float, str, type(None))
    return ", ".join(f"{name}={value!r}" for name, value in given.items() if isinstance(value, plain))


@pytest.mark.slow
def test_library_and_studio_have_no_wrong_types_and_no_page_asks_for_what_is_not_there():
    found = errors(ROOT / "pyproject.toml", "--error=missing-attribute")
    # The library's parts are mixed in, what may be None is known at its place, and pyarrow makes functions as it loads.
    excused = re.compile(r"^ERROR hetcore/.* \[missing-attribute\]$|`NoneType` has no|in module `pyarrow.compute`")
    assert [line for line in found if not excused.search(line)] == []


@pytest.mark.slow
def test_its_user_sees_what_is_wrong_and_nothing_else(tmp_path):
    made = "\n".join(f"hc.{name}({defaults(getattr(hc, name))})" for name in hc.METHODS)
    text = USER.format(made=made)
    (tmp_path / "user.py").write_text(text, encoding="utf-8")
    config = tmp_path / "pyrefly.toml"
    config.write_text(f"search-path = ['{ROOT.as_posix()}']\n", encoding="utf-8")
    found = errors(config, str(tmp_path / "user.py"))
    lines = {int(re.search(r"user\.py:(\d+):", line)[1]) for line in found}
    assert lines == {k for k, line in enumerate(text.splitlines(), 1) if "# wrong" in line}
