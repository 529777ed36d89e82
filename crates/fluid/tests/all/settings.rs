//! The two settings of the fifth paper's figures, as models for tests and examples.

use forebay_congestion::aimd::Aimd;
use forebay_congestion::cubic::Cubic;
use forebay_congestion::fluid::FluidLaw;
use forebay_congestion::hstcp::{HstcpResponse, HstcpTrajectory};
use forebay_congestion::htcp::Htcp;
use forebay_fluid::{
    Background, FluidFlow, FluidLink, FluidModel, Limits, Measure, QueueDistribution,
    Synchronization,
};
use forebay_random::Seed;

/// Buffer sizes of the figures, as fractions of the full buffer.
pub(crate) const FRACTIONS: [f64; 9] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0];

/// A link shared by ten flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    /// Capacity, in packets per second.
    pub(crate) capacity: f64,
    /// Full buffer, in packets.
    pub(crate) full_buffer: f64,
    /// Shortest and longest round trip, in seconds.
    pub(crate) shortest: f64,
    pub(crate) longest: f64,
    /// Measured seconds of AIMD by whole cycles, and of the others.
    pub(crate) aimd_duration: f64,
    pub(crate) duration: f64,
}

/// 1 Gb/s, 1000 B, round-trip times of 115.5 to 124.5 ms.
pub(crate) const ONE_GIGABIT: Setting = Setting {
    name: "1 Gb/s",
    capacity: 125_000.0,
    full_buffer: 12_500.0,
    shortest: 0.1155,
    longest: 0.1245,
    aimd_duration: 4000.0,
    duration: 2000.0,
};

/// 10 Gb/s, 1500 B, round-trip times of 80 to 260 ms.
pub(crate) const TEN_GIGABIT: Setting = Setting {
    name: "10 Gb/s",
    capacity: 10e9 / 12_000.0,
    full_buffer: 141_667.0,
    shortest: 0.080,
    longest: 0.260,
    aimd_duration: 8000.0,
    duration: 3000.0,
};

/// The four laws of the figures: AIMD, HSTCP, CUBIC (2008), H-TCP.
pub(crate) fn laws() -> [FluidLaw; 4] {
    [
        FluidLaw::Aimd(Aimd::default()),
        FluidLaw::Hstcp(
            HstcpTrajectory::new(HstcpResponse::default()).expect("the defaults are valid"),
        ),
        FluidLaw::Cubic(Cubic::of_2008()),
        FluidLaw::Htcp(Htcp::default()),
    ]
}

/// The model of one point of a figure.
pub(crate) fn model(setting: &Setting, law: &FluidLaw, minimum: f64, fraction: f64) -> FluidModel {
    let aimd = matches!(law, FluidLaw::Aimd(_));
    let flow = |i: u32| FluidFlow {
        propagation: setting.shortest + (setting.longest - setting.shortest) * f64::from(i) / 9.0,
        law: 0,
        path: 0,
        size: 1.0,
        initial_window: None,
        limits: Limits::default(),
    };
    FluidModel {
        links: vec![FluidLink {
            capacity: setting.capacity,
            steps: None,
            buffer: fraction * setting.full_buffer,
            background: Background::Constant(0.0),
            queue: QueueDistribution::DropTail,
        }],
        target: 0,
        paths: vec![vec![0]],
        laws: vec![law.clone()],
        flows: (0..10).map(flow).collect(),
        synchronization: Synchronization {
            minimum,
            ..Synchronization::default()
        },
        measure: if aimd {
            Measure::WholeCycles {
                start: 0.0,
                duration: setting.aimd_duration,
            }
        } else {
            Measure::FromFirstEvent {
                start: 0.0,
                duration: setting.duration,
            }
        },
        horizon: 20_000.0,
        tolerance: 1e-4,
        trace: None,
        cancel: forebay_scenario::Cancel::default(),
        seed: Seed {
            seed: 1,
            replication: 0,
        },
    }
}
