"""How much of the library declares, checks, documents and stores, by line; and how many calls give much by position.

    python -m benchmarks.declarations [FOLDER]   # of this checkout, or of another one

Counted in `hetcore/` by its syntax trees, blank lines left out, each line once:

| what | lines of |
|---|---|
| parameters | `name: kind = param(...)` and the `__init__` of estimators, by the names of their classes |
| rules | functions that raise ParameterError and are named for a check |
| documentation | sections "Parameters" in the docstrings of those estimators |
| state | functions that write, read or check what a model file holds, and the declarations of that |
| machinery | `hetcore/parameters.py` and `hetcore/schema.py`, which serve all |
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

STATE = re.compile(
    r"_?(to|from|get|set)_(state|arrays)$|_(read|made|held|fault|restored|sizes)$|put$|get$|.*_(state|from)$"
)
ESTIMATOR = re.compile(r"(Classifier|Regressor|Regression|Estimator|Boosting|Factorization|HMF|HTF|HLR|SVM|GBC)$")
FIELDS = {"array", "value", "part", "parts", "declared", "Array", "Value", "Part", "Parts"}
MOST_BY_POSITION = 5


def main(folder: Path) -> None:
    """Print the counts."""
    found: dict[str, set[tuple[str, int]]] = {}
    for path in sorted((folder / "hetcore").rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        shared = path.name in ("parameters.py", "schema.py") and path.parent.name == "hetcore"
        marked = [("machinery", range(1, len(lines) + 1))] if shared else counted(ast.parse("\n".join(lines)))
        for kind, numbers in marked:
            found.setdefault(kind, set()).update((str(path), n) for n in numbers if lines[n - 1].strip())
    seen: set[tuple[str, int]] = set()
    for kind in ("parameters", "documentation", "rules", "state"):
        own = found.get(kind, set()) - seen
        seen |= own
        print(f"{kind:14}{len(own):6,}")
    print(f"{'together':14}{len(seen):6,}\n{'machinery':14}{len(found.get('machinery', set())):6,}")
    print(f"calls outside kernels with more than {MOST_BY_POSITION} by position: {by_position(folder)}")


def counted(tree: ast.Module) -> Iterator[tuple[str, range]]:
    """Yield what a file's lines are: (kind, line numbers)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node)
        elif isinstance(node, ast.FunctionDef):
            source = ast.unparse(node)
            if STATE.match(node.name) or "raise ModelFileError" in source:
                yield "state", _lines(node)
            elif "raise ParameterError" in source and "check" in node.name:
                yield "rules", _lines(node)
        elif isinstance(node, ast.Assign) and any(getattr(each, "id", "") == "_stored" for each in node.targets):
            yield "state", _lines(node)


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, range]]:
    is_estimator = ESTIMATOR.search(node.name)
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.value, ast.Call):
            called = getattr(each.value.func, "id", "")
            if called == "param" or called in FIELDS:
                yield ("parameters" if called == "param" else "state"), _lines(each)
        elif isinstance(each, ast.FunctionDef) and each.name == "__init__" and is_estimator:
            yield "parameters", _lines(each)
    if is_estimator and ast.get_docstring(node) and "Parameters\n" in node.body[0].value.value:
        text, first = node.body[0].value.value.split("\n"), node.body[0].lineno
        start = next(i for i, line in enumerate(text) if line.strip() == "Parameters")
        ends = [i for i in range(start + 2, len(text)) if re.fullmatch(r"\s*-{3,}", text[i])]
        yield "documentation", range(first + start, first + (ends[0] - 1 if ends else len(text)))


def by_position(folder: Path) -> int:
    """Return how many calls give more than five values by position, but to kernels and to what takes any number."""
    wrong = 0
    for part in ("hetcore", "datasets", "experiments", "benchmarks"):
        for path in sorted((folder / part).rglob("*.py")):
            if "kernels" in path.parts:
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            imported = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
            of_kernels = (each for each in imported if "kernels" in str(each.module))
            kernels = {name.asname or name.name for each in of_kernels for name in each.names}
            calls = (each for each in ast.walk(tree) if isinstance(each, ast.Call))
            many = [c for c in calls if sum(not isinstance(a, ast.Starred) for a in c.args) > MOST_BY_POSITION]
            wrong += sum(ast.unparse(c.func).split(".")[0] not in kernels and not _variadic(c) for c in many)
    return wrong


def _variadic(call: ast.Call) -> bool:
    return getattr(call.func, "attr", "") in ("select", "with_columns")


def _lines(node: ast.AST) -> range:
    return range(node.lineno, node.end_lineno + 1)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent)
