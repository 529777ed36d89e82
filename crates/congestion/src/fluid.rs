//! The window laws of the fluid engine: one line per law, and the rest follows from it.
//! [`FluidWindow`] defines a law.

use forebay_units::parameter::Parameters;

pub use crate::law::{CutConditions, Epoch, EulerStep, FluidFace, FluidWindow, LawError};

/// Makes the enum of all laws and its dispatch out of the list. The first token is `$`, for the
/// macro that it makes.
macro_rules! laws {
    ($dollar:tt $($(#[$doc:meta])* $variant:ident($law:ty),)+) => {
        /// Every window law of the fluid engine, for dispatch outside the inner loops.
        #[derive(Clone, Debug, PartialEq)]
        pub enum FluidLaw {
            $($(#[$doc])* $variant($law),)+
        }

        /// Runs an expression with the concrete law of a [`FluidLaw`](crate::fluid::FluidLaw): the
        /// loops inside it are compiled once per law.
        #[macro_export]
        macro_rules! with_fluid_law {
            ($dollar law:expr, $dollar name:ident => $dollar body:expr) => {
                match $dollar law {
                    $($dollar crate::fluid::FluidLaw::$variant($dollar name) => $dollar body,)+
                }
            };
        }

        impl FluidLaw {
            /// The law's name in scenario files.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => <$law as FluidFace>::NAME,)+
                }
            }

            /// Checks the law's parameters; the message names the parameter, its value and the
            /// range.
            pub fn check(&self) -> Result<(), LawError> {
                match self {
                    $(Self::$variant(law) => law.check(),)+
                }
            }
        }

        /// The fluid face of the controller `name`; `None` where there is none.
        pub fn fluid_law(name: &str, parameters: &Parameters) -> Option<FluidLaw> {
            $(
                if name == <$law as FluidFace>::NAME {
                    return <$law as FluidFace>::of(parameters).map(FluidLaw::$variant);
                }
            )+
            None
        }
    };
}

laws! { $
    /// AIMD(a, b).
    Aimd(crate::aimd::Aimd),
    /// NewReno's congestion avoidance.
    NewReno(crate::newreno::NewReno),
    /// HighSpeed TCP.
    Hstcp(crate::hstcp::HstcpTrajectory),
    /// CUBIC.
    Cubic(crate::cubic::Cubic),
    /// H-TCP.
    Htcp(crate::htcp::Htcp),
    /// Scalable TCP.
    Scalable(crate::scalable::Scalable),
}
