//! Wi-Fi as a medium: aggregates of frames after a contention, and others that contend, too.
//!
//! Times and lengths are those of IEEE 802.11-2016 for OFDM at 5 GHz (HT, clause 19; VHT, clause
//! 21); contention is that of Bianchi, "Performance analysis of the IEEE 802.11 distributed
//! coordination function", IEEE JSAC 18(3), 2000: in each slot every attempt collides with the same
//! probability, however often it has before.

use forebay_units::{Bytes, Rate, Time};

use crate::text::form::{Maybe, WholeNumber, Within};
use crate::text::keys::keys;

keys! {
    /// A Wi-Fi link (IEEE 802.11n and ac) whose `rate` is that of its PHY.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Wifi: const {
        /// Largest number of frames (MPDUs) in an aggregate; 1 is without aggregation.
        frames: u64 = 64, key(WholeNumber(1, 256));
        /// Largest size of an aggregate (A-MPDU), in bytes: 1,048,575 in 802.11ac, 65,535 in
        /// 802.11n.
        bytes: Bytes = Bytes::new(1_048_575), key(Within {
            least: Bytes::new(4095),
            most: Bytes::new(6_500_631),
            allowed: "a size from 4095B to 6500631B",
        });
        /// Longest transmission time of an aggregate (aPPDUMaxTime).
        max_airtime: Time = Time::from_micros(5484), key(Within {
            least: Time::from_micros(100),
            most: Time::from_micros(5484),
            allowed: "a time from 100us to 5484us",
        }, "air");
        /// Time of the preamble before each aggregate (VHT, one stream).
        preamble: Time = Time::from_micros(40), key(Within {
            least: Time::from_micros(20),
            most: Time::from_micros(1000),
            allowed: "a time from 20us to 1ms",
        });
        /// Number of other stations that contend and always have packets to send.
        stations: u64 = 0, key(WholeNumber(0, 250));
        /// PHY rate of one of those stations, if it differs from the link's rate.
        slow: Option<Rate> = None, key(Maybe(Within {
            least: Rate::from_bits_per_second(1_000_000),
            most: Rate::from_bits_per_second(100_000_000_000),
            allowed: "a rate from 1Mbps to 100Gbps",
        }));
        /// Contention window of the first attempt, in slots.
        cw_min: u64 = 15, key(WholeNumber(1, 32_767));
        /// Largest contention window after collisions, in slots.
        cw_max: u64 = 1023, key(WholeNumber(1, 32_767));
        /// Number of idle slots after SIFS before the backoff counts down (AIFSN).
        aifsn: u64 = 3, key(WholeNumber(1, 15));
    }
}

/// Slot and short interframe space (802.11-2016, table 19-25).
pub const SLOT: Time = Time::from_micros(9);
const SIFS: Time = Time::from_micros(16);

/// A compressed block acknowledgment of 32 bytes at 24 Mb/s: a preamble of 20 us and three symbols.
const BLOCK_ACK: Time = Time::from_micros(32);

/// Bytes sent with each packet: header of a QoS data frame 26, CCMP 16, LLC and SNAP 8, check 4.
const FRAME: u64 = 26 + 16 + 8 + 4;

/// Bytes before each frame of an aggregate.
const DELIMITER: u64 = 4;

/// Service field and tail, in bits, and the symbols in a second (guard interval of 800 ns).
const SERVICE: u64 = 16 + 6;
const SYMBOLS: u64 = 250_000;
const SYMBOL: Time = Time::from_micros(4);

impl Wifi {
    /// Bytes that a packet takes in an aggregate, whose frames begin at multiples of four.
    ///
    /// ```
    /// use forebay_scenario::Wifi;
    ///
    /// assert_eq!(Wifi::frame(1500), 1560);
    /// ```
    pub const fn frame(packet: u64) -> u64 {
        (DELIMITER + FRAME + packet).next_multiple_of(4)
    }

    /// The time on the air of an aggregate of `bytes` bytes.
    pub fn air_time(&self, bytes: u64, rate: Rate) -> Time {
        let bits = u128::from(SERVICE) + 8 * u128::from(bytes);
        let per_second = u128::from(rate.as_bits_per_second().max(1));
        let symbols = (bits * u128::from(SYMBOLS)).div_ceil(per_second);
        let symbols = u64::try_from(symbols).unwrap_or(u64::MAX);
        let data = SYMBOL.as_picos().saturating_mul(symbols);
        self.preamble.saturating_add(Time::from_picos(data))
    }

    /// The time after an aggregate before the slots that stations count: its acknowledgment, and
    /// AIFS.
    pub fn behind(&self) -> Time {
        SIFS + BLOCK_ACK + SIFS + SLOT * self.aifsn
    }

    /// Whether an aggregate may have `frames` frames of `bytes` bytes in all.
    pub fn allows(&self, frames: u64, bytes: u64, rate: Rate) -> bool {
        frames <= self.frames
            && bytes <= self.bytes.get()
            && self.air_time(bytes, rate) <= self.max_airtime
    }

    /// How many packets of one size an aggregate takes: one at least.
    pub fn most(&self, packet: u64, rate: Rate) -> u64 {
        let (mut most, mut beyond) = (1, self.frames + 1);
        while beyond - most > 1 {
            let middle = u64::midpoint(most, beyond);
            if self.allows(middle, middle * Self::frame(packet), rate) {
                most = middle;
            } else {
                beyond = middle;
            }
        }
        most
    }

    /// The time on the air of a full aggregate of packets of this size.
    pub fn full(&self, packet: u64, rate: Rate) -> Time {
        let bytes = self.most(packet, rate) * Self::frame(packet);
        self.air_time(bytes, rate)
    }

    /// The contention window of the attempt after `collisions` collisions, plus one.
    pub fn window(&self, collisions: u32) -> u64 {
        let doubled = (self.cw_min + 1).saturating_mul(1 << collisions.min(20));
        doubled.min(self.cw_max.max(self.cw_min) + 1)
    }

    /// The contention for packets of this size that are sent at this rate.
    pub fn contention(&self, packet: u64, rate: Rate) -> Contention {
        let collision = self.collision();
        let slow = self.slow.filter(|_| self.stations > 0);
        Contention {
            wifi: *self,
            collision,
            other: self.full(packet, rate),
            slow: slow.map(|slow| (self.full(packet, slow), self.attempt(collision) / collision)),
        }
    }

    /// Probability with which a station sends in a slot where its attempts collide with this one.
    fn attempt(&self, collision: f64) -> f64 {
        // An attempt has a slot of its own behind those that are counted.
        1.0 / ((1.0 - collision) * self.slots(collision, 1.0))
    }

    /// Slots that are counted before a packet has left, where each attempt collides with this
    /// probability, and `more` for each attempt.
    fn slots(&self, collision: f64, more: f64) -> f64 {
        let (mut sum, mut reached, mut stage) = (0.0, 1.0, 0);
        let last = self.window(u32::MAX);
        let mean = |window: u64| (window as f64 - 1.0) / 2.0 + more;
        while self.window(stage) < last {
            sum += reached * mean(self.window(stage));
            reached *= collision;
            stage += 1;
        }
        sum + reached * mean(last) / (1.0 - collision)
    }

    /// Probability with which an attempt collides: the fixed point of Bianchi's equations 7 and 9.
    fn collision(&self) -> f64 {
        if self.stations == 0 {
            return 0.0;
        }
        let (mut low, mut high) = (0.0, 1.0 - 1e-12);
        for _ in 0..100 {
            let p = f64::midpoint(low, high);
            let nobody = libm::pow(1.0 - self.attempt(p), self.stations as f64);
            if 1.0 - nobody > p {
                low = p;
            } else {
                high = p;
            }
        }
        f64::midpoint(low, high)
    }

    /// Bits of packets of this size per second that a link sends which is never idle.
    pub fn saturation(&self, packet: u64, rate: Rate) -> f64 {
        let bits = 8 * self.most(packet, rate) * packet;
        bits as f64 / self.contention(packet, rate).turn(self.full(packet, rate))
    }
}

/// The contention of a station with others that always have data to send: full aggregates of the
/// same packets, one perhaps at another rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contention {
    wifi: Wifi,
    /// Probability that another station sends in a slot, and that an attempt collides.
    pub collision: f64,
    /// The others' time on the air.
    other: Time,
    /// Time of a slow station, and the probability that it is among the senders of a slot in which
    /// a station sends.
    slow: Option<(Time, f64)>,
}

impl Contention {
    /// The time that a station waits if another aggregate begins before its own, or collides with
    /// its own of this time on the air. A collision lasts as long as the longest of them, and is
    /// not acknowledged for as long as an acknowledgment takes. `draw` is uniform between 0 and 1.
    pub fn busy(&self, own: Time, draw: f64) -> Time {
        let longest = match self.slow {
            Some((slow, share)) if draw < share => slow.max(self.other),
            _ => self.other,
        };
        longest.max(own) + self.wifi.behind()
    }

    /// Mean of the same in seconds.
    fn mean_busy(&self, own: Time) -> f64 {
        let share = self.slow.map_or(0.0, |(_, share)| share);
        let among = share * self.busy(own, 0.0).as_secs_f64();
        among + (1.0 - share) * self.busy(own, 1.0).as_secs_f64()
    }

    /// Mean seconds of a slot in which a station does not send itself.
    fn slot(&self) -> f64 {
        let idle = (1.0 - self.collision) * SLOT.as_secs_f64();
        idle + self.collision * self.mean_busy(Time::ZERO)
    }

    /// Mean seconds from the end of one acknowledgment to the end of the next, for aggregates of
    /// this time on the air.
    pub fn turn(&self, own: Time) -> f64 {
        let collisions = self.collision / (1.0 - self.collision);
        let backoffs = self.wifi.slots(self.collision, 0.0) * self.slot();
        let sent = (own + self.wifi.behind()).as_secs_f64();
        backoffs + collisions * self.mean_busy(own) + sent
    }
}

#[cfg(test)]
mod tests {
    use forebay_random::{Purpose, Seed, Stream};

    use super::*;
    use crate::text::keys::Section;

    /// VHT at 80 MHz with one stream, MCS 9 and a guard interval of 800 ns: 1560 data bits in a
    /// symbol.
    const VHT: Rate = Rate::from_bits_per_second(390_000_000);

    fn among(stations: u64) -> Wifi {
        Wifi {
            stations,
            ..Wifi::defaults()
        }
    }

    /// A packet of 1500 B is a frame of 1560 B: 12480 bits and 22 more are nine symbols of 1560
    /// bits. Alone, it waits for AIFS (43 us) and 7.5 slots of 9 us, then takes 40 us of preamble,
    /// 36 us of data, 16 us of SIFS and 32 us of acknowledgment. Sixty-four of them take 99840 B:
    /// 798742 bits, 513 symbols.
    #[test]
    fn one_station_sends_what_the_standard_says() {
        let single = Wifi {
            frames: 1,
            ..Wifi::defaults()
        };
        let turn = 43.0 + 7.5 * 9.0 + 40.0 + 9.0 * 4.0 + 16.0 + 32.0;
        let one = single.saturation(1500, VHT);
        assert!((one - 12_000.0 / (turn * 1e-6)).abs() < 1.0, "{one}");
        let turn = 43.0 + 7.5 * 9.0 + 40.0 + 513.0 * 4.0 + 16.0 + 32.0;
        let all = among(0).saturation(1500, VHT);
        assert_eq!(among(0).most(1500, VHT), 64);
        assert!((all - 64.0 * 12_000.0 / (turn * 1e-6)).abs() < 1.0, "{all}");
        assert!(all > 6.5 * one, "{all} {one}");
    }

    /// At 6.5 Mb/s (26 bits a symbol) an aggregate of three takes 1441 symbols, 5.804 ms; of two
    /// 3.88 ms. In 802.11n 65,535 B are 42 frames.
    #[test]
    fn an_aggregate_ends_where_its_time_or_its_bytes_do() {
        let slow = Rate::from_bits_per_second(6_500_000);
        assert_eq!(among(0).most(1500, slow), 2);
        let symbols = (8 * 2 * 1560 + 22_u64).div_ceil(26);
        let two = Time::from_micros(40 + 4 * symbols);
        assert_eq!(among(0).full(1500, slow), two);
        let bytes = Bytes::new(65_535);
        let n = Wifi {
            bytes,
            ..Wifi::defaults()
        };
        assert_eq!(n.most(1500, VHT), 42);
        // A packet longer than all of that goes alone.
        assert_eq!(n.most(65_535, VHT), 1);
    }

    /// As in Bianchi's table 1 (FHSS at 1 Mb/s): windows of 32 slots that double five times;
    /// collisions and successes last 8713 us and 8982 us in basic access, slots 50 us, payloads
    /// 8184 us.
    fn bianchi(stations: u64) -> (Wifi, impl Fn(f64) -> f64) {
        let wifi = Wifi {
            cw_min: 31,
            cw_max: 1023,
            ..among(stations - 1)
        };
        let n = stations as f64;
        let throughput = move |attempt: f64| {
            let idle = libm::pow(1.0 - attempt, n);
            let one = n * attempt * libm::pow(1.0 - attempt, n - 1.0);
            one * 8184.0 / (idle * 50.0 + one * 8982.0 + (1.0 - idle - one) * 8713.0)
        };
        (wifi, throughput)
    }

    /// Stations, each with a window and a counter of its own: the share of attempts that collide,
    /// and of time in which a payload is sent.
    fn played(wifi: &Wifi, stations: usize, slots: u64) -> (f64, f64) {
        let mut draws = Stream::new(Seed::default(), 1, Purpose::Medium);
        let mut counters: Vec<(u32, u64)> = Vec::new();
        for _ in 0..stations {
            counters.push((0, draws.below(wifi.window(0))));
        }
        let (mut attempts, mut collisions, mut time, mut sent) = (0.0, 0.0, 0.0, 0.0);
        for _ in 0..slots {
            let ready = counters.iter().filter(|(_, left)| *left == 0).count();
            attempts += ready as f64;
            if ready > 1 {
                collisions += ready as f64;
            }
            time += [50.0, 8982.0, 8713.0][ready.min(2)];
            sent += if ready == 1 { 8184.0 } else { 0.0 };
            for (stage, left) in &mut counters {
                if *left > 0 {
                    *left -= 1;
                    continue;
                }
                *stage = if ready > 1 { *stage + 1 } else { 0 };
                *left = draws.below(wifi.window(*stage));
            }
        }
        (collisions / attempts, sent / time)
    }

    /// Stations that are played one by one collide and send as the fixed point says, within what
    /// Bianchi found of his simulations; the more there are, the less gets through.
    #[test]
    fn collisions_are_those_of_stations_with_windows_of_their_own() {
        let mut before = 0.9;
        for stations in [2, 5, 10, 20, 50] {
            let (wifi, throughput) = bianchi(stations);
            let p = wifi.collision();
            let found = throughput(wifi.attempt(p));
            let (collided, sent) = played(&wifi, stations as usize, 2_000_000);
            assert!((p - collided).abs() < 0.01, "{stations}: {p} {collided}");
            assert!(
                (found / sent - 1.0).abs() < 0.005,
                "{stations}: {found} {sent}"
            );
            assert!((0.6..before).contains(&found), "{stations}: {found}");
            before = found;
        }
    }
}
