//! Prints the speed of the fluid engine as JSON lines. F1 compares it with forward Euler with a
//! step of 2 ms in the same run. F2 is the whole of the fifth paper's figure 6, and F3 has 1,000
//! flows at 100 Gb/s.
//!
//! Arguments select lines by name; without arguments all are run. Times are medians of processor
//! time over the runs, which hardly depend on other load.

#[path = "../tests/all/settings.rs"]
mod settings;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use forebay_congestion::fluid::FluidLaw;
use forebay_fluid::{FluidError, FluidModel, Measure, integrate, integrate_euler};
use forebay_random::Seed;
use nix::time::{ClockId, clock_gettime};
use settings::{FRACTIONS, ONE_GIGABIT, Setting, TEN_GIGABIT, laws, model};

/// Number of runs of forward Euler, and of the adaptive integrator per run of Euler.
const RUNS: usize = 3;
const ADAPTIVE_RUNS: usize = 5;

fn main() -> Result<(), FluidError> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let asked = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    if asked("F1") {
        for setting in [ONE_GIGABIT, TEN_GIGABIT] {
            for law in laws() {
                for fraction in [0.01, 0.1] {
                    euler_ratio(&setting, &law, fraction)?;
                }
            }
        }
    }
    if asked("F2") {
        figure6();
    }
    if asked("F3") {
        for law in laws() {
            thousand_flows(&law)?;
        }
    }
    Ok(())
}

/// Processor time of this thread, in seconds.
fn processor_time() -> f64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(f64::NAN, |time| {
        time.tv_sec() as f64 + 1e-9 * time.tv_nsec() as f64
    })
}

/// Processor time of a run in seconds, and its result.
fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = processor_time();
    let result = run();
    (processor_time() - start, result)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One point at full synchronization. Both integrators run in turns over 300 s. The adaptive one's
/// error is relative to an extrapolation of forward Euler with steps of 0.5 ms and 0.25 ms.
fn euler_ratio(setting: &Setting, law: &FluidLaw, fraction: f64) -> Result<(), FluidError> {
    let base = model(setting, law, 1.0, fraction);
    let (mut adaptive, mut euler, mut simulated) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..RUNS {
        let (seconds, outcome) = timed(|| integrate_euler(&base, 0.002));
        euler.push(seconds);
        simulated = outcome?.to;
        for _ in 0..ADAPTIVE_RUNS {
            let (seconds, outcome) = timed(|| integrate(&base));
            adaptive.push(seconds);
            outcome?;
        }
    }
    let (euler_s, adaptive_s) = (median(euler), median(adaptive));
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
    let aim = if matches!(law, FluidLaw::Aimd(_)) {
        100
    } else {
        20
    };
    println!(
        "{{\"name\": \"F1\", \"what\": \"against forward Euler at 2 ms\", \"setting\": \"{}\", \
         \"law\": \"{}\", \"buffer\": {fraction}, \"simulated_s\": {simulated:.0}, \
         \"euler_cpu_s\": {euler_s:.6}, \"adaptive_cpu_s\": {adaptive_s:.6}, \"ratio\": {:.1}, \
         \"aim\": {aim}, \"utilization_error\": {error:.1e}}}",
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
    let runs: Vec<(f64, f64)> = (0..RUNS).map(|_| on_two_threads(&jobs)).collect();
    println!(
        "{{\"name\": \"F2\", \"what\": \"figure 6 of Kumar, Azad and Park\", \"jobs\": {}, \
         \"simulated_s\": {}, \"threads\": 2, \"wall_s\": {:.3}, \"cpu_s\": {:.3}, \"aim_wall_s\": 10}}",
        jobs.len(),
        3000 * jobs.len(),
        median(runs.iter().map(|run| run.0).collect()),
        median(runs.iter().map(|run| run.1).collect()),
    );
}

/// Elapsed and processor time of all jobs on two threads, in seconds.
fn on_two_threads(jobs: &[FluidModel]) -> (f64, f64) {
    let (next, total) = (AtomicUsize::new(0), Mutex::new(0.0));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (seconds, ()) = timed(|| {
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        assert!(integrate(job).is_ok());
                    }
                });
                if let Ok(mut total) = total.lock() {
                    *total += seconds;
                }
            });
        }
    });
    (
        start.elapsed().as_secs_f64(),
        total.into_inner().unwrap_or(f64::NAN),
    )
}

/// 1,000 flows of 20 to 180 ms over 100 Gb/s of 1500 B packets. The buffer is a tenth of the
/// product, X is 0.3, and the run takes 100 s.
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
    let mut seconds = Vec::new();
    for _ in 1..RUNS {
        let (run, outcome) = timed(|| integrate(&base));
        seconds.push(run);
        outcome?;
    }
    let (run, outcome) = timed(|| integrate(&base));
    seconds.push(run);
    let outcome = outcome?;
    println!(
        "{{\"name\": \"F3\", \"what\": \"1000 flows at 100 Gb/s\", \"law\": \"{}\", \"simulated_s\": 100, \
         \"cpu_s\": {:.3}, \"aim_s\": 10, \"steps\": {}, \"events\": {}, \"utilization\": {:.5}}}",
        law.name(),
        median(seconds),
        outcome.steps,
        outcome.links[0].events,
        outcome.links[0].utilization,
    );
    Ok(())
}
