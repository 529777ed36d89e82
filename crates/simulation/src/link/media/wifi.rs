//! Wi-Fi: a turn is an aggregate of the packets that wait when the station's backoff is over.
//! Contending stations are not simulated one by one. In each slot another station sends with the
//! probability of [`forebay_scenario::Contention`], so that the link's rate is known beforehand.

use forebay_random::Stream;
use forebay_scenario::{Contention, Phy, SLOT, Wifi};
use forebay_units::{Bytes, Rate, Time, Work};

/// A station that contends for the medium.
#[derive(Clone, Debug)]
pub(crate) struct Csma {
    wifi: Wifi,
    phy: Phy,
    contention: Contention,
    /// Rate of the medium for packets of the usual size when it is never idle.
    rate: Rate,
    draws: Stream,
    /// When its backoff is over.
    ready: Time,
    /// Frames and bytes of the aggregate at hand, and the part of a link's time that its packets
    /// are.
    frames: u64,
    bytes: u64,
    shares: f64,
    /// Whether no more fits.
    full: bool,
    /// A packet's part of a link's time, of the size asked for last.
    share: (u32, f64),
    spent: Spent,
    last: Turn,
}

/// The turn taken last.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    begin: Time,
    end: Time,
    spent: Spent,
}

/// Seconds, of all turns or of one.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    /// Time in which a link that is never idle would send the same packets, in seconds.
    used: f64,
    /// Excess of the turns over their average length: a link cannot influence its draws.
    beyond: f64,
}

impl Csma {
    pub(crate) fn new(wifi: Wifi, phy: Phy, rate: Rate, draws: Stream) -> Self {
        Self {
            wifi,
            contention: wifi.contention(phy.packet, phy.rate),
            phy,
            rate,
            draws,
            ready: Time::ZERO,
            frames: 0,
            bytes: 0,
            shares: 0.0,
            full: false,
            share: (0, 0.0),
            spent: Spent::default(),
            last: Turn::default(),
        }
    }

    /// A station whose backoff is over sends at once where the medium is idle, and where it is not
    /// draws another backoff (802.11-2016 section 10.22.2.2).
    pub(crate) fn next(&mut self, now: Time) -> Time {
        if now > self.ready {
            self.ready = self.access(now);
        }
        self.ready
    }

    /// When a packet may go that arrives at `now`, after the backoff.
    fn access(&mut self, now: Time) -> Time {
        if self.contention.collision <= 0.0 {
            return now;
        }
        // The sender at that time does not depend on aggregates long before.
        let memory = self.contention.busy(Time::ZERO, 0.0) * 64;
        let mut at = self.ready.max(now.saturating_sub(memory));
        loop {
            let idle =
                libm::log(self.draws.uniform_positive()) / libm::log1p(-self.contention.collision);
            at = at.saturating_add(SLOT.saturating_mul(idle as u64));
            if now < at {
                return now;
            }
            at = at.saturating_add(self.somebody(Time::ZERO));
            if now < at {
                return at.saturating_add(self.backoff(0));
            }
        }
    }

    /// Takes a packet into the aggregate; whether another one may be taken, as large as they come.
    pub(crate) fn load(&mut self, size: u32) -> bool {
        let packet = u64::from(size);
        if self.share.0 != size {
            let (wifi, rate) = (&self.wifi, self.phy.rate);
            let turn = self.contention.turn(wifi.full(packet, rate));
            self.share = (size, turn / wifi.most(packet, rate) as f64);
        }
        self.shares += self.share.1;
        self.frames += 1;
        self.bytes += Wifi::frame(packet);
        let more = self.bytes + Wifi::frame(self.phy.largest);
        self.full = !self.wifi.allows(self.frames + 1, more, self.phy.rate);
        !self.full
    }

    /// Sends the aggregate, again and again where it collides. Its packets arrive when it has
    /// ended.
    pub(crate) fn serve(&mut self, departures: &mut Vec<Time>) -> Time {
        let own = self.wifi.air_time(self.bytes, self.phy.rate);
        let (begin, mut collisions, mut at) = (self.ready, 0, self.ready);
        while self.happens() {
            collisions += 1;
            at = at.saturating_add(self.somebody(own));
            at = at.saturating_add(self.backoff(collisions));
        }
        let departure = at.saturating_add(own);
        // All at once, but in an order that the calendar keeps.
        let nth = |number| departure.saturating_add(Time::from_picos(number));
        departures.extend((0..self.frames).map(nth));
        let behind = self.wifi.behind();
        self.ready = departure
            .saturating_add(behind)
            .saturating_add(self.backoff(0));
        self.count(begin, own);
        self.ready
    }

    /// Counts a turn that has taken from `begin` until the next backoff is over.
    fn count(&mut self, begin: Time, own: Time) {
        let mean = self.contention.turn(own);
        let used = if self.full {
            mean
        } else {
            self.shares.min(mean)
        };
        let beyond = self.ready.saturating_sub(begin).as_secs_f64() - mean;
        let spent = Spent { used, beyond };
        self.spent.used += used;
        self.spent.beyond += beyond;
        self.last = Turn {
            begin,
            end: self.ready,
            spent,
        };
        (self.frames, self.bytes, self.shares, self.full) = (0, 0, 0.0, false);
    }

    /// The time of the backoff. A station does not count slots down while another station sends.
    fn backoff(&mut self, collisions: u32) -> Time {
        let slots = self.draws.below(self.wifi.window(collisions));
        if self.contention.collision <= 0.0 {
            return SLOT * slots;
        }
        let mut time = Time::ZERO;
        for _ in 0..slots {
            let slot = if self.happens() {
                self.somebody(Time::ZERO)
            } else {
                SLOT
            };
            time = time.saturating_add(slot);
        }
        time
    }

    /// Whether another station sends in a slot.
    fn happens(&mut self) -> bool {
        self.contention.collision > 0.0 && self.draws.uniform() < self.contention.collision
    }

    /// How long the medium is busy then, with an aggregate of its own of this time.
    fn somebody(&mut self, own: Time) -> Time {
        let draw = self.draws.uniform();
        self.contention.busy(own, draw)
    }

    /// The data sent until `now`, and the data that could have been sent with turns of average
    /// length, both in packets of the usual size. A turn counts evenly over its time.
    pub(crate) fn sent(&self, now: Time) -> (Work, Work) {
        let Turn { begin, end, spent } = self.last;
        let whole = end.saturating_sub(begin).as_secs_f64().max(1e-12);
        let left = (end.saturating_sub(now).as_secs_f64() / whole).min(1.0);
        let used = self.spent.used - left * spent.used;
        let beyond = self.spent.beyond - left * spent.beyond;
        let work = |seconds: f64| Work::at(self.rate, Time::from_secs_f64(seconds.max(0.0)));
        (work(used), work(now.as_secs_f64() - beyond))
    }

    /// Time until `bytes` bytes have left, after those taken in.
    pub(crate) fn time_to_send(&self, now: Time, bytes: u64) -> Time {
        let ahead = self.ready.saturating_sub(now);
        ahead.saturating_add(self.rate.time_to_send(Bytes::new(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use forebay_random::{Purpose, Seed};
    use forebay_scenario::{Format, Medium, Scenario};

    use super::*;

    /// A station of a scenario with this medium.
    fn station(medium: &str, packet: &str) -> Csma {
        let text = format!(
            "[link]\nrate = \"390Mbps\"\nbuffer = \"100p\"\nmedium = {{ kind = \"wifi\"{medium} }}\n\
             [[flows]]\nrtt = \"10ms\"\npacket = \"{packet}\""
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        let link = scenario.target();
        let (Some(Medium::Wifi(wifi)), Some(phy)) = (link.medium, &link.phy) else {
            panic!("{link:?}");
        };
        let draws = Stream::new(Seed::default(), 0, Purpose::Access);
        Csma::new(wifi, phy.clone(), link.rate, draws)
    }

    /// Runs `turns` turns of a station that always has packets. Returns the bytes, the seconds, and
    /// the relative error of their mean.
    fn saturate(station: &mut Csma, size: u32, turns: u32) -> (f64, f64, f64) {
        let (mut now, mut sent, mut departures) = (Time::ZERO, 0.0, Vec::new());
        let mut squares = 0.0;
        for _ in 0..turns {
            let begin = station.next(now);
            while station.load(size) {}
            now = station.serve(&mut departures);
            squares += (now - begin).as_secs_f64() * (now - begin).as_secs_f64();
            sent += departures.len() as f64 * f64::from(size);
            departures.clear();
        }
        let (seconds, n) = (now.as_secs_f64(), f64::from(turns));
        let mean = seconds / n;
        (
            sent,
            seconds,
            (squares / n - mean * mean).sqrt() / mean / n.sqrt(),
        )
    }

    /// Turns drawn one by one carry the throughput of the closed form, within the sampling error of
    /// their mean. They use exactly the data that could have been sent.
    #[test]
    fn a_station_that_is_never_idle_carries_the_rate() {
        for (medium, packet, size) in [
            ("", "1500B", 1500),
            (", frames = 1", "1500B", 1500),
            (", stations = 1", "1500B", 1500),
            (", stations = 9, cw_max = 255", "300B", 300),
            (", stations = 4, slow = \"6500kbps\"", "1500B", 1500),
            (", stations = 50, aifsn = 7", "1500B", 1500),
        ] {
            let mut station = station(medium, packet);
            let turns = 30_000;
            let (bytes, seconds, error) = saturate(&mut station, size, turns);
            let found = bytes * 8.0 / seconds / station.rate.as_bits_per_second() as f64;
            assert!((found - 1.0).abs() < 4.0 * error, "{medium} {found}");
            let (sent, possible) = station.sent(Time::from_secs_f64(seconds));
            let used = sent.bits() / possible.bits();
            assert!((used - 1.0).abs() < 1e-6, "{medium} {used}");
            assert!((sent.bits() / (8.0 * bytes) - 1.0).abs() < 1e-6, "{medium}");
        }
    }

    /// Stations that all send the same aggregates get equal throughput. If one is slow, every
    /// station gets as few turns as that one (Heusse, Rousseau, Berger-Sabbatel and Duda, INFOCOM
    /// 2003).
    #[test]
    fn shares_are_equal_and_a_slow_station_slows_all() {
        let rate = |medium: &str| {
            let (bytes, seconds, _) = saturate(&mut station(medium, "1500B"), 1500, 30_000);
            8.0 * bytes / seconds
        };
        let alone = rate("");
        let four = rate(", stations = 3");
        // Four stations together carry a little less than one alone: collisions cost more than
        // backoffs.
        let whole = 4.0 * four / alone;
        assert!((0.75..1.0).contains(&whole), "{whole}");
        // Frames one by one, one of four stations at 6.5 Mb/s: every cycle has one of each, 1968 us
        // of the slow one's air behind 76 us of each fast one's, all with some 91 us around.
        let fast = rate(", frames = 1, stations = 3");
        let slow = rate(", frames = 1, stations = 3, slow = \"6500kbps\"");
        let cycle = 4.0 * 76.0 + 4.0 * 91.0;
        let with_slow = cycle - 76.0 + 1968.0;
        let found = fast / slow;
        assert!((found / (with_slow / cycle) - 1.0).abs() < 0.15, "{found}");
    }

    /// On an idle medium without other stations a packet leaves at once. The next packet leaves
    /// when the acknowledgment, AIFS and its own backoff are over.
    #[test]
    fn an_idle_medium_is_taken_at_once() {
        let mut station = station("", "1500B");
        let mut departures = Vec::new();
        let now = Time::from_millis(7);
        assert_eq!(station.next(now), now);
        assert!(station.load(1500));
        let ready = station.serve(&mut departures);
        assert_eq!(departures, [now + Time::from_micros(40 + 9 * 4)]);
        let backoff = ready - departures[0] - Time::from_micros(16 + 32 + 43);
        assert!(backoff.as_picos().is_multiple_of(SLOT.as_picos()) && backoff <= SLOT * 15);
        assert_eq!(station.next(departures[0]), ready);
        assert_eq!(station.next(ready), ready);
        let later = ready + Time::from_micros(1);
        assert_eq!(station.next(later), later);
    }

    /// A packet that comes to a station at rest finds the medium as busy as the others keep it, and
    /// then waits for a backoff.
    #[test]
    fn a_packet_that_comes_at_any_time_waits_for_the_others() {
        let mut station = station(", stations = 3", "1500B");
        let (mut at_once, mut now) = (0.0, Time::from_secs(1));
        let packets = 20_000;
        for _ in 0..packets {
            let serve = station.next(now);
            assert!(serve >= now);
            at_once += f64::from(u8::from(serve == now));
            // The discipline has dropped it: nothing is sent.
            now = serve + Time::from_micros(37_000 + station.draws.below(5000));
        }
        let slots = SLOT.as_secs_f64() * (1.0 / station.contention.collision - 1.0);
        let busy = station.contention.busy(Time::ZERO, 1.0).as_secs_f64();
        let idle = slots / (slots + busy);
        let error = (idle * (1.0 - idle) / f64::from(packets)).sqrt();
        let found = at_once / f64::from(packets);
        assert!((found - idle).abs() < 4.0 * error, "{found} {idle}");
    }

    proptest::proptest! {
        /// Whatever waits and when: no aggregate is longer than it may be, departures rise, and no
        /// more is sent than could have been, in any stretch of time.
        #[test]
        fn no_more_is_sent_than_could_be(
            turns in proptest::collection::vec((0u64..20_000, proptest::collection::vec(40u32..1500, 1..90)), 1..40),
            others in 0u64..6,
        ) {
            let mut station = station(&format!(", stations = {others}, slow = \"20Mbps\""), "700B");
            station.phy.largest = 1500;
            let (mut last, mut before) = (Time::ZERO, (Work::ZERO, Work::ZERO));
            let mut departures = Vec::new();
            let mut free = Time::ZERO;
            for (gap, sizes) in turns {
                let now = station.next(free + Time::from_micros(gap));
                let mut bytes = 0;
                let mut taken = 0;
                for size in sizes {
                    taken += 1;
                    bytes += Wifi::frame(u64::from(size));
                    if !station.load(size) {
                        break;
                    }
                }
                proptest::prop_assert!(station.wifi.allows(taken, bytes, station.phy.rate));
                free = station.serve(&mut departures);
                proptest::prop_assert_eq!(departures.len() as u64, taken);
                for departure in departures.drain(..) {
                    proptest::prop_assert!(departure > now && departure > last);
                    last = departure;
                }
                for at in [now, last, free] {
                    let (sent, possible) = station.sent(at);
                    let (more, could) = (sent.bits() - before.0.bits(), possible.bits() - before.1.bits());
                    proptest::prop_assert!(more >= -1.0 && more <= could + 1.0, "{} {}", more, could);
                    before = (sent, possible);
                }
            }
        }
    }
}
