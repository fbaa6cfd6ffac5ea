"""Picks one-line bugs by itself: every small change of the syntax tree of a file that a programmer could have made by mistake.

The changes: a comparison at its boundary or negated, an operand of `and` and `or` left out, a condition negated, other
arithmetic, numbers and truth values, a keyword argument or an element of a set, tuple or table left out, a statement left out.
Texts are left as they are: what a message says is no behaviour.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_SUMS = ast.Add | ast.Sub | ast.BitOr | ast.BitAnd
_STATEMENTS = ast.Expr | ast.Assign | ast.AugAssign | ast.Raise | ast.Delete | ast.Break | ast.Continue
"""These can be left out; without an assignment to a name most code would not run at all, so only those to attributes count."""
_NO_CODE = frozenset({"annotation", "returns", "decorator_list", "bases", "type_comment"})
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
LEFT_OUT = "(left out)"


@dataclass(frozen=True, eq=False)
class Mutant:
    """One change of one file: `field` of `node` becomes `changed`.

    `function` is the outermost one that has the change, empty where it is in code that runs when the module is imported.
    `nth` tells those apart that look the same in one function. What is changed reaches from `line` to `last_line`.
    """

    file: Path
    line: int
    last_line: int
    function: str
    before: str
    after: str
    nth: int
    tree: ast.Module
    node: ast.AST
    field: str
    changed: Any

    def compiled(self) -> CodeType:
        """The whole module with the change."""
        with _changed(self.node, self.field, self.changed):
            return compile(ast.fix_missing_locations(self.tree), str(self.file), "exec", dont_inherit=True)


@dataclass(frozen=True, slots=True)
class _Change:
    field: str
    changed: Any
    shown: ast.AST
    after: str | None = None


def mutants_of(file: Path) -> list[Mutant]:
    """All of them, in the order of the file."""
    tree, seen = ast.parse(file.read_text()), Counter[tuple[str, str, str]]()
    found = []
    for node, function in _nodes(tree, "", is_class=True):
        for change in _changes(node):
            before, after = _texts(node, change)
            line, nth = getattr(change.shown, "lineno", 0), seen[function, before, after]
            last = getattr(change.shown, "end_lineno", line)
            seen[function, before, after] += 1
            found.append(
                Mutant(file, line, last, function, before, after, nth, tree, node, change.field, change.changed)
            )
    return sorted(found, key=lambda mutant: mutant.line)


def _nodes(node: ast.AST, function: str, *, is_class: bool) -> Iterator[tuple[ast.AST, str]]:
    """What may be changed, and the outermost function that it is in. Statements of a class run at import, as the module's do."""
    if isinstance(node, ast.Assert | ast.JoinedStr) or _is_for_types_only(node):
        return
    opens = isinstance(node, _FUNCTIONS | ast.ClassDef) and is_class
    inner = f"{function}.{node.name}".strip(".") if opens else function  # type: ignore[attr-defined]
    is_inner_class = is_class and not isinstance(node, _FUNCTIONS)
    yield node, "" if is_inner_class else inner
    for field, value in ast.iter_fields(node):
        within = (inner, is_inner_class) if field == "body" else (function, is_class)
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in _NO_CODE:
                yield from _nodes(child, within[0], is_class=within[1])


def _is_for_types_only(node: ast.AST) -> bool:
    match node:
        case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.Subscript(value=ast.Name("Callable")):
            return True
    return False


def _texts(node: ast.AST, change: _Change) -> tuple[str, str]:
    before = ast.unparse(change.shown)
    if change.after is not None:
        return before, change.after
    with _changed(node, change.field, change.changed):
        return before, ast.unparse(change.shown if change.shown is node else change.changed)


@contextmanager
def _changed(node: ast.AST, field: str, value: object) -> Iterator[None]:
    kept = getattr(node, field)
    setattr(node, field, value)
    try:
        yield
    finally:
        setattr(node, field, kept)


def _changes(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield _Change("ops", [_COMPARISONS[type(op)]()], node)
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
            yield _Change("op", _ARITHMETIC[type(op)](), node)
        case ast.BoolOp(op=op, values=values):
            for index in range(len(values)):
                idle = ast.Constant(isinstance(op, ast.And))
                yield _Change("values", [*values[:index], idle, *values[index + 1 :]], node)
        case ast.Constant(value=bool(value)):
            yield _Change("value", not value, node)
        case ast.Constant(value=int(value) | float(value)):
            yield _Change("value", value + 1, node)
    yield from _elements(node)
    yield from _conditions(node)
    yield from _sums(node)
    yield from _statements(node)


def _elements(node: ast.AST) -> Iterator[_Change]:
    match node:
        case ast.Call(func=ast.Name("replace"), keywords=keywords):
            yield from _left_out("keywords", keywords)
        case ast.keyword(value=value) if not isinstance(value, ast.Constant):
            yield _Change("value", ast.Constant(None), node)
        case ast.Set(elts=elements) | ast.List(elts=elements, ctx=ast.Load()):
            yield from _left_out("elts", elements)
        case ast.Tuple(elts=elements, ctx=ast.Load()) if len(elements) > 3:
            yield from _left_out("elts", elements)
        case ast.Match(cases=cases):
            for index, case in enumerate(cases):
                yield _Change("cases", _without(cases, index), case.pattern, LEFT_OUT)


def _sums(node: ast.AST) -> Iterator[_Change]:
    """Only the first operand of what is added, taken away or joined counts: that is of the same type."""
    for field, value in ast.iter_fields(node):
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if field in _NO_CODE:
                continue
            if isinstance(child, ast.BinOp) and isinstance(child.op, _SUMS) and not _is_text(child):
                left = [*value[:index], child.left, *value[index + 1 :]] if isinstance(value, list) else child.left
                yield _Change(field, left, child, ast.unparse(child.left))


def _is_text(sum_: ast.BinOp) -> bool:
    is_type = isinstance(sum_.op, ast.BitOr) and isinstance(sum_.right, ast.Name | ast.Constant)
    return is_type or any(
        isinstance(side, ast.JoinedStr | ast.Constant) and not _is_number(side) for side in (sum_.left, sum_.right)
    )


def _is_number(side: ast.AST) -> bool:
    return isinstance(side, ast.Constant) and isinstance(side.value, int | float)


def _conditions(node: ast.AST) -> Iterator[_Change]:
    """A condition that is neither a comparison nor made of others, which are changed themselves."""
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare | ast.BoolOp):
        yield _Change("test", _negated(node.test), node.test)
    if isinstance(node, ast.comprehension):
        for index, test in enumerate(node.ifs):
            yield _Change("ifs", _without(node.ifs, index), test, LEFT_OUT)


def _negated(test: ast.expr) -> ast.expr:
    return (
        test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)
    )


def _left_out(field: str, elements: list[Any]) -> Iterator[_Change]:
    for index, element in enumerate(elements):
        if len(elements) > 1 or field == "keywords":
            yield _Change(field, _without(elements, index), element, LEFT_OUT)


def _statements(node: ast.AST) -> Iterator[_Change]:
    for field in ("body", "orelse", "finalbody"):
        body: list[ast.stmt] = value if isinstance(value := getattr(node, field, None), list) else []
        for index, statement in enumerate(body):
            if _can_be_left_out(statement):
                changed = [*body[:index], ast.Pass(), *body[index + 1 :]]
                yield _Change(field, changed, statement, LEFT_OUT)


def _can_be_left_out(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return False
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("super"))))):
            return False  # Without it the function has no cell for its class, and its code cannot be exchanged.
        case ast.Assign(targets=targets):
            return all(isinstance(target, ast.Attribute | ast.Subscript) for target in targets)
    return isinstance(statement, _STATEMENTS)


def _without(values: Iterable[Any], index: int) -> list[Any]:
    return [value for place, value in enumerate(values) if place != index]
