"""Names are the field's terms: a word that only this project would know names no file, class or variable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.house.test_house import ROOT, nodes

# What it was called, and the term that a stranger would look for.
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
