//! Controllers of users, which a program registers while it runs. A scenario names them by their
//! file; the registry of built-in controllers asks here for names that it does not know.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use forebay_random::StreamKey;
use forebay_units::custom::Registry;
use forebay_units::parameter::Parameters;
use forebay_units::{Bytes, Time};

use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Idle, Pace, Path, Requirements, Sample, Window,
};
use crate::registration::Description;

/// The methods of [`CongestionControl`] for a controller whose type is not known here.
pub trait CustomControl: Send + fmt::Debug {
    /// See [`CongestionControl::on_open`].
    fn on_open(&mut self, payload: Bytes);
    /// See [`CongestionControl::on_sample`].
    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path);
    /// See [`CongestionControl::recovery_floor`].
    fn recovery_floor(&self, window: &Window) -> f64;
    /// See [`CongestionControl::pacing`].
    fn pacing(&self, window: &Window, path: &Path) -> Option<Pace>;
    /// See [`CongestionControl::on_ack`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path);
    /// See [`CongestionControl::on_idle`].
    fn on_idle(&mut self, window: &mut Window, idle: &Idle);
    /// See [`CongestionControl::on_congestion_event`].
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    );
    /// See [`CongestionControl::on_undo`]; `before` is a copy of the same controller.
    fn on_undo(&mut self, before: &dyn CustomControl);
    /// A copy with its own state.
    fn copied(&self) -> Box<dyn CustomControl>;
    /// The controller as its own type.
    fn as_any(&self) -> &dyn Any;
}

/// A registered controller of a user, on packets.
#[derive(Debug)]
pub struct CustomController {
    requirements: Requirements,
    control: Box<dyn CustomControl>,
}

impl Clone for CustomController {
    fn clone(&self) -> Self {
        Self {
            requirements: self.requirements,
            control: self.control.copied(),
        }
    }
}

impl CongestionControl for CustomController {
    fn requirements(&self) -> Requirements {
        self.requirements
    }

    fn on_open(&mut self, payload: Bytes) {
        self.control.on_open(payload);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        self.control.on_sample(window, sample, path);
    }

    fn recovery_floor(&self, window: &Window) -> f64 {
        self.control.recovery_floor(window)
    }

    fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
        self.control.pacing(window, path)
    }

    // The call is not inlined, so that built-in controllers do not carry its code.
    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        self.control.on_ack(window, ack, path);
    }

    fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        self.control.on_idle(window, idle);
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        self.control.on_congestion_event(window, event, now, path);
    }

    fn on_undo(&mut self, before: &Self) {
        self.control.on_undo(&*before.control);
    }
}

/// Makes the controller of a connection, with parameters and the key of its random numbers.
pub type Make = Arc<dyn Fn(&Parameters, StreamKey) -> Box<dyn CustomControl> + Send + Sync>;

/// A controller of a user in the registry.
#[derive(Clone)]
pub struct Custom {
    /// Name, parameters and reaction to marks.
    pub description: &'static Description,
    /// Requirements of all its connections on the engine.
    pub requirements: Requirements,
    /// Makes a connection's controller. None in a process that must not run the code.
    pub make: Option<Make>,
}

static KNOWN: Registry<Custom> = Registry::new();

/// Registers a controller under its name. It replaces one of the same name.
pub fn register(custom: Custom) {
    KNOWN.register(custom.description.algorithm.name, custom);
}

/// The registered controller of this name.
pub fn registered(name: &str) -> Option<Custom> {
    KNOWN.find(name, Custom::clone)
}

/// The description of the registered controller `name`.
pub(crate) fn description(name: &str) -> Option<&'static Description> {
    KNOWN.find(name, |custom| custom.description)
}

/// The requirements of the registered controller `name`.
pub(crate) fn requirements(name: &str) -> Option<Requirements> {
    KNOWN.find(name, |custom| custom.requirements)
}

/// A connection's controller; none for an unknown name, and where its code must not run.
pub(crate) fn controller(
    name: &str,
    parameters: &Parameters,
    random: StreamKey,
) -> Option<CustomController> {
    let custom = registered(name)?;
    let control = custom.make?(parameters, random);
    Some(CustomController {
        requirements: custom.requirements,
        control,
    })
}
