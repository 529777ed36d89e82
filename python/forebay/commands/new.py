"""`new`: write a commented scenario, a network or a congestion control to start from."""

from __future__ import annotations

import shlex
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from forebay.commands.streams import say, say_lines
from forebay.commands.terminal import writing
from forebay.commands.values import CONTROLLER, DISCIPLINE, GOAL, LANGUAGE, SHIPPED, IntegerValue, OutputFile
from forebay.commands.verb import verb
from forebay.errors import InputError
from forebay.storage.files import check_file, write_atomically

if TYPE_CHECKING:
    from forebay.inputs.bundled_scenarios import BundledScenario

__all__ = ["new"]


@verb(
    (
        "new link.toml --rate 100Mbps --rtt 20ms..80ms --long 8 --web 20%",
        "Write a link with downloads and web traffic:",
    ),
    ("new - --rate 1Gbps --rtt 10ms --long 4 | forebay run -", "Simulate a scenario without a file:"),
    ("new --list", "List the scenarios of forebay:"),
    ("new --from campus-uplink", "Copy one of them to change it:"),
    ("new --fleet network --ports 1000 --seed 1", "Write a network with known errors for `forebay fleet`:"),
    ("new --algorithm my_reno --language rust", "Write a congestion control of your own:"),
    groups={
        "Link": ("--rate", "--rtt", "--buffer", "--queue", "--packet"),
        "Traffic": ("--long", "--cca", "--web", "--background", "--video"),
        "Scenario": ("--goal", "--title", "--force"),
        "Scenarios of forebay": ("--list", "--from"),
        "Network": ("--fleet", "--ports", "--seed"),
        "Algorithm": ("--algorithm", "--language", "--out"),
    },
)
@click.argument("file", type=OutputFile(), required=False)
@click.option("--from", "origin", type=SHIPPED, metavar="NAME", help="Copy this scenario of forebay.")
@click.option("--list", "listed", is_flag=True, help="List the scenarios that come with forebay.")
@click.option("--rate", metavar="RATE", help="Rate of the link, as in 100Mbps.")
@click.option("--rtt", metavar="TIME", help="Round-trip time without queueing, as in 40ms or 20ms..80ms.")
@click.option("--long", type=IntegerValue(0, 1_000_000), help="Number of long transfers.")
@click.option("--cca", type=CONTROLLER, help="Congestion control of all transfers; by default cubic.")
@click.option("--web", metavar="SHARE", help="Load of short transfers, as a share of the rate: 20%.")
@click.option("--background", metavar="SHARE", help="Load of unresponsive traffic, as a share: 30%.")
@click.option("--video", type=IntegerValue(0, 1_000_000), help="Number of video streams of 5 Mb/s in bursts.")
@click.option("--queue", type=DISCIPLINE, default="droptail", show_default=True, help="Queue discipline.")
@click.option("--packet", metavar="SIZE", default="1500B", show_default=True, help="Size of full packets.")
@click.option(
    "--buffer",
    metavar="BUFFER",
    help="Configured buffer; by default 0.5BDP, or 100p without responsive flows.",
)
@click.option(
    "--goal",
    "goals",
    multiple=True,
    type=GOAL,
    metavar="GOAL",
    help="Add a goal, as in 'utilization>=98%'. May be repeated.",
)
@click.option("--title", default="", help="Title of the scenario, for pictures and reports.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--fleet", "fleet", type=OutputFile(), metavar="DIR", help="Write an inventory and profiles to DIR.")
@click.option("--ports", type=IntegerValue(1, 1_000_000), default=1000, show_default=True, help="Number of ports.")
@click.option("--seed", type=IntegerValue(0, 2**63 - 1), default=1, show_default=True, help="Seed of the network.")
@click.option("--algorithm", metavar="NAME", help="Write a small congestion control of this name.")
@click.option("--language", type=LANGUAGE, default="python", show_default=True, help="Language of the algorithm.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="PATH", help="Folder of the algorithm; in Python its file."
)
def new(
    file: Path | None,
    origin: str | None,
    listed: bool,
    queue: str,
    packet: str,
    buffer: str | None,
    goals: tuple[str, ...],
    title: str,
    force: bool,
    fleet: Path | None,
    ports: int,
    seed: int,
    algorithm: str | None,
    language: str,
    out: Path | None,
    **given: Any,
) -> None:
    """Write a commented scenario; on a terminal, ask for missing values.

    FILE may be - for standard output. With --from it may be omitted. A scenario of --list can be used without a copy:
    `forebay recommend @NAME`.
    """
    if listed:
        _check_combination("listed", ())
        _list()
        return
    if origin is not None:
        _check_combination("origin", ("file", "force"))
        _copy(origin, file, force=force)
        return
    if fleet is not None:
        _check_combination("fleet", ("ports", "seed", "force"))
        _network(fleet, ports, seed, force=force)
        return
    if algorithm is not None:
        _check_combination("algorithm", ("language", "out", "force"))
        _algorithm(algorithm, language, out, force=force)
        return
    for needed, names, what in (
        ("--fleet", ("ports", "seed"), "--fleet DIR, whose network"),
        ("--algorithm", ("language", "out"), "--algorithm NAME, whose files"),
    ):
        alone = next((name for name in names if _is_given(name)), None)
        if alone is not None:
            raise InputError(f"found no {needed}; allowed: with {what} it describes", alone)
    if file is None:
        choices = "a FILE to write, --from NAME, --fleet DIR, --algorithm NAME, or --list"
        raise InputError(f"new: found no FILE; allowed: {choices}")
    from forebay.commands.asking import answers
    from forebay.configuration.drafting import Wishes, draft

    to_screen = str(file) == "-"
    _check_ending(file)
    if not to_screen:
        _check_new(file, force=force)
    # The options on link and traffic; a terminal is asked for those that are missing.
    wishes = answers({name: value for name, value in given.items() if value is not None})
    text = draft(Wishes(**wishes, queue=queue, packet=packet, buffer=buffer or "", goals=goals, title=title))
    if to_screen:
        say_lines(text)
        return
    with writing(file):
        write_atomically(file, text)
    say(f"wrote {file}; try it: forebay run {shlex.quote(str(file))}")


def _network(folder: Path, ports: int, seed: int, *, force: bool) -> None:
    """Write a synthetic network."""
    from forebay.fleets.synthetic import network_files, write_network
    from forebay.storage.files import check_folder

    check_folder(folder, "fleet")
    for path in network_files(folder):
        _check_new(path, force=force)
    with writing(folder):
        paths = write_network(folder, ports, seed)
    where = shlex.quote(str(folder))
    say(f"wrote {paths[0]} with {ports} ports and {len(paths) - 1} profiles")
    say(f"try it: forebay fleet {where}/inventory.csv --profiles {where}/profiles --out audit")


def _algorithm(name: str, language: str, out: Path | None, *, force: bool) -> None:
    """Write a congestion control to start from."""
    from forebay.algorithms.template import checked_name, template_files
    from forebay.storage.files import write_all

    files = template_files(checked_name(name), language)
    if language == "python":
        path = Path(f"{name}.py") if out is None else out
        if path.suffix != ".py":
            raise InputError(f"found `{path}`; allowed: a name that ends in .py", "out")
        placed = dict.fromkeys((path,), files[PurePosixPath(f"{name}.py")].replace(f"{name}.py", path.name))
        start = str(path)
    else:
        folder = Path(name) if out is None else out
        placed = {folder / place: text for place, text in files.items()}
        start = f"{folder / 'README.md'}"
    for path in placed:
        check_file(path, "out")
        _check_new(path, force=force)
    with writing(next(iter(placed))):
        write_all(placed)
    for path in placed:
        say(f"wrote {path}")
    say(f"{start} has the commands that come next")


def _is_given(name: str) -> bool:
    """Whether an argument is on the command line, or set around it."""
    return click.get_current_context().get_parameter_source(name) not in (ParameterSource.DEFAULT, None)


def _check_combination(argument: str, besides: tuple[str, ...]) -> None:
    """Refuse options that cannot be combined with this one."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = str(parameter.name)
        if _is_given(name) and name != argument and name not in besides:
            alone = next(each.opts[0] for each in context.command.params if each.name == argument)
            raise InputError(f"cannot be combined with {alone}; allowed: one of them", name)


def _check_ending(file: Path) -> None:
    """Refuse a name that ends in .json, because the file is TOML."""
    if file.suffix == ".json":
        raise InputError(
            f"found `{file}`; allowed: another ending, as in {file.with_suffix('.toml')}: it is TOML", "file"
        )


def _check_new(file: Path, *, force: bool) -> None:
    """Refuse to overwrite a file unless --force is given."""
    if file.exists() and not force:
        raise InputError(f"{file}: found a file of this name; allowed: a new name, or --force")


def _list() -> None:
    """Print the name and the title of every scenario that comes with forebay."""
    from forebay.inputs.bundled_scenarios import SIGN, bundled, bundled_names

    names = bundled_names()
    width = max(map(len, names)) + len(SIGN)
    for name in names:
        say(f"{SIGN + name:<{width}}  {bundled(name).title}")


def _copy(origin: str, file: Path | None, *, force: bool) -> None:
    """Copy a scenario that comes with forebay, and the files that it names."""
    from forebay.errors import naming
    from forebay.inputs.bundled_scenarios import bundled

    with naming("origin"):
        found = bundled(origin)
    to = Path(f"{found.name}.toml") if file is None else file
    if str(to) == "-":
        _check_self_contained(found)
        say_lines(found.text)
        return
    _check_ending(to)
    copies = {to: found.path, **{to.with_name(path.name): path for path in found.companions}}
    for copy in copies:
        check_file(copy, "file")
        _check_new(copy, force=force)
    for copy, path in copies.items():
        with writing(copy):
            write_atomically(copy, path.read_bytes())
    for copy in list(copies)[1:]:
        say(f"wrote {copy}, which it reads")
    say(f"wrote {to}; try it: forebay recommend {shlex.quote(str(to))}")


def _check_self_contained(found: BundledScenario) -> None:
    """Refuse to print a scenario that needs further files."""
    if found.companions:
        named = ", ".join(path.name for path in found.companions)
        raise InputError(f"found -; allowed: a file, because {named} is copied as well", "file")
