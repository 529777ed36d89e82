//! The controller of a connection: calls of the engine become calls of the module.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use forebay_congestion::Description;
use forebay_congestion::custom::{Custom, CustomControl};
use forebay_congestion::packet::{Ack, CongestionEvent, Idle, Pace, Path, Sample, Window};
use forebay_random::StreamKey;
use forebay_units::custom::{CodeError, described};
use forebay_units::parameter::Parameters;
use forebay_units::{Bytes, Time};

use crate::exchange::{self, Exchange};
use crate::module::Module;
#[cfg(not(feature = "runtime"))]
use crate::running::WasmResults;
use crate::running::{Method, Methods, Running};
#[cfg(feature = "runtime")]
use wasmtime::WasmResults;

thread_local! {
    /// The instances of the run of this thread. A lock would cost as much as a short call.
    static INSTANCES: RefCell<Instances> = RefCell::default();
}

/// Runs that have begun in this process.
static RUNS: AtomicU64 = AtomicU64::new(0);

/// Error of a call after the end of the run.
const ENDED: &str = "the run has ended";
/// Error of a call of a method that the module lacks.
const MISSING: &str = "found no such export";

/// The instances of one run.
#[derive(Default)]
struct Instances {
    /// Number of the run in this process.
    run: u64,
    /// Name of the algorithm, and its instance.
    made: Vec<(String, Running)>,
}

/// An instance of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instance {
    run: u64,
    index: usize,
}

/// Begins a run in this thread: its connections get new instances, with all of their budget.
pub fn begin_run() {
    let run = RUNS.fetch_add(1, Ordering::Relaxed) + 1;
    INSTANCES.replace(Instances {
        run,
        made: Vec::new(),
    });
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
    instance: Instance,
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

impl Instances {
    /// The instance, if it belongs to the run of this thread.
    #[inline]
    fn get(&mut self, instance: Instance) -> Option<&mut Running> {
        if instance.run != self.run {
            return None;
        }
        self.made
            .get_mut(instance.index)
            .map(|(_, running)| running)
    }

    /// The instance of the algorithm `name`: the present one or a new one.
    fn of(&mut self, name: &str, module: &Module) -> Result<Instance, String> {
        let known = self.made.iter().position(|(known, _)| known == name);
        let index = if let Some(index) = known {
            index
        } else {
            self.made.push((name.to_owned(), Running::new(module)?));
            self.made.len() - 1
        };
        Ok(Instance {
            run: self.run,
            index,
        })
    }
}

impl Drop for ModuleControl {
    fn drop(&mut self) {
        // A thread that ends may have dropped its instances before.
        let _ = INSTANCES.try_with(|instances| {
            if let Ok(mut instances) = instances.try_borrow_mut()
                && let Some(running) = instances.get(self.instance)
            {
                running.release(self.at.0);
            }
        });
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
        let (instance, at) = INSTANCES.with_borrow_mut(|instances| {
            let instance = instances.of(name, module)?;
            let running = instances.get(instance).ok_or(ENDED)?;
            let at = (running.allocate()?, running.add_stream(random));
            running.call_named("create", at, &Exchange::parameters(parameters))?;
            Ok::<_, String>((instance, at))
        })?;
        Ok(Self {
            file: Arc::clone(&module.file),
            instance,
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

    /// Works with the instance.
    #[inline]
    fn with<R>(&self, work: impl FnOnce(&mut Running) -> Result<R, String>) -> Result<R, String> {
        INSTANCES.with_borrow_mut(|instances| match instances.get(self.instance) {
            Some(running) => work(running),
            None => Err(ENDED.to_owned()),
        })
    }

    /// Calls a method of one argument that the module has.
    #[inline]
    fn call<R: WasmResults>(
        &self,
        name: &'static str,
        method: impl FnOnce(&Methods) -> Option<&Method<R>>,
        exchange: &Exchange,
    ) -> Result<(R, [u8; 16]), String> {
        self.with(|running| {
            let method = method(&running.methods).ok_or(MISSING)?;
            running.core.call_with(name, method, self.at, exchange)
        })
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
        let done = self.with(|running| running.call_named(method, self.at, exchange));
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
        let done = self.call("on_sample", |methods| methods.on_sample.as_ref(), &exchange);
        match done.and_then(|((), bytes)| exchange::window(&bytes, "on_sample")) {
            Ok(after) => *window = after,
            Err(text) => self.fail(&text, "on_sample", Some(sample.now), window),
        }
    }

    fn recovery_floor(&self, window: &Window) -> f64 {
        if !self.has.floor {
            return 0.5 * window.ssthresh;
        }
        let exchange = Exchange::new(window);
        let floor = self.call("recovery_floor", |m| m.recovery_floor.as_ref(), &exchange);
        match floor {
            Ok((floor, _)) if floor >= 0.0 => floor,
            Ok((floor, _)) => {
                let text = format!(
                    "`recovery_floor` returned {floor}; allowed: a number of packets, 0 or more"
                );
                self.fail(&text, "recovery_floor", None, window)
            }
            Err(text) => self.fail(&text, "recovery_floor", None, window),
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
        match self.call(
            "pacing_rate",
            |methods| methods.pacing_rate.as_ref(),
            &exchange,
        ) {
            Ok((0.0, _)) => None,
            Ok((rate, _)) if rate > 0.0 && rate.is_finite() => Some(Pace {
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
        let done = self.call("on_ack", |methods| methods.on_ack.as_ref(), &exchange);
        match done.and_then(|((), bytes)| exchange::window(&bytes, "on_ack")) {
            Ok(after) => *window = after,
            Err(text) => self.fail(&text, "on_ack", Some(ack.now), window),
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
        let done = self.with(|running| {
            let method = running.methods.on_undo.as_ref().ok_or(MISSING)?;
            running.core.call("on_undo", method, states)
        });
        if let Err(text) = done {
            let window = Window {
                cwnd: 0.0,
                ssthresh: 0.0,
            };
            self.fail(&text, "on_undo", None, &window);
        }
    }

    fn copied(&self) -> Box<dyn CustomControl> {
        let copy = self.with(|running| running.copy(self.at.0));
        let window = Window {
            cwnd: 0.0,
            ssthresh: 0.0,
        };
        match copy {
            Ok(state) => Box::new(Self {
                file: Arc::clone(&self.file),
                instance: self.instance,
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
