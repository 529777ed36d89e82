"""`forebay.audit`: reads the buffers of a SONiC switch and lists what is wrong in them, the worst first.

`config_tables.py` and `switch_reader.py` read, `switch_headroom.py` and `switch_memory.py` compute, and
`switch_checks.py` compares. `forebay translate FILE` prints the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from forebay.errors import InputError
from forebay.fabric.audit_answer import Audit, Finding, merged
from forebay.fabric.config_tables import parse_tables
from forebay.fabric.lookup_table import LookupTable, read_table
from forebay.fabric.switch_checks import KINDS, SwitchChecks
from forebay.fabric.switch_headroom import LOSSLESS_POOL, GroupHeadroom, HeadroomReader
from forebay.fabric.switch_memory import pool_memories
from forebay.fabric.switch_reader import KNOWN_FIELDS, read_switch
from forebay.fabric.table_audit import audit_table
from forebay.storage.safe_io import content

__all__ = ["LOOKUP_TABLE", "audit", "audit_text"]

#: Name of a device's table in SONiC's files.
LOOKUP_TABLE = "pg_profile_lookup.ini"
#: Largest size of a file, in bytes.
MOST_BYTES = 64 * 2**20
#: Findings of a table by the kind of `audit_table`.
_TABLE_KINDS = {
    "flat-cable": "table-flat",
    "flat-rate": "table-flat",
    "not-monotone-cable": "table-not-monotone",
    "not-monotone-rate": "table-not-monotone",
}


def audit(path: str | Path, *, table: str | Path | LookupTable | None = None) -> Audit:
    """List what is wrong in the buffers of a SONiC switch.

    Parameters
    ----------
    path : str or Path
        A `config_db.json`, a part of one, or a `pg_profile_lookup.ini`.
    table : path or LookupTable, optional
        The device's `pg_profile_lookup.ini`. By default the file of this name beside `path`, if there is one.

    Returns
    -------
    Audit
        Findings, errors first, and the division of the ingress pools.

    Raises
    ------
    InputError
        If a file cannot be read, or if nothing in it is about buffers.

    Examples
    --------
    >>> file = Path(tempfile.mkdtemp()) / "config_db.json"
    >>> _ = file.write_text('{"BUFFER_PROFILE": {"lossy": {"pool": "egress_pool", "size": "0", "dynamic_th": "9"}}}')
    >>> print(forebay.audit(file))
    error: BUFFER_PROFILE|lossy: dynamic_th is 9; allowed: -8 to 7, for alpha = 2^dynamic_th.
    """
    path = Path(path)
    if path.suffix == ".ini":
        return _of_table(read_table(path))
    raw = content(path, "a config_db.json", MOST_BYTES)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: found a byte that is not UTF-8 at {error.start}; allowed: UTF-8 text") from None
    if table is None or isinstance(table, LookupTable):
        beside = path.with_name(LOOKUP_TABLE)
        return audit_text(text, str(path), beside if table is None and beside.is_file() else table)
    return audit_text(text, str(path), read_table(Path(table)))


def audit_text(text: str, name: str = "config_db.json", table: LookupTable | Path | None = None) -> Audit:
    """The same for a text; a table that cannot be read is a finding.

    Raises
    ------
    InputError
        If nothing in the text is about buffers: it is empty, is no object of tables, has other tables, or breaks off
        before the first table that the audit knows.
    """
    tables = parse_tables(text, KNOWN_FIELDS)
    if not any(known in tables for known in KNOWN_FIELDS):
        raise InputError(
            f"{name}: found no table about buffers{_first_fault(tables.faults)}; allowed: a config_db.json with tables "
            "such as BUFFER_PG"
        )
    switch, findings = read_switch(tables)
    if isinstance(table, Path):
        try:
            table = read_table(table)
        except InputError as error:
            findings.append(Finding("table-broken", LOOKUP_TABLE, error.text.partition(": ")[2].capitalize()))
            table = None
    assert not isinstance(table, Path), "it was read"
    reader = HeadroomReader(switch, table)
    groups = tuple(reader.groups())
    pools = pool_memories(reader, groups)
    checks = SwitchChecks(reader, groups, pools)
    found = [*tables.faults, *findings, *checks.all(), *(_table_findings(table, reader, groups) if table else ())]
    return Audit(
        name,
        merged(found, KINDS),
        pools,
        len(switch.ports),
        len({group.group.port for group in groups}),
        None if table is None else table.name,
        tuple(reader.assumptions),
        sum(known not in KNOWN_FIELDS for known in tables.entries),
        sum(finding.kind == "unknown-field" for finding in findings),
    )


def _first_fault(faults: Sequence[Finding]) -> str:
    """The first fault of a text as the reason of an error, such as " (line 1: found an empty file)"."""
    if not faults:
        return ""
    text = faults[0].text.removesuffix(" Nothing after it is read.").rstrip(".")
    line = f"line {faults[0].lines[0]}: " if faults[0].lines else ""
    return f" ({line}{text[:1].lower()}{text[1:]})"


def _table_findings(table: LookupTable, reader: HeadroomReader, groups: tuple[GroupHeadroom, ...]) -> Iterator[Finding]:
    """The findings on a table; its rows are errors if they are too small and a port uses them."""
    used = {(group.port.rate_mbps, group.port.cable_m) for group in groups if group.port and group.origin == "table"}
    lines = {row.line for row in table.rows if (row.rate_mbps, row.cable_m) in used}
    pool, place = reader.switch.pools.get(LOSSLESS_POOL), Path(table.name).name
    for finding in audit_table(table, lossless_mtu=reader.lossless_mtu):
        if finding.kind == "threshold" and pool is not None and pool.mode == "static":
            continue  # The thresholds of a static pool are bytes.
        is_error = finding.is_too_small and (not reader.switch.tables or bool(lines & set(finding.lines)))
        yield Finding(
            _TABLE_KINDS.get(finding.kind, f"table-{finding.kind}"), place, finding.text, finding.lines, is_error
        )
    for text in table.broken:
        yield Finding("table-broken", place, f"{text[:1].upper()}{text[1:]}")


def _of_table(table: LookupTable) -> Audit:
    """The findings on a table alone."""
    switch, _ = read_switch(parse_tables("{}", KNOWN_FIELDS))
    findings = _table_findings(table, HeadroomReader(switch, table), ())
    return Audit(table.name, merged(findings, KINDS), table=table.name)
