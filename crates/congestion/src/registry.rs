//! The registry of controllers: one line per file, the rest follows from it.

use forebay_random::{Purpose, Seed, StreamKey};
use forebay_units::parameter::{self, Parameters};
use forebay_units::{Bytes, Time};

use crate::one_of::one_of;
use crate::packet::{
    Ack, CongestionControl, CongestionEvent, Idle, Pace, Path, Requirements, Sample, Window,
};
use crate::registration::{Description, Registered};
use crate::telemetry::LinkTelemetry;

/// Makes the enum of all controllers and what finds them by name out of the list of files.
macro_rules! controllers {
    ($($variant:ident($type:ty),)+) => {
        one_of! {
            /// Any registered controller.
            pub enum Controller {
                $(
                    #[doc = concat!("The controller `", stringify!($type), "`.")]
                    $variant($type),
                )+
                /// A controller of a user.
                Custom(crate::custom::CustomController),
            }
        }

        static ALL: &[&parameter::Description] =
            &[$(&<$type as Registered>::DESCRIPTION.algorithm),+];

        /// The controller `name` at the start of a connection, with windows in packets; `None` for
        /// an unknown name. It draws its random numbers from `random`, which no other connection
        /// has.
        ///
        /// # Panics
        /// Where `parameters` are not those of its description.
        ///
        /// ```
        /// use forebay_congestion::controller;
        /// use forebay_congestion::packet::{Ack, Path, CongestionEvent, Window};
        /// use forebay_random::{Purpose, Seed, StreamKey};
        /// use forebay_units::{Bytes, Time};
        /// use forebay_units::parameter::Parameters;
        ///
        /// let description = forebay_congestion::description("newreno").expect("it is registered");
        /// let parameters = Parameters::defaults(description.parameters());
        /// let random = StreamKey::new(Seed::default(), 0, Purpose::Controller);
        /// let mut reno = controller("newreno", &parameters, random).expect("it is registered");
        ///
        /// let mut window = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        /// let path = Path { flight: 20.0, ..Path::default() };
        /// // Slow start: a packet more for each one acknowledged.
        /// reno.on_ack(&mut window, &Ack { acked: 10.0, now: Time::from_millis(50) }, &path);
        /// assert_eq!(window.cwnd, 20.0);
        /// reno.on_congestion_event(&mut window, CongestionEvent::Loss, Time::from_millis(60), &path);
        /// assert_eq!((window.cwnd, window.ssthresh), (10.0, 10.0));
        /// ```
        pub fn controller(name: &str, parameters: &Parameters, random: StreamKey) -> Option<Controller> {
            $(
                if name == <$type as Registered>::DESCRIPTION.algorithm.name {
                    let controller = <$type as Registered>::new(parameters, random);
                    return Some(Controller::$variant(controller));
                }
            )+
            crate::custom::controller(name, parameters, random).map(Controller::Custom)
        }

        /// All that the registry knows of the controller `name`; `None` for an unknown one.
        pub fn description(name: &str) -> Option<&'static Description> {
            $(
                if name == <$type as Registered>::DESCRIPTION.algorithm.name {
                    return Some(const { &<$type as Registered>::DESCRIPTION });
                }
            )+
            crate::custom::description(name)
        }
    };
}

controllers! {
    NewReno(crate::newreno::NewRenoController),
    Cubic(crate::cubic::CubicController),
    Hstcp(crate::hstcp::HstcpController),
    Htcp(crate::htcp::HtcpController),
    Scalable(crate::scalable::ScalableController),
    Aimd(crate::aimd::AimdController),
    Bbr(Box<crate::bbr::BbrController>),
    Vegas(crate::vegas::VegasController),
    Westwood(crate::westwood::WestwoodController),
    Illinois(crate::illinois::IllinoisController),
    Fast(crate::fast::FastController),
    Dctcp(crate::dctcp::DctcpController),
    Bbr3(Box<crate::bbr3::Bbr3Controller>),
    Prague(Box<crate::prague::PragueController>),
    Ledbatpp(crate::ledbatpp::LedbatppController),
    Bic(crate::bic::BicController),
    Ledbat(Box<crate::ledbat::LedbatController>),
    Copa(Box<crate::copa::CopaController>),
    Cdg(Box<crate::cdg::CdgController>),
    Swift(Box<crate::swift::SwiftController>),
    Dcqcn(Box<crate::dcqcn::DcqcnController>),
    Timely(Box<crate::timely::TimelyController>),
    Hpcc(Box<crate::hpcc::HpccController>),
}

/// The requirements of the controller `name` on the engine; `None` for an unknown one. No code of a
/// user runs.
///
/// # Panics
/// Where `parameters` are not those of its description.
pub fn requirements(name: &str, parameters: &Parameters) -> Option<Requirements> {
    crate::custom::requirements(name).or_else(|| {
        let random = StreamKey::new(Seed::default(), 0, Purpose::Controller);
        controller(name, parameters, random).map(|controller| controller.requirements())
    })
}

/// All controllers, as scenario files and `explain` have them.
pub fn descriptions() -> &'static [&'static parameter::Description] {
    ALL
}

/// The controller of a group that names none: CUBIC, the most common one (RFC 9438 section 1).
pub fn default_description() -> &'static parameter::Description {
    const { &crate::cubic::CubicController::DESCRIPTION.algorithm }
}

/// The methods of [`CongestionControl`], for callers that know no trait.
impl Controller {
    /// See [`CongestionControl::on_ack`].
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
        CongestionControl::on_ack(self, window, ack, path);
    }

    /// See [`CongestionControl::requirements`].
    pub fn requirements(&self) -> Requirements {
        CongestionControl::requirements(self)
    }

    /// See [`CongestionControl::on_open`].
    pub fn on_open(&mut self, payload: Bytes) {
        CongestionControl::on_open(self, payload);
    }

    /// See [`CongestionControl::on_sample`].
    pub fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
        CongestionControl::on_sample(self, window, sample, path);
    }

    /// See [`CongestionControl::on_telemetry`].
    pub fn on_telemetry(&mut self, links: &[LinkTelemetry]) {
        CongestionControl::on_telemetry(self, links);
    }

    /// See [`CongestionControl::recovery_floor`].
    pub fn recovery_floor(&self, window: &Window) -> f64 {
        CongestionControl::recovery_floor(self, window)
    }

    /// See [`CongestionControl::pacing`].
    pub fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
        CongestionControl::pacing(self, window, path)
    }

    /// See [`CongestionControl::on_idle`].
    pub fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
        CongestionControl::on_idle(self, window, idle);
    }

    /// See [`CongestionControl::on_congestion_event`].
    pub fn on_congestion_event(
        &mut self,
        window: &mut Window,
        event: CongestionEvent,
        now: Time,
        path: &Path,
    ) {
        CongestionControl::on_congestion_event(self, window, event, now, path);
    }

    /// See [`CongestionControl::on_undo`].
    pub fn on_undo(&mut self, before: &Self) {
        CongestionControl::on_undo(self, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Capabilities;
    use crate::registration::tests::stream;
    use crate::registration::{EcnSemantics, LossDetection};

    /// A controller that counts marks says so in its packets, and only such a controller (RFC 9331
    /// section 4.1).
    #[test]
    fn packets_say_what_the_controller_makes_of_marks() {
        let mut scalable = Vec::new();
        for known in descriptions() {
            let parameters = Parameters::defaults(known.parameters);
            let made = controller(known.name, &parameters, stream(0)).unwrap();
            let description = description(known.name).unwrap();
            let counts = description.ecn == EcnSemantics::Scalable;
            assert_eq!(made.requirements().accurate_ecn, counts, "{}", known.name);
            scalable.extend(counts.then_some(known.name));
        }
        assert_eq!(scalable, ["dctcp", "prague", "dcqcn"]);
    }

    /// Each controller gets the samples that it uses: round trips or delivery rates. The test also
    /// lists the controllers that set the window themselves during loss recovery.
    #[test]
    fn each_controller_is_told_what_it_goes_by() {
        for known in descriptions() {
            let parameters = Parameters::defaults(known.parameters);
            let requirements = controller(known.name, &parameters, stream(0))
                .unwrap()
                .requirements();
            let samples = match known.name {
                "bbr" | "bbr3" => Capabilities::Rates,
                "aimd" | "bic" | "cubic" | "hstcp" | "htcp" | "newreno" | "scalable" => {
                    Capabilities::None
                }
                _ => Capabilities::RoundTrips,
            };
            let own_recovery = samples == Capabilities::Rates
                || ["swift", "dcqcn", "timely", "hpcc"].contains(&known.name);
            let expected = (samples, own_recovery);
            assert_eq!(
                (requirements.samples, requirements.own_recovery),
                expected,
                "{}",
                known.name
            );
            assert_eq!(requirements.telemetry, known.name == "hpcc");
        }
    }

    /// Linux detects every loss of a connection with SACK by RACK, QUIC by time or packet numbers
    /// (RFC 9002).
    #[test]
    fn only_bbr_and_copa_run_on_time_based_loss_detection_alone() {
        let time_based: Vec<_> = descriptions()
            .iter()
            .map(|known| description(known.name).unwrap())
            .filter(|known| known.loss_detection == LossDetection::TimeBased)
            .map(|known| known.algorithm.name)
            .collect();
        assert_eq!(time_based, ["bbr", "bbr3", "copa"]);
    }

    #[test]
    fn every_law_is_the_face_of_a_controller() {
        let with_law = descriptions().iter().filter(|known| {
            let parameters = Parameters::defaults(known.parameters);
            let law = crate::fluid::fluid_law(known.name, &parameters);
            law.is_some_and(|law| law.name() == known.name && law.check().is_ok())
        });
        let names: Vec<_> = with_law.map(|known| known.name).collect();
        let expected = ["newreno", "cubic", "hstcp", "htcp", "scalable", "aimd"];
        assert_eq!(names, expected);
    }

    #[test]
    fn an_unknown_name_has_no_controller() {
        let none = Parameters::defaults(&[]);
        assert!(controller("reno2", &none, stream(0)).is_none());
        assert!(description("reno2").is_none());
    }
}
