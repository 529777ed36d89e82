//! The random states that a scenario declares, and their values in each replication without
//! simulating packets: from the streams that the simulation draws from. A search stratifies its
//! replications by them, and it names the states that no replication has shown.
//!
//! 1. [`RandomStates::of`] lists the states of a scenario once.
//! 2. [`RandomStates::values`] gives the values in one replication.
//!
//! A value never depends on a buffer. States with more than a thousand expected occurrences in a
//! run are left out, because they average out within each run.

mod activity;
mod groups;
mod links;
mod overload;
mod state;
#[cfg(test)]
mod tests;

use forebay_random::Seed;
use forebay_scenario::Scenario;

use state::{Found, Sampler};
pub use state::{RandomState, StateKind};

/// The random states of a scenario: those of its groups, then those of its links, in the scenario's
/// order, and the overload of the target link.
///
/// ```
/// use forebay_random::Seed;
/// use forebay_scenario::{Format, Scenario};
/// use forebay_simulation::RandomStates;
///
/// let text = r#"
///     [link]
///     rate = "20Mbps"
///     buffer = "100p"
///     [[flows]]
///     name = "bulk"
///     rtt = "40ms"
///     count = { choice = [1, 30] }
/// "#;
/// let scenario = Scenario::parse(text, Format::Toml, "bulk.toml", &[])?;
/// let states = RandomStates::of(&scenario);
/// assert_eq!(states.list()[0].key, "flows.bulk.count");
/// let seed = Seed { seed: 1, replication: 7 };
/// let count = scenario.drawn(seed).flows()[0].count;
/// assert_eq!(states.values(seed), [count as f64]);
/// # Ok::<(), forebay_scenario::ScenarioError>(())
/// ```
pub struct RandomStates<'a> {
    list: Vec<RandomState>,
    /// One for each sampled state, in the order of the list.
    samplers: Vec<Sampler<'a>>,
}

impl<'a> RandomStates<'a> {
    /// The states of a scenario that has not been drawn for a replication.
    pub fn of(scenario: &'a Scenario) -> Self {
        let groups = 0..scenario.flows().len();
        let groups = groups.flat_map(|number| groups::of_group(scenario, number));
        let links = 0..scenario.links().len();
        let links = links.flat_map(|number| links::of_link(scenario, number));
        let mut states = Self {
            list: Vec::new(),
            samplers: Vec::new(),
        };
        let overload = overload::of_target(scenario);
        for Found { state, sampler } in groups.chain(links).chain(overload) {
            states.list.push(state);
            states.samplers.extend(sampler);
        }
        states
    }

    /// All states.
    pub fn list(&self) -> &[RandomState] {
        &self.list
    }

    /// The values of the sampled states in the replication of this seed, in the order of
    /// [`Self::list`].
    pub fn values(&self, seed: Seed) -> Vec<f64> {
        self.samplers.iter().map(|sample| sample(seed)).collect()
    }
}
