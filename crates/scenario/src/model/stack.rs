//! The choices of a TCP implementation: presets, and the keys of a flow group that change one
//! choice each. Flow groups have a stack.

use forebay_units::{Bytes, Time};
use serde_json::{Value, json};

use crate::model::algorithm::{Algorithm, time_based};
use crate::text::cursor::Cursor;
use crate::text::form::words;
use crate::text::form::{Maybe, Packets, Switch, Table, WholeNumber, Within, Word, Words};
use crate::text::grammar::{Grammar, KeyText};
use crate::text::keys::{Context, Form, Section, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// The choices of a TCP implementation. A preset sets them all; keys of the group change some.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Stack: const {
        /// Detection and repair of losses.
        recovery: Recovery = Recovery::Sack, always(Words);
        /// Whether packets may overtake each other for as long as a round trip: they are sprayed.
        reorders: bool = false, derived;
        /// Reduction of the window in recovery with SACK; without it the one that belongs to the
        /// recovery.
        reduction: Option<Reduction> = None, key(Maybe(Words));
        /// Partial acknowledgments that restart the retransmission timer, in recovery without SACK
        /// (RFC 6582 section 4).
        partial_ack_timer: PartialAckTimer = PartialAckTimer::First, always(Words);
        /// Whether a fast retransmission restarts the retransmission timer, in recovery without
        /// SACK. ns-2 does so; RFC 6298 section 5 names new data and acknowledgments of new data
        /// only.
        fast_retransmit_timer: FastRetransmitTimer = FastRetransmitTimer::Keep, key(Words);
        /// State in which the first duplicate acknowledgments release packets beyond the window, in
        /// recovery without SACK.
        limited_transmit: LimitedTransmit = LimitedTransmit::Open, key(Words);
        /// Window after a recovery without SACK: RFC 6582 sets it to the threshold, ns-2 leaves it
        /// unchanged.
        full_ack_window: FullAckWindow = FullAckWindow::Threshold, key(Words);
        /// Timeouts of one packet that lower the slow-start threshold (RFC 5681 section 3.1).
        timeout_ssthresh: TimeoutSsthresh = TimeoutSsthresh::First, key(Words, "timeout_cut");
        /// Lower bound of the retransmission timeout.
        min_rto: Time = Time::from_secs(1), always(TIMEOUT);
        /// Retransmission timeout before the first measurement of the round-trip time, at least the
        /// lower bound.
        initial_rto: Time = Time::from_secs(1), key(TIMEOUT);
        /// Granularity of the sender's clock for round-trip times and timers; zero is exact.
        clock: Time = Time::ZERO, always(UP_TO_A_SECOND);
        /// Arithmetic of the retransmission timeout: real numbers, or whole ticks of `clock`.
        rto_arithmetic: RtoArithmetic = RtoArithmetic::Real, key(Words);
        /// Unit of the window's growth outside of fast recovery: packets acknowledged (RFC 3465) or
        /// acknowledgments.
        ack_counting: AckCounting = AckCounting::Packets, key(Words);
        /// Acknowledgments of the receiver.
        delayed_ack: DelayedAck = DelayedAck::without_keys(), always(Table);
        /// Initial window in packets (RFC 6928).
        initial_window: f64 = 10.0, always(WINDOW);
        /// Initial slow-start threshold in packets; without it there is no limit.
        initial_ssthresh: Option<f64> = None, key(Maybe(THRESHOLD));
        /// Receive window in packets; without it there is no limit.
        receive_window: Option<f64> = None, key(Maybe(WINDOW));
        /// Size of the headers in each packet.
        header: Bytes = Bytes::new(40), always(HEADER);
        /// Whether a timestamp measures the round-trip time of each acknowledged packet (RFC 7323),
        /// instead of one packet per round trip.
        timestamps: bool = false, always(Switch);
        /// Whether a connection begins with a SYN of header size and its answer.
        handshake: bool = false, always(Switch);
        /// Whether packets are spread over the round trip although the congestion control does not
        /// require it.
        pacing: bool = false, always(Switch);
        /// Whether segmentation offload gathers packets into bursts of a millisecond, as Linux
        /// does; for recovery `rack`.
        offload: bool = false, always(Switch);
        /// Whether a burst continues after the end of a buffer of 64 KiB (Linux 6.10:
        /// tcp_grow_skb); older versions end it there.
        offload_grows: bool = false, key(Switch);
        /// Whether packets are ECN-capable (RFC 3168).
        ecn: bool = false, always(Switch);
        /// Whether a timeout is tested for being spurious before more than one packet is
        /// retransmitted (RFC 5682).
        frto: bool = false, key(Switch);
        /// Whether the window restarts from the initial one after a pause longer than the
        /// retransmission timeout (RFC 5681 section 4.1); Linux has a sysctl of the same name.
        slow_start_after_idle: bool = true, key(Switch);
        /// Longest processing time of the hosts for each arrival; each time is uniformly
        /// distributed.
        processing: Processing = Processing::Packet, key(ProcessingKey);
    }
}

const TIMEOUT: Within<Time> = Within {
    least: Time::from_micros(1),
    most: Time::from_secs(60),
    allowed: "a time from 1us to 60s",
};

const UP_TO_A_SECOND: Within<Time> = Within {
    least: Time::ZERO,
    most: Time::from_secs(1),
    allowed: "a time up to 1s",
};

const WINDOW: Packets = Packets::window(1.0, "packets from 1 to 1e9, as in \"10p\"");

const THRESHOLD: Packets = Packets::window(2.0, "packets from 2 to 1e9, as in \"10p\"");

const HEADER: Within<Bytes> = Within {
    least: Bytes::ZERO,
    most: Bytes::new(1000),
    allowed: "at most 1000B",
};

keys! {
    /// When a receiver acknowledges (RFC 5681 section 4.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DelayedAck: const {
        /// Packets per acknowledgment; 1 acknowledges each packet.
        packets: u32 = 1, always(WholeNumber(1, 1000));
        /// Longest delay of an acknowledgment.
        timeout: Time = Time::from_millis(200), always(UP_TO_A_SECOND);
        /// Whether the last packet of a burst that left at once, and the last one that the
        /// application wrote, is acknowledged at once (Linux 6.7: PSH).
        push: bool = false, key(Switch);
        /// Number of acknowledgments at the beginning of a connection that are not delayed (Linux:
        /// 16, TCP_MAX_QUICKACKS).
        quick: u32 = 0, key(WholeNumber(0, 1000));
        /// Longest time that packets after a gap wait to be acknowledged together, the first three
        /// excepted (Linux 4.18: tcp_comp_sack_delay_ns); 0s is none.
        sack_delay: Time = Time::ZERO, key(UP_TO_A_SECOND);
        /// Time for which the receiver's network card gathers packets. It delivers consecutive
        /// packets as one segment of at most 64 KiB (GRO). 0s is none.
        gro: Time = Time::ZERO, key(UP_TO_A_SECOND);
    }
}

impl DelayedAck {
    /// Each packet is acknowledged at once.
    pub const AT_ONCE: Self = Self::without_keys();
}

/// The time that hosts take before they deal with what arrives, drawn uniformly each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processing {
    /// It varies by the time of one packet on the slowest link of the path, and its mean is part of
    /// the round trip. Floyd and Jacobson 1992 (section 3.2) add that much to a simulation, so that
    /// no flow loses all packets because of its phase.
    Packet,
    /// A time from zero up to this, beyond the round trip and beyond [`Processing::Packet`].
    /// Packets that arrive meanwhile are processed at the same moment. Zero is exact, without
    /// either.
    UpTo(Time),
}

impl Processing {
    /// The word for [`Processing::Packet`].
    const PACKET: &'static str = "packet";
    const ALLOWED: &'static str = "\"packet\" or a time up to 1s";

    /// Whether it varies at all.
    pub const fn varies(self) -> bool {
        !matches!(self, Self::UpTo(Time::ZERO))
    }

    /// The longest time beyond the round trip.
    pub const fn beyond(self) -> Time {
        match self {
            Self::Packet => Time::ZERO,
            Self::UpTo(longest) => longest,
        }
    }
}

/// The form of `processing`.
struct ProcessingKey;

impl Form<Processing> for ProcessingKey {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Processing, ScenarioError> {
        if at.text() == Some(Processing::PACKET) {
            return Ok(Processing::Packet);
        }
        let longest = UP_TO_A_SECOND.read(at, context);
        longest
            .map(Processing::UpTo)
            .map_err(|_| at.error(Processing::ALLOWED))
    }

    fn write(&self, value: &Processing, context: &Context<'_>) -> Option<Value> {
        match value {
            Processing::Packet => Some(Processing::PACKET.into()),
            Processing::UpTo(longest) => UP_TO_A_SECOND.write(longest, context),
        }
    }

    fn grammar(&self) -> Grammar {
        let time = UP_TO_A_SECOND.grammar().schema;
        let schema = json!({"anyOf": [{"const": Processing::PACKET}, time]});
        Grammar::new(schema, Processing::ALLOWED)
    }
}

words! {
    /// How losses are repaired.
    pub enum Recovery {
        /// Fast recovery without SACK (RFC 6582).
        NewReno = "newreno",
        /// Go-back-N of RoCE: the receiver discards packets out of order and sends a NACK once per
        /// gap; the sender goes back to the missing packet (InfiniBand specification, volume 1,
        /// section 9.7; Mittal et al. 2018, section 2.1).
        GoBackN = "go_back_n",
        /// Selective acknowledgments (RFC 6675).
        Sack = "sack",
        /// Selective acknowledgments with a count of packets in flight that contains each loss
        /// until its repair is acknowledged (Fall and Floyd 1996; ns-2's Sack1).
        Pipe = "pipe",
        /// Forward acknowledgment (Mathis and Mahdavi 1996): with SACK, packets well below the
        /// highest one received are lost, retransmissions included (ns-2's Linux agents).
        Fack = "fack",
        /// Time-based loss detection with tail loss probes (RFC 8985).
        Rack = "rack",
    }
}

words! {
    /// How the window falls in a recovery with selective acknowledgments.
    pub enum Reduction {
        /// To the threshold at once: no new data is sent until the data in flight has fallen to it
        /// (RFC 6675).
        AtOnce = "at_once",
        /// In proportion to the data that arrives: proportional rate reduction (RFC 9937).
        Prr = "prr",
        /// By one packet for every second acknowledgment: rate halving (Linux up to 3.1).
        RateHalving = "rate_halving",
    }
}

words! {
    /// Timeouts of one packet that lower the slow-start threshold (RFC 5681 section 3.1).
    pub enum TimeoutSsthresh {
        /// The first one: the threshold follows from the last window that the path carried.
        First = "first",
        /// Every one: the threshold is two packets from the second timeout on (ns-2).
        Every = "every",
    }
}

words! {
    /// Which partial acknowledgments restart the retransmission timer (RFC 6582 section 4).
    pub enum PartialAckTimer {
        /// The first one of a recovery ("impatient").
        First = "first",
        /// Every one ("slow-but-steady", patient).
        Every = "every",
    }
}

words! {
    /// Effect of a fast retransmission on the retransmission timer, in recovery without SACK.
    pub enum FastRetransmitTimer {
        /// The timer continues: only acknowledgments of new data restart it (RFC 6298 section 5,
        /// RFC 6582 section 3.2).
        Keep = "keep",
        /// The timer restarts, so that the repair has a whole timeout to be acknowledged (ns-2:
        /// tcp-newreno.cc).
        Restart = "restart",
    }
}

words! {
    /// When the first two duplicate acknowledgments let a packet each go beyond the window (RFC
    /// 3042).
    pub enum LimitedTransmit {
        /// While no loss is being repaired.
        Open = "open",
        /// The same, and also after a timeout, when packets are retransmitted in order (ns-2:
        /// tcp.cc, `send_one`).
        Always = "always",
    }
}

words! {
    /// The window when a recovery without SACK ends with a full acknowledgment.
    pub enum FullAckWindow {
        /// The slow-start threshold (RFC 6582 section 3.2 step 3, option 2).
        Threshold = "threshold",
        /// The window that partial acknowledgments have left: each one subtracts the packets that
        /// it acknowledges beyond the duplicates before it. Slow start then continues up to the
        /// threshold (ns-2: tcp-newreno.cc without `exit_recovery_fix_`).
        Deflated = "deflated",
    }
}

words! {
    /// The arithmetic of the smoothed round-trip time and its variation.
    pub enum RtoArithmetic {
        /// Real numbers; the timeout is rounded up to a tick of the clock (RFC 6298 section 2).
        Real = "real",
        /// Whole eighths and quarters of a tick, for which `clock` must be above zero (Jacobson
        /// 1988, appendix A; ns-2's `rtt_update`). The variation is at least three quarters of a
        /// tick, so that the timeout is at least three ticks above the round-trip time.
        Ticks = "ticks",
    }
}

words! {
    /// Unit of the window's growth outside of fast recovery.
    pub enum AckCounting {
        /// The packets that an acknowledgment acknowledges, without a limit in slow start (RFC
        /// 3465; RFC 9406 section 4.2).
        Packets = "packets",
        /// Acknowledgments, each as if it acknowledged one packet (RFC 5681 section 3.1 allows it;
        /// ns-2's `opencwnd`). With one acknowledgment for b packets the window grows b times as
        /// slowly, as in the formulas of Padhye et al. 1998.
        Acknowledgments = "acks",
    }
}

impl Recovery {
    /// Whether acknowledgments report packets beyond a hole (RFC 2018).
    pub const fn is_selective(self) -> bool {
        !matches!(self, Self::NewReno | Self::GoBackN)
    }
}

impl Stack {
    /// The least that a packet of headers alone takes: IPv4 without options.
    const BARE: Bytes = Bytes::new(20);

    /// How the window falls in recovery: as chosen, or as the recovery's implementations do it.
    pub fn reduction(&self) -> Reduction {
        self.reduction.unwrap_or(match self.recovery {
            Recovery::Rack => Reduction::Prr,
            Recovery::Fack => Reduction::RateHalving,
            Recovery::NewReno | Recovery::GoBackN | Recovery::Sack | Recovery::Pipe => {
                Reduction::AtOnce
            }
        })
    }

    /// How the receiver acknowledges: without SACK each packet beyond a hole at once
    /// (`__tcp_ack_snd_check`).
    pub fn acknowledgments(&self) -> DelayedAck {
        DelayedAck {
            sack_delay: if self.recovery.is_selective() {
                self.delayed_ack.sack_delay
            } else {
                Time::ZERO
            },
            ..self.delayed_ack
        }
    }

    /// The window after a long pause, if the stack restarts it.
    pub fn restart_window(&self) -> Option<f64> {
        self.slow_start_after_idle.then_some(self.initial_window)
    }

    /// Bytes of a SYN: a bare header, also where data packets count none.
    pub fn syn(&self) -> Bytes {
        self.header.max(Self::BARE)
    }

    /// RFC defaults: SACK (RFC 6675; RACK for some controllers, see `Preset::stack`), ten packets
    /// initially (RFC 6928), minimum and initial RTO of 1 s (RFC 6298), each packet acknowledged.
    /// The processing time of the hosts varies by that of a packet, as that of a real host does
    /// ([`Processing::Packet`]).
    pub const RFC: Self = Self::without_keys();

    /// ns-2.35's one-way TCP agents: impatient NewReno, two packets initially, minimum RTO 0.2 s on
    /// a 10 ms clock, 3 s initially (RFC 2988), each packet acknowledged, and a 40-byte first
    /// packet. Every timeout lowers the threshold. A fast retransmission restarts the timer, and
    /// the timeout is computed in whole ticks (tcp.cc: `rtt_update`). The window stays deflated
    /// after recovery and grows by acknowledgments (tcp.cc: `recv_newack_helper`). Hosts are exact
    /// (`overhead_` is zero by default).
    pub const NS2: Self = Self {
        recovery: Recovery::NewReno,
        fast_retransmit_timer: FastRetransmitTimer::Restart,
        limited_transmit: LimitedTransmit::Always,
        full_ack_window: FullAckWindow::Deflated,
        rto_arithmetic: RtoArithmetic::Ticks,
        timeout_ssthresh: TimeoutSsthresh::Every,
        ack_counting: AckCounting::Acknowledgments,
        min_rto: Time::from_millis(200),
        initial_rto: Time::from_secs(3),
        clock: Time::from_millis(10),
        initial_window: 2.0,
        handshake: true,
        processing: Processing::UpTo(Time::ZERO),
        ..Self::RFC
    };

    /// Linux 6.18 defaults: RACK-TLP, SACK, timestamps (52-byte headers), delayed acknowledgments
    /// of two packets or 40 ms, none delayed for a burst's last packet and sixteen at first, one in
    /// a millisecond for packets beyond a hole (net/ipv4/tcp_input.c of 6.18), minimum RTO 200 ms,
    /// segmentation offload, F-RTO; round trips are measured in microseconds (srtt_us).
    pub const LINUX: Self = Self {
        recovery: Recovery::Rack,
        min_rto: Time::from_millis(200),
        clock: Time::from_micros(1),
        delayed_ack: DelayedAck {
            packets: 2,
            timeout: Time::from_millis(40),
            push: true,
            quick: 16,
            sack_delay: Time::from_millis(1),
            gro: Time::ZERO,
        },
        header: Bytes::new(52),
        timestamps: true,
        handshake: true,
        offload: true,
        offload_grows: true,
        frto: true,
        ..Self::RFC
    };
}

words! {
    /// The presets that `stack` names.
    pub(crate) enum Preset {
        /// The RFCs: SACK, or RACK for `bbr`, `bbr3` and `copa`; an initial window of ten packets,
        /// a minimum timeout of 1 s.
        Rfc = "rfc",
        /// The one-way TCP agents of ns-2.35.
        Ns2 = "ns2",
        /// The defaults of Linux 6.18: RACK-TLP, timestamps, delayed acknowledgments, offload,
        /// F-RTO.
        Linux = "linux",
    }
}

impl Preset {
    /// The choices of a group with this controller.
    ///
    /// RFC 6675 does not detect the loss of a retransmission, so that a controller that keeps its
    /// rate at losses waits for a timeout at each. Preset `rfc` gives such controllers the
    /// detection of their implementations: Linux has RACK alone for connections with SACK
    /// (`tcp_recovery` of ip-sysctl.rst). draft-ietf-ccwg-bbr names RACK and the detection of QUIC
    /// and demands neither.
    pub(crate) fn stack(self, controller: &Algorithm) -> Stack {
        match self {
            Self::Rfc if controller.detects_losses_by_time() => Stack {
                recovery: Recovery::Rack,
                ..Stack::RFC
            },
            Self::Rfc => Stack::RFC,
            Self::Ns2 => Stack::NS2,
            Self::Linux => Stack::LINUX,
        }
    }
}

/// `stack`, and the keys that change what it sets: all in the table of the flow group.
pub(crate) struct StackKeys;

impl StackKeys {
    /// The texts of `stack` and of all keys of a stack.
    pub(crate) fn described() -> Vec<KeyText> {
        let words = Form::<Preset>::grammar(&Words);
        let schema = json!({"enum": Preset::words(), "default": "rfc"});
        let grammar = Grammar { schema, ..words };
        let meaning = "Preset of a TCP implementation; each of the following keys changes one of its choices.";
        let mut preset = KeyText::of("stack", meaning, grammar);
        preset.default = "rfc".into();
        let mut texts = vec![preset];
        texts.extend(Stack::texts());
        if let Some(recovery) = texts.iter_mut().find(|text| text.name == "recovery") {
            let known = forebay_congestion::descriptions().iter();
            let names = known.filter(|it| time_based(it.name));
            let names: Vec<String> = names.map(|it| format!("`{}`", it.name)).collect();
            let (last, others) = names.split_last().expect("BBR is registered");
            let others = others.join(", ");
            recovery.add(&format!(
                "In preset `rfc` it is `rack` for {others} and {last}, whose implementations detect lost retransmissions \
                    by time (RFC 8985, RFC 9002)."
            ));
        }
        texts
    }

    /// The stack of the group in `table`, which has this controller.
    pub(crate) fn stack(
        table: &Cursor<'_>,
        controller: &Algorithm,
    ) -> Result<Stack, ScenarioError> {
        let context = Context::default();
        let preset = match table.get("stack") {
            Some(preset) => Words.read(&preset, &context)?,
            None => Preset::Rfc,
        };
        let mut stack = preset.stack(controller);
        let [recovery, rest @ ..] = Stack::PARTS else {
            return Ok(stack);
        };
        recovery.read(&mut stack, table, &context)?;
        if let Some(at) = table.get("reduction") {
            let own = match stack.recovery {
                Recovery::NewReno => Some("\"newreno\", which deflates the window"),
                Recovery::GoBackN => Some("\"go_back_n\", which sends everything in flight again"),
                Recovery::Pipe => Some("\"pipe\", which counts what is under way itself"),
                Recovery::Sack | Recovery::Fack | Recovery::Rack => None,
            };
            if let Some(own) = own {
                return Err(at.error(format!("no `reduction` with recovery = {own}")));
            }
        }
        for part in rest {
            part.read(&mut stack, table, &context)?;
        }
        Ok(stack)
    }
}
