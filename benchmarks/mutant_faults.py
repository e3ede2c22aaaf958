"""Small faults for `benchmarks.mutants`: where one can be put into a source file, and the code that has it.

Another comparison, another operator, `and` for `or`, a number one larger, True for False, a condition turned round, a
call or a returned value dropped; inside functions only. Left alone are annotations, docstrings, what is put into the
words of a sentence (f-strings), and the types of isinstance.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import NamedTuple

COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult,
}  # fmt: skip
Change = Callable[[ast.AST], ast.AST]


class Fault(NamedTuple):
    """One fault of a file: its lines, what it is, the function it is in, and which node is changed how."""

    first: int
    last: int
    what: str
    function: str
    begins: int
    node: int
    change: int


def changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Yield what can be changed at a node: in words, and what makes the changed node of a copy."""
    if isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            yield _swapped(operator, COMPARED[type(operator)]), lambda n, k=k: _compared(n, k)
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield _swapped(node.op, OPERATORS[type(node.op)]), lambda n: _with(n, op=OPERATORS[type(n.op)]())
    if isinstance(node, ast.BoolOp):
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield _swapped(node.op, other), lambda n: _with(n, op=other())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"{node.value} -> {node.value + 1}", lambda n: _with(n, value=n.value + 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield f"{node.value} -> {not node.value}", lambda n: _with(n, value=not n.value)
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition turned", lambda n: _with(n, test=_not(n.test))
    if isinstance(node, ast.comprehension) and node.ifs:
        yield "condition turned", lambda n: _with(n, ifs=[_not(n.ifs[0]), *n.ifs[1:]])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "not dropped", lambda n: n.operand
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "call dropped", lambda n: _with(n, value=ast.Constant(None))
    if isinstance(node, ast.Return) and not (node.value is None or ast.unparse(node.value) == "None"):
        yield "returns None", lambda n: _with(n, value=ast.Constant(None))


def _swapped(one: ast.AST, other: type) -> str:
    return f"{type(one).__name__} -> {other.__name__}"


def _compared(node: ast.Compare, k: int) -> ast.Compare:
    node.ops[k] = COMPARED[type(node.ops[k])]()
    return node


def _with(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def _not(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def faults(path: Path, wanted: Callable[[str], bool] = bool) -> list[Fault]:
    """Return the faults of the wanted functions of a file."""
    tree, found = ast.parse(path.read_text(encoding="utf-8")), []
    order = {id(node): k for k, node in enumerate(ast.walk(tree))}
    for name, function in _functions(tree):
        begins = min([function.lineno, *(each.lineno for each in function.decorator_list)])
        for node in (each for statement in function.body for each in _changeable(statement)) if wanted(name) else ():
            for k, (what, _) in enumerate(changes(node)):
                found.append(Fault(*_lines(node), what, name, begins, order[id(node)], k))
    return found


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions of a module and the methods of its classes by their qualified names."""
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef):
                yield (f"{node.name}.{inner.name}" if isinstance(node, ast.ClassDef) else inner.name), inner


def _changeable(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr):
        return
    yield node
    types_of = isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            children = value if isinstance(value, list) else [value]
            for child in children[:1] if types_of and name == "args" else children:
                yield from _changeable(child) if isinstance(child, ast.AST) else ()


def _lines(node: ast.AST) -> tuple[int, int]:
    """Return the lines on which a test that sees the fault must have been: of a condition, not of what it governs."""
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        node = node.test
    if isinstance(node, ast.comprehension):
        node = node.ifs[0]
    return node.lineno, node.end_lineno


def faulty_code(path: Path, fault: Fault | None) -> dict[tuple[str, int], CodeType]:
    """Return the code of a file's functions by qualified name and first line, with a fault in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if fault is not None:
        _put(tree, fault)
    return dict(_codes(compile(ast.fix_missing_locations(tree), str(path), "exec")))


def _put(tree: ast.Module, fault: Fault) -> None:
    old = list(ast.walk(tree))[fault.node]
    _, change = list(changes(old))[fault.change]
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, ast.copy_location(change(copy.deepcopy(old)), old))
                return
            if isinstance(value, list) and any(each is old for each in value):
                k = next(k for k, each in enumerate(value) if each is old)
                new = change(copy.deepcopy(old))
                value[k] = ast.copy_location(new, old) if hasattr(old, "lineno") else new
                return


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield (constant.co_qualname, constant.co_firstlineno), constant
            yield from _codes(constant)
