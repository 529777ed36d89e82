//! Observes captures together and prints the time that it took and a summary.
//!
//! `cargo run --release -p forebay-capture --example observe -- FILE...`

use std::time::Instant;

use forebay_capture::{Observer, Reader, Settings, Stream, merged};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let readers: Result<Vec<_>, _> = std::env::args().skip(1).map(Reader::open).collect();
    let mut captures = merged(readers?)?;
    let mut observer = Observer::new(Settings::default());
    while let Some(packet) = captures.next()? {
        observer.observe(&packet);
    }
    let observation = observer.finish();
    let seconds = started.elapsed().as_secs_f64();
    let rate = observation.packets as f64 / seconds / 1e6;
    println!(
        "{} packets in {seconds:.2} s, {rate:.2} million/s; {} connections, {} alive at most",
        observation.packets, observation.connections, observation.max_concurrent_flows
    );
    for interface in &observation.interfaces {
        for direction in &interface.directions {
            let streams = &direction.streams;
            println!(
                "interface {}: {} bytes, {} streams, {} long",
                interface.number, direction.load.total.bytes, streams.count, streams.long_count
            );
            let base = streams.long.iter().filter_map(Stream::base_round_trip);
            if let (Some(least), Some(most)) = (base.clone().min(), base.max()) {
                println!("  base round trips {least} to {most} ns");
            }
        }
    }
    Ok(())
}
