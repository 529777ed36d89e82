"""`--version`: print the version in the first line, and the details for a bug report in the lines after it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from forebay.commands.streams import say

__all__ = ["VERSION", "lines"]

#: Names of the required packages in the package index.
REQUIRED = ("click", "jinja2", "numpy", "rich", "scipy")


def lines() -> Iterator[str]:
    """Versions of forebay, Python, the platform and the packages; no line names the host or its user."""
    import platform

    from forebay import _core
    from forebay.extras import EXTRAS
    from forebay.laboratory.page import is_built
    from forebay.storage import build

    yield f"forebay {_core.__version__}"
    yield f"engines {build.fingerprint()}"
    yield f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}"
    yield ", ".join(map(_package_version, REQUIRED))
    for extra in EXTRAS:
        yield f"{extra.name}: {', '.join(map(_package_version, extra.packages))}"
    yield f"laboratory: {'built' if is_built() else 'not built'}"


def _package_version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


def _print_version(context: click.Context, _option: click.Parameter, *, requested: bool) -> None:
    if requested and not context.resilient_parsing:
        for line in lines():
            say(line)
        context.exit()


VERSION = click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, option, asked: _print_version(context, option, requested=asked),
    help="Show the versions for a bug report, and exit.",
)
