//! CoDel, controlled delay (Nichols, Jacobson, McGregor and Iyengar, RFC 8289). It drops at the
//! head once the sojourn time has stayed above a target for an interval. The gaps between further
//! drops shrink with the square root of the number of drops. Dropping ends when the sojourn time is
//! below the target.

use std::collections::VecDeque;

use forebay_units::Time;
use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};

use crate::packet::Packet;
use crate::port::{Backlog, Limit, Port, Setting};
use crate::queue_discipline::QueueDiscipline;

/// Target and interval (RFC 8289 section 4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlLaw {
    pub(crate) target: Time,
    pub(crate) interval: Time,
    /// If at most this many bytes wait, no packet is dropped (RFC 8289 section 5.2).
    pub(crate) max_packet: u64,
}

impl ControlLaw {
    /// Reads the values of the parameters.
    pub(crate) fn new(parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            target: parameters.time("target"),
            interval: parameters.time("interval"),
            max_packet: setting.packet.ceil() as u64,
        }
    }

    /// The time t + interval / sqrt(count) (RFC 8289 section 5.3).
    fn next(&self, from: Time, count: u32) -> Time {
        let interval = self.interval.as_picos() as f64;
        let gap = interval / f64::from(count.max(1)).sqrt();
        from.saturating_add(Time::from_picos(gap as u64))
    }
}

/// The parameter `target`.
pub(crate) const TARGET: Parameter = Parameter {
    name: "target",
    meaning: "Acceptable standing delay (RFC 8289 section 4.3).",
    kind: ParameterKind::Time,
    default: Value::Time(Time::from_millis(5)),
};

/// The parameter `interval`.
pub(crate) const INTERVAL: Parameter = Parameter {
    name: "interval",
    meaning: "Time for which the delay must stay above the target, about the largest round trip (RFC 8289 section 4.3).",
    kind: ParameterKind::Time,
    default: Value::Time(Time::from_millis(100)),
};

/// A queue of packets that CoDel controls.
pub(crate) trait Source {
    /// Removes the packet at the head.
    fn pop(&mut self) -> Option<Packet>;

    /// Bytes still waiting, compared with one packet.
    fn bytes(&self) -> u64;
}

/// The state of one CoDel queue (RFC 8289 section 5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CoDelState {
    /// The time at which the delay will have been above the target for an interval; `None` while it
    /// is below.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CoDelState {
    /// Removes the next packet and returns whether it may be dropped (RFC 8289 section 5.4,
    /// `dodequeue`).
    fn take(
        &mut self,
        law: &ControlLaw,
        source: &mut impl Source,
        now: Time,
    ) -> Option<(Packet, bool)> {
        let Some(packet) = source.pop() else {
            self.first_above = None;
            return None;
        };
        let may_drop = self.may_drop(law, now, (packet.arrival, source.bytes()));
        Some((packet, may_drop))
    }

    /// Whether a packet that arrived at `arrival` may be dropped, with `left` bytes behind it.
    #[inline]
    fn may_drop(&mut self, law: &ControlLaw, now: Time, (arrival, left): (Time, u64)) -> bool {
        if now.saturating_sub(arrival) < law.target || left <= law.max_packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.saturating_add(law.interval));
                false
            }
            Some(due) => now >= due,
        }
    }

    /// The packet to transmit (RFC 8289 section 5.5). A packet that can be marked is not dropped.
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    pub(crate) fn dequeue(
        &mut self,
        law: &ControlLaw,
        source: &mut impl Source,
        port: &mut Port,
    ) -> Option<Packet> {
        let Some(packet) = source.pop() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        if self.may_drop(law, port.now, (packet.arrival, source.bytes())) {
            return self.control(packet, law, (source, port));
        }
        self.dropping = false;
        Some(packet)
    }

    /// The packet to transmit if this one may be dropped.
    #[inline(never)]
    fn control(
        &mut self,
        mut packet: Packet,
        law: &ControlLaw,
        (source, port): (&mut impl Source, &mut Port),
    ) -> Option<Packet> {
        let now = port.now;
        if !self.dropping {
            let taken = if port.mark(&mut packet) {
                Some(packet)
            } else {
                port.discard(packet);
                self.take(law, source, now).map(|(next, _)| next)
            };
            self.enter(law, now);
            return taken;
        }
        while self.dropping && now >= self.drop_next {
            self.count = self.count.saturating_add(1);
            if port.mark(&mut packet) {
                self.drop_next = law.next(self.drop_next, self.count);
                break;
            }
            port.discard(packet);
            let Some((next, may_drop)) = self.take(law, source, now) else {
                self.dropping = false;
                return None;
            };
            packet = next;
            self.dropping = may_drop;
            if may_drop {
                self.drop_next = law.next(self.drop_next, self.count);
            }
        }
        Some(packet)
    }

    /// Starts dropping. If the last dropping phase was recent, it starts at the rate of that phase
    /// (RFC 8289 section 5.5: within 16 intervals).
    fn enter(&mut self, law: &ControlLaw, now: Time) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.saturating_sub(self.drop_next) < law.interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = law.next(now, self.count);
        self.last_count = self.count;
    }
}

/// The discipline `codel`.
#[derive(Clone, Debug)]
pub struct CoDel {
    limit: Limit,
    law: ControlLaw,
    state: CoDelState,
    waiting: Waiting,
}

#[derive(Clone, Debug, Default)]
struct Waiting {
    packets: VecDeque<Packet>,
    backlog: Backlog,
}

impl Source for Waiting {
    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.backlog.remove(packet.size);
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        self.backlog.bytes
    }
}

impl QueueDiscipline for CoDel {
    const DESCRIPTION: Description = Description {
        name: "codel",
        aliases: &[],
        title: "Controlled delay: drops or marks at the head when packets have waited too long",
        formula: &[
            "drops or marks at the head once the sojourn time was above target for an interval",
            "the next one after interval/√count, count being the drops so far",
            "until the sojourn time is below target, or no more than a packet waits",
        ],
        source: "RFC 8289",
        checked: &[
            Evidence::Trend("ns-3.48: CoDelQueueDisc"),
            Evidence::Theory("the times of drops under steady overload (RFC 8289)"),
        ],
        parameters: &[TARGET, INTERVAL],
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            limit: setting.limit,
            law: ControlLaw::new(parameters, setting),
            state: CoDelState::default(),
            waiting: Waiting::default(),
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        let waiting = &mut self.waiting;
        if port.idle_since.is_none() && !self.limit.fits(waiting.backlog, packet.size) {
            port.discard(packet);
            return;
        }
        waiting.backlog.add(packet.size);
        waiting.packets.push_back(packet);
    }

    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        self.state.dequeue(&self.law, &mut self.waiting, port)
    }

    fn backlog(&self) -> Backlog {
        self.waiting.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Ecn;
    use crate::packet::testing::{packet, with_ecn};
    use crate::port::testing::{port, setting};

    fn codel() -> CoDel {
        let parameters = Parameters::defaults(CoDel::DESCRIPTION.parameters);
        CoDel::new(&parameters, &setting(Limit::Packets(1_000_000)))
    }

    /// Fills the queue with packets that arrived at time zero and takes one every millisecond from
    /// `from_ms` on. Returns the time of each drop or mark, in ms.
    fn signals(ecn: Ecn, from_ms: u64, until_ms: u64) -> Vec<u64> {
        let (mut codel, mut port) = (codel(), port());
        for number in 0..10_000 {
            codel.enqueue(with_ecn(ecn, number), &mut port);
        }
        let mut times = Vec::new();
        for ms in from_ms..until_ms {
            port.now = Time::from_millis(ms);
            let taken = codel.dequeue(&mut port).unwrap();
            let signals = port.discards.drain(..).count() + usize::from(taken.marked());
            times.extend(std::iter::repeat_n(ms, signals));
        }
        times
    }

    #[test]
    fn drops_follow_the_control_law() {
        // The delay is above the target from the first dequeue at 10 ms. The first drop comes an
        // interval later.
        let times = signals(Ecn::NotCapable, 10, 2000);
        let mut expected = vec![110.0];
        for count in 1..times.len() {
            expected.push(expected[count - 1] + 100.0 / (count as f64).sqrt());
        }
        assert!(times.len() > 10, "{times:?}");
        for (time, expected) in times.iter().zip(&expected) {
            // A drop happens at the first dequeue, one per millisecond, at or after its time.
            let late = *time as f64 - expected;
            assert!((-1e-6..1.0).contains(&late), "{times:?} {expected}");
        }
    }

    #[test]
    fn marks_take_the_place_of_drops_at_the_same_times() {
        let marks = signals(Ecn::Classic, 10, 600);
        assert_eq!(marks, signals(Ecn::NotCapable, 10, 600));
    }

    #[test]
    fn below_the_target_nothing_is_dropped_and_dropping_ends() {
        let (mut codel, mut port) = (codel(), port());
        for ms in 0..5000 {
            port.now = Time::from_millis(ms);
            for _ in 0..2 {
                let mut packet = packet(0, 0, 500);
                packet.arrival = port.now;
                codel.enqueue(packet, &mut port);
            }
            port.now += Time::from_micros(4900);
            codel.dequeue(&mut port);
            codel.dequeue(&mut port);
        }
        assert!(port.discards.is_empty());
        assert!(!codel.state.dropping);
    }

    #[test]
    fn the_last_packet_is_never_dropped() {
        let (mut codel, mut port) = (codel(), port());
        for ms in (0..10_000).step_by(50) {
            port.now = Time::from_millis(ms);
            let mut packet = packet(0, 0, 1000);
            packet.arrival = port.now;
            codel.enqueue(packet, &mut port);
            port.now += Time::from_millis(40);
            assert!(codel.dequeue(&mut port).is_some());
        }
        assert!(port.discards.is_empty());
    }

    /// A queue among others that hold many bytes, so its own last packet may be dropped.
    struct AmongOthers(VecDeque<Packet>);

    impl Source for AmongOthers {
        fn pop(&mut self) -> Option<Packet> {
            self.0.pop_front()
        }

        fn bytes(&self) -> u64 {
            1_000_000
        }
    }

    /// RFC 8289 section 5.4: if the queue is empty, `first_above_time` is 0.
    #[test]
    fn an_empty_queue_forgets_that_its_delay_was_above_the_target() {
        let parameters = Parameters::defaults(CoDel::DESCRIPTION.parameters);
        let law = ControlLaw::new(&parameters, &setting(Limit::Packets(1000)));
        let mut port = port();
        let mut state = CoDelState::default();
        // Each packet waits 10 ms. The second would be due to be dropped 100 ms after the first.
        for (sent, empties) in [(10, true), (115, false), (220, false)] {
            let mut packet = packet(0, sent, 1000);
            packet.arrival = Time::from_millis(u64::from(sent) - 10);
            port.now = Time::from_millis(u64::from(sent));
            let mut source = AmongOthers([packet].into());
            state.dequeue(&law, &mut source, &mut port);
            if empties {
                assert_eq!(state.dequeue(&law, &mut source, &mut port), None);
            }
        }
        let dropped: Vec<u32> = port.discards.iter().map(|packet| packet.number).collect();
        assert_eq!(dropped, [220]);
    }

    #[test]
    fn soon_after_it_resumes_at_the_rate_it_had() {
        let (mut codel, mut port) = (codel(), port());
        codel.state = CoDelState {
            count: 30,
            last_count: 10,
            drop_next: Time::from_secs(1),
            ..CoDelState::default()
        };
        codel.state.enter(&codel.law, Time::from_millis(1100));
        assert_eq!(codel.state.count, 20);
        codel.state.enter(&codel.law, Time::from_secs(10));
        assert_eq!(codel.state.count, 1);
        assert!(codel.dequeue(&mut port).is_none());
        assert!(!codel.state.dropping);
    }

    /// RFC 8289 section 5.5: the old rate counts until 16 intervals after the next drop was due.
    #[test]
    fn the_rate_is_forgotten_after_sixteen_intervals() {
        for (after_ms, count) in [(1_599, 20), (1_600, 1)] {
            let mut codel = codel();
            codel.state = CoDelState {
                count: 30,
                last_count: 10,
                drop_next: Time::from_secs(1),
                ..CoDelState::default()
            };
            let now = Time::from_secs(1) + Time::from_millis(after_ms);
            codel.state.enter(&codel.law, now);
            assert_eq!(codel.state.count, count, "{after_ms}");
        }
    }

    /// Whether packets with this sojourn time are dropped within ten intervals, with a packet of
    /// `behind` bytes behind each.
    fn drops(wait: Time, behind: u32) -> bool {
        let (mut codel, mut port) = (codel(), port());
        for ms in 0..1000 {
            port.now = Time::from_millis(ms) + wait;
            for size in [1000, behind] {
                let mut packet = packet(0, 0, size);
                packet.arrival = Time::from_millis(ms);
                codel.enqueue(packet, &mut port);
            }
            codel.dequeue(&mut port);
            codel.waiting = Waiting::default();
        }
        !port.discards.is_empty()
    }

    /// RFC 8289 section 5.4: a wait equal to the target counts as above it. One packet behind does
    /// not count as a queue.
    #[test]
    fn the_target_itself_is_above_it_and_one_packet_behind_is_no_queue() {
        let target = Time::from_millis(5);
        assert!(drops(target, 1001));
        assert!(!drops(target.saturating_sub(Time::from_picos(1)), 1001));
        assert!(!drops(target, 1000));
    }

    #[test]
    fn a_full_queue_drops_the_arrival() {
        let parameters = Parameters::defaults(CoDel::DESCRIPTION.parameters);
        let mut codel = CoDel::new(&parameters, &setting(Limit::Packets(1)));
        let mut port = port();
        codel.enqueue(packet(0, 0, 1000), &mut port);
        codel.enqueue(packet(0, 1, 1000), &mut port);
        assert_eq!(port.discards[0].number, 1);
    }
}
