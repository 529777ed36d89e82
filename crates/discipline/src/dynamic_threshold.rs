//! Dynamic thresholds (Choudhury and Hahne 1998) for the ports of a switch that share one memory.
//! Each queue may hold alpha times the free part of the memory. If S ports are overloaded, each
//! holds alpha B / (1 + alpha S). The part B / (1 + alpha S) stays free for other ports.

use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};

use crate::admission::{AdmissionControl, Arrival, Verdict};
use crate::packet::Packet;
use crate::port::{Limit, Port, Setting};

/// The discipline `dynamic_threshold`.
#[derive(Clone, Copy, Debug)]
pub struct DynamicThreshold {
    /// The port's own limit; it acts as the memory if the port shares none.
    limit: Limit,
    alpha: f64,
}

impl AdmissionControl for DynamicThreshold {
    const DESCRIPTION: Description = Description {
        name: "dynamic_threshold",
        aliases: &["dt"],
        title: "Dynamic thresholds: each queue is limited to a multiple of the free part of the shared memory",
        formula: &[
            "an arrival is dropped where the queue holds more than T = alpha × (memory − used)",
            "with S busy ports each queue holds alpha B/(1 + alpha S) of a memory of B",
        ],
        source: "Choudhury and Hahne, Dynamic queue length thresholds for shared-memory packet switches, 1998",
        checked: &[Evidence::Theory(
            "queues of overloaded ports (Choudhury and Hahne 1998)",
        )],
        parameters: &[Parameter {
            name: "alpha",
            meaning: "Multiple of the free memory (switches offer powers of two from 1/128 to 8).",
            kind: ParameterKind::Number {
                min: 1e-3,
                max: 1e3,
                unit: "",
            },
            default: Value::Number(1.0),
        }],
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        Self {
            limit: setting.limit,
            alpha: parameters.number("alpha"),
        }
    }

    #[inline]
    fn admit(&mut self, _packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict {
        let (limit, used) = port.shared.map_or((self.limit, arrival.backlog), |memory| {
            (memory.limit, memory.used)
        });
        let waits = arrival.idle_since.is_none();
        if waits && limit.level(arrival.backlog) >= self.alpha * limit.free(used) {
            Verdict::Drop
        } else {
            Verdict::Accept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::found;
    use crate::packet::testing::packet;
    use crate::port::Shared;
    use crate::port::testing::{port, setting};

    /// Three overloaded ports of four fill their queues in turn until none may grow.
    #[test]
    fn overloaded_ports_share_evenly_and_leave_a_reserve() {
        for (alpha, each) in [(0.5, 240.0), (1.0, 300.0), (4.0, 369.0)] {
            let mut parameters = Parameters::defaults(DynamicThreshold::DESCRIPTION.parameters);
            parameters.set("alpha", Value::Number(alpha));
            let memory = Limit::Packets(1200);
            let mut gate = DynamicThreshold::new(&parameters, &setting(Limit::Packets(1_000_000)));
            let (mut port, mut queues) = (port(), [0u64; 3]);
            for arrival in 0..9000 {
                port.shared = Some(Shared {
                    limit: memory,
                    used: found(queues.iter().sum()).backlog,
                });
                let found = found(queues[arrival % 3]);
                let verdict = gate.admit(&packet(0, 0, 1000), &found, &mut port);
                queues[arrival % 3] += u64::from(verdict == Verdict::Accept);
            }
            for queue in queues {
                assert!((queue as f64 - each).abs() <= 1.0, "{alpha} {queues:?}");
            }
        }
    }

    #[test]
    fn alone_a_port_takes_its_share_of_its_own_limit() {
        let parameters = Parameters::defaults(DynamicThreshold::DESCRIPTION.parameters);
        let mut gate = DynamicThreshold::new(&parameters, &setting(Limit::Bytes(100_000)));
        let mut admit = |packets: u64, idle_since| {
            let arrival = Arrival {
                idle_since,
                empty_since: idle_since,
                ..found(packets)
            };
            gate.admit(&packet(0, 0, 1000), &arrival, &mut port())
        };
        assert_eq!(admit(49, None), Verdict::Accept);
        assert_eq!(admit(50, None), Verdict::Drop);
        assert_eq!(admit(50, Some(forebay_units::Time::ZERO)), Verdict::Accept);
    }
}
