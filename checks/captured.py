"""`make captured`: captures of real kernels by tcpdump, compared with what other programs and the kernel report.

Sockets of this machine's kernel send through links of `forebay emulate`. tcpdump captures them at the sender and at the
receiver, and the emulated router captures them before and after its queue. `ss -tin` reports meanwhile. Each number of
the observation is compared with those of tcptrace, tshark, capinfos and the sockets. Its findings about the link are
compared with the true link. There are findings from both ends together, and from each of the four places alone.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checks import captured_programs
from checks.captured_cases import CASES, Case
from checks.captured_programs import NAMES
from checks.captured_readings import PROGRAMS, Readings, controllers, missing, of_sockets, ours, ports
from checks.observed import PROMISES
from checks.observed_places import PLACES, Seen, places_off, places_table, restamped, seen_in
from checks.pages import print_or_write, selected
from forebay.errors import ForebayError
from forebay.observation.capture_flows import Observed
from forebay.observation.estimate import IntervalEstimate
from forebay.observation.inputs.capture import observe_captures
from forebay.observation.limits import Limit
from forebay.observation.streams import Place
from forebay.text import formatting

__all__ = [
    "MARKS",
    "NUMBERS",
    "PLACES_MARKS",
    "Compared",
    "LinkFinding",
    "compared",
    "link_findings",
    "main",
    "seen",
    "tables",
]

#: Marks around the tables in docs/background/validation/captures.md.
MARKS = ("<!-- captured: begin -->", "<!-- captured: end -->")
#: Marks around the table of captures of one place.
PLACES_MARKS = ("<!-- captured places: begin -->", "<!-- captured places: end -->")
#: Numbers of a connection, and the largest difference between two programs, as a share; counts must be equal.
NUMBERS: Mapping[str, float] = {
    "packets of the file": 0.0,
    "bytes of the file": 0.0,
    "packets": 0.0,
    "IP bytes": 0.0,
    "unique bytes": 0.0,
    "repeated packets": 0.0,
    "repeated bytes": 0.0,
    "segment": 0.0,
    # A FIN is a byte of it for some.
    "largest flight": 0.001,
    "largest window": 0.0,
    "ACKs with SACK": 0.0,
    "duplicate ACKs": 0.0,
    "seconds of data": 0.001,
    "handshake": 0.005,
    "least round trip": 0.005,
    "median round trip": 0.02,
}
#: Resolution of the times that programs print, in seconds.
_PRINTED_S: Mapping[str, float] = {"tcptrace": 1e-4, "tshark": 1e-6, "ss": 1e-3}
#: Largest lateness of a path in real time, in seconds.
_LATE_S = 0.0005
#: Name of the sockets, beside the programs.
_SOCKETS = "ss"
_SIDES = ("sender", "receiver")
#: Folder of the router's records.
_ROUTER = "router"
_FAMILIES: Mapping[str, str] = {"reno": "newreno"}
_LIMITS: Mapping[str, frozenset[Limit]] = {
    "link": frozenset({Limit.LINK}),
    "application": frozenset({Limit.APPLICATION, Limit.ELSEWHERE}),
    "receiver": frozenset({Limit.RECEIVER}),
}


@dataclass(frozen=True)
class Compared:
    """One number of one connection, as we have it and as another program has it."""

    case: str
    side: str
    quantity: str
    program: str
    port: int
    ours: float
    theirs: float

    @property
    def agrees(self) -> bool:
        """Whether they differ by no more than they may."""
        most = NUMBERS[self.quantity] * max(abs(self.ours), abs(self.theirs))
        if NUMBERS[self.quantity]:
            most = max(most, _PRINTED_S[self.program])
        return abs(self.ours - self.theirs) <= most


@dataclass(frozen=True)
class LinkFinding:
    """A finding about a link beside the truth; `found` is None if the observation reports it as unknown."""

    case: str
    of: str
    quantity: str
    truth: float | str
    found: float | str | None

    @property
    def is_right(self) -> bool:
        """Whether the finding is as close to the truth as promised; an unknown one is."""
        if isinstance(self.truth, float) and isinstance(self.found, float):
            # A definition of the buffer may or may not include the packet in transmission.
            slack = {"limited flows": 1.0, "buffer": 1500.0}.get(self.quantity, 0.0)
            return abs(self.found - self.truth) <= max(PROMISES[self.quantity] * self.truth, slack)
        return self.found is None or self.found == self.truth


def capture(case: Case, folder: Path) -> None:
    """Let a case's sockets send; leave the captures and the output of `ss` in `folder`.

    Raises
    ------
    OSError
        If this machine cannot do it; the text gives the reason.
    """
    link = folder / "link.toml"
    link.write_text(case.scenario, encoding="ascii")
    script = [sys.executable, "-I", captured_programs.__file__]
    task = json.dumps(case.task)
    forebay = shutil.which("forebay", path=str(Path(sys.executable).parent)) or "forebay"
    peer = shlex.join([*script, "serve", task, str(folder)])
    verb = "route" if case.gathered else "send"
    command = [
        forebay,
        "emulate",
        str(link),
        "--json",
        "--trace",
        str(folder / _ROUTER),
        "--peer",
        peer,
        "--",
        *script,
        verb,
        "{peer}",
        task,
        str(folder),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=case.seconds + 120, check=False)
    if done.returncode:
        text = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("wrote ")]
        raise OSError(text[-1] if text else f"forebay emulate: exit code {done.returncode}")
    for number, place in enumerate(("before", "behind")):
        # Leave out the names of the interfaces, because they reveal the place.
        restamped(folder / _ROUTER / "packets.pcapng", folder / f"{place}.pcap", 0, number)


def seen(name: str, case: Case, folder: Path) -> list[Seen]:
    """The findings about the link's rate from a capture of each place alone."""
    return [seen_in(folder / f"{place}.pcap", name, place, case.rate_bps) for place in PLACES]


def compared(name: str, folder: Path) -> list[Compared]:
    """Each number of a connection that we and another program report."""
    found = []
    for side in _SIDES:
        file = folder / NAMES[side]
        here = ours(file)
        others = {program: read(file) for program, read in PROGRAMS.items() if shutil.which(program)}
        if side == "sender":
            others[_SOCKETS] = of_sockets((folder / NAMES["sockets"]).read_text(encoding="utf-8"))
        for program, readings in others.items():
            found += _pairs((name, side, program), here, readings)
    return found


def _pairs(where: tuple[str, str, str], here: Readings, others: Readings) -> list[Compared]:
    name, side, program = where
    return [
        Compared(name, side, what, program, port, row[what], others[port][what])
        for port, row in here.items()
        if port in others
        for what in NUMBERS
        if what in row and what in others[port]
    ]


def link_findings(name: str, case: Case, folder: Path) -> list[LinkFinding]:
    """The findings of observations of one side and of both about the link, beside the truth."""
    found = []
    names = controllers((folder / NAMES["sockets"]).read_text(encoding="utf-8"))
    for of, sides in (("sender", ("sender",)), ("receiver", ("receiver",)), ("both", _SIDES)):
        observed = observe_captures([folder / NAMES[side] for side in sides])
        # In two files only addresses identify the connections, so that their controllers stay open.
        order = [] if of == "both" else [names.get(port, "") for port in ports(folder / NAMES[of])]
        found += [
            LinkFinding(name, of, *row) for row in (*_of_link(case, of, observed), *_of_flows(case, observed, order))
        ]
    return found


_Row = tuple[str, float | str, float | str | None]


def _of_link(case: Case, of: str, observed: Observed) -> list[_Row]:
    """The place, the rate, the buffer and the number of flows that the link limits, beside the truth."""
    place = Place.BEFORE if of == "sender" else Place.BEHIND
    rows: list[_Row] = [
        ("place", place.value, observed.place.value),
        ("link rate", case.rate_bps, observed.rate.value if isinstance(observed.rate, IntervalEstimate) else None),
        ("limited flows", float(case.limits.count("link")), observed.limited.value),
    ]
    limit = observed.queue.limit
    if of == "both":
        size = None
        if isinstance(limit, IntervalEstimate):
            size = limit.value * (1.0 if limit.unit == "byte" else 1500.0)
        rows.append(("buffer", case.buffer_bytes, size))
    return rows


def _of_flows(case: Case, observed: Observed, names: Sequence[str]) -> list[_Row]:
    """Base round trips, limits and controllers of the long flows, beside the truth."""
    rows: list[_Row] = []
    for flow in observed.long_flows:
        base = flow.base_round_trip
        known = isinstance(base, IntervalEstimate)
        value = base.value if isinstance(base, IntervalEstimate) else None
        # An upper bound is right if it is one.
        bounded = isinstance(base, IntervalEstimate) and base.is_most and base.value >= case.rtt_s
        rows.append(("base round trip", case.rtt_s, case.rtt_s if bounded else value))
        # An emulated path is never shorter than it should be.
        covers = isinstance(base, IntervalEstimate) and base.low <= case.rtt_s + _LATE_S and base.high >= case.rtt_s
        rows.append(("its interval covers", "yes", ("yes" if covers else "no") if known else None))
        # Flows of different limits differ in their rates: the link does not limit a flow below half of the largest
        # rate.
        truth = case.limits[0]
        if len(set(case.limits)) > 1 and flow.stream.mean_bps < 0.5 * observed.long_flows[0].stream.mean_bps:
            truth = case.limits[1]
        limit = truth if flow.limit in _LIMITS[truth] else flow.limit.value
        rows.append(("limit", truth, None if flow.limit is Limit.UNKNOWN else limit))
        if truth == "link" and flow.stream.number < len(names):
            name = names[flow.stream.number]
            family = flow.family.name
            rows.append(("controller", _FAMILIES.get(name, name), None if family == "unknown" else family))
    return rows


# Tables --------------------------------------------------------------------------------------------------------------


def tables(pairs: Sequence[Compared], findings: Sequence[LinkFinding]) -> str:
    """The table of agreement by program, the table of findings about links, and each deviation."""
    return "\n".join([*_programs(pairs), "", *_truths(findings), "", *_off(findings)])


def _programs(pairs: Sequence[Compared]) -> list[str]:
    programs = (*PROGRAMS, _SOCKETS)
    columns = [(side, program) for side in _SIDES for program in programs]
    columns = [column for column in columns if any((each.side, each.program) == column for each in pairs)]
    head = ("number", "may differ by", *(f"{program}, {side}" for side, program in columns))
    rows = []
    for what, most in NUMBERS.items():
        row = [what, f"{most:.1%}" if most else "nothing"]
        for side, program in columns:
            mine = [each for each in pairs if (each.side, each.program, each.quantity) == (side, program, what)]
            row.append(f"{sum(each.agrees for each in mine)} of {len(mine)}" if mine else "")
        rows.append(row)
    return formatting.markdown_table(head, rows)


def _truths(findings: Sequence[LinkFinding]) -> list[str]:
    kinds = ("sender", "receiver", "both")
    head = (
        "stated about the link",
        "tolerance",
        *(f"captured at the {of}" if of != "both" else "at both" for of in kinds),
    )
    rows = []
    for what in dict.fromkeys(each.quantity for each in findings):
        row = [what, f"{PROMISES[what]:.0%}" if what in PROMISES else "the same"]
        for of in kinds:
            mine = [each for each in findings if (each.quantity, each.of) == (what, of)]
            known = [each for each in mine if each.found is not None]
            unknown = f", {len(mine) - len(known)} unknown" if len(known) < len(mine) else ""
            row.append(f"{sum(each.is_right for each in known)} of {len(known)}{unknown}" if mine else "")
        rows.append(row)
    return formatting.markdown_table(head, rows)


def _off(findings: Sequence[LinkFinding]) -> list[str]:
    rows = [
        (each.case, each.of, each.quantity, _value_text(each.truth), _value_text(each.found))
        for each in findings
        if not each.is_right
    ]
    if not rows:
        return ["No stated number is wrong."]
    return formatting.markdown_table(("case", "captured at", "number", "true", "stated"), rows)


def _value_text(value: float | str | None) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def differences(pairs: Sequence[Compared]) -> list[str]:
    """The largest difference of each number from each program, a line each."""
    worst: dict[tuple[str, str, str], Compared] = {}
    for each in pairs:
        key = (each.quantity, each.side, each.program)
        if not each.agrees and (key not in worst or _relative_difference(each) > _relative_difference(worst[key])):
            worst[key] = each
    return [
        f"{what} at the {side}, {program}: {each.ours:.6g} here, {each.theirs:.6g} there ({each.case})"
        for (what, side, program), each in worst.items()
    ]


def _relative_difference(each: Compared) -> float:
    most = max(abs(each.ours), abs(each.theirs))
    return abs(each.ours - each.theirs) / most if most else math.inf


def main(arguments: Sequence[str] | None = None) -> int:
    """Capture the cases whose names contain one of `--only`; write the tables, or print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--write", type=Path, help="a page, or a folder of pages, with the marks around the tables")
    parser.add_argument("--keep", type=Path, help="a folder in which captures are kept, and used again")
    options = parser.parse_args(arguments)
    for program in missing():
        print(f"captured: no {program} is installed: its numbers are not compared", file=sys.stderr)
    chosen = {name: CASES[name] for name in selected(CASES, options.only)}
    pairs: list[Compared] = []
    findings: list[LinkFinding] = []
    places: list[Seen] = []
    for number, (name, case) in enumerate(chosen.items(), 1):
        print(f"captured: {number} of {len(chosen)}: {name}", file=sys.stderr, flush=True)
        try:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                if options.keep is not None:
                    folder = options.keep / name.replace(" ", "-").replace("/", "-")
                    folder.mkdir(parents=True, exist_ok=True)
                if not (folder / "behind.pcap").exists():
                    capture(case, folder)
                pairs += compared(name, folder)
                findings += link_findings(name, case, folder)
                places += seen(name, case, folder)
        except (ForebayError, OSError) as error:
            print(f"captured: {name}: {error}", file=sys.stderr)
            return 1
    for line in differences(pairs):
        print(f"captured: {line}", file=sys.stderr)
    print_or_write(tables(pairs, findings), options.write, MARKS)
    print_or_write(f"{places_table(places)}\n\n{places_off(places)}", options.write, PLACES_MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
