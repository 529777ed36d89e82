//! Whether a page can play a scenario, known without a run: a list of scenarios asks for it.

use forebay_packet::{PacketEngine, Stepwise};
use forebay_scenario::{Engine, RunOptions, Scenario, largest_need};
use forebay_units::Bytes;
use serde::Serialize;

use crate::answer::Refusal;
use crate::request::Text;

/// Halvings of the measured time that are tried.
const MOST_HALVINGS: u32 = 12;

/// Whether a page can play a scenario, and why not.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Playable {
    #[serde(rename = "playable")]
    can_play: bool,
    /// Estimate of the memory of a run, and the limit of a page: a run is refused above twice the
    /// limit, because an estimate may be wrong by that factor.
    memory_bytes: f64,
    most_memory_bytes: u64,
    /// Upper estimate of the events of a run.
    most_events: f64,
    /// The reason of a refusal, with the key that causes it.
    reason: Option<Refusal>,
    /// The change with which a page can play the scenario, if a shorter run is enough.
    shorten: Option<Change>,
}

/// A change of a key.
#[derive(Debug, Serialize)]
struct Change {
    key: &'static str,
    value: String,
}

impl Playable {
    /// Whether a page with this memory limit can play this scenario.
    pub(crate) fn of(text: &Text, memory: Bytes) -> Self {
        let most_memory_bytes = memory.get();
        let options = options(memory);
        let scenario = match text.read() {
            Ok(scenario) => scenario,
            Err(error) => {
                return Self {
                    reason: Some(error),
                    most_memory_bytes,
                    ..Self::default()
                };
            }
        };
        let needs = PacketEngine.needs(&scenario, &options);
        let largest = largest_need(&needs);
        let error = Stepwise::check(&scenario, &options).err();
        let reason = error.map(|error| Refusal {
            key: largest.map(|need| need.key.clone()),
            ..error.into()
        });
        Self {
            can_play: reason.is_none(),
            memory_bytes: needs.iter().map(|need| need.bytes).sum(),
            most_memory_bytes,
            most_events: scenario.most_events(),
            shorten: reason
                .is_some()
                .then(|| shorter(text, &scenario, &options))
                .flatten(),
            reason,
        }
    }
}

/// The longest measured time, by halves, with which a page can play a scenario.
fn shorter(text: &Text, scenario: &Scenario, options: &RunOptions) -> Option<Change> {
    let measure = scenario.run().measure.as_secs_f64();
    let tried = (1..=MOST_HALVINGS).map(|halvings| measure / f64::from(1u32 << halvings));
    let mut values = tried.map(|seconds| format!("{seconds}s"));
    let fits = |value: &String| {
        let changed = text.changed(format!("run.measure={value}")).read();
        changed.is_ok_and(|scenario| Stepwise::check(&scenario, options).is_ok())
    };
    values.find(fits).map(|value| Change {
        key: "run.measure",
        value,
    })
}

fn options(memory: Bytes) -> RunOptions {
    RunOptions {
        memory: Some(memory),
        ..RunOptions::default()
    }
}
