//! The fluid engine behind the common contract: scenario in, report out.

use forebay_scenario::{
    Engine, EngineDescription, EngineError, Footprint, Report, RunOptions, Scenario,
    VictimCountLaw, Warning, WarningKind,
};

use crate::adaptive::integrate_with;
use crate::coupled::integrate_coupled;
use crate::euler::integrate_euler_with;
use crate::outcome::FluidOutcome;
use crate::translation::{NAME, Translation};

/// The fluid engine.
///
/// ```
/// use forebay_fluid::FluidEngine;
/// use forebay_scenario::{Engine, Format, Metric, RunOptions, Scenario};
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
/// let report = FluidEngine.run(&scenario, &RunOptions::default())?;
/// assert!(report.value(Metric::Utilization).unwrap() > 0.99);
/// # Ok::<(), forebay_scenario::EngineError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FluidEngine;

/// A flow's parameters, its state and what an integrator keeps of it; no packets.
const FOOTPRINT: Footprint = Footprint {
    flow: |_| 1024.0,
    source: 0.0,
    waiting: 0.0,
};

/// Step of the integrator where flows are held back, in parts of the shortest round trip: 2 ms at
/// 100 ms, which is within 1e-4 of the converged utilization.
const LIMITED_STEP: f64 = 0.02;

impl Engine for FluidEngine {
    fn description(&self) -> &'static EngineDescription {
        const {
            &EngineDescription {
                name: NAME,
                title: "Differential equations of windows and queues, with loss synchronization; an answer takes milliseconds.",
                source: "Kumar, Azad and Park 2010; Misra, Gong and Towsley 2000",
                cheap: true,
                replicates: true,
                traces: true,
                models: Vec::new,
            }
        }
    }

    fn run(&self, scenario: &Scenario, options: &RunOptions) -> Result<Report, EngineError> {
        options.check(self.description())?;
        let needs = scenario.needs(FOOTPRINT, options.traces);
        scenario.afford(NAME, &needs, options.memory)?;
        let mut translation = Translation::new(scenario, options.seed)?;
        translation.model.cancel = options.cancel.clone();
        if options.traces {
            translation.model.trace = Some(scenario.trace().every.as_secs_f64());
        }
        let outcome = integrate_as_asked(&mut translation, scenario)?;
        let mut report = translation.report(scenario, &outcome);
        if options.traces {
            report.traces = Some(Box::new(translation.traces(scenario, &outcome)));
        }
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
            let warning = Warning::new(WarningKind::LeftOut, text);
            translation
                .warnings
                .push(warning.about("access, receive_window"));
        }
        return Ok(outcome);
    }
    let outcome = integrate_with(&translation.model, &translation.timeouts)?;
    if outcome.within_limits(&translation.model) {
        return Ok(outcome);
    }
    let propagation = translation.model.flows.iter().map(|flow| flow.propagation);
    let shortest = propagation.fold(f64::INFINITY, f64::min);
    let step = (LIMITED_STEP * shortest).clamp(1e-7, 0.1 * translation.model.horizon);
    Ok(integrate_euler_with(
        &translation.model,
        step,
        &translation.timeouts,
    )?)
}
