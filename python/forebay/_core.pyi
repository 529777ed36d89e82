"""The Rust core; everything here converts, calls and converts back."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict, final

from numpy.typing import NDArray

__version__: str
REFERENCE_TOLERANCE: float
MAX_TEXT: int
MORE_MEMORY: str

#: A change "key=value" out of the argument `overrides`, out of another argument, or (argument, key, value) where the
#: argument stands for the key: the argument is what a mistake points at.
Change = str | tuple[str, str] | tuple[str, str, str]

class BufferFigures(TypedDict):
    """A buffer in every unit."""

    packets: float
    bytes: float
    seconds: float
    bdp: float | None

class RandomState(TypedDict):
    """A random state that a scenario declares, or a scheduled one that a run does not see whole."""

    #: Path of the key in the scenario.
    key: str
    kind: Literal[
        "count",
        "common_rtt",
        "on_off",
        "periodic",
        "open_loop",
        "closed_loop",
        "incast",
        "draw",
        "markov_rate",
        "outages",
        "overload",
        "gilbert_elliott",
        "random_loss",
        "schedule",
    ]
    #: Mean time between two occurrences of the rarer phase; infinite without a mean, None for a draw per replication.
    #: The instant of a scheduled event that does not repeat.
    cycle_s: float | None
    #: Mean length of the rarer phase.
    duration_s: float | None
    #: Share of the time in which a flow is in the rarer phase, or probability of the rarest value.
    share: float | None
    #: Whether `state_values` gives its value.
    sampled: bool
    #: A subject for sentences: "A burst of group `burst` every 301 s".
    phrase: str

@final
class Scenario:
    """A valid, resolved scenario."""

    @staticmethod
    def parse(text: str, format: str, file: str, overrides: Sequence[Change]) -> Scenario: ...  # noqa: A002
    @staticmethod
    def as_toml(text: str, format: str, file: str, overrides: Sequence[Change]) -> str: ...  # noqa: A002
    def with_overrides(self, overrides: Sequence[Change]) -> Scenario: ...
    def with_packets(self, packets: int) -> Scenario: ...
    def with_buffer(self, key: str, packets: int) -> Scenario: ...
    @property
    def buffer_keys(self) -> list[str]: ...
    def buffer_of(self, key: str) -> BufferFigures: ...
    def canonical_json(self) -> str: ...
    def portable_json(self) -> str: ...
    def buffer(self) -> BufferFigures: ...
    @property
    def sha256(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def uncertain(self) -> bool: ...
    @property
    def seed(self) -> int: ...
    @property
    def replications(self) -> int: ...
    @property
    def duration_s(self) -> tuple[float, float]: ...
    @property
    def goals(self) -> list[tuple[str, str, float]]: ...
    @property
    def goal_places(self) -> list[str]: ...
    @property
    def packet_limit(self) -> bool: ...
    @property
    def packet_bytes(self) -> float: ...
    @property
    def bdp_packets(self) -> float | None: ...
    @property
    def rate_bps(self) -> float: ...
    @property
    def rate_changes(self) -> bool: ...
    @property
    def has_phases(self) -> bool: ...
    @property
    def rate_falls(self) -> bool: ...
    @property
    def rates_between_bps(self) -> tuple[float, float]: ...
    @property
    def rates_bps(self) -> list[float]: ...
    @property
    def queue(self) -> str: ...
    @property
    def persistent_flows(self) -> int: ...
    @property
    def longest_rtt_s(self) -> float | None: ...
    @property
    def background_load(self) -> float: ...
    @property
    def groups(self) -> list[tuple[str, int, str, bool]]: ...
    def random_states(self) -> list[RandomState]: ...
    def state_values(self, seed: int, replications: Sequence[int]) -> list[list[float]]: ...

@final
class Report:
    """The report of an engine."""

    def json(self) -> str: ...
    def to_cached(self) -> str: ...
    @staticmethod
    def from_cached(text: str) -> Report | None: ...
    def warnings(self) -> list[tuple[str, str, dict[str, float], str]]: ...
    def traces(self) -> dict[str, dict[str, Any]] | None: ...
    def with_traces(self, traces: dict[str, dict[str, Any]]) -> Report: ...
    def write_pcapng(self, path: Path) -> bool: ...

@final
class Rule:
    """The answer of one closed-form model to a scenario."""

    name: str
    packets: float | None
    refusal: str | None
    checks: list[tuple[str, Literal["yes", "partly", "no", "unknown"], str, float | None]]
    predicted: list[tuple[str, float]]
    notes: list[str]

def rules(scenario: Scenario) -> list[Rule]: ...

@final
class Engine:
    """One run that an engine is asked for."""

    name: str
    title: str
    source: str
    cheap: bool
    replicates: bool
    traces: bool
    real_time: bool
    simulates_hosts: bool
    assumes_losses: bool
    models: list[str]

@final
class Job:
    """One replication of one scenario on one engine."""

    def __new__(
        cls,
        scenario: Scenario,
        engine: str,
        seed: int,
        replication: int,
        *,
        traces: bool = False,
        model: str | None = None,
        memory: int | None = None,
    ) -> Job: ...
    def described(self) -> tuple[str, str, int, int, bool, str | None, int | None]: ...
    def code(self) -> list[tuple[str, str, Literal["controller", "discipline"]]]: ...
    @property
    def memory_estimate(self) -> float:
        """Estimate of the memory that the job needs, in bytes."""

@final
class Live:
    """The present state of an emulation's target link; counts are since its beginning."""

    time_s: float
    arrived: int
    dropped: int
    marked: int
    waiting: int
    delay_s: float
    #: Share of the last second, from 0 to 1.
    utilization: float
    #: Packets that were not whole, or no IPv4.
    strays: int

@final
class Program:
    """A program in a namespace."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def kill(self) -> None: ...

@final
class Emulation:
    """Two namespaces, "near" (the senders') and "far", behind the links of a scenario, until it is finished."""

    def __new__(cls, scenario: Scenario, group: int, seed: int, *, traces: bool = False) -> Emulation: ...
    def run(
        self,
        at: str,
        arguments: Sequence[str],
        variables: Sequence[tuple[str, str]],
        *,
        reads: bool = True,
        writes: bool = True,
        output: Path | None = None,
        errors: Path | None = None,
    ) -> Program: ...
    def address(self, at: str) -> str: ...
    def entry(self, at: str) -> tuple[int, list[str]]: ...
    def live(self) -> Live: ...
    def goes_on(self) -> bool: ...
    def finish(self) -> Report: ...

def engines() -> list[Engine]: ...
def yardstick(events: int) -> int: ...
def allow_memory(size: int) -> None: ...
def allowed_memory() -> int: ...
def run_batch(
    jobs: Sequence[Job],
    threads: int,
    observe: Callable[[int, Report | Exception], object] | None = None,
    within: float | None = None,
) -> list[Report | Exception]: ...
def run_here(job: Job) -> Report: ...
def aggregate(replications: Sequence[Report]) -> Report: ...
def weighted(replications: Sequence[Report], weights: Sequence[float]) -> Report: ...

#: A column of numbers, or of truths.
Column = NDArray[Any]
#: Packets and bytes.
Amount = tuple[int, int]

class Counted(TypedDict):
    """A histogram: the least and most of each bin that is not empty, and its count."""

    least: Column
    most: Column
    count: Column

class CapturedClock(TypedDict):
    """Faults of an interface's clock."""

    backward: int
    largest_backward_ns: int
    set_back: int
    leaps: int
    stray: int

class CapturedStreams(TypedDict):
    """Streams of one direction: the long ones and a sample of all others as columns, and what all came to."""

    count: int
    long_count: int
    carried: Amount
    bare: Amount
    series_lost: int
    sizes: Counted
    durations_ns: Counted
    start_gaps_ns: Counted
    starts_ns: Column
    long: dict[str, Any]
    sample: dict[str, Any]

class CapturedDirection(TypedDict):
    """One direction past an interface."""

    total: Amount
    frame_bytes: int
    between_ns: tuple[int, int] | None
    oversized: Amount
    largest: int
    other: Amount
    bins: dict[str, Any]
    sizes: dict[str, Column]
    protocols: dict[int, Amount]
    codepoints: dict[str, Amount]
    gaps: dict[str, Column]
    tick_ns: int
    streams: CapturedStreams

class CapturedInterface(TypedDict):
    """An interface; the direction with more bytes is first."""

    number: int
    file: int | None
    name: str | None
    link_type: int | None
    snap_length: int | None
    lost: int | None
    inbound: int | None
    clock: CapturedClock
    told: dict[str, int]
    directions: list[CapturedDirection]

class Crossing(TypedDict):
    """One direction through a queue that was seen from both sides."""

    through: Amount
    dropped: Amount
    unfinished: Amount
    marked: int
    negative: int
    largest_backlog: Amount
    overtaken: int
    overtaken_inside: int
    waits_ns: Counted
    backlog_bytes: Counted
    backlog_packets: Counted
    backlog_bytes_at_drops: Counted
    backlog_packets_at_drops: Counted
    windows: dict[str, Any]
    offsets: dict[str, Any]

class Crossed(TypedDict):
    """A queue that was seen from both sides; its directions are those of the interface before."""

    strangers: int
    hurried: int
    unattributed: int
    directions: list[Crossing]

class Captured(TypedDict):
    """The result of reading captures; times are nanoseconds of their clocks."""

    packets: int
    between_ns: tuple[int, int] | None
    connections: int
    max_concurrent_flows: int
    evicted: int
    unobserved: Amount
    ahead_ns: list[int]
    notes: dict[str, int | None]
    interfaces: list[CapturedInterface]
    queue: Crossed | None

def observe_captures(
    paths: Sequence[Path],
    *,
    before: int | str | None = None,
    after: int | str | None = None,
    ahead_ns: Sequence[int] = (),
    progress: Callable[[int, int | None], object] | None = None,
) -> Captured: ...
def models() -> list[str]: ...
def call_model(model: str, quantity: str, parameters: Mapping[str, Any]) -> Any: ...
def evaluate(model: str, quantity: str, inputs: str) -> float: ...
def kernel_sysctls(scenario: Scenario) -> list[tuple[str, str]]: ...
def schema() -> str: ...
def scenario_keys() -> str: ...

@final
class Metric:
    """A metric that a report may have."""

    name: str
    goal_name: str
    title: str
    unit: Literal["share", "s", "bps", "packets", "number"]
    more_is_better: bool
    scope: Literal["link", "group", "both"]
    meaning: str

def metrics() -> list[Metric]: ...
def parse_quantity(text: str, dimension: Literal["time", "rate", "bytes", "packets", "share"]) -> float: ...
def split_quantity(text: str) -> tuple[float, str] | None: ...
def two_sided_quantile(confidence: float, degrees: int) -> float: ...
def beta_distribution(x: float, a: float, b: float) -> float: ...
def beta_quantile(value: float, a: float, b: float) -> float: ...

@final
class Algorithm:
    """A congestion controller or a queue discipline; each parameter as (name, meaning, allowed, default)."""

    name: str
    aliases: list[str]
    title: str
    formula: list[str]
    source: str
    checked: list[str]
    parameters: list[tuple[str, str, str, str]]

def controllers() -> list[Algorithm]: ...
def disciplines() -> list[Algorithm]: ...
def likeliest(found: str, known: Sequence[str]) -> str | None: ...
def unknown(what: str, found: str, known: Sequence[str], aliases: Sequence[tuple[str, str]] = ()) -> str: ...
def american(name: str) -> str: ...

@final
class Random:
    """A random stream of one connection or link."""

    def uniform(self) -> float: ...
    def exponential(self) -> float: ...
    def normal(self) -> float: ...
    def below(self, n: int) -> int: ...

@final
class Ack:
    """An acknowledgment outside of loss recovery, while the window limits the sender."""

    now: float
    now_ps: int
    acked: float
    smoothed_rtt: float
    min_rtt: float
    max_rtt: float

@final
class CongestionEvent:
    """A signal of congestion."""

    kind: Literal["loss", "mark", "timeout"]
    now: float
    now_ps: int
    flight: float
    smoothed_rtt: float
    min_rtt: float
    max_rtt: float

@final
class Idle:
    """The end of a time with nothing in flight."""

    now: float
    now_ps: int
    time: float
    time_ps: int
    restart_window: float | None

@final
class Sample:
    """The measurements of one acknowledgment, also during loss recovery."""

    now: float
    now_ps: int
    rtt: float | None
    arrived: float
    lost: float
    marked: float
    acknowledged: int
    next: int
    prior_in_flight: float
    in_flight: float
    delivered: int
    losses: int
    state: Literal["open", "recovery", "timeout"]
    limited: bool
    delivery_rate: float | None
    app_limited: bool
    smoothed_rtt: float
    min_rtt: float
    max_rtt: float

@final
class Link:
    """The link of a discipline."""

    limit_packets: int | None
    limit_bytes: int | None
    rate: int
    packet: float
    delay: float

@final
class QueuePacket:
    """A packet that waits, or that arrives."""

    flow: int
    size: int
    arrival: float
    arrival_ps: int
    ecn: Literal["none", "classic", "scalable"]
    marked: bool

    def mark(self) -> bool: ...

#: A parameter of an algorithm: name, meaning, kind, default, smallest and largest number.
Declared = tuple[str, str, str, str | None, float | None, float | None]

def register_controller(
    name: str,
    title: str,
    parameters: Sequence[Declared],
    *,
    scalable: bool,
    samples: str,
    own_recovery: bool,
    own: Sequence[str],
    make: Callable[..., Any] | None,
) -> None: ...
def register_discipline(
    name: str, title: str, parameters: Sequence[Declared], *, make: Callable[..., Any] | None
) -> None: ...
def code_runs_s() -> float: ...
def exact_math(name: str, x: float, y: float) -> float: ...
