"""The command `forebay`: its verbs, and the exit after each kind of error.

A verb imports its dependencies when it runs. Before that only click is loaded, so that `forebay --help` answers within
a tenth of a second.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

import click

from forebay.commands.check import check
from forebay.commands.compare import compare
from forebay.commands.completion import VARIABLE, answer, completion
from forebay.commands.conformance import conformance
from forebay.commands.emulate import emulate
from forebay.commands.explain import explain
from forebay.commands.fleet import fleet
from forebay.commands.headroom import headroom
from forebay.commands.interrupting import while_working
from forebay.commands.lab import lab
from forebay.commands.new import new
from forebay.commands.observe import observe
from forebay.commands.plot import plot
from forebay.commands.recommend import recommend
from forebay.commands.reproduce import reproduce
from forebay.commands.run import run
from forebay.commands.schema import schema
from forebay.commands.streams import open_streams, print_note, say_lines
from forebay.commands.sweep import sweep
from forebay.commands.translate import translate
from forebay.commands.verb import OtherSpelling, Verb, Verbs
from forebay.commands.version import VERSION
from forebay.errors import ForebayError, InputError, MissingPackageError
from forebay.interruption import EXIT_CODE, LINE

__all__ = ["cli", "main"]


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@VERSION
def cli() -> None:
    """Find the right size of a router's buffer, with formulas, a fluid model and packet simulation.

    A scenario file describes a link and its traffic. `forebay new` writes one, and `forebay new --list` lists the
    scenarios that come with forebay.
    """


cli.examples = (
    ("recommend @campus-uplink", "Find the buffer of a scenario that comes with forebay:"),
    ("new link.toml --rate 100Mbps --rtt 40ms --long 8", "Write a scenario:"),
    ("recommend link.toml", "Find its buffer:"),
    ("explain queue_delay_p99", "Look up a name:"),
)
cli.groups = {
    "Find or test a buffer": ("recommend", "check", "compare", "fleet", "headroom"),
    "Make a scenario": ("new", "observe", "translate"),
    "Simulate": ("run", "sweep", "plot", "emulate", "lab", "conformance"),
    "Look up": ("explain", "reproduce", "schema", "completion"),
}
for verb in (
    run,
    recommend,
    check,
    compare,
    fleet,
    sweep,
    emulate,
    conformance,
    observe,
    lab,
    explain,
    plot,
    reproduce,
    translate,
    headroom,
    new,
    schema,
    completion,
):
    cli.add_command(verb)


def main() -> None:
    """Run the command line; every error of the user ends in one line and an exit code."""
    open_streams()
    # The command opens no windows. The backend that a notebook left in the environment may not be installed.
    os.environ["MPLBACKEND"] = "agg"
    with while_working():
        try:
            _answer()
        except ModuleNotFoundError as error:
            from forebay.extras import extra_of, missing

            if extra_of(error.name or "") is None:
                raise
            fail(str(missing(error.name or "")), MissingPackageError.exit_code)


def _answer() -> None:
    if VARIABLE in os.environ:
        sys.exit(answer(cli))
    context: click.Context | None = None
    try:
        _check_text(sys.argv[1:])
        # cli.main() is not called, because it would answer Ctrl-C with a line of its own.
        with cli.make_context("forebay", sys.argv[1:]) as context:
            cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.exceptions.Abort:
        fail(LINE, EXIT_CODE)
    except KeyboardInterrupt:
        fail(LINE, EXIT_CODE)
    except click.exceptions.NoArgsIsHelpError as error:
        say_lines(error.format_message())
        sys.exit(0)
    except click.ClickException as error:
        fail(_usage(error), 2)
    except InputError as error:
        fail(_with_option(error, context), error.exit_code)
    except ForebayError as error:
        fail(str(error), error.exit_code)
    except BrokenPipeError:
        # The reader of a pipe has closed it, which is not an error.
        sys.stdout = None
        sys.exit(0)
    except OSError as error:
        # An error on a named file carries its name; an error without a name is on standard output.
        sys.stdout = None if error.filename is None else sys.stdout
        fail(f"{error.filename or 'standard output'}: cannot be written: {error.strerror or error}", 2)
    except MemoryError:
        fail("the memory is exhausted; use a smaller scenario, fewer --jobs, or a larger limit (ulimit -v)", 1)


def _check_text(arguments: list[str]) -> None:
    """Refuse arguments that are not valid UTF-8, before any code uses them as text."""
    for before, argument in zip(["", *arguments], arguments, strict=False):
        shown = argument.encode(errors="replace").decode()
        if shown != argument:
            named = [part.partition("=")[0] for part in (argument, before) if part.startswith("--")]
            option = next((part for part in named if part.isprintable()), None)
            raise InputError(f"found `{shown}`; allowed: text in UTF-8", option)


def _with_option(error: InputError, context: click.Context | None) -> str:
    """The error message, beginning with the option that is wrong."""
    chosen = None if context is None else cli.commands.get(context.invoked_subcommand or "")
    if error.argument is None or not isinstance(chosen, Verb):
        return str(error)
    return f"{chosen.option_for(error.argument)}: {error.text}"


def _usage(error: click.ClickException) -> str:
    """The message of an error that click found, in the form of forebay's own messages."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    name = "" if context is None else context.command_path.removeprefix("forebay").strip()
    where = f"{name}: " if name else ""
    if isinstance(error, click.NoSuchOption) and context is not None:
        from forebay import _core

        parameters = context.command.get_params(context)
        shown = [each.opts[:1] if isinstance(each, OtherSpelling) else each.opts for each in parameters]
        options = sorted(option for each in shown for option in each if option.startswith("--"))
        return where + _core.unknown("option", error.option_name, options)
    if isinstance(error, click.MissingParameter) and context is not None and error.param is not None:
        missing = error.param.opts[0] if isinstance(error.param, click.Option) else error.param.make_metavar(context)
        usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
        return f"{where}found no {missing}; allowed: {usage}"
    message = error.format_message().rstrip(".")
    return where + message[:1].lower() + message[1:]


def fail(message: str, code: int) -> NoReturn:
    """End with one line on standard error; if the line cannot be written, the exit code is still right."""
    try:
        print_note(" ".join(message.split()))
    except OSError:
        sys.stderr = None  # Python would try to flush it again, and end with 120
    sys.exit(code)
