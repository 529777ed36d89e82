//! Inputs, symbols and columns that several models share.

use crate::model::{Symbol, symbol};
use crate::quantity::Input;
use crate::reference::Column;

pub(crate) const LOAD: Input = Input::new(
    "load",
    "1",
    "offered load, arrival rate / capacity",
    "above 0",
);
pub(crate) const STABLE_LOAD: Input = Input::new(
    "load",
    "1",
    "offered load, arrival rate / capacity",
    "0 to below 1",
);
pub(crate) const LOSS: Input = Input::new(
    "loss",
    "1",
    "probability that a packet is lost",
    "0 < x < 1",
);
/// A loss probability whose range includes one.
pub(crate) const LOSS_UP_TO_ONE: Input = LOSS.within("0 < x <= 1");
/// A load strictly between zero and one.
pub(crate) const LOAD_WITHIN_ONE: Input = STABLE_LOAD.within("0 < x < 1");
pub(crate) const RTT: Input = Input::new("rtt_s", "s", "round-trip propagation time", "above 0");
pub(crate) const RTTS: Input = Input::new(
    "rtts_s",
    "s",
    "round-trip propagation times, one per flow",
    "above 0",
)
.list();
pub(crate) const CAPACITY: Input =
    Input::new("capacity_pps", "packets/s", "rate of the link", "above 0");
pub(crate) const FLOWS: Input = Input::new("flows", "flows", "number of long flows", "above 0");
pub(crate) const DECREASE_FACTOR: Input = Input::new(
    "beta",
    "1",
    "decrease factor: window after a decrease / window before",
    "0 < x < 1",
)
.or(0.5);
pub(crate) const BUFFER_BDP: Input = Input::new(
    "buffer_bdp",
    "BDP",
    "buffer over bandwidth-delay product",
    "0 and more",
);
pub(crate) const BUFFER: Input =
    Input::new("buffer", "packets", "packets that may wait", "0 and more");
pub(crate) const BDP: Input = Input::new("bdp", "packets", "bandwidth-delay product", "above 0");
pub(crate) const SYSTEM: Input = Input::new(
    "system_capacity",
    "packets",
    "K, packets in the system at most, the one in transmission included (buffer + 1)",
    "0 and more",
);
pub(crate) const PER_ACK: Input = Input::new(
    "packets_per_ack",
    "packets",
    "1, or 2 with delayed ACKs",
    "above 0",
);

/// The mean window of a response function.
pub(crate) const MEAN_WINDOW: Symbol = symbol("w", "mean window", "packets");
/// The loss probability of a response function.
pub(crate) const LOSS_PROBABILITY: Symbol = symbol("p", "probability that a packet is lost", "1");
/// The round-trip time of a response function.
pub(crate) const ROUND_TRIP: Symbol = symbol("R", "round-trip time", "s");
/// The decrease factor: window after a multiplicative decrease / window before.
pub(crate) const BETA: Symbol = symbol(
    "β",
    "decrease factor: window after a decrease / window before",
    "1",
);
/// The buffer.
pub(crate) const BUF: Symbol = symbol("B", "buffer", "packets");
/// The bandwidth-delay product.
pub(crate) const PIPE: Symbol = symbol("CT", "bandwidth-delay product", "packets");
/// The number of long flows.
pub(crate) const FLOWCOUNT: Symbol = symbol("N", "long flows", "flows");

/// The assumption of every deterministic response function.
pub(crate) const PERIODIC: &str = "periodic losses, one every 1/p packets, and no timeouts";

/// The fraction of the window removed at a multiplicative decrease.
pub(crate) const CUT: Input = Input::new("cut", "1", "fraction of the window cut", "0 < x < 1");
/// A congestion window.
pub(crate) const WINDOW: Input = Input::new("window", "packets", "congestion window", "above 0");

// Columns of reference tables.

/// A loss probability.
pub(crate) const P: Column = Column::of(&["p"]);
/// A loss probability that is a goal.
pub(crate) const LOSS_GOAL: Column = Column::of(&["loss", "p"]);
/// A round-trip time, in seconds.
pub(crate) const RTT_S: Column = Column::of(&["rtt_s"]);
/// A round-trip propagation time, in seconds.
pub(crate) const PROPAGATION_S: Column = Column::of(&["Tp_s", "rtt_s"]);
/// An offered load.
pub(crate) const RHO: Column = Column::of(&["rho", "load"]);
/// Largest number of packets in the system.
pub(crate) const K: Column = Column::of(&["K", "B"]);
/// A buffer, in packets.
pub(crate) const B: Column = Column::of(&["B"]);
/// A buffer divided by the bandwidth-delay product.
pub(crate) const B_OVER_BDP: Column = Column::of(&["B_over_bdp"]);
/// A bandwidth-delay product, in packets.
pub(crate) const BDP_PACKETS: Column = Column::of(&["bdp"]);
/// A number of flows.
pub(crate) const N: Column = Column::of(&["n", "N", "flows"]);
/// A capacity, in packets/s.
pub(crate) const CAPACITY_PPS: Column = Column::of(&["C_pkts_per_s", "mu_pkts_per_s", "mu", "C"]);
/// Packets per acknowledgment.
pub(crate) const PACKETS_PER_ACK: Column = Column::of(&["b"]);
