//! Prints digests of many models by every integrator, and of the reports and traces of scenario
//! files with three seeds each. Arguments are files or folders. Two versions that print the same
//! lines give the same results.
//!
//! Run it before and after a change that must not affect results, and compare the output: `cargo
//! run --release -p forebay-fluid --example fluid_digest -- scenarios python/forebay/papers`.

#[allow(dead_code)]
#[path = "../tests/all/settings.rs"]
mod settings;

use std::path::{Path, PathBuf};

use forebay_congestion::aimd::Aimd;
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::newreno::NewReno;
use forebay_congestion::scalable::Scalable;
use forebay_discipline::{AboveThreshold, DropCurve};
use forebay_fluid::{
    Background, CutCountDistribution, FluidEngine, FluidError, FluidFlow, FluidModel, FluidOutcome,
    Limits, Measure, QueueDistribution, Red, Victims, integrate, integrate_coupled,
    integrate_euler,
};
use forebay_random::{Seed, key_of};
use forebay_scenario::{Cost, Engine, Format, Report, RunOptions, Scenario};
use settings::{ONE_GIGABIT, TEN_GIGABIT, laws, model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, model) in models() {
        print_line("adaptive", &name, integrate(&model));
        let short = short(&model);
        print_line("euler", &name, integrate_euler(&short, 2e-3));
        print_line("coupled", &name, integrate_coupled(&short));
    }
    for folder in std::env::args().skip(1) {
        let mut files = Vec::new();
        find_scenarios(Path::new(&folder), &mut files)?;
        files.sort();
        for file in files {
            print_scenario(&file)?;
        }
    }
    Ok(())
}

/// Every law and setting; for one of each, every other part of a model is varied.
fn models() -> Vec<(String, FluidModel)> {
    let mut all = Vec::new();
    let mut laws: Vec<FluidLaw> = laws().into();
    laws.push(FluidLaw::NewReno(NewReno::default()));
    laws.push(FluidLaw::Scalable(Scalable {
        increase: 0.3,
        decrease: 0.125,
    }));
    for setting in [ONE_GIGABIT, TEN_GIGABIT] {
        for law in &laws {
            for fraction in [0.0, 0.01, 0.1, 0.75] {
                for minimum in [0.3, 1.0] {
                    let mut base = model(&setting, law, minimum, fraction);
                    base.horizon = 2000.0;
                    let name = format!("{} {} {minimum} {fraction}", setting.name, law.name());
                    all.push((name.clone(), base.clone()));
                    base.trace = Some(1.7);
                    base.horizon = 300.0;
                    all.push((format!("{name} traced"), base));
                }
            }
        }
    }
    for (number, law) in laws.iter().enumerate() {
        for (what, change) in changes() {
            let mut base = model(&ONE_GIGABIT, law, 0.3, 0.2);
            base.horizon = 200.0;
            base.seed.replication = number as u64;
            change(&mut base);
            all.push((format!("{} {what}", law.name()), base));
        }
    }
    all
}

type Change = (&'static str, fn(&mut FluidModel));

fn changes() -> [Change; 13] {
    [
        ("fixed", |m| m.measure = Measure::Fixed { start: 20.0 }),
        ("from the first event", |m| {
            m.measure = Measure::FromFirstEvent {
                start: 30.0,
                duration: 90.0,
            };
        }),
        ("whole cycles", |m| {
            m.measure = Measure::WholeCycles {
                start: 3.0,
                duration: 120.0,
            };
        }),
        ("too few events", |m| {
            m.measure = Measure::WholeCycles {
                start: 199.9,
                duration: 1.0,
            };
        }),
        ("constant background", |m| {
            m.links[0].background = Background::Constant(40_000.0);
        }),
        ("redrawn background", redrawn),
        ("gentle red", |m| {
            m.links[0].queue = red(AboveThreshold::Gentle, 2500.0);
        }),
        ("red", |m| {
            m.links[0].queue = red(AboveThreshold::Abrupt, 400.0);
            redrawn(m);
        }),
        ("uniform random", |m| {
            m.synchronization.count = CutCountDistribution::Uniform;
            m.synchronization.victims = Victims::Random;
        }),
        ("fixed proportional", |m| {
            m.synchronization.count = CutCountDistribution::Fixed;
            m.synchronization.victims = Victims::RateProportional;
        }),
        ("empirical priority", |m| {
            m.synchronization.count = CutCountDistribution::Empirical(vec![0.3, 0.5, 0.9]);
            let row = |k: u32| (0..10).map(|i| f64::from((i * 7 + k) % 10)).collect();
            m.synchronization.victims = Victims::Priority((0..4).map(row).collect());
        }),
        ("limits", |m| {
            for (i, flow) in m.flows.iter_mut().enumerate() {
                flow.limits = Limits {
                    access_rate: 9000.0 + 4000.0 * i as f64,
                    access_buffer: 50.0 * i as f64,
                    receive_window: 1e4 - 900.0 * i as f64,
                };
            }
        }),
        ("paths", paths),
    ]
}

fn redrawn(model: &mut FluidModel) {
    model.links[0].background = Background::Resampled {
        mean: 30_000.0,
        deviation: 4000.0,
        interval: 0.13,
    };
}

fn red(beyond: AboveThreshold, max: f64) -> QueueDistribution {
    QueueDistribution::Red(Red {
        curve: DropCurve {
            min: 200.0,
            max,
            max_p: 1e-4,
            beyond,
            range: None,
        },
        follow: 3.0,
    })
}

/// Three links, five paths, two laws, packets of two sizes.
fn paths(model: &mut FluidModel) {
    let link = model.links[0].clone();
    for part in [0.6, 1.4] {
        let mut other = link.clone();
        other.capacity *= part;
        other.buffer *= 1.5 - part;
        model.links.push(other);
    }
    model.links[1].queue = red(AboveThreshold::Gentle, 3000.0);
    model.links[2].background = Background::Constant(20_000.0);
    model.target = 2;
    model.paths = vec![vec![0], vec![0, 1], vec![2, 1], vec![1], vec![2, 0, 1]];
    model.laws.push(FluidLaw::Aimd(Aimd::default()));
    let flow = model.flows[0];
    model.flows = (0..30_u32)
        .map(|i| FluidFlow {
            propagation: 0.02 + 0.006 * f64::from(i),
            law: (i % 2) as usize,
            path: (i % 5) as usize,
            size: if i % 3 == 0 { 0.4 } else { 1.0 },
            ..flow
        })
        .collect();
    model.measure = Measure::WholeCycles {
        start: 10.0,
        duration: 150.0,
    };
    if let Victims::Priority(_) = model.synchronization.victims {
        model.synchronization.victims = Victims::HighestRate;
    }
}

/// The same model with a shorter run, for fixed steps.
fn short(model: &FluidModel) -> FluidModel {
    let part = 40.0 / model.horizon;
    let measure = match model.measure {
        Measure::Fixed { start } => Measure::Fixed {
            start: start * part,
        },
        Measure::FromFirstEvent { start, duration } => Measure::FromFirstEvent {
            start: start * part,
            duration: duration * part,
        },
        Measure::WholeCycles { start, duration } => Measure::WholeCycles {
            start: start * part,
            duration: duration * part,
        },
    };
    FluidModel {
        measure,
        horizon: 40.0,
        ..model.clone()
    }
}

fn print_line(method: &str, name: &str, found: Result<FluidOutcome, FluidError>) {
    let (steps, text) = match found {
        // A constant capacity has no drain times. The text is removed, so that digests of versions
        // without the field are equal.
        Ok(outcome) => {
            let text = format!("{outcome:?}").replace(", drains: None", "");
            (outcome.steps, text)
        }
        Err(error) => (0, error.to_string()),
    };
    println!("{:016x} {steps:9} {method} {name}", key_of(&text));
}

fn find_scenarios(at: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if at.is_dir() {
        for entry in std::fs::read_dir(at)? {
            find_scenarios(&entry?.path(), files)?;
        }
    } else if at.extension().is_some_and(|extension| extension == "toml") {
        files.push(at.to_owned());
    }
    Ok(())
}

fn print_scenario(file: &Path) -> std::io::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let name = file.display();
    let scenario = match Scenario::parse(&text, Format::Toml, &name.to_string(), &[]) {
        Ok(scenario) => scenario,
        Err(error) => {
            println!("{name} refused: {error}");
            return Ok(());
        }
    };
    for seed in 1..=3 {
        let seed = Seed {
            seed,
            replication: seed - 1,
        };
        for (what, traces) in [("report", false), ("traces", true)] {
            let options = RunOptions {
                traces,
                ..seed.into()
            };
            let (steps, text) = match FluidEngine.run(&scenario, &options) {
                Ok(report) => {
                    let steps = report.cost.events;
                    let cost = Cost::default();
                    // The fixed version makes the digests of all versions comparable.
                    let version = "0.1.0".to_owned();
                    (
                        steps,
                        format!(
                            "{:?}",
                            Report {
                                cost,
                                version,
                                ..report
                            }
                        ),
                    )
                }
                Err(error) => (0, error.to_string()),
            };
            let seed = seed.seed;
            println!("{:016x} {steps:9} {what} {name} {seed}", key_of(&text));
        }
    }
    Ok(())
}
