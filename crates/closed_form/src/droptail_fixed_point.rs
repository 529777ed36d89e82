//! The drop-tail fixed point of Barman, Smaragdakis & Matta: flows of any response function
//! through an M/M/1/K queue.
//!
//! rho = (1/mu) sum lambda_i(p(rho), R_i(rho)). Loss and waiting time rise with rho and every
//! rate falls in both, so the root is unique for every K (erratum B12); the map's slope there is
//! about -0.87 (K - L), so it is solved by a bracketing method on ln(rho), never by iteration.

use crate::error::{ModelError, at_least_one, positive};
use crate::mm1k;
use crate::numeric;
use crate::response::Response;

/// Flows with a common round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowGroup {
    /// Round-trip propagation time, s.
    pub rtt_s: f64,
    /// How many flows; need not be whole.
    pub flows: f64,
}

/// A link and the persistent flows that share it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedLink<'a> {
    /// mu, packets/s.
    pub capacity_pps: f64,
    /// K, packets in the system at most, the one in transmission included.
    pub system_capacity: f64,
    /// The flows.
    pub flows: &'a [FlowGroup],
    /// Their response function.
    pub response: Response,
    /// rho of other traffic in the same queue that does not yield; 0 in the paper.
    pub background_load: f64,
}

/// Where offered load, loss and delay agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedPoint {
    /// rho, offered load; above 1 where even a loss near 1 leaves the flows too fast.
    pub offered_load: f64,
    /// p, probability that a packet is lost; 0 where it underflows.
    pub loss: f64,
    /// U = rho (1 - p).
    pub utilization: f64,
    /// Mean number of packets in the system, the one in transmission included.
    pub mean_number: f64,
    /// Mean number of packets waiting.
    pub mean_waiting: f64,
    /// Mean number of packets an accepted packet finds.
    pub mean_found: f64,
    /// Waiting time of accepted packets, own transmission excluded, s.
    pub queue_delay_s: f64,
}

/// One flow of each round-trip time of `rtts_s`.
pub fn one_flow_each(rtts_s: &[f64]) -> Vec<FlowGroup> {
    rtts_s
        .iter()
        .map(|&rtt_s| FlowGroup { rtt_s, flows: 1.0 })
        .collect()
}

impl SharedLink<'_> {
    /// The link, or the error naming the input that is out of range.
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        positive("capacity (packets/s)", self.capacity_pps)?;
        at_least_one("system capacity K (packets)", self.system_capacity)?;
        at_least_one("number of flow groups", self.flows.len() as f64)?;
        for group in self.flows {
            positive("round-trip time (s)", group.rtt_s)?;
            positive("number of flows", group.flows)?;
        }
        crate::error::non_negative("background load", self.background_load)?;
        self.response.validate()
    }

    /// ln of the offered load of flows and background, at ln(loss) and a common queueing delay.
    pub(crate) fn ln_load(&self, ln_loss: f64, delay_s: f64) -> f64 {
        let rtt = |group: &FlowGroup| group.rtt_s + delay_s;
        let ln_rate = if self.response.depends_on_rtt() {
            self.flows.iter().fold(f64::NEG_INFINITY, |sum, group| {
                let window = self.response.ln_window(ln_loss, rtt(group));
                numeric::log_sum(sum, window + libm::log(group.flows / rtt(group)))
            })
        } else {
            let inverse: f64 = self
                .flows
                .iter()
                .map(|group| group.flows / rtt(group))
                .sum();
            self.response.ln_window(ln_loss, 1.0) + libm::log(inverse)
        };
        let ln_flows = ln_rate - libm::log(self.capacity_pps);
        if self.background_load == 0.0 {
            return ln_flows;
        }
        numeric::log_sum(ln_flows, libm::log(self.background_load))
    }

    /// Solves the drop-tail fixed point.
    pub fn droptail(&self) -> Result<FixedPoint, ModelError> {
        self.validate()?;
        let k = self.system_capacity;
        let delay = |x: f64| mm1k::mean_number(x, k - 1.0) / self.capacity_pps;
        let x = solve(|x| self.ln_load(mm1k::ln_loss(x, k), delay(x)) - x)?;
        let utilization = mm1k::utilization(x, k);
        let mean_number = mm1k::mean_number(x, k);
        Ok(FixedPoint {
            offered_load: libm::exp(x),
            loss: libm::exp(mm1k::ln_loss(x, k)),
            utilization,
            mean_number,
            mean_waiting: (mean_number - utilization).max(0.0),
            mean_found: mm1k::mean_number(x, k - 1.0),
            queue_delay_s: delay(x),
        })
    }
}

/// ln(rho) at which `excess`, decreasing, is zero.
pub(crate) fn solve(excess: impl Fn(f64) -> f64) -> Result<f64, ModelError> {
    let interval = numeric::bracket_decreasing("ln of the offered load", (0.0, 512.0), &excess)?;
    numeric::root("ln of the offered load", interval, &excess)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hstcp::Form;
    use crate::response::{Cubic, Htcp};
    use forebay_congestion::hstcp::HstcpResponse;
    use proptest::prelude::*;

    fn settings() -> [(f64, f64, Vec<f64>); 2] {
        let spaced = |low: f64, high: f64| {
            (0..10)
                .map(|i| low + (high - low) * f64::from(i) / 9.0)
                .collect::<Vec<_>>()
        };
        [
            (125_000.0, 12500.0, spaced(0.1155, 0.1245)),
            (312_500.0, 6250.0, spaced(0.038, 0.142)),
        ]
    }

    #[test]
    fn the_papers_settings() {
        // Fraction of the full buffer; utilisation in both settings, closed form and eq. (3).
        let table = [
            (0.01, [0.93246, 0.93418], [0.85165, 0.85451]),
            (0.1, [0.99503, 0.99522], [0.98786, 0.98820]),
            (1.0, [0.99970, 0.99972], [0.99920, 0.99923]),
        ];
        for (fraction, slow, fast) in table {
            for ((capacity_pps, full, rtts), expected) in settings().into_iter().zip([slow, fast]) {
                let flows = one_flow_each(&rtts);
                for (form, goal) in [Form::Closed, Form::Approximate].into_iter().zip(expected) {
                    let response = Response::Hstcp {
                        response: HstcpResponse::default(),
                        form,
                    };
                    let system_capacity = (fraction * full + 1e-9).floor();
                    let link = SharedLink {
                        capacity_pps,
                        system_capacity,
                        flows: &flows,
                        response,
                        background_load: 0.0,
                    };
                    let found = link.droptail().unwrap();
                    assert!(
                        (found.utilization - goal).abs() < 2e-5,
                        "{fraction} {form:?}"
                    );
                }
            }
        }
    }

    fn responses() -> Vec<Response> {
        let mut all = vec![
            Response::default(),
            Response::Cubic(Cubic::default()),
            Response::Htcp(Htcp::default()),
            Response::Scalable,
        ];
        for form in Form::ALL {
            all.push(Response::Hstcp {
                response: HstcpResponse::default(),
                form,
            });
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn always_a_fixed_point_never_nan(
            ln_rate in 4.4_f64..18.8,       // 1 Mb/s .. 1.6 Tb/s of 1500-byte packets
            ln_k in 0.0_f64..13.8,          // 1 .. 1e6 packets
            ln_flows in 0.0_f64..13.8,      // 1 .. 1e6 flows
            ln_rtt in -11.5_f64..0.0,       // 10 us .. 1 s
        ) {
            let rtt_s = libm::exp(ln_rtt);
            let flows = libm::exp(ln_flows).round();
            let group = [FlowGroup { rtt_s, flows }];
            for response in responses() {
                let link = SharedLink {
                    capacity_pps: libm::exp(ln_rate),
                    system_capacity: libm::exp(ln_k).round().max(1.0),
                    flows: &group,
                    response, background_load: 0.0 };
                let found = link.droptail().unwrap();
                prop_assert!(found.utilization > 0.0 && found.utilization <= 1.0);
                prop_assert!(found.mean_number >= 0.0 && found.mean_number <= link.system_capacity);
                prop_assert!(found.queue_delay_s >= 0.0);
                // The solution satisfies the equation it solves (up to the form's jump at low_loss).
                let x = libm::log(found.offered_load);
                let residual = |shift: f64| {
                    let y = x + shift;
                    let delay = mm1k::mean_number(y, link.system_capacity - 1.0) / link.capacity_pps;
                    link.ln_load(mm1k::ln_loss(y, link.system_capacity), delay) - y
                };
                prop_assert!(residual(-1e-9) >= -1e-3 && residual(1e-9) <= 1e-3, "{response:?}");
            }
        }

        #[test]
        fn beside_slow_flows_the_background_alone_is_mm1k(load in 0.6_f64..1.5, k in 1.0_f64..50.0) {
            // One flow per 1e12 s of round trip: the queue is the background's.
            let group = [FlowGroup { rtt_s: 1e12, flows: 1.0 }];
            let link = SharedLink {
                capacity_pps: 1e5,
                system_capacity: k,
                flows: &group,
                response: Response::default(),
                background_load: load,
            };
            let queue = mm1k::Mm1k::new(load, k).unwrap();
            let found = link.droptail().unwrap();
            prop_assert!((found.loss / queue.loss() - 1.0).abs() < 1e-5);
            prop_assert!((found.utilization / queue.utilization() - 1.0).abs() < 1e-6);
        }

        #[test]
        fn more_flows_lose_more(flows in 1.0_f64..1e4, k in 10.0_f64..1e4) {
            let at = |flows: f64| {
                let group = [FlowGroup { rtt_s: 0.1, flows }];
                SharedLink {
                    capacity_pps: 12500.0,
                    system_capacity: k,
                    flows: &group,
                    response: Response::default(), background_load: 0.0 }
                .droptail()
                .unwrap()
            };
            prop_assert!(at(flows * 1.5).loss >= at(flows).loss);
            prop_assert!(at(flows * 1.5).utilization >= at(flows).utilization);
        }
    }
}
