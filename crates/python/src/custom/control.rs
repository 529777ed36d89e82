//! Controllers in Python.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use forebay_congestion::Description;
use forebay_congestion::custom::{Custom, CustomControl, register};
use forebay_congestion::packet::{self, Capabilities, LossState, Pace, Path, Requirements, Window};
use forebay_random::StreamKey;
use forebay_units::custom::MOST_WINDOW;
use forebay_units::parameter::Parameters;
use forebay_units::{Bytes, Time};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

use super::{Declared, Random, arguments, call, described, wrong_value};

/// An acknowledgment outside of loss recovery, while the window limits the sender.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct Ack {
    /// Time, in seconds.
    now: f64,
    /// The same in picoseconds, without rounding.
    now_ps: u64,
    /// Packets that it acknowledges for the first time.
    acked: f64,
    /// Smoothed round-trip time, in seconds; 0 before the first measurement.
    smoothed_rtt: f64,
    /// Smallest round-trip time, in seconds; infinite before the first measurement.
    min_rtt: f64,
    /// Largest round-trip time since the last congestion, in seconds.
    max_rtt: f64,
}

/// A signal of congestion.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct CongestionEvent {
    /// "loss", "mark" or "timeout".
    kind: &'static str,
    /// Time, in seconds.
    now: f64,
    /// The same in picoseconds, without rounding.
    now_ps: u64,
    /// Window in use, in packets (RFC 5681's FlightSize).
    flight: f64,
    smoothed_rtt: f64,
    min_rtt: f64,
    max_rtt: f64,
}

/// The end of a time with nothing in flight.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct Idle {
    /// Time, in seconds.
    now: f64,
    /// The same in picoseconds, without rounding.
    now_ps: u64,
    /// Length of the idle time, in seconds.
    time: f64,
    /// The same in picoseconds, without rounding.
    time_ps: u64,
    /// Restart window, in packets, after a time longer than the retransmission timeout; else None.
    restart_window: Option<f64>,
}

/// The measurements of one acknowledgment, also during loss recovery.
#[pyclass(module = "forebay._core", frozen, get_all)]
pub(crate) struct Sample {
    /// Time, in seconds.
    now: f64,
    /// The same in picoseconds, without rounding.
    now_ps: u64,
    /// Round-trip time, in seconds; None if the packet was sent twice.
    rtt: Option<f64>,
    /// Packets that newly arrived.
    arrived: f64,
    /// Packets newly found lost.
    lost: f64,
    /// Packets among `arrived` with a mark of congestion.
    marked: f64,
    /// Lowest packet that is not acknowledged.
    acknowledged: u64,
    /// Next packet in order.
    next: u64,
    /// Packets in flight before it.
    prior_in_flight: f64,
    /// Packets in flight after it.
    in_flight: f64,
    /// Packets that arrived since the start.
    delivered: u64,
    /// Packets found lost since the start.
    losses: u64,
    /// "open", "recovery" or "timeout".
    state: &'static str,
    /// Whether the window limited the sender before it.
    limited: bool,
    /// Delivery rate, in packets per second; None if it is not requested or not valid.
    delivery_rate: Option<f64>,
    /// Whether the application limited this rate.
    app_limited: bool,
    smoothed_rtt: f64,
    min_rtt: f64,
    max_rtt: f64,
}

/// The methods that a class has of its own.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each asked for by its name"
)]
struct Own {
    window: bool,
    pacing: bool,
    sample: bool,
    idle: bool,
    undo: bool,
    floor: bool,
}

/// An object of a user's class.
struct PythonControl {
    object: Py<PyAny>,
    on_ack: Py<PyAny>,
    own: Own,
    /// Bytes of a full packet's data.
    payload: f64,
}

impl fmt::Debug for PythonControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonControl({:?})", self.own)
    }
}

impl PythonControl {
    fn new(py: Python<'_>, object: Py<PyAny>, own: Own) -> PyResult<Self> {
        let on_ack = object.getattr(py, intern!(py, "on_ack"))?;
        Ok(Self {
            object,
            on_ack,
            own,
            payload: 1.0,
        })
    }

    /// Gives the object the engine's window, calls it, and takes its window.
    fn with_window(
        &self,
        (method, now): (&'static str, Time),
        window: &mut Window,
        work: impl for<'py> FnOnce(Python<'py>, &Bound<'py, PyAny>) -> PyResult<()>,
    ) {
        let before = *window;
        let state = || state(method, Some(now), before);
        let own = self.own;
        *window = call(state, |py| {
            let object = self.object.bind(py);
            object.setattr(intern!(py, "cwnd"), before.cwnd)?;
            object.setattr(intern!(py, "ssthresh"), before.ssthresh)?;
            work(py, object)?;
            let (cwnd, named) = if own.window {
                let found = object.call_method0(intern!(py, "window"))?;
                (found, "`window` returned")
            } else {
                (object.getattr(intern!(py, "cwnd"))?, "`cwnd` is")
            };
            let ssthresh = object.getattr(intern!(py, "ssthresh"))?;
            Ok(Window {
                cwnd: packets(&cwnd, named, MOST_WINDOW)?.max(1.0),
                ssthresh: packets(&ssthresh, "`ssthresh` is", f64::INFINITY)?,
            })
        });
    }
}

/// The method in progress, the time and the window, for errors.
fn state(method: &str, now: Option<Time>, window: Window) -> String {
    let at = now.map_or_else(String::new, |now| format!(" at {now}"));
    format!("in `{method}`{at}, window {:.6} packets", window.cwnd)
}

/// The number of packets that a method returned or left. `named` begins the sentence about another
/// value.
fn packets(found: &Bound<'_, PyAny>, named: &str, most: f64) -> PyResult<f64> {
    let number = found.extract::<f64>().ok();
    number.filter(|x| (0.0..=most).contains(x)).ok_or_else(|| {
        let allowed = if most.is_finite() {
            "a number of packets from 0 to 2^24"
        } else {
            "a number of packets, 0 or more"
        };
        let text = format!("{named} {}; allowed: {allowed}", shown(found));
        PyValueError::new_err(text)
    })
}

/// A value in a short text of one line.
pub(super) fn shown(found: &Bound<'_, PyAny>) -> String {
    let text = found
        .repr()
        .map_or_else(|_| "?".into(), |text| text.to_string());
    text.chars().take(60).collect()
}

impl CustomControl for PythonControl {
    fn on_open(&mut self, payload: Bytes) {
        self.payload = payload.get().max(1) as f64;
        let window = Window {
            cwnd: 0.0,
            ssthresh: f64::INFINITY,
        };
        let state = || state("on_open", None, window);
        call(state, |py| {
            let arguments = (payload.get(),);
            self.object
                .call_method1(py, intern!(py, "on_open"), arguments)
        });
    }

    fn on_sample(&mut self, window: &mut Window, sample: &packet::Sample, path: &Path) {
        if !self.own.sample {
            return;
        }
        let delivery = sample.delivery;
        let found = Sample {
            now: sample.now.as_secs_f64(),
            now_ps: sample.now.as_picos(),
            rtt: sample.rtt,
            arrived: sample.arrived,
            lost: sample.lost,
            marked: sample.marked,
            acknowledged: sample.acknowledged,
            next: sample.next,
            prior_in_flight: sample.prior_in_flight,
            in_flight: sample.in_flight,
            delivered: sample.delivered,
            losses: sample.losses,
            state: match sample.state {
                LossState::Open => "open",
                LossState::Recovery => "recovery",
                LossState::Timeout => "timeout",
            },
            limited: sample.limited,
            delivery_rate: delivery.map(|delivery| delivery.rate),
            app_limited: delivery.is_some_and(|delivery| delivery.app_limited),
            smoothed_rtt: path.smoothed_rtt,
            min_rtt: path.min_rtt,
            max_rtt: path.max_rtt,
        };
        self.with_window(("on_sample", sample.now), window, |py, object| {
            object
                .call_method1(intern!(py, "on_sample"), (found,))
                .map(drop)
        });
    }

    fn recovery_floor(&self, window: &Window) -> f64 {
        if !self.own.floor {
            return 0.5 * window.ssthresh;
        }
        let state = || state("recovery_floor", None, *window);
        call(state, |py| {
            let object = self.object.bind(py);
            object.setattr(intern!(py, "ssthresh"), window.ssthresh)?;
            let found = object.call_method0(intern!(py, "recovery_floor"))?;
            packets(&found, "`recovery_floor` returned", f64::INFINITY)
        })
    }

    fn pacing(&self, window: &Window, _: &Path) -> Option<Pace> {
        if !self.own.pacing {
            return None;
        }
        let state = || state("pacing_rate", None, *window);
        let rate: Option<f64> = call(state, |py| {
            let object = self.object.bind(py);
            object.setattr(intern!(py, "cwnd"), window.cwnd)?;
            let found = object.call_method0(intern!(py, "pacing_rate"))?;
            if found.is_none() {
                return Ok(None);
            }
            let rate = found.extract::<f64>().ok();
            rate.filter(|rate| *rate > 0.0 && rate.is_finite())
                .map(Some)
                .ok_or_else(|| {
                    let allowed = "None, or bits per second above 0";
                    wrong_value("pacing_rate", &shown(&found), allowed)
                })
        });
        rate.map(|rate| Pace {
            rate: rate / (8.0 * self.payload),
            quantum: 1.0,
        })
    }

    fn on_ack(&mut self, window: &mut Window, ack: &packet::Ack, path: &Path) {
        let found = Ack {
            now: ack.now.as_secs_f64(),
            now_ps: ack.now.as_picos(),
            acked: ack.acked,
            smoothed_rtt: path.smoothed_rtt,
            min_rtt: path.min_rtt,
            max_rtt: path.max_rtt,
        };
        self.with_window(("on_ack", ack.now), window, |py, _| {
            self.on_ack.call1(py, (found,)).map(drop)
        });
    }

    fn on_idle(&mut self, window: &mut Window, idle: &packet::Idle) {
        if !self.own.idle {
            idle.restart(window);
            return;
        }
        let found = Idle {
            now: idle.now.as_secs_f64(),
            now_ps: idle.now.as_picos(),
            time: idle.time.as_secs_f64(),
            time_ps: idle.time.as_picos(),
            restart_window: idle.restart_window,
        };
        self.with_window(("on_idle", idle.now), window, |py, object| {
            object
                .call_method1(intern!(py, "on_idle"), (found,))
                .map(drop)
        });
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: packet::CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        let (kind, method) = match event {
            packet::CongestionEvent::Loss => ("loss", "on_congestion_event"),
            packet::CongestionEvent::Mark => ("mark", "on_congestion_event"),
            packet::CongestionEvent::Timeout => ("timeout", "on_timeout"),
        };
        let found = CongestionEvent {
            kind,
            now: now.as_secs_f64(),
            now_ps: now.as_picos(),
            flight: path.flight,
            smoothed_rtt: path.smoothed_rtt,
            min_rtt: path.min_rtt,
            max_rtt: path.max_rtt,
        };
        self.with_window((method, now), window, |_, object| {
            object.call_method1(method, (found,)).map(drop)
        });
    }

    fn on_undo(&mut self, before: &dyn CustomControl) {
        let Some(before) = before.as_any().downcast_ref::<Self>() else {
            return;
        };
        let window = Window {
            cwnd: 0.0,
            ssthresh: 0.0,
        };
        if !self.own.undo {
            return;
        }
        let state = || state("on_undo", None, window);
        call(state, |py| {
            let arguments = (before.object.bind(py),);
            self.object
                .call_method1(py, intern!(py, "on_undo"), arguments)
        });
    }

    fn copied(&self) -> Box<dyn CustomControl> {
        let window = Window {
            cwnd: 0.0,
            ssthresh: 0.0,
        };
        let state = || state("__deepcopy__", None, window);
        Box::new(call(state, |py| {
            let object = if self.own.undo {
                let copy = py.import("copy")?;
                copy.call_method1("copy", (&self.object,))?.unbind()
            } else {
                self.object.clone_ref(py)
            };
            let mut copied = Self::new(py, object, self.own)?;
            copied.payload = self.payload;
            Ok(copied)
        }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Register a congestion control.
///
/// Parameters are declared as (name, meaning, kind, default, smallest, largest). `make` gets the
/// random stream of the connection and the parameters, and returns an object. Without `make`
/// this process runs none of the code.
#[pyfunction]
#[pyo3(signature = (name, title, parameters, *, scalable, samples, own_recovery, own, make))]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments of one call in Python"
)]
pub(crate) fn register_controller(
    name: &str,
    title: &str,
    parameters: Vec<Declared>,
    scalable: bool,
    samples: &str,
    own_recovery: bool,
    own: Vec<String>,
    make: Option<Py<PyAny>>,
) -> PyResult<()> {
    let algorithm = *forebay_units::custom::described(name, title, described(parameters)?);
    let description = if scalable {
        Description::scalable(algorithm)
    } else {
        Description::classic(algorithm)
    };
    let has = |method: &str| own.iter().any(|each| each == method);
    let own = Own {
        window: has("window"),
        pacing: has("pacing_rate"),
        sample: has("on_sample"),
        idle: has("on_idle"),
        undo: has("on_undo"),
        floor: has("recovery_floor"),
    };
    let requirements = Requirements {
        samples: match samples {
            "rates" => Capabilities::Rates,
            "round_trips" => Capabilities::RoundTrips,
            _ => Capabilities::None,
        },
        accurate_ecn: scalable,
        own_recovery,
        line_rate: None,
        telemetry: false,
    };
    let make = make.map(|make| -> forebay_congestion::custom::Make {
        Arc::new(move |parameters: &Parameters, random: StreamKey| {
            let state = || "in `__init__`".to_owned();
            Box::new(call(state, |py| {
                let stream = Random(random.stream());
                let arguments = arguments(py, parameters)?;
                let object = make.call(py, (stream,), Some(&arguments))?;
                PythonControl::new(py, object, own)
            })) as Box<dyn CustomControl>
        })
    });
    register(Custom {
        description: Box::leak(Box::new(description)),
        requirements,
        make,
    });
    Ok(())
}
