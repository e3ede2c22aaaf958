"""R15: how many small faults, put into the kernels one at a time, their tests find.

    python -m benchmarks.mutants [--most 40] [--seed 0] [csr medians ...]

A fault is another comparison, another operator, a number one larger, a condition turned round, inside a function that
is compiled. The tests of the kernel run on the faulty function as plain Python (NUMBA_DISABLE_JIT=1) in a process of
their own, forked from one that has imported everything else; a fault is found if a test fails, or none ends in time.
Tests that cannot run as plain
Python are left out. The source on disk is never changed. Faults that nothing can find (x + 0.0 for x - 0.0) count as
not found.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import os
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "hetcore" / "kernels"
TESTS = {
    "csr": ["test_kernels_graph.py"],
    "medians": ["test_kernels_graph.py"],
    "collective": ["test_kernels_collective.py"],
    "factorization": ["test_kernels_factorization.py"],
    "simplex": ["test_weights.py"],
    "predictor": ["test_kernels.py"],
    "histogram": ["test_kernels.py"],
    "splitting": ["test_kernels.py"],
    "nodes": ["test_kernels.py"],
    "binning": ["test_kernels.py", "test_binning.py"],
}
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[ast.AST], None]]]:
    """Yield what can be changed at a node: in words, and the change of a copy."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        new = COMPARED[type(node.ops[0])]
        yield f"{type(node.ops[0]).__name__} -> {new.__name__}", lambda n: n.ops.__setitem__(0, new())
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        new = OPERATORS[type(node.op)]
        yield f"{type(node.op).__name__} -> {new.__name__}", lambda n: setattr(n, "op", new())
    if isinstance(node, ast.BoolOp):
        new = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{type(node.op).__name__} -> {new.__name__}", lambda n: setattr(n, "op", new())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} -> {node.value + 1}", lambda n: setattr(n, "value", n.value + 1)
    if isinstance(node, ast.If | ast.While):
        yield "condition turned", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


def mutants(name: str) -> list[tuple[str, ast.Module]]:
    """Return the faulty versions of a kernel module, each with where and what."""
    source = (KERNELS / f"{name}.py").read_text(encoding="utf-8")
    compiled = set(re.findall(r"= kernel\((\w+)\)", source))
    tree, found = ast.parse(source), []
    functions = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name in compiled]
    places = [node for function in functions for node in ast.walk(function)]
    order = {id(node): k for k, node in enumerate(ast.walk(tree))}
    for node in places:
        for words, change in changes(node):
            faulty = copy.deepcopy(tree)
            change(list(ast.walk(faulty))[order[id(node)]])
            found.append((f"line {getattr(node, 'lineno', 0)}: {words}", ast.fix_missing_locations(faulty)))
    return found


class _Faulty(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a changed tree."""

    def __init__(self, module: str, tree: ast.Module, path: Path) -> None:
        self.module, self.tree, self.path = module, tree, path

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != self.module:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def create_module(self, spec: object) -> None:
        return None

    def exec_module(self, module: object) -> None:
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


def failing(name: str) -> list[str]:
    """Return the tests of a kernel that cannot run as plain Python, such as those of loops that are unrolled."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _test(name, None, [], _Failed(writing))
    os.close(writing)
    with os.fdopen(reading) as said:
        found = said.read().split("\n")[:-1]
    os.waitpid(pid, 0)
    return found


class _Failed:
    """A pytest plugin that writes the names of failed tests into a pipe."""

    def __init__(self, writing: int) -> None:
        self._writing = writing

    def pytest_runtest_logreport(self, report: object) -> None:
        """Note a test that failed."""
        if report.failed:
            os.write(self._writing, f"{report.nodeid}\n".encode())


def survives(name: str, tree: ast.Module | None, seconds: float, without: list[str]) -> bool:
    """Whether the tests of a kernel, without some, all pass with that version of it, in that time."""
    pid = os.fork()
    if pid == 0:
        _test(name, tree, ["-x", *(f"--deselect={each}" for each in without)])
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def _test(name: str, tree: ast.Module | None, more: list[str], *plugins: object) -> None:
    import pytest

    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    if tree is not None:
        sys.meta_path.insert(0, _Faulty(f"hetcore.kernels.{name}", tree, KERNELS / f"{name}.py"))
    files = [str(ROOT / "tests" / file) for file in TESTS[name]]
    code = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *more, *files], list(plugins))
    os._exit(int(code))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", choices=[[], *TESTS])
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for module in ("numpy", "numba", "scipy.sparse", "polars", "sklearn.base"):
        importlib.import_module(module)
    print("| kernel | faults | tried | found | score |\n|---|---|---|---|---|")
    tried = found = 0
    for name in given.kernels or TESTS:
        without = failing(name)
        started = time.monotonic()
        if not survives(name, None, 600.0, without):
            print(f"| {name} | its tests fail as plain Python: not measured | | | |", flush=True)
            continue
        patience = 10.0 + 5.0 * (time.monotonic() - started)
        every = mutants(name)
        some = random.Random(given.seed).sample(every, min(given.most, len(every)))
        left = [words for words, tree in some if survives(name, tree, patience, without)]
        tried, found = tried + len(some), found + len(some) - len(left)
        print(f"| {name} | {len(every)} | {len(some)} | {len(some) - len(left)} | {1 - len(left) / len(some):.0%} |")
        for words in left:
            print(f"    not found: {words}", flush=True)
    print(f"| all | | {tried} | {found} | {found / max(tried, 1):.0%} |")


if __name__ == "__main__":
    main()
