//! A classic controller: one window, grown by acknowledgments and cut by congestion, made of two
//! parts. [`SlowStart`] says how the window grows below the threshold, [`WindowGrowth`] how above
//! it and what a congestion leaves; any two of them make a controller.

use std::fmt::Debug;

use forebay_units::{Bytes, Time};

use crate::packet::{
    Ack, Capabilities, CongestionControl, CongestionEvent, Idle, Path, Requirements, Sample, Window,
};

/// How the window grows below the threshold, and what ends that before a loss does.
pub trait SlowStart: Clone + Debug {
    /// The samples of acknowledgments that it requires.
    const SAMPLES: Capabilities = Capabilities::None;

    /// Whether a window like this still grows by slow start.
    #[inline]
    fn covers(&self, window: &Window) -> bool {
        window.cwnd < window.ssthresh
    }

    /// Grows the window, which it covers, for `acked` packets. Returns the packets that remain once
    /// the threshold is reached.
    fn on_ack(&mut self, window: &mut Window, acked: f64) -> f64;

    /// An acknowledgment arrived, whatever the state. The path's smallest round-trip time is the
    /// one that the growth goes by ([`WindowGrowth::base_rtt`]).
    fn on_sample(&mut self, _window: &mut Window, _sample: &Sample, _path: &Path) {}

    /// The window is about to be cut.
    fn on_congestion_event(&mut self, _signal: CongestionEvent) {}

    /// The last timeout was spurious; `before` is the state before it.
    fn on_undo(&mut self, _before: &Self) {}

    /// A connection opens. A full packet carries this payload.
    fn on_open(&mut self, _payload: Bytes) {}
}

/// How the window grows in congestion avoidance, and what a congestion leaves of it.
pub trait WindowGrowth: Clone + Debug {
    /// Its requirements of the engine.
    const NEEDS: Requirements = Requirements::NONE;

    /// New data was acknowledged while the window limits the sender and no loss is under repair.
    /// The packets are those that slow start left, so there are none while slow start lasts.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path);

    /// Congestion: reduce the window once.
    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    );

    /// An acknowledgment arrived, whatever the state.
    fn on_sample(&mut self, _window: &mut Window, _sample: &Sample, _path: &Path) {}

    /// The smallest round-trip time that slow start is to go by, seconds; none where an
    /// acknowledgment that arrives now shall tell it nothing.
    fn base_rtt(&self, _now: Time, path: &Path) -> Option<f64> {
        Some(path.min_rtt)
    }

    /// See [`CongestionControl::recovery_floor`].
    fn recovery_floor(&self, window: &Window) -> f64 {
        0.5 * window.ssthresh
    }

    /// Nothing was in flight for a time.
    fn on_idle(&mut self, _idle: &Idle) {}

    /// The last timeout was spurious; `before` is the state before it.
    fn on_undo(&mut self, _before: &Self) {}
}

/// A controller of two parts.
#[derive(Clone, Debug, Default)]
pub struct Classic<S, G> {
    pub(crate) slow_start: S,
    pub(crate) growth: G,
}

impl<S: SlowStart, G: WindowGrowth> Classic<S, G> {
    /// The controller of these two parts.
    pub fn of(slow_start: S, growth: G) -> Self {
        Self { slow_start, growth }
    }
}

impl<S: SlowStart, G: WindowGrowth> CongestionControl for Classic<S, G> {
    fn requirements(&self) -> Requirements {
        Requirements {
            samples: S::SAMPLES.max(G::NEEDS.samples),
            ..G::NEEDS
        }
    }

    fn on_open(&mut self, payload: Bytes) {
        self.slow_start.on_open(payload);
    }

    fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        self.growth.on_sample(window, sample, path);
        if let Some(min_rtt) = self.growth.base_rtt(sample.now, path) {
            let path = Path { min_rtt, ..*path };
            self.slow_start.on_sample(window, sample, &path);
        }
    }

    fn recovery_floor(&self, window: &Window) -> f64 {
        self.growth.recovery_floor(window)
    }

    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        let mut acked = ack.acked;
        if self.slow_start.covers(window) {
            acked = self.slow_start.on_ack(window, acked);
        }
        self.growth.on_ack(window, &Ack { acked, ..*ack }, path);
    }

    fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        idle.restart(window);
        self.growth.on_idle(idle);
    }

    fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        self.slow_start.on_congestion_event(event);
        self.growth.on_congestion_event(window, event, now, path);
    }

    fn on_undo(&mut self, before: &Self) {
        self.slow_start.on_undo(&before.slow_start);
        self.growth.on_undo(&before.growth);
    }
}
