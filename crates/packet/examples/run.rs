//! Runs a scenario file and prints its report and speed: for profiling the engine alone.

use std::time::Instant;

use forebay_packet::PacketEngine;
use forebay_scenario::{Engine, Format, Override, Scenario, Seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("usage: run FILE [key=value ...]")?;
    let text = std::fs::read_to_string(&file)?;
    let overrides = args
        .map(|arg| Override::parse(&arg))
        .collect::<Result<Vec<_>, _>>()?;
    let json = std::path::Path::new(&file)
        .extension()
        .is_some_and(|e| e == "json");
    let format = if json { Format::Json } else { Format::Toml };
    let scenario = Scenario::parse(&text, format, &file, &overrides)?;
    let started = Instant::now();
    let seed = Seed {
        seed: scenario.run().seed,
        replication: 0,
    };
    let report = PacketEngine.run(&scenario, &seed.into())?;
    let seconds = started.elapsed().as_secs_f64();
    for (metric, value) in &report.metrics {
        println!("{:28} {:.6}", metric.name(), value.mean);
    }
    for group in &report.groups {
        println!("group {}", group.name);
        for (metric, value) in &group.metrics {
            println!("  {:26} {:.6}", metric.name(), value.mean);
        }
        for flow in group.per_flow.iter().take(10) {
            println!(
                "  flow: {:.3} Mb/s, loss {:.6}, {} sent again, {} timeouts, {} events",
                flow.goodput_bps / 1e6,
                flow.loss_rate,
                flow.retransmissions,
                flow.timeouts,
                flow.congestion_events
            );
        }
    }
    println!("warnings {:?}", report.warnings);
    println!(
        "events {} in {seconds:.3} s: {:.1} million per second; data packets {}",
        report.cost.events,
        report.cost.events as f64 / seconds / 1e6,
        report.cost.data_packets
    );
    Ok(())
}
