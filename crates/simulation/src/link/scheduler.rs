//! Links that send only at certain instants: the discipline is asked for one packet or for several
//! at once. Links that hold their packets ([`crate::link::queued`]) ask the scheduler for these
//! instants.

use forebay_random::{Purpose, Stream};
use forebay_scenario::{Link as LinkSpec, Medium, Seed};
use forebay_units::{Bytes, Time};

use crate::link::delivery_trace::DeliveryTrace;
use crate::link::flush_on_outage::FlushOnOutage;
use crate::link::media::cellular::Tdma;
use crate::link::media::docsis::RequestGrant;
use crate::link::media::wifi::Csma;
use crate::link::shaper::Shaper;
use crate::link::transmitter::{Transmitter, Usage};

/// The schedule of a queue: when it may hand over packets, and when they have left. Turns come one
/// after the other: [`Scheduler::next`], then [`Scheduler::load`] for each packet, then
/// [`Scheduler::serve`].
#[derive(Clone, Debug)]
pub(crate) enum Scheduler {
    /// At opportunities of delivery.
    DeliveryTrace(DeliveryTrace),
    /// One packet after the other, and nothing of what waits when an outage begins.
    FlushOnOutage(FlushOnOutage),
    /// One packet after the other, each when there are tokens.
    Shaped(Box<Shaper>),
    /// When a station has won the medium.
    Csma(Box<Csma>),
    /// In slots.
    Tdma(Box<Tdma>),
    /// When what was asked for is granted.
    RequestGrant(Box<RequestGrant>),
}

impl Scheduler {
    /// Whether a link has turns.
    pub(crate) fn are_of(link: &LinkSpec) -> bool {
        link.shaper.is_some()
            || link.medium.is_some()
            || link.outages.flush
            || link.opportunities().is_some()
    }

    /// Those of link number `number`, where it has turns in a run that ends at `end`, for packets
    /// up to the `largest`.
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
            return Some(Self::FlushOnOutage(FlushOnOutage::new(
                transmitter.clone(),
                begins,
            )));
        }
        if let Some(opportunities) = link.opportunities() {
            return Some(Self::DeliveryTrace(DeliveryTrace::new(
                opportunities.clone(),
            )));
        }
        let stream = Stream::new(seed, number as u64, Purpose::Access);
        Some(match link.medium? {
            Medium::Wifi(wifi) => {
                let phy = link.phy.clone()?;
                Self::Csma(Box::new(Csma::new(wifi, phy, link.rate, stream)))
            }
            Medium::Cellular(cellular) => {
                let steps = link.realized(seed, number, end);
                let rates = (link.phy.as_ref()?.rate, link.rate);
                Self::Tdma(Box::new(Tdma::new(cellular, rates, steps, stream)))
            }
            Medium::Docsis(docsis) => {
                Self::RequestGrant(Box::new(RequestGrant::new(docsis, transmitter.clone())))
            }
        })
    }

    /// The first instant from `now` on at which the discipline may be asked, where a packet waits.
    pub(crate) fn next(&mut self, now: Time) -> Time {
        match self {
            Self::DeliveryTrace(scheduler) => scheduler.next(now),
            Self::FlushOnOutage(scheduler) => scheduler.next(now),
            Self::Shaped(scheduler) => scheduler.next(now),
            Self::Csma(scheduler) => scheduler.next(now),
            Self::Tdma(scheduler) => scheduler.next(now),
            Self::RequestGrant(scheduler) => scheduler.next(now),
        }
    }

    /// When a packet may be taken in, at `now` or later, while `waiting` bytes wait. `head` is the
    /// size of the next one, if it is known.
    pub(crate) fn ready(&mut self, now: Time, head: Option<u32>, waiting: u64) -> Time {
        match self {
            Self::Shaped(scheduler) => head.map_or(now, |size| scheduler.ready(now, size)),
            Self::RequestGrant(scheduler) => scheduler.ready(now, waiting),
            _ => now,
        }
    }

    /// Whether all that waits is dropped at this turn.
    pub(crate) fn empties(&mut self, now: Time) -> bool {
        match self {
            Self::FlushOnOutage(scheduler) => scheduler.empties(now),
            _ => false,
        }
    }

    /// A packet of `size` bytes is taken in at a turn; whether one more may be.
    pub(crate) fn load(&mut self, size: u32) -> bool {
        match self {
            Self::DeliveryTrace(scheduler) => scheduler.load(size),
            Self::FlushOnOutage(scheduler) => scheduler.load(size),
            Self::Shaped(scheduler) => scheduler.load(size),
            Self::Csma(scheduler) => scheduler.load(size),
            Self::Tdma(scheduler) => scheduler.load(size),
            Self::RequestGrant(scheduler) => scheduler.load(size),
        }
    }

    /// The turn ends: appends when each packet that was taken in has left, in their order, and says
    /// when the next turn may be at the earliest.
    pub(crate) fn serve(&mut self, now: Time, departures: &mut Vec<Time>) -> Time {
        match self {
            Self::DeliveryTrace(scheduler) => scheduler.serve(departures),
            Self::FlushOnOutage(scheduler) => scheduler.serve(now, departures),
            Self::Shaped(scheduler) => scheduler.serve(now, departures),
            Self::Csma(scheduler) => scheduler.serve(departures),
            Self::Tdma(scheduler) => scheduler.serve(departures),
            Self::RequestGrant(scheduler) => scheduler.serve(departures),
        }
    }

    /// When the packets that were taken in last have waited long enough: at their turn, at `now`
    /// where that is over, or later where they wait for tokens.
    pub(crate) fn start(&self, now: Time) -> Time {
        match self {
            Self::Shaped(scheduler) => scheduler.start().max(now),
            _ => now,
        }
    }

    /// The transmitter that sends the packets one by one, if there is one.
    pub(crate) fn transmitter(&self) -> Option<&Transmitter> {
        match self {
            Self::FlushOnOutage(scheduler) => Some(scheduler.transmitter()),
            Self::Shaped(scheduler) => Some(scheduler.line()),
            Self::RequestGrant(scheduler) => Some(scheduler.transmitter()),
            _ => None,
        }
    }

    /// The usage until `now`.
    pub(crate) fn usage(&self, now: Time) -> Usage {
        match self {
            Self::DeliveryTrace(scheduler) => Usage::sent(now, scheduler.sent(now)),
            Self::FlushOnOutage(scheduler) => scheduler.transmitter().usage(now),
            Self::Shaped(scheduler) => scheduler.usage(now),
            Self::Csma(scheduler) => Usage::sent(now, scheduler.sent(now)),
            Self::Tdma(scheduler) => Usage::sent(now, scheduler.sent(now)),
            Self::RequestGrant(scheduler) => scheduler.transmitter().usage(now),
        }
    }

    /// Time from `now` until `packets` packets of `bytes` bytes in all have left, after those taken
    /// in.
    pub(crate) fn time_to_send(&self, now: Time, packets: u64, bytes: u64) -> Time {
        match self {
            Self::DeliveryTrace(scheduler) => scheduler.time_to_send(now, packets, bytes),
            Self::FlushOnOutage(scheduler) => {
                scheduler.transmitter().time_to_empty(now, packets, bytes)
            }
            Self::Shaped(scheduler) => scheduler.time_to_send(now, packets, bytes),
            Self::Csma(scheduler) => scheduler.time_to_send(now, bytes),
            Self::Tdma(scheduler) => scheduler.time_to_send(now, bytes),
            Self::RequestGrant(scheduler) => {
                scheduler.transmitter().time_to_empty(now, packets, bytes)
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::calendar::{Calendar, Ways};
    use crate::ids::LinkId;
    use crate::link::queued::{Departures, Discarded, QueuedLink, Service};
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

    impl Departures for Seen {
        fn send(&mut self, service: &Service) -> Account {
            self.0[service.packet.number as usize] = Left::At(service.departure);
            Account::ALL
        }

        fn discard(&mut self, discarded: &Discarded) {
            self.0[discarded.packet.number as usize] = Left::Dropped;
        }
    }

    /// The outcomes of packets of these sizes that arrive at these times at a drop-tail queue.
    pub(crate) fn play(scheduler: Scheduler, limit: Limit, arrivals: &[(Time, u32)]) -> Vec<Left> {
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
        let mut link = link.with_turns(Some(scheduler));
        let mut calendar = Calendar::new(
            Ways::Access(0),
            Time::from_millis(1),
            1,
            Time::from_secs(10),
        );
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

    /// 1 B/us of tokens and a peak of 2 B/us, in front of a line of 10 B/us that adds `framing` to
    /// each packet.
    fn shaped(kind: ShaperKind, peak: bool, framing: u32) -> Scheduler {
        let spec = ShaperSpec {
            rate: Rate::from_bits_per_second(8_000_000),
            burst: Bytes::new(3000),
            peak: peak.then_some(Rate::from_bits_per_second(16_000_000)),
            peak_burst: None,
            kind,
        };
        let line = Transmitter::new(Rate::from_bits_per_second(80_000_000), framing);
        let shaper = Shaper::new(spec, line, Bytes::new(1500), Time::MAX);
        Scheduler::Shaped(Box::new(shaper))
    }

    /// Tokens of waiting packets count framing, and no reading shows more usage than possible. The
    /// next packet leaves by the predicted time, except for its bits on the line.
    #[test]
    fn shaped_packets_are_foretold_with_their_framing() {
        use ShaperKind::{Htb, Tbf};
        for (kind, peak) in [(Tbf, false), (Tbf, true), (Htb, false), (Htb, true)] {
            let arrivals = [(Time::ZERO, 1500); 20];
            let plain = play(shaped(kind, peak, 0), Limit::Packets(99), &arrivals);
            let mut scheduler = shaped(kind, peak, 38);
            let (mut now, mut usages, mut told) = (Time::ZERO, Vec::new(), None);
            for left in plain {
                let turn = scheduler.next(now);
                while now < turn {
                    usages.push(scheduler.usage(now));
                    now += Time::from_micros(37);
                }
                now = turn;
                scheduler.load(1462);
                let mut departures = Vec::new();
                scheduler.serve(now, &mut departures);
                let departure = departures[0];
                assert_eq!(left, Left::At(departure), "{kind:?}");
                let bits = Time::from_micros(150);
                let near = |told| told <= departure && departure <= told + bits;
                let next = now + scheduler.time_to_send(now, 1, 1462);
                assert!(told.replace(next).is_none_or(near), "{kind:?}");
            }
            for (at, before) in usages.iter().enumerate() {
                let used = usages[at..].iter().map(|after| after.since(before));
                assert!(used.fold(0.0, f64::max) <= 1.0 + 1e-12, "{kind:?}");
            }
        }
    }
}
