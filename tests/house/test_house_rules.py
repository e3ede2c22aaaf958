"""More house rules that a script can check: docstrings, twins of kernels, pickles, paths, lengths, and names.

All that look through the code of the tests too stand in this file, whose process then parses that once for them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.house.test_house import FILES, ROOT, dotted, nodes, parsed

KERNELS = sorted((ROOT / "hetcore" / "kernels").glob("*.py"))
# What whoever has data reads first: their properties are told too, where others' may be plain names.
DATA_CLASSES = {"HetData", "Graph", "Source"}
# Its docstring says once what the same five methods of every encoder do.
DOCUMENTED_ONCE = {"hetcore.data.column_encoders"}
# Who may pickle: tasks and messages between the studio and the workers that it started.
WORKER_PIPE = {"studio.jobs.packing", "studio.jobs.worker"}
PICKLERS = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
RUNS_TEXT = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load"}
PLACE = re.compile(r"(?<![\w.~/])/(work|home|root|Users|tmp)/\w|(?<!\w)[A-Z]:\\\\\w")


def offers(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) of a file's classes, functions and methods; a property may be a plain name."""
    for node in parsed(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, ast.get_docstring(node) or ""
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                words = {ast.unparse(each).split(".")[-1] for each in getattr(inner, "decorator_list", ())}
                plain = not isinstance(inner, ast.FunctionDef) or words & {"property", "cached_property", "setter"}
                plain = plain and not (isinstance(inner, ast.FunctionDef) and node.name in DATA_CLASSES)
                if not plain and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}", ast.get_docstring(inner) or ""


@pytest.mark.parametrize("folder", ["hetcore", "datasets", "studio"])
def test_all_that_is_offered_says_what_it_does(folder):
    paths = [path for path in FILES if ROOT / folder in path.parents and dotted(path) not in DOCUMENTED_ONCE]
    found = [(f"{dotted(path)}.{name}", text) for path in paths for name, text in offers(path)]
    assert len(found) > 10
    assert [name for name, text in found if not text] == []


def _called_from_outside() -> set[tuple[str, str]]:
    """Return (kernel module, name) of what files outside of the kernels import or reach."""
    names: set[tuple[str, str]] = set()
    for path in FILES:
        for node in nodes(path) if "kernels" not in path.relative_to(ROOT).parts else ():
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hetcore.kernels."):
                names |= {(node.module.split(".")[2], alias.name) for alias in node.names}
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names.add((node.value.id, node.attr))
    return names


def test_every_kernel_that_the_library_calls_has_a_twin_of_the_same_name():
    seen, lonely, outside = 0, [], _called_from_outside()
    for path in KERNELS:
        kernels = set(re.findall(r"^(\w+) = kernel\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
        twin = ROOT / "tests" / "naive" / path.name
        naive = set(re.findall(r"^def (\w+)\(", twin.read_text() if twin.exists() else "", flags=re.MULTILINE))
        called = {name for name in kernels if (path.stem, name) in outside}
        seen += len(called)
        lonely += [f"{path.stem}.{name}" for name in sorted(called - naive)]
    assert seen >= 6 and lonely == []


def _dangers(code: Iterable[ast.AST], may_pickle: bool) -> Iterator[str]:
    for node in code:
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in RUNS_TEXT:
                yield f"calls {called}"
            if called in ("np.load", "numpy.load") and "allow_pickle=False" not in ast.unparse(node):
                yield "may read pickles from arrays"
        named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        named += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if PICKLERS & set(named) and not may_pickle:
            yield f"imports {', '.join(named)}"


def test_nothing_reads_pickles_or_runs_text():
    wrong = [f"{dotted(path)} {what}" for path in FILES for what in _dangers(nodes(path), dotted(path) in WORKER_PIPE)]
    assert wrong == []


def test_the_rules_see_dangers():
    code = "import pickle\nfrom marshal import loads\nnp.load(f)\nx = eval('1')\nnp.load(f, allow_pickle=False)"
    dangers = sorted(_dangers(ast.walk(ast.parse(code)), False))
    assert dangers == ["calls eval", "imports marshal", "imports pickle", "may read pickles from arrays"]
    assert sorted(_dangers(ast.walk(ast.parse(code)), True)) == ["calls eval", "may read pickles from arrays"]


def test_no_file_names_a_place_on_one_machine():
    written = [*FILES, *ROOT.glob("*.md"), *ROOT.glob("*.toml"), *ROOT.glob("*.txt")]
    written += [path for folder in ("docs", "benchmarks") for path in (ROOT / folder).rglob("*") if path.is_file()]
    texts = [path for path in written if path.suffix in (".py", ".md", ".toml", ".txt", ".csv", ".json")]
    found = [path for path in texts if PLACE.search(path.read_text(encoding="utf-8"))]
    assert [str(path.relative_to(ROOT)) for path in found] == []
    for folder in ("Users", "home"):
        assert PLACE.search(f"open('/{folder}/x')") and not PLACE.search(f"http://a.b/{folder}/x")


LONGEST = 40
"""Code lines of a function. A kernel's inner loop may be longer: split in two it would pass its state as arguments."""


def _code_lines(function: ast.FunctionDef, lines: list[str]) -> int:
    first = function.body[0]
    docstring_lines = range(first.lineno, first.end_lineno + 1) if ast.get_docstring(function) else ()
    places = (n for n in range(function.lineno, function.end_lineno + 1) if n not in docstring_lines)
    return sum(bool(line) and not line.startswith("#") for line in (lines[n - 1].strip() for n in places))


def test_no_function_is_longer_than_a_screen():
    long = [
        (dotted(path), node.name)
        for path in FILES
        if "kernels" not in path.relative_to(ROOT).parts
        for lines in [path.read_text(encoding="utf-8").splitlines()]
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef) and _code_lines(node, lines) > LONGEST
    ]
    assert long == []


MOST_POSITIONS = 5
"""Arguments by position of a call: of more, nobody knows which is which."""
BY_POSITION = ({"hetcore", "kernels"}, {"tests", "naive"}, {"tests", "kernels"})
"""Rooms of kernels, which numba calls by position, and of their twins."""
LISTS = {"select", "pack"}
"""Functions of others that take things of one kind, one by one, as ours with *arguments do."""


def _long_calls(path: Path, code: Iterable[ast.AST], lists: set[str]) -> Iterator[str]:
    if any(rooms <= set(path.relative_to(ROOT).parts[:2]) for rooms in BY_POSITION):
        return
    for node in code:
        if isinstance(node, ast.Call) and sum(not isinstance(each, ast.Starred) for each in node.args) > MOST_POSITIONS:
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name not in lists:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {name}"


def test_no_call_has_more_than_five_arguments_by_position():
    beside = [path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    every = [*FILES, *beside]
    functions = [node for path in every for node in nodes(path) if isinstance(node, ast.FunctionDef)]
    lists = LISTS | {node.name for node in functions if node.args.vararg is not None}
    for path in KERNELS:
        lists |= set(re.findall(r"^(\w+) = kernel\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    found = [call for path in every for call in _long_calls(path, nodes(path), lists)]
    assert found == []
    planted = ast.parse("f(1, 2, 3, 4, 5, 6); f(1, *a, b=2); select(1, 2, 3, 4, 5, 6)")
    assert list(_long_calls(ROOT / "x.py", ast.walk(planted), lists)) == ["x.py:1 f"]


def test_no_folder_holds_more_files_than_one_can_look_over():
    folders = {path.parent for path in FILES}
    assert [str(folder) for folder in folders if len(list(folder.glob("*.py"))) > 25] == []


# Names are the field's terms, of files, classes and variables: what it was called, and what a stranger would look for.
FABLES = {
    "crew": "executor", "keeper": "worker actor", "hire": "add", "hearsay": "neighbour sums",
    "heard": "neighbour means", "told": "messages", "said": "messages", "voice": "neighbour weight",
    "voices": "neighbour weights",
    "stranger": "unseen instance", "strangers": "unseen instances", "honest": "out of fold", "judged": "validation",
    "manner": "inference parameters", "pace": "weight update", "spoilt": "corrupted", "spoils": "corrupts",
    "smear": "smearing factor", "meeting": "alignment", "doubts": "uncertainty",
    "salvage": "recover", "obituary": "crash message", "parcel": "data reference", "parcels": "data references",
    "gathering": "predicting", "intake": "upload schema", "refusal": "why not",
}  # fmt: skip
CLASSES = {
    "Half": "ForestEnsemble", "Deal": "CVFolds", "Judged": "OutOfFold", "Unit": "TargetTransform",
    "Words": "PackedLayout", "Room": "Scratch", "Slot": "worker", "Pace": "WeightUpdate", "Watched": "RunningScores",
    "Selection": "TaskSelection", "Manner": "InferenceParams", "Rules": "AggregationParams",
}  # fmt: skip
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
BESIDE = {".venv", ".git", "build"}
# not ROOT.rglob: an environment beside the code has tens of thousands of files
FOLDERS = [part for part in ROOT.iterdir() if part.is_dir() and part.name not in BESIDE]
PYTHON = sorted([ROOT / "app.py", *(path for folder in FOLDERS for path in folder.rglob("*.py"))])


def _names(code: Iterable[ast.AST]) -> Iterator[str]:
    """Yield what a file names: what it defines, assigns to, takes, passes by name or looks up."""
    for node in code:
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg | ast.keyword):
            yield node.arg or ""
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield from (node.name.split(".")[-1], node.asname or "")


def fables(code: Iterable[ast.AST], stem: str = "") -> list[str]:
    """Return a file's names, its own too, that only this project would know, with the term for each."""
    names = {stem, *_names(code)}
    parts = [(name, part.lower()) for name in names for part in PARTS.findall(name)]
    found = [f"{name}: {FABLES[part]}" for name, part in parts if part in FABLES]
    return sorted([*found, *(f"{name}: {CLASSES[name]}" for name in names & set(CLASSES))])


def place_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("folder", sorted({place_of(path).split("/")[0] for path in PYTHON}))
def test_no_name_is_a_fable(folder):
    paths = [path for path in PYTHON if place_of(path).split("/")[0] == folder]
    found = {place_of(path): fables(nodes(path), path.stem) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


def test_the_rule_sees_names():
    code = "import a.hearsay as b\nclass Half: ...\n"
    code += "def told(voices): x.honest_fit = f(said_by=f'{KEEPER}')\nwords = a.half"
    assert [name.split(":")[0] for name in fables(ast.walk(ast.parse(code)), "salvage")] == [
        "Half", "KEEPER", "hearsay", "honest_fit", "said_by", "salvage", "told", "voices",
    ]  # fmt: skip


def test_marks_stand_in_the_files_of_their_tests():
    """A tier imports no file that does not write its mark (tests/conftest.py): one from elsewhere would run nowhere."""
    beside = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    marked = [path for path in beside if re.search(r"\bmark\.(slow|e2e|notebook)\b", path.read_text(encoding="utf-8"))]
    assert len(beside) > 20 and marked == []
