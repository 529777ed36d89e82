"""Policies, classes and curves of modular QoS as read, before a port is made of them.

`modular_qos` fills them, statement by statement, and resolves them to a port.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from forebay.configuration.access import Framing
from forebay.configuration.lossless import Lossless

__all__ = ["DEFAULT", "Amount", "Class", "Curve", "Policies", "Policy"]

DEFAULT = "class-default"


@dataclass(frozen=True, slots=True)
class Amount:
    """A limit as typed."""

    amount: int
    unit: str
    line: int


@dataclass(frozen=True, slots=True)
class Curve:
    """WRED's thresholds and its maximum probability, for one value of a header field."""

    least: Amount
    most: Amount
    probability: float | None
    of: str = ""


@dataclass(slots=True)
class Class:
    """A class of a policy as read so far.

    Attributes
    ----------
    name : str
        Name of the class, as in `class voice`.
    rate, layer : int and str
        Rate of the class's shaper, and the layer whose bits it counts.
    wire : Framing, optional
        Framing that the shaper counts beside IP, if it is not a layer's.
    child : Policy, optional
        Policy of the queues within the class.
    level : int, optional
        Its strict priority.
    share, share_unit : int and str
        Share of the rest after the priorities: a ratio, percent, or kb/s.
    limit, alpha
        Limit of the queue, fixed or as a multiple of the free memory.
    curves : list of Curve
        Curves of WRED.
    weight : float, optional
        Weight of an arrival in WRED's average.
    ecn : bool
        Whether the class marks packets.
    unsimulated : list of str
        Settings of the class that are not simulated.
    fair_queue : bool
        Whether its flows are hashed into separate queues.
    percent : int, optional
        Rate of the shaper, in percent of the link's rate.
    matches : set of str
        The values of header fields that its class map names, as in "dscp 10".
    """

    name: str
    line: int
    rate: int | None = None
    layer: str = "l3"
    wire: Framing | None = None
    child: Policy | None = None
    level: int | None = None
    share: int | None = None
    share_unit: str = "ratio"
    limit: Amount | None = None
    alpha: float | None = None
    curves: list[Curve] = field(default_factory=list)
    weight: float | None = None
    detects: bool = False
    ecn: bool = False
    unsimulated: list[str] = field(default_factory=list)
    fair_queue: bool = False
    percent: int | None = None
    matches: set[str] = field(default_factory=set)

    @property
    def queues(self) -> bool:
        """Whether the text has a setting of its queue, its turn or its rate."""
        keywords = (self.rate, self.percent, self.child, self.level, self.share, self.limit, self.alpha, self.weight)
        return any(each is not None for each in keywords) or bool(self.curves) or self.detects or self.fair_queue

    @property
    def used(self) -> bool:
        """Whether the text has a setting beyond a share of nothing."""
        return self.share != 0 or self.limit is not None or self.level is not None


@dataclass(slots=True)
class Policy:
    """A policy-map."""

    name: str
    classes: list[Class] = field(default_factory=list)
    #: The common queue of all strict priorities, if a device shows one.
    shared: Class | None = None

    def of(self, name: str, line: int) -> Class:
        """The class of this name, created at its first use."""
        for known in self.classes:
            if known.name == name:
                return known
        self.classes.append(Class(name, line))
        return self.classes[-1]


@dataclass(slots=True)
class Policies:
    """The state after the lines read so far.

    Attributes
    ----------
    policies : dict of str to Policy
        The policies by name.
    at, policy : Class and Policy, optional
        The class and the policy that a line concerns.
    interface : bool
        Whether lines concern an interface.
    attached : list of Policy
        The policies that interfaces apply to outgoing packets.
    speed : int, optional
        Rate on the wire in bits per second, if an interface states its speed.
    arriving : set of str
        The policies for incoming packets, which have no queue.
    matches : dict of str to set of str
        The values that each class map names.
    matching : str
        The class map, the interface or the profile that a line concerns.
    holding : dict of str to None
        The interfaces and profiles that have queues of their own.
    lossless : Lossless, optional
        Levels of a lossless class.
    headroom : int, optional
        Headroom in bytes, if a line of the switch states it.
    """

    policies: dict[str, Policy] = field(default_factory=dict)
    policy: Policy | None = None
    at: Class | None = None
    interface: bool = False
    attached: list[Policy] = field(default_factory=list)
    speed: int | None = None
    arriving: set[str] = field(default_factory=set)
    matches: dict[str, set[str]] = field(default_factory=dict)
    matching: str = ""
    holding: dict[str, None] = field(default_factory=dict)
    lossless: Lossless | None = None
    headroom: int | None = None

    def get_or_create(self, name: str) -> Policy:
        """The policy of this name, created at its first use."""
        return self.policies.setdefault(name, Policy(name))

    def current(self, line: int) -> Class:
        """The class that a line concerns; a part of a configuration begins in the default class."""
        if self.at is None:
            if self.policy is None:
                self.policy = self.get_or_create("")
            self.at = self.policy.of(DEFAULT, line)
        return self.at
