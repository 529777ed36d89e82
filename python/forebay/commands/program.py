"""The command `forebay`: its verbs, and how mistakes end. What a verb needs is imported when it runs."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from forebay.commands.compare import compare
from forebay.commands.explain import explain
from forebay.commands.new import new
from forebay.commands.plot import plot
from forebay.commands.recommend import recommend
from forebay.commands.reproduce import reproduce
from forebay.commands.run import run
from forebay.commands.schema import schema
from forebay.commands.sweep import sweep
from forebay.commands.translate import translate
from forebay.errors import ForebayError

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(None, "--version", package_name="forebay", message="%(prog)s %(version)s")
def cli() -> None:
    """How large should this router's buffer be? Ask with a scenario file."""


for verb in (run, recommend, compare, sweep, explain, plot, reproduce, translate, new, schema):
    cli.add_command(verb)


def main() -> None:
    """Entry point: every mistake of the user ends in one line and its exit code."""
    try:
        # Not cli.main(): it would answer Ctrl-C with a line of its own.
        with cli.make_context("forebay", sys.argv[1:]) as context:
            cli.invoke(context)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.Abort:
        fail("interrupted", 130)
    except KeyboardInterrupt:
        fail("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(0)
    except click.ClickException as error:
        where = f"{error.ctx.command_path}: " if isinstance(error, click.UsageError) and error.ctx else ""
        fail(f"{where}{error.format_message()}".removeprefix("forebay "), 2)
    except ForebayError as error:
        fail(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader of a pipe left: not a mistake of anyone.
        sys.stdout = None
        sys.exit(0)


def fail(message: str, code: int) -> NoReturn:
    """End with one line on standard error."""
    click.echo(f"forebay: {' '.join(message.split())}", err=True)
    sys.exit(code)
