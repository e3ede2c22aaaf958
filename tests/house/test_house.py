"""The house rules that a script can check: who imports whom, where numba and Streamlit live, docstrings, twins."""

from __future__ import annotations

import ast
import gc
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from studio.runs import store

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("hetcore", "datasets", "studio", "pages", "experiments")
FILES = sorted([path for name in FOLDERS for path in (ROOT / name).rglob("*.py")] + list(ROOT.glob("app.py")))


@cache
def parsed(path: Path) -> ast.Module:
    """Parse a file once in a process, and not before a test asks: every process collects, few look at the code."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    gc.freeze()  # it stays, and looking for garbage in all that was parsed so far took two thirds of parsing
    return tree


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Return what a file's code consists of; eleven arrows and five other rules look through all of it."""
    return list(ast.walk(parsed(path)))


def trees() -> dict[Path, ast.Module]:
    """Return the parsed files of the project but its tests, by path."""
    return {path: parsed(path) for path in FILES}


ROOMS = "(consensus|collective|transfer|heteroscedastic|factorization|multimodal)"

# (importers, what they may not import, except): patterns over dotted names
FORBIDDEN = [
    (r"hetcore\b", r"(datasets|experiments|benchmarks|studio|pages|app)\b", r"$^"),
    (r"experiments\b", r"(benchmarks|studio|pages|app)\b", r"$^"),
    (r"studio\b", r"benchmarks\b", r"$^"),
    (r"datasets\b", r"(experiments|studio|pages|app)\b", r"$^"),
    (r"datasets\b", r"hetcore\b", r"hetcore\.(data|errors)\b"),
    (r"studio\b", r"(pages|app)\b", r"$^"),
    (r"hetcore\.kernels\b", r"hetcore\b", r"hetcore\.kernels\b"),
    (r"hetcore\.data\b", r"hetcore\b", r"hetcore\.(data|errors|kernels)\b"),
    (rf"hetcore\.(?!{ROOMS}\b|distributed\b|baselines\b)\w+", rf"hetcore\.({ROOMS}|distributed)\b", r"$^"),
    (r"(?!hetcore\.kernels\b)", r"(numba|llvmlite)\b", r"$^"),
    (r"(?!app\b|pages\b|studio\.(session|server|views\.\w+\.widgets))", r"streamlit\b", r"$^"),
]


def dotted(path: Path) -> str:
    """Return the name by which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(code: Iterable[ast.AST]) -> Iterator[str]:
    """Yield every module that a file imports, also inside functions; `from hetcore import data` is hetcore.data."""
    for node in code:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from names if node.module in FOLDERS else [node.module or ""]


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef, str]]:
    """Yield (name, function, docstring) of what a file offers; a constructor's is its class's."""
    for node in parsed(path).body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef) and (inner.name == "__init__" or not inner.name.startswith("_")):
                owner = node if inner.name == "__init__" else inner
                yield f"{node.name}.{inner.name}", inner, ast.get_docstring(owner) or ""


def documented(docstring: str) -> set[str] | None:
    """Return the names under a numpydoc heading "Parameters", None without it."""
    _, heading, rest = docstring.partition("Parameters\n----------\n")
    section = re.split(r"\n\n?[A-Z][A-Za-z ]+\n-{3,}", rest)[0]
    lines = [line.split(" :")[0] for line in section.splitlines() if re.match(r"\S", line)]
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")} if heading else None


def arguments(function: ast.FunctionDef) -> set[str]:
    """Return the names of a function's arguments but self and cls."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {argument.arg for argument in every if argument} - {"self", "cls"}


@pytest.mark.parametrize("who, what, allowed", FORBIDDEN)
def test_arrows_point_down(who, what, allowed):
    wrong = [
        f"{dotted(path)} imports {name}"
        for path in FILES
        if re.match(who, dotted(path))
        for name in imports(nodes(path))
        if re.match(what, name) and not re.match(allowed, name)
    ]
    assert wrong == []


def test_the_rules_see_an_arrow_that_points_up():
    code = (
        "def f():\n    from hetcore import consensus\n    import numba.core\n\nfrom studio.jobs.manager import manager"
    )
    assert sorted(imports(ast.walk(ast.parse(code)))) == ["hetcore.consensus", "numba.core", "studio.jobs.manager"]


def test_every_file_says_what_it_is():
    assert [dotted(path) for path, tree in trees().items() if not ast.get_docstring(tree)] == []


@pytest.mark.parametrize("folder", ["hetcore", "datasets", "studio"])
def test_documented_parameters_are_those_of_the_signature(folder):
    offers = [(dotted(path), *offer) for path in FILES if ROOT / folder in path.parents for offer in functions(path)]
    wrong = [
        (module, name, documented(docstring) ^ arguments(function))
        for module, name, function, docstring in offers
        if documented(docstring) is not None and documented(docstring) != arguments(function)
    ]
    assert offers and wrong == []


def test_kernels_have_slow_twins_of_the_same_name():
    lonely = []
    for path in sorted((ROOT / "hetcore" / "kernels").glob("*.py")):
        kernels = set(re.findall(r"^(\w+) = kernel\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
        twin = ROOT / "tests" / "naive" / path.name
        naive = set(re.findall(r"^def (\w+)\(", twin.read_text() if twin.exists() else "", flags=re.MULTILINE))
        lonely += [path.name] if kernels and not kernels & naive else []
    assert lonely == []


def test_dask_is_loaded_by_nothing_but_a_client():
    dotted_names = [
        (path, alias.name if isinstance(node, ast.Import) else node.module)
        for path, tree in trees().items()
        for node in tree.body  # an import inside a function waits until it is called
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    assert len(dotted_names) > 1000
    assert [each for each in dotted_names if (each[1] or "").split(".")[0] in ("dask", "distributed")] == []


def test_nothing_prints():
    calls = [(path, node) for path in FILES for node in nodes(path) if isinstance(node, ast.Call)]
    assert [(dotted(path), call.lineno) for path, call in calls if getattr(call.func, "id", "") == "print"] == []


def test_every_page_is_opened_by_a_test():
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert [path.name for path in (ROOT / "pages").glob("*.py") if path.name not in tests] == []


def test_no_test_reaches_the_studio_files_of_the_person_who_runs_it():
    assert store.home().is_relative_to(Path(tempfile.gettempdir()))
    assert "HETCORE_DATABASE_URL" not in os.environ
