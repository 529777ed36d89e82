//! The capacity of this machine, measured once per process: packets per second of real time over a
//! link that never limits them. Runs compare their need with it.

use std::sync::{Mutex, PoisonError};

use forebay_scenario::{EngineError, Format, RunOptions, Scenario, Warning, WarningKind};
use forebay_simulation::GroupId;
use forebay_units::Time;

use crate::NAME;
use crate::path::{KernelSimulation, Observer};
use crate::run::{Visit, namespaces_for, run_between};

/// A scenario in which only the machine limits the senders.
const ENDLESS: &str = r#"
[link]
rate = "400Gbps"
buffer = "100000p"
[[flows]]
count = 4
cca = "newreno"
stack = "linux"
rtt = "1ms"
[run]
warmup = "0s"
measure = "60s"
"#;

/// Real time for the senders to open their windows, and real time of the measurement.
const BEFORE: Time = Time::from_millis(200);
const MEASURED: Time = Time::from_millis(600);

/// Share of the measured capacity that a run may need. The rest is for bursts and for other load on
/// the machine.
const SHARE: f64 = 0.6;

/// Acknowledgments per data packet: every second packet is acknowledged at once.
const ACKNOWLEDGMENTS: f64 = 0.5;

/// Measured capacity in packets per second; `None` before the measurement.
static CAPACITY: Mutex<Option<f64>> = Mutex::new(None);

/// Rate in packets per second up to which an emulation is not calibrated. A loop that cannot carry
/// even this rate is late at once, and its verdict reports it.
const FEW: f64 = 10_000.0;

/// Refuses a scenario with more packets than the machine can carry.
pub(crate) fn check(scenario: &Scenario, options: &RunOptions) -> Result<(), EngineError> {
    match excess(packets_per_second(scenario), options)? {
        None => Ok(()),
        Some(why) => Err(EngineError::TooLarge { engine: NAME, why }),
    }
}

/// The warning that programs can exceed the machine's capacity, if the links of the scenario permit
/// it.
pub(crate) fn warning(
    scenario: &Scenario,
    options: &RunOptions,
) -> Result<Option<Warning>, EngineError> {
    let need = packets_per_second(scenario);
    if need <= FEW {
        return Ok(None);
    }
    let said = |why| Warning::new(WarningKind::Late, why).about("capacity");
    let said = excess(need, options)?.map(said);
    Ok(said.map(|warning| warning.with("packets_per_second", need)))
}

/// The text about missing capacity for `need` packets per second; `None` if there is enough.
fn excess(need: f64, options: &RunOptions) -> Result<Option<String>, EngineError> {
    let capacity = capacity(options)?;
    let most = capacity * SHARE;
    let why = || {
        format!(
            "its links carry up to {need:.0} packets per second, acknowledgments included, and this machine holds {most:.0} (measured just now: {capacity:.0}); slower links or larger packets need fewer"
        )
    };
    Ok((need > most).then(why))
}

/// Maximum packets per second of senders and receivers when every link is busy. A group sends at
/// most the rate of the slowest link of its path. All groups together send at most the rate of all
/// links. Open-loop transfers send at most their arrival rate.
fn packets_per_second(scenario: &Scenario) -> f64 {
    let end = scenario.run().end();
    let links = scenario.links().iter();
    let rates: Vec<f64> = links
        .map(|link| link.mean_rate(Time::ZERO, end) / 8.0)
        .collect();
    // For each link: the packet rate of the groups that it limits, and its maximum rate in such
    // packets.
    let mut sent = vec![(0.0_f64, 0.0_f64); rates.len()];
    for group in scenario.flows().iter().filter(|group| group.responsive()) {
        let on_path = group.path.iter().copied();
        let Some(slowest) = on_path.min_by(|&a, &b| rates[a].total_cmp(&rates[b])) else {
            continue;
        };
        let size = group.packet.infimum().max(1.0);
        let access = group.access.as_ref().map_or(f64::INFINITY, |access| {
            access.rate.as_bytes_per_second() * group.count as f64
        });
        let asked = group.open_loop_rate().unwrap_or(f64::INFINITY) / 8.0;
        let bytes = rates[slowest].min(access).min(asked);
        let (packets, most) = &mut sent[slowest];
        *packets += bytes / size;
        *most = most.max(rates[slowest] / size);
    }
    let carried = sent.iter().map(|(packets, most)| packets.min(*most));
    carried.sum::<f64>() * (1.0 + ACKNOWLEDGMENTS)
}

/// The capacity of the loop, in packets per second of real time.
fn capacity(options: &RunOptions) -> Result<f64, EngineError> {
    let mut known = CAPACITY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(capacity) = *known {
        return Ok(capacity);
    }
    let measured = measure(options)?;
    *known = Some(measured);
    Ok(measured)
}

fn measure(options: &RunOptions) -> Result<f64, EngineError> {
    let text = Scenario::parse(ENDLESS, Format::Toml, "calibration", &[]);
    let scenario = text.map_err(|error| EngineError::Unavailable {
        engine: NAME,
        what: error.to_string(),
    })?;
    let namespaces = namespaces_for(&scenario)?;
    let mut counter = Counting::default();
    let options = RunOptions {
        cancel: options.cancel.clone(),
        ..RunOptions::default()
    };
    let visit = Visit {
        group: GroupId::new(0),
        observer: &mut counter,
    };
    run_between(&namespaces, (&scenario, &options), Some(visit))?;
    let seconds = counter.last.0.saturating_sub(counter.first.0).as_secs_f64();
    Ok((counter.last.1 - counter.first.1) as f64 / seconds.max(1e-3))
}

/// Counts the packets through the loop between two instants of real time.
#[derive(Debug, Default)]
struct Counting {
    first: (Time, u64),
    last: (Time, u64),
}

impl Observer for Counting {
    fn follow(&mut self, _: Time, simulation: &mut KernelSimulation<'_>) -> bool {
        let hosts = &simulation.traffic.hosts;
        let now = hosts.clock.elapsed();
        let here = (now, hosts.lateness.count());
        if now < BEFORE {
            self.first = here;
        }
        self.last = here;
        now >= BEFORE + MEASURED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(text: &str) -> f64 {
        let text = format!("{text}\n[run]\nmeasure = \"1s\"");
        packets_per_second(&Scenario::parse(&text, Format::Toml, "test", &[]).unwrap())
    }

    const LINK: &str = "[link]\nrate = \"120Mbps\"\nbuffer = \"9p\"\n";

    #[test]
    fn a_busy_link_needs_its_packets_and_their_acknowledgments() {
        let flows = "[[flows]]\nrtt = \"9ms\"\n";
        assert_eq!(need(&format!("{LINK}{flows}")), 15_000.0);
        // Two groups share one link, and smaller packets are more packets.
        let two = format!("{LINK}{flows}[[flows]]\nrtt = \"9ms\"\npacket = \"750B\"");
        assert_eq!(need(&two), 30_000.0);
    }

    #[test]
    fn what_cannot_be_sent_is_not_needed() {
        let access = "[[flows]]\nrtt = \"9ms\"\ncount = 2\naccess = { rate = \"12Mbps\" }";
        assert_eq!(need(&format!("{LINK}{access}")), 3_000.0);
        let web =
            "[[flows]]\nrtt = \"9ms\"\nworkload = { open_loop = { load = 0.5, size = \"9kB\" } }";
        assert_eq!(need(&format!("{LINK}{web}")), 7_500.0);
        let speech = "[[flows]]\nworkload = \"voip\"";
        assert_eq!(need(&format!("{LINK}{speech}")), 0.0);
    }

    #[test]
    fn a_path_is_as_fast_as_its_slowest_link() {
        let two = r#"
            [[links]]
            name = "fast"
            rate = "1Gbps"
            buffer = "9p"
            [[links]]
            name = "slow"
            rate = "12Mbps"
            buffer = "9p"
            target = true
            [[flows]]
            rtt = "9ms"
            path = ["fast", "slow"]
        "#;
        assert_eq!(need(two), 1_500.0);
    }
}
