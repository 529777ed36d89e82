"""Makes a `Switch` of the tables of `config_db.json`; each wrong value becomes a finding, and the rest is used.

Sources: SONiC's YANG models sonic-buffer-pool, -buffer-profile, -buffer-pg, -buffer-queue, -wred-profile, -queue,
-port, -port-qos-map, -cable-length, -default-lossless-buffer-parameter and -lossless-traffic-pattern.
BUFFER_MAX_PARAM_TABLE is a table of the state database.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping

from forebay.errors import InputError
from forebay.fabric.audit_answer import Finding
from forebay.fabric.config_tables import ConfigTables, Entry, shown
from forebay.fabric.switch_buffers import (
    COLORS,
    DEFAULT_MTU,
    BufferQueue,
    Metadata,
    Pool,
    PriorityGroup,
    Profile,
    QosMap,
    Switch,
    SwitchPort,
    WredCurve,
    WredProfile,
)
from forebay.text.length import parse_length

__all__ = ["KNOWN_FIELDS", "read_switch"]

#: Largest number of a field: an unsigned integer of 64 bits.
MOST = 2**64 - 1
#: Fastest rate in Mb/s, and largest frame in bytes.
MOST_RATE = 10_000_000
MOST_MTU = 65_535
#: Groups and queues of all ports together: more than any switch has.
MOST_MEMBERS = 200_000
#: Highest priority group, and highest queue.
MOST_GROUP = 7
MOST_QUEUE = 19

_MAPS = ("dscp_to_tc_map", "dot1p_to_tc_map", "tc_to_queue_map", "tc_to_pg_map", "tc_to_dscp_map", "tc_to_dot1p_map")
_PFC_MAPS = ("pfc_to_pg_map", "pfc_to_queue_map")
#: Fields of each table that the audit reads. None: any field, because the fields are names of ports or numbers.
KNOWN_FIELDS: Mapping[str, frozenset[str] | None] = {
    "BUFFER_POOL": frozenset(("type", "mode", "size", "xoff", "percentage")),
    "BUFFER_PROFILE": frozenset(
        (
            *("pool", "size", "static_th", "dynamic_th", "xon", "xoff", "xon_offset", "headroom_type"),
            "packet_discard_action",
        )
    ),
    "BUFFER_PG": frozenset(("profile",)),
    "BUFFER_QUEUE": frozenset(("profile",)),
    "BUFFER_PORT_INGRESS_PROFILE_LIST": frozenset(("profile_list",)),
    "BUFFER_PORT_EGRESS_PROFILE_LIST": frozenset(("profile_list",)),
    "CABLE_LENGTH": None,
    "PORT": None,
    "PORT_QOS_MAP": frozenset((*_MAPS, *_PFC_MAPS, "pfc_enable", "pfcwd_sw_enable", "scheduler", "dscp_to_fc_map")),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": None,
    "QUEUE": frozenset(("scheduler", "wred_profile")),
    "WRED_PROFILE": frozenset(
        [
            *("ecn", *(f"wred_{color}_enable" for color in COLORS)),
            *(f"{color}_{part}" for color in COLORS for part in ("min_threshold", "max_threshold", "drop_probability")),
        ]
    ),
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": frozenset(("default_dynamic_th", "over_subscribe_ratio")),
    "LOSSLESS_TRAFFIC_PATTERN": frozenset(("mtu", "small_packet_percentage")),
    "BUFFER_MAX_PARAM_TABLE": None,
    "DEVICE_METADATA": None,
    "PFC_WD": None,
    **dict.fromkeys(
        ("DSCP_TO_TC_MAP", "DOT1P_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_DSCP_MAP")
    ),
    **dict.fromkeys(("MAP_PFC_PRIORITY_TO_QUEUE", "SCHEDULER")),
}


def read_switch(tables: ConfigTables) -> tuple[Switch, list[Finding]]:
    """The buffers of a switch, and what is wrong in the tables themselves."""
    reader = _Reader(tables)
    return reader.switch(), reader.findings


class _Reader:
    """A reader of typed fields that collects findings."""

    def __init__(self, tables: ConfigTables) -> None:
        self.tables = tables
        self.findings: list[Finding] = []
        self.members_left = MOST_MEMBERS

    def switch(self) -> Switch:
        self.check_fields()
        found = Switch(self.metadata(), tables=frozenset(self.tables.entries))
        found.ports = self.ports()
        found.pools = {entry.key: self.pool(entry) for entry in self.tables.table("BUFFER_POOL")}
        found.profiles = {entry.key: self.profile(entry) for entry in self.tables.table("BUFFER_PROFILE")}
        for group in self.groups():
            key = (group.port, group.number)
            if key in found.groups:
                self.overlap(group.place, group.line, found.groups[key].place, f"group {group.number} of {group.port}")
            found.groups[key] = group
        for queue in self.queues():
            before = found.queues.get((queue.port, queue.number))
            if before is not None and (queue.profile is None) == (before.profile is None):
                self.overlap(queue.place, queue.line, before.place, f"queue {queue.number} of {queue.port}")
            if before is not None:
                # QUEUE comes after BUFFER_QUEUE.
                of_profile = before if queue.profile is None else queue
                queue = dataclasses.replace(of_profile, wred=queue.wred or before.wred)  # noqa: PLW2901
            found.queues[queue.port, queue.number] = queue
        found.lists = [
            (entry.place, entry.line, tuple(map(_bare, entry.fields.get("profile_list", "").split(","))))
            for side in ("INGRESS", "EGRESS")
            for entry in self.tables.table(f"BUFFER_PORT_{side}_PROFILE_LIST")
        ]
        found.wred = {entry.key: self.wred(entry) for entry in self.tables.table("WRED_PROFILE")}
        found.qos = {qos.port: qos for entry in self.tables.table("PORT_QOS_MAP") for qos in self.qos(entry)}
        found.pfc_to_pg = {
            entry.key: dict(self.pairs(entry)) for entry in self.tables.table("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")
        }
        return found

    # Findings.

    def say(self, kind: str, entry: Entry, text: str) -> None:
        self.findings.append(Finding(kind, entry.place, text, (entry.line,)))

    def overlap(self, place: str, line: int, before: str, what: str) -> None:
        text = f"It sets {what} again, after {before}."
        self.findings.append(Finding("duplicate-key", place, text, (line,)))

    def check_fields(self) -> None:
        for name, known in KNOWN_FIELDS.items():
            if known is None:
                continue
            for entry in self.tables.table(name):
                for field in entry.fields:
                    if field not in known and field != "NULL":
                        text = f"Field {shown(field)} is not known."
                        self.findings.append(Finding("unknown-field", entry.place, text, (entry.line,), is_error=False))

    # Values.

    def number(self, entry: Entry, field: str, least: int = 0, most: int = MOST) -> int | None:
        """A whole number within closed bounds; None if it is missing or wrong."""
        text = entry.fields.get(field)
        if text is None:
            return None
        if re.fullmatch(r"[+-]?[0-9]{1,20}", text.strip()):
            number = int(text)
            if least <= number <= most:
                return number
        limits = f"{least} or more" if most == MOST else f"{least} to {most}"
        self.say("wrong-value", entry, f"{field} is {shown(text)}; allowed: a whole number, {limits}.")
        return None

    def word(self, entry: Entry, field: str, allowed: tuple[str, ...], otherwise: str = "") -> str:
        text = entry.fields.get(field, otherwise)
        if text in (*allowed, otherwise):
            return text
        self.say("wrong-value", entry, f"{field} is {shown(text)}; allowed: {', '.join(allowed)}.")
        return otherwise

    def reference(self, entry: Entry, field: str) -> str | None:
        """A name of another entry, in the current form or in the form before 2021, "[TABLE|name]"."""
        text = entry.fields.get(field)
        return None if text is None else _bare(text)

    def numbers(self, entry: Entry, field: str) -> tuple[int, ...]:
        """Priorities with commas between them."""
        text = entry.fields.get(field, "")
        words = [word.strip() for word in text.split(",") if word.strip()]
        if all(re.fullmatch("[0-7]", word) for word in words):
            return tuple(sorted({int(word) for word in words}))
        self.say("wrong-value", entry, f"{field} is {shown(text)}; allowed: priorities such as 3,4.")
        return tuple(sorted({int(word) for word in words if re.fullmatch("[0-7]", word)}))

    def pairs(self, entry: Entry) -> Iterator[tuple[int, int]]:
        """A map of numbers to numbers."""
        for field in entry.fields:
            value = self.number(entry, field, 0, MOST_GROUP)
            if value is not None and re.fullmatch("[0-7]", field):
                yield int(field), value

    def members(self, entry: Entry, most: int) -> Iterator[tuple[str, int]]:
        """The ports and numbers of a key such as "Ethernet0,Ethernet4|3-4"; a chassis has two names in front."""
        names, _, span = entry.key.rpartition("|")
        # A chassis has a host and an ASIC in front of the port, and the same names of ports at each.
        front, _, names = names.rpartition("|")
        match = re.fullmatch(r"([0-9]{1,2})(?:-([0-9]{1,2}))?", span)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        ports = [f"{front}|{name.strip()}" if front else name.strip() for name in names.split(",") if name.strip()]
        if match is None or not first <= last <= most or not ports:
            text = f"Found the key {shown(entry.key)}; allowed: as in Ethernet0|3-4, up to {most}."
            self.say("wrong-value", entry, text)
            return
        self.members_left -= len(ports) * (last - first + 1)
        if self.members_left < 0:
            text = f"There are more than {MOST_MEMBERS:,} groups and queues. This entry is not read."
            self.say("wrong-value", entry, text)
            return
        for port in ports:
            yield from ((port, number) for number in range(first, last + 1))

    # Tables.

    def metadata(self) -> Metadata:
        device = self.tables.get("DEVICE_METADATA", "localhost")
        fields = {} if device is None else device.fields
        pattern = next(self.tables.table("LOSSLESS_TRAFFIC_PATTERN"), None)
        default = next(self.tables.table("DEFAULT_LOSSLESS_BUFFER_PARAMETER"), None)
        limits = self.tables.get("BUFFER_MAX_PARAM_TABLE", "global")
        return Metadata(
            fields.get("platform", ""),
            fields.get("hwsku", ""),
            fields.get("buffer_model", "") == "dynamic",
            None if pattern is None else self.number(pattern, "mtu", 64, MOST_MTU),
            None if pattern is None else self.number(pattern, "small_packet_percentage", 0, 100),
            None if default is None else self.number(default, "over_subscribe_ratio", 0, 1000),
            None if default is None else self.number(default, "default_dynamic_th", -128, 127),
            None if limits is None else self.number(limits, "mmu_size"),
        )

    def ports(self) -> dict[str, SwitchPort]:
        found = {}
        for entry in self.tables.table("PORT"):
            lanes = [lane for lane in entry.fields.get("lanes", "").split(",") if lane.strip()]
            limits = self.tables.get("BUFFER_MAX_PARAM_TABLE", entry.key)
            found[entry.key] = SwitchPort(
                entry.key,
                entry.line,
                self.number(entry, "speed", 1, MOST_RATE),
                mtu=self.number(entry, "mtu", 64, MOST_MTU) or DEFAULT_MTU,
                lanes=len(lanes) if 1 <= len(lanes) <= 16 else None,
                is_up=entry.fields.get("admin_status", "up") != "down",
                max_headroom=None if limits is None else self.number(limits, "max_headroom_size"),
            )
        for entry in self.tables.table("CABLE_LENGTH"):
            for name, text in entry.fields.items():
                port = found.get(name)
                if port is None:
                    if "PORT" in self.tables:
                        self.say("unknown-reference", entry, f"Port {shown(name)} is not in PORT.")
                    continue
                cable = self.cable(entry, name, text)
                found[name] = dataclasses.replace(port, cable_m=cable, cable_line=entry.line)
        return found

    def cable(self, entry: Entry, name: str, text: str) -> float | None:
        try:
            return parse_length(text)
        except InputError:
            self.say("wrong-value", entry, f"The cable of {name} is {shown(text)}; allowed: a length such as 40m.")
            return None

    def pool(self, entry: Entry) -> Pool:
        return Pool(
            entry.key,
            entry.line,
            self.word(entry, "type", ("ingress", "egress", "both")),
            self.word(entry, "mode", ("static", "dynamic")),
            self.number(entry, "size"),
            self.number(entry, "xoff") or 0,
            self.number(entry, "percentage", 0, 100),
        )

    def profile(self, entry: Entry) -> Profile:
        return Profile(
            entry.key,
            entry.line,
            self.reference(entry, "pool"),
            self.number(entry, "size"),
            self.number(entry, "xon"),
            self.number(entry, "xoff"),
            self.number(entry, "static_th"),
            self.number(entry, "dynamic_th", -128, 127),
            self.word(entry, "headroom_type", ("static", "dynamic"), "static") == "dynamic"
            and "xoff" not in entry.fields,
        )

    def groups(self) -> Iterator[PriorityGroup]:
        for entry in self.tables.table("BUFFER_PG"):
            name = self.reference(entry, "profile")
            if name in ("", "0"):
                name = None
            for port, number in self.members(entry, MOST_GROUP):
                yield PriorityGroup(port, number, None if name == "NULL" else name, _place(entry, port), entry.line)

    def queues(self) -> Iterator[BufferQueue]:
        for table, field in (("BUFFER_QUEUE", "profile"), ("QUEUE", "wred_profile")):
            for entry in self.tables.table(table):
                name = self.reference(entry, field)
                if name is None:
                    continue
                for port, number in self.members(entry, MOST_QUEUE):
                    names = {"profile": name} if table == "BUFFER_QUEUE" else {"wred": name}
                    yield BufferQueue(port, number, place=_place(entry, port), line=entry.line, **names)

    def wred(self, entry: Entry) -> WredProfile:
        curves = {}
        for color in COLORS:
            if entry.fields.get(f"wred_{color}_enable", "false").lower() != "true":
                continue
            least, most = (self.number(entry, f"{color}_{end}_threshold") for end in ("min", "max"))
            chance = self.number(entry, f"{color}_drop_probability", 0, 100)
            missing = [end for end in ("min", "max") if f"{color}_{end}_threshold" not in entry.fields]
            if missing:
                self.say("wrong-value", entry, f"{color} is enabled without {color}_{missing[0]}_threshold.")
            if least is not None and most is not None:
                curves[color] = WredCurve(least, most, 100 if chance is None else chance)
        ecn = entry.fields.get("ecn", "ecn_none").removeprefix("ecn_")
        marks = COLORS if ecn == "all" else tuple(color for color in COLORS if color in ecn.split("_"))
        if ecn not in ("all", "none") and ecn != "_".join(marks):
            self.say("wrong-value", entry, f"ecn is {shown(entry.fields['ecn'])}; allowed: such as ecn_all.")
        return WredProfile(entry.key, entry.line, curves, marks)

    def qos(self, entry: Entry) -> Iterator[QosMap]:
        priorities, watched = self.numbers(entry, "pfc_enable"), self.numbers(entry, "pfcwd_sw_enable")
        for name in entry.key.split(","):
            yield QosMap(name, entry.line, priorities, watched, self.reference(entry, "pfc_to_pg_map"))


def _place(entry: Entry, port: str) -> str:
    """The place of one port of an entry, which may be about several."""
    return f"{entry.table}|{port}|{entry.key.rpartition('|')[2]}"


def _bare(text: str) -> str:
    """The name in a reference."""
    return text.strip("[]").rpartition("|")[2]
