//! probe
use forebay_congestion::aimd::Aimd;
use forebay_congestion::cubic::Cubic;
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::hstcp::{HstcpResponse, HstcpTrajectory};
use forebay_congestion::htcp::Htcp;
use forebay_fluid::*;
use forebay_random::Seed;
use std::time::Instant;

fn model(law: FluidLaw, fast: bool, x: f64, fraction: f64, seed: u64) -> FluidModel {
    let (capacity, full, low, high) = if fast {
        (10e9 / 12000.0, 141667.0, 0.080, 0.260)
    } else {
        (1e9 / 8000.0, 12500.0, 0.1155, 0.1245)
    };
    let whole = matches!(law, FluidLaw::Aimd(_));
    let duration = match (whole, fast) {
        (true, true) => 8000.0,
        (true, false) => 4000.0,
        (false, true) => 3000.0,
        _ => 2000.0,
    };
    FluidModel {
        links: vec![FluidLink {
            capacity,
            buffer: fraction * full,
            background: Background::Constant(0.0),
            queue: QueueLaw::DropTail,
        }],
        target: 0,
        paths: vec![vec![0]],
        laws: vec![law],
        flows: (0..10)
            .map(|i| FluidFlow {
                propagation: low + (high - low) * f64::from(i) / 9.0,
                law: 0,
                path: 0,
                size: 1.0,
                initial_window: None,
            })
            .collect(),
        synchronisation: Synchronisation {
            minimum: x,
            ..Synchronisation::default()
        },
        measure: if whole {
            Measure::WholeCycles {
                start: 0.0,
                duration,
            }
        } else {
            Measure::FromFirstEvent {
                start: 0.0,
                duration,
            }
        },
        horizon: 20000.0,
        tolerance: 1e-4,
        trace: None,
        seed: Seed {
            seed,
            replication: 0,
        },
    }
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let tol: f64 = args.get(1).map_or(1e-4, |s| s.parse().unwrap());
    let euler: f64 = args.get(2).map_or(0.0, |s| s.parse().unwrap());
    let x: f64 = args.get(3).map_or(1.0, |s| s.parse().unwrap());
    if tol == 2.0 {
        for frac in [0.02, 0.2] {
            for x in [0.3, 0.6] {
                let mut s = (0.0, 0.0, 0.0);
                let n = 100;
                let mut k = 0.0;
                for seed in 0..n {
                    let mut m = model(FluidLaw::Aimd(Aimd::default()), false, x, frac, seed + 1000);
                    m.tolerance = 1e-5;
                    let o = if euler > 0.0 {
                        integrate_euler(&m, euler).unwrap()
                    } else {
                        integrate(&m).unwrap()
                    };
                    let u = o.links[0].utilization * 100.0;
                    s.0 += u;
                    s.1 += u * u;
                    s.2 += o.links[0].synchronization.unwrap();
                    k += o.links[0].events as f64;
                }
                let n = n as f64;
                println!(
                    "X={x} {frac}: {} se {} sync {} ev {}",
                    s.0 / n,
                    ((s.1 / n - (s.0 / n) * (s.0 / n)) / n).sqrt(),
                    s.2 / n,
                    k / n
                );
            }
        }
        return;
    }
    if tol == 0.0 {
        let law = match args[4].as_str() {
            "aimd" => FluidLaw::Aimd(Aimd::default()),
            "hstcp" => FluidLaw::Hstcp(HstcpTrajectory::new(HstcpResponse::default()).unwrap()),
            "cubic" => FluidLaw::Cubic(Cubic::of_2008()),
            _ => FluidLaw::Htcp(Htcp::default()),
        };
        let t = Instant::now();
        for seed in 0..300 {
            let _ = integrate(&model(
                law.clone(),
                args[5] == "10",
                x,
                args[6].parse().unwrap(),
                seed,
            ))
            .unwrap();
        }
        println!("{} ms per run", t.elapsed().as_secs_f64() * 1e3 / 300.0);
        return;
    }
    for fast in [false, true] {
        for law in [
            FluidLaw::Aimd(Aimd::default()),
            FluidLaw::Hstcp(HstcpTrajectory::new(HstcpResponse::default()).unwrap()),
            FluidLaw::Cubic(Cubic::of_2008()),
            FluidLaw::Htcp(Htcp::default()),
        ] {
            print!("{} {fast} X={x}: ", law.name());
            for fraction in [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0] {
                let mut m = model(law.clone(), fast, x, fraction, 1);
                m.tolerance = tol;
                let t = Instant::now();
                let o = integrate(&m).unwrap();
                let dt = t.elapsed().as_secs_f64();
                print!("{:.3} ", o.links[0].utilization * 100.0);
                print!(
                    "[{} ev {} st {} rf {:.2} ms {:.0e} J{:.2}] ",
                    o.links[0].events,
                    o.steps,
                    o.refused,
                    dt * 1e3,
                    o.conservation,
                    o.jain
                );
                if euler > 0.0 {
                    let t = Instant::now();
                    let e = integrate_euler(&m, euler).unwrap();
                    let de = t.elapsed().as_secs_f64();
                    print!(
                        "(E {:.3} {:.1} ms x{:.0}) ",
                        e.links[0].utilization * 100.0,
                        de * 1e3,
                        de / dt
                    );
                }
            }
            println!();
        }
    }
}
