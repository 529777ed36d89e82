//! Variation of the time that simulated hosts take before they answer a packet.
//!
//! Without it, flows over a full drop-tail queue stay in phase with its departures, and the phase
//! decides which flow loses (Floyd and Jacobson 1992, "On traffic phase effects in packet-switched
//! gateways"). Their remedy is a random processing time between zero and the time that the
//! bottleneck needs for a packet. Here it moves the instant at which a packet has left the slowest
//! link of its path, within the time of the packet's own transmission. So packets that leave one
//! after the other also arrive one after the other, and a lane of the calendar stays in order.

use forebay_random::{Purpose, Seed, StreamKey};
use forebay_scenario::{Fabric, FlowGroup, Scenario};
use forebay_units::Time;

use crate::link::{in_turn, takes_turns};
use crate::pause::may_be_paused;

/// Variation of the arrivals after one link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTiming {
    /// How much earlier than at the latest a packet arrives.
    pub(crate) lead: Lead,
    /// Half of the transmission time of the largest packet, which centers the variation.
    half: Time,
}

/// How much earlier than at the latest a packet arrives: a draw between zero and its transmission
/// time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    /// Transmission time of a byte, in picoseconds; zero if nothing varies.
    per_byte: u64,
    /// Seed of the draws.
    seed: u64,
}

impl Lead {
    /// Arrivals without a variation.
    pub(crate) const ZERO: Self = Self {
        per_byte: 0,
        seed: 0,
    };

    /// Subtracts the draw from the `latest` delay of a packet of `size` bytes that departs at
    /// `departure`. The time of the departure tells the packet from all others of the link. A long
    /// multiplication mixes the bits.
    #[inline]
    pub(crate) fn subtracted(self, latest: Time, departure: Time, size: u32) -> Time {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(departure.as_picos() ^ self.seed) * u128::from(ODD);
        let bits = (product >> 64) as u64 ^ product as u64;
        let transmission = u64::from(size) * self.per_byte;
        let lead = ((u128::from(bits) * u128::from(transmission)) >> 64) as u64;
        Time::from_picos(latest.as_picos().saturating_sub(lead))
    }
}

impl HostTiming {
    /// Arrivals without a variation.
    pub(crate) const EXACT: Self = Self {
        lead: Lead::ZERO,
        half: Time::ZERO,
    };

    /// The variation after each link of a scenario.
    pub(crate) fn of_links(scenario: &Scenario, seed: Seed) -> Vec<Self> {
        let shape = scenario.fabric().map(Fabric::shape);
        let of_group = |group: &FlowGroup| -> Vec<usize> {
            let slowest = slowest_link(scenario, group);
            match (slowest, shape.filter(|_| group.routing.is_some())) {
                // Its paths have links of one role in the same place.
                (Some(link), Some(shape)) => {
                    let (first, count) = shape.range(shape.role(link));
                    (first..first + count).collect()
                }
                (link, _) => link.into_iter().collect(),
            }
        };
        let slowest: Vec<usize> = scenario.flows().iter().flat_map(of_group).collect();
        let links = 0..scenario.links().len();
        links
            .map(|link| {
                if slowest.contains(&link) {
                    Self::new(scenario, link, seed)
                } else {
                    Self::EXACT
                }
            })
            .collect()
    }

    fn new(scenario: &Scenario, link: usize, seed: Seed) -> Self {
        let largest = scenario.largest_packet(link);
        let spec = &scenario.links()[link];
        let rate = if spec.shaper.is_some() {
            spec.rate
        } else {
            spec.highest_rate()
        };
        let transmission = rate.time_to_send(largest);
        let per_byte = transmission.as_picos() / largest.get().max(1);
        let mut random = StreamKey::new(seed, link as u64, Purpose::HostTiming).stream();
        Self {
            lead: Lead {
                per_byte,
                seed: random.bits(),
            },
            half: Time::from_picos(per_byte * largest.get() / 2),
        }
    }

    /// Whether arrivals after the link vary.
    fn varies(self) -> bool {
        self.half > Time::ZERO
    }

    /// The latest arrival at the next hop or the hosts after a departure, if `delay` is that to
    /// them. For packets of the largest size the mean is `delay`, unless that is too short.
    pub(crate) fn latest(self, delay: Time) -> Time {
        self.soonest(delay) + self.half + self.half
    }

    /// The latest arrival at the hosts, beyond the delay to them.
    pub(crate) fn beyond(self) -> Time {
        self.half
    }

    /// The soonest arrival after a departure.
    pub(crate) fn soonest(self, delay: Time) -> Time {
        delay.saturating_sub(self.half)
    }
}

/// The order of packets after a shaper, which may send a burst with less than the time of a packet
/// between them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InOrder {
    /// Varied departure of the last packet.
    last: Time,
}

impl InOrder {
    /// One for each link with a shaper whose arrivals vary.
    pub(crate) fn of_links(scenario: &Scenario, timings: &[HostTiming]) -> Vec<Option<Self>> {
        let links = scenario.links().iter().zip(timings);
        links
            .map(|(link, timing)| (link.shaper.is_some() && timing.varies()).then(Self::default))
            .collect()
    }

    /// The departure of the next packet, earlier by its draw but after that of the packet before
    /// it. With its `latest` delay it arrives no sooner than it departs.
    pub(crate) fn varied(&mut self, lead: Lead, departure: Time, size: u32, latest: Time) -> Time {
        let lead = latest - lead.subtracted(latest, departure, size);
        let earlier = departure.saturating_sub(lead);
        self.last = earlier.max(self.last + Time::from_picos(1));
        self.last
    }
}

/// The variation after a link of a group's path. All packets that go on from a link share a lane,
/// so that they vary alike. After the last link only hosts that vary do.
pub(crate) fn after(
    timings: &[HostTiming],
    group: &FlowGroup,
    (link, is_last): (usize, bool),
) -> HostTiming {
    if is_last && !varies(group) {
        HostTiming::EXACT
    } else {
        timings[link]
    }
}

/// By how much variations may shorten a round trip of a group. Acknowledgments vary after inner
/// links of their path.
pub(crate) fn earliness(timings: &[HostTiming], group: &FlowGroup) -> Time {
    let inner = |path: &[usize]| -> Time {
        let inner = path.iter().take(path.len().saturating_sub(1));
        inner.map(|&link| timings[link].half).sum()
    };
    let last = group.path.last();
    let last = last.map_or(Time::ZERO, |&link| after(timings, group, (link, true)).half);
    inner(&group.path) + inner(&group.reverse) + last
}

/// Whether the processing time of a group's hosts varies.
pub(crate) fn varies(group: &FlowGroup) -> bool {
    group.responsive() && group.stack.processing.varies()
}

/// The slowest link of a group's path, the last of equal ones, if the processing time of its hosts
/// varies.
///
/// A medium that gives the link its turns may send packets with less than a transmission time
/// between them, so that the variation could change their order. A shaper may, too, and has
/// [`InOrder`]. A link that a lossless queue may pause is exact: its packets would otherwise reach
/// that queue later than the cable and the response time let them.
fn slowest_link(scenario: &Scenario, group: &FlowGroup) -> Option<usize> {
    if !varies(group) {
        return None;
    }
    let links = scenario.links();
    let slowest = group.path.iter().copied().rev();
    let slowest = slowest.filter(|&link| !may_be_paused(scenario, link));
    let slowest = slowest.min_by_key(|&link| links[link].rate)?;
    let link = &links[slowest];
    let keeps_order = in_turn(link) && (link.shaper.is_some() || !takes_turns(link));
    keeps_order.then_some(slowest)
}

#[cfg(test)]
mod tests {
    use forebay_scenario::Format;

    use super::*;

    const LINK: &str = "[link]\nrate = \"12Mbps\"\nbuffer = \"20p\"\n";

    fn scenario(flows: &str) -> Scenario {
        let text = format!("{LINK}[[flows]]\nrtt = \"20ms\"\n{flows}\n[run]\nmeasure = \"1s\"\n");
        parsed(&text)
    }

    fn parsed(text: &str) -> Scenario {
        Scenario::parse(text, Format::Toml, "test.toml", &[]).unwrap()
    }

    fn timing(flows: &str) -> HostTiming {
        HostTiming::of_links(&scenario(flows), Seed::default())[0]
    }

    const VARIED: &str = "processing = \"packet\"";

    /// Packets of any sizes that leave one after the other arrive one after the other, at most a
    /// transmission time apart from the mean delay, which is that of the link.
    #[test]
    fn packets_arrive_in_order_around_the_mean_delay() {
        let timing = timing(VARIED);
        let delay = Time::from_millis(20);
        let latest = delay + timing.beyond();
        let (mut departure, mut last, mut total) = (Time::ZERO, Time::ZERO, 0.0);
        let sizes = [1500_u32, 40, 1500, 1500, 700, 64, 1500];
        let packets = 70_000;
        for size in sizes.into_iter().cycle().take(packets) {
            departure += Time::from_picos(u64::from(size) * timing.lead.per_byte);
            let after = timing.lead.subtracted(latest, departure, size);
            let arrival = departure + after;
            assert!(arrival > last);
            assert!(after >= timing.soonest(delay) && after <= latest);
            last = arrival;
            total += after.as_secs_f64() - latest.as_secs_f64();
        }
        let mean_size = sizes.map(f64::from).iter().sum::<f64>() / sizes.len() as f64;
        let mean_lead = -total / packets as f64;
        let expected = mean_size * 8.0 / 12e6 / 2.0;
        assert!((mean_lead / expected - 1.0).abs() < 0.01, "{mean_lead}");
    }

    /// A packet of the largest size is as often early as late.
    #[test]
    fn the_mean_of_the_largest_packets_is_the_delay() {
        let timing = timing(VARIED);
        let packet = Time::from_picos(1500 * timing.lead.per_byte);
        let delay = Time::from_millis(20);
        assert!((packet.as_secs_f64() / 1e-3 - 1.0).abs() < 1e-5);
        assert_eq!(timing.beyond() * 2, packet);
        assert_eq!(timing.soonest(delay) + timing.latest(delay), delay * 2);
        // A delay below half a packet time is as short as the variation allows.
        assert_eq!(timing.soonest(Time::ZERO), Time::ZERO);
        assert_eq!(timing.latest(Time::ZERO), packet);
    }

    /// A burst that leaves a shaper at the line's rate stays in order, and no packet is later than
    /// without a variation but for the last picoseconds that keep two apart.
    #[test]
    fn bursts_of_a_shaper_stay_in_order() {
        let timing = timing(VARIED);
        let mut order = InOrder::default();
        let (mut departure, mut last) = (Time::from_secs(1), Time::ZERO);
        for packet in 0..10_000_u64 {
            // Bursts of ten at 1 Gb/s on a shaper of 12 Mb/s.
            departure += Time::from_micros(if packet % 10 == 0 { 10_000 } else { 12 });
            let latest = Time::from_micros(600);
            let varied = order.varied(timing.lead, departure, 1500, latest);
            assert!(varied > last && varied <= departure + Time::from_picos(10));
            assert!(departure <= varied + latest);
            last = varied;
        }
    }

    #[test]
    fn only_hosts_with_a_processing_time_vary() {
        for flows in ["stack = \"ns2\"", "processing = \"0s\""] {
            let timing = timing(flows);
            let latest = Time::from_millis(20) + timing.beyond();
            let departure = Time::from_millis(7);
            assert_eq!(timing.lead.subtracted(latest, departure, 1500), latest);
            assert_eq!(latest, Time::from_millis(20));
        }
        for flows in ["", VARIED, "stack = \"linux\"", "processing = \"50us\""] {
            assert!(timing(flows).lead.per_byte > 0, "{flows}");
        }
    }

    /// The slowest link of the path varies, and the last one of equal ones.
    #[test]
    fn only_the_slowest_link_of_a_path_varies() {
        let path = |rates: [&str; 3]| {
            let links = rates.map(|rate| {
                format!("[[links]]\nname = \"l{rate}\"\nrate = \"{rate}\"\nbuffer = \"9p\"\n")
            });
            let names = rates.map(|rate| format!("\"l{rate}\""));
            let text = format!(
                "{}target = true\n[[flows]]\nrtt = \"9ms\"\n{VARIED}\npath = [{}]\n[run]\nmeasure = \"1s\"\n",
                links.concat(),
                names.join(", ")
            );
            let scenario = parsed(&text);
            let timings = HostTiming::of_links(&scenario, Seed::default());
            timings
                .iter()
                .map(|timing| timing.lead.per_byte > 0)
                .collect::<Vec<_>>()
        };
        assert_eq!(path(["20Mbps", "10Mbps", "30Mbps"]), [false, true, false]);
        assert_eq!(
            path(["10Mbps", "20Mbps", "10000kbps"]),
            [false, false, true]
        );
    }
}
