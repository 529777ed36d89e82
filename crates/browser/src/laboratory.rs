//! The laboratory: performs requests and stores each answer until the next one. [`crate::exports`]
//! calls it.

use forebay_closed_form::{ClosedFormEngine, default_model, rules};
use forebay_fluid::FluidEngine;
use forebay_scenario::{Engine, EngineError, RunOptions, Scenario, VERSION};
use forebay_simulation::MOST_SIGNALS;
use forebay_units::parameter::Description;
use forebay_units::{Bytes, Time};
use serde::Serialize;
use serde_json::json;

use crate::answer::{Refusal, Resolved, Verdict, groups};
use crate::controls::Controls;
use crate::modules;
use crate::picture::{
    self, BAND, COLUMN, FLOW, HEADER, LINK, MOST_COLUMNS, MOST_FLOWS, MOST_SIGHTINGS,
    MOST_STANDINGS, SIGHTING, STANDING, Shown,
};
use crate::playable::Playable;
use crate::request::{ChartSize, Question, Request};
use crate::running::Running;
use crate::signals::{RunSignals, page};

/// The largest request in bytes: a scenario of thousands of groups, or a table of rates over hours.
pub const MOST_REQUEST: usize = 4 << 20;

/// The largest memory that a run may need. A page's memory ends at about four times as much.
pub const MOST_MEMORY: Bytes = Bytes::new(500_000_000);

/// The result of a call, as a number that a page reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// The call succeeded. A run is not at its end.
    Done = 0,
    /// The run has reached its end, and its report may be requested.
    Ended = 1,
    /// The call was refused; the answer gives the reason. A run that was refused is over.
    Refused = 2,
}

/// Answers requests one by one and holds at most one run.
#[derive(Debug, Default)]
pub struct Laboratory {
    run: Option<Running>,
    /// Signals of a run that is over.
    signals: RunSignals,
    answer: String,
    figures: Vec<f64>,
    shown: Shown,
}

impl Laboratory {
    /// The answer to the last request, or to a call that was refused, as JSON. A refusal has `kind`
    /// (`scenario`, `engine`, `request`, `code` or `consent`), `message`, `line` and `key`.
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// The last picture.
    pub fn figures(&self) -> &[f64] {
        &self.figures
    }

    /// Performs a request in JSON. Its answer is then in [`Self::answer`].
    pub fn ask(&mut self, request: &[u8]) -> State {
        let answer = self.answer_to(request);
        self.tell(answer.map(|answer| (State::Done, answer)))
    }

    /// Continues the run until `until` after its beginning, or for about `events` events: see
    /// [`forebay_packet::Stepwise::advance`].
    pub fn advance(&mut self, until: Time, events: u64) -> State {
        let Some(run) = self.run.as_mut() else {
            return self.tell(Err(no_run()));
        };
        let advanced = run.ask(|run| -> Result<bool, EngineError> {
            run.advance(until, events)?;
            Ok(run.now() >= run.end())
        });
        match advanced {
            Some(Ok(true)) => State::Ended,
            Some(Ok(false)) => State::Done,
            Some(Err(error)) => {
                // The state of the run is no longer consistent.
                self.run = None;
                self.tell(Err(Refusal::from(error)))
            }
            None => self.tell(Err(no_run())),
        }
    }

    /// The time of the run; zero if there is no run.
    pub fn now(&mut self) -> Time {
        let run = self.run.as_mut();
        run.and_then(|run| run.ask(|run| run.now()))
            .unwrap_or(Time::ZERO)
    }

    /// Records packet events at the target link from now on. The number between two pictures is at
    /// most `most` and [`MOST_SIGHTINGS`]; with zero none are recorded.
    pub fn watch(&mut self, most: usize) -> State {
        let watch = self.run.as_mut();
        match watch.and_then(|run| run.ask(|run| run.watch(most.min(MOST_SIGHTINGS)))) {
            Some(()) => State::Done,
            None => self.tell(Err(no_run())),
        }
    }

    /// Records the state of this flow of a group at each change from now on. A picture contains at
    /// most [`MOST_STANDINGS`] of them. Flow numbers count over all groups, as in sightings.
    pub fn follow(&mut self, group: u64, flow: u64) -> State {
        let run = self.run.as_mut();
        match run.and_then(|run| run.ask(|run| run.follow((group, flow), MOST_STANDINGS))) {
            Some(true) => State::Done,
            Some(false) => {
                let message = format!("group {group} has no flow {flow} with congestion control");
                self.tell(Err(Refusal::of_request(message)))
            }
            None => self.tell(Err(no_run())),
        }
    }

    /// Takes a picture with at most `flows` and [`MOST_FLOWS`] flows. It is then in
    /// [`Self::figures`].
    pub fn look(&mut self, flows: usize) -> State {
        let Self {
            run,
            figures,
            shown,
            ..
        } = self;
        let drawn = run.as_mut();
        let looked = drawn
            .and_then(|run| run.ask(|run| picture::draw(run, flows, (&mut *shown, &mut *figures))));
        match looked {
            Some(()) => State::Done,
            None => self.tell(Err(no_run())),
        }
    }

    /// Stores an answer.
    fn tell(&mut self, answer: Result<(State, String), Refusal>) -> State {
        let (state, answer) = answer.unwrap_or_else(|refusal| {
            let text = in_json(&refusal).unwrap_or_else(|error| error.message);
            (State::Refused, text)
        });
        self.answer = answer;
        state
    }

    fn answer_to(&mut self, request: &[u8]) -> Result<String, Refusal> {
        if request.len() > MOST_REQUEST {
            let found = request.len();
            let message = format!("a request of {found} bytes; allowed: at most {MOST_REQUEST}");
            return Err(Refusal::of_request(message));
        }
        let request = serde_json::from_slice(request);
        let request = request.map_err(|error| Refusal::of_request(error.to_string()))?;
        match request {
            Request::Describe => in_json(&describe()),
            Request::Check(text) => {
                let scenario = text.read()?;
                let controls = Controls::of(&scenario, &text)?;
                in_json(&Resolved::of(&scenario, controls))
            }
            Request::Edit(changes) => in_json(&changes.apply().map_err(Refusal::of_change)?),
            Request::Rules(text) => {
                let scenario = text.read()?;
                let models = rules().iter();
                let default = default_model(&scenario).0;
                let verdicts = models.map(|model| Verdict::of(*model, &scenario, default));
                in_json(&verdicts.collect::<Vec<_>>())
            }
            Request::Open(module) => in_json(&modules::open(&module.file, &module.source)?),
            Request::Answer(question) => answer_at_once(&question),
            Request::Begin(question) => self.begin(&question),
            Request::Playable(text) => in_json(&Playable::of(&text, MOST_MEMORY)),
            Request::Signals(listing) => {
                let drawn = self.run.as_mut().and_then(|run| {
                    run.ask(|run| {
                        run.chart()
                            .map(|chart| page(chart.dropped, chart.marked, listing))
                    })
                });
                let RunSignals { dropped, marked } = &self.signals;
                in_json(
                    &drawn
                        .flatten()
                        .unwrap_or_else(|| page(dropped, marked, listing)),
                )
            }
            Request::Finish => self.finish(),
            Request::Stop => {
                self.run = None;
                Ok("null".to_owned())
            }
        }
    }

    fn begin(&mut self, question: &Question) -> Result<String, Refusal> {
        // The old run is freed first, so that memory holds only one.
        self.run = None;
        self.signals = RunSignals::default();
        self.shown = Shown::default();
        if let Some(other) = question.engine.as_deref().filter(|name| *name != "packet") {
            let message = format!("the engine `{other}` does not run in steps; `packet` does");
            return Err(Refusal::of_request(message));
        }
        let scenario = question.scenario.read()?;
        let options = options(question, &scenario);
        forebay_webassembly::begin_run();
        let mut run = Running::begin(scenario, options)?;
        if let Some(ChartSize { columns, flows }) = question.chart {
            if !(1..=MOST_COLUMNS).contains(&columns) || flows > MOST_FLOWS {
                let message = format!(
                    "a chart of {columns} columns and {flows} flows; allowed: 1 to {MOST_COLUMNS} columns and {MOST_FLOWS} flows"
                );
                return Err(Refusal::of_request(message));
            }
            run.ask(|run| run.draw(columns, flows));
        }
        let run = self.run.insert(run);
        let end = run.drawn().run().end();
        in_json(&json!({
            "end_s": end.as_secs_f64(),
            // This number exceeds the integers that a page's numbers hold exactly.
            "end_ps": end.as_picos().to_string(),
            "groups": groups(run.drawn()),
        }))
    }

    fn finish(&mut self) -> Result<String, Refusal> {
        let run = self.run.as_mut();
        let ended = run.and_then(|run| run.ask(|run| run.now() >= run.end()));
        if ended == Some(false) {
            let message = "the run has not ended: a report is of a whole one";
            return Err(Refusal::of_request(message));
        }
        if let Some(signals) = self.run.as_mut().and_then(|run| run.ask(RunSignals::of)) {
            self.signals = signals;
        }
        let report = self.run.take().and_then(Running::finish);
        in_json(&report.ok_or_else(no_run)??)
    }
}

/// The report of an engine that needs no steps.
fn answer_at_once(question: &Question) -> Result<String, Refusal> {
    let known: [&dyn Engine; 2] = [&FluidEngine, &ClosedFormEngine];
    let name = question.engine.as_deref().unwrap_or("closed_form");
    let engine = known.iter().find(|it| it.description().name == name);
    let engine = engine.ok_or_else(|| {
        let names = known.map(|engine| engine.description().name).join(", ");
        Refusal::of_request(format!(
            "no engine `{name}` answers at once; known: {names}"
        ))
    })?;
    let scenario = question.scenario.read()?;
    let options = options(question, &scenario);
    if !engine.description().replicates {
        return in_json(&engine.run(&scenario, &options)?);
    }
    let mut report = engine.run(&scenario.drawn(options.seed), &options)?;
    report.asked_by(&scenario);
    in_json(&report)
}

fn options(question: &Question, scenario: &Scenario) -> RunOptions {
    RunOptions {
        model: question.model.clone(),
        memory: Some(MOST_MEMORY),
        ..question.seed(scenario).into()
    }
}

fn describe() -> serde_json::Value {
    json!({
        "version": VERSION,
        "engines": ["packet", "fluid", "closed_form"],
        "most_request_bytes": MOST_REQUEST,
        "most_memory_bytes": MOST_MEMORY.get(),
        "most_flows": MOST_FLOWS,
        "most_sightings": MOST_SIGHTINGS,
        "controllers": named(forebay_congestion::descriptions()),
        "disciplines": named(forebay_discipline::descriptions()),
        "most_columns": MOST_COLUMNS,
        "most_signals": MOST_SIGNALS,
        "columns": {
            "header": HEADER, "link": LINK, "flow": FLOW, "sighting": SIGHTING, "standing": STANDING,
            "column": COLUMN, "band": BAND,
        },
    })
}

/// Names and titles of algorithms.
fn named(descriptions: &[&'static Description]) -> Vec<serde_json::Value> {
    let known = descriptions.iter();
    known
        .map(|it| json!({ "name": it.name, "title": it.title }))
        .collect()
}

fn no_run() -> Refusal {
    Refusal::of_request("there is no run: none was begun, or it is over")
}

fn in_json(answer: &impl Serialize) -> Result<String, Refusal> {
    serde_json::to_string(answer).map_err(|error| Refusal::of_request(error.to_string()))
}

#[cfg(test)]
mod chart_tests;
#[cfg(test)]
mod module_tests;
#[cfg(test)]
mod tests;
