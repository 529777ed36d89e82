"""Makes a network with known errors: an inventory, and the scenarios of its profiles.

Every profile has a bound on the queueing delay, which bounds the buffer from above. From below, the generator aims by
the rule of Appenzeller, Keslassy and McKeown (SIGCOMM 2004): round-trip time times rate over the root of the number of
flows, times a share of the profile. The aim is no truth: `checks/fleet_truth.py` simulates every distinct question.
"""

from __future__ import annotations

import csv
import io
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from forebay.configuration.quantities import bits
from forebay.observation.numbers import size_text
from forebay.storage.files import write_atomically

__all__ = ["PROFILES", "MadePort", "Profile", "made_ports", "network_files", "write_network"]

#: Share of the ports that are wrongly sized on purpose.
WRONG = 0.05
#: Factors beyond the aimed limits, from 2 to 10.
FACTORS = (2.5, 4.0, 6.0, 9.0)
#: Buffers of rightly sized ports, as shares of the largest one that meets the goal on delay.
RIGHT = (0.45, 0.6)


@dataclass(frozen=True, slots=True)
class Profile:
    """The traffic of a kind of port.

    Attributes
    ----------
    name : str
        Name of the profile and of its file.
    role : str
        Role of its devices in the inventory.
    rates : tuple of str
        Rates of its ports.
    weight : int
        Share of the network's ports.
    ports : int
        Number of ports of a device.
    platforms : tuple of str
        Platforms of its devices.
    rtt_s : float
        Mean round-trip time, in seconds.
    bits_per_flow : float or None
        Bits per second for each long flow; None for a fixed number of flows.
    flows : int
        Number of long flows, where it is fixed.
    share : float
        Factor on the rule, for the profile's goal on utilization.
    delay_s : float
        Bound of the goal on delay, in seconds.
    text : str
        The scenario, with open keys in braces.
    """

    name: str
    role: str
    rates: tuple[str, ...]
    weight: int
    ports: int
    platforms: tuple[str, ...]
    rtt_s: float
    bits_per_flow: float | None
    flows: int
    share: float
    delay_s: float
    text: str

    def smallest_s(self, rate: float) -> float:
        """The smallest buffer at which the generator aims, in seconds at the rate."""
        flows = self.flows if self.bits_per_flow is None else max(1.0, rate / self.bits_per_flow)
        return self.share * self.rtt_s / math.sqrt(flows)


_ACCESS = """title = "Access port: six downloads beside web traffic"

# {rate} and {buffer} are filled in for each port.
[link]
rate   = "{rate}"
buffer = "{buffer}"

[[flows]]
name   = "downloads"
count  = 6
cca    = "cubic"
rtt    = { uniform = ["15ms", "45ms"] }
packet = "1500B"
start  = { uniform = ["0s", "1s"] }

[[flows]]
name     = "web"
cca      = "cubic"
rtt      = { uniform = ["10ms", "60ms"] }
packet   = "1500B"
workload = { open_loop = { load = 0.1, size = { pareto = { shape = 1.3, minimum = "4kB", maximum = "1MB" } } } }

[run]
warmup       = "4s"
measure      = "12s"
replications = 4

[goal]
utilization     = ">= 95%"
queue_delay_p99 = "<= 40ms"
"""
_METRO = """title = "Metro port: one long CUBIC flow for each 20 Mb/s"

# {rate} and {buffer} are filled in for each port; the number of flows grows with the rate.
[link]
rate   = "{rate}"
buffer = "{buffer}"

[[flows]]
name   = "long"
count  = "{rate / 20Mbps}"
cca    = "cubic"
rtt    = { uniform = ["10ms", "30ms"] }
packet = "1500B"
start  = { uniform = ["0s", "200ms"] }
initial_ssthresh = "40p"
min_rto = "200ms"

[run]
warmup       = "1s"
measure      = "2s"
replications = 4

[goal]
utilization     = ">= 95%"
queue_delay_p99 = "<= 8ms"
"""
_CORE = """title = "Core port: one long New Reno flow for each 100 Mb/s"

# {rate} and {buffer} are filled in for each port; the number of flows grows with the rate.
[link]
rate   = "{rate}"
buffer = "{buffer}"

[[flows]]
name     = "long"
count    = "{rate / 100Mbps}"
cca      = "newreno"
recovery = "sack"
rtt      = { uniform = ["2ms", "6ms"] }
packet   = "1500B"
start    = { uniform = ["0s", "20ms"] }
initial_ssthresh = "40p"
min_rto  = "200ms"

[run]
warmup       = "200ms"
measure      = "300ms"
replications = 4

[goal]
utilization     = ">= 95%"
queue_delay_p99 = "<= 1600us"
"""
_DATA_CENTER = """title = "Data center port: four long New Reno flows"

# {rate} and {buffer} are filled in for each port.
[link]
rate   = "{rate}"
buffer = "{buffer}"

[[flows]]
name     = "bulk"
count    = 4
cca      = "newreno"
recovery = "sack"
rtt      = { uniform = ["60us", "140us"] }
packet   = "1500B"
start    = { uniform = ["0s", "1ms"] }
initial_ssthresh = "100p"
min_rto  = "5ms"

[run]
warmup       = "40ms"
measure      = "100ms"
replications = 4

[goal]
utilization     = ">= 95%"
queue_delay_p99 = "<= 160us"
"""

PROFILES: Sequence[Profile] = (
    Profile("access", "access", ("20Mbps", "50Mbps", "100Mbps", "200Mbps", "500Mbps", "1Gbps"), 50, 24,
            ("openwrt", "ios-xe", "routeros"), 30e-3, None, 6, 0.75, 40e-3, _ACCESS),
    Profile("metro", "metro", ("1Gbps", "2.5Gbps", "5Gbps", "10Gbps"), 20, 16, ("ios-xe", "junos"), 20e-3, 20e6, 0,
            0.6, 8e-3, _METRO),
    Profile("core", "core", ("10Gbps", "40Gbps", "100Gbps"), 10, 12, ("junos", "ios-xr"), 4e-3, 100e6, 0, 0.75,
            1.6e-3, _CORE),
    Profile("data-center", "leaf", ("10Gbps", "25Gbps", "40Gbps", "100Gbps"), 20, 32, ("sonic", "eos", "nx-os"),
            100e-6, None, 4, 0.5, 160e-6, _DATA_CENTER),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MadePort:
    """A port of a synthetic network.

    Attributes
    ----------
    device, port, rate, platform, buffer, role, profile : str
        Columns of the inventory.
    aimed : str
        Verdict at which the generator aims: "fine", "too small" or "too large".
    factor : float
        Factor by which the buffer is aimed to be wrong; 1 for a right one.
    """

    device: str
    port: str
    rate: str
    platform: str
    buffer: str
    role: str
    profile: str
    aimed: str
    factor: float


def made_ports(count: int, seed: int) -> list[MadePort]:
    """The ports of a network: equal counts and seeds give equal ports."""
    draw = random.Random(f"forebay fleet {seed}")
    chosen = [profile for profile in PROFILES for _ in range(round(count * profile.weight / 100))]
    chosen = (chosen + [PROFILES[0]] * count)[:count]
    wrong = set(draw.sample(range(count), round(count * WRONG)))
    sides = {place: at % 2 == 0 for at, place in enumerate(sorted(wrong, key=lambda _: draw.random()))}
    numbers: dict[str, int] = {}
    made = []
    for place, profile in enumerate(chosen):
        number = numbers[profile.name] = numbers.get(profile.name, -1) + 1
        rate = draw.choice(profile.rates)
        speed = bits(rate)
        factor = draw.choice(FACTORS)
        if place not in wrong:
            size, aimed, factor = draw.choice(RIGHT) * profile.delay_s, "fine", 1.0
        elif sides[place]:
            size, aimed = profile.smallest_s(speed) / factor, "too small"
        else:
            size, aimed = profile.delay_s * factor, "too large"
        device = f"{profile.role}{1 + number // profile.ports}"
        platform = profile.platforms[(number // profile.ports) % len(profile.platforms)]
        made.append(
            MadePort(
                device,
                _port_name(platform, number % profile.ports, speed),
                rate,
                platform,
                # A buffer has at least one full packet.
                size_text(max(1500.0, size * speed / 8), 3),
                profile.role,
                profile.name,
                aimed,
                factor,
            )
        )
    return made


def _port_name(platform: str, number: int, speed: float) -> str:
    """The name of a port as its platform writes it."""
    names: Mapping[str, str] = {
        "junos": f"{'ge' if speed < 1e10 else 'xe' if speed < 4e10 else 'et'}-0/{number // 8}/{number % 8}",
        "sonic": f"Ethernet{4 * number}",
        "eos": f"Ethernet{number + 1}",
        "nx-os": f"Ethernet1/{number + 1}",
        "ios-xr": f"{'TenGigE' if speed < 4e10 else 'HundredGigE'}0/0/0/{number}",
        "ios-xe": f"{'GigabitEthernet' if speed <= 1e9 else 'TenGigabitEthernet'}0/0/{number}",
        "openwrt": f"wan{number}",
        "routeros": f"ether{number + 1}",
    }
    return names[platform]


def network_files(folder: Path) -> list[Path]:
    """The files that `write_network` writes: the inventory first."""
    return [folder / "inventory.csv", *(folder / "profiles" / f"{profile.name}.toml" for profile in PROFILES)]


def write_network(folder: Path, count: int, seed: int) -> list[Path]:
    """Write `inventory.csv` and `profiles/*.toml`; the verdicts aimed at are not written. Returns the paths."""
    (folder / "profiles").mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = ("device", "port", "rate", "platform", "buffer", "role", "profile")
    writer.writerow(columns)
    for port in made_ports(count, seed):
        writer.writerow([getattr(port, name) for name in columns])
    paths = network_files(folder)
    for path, content in zip(paths, (text.getvalue(), *(profile.text for profile in PROFILES)), strict=True):
        write_atomically(path, content)
    return paths
