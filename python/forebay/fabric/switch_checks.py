"""Checks of a switch's buffers, one function for each kind of finding; `switch_audit.py` runs them.

A finding is an error if frames of a lossless class may be lost, or if the device cannot do what is configured. The
others are notes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from forebay.fabric.audit_answer import Finding, PoolMemory
from forebay.fabric.config_tables import shown
from forebay.fabric.headroom_answer import Headroom
from forebay.fabric.pfc_timing import LosslessPort, physical_minimum
from forebay.fabric.switch_buffers import Profile, SwitchPort
from forebay.fabric.switch_headroom import GroupHeadroom, HeadroomReader
from forebay.text.length import length_text

__all__ = ["KINDS", "SwitchChecks"]

#: Kinds of findings, the worst first.
KINDS = (
    *("syntax", "duplicate-key", "wrong-type", "wrong-value"),
    *("lossless-without-headroom", "below-minimum", "table-broken", "no-row", "no-cable", "unreserved-headroom"),
    *("pool-exceeded", "memory-exceeded", "shared-headroom", "port-limit"),
    *("ecn-inverted", "ecn-after-pause", "ecn-above-pool"),
    *("unknown-reference", "threshold", "no-pool", "percentage"),
    *("table-below-minimum", "table-not-monotone", "table-flat", "table-threshold", "table-replaced"),
    *(
        "below-model",
        "pool-type",
        "threshold-mode",
        "headroom-unknown",
        "headroom-without-pfc",
        "over-subscription",
        "pfc-watchdog",
    ),
    *("no-speed", "no-probability", "unknown-field"),
)
#: Smallest and largest `dynamic_th` (sonic-buffer-profile.yang).
THRESHOLDS = (-8, 7)
#: Bytes beside the groups of a port of Spectrum: a margin, and two frames of egress mirroring for each buffer unit
#: (sonic-net/sonic-swss e6b0c5b5, cfgmgr/buffer_check_headroom_mellanox.lua).
PORT_MARGIN = 4096
PORT_MIRROR = 20 * 1024


class SwitchChecks:
    """The checks of one switch.

    Parameters
    ----------
    reader : HeadroomReader
        The buffers, with the headroom of each group.
    groups : sequence of GroupHeadroom
        The lossless groups.
    pools : sequence of PoolMemory
        The division of the pools.
    """

    def __init__(self, reader: HeadroomReader, groups: Sequence[GroupHeadroom], pools: Sequence[PoolMemory]) -> None:
        self.reader, self.groups, self.pools = reader, groups, pools
        self.lossless = {(found.group.port, found.group.number): found for found in groups}
        self.of_port: dict[str, list[GroupHeadroom]] = {}
        for found in groups:
            self.of_port.setdefault(found.group.port, []).append(found)

    def all(self) -> Iterator[Finding]:
        """Every finding, in no order."""
        yield from self.references()
        yield from self.profiles()
        yield from self.lossless_ports()
        yield from self.headroom()
        yield from self.pfc()
        yield from self.sums()
        yield from self.port_limits()
        yield from self.wred()
        yield from self.marking_before_pause()

    # References.

    def references(self) -> Iterator[Finding]:
        """Names of ports, profiles, pools and maps that the file has not, if it has their table."""
        switch = self.reader.switch
        named: list[tuple[str, str, str, int]] = []
        for group in switch.groups.values():
            named.append(("PORT", group.port, group.place, group.line))
            if group.profile is not None and (group.port, group.number) not in self.lossless:
                named.append(("BUFFER_PROFILE", group.profile, group.place, group.line))
        for queue in switch.queues.values():
            named.append(("PORT", queue.port, queue.place, queue.line))
            for table, name in (("BUFFER_PROFILE", queue.profile), ("WRED_PROFILE", queue.wred)):
                named += [] if name is None else [(table, name, queue.place, queue.line)]
        for profile in switch.profiles.values():
            if profile.pool is not None:
                named.append(("BUFFER_POOL", profile.pool, f"BUFFER_PROFILE|{profile.name}", profile.line))
        for qos in switch.qos.values():
            place = f"PORT_QOS_MAP|{qos.port}"
            named += [] if qos.port == "global" else [("PORT", qos.port, place, qos.line)]
            if qos.pfc_to_pg is not None:
                named.append(("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", qos.pfc_to_pg, place, qos.line))
        for place, line, names in switch.lists:
            named.append(("PORT", place.partition("|")[2], place, line))
            named += [("BUFFER_PROFILE", name, place, line) for name in names if name]
        known: Mapping[str, Container[str]] = {
            "PORT": switch.ports,
            "BUFFER_PROFILE": switch.profiles,
            "BUFFER_POOL": switch.pools,
            "WRED_PROFILE": switch.wred,
            "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": switch.pfc_to_pg,
        }
        for table, name, place, line in dict.fromkeys(named):
            names_ = name.split(",") if table == "PORT" else [name]
            for each in names_:
                if table in switch.tables and each not in known[table] and each != "CPU" and "|" not in each:
                    kind = "Port" if table == "PORT" else "Name"
                    text = f"{kind} {shown(each)} is not in {table}."
                    yield Finding("unknown-reference", place, text, (line,))

    # Profiles and pools.

    def profiles(self) -> Iterator[Finding]:
        """Thresholds out of range, of the wrong mode, and pools of the wrong direction."""
        switch = self.reader.switch
        least, most = THRESHOLDS
        for profile in switch.profiles.values():
            place = f"BUFFER_PROFILE|{profile.name}"
            threshold, pool = profile.dynamic_th, switch.pools.get(profile.pool or "")
            if threshold is not None and not least <= threshold <= most:
                text = f"dynamic_th is {threshold}; allowed: {least} to {most}, for alpha = 2^dynamic_th."
                yield Finding("threshold", place, text, (profile.line,))
            if pool is not None and pool.mode:
                yield from self.mode(profile, place, pool.name, pool.mode)
            if profile.pool is None and not profile.is_dynamic:
                yield Finding("no-pool", place, "It names no pool.", (profile.line,))
        for pool in switch.pools.values():
            if pool.size is not None and pool.percentage is not None:
                text = f"It has a size of {pool.size:,} B and a percentage of {pool.percentage}."
                yield Finding("percentage", f"BUFFER_POOL|{pool.name}", text, (pool.line,))
        yield from self.directions()

    def mode(self, profile: Profile, place: str, pool: str, mode: str) -> Iterator[Finding]:
        """A threshold that the mode of the pool does not have."""
        has = {"static": profile.static_th is not None, "dynamic": profile.dynamic_th is not None}
        other = "dynamic" if mode == "static" else "static"
        if has[other] and not has[mode]:
            text = f"{other}_th in {pool}, which is {mode}."
            yield Finding("threshold-mode", place, text, (profile.line,), is_error=False)

    def directions(self) -> Iterator[Finding]:
        """Groups of an egress pool and queues of an ingress pool."""
        switch = self.reader.switch
        users = [
            *((group.profile, group.place, group.line, "egress") for group in switch.groups.values()),
            *((queue.profile, queue.place, queue.line, "ingress") for queue in switch.queues.values()),
        ]
        for name, place, line, wrong in users:
            profile = switch.profiles.get(name or "")
            pool = None if profile is None else switch.pools.get(profile.pool or "")
            if pool is not None and pool.kind == wrong:
                text = f"Its pool {pool.name} is of type {wrong}."
                yield Finding("pool-type", place, text, (line,), is_error=False)

    # Headroom.

    def lossless_ports(self) -> Iterator[Finding]:
        """Ports with PFC whose rate, cable or row is missing."""
        reader, switch = self.reader, self.reader.switch
        explicit = {
            (found.group.port, found.group.number) for found in self.groups if found.origin in ("profile", "table")
        }
        names = dict.fromkeys(
            [*(found.group.port for found in self.groups), *(qos.port for qos in switch.qos.values() if qos.priorities)]
        )
        for name in names:
            port = switch.ports.get(name)
            if port is None or not port.is_up:
                continue
            qos = switch.qos.get(name)
            wanted = {(name, switch.group_of(name, each)) for each in (qos.priorities if qos else ())}
            wanted |= {(name, found.group.number) for found in self.of_port.get(name, ())}
            computes = bool(wanted - explicit)
            if port.rate_mbps is None:
                text = "It has no speed, so its headroom is not checked."
                yield Finding("no-speed", f"PORT|{name}", text, (port.line,), is_error=False)
            elif port.cable_m is None:
                text = "It has no cable length, so " + (
                    "SONiC sets no headroom." if computes else "the minimum is not known."
                )
                yield Finding("no-cable", f"PORT|{name}", text, (port.line,), computes)
            elif port.cable_m > 0 and computes and reader.table is not None and not reader.is_dynamic:
                row = reader.table.row(port.rate_mbps, port.cable_m)
                if row is None:
                    text = f"The table has no row for {_rate(port)} and {length_text(port.cable_m)}."
                    yield Finding("no-row", f"PORT|{name}", text, (port.line,))

    def headroom(self) -> Iterator[Finding]:
        """Headroom below the physical minimum, below SONiC's calculation, or that nothing reserves."""
        reader = self.reader
        for found in self.groups:
            port, place = found.port, found.group.place
            if found.origin == "unknown":
                yield self.unknown(place, found.group.line, port)
                continue
            lines = tuple(dict.fromkeys((found.line, found.group.line)))
            if reader.is_spectrum and not reader.is_shared(found.pool) and found.size < found.xon + found.xoff:
                text = f"size {found.size:,} B is below xon + xoff, {found.xon + found.xoff:,} B."
                yield Finding("unreserved-headroom", place, text, lines)
            if port is None or port.rate_mbps is None or not port.cable_m:
                continue
            least = physical_minimum(LosslessPort(port.rate_mbps, port.cable_m, port.mtu, reader.lossless_mtu))
            at = f"{_rate(port)} and {length_text(port.cable_m)} need"
            if found.xoff < least:
                text = f"xoff is {found.xoff:,} B; {at} {least:,} B."
                yield Finding("below-minimum", place, text, lines)
            elif found.origin != "model" and reader.device is not None:
                model = reader.computed(port, is_shared=reader.is_shared(found.pool))
                computed = _least_computed(model)
                if found.xoff < computed:
                    text = f"xoff is {found.xoff:,} B; no release of SONiC computes below {computed:,} B."
                    yield Finding("below-model", place, text, lines, is_error=False)

    def pfc(self) -> Iterator[Finding]:
        """Lossless priorities without headroom, headroom without PFC, and PFC without a watchdog."""
        reader, switch = self.reader, self.reader.switch
        without_table = not reader.is_dynamic and reader.table is None
        unwatched = []
        for name, qos in switch.qos.items():
            port = switch.ports.get(name)
            if name == "global" or (port is not None and not port.is_up):
                continue
            wanted = {switch.group_of(name, each): each for each in qos.priorities}
            for number, priority in wanted.items():
                if (name, number) not in self.lossless:
                    yield from self.no_headroom(name, priority, number, without_table=without_table)
            for found in self.of_port.get(name, ()):
                if found.group.number not in wanted and found.origin != "unknown":
                    text = f"Group {found.group.number} has headroom of {found.xoff:,} B, and no priority has PFC."
                    yield Finding("headroom-without-pfc", found.group.place, text, (found.group.line,), is_error=False)
            if qos.priorities and not qos.watched and "PFC_WD" not in switch.tables:
                unwatched.append((name, qos.line))
        for name, line in unwatched:
            text = "PFC has no watchdog against storms of pause frames."
            yield Finding("pfc-watchdog", f"PORT_QOS_MAP|{name}", text, (line,), is_error=False)

    def no_headroom(self, name: str, priority: int, number: int, *, without_table: bool) -> Iterator[Finding]:
        """A priority whose group has no headroom; a note if the file alone does not decide it."""
        switch = self.reader.switch
        place, line = f"PORT_QOS_MAP|{name}", switch.qos[name].line
        port, group = switch.ports.get(name), switch.groups.get((name, number))
        if group is not None:
            text = f"PFC priority {priority}: no headroom in {shown(group.profile or '')}."
            yield Finding("lossless-without-headroom", place, text, (line, group.line))
        elif port is not None and port.cable_m == 0:
            text = f"Priority {priority} has PFC and no headroom, because the cable is 0 m."
            yield Finding("lossless-without-headroom", place, text, (line,))
        elif "BUFFER_PG" not in switch.tables or without_table:
            yield self.unknown(place, line, port)
        elif self.reader.is_dynamic or self.reader.table is None or port is None or port.cable_m is None:
            text = f"Priority {priority} has PFC and no headroom."
            yield Finding("lossless-without-headroom", place, text, (line,))

    def unknown(self, place: str, line: int, port: SwitchPort | None) -> Finding:
        """A lossless group whose headroom the file does not have, and what would give it."""
        if port is None or port.rate_mbps is None:
            text = "Its headroom is not known: the file has no speed."
        elif port.cable_m is None:
            text = "Its headroom is not known: the file has no cable length."
        else:
            text = "Its headroom is not in the file; give the device's table."
        return Finding("headroom-unknown", place, text, (line,), is_error=False)

    # Sums.

    def sums(self) -> Iterator[Finding]:
        """Reservations and headroom beyond a pool or the memory."""
        reader, switch = self.reader, self.reader.switch
        for memory in self.pools:
            pool = switch.pools.get(memory.pool)
            if pool is None:
                continue
            place, lines = f"BUFFER_POOL|{memory.pool}", (pool.line,)
            if memory.size is not None and not memory.is_net and memory.reserved > memory.size:
                text = f"Groups reserve {memory.reserved:,} of {memory.size:,} B."
                yield Finding("pool-exceeded", place, text, lines)
            yield from self.shared_headroom(memory, place, lines)
        total = switch.metadata.memory
        egress = switch.pools.get("egress_lossless_pool")
        if total is None and reader.is_spectrum and egress is not None:
            # buffer_pool_mellanox.lua takes the size of this pool for the memory if the device does not state it.
            total = egress.size
        sizes = [pool for pool in switch.pools.values() if pool.kind in ("ingress", "both") and pool.size]
        if total and reader.is_spectrum and sizes:
            used = sum((pool.size or 0) + pool.xoff for pool in sizes) + sum(each.reserved for each in self.pools)
            if used > total:
                text = f"Pools and reservations are {used:,} of {total:,} B."
                yield Finding("memory-exceeded", f"BUFFER_POOL|{sizes[0].name}", text, (sizes[0].line,))

    def shared_headroom(self, memory: PoolMemory, place: str, lines: tuple[int, ...]) -> Iterator[Finding]:
        """A shared headroom pool that one port can fill, or that is smaller than the configured ratio."""
        if not memory.shared_headroom:
            return
        per_port = Counter[str]()
        for found in self.groups:
            if found.pool == memory.pool:
                per_port[found.group.port] += max(0, found.xon + found.xoff - found.size)
        name, largest = max(per_port.items(), key=lambda item: item[1], default=("", 0))
        if largest > memory.shared_headroom:
            text = f"{shown(name)} alone needs {largest:,} of {memory.shared_headroom:,} B shared headroom."
            yield Finding("shared-headroom", place, text, lines)
        ratio, configured = memory.over_subscription, self.reader.switch.metadata.over_subscription
        if ratio is not None and configured and ratio > configured:
            text = f"Headroom is {ratio:.3g} times the shared pool; the ratio allows {configured}."
            yield Finding("over-subscription", place, text, lines, is_error=False)

    def port_limits(self) -> Iterator[Finding]:
        """Groups of one port beyond its limit (buffer_check_headroom_mellanox.lua)."""
        reader, switch = self.reader, self.reader.switch
        limited = {name: port for name, port in switch.ports.items() if port.max_headroom is not None}
        if not limited:
            return
        latency = int(reader.asic.pipeline_latency_kib * 1024) if reader.asic else 0
        sums: Counter[str] = Counter()
        for (name, number), group in switch.groups.items():
            if name in limited:
                profile = switch.profiles.get(group.profile or "")
                found = self.lossless.get((name, number))
                size = found.size if found else (profile.size or 0) if profile else 0
                units = 2 if limited[name].lanes == 8 else 1
                sums[name] += size or units * latency
        for name, total in sums.items():
            port = limited[name]
            units = 2 if port.lanes == 8 else 1
            used = total + PORT_MARGIN + units * (PORT_MIRROR + latency)
            if port.max_headroom is not None and used >= port.max_headroom:
                text = f"Its groups need {used:,} B; the port has {port.max_headroom:,} B."
                yield Finding("port-limit", f"PORT|{name}", text, (port.line,))

    # Marking.

    def wred(self) -> Iterator[Finding]:
        """Inverted thresholds, thresholds that no queue reaches, and curves without effect."""
        switch = self.reader.switch
        egress = [pool.size for pool in switch.pools.values() if pool.kind in ("egress", "both") and pool.size]
        for profile in switch.wred.values():
            place = f"WRED_PROFILE|{profile.name}"
            for color, curve in profile.curves.items():
                if curve.least > curve.most:
                    text = f"{color}: minimum {curve.least:,} B is above maximum {curve.most:,} B."
                    yield Finding("ecn-inverted", place, text, (profile.line,))
                elif egress and curve.least >= max(egress):
                    text = f"{color}: minimum {curve.least:,} B is above every pool, {max(egress):,} B."
                    yield Finding("ecn-above-pool", place, text, (profile.line,))
                if curve.probability == 0:
                    text = f"{color}: the probability is 0 % up to the maximum, {curve.most:,} B."
                    yield Finding("no-probability", place, text, (profile.line,), is_error=False)

    def marking_before_pause(self) -> Iterator[Finding]:
        """ECN thresholds at which PFC has already paused the peer.

        A group may hold alpha (B - used) of a pool of B bytes, so n congested groups of one alpha hold
        alpha B / (1 + alpha n) each (Choudhury and Hahne, 1998). A packet counts in a group of its ingress port and in
        a queue of its egress port. If one queue is fed by one port, the two fill alike.
        """
        switch = self.reader.switch
        left = {memory.pool: memory.left or None for memory in self.pools}
        seen = set()
        for queue in switch.queues.values():
            wred, group = switch.wred.get(queue.wred or ""), self.lossless.get((queue.port, queue.number))
            if wred is None or group is None or not wred.marks:
                continue
            marking = [wred.curves[color].least for color in wred.marks if color in wred.curves]
            key = (wred.name, group.pool, group.dynamic_th, group.static_th)
            if not marking or key in seen:
                continue
            seen.add(key)
            least, place = max(marking), f"WRED_PROFILE|{wred.name}"
            memory = left.get(group.pool)
            alone: float | None = group.static_th
            if group.dynamic_th is not None and memory is not None and abs(group.dynamic_th) < 64:
                alpha = 2.0**group.dynamic_th
                alone = alpha * memory / (1 + alpha)
                if least < alone:
                    count = math.floor(memory / least - 1 / alpha) + 1 if least else 0
                    if 0 < count <= len(self.groups):
                        text = f"PFC pauses before ECN marks from {count} congested groups on."
                        yield Finding("ecn-after-pause", place, text, (wred.line, group.line), is_error=False)
            if alone is not None and least >= alone:
                text = f"ECN marks from {least:,} B, and PFC pauses at {alone:,.0f} B."
                yield Finding("ecn-after-pause", place, text, (wred.line, group.line))


def _least_computed(model: Headroom | None) -> int:
    """The smallest headroom that a release of SONiC computes; 0 without a calculation."""
    if model is None:
        return 0
    return min([model.xoff, *(each.xoff for each in model.others if each.name.startswith("SONiC"))])


def _rate(port: SwitchPort) -> str:
    return "no rate" if port.rate_mbps is None else f"{port.rate_mbps / 1000:g} Gb/s"
