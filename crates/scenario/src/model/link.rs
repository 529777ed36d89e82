//! The table of a link with its buffer. A scenario reads its links first.

use std::sync::Arc;

use forebay_units::{Bytes, Rate, RateSteps, Time};

use crate::model::algorithm::Algorithm;
use crate::model::buffer::{Buffer, BufferLimit};
use crate::model::classes::{LinkQueue, Queue, TrafficClass};
use crate::model::delay::{DelayForm, Delays, LinkDelay};
use crate::model::loss::MediumLoss;
use crate::model::medium::{Medium, MediumForm, Phy};
use crate::model::memory::{ALPHA, MemorySize, OneOfTheMemories};
use crate::model::outages::{Outages, OutagesForm};
use crate::model::pfc::{Pfc, PfcTable};
use crate::model::policer::{Policer, PolicerTable};
use crate::model::rate::{LinkRate, RateForm};
use crate::model::shaper::{Shaper, ShaperTable};
use crate::model::varying::Varying;
use crate::text::cursor::Cursor;
use crate::text::form::words;
use crate::text::form::{Maybe, NAME, Switch, Table, Words};
use crate::text::keys::{Context, Joint, Key, Presence, Section, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// One link with its queue.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Link {
        /// Name, unique in the scenario; without one `link`, `link1`, ...
        name: String = String::new(), always(NAME);
        /// Bits of IP packets per second, headers included; the average where it changes, and that
        /// of a shaper where this is less.
        rate: Rate = Rate::from_bits_per_second(0), parts(RATE_KEY);
        /// How the rate changes, where it does.
        varying: Option<Varying> = None, derived;
        /// The rate as time goes on, where it changes and is known.
        steps: Option<Arc<RateSteps>> = None, derived;
        /// Largest queue, without the packet in transmission.
        buffer: BufferLimit = BufferLimit::Packets(0), required("\"100p\"", Buffer);
        /// Queue discipline: it decides which packet is dropped and which leaves first.
        discipline: Algorithm = Algorithm::new(forebay_discipline::descriptions()[0]),
            parts(QUEUE_KEY);
        /// Its classes, where the discipline is `classes`.
        classes: Vec<TrafficClass> = Vec::new(), derived;
        /// One-way propagation delay, part of each `rtt`; the shortest if it changes.
        delay: Time = Time::ZERO, parts(DELAY_KEY);
        /// How the delay changes, where it does.
        delays: Option<Delays> = None, derived;
        /// Times at which the link sends nothing.
        outages: Outages = Outages::NONE, key(OutagesForm);
        /// Medium of the link, if it is not a wire.
        medium: Option<Medium> = None, key(Maybe(MediumForm));
        /// The rate as it is written, where a medium takes a share of it.
        phy: Option<Phy> = None, derived;
        /// Random losses after the queue, on the way to the next link or the receiver.
        loss: MediumLoss = MediumLoss::NONE, key(Table);
        /// Token bucket in front of the queue: it drops packets that exceed its rate and burst.
        policer: Option<Policer> = None, key(Maybe(PolicerTable));
        /// Token bucket between the queue and the line; `rate` is then the rate of the line.
        shaper: Option<Shaper> = None, key(Maybe(ShaperTable));
        /// The rate of the line behind a shaper.
        line: Option<Rate> = None, derived;
        /// Layer whose overhead the rate includes.
        rate_layer: RateLayer = RateLayer::L3, always(Words);
        /// Name of the shared memory in which its packets wait together with those of other links;
        /// one of `[[memories]]`.
        memory: Option<usize> = None, key(Maybe(OneOfTheMemories));
        /// Multiple of the free shared memory that the link's queue may hold: a dynamic threshold.
        /// Without it the queue may hold all of the memory.
        memory_alpha: Option<f64> = None, key(Maybe(ALPHA));
        /// Part of the memory that only packets of this link may use.
        memory_reserved: Option<BufferLimit> = None, key(Maybe(MemorySize));
        /// Priority flow control: the queue pauses its senders instead of dropping their packets.
        pfc: Option<Pfc> = None, key(Maybe(PfcTable));
        /// Whether reports are about this link; of several links, one is the target.
        target: bool = false, always(Switch);
    }
}

/// The key `rate` of a link.
pub(crate) const RATE_KEY: Joint<Link, LinkRate, RateForm> = Joint {
    key: Key {
        name: "rate",
        meaning: &[
            "Rate in bits of IP packets per second, headers included; a table if it changes.",
        ],
        presence: Presence::Required("\"50Mbps\""),
        form: RateForm,
    },
    get: |link| match &link.phy {
        Some(phy) => (phy.rate, phy.varying.clone()),
        None => (link.line_rate(), link.varying.clone()),
    },
    set: |link, rate| (link.rate, link.varying) = rate,
};

/// The key `delay` of a link.
pub(crate) const DELAY_KEY: Joint<Link, LinkDelay, DelayForm> = Joint {
    key: Key {
        name: "delay",
        meaning: &[
            "One-way propagation delay, a part of each `rtt`. It matters only between links of a path, or if",
            "it changes. Then each `rtt` contains the shortest delay, and the rest is added.",
        ],
        presence: Presence::Written,
        form: DelayForm,
    },
    get: |link| (link.delay, link.delays.clone()),
    set: |link, delay| (link.delay, link.delays) = delay,
};

/// The key `queue` of a link.
pub(crate) const QUEUE_KEY: Joint<Link, Queue, LinkQueue> = Joint {
    key: Key {
        name: "queue",
        meaning: &["Queue discipline: it decides which packet is dropped and which leaves first."],
        presence: Presence::Written,
        form: LinkQueue,
    },
    get: |link| (link.discipline.clone(), link.classes.clone()),
    set: |link, queue| (link.discipline, link.classes) = queue,
};

words! {
    /// The layer whose bits a link's rate counts.
    pub enum RateLayer {
        /// Bits on an Ethernet wire: 38 bytes more per packet (preamble, header, check, gap).
        L1 = "l1",
        /// Bits of Ethernet frames: 18 bytes more per packet.
        L2 = "l2",
        /// Bits of IP packets.
        L3 = "l3",
    }
}

impl RateLayer {
    /// Bytes per packet that the link's rate counts and the packet's size does not.
    ///
    /// ```
    /// use forebay_scenario::RateLayer;
    /// use forebay_units::Bytes;
    ///
    /// // Ethernet: header 14, check 4; on the wire also preamble 8 and gap 12.
    /// assert_eq!(RateLayer::L3.framing(), Bytes::ZERO);
    /// assert_eq!(RateLayer::L2.framing(), Bytes::new(14 + 4));
    /// assert_eq!(RateLayer::L1.framing(), Bytes::new(14 + 4 + 8 + 12));
    /// ```
    pub const fn framing(self) -> Bytes {
        Bytes::new(match self {
            Self::L1 => 38,
            Self::L2 => 18,
            Self::L3 => 0,
        })
    }
}

impl Link {
    /// Reads the link of this number, all but its buffer.
    pub(crate) fn read_unresolved(
        table: &Cursor<'_>,
        number: usize,
        context: &Context<'_>,
    ) -> Result<Self, ScenarioError> {
        let mut link = Self::read(table, context)?;
        if link.name.is_empty() {
            link.name = match number {
                0 => "link".into(),
                _ => format!("link{number}"),
            };
        }
        Ok(link)
    }
}
