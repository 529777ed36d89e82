//! Runs the scenarios of a file of Linux reference rows (JSON lines) and prints theirs and ours.
//!
//! `cargo run --release -p forebay-packet --example linux_rows FILE [RUNS] [LABEL PART]`

use forebay_packet::PacketEngine;
use forebay_scenario::{Engine, Format, Metric, Scenario, Seed};
use serde_json::Value;

/// Means and standard deviations over runs.
#[derive(Default)]
struct Figures {
    utilization: Vec<f64>,
    delay_ms: Vec<f64>,
    loss: Vec<f64>,
    shares: Vec<Vec<f64>>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let file = args.next().ok_or("usage: linux_rows FILE [RUNS] [LABEL]")?;
    let runs: u64 = args.next().map_or(Ok(8), |runs| runs.parse())?;
    let part = args.next().unwrap_or_default();
    println!(
        "{:28} {:>7} {:>7} {:>5} | {:>7} {:>7} {:>5} | {:>8} {:>8} | shares",
        "row", "U", "ours", "sd", "delay", "ours", "%", "loss", "ours"
    );
    let mut done: Vec<(Value, Figures)> = Vec::new();
    for line in std::fs::read_to_string(&file)?.lines() {
        let row: Value = serde_json::from_str(line)?;
        let label = row["label"].as_str().unwrap_or_default().to_owned();
        if !label.contains(&part) {
            continue;
        }
        let text = scenario(&row);
        let known = done.iter().position(|(of, _)| of["label"] == row["label"]);
        let at = match known {
            Some(at) => at,
            None => {
                let threads = [0, 1].map(|half| {
                    let text = text.clone();
                    std::thread::spawn(move || {
                        (0..runs)
                            .filter(|run| run % 2 == half)
                            .map(|run| measure(&text, run).map_err(|error| error.to_string()))
                            .collect::<Result<Vec<_>, _>>()
                    })
                });
                let mut figures = Figures::default();
                for thread in threads {
                    for (u, d, p, shares) in thread.join().map_err(|_| "a run panicked")?? {
                        figures.utilization.push(u);
                        figures.delay_ms.push(d);
                        figures.loss.push(p);
                        figures.shares.push(shares);
                    }
                }
                done.push((row.clone(), figures));
                done.len() - 1
            }
        };
        show(&row, &done[at].1);
    }
    Ok(())
}

fn scenario(row: &Value) -> String {
    let number = |key: &str| row[key].as_f64().unwrap_or(0.0);
    let mut text = format!(
        "[link]\nrate = \"{}bps\"\nbuffer = \"{}p\"\n[run]\nwarmup = \"{}s\"\nmeasure = \"{}s\"\nseed = 1\n",
        number("rate_bits_per_s"),
        number("buffer_packets_waiting"),
        number("warmup_s"),
        number("duration_s") - number("warmup_s"),
    );
    let controllers = row["flow_cc"].as_array().cloned().unwrap_or_default();
    let rtts = row["flow_base_rtt_ms"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    for (flow, rtt) in rtts.iter().enumerate() {
        let name = controllers[flow % controllers.len()]
            .as_str()
            .unwrap_or_default();
        let cca = if name == "reno" { "newreno" } else { name };
        text.push_str(&format!(
            "[[flows]]\nname = \"f{flow}\"\ncca = \"{cca}\"\nstack = \"linux\"\nrtt = \"{rtt}ms\"\npacket = \"1500B\"\nstart = {{ uniform = [\"0s\", \"2s\"] }}\n",
        ));
    }
    text
}

fn measure(text: &str, run: u64) -> Result<(f64, f64, f64, Vec<f64>), Box<dyn std::error::Error>> {
    let scenario = Scenario::parse(text, Format::Toml, "row", &[])?;
    let seed = Seed {
        seed: 1,
        replication: run,
    };
    let report = PacketEngine.run(&scenario, seed)?;
    let metric = |metric: Metric| report.metrics.get(&metric).map_or(f64::NAN, |v| v.mean);
    let goodputs: Vec<f64> = report
        .groups
        .iter()
        .map(|group| group.metrics.get(&Metric::Goodput).map_or(0.0, |v| v.mean))
        .collect();
    let total: f64 = goodputs.iter().sum();
    Ok((
        metric(Metric::Utilization),
        metric(Metric::QueueDelayMean) * 1e3,
        metric(Metric::LossRate),
        goodputs.iter().map(|goodput| goodput / total).collect(),
    ))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares = values
        .iter()
        .map(|x| (x - middle) * (x - middle))
        .sum::<f64>();
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}

fn show(row: &Value, ours: &Figures) {
    let theirs = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let (u, d, p) = (
        theirs("utilisation_ratio"),
        theirs("queue_delay_packet_mean_ms"),
        theirs("loss_ratio_of_arrivals"),
    );
    let delay = mean(&ours.delay_ms);
    let rates: Vec<f64> = row["flow_goodput_mbit_per_s"]
        .as_array()
        .map(|rates| rates.iter().filter_map(Value::as_f64).collect())
        .unwrap_or_default();
    let total: f64 = rates.iter().sum();
    let shares: Vec<String> = (0..rates.len())
        .map(|flow| {
            let own: Vec<f64> = ours.shares.iter().map(|run| run[flow]).collect();
            format!("{:.2}/{:.2}", rates[flow] / total, mean(&own))
        })
        .collect();
    let off = mean(&ours.utilization) - u;
    println!(
        "{:28} {u:7.4} {:7.4} {:5.3} {:+5.1}| {d:7.3} {delay:7.3} {:+5.0}% | {p:8.6} {:8.6} | {}",
        row["label"].as_str().unwrap_or_default(),
        mean(&ours.utilization),
        deviation(&ours.utilization),
        off * 100.0,
        100.0 * (delay / d - 1.0),
        mean(&ours.loss),
        shares.join(" "),
    );
}
