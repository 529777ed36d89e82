"""Mutants of a Python file: cosmic-ray's operators at every place where they change what the file does.

Left out, with the reason: texts, docstrings, annotations, imports and `__all__` (wording, and types that nothing reads
at run time); `slots`, `repr` and `eq` of a dataclass (how it is stored and shown) and `strict` of `zip` (an assertion);
the bit and shift operators in place of arithmetic and `is` in place of `==` (they raise on floats, or hinge on what an
interpreter keeps only once), so that what is caught by a TypeError does not flatter the share; variables put in place
of others (cosmic-ray wants to be told which). Added: `all` for `any`, `min` for `max`, `floor` for `ceil`, and a
statement that is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.operators.provider import OperatorProvider

__all__ = ["Mutant", "mutants_of", "statement_lines"]

Position = tuple[int, int]
Span = tuple[Position, Position]

#: What an operator is replaced by; the rest of cosmic-ray's pairs only raise or mean the same.
_ARITHMETIC = {
    "Add": ("Sub", "Mul"),
    "Sub": ("Add", "Div"),
    "Mul": ("Div", "Add"),
    "Div": ("Mul", "FloorDiv", "Sub"),
    "FloorDiv": ("Div", "Mul"),
    "Mod": ("Div",),
    "Pow": ("Mul", "Div"),
    "BitOr": ("BitAnd",),
    "BitAnd": ("BitOr",),
}
_COMPARISON = {
    "Eq": ("NotEq",),
    "NotEq": ("Eq",),
    "Is": ("IsNot",),
    "IsNot": ("Is",),
    "Lt": ("LtE", "Gt", "GtE"),
    "LtE": ("Lt", "Gt", "GtE"),
    "Gt": ("GtE", "Lt", "LtE"),
    "GtE": ("Gt", "Lt", "LtE"),
}
_OTHERS = (
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
    "AddNot",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ExceptionReplacer",
    "NumberReplacer",
    "RemoveDecorator",
    "ZeroIterationForLoop",
)
#: Builtins and functions of `math` that are easily taken for each other.
_TWINS = {"all": "any", "any": "all", "min": "max", "max": "min", "ceil": "floor", "floor": "ceil"}
#: Keywords of `dataclass` that decide how an object is stored and shown.
_STORAGE = frozenset({"slots", "repr", "eq"})


class Operator(Protocol):
    """What cosmic-ray asks of an operator, of the tree that parso made."""

    def mutation_positions(self, node: Any) -> Iterable[Span]:
        """Where the operator changes this node, once for each change."""

    def mutate(self, node: Any, index: int) -> Any:
        """The changed node."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Attributes
    ----------
    operator : str
        Which kind of change.
    line : int
        Where it begins, from 1.
    before, after : str
        The line that differs (or those that do), without indentation.
    below : str
        The line above it.
    text : str
        The whole file with the change.
    """

    operator: str
    line: int
    before: str
    after: str
    below: str
    text: str


class Twin:
    """`all` for `any`, `min` for `max`, `floor` for `ceil`, and the other way round."""

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        """Names that are called, or passed on to be."""
        if node.type == "name" and node.value in _TWINS and not node.is_definition():
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """The other name."""
        del index
        node.value = _TWINS[node.value]
        return node


class LeaveOut:
    """`pass` in place of a call whose value nobody takes, of a `raise`, and of a change in place (`+=`)."""

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        """Statements of one of the three kinds."""
        if node.parent is None or node.parent.type != "simple_stmt":
            return
        called = node.type == "atom_expr" and node.children[-1].type == "trailer"
        added = node.type == "expr_stmt" and node.children[1].type == "operator" and node.children[1].value != "="
        if called or added or node.type == "raise_stmt":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        """`pass` instead."""
        del node, index
        return parso.parse("pass").children[0]


@cache
def _operators() -> Mapping[str, Operator]:
    known = OperatorProvider()
    names = [
        *(f"ReplaceBinaryOperator_{one}_{other}" for one, others in _ARITHMETIC.items() for other in others),
        *(f"ReplaceComparisonOperator_{one}_{other}" for one, others in _COMPARISON.items() for other in others),
        *_OTHERS,
    ]
    return {name: known[name]() for name in names} | {"Twin": Twin(), "LeaveOut": LeaveOut()}


def mutants_of(text: str) -> list[Mutant]:
    """Every mutant of a file, in the order of the file."""
    nodes = [node for node in ast_nodes(get_ast(text)) if not _is_star(node)]
    left_out = list(_left_out(ast.parse(text)))
    found: dict[str, Mutant] = {}
    for name, operator in _operators().items():
        for node in nodes:
            for index, (first, last) in enumerate(list(operator.mutation_positions(node))):
                if any(start <= first and last <= end for start, end in left_out):
                    continue
                changed = _changed(text, node, operator, index)
                if changed != text:
                    found.setdefault(changed, Mutant(name, first[0], *_difference(text, changed), changed))
    return sorted(found.values(), key=lambda mutant: (mutant.line, mutant.after, mutant.operator))


def _is_star(node: Any) -> bool:
    """Whether this is a star that unpacks or parts parameters, which cosmic-ray takes for a product or a power."""
    return (
        node.type == "operator"
        and node.value in {"*", "**"}
        and node.parent.type in {"parameters", "dictorset", "atom"}
    )


def _changed(text: str, node: Any, operator: Operator, index: int) -> str:
    """The text of a file with one node changed; the node is as it was afterwards."""
    lines = text.splitlines(keepends=True)
    first, last = (sum(map(len, lines[: line - 1])) + column for line, column in (node.start_pos, node.end_pos))
    before = [(each, _state(each)) for each in ast_nodes(node)]
    made = operator.mutate(node, index)
    new = "" if made is None else made.get_code(include_prefix=False).lstrip()
    for each, saved in before:
        for name, value in saved.items():
            setattr(each, name, value)
    return text[:first] + new + text[last:]


def _state(node: Any) -> dict[str, Any]:
    """What an operator may change of a node: the text of a leaf, the children of a branch."""
    return {"children": list(node.children)} if hasattr(node, "children") else {"value": node.value}


def _difference(before: str, after: str) -> tuple[str, str, str]:
    """The lines that differ, and the one above them."""
    old, new = before.splitlines(), after.splitlines()
    start = next((k for k, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    tail = 0
    while tail < min(len(old), len(new)) - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    told = ["\n".join(line.strip() for line in lines[start : len(lines) - tail]) for lines in (old, new)]
    return told[0], told[1], old[start - 1].strip() if start else ""


def _left_out(tree: ast.Module) -> Iterator[Span]:
    """Places at which nothing is changed."""
    for node in ast.walk(tree):
        match node:
            case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
                yield _span(annotation)
            case ast.FunctionDef(returns=ast.expr() as returned):
                yield _span(returned)
            case ast.Import() | ast.ImportFrom() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield _span(node)
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                yield _span(node)
            case ast.ClassDef(bases=bases) if any(ast.unparse(base) == "Protocol" for base in bases):
                yield _span(node)
            case ast.Call(func=ast.Name(id="dataclass"), keywords=keywords):
                yield from (_span(keyword) for keyword in keywords if keyword.arg in _STORAGE)
            case ast.Call(func=ast.Name(id="zip"), keywords=keywords):
                yield from (_span(keyword) for keyword in keywords)


def _span(node: Any) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def statement_lines(text: str) -> Mapping[int, range]:
    """By each line of a file those on which the statement around it runs; empty where importing the file runs it.

    The head of a compound statement is a statement of its own. What a function takes and is decorated with runs when
    the file is imported, but shows where the body runs: that is its lines.
    """
    tree = ast.parse(text)
    found = dict.fromkeys(range(1, len(text.splitlines()) + 1), range(0))

    def visit(body: Iterable[ast.stmt], *, inside: bool) -> None:
        for node in body:
            first, last = node.lineno, node.end_lineno or node.lineno
            inner = getattr(node, "body", None)
            if isinstance(node, ast.FunctionDef):
                first = min([first, *(each.lineno for each in node.decorator_list)])
                lines = range(node.body[0].lineno, last + 1)
            elif isinstance(inner, list):
                lines = range(first, inner[0].lineno) if inside else range(0)
            else:
                lines = range(first, last + 1) if inside else range(0)
            for line in range(first, last + 1):
                found[line] = lines
            if isinstance(inner, list):
                below = inside or isinstance(node, ast.FunctionDef)
                visit(inner, inside=below and not isinstance(node, ast.ClassDef))
                for name in ("orelse", "finalbody"):
                    visit(getattr(node, name, []), inside=below)
                for handler in getattr(node, "handlers", []):
                    found[handler.lineno] = range(handler.lineno, handler.body[0].lineno)
                    visit(handler.body, inside=below)
            if isinstance(node, ast.Match):
                for case in node.cases:
                    head = range(node.lineno, case.body[0].lineno)
                    for line in range(case.pattern.lineno, case.body[0].lineno):
                        found[line] = head
                    visit(case.body, inside=inside)

    visit(tree.body, inside=False)
    return found
