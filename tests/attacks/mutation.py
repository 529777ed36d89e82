"""Changes that keep a text's form: words, lines and numbers are exchanged, dropped and repeated.

A fuzzer's changes of single bytes hardly get past the first word of a grammar.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Mutation"]

#: Numbers that readers stumble over.
NUMBERS = (
    b"0", b"-1", b"1", b"99999999999999999999", b"0.0000001", b"1e309", b"", b"100", b"101", b"65536", b"4294967296",
    b"0x10", b"nan",
)  # fmt: skip
_NUMBER = re.compile(rb"\d+(?:\.\d+)?")


class Mutation:
    """Changes of a text by words and lines of a corpus.

    Parameters
    ----------
    corpus : sequence of bytes
        Texts of the form.
    """

    def __init__(self, corpus: Sequence[bytes]) -> None:
        self.corpus = [text for text in corpus if text] or [b"0"]
        self._words = sorted({word for text in self.corpus for word in text.split()}) or [b"0"]
        self._lines = sorted({line for text in self.corpus for line in text.split(b"\n")})

    @classmethod
    def of(cls, folder: Path) -> Mutation:
        """From the files of a folder."""
        return cls([path.read_bytes() for path in sorted(folder.glob("*"))])

    def change(self, text: bytes, seed: int) -> bytes:
        """A text changed in one to four places; the same for the same seed."""
        draw = random.Random(seed)
        for _ in range(draw.randrange(1, 5)):
            text = self._once(text, draw)
        return text

    def _once(self, text: bytes, draw: random.Random) -> bytes:
        kind = draw.randrange(6)
        separator = b" " if kind in (0, 1) else b"\n"
        parts = text.split(separator)
        at = draw.randrange(len(parts))
        if kind == 0:
            parts[at] = draw.choice(self._words)
        elif kind in (1, 2):
            del parts[at]
        elif kind == 3:
            parts[at] = draw.choice(self._lines)
        elif kind == 4:
            parts.insert(draw.randrange(len(parts) + 1), parts[at])
        else:
            numbers = list(_NUMBER.finditer(text))
            if not numbers:
                return text
            found = draw.choice(numbers)
            return text[: found.start()] + draw.choice(NUMBERS) + text[found.end() :]
        return separator.join(parts)
