"""`forebay.headroom`: reads the arguments, chooses a model or a table, and puts the answer together.

The models are in files of their own. This module adds what holds for all: the physical minimum, assumptions, warnings
and the other published calculations for the same port.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forebay import _core
from forebay.errors import InputError
from forebay.fabric.arguments import (
    cable_of,
    count_of,
    kib_of,
    megabits_of,
    nanoseconds_of,
    percent_of,
    size_of,
)
from forebay.fabric.headroom_answer import Headroom, HeadroomProfile
from forebay.fabric.headroom_sum import HeadroomSum
from forebay.fabric.ieee_model import MAC_PHY_DELAY, Cells, ieee_headroom
from forebay.fabric.ieee_model import SOURCE as IEEE_SOURCE
from forebay.fabric.lookup_table import LookupTable, read_table
from forebay.fabric.mlx5_model import CELL, mlx5_headroom
from forebay.fabric.mlx5_model import SOURCE as MLX5_SOURCE
from forebay.fabric.pfc_timing import PAUSE_QUANTA, LosslessPort, physical_minimum, round_trip
from forebay.fabric.sonic_devices import (
    ASICS,
    DEVICES,
    FIRST_BAREFOOT,
    RELEASES,
    REVISIONS,
    Asic,
    Gearbox,
    Revision,
)
from forebay.fabric.sonic_model import EIGHT_LANES, SonicInputs, sonic_headroom
from forebay.fabric.table_answer import TableAnswer, table_headroom
from forebay.text.length import length_text

__all__ = ["MODELS", "headroom"]

#: Models by name.
MODELS = ("sonic-mellanox", "sonic-barefoot", "sonic-vs", "mlx5", "ieee")
#: Share of small packets in SONiC's configuration, in percent (sonic-buildimage, buffers_config.j2).
DEFAULT_SMALL_PACKETS = 50
#: Rates in Mb/s up to which a generation of Spectrum is the first one that has them.
_FIRST_GENERATION = ((100_000, 1), (200_000, 2), (400_000, 3), (800_000, 4))
#: Generations and rates in Mb/s of ports that can only have 8 lanes (sonic-swss, buffermgrdyn.cpp,
#: BufferMgrDynamic::getDynamicProfileName).
_ONLY_EIGHT_LANES = {(3, 400_000), (4, 800_000), (5, 800_000)}


def headroom(
    rate: str,
    cable: str,
    *,
    mtu: str = "9100B",
    lossless_mtu: str = "1024B",
    model: str | None = None,
    asic: str | None = None,
    release: str | None = None,
    small_packets: str = "50%",
    lanes: int | str | None = None,
    gearbox_delay: str | None = None,
    shared_pool: str | None = None,
    over_subscription: int | str | None = None,
    cell: str | None = None,
    pipeline_latency: str | None = None,
    mac_phy_delay: str | None = None,
    peer_response: str | None = None,
    table: str | Path | LookupTable | None = None,
) -> Headroom:
    """Compute the memory that a lossless (PFC) priority group of a port needs.

    Parameters
    ----------
    rate, cable : str
        Rate of the port and length of its cable, such as "100Gbps" and "300m".
    mtu, lossless_mtu : str
        Largest frame of the port and of the lossless class.
    model : str, optional
        "sonic-mellanox", "sonic-barefoot", "sonic-vs", "mlx5" or "ieee". By default the model of the ASIC, or
        "sonic-mellanox".
    asic : str, optional
        Name of an ASIC or of a device, such as "spectrum-4" or "sn5600". By default the first generation of Spectrum
        that has ports of the rate.
    release : str, optional
        SONiC release whose calculation is used, such as "202305". By default the newest one of those that need the
        most memory: too much headroom is safe, and too little is not.
    small_packets : str
        Share of small packets in the lossless traffic.
    lanes : int, optional
        Lanes of the port. By default 8 where the ASIC has the rate only with 8 lanes, and otherwise fewer.
    gearbox_delay : str, optional
        Delay of the gearbox. By default that of the device.
    shared_pool : str, optional
        Size of the shared headroom pool; above 0 the pool holds the headroom.
    over_subscription : int, optional
        Over-subscription ratio of the headroom; above 0 a shared pool holds the headroom.
    cell, pipeline_latency, mac_phy_delay, peer_response : str, optional
        Constants of the device as sizes, instead of the published ones. With a table, `cell` is its unit.
    table : path or LookupTable, optional
        A device's `pg_profile_lookup.ini`. Its row is the answer, and the model's answer is in `formula`.

    Returns
    -------
    Headroom
        `xon`, `xoff` and `size` in bytes, with each part of the sum.

    Raises
    ------
    InputError
        If a value is wrong, or the table has no row that can be used.

    Examples
    --------
    >>> forebay.headroom("100Gbps", "300m", asic="spectrum-4", release="202411").xoff
    93184
    """
    request = _Request(
        LosslessPort(
            megabits_of(rate),
            cable_of(cable),
            size_of("mtu", mtu, 64, 65_535),
            size_of("lossless_mtu", lossless_mtu, 64, 65_535),
        ),
        *_model_and_asic(model, asic),
        release=_known("release", release, tuple(RELEASES)),
        small_packets=percent_of("small_packets", small_packets),
        lanes=None if lanes is None else count_of("lanes", lanes, (1, 16)),
        gearbox_ns=None if gearbox_delay is None else nanoseconds_of("gearbox_delay", gearbox_delay),
        has_shared_pool=(shared_pool is not None and size_of("shared_pool", shared_pool, 0, 2**40) > 0)
        or (over_subscription is not None and count_of("over_subscription", over_subscription, (0, 1000)) > 0),
        cell=None if cell is None else size_of("cell", cell, 1, 65_536),
        pipeline_latency_kib=None if pipeline_latency is None else kib_of("pipeline_latency", pipeline_latency),
        mac_phy_delay_kib=None if mac_phy_delay is None else kib_of("mac_phy_delay", mac_phy_delay),
        peer_response_kib=None if peer_response is None else kib_of("peer_response", peer_response),
    )
    if table is None:
        return request.answer()
    return _with_table(request, table if isinstance(table, LookupTable) else read_table(Path(table)))


def _model_and_asic(model: str | None, asic: str | None) -> tuple[str, Gearbox | None]:
    """The model and the device of the arguments, each from the other if it is missing; None if no device is given."""
    name = _known("model", model, MODELS)
    if asic is None:
        return name or "sonic-mellanox", None
    folded = asic.strip().lower().replace("_", "-").removeprefix("mellanox-").removeprefix("barefoot-")
    if number := re.fullmatch(r"(?:spectrum|spc)-?([1-9]?)", folded):
        folded = f"spectrum-{number[1] or 1}"
    found = DEVICES.get(folded) or DEVICES.get(f"m{folded}") or (Gearbox(folded) if folded in ASICS else None)
    if found is None:
        raise InputError(_core.unknown("ASIC", asic, [*ASICS, *DEVICES]), "asic")
    expected = f"sonic-{ASICS[found.asic].vendor}"
    if name is not None and name.startswith("sonic-") and name != expected:
        raise InputError(f"found `{asic}` for {name}; allowed: {expected} for this ASIC", "asic")
    return name or expected, found


def _known(argument: str, value: str | None, known: tuple[str, ...]) -> str | None:
    if value is None or value in known:
        return value
    raise InputError(_core.unknown(argument, value, list(known)), argument)


@dataclass(frozen=True, slots=True)
class _Request:
    """The arguments in the units of the models; None for a value that the device or the model has."""

    port: LosslessPort
    model: str
    device: Gearbox | None
    release: str | None
    small_packets: float
    lanes: int | None
    gearbox_ns: float | None
    has_shared_pool: bool
    cell: int | None
    pipeline_latency_kib: float | None
    mac_phy_delay_kib: float | None
    peer_response_kib: float | None

    def answer(self) -> Headroom:
        """The answer of the model."""
        if self.model == "mlx5":
            return self.complete(mlx5_headroom(self.port, self.cell or CELL), MLX5_SOURCE, self.mlx5_assumptions())
        if self.model == "ieee":
            return self.complete(self.ieee(), IEEE_SOURCE, self.ieee_assumptions())
        release = self.release or self.most_careful
        if self.asic.vendor == "barefoot" and release < FIRST_BAREFOOT:
            raise InputError(f"found `{release}`; allowed: {FIRST_BAREFOOT} or newer for {self.asic.name}", "release")
        inputs = self.sonic_inputs(release)
        found = sonic_headroom(inputs)
        source = next(part.source for part in found.parts if part.of == "xoff")
        return self.complete(found, source, tuple(self.sonic_assumptions(inputs)), release)

    @property
    def most_careful(self) -> str:
        """The newest release of those whose calculation needs the most memory."""

        def needed(revision: Revision) -> int:
            return sonic_headroom(self.sonic_inputs(revision.releases[-1])).xoff

        # Of equal ones, `max` takes the first.
        return max(reversed(REVISIONS), key=needed).releases[-1]

    def complete(
        self, found: HeadroomSum, source: str, assumptions: tuple[str, ...], release: str | None = None
    ) -> Headroom:
        """The answer of a model with what holds for every model."""
        port = self.port
        least = physical_minimum(port)
        return Headroom(
            self.model,
            self.asic.name if release else None,
            release,
            port.rate_mbps * 10**6,
            port.cable_m,
            port.mtu,
            port.lossless_mtu,
            *(found.xon, found.xoff, found.size),
            found.parts,
            found.rounding,
            round_trip(port.rate_mbps, port.cable_m),
            least,
            source,
            assumptions,
            _too_small(found.xoff, least),
            tuple(self.others(release)),
        )

    @property
    def asic(self) -> Asic:
        """The constants of the ASIC, with those that the arguments replace."""
        if self.device is not None:
            found = ASICS[self.device.asic]
        elif self.model in ("sonic-barefoot", "sonic-vs"):
            found = ASICS["tofino-2" if self.model == "sonic-barefoot" else "vs"]
        else:
            rate = self.port.rate_mbps
            generation = next((number for most, number in _FIRST_GENERATION if rate <= most), 6)
            found = ASICS[f"spectrum-{generation}"]
        return dataclasses.replace(
            found,
            cell=_first(self.cell, found.cell),
            pipeline_latency_kib=_first(self.pipeline_latency_kib, found.pipeline_latency_kib),
            mac_phy_delay_kib=_first(self.mac_phy_delay_kib, found.mac_phy_delay_kib),
        )

    @property
    def peer_response(self) -> float | None:
        """The given response of the peer, in bytes."""
        return None if self.peer_response_kib is None else self.peer_response_kib * 1024

    def sonic_inputs(self, release: str) -> SonicInputs:
        """The inputs of a plugin."""
        asic, rate = self.asic, self.port.rate_mbps
        only = EIGHT_LANES if (asic.generation, rate) in _ONLY_EIGHT_LANES else 4
        gearbox = _first(self.gearbox_ns, 0.0 if self.device is None else self.device.delay)
        return SonicInputs(
            self.port,
            asic,
            RELEASES[release],
            self.small_packets,
            self.lanes or only,
            gearbox,
            self.has_shared_pool,
            self.peer_response,
        )

    def ieee(self) -> HeadroomSum:
        """The sum of the terms of IEEE 802.1Q."""
        delay = MAC_PHY_DELAY if self.mac_phy_delay_kib is None else self.mac_phy_delay_kib * 1024
        return ieee_headroom(self.port, delay, self.peer_response, Cells(self.cell or 1, self.small_packets))

    def sonic_assumptions(self, inputs: SonicInputs) -> Iterator[str]:
        """Values that the arguments did not give."""
        asic, rate = inputs.asic, f"{self.port.rate_mbps / 1000:g} Gb/s"
        if self.release is None and asic.vendor != "barefoot":
            yield f"SONiC {self.most_careful}: of all releases, its calculation needs the most memory"
        if self.device is None and self.model == "sonic-mellanox":
            yield f"{asic.name}, the first generation with ports of {rate}; other generations need other headroom"
        elif self.device is None:
            yield asic.name
        if self.lanes is None and inputs.lanes == EIGHT_LANES:
            yield f"8 lanes: {asic.name} has ports of {rate} only with 8 lanes"
        if not inputs.has_shared_pool and asic.vendor == "mellanox":
            yield "no shared headroom pool"
        if self.port.rate_mbps not in PAUSE_QUANTA and inputs.peer_response is None:
            yield f"no pause quanta are published for {rate}: the constant of the ASIC"
        if self.small_packets == DEFAULT_SMALL_PACKETS:
            yield f"{self.small_packets:g} % small packets, the default of SONiC"

    def mlx5_assumptions(self) -> tuple[str, ...]:
        """Values that the arguments did not give, and roundings of the driver."""
        found = [] if self.cell is not None else [f"cells of {CELL} B"]
        if self.port.rate_mbps < 40_000:
            found.append("the driver counts a rate below 40 Gb/s as 40 Gb/s")
        if self.port.cable_m % 1:
            found.append("the driver counts whole meters")
        return tuple(found)

    def ieee_assumptions(self) -> tuple[str, ...]:
        """Values that the arguments did not give."""
        found = ["the standard has no xon: the peer resumes at an empty group"]
        if self.mac_phy_delay_kib is None:
            found.append("0.8 KiB for MAC and PHY, the constant of every ASIC that SONiC lists")
        if self.cell is None:
            found.append("no cells, so small packets need no more than their bytes")
        return tuple(found)

    def others(self, release: str | None) -> Iterator[HeadroomProfile]:
        """The other published calculations for this port, with the same arguments."""
        if release and self.asic.vendor != "barefoot":
            for revision in REVISIONS:
                if release not in revision.releases:
                    found = sonic_headroom(self.sonic_inputs(revision.releases[0]))
                    yield _profile(f"SONiC {' '.join(revision.releases)}", found)
        if self.model != "ieee" and (self.port.rate_mbps in PAUSE_QUANTA or self.peer_response is not None):
            yield _profile("ieee", dataclasses.replace(self, cell=None).ieee())
        if self.model != "mlx5":
            yield _profile("mlx5", mlx5_headroom(self.port))


def _first(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given


def _profile(name: str, found: HeadroomSum) -> HeadroomProfile:
    return HeadroomProfile(name, found.xon, found.xoff, found.size)


def _too_small(xoff: int, least: int) -> tuple[str, ...]:
    """A warning if a headroom is below the physical minimum."""
    if xoff >= least:
        return ()
    return (f"xoff is {least - xoff:,} B below the physical minimum of {least:,} B, so frames may be lost",)


def _with_table(request: _Request, table: LookupTable) -> Headroom:
    """The answer of a table, with the model's answer beside it."""
    port = request.port
    found, answer = table_headroom(table, port, request.cell)
    model = _formula(request)
    least = physical_minimum(port)
    return Headroom(
        "table",
        table.name,
        None,
        port.rate_mbps * 10**6,
        port.cable_m,
        port.mtu,
        port.lossless_mtu,
        *(found.xon, found.xoff, found.size),
        found.parts,
        found.rounding,
        round_trip(port.rate_mbps, port.cable_m),
        least,
        f"{table.name}:{answer.row.line}" if answer.row else table.name,
        (),
        (*_estimated(answer, port), *_too_small(found.xoff, least)),
        () if model is None else (HeadroomProfile(model.model, model.xon, model.xoff, model.size), *model.others),
        model,
        answer,
    )


def _formula(request: _Request) -> Headroom | None:
    """The answer of the model beside a table; None if the model has none for this port."""
    try:
        # The cell beside a table is the unit of the table, and need not be that of the model's device.
        return dataclasses.replace(request, cell=None).answer()
    except InputError:
        return None


def _estimated(answer: TableAnswer, port: LosslessPort) -> tuple[str, ...]:
    if answer.row is not None:
        return ()
    place = f"{port.rate_mbps / 1000:g} Gb/s and {length_text(port.cable_m)}"
    warning = f"this is an estimate and no value of the device: the table has no row for {place}"
    return (warning,) if answer.size_unknown is None else (warning, f"the size is unknown: {answer.size_unknown}")
