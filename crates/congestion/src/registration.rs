//! The registration of a controller: its description, and its constructor.

use forebay_random::StreamKey;
use forebay_units::parameter::{self, Parameter, Parameters};

use crate::packet::CongestionControl;

/// How a sender takes marks of congestion, and so which codepoint its packets carry where they may
/// be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnSemantics {
    /// A mark is as good as a loss, once per round trip (RFC 3168): ECT(0).
    Classic,
    /// Marks are counted, the response is scalable (RFC 9331 section 4): ECT(1). So does DCTCP
    /// where it shares a dual queue (RFC 9332 section 1.2).
    Scalable,
}

/// How the implementations of a controller detect losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossDetection {
    /// Any way: the controller reduces its rate at losses, and runs on stacks with and without
    /// SACK.
    Any,
    /// By time, so that a lost retransmission is detected without a timeout (RFC 8985, RFC 9002).
    /// The controller keeps its rate at steady losses, so that retransmissions are lost as often as
    /// packets.
    TimeBased,
}

/// The registry's description of a controller: enough to read it from a scenario, to explain it and
/// to build packets for it.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Name, title, source and parameters, as scenario files and `explain` have them.
    pub algorithm: parameter::Description,
    /// The controller's reaction to marks.
    pub ecn: EcnSemantics,
    /// The loss detection of its implementations.
    pub loss_detection: LossDetection,
}

impl Description {
    /// The description of a controller for which a mark equals a loss.
    pub const fn classic(algorithm: parameter::Description) -> Self {
        Self {
            algorithm,
            ecn: EcnSemantics::Classic,
            loss_detection: LossDetection::Any,
        }
    }

    /// The description of a controller that counts marks.
    pub const fn scalable(algorithm: parameter::Description) -> Self {
        Self {
            algorithm,
            ecn: EcnSemantics::Scalable,
            loss_detection: LossDetection::Any,
        }
    }

    /// The same of a controller whose implementations detect losses by time.
    pub const fn with_time_based_loss_detection(self) -> Self {
        Self {
            loss_detection: LossDetection::TimeBased,
            ..self
        }
    }

    /// Its parameters in the order they are printed.
    pub const fn parameters(&self) -> &'static [Parameter] {
        self.algorithm.parameters
    }
}

/// A controller under its own name in scenario files.
pub(crate) trait Registered: CongestionControl {
    /// The description in the registry.
    const DESCRIPTION: Description;

    /// The controller with these parameters at the start of a connection; what it leaves to chance
    /// it draws from the stream of `random`, the connection's own.
    fn new(parameters: &Parameters, random: StreamKey) -> Self;
}

impl<C: Registered> Registered for Box<C> {
    const DESCRIPTION: Description = C::DESCRIPTION;

    fn new(parameters: &Parameters, random: StreamKey) -> Self {
        Self::new(C::new(parameters, random))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use forebay_random::{Purpose, Seed};
    use forebay_units::parameter::Value;

    use super::*;

    /// The stream of the flow with this number.
    pub(crate) fn stream(flow: u64) -> StreamKey {
        StreamKey::new(Seed::default(), flow, Purpose::Controller)
    }

    /// The controller with its default parameters.
    pub(crate) fn default_controller<C: Registered>() -> C {
        C::new(
            &Parameters::defaults(C::DESCRIPTION.parameters()),
            stream(0),
        )
    }

    /// The controller with this `variant`.
    pub(crate) fn variant<C: Registered>(variant: &'static str) -> C {
        let mut parameters = Parameters::defaults(C::DESCRIPTION.parameters());
        assert!(parameters.set("variant", Value::Word(variant)));
        C::new(&parameters, stream(0))
    }
}
