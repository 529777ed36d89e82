"""The service of a port of Nokia SR OS: from its present lines, or as words that the reader has to fill in.

A policy of SR OS belongs to a service access point (SAP), and a name of a port does not tell its service. `changes`
writes the lines that attach a policy with it. Source: Nokia, "MD-CLI Command Reference", `configure service`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["with_service"]

#: The part of a written line that stands for the service of a port.
_WRITTEN = re.compile(r'/configure service ies "1" interface "customer" sap .+ egress qos ')
#: A name that may stand in a line again.
_NAME = r'(?:"[A-Za-z0-9][A-Za-z0-9 _.:/@+-]*"|[A-Za-z0-9][A-Za-z0-9_.:/@+-]*)'
#: A present line with the service of a SAP.
_PRESENT = re.compile(
    rf"^\s*/?(?:configure )?(service (?:ies|vprn) {_NAME} interface {_NAME}|service (?:vpls|epipe) {_NAME})"
    r" sap ([A-Za-z0-9][A-Za-z0-9/._-]*(?::[0-9*.]+)?)(?:\s|$)",
    re.MULTILINE,
)


def with_service(lines: Sequence[str], port: str, present: str | None) -> tuple[tuple[str, ...], str | None]:
    """The lines with the service of a port.

    Parameters
    ----------
    lines : sequence of str
        Lines of `sros`, in which `service ies "1" interface "customer"` and the tag 1 stand for those of the port.
    port : str
        Name of the port, with the tag of its SAP if the inventory names it.
    present : str or None
        The present lines of the port.

    Returns
    -------
    tuple of (tuple of str, str or None)
        The lines, and a note if the present lines do not name one service of the port. The lines that attach the policy
        are then comments, because the words in capitals have to be filled in first.
    """
    known = {(found[1], found[2]) for found in _PRESENT.finditer(present or "") if _is_of(found[2], port)}
    if len(known) == 1:
        service, sap = known.pop()
        attached = f"/configure {service} sap {sap} egress qos "
        return tuple(_WRITTEN.sub(lambda _found: attached, line) for line in lines), None
    has_tag = ":" in port
    sap = port if has_tag else f"{port}:TAG"
    attached = f'# /configure service ies "SERVICE" interface "INTERFACE" sap {sap} egress qos '
    words = "SERVICE and INTERFACE" if has_tag else "SERVICE, INTERFACE and TAG"
    found = "several services" if known else "no service"
    note = f"the present lines name {found} of the port: fill in {words}, and remove the `#` before the last lines"
    return tuple(_WRITTEN.sub(lambda _found: attached, line) for line in lines), note


def _is_of(sap: str, port: str) -> bool:
    """Whether a SAP is that of a port: the same with its tag, or one of a port without a tag."""
    return port in (sap, sap.partition(":")[0])
