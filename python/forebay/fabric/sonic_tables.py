"""Writes the headroom of a port as tables of `config_db.json`: the way back from `switch_reader.py`.

Names of tables and fields are those of SONiC's YANG models. The name of the profile is the one that cfgmgr/buffermgr
gives it. The device keeps such a profile.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from forebay.errors import InputError
from forebay.fabric.headroom_answer import Headroom
from forebay.fabric.switch_headroom import LOSSLESS_POOL

__all__ = ["headroom_tables"]

#: Placeholder for the name of the port.
PORT = "Ethernet0"
#: Lossless priorities of SONiC's templates (qos_config.j2).
PRIORITIES = (3, 4)


def headroom_tables(found: Headroom, port: str = PORT, priorities: Sequence[int] = PRIORITIES) -> list[str]:
    """The tables of a port whose priority groups have this headroom, as lines of JSON.

    The pool is left out, because its size belongs to all ports. A cable is rounded up to whole meters.

    Parameters
    ----------
    found : Headroom
        The headroom.
    port : str
        Name of the port.
    priorities : sequence of int
        Lossless priorities, each with a group of its number.

    Raises
    ------
    InputError
        If the size of the group is unknown.
    """
    speed, cable = str(found.rate_bps // 10**6), f"{math.ceil(found.cable_m)}m"
    profile = f"pg_lossless_{speed}_{cable}_profile"
    row = None if found.table is None else found.table.row
    if found.size is None:
        reason = "" if found.table is None else f" ({found.table.size_unknown})"
        raise InputError(
            f"{found.source}: found no size for a port of {speed} Mb/s and {cable}{reason}; allowed: a table with a "
            "row for it"
        )
    fields = {"pool": LOSSLESS_POOL, "size": str(found.size), "xon": str(found.xon), "xoff": str(found.xoff)}
    if row is not None and row.xon_offset is not None:
        fields["xon_offset"] = str(row.xon_offset)
    fields["dynamic_th"] = str(0 if row is None else row.threshold)
    enabled = ",".join(map(str, priorities))
    tables = {
        "PORT": {port: {"speed": speed, "mtu": str(found.mtu)}},
        "CABLE_LENGTH": {"AZURE": {port: cable}},
        "BUFFER_PROFILE": {profile: fields},
        "BUFFER_PG": {f"{port}|{priority}": {"profile": profile} for priority in priorities},
        "PORT_QOS_MAP": {port: {"pfc_enable": enabled, "pfcwd_sw_enable": enabled}},
    }
    return json.dumps(tables, indent=4).splitlines()
