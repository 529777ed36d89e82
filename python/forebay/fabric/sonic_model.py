"""SONiC's dynamic buffer model: the headroom that its published plugins compute for Spectrum and for Tofino.

Source: sonic-net/sonic-swss, cfgmgr/buffer_headroom_mellanox.lua in five revisions (`sonic_devices.py`), and
cfgmgr/buffer_headroom_barefoot.lua at ab299201. The plugins compute in double precision. This file keeps their order of
operations, because another order may round up to another multiple of 1,024 bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from forebay.fabric.headroom_sum import HeadroomSum, SumBuilder, Term, bytes_text
from forebay.fabric.pfc_timing import PAUSE_QUANTA, PAUSE_QUANTUM_BITS, SPEED_IN_CABLE, LosslessPort
from forebay.fabric.sonic_devices import Asic, Revision
from forebay.text.length import length_text

__all__ = ["EIGHT_LANES", "SonicInputs", "sonic_headroom"]

KIB = 1024
#: Smallest frame, in bytes.
MINIMAL_PACKET = 64
#: Nanoseconds for which the tile of Spectrum-4 and -5 holds bytes.
TILE_NS = 120
#: Lanes of a port that has two buffer units on Spectrum.
EIGHT_LANES = 8
#: Rate in Mb/s at which the plugin for Tofino doubles the response of the peer.
BAREFOOT_DOUBLED = 400_000
_BAREFOOT = "buffer_headroom_barefoot.lua at ab299201 (2022-10)"


@dataclass(frozen=True, slots=True)
class SonicInputs:
    """Inputs of a plugin.

    Attributes
    ----------
    port : LosslessPort
        Rate, cable and frames.
    asic : Asic
        Constants of the ASIC.
    revision : Revision
        Revision of the plugin for Spectrum.
    small_packets : float
        Share of small packets, in percent.
    lanes : int
        Lanes of the port; only 8 differs from the others.
    gearbox_ns : float
        Delay of the gearbox, in nanoseconds.
    has_shared_pool : bool
        Whether a shared headroom pool holds the headroom: a pool of some size, or an over-subscription.
    peer_response : float, optional
        Response of the peer in bytes, instead of the pause quanta and of the constant of the ASIC.
    """

    port: LosslessPort
    asic: Asic
    revision: Revision
    small_packets: float
    lanes: int
    gearbox_ns: float
    has_shared_pool: bool
    peer_response: float | None = None


def sonic_headroom(inputs: SonicInputs) -> HeadroomSum:
    """Compute xon, xoff and size as the plugin of the ASIC's vendor does."""
    plugin = _Barefoot(inputs) if inputs.asic.vendor == "barefoot" else _Mellanox(inputs)
    return plugin.sum()


class _Plugin:
    """The calculation that both plugins share; a subclass has the differences."""

    source: str
    cable_divisor: int

    def __init__(self, inputs: SonicInputs) -> None:
        self.inputs = inputs

    @property
    def pipeline_latency(self) -> float:
        return self.inputs.asic.pipeline_latency_kib * KIB

    @property
    def worst_case_factor(self) -> float:
        """Cell bytes for each byte of the worst packet: one of 64 bytes, or one that just misses the end of a cell."""
        cell = self.inputs.asic.cell
        return cell / MINIMAL_PACKET if cell > 2 * MINIMAL_PACKET else (2 * cell) / (1 + cell)

    def cell_occupancy(self) -> float:
        """Cell bytes for each byte that arrives."""
        share = self.small_share()
        return (100 - share + share * self.worst_case_factor) / 100

    def small_share(self) -> float:
        """The share of the bytes that arrive in small packets, in percent."""
        return self.inputs.small_packets

    def response(self) -> Term:
        """Bytes that the peer sends after the pause frame has arrived."""
        given, quanta = self.inputs.peer_response, self.quanta()
        if given is not None:
            return Term("response of the peer", given, "given", "argument")
        if quanta is not None:
            amount = quanta * PAUSE_QUANTUM_BITS / 8
            formula = f"{quanta} quanta × {PAUSE_QUANTUM_BITS} bits / 8"
            return Term("response of the peer", amount, formula, "IEEE 802.3, annex 31B.3.7")
        kib = self.inputs.asic.peer_response_kib
        return Term("response of the peer", kib * KIB, f"{kib:g} KiB", self.inputs.asic.source)

    def quanta(self) -> int | None:
        return PAUSE_QUANTA.get(self.inputs.port.rate_mbps)

    def tile(self) -> float:
        """Bytes on the tile."""
        return 0.0

    def delays(self) -> list[Term]:
        """The terms of the propagation delay, in the order of the plugin's sum."""
        port, asic = self.inputs.port, self.inputs.asic
        rate = float(port.rate_mbps)
        gearbox = rate * self.inputs.gearbox_ns / (8 * 1024) if self.inputs.gearbox_ns else 0.0
        cable = 2 * port.cable_m * rate * 1000000000 / SPEED_IN_CABLE / (8 * self.cable_divisor)
        shown = f"{length_text(port.cable_m)} × {rate / 1000:g} Gb/s"
        scale = "" if self.cable_divisor == 1000 else " × 1000/1024"
        terms = [
            Term("frame that the port is sending", float(port.mtu), f"MTU {bytes_text(port.mtu)}", self.source),
            Term("cable, both directions", cable, f"2 × {shown} / (8 × 198,000 km/s){scale}", self.source),
            Term(
                "gearbox, both directions",
                2 * gearbox,
                f"2 × {self.inputs.gearbox_ns:g} ns × rate / 8 × 1000/1024",
                self.source,
            ),
            Term("MAC and PHY", asic.mac_phy_delay_kib * KIB, f"{asic.mac_phy_delay_kib:g} KiB", asic.source),
            self.response(),
            Term("tile", self.tile(), f"{TILE_NS} ns × rate / 8", self.source),
        ]
        return [term for term in terms if term.amount or term.name not in ("gearbox, both directions", "tile")]

    def propagation(self, terms: list[Term]) -> float:
        """The sum of the delays. Python adds from the left, as Lua does, and terms of zero change nothing."""
        total = 0.0
        for term in terms:
            total += term.amount
        return total

    def sum(self) -> HeadroomSum:
        """The whole calculation."""
        builder = SumBuilder()
        xoff = self.add_xoff(builder)
        latency = self.inputs.asic.pipeline_latency_kib
        pipeline = self.pipeline_latency
        xon = _round_up(pipeline)
        terms = [Term("pipeline latency", latency * KIB, f"{latency:g} KiB", self.inputs.asic.source)]
        if pipeline != latency * KIB:
            formula = f"8 lanes: {pipeline / KIB:g} KiB - {latency:g} KiB"
            terms.append(Term("second buffer unit", pipeline - latency * KIB, formula, self.source))
        builder.add("xon", terms, xon, "1 KiB", self.source)
        return self.closed(builder, xoff, xon)

    def add_xoff(self, builder: SumBuilder) -> int:
        """Add the parts of xoff, and return it."""
        port, delays = self.inputs.port, self.delays()
        occupancy, propagation = self.cell_occupancy(), self.propagation(delays)
        xoff = _round_up(port.lossless_mtu + propagation * occupancy)
        factor = self.worst_case_factor
        formula = f"{self.small_share():.3g} % of {bytes_text(propagation)} × ({factor:.4g} - 1)"
        frame = f"lossless MTU {bytes_text(port.lossless_mtu)}"
        terms = [
            Term("frame that the peer is sending", float(port.lossless_mtu), frame, self.source),
            *delays,
            Term("small packets in cells", propagation * occupancy - propagation, formula, self.source),
        ]
        builder.add("xoff", terms, xoff, "1 KiB", self.source)
        return xoff

    def closed(self, builder: SumBuilder, xoff: int, xon: int) -> HeadroomSum:
        """The sum with its size."""
        raise NotImplementedError

    def close_with_pool(self, builder: SumBuilder, xoff: int, xon: int) -> HeadroomSum:
        """The sum of a port whose headroom is in a shared pool: its size is xon."""
        formula = f"xon; the shared pool holds xoff, {bytes_text(xoff)}"
        term = Term("shared headroom pool", -float(xoff), formula, self.source)
        builder.add("size", [term], -xoff, "", self.source)
        return builder.result(xoff, xon, xon)


class _Mellanox(_Plugin):
    """buffer_headroom_mellanox.lua."""

    def __init__(self, inputs: SonicInputs) -> None:
        super().__init__(inputs)
        revision = inputs.revision
        self.revision = revision
        self.cable_divisor = revision.cable_divisor
        self.source = f"buffer_headroom_mellanox.lua at {revision.commit} ({revision.date})"

    @property
    def has_two_units(self) -> bool:
        return self.inputs.lanes == EIGHT_LANES

    @property
    def pipeline_latency(self) -> float:
        latency = self.inputs.asic.pipeline_latency_kib * KIB
        return latency * 2 - self.revision.eight_lane_discount_kib * KIB if self.has_two_units else latency

    @property
    def worst_case_factor(self) -> float:
        factor = super().worst_case_factor
        return math.ceil(factor) if self.revision.has_whole_factor else factor

    def small_share(self) -> float:
        """The share of small packets; in newer revisions a share of the bytes.

        The plugin's conversion has no factor for the share itself: 50 % of the packets become 11.8 % of the bytes,
        twice their true share. A share of 0 % also has small packets. This file repeats the published calculation.
        """
        share, frame = self.inputs.small_packets, self.inputs.port.lossless_mtu
        if not self.revision.has_share_of_bytes:
            return share
        return 100 * MINIMAL_PACKET / ((share * MINIMAL_PACKET + (100 - share) * frame) / 100)

    def quanta(self) -> int | None:
        return super().quanta() if self.inputs.port.rate_mbps <= self.revision.fastest_quanta else None

    def tile(self) -> float:
        has_tile = self.inputs.asic.generation in self.revision.tile_generations
        return self.inputs.port.rate_mbps / 1000 * TILE_NS / 8 if has_tile else 0.0

    def add_xoff(self, builder: SumBuilder) -> int:
        xoff = super().add_xoff(builder)
        if self.inputs.asic.generation == 6 and self.revision.spectrum_6:
            extra = self.revision.spectrum_6
            term = Term("accounting of Spectrum-6", float(extra), f"{extra // KIB} KiB", self.source)
            builder.add("xoff", [term], extra, "", self.source)
            xoff += extra
        extra = self.compensation(xoff)
        if extra:
            formula = f"{extra // KIB} KiB: without a shared pool, below 100 % small packets"
            builder.add("xoff", [Term("compensation", float(extra), formula, self.source)], extra, "", self.source)
        return xoff + extra

    def compensation(self, xoff: int) -> int:
        """The bytes that a share of small packets below 100 % adds, if xoff remains below that of 100 %."""
        if self.inputs.has_shared_pool or self.inputs.small_packets == 100:
            return 0
        full = self.inputs.port.lossless_mtu + self.propagation(self.delays()) * self.worst_case_factor
        return self.revision.compensation if xoff + self.revision.compensation < _round_up(full) else 0

    def closed(self, builder: SumBuilder, xoff: int, xon: int) -> HeadroomSum:
        if self.inputs.has_shared_pool:
            return self.close_with_pool(builder, xoff, xon)
        overhead = self.inputs.port.mtu if self.has_two_units else 0
        size = _round_up(xoff + xon + overhead)
        terms = [Term("8 lanes", float(overhead), f"MTU {bytes_text(overhead)}", self.source)] if overhead else []
        builder.add("size", terms, size - xoff - xon, "1 KiB", self.source)
        return builder.result(xoff, xon, size)


class _Barefoot(_Plugin):
    """buffer_headroom_barefoot.lua, in which the headroom is always in a shared pool."""

    source = _BAREFOOT
    cable_divisor = 1024

    def quanta(self) -> int | None:
        # This plugin has no quanta for 800 Gb/s.
        return super().quanta() if self.inputs.port.rate_mbps <= BAREFOOT_DOUBLED else None

    def response(self) -> Term:
        term = super().response()
        if self.inputs.peer_response is not None or self.inputs.port.rate_mbps != BAREFOOT_DOUBLED:
            return term
        return Term(term.name, 2 * term.amount, f"2 × {term.formula}", f"{term.source}; doubled by {self.source}")

    def closed(self, builder: SumBuilder, xoff: int, xon: int) -> HeadroomSum:
        return self.close_with_pool(builder, xoff, xon)


def _round_up(amount: float) -> int:
    return math.ceil(amount / KIB) * KIB
