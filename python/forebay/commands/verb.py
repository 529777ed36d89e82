"""A verb of the command line: its help ends with examples and exit codes, and its error messages name its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from forebay.errors import InputError

__all__ = ["EXITS", "OtherSpelling", "Verb", "Verbs", "check_address_space", "verb"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: Meanings of the exit codes that every verb has.
EXITS = {
    0: "Done.",
    1: "Done, but the answer is no, or an error of forebay's own.",
    2: "The input is wrong; one line on standard error says what.",
    130: "Interrupted.",
}


class Verb(click.Command):
    """One verb.

    Parameters
    ----------
    examples : sequence of (str, str)
        Command lines without the name of the program, each with its description.
    refusal : str
        Meaning of exit code 1, if it is more than a failure.
    codes : mapping, optional
        Meanings of further exit codes.
    heavy : bool
        Whether the verb loads NumPy, Polars or Matplotlib.
    """

    def __init__(
        self,
        *arguments: Any,
        examples: Sequence[tuple[str, str]] = (),
        refusal: str = "",
        codes: Mapping[int, str] | None = None,
        heavy: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.examples = examples
        self.refusal = refusal
        self.codes = dict(codes or {})
        self.heavy = heavy

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb, after a check of the address space if it is heavy."""
        if self.heavy:
            check_address_space()
        return super().invoke(ctx)

    @property
    def exits(self) -> dict[int, str]:
        """The exit codes of this verb."""
        refusal = {1: self.refusal} if self.refusal else {}
        usual = {code: meaning for code, meaning in EXITS.items() if code != 1}
        return dict(sorted((usual | refusal | self.codes).items()))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples and exit codes after the options."""
        write_examples(ctx, formatter, self.examples)
        write_exits(formatter, self.exits)

    def option_for(self, argument: str) -> str:
        """The option that sets an argument of the functions that the verb calls."""
        for parameter in self.params:
            # The parameter of an option such as `--for` has a singular or a plural name.
            if parameter.name in {argument, f"{argument}s", argument.removesuffix("s")}:
                return parameter.opts[0] if isinstance(parameter, click.Option) else str(parameter.name).upper()
        return argument


class OtherSpelling(click.Option):
    """An option whose further names are accepted but not shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Show the first name."""
        record = super().get_help_record(ctx)
        return None if record is None else (self.opts[0], record[1])


class Verbs(click.Group):
    """The group of all verbs."""

    examples: Sequence[tuple[str, str]] = ()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or report an unknown name with the closest verb."""
        name = args[0]
        if not name.startswith("-") and name not in self.commands and not ctx.resilient_parsing:
            from forebay import _core

            raise InputError(_core.unknown("verb", name, list(self.commands)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write each verb with its whole first sentence."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, each.get_short_help_str(1000)) for name, each in sorted(self.commands.items())])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples and exit codes after the verbs."""
        write_examples(ctx, formatter, self.examples)
        write_exits(formatter, EXITS)


def verb(
    *examples: tuple[str, str], refusal: str = "", codes: Mapping[int, str] | None = None, heavy: bool = False
) -> Callable[[Callable[..., Any]], Verb]:
    """Declare a verb, with examples of its use."""
    return click.command(cls=Verb, examples=examples, refusal=refusal, codes=codes, heavy=heavy)


#: Address space that the libraries reserve when they load on few cores, in bytes. With less some abort and others hang.
LEAST_ADDRESS_SPACE = 1_500_000_000


def check_address_space() -> None:
    """Refuse a limit of address space (ulimit -v) that is too small for the libraries."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < LEAST_ADDRESS_SPACE:
        least = f"at least {LEAST_ADDRESS_SPACE / 1e6:.0f} MB"
        raise InputError(f"found {limit / 1e6:.0f} MB of address space (ulimit -v); allowed: {least}")


def write_examples(ctx: click.Context, formatter: click.HelpFormatter, examples: Sequence[tuple[str, str]]) -> None:
    """Write each example after its description."""
    if not examples:
        return
    program = ctx.find_root().info_name or "forebay"
    with formatter.section("Examples"):
        for line, meaning in examples:
            formatter.write_text(meaning)
            formatter.write(f"{'':>{formatter.current_indent}}  {program} {line}\n")


def write_exits(formatter: click.HelpFormatter, exits: dict[int, str]) -> None:
    """Write the exit codes."""
    with formatter.section("Exit codes"):
        formatter.write_dl([(str(code), meaning) for code, meaning in exits.items()])
