//! Random streams. Each stream is derived from (seed, replication, flow, purpose), so a new flow or
//! another buffer changes no other draws. All engines draw from these streams.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The seed of one replication of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seed {
    /// The scenario's seed.
    pub seed: u64,
    /// The number of the replication, from zero.
    pub replication: u64,
}

/// The purpose of a stream's draws. The numbers are part of the results: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Start time of a flow.
    Start = 1,
    /// A flow's propagation round-trip time.
    RoundTrip = 2,
    /// Times between arrivals of packets or flows.
    Interarrival = 3,
    /// Sizes of transfers.
    Size = 4,
    /// Think times of closed-loop users.
    Think = 5,
    /// A flow's packet size.
    Packet = 6,
    /// Drop and mark decisions of a queue discipline (the flow number is the link's number).
    Discipline = 7,
    /// Choice of the flows that lose packets in a congestion event of the fluid engine.
    Victims = 8,
    /// Number of flows that lose packets in a congestion event of the fluid engine.
    VictimCount = 9,
    /// Initial windows of the fluid engine.
    InitialWindow = 10,
    /// Processing times at senders.
    Processing = 11,
    /// Random choices inside a congestion controller.
    Controller = 12,
    /// Background traffic of the fluid engine.
    Background = 13,
    /// The number of flows of a group (the flow number is the group's number).
    FlowCount = 14,
    /// One round-trip time for all flows of a group (the flow number is the group's number).
    CommonRoundTrip = 15,
    /// Phase of a flow in its period at the beginning of a run.
    Phase = 16,
    /// Losses of a flow at an overflow of the fluid engine (the flow number is mixed with the event
    /// and the flow's count of losses).
    Overflow = 17,
    /// Lost retransmissions after a timeout in the fluid engine (the flow number is mixed with the
    /// flow's count of timeouts).
    Timeout = 18,
    /// Losses of the medium behind a link (the flow number is the link's number).
    Medium = 19,
    /// The rate of a link (the flow number is the link's number).
    LinkRate = 20,
    /// Outages of a link (the flow number is the link's number).
    Outage = 21,
    /// Times at which a link gets its medium, and the result of each transmission (the flow number
    /// is the link's number).
    Access = 22,
    /// Variation of the hosts' processing time (the flow number is the link's number).
    HostTiming = 23,
    /// Hosts and paths in a fabric (the flow number is that of a flow or an open-loop transfer).
    Route = 24,
}

/// The number of the first flow of the group `name`: FNV-1a, 64 bits (Fowler, Noll and Vo). It
/// depends on the name only, so other groups do not change the draws of this one.
///
/// ```
/// use forebay_random::{Purpose, Seed, Stream, key_of};
///
/// let elephants = key_of("elephants");
/// let third = Stream::new(Seed::default(), elephants.wrapping_add(2), Purpose::Start);
/// # let _ = third;
/// assert_eq!(key_of(""), 0xcbf2_9ce4_8422_2325);
/// ```
pub const fn key_of(name: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut bytes = name.as_bytes();
    while let [first, rest @ ..] = bytes {
        hash = (hash ^ *first as u64).wrapping_mul(0x0100_0000_01b3);
        bytes = rest;
    }
    hash
}

/// The inputs that determine a stream. A key is cheaper to store than a stream that may not be
/// needed.
///
/// ```
/// use forebay_random::{Purpose, Seed, Stream, StreamKey};
///
/// let key = StreamKey::new(Seed::default(), 7, Purpose::Controller);
/// let mut same = Stream::new(Seed::default(), 7, Purpose::Controller);
/// assert_eq!(key.stream().uniform(), same.uniform());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StreamKey {
    seed: Seed,
    flow: u64,
    purpose: Purpose,
}

impl StreamKey {
    /// The key of the stream for `purpose` of flow number `flow` in one replication.
    pub const fn new(seed: Seed, flow: u64, purpose: Purpose) -> Self {
        Self {
            seed,
            flow,
            purpose,
        }
    }

    /// The key of the same flow's stream for another purpose.
    #[must_use]
    pub const fn of(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// The stream of this key, from its beginning.
    pub fn stream(self) -> Stream {
        Stream::new(self.seed, self.flow, self.purpose)
    }
}

/// One stream of random numbers: xoshiro256++ (Blackman and Vigna 2019).
///
/// ```
/// use forebay_random::{Purpose, Seed, Stream};
///
/// let seed = Seed { seed: 1, replication: 0 };
/// let mut sizes = Stream::new(seed, 7, Purpose::Size);
/// let mut again = Stream::new(seed, 7, Purpose::Size);
/// assert_eq!(sizes.uniform(), again.uniform());
/// assert!(sizes.below(6) < 6);
/// ```
#[derive(Clone, Debug)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream for `purpose` of flow (or link) number `flow` in one replication.
    pub fn new(seed: Seed, flow: u64, purpose: Purpose) -> Self {
        let mut bytes = [0; 32];
        let mut state = mix(seed.seed ^ 0x666f_7265_6261_7931);
        for part in [seed.replication, flow, purpose as u64] {
            state = mix(state.wrapping_add(GOLDEN_GAMMA) ^ mix(part));
        }
        for chunk in bytes.chunks_exact_mut(8) {
            state = state.wrapping_add(GOLDEN_GAMMA);
            chunk.copy_from_slice(&mix(state).to_le_bytes());
        }
        Self(Xoshiro256PlusPlus::from_seed(bytes))
    }

    /// Draws 64 uniform random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number that is uniform on [0, 1), in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws a number that is uniform on (0, 1], so its logarithm is finite.
    pub fn uniform_positive(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws an exponential number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform_positive())
    }

    /// Draws a standard normal number by the polar method of Marsaglia and Bray (1964).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                return x * (-2.0 * libm::log(s) / s).sqrt();
            }
        }
    }

    /// Draws an integer that is uniform on {0, ..., n-1}; 0 if n is 0. It is free of bias (Lemire
    /// 2019).
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }
}

/// The increment of SplitMix64's state in each step: 2^64 divided by the golden ratio.
pub const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (Steele, Lea and Flood 2014). It is a bijection that spreads
/// every input bit over all output bits.
///
/// ```
/// use forebay_random::{GOLDEN_GAMMA, mix};
///
/// // The first output of the published generator seeded with 0.
/// assert_eq!(mix(GOLDEN_GAMMA), 0xe220_a839_7b1d_cdaf);
/// ```
#[inline]
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(n: u32, mut draw: impl FnMut() -> f64) -> f64 {
        (0..n).map(|_| draw()).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn a_stream_depends_on_each_part_of_its_name() {
        let seed = Seed {
            seed: 1,
            replication: 0,
        };
        let first = |seed, flow, purpose| Stream::new(seed, flow, purpose).bits();
        let base = first(seed, 0, Purpose::Start);
        assert_eq!(base, first(seed, 0, Purpose::Start));
        assert_ne!(base, first(Seed { seed: 2, ..seed }, 0, Purpose::Start));
        assert_ne!(
            base,
            first(
                Seed {
                    replication: 1,
                    ..seed
                },
                0,
                Purpose::Start
            )
        );
        assert_ne!(base, first(seed, 1, Purpose::Start));
        assert_ne!(base, first(seed, 0, Purpose::Size));
    }

    #[test]
    fn keys_of_names_are_those_of_the_published_hash() {
        // These are the test vectors of Fowler, Noll and Vo.
        assert_eq!(key_of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(key_of("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn means_are_right_to_five_standard_errors() {
        let mut s = Stream::new(Seed::default(), 0, Purpose::Size);
        let n = 100_000;
        let error = 5.0 / f64::from(n).sqrt();
        assert!((mean(n, || s.uniform()) - 0.5).abs() < 0.2887 * error);
        assert!((mean(n, || s.exponential()) - 1.0).abs() < error);
        assert!(mean(n, || s.normal()).abs() < error);
        assert!((mean(n, || s.below(7) as f64) - 3.0).abs() < 2.0 * error);
    }
}
