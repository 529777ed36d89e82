"""The headroom of each lossless priority group: from its profile, from the device's table, or computed by a model.

SONiC has two buffer models. In the traditional one, cfgmgr/buffermgr.cpp looks up the rate and the cable of a port with
PFC in `pg_profile_lookup.ini`. In the dynamic one, cfgmgr/buffermgrdyn.cpp computes the headroom (`sonic_model.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from forebay.errors import InputError
from forebay.fabric.headroom import headroom
from forebay.fabric.headroom_answer import Headroom
from forebay.fabric.lookup_table import LookupTable
from forebay.fabric.sonic_devices import ASICS, DEVICES, Asic
from forebay.fabric.switch_buffers import PriorityGroup, Profile, Switch, SwitchPort

__all__ = ["LOSSLESS_POOL", "GroupHeadroom", "HeadroomReader", "device_of"]

#: Largest frame of lossless traffic without LOSSLESS_TRAFFIC_PATTERN, in bytes (buffers_config.j2).
LOSSLESS_MTU = 1024
#: Profiles that buffermgr makes of a table: the name has the rate in Mb/s and the cable.
_FROM_TABLE = re.compile(r"pg_lossless_[0-9]+_[0-9.]+k?m_(?:.*_)?profile")
#: The pool of the profiles that buffermgr makes.
LOSSLESS_POOL = "ingress_lossless_pool"


@dataclass(frozen=True, slots=True)
class GroupHeadroom:
    """The headroom of a lossless group.

    Attributes
    ----------
    group : PriorityGroup
        The group.
    port : SwitchPort or None
        Its port, if the file has it.
    origin : str
        "profile", "table" or "model"; "unknown" if the sizes are not known.
    xon, xoff, size : int
        Bytes; 0 if they are not known.
    pool : str
        Name of the pool.
    dynamic_th, static_th : int or None
        Threshold at which the group pauses the peer: exponent of alpha, or bytes.
    line : int
        Line of the profile or of the group.
    """

    group: PriorityGroup
    port: SwitchPort | None
    origin: Literal["profile", "table", "model", "unknown"]
    xon: int
    xoff: int
    size: int
    pool: str
    dynamic_th: int | None
    static_th: int | None
    line: int


def device_of(switch: Switch) -> str | None:
    """The device in the list of SONiC's dynamic model that the file names; None if it names none."""
    named = f"{switch.metadata.platform} {switch.metadata.sku}".lower().replace("_", "-")
    for name in sorted(DEVICES, key=len, reverse=True):
        if re.search(rf"(?<![a-z0-9]){name[:1]}?{re.escape(name[1:])}(?![0-9])", named):
            return name
    return None


@dataclass(slots=True)
class HeadroomReader:
    """A reader of the headroom of a switch's groups.

    Attributes
    ----------
    switch : Switch
        The buffers.
    table : LookupTable or None
        The device's table.
    assumptions : dict
        Values that the file does not have, in order; the values of the dictionary mean nothing.
    is_dynamic : bool
        Whether the device computes headroom.
    """

    switch: Switch
    table: LookupTable | None
    assumptions: dict[str, None] = field(default_factory=dict)
    is_dynamic: bool = field(init=False)
    _computed: dict[tuple[int, float, int, bool, bool], Headroom | None] = field(default_factory=dict)

    @property
    def device(self) -> str | None:
        """The device that the file names."""
        return device_of(self.switch)

    @property
    def asic(self) -> Asic | None:
        """The ASIC that the file names."""
        return ASICS[DEVICES[self.device].asic] if self.device else None

    @property
    def is_spectrum(self) -> bool:
        """Whether the file names a device with a Spectrum ASIC, or leaves the headroom to the dynamic model."""
        return self.asic.vendor == "mellanox" if self.asic else self.is_dynamic

    def __post_init__(self) -> None:
        self.is_dynamic = self.switch.metadata.is_dynamic or any(
            group.profile is None for group in self.switch.groups.values()
        )

    @property
    def lossless_mtu(self) -> int:
        """Largest frame of lossless traffic, in bytes."""
        return self.switch.metadata.lossless_mtu or LOSSLESS_MTU

    def is_shared(self, pool: str) -> bool:
        """Whether a shared headroom pool holds the headroom of a pool's groups."""
        found = self.switch.pools.get(pool)
        return bool(self.switch.metadata.over_subscription) or (found is not None and found.xoff > 0)

    def groups(self) -> Iterator[GroupHeadroom]:
        """The headroom of each lossless group, those of the file first."""
        for group in self.switch.groups.values():
            if (found := self.of_group(group)) is not None:
                yield found
        yield from self.made_of_table()

    def of_group(self, group: PriorityGroup) -> GroupHeadroom | None:
        """The headroom of a group; None if the group is lossy."""
        port = self.switch.ports.get(group.port)
        profile = self.switch.profiles.get(group.profile or "")
        if group.profile is not None and profile is None:
            if not _FROM_TABLE.fullmatch(group.profile):
                return None
            return self.from_table(group, port) or self.unknown(group, port)
        if profile is not None and not profile.is_lossless:
            # buffermgr replaces the profile of a group with PFC if the table has a row.
            return self.from_table(group, port) if self.is_made_of_table(group) else None
        if profile is None or profile.is_dynamic:
            return self.from_model(group, port, profile) or self.unknown(group, port)
        return GroupHeadroom(
            group,
            port,
            "profile",
            *(profile.xon or 0, profile.xoff or 0, profile.size or 0),
            profile.pool or LOSSLESS_POOL,
            profile.dynamic_th,
            profile.static_th,
            profile.line,
        )

    def unknown(self, group: PriorityGroup, port: SwitchPort | None) -> GroupHeadroom:
        """A lossless group whose sizes the file does not have."""
        return GroupHeadroom(group, port, "unknown", 0, 0, 0, LOSSLESS_POOL, None, None, group.line)

    def made_of_table(self) -> Iterator[GroupHeadroom]:
        """Groups of ports with PFC that buffermgr makes in the traditional model."""
        for name, qos in self.switch.qos.items():
            for priority in qos.priorities:
                number = self.switch.group_of(name, priority)
                group = PriorityGroup(name, number, None, f"PORT_QOS_MAP|{name}", qos.line)
                if (name, number) in self.switch.groups or not self.is_made_of_table(group):
                    continue
                if found := self.from_table(group, self.switch.ports[name]):
                    yield found

    def is_made_of_table(self, group: PriorityGroup) -> bool:
        """Whether buffermgr makes the profile of a group of the table, if the table has a row."""
        qos, port = self.switch.qos.get(group.port), self.switch.ports.get(group.port)
        if qos is None or port is None or self.is_dynamic:
            return False
        has_pfc = group.number in (self.switch.group_of(group.port, each) for each in qos.priorities)
        return has_pfc and port.is_up and bool(port.cable_m)

    def from_table(self, group: PriorityGroup, port: SwitchPort | None) -> GroupHeadroom | None:
        """The row of a port's rate and cable."""
        if self.table is None or port is None or port.rate_mbps is None or port.cable_m is None:
            return None
        row = self.table.row(port.rate_mbps, port.cable_m)
        if row is None:
            return None
        pool = self.switch.pools.get(LOSSLESS_POOL)
        is_static = pool is not None and pool.mode == "static"
        thresholds = (None, row.threshold) if is_static else (row.threshold, None)
        sizes = (row.xon, row.xoff, row.size)
        return GroupHeadroom(group, port, "table", *sizes, LOSSLESS_POOL, thresholds[0], thresholds[1], group.line)

    def from_model(
        self, group: PriorityGroup, port: SwitchPort | None, profile: Profile | None
    ) -> GroupHeadroom | None:
        """The headroom that the dynamic model computes for a port."""
        pool = profile.pool if profile is not None and profile.pool else LOSSLESS_POOL
        found = None if port is None else self.computed(port, is_shared=self.is_shared(pool))
        if found is None or found.size is None:
            return None
        default = self.switch.metadata.default_dynamic_th
        threshold = profile.dynamic_th if profile is not None and profile.dynamic_th is not None else default
        sizes = (found.xon, found.xoff, found.size)
        return GroupHeadroom(group, port, "model", *sizes, pool, threshold, None, group.line)

    def computed(self, port: SwitchPort, *, is_shared: bool) -> Headroom | None:
        """The model's answer for a port; None if its rate or its cable is not known."""
        if port.rate_mbps is None or port.cable_m is None:
            return None
        key = (port.rate_mbps, port.cable_m, port.mtu, port.lanes == 8, is_shared)
        if key not in self._computed:
            self._computed[key] = self._compute(port, is_shared=is_shared)
        return self._computed[key]

    def _compute(self, port: SwitchPort, *, is_shared: bool) -> Headroom | None:
        small = self.switch.metadata.small_packets
        try:
            found = headroom(
                f"{port.rate_mbps}Mbps",
                f"{port.cable_m:.6f}m",
                mtu=f"{port.mtu}B",
                lossless_mtu=f"{self.lossless_mtu}B",
                asic=self.device,
                small_packets="50%" if small is None else f"{small}%",
                lanes=8 if port.lanes == 8 else None,
                over_subscription=1 if is_shared else None,
            )
        except InputError:
            return None
        self.assumptions |= dict.fromkeys(found.assumptions)
        if self.device is None:
            self.assumptions |= {"the file names no device whose headroom SONiC computes": None}
        return found
