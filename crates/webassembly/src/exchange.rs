//! The structure through which forebay and a module pass values: 256 bytes at an address that the
//! module exports. Numbers are little-endian; each field has one offset, whatever the call.

use forebay_congestion::packet::{Ack, CongestionEvent, Idle, LossState, Path, Sample, Window};
use forebay_units::Time;
use forebay_units::custom::MOST_WINDOW;
use forebay_units::parameter::{Parameters, Value};

/// Size of the structure, in bytes.
pub const BYTES: usize = 256;
/// Most parameters of a module.
pub const MOST_PARAMETERS: usize = BYTES / 8;

/// Offsets of the fields, in bytes.
pub mod offset {
    /// Congestion window, in packets: `f64`, in and out.
    pub const CWND: usize = 0;
    /// Slow-start threshold, in packets: `f64`, in and out.
    pub const SSTHRESH: usize = 8;
    /// Time in picoseconds: `u64`.
    pub const NOW_PS: usize = 16;
    /// Time in seconds: `f64`.
    pub const NOW: usize = 24;
    /// Smoothed round-trip time in seconds: `f64`.
    pub const SMOOTHED_RTT: usize = 32;
    /// Smallest round-trip time in seconds: `f64`.
    pub const MIN_RTT: usize = 40;
    /// Largest round-trip time since the last congestion, in seconds: `f64`.
    pub const MAX_RTT: usize = 48;
    /// `on_ack`: packets acknowledged for the first time: `f64`.
    pub const ACKED: usize = 56;
    /// `on_congestion_event`: window in use, in packets: `f64`.
    pub const FLIGHT: usize = 56;
    /// `on_congestion_event`: 0 for a loss, 1 for a mark, 2 for a timeout: `u32`.
    pub const KIND: usize = 64;
    /// `on_idle`: length of the idle time in seconds: `f64`.
    pub const IDLE: usize = 56;
    /// `on_idle`: the same in picoseconds: `u64`.
    pub const IDLE_PS: usize = 64;
    /// `on_idle`: restart window in packets, NaN without one: `f64`.
    pub const RESTART_WINDOW: usize = 72;
    /// `on_open`: bytes of data in a full packet: `u64`.
    pub const PAYLOAD: usize = 56;
    /// `on_sample`: round-trip time in seconds, NaN without one: `f64`.
    pub const RTT: usize = 56;
    /// `on_sample`: packets that newly arrived: `f64`.
    pub const ARRIVED: usize = 64;
    /// `on_sample`: packets newly found lost: `f64`.
    pub const LOST: usize = 72;
    /// `on_sample`: packets among those that arrived with a mark: `f64`.
    pub const MARKED: usize = 80;
    /// `on_sample`: lowest packet that is not acknowledged: `u64`.
    pub const ACKNOWLEDGED: usize = 88;
    /// `on_sample`: next packet in order: `u64`.
    pub const NEXT: usize = 96;
    /// `on_sample`: packets in flight before: `f64`.
    pub const PRIOR_IN_FLIGHT: usize = 104;
    /// `on_sample`: packets in flight after: `f64`.
    pub const IN_FLIGHT: usize = 112;
    /// `on_sample`: packets that arrived since the start: `u64`.
    pub const DELIVERED: usize = 120;
    /// `on_sample`: packets found lost since the start: `u64`.
    pub const LOSSES: usize = 128;
    /// `on_sample`: delivery rate in packets per second, NaN without one: `f64`.
    pub const DELIVERY_RATE: usize = 136;
    /// `on_sample`: 0 open, 1 recovery, 2 timeout: `u32`.
    pub const STATE: usize = 144;
    /// `on_sample`: 1 if the window limited the sender: `u32`.
    pub const LIMITED: usize = 148;
    /// `on_sample`: 1 if the application limited the delivery rate: `u32`.
    pub const APP_LIMITED: usize = 152;
}

/// The bytes of one call. Fields of other calls are zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    bytes: [u8; BYTES],
    length: usize,
}

impl Exchange {
    /// The structure with a window.
    pub fn new(window: &Window) -> Self {
        let mut exchange = Self {
            bytes: [0; BYTES],
            length: 16,
        };
        exchange.real(offset::CWND, window.cwnd);
        exchange.real(offset::SSTHRESH, window.ssthresh);
        exchange
    }

    /// For `create`: the values of parameters in their order. Times are in seconds, sizes in bytes,
    /// rates in bits per second; a switch is 0 or 1, and an automatic value NaN.
    pub fn parameters(parameters: &Parameters) -> Self {
        let mut exchange = Self {
            bytes: [0; BYTES],
            length: 0,
        };
        for (index, (_, value)) in parameters.iter().enumerate().take(MOST_PARAMETERS) {
            let number = match *value {
                Value::Number(x) => x,
                Value::Time(x) => x.as_secs_f64(),
                Value::Bytes(x) => x.get() as f64,
                Value::Rate(x) => x.as_bits_per_second() as f64,
                Value::Switch(x) => f64::from(u8::from(x)),
                Value::Word(_) | Value::Threshold(_) | Value::Automatic => f64::NAN,
            };
            exchange.real(8 * index, number);
        }
        exchange
    }

    /// For `on_open`.
    pub fn open(window: &Window, payload: u64) -> Self {
        let mut exchange = Self::new(window);
        exchange.whole(offset::PAYLOAD, payload);
        exchange
    }

    /// For `on_ack`.
    #[inline]
    pub fn ack(window: &Window, ack: &Ack, path: &Path) -> Self {
        let mut exchange = Self::at(window, ack.now, path);
        exchange.real(offset::ACKED, ack.acked);
        exchange
    }

    /// For `on_congestion_event` and `on_timeout`.
    pub fn event(window: &Window, event: CongestionEvent, now: Time, path: &Path) -> Self {
        let mut exchange = Self::at(window, now, path);
        exchange.real(offset::FLIGHT, path.flight);
        let kind = match event {
            CongestionEvent::Loss => 0,
            CongestionEvent::Mark => 1,
            CongestionEvent::Timeout => 2,
        };
        exchange.word(offset::KIND, kind);
        exchange
    }

    /// For `on_idle`.
    pub fn idle(window: &Window, idle: &Idle) -> Self {
        let mut exchange = Self::at(window, idle.now, &Path::default());
        exchange.real(offset::IDLE, idle.time.as_secs_f64());
        exchange.whole(offset::IDLE_PS, idle.time.as_picos());
        let restart = idle.restart_window.unwrap_or(f64::NAN);
        exchange.real(offset::RESTART_WINDOW, restart);
        exchange
    }

    /// For `on_sample`.
    pub fn sample(window: &Window, sample: &Sample, path: &Path) -> Self {
        let mut exchange = Self::at(window, sample.now, path);
        for (at, value) in [
            (offset::RTT, sample.rtt.unwrap_or(f64::NAN)),
            (offset::ARRIVED, sample.arrived),
            (offset::LOST, sample.lost),
            (offset::MARKED, sample.marked),
            (offset::PRIOR_IN_FLIGHT, sample.prior_in_flight),
            (offset::IN_FLIGHT, sample.in_flight),
            (
                offset::DELIVERY_RATE,
                sample.delivery.map_or(f64::NAN, |delivery| delivery.rate),
            ),
        ] {
            exchange.real(at, value);
        }
        for (at, value) in [
            (offset::ACKNOWLEDGED, sample.acknowledged),
            (offset::NEXT, sample.next),
            (offset::DELIVERED, sample.delivered),
            (offset::LOSSES, sample.losses),
        ] {
            exchange.whole(at, value);
        }
        let state = match sample.state {
            LossState::Open => 0,
            LossState::Recovery => 1,
            LossState::Timeout => 2,
        };
        let app_limited = sample.delivery.is_some_and(|delivery| delivery.app_limited);
        exchange.word(offset::STATE, state);
        exchange.word(offset::LIMITED, sample.limited.into());
        exchange.word(offset::APP_LIMITED, app_limited.into());
        exchange
    }

    #[inline]
    fn at(window: &Window, now: Time, path: &Path) -> Self {
        let mut exchange = Self::new(window);
        exchange.whole(offset::NOW_PS, now.as_picos());
        exchange.real(offset::NOW, now.as_secs_f64());
        exchange.real(offset::SMOOTHED_RTT, path.smoothed_rtt);
        exchange.real(offset::MIN_RTT, path.min_rtt);
        exchange.real(offset::MAX_RTT, path.max_rtt);
        exchange
    }

    /// The bytes up to the last field.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    #[inline]
    fn real(&mut self, at: usize, value: f64) {
        self.put(at, value.to_le_bytes());
    }

    #[inline]
    fn whole(&mut self, at: usize, value: u64) {
        self.put(at, value.to_le_bytes());
    }

    #[inline]
    fn word(&mut self, at: usize, value: u32) {
        self.put(at, value.to_le_bytes());
    }

    #[inline]
    fn put<const N: usize>(&mut self, at: usize, value: [u8; N]) {
        self.bytes[at..at + N].copy_from_slice(&value);
        self.length = self.length.max(at + N);
    }
}

/// The window that a call of `method` left in the structure.
///
/// # Errors
/// A text if a number is no window: negative, NaN, infinite or too large.
#[inline]
pub fn window(bytes: &[u8; 16], method: &str) -> Result<Window, String> {
    let [cwnd, ssthresh] = [0, 8].map(|at| {
        let mut number = [0; 8];
        number.copy_from_slice(&bytes[at..at + 8]);
        f64::from_le_bytes(number)
    });
    if !(0.0..=MOST_WINDOW).contains(&cwnd) {
        let allowed = "a number of packets from 0 to 2^24";
        return Err(format!(
            "`{method}` left the window {cwnd:?}; allowed: {allowed}"
        ));
    }
    if ssthresh.is_nan() || ssthresh < 0.0 {
        let allowed = "a number of packets, 0 or more";
        return Err(format!(
            "`{method}` left the threshold {ssthresh:?}; allowed: {allowed}"
        ));
    }
    Ok(Window {
        cwnd: cwnd.max(1.0),
        ssthresh,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_congestion::packet::Delivery;

    const WINDOW: Window = Window {
        cwnd: 10.0,
        ssthresh: f64::INFINITY,
    };

    fn real(exchange: &Exchange, at: usize) -> f64 {
        let bytes = exchange.bytes()[at..at + 8].try_into().expect("8 bytes");
        f64::from_le_bytes(bytes)
    }

    fn whole(exchange: &Exchange, at: usize) -> u64 {
        let bytes = exchange.bytes()[at..at + 8].try_into().expect("8 bytes");
        u64::from_le_bytes(bytes)
    }

    #[test]
    fn an_acknowledgment_has_the_documented_offsets() {
        let ack = Ack {
            acked: 3.0,
            now: Time::from_millis(1500),
        };
        let path = Path {
            smoothed_rtt: 0.1,
            min_rtt: 0.2,
            max_rtt: 0.3,
            flight: 4.0,
        };
        let found = Exchange::ack(&WINDOW, &ack, &path);
        let reals = [0, 8, 24, 32, 40, 48, 56].map(|at| real(&found, at));
        assert_eq!(reals, [10.0, f64::INFINITY, 1.5, 0.1, 0.2, 0.3, 3.0]);
        assert_eq!(whole(&found, 16), 1_500_000_000_000);
        assert_eq!(found.bytes().len(), 64);
    }

    #[test]
    fn an_event_has_its_kind_and_flight() {
        let path = Path {
            flight: 7.0,
            ..Path::default()
        };
        for (event, kind) in [
            (CongestionEvent::Loss, 0),
            (CongestionEvent::Mark, 1),
            (CongestionEvent::Timeout, 2),
        ] {
            let found = Exchange::event(&WINDOW, event, Time::ZERO, &path);
            assert_eq!(real(&found, 56), 7.0);
            assert_eq!(found.bytes()[64..68], [kind, 0, 0, 0]);
        }
    }

    #[test]
    fn a_sample_has_the_documented_offsets() {
        let mut sample = Sample {
            now: Time::from_millis(1500),
            rtt: Some(0.5),
            arrived: 1.0,
            lost: 2.0,
            lost_packet: None,
            marked: 3.0,
            acknowledged: 4,
            next: 5,
            prior_in_flight: 6.0,
            in_flight: 7.0,
            delivered: 8,
            losses: 9,
            state: LossState::Timeout,
            limited: true,
            held: 0.0,
            delivery: None,
        };
        let found = Exchange::sample(&WINDOW, &sample, &Path::default());
        let reals = [56, 64, 72, 80, 104, 112].map(|at| real(&found, at));
        assert_eq!(reals, [0.5, 1.0, 2.0, 3.0, 6.0, 7.0]);
        assert_eq!([88, 96, 120, 128].map(|at| whole(&found, at)), [4, 5, 8, 9]);
        assert!(real(&found, 136).is_nan());
        let word = |found: &Exchange, at: usize| found.bytes()[at..at + 4].to_vec();
        assert_eq!(word(&found, 144), [2, 0, 0, 0]);
        assert_eq!(word(&found, 148), [1, 0, 0, 0]);
        assert_eq!(word(&found, 152), [0, 0, 0, 0]);
        sample.limited = false;
        sample.rtt = None;
        sample.delivery = Some(Delivery {
            rate: 10.0,
            delivered: 0.0,
            interval: 0.0,
            prior_delivered: 0,
            app_limited: true,
            in_flight: 0.0,
            lost: 0.0,
        });
        let found = Exchange::sample(&WINDOW, &sample, &Path::default());
        assert!(real(&found, 56).is_nan());
        assert_eq!(real(&found, 136), 10.0);
        assert_eq!(word(&found, 148), [0, 0, 0, 0]);
        assert_eq!(word(&found, 152), [1, 0, 0, 0]);
    }

    #[test]
    fn an_idle_time_without_a_restart_window_has_nan() {
        let mut idle = Idle {
            time: Time::from_secs(2),
            now: Time::from_secs(9),
            restart_window: None,
        };
        let found = Exchange::idle(&WINDOW, &idle);
        assert_eq!(
            (real(&found, 56), whole(&found, 64)),
            (2.0, 2_000_000_000_000)
        );
        assert!(real(&found, 72).is_nan());
        idle.restart_window = Some(4.0);
        assert_eq!(real(&Exchange::idle(&WINDOW, &idle), 72), 4.0);
    }

    #[test]
    fn wrong_windows_are_named_and_small_ones_count_as_one_packet() {
        let of = |cwnd: f64, ssthresh: f64| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&cwnd.to_le_bytes());
            bytes[8..].copy_from_slice(&ssthresh.to_le_bytes());
            window(&bytes, "on_ack")
        };
        for cwnd in [f64::NAN, -1.0, f64::INFINITY, 1e300, 1.1e9] {
            assert!(of(cwnd, 2.0).is_err_and(|text| text.contains("`on_ack` left the window")));
        }
        for ssthresh in [f64::NAN, -1.0, f64::NEG_INFINITY] {
            assert!(of(2.0, ssthresh).is_err_and(|text| text.contains("threshold")));
        }
        assert_eq!(of(0.5, f64::INFINITY).map(|window| window.cwnd), Ok(1.0));
        assert_eq!(
            of(MOST_WINDOW, 0.0).map(|window| window.cwnd),
            Ok(MOST_WINDOW)
        );
    }
}
