"""The varied buffer of a search: of the target link, of another link, or of a class at one.

A variable holds its scenario; `dataclasses.replace(variable, scenario=...)` binds it to another one. The stages of a
search ask it for scenarios with a number of packets (`apply`), and for the sizes of buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from forebay import _core
from forebay.errors import InputError
from forebay.results.report import BufferSize
from forebay.scenario import TARGET, Scenario

__all__ = ["BufferVariable"]

#: A buffer that no scenario has: two keys whose scenarios are the same with it name the same buffer.
MARK = 999_983


@dataclass(frozen=True, slots=True)
class BufferVariable:
    """A buffer by its key.

    Attributes
    ----------
    scenario : Scenario
        The scenario that has it.
    key : str
        As in `--set`: "link.buffer", "link.queue.classes.voice.buffer", "links.uplink.buffer".
    """

    scenario: Scenario = field(repr=False, compare=False)
    key: str = TARGET

    @property
    def is_target(self) -> bool:
        """Whether it is the target link's, of which rules and bandwidth-delay products speak."""
        return self.key == TARGET

    @property
    def largest(self) -> bool:
        """False: the answer is the smallest buffer; only a range can have the largest value as answer."""
        return False

    @property
    def requested_name(self) -> str:
        """The name in the request."""
        return self.key

    @property
    def identity(self) -> str:
        """The identity of its numbers, different from that of others."""
        return self.key

    @property
    def place(self) -> tuple[str | None, str | None]:
        """The other link and the class whose buffer it is, by name; None for the target link and for no class."""
        where, _, within = self.key.removesuffix(".buffer").partition(".queue.classes.")
        return where.removeprefix("links.") if where.startswith("links.") else None, within or None

    def apply(self, packets: int) -> Scenario:
        """The scenario with this buffer, in packets; every other buffer stays."""
        return self.scenario.with_core(self.scenario.core.with_buffer(self.key, packets))

    @property
    def size(self) -> BufferSize:
        """The buffer that the scenario has there, in packets of those that wait there."""
        return BufferSize(**self.scenario.core.buffer_of(self.key))

    def sized(self, packets: int) -> BufferSize:
        """The buffer, given in packets, in every unit."""
        return replace(self, scenario=self.apply(packets)).size

    def snapped(self, packets: int) -> int:
        """Every number of packets is a buffer of its own."""
        return packets

    def ratio(self, packets: int, to: int) -> float:
        """The ratio of one buffer to another."""
        return packets / to

    def read(self, text: str) -> int:
        """A buffer such as "5ms" in whole packets there, at least one."""
        changed = replace(self, scenario=self.scenario.changed(("also", self.key, text)))
        return max(1, round(changed.size.packets))

    @property
    def scale(self) -> float:
        """Packets of one bandwidth-delay product there, or of a second of queue where there is no such product."""
        core = self.scenario.core
        if self.is_target and core.bdp_packets is not None:
            return core.bdp_packets
        size = self.sized(MARK)
        return self.packets_per_second if size.bdp is None else size.packets / size.bdp

    @property
    def packets_per_second(self) -> float:
        """Packets that leave the buffer in a second at the nominal rate there."""
        size = self.sized(MARK)
        return size.packets / size.seconds

    def of_key(self, over: str) -> BufferVariable:
        """Find the buffer of the same scenario that a key names; links and classes may be numbered.

        Raises
        ------
        InputError
            Names the keys of all buffers in which something waits.
        """
        core = self.scenario.core
        keys: Sequence[str] = core.buffer_keys
        if over in keys:
            return replace(self, key=over)
        try:
            suggestion = core.with_buffer(over, MARK).sha256
        except InputError:
            message = _core.unknown("buffer", over, list(keys))
            raise InputError(f"{message}; of another key a range, as in KEY=LOW..HIGH", "over") from None
        for key in keys:
            if core.with_buffer(key, MARK).sha256 == suggestion:
                return replace(self, key=key)
        allowed = ", ".join(keys)
        message = (
            f"no packet waits in `{over}`, because every class has its own buffer. Use --classes, or one of {allowed}"
        )
        raise InputError(message, "over")
