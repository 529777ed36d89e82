//! Ended streams of one direction of an interface: the long ones, a sample of the others, and
//! totals of all. The observer fills them and returns them as [`Streams`].

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::bins::Amount;
use crate::budget::Budget;
use crate::series::Series;
use crate::stream::Stream;
use forebay_units::LogHistogram;

/// Number of ended streams that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Smallest number of packets of a long stream.
    pub long_packets: u64,
    /// Maximum number of long streams that are stored; the largest ones are.
    pub long: usize,
    /// Maximum number of other streams that are stored: a uniform random sample.
    pub sample: usize,
    /// Maximum number of start times that are stored; the first ones are.
    pub starts: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            long_packets: 1000,
            long: 20_000,
            sample: 100_000,
            starts: 200_000,
        }
    }
}

/// Maximum number of loss times of a stream that is not long.
const FEW_LOSSES: usize = 32;

/// Ended streams of a direction, and totals of all of them.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Long streams, in the order of their connections.
    pub long: Vec<Stream>,
    /// A uniform sample of all others, in the order of their connections.
    pub sample: Vec<Stream>,
    /// Number of all streams.
    pub count: u64,
    /// Number of long streams.
    pub long_count: u64,
    /// All packets of the streams, pure acknowledgments included.
    pub carried: Amount,
    /// Packets of connections that sent no payload this way.
    pub bare: Amount,
    /// Bytes of payload of each stream; each byte of the sequence counts once.
    pub sizes: LogHistogram<4>,
    /// Time from the first to the last packet of each stream, in nanoseconds.
    pub durations: LogHistogram<4>,
    /// Time between the starts of consecutive streams, in nanoseconds.
    pub start_gaps: LogHistogram<4>,
    /// Times of the first packet with payload of the first streams, in order, in nanoseconds.
    pub starts: Vec<u64>,
    /// Number of stored streams that lost their time series, because memory was short.
    pub series_lost: u64,
}

/// Collector of ended streams.
#[derive(Debug)]
pub(crate) struct FinishedStreams {
    stream_limits: StreamLimits,
    totals: Streams,
    last_start: Option<u64>,
    long: BinaryHeap<Reverse<BySize>>,
    sample: Vec<(u64, Stream)>,
    /// Number of streams that the sample is drawn from.
    drawn_from: u64,
    draws: Xoshiro256PlusPlus,
    /// Time series of stored streams, by size in bytes and number.
    series: BTreeMap<(u64, u64), Series>,
    /// Number of streams so far, which is the number of the latest one.
    numbers: u64,
}

/// A stream with its number, ordered by bytes.
#[derive(Debug)]
struct BySize(u64, Stream);

impl BySize {
    fn rank(&self) -> (u64, u64) {
        (self.1.bytes, self.0)
    }
}

impl PartialEq for BySize {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for BySize {}

impl PartialOrd for BySize {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for BySize {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl FinishedStreams {
    pub(crate) fn new(stream_limits: StreamLimits) -> Self {
        Self {
            stream_limits,
            totals: Streams::default(),
            last_start: None,
            long: BinaryHeap::new(),
            sample: Vec::new(),
            drawn_from: 0,
            draws: Xoshiro256PlusPlus::seed_from_u64(0),
            series: BTreeMap::new(),
            numbers: 0,
        }
    }

    /// Counts the start of a stream, at a time in nanoseconds.
    pub(crate) fn start(&mut self, time: u64) {
        if let Some(last) = self.last_start.replace(time) {
            self.totals.start_gaps.add(time.saturating_sub(last));
        }
        if self.totals.starts.len() < self.stream_limits.starts {
            self.totals.starts.push(time);
        }
    }

    /// Counts an ended direction without payload.
    pub(crate) fn bare(&mut self, carried: Amount) {
        self.totals.bare.packets += carried.packets;
        self.totals.bare.bytes += carried.bytes;
    }

    /// Stores an ended stream, or only counts it.
    pub(crate) fn keep(&mut self, mut stream: Stream, budget: &mut Budget) {
        let totals = &mut self.totals;
        totals.count += 1;
        totals.carried.packets += stream.packets;
        totals.carried.bytes += stream.bytes;
        totals.sizes.add(stream.distinct);
        totals.durations.add(stream.duration());
        self.numbers += 1;
        let number = self.numbers;
        if let Some(series) = stream.series.take() {
            self.series.insert((stream.bytes, number), series);
        }
        if stream.packets < self.stream_limits.long_packets {
            return self.draw(number, stream, budget);
        }
        totals.long_count += 1;
        self.long.push(Reverse(BySize(number, stream)));
        if self.long.len() > self.stream_limits.long
            && let Some(Reverse(BySize(number, smallest))) = self.long.pop()
        {
            self.draw(number, smallest, budget);
        }
    }

    /// Size in bytes of the smallest stream that still has its time series.
    pub(crate) fn smallest_series(&self) -> Option<u64> {
        let (&(bytes, _), _) = self.series.first_key_value()?;
        Some(bytes)
    }

    /// Drops the time series of the smallest stream that has one.
    pub(crate) fn forget_smallest(&mut self, budget: &mut Budget) {
        if let Some((_, mut series)) = self.series.pop_first() {
            series.clear(budget);
            self.totals.series_lost += 1;
        }
    }

    /// The stored streams and the totals.
    pub(crate) fn finish(mut self) -> Streams {
        let mut series = self.series;
        let mut completed = |number: u64, mut stream: Stream| {
            stream.series = series.remove(&(stream.bytes, number));
            stream
        };
        let long = self.long.into_iter();
        self.totals.long = long
            .map(|Reverse(BySize(number, stream))| completed(number, stream))
            .collect();
        let sample = self.sample.into_iter();
        self.totals.sample = sample
            .map(|(number, stream)| completed(number, stream))
            .collect();
        self.totals.long.sort_unstable_by_key(|it| it.connection);
        self.totals.sample.sort_unstable_by_key(|it| it.connection);
        self.totals
    }

    /// Adds a stream to the sample with equal chances for all streams (Vitter, ACM TOMS 11, 1985:
    /// algorithm R).
    fn draw(&mut self, number: u64, mut stream: Stream, budget: &mut Budget) {
        stream.loss_times.truncate(FEW_LOSSES);
        stream.loss_times.shrink_to_fit();
        self.drawn_from += 1;
        let forgotten = if self.sample.len() < self.stream_limits.sample {
            self.sample.push((number, stream));
            None
        } else {
            let place = self.draws.next_u64() % self.drawn_from;
            match self.sample.get_mut(place as usize) {
                Some(drawn) => Some(std::mem::replace(drawn, (number, stream))),
                None => Some((number, stream)),
            }
        };
        if let Some((number, stream)) = forgotten
            && let Some(mut series) = self.series.remove(&(stream.bytes, number))
        {
            series.clear(budget);
        }
    }
}
