"""Shell scripts around tc's commands: their variables, arithmetic, loops and redirections are expanded.

A construct that only a shell can evaluate, such as the output of another command, remains as it is and is an error.
"""

from __future__ import annotations

import ast
import operator
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from forebay.configuration.reading import Mistake, Word, Words, integer

__all__ = ["MOST_STATEMENTS", "commands"]

#: Maximum number of statements of expanded loops: a class and its discipline for each of many hash queues.
MOST_STATEMENTS = 2**15
#: Maximum number of words of all commands after their variables were expanded.
MOST_WORDS = 2**18
#: Maximum number of characters of a variable's value, or of a word with its variables.
MOST_CHARACTERS = 2**10
#: Largest number that arithmetic may give: more than a rate in bits per second needs.
MOST_FIGURE = 10**18

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?::?-([^{}$]*))?\})")
_ARITHMETIC = re.compile(r"\$(?:\(\(([^()$]*(?:\([^()$]*\)[^()$]*)*)\)\)|\[([^\[\]$]*)\])")
_REDIRECTION = re.compile(r"(?:[0-9]?>|&>|<).*|\|\|?|&")
_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def commands(lines: Sequence[list[Word]]) -> Iterator[list[Word]]:
    """The commands in the order in which a shell runs them, without their redirections."""
    known: dict[str, str] = {}
    total = 0
    for line in _unrolled(lines):
        assigned = _assigned(line, known)
        if assigned is not None:
            known |= assigned
            continue
        written = _written_out(line, known)
        total += len(written)
        if total > MOST_WORDS:
            raise Mistake(f"more than {MOST_WORDS:,} words", "fewer, with variables written out").error(line[0].line)
        for each in _each(written):
            words = list(_stripped(each))
            if words:
                yield words


def _assigned(line: Sequence[Word], known: Mapping[str, str]) -> dict[str, str] | None:
    """The variables of a line of assignments alone; None for another line."""
    rest = line[1:] if line[0].text in ("export", "local", "readonly") else line
    found: dict[str, str] = {}
    for word in _joined(rest):
        match = _ASSIGNMENT.fullmatch(word.text)
        if match is None:
            return None
        value = _filled(match[2], {**known, **found})
        # The output of another command is unknown, and so is every value derived from it.
        found |= {} if "$" in value or "`" in value else {match[1]: value}
    return found


def _filled(text: str, known: Mapping[str, str]) -> str:
    """A text in which the known variables and the arithmetic are expanded."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        given = known.get(name) or match[3]
        return match[0] if given is None else given

    def result(match: re.Match[str]) -> str:
        # Within arithmetic a variable may lack its dollar sign.
        inner = re.sub(r"[A-Za-z_][A-Za-z0-9_]*", lambda name: known.get(name[0], name[0]), match[1] or match[2] or "")
        number = _computed(inner)
        return match[0] if number is None else str(number)

    if "$" not in text:
        return text
    plain = _VARIABLE.sub(value, text)[:MOST_CHARACTERS]
    return _ARITHMETIC.sub(result, plain)


def _computed(text: str) -> int | None:
    """The value of an expression of whole numbers; None if the text is not such an expression."""
    if len(text) > 200:
        return None
    try:
        return _number(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _number(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) <= MOST_FIGURE:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        found = _OPERATORS[type(node.op)](_number(node.left), _number(node.right))
        if abs(found) <= MOST_FIGURE:
            return found
    raise ValueError


def _written_out(line: Sequence[Word], known: Mapping[str, str]) -> list[Word]:
    """A line with its variables expanded; a value may be several words."""
    if not any("$" in word.text for word in line):
        return list(line)
    found: list[Word] = []
    for word in _joined(line):
        filled = _filled(word.text, known)
        pieces = filled.split() if filled != word.text else [filled]
        found.extend(Word(piece, word.line) for piece in pieces)
    return found


def _each(line: Sequence[Word]) -> Iterator[list[Word]]:
    """The commands between `&&`."""
    current: list[Word] = []
    for word in line:
        if word.text == "&&":
            yield current
            current = []
        else:
            current.append(word)
    yield current


def _stripped(line: Sequence[Word]) -> Iterator[Word]:
    """A command without a preceding `sudo` and without its redirections; tc by its bare name."""
    first = True
    for word in line:
        if _REDIRECTION.fullmatch(word.text):
            return
        if first and word.text == "sudo":
            continue
        if first and (word.text.endswith("/tc") or word.text in ("$TC", "${TC}", "$tc", "${tc}")):
            word = Word("tc", word.line)  # noqa: PLW2901 - the same word by another name
        first = False
        yield word


def _unrolled(lines: Sequence[list[Word]]) -> Iterator[list[Word]]:
    """Lines in which `for NAME in $(seq FIRST LAST); do ...; done`, or a list of words, is expanded."""
    pending = deque(lines)
    while pending:
        line = pending.popleft()
        if line[0].text != "for":
            yield line
            continue
        words = Words(line, 1)
        name = words.take("the name of a variable")
        words.keyword(["in"])
        values = _values(words)
        body: list[list[Word]] = []
        while pending and pending[0][0].text != "done":
            inner = pending.popleft()
            inner = inner[1:] if inner[0].text == "do" else inner
            body.extend([inner] if inner else [])
        if not pending:
            words.fail("do ...; done")
        pending.popleft()
        if len(values) * len(body) > MOST_STATEMENTS:
            allowed = f"at most {MOST_STATEMENTS} statements, written out"
            raise Mistake(f"{len(values)} turns of {len(body)} statements", allowed).error(line[0].line)
        for value in values:
            for inner in body:
                yield [Word(_substituted(word.text, name, value), word.line) for word in _joined(inner)]


def _values(words: Words) -> Sequence[str]:
    """The values of a loop."""
    if not words.skip("$(seq"):
        found = [words.take("words, or $(seq FIRST LAST)")]
        while words.more:
            found.append(words.take(""))
        return found
    first = words.value(integer)
    last = words.value(lambda text: integer(text.removesuffix(")"), most=65535))
    words.end("; do")
    return [str(number) for number in range(first, last + 1)]


def _joined(words: Sequence[Word]) -> Iterator[Word]:
    """Words with `$(printf %x $i)` as one."""
    pending: list[str] = []
    depth = 0
    for word in words:
        pending.append(word.text)
        depth += word.text.count("(") - word.text.count(")")
        if depth > 0:
            continue
        yield Word(" ".join(pending), word.line)
        pending, depth = [], 0
    if pending:
        yield Word(" ".join(pending), words[-1].line)


def _substituted(text: str, name: str, value: str) -> str:
    if f"$(printf %x ${name})" in text and re.fullmatch("[0-9]{1,9}", value):
        text = text.replace(f"$(printf %x ${name})", f"{int(value):x}")
    return re.sub(rf"\${re.escape(name)}\b|\$\{{{re.escape(name)}\}}", lambda _: value, text)
