//! How a batch of replications of one scenario file scales over threads: elapsed and processor
//! time on one thread and on more. On a machine that others use as well, the processor time says
//! whether the jobs hinder each other.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use forebay_engines::{Next, engine, replications, run_batch};
use forebay_scenario::{Format, Override, Scenario};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: scaling FILE REPLICATIONS [key=value ...]";
    let file = args.next().ok_or(usage)?;
    let count: u64 = args.next().ok_or(usage)?.parse()?;
    let overrides = args
        .map(|arg| Override::parse(&arg))
        .collect::<Result<Vec<_>, _>>()?;
    let text = std::fs::read_to_string(&file)?;
    let scenario = Arc::new(Scenario::parse(&text, Format::Toml, &file, &overrides)?);
    let packet = engine("packet")?;
    let mut alone = None;
    for threads in [1, 2] {
        let jobs = replications(&scenario, packet, 1, 0..count);
        let started = Instant::now();
        let threads = NonZeroUsize::new(threads).ok_or(usage)?;
        let outcomes = run_batch(jobs, threads, |_| Next::Continue)?;
        let wall = started.elapsed().as_secs_f64();
        let reports = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
        let cpu: f64 = reports.iter().map(|report| report.cost.cpu_s).sum();
        let (wall_alone, cpu_alone) = *alone.get_or_insert((wall, cpu));
        println!(
            "{threads} threads: {wall:.3} s elapsed ({:.2} times as fast), {cpu:.3} s of processor time ({:.3} times as much)",
            wall_alone / wall,
            cpu / cpu_alone
        );
    }
    Ok(())
}
