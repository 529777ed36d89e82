"""The build of the engines: stored results are named after it, so that numbers of two builds are never mixed.

The version is not enough, because numbers change between two releases. The digest is of the built extension itself,
which computes every number, so that an edit of an engine needs no entry here.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from forebay import _core

__all__ = ["digest_of", "fingerprint", "sources"]


@lru_cache(maxsize=1)
def fingerprint() -> str:
    """The version and a digest of the built extension, as in "0.1.0+3f2a90c1d4e5b607"."""
    return f"{_core.__version__}+{digest_of(Path(_core.__file__))}"


def digest_of(extension: Path) -> str:
    """The first 16 digits of a file's SHA-256."""
    with extension.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


@lru_cache(maxsize=1)
def sources() -> str:
    """The first 16 digits of a SHA-256 of the package's Python files, for results that Python computes."""
    package, digest = Path(_core.__file__).parent, hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        raw = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(raw)} ".encode() + raw)
    return digest.hexdigest()[:16]
