//! Speed of the fluid engine as JSON lines: against forward Euler with a step of 2 ms in the same
//! run, the whole of the fifth paper's figure 6, and 1,000 flows at 100 Gb/s.
//!
//! Arguments select lines by name: `euler_ratio`, `figure6`, `thousand_flows`; none selects all.

#[path = "../tests/settings/mod.rs"]
mod settings;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use forebay_congestion::fluid::FluidLaw;
use forebay_fluid::{FluidError, FluidModel, Measure, integrate, integrate_euler};
use forebay_random::Seed;
use settings::{FRACTIONS, ONE_GIGABIT, Setting, TEN_GIGABIT, laws, model};

/// Repetitions of a short run whose fastest is taken.
const REPETITIONS: usize = 5;

fn main() -> Result<(), FluidError> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let asked = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    if asked("euler_ratio") {
        for setting in [ONE_GIGABIT, TEN_GIGABIT] {
            for law in laws() {
                for fraction in [0.01, 0.1] {
                    euler_ratio(&setting, &law, fraction)?;
                }
            }
        }
    }
    if asked("figure6") {
        figure6();
    }
    if asked("thousand_flows") {
        for law in laws() {
            thousand_flows(&law)?;
        }
    }
    Ok(())
}

/// One point at full synchronisation: time of both integrators, and the adaptive one's error
/// against forward Euler with steps of 0.5 ms and 0.25 ms extrapolated, over 300 s.
fn euler_ratio(setting: &Setting, law: &FluidLaw, fraction: f64) -> Result<(), FluidError> {
    let base = model(setting, law, 1.0, fraction);
    let mut adaptive_s = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        integrate(&base)?;
        adaptive_s = adaptive_s.min(start.elapsed().as_secs_f64());
    }
    let (mut euler_s, mut simulated) = (f64::INFINITY, 0.0);
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        simulated = integrate_euler(&base, 0.002)?.to;
        euler_s = euler_s.min(start.elapsed().as_secs_f64());
    }
    let mut short = base.clone();
    let duration = if matches!(law, FluidLaw::Aimd(_)) {
        1500.0
    } else {
        300.0
    };
    short.measure = Measure::WholeCycles {
        start: 0.0,
        duration,
    };
    let utilization = |step| -> Result<f64, FluidError> {
        Ok(integrate_euler(&short, step)?.links[0].utilization)
    };
    let converged = 2.0 * utilization(2.5e-4)? - utilization(5e-4)?;
    let error = (integrate(&short)?.links[0].utilization - converged).abs();
    println!(
        "{{\"name\": \"euler_ratio\", \"setting\": \"{}\", \"law\": \"{}\", \"buffer\": {fraction}, \
         \"simulated_s\": {simulated:.0}, \"euler_2ms_s\": {euler_s:.6}, \
         \"adaptive_s\": {adaptive_s:.6}, \"ratio\": {:.1}, \"utilization_error\": {error:.1e}}}",
        setting.name,
        law.name(),
        euler_s / adaptive_s,
    );
    Ok(())
}

/// All runs of figure 6 on two threads.
fn figure6() {
    let mut jobs = Vec::new();
    for law in laws() {
        for minimum in [0.3, 0.6, 1.0] {
            for fraction in FRACTIONS {
                for replication in 0..10 {
                    let base = model(&TEN_GIGABIT, &law, minimum, fraction);
                    jobs.push(FluidModel {
                        measure: Measure::FromFirstEvent {
                            start: 0.0,
                            duration: 3000.0,
                        },
                        seed: Seed {
                            seed: 6,
                            replication,
                        },
                        ..base
                    });
                }
            }
        }
    }
    let next = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    assert!(integrate(job).is_ok());
                }
            });
        }
    });
    println!(
        "{{\"name\": \"figure6\", \"runs\": {}, \"simulated_s\": {}, \"threads\": 2, \"wall_s\": {:.3}}}",
        jobs.len(),
        3000 * jobs.len(),
        start.elapsed().as_secs_f64(),
    );
}

/// 1,000 flows of 20 to 180 ms over 100 Gb/s of 1500 B packets, a buffer of a tenth of the
/// product, X = 0.3, 100 s.
fn thousand_flows(law: &FluidLaw) -> Result<(), FluidError> {
    let mut base = model(&TEN_GIGABIT, law, 0.3, 0.1);
    base.links[0].capacity = 100e9 / 12_000.0;
    base.links[0].buffer = 0.1 * base.links[0].capacity * 0.1;
    let flow = base.flows[0];
    base.flows = (0..1000)
        .map(|i| {
            let mut flow = flow;
            flow.propagation = 0.02 + 0.16 * f64::from(i) / 999.0;
            flow
        })
        .collect();
    base.measure = Measure::Fixed { start: 10.0 };
    base.horizon = 100.0;
    let start = Instant::now();
    let outcome = integrate(&base)?;
    println!(
        "{{\"name\": \"thousand_flows\", \"law\": \"{}\", \"simulated_s\": 100, \"wall_s\": {:.3}, \
         \"steps\": {}, \"events\": {}, \"utilization\": {:.5}}}",
        law.name(),
        start.elapsed().as_secs_f64(),
        outcome.steps,
        outcome.links[0].events,
        outcome.links[0].utilization,
    );
    Ok(())
}
