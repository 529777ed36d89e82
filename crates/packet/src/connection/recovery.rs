//! Loss recovery: what a sender does about losses, by the way that its stack has. Each way is a
//! file; what they keep and change in common is the [`ControlBlock`].

pub(super) mod algorithm;
mod fack;
mod go_back_n;
mod newreno;
mod pipe;
mod rack;
mod records;
mod sack;

use forebay_scenario::{Recovery, Stack};
use forebay_units::Time;

use self::algorithm::{Algorithm, Genuine};
use self::fack::Fack;
use self::go_back_n::GoBackN;
use self::newreno::{LIMITED_TRANSMIT, NewReno};
use self::pipe::Pipe;
use self::rack::Rack;
use self::sack::Sack;
use super::ack::AckEvent;
use super::control_block::ControlBlock;
use super::sender::Transmission;

/// The loss recovery of one connection. Those that judge each packet by itself record the sent
/// packets, which is much; so they are on the heap, too.
#[derive(Clone, Debug)]
pub(super) enum LossRecovery {
    NewReno(NewReno),
    GoBackN(GoBackN),
    Pipe(Pipe),
    Sack(Sack),
    Fack(Box<Fack>),
    Rack(Box<Rack>),
}

/// Does the same with whatever recovery it is.
macro_rules! each {
    ($recovery:expr, $algorithm:ident => $what:expr) => {
        match $recovery {
            LossRecovery::NewReno($algorithm) => $what,
            LossRecovery::GoBackN($algorithm) => $what,
            LossRecovery::Pipe($algorithm) => $what,
            LossRecovery::Sack($algorithm) => $what,
            LossRecovery::Fack($algorithm) => $what,
            LossRecovery::Rack($algorithm) => $what,
        }
    };
}

impl LossRecovery {
    /// The recovery of a stack for packets from `first` on.
    pub(super) fn new(stack: &Stack, first: u64) -> Self {
        match stack.recovery {
            Recovery::NewReno => Self::NewReno(NewReno::new(stack)),
            Recovery::GoBackN => Self::GoBackN(GoBackN),
            Recovery::Pipe => Self::Pipe(Pipe::new(first)),
            Recovery::Sack => Self::Sack(Sack::new(first)),
            Recovery::Fack => Self::Fack(Box::new(Fack::new(first))),
            Recovery::Rack => Self::Rack(Box::new(Rack::new(stack, first))),
        }
    }

    /// Whether it sees which packets arrive beyond a hole (RFC 2018).
    #[inline]
    pub(super) fn is_selective(&self) -> bool {
        !matches!(self, Self::NewReno(_) | Self::GoBackN(_))
    }

    /// Whether an arrival beyond a hole ends the timing of its packet.
    #[inline]
    pub(super) fn times_beyond_holes(&self) -> bool {
        !matches!(self, Self::NewReno(_) | Self::GoBackN(_) | Self::Pipe(_))
    }

    /// Whether it judges each packet by its record.
    pub(super) fn keeps_records(&self) -> bool {
        matches!(self, Self::Fack(_) | Self::Rack(_))
    }

    /// Packets that may leave beyond the window outside of recovery, for `sacked` packets that
    /// arrived beyond a hole.
    #[inline]
    pub(super) fn limited_transmit(&self, sacked: u64) -> u64 {
        match self {
            Self::NewReno(_) | Self::Pipe(_) => sacked.min(LIMITED_TRANSMIT),
            Self::GoBackN(_) => 0,
            Self::Sack(_) | Self::Fack(_) | Self::Rack(_) => sacked,
        }
    }

    /// See [`Algorithm::on_ack`].
    #[expect(
        clippy::inline_always,
        reason = "a call for each acknowledgment in recovery is 1 % of benches/W4.toml"
    )]
    #[inline(always)]
    pub(super) fn on_ack(&mut self, control: &mut ControlBlock, ack: &AckEvent) {
        each!(self, algorithm => algorithm.on_ack(control, ack));
    }

    /// See [`Algorithm::on_timeout`].
    pub(super) fn on_timeout(&mut self, control: &mut ControlBlock, now: Time) {
        each!(self, algorithm => algorithm.on_timeout(control, now));
    }

    /// See [`Algorithm::on_doubtful_timeout`].
    pub(super) fn on_doubtful_timeout(&mut self, control: &mut ControlBlock, now: Time) {
        each!(self, algorithm => algorithm.on_doubtful_timeout(control, now));
    }

    /// See [`Algorithm::on_genuine_timeout`].
    pub(super) fn on_genuine_timeout(
        &mut self,
        control: &mut ControlBlock,
        genuine: Genuine,
        now: Time,
    ) {
        each!(self, algorithm => algorithm.on_genuine_timeout(control, genuine, now));
    }

    /// See [`Algorithm::repeat_first`].
    pub(super) fn repeat_first(&mut self, control: &mut ControlBlock, packet: u64) -> Transmission {
        each!(self, algorithm => algorithm.repeat_first(control, packet))
    }

    /// See [`Algorithm::next_packet`].
    #[expect(
        clippy::inline_always,
        reason = "a call for each packet in recovery is 2 % of benches/W4.toml"
    )]
    #[inline(always)]
    pub(super) fn next_packet(
        &mut self,
        control: &mut ControlBlock,
        now: Time,
    ) -> Option<Transmission> {
        each!(self, algorithm => algorithm.next_packet(control, now))
    }

    /// A packet leaves.
    pub(super) fn on_send(
        &mut self,
        control: &mut ControlBlock,
        transmission: Transmission,
        now: Time,
    ) {
        match self {
            Self::NewReno(_) | Self::GoBackN(_) | Self::Pipe(_) | Self::Sack(_) => {}
            Self::Fack(fack) => fack.on_send(control, transmission, now),
            Self::Rack(rack) => rack.on_send(control, transmission, now),
        }
    }

    /// A timer beside the retransmission timer has expired: only RACK has any.
    pub(super) fn on_timer(&mut self, control: &mut ControlBlock, now: Time) {
        if let Self::Rack(rack) = self {
            rack.on_timer(control, now);
        }
    }

    /// A probe of the tail, where one must leave now.
    pub(super) fn take_probe(
        &mut self,
        control: &mut ControlBlock,
        now: Time,
    ) -> Option<Transmission> {
        match self {
            Self::Rack(rack) => rack.take_probe(control, now),
            _ => None,
        }
    }
}
