//! Pauses of a link with a discipline: of the whole link, or of its classes. The link asks here
//! which of its packets wait for the end of a pause.

use forebay_discipline::{Backlog, Packet, Queue};
use forebay_units::Time;

use super::{Departures, QueuedLink, Resume};

impl QueuedLink {
    /// A pause by a queue behind it begins or ends: of this class, or of the whole link if it has
    /// no classes. What has left before `now` must have been done.
    pub(crate) fn pause(
        &mut self,
        (class, begins): (u8, bool),
        now: Time,
        sink: &mut impl Departures,
    ) {
        let class = usize::from(class);
        let resumes = match &mut self.class_pauses {
            None => self.server.pauses.change(begins, now),
            Some(pauses) => match pauses.change(class, begins, now) {
                Some(is_paused) => self.hold(class, is_paused),
                None => false,
            },
        };
        if resumes {
            let Self { queue, server, .. } = self;
            queue.work(Resume { server, sink, now });
        }
    }

    /// Takes a class out of the schedule, or back into it. Says whether the link, which sends
    /// nothing, has a packet of it to send.
    fn hold(&mut self, class: usize, is_paused: bool) -> bool {
        let Queue::Classes(classes) = &mut self.queue else {
            return false;
        };
        classes.pause(class, is_paused);
        !is_paused && self.server.idle() && classes.backlog_of(class).packets > 0
    }

    /// Time that it was paused from the warm-up's end to `now`.
    pub(crate) fn paused(&self, now: Time) -> Time {
        let of_classes = self.class_pauses.as_ref().map(|pauses| pauses.total(now));
        of_classes.unwrap_or_else(|| self.server.pauses.total(now))
    }

    /// Whether a class has packets to send and is paused; without classes, whether the link is.
    pub(crate) fn is_stalled(&self, class: u8) -> bool {
        let stalled = match &self.class_pauses {
            None => self.server.pauses.stalled,
            Some(pauses) => pauses.are_on(usize::from(class)),
        };
        stalled && self.backlog_of(class).packets > 0
    }

    /// Whether another class than that of a packet would be the longest one with this packet.
    pub(crate) fn has_longer_class(&self, packet: &Packet) -> bool {
        match &self.queue {
            Queue::Classes(classes) => classes.has_longer(packet.group(), packet.size),
            _ => false,
        }
    }

    /// Whether a packet of a flow group that arrives now is sent at once.
    pub(crate) fn sends_at_once(&self, group: u16) -> bool {
        let is_paused = match (&self.class_pauses, &self.queue) {
            (Some(pauses), Queue::Classes(classes)) => pauses.are_on(classes.class_of(group)),
            _ => self.server.pauses.are_on(),
        };
        self.idle() && !is_paused
    }

    /// Whether a packet waits that no pause of a class holds, and follows one in transmission.
    pub(super) fn has_unpaused(&self) -> bool {
        match (&self.class_pauses, &self.queue) {
            (Some(_), Queue::Classes(classes)) => !self.idle() && classes.has_unpaused(),
            _ => true,
        }
    }

    /// Packets and bytes waiting in a class; all of them if it has no classes.
    pub(crate) fn backlog_of(&self, class: u8) -> Backlog {
        match &self.queue {
            Queue::Classes(classes) => classes.backlog_of(usize::from(class)),
            queue => queue.backlog(),
        }
    }

    /// Ends the pauses of its classes. Says whether the link is to send.
    pub(super) fn end_class_pauses(&mut self, end: Time) -> bool {
        let Some(pauses) = &mut self.class_pauses else {
            return false;
        };
        let mut resumes = false;
        for class in pauses.end(end).collect::<Vec<_>>() {
            resumes |= self.hold(class, false);
        }
        resumes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::{Calendar, Ways};
    use crate::ids::LinkId;
    use crate::link::queued::{Discarded, Service};
    use crate::link::statistics::Account;
    use crate::link::{Departures as Kind, Link, LinkSetup};
    use forebay_discipline::{Ecn, Label};
    use forebay_random::Seed;
    use forebay_scenario::{Format, Scenario};

    /// Counts the packets that leave.
    struct Sent(Vec<u16>);

    impl Departures for Sent {
        fn send(&mut self, service: &Service) -> Account {
            self.0.push(service.packet.group());
            Account::ALL
        }

        fn discard(&mut self, _: &Discarded) {}
    }

    /// The link of 8 Gb/s before a lossless one.
    fn pausable(queue: &str) -> QueuedLink {
        let text = format!(
            "[[links]]\nname = \"first\"\nrate = \"8Gbps\"\nbuffer = \"9p\"\n{queue}\n\
             [[links]]\nname = \"port\"\nrate = \"1Gbps\"\nbuffer = \"9p\"\ntarget = true\n\
             pfc = {{ xoff = \"9kB\", xon = \"6kB\", headroom = \"5kB\" }}\n\
             [[flows]]\nname = \"a\"\npath = [\"first\", \"port\"]\nrtt = \"1ms\"\n\
             [[flows]]\nname = \"b\"\npath = [\"first\", \"port\"]\nrtt = \"1ms\"\n"
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        let setup = LinkSetup {
            seed: Seed::default(),
            number: 0,
            scenario: &scenario,
            departures: Kind::Folded,
        };
        match Link::new(setup) {
            Some(Link::Queued(link)) => *link,
            other => panic!("{other:?}"),
        }
    }

    /// Packets of 1000 bytes, which take a microsecond each, arrive at once.
    fn arrive(link: &mut QueuedLink, now: Time, groups: &[u16], sent: &mut Sent) {
        let mut calendar = Calendar::new(Ways::Constant(1), Time::from_micros(1), 1, Time::MAX);
        for group in groups {
            let packet = Packet {
                arrival: now,
                flow: 0,
                number: 0,
                size: 1000,
                label: Label::new(0, *group, Ecn::NotCapable),
            };
            assert!(link.arrive(&packet, LinkId::new(0), &mut calendar));
            link.catch_up(now, sent);
        }
    }

    const CLASSES: &str = "queue = { kind = \"classes\", schedule = \"dwrr\", classes = [\
                           { name = \"a\", groups = [\"a\"] }, { name = \"b\" }] }";

    /// When the packet in transmission has left, a paused link sends no other one: all that wait go
    /// on waiting, also before the link has caught up with that.
    #[test]
    fn packets_of_a_paused_link_wait_when_the_one_in_transmission_has_left() {
        let end = Time::from_micros(1);
        for (queue, pauses) in [("", 1), (CLASSES, 2)] {
            let (mut link, mut sent) = (pausable(queue), Sent(Vec::new()));
            arrive(&mut link, Time::ZERO, &[0, 0, 1], &mut sent);
            assert_eq!((link.waiting(Time::ZERO), link.waiting(end)), (2, 1));
            for class in 0..pauses {
                link.pause((class, true), Time::ZERO, &mut sent);
            }
            assert_eq!(link.waiting(end), 2, "{queue}");
            link.catch_up(Time::from_micros(2), &mut sent);
            assert_eq!((link.waiting(Time::from_micros(5)), sent.0.len()), (2, 1));
            assert!(link.is_stalled(0));
        }
    }

    /// A packet that arrives at an idle link waits if the link or its class is paused.
    #[test]
    fn an_idle_link_that_is_paused_sends_no_arrival_at_once() {
        let packet = |group| Packet {
            arrival: Time::ZERO,
            flow: 0,
            number: 0,
            size: 1000,
            label: Label::new(0, group, Ecn::NotCapable),
        };
        let mut sent = Sent(Vec::new());
        let mut plain = pausable("");
        assert!(plain.sends_at_once(0));
        plain.pause((0, true), Time::ZERO, &mut sent);
        assert!(!plain.sends_at_once(0) && !plain.sends_at_once(1));
        let mut link = pausable(CLASSES);
        link.pause((1, true), Time::ZERO, &mut sent);
        assert!(link.sends_at_once(0) && !link.sends_at_once(1));
        assert!(!link.has_longer_class(&packet(0)));
        // The paused class waits, the other one leaves, and the end of the pause releases the
        // first.
        arrive(&mut link, Time::from_micros(1), &[1, 1, 0], &mut sent);
        assert_eq!(sent.0, [0]);
        assert!(link.has_longer_class(&packet(0)) && link.is_stalled(1) && !link.is_stalled(0));
        link.catch_up(Time::from_micros(3), &mut sent);
        assert_eq!((link.idle(), link.waiting(Time::from_micros(3))), (true, 2));
        link.pause((1, false), Time::from_micros(3), &mut sent);
        assert_eq!(sent.0, [0, 1]);
        assert_eq!(link.paused(Time::from_micros(9)), Time::from_micros(3));
    }

    /// The end of a pause sends no packet while another one is in transmission.
    #[test]
    fn a_class_that_resumes_waits_for_the_packet_in_transmission() {
        let (mut link, mut sent) = (pausable(CLASSES), Sent(Vec::new()));
        link.pause((1, true), Time::ZERO, &mut sent);
        arrive(&mut link, Time::ZERO, &[0, 1], &mut sent);
        link.pause((1, false), Time::from_picos(500_000), &mut sent);
        assert_eq!(sent.0, [0]);
        link.catch_up(Time::from_micros(2), &mut sent);
        assert_eq!(sent.0, [0, 1]);
    }

    /// The wait of what a pause keeps to the end of the run is known, and the pause is over.
    #[test]
    fn the_end_of_a_run_ends_the_pauses_of_classes() {
        let (mut link, mut sent) = (pausable(CLASSES), Sent(Vec::new()));
        link.pause((0, true), Time::ZERO, &mut sent);
        arrive(&mut link, Time::from_micros(1), &[0, 0], &mut sent);
        assert!(sent.0.is_empty());
        link.finish(Time::from_micros(4), &mut sent);
        assert_eq!(sent.0, [0, 0]);
        assert_eq!(link.paused(Time::from_micros(4)), Time::from_micros(4));
        // Two packets waited for three microseconds.
        assert_eq!(link.occupancy(), 2 * 3_000_000);
    }
}
