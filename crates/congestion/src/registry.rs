//! The registry of controllers: one line per file, the rest follows from it.

use forebay_units::Time;
use forebay_units::parameter::{Description, Parameters};

use crate::fluid::FluidLaw;
use crate::packet::{Ack, CongestionControl, Idle, Needs, Pace, Path, Sample, Signal, Window};

/// Makes the enum of all controllers and its dispatch out of the list of files.
macro_rules! controllers {
    ($($variant:ident($type:ty),)+) => {
        /// Any registered controller.
        // The variant's number comes first, beside what is used most.
        #[derive(Clone, Debug)]
        #[repr(C, u8)]
        pub enum Controller {
            $(
                #[doc = concat!("See [`", stringify!($type), "`].")]
                $variant($type),
            )+
        }

        static ALL: &[&Description] = &[$(&<$type as CongestionControl>::DESCRIPTION),+];

        /// The controller `name` at the start of a connection; `None` for an unknown name.
        pub fn controller(name: &str, parameters: &Parameters) -> Option<Controller> {
            $(
                if name == <$type as CongestionControl>::DESCRIPTION.name {
                    return Some(Controller::$variant(<$type as CongestionControl>::new(parameters)));
                }
            )+
            None
        }

        /// The fluid face of the controller `name`; `None` where there is none.
        pub fn fluid_law(name: &str, parameters: &Parameters) -> Option<FluidLaw> {
            $(
                if name == <$type as CongestionControl>::DESCRIPTION.name {
                    return <$type as CongestionControl>::fluid(parameters);
                }
            )+
            None
        }

        impl Controller {
            /// See [`CongestionControl::on_ack`].
            #[inline]
            pub fn on_ack(&mut self, window: &mut Window, ack: &Ack, path: &Path) {
                match self {
                    $(Self::$variant(controller) => controller.on_ack(window, ack, path),)+
                }
            }

            /// See [`CongestionControl::needs`].
            pub fn needs(&self) -> Needs {
                match self {
                    $(Self::$variant(controller) => controller.needs(),)+
                }
            }

            /// See [`CongestionControl::on_sample`].
            pub fn on_sample(&mut self, window: &mut Window, sample: &Sample, path: &Path) {
                match self {
                    $(Self::$variant(controller) => controller.on_sample(window, sample, path),)+
                }
            }

            /// See [`CongestionControl::recovery_floor`].
            pub fn recovery_floor(&self, window: &Window) -> f64 {
                match self {
                    $(Self::$variant(controller) => controller.recovery_floor(window),)+
                }
            }

            /// See [`CongestionControl::pacing`].
            pub fn pacing(&self, window: &Window, path: &Path) -> Option<Pace> {
                match self {
                    $(Self::$variant(controller) => controller.pacing(window, path),)+
                }
            }

            /// See [`CongestionControl::on_idle`].
            pub fn on_idle(&mut self, window: &mut Window, idle: &Idle) {
                match self {
                    $(Self::$variant(controller) => controller.on_idle(window, idle),)+
                }
            }

            /// See [`CongestionControl::on_congestion`].
            pub fn on_congestion(
                &mut self,
                window: &mut Window,
                signal: Signal,
                now: Time,
                path: &Path,
            ) {
                match self {
                    $(Self::$variant(controller) => {
                        controller.on_congestion(window, signal, now, path);
                    })+
                }
            }

            /// See [`CongestionControl::on_undo`]; another controller's state is nothing to go by.
            pub fn on_undo(&mut self, before: &Self) {
                match (self, before) {
                    $((Self::$variant(controller), Self::$variant(before)) => {
                        controller.on_undo(before);
                    })+
                    _ => {}
                }
            }
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
    Prague(crate::prague::PragueController),
    Ledbatpp(crate::ledbatpp::LedbatppController),
}

/// All controllers.
pub fn descriptions() -> &'static [&'static Description] {
    ALL
}

/// The controller of a group that names none: CUBIC, the most common one (RFC 9438 section 1).
pub fn default_description() -> &'static Description {
    &crate::cubic::CubicController::DESCRIPTION
}
