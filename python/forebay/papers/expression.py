"""Expressions of the claims: arithmetic, calls of the functions that are offered, constants; nothing else."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from forebay.errors import InputError

__all__ = ["evaluate"]

_NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.keyword,
    ast.List,
    ast.Tuple,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.Pow,
    ast.USub,
    ast.UAdd,
)


def evaluate(text: str, functions: Mapping[str, Callable[..., Any]]) -> Any:
    """Evaluate an expression such as `value("one", "utilization", buffer=20) - 0.5`.

    Raises
    ------
    InputError
        If it is anything but arithmetic and calls of `functions`.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise InputError(f"expression `{text}`: {error.msg}") from None
    for node in ast.walk(tree):
        if not isinstance(node, _NODES):
            raise InputError(f"expression `{text}`: found {type(node).__name__}; allowed: arithmetic and calls")
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            raise InputError(f"expression `{text}`: found a call of no name; allowed: {', '.join(functions)}")
        if isinstance(node, ast.Name) and node.id not in functions:
            raise InputError(f"expression `{text}`: found `{node.id}`; allowed: {', '.join(functions)}")
    return eval(compile(tree, "<claim>", "eval"), {"__builtins__": {}}, dict(functions))
