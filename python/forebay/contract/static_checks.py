"""Checks of the text of a file: functions that differ between machines, and sources of chance.

The file is parsed and not run. A text can hide a call from this check, so `equal_results` also compares runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from forebay.errors import CodeError

__all__ = ["chance", "unpinned"]

#: Functions of `math` that IEEE 754 or their definition makes equal everywhere.
EXACT = frozenset(
    {
        *("ceil", "comb", "copysign", "fabs", "factorial", "floor", "fma", "fmod", "frexp", "fsum", "gcd", "isclose"),
        *("isfinite", "isinf", "isnan", "isqrt", "lcm", "ldexp", "modf", "nextafter", "perm", "prod", "remainder"),
        *("sqrt", "trunc", "ulp", "inf", "nan", "pi", "e", "tau"),
    }
)
#: Functions of NumPy that come from a library of the machine.
NUMPY = frozenset(
    {
        *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "cos", "cosh", "exp"),
        *("exp2", "expm1", "float_power", "hypot", "log", "log10", "log1p", "log2", "logaddexp", "power", "sin"),
        *("sinh", "tan", "tanh"),
    }
)
#: Modules whose results differ between two runs.
CHANCE = frozenset(
    {"asyncio", "datetime", "os", "random", "secrets", "socket", "subprocess", "threading", "time", "uuid"}
)
#: Built-in functions whose results differ between two processes.
UNEQUAL = frozenset({"hash", "id"})


def unpinned(source: str, file: str) -> tuple[str, ...]:
    """The uses of transcendental functions that are not of `forebay.algorithms.math`.

    Parameters
    ----------
    source : str
        Text of the file.
    file : str
        Its name.

    Returns
    -------
    tuple of str
        Such as "mine.py:14: math.exp".
    """
    return tuple(f"{file}:{line}: {name}" for line, name in sorted(set(_unpinned(_parsed(source, file)))))


def chance(source: str, file: str) -> tuple[str, ...]:
    """The uses of clocks, of random numbers that are not of `self.random`, and of orders that differ.

    Parameters
    ----------
    source, file : str
        As for `unpinned`.

    Returns
    -------
    tuple of str
        Such as "mine.py:3: random".
    """
    return tuple(f"{file}:{line}: {name}" for line, name in sorted(set(_chance(_parsed(source, file)))))


def _parsed(source: str, file: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise CodeError(f"{file}: {type(error).__name__}: {error}") from None


def _unpinned(tree: ast.Module) -> Iterator[tuple[int, str]]:
    modules = _modules(tree)
    pinned_pow = any(isinstance(node, ast.ImportFrom) and _binds(node, "pow") for node in ast.walk(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {"math", "cmath", "numpy", "scipy"}:
            names = [each.name for each in node.names]
            yield from ((node.lineno, f"{node.module}.{name}") for name in names if _is_unpinned(node.module, name))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id, "")
            if _is_unpinned(module, node.attr):
                yield node.lineno, f"{module}.{node.attr}"
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow) and not _is_exact_power(node):
            yield node.lineno, "**"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pow" and not pinned_pow:
            yield node.lineno, "pow"


def _is_unpinned(module: str, name: str) -> bool:
    if module == "math":
        return name not in EXACT
    return module == "cmath" or module.partition(".")[0] == "scipy" or (module == "numpy" and name in NUMPY)


def _is_exact_power(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether a power is no call of the C library's `pow` that may round: a square, or whole constants."""
    base, exponent = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    if not (isinstance(exponent, ast.Constant) and isinstance(exponent.value, int)):
        return False
    return exponent.value in {0, 1, 2} or (isinstance(base, ast.Constant) and isinstance(base.value, int))


def _binds(node: ast.ImportFrom, name: str) -> bool:
    return any((each.asname or each.name) == name for each in node.names)


def _chance(tree: ast.Module) -> Iterator[tuple[int, str]]:
    modules = _modules(tree)
    sets = {name for node in ast.walk(tree) if (name := _name_of_set(node))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name.partition(".")[0] for each in node.names]
            yield from ((node.lineno, name) for name in names if name in CHANCE)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in CHANCE:
            yield node.lineno, str(node.module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in UNEQUAL:
            yield node.lineno, f"{node.func.id}()"
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and modules.get(node.value.id) == "numpy"
            and node.attr == "random"
        ):
            yield node.lineno, "numpy.random"
        for order in _orders(node):
            if _is_set(order) or ast.unparse(order) in sets:
                yield order.lineno, f"order of the set `{ast.unparse(order)}`"


def _orders(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions over whose elements a node goes in their order."""
    if isinstance(node, ast.For | ast.comprehension):
        yield node.iter
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"list", "tuple", "iter"}
    if named and isinstance(node, ast.Call):
        yield from node.args
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "pop"
        and not node.args
    ):
        yield node.func.value


def _is_set(node: ast.expr) -> bool:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"set", "frozenset"}
    return called or isinstance(node, ast.Set | ast.SetComp)


def _name_of_set(node: ast.AST) -> str:
    """The variable or attribute to which a set is assigned; empty if none is."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_set(node.value):
        return ast.unparse(node.targets[0])
    if isinstance(node, ast.AnnAssign) and node.value is not None and _is_set(node.value):
        return ast.unparse(node.target)
    return ""


def _modules(tree: ast.Module) -> dict[str, str]:
    """The module of each name that an import binds."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                found[each.asname or each.name.partition(".")[0]] = each.name
    return found
