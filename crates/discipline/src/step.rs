//! Step marking, as data-center switches do for DCTCP (RFC 8257 section 3.1; Alizadeh et al. 2010).
//! Every arrival that finds more than a threshold waiting is marked.

use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Threshold, Value,
};

use crate::admission::{AdmissionControl, Arrival, Verdict};
use crate::packet::{Ecn, Packet};
use crate::port::{Limit, Port, Setting};

/// The treatment of packets beyond the threshold that cannot be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Queue,
    Drop,
}

/// The discipline `step`.
#[derive(Clone, Copy, Debug)]
pub struct StepMarking {
    limit: Limit,
    /// The threshold K, in the limit's unit.
    threshold: f64,
    others: Others,
}

impl AdmissionControl for StepMarking {
    const DESCRIPTION: Description = Description {
        name: "step",
        aliases: &[],
        title: "Step marking: arrivals that find more than a threshold waiting are ECN-marked",
        formula: &["an arrival is marked where at least `threshold` waits"],
        source: "RFC 8257 section 3.1; Alizadeh et al. 2010, section 3.1",
        checked: &[Evidence::Theory("DCTCP's sawtooth over a threshold")],
        parameters: &[
            Parameter {
                name: "threshold",
                meaning: "K: queue from which an arrival is marked (2010 paper: 65 packets at 10 Gb/s).",
                kind: ParameterKind::Threshold,
                default: Value::Threshold(Threshold::Packets(65.0)),
            },
            Parameter {
                name: "others",
                meaning: "Packets above the threshold that are not ECN-capable: they wait up to the limit (queue), or are dropped as by a switch with RED at min = max (drop).",
                kind: ParameterKind::Choice {
                    words: &["queue", "drop"],
                },
                default: Value::Word("queue"),
            },
        ],
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            limit: setting.limit,
            threshold: setting.level(parameters.threshold("threshold")),
            others: match parameters.word("others") {
                "drop" => Others::Drop,
                _ => Others::Queue,
            },
        }
    }

    #[inline]
    fn admit(&mut self, packet: &Packet, arrival: &Arrival, _port: &mut Port) -> Verdict {
        let beyond =
            arrival.idle_since.is_none() && self.limit.level(arrival.backlog) >= self.threshold;
        match (packet.ecn(), self.others) {
            _ if !beyond => Verdict::Accept,
            (Ecn::NotCapable, Others::Queue) => Verdict::Accept,
            (Ecn::NotCapable, Others::Drop) => Verdict::Drop,
            _ => Verdict::Mark,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::found;
    use crate::packet::testing::{packet, with_ecn};
    use crate::port::testing::{port, setting};

    #[test]
    fn the_step_is_at_the_threshold() {
        let mut parameters = Parameters::defaults(StepMarking::DESCRIPTION.parameters);
        parameters.set("threshold", Value::Threshold(Threshold::Packets(3.0)));
        let capable = with_ecn(Ecn::Classic, 0);
        for (others, legacy) in [("queue", Verdict::Accept), ("drop", Verdict::Drop)] {
            parameters.set("others", Value::Word(others));
            let mut step = StepMarking::new(&parameters, &setting(Limit::Packets(10)));
            let mut admit =
                |packets: u64, packet: &Packet| step.admit(packet, &found(packets), &mut port());
            assert_eq!(admit(2, &capable), Verdict::Accept);
            assert_eq!(admit(3, &capable), Verdict::Mark);
            assert_eq!(admit(9, &capable), Verdict::Mark);
            assert_eq!(admit(2, &packet(0, 0, 1000)), Verdict::Accept);
            assert_eq!(admit(3, &packet(0, 0, 1000)), legacy);
        }
    }
}
