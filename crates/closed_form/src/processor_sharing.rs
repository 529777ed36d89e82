//! Flow-level processor sharing: how many flows are in progress on a fairly shared link.
//!
//! Auge & Roberts (Poisson flow arrivals, insensitive to the size distribution), Dhamdhere &
//! Dovrolis (a finite population of users with think times), Lakshmikantha, Srikant & Beck
//! (flows limited by their access link).

use crate::error::{
    ModelError, at_least_one, check, non_negative, positive, representable, stable_load,
};
use crate::numeric;

/// P(N > n) = rho^(n+1): probability that more than `n` flows are in progress.
pub fn probability_more_than(load: f64, n: f64) -> Result<f64, ModelError> {
    stable_load("load", load)?;
    non_negative("number of flows n", n)?;
    Ok(libm::pow(load, n + 1.0))
}

/// P(N = n) = (1 - rho) rho^n.
pub fn probability_exactly(load: f64, n: f64) -> Result<f64, ModelError> {
    stable_load("load", load)?;
    non_negative("number of flows n", n)?;
    Ok((1.0 - load) * libm::pow(load, n))
}

/// The mean of N, rho / (1 - rho).
pub fn mean_flows(load: f64) -> Result<f64, ModelError> {
    stable_load("load", load)?;
    Ok(load / (1.0 - load))
}

/// Flow throughput over the capacity, 1 - rho.
pub fn flow_throughput(load: f64) -> Result<f64, ModelError> {
    stable_load("load", load)?;
    Ok(1.0 - load)
}

/// Load of the elastic flows on what the background leaves: rho_e / (1 - rho_b); must stay below 1.
pub fn residual_load(elastic: f64, background: f64) -> Result<f64, ModelError> {
    stable_load("background load", background)?;
    non_negative("elastic load", elastic)?;
    let load = elastic / (1.0 - background);
    check(
        "elastic load over residual capacity",
        load,
        "0 <= x < 1",
        load < 1.0,
    )
}

/// A finite population of users that think and transfer in turn.
///
/// P(n) = U!/(U-n)! r^n / norm with r = size / (capacity x think time).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosedLoop {
    /// U, number of users, a whole number from 1 to 1e7.
    pub users: f64,
    /// S/(C Z): mean transfer size over capacity times mean think time, above 0.
    pub size_over_capacity_think: f64,
}

impl ClosedLoop {
    /// The population, or the error naming the input that is out of range.
    pub fn new(users: f64, size_over_capacity_think: f64) -> Result<Self, ModelError> {
        let whole = (1.0..=1e7).contains(&users) && users == users.floor();
        check("users", users, "a whole number, 1 <= x <= 1e7", whole)?;
        positive("size / (capacity x think time)", size_over_capacity_think)?;
        Ok(Self {
            users,
            size_over_capacity_think,
        })
    }

    /// P(`n` users transfer at once).
    pub fn probability(&self, n: f64) -> Result<f64, ModelError> {
        let inside = (0.0..=self.users).contains(&n) && n == n.floor();
        check(
            "active users n",
            n,
            "a whole number, 0 <= x <= users",
            inside,
        )?;
        Ok(libm::exp(self.ln_weight(n) - self.ln_norm()))
    }

    /// Mean number of users that transfer: U minus the mean number that think, U_busy / r.
    pub fn mean_active(&self) -> f64 {
        // Flow balance: thinkers / Z = (1 - P(0)) C / S.
        let busy = self.utilization();
        let thinking = busy / self.size_over_capacity_think;
        if thinking < 0.9 * self.users {
            return self.users - thinking;
        }
        // Few are active: the difference would cancel, the sum does not.
        let norm = self.ln_norm();
        let mut sum = 0.0;
        for n in 1..=self.users as u64 {
            let term = n as f64 * libm::exp(self.ln_weight(n as f64) - norm);
            sum += term;
            if term < 1e-18 * sum {
                break;
            }
        }
        sum
    }

    /// Utilisation of the link, 1 - P(0).
    pub fn utilization(&self) -> f64 {
        -libm::expm1(-self.ln_norm())
    }

    /// ln of U!/(U-n)! r^n.
    fn ln_weight(&self, n: f64) -> f64 {
        libm::lgamma(self.users + 1.0) - libm::lgamma(self.users - n + 1.0)
            + n * libm::log(self.size_over_capacity_think)
    }

    /// ln of the sum of all weights, from the largest outwards.
    fn ln_norm(&self) -> f64 {
        let r = self.size_over_capacity_think;
        // Weights grow while (U - n) r > 1.
        let peak = (self.users - 1.0 / r).ceil().clamp(0.0, self.users);
        let mut sum = 1.0;
        let mut weight = 1.0;
        let mut n = peak;
        while n < self.users && weight > 1e-18 * sum {
            weight *= (self.users - n) * r;
            sum += weight;
            n += 1.0;
        }
        weight = 1.0;
        n = peak;
        while n > 0.0 && weight > 1e-18 * sum {
            weight /= (self.users - n + 1.0) * r;
            sum += weight;
            n -= 1.0;
        }
        self.ln_weight(peak) + libm::log(sum)
    }
}

/// Flows limited by an access link of capacity C/m share a core link of capacity C at load rho.
///
/// The core limits them with the Erlang C probability of m servers and rho m Erlangs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimited {
    /// m = C / c_access, core over access capacity, from 1 to 1e12; need not be whole.
    pub core_access_ratio: f64,
    /// rho, offered load of the core, 0 < rho < 1.
    pub load: f64,
}

impl RateLimited {
    /// The system, or the error naming the input that is out of range.
    pub fn new(core_access_ratio: f64, load: f64) -> Result<Self, ModelError> {
        let inside = (1.0..=1e12).contains(&core_access_ratio);
        check(
            "core/access capacity ratio",
            core_access_ratio,
            "1 <= x <= 1e12",
            inside,
        )?;
        stable_load("load", load)?;
        Ok(Self {
            core_access_ratio,
            load,
        })
    }

    /// C(m, rho m): probability that the core, not the access link, limits the flows.
    pub fn core_limits(&self) -> f64 {
        if self.load == 0.0 {
            return 0.0;
        }
        // C = 1 / (1 + (1 - rho)(1/B - 1)), B the Erlang loss probability.
        let inverse_loss = self.inverse_erlang_b();
        1.0 / (1.0 + (1.0 - self.load) * (inverse_loss - 1.0))
    }

    /// Mean number of flows, rho m + C(m, rho m) rho/(1 - rho).
    pub fn mean_flows(&self) -> f64 {
        self.load * self.core_access_ratio + self.core_limits() * self.load / (1.0 - self.load)
    }

    /// 1/B(m, a) by I(x) = 1 + (x/a) I(x-1), started where the start is forgotten.
    ///
    /// Below a the recursion contracts: from a - 12 sqrt(a) an error shrinks by e^-72.
    fn inverse_erlang_b(&self) -> f64 {
        let (m, a) = (self.core_access_ratio, self.load * self.core_access_ratio);
        let fraction = m - m.floor();
        let far = (a - 12.0 * a.sqrt() - 40.0).floor();
        let (mut x, mut inverse) = if far > 1.0 {
            let start = far + fraction;
            (start, 1.0 / (1.0 - start / a).max(1e-3))
        } else {
            (fraction, inverse_erlang_b_below_one(fraction, a))
        };
        while x + 0.5 < m && inverse < 1e300 {
            x += 1.0;
            inverse = 1.0 + x / a * inverse;
        }
        inverse
    }
}

/// 1/B(x, a) for 0 <= x < 1 servers: the integral of e^-u (1 + u/a)^x over u >= 0 (the continuous
/// extension of Erlang's formula), by the double-exponential rule.
fn inverse_erlang_b_below_one(x: f64, a: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let mut sum = 0.0;
    let step = 1.0 / 32.0;
    for index in -192_i32..=192 {
        let v = f64::from(index) * step;
        let u = libm::exp(v - libm::exp(-v));
        let slope = u * (1.0 + libm::exp(-v));
        if u > 0.0 && u < 700.0 {
            sum += slope * libm::exp(x * libm::log1p(u / a) - u);
        }
    }
    sum * step
}

/// A link with buffer-filling bursts: short flows in slow start (Appenzeller, Keslassy, McKeown).
///
/// P(Q >= q) = exp(-q 2 (1-rho)/rho m1/m2) whose sizes have first and second moments m1, m2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstQueue {
    /// Decay of ln P(Q >= q) per packet.
    pub decay: f64,
}

impl BurstQueue {
    /// From the load, 0 < rho < 1, and the sizes in packets of the bursts a flow sends.
    pub fn new(load: f64, bursts: &[f64]) -> Result<Self, ModelError> {
        crate::error::open_unit("load", load)?;
        at_least_one("number of bursts", bursts.len() as f64)?;
        let (mut sum, mut squares) = (0.0, 0.0);
        for &burst in bursts {
            positive("burst (packets)", burst)?;
            sum += burst;
            squares += burst * burst;
        }
        let decay = 2.0 * (1.0 - load) / load * sum / squares;
        positive("decay of the queue's tail", decay)?;
        Ok(Self { decay })
    }

    /// P(Q >= q), q in packets.
    pub fn tail(&self, queue: f64) -> Result<f64, ModelError> {
        non_negative("queue (packets)", queue)?;
        Ok(libm::exp(-self.decay * queue))
    }

    /// The queue in packets that is exceeded with probability `tail`.
    pub fn buffer_for_tail(&self, tail: f64) -> Result<f64, ModelError> {
        crate::error::probability("tail probability", tail)?;
        representable("buffer (packets)", -libm::log(tail) / self.decay)
    }
}

/// The bursts of a flow of `packets` in slow start from a window of two: 2, 4, 8, ... and the rest.
pub fn slow_start_bursts(packets: f64) -> Result<Vec<f64>, ModelError> {
    let whole = (1.0..=1e15).contains(&packets);
    check("flow (packets)", packets, "1 <= x <= 1e15", whole)?;
    let (mut left, mut burst, mut bursts) = (packets, 2.0_f64, Vec::new());
    while left > 0.0 {
        bursts.push(burst.min(left));
        left -= burst;
        burst *= 2.0;
    }
    Ok(bursts)
}

/// Offered load of open-loop transfers: arrivals per second x mean size / capacity.
pub fn open_loop_load(arrivals_per_s: f64, size: f64, capacity: f64) -> Result<f64, ModelError> {
    non_negative("arrivals (1/s)", arrivals_per_s)?;
    non_negative("mean size", size)?;
    positive("capacity (size units/s)", capacity)?;
    representable("load", arrivals_per_s * size / capacity)
}

/// The share of the capacity that the flows could fill with their largest windows and no queue:
/// sum W_i / (C T_i). The link is saturable when it is 1 or more (Dhamdhere, Jiang & Dovrolis).
pub fn saturation_ratio(
    capacity_pps: f64,
    window_packets: f64,
    rtts_s: &[f64],
) -> Result<f64, ModelError> {
    positive("capacity (packets/s)", capacity_pps)?;
    positive("largest window (packets)", window_packets)?;
    at_least_one("number of flows", rtts_s.len() as f64)?;
    let mut sum = 0.0;
    for &rtt in rtts_s {
        sum += window_packets / (capacity_pps * positive("round-trip time (s)", rtt)?);
    }
    representable("saturation ratio", sum)
}

/// Largest n such that at most n flows are in progress with probability `coverage`.
pub fn flows_at_quantile(load: f64, coverage: f64) -> Result<f64, ModelError> {
    stable_load("load", load)?;
    check(
        "coverage",
        coverage,
        "0 <= x < 1",
        (0.0..1.0).contains(&coverage),
    )?;
    if load == 0.0 || coverage == 0.0 {
        return Ok(0.0);
    }
    let real = numeric::root("flows", (-1.0, 1e18), |n| {
        (n + 1.0) * libm::log(load) - libm::log1p(-coverage)
    })
    .unwrap_or(0.0);
    Ok((real - 1e-12).ceil().max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn erlang_c_by_sum(servers: u32, load: f64) -> f64 {
        let a = load * f64::from(servers);
        let (mut term, mut sum) = (1.0, 0.0);
        for n in 0..servers {
            sum += term;
            term *= a / f64::from(n + 1);
        }
        let waiting = term / (1.0 - load);
        waiting / (sum + waiting)
    }

    #[test]
    fn printed_numbers() {
        assert_eq!(probability_more_than(0.5, 4.0).unwrap(), 0.03125);
        assert!((RateLimited::new(10.0, 0.8).unwrap().core_limits() - 0.409).abs() < 5e-4);
        assert!((RateLimited::new(100.0, 0.8).unwrap().core_limits() - 0.0196).abs() < 5e-5);
        // 60 x 1 Mb/s over 100 Mb/s; 100 x 32 KiB per 100 ms.
        assert!((open_loop_load(60.0, 1e6, 1e8).unwrap() - 0.6).abs() < 1e-15);
        assert!((open_loop_load(1000.0, 32.0 * 1024.0 * 8.0, 1e6).unwrap() - 262.144).abs() < 1e-9);
    }

    #[test]
    fn overload_is_refused() {
        assert!(mean_flows(1.0).is_err());
        assert!(flow_throughput(1.2).is_err());
        assert!(residual_load(0.6, 0.5).is_err());
        assert!(RateLimited::new(4.0, 1.0).is_err());
    }

    #[test]
    fn bursts_of_slow_start() {
        assert_eq!(slow_start_bursts(3.0).unwrap(), [2.0, 1.0]);
        assert_eq!(
            slow_start_bursts(62.0).unwrap(),
            [2.0, 4.0, 8.0, 16.0, 32.0]
        );
    }

    #[test]
    fn one_server_is_limited_with_probability_rho() {
        for load in [0.1, 0.5, 0.99] {
            let single = RateLimited::new(1.0, load).unwrap();
            assert!((single.core_limits() - load).abs() < 1e-14);
            assert!(
                (single.mean_flows() - mean_flows(load).unwrap()).abs()
                    < 1e-10 + load * 1e9 * f64::EPSILON
            );
        }
    }

    #[test]
    fn a_million_access_links_end_quickly() {
        let system = RateLimited::new(1e10, 0.99999).unwrap();
        assert!((0.0..=1.0).contains(&system.core_limits()));
    }

    proptest! {
        #[test]
        fn probabilities_sum_to_one(load in 0.01_f64..0.95) {
            let sum: f64 = (0..2000).map(|n| probability_exactly(load, f64::from(n)).unwrap()).sum();
            prop_assert!((sum - 1.0).abs() < 1e-12);
        }

        #[test]
        fn tail_falls_in_n_and_rises_in_load(load in 0.01_f64..0.9, n in 0_u32..50) {
            let n = f64::from(n);
            let here = probability_more_than(load, n).unwrap();
            prop_assert!(probability_more_than(load, n + 1.0).unwrap() < here);
            prop_assert!(probability_more_than(load + 0.05, n).unwrap() > here);
        }

        #[test]
        fn mean_diverges_towards_full_load(gap in 1e-12_f64..1e-3) {
            prop_assert!(mean_flows(1.0 - gap).unwrap() > 0.9 / gap);
        }

        #[test]
        fn erlang_c_equals_its_sum(servers in 1_u32..120, load in 0.05_f64..0.99) {
            let ours = RateLimited::new(f64::from(servers), load).unwrap().core_limits();
            let sum = erlang_c_by_sum(servers, load);
            prop_assert!((ours / sum - 1.0).abs() < 1e-10, "{ours} {sum}");
        }

        #[test]
        fn fractional_ratio_lies_between_whole_ones(m in 1_u32..100, part in 0.01_f64..0.99,
                                                    load in 0.1_f64..0.98) {
            let at = |ratio: f64| RateLimited::new(ratio, load).unwrap().core_limits();
            let between = at(f64::from(m) + part);
            prop_assert!(between < at(f64::from(m)) && between > at(f64::from(m) + 1.0));
        }

        #[test]
        fn closed_loop_sums_and_balances(users in 1_u32..80, r in 0.001_f64..10.0) {
            let closed = ClosedLoop::new(f64::from(users), r).unwrap();
            let law: Vec<f64> =
                (0..=users).map(|n| closed.probability(f64::from(n)).unwrap()).collect();
            prop_assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-10);
            let mean: f64 = law.iter().enumerate().map(|(n, p)| n as f64 * p).sum();
            prop_assert!((closed.mean_active() / mean - 1.0).abs() < 1e-8);
            prop_assert!((closed.utilization() - (1.0 - law[0])).abs() < 1e-10);
        }
    }
}
