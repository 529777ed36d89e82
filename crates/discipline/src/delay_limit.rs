//! A buffer limit in time: the byte limit is `limit` times the present rate of the link. A plain
//! byte limit stays the same if the rate changes.

use std::sync::Arc;

use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};
use forebay_units::{Rate, RateSteps, Time};

use crate::admission::{AdmissionControl, Arrival, Verdict};
use crate::packet::Packet;
use crate::port::{Limit, Port, Setting};

/// The discipline `delay_limit`.
#[derive(Clone, Debug)]
pub struct DelayLimit {
    limit: Time,
    /// The limit in bytes at the present rate, and the time until which it is valid if the rate
    /// changes.
    bytes: Limit,
    until: Time,
    steps: Option<Arc<RateSteps>>,
}

impl AdmissionControl for DelayLimit {
    const DESCRIPTION: Description = Description {
        name: "delay_limit",
        aliases: &[],
        title: "First in, first out; an arrival is dropped if the queue is longer than a time limit at the present rate",
        formula: &[
            "an arrival is dropped where the bytes that wait, with it, take longer than `limit` at the rate of now (in an outage that of before)",
        ],
        source: "a byte limit of drop-tail that follows the link's rate",
        checked: &[Evidence::Theory(
            "drop-tail of that byte limit at each rate",
        )],
        parameters: &[Parameter {
            name: "limit",
            meaning: "Longest time to send the waiting packets at the present rate.",
            kind: ParameterKind::Time,
            default: Value::Time(Time::from_millis(20)),
        }],
    };

    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let mut all = Self {
            limit: parameters.time("limit"),
            bytes: Limit::Bytes(0),
            until: Time::MAX,
            steps: setting.steps.clone(),
        };
        all.follow(setting.rate);
        if all.steps.is_some() {
            all.until = Time::ZERO;
        }
        all
    }

    #[inline]
    fn admit(&mut self, packet: &Packet, arrival: &Arrival, port: &mut Port) -> Verdict {
        if port.now >= self.until {
            self.step(port.now);
        }
        // A packet that goes into transmission at once does not wait.
        if arrival.idle_since.is_some() || self.bytes.fits(arrival.backlog, packet.size) {
            Verdict::Accept
        } else {
            Verdict::Drop
        }
    }
}

impl DelayLimit {
    fn follow(&mut self, rate: Rate) {
        self.bytes = Limit::Bytes(rate.bytes_in(self.limit).get());
    }

    /// Adopts the rate of the current interval.
    #[cold]
    fn step(&mut self, now: Time) {
        if let Some(steps) = self.steps.clone() {
            self.follow(steps.sending(now).rate);
            self.until = steps.phase(now).end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Fifo;
    use crate::packet::testing::packet;
    use crate::port::testing::{port, setting};
    use crate::registry::Admission;

    /// A queue at 8 Mb/s, 1 Mb/s from 1 s on, and 0 from 2 s on.
    fn queue(limit: &str) -> (Fifo, Port) {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        let steps = [
            (Time::ZERO, rate("8Mbps")),
            (Time::from_secs(1), rate("1Mbps")),
            (Time::from_secs(2), rate("0bps")),
        ];
        let steps = RateSteps::new(&steps, Some(Time::from_secs(3))).unwrap();
        let setting = Setting {
            steps: Some(Arc::new(steps)),
            ..setting(Limit::Packets(1000))
        };
        let limit = Value::Time(limit.parse().unwrap());
        let mut parameters = Parameters::defaults(DelayLimit::DESCRIPTION.parameters);
        assert!(parameters.set("limit", limit));
        let admission = Admission::DelayLimit(DelayLimit::new(&parameters, &setting));
        (Fifo::new(admission, Limit::Packets(1000)), port())
    }

    /// 10 ms are 10,000 bytes at 8 Mb/s and 1,250 at 1 Mb/s, also in the outage after that.
    #[test]
    fn as_many_bytes_wait_as_the_rate_sends_in_time() {
        for (at, most) in [(0.5, 100), (1.0, 12), (1.9, 12), (2.5, 12), (3.0, 100)] {
            let (mut fifo, mut port) = queue("10ms");
            port.now = Time::from_secs_f64(at);
            for number in 0..200 {
                fifo.enqueue(packet(number, number, 100), &mut port);
            }
            assert_eq!(fifo.backlog().packets, most, "{at}");
        }
    }

    /// After a fall of the rate no waiting packet is dropped. No packet is accepted until the
    /// backlog is below the new limit.
    #[test]
    fn what_waits_stays_and_nothing_comes_behind_it() {
        let (mut fifo, mut port) = queue("10ms");
        port.now = Time::from_millis(500);
        for number in 0..100 {
            fifo.enqueue(packet(number, number, 100), &mut port);
        }
        port.now = Time::from_secs(1);
        for left in (1..100).rev() {
            fifo.dequeue(&mut port);
            assert_eq!(fifo.backlog().packets, left);
            let before = port.discards.len();
            fifo.enqueue(packet(200, 200, 100), &mut port);
            let taken = port.discards.len() == before;
            assert_eq!(taken, left < 12, "{left}");
            if taken {
                return;
            }
        }
    }

    /// A packet that finds the link idle is accepted, however small the limit is.
    #[test]
    fn an_idle_link_takes_a_packet() {
        let (mut fifo, mut port) = queue("1us");
        port.idle_since = Some(Time::ZERO);
        fifo.enqueue(packet(0, 0, 1500), &mut port);
        assert_eq!(fifo.backlog().packets, 1);
        assert!(fifo.dequeue(&mut port).is_some());
        port.idle_since = None;
        fifo.enqueue(packet(1, 1, 1500), &mut port);
        assert_eq!(port.discards.len(), 1);
    }
}
