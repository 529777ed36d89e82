"""The division of each ingress pool: what priority groups reserve, and what is left for all traffic.

By SAI (inc/saibuffer.h, SAI_BUFFER_POOL_ATTR_SHARED_SIZE) the size of a pool has the reservations in it, and the rest
is shared. SONiC's plugin for Spectrum (sonic-net/sonic-swss e6b0c5b5, cfgmgr/buffer_pool_mellanox.lua) subtracts them
before it sets the size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forebay.fabric.audit_answer import PoolMemory
from forebay.fabric.switch_headroom import GroupHeadroom, HeadroomReader

__all__ = ["pool_memories", "reservation"]


def reservation(group: GroupHeadroom, *, has_shared_headroom: bool) -> int:
    """Bytes that a lossless group takes from its pool.

    A size below the headroom has the headroom beside it, unless a shared headroom pool has it.
    """
    if has_shared_headroom or group.size >= group.xoff:
        return group.size
    return group.size + group.xoff


@dataclass(slots=True)
class _Sum:
    reserved: int = 0
    lossless: int = 0
    lossy: int = 0
    headroom: int = 0
    unknown: int = 0


def pool_memories(reader: HeadroomReader, groups: Sequence[GroupHeadroom]) -> tuple[PoolMemory, ...]:
    """The division of each ingress pool that the file has, and of pools that groups use."""
    switch, sums = reader.switch, {name: _Sum() for name in _ingress(reader)}
    for group in groups:
        entry = sums.setdefault(group.pool, _Sum())
        entry.reserved += reservation(group, has_shared_headroom=reader.is_shared(group.pool))
        entry.headroom += group.xoff
        entry.lossless += 1
        entry.unknown += group.origin == "unknown"
    lossless = {(group.group.port, group.group.number) for group in groups}
    # A lossy group without a size takes the latency of the pipeline (buffer_pool_mellanox.lua, lossypg_reserved).
    implicit = int(reader.asic.pipeline_latency_kib * 1024) if reader.is_spectrum and reader.asic else 0
    for key, group_ in switch.groups.items():
        profile = switch.profiles.get(group_.profile or "")
        if key in lossless or profile is None or profile.pool not in sums:
            continue
        sums[profile.pool].lossy += 1
        sums[profile.pool].reserved += profile.size or implicit
    return tuple(_memory(reader, name, entry) for name, entry in sums.items() if entry.lossless or entry.lossy)


def _ingress(reader: HeadroomReader) -> Iterator[str]:
    for pool in reader.switch.pools.values():
        if pool.kind in ("ingress", "both"):
            yield pool.name


def _memory(reader: HeadroomReader, name: str, entry: _Sum) -> PoolMemory:
    pool = reader.switch.pools.get(name)
    return PoolMemory(
        name,
        None if pool is None else pool.size,
        entry.reserved,
        entry.lossless,
        entry.lossy,
        entry.headroom,
        0 if pool is None else pool.xoff,
        entry.unknown,
        reader.is_spectrum,
        entry.lossy > 0,
    )
