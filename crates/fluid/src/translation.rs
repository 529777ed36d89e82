//! Translates a scenario to a fluid model.
//!
//! Windows, buffers and rates are in packets of the scenario's mean size; a flow with larger
//! packets counts for more of them. Features without meaning in a fluid (transfers, per-flow
//! queues) are refused by name. Features that it only ignores cause warnings.

use std::sync::Arc;

use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::fluid_law;
use forebay_discipline::DropCurve;
use forebay_random::{Purpose, Stream, key_of};
use forebay_scenario::{
    Algorithm, BackgroundRate, BufferLimit, EngineError, FlowGroup, Link, MeasurementWindow,
    Scenario, Seed, VictimCountLaw, VictimPolicy, Warning, WarningKind, Workload,
};
use forebay_units::parameter::{Parameters, Threshold, Value};
use forebay_units::{Rate, Time};

use crate::capacity::CapacitySteps;
use crate::domain;
use crate::error::FluidError;
use crate::model::{
    Background, FluidFlow, FluidLink, FluidModel, Limits, Measure, QueueDistribution, Red,
};
use crate::synchronization::{CutCountDistribution, Synchronization, Victims};

/// The engine's name.
pub(crate) const NAME: &str = "fluid";

/// A scenario as a fluid model, with the data for the report.
pub(crate) struct Translation {
    pub(crate) model: FluidModel,
    /// Seconds of silence of each flow of the model after a loss that only its timer detects.
    pub(crate) timeouts: Vec<f64>,
    /// Index of the group of each flow of the model.
    pub(crate) group_of: Vec<usize>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) seed: Seed,
}

impl Translation {
    /// The model of a scenario with the random draws of `seed`.
    pub(crate) fn new(scenario: &Scenario, seed: Seed) -> Result<Self, EngineError> {
        let run = scenario.run();
        let end = run.warmup.as_secs_f64() + run.measure.as_secs_f64();
        for group in scenario.flows() {
            if group.routing.is_some() {
                return Err(unsupported("flows between hosts of a `[fabric]`"));
            }
            refuse_unmodeled(group, end)?;
            let marks = |&l: &usize| scenario.links()[l].discipline.name() != "droptail";
            if group.responsive() && group.stack.ecn && group.path.iter().any(marks) {
                return Err(unsupported(format!("`ecn` (group `{}`)", group.name)));
            }
        }
        if (scenario.links().iter()).any(|link| link.opportunities().is_some()) {
            return Err(unsupported("opportunities of delivery (`mahimahi`)"));
        }
        if (scenario.links().iter()).any(|link| link.outages.any() && link.outages.flush) {
            return Err(unsupported("`flush` of outages"));
        }
        if scenario.links().iter().any(|link| link.medium.is_some()) {
            return Err(unsupported("a `medium` of its own"));
        }
        if scenario.links().iter().any(Link::is_lossless) {
            return Err(unsupported("lossless queues (`pfc`)"));
        }
        if scenario.links().iter().any(|link| link.memory.is_some()) {
            return Err(unsupported("a memory that links share"));
        }
        if scenario.links().iter().any(|link| link.loss.rate() > 0.0) {
            return Err(unsupported("`loss` of a medium"));
        }
        if scenario.links().iter().any(|link| link.delays.is_some()) {
            return Err(unsupported("a delay in steps"));
        }
        if scenario.links().iter().any(|link| link.policer.is_some()) {
            return Err(unsupported("a `policer`"));
        }
        if scenario.links().iter().any(|link| link.shaper.is_some()) {
            return Err(unsupported("a `shaper`"));
        }
        let options = scenario.fluid();
        let (warmup, measured) = (run.warmup.as_secs_f64(), run.measure.as_secs_f64());
        let links: Vec<FluidLink> = (0..scenario.links().len())
            .map(|number| translate_link(scenario, number, seed))
            .collect::<Result<_, _>>()?;
        // Cycles of the windows differ from those of the rates, and all phases of the rates count.
        let changes = |link: &FluidLink| {
            let steps = link.steps.as_ref();
            steps.is_some_and(|steps| steps.changes(end) > steps.changes(warmup))
        };
        let changes = links.iter().any(changes);
        let mut translation = Self {
            model: FluidModel {
                links,
                target: scenario.target_index(),
                paths: Vec::new(),
                laws: Vec::new(),
                flows: Vec::new(),
                synchronization: synchronization(scenario),
                measure: match options.window {
                    MeasurementWindow::WholeCycles if !changes => Measure::WholeCycles {
                        start: warmup,
                        duration: measured,
                    },
                    _ => Measure::Fixed { start: warmup },
                },
                horizon: warmup + measured,
                tolerance: options.tolerance,
                trace: None,
                cancel: forebay_scenario::Cancel::default(),
                seed,
            },
            timeouts: Vec::new(),
            group_of: Vec::new(),
            warnings: Vec::new(),
            seed,
        };
        for number in 0..scenario.flows().len() {
            translation.add_group(scenario, number)?;
        }
        if translation.model.paths.is_empty() {
            translation.model.paths.push(vec![scenario.target_index()]);
        }
        translation.note_left_out(scenario);
        let target = &translation.model.links[translation.model.target];
        let phases = target.steps.as_ref().map_or((0.0, f64::INFINITY), |steps| {
            (steps.longest_outage(), end / steps.changes(end))
        });
        translation
            .warnings
            .extend(domain::warnings(scenario, phases));
        Ok(translation)
    }

    /// Adds a group's flows, or its load as background of its links.
    fn add_group(&mut self, scenario: &Scenario, number: usize) -> Result<(), EngineError> {
        let group = &scenario.flows()[number];
        if group.unresponsive_rate().is_some() {
            for &l in &group.path {
                let (rate, variance) = background_moments(scenario, group, l);
                match &mut self.model.links[l].background {
                    Background::Constant(total) => *total += rate,
                    Background::Resampled {
                        mean, deviation, ..
                    } => {
                        *mean += rate;
                        *deviation = (*deviation * *deviation + variance).sqrt();
                    }
                }
            }
            return Ok(());
        }
        if self.model.flows.len() as u64 + group.count > 1_000_000 {
            let why = "more than 1000000 flows".to_owned();
            return Err(EngineError::TooLarge { engine: NAME, why });
        }
        let law = self.law_index(group)?;
        let path = self.path_index(&group.path);
        let key = key_of(&group.name);
        for index in 0..group.count {
            let stream = |purpose| Stream::new(self.seed, key.wrapping_add(index), purpose);
            let rtt = group
                .rtt
                .draw(index, group.count, &mut stream(Purpose::RoundTrip));
            let packet = group
                .packet
                .draw(index, group.count, &mut stream(Purpose::Packet));
            self.model.flows.push(FluidFlow {
                propagation: rtt.as_secs_f64(),
                law,
                path,
                size: relative_size(scenario, scenario.target(), packet.get() as f64),
                initial_window: None,
                limits: limits(group, packet.get() as f64),
            });
            self.timeouts.push(group.stack.min_rto.as_secs_f64());
            self.group_of.push(number);
        }
        Ok(())
    }

    fn law_index(&mut self, group: &FlowGroup) -> Result<usize, EngineError> {
        let controller: &Algorithm = &group.controller;
        let law: FluidLaw = fluid_law(controller.name(), controller.parameters())
            .ok_or_else(|| unsupported(describe_unsupported(controller)))?;
        let known = self.model.laws.iter().position(|other| *other == law);
        Ok(known.unwrap_or_else(|| {
            self.model.laws.push(law);
            self.model.laws.len() - 1
        }))
    }

    fn path_index(&mut self, path: &[usize]) -> usize {
        let known = self.model.paths.iter().position(|other| other == path);
        known.unwrap_or_else(|| {
            self.model.paths.push(path.to_vec());
            self.model.paths.len() - 1
        })
    }

    /// Adds warnings about features of the scenario that the fluid model ignores.
    fn note_left_out(&mut self, scenario: &Scenario) {
        let groups = || scenario.flows().iter();
        let mut note = |some: bool, about: (WarningKind, &str), text: &str| {
            if some {
                let (kind, subject) = about;
                self.warnings.push(Warning::new(kind, text).about(subject));
            }
        };
        note(
            groups().any(|g| g.responsive() && g.start.supremum() > 0.0),
            (WarningKind::LeftOut, "start"),
            "the fluid engine ignores start times: every flow starts at 0 s with 20 to 80 % of its fair window",
        );
        note(
            groups().any(|g| g.responsive() && g.stack.delayed_ack.packets > 1),
            (WarningKind::LeftOut, "delayed_ack"),
            "the fluid engine ignores delayed acknowledgments: windows grow as with one acknowledgment per packet",
        );
        note(
            groups().any(|g| g.responsive() && g.stack.processing.beyond() > Time::ZERO),
            (WarningKind::LeftOut, "processing"),
            "the fluid engine ignores processing times of hosts",
        );
        let constant = scenario.fluid().background == BackgroundRate::Constant;
        note(
            constant && groups().any(|g| !g.responsive()),
            (WarningKind::FluidBackground, "constant"),
            "the fluid engine has unresponsive traffic at a constant rate, whose bursts cause no queue and no loss",
        );
        note(
            !constant && groups().any(|g| !g.responsive()),
            (WarningKind::FluidBackground, "redrawn"),
            "the fluid engine has unresponsive traffic at a rate that changes randomly; shorter bursts cause no queue and no loss",
        );
        let adaptive =
            |link: &Link| link.discipline.parameters().get("adaptive") == Value::Switch(true);
        note(
            scenario
                .links()
                .iter()
                .any(|l| l.discipline.name() == "red" && adaptive(l)),
            (WarningKind::LeftOut, "adaptive"),
            "RED does not adapt in the fluid engine: max_p has its start value",
        );
        note(
            scenario.fluid().law == VictimCountLaw::Continuous,
            (WarningKind::Silent, "synchronization"),
            "a continuous loss rate has no congestion events and therefore no `synchronization`",
        );
        note(
            true,
            (
                WarningKind::Silent,
                "mark_rate, retransmissions, timeouts, completion_time",
            ),
            "a fluid model has no mark_rate, retransmissions, timeouts and completion times",
        );
        // The model does not count the groups of the packets that come while the queue is long.
        note(
            scenario.target_flows().count() > 1,
            (WarningKind::Silent, "queue_delay"),
            "the queueing delays are those of all groups together: the fluid engine does not separate them",
        );
    }
}

fn unsupported(feature: impl Into<String>) -> EngineError {
    EngineError::Unsupported {
        engine: NAME,
        feature: feature.into(),
    }
}

impl From<FluidError> for EngineError {
    fn from(error: FluidError) -> Self {
        match error {
            FluidError::Interrupted => Self::Interrupted,
            FluidError::TooLong { .. }
            | FluidError::TooManyChanges { .. }
            | FluidError::NotFinite { .. } => Self::TooLarge {
                engine: NAME,
                why: error.to_string(),
            },
            FluidError::OutOfRange { .. } | FluidError::Distribution(_) => {
                unsupported(error.to_string())
            }
        }
    }
}

/// The description of a controller without a fluid law, for an error.
fn describe_unsupported(controller: &Algorithm) -> String {
    let name = controller.name();
    let descriptions = forebay_congestion::descriptions().iter();
    let mut described = descriptions.filter(|description| description.name == name);
    let published = described.any(|description| {
        fluid_law(name, &Parameters::defaults(description.parameters)).is_some()
    });
    if published {
        format!(
            "cca `{name}` with other than its published form (`stack = \"linux\"` sets `variant`)"
        )
    } else {
        format!("cca `{name}`")
    }
}

/// Refuses features of a group that the engine does not model. A stop after the `end` of the run is
/// ignored.
fn refuse_unmodeled(group: &FlowGroup, end: f64) -> Result<(), EngineError> {
    let transfers = match group.workload {
        Workload::Finite { .. } => Some("finite"),
        Workload::ClosedLoop { .. } => Some("closed_loop"),
        Workload::Periodic { .. } => Some("periodic"),
        Workload::OpenLoop { .. } => Some("open_loop"),
        Workload::Incast { .. } => Some("incast"),
        Workload::AllToAll { .. } => Some("all_to_all"),
        Workload::RingAllReduce { .. } => Some("ring_all_reduce"),
        Workload::ApplicationLimited { .. } => Some("app_limited"),
        Workload::Persistent
        | Workload::Poisson { .. }
        | Workload::Cbr { .. }
        | Workload::OnOff { .. } => None,
    };
    let refuse = |feature: &str| Err(unsupported(format!("{feature} (group `{}`)", group.name)));
    if let Some(workload) = transfers {
        return refuse(&format!("workload `{workload}`"));
    }
    if !group.responsive() {
        return Ok(());
    }
    if group.stop.as_ref().is_some_and(|stop| stop.infimum() < end) {
        return refuse("`stop`");
    }
    if !group.reverse.is_empty() {
        return refuse("`reverse`");
    }
    Ok(())
}

/// The limits of a group's flow with packets of `bytes` bytes.
fn limits(group: &FlowGroup, bytes: f64) -> Limits {
    let mut limits = Limits::default();
    if let Some(access) = &group.access {
        limits.access_rate = access.rate.as_bytes_per_second() / bytes;
        if let Some(queue) = access.queue {
            limits.access_buffer = queue as f64;
        }
    }
    if let Some(window) = group.stack.receive_window {
        limits.receive_window = window;
    }
    limits
}

/// Bytes that the link layer adds to an IP packet.
pub(crate) fn overhead_bytes(link: &Link) -> f64 {
    link.rate_layer.framing().get() as f64
}

/// Number of mean-sized packets of the scenario that a packet of `bytes` bytes equals at a link.
fn relative_size(scenario: &Scenario, link: &Link, bytes: f64) -> f64 {
    (bytes + overhead_bytes(link)) / (scenario.packet_bytes() + overhead_bytes(link))
}

fn translate_link(
    scenario: &Scenario,
    number: usize,
    seed: Seed,
) -> Result<FluidLink, EngineError> {
    let link = &scenario.links()[number];
    let packet = scenario.packet_bytes();
    let per_second = |rate: Rate| rate.as_bytes_per_second() / (packet + overhead_bytes(link));
    let capacity = per_second(link.rate);
    let steps = link.realized(seed, number, scenario.run().end());
    let steps = steps.map(|steps| Arc::new(CapacitySteps::new(&steps, per_second)));
    let buffer = match link.buffer {
        BufferLimit::Packets(count) => count as f64,
        BufferLimit::Bytes(bytes) => bytes.get() as f64 / packet,
    };
    let queue = match link.discipline.name() {
        "droptail" => QueueDistribution::DropTail,
        "red" => QueueDistribution::Red(red(scenario, link, (capacity, buffer))),
        other => return Err(unsupported(format!("queue `{other}`"))),
    };
    Ok(FluidLink {
        capacity,
        steps,
        buffer,
        background: match scenario.fluid().background {
            BackgroundRate::Constant => Background::Constant(0.0),
            BackgroundRate::Resampled(interval) => Background::Resampled {
                mean: 0.0,
                deviation: 0.0,
                interval: interval.as_secs_f64(),
            },
        },
        queue,
    })
}

/// The mean rate of an unresponsive group at a link, in packets of the link per second. The second
/// value is the variance of its mean over the redraw interval of the background.
///
/// A Poisson stream of rate r has variance r / T over T. An on-off source is a two-state Markov
/// process with correlation time on off / (on + off), for any distribution of its periods. The
/// variance of its time average is 2 s^2 (c - c^2 (1 - exp(-1/c))). Here s^2 is the variance of its
/// state, and c is the correlation time divided by T. Equidistant packets have no variance.
fn background_moments(scenario: &Scenario, group: &FlowGroup, link: usize) -> (f64, f64) {
    let bytes = group.packet.mean();
    let size = relative_size(scenario, &scenario.links()[link], bytes);
    let rate = group.unresponsive_rate().unwrap_or(0.0) / 8.0 / bytes * size;
    let BackgroundRate::Resampled(interval) = scenario.fluid().background else {
        return (rate, 0.0);
    };
    let interval = interval.as_secs_f64();
    let variance = match &group.workload {
        Workload::Poisson { .. } => rate * size / interval,
        Workload::OnOff { peak, on, off } => {
            let (on, off) = (on.mean(), off.mean());
            let peak = peak.as_bytes_per_second() / bytes * size;
            let state = group.count as f64 * peak * peak * on * off / ((on + off) * (on + off));
            let c = on * off / (on + off) / interval;
            // For slow sources the average equals the state, and the difference below would cancel.
            if c > 1e4 {
                state
            } else {
                2.0 * state * (c - c * c * -libm::expm1(-1.0 / c))
            }
        }
        _ => 0.0,
    };
    (rate, variance.max(0.0))
}

/// RED with the parameters of its discipline. An automatic weight gives the average a time constant
/// of a second (Floyd, Gummadi and Shenker 2001, section 4). An adaptive maximum probability keeps
/// its start value.
fn red(scenario: &Scenario, link: &Link, (capacity, buffer): (f64, f64)) -> Red {
    let parameters = link.discipline.parameters();
    let packets = |threshold| match threshold {
        Threshold::Fraction(x) => x * buffer,
        Threshold::Packets(x) => x,
        Threshold::Bytes(x) => x.get() as f64 / scenario.packet_bytes(),
        Threshold::Time(x) => x.as_secs_f64() * capacity,
    };
    let bytes_per_second = capacity * scenario.packet_bytes();
    let mut curve = DropCurve::with_levels(parameters, bytes_per_second, packets);
    curve.max_p = curve.max_p.max(1e-12);
    let follow = match parameters.get("weight") {
        Value::Number(weight) => -libm::log1p(-weight.min(0.999_999)) * capacity,
        _ => 1.0,
    };
    Red { curve, follow }
}

fn synchronization(scenario: &Scenario) -> Synchronization {
    let options = scenario.fluid();
    let flows = scenario.persistent_flows().max(1) as f64;
    Synchronization {
        minimum: options.minimum_synchronization,
        count: match options.law {
            VictimCountLaw::TruncatedNormal | VictimCountLaw::Continuous => {
                CutCountDistribution::TruncatedNormal
            }
            VictimCountLaw::Uniform => CutCountDistribution::Uniform,
            VictimCountLaw::Fixed => CutCountDistribution::Fixed,
            VictimCountLaw::Empirical => CutCountDistribution::Empirical(
                options
                    .empirical
                    .iter()
                    .map(|&m| (m as f64 / flows).min(1.0))
                    .collect(),
            ),
        },
        victims: match &options.victims {
            VictimPolicy::HighestRate => Victims::HighestRate,
            VictimPolicy::Random => Victims::Random,
            VictimPolicy::RateProportional => Victims::RateProportional,
            VictimPolicy::Priority(rows) => Victims::Priority(rows.clone()),
        },
    }
}

#[cfg(test)]
mod tests;
