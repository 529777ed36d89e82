"""CoDel (RFC 8289), with the same results as forebay's own `codel`."""

import math
from collections import deque
from dataclasses import dataclass

from forebay.algorithms import QueueDiscipline, QueuePacket, Random, parameter

SECOND_PS = 1e12


@dataclass
class CoDel(QueueDiscipline):
    """Drops or marks at the head while packets have waited too long for too long a time."""

    target: float = parameter("5ms", unit="time", meaning="Acceptable standing delay")
    interval: float = parameter("100ms", unit="time", meaning="Time that the delay must stay above the target")

    def __post_init__(self) -> None:
        """Begin with an empty queue."""
        self.packets: deque[QueuePacket] = deque()
        self.waiting = 0
        self.target_ps = round(self.target * SECOND_PS)
        self.interval_ps = round(self.interval * SECOND_PS)
        self.first_above: int | None = None
        self.drop_next = 0
        self.count = 0
        self.last_count = 0
        self.dropping = False

    def next(self, start: int, count: int) -> int:
        """The time of the next drop (RFC 8289, section 5.3)."""
        return start + int(self.interval_ps / math.sqrt(max(count, 1)))

    def enqueue(self, packet: QueuePacket, now: float, random: Random) -> bool:
        """Append the packet if the buffer has room."""
        if not self.fits(packet):
            return False
        self.packets.append(packet)
        self.waiting += packet.size
        return True

    def take(self) -> tuple[QueuePacket | None, bool]:
        """The packet at the head, and whether it may be dropped (RFC 8289, section 5.4)."""
        if not self.packets:
            self.first_above = None
            return None, False
        packet = self.packets.popleft()
        self.waiting -= packet.size
        below = self.now_ps - packet.arrival_ps < self.target_ps
        if below or self.waiting <= math.ceil(self.link.packet):
            self.first_above = None
            return packet, False
        if self.first_above is None:
            self.first_above = self.now_ps + self.interval_ps
            return packet, False
        return packet, self.now_ps >= self.first_above

    def dequeue(self, now: float, random: Random) -> QueuePacket | None:
        """The packet to transmit (RFC 8289, section 5.5). A packet that can be marked is not dropped."""
        packet, may_drop = self.take()
        if packet is None or not may_drop:
            self.dropping = False
            return packet
        if not self.dropping:
            if not packet.mark():
                self.drop(packet)
                packet, _ = self.take()
            self.enter()
            return packet
        while self.dropping and self.now_ps >= self.drop_next:
            self.count += 1
            if packet.mark():
                self.drop_next = self.next(self.drop_next, self.count)
                break
            self.drop(packet)
            packet, may_drop = self.take()
            if packet is None:
                self.dropping = False
                return None
            self.dropping = may_drop
            if may_drop:
                self.drop_next = self.next(self.drop_next, self.count)
        return packet

    def enter(self) -> None:
        """Start to drop; soon after the last phase, at its rate."""
        self.dropping = True
        delta = max(0, self.count - self.last_count)
        recent = max(0, self.now_ps - self.drop_next) < 16 * self.interval_ps
        self.count = delta if delta > 1 and recent else 1
        self.drop_next = self.next(self.now_ps, self.count)
        self.last_count = self.count
