"""How the house is built, at one commit beside another: `python -m benchmarks.structure 292701f HEAD`.

Lines are those of .py files. Code lines of a function are without its docstring, comments and empty lines; kernels and
tests stand apart. What describes parameters and states is what a method's author writes beside its mathematics:
constructors that only keep what they are given, with the "Parameters" of their classes, tables of rules, declarations,
the functions that write and read states, and the fields of what is stored. Comments are the lines that hold one, such
as "# noqa" not counted, and code lines here all that hold code and are no docstring. A duplicated place is a run of
four or more code lines that stood already, the same to the letter, in that file or another; lines of imports, and those
that are brackets alone, count for nothing.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("hetcore", "datasets", "experiments", "studio", "pages", "benchmarks", "tests")
Sources = dict[PurePosixPath, str]


def sources(commit: str) -> Sources:
    """Return the text of every .py file of a commit by its path."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        files = [each for each in packed if each.isfile() and each.name.endswith(".py")]
        return {PurePosixPath(each.name): packed.extractfile(each).read().decode() for each in files}


def code_lines(function: ast.FunctionDef, lines: list[str]) -> int:
    """Return the lines of a function that are code."""
    documented = function.body[0] if ast.get_docstring(function) else None
    skipped = range(documented.lineno, documented.end_lineno + 1) if documented else ()
    inside = (lines[n - 1].strip() for n in range(function.lineno, function.end_lineno + 1) if n not in skipped)
    return sum(bool(line) and not line.startswith("#") for line in inside)


def longest_function(files: Sources) -> int:
    """Return the code lines of the longest function outside of kernels and tests."""
    lengths = [
        code_lines(node, text.splitlines())
        for path, text in files.items() if "kernels" not in path.parts and path.parts[0] not in ("tests", "benchmarks")
        for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
    ]  # fmt: skip
    return max(lengths)


def stores_only(node: ast.AST) -> bool:
    """Whether a function is a constructor that keeps what it is given, under its name, and does nothing else."""
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__":
        return False
    body = [ast.unparse(each) for each in node.body if not _is_text(each)]
    parts = [re.sub(r"self\.|[()]", "", each).split(" = ") for each in body if not each.startswith("super().__init__(")]
    return bool(body) and all(len(each) == 2 and each[0] == each[1] for each in parts)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def descriptions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield (kind, lines) of what describes parameters and states."""
    for node in ast.walk(tree):
        lines = getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0) + 1
        if isinstance(node, ast.FunctionDef) and re.search(r"state|from_format|to_arrays|from_arrays", node.name):
            yield "state code", lines
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            if re.fullmatch(r"(\w+_)?rules", target.lower()):
                yield "rules", lines
            if re.match(r"param\(", ast.unparse(node.value) if node.value else ""):
                yield "declarations", lines
            if target == "_learned":
                yield "state code", lines
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node)


def _of_class(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    constructors = [each for each in node.body if stores_only(each)]
    yield from (("constructors", each.end_lineno - each.lineno + 1) for each in constructors)
    section = re.search(r"Parameters\n-+\n(.*?)(?=\n\w+\n-+\n|\Z)", ast.get_docstring(node) or "", re.DOTALL)
    if constructors and section:
        yield "documented parameters", section.group(1).count("\n") + 1
    if any("Stored" in ast.unparse(base) for base in node.bases):
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        yield "state code", sum(each.end_lineno - each.lineno + 1 for each in fields)


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
ORDERS = re.compile(r"# ?(noqa|fmt:|type:|pragma)")
"""Comments that a tool reads, and nobody else."""
EMPTY = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def commented(text: str) -> tuple[set[int], set[int]]:
    """Return the numbers of the lines of a file with a comment, and of those with code."""
    comments, code = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not ORDERS.match(token.string):
            comments.add(token.start[0])
        elif token.type not in (tokenize.COMMENT, *EMPTY):
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            code.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return comments, code


def code_lines_a_comment(texts: list[str]) -> str:
    """Return how many lines of code there are for one with a comment."""
    comments, code = (sum(map(len, each)) for each in zip(*map(commented, texts))) if texts else (0, 0)
    return f"{code / comments:.0f}" if comments else "none"


SAME = 4
"""Lines of a duplicated place, at least."""


def duplicated(files: Sources) -> int:
    """Return the number of places whose code stood already, in an earlier line or file."""
    known, found = set(), 0
    for text in files.values():
        lines, repeats = text.splitlines(), False
        imports = {n for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
                   for n in range(node.lineno, node.end_lineno + 1)}  # fmt: skip
        code = [lines[n - 1].strip() for n in sorted(commented(text)[1] - imports)]
        code = [line for line in code if re.search(r"\w", line)]
        for k in range(len(code) - SAME + 1):
            here = tuple(code[k : k + SAME])
            # a run is counted once, at its beginning
            found += here in known and not repeats
            repeats = here in known
            known.add(here)
    return found


def _outside_tests(files: Sources) -> Sources:
    return {path: text for path, text in files.items() if path.parts[0] != "tests"}


def table(files: Sources) -> dict[str, str]:
    """Return the rows of one commit."""
    rows = {}
    for package in PACKAGES:
        texts = [
            text
            for path, text in files.items()
            if path.parts[0] == package or (package == "pages" and path.name == "app.py")
        ]
        rows[f"{package}: files, lines"] = f"{len(texts)}, {sum(text.count(chr(10)) for text in texts):,}"
    for package in ("hetcore", "studio"):
        texts = [text for path, text in files.items() if path.parts[0] == package]
        rows[f"{package}: code lines for one with a comment"] = code_lines_a_comment(texts)
    rows["all files: code lines for one with a comment"] = code_lines_a_comment(list(files.values()))
    rows["all but tests: duplicated places"] = f"{duplicated(_outside_tests(files)):,}"
    rows["tests: duplicated places"] = f"{duplicated(files) - duplicated(_outside_tests(files)):,}"
    folders = Counter(path.parent for path in files)
    folder, most = max(folders.items(), key=lambda each: each[1])
    rows["most .py files in a folder"] = f"{most} ({folder})"
    rows["longest function, code lines"] = str(longest_function(files))
    found = Counter()
    for path, text in files.items():
        for kind, lines in descriptions(ast.parse(text)) if path.parts[0] == "hetcore" else ():
            found[kind] += lines
    kinds = ("constructors", "rules", "declarations", "documented parameters", "state code")
    return rows | {f"{kind}, lines": f"{found[kind]:,}" for kind in kinds} | {"the five together": f"{found.total():,}"}


def main(commits: list[str]) -> None:
    """Print the table of these commits."""
    columns = [table(sources(commit)) for commit in commits]
    print(f"| | {' | '.join(commits)} |\n|---|{'---|' * len(commits)}")
    for row in columns[0]:
        print(f"| {row} | {' | '.join(column[row] for column in columns)} |")


if __name__ == "__main__":
    main(sys.argv[1:] or ["292701f", "HEAD"])
