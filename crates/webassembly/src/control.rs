//! The controller of a connection: calls of the engine become calls of the module.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_congestion::Description;
use forebay_congestion::custom::{Custom, CustomControl};
use forebay_congestion::packet::{Ack, CongestionEvent, Idle, Pace, Path, Sample, Window};
use forebay_random::StreamKey;
use forebay_units::custom::{CodeError, described};
use forebay_units::parameter::Parameters;
use forebay_units::{Bytes, Time};

use crate::exchange::{self, Exchange};
use crate::module::Module;
use crate::running::Running;

thread_local! {
    /// The instances of the run of this thread, by the name of the algorithm.
    static INSTANCES: RefCell<BTreeMap<String, Arc<Mutex<Running>>>> = RefCell::default();
}

/// Begins a run in this thread: its connections get new instances, with all of their budget.
pub fn begin_run() {
    INSTANCES.with_borrow_mut(BTreeMap::clear);
}

/// Registers a module as the controller `name`.
///
/// # Errors
/// A text if a parameter's default is no value.
pub fn register(name: &str, module: Module) -> Result<(), String> {
    let facts = Arc::clone(&module.facts);
    let algorithm = *described(name, &facts.title, facts.described()?);
    let description = if facts.scalable {
        Description::scalable(algorithm)
    } else {
        Description::classic(algorithm)
    };
    let key = name.to_owned();
    let make = move |parameters: &Parameters, random: StreamKey| {
        let made = ModuleControl::new(&key, &module, parameters, random);
        Box::new(made) as Box<dyn CustomControl>
    };
    forebay_congestion::custom::register(Custom {
        description: Box::leak(Box::new(description)),
        requirements: facts.requirements(),
        make: Some(Arc::new(make)),
    });
    Ok(())
}

/// The controller of one connection: a state in the memory of the run's instance.
#[derive(Debug)]
struct ModuleControl {
    file: Arc<str>,
    running: Arc<Mutex<Running>>,
    /// Address of the state, and number of the random stream.
    at: (u32, usize),
    has: Has,
    /// Bytes of a full packet's data.
    payload: f64,
}

/// The optional methods that a module has.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each asked for by its name"
)]
struct Has {
    ack: bool,
    sample: bool,
    pacing: bool,
    floor: bool,
    undo: bool,
}

impl Drop for ModuleControl {
    fn drop(&mut self) {
        self.lock().release(self.at.0);
    }
}

impl ModuleControl {
    fn new(name: &str, module: &Module, parameters: &Parameters, random: StreamKey) -> Self {
        let made = Self::made(name, module, parameters, random);
        let file = &module.file;
        made.unwrap_or_else(|text| CodeError(format!("{file}: {text} (in `create`)")).raise())
    }

    fn made(
        name: &str,
        module: &Module,
        parameters: &Parameters,
        random: StreamKey,
    ) -> Result<Self, String> {
        let running = INSTANCES.with_borrow_mut(|instances| {
            if let Some(known) = instances.get(name) {
                return Ok(Arc::clone(known));
            }
            let made = Arc::new(Mutex::new(Running::new(module)?));
            instances.insert(name.to_owned(), Arc::clone(&made));
            Ok::<_, String>(made)
        })?;
        let at = {
            let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
            let at = (running.allocate()?, running.add_stream(random));
            running.call_named("create", at, &Exchange::parameters(parameters))?;
            at
        };
        Ok(Self {
            file: Arc::clone(&module.file),
            running,
            at,
            has: Has {
                ack: module.has("on_ack"),
                sample: module.has("on_sample"),
                pacing: module.has("pacing_rate"),
                floor: module.has("recovery_floor"),
                undo: module.has("on_undo"),
            },
            payload: 1.0,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run: method, time and window are in the text.
    #[cold]
    fn fail(&self, text: &str, method: &str, now: Option<Time>, window: &Window) -> ! {
        let at = now.map_or_else(String::new, |now| format!(" at {now}"));
        let (file, cwnd) = (&self.file, window.cwnd);
        let state = format!("in `{method}`{at}, window {cwnd:.6} packets");
        CodeError(format!("{file}: {text} ({state})")).raise()
    }

    /// Calls a method by its name and takes its window. Returns whether the module has it.
    fn named(
        &self,
        method: &'static str,
        now: Option<Time>,
        window: &mut Window,
        exchange: &Exchange,
    ) -> bool {
        let done = self.lock().call_named(method, self.at, exchange);
        let found = done.and_then(|bytes| {
            bytes
                .map(|bytes| exchange::window(&bytes, method))
                .transpose()
        });
        match found {
            Ok(None) => false,
            Ok(Some(after)) => {
                *window = after;
                true
            }
            Err(text) => self.fail(&text, method, now, window),
        }
    }
}

impl CustomControl for ModuleControl {
    fn on_open(&mut self, payload: Bytes) {
        self.payload = payload.get().max(1) as f64;
        let window = Window {
            cwnd: 0.0,
            ssthresh: f64::INFINITY,
        };
        let exchange = Exchange::open(&window, payload.get());
        // The engine sets the first window itself.
        self.named("on_open", None, &mut window.clone(), &exchange);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        if !self.has.sample {
            return;
        }
        let exchange = Exchange::sample(window, sample, path);
        let done = {
            let running = &mut *self.lock();
            let method = running.methods.on_sample.as_ref();
            method.map(|method| {
                let core = &mut running.core;
                core.call_with("on_sample", method, self.at, &exchange)
            })
        };
        if let Some(done) = done {
            let after = done.and_then(|((), bytes)| exchange::window(&bytes, "on_sample"));
            match after {
                Ok(after) => *window = after,
                Err(text) => self.fail(&text, "on_sample", Some(sample.now), window),
            }
        }
    }

    fn recovery_floor(&self, window: &Window) -> f64 {
        if !self.has.floor {
            return 0.5 * window.ssthresh;
        }
        let exchange = Exchange::new(window);
        let done = {
            let running = &mut *self.lock();
            let method = running.methods.recovery_floor.as_ref();
            method.map(|method| {
                let core = &mut running.core;
                core.call_with("recovery_floor", method, self.at, &exchange)
            })
        };
        match done {
            None => 0.5 * window.ssthresh,
            Some(Ok((floor, _))) if floor >= 0.0 => floor,
            Some(Ok((floor, _))) => {
                let text = format!(
                    "`recovery_floor` returned {floor}; allowed: a number of packets, 0 or more"
                );
                self.fail(&text, "recovery_floor", None, window)
            }
            Some(Err(text)) => self.fail(&text, "recovery_floor", None, window),
        }
    }

    fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
        if !self.has.pacing {
            return None;
        }
        let now = Ack {
            acked: 0.0,
            now: Time::ZERO,
        };
        let exchange = Exchange::ack(window, &now, path);
        let done = {
            let running = &mut *self.lock();
            let method = running.methods.pacing_rate.as_ref()?;
            let core = &mut running.core;
            core.call_with("pacing_rate", method, self.at, &exchange)
        };
        match done {
            Ok((0.0, _)) => None,
            Ok((rate, _)) if rate > 0.0 => Some(Pace {
                rate: rate / (8.0 * self.payload),
                quantum: 1.0,
            }),
            Ok((rate, _)) => {
                let allowed = "bits per second above 0, or 0 without pacing";
                let text = format!("`pacing_rate` returned {rate}; allowed: {allowed}");
                self.fail(&text, "pacing_rate", None, window)
            }
            Err(text) => self.fail(&text, "pacing_rate", None, window),
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        if !self.has.ack {
            return;
        }
        let exchange = Exchange::ack(window, ack, path);
        let done = {
            let running = &mut *self.lock();
            let method = running.methods.on_ack.as_ref();
            method.map(|method| {
                let core = &mut running.core;
                core.call_with("on_ack", method, self.at, &exchange)
            })
        };
        if let Some(done) = done {
            let after = done.and_then(|((), bytes)| exchange::window(&bytes, "on_ack"));
            match after {
                Ok(after) => *window = after,
                Err(text) => self.fail(&text, "on_ack", Some(ack.now), window),
            }
        }
    }

    fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        let exchange = Exchange::idle(window, idle);
        if !self.named("on_idle", Some(idle.now), window, &exchange) {
            idle.restart(window);
        }
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        let exchange = Exchange::event(window, event, now, path);
        let is_timeout = event == CongestionEvent::Timeout;
        if is_timeout && self.named("on_timeout", Some(now), window, &exchange) {
            return;
        }
        self.named("on_congestion_event", Some(now), window, &exchange);
        if is_timeout {
            window.cwnd = 1.0;
        }
    }

    fn on_undo(&mut self, before: &dyn CustomControl) {
        let Some(before) = before.as_any().downcast_ref::<Self>() else {
            return;
        };
        if !self.has.undo {
            return;
        }
        let states = (self.at.0, before.at.0);
        let done = {
            let running = &mut *self.lock();
            let method = running.methods.on_undo.as_ref();
            method.map(|method| running.core.call("on_undo", method, states))
        };
        if let Some(Err(text)) = done {
            let window = Window {
                cwnd: 0.0,
                ssthresh: 0.0,
            };
            self.fail(&text, "on_undo", None, &window);
        }
    }

    fn copied(&self) -> Box<dyn CustomControl> {
        let copy = self.lock().copy(self.at.0);
        let window = Window {
            cwnd: 0.0,
            ssthresh: 0.0,
        };
        match copy {
            Ok(state) => Box::new(Self {
                file: Arc::clone(&self.file),
                running: Arc::clone(&self.running),
                at: (state, self.at.1),
                has: self.has,
                payload: self.payload,
            }),
            Err(text) => self.fail(&text, "on_undo", None, &window),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
