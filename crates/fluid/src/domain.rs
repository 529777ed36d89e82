//! Checks whether a scenario lies outside the valid range of the fluid model, and returns warnings
//! with figures.
//!
//! The model assumes windows of many packets and senders that spread them over a round trip. It
//! also assumes that flows detect an overflow at about the same time. `docs/background/fluid.md`
//! compares it with the packet engine over a grid.

use forebay_scenario::{FlowGroup, Scenario, Warning, WarningKind};

use crate::exposure::FAST_RETRANSMIT_WINDOW;

/// Part of the longest flow's fair window that a buffer must hold for its bursts.
const BURST: f64 = 0.5;

/// Ratio of the longest to the shortest round trip from which the model has far too few losses.
const SPREAD: f64 = 4.0;

/// Minimum duration of a rate, in round trips.
const LASTING: f64 = 5.0;

/// Maximum number of round trips that represent those of a group.
const POINTS: u64 = 64;

/// The warnings for a scenario. `outage` is the longest outage of its target link and `phase` the
/// mean duration of one rate, both in seconds.
pub(crate) fn warnings(scenario: &Scenario, (outage, phase): (f64, f64)) -> Vec<Warning> {
    let Some(fair) = Fair::of(scenario) else {
        return Vec::new();
    };
    let all = [
        fair.small_window(),
        fair.small_buffer(scenario),
        fair.spread(),
        fair.low_window(scenario),
        timers(scenario, outage),
        fair.fast_changes(phase),
    ];
    all.into_iter().flatten().collect()
}

/// Equal shares of the target link.
struct Fair {
    flows: u64,
    /// Window of a flow while the buffer is full, in packets.
    window: f64,
    /// Rate of a flow, in packets per second.
    rate: f64,
    /// Size of the buffer, in packets.
    buffer: f64,
    /// Harmonic mean of the round trips, then the shortest and the longest one, in seconds.
    harmonic: f64,
    shortest: f64,
    longest: f64,
}

impl Fair {
    /// The shares; `None` without persistent flows.
    fn of(scenario: &Scenario) -> Option<Self> {
        let (bdp, harmonic) = (scenario.bdp_packets()?, scenario.harmonic_rtt()?);
        let flows = scenario.persistent_flows();
        if flows == 0 {
            return None;
        }
        let share = bdp * (1.0 - scenario.background_load()).max(0.0) / flows as f64;
        let rtts: Vec<f64> = persistent(scenario)
            .flat_map(|group| group.rtt.representatives(group.count.min(POINTS)))
            .collect();
        let buffer = scenario.buffer().packets;
        Some(Self {
            flows,
            window: share + buffer / flows as f64,
            rate: share / harmonic,
            harmonic,
            buffer,
            shortest: rtts.iter().copied().fold(f64::INFINITY, f64::min),
            longest: rtts.iter().copied().fold(0.0, f64::max),
        })
    }

    /// Warns of windows so small that timeouts dominate.
    fn small_window(&self) -> Option<Warning> {
        let text = format!(
            "a flow's fair window is {:.1} packets with the buffer full: below {FAST_RETRANSMIT_WINDOW:.0} timeouts rule, \
             which the fluid follows roughly",
            self.window
        );
        (self.window < FAST_RETRANSMIT_WINDOW).then(|| {
            outside("window", text)
                .with("window_packets", self.window)
                .with("flows", self.flows as f64)
        })
    }

    /// Warns of a buffer that the bursts of unpaced senders overflow.
    fn small_buffer(&self, scenario: &Scenario) -> Option<Warning> {
        let burst = BURST * self.rate * self.longest;
        let text = format!(
            "the buffer of {:.0} packets is less than {burst:.0}, half of the fair window of the longest flow. Bursts of \
             senders without pacing lose more packets and use less of the link",
            self.buffer
        );
        let paced = persistent(scenario).all(|group| group.stack.pacing);
        (self.buffer < burst && !paced).then(|| {
            outside("buffer", text)
                .with("buffer_packets", self.buffer)
                .with("burst_packets", burst)
        })
    }

    /// Warns of flows that detect an overflow long after others have answered it.
    fn spread(&self) -> Option<Warning> {
        let ratio = self.longest / self.shortest;
        let text = format!(
            "the longest round trip is {ratio:.0} times the shortest: flows that hear late go on sending, and the fluid's \
             loss is too low by several times"
        );
        (self.flows > 1 && ratio.is_finite() && ratio >= SPREAD)
            .then(|| outside("rtt", text).with("longest_by_shortest", ratio))
    }

    /// Warns of rate changes that reach the senders as bursts and gaps of acknowledgments.
    fn fast_changes(&self, phase: f64) -> Option<Warning> {
        let rounds = phase / self.harmonic;
        let text = format!(
            "the rate changes every {rounds:.1} round trips on average: bursts and gaps of acknowledgments, which the \
             fluid follows roughly, move the utilization by up to a tenth"
        );
        (rounds < LASTING).then(|| outside("rate", text).with("round_trips_by_change", rounds))
    }

    /// Warns of windows below which a controller grows by another law than the fluid model after a
    /// cut.
    fn low_window(&self, scenario: &Scenario) -> Option<Warning> {
        let group = persistent(scenario).find(|group| group.controller.name() == "scalable")?;
        let parameters = group.controller.parameters();
        let (low, cut) = (
            parameters.number("low_window"),
            parameters.number("decrease"),
        );
        let window = self.rate * group.rtt.mean() + self.buffer / self.flows as f64;
        let text = format!(
            "group `{}`: a fair window is {window:.1} packets before a cut, and below {low:.0} Scalable TCP grows as New \
             Reno, which the fluid leaves out: its loss is too low",
            group.name,
        );
        ((1.0 - cut) * window < low).then(|| {
            outside("low_window", text)
                .with("window_packets", window)
                .with("low_window_packets", low)
        })
    }
}

/// Warns of an outage that lasts longer than retransmission timers.
fn timers(scenario: &Scenario, outage: f64) -> Option<Warning> {
    let timer = persistent(scenario)
        .map(|group| group.stack.min_rto)
        .min()?;
    let text = format!(
        "outages outlast timers (`min_rto` of {timer}): a flow that restarts after an outage sends less for \
         a while, and the fluid model ignores this"
    );
    (outage >= timer.as_secs_f64())
        .then(|| outside("outage", text).with("longest_outage_s", outage))
}

/// The persistent groups of the target link.
fn persistent(scenario: &Scenario) -> impl Iterator<Item = &FlowGroup> {
    scenario.target_flows().filter(|group| group.persistent())
}

fn outside(subject: &str, text: String) -> Warning {
    Warning::new(WarningKind::OutsideDomain, text).about(subject)
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_scenario::Format;

    /// The subjects of the warnings, on a link of 1000 packets of 1000 bytes a second.
    fn subjects(buffer: &str, flows: &str) -> Vec<String> {
        subjects_of_phases(f64::INFINITY, buffer, flows)
    }

    fn subjects_of_phases(phase: f64, buffer: &str, flows: &str) -> Vec<String> {
        let text = format!(
            "[link]\nrate = \"8Mbps\"\nbuffer = \"{buffer}\"\n[[flows]]\npacket = \"1000B\"\n{flows}\n"
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        warnings(&scenario, (0.9, phase))
            .into_iter()
            .map(|warning| warning.subject)
            .collect()
    }

    /// The limit is half of a bandwidth-delay product of 100 packets; paced flows send no bursts.
    #[test]
    fn a_buffer_has_to_hold_half_of_the_fair_window() {
        for (buffer, more, expected) in [
            ("49p", "", vec!["buffer"]),
            ("50p", "", vec![]),
            ("49p", "pacing = true", vec![]),
            // Each of two flows has half of the rate.
            ("24p", "count = 2", vec!["buffer"]),
            ("26p", "count = 2", vec![]),
        ] {
            assert_eq!(
                subjects(buffer, &format!("rtt = \"100ms\"\n{more}")),
                expected,
                "{buffer} {more}"
            );
        }
    }

    /// The path holds a hundred packets: each of 50 flows has 2 and its part of the buffer.
    #[test]
    fn a_fair_window_of_four_packets_is_the_least() {
        for (buffer, expected) in [("99p", vec!["window"]), ("100p", vec![]), ("101p", vec![])] {
            assert_eq!(
                subjects(buffer, "rtt = \"100ms\"\ncount = 50"),
                expected,
                "{buffer}"
            );
        }
    }

    #[test]
    fn round_trips_may_differ_by_less_than_four_times() {
        for (longest, expected) in [("79ms", vec![]), ("80ms", vec!["rtt"])] {
            let rtt = format!("rtt = {{ linspace = [\"20ms\", \"{longest}\"] }}\ncount = 2");
            assert_eq!(subjects("200p", &rtt), expected, "{longest}");
        }
        assert_eq!(subjects("200p", "rtt = \"20ms\""), [""; 0]);
    }

    /// Scalable TCP is active from 16 packets on, and 0.875 of a fair window of 18.3 packets is 16.
    #[test]
    fn scalable_tcp_needs_windows_that_are_large_after_a_cut() {
        let flows = "rtt = \"100ms\"\ncca = \"scalable\"\ncount = 10";
        assert_eq!(subjects("80p", flows), ["low_window"]);
        assert_eq!(subjects("84p", flows), [""; 0]);
        assert_eq!(
            subjects("80p", &flows.replace("scalable", "newreno")),
            [""; 0]
        );
    }

    /// The harmonic mean of round trips of 100 and 300 ms is 150 ms.
    #[test]
    fn a_rate_lasts_for_five_round_trips() {
        let flows = "rtt = [\"100ms\", \"300ms\"]\ncount = 2";
        for (phase, expected) in [(0.749, vec!["rate"]), (0.751, vec![])] {
            assert_eq!(
                subjects_of_phases(phase, "100p", flows),
                expected,
                "{phase}"
            );
        }
    }

    /// The shortest timer counts.
    #[test]
    fn an_outage_is_shorter_than_the_timers() {
        for (timer, expected) in [("901ms", vec![]), ("900ms", vec!["outage"])] {
            let flows = format!(
                "rtt = \"100ms\"\nmin_rto = \"2s\"\n[[flows]]\nrtt = \"100ms\"\npacket = \"1000B\"\nmin_rto = \"{timer}\""
            );
            assert_eq!(subjects("100p", &flows), expected, "{timer}");
        }
    }

    #[test]
    fn nothing_is_said_without_flows_that_last() {
        assert_eq!(
            subjects("1p", "workload = { poisson = { rate = \"4Mbps\" } }"),
            [""; 0]
        );
    }
}
