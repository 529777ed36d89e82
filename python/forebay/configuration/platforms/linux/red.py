"""tc's red and choke: the conversion of a weight to tc's burst, and the values that the kernel refuses.

tc-red(8) and tc-choke(8); `tc_red_eval_ewma`, `tc_red_eval_idle_damping` and `tc_red_eval_P` of iproute2 (tc/tc_red.c),
`red_check_params` of Linux (include/net/red.h). The average is kept as a shift, so a weight is a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from forebay.configuration.platforms.linux.kinds import Draft, Options, Reader, decimal_word
from forebay.configuration.platforms.linux.units import LARGEST, count, packets, probability, rate, rate_word, size
from forebay.configuration.platforms.platform import round_up_to_bytes, round_up_to_packets
from forebay.configuration.port import Discipline, Limit, Port, Queue, Unit, Value
from forebay.configuration.reading import Mistake
from forebay.errors import UnsupportedError

__all__ = ["CHOKE", "RED", "burst_of", "shift_of"]

#: The fastest rate that tc's `bandwidth` accepts: 32 bits of bytes per second.
FASTEST = LARGEST * 8
#: Thresholds have to be shifted by at least one bit in 32 (`red_check_params`).
HIGHEST = 2**30
#: Why choke's upper threshold is another one.
CAPPED = "choke refuses a max above its limit; max_p keeps the slope"


def shift_of(burst: int, least: float) -> int | None:
    """The power of two that tc makes of a burst, where the lower threshold is `least` packets; None for a refusal."""
    allowance = burst + 1 - least
    if allowance < 1:
        return None
    for shift in range(1, 32):
        weight = 2.0**-shift
        if allowance <= -math.expm1(burst * math.log1p(-weight)) / weight:
            return shift
    return None


def burst_of(shift: int, least: float) -> int | None:
    """The smallest burst of which tc makes this power of two; None where no burst gives it."""
    low, high = max(1, math.floor(least)), LARGEST
    while low < high:
        middle = (low + high) // 2
        found = shift_of(middle, least)
        # Too small a burst is refused for its allowance, too large a one for its power.
        small = middle + 1 - least < 1 or (found is not None and found < shift)
        low, high = (middle + 1, high) if small else (low, middle)
    return low if shift_of(low, least) == shift else None


@dataclass(frozen=True, slots=True)
class Red:
    """red, which counts bytes, and choke, which counts packets."""

    simulated: str
    unit: Unit

    @property
    def options(self) -> Mapping[str, Reader | None]:
        level = size if self.unit == "bytes" else packets
        own: dict[str, Reader | None] = {"limit": level, "min": level, "max": level, "avpkt": size, "burst": count}
        own |= {"probability": probability, "bandwidth": rate, "ecn": None}
        # With -d tc prints the average's power of two and the table of idle times.
        own |= {"ewma": count, "Scell_log": count}
        return own | ({"adaptive": None} if self.unit == "bytes" else {})

    def fit(self, draft: Draft, port: Port) -> None:
        self._levels(draft, port)
        draft.set("gentle", value=False, why="tc drops everything above max; simulate link.queue.gentle = false")
        draft.set("wait", value=False, why="tc spaces drops from one arrival on; simulate link.queue.wait = false")
        discipline = draft.discipline
        # The smallest slope that tc_red_eval_P can express: 2^-31 a byte, for choke too.
        gentlest = (
            1.001
            * (discipline.level("max").in_bytes(port.packet) - discipline.level("min").in_bytes(port.packet))
            / 2**31
        )
        if gentlest > 1:
            raise UnsupportedError(f"linux does not support {self.simulated} with max 2 GiB above min; allowed: less")
        probability = max(math.ceil(gentlest * 10**9) / 10**9, round(discipline.number("max_p"), 9))
        draft.set("max_p", min(1.0, probability), "nine decimals, and no curve flatter than tc's 2^-31 steps")
        if self.unit == "packets":
            draft.set("adaptive", value=False, why="choke is not adaptive; simulate link.queue.adaptive = false")
        draft.set("bottom", 0.01, "the kernel's adaptive RED goes from 1 % to 50 %")
        draft.set("top", 0.5, "the kernel's adaptive RED goes from 1 % to 50 %")
        shift = self._shift(draft.discipline, port)
        draft.set("weight", 2.0**-shift, "the kernel keeps the average as a shift, so weights are powers of two")
        if port.ip_rate > FASTEST:
            draft.notes.append(
                f"bandwidth: at most {rate_word(FASTEST)} in tc; it only says how the average falls while idle"
            )

    def _levels(self, draft: Draft, port: Port) -> None:
        whole = round_up_to_bytes if self.unit == "bytes" else round_up_to_packets
        why = (
            f"{'red counts bytes' if self.unit == 'bytes' else 'choke counts packets'}, {port.packet:,} bytes a packet"
        )
        draft.limit(whole(draft.queue.limit, port.packet), why)
        least = whole(draft.discipline.level("min"), port.packet)
        two = whole(Limit(2, "packets"), port.packet)
        low = least.amount < two.amount
        least = two if low else least
        most = whole(draft.discipline.level("max"), port.packet)
        draft.set("min", least, "tc's burst needs at least two packets below min" if low else why)
        if most.amount <= least.amount:
            most, why = Limit(least.amount + 1, self.unit), "max has to be above min"
        if self.unit == "packets" and most.amount > draft.queue.limit.amount:
            most, why = self._capped(draft, least, most), CAPPED
        if most.amount >= HIGHEST:
            raise UnsupportedError(
                f"linux does not support {self.simulated} with max = {most}; allowed: below {HIGHEST:,}"
            )
        draft.set("max", most, why)

    def _capped(self, draft: Draft, least: Limit, most: Limit) -> Limit:
        """The limit as the upper threshold, with the probability that the curve has there."""
        limit = draft.queue.limit
        if least.amount >= limit.amount:
            raise UnsupportedError(
                f"linux does not support choke with min = {least}; allowed: below the buffer, {limit}"
            )
        share = (limit.amount - least.amount) / (most.amount - least.amount)
        draft.set("max_p", draft.discipline.number("max_p") * share, CAPPED)
        return limit

    def _shift(self, fitted: Discipline, port: Port) -> int:
        """The power of two nearest to the weight that tc and the kernel accept."""
        least, most = (self._packets(fitted.level(name), port.packet) for name in ("min", "max"))
        required = min(31, max(1, round(-math.log2(fitted.number("weight")))))
        # In the kernel a threshold times 2^shift has 32 bits; in tc the table of idle times has to end.
        top = fitted.level("max").amount
        for shift in sorted(range(1, 32), key=lambda shift: (abs(shift - required), shift)):
            ticks = port.packet * 8e9 / 64 / min(float(port.ip_rate), FASTEST)
            idle = 31 * max(1.0, ticks) / -math.log1p(-(2.0**-shift)) / 2**31 < 512
            if int(top).bit_length() + shift < 32 and idle and burst_of(shift, least) is not None and most >= least:
                return shift
        return 1

    def _packets(self, level: Limit, packet: int) -> float:
        return level.amount / packet if self.unit == "bytes" else level.amount

    def write(self, queue: Queue, port: Port) -> str:
        red = queue.discipline
        least = self._packets(red.level("min"), port.packet)
        burst = burst_of(round(-math.log2(red.number("weight"))), least)
        assert burst is not None, "a weight that was fitted"
        text = f"limit {queue.limit.amount} min {red.level('min').amount} max {red.level('max').amount}"
        bandwidth = rate_word(min(int(port.ip_rate), FASTEST) // 8 * 8)
        text += (
            f" avpkt {port.packet} burst {burst} bandwidth {bandwidth} probability {decimal_word(red.number('max_p'))}"
        )
        text += " adaptive" if red.switch("adaptive") else ""
        return text + (" ecn" if red.ecn else "")

    def read(self, options: Options, packet: int) -> Queue:
        limit = self._given(options, "limit")
        if limit is None:
            raise Mistake("no limit", f"limit and a number of {self.unit}")
        most = self._given(options, "max") or Limit(int(limit.amount) // 4, self.unit)
        least = self._given(options, "min") or Limit(int(most.amount) // 3, self.unit)
        values: dict[str, Value] = {
            "min": least,
            "max": most,
            "max_p": options.get("probability", 0.02),
            "weight": 2.0 ** -self._read_shift(options, least, most, packet),
            "gentle": False,
            "adaptive": "adaptive" in options,
            "bottom": 0.01,
            "top": 0.5,
            "wait": False,
        }
        return Queue(limit, Discipline(self.simulated, values, ecn="ecn" in options))

    @staticmethod
    def _given(options: Options, name: str) -> Limit | None:
        value = options.get(name)
        assert value is None or isinstance(value, Limit), name
        return value

    def _read_shift(self, options: Options, least: Limit, most: Limit, packet: int) -> int:
        if isinstance(printed := options.get("ewma"), float):
            return round(printed)
        given = self._given(options, "avpkt")
        average = 1 if self.unit == "packets" else int(given.amount if given is not None else packet)
        if average < 1:
            raise Mistake("avpkt 0", "an average packet of at least a byte")
        given_burst = options.get("burst")
        requested = int(2 * least.amount + most.amount) // (3 * average)
        if isinstance(given_burst, float):
            requested = int(given_burst)
        shift = shift_of(requested, least.amount / average)
        if shift is None:
            raise Mistake(f"burst {requested}", f"a burst of at least min / avpkt, {least.amount / average:g} packets")
        return shift


RED = Red("red", "bytes")
CHOKE = Red("choke", "packets")
