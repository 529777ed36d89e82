//! Links that send only at certain instants: the discipline is asked for one packet or for several
//! at once. Links that hold their packets ([`crate::link::queued`]) ask the scheduler for these
//! instants.

use forebay_random::{Purpose, Stream};
use forebay_scenario::{Link as LinkSpec, Medium, Seed};
use forebay_units::{Bytes, Time};

use crate::link::delivery_trace::Opportune;
use crate::link::flush_on_outage::Flushing;
use crate::link::media::cellular::Slotted;
use crate::link::media::docsis::Granted;
use crate::link::media::wifi::Contending;
use crate::link::shaper::Shaper;
use crate::link::transmitter::{Transmitter, Usage};

/// The schedule of a queue: when it may hand over packets, and when they have left. Turns come one
/// after the other: [`Turns::next`], then [`Turns::load`] for each packet, then [`Turns::go`].
#[derive(Clone, Debug)]
pub(crate) enum Turns {
    /// At opportunities of delivery.
    Opportune(Opportune),
    /// One packet after the other, and nothing of what waits when an outage begins.
    Flushing(Flushing),
    /// One packet after the other, each when there are tokens.
    Shaped(Box<Shaper>),
    /// When a station has won the medium.
    Contending(Box<Contending>),
    /// In slots.
    Slotted(Box<Slotted>),
    /// When what was asked for is granted.
    Granted(Box<Granted>),
}

impl Turns {
    /// Whether a link has turns.
    pub(crate) fn are_of(link: &LinkSpec) -> bool {
        link.shaper.is_some()
            || link.medium.is_some()
            || link.outages.flush
            || link.opportunities().is_some()
    }

    /// Those of link number `number`, where it has turns in a run that ends at `end`, for packets up to the
    /// `largest`.
    pub(crate) fn of(
        link: &LinkSpec,
        transmitter: &Transmitter,
        (seed, number, end): (Seed, usize, Time),
        largest: Bytes,
    ) -> Option<Self> {
        if let Some(shaper) = link.shaper {
            let line = if link.changes() {
                transmitter.clone()
            } else {
                Transmitter::new(link.line_rate(), link.overhead())
            };
            let shaper = Shaper::new(shaper, line, largest + link.rate_layer.framing(), end);
            return Some(Self::Shaped(Box::new(shaper)));
        }
        if link.outages.flush {
            let outages = link.outages.realized(seed, number, end);
            let begins = outages.into_iter().map(|(begin, _)| begin);
            return Some(Self::Flushing(Flushing::new(transmitter.clone(), begins)));
        }
        if let Some(opportunities) = link.opportunities() {
            return Some(Self::Opportune(Opportune::new(opportunities.clone())));
        }
        let draws = Stream::new(seed, number as u64, Purpose::Access);
        Some(match link.medium? {
            Medium::Wifi(wifi) => {
                let phy = link.phy.clone()?;
                Self::Contending(Box::new(Contending::new(wifi, phy, link.rate, draws)))
            }
            Medium::Cellular(cellular) => {
                let steps = link.realized(seed, number, end);
                let rates = (link.phy.as_ref()?.rate, link.rate);
                Self::Slotted(Box::new(Slotted::new(cellular, rates, steps, draws)))
            }
            Medium::Docsis(docsis) => {
                Self::Granted(Box::new(Granted::new(docsis, transmitter.clone())))
            }
        })
    }

    /// The first instant from `now` on at which the discipline may be asked, where a packet waits.
    pub(crate) fn next(&mut self, now: Time) -> Time {
        match self {
            Self::Opportune(turns) => turns.next(now),
            Self::Flushing(turns) => turns.next(now),
            Self::Shaped(turns) => turns.next(now),
            Self::Contending(turns) => turns.next(now),
            Self::Slotted(turns) => turns.next(now),
            Self::Granted(turns) => turns.next(now),
        }
    }

    /// When a packet may be taken in, at `now` or later, while `waiting` bytes wait. `head` is the
    /// size of the next one, if it is known.
    pub(crate) fn ready(&mut self, now: Time, head: Option<u32>, waiting: u64) -> Time {
        match self {
            Self::Shaped(turns) => head.map_or(now, |size| turns.ready(now, size)),
            Self::Granted(turns) => turns.ready(now, waiting),
            _ => now,
        }
    }

    /// Whether all that waits is dropped at this turn.
    pub(crate) fn empties(&mut self, now: Time) -> bool {
        match self {
            Self::Flushing(turns) => turns.empties(now),
            _ => false,
        }
    }

    /// A packet of `size` bytes is taken in at a turn; whether one more may be.
    pub(crate) fn load(&mut self, size: u32) -> bool {
        match self {
            Self::Opportune(turns) => turns.load(size),
            Self::Flushing(turns) => turns.load(size),
            Self::Shaped(turns) => turns.load(size),
            Self::Contending(turns) => turns.load(size),
            Self::Slotted(turns) => turns.load(size),
            Self::Granted(turns) => turns.load(size),
        }
    }

    /// The turn ends: appends when each packet that was taken in has left, in their order, and says when
    /// the next turn may be at the earliest.
    pub(crate) fn go(&mut self, now: Time, departures: &mut Vec<Time>) -> Time {
        match self {
            Self::Opportune(turns) => turns.go(departures),
            Self::Flushing(turns) => turns.go(now, departures),
            Self::Shaped(turns) => turns.go(now, departures),
            Self::Contending(turns) => turns.go(departures),
            Self::Slotted(turns) => turns.go(departures),
            Self::Granted(turns) => turns.go(departures),
        }
    }

    /// When the packets that were taken in last have waited long enough: at their turn, at `now` where that
    /// is over, or later where they wait for tokens.
    pub(crate) fn start(&self, now: Time) -> Time {
        match self {
            Self::Shaped(turns) => turns.start().max(now),
            _ => now,
        }
    }

    /// The transmitter that sends the packets one by one, if there is one.
    pub(crate) fn transmitter(&self) -> Option<&Transmitter> {
        match self {
            Self::Flushing(turns) => Some(turns.transmitter()),
            Self::Shaped(turns) => Some(turns.line()),
            Self::Granted(turns) => Some(turns.transmitter()),
            _ => None,
        }
    }

    /// The usage until `now`.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        match self {
            Self::Opportune(turns) => Usage::sent(now, turns.sent(now)),
            Self::Flushing(turns) => turns.transmitter().usage(now),
            Self::Shaped(turns) => turns.usage(now),
            Self::Contending(turns) => Usage::sent(now, turns.sent(now)),
            Self::Slotted(turns) => Usage::sent(now, turns.sent(now)),
            Self::Granted(turns) => turns.transmitter().usage(now),
        }
    }

    /// Time from `now` until `packets` packets of `bytes` bytes in all have left, after those taken
    /// in.
    pub(crate) fn time_to_send(&self, now: Time, packets: u64, bytes: u64) -> Time {
        match self {
            Self::Opportune(turns) => turns.time_to_send(now, packets, bytes),
            Self::Flushing(turns) => turns.transmitter().time_to_empty(now, packets, bytes),
            Self::Shaped(turns) => turns.time_to_send(now, packets, bytes),
            Self::Contending(turns) => turns.time_to_send(now, bytes),
            Self::Slotted(turns) => turns.time_to_send(now, bytes),
            Self::Granted(turns) => turns.transmitter().time_to_empty(now, packets, bytes),
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::calendar::Calendar;
    use crate::ids::LinkId;
    use crate::link::queued::{Discarded, Outlet, QueuedLink, Service};
    use crate::link::statistics::Account;
    use crate::link::transmitter::Transmitter;
    use forebay_discipline::{Ecn, Label, Limit, Packet, Port, Setting, discipline};
    use forebay_units::Rate;
    use forebay_units::parameter::Parameters;

    /// The outcome of a packet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Left {
        At(Time),
        Dropped,
    }

    struct Seen(Vec<Left>);

    impl Outlet for Seen {
        fn send(&mut self, service: &Service) -> Account {
            self.0[service.packet.number as usize] = Left::At(service.departure);
            Account::ALL
        }

        fn discard(&mut self, discarded: &Discarded) {
            self.0[discarded.packet.number as usize] = Left::Dropped;
        }
    }

    /// The outcomes of packets of these sizes that arrive at these times at a drop-tail queue.
    pub(crate) fn play(turns: Turns, limit: Limit, arrivals: &[(Time, u32)]) -> Vec<Left> {
        let rate = Rate::from_bits_per_second(12_000_000);
        let setting = Setting {
            limit,
            rate,
            steps: None,
            delay: Time::ZERO,
            packet: 1500.0,
            salt: 1,
        };
        let queue = discipline("droptail", &Parameters::defaults(&[]), &setting)
            .unwrap()
            .queued(&setting);
        let port = Port::new(Stream::new(Seed::default(), 0, Purpose::Discipline));
        let link = QueuedLink::new(queue, Transmitter::new(rate, 0), port);
        let mut link = link.with_turns(Some(turns));
        let mut calendar = Calendar::new(None, Time::from_millis(1), 1, Time::from_secs(10));
        let mut seen = Seen(vec![Left::Dropped; arrivals.len()]);
        for (number, &(arrival, size)) in arrivals.iter().enumerate() {
            link.catch_up(arrival, &mut seen);
            let packet = Packet {
                arrival,
                flow: 0,
                number: number as u32,
                size,
                label: Label::new(0, 0, Ecn::NotCapable),
            };
            assert!(link.arrive(&packet, LinkId::new(0), &mut calendar));
            link.catch_up(arrival, &mut seen);
        }
        link.catch_up(Time::MAX, &mut seen);
        seen.0
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Left, play};
    use super::*;
    use forebay_discipline::Limit;
    use forebay_scenario::{Shaper as ShaperSpec, ShaperKind};
    use forebay_units::Rate;

    /// 1 B/us of tokens and a peak of 2 B/us, in front of a line of 10 B/us that adds `framing` to each packet.
    fn shaped(kind: ShaperKind, peak: bool, framing: u32) -> Turns {
        let spec = ShaperSpec {
            rate: Rate::from_bits_per_second(8_000_000),
            burst: Bytes::new(3000),
            peak: peak.then_some(Rate::from_bits_per_second(16_000_000)),
            peak_burst: None,
            kind,
        };
        let line = Transmitter::new(Rate::from_bits_per_second(80_000_000), framing);
        let shaper = Shaper::new(spec, line, Bytes::new(1500), Time::MAX);
        Turns::Shaped(Box::new(shaper))
    }

    /// Tokens of waiting packets count framing, and no reading shows more usage than possible. The
    /// next packet leaves by the predicted time, except for its bits on the line.
    #[test]
    fn shaped_packets_are_foretold_with_their_framing() {
        use ShaperKind::{Htb, Tbf};
        for (kind, peak) in [(Tbf, false), (Tbf, true), (Htb, false), (Htb, true)] {
            let arrivals = [(Time::ZERO, 1500); 20];
            let plain = play(shaped(kind, peak, 0), Limit::Packets(99), &arrivals);
            let mut turns = shaped(kind, peak, 38);
            let (mut now, mut usages, mut told) = (Time::ZERO, Vec::new(), None);
            for left in plain {
                let turn = turns.next(now);
                while now < turn {
                    usages.push(turns.usage(now));
                    now += Time::from_micros(37);
                }
                now = turn;
                turns.load(1462);
                let mut departures = Vec::new();
                turns.go(now, &mut departures);
                let departure = departures[0];
                assert_eq!(left, Left::At(departure), "{kind:?}");
                let bits = Time::from_micros(150);
                let near = |told| told <= departure && departure <= told + bits;
                let next = now + turns.time_to_send(now, 1, 1462);
                assert!(told.replace(next).is_none_or(near), "{kind:?}");
            }
            for (at, before) in usages.iter().enumerate() {
                let used = usages[at..].iter().map(|after| after.since(before));
                assert!(used.fold(0.0, f64::max) <= 1.0 + 1e-12, "{kind:?}");
            }
        }
    }
}
