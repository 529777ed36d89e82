//! The fluid engine behind the common contract: scenario in, report out.

use forebay_scenario::{Engine, EngineError, Report, Scenario, Seed, VictimCountLaw};

use crate::adaptive::integrate;
use crate::coupled::integrate_coupled;
use crate::euler::integrate_euler;
use crate::outcome::FluidOutcome;
use crate::translation::{NAME, Translation};

/// The fluid engine.
///
/// ```
/// use forebay_fluid::FluidEngine;
/// use forebay_scenario::{Engine, Format, Metric, Scenario, Seed};
///
/// let text = r#"
///     [link]
///     rate = "100Mbps"
///     buffer = "1BDP"
///     [[flows]]
///     name = "elephants"
///     count = 4
///     rtt = "100ms"
///     packet = "1000B"
///     [run]
///     warmup = "50s"
///     measure = "100s"
/// "#;
/// let scenario = Scenario::parse(text, Format::Toml, "example", &[]).unwrap();
/// let report = FluidEngine.run(&scenario, Seed::default())?;
/// assert!(report.value(Metric::Utilization).unwrap() > 0.99);
/// # Ok::<(), forebay_scenario::EngineError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FluidEngine;

/// The fluid engine recording traces over time, as the scenario's `[trace]` asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingFluidEngine;

/// Step of the integrator where flows are held back, in parts of the shortest round trip: 2 ms at
/// 100 ms, which is within 1e-4 of the converged utilisation.
const LIMITED_STEP: f64 = 0.02;

impl Engine for FluidEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError> {
        let mut translation = Translation::new(scenario, seed)?;
        let outcome = integrate_as_asked(&mut translation, scenario)?;
        Ok(translation.report(scenario, &outcome))
    }
}

impl Engine for TracingFluidEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn run(&self, scenario: &Scenario, seed: Seed) -> Result<Report, EngineError> {
        let mut translation = Translation::new(scenario, seed)?;
        translation.model.trace = Some(scenario.trace().every.as_secs_f64());
        let outcome = integrate_as_asked(&mut translation, scenario)?;
        let mut report = translation.report(scenario, &outcome);
        report.traces = Some(Box::new(translation.traces(scenario, &outcome)));
        Ok(report)
    }
}

/// Runs the model: adaptively, and again by small steps where access links or receive windows
/// may have held a flow back.
fn integrate_as_asked(
    translation: &mut Translation,
    scenario: &Scenario,
) -> Result<FluidOutcome, EngineError> {
    if scenario.fluid().law == VictimCountLaw::Continuous {
        let outcome = integrate_coupled(&translation.model)?;
        if !outcome.within_limits(&translation.model) {
            let text = "access links and receive windows are left out of the continuous model";
            translation.warnings.push(text.to_owned());
        }
        return Ok(outcome);
    }
    let outcome = integrate(&translation.model)?;
    if outcome.within_limits(&translation.model) {
        return Ok(outcome);
    }
    let propagation = translation.model.flows.iter().map(|flow| flow.propagation);
    let shortest = propagation.fold(f64::INFINITY, f64::min);
    let step = (LIMITED_STEP * shortest).clamp(1e-7, 0.1 * translation.model.horizon);
    Ok(integrate_euler(&translation.model, step)?)
}
