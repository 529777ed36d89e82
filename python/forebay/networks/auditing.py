"""`fleet` as users call it: the audit of a network, and the page in its folder.

The command and `forebay.fleet` share it, so that both write the same files.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from forebay.errors import InputError
from forebay.fleets.answer import FleetAnswer
from forebay.fleets.auditing import Audited, FleetExecution, audited
from forebay.fleets.changes import OWN, check_platform
from forebay.fleets.growth import Growth
from forebay.fleets.inventory import Inventory
from forebay.fleets.profiles import Profiles
from forebay.storage.files import write_atomically
from forebay.text.formatting import counted

__all__ = ["PAGE", "NetworkAudit", "fleet"]

#: Name of the page in the folder of an audit.
PAGE = "index.html"


def fleet(
    inventory: str | os.PathLike[str] | Inventory,
    profiles: str | os.PathLike[str] | Profiles | None = None,
    execution: FleetExecution | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    growth: str | Growth | None = None,
    replace: str | Mapping[str, int] | None = None,
    platform: str = OWN,
) -> FleetAnswer:
    r"""Judge the buffer of every port of a network.

    Parameters
    ----------
    inventory : path-like or Inventory
        The table of ports.
    profiles : path-like or Profiles, optional
        Folder of profiles and rules; by default the folder `profiles` beside the inventory.
    execution : FleetExecution, optional
        Threads or a scheduler, limits and callbacks.
    out : path-like, optional
        Folder of the results, with the files of `forebay fleet --out`; an audit that was interrupted continues from it.
    growth : str or Growth, optional
        Growth of the traffic per year as in "40%", or a CSV file with the columns year,factor. The column
        `too_small_in` then has the first year in which a port is too small (0 is today; null if it is not shown to be
        in any), and `needed_bytes_then` its need. `enough_until` has the last year in which it is shown not to be.
    replace : str or mapping, optional
        Memory per port of other boxes, as "platform=FILE.csv" or bytes by platform. The column `would_do_NAME` says
        whether the box has enough memory for the port.
    platform : str
        Platform of the lines in `changes/DEVICE.txt`; with "own" each port has that of the inventory.

    Returns
    -------
    FleetAnswer
        A verdict per port with its evidence.

    Raises
    ------
    InputError
        If the inventory, a profile or a table is wrong: one line with file and key.
    MissingPackageError
        If polars is not installed.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "profiles").mkdir()
    >>> profile = ["link = { rate = '{rate}', buffer = '{buffer}' }", "flows = [{ cca = 'newreno', rtt = '20ms' }]"]
    >>> profile += ["run = { warmup = '1s', measure = '3s' }", "goal = { utilization = '>= 95%' }"]
    >>> size = (folder / "profiles" / "office.toml").write_text("\n".join(profile))
    >>> rows = ["device,port,rate,buffer", "a,eth0,2Mbps,1 packets", "b,eth0,2Mbps,9 packets"]
    >>> size = (folder / "network.csv").write_text("\n".join(rows))
    >>> answer = forebay.fleet(folder / "network.csv")
    >>> answer.ports["verdict"].to_list()
    ['too small', 'fine']
    """
    means = FleetExecution() if execution is None else execution
    audit = NetworkAudit(inventory, profiles, means, growth, replace, platform)
    found = audit.run(out)
    if out is not None:
        try:
            audit.write_page(found, Path(out))
        except OSError as error:
            raise InputError(f"{error.filename or out}: cannot be written: {error.strerror or error}") from None
    return found.answer


@dataclass(frozen=True, slots=True)
class NetworkAudit:
    """The arguments of an audit, which `fleet` describes."""

    inventory: str | os.PathLike[str] | Inventory
    profiles: str | os.PathLike[str] | Profiles | None
    execution: FleetExecution
    growth: str | Growth | None = None
    replace: str | Mapping[str, int] | None = None
    platform: str = OWN

    def run(self, out: str | os.PathLike[str] | None) -> Audited:
        """Judge the ports, and write everything but the page."""
        execution = self.execution
        if execution.describe is None:
            from forebay.views.recommendation_text import lasting_text

            execution = dataclasses.replace(execution, describe=lasting_text)
        return audited(
            self.inventory,
            self.profiles,
            execution,
            out=out,
            growth=self.growth,
            replace=self.replace,
            platform=self.platform,
        )

    def write_page(self, found: Audited, folder: Path) -> None:
        """Write the page; raises `OSError` if it cannot be written."""
        from forebay.views.fleet_page import fleet_page

        page = fleet_page(found.answer, source=self._source(), options=list(self._options()), changes=found.changes)
        write_atomically(folder / PAGE, page)

    def _source(self) -> str:
        """The inventory as the user named it, or its files."""
        if not isinstance(self.inventory, Inventory):
            return str(Path(self.inventory))
        files = self.inventory.files
        return files[0].name if len(files) == 1 else counted(len(files), "file")

    def _options(self) -> Iterator[tuple[str, str]]:
        """The arguments that verdicts depend on, as the page shows them."""
        yield "inventory", self._source()
        if self.profiles is not None:
            yield "profiles", self.profiles.folder if isinstance(self.profiles, Profiles) else str(Path(self.profiles))
        if self.growth is not None:
            yield "growth", self.growth if isinstance(self.growth, str) else str(self.growth)
        if self.replace is not None:
            boxes = self.replace
            yield "replace", boxes if isinstance(boxes, str) else ", ".join(f"{key}={boxes[key]}" for key in boxes)
        yield "change sets for", check_platform(self.platform)
        yield "full searches, at most", str(self.execution.full)
        yield "confidence of packet runs", f"{100 * self.execution.confidence:g} %"
        yield "seed of the sample", str(self.execution.seed)
