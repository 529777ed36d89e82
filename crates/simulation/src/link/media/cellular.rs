//! LTE and NR: a turn is a slot, whose block takes as much of what waits as it carries. A packet
//! that does not fit goes on in the next blocks; a block that fails takes another slot later, and
//! packets behind it wait for it, for they are handed on in their order.

use std::collections::BTreeMap;
use std::sync::Arc;

use forebay_random::Stream;
use forebay_scenario::Cellular;
use forebay_units::{Bytes, Rate, RateSteps, Time, Work};

/// A scheduler's blocks, one in each slot.
#[derive(Clone, Debug)]
pub(crate) struct Tdma {
    cellular: Cellular,
    rate: SlotRate,
    /// Average rate of the medium, without repeats.
    average: Rate,
    draws: Stream,
    /// The slot of the turn at hand.
    turn: u64,
    /// The block that was begun last.
    block: Block,
    /// Use of the slots from the current turn on, and of those before.
    used: BTreeMap<u64, Use>,
    before: Use,
    /// When each packet of this turn has left, and the last one.
    loaded: Vec<Time>,
    departed: Time,
}

/// The rate of the blocks.
#[derive(Clone, Debug)]
enum SlotRate {
    Constant(Rate),
    Steps(Arc<RateSteps>),
}

/// A block that was begun.
#[derive(Clone, Copy, Debug)]
struct Block {
    slot: u64,
    /// Room that it still has.
    room: Work,
    /// When it has arrived, and all before it.
    arrives: Time,
}

/// The use of one slot, or of many.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Data of its packets.
    sent: Work,
    /// Data that its packets could have had.
    room: Work,
    /// All that it carries, repeats included.
    taken: Work,
}

/// Shares are counted in parts of this.
const WHOLE: u64 = 1 << 32;

impl Use {
    /// Adds the use of another slot in `parts` of `whole` parts of its time.
    fn add(&mut self, other: &Self, parts: u64, whole: u64) {
        self.sent = self.sent + other.sent.part(parts, whole);
        self.room = self.room + other.room.part(parts, whole);
        self.taken = self.taken + other.taken.part(parts, whole);
    }
}

impl SlotRate {
    fn work(&self, at: Time) -> Work {
        match self {
            Self::Constant(rate) => Work::at(*rate, at),
            Self::Steps(steps) => steps.work(at),
        }
    }
}

impl Tdma {
    /// One whose blocks have this rate, or these steps, of both of which `average` is what arrives.
    pub(crate) fn new(
        cellular: Cellular,
        (rate, average): (Rate, Rate),
        steps: Option<Arc<RateSteps>>,
        draws: Stream,
    ) -> Self {
        let whole = |rate: Rate| {
            let bits = rate.as_bits_per_second() as f64 / cellular.arriving();
            Rate::from_bits_per_second(bits.round() as u64)
        };
        let nothing = Block {
            slot: 0,
            room: Work::ZERO,
            arrives: Time::ZERO,
        };
        Self {
            cellular,
            rate: match steps {
                Some(steps) => SlotRate::Steps(Arc::new(steps.map(whole))),
                None => SlotRate::Constant(rate),
            },
            average,
            draws,
            turn: 0,
            block: nothing,
            used: BTreeMap::new(),
            before: Use::default(),
            loaded: Vec::new(),
            departed: Time::ZERO,
        }
    }

    fn begin(&self, slot: u64) -> Time {
        self.cellular.slot.saturating_mul(slot)
    }

    /// The slot that is the first to begin at `at` or later.
    fn slot_from(&self, at: Time) -> u64 {
        at.as_picos().div_ceil(self.cellular.slot.as_picos())
    }

    /// The data that a slot carries.
    fn carries(&self, slot: u64) -> Work {
        let (begin, end) = (self.begin(slot), self.begin(slot + 1));
        self.rate.work(end).saturating_sub(self.rate.work(begin))
    }

    /// The first slot from this one on in which nothing is sent yet and something can be.
    fn free(&self, mut slot: u64) -> u64 {
        loop {
            if self.used.contains_key(&slot) {
                slot += 1;
                continue;
            }
            match &self.rate {
                SlotRate::Steps(steps) if self.carries(slot) == Work::ZERO => {
                    // The last slot of an outage ends after it.
                    let end = steps.phase(self.begin(slot)).end;
                    slot = (slot + 1).max(end.as_picos() / self.cellular.slot.as_picos());
                }
                _ => return slot,
            }
        }
    }

    /// The next block to be asked for: a packet may have left room in one.
    pub(crate) fn next(&mut self, now: Time) -> Time {
        let slot = self.slot_from(now);
        self.turn = if self.block.room > Work::ZERO && self.block.slot >= slot {
            self.block.slot
        } else {
            self.free(slot)
        };
        self.begin(self.turn)
    }

    /// Cuts a packet into blocks; whether another packet has room in the one of this turn.
    pub(crate) fn load(&mut self, size: u32) -> bool {
        if self.block.room == Work::ZERO || self.block.slot < self.turn {
            self.open(self.turn);
        }
        let mut rest = Work::of(Bytes::new(u64::from(size)));
        while rest > self.block.room {
            rest = rest.saturating_sub(self.block.room);
            self.fill(self.block.room);
            self.open(self.block.slot + 1);
        }
        self.fill(rest);
        let one = Time::from_picos(1);
        self.departed = self.block.arrives.max(self.departed.saturating_add(one));
        self.loaded.push(self.departed);
        self.block.room > Work::ZERO && self.block.slot == self.turn
    }

    fn fill(&mut self, part: Work) {
        self.block.room = self.block.room.saturating_sub(part);
        let used = self.used.entry(self.block.slot).or_default();
        used.sent = used.sent + part;
    }

    /// Begins a block in the first free slot from this one on. Whether it arrives is drawn each
    /// time that it is sent.
    fn open(&mut self, from: u64) {
        let slot = self.free(from);
        let room = self.carries(slot);
        let block = Use {
            sent: Work::ZERO,
            room,
            taken: room,
        };
        self.used.insert(slot, block);
        let (mut at, mut failures) = (slot, 0);
        while self.draws.uniform() < self.cellular.block_error {
            failures += 1;
            at = self.free(at + self.cellular.wait(failures));
            let repeat = Use {
                taken: self.carries(at),
                ..Use::default()
            };
            self.used.insert(at, repeat);
        }
        self.block = Block {
            slot,
            room,
            arrives: self.block.arrives.max(self.begin(at + 1)),
        };
    }

    /// Ends the turn. Room that is not filled now stays empty, except in blocks that a packet has
    /// begun beyond this turn.
    pub(crate) fn serve(&mut self, departures: &mut Vec<Time>) -> Time {
        departures.append(&mut self.loaded);
        if self.block.slot == self.turn {
            self.block.room = Work::ZERO;
        }
        let later = self.used.split_off(&self.turn);
        for used in self.used.values() {
            self.before.add(used, 1, 1);
        }
        self.used = later;
        self.begin(self.turn + 1)
    }

    /// The data sent in slots until `now`, and the data that could have been sent. An unused slot
    /// counts with the data that arrives on average. A slot counts evenly over its time.
    pub(crate) fn sent(&self, now: Time) -> (Work, Work) {
        let slot = self.cellular.slot;
        let mut used = self.before;
        for (number, one) in &self.used {
            let gone = now.saturating_sub(self.begin(*number)).min(slot);
            used.add(one, gone.as_picos(), slot.as_picos());
        }
        let idle = self.rate.work(now).saturating_sub(used.taken);
        let arriving = (self.cellular.arriving() * WHOLE as f64).round() as u64;
        (used.sent, used.room + idle.part(arriving, WHOLE))
    }

    /// Time until `bytes` bytes have left after those taken in, with the average number of repeats.
    pub(crate) fn time_to_send(&self, now: Time, bytes: u64) -> Time {
        let begin = self.begin(self.block.slot).max(now);
        let takes = match &self.rate {
            SlotRate::Constant(_) => self.average.time_to_send(Bytes::new(bytes)),
            SlotRate::Steps(steps) => {
                let blocks = bytes as f64 / self.cellular.arriving();
                let before = steps.work(begin);
                let (end, _) = steps.reach(before + Work::of(Bytes::new(blocks.ceil() as u64)));
                end.saturating_sub(begin)
            }
        };
        begin.saturating_sub(now).saturating_add(takes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use forebay_random::{Purpose, Seed};
    use forebay_scenario::{Format, Medium, Scenario};

    use super::*;

    const MILLI: Time = Time::from_millis(1);

    /// Blocks of 1,500 bytes in a millisecond each.
    fn blocks(medium: &str) -> Tdma {
        slotted("\"12Mbps\"", medium)
    }

    fn slotted(rate: &str, medium: &str) -> Tdma {
        let text = format!(
            "[link]\nrate = {rate}\nbuffer = \"100p\"\nmedium = {{ kind = \"cellular\"{medium} }}\n\
             [[flows]]\nrtt = \"10ms\""
        );
        let scenario = Scenario::parse(&text, Format::Toml, "test", &[]).unwrap();
        let link = scenario.target();
        let (Some(Medium::Cellular(cellular)), Some(phy)) = (link.medium, &link.phy) else {
            panic!("{link:?}");
        };
        let draws = Stream::new(Seed::default(), 0, Purpose::Access);
        let steps = link.realized(Seed::default(), 0, scenario.run().end());
        Tdma::new(cellular, (phy.rate, link.rate), steps, draws)
    }

    /// One turn from `now` on with these packets waiting: when it was, how many were taken, when
    /// they left.
    fn turn(slotted: &mut Tdma, now: Time, waiting: &[u32]) -> (Time, Vec<Time>, Time) {
        let at = slotted.next(now);
        for size in waiting {
            if !slotted.load(*size) {
                break;
            }
        }
        let mut departures = Vec::new();
        let free = slotted.serve(&mut departures);
        (at, departures, free)
    }

    fn millis(list: &[u64]) -> Vec<Time> {
        list.iter().map(|at| Time::from_millis(*at)).collect()
    }

    /// By hand, without errors: a packet goes in the first slot that begins behind its arrival, and
    /// has arrived when its last block has.
    #[test]
    fn packets_are_cut_where_blocks_end() {
        let mut slotted = blocks(", block_error = 0");
        // One fills a block; another begins with the next.
        let (at, left, free) = turn(&mut slotted, Time::ZERO, &[1500, 1500]);
        assert_eq!(
            (at, &left[..], free),
            (Time::ZERO, &millis(&[1])[..], MILLI)
        );
        // Two of 1,000 bytes and a third are in two blocks; what is left of the second stays for
        // others.
        let (at, left, free) = turn(&mut slotted, free, &[1000, 1000, 1000]);
        assert_eq!((at, &left[..]), (MILLI, &millis(&[2, 3])[..]));
        let (at, left, free) = turn(&mut slotted, free, &[1000, 1000]);
        assert_eq!(
            (at, &left[..]),
            (MILLI * 2, &[MILLI * 3 + Time::from_picos(1)][..])
        );
        // 4,500 bytes are three blocks, and end where the third does.
        let (at, left, free) = turn(&mut slotted, free, &[4500, 1]);
        assert_eq!((at, &left[..]), (MILLI * 3, &millis(&[6])[..]));
        let (at, ..) = turn(&mut slotted, free, &[1]);
        assert_eq!(at, MILLI * 6);
        // No packet waited any more: the room of that block is lost.
        let later = Time::from_picos(6_000_000_001);
        let (at, left, _) = turn(&mut slotted, later, &[1500, 1]);
        assert_eq!((at, &left[..]), (MILLI * 7, &millis(&[8])[..]));
        let (sent, possible) = slotted.sent(MILLI * 8);
        assert_eq!(sent.bits() / 8.0, 1500.0 + 3000.0 + 4500.0 + 1.0 + 1500.0);
        assert_eq!(possible.bits() / 8.0, 8.0 * 1500.0);
    }

    /// Blocks that fail once come eight slots later, those behind them wait, and the slot is not
    /// free for others.
    #[test]
    fn packets_wait_for_repeats_before_them() {
        let mut slotted = blocks(", repeats = 31");
        let (mut now, mut taken) = (Time::ZERO, BTreeSet::new());
        let mut last = Time::ZERO;
        let (mut late, mut repeated) = (0.0, 0.0);
        for _ in 0..50_000 {
            let (at, left, free) = turn(&mut slotted, now, &[1500]);
            let repeats = slotted
                .used
                .iter()
                .filter(|(_, used)| used.room == Work::ZERO);
            taken.extend(repeats.map(|(slot, _)| *slot));
            assert!(!taken.contains(&(at.as_picos() / MILLI.as_picos())), "{at}");
            assert!(left[0] >= at + MILLI && left[0] > last);
            repeated += f64::from(u8::from(left[0] >= at + MILLI * 9));
            late += (left[0] - at - MILLI).as_secs_f64();
            (now, last) = (free, left[0]);
        }
        // A tenth of all sendings fails.
        let share = taken.len() as f64 / (50_000.0 + taken.len() as f64);
        assert!(
            (share - 0.1).abs() < 4.0 * (0.09_f64 / 55_000.0).sqrt(),
            "{share}"
        );
        let (waits, repeats) = played(400_000);
        let (late, repeated) = (late / 50_000.0, repeated / 50_000.0);
        assert!((late / waits - 1.0).abs() < 0.03, "{late} {waits}");
        assert!(
            (repeated / repeats - 1.0).abs() < 0.03,
            "{repeated} {repeats}"
        );
    }

    /// The same a second time, slot by slot: eight processes that each stop and wait. The mean time
    /// that a block's packets are late, and the share that is late by eight slots at least.
    fn played(slots: u64) -> (f64, f64) {
        let mut draws = Stream::new(Seed::default(), 5, Purpose::Access);
        // For each process the number of its block and how often that has failed; when blocks were
        // first sent, and when each has arrived.
        let mut processes: [Option<(usize, u64)>; 8] = [None; 8];
        let (mut first, mut arrived): (Vec<u64>, Vec<Option<u64>>) = (Vec::new(), Vec::new());
        for slot in 0..slots {
            let process = &mut processes[(slot % 8) as usize];
            let (block, failures) = process.unwrap_or_else(|| {
                first.push(slot);
                arrived.push(None);
                (first.len() - 1, 0)
            });
            *process = Some((block, failures + 1));
            if draws.uniform() >= 0.1 {
                arrived[block] = Some(slot);
                *process = None;
            }
        }
        let (mut sum, mut late, mut latest, mut count) = (0.0, 0.0, 0, 0.0);
        for (first, arrived) in first.iter().zip(arrived) {
            let Some(arrived) = arrived else { break };
            latest = latest.max(arrived);
            sum += (latest - first) as f64 * 1e-3;
            late += f64::from(u8::from(latest - first >= 8));
            count += 1.0;
        }
        (sum / count, late / count)
    }

    /// A block alone comes after k repeats with the probability (1 - p) p^k, each eight slots
    /// later, and behind every fourth failure it waits for RLC.
    #[test]
    fn a_block_alone_comes_after_a_geometric_number_of_repeats() {
        let mut slotted = blocks(", block_error = 0.4, repeats = 1, recovery = \"30ms\"");
        let mut counts = [0.0_f64; 4];
        let n = 20_000;
        let mut now = Time::ZERO;
        for _ in 0..n {
            let (at, left, _) = turn(&mut slotted, now, &[700]);
            let late = (left[0] - at - MILLI).as_picos() / MILLI.as_picos();
            // One repeat after 8 ms, the next sending after 30 ms more, and one after 8.
            let repeats = [0, 8, 38, 46].iter().position(|time| *time == late);
            if let Some(repeats) = repeats {
                counts[repeats] += 1.0;
            }
            now = left[0] + Time::from_millis(700);
        }
        let mut expected = 0.6;
        for count in counts {
            let found = count / f64::from(n);
            let error = (expected * (1.0 - expected) / f64::from(n)).sqrt();
            assert!((found - expected).abs() < 4.0 * error, "{found} {expected}");
            expected *= 0.4;
        }
    }

    /// A scheduler that always has packets sends what arrives on average, and all that could have
    /// been.
    #[test]
    fn a_cell_that_is_never_idle_carries_the_rate() {
        for (rate, medium) in [
            ("\"12Mbps\"", ""),
            (
                "\"12Mbps\"",
                ", slot = \"500us\", block_error = \"50%\", repeats = 0",
            ),
            (
                "{ steps = [[\"0s\", \"12Mbps\"], [\"300500us\", \"3Mbps\"], [\"700ms\", \"0bps\"]], repeat = \"1s\" }",
                "",
            ),
        ] {
            let mut slotted = slotted(rate, medium);
            let (mut now, mut bytes) = (Time::ZERO, 0.0);
            while now < Time::from_secs(100) {
                let (_, left, free) = turn(&mut slotted, now, &[900; 40]);
                bytes += 900.0 * left.len() as f64;
                now = free;
            }
            let (sent, possible) = slotted.sent(now);
            assert!((sent.bits() / 8.0 - bytes).abs() < 3000.0, "{medium}");
            let used = sent.bits() / possible.bits();
            assert!(
                (used - 1.0).abs() < 1e-4 && used <= 1.0 + 1e-9,
                "{medium} {used}"
            );
            let average = slotted.average.as_bits_per_second() as f64;
            let found = 8.0 * bytes / now.as_secs_f64() / average;
            assert!((found - 1.0).abs() < 0.01, "{rate} {medium} {found}");
        }
    }

    proptest::proptest! {
        /// Whatever waits and when, each slot is used once, departures rise, and no more is sent
        /// than could be.
        #[test]
        fn no_more_is_sent_than_could_be(
            turns in proptest::collection::vec((0u64..9_000, proptest::collection::vec(1u32..6000, 1..9)), 1..80),
            error in 0u32..6,
        ) {
            let mut slotted = blocks(&format!(", block_error = 0.{error}"));
            let (mut free, mut last) = (Time::ZERO, Time::ZERO);
            let mut before = (0.0, 0.0);
            for (gap, sizes) in turns {
                let now = free + Time::from_micros(gap);
                let (at, left, next) = turn(&mut slotted, now, &sizes);
                proptest::prop_assert!(at >= now && at.as_picos() % MILLI.as_picos() == 0);
                for departure in left {
                    proptest::prop_assert!(departure > at && departure > last);
                    last = departure;
                }
                for at in [at, at + Time::from_micros(300), next] {
                    let (sent, possible) = slotted.sent(at);
                    let (more, could) = (sent.bits() - before.0, possible.bits() - before.1);
                    proptest::prop_assert!(more >= -8.0 && more <= could + 16.0, "{} {}", more, could);
                    before = (sent.bits(), possible.bits());
                }
                free = next;
            }
        }
    }
}
