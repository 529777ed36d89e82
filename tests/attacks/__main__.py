"""`python -m tests.attacks TARGET FILE...` feeds files; `--fuzz TARGET [OPTION...]` what atheris thinks of.

What stands behind TARGET in the second form is libFuzzer's: `-max_total_time=60`, folders of a corpus.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.attacks.mutation import Mutation

CORPORA = Path(__file__).parent.parent.parent / "fuzz" / "corpus"


def main(arguments: list[str]) -> int:
    """Feed a target; the exit code is 0 where no law is broken."""
    if arguments[:1] == ["--fuzz"] and len(arguments) > 1:
        return _fuzz(arguments[1], arguments[2:])
    from tests.attacks.targets import TARGETS

    if len(arguments) < 2 or arguments[0] not in TARGETS:
        print(f"tests.attacks: allowed: TARGET FILE..., with a target out of {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    target = TARGETS[arguments[0]]
    for name in arguments[1:]:
        target.feed(Path(name).read_bytes())
        print(f"{name}: no law is broken")
    return 0


def _fuzz(name: str, options: list[str]) -> int:
    try:
        import atheris
    except ImportError:
        print(
            "tests.attacks: --fuzz needs atheris, which has wheels for Linux and CPython 3.11 to 3.13", file=sys.stderr
        )
        return 2
    with atheris.instrument_imports(include=["forebay"]):
        from tests.attacks.targets import TARGETS

        feed = TARGETS[name].feed
        feed(b"")  # what is imported lazily is instrumented, too
    mutation = Mutation.of(CORPORA / name)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        """Half by words and lines, half by the fuzzer's own means."""
        if seed % 2:
            return bytes(atheris.Mutate(data, most))
        return mutation.change(bytes(data), seed)[:most]

    atheris.Setup([sys.argv[0], *options], feed, custom_mutator=mutate)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
