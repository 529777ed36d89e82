//! Scenarios for Python: text in, resolved values out.

use std::sync::Arc;

use forebay_scenario::{
    BufferLimit, BufferReport, Format, Override, Relation, ScenarioError, Seed, Unknown,
};
use forebay_simulation::{RandomState, RandomStates};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{InputError, scenario_error};
use crate::listening::{LONG, listening};

/// A smaller number of replications takes less time than a thread.
const FEW: usize = 64;

/// A valid, resolved scenario.
#[pyclass(frozen, module = "forebay._core")]
pub(crate) struct Scenario {
    pub(crate) inner: Arc<forebay_scenario::Scenario>,
    /// Whether its text is so long that parsing and printing take noticeable time.
    long: bool,
}

impl Scenario {
    /// Creates the scenario that `work` returns.
    fn made(
        py: Python<'_>,
        long: bool,
        work: impl FnOnce() -> Result<forebay_scenario::Scenario, ScenarioError> + Send + 'static,
    ) -> PyResult<Self> {
        let made = listening(py, long, work)?.map_err(|error| scenario_error(&error))?;
        let inner = Arc::new(made);
        Ok(Self { inner, long })
    }
}

#[pymethods]
impl Scenario {
    /// Parse a scenario; `overrides` are texts `key=value`.
    #[staticmethod]
    fn parse(
        py: Python<'_>,
        text: String,
        format: &str,
        file: String,
        overrides: Vec<Change>,
    ) -> PyResult<Self> {
        let format = read_format(format)?;
        let overrides = read_overrides(&overrides)?;
        let long = text.len() > LONG;
        Self::made(py, long, move || {
            forebay_scenario::Scenario::parse(&text, format, &file, &overrides)
        })
    }

    /// Return the text of a scenario as TOML with changes in it. The rest of a TOML text stays as
    /// written.
    #[staticmethod]
    fn as_toml(
        py: Python<'_>,
        text: String,
        format: &str,
        file: String,
        overrides: Vec<Change>,
    ) -> PyResult<String> {
        let format = read_format(format)?;
        let overrides = read_overrides(&overrides)?;
        let written = listening(py, text.len() > LONG, move || {
            forebay_scenario::Scenario::as_toml(&text, format, &file, &overrides)
        })?;
        written.map_err(|error| scenario_error(&error))
    }

    /// Return the same scenario with changes `key=value`.
    fn with_overrides(&self, py: Python<'_>, overrides: Vec<Change>) -> PyResult<Self> {
        let (old, changes) = (self.inner.clone(), read_overrides(&overrides)?);
        Self::made(py, self.long, move || old.with(&changes))
    }

    /// Return the same scenario with `packets` as the target link's buffer. A packet limit stays a
    /// packet limit, and a byte limit a byte limit.
    fn with_packets(&self, py: Python<'_>, packets: u64) -> PyResult<Self> {
        self.with_buffer(py, "link.buffer".to_owned(), packets)
    }

    /// Return the same scenario with `packets` as the buffer at `key`, one of
    /// [`Self::buffer_keys`]. A packet limit stays a packet limit, and a byte limit a byte limit.
    fn with_buffer(&self, py: Python<'_>, key: String, packets: u64) -> PyResult<Self> {
        let old = self.inner.clone();
        Self::made(py, self.long, move || old.with_packets(&key, packets))
    }

    /// The keys of all buffers, the target link's first.
    #[getter]
    fn buffer_keys(&self) -> Vec<String> {
        self.inner.buffer_keys()
    }

    /// Return the buffer at `key`, in the form of [`Self::buffer`].
    fn buffer_of<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyDict>> {
        figures(
            py,
            self.inner.buffer_of(key).map_err(|e| scenario_error(&e))?,
        )
    }

    /// Return the resolved scenario as canonical JSON.
    fn canonical_json(&self, py: Python<'_>) -> PyResult<String> {
        let scenario = self.inner.clone();
        listening(py, self.long, move || scenario.canonical_json())
    }

    /// Return the same with buffers in time or BDP as given, so that later changes have the same
    /// result.
    fn portable_json(&self, py: Python<'_>) -> PyResult<String> {
        let scenario = self.inner.clone();
        listening(py, self.long, move || scenario.portable_json())
    }

    /// SHA-256 of the canonical JSON.
    #[getter]
    fn sha256(&self, py: Python<'_>) -> PyResult<String> {
        let scenario = self.inner.clone();
        listening(py, self.long, move || scenario.sha256())
    }

    #[getter]
    fn title(&self) -> &str {
        self.inner.title()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.run().seed
    }

    #[getter]
    fn replications(&self) -> u64 {
        self.inner.run().replications
    }

    /// Warm-up and measured time in seconds.
    #[getter]
    fn duration_s(&self) -> (f64, f64) {
        (
            self.inner.run().warmup.as_secs_f64(),
            self.inner.run().measure.as_secs_f64(),
        )
    }

    /// The goals as (key, ">=" or "<=", threshold in the metric's unit).
    #[getter]
    fn goals(&self) -> Vec<(String, &'static str, f64)> {
        let sense = |relation| {
            if relation == Relation::AtLeast {
                ">="
            } else {
                "<="
            }
        };
        self.inner
            .goals()
            .iter()
            .map(|goal| (goal.key(), sense(goal.relation), goal.threshold))
            .collect()
    }

    /// The place of each goal: file, line and key.
    #[getter]
    fn goal_places(&self) -> Vec<&str> {
        let goals = self.inner.goals().iter();
        goals.map(|goal| goal.place.0.as_str()).collect()
    }

    /// Return the target link's buffer: packets, bytes, seconds, bdp (None without a BDP).
    fn buffer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        figures(py, self.inner.buffer())
    }

    /// Whether the target's limit counts packets (otherwise bytes).
    #[getter]
    fn packet_limit(&self) -> bool {
        matches!(self.inner.target().buffer, BufferLimit::Packets(_))
    }

    #[getter]
    fn packet_bytes(&self) -> f64 {
        self.inner.packet_bytes()
    }

    #[getter]
    fn bdp_packets(&self) -> Option<f64> {
        self.inner.bdp_packets()
    }

    /// Target link rate in bits per second.
    #[getter]
    fn rate_bps(&self) -> f64 {
        self.inner.target().rate.as_bits_per_second() as f64
    }

    /// Whether the target link's rate changes, or results from a medium. `rate_bps` is then its
    /// average.
    #[getter]
    fn rate_changes(&self) -> bool {
        let target = self.inner.target();
        target.changes() || target.phy.is_some()
    }

    /// Whether the target link has phases below and phases above its average rate.
    #[getter]
    fn has_phases(&self) -> bool {
        self.inner.target().has_phases()
    }

    /// Whether the target link's rate falls in the measured time. A drawn rate may fall, so it is
    /// true.
    #[getter]
    fn rate_falls(&self) -> bool {
        self.inner.target().falls(&self.inner.run())
    }

    /// The lowest and the highest rate of the target link, in bits per second.
    #[getter]
    fn rates_between_bps(&self) -> (f64, f64) {
        let (low, high) = self.inner.target().rates_between();
        let [low, high] = [low, high].map(|rate| rate.as_bits_per_second() as f64);
        (low, high)
    }

    /// Rate of each link in bits per second; the average if it changes.
    #[getter]
    fn rates_bps(&self) -> Vec<f64> {
        let rates = self.inner.links().iter();
        rates
            .map(|link| link.rate.as_bits_per_second() as f64)
            .collect()
    }

    #[getter]
    fn queue(&self) -> &'static str {
        self.inner.target().discipline.name()
    }

    /// Whether replications draw numbers of flows or common round-trip times.
    #[getter]
    fn uncertain(&self) -> bool {
        self.inner.uncertain()
    }

    #[getter]
    fn persistent_flows(&self) -> u64 {
        self.inner.persistent_flows()
    }

    /// Longest round trip of the persistent flows in seconds. It is infinite if its distribution
    /// has no bound, and None without such flows.
    #[getter]
    fn longest_rtt_s(&self) -> Option<f64> {
        let persistent = self.inner.flows().iter().filter(|group| group.persistent());
        persistent
            .map(|group| group.rtt.supremum())
            .reduce(f64::max)
    }

    #[getter]
    fn background_load(&self) -> f64 {
        self.inner.background_load()
    }

    /// Return the random states that the scenario declares, as dictionaries with the fields of
    /// `RandomState`.
    fn random_states<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let states = RandomStates::of(&self.inner);
        let states = states.list().iter();
        states.map(|state| described(py, state)).collect()
    }

    /// Return the values of the sampled random states in each of these replications.
    fn state_values(
        &self,
        py: Python<'_>,
        seed: u64,
        replications: Vec<u64>,
    ) -> PyResult<Vec<Vec<f64>>> {
        let scenario = self.inner.clone();
        listening(py, replications.len() > FEW, move || {
            let states = RandomStates::of(&scenario);
            let seeds = replications.into_iter();
            let seeds = seeds.map(|replication| Seed { seed, replication });
            seeds.map(|seed| states.values(seed)).collect()
        })
    }

    /// The flow groups as (name, count, controller, whether responsive).
    #[getter]
    fn groups(&self) -> Vec<(String, u64, &'static str, bool)> {
        let group = |g: &forebay_scenario::FlowGroup| {
            (g.name.clone(), g.count, g.controller.name(), g.responsive())
        };
        self.inner.flows().iter().map(group).collect()
    }
}

/// A random state as a dictionary.
fn described<'py>(py: Python<'py>, state: &RandomState) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("key", &state.key)?;
    dict.set_item("kind", state.kind.word())?;
    dict.set_item("cycle_s", state.cycle_s)?;
    dict.set_item("duration_s", state.duration_s)?;
    dict.set_item("share", state.share)?;
    dict.set_item("sampled", state.sampled)?;
    dict.set_item("phrase", &state.phrase)?;
    Ok(dict)
}

/// A buffer in every unit, as a dictionary.
fn figures(py: Python<'_>, buffer: BufferReport) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("packets", buffer.packets)?;
    dict.set_item("bytes", buffer.bytes)?;
    dict.set_item("seconds", buffer.seconds)?;
    dict.set_item("bdp", buffer.bdp)?;
    Ok(dict)
}

/// A change to a scenario, with the argument that requests it if that is not `overrides`.
#[derive(FromPyObject)]
pub(crate) enum Change {
    /// "key=value".
    Text(String),
    /// An argument and its "key=value".
    Asked(String, String),
    /// An argument that gives the value of this key: argument, key, value.
    Of(String, String, String),
}

/// The format of a text by its name.
fn read_format(format: &str) -> PyResult<Format> {
    match format {
        "toml" => Ok(Format::Toml),
        "json" => Ok(Format::Json),
        other => {
            let unknown = Unknown::among("format", other, ["toml", "json"]);
            Err(InputError::new_err((unknown.to_string(), "kind")))
        }
    }
}

fn read_overrides(changes: &[Change]) -> PyResult<Vec<Override>> {
    let read = |change: &Change| match change {
        Change::Text(text) => Override::parse(text),
        Change::Asked(argument, text) => Override::for_argument(argument, text),
        Change::Of(argument, key, value) => Ok(Override::of(argument, key, value)),
    };
    let read = changes.iter().map(read);
    read.map(|change| change.map_err(|error| scenario_error(&error)))
        .collect()
}

/// Return the JSON Schema of scenario files, as text.
#[pyfunction]
pub(crate) fn schema() -> String {
    forebay_scenario::schema().to_string()
}
