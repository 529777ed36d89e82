"""A verb of the command line: its help ends with examples and exit codes, and its error messages name its options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

import click

from forebay.errors import InputError

__all__ = ["EXITS", "PROGRAM_EXITS", "OtherSpelling", "Verb", "Verbs", "check_address_space", "verb"]

Function = TypeVar("Function", bound=Callable[..., Any])

#: Meanings of the exit codes that every verb has.
EXITS = {
    0: "Done.",
    1: "The answer is no, or forebay has an internal error.",
    2: "The input is wrong; one line on standard error describes the error.",
    130: "Interrupted.",
}
#: Meanings of all exit codes, for the help of the program.
PROGRAM_EXITS = dict(sorted({**EXITS, 3: "The answer is undecided (recommend, check, fleet)."}.items()))

#: Groups of options that many verbs have, by heading; the help shows them after the groups of the verb.
COMMON_GROUPS = {
    "Computation": ("--jobs", "--scheduler", "--memory", "--allow-code"),
    "Output": ("--out", "--picture", "--report", "--trace", "--verbose", "--json"),
}
#: Heading of the options that belong to no group.
OTHER_OPTIONS = "Other options"


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
    groups : mapping, optional
        Options of each group of the help, by its heading; without groups the help has one list.
    """

    def __init__(
        self,
        *arguments: Any,
        examples: Sequence[tuple[str, str]] = (),
        refusal: str = "",
        codes: Mapping[int, str] | None = None,
        heavy: bool = False,
        groups: Mapping[str, Sequence[str]] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.groups = dict(groups or {})
        self.examples = examples
        self.refusal = refusal
        self.codes = dict(codes or {})
        self.heavy = heavy

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; if it is heavy, after a check of the address space and with one thread for linear algebra."""
        if self.heavy:
            check_address_space()
            # NumPy's BLAS would start a thread for each core, which spins until it sleeps. No matrix here needs one.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        return super().invoke(ctx)

    @property
    def exits(self) -> dict[int, str]:
        """The exit codes of this verb."""
        refusal = {1: self.refusal} if self.refusal else {}
        usual = {code: meaning for code, meaning in EXITS.items() if code != 1}
        return dict(sorted((usual | refusal | self.codes).items()))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in groups, each under its heading."""
        if not self.groups:
            super().format_options(ctx, formatter)
            return
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        records = {each.opts[-1]: each.get_help_record(ctx) for each in options}
        shown = {name: record for name, record in records.items() if record is not None}
        groups = self._option_groups(shown).items()
        write_groups(formatter, {heading: [shown[name] for name in names] for heading, names in groups})

    def _option_groups(self, shown: Iterable[str]) -> dict[str, list[str]]:
        """The names of the shown options by heading: the groups of the verb, those of all verbs, and the others."""
        left = list(shown)
        groups: dict[str, list[str]] = {}
        for heading, names in (*self.groups.items(), *COMMON_GROUPS.items(), (OTHER_OPTIONS, tuple(left))):
            groups.setdefault(heading, []).extend(name for name in names if name in left)
            left = [name for name in left if name not in groups[heading]]
        return {heading: names for heading, names in groups.items() if names}

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
    #: Names of verbs by the heading under which the help shows them.
    groups: Mapping[str, Sequence[str]] = MappingProxyType({})

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
        grouped = {name for names in self.groups.values() for name in names}
        others = [name for name in sorted(self.commands) if name not in grouped]
        groups = {**self.groups, "Other verbs": others}.items()
        sentences = {name: (name, each.get_short_help_str(1000)) for name, each in self.commands.items()}
        write_groups(formatter, {heading: [sentences[name] for name in names] for heading, names in groups if names})

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples and exit codes after the verbs."""
        write_examples(ctx, formatter, self.examples)
        write_exits(formatter, PROGRAM_EXITS)


def write_groups(formatter: click.HelpFormatter, groups: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Write names with their texts under headings; the texts of all groups begin in one column."""
    widest = max(len(name) for rows in groups.values() for name, _ in rows)
    for heading, rows in groups.items():
        with formatter.section(heading):
            formatter.write_dl([(f"{name:<{widest}}", text) for name, text in rows])


def verb(
    *examples: tuple[str, str],
    refusal: str = "",
    codes: Mapping[int, str] | None = None,
    heavy: bool = False,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Callable[..., Any]], Verb]:
    """Declare a verb, with examples of its use and the groups of its options."""
    return click.command(cls=Verb, examples=examples, refusal=refusal, codes=codes, heavy=heavy, groups=groups)


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
