//! Classes: flow groups share a link by class, as at a router's port. Each class has a queue with a
//! discipline and perhaps a buffer of its own. Classes without one share the link's buffer.
//!
//! Strict classes go first, in the order of the list. The others take turns by whole packets
//! (weighted round robin) or by bytes (deficit round robin, Shreedhar and Varghese 1996).
//!
//! A deficit may fall below zero here. A class is served while its deficit is positive, and the
//! excess is subtracted from its next turn. Cisco's modified deficit round robin and the surplus
//! round robin of Adiseshu, Parulkar and Varghese (1996) do the same. The paper's form needs the
//! size of the next packet in advance. A discipline such as CoDel knows that size only after it has
//! decided which packet to send. Shares stay within a packet of those of the paper.
//!
//! A queue behind the link may pause a class (IEEE 802.1Qbb). The schedule then skips the class as
//! if it had no packets.

use forebay_units::parameter::{
    Description, Evidence, Parameter, ParameterKind, Parameters, Value,
};
use forebay_units::{Bytes, Time};

use crate::admission::{AdmissionControl, Fifo};
use crate::droptail::DropTail;
use crate::fq_pie::FqPie;
use crate::packet::Packet;
use crate::pie::Pie;
use crate::port::{Backlog, Limit, OfClass, Port, Setting, Shared};
use crate::queue_discipline::{QueueDiscipline, Storage};
use crate::registry::{Admission, Discipline, Queue, discipline, storage};

/// The largest number of classes of a link.
pub const MAX_CLASSES: usize = 256;

/// The configuration of a class.
#[derive(Clone, Copy, Debug)]
pub struct ClassSetting<'a> {
    /// The name of the class's discipline.
    pub discipline: &'static str,
    /// The parameters of that discipline.
    pub parameters: &'a Parameters,
    /// Its share of the bandwidth of the weighted classes, relative to their weights; at least 1.
    pub weight: u64,
    /// Whether it goes before all weighted classes, whatever the schedule.
    pub priority: bool,
    /// Its own buffer; `None` if it shares the link's.
    pub limit: Option<Limit>,
    /// Mean size of its packets in bytes, at least 1.
    pub packet: f64,
}

/// The discipline `classes`: several classes at a link.
#[derive(Clone, Debug)]
pub struct Classes {
    members: Vec<Class>,
    /// The class of each flow group. Groups beyond the list belong to the last class.
    of_groups: Vec<u8>,
    schedule: Schedule,
    victim: Victim,
    /// The buffer of the classes without one of their own, and its backlog.
    limit: Limit,
    shared: Backlog,
    total: Backlog,
    /// The weighted class whose turn it is, and whether it has received its allowance.
    turn: usize,
    served: bool,
    /// The class of the packet in transmission.
    sending: Option<usize>,
    /// Number of paused classes.
    paused: usize,
}

/// The rule that selects the next class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Schedule {
    Strict,
    /// Turns of whole packets.
    Wrr,
    /// Turns of bytes: `quantum` for each unit of weight.
    Dwrr {
        quantum: u64,
    },
}

/// The packet that a full shared buffer drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// A packet of the last class that has any in the shared buffer.
    Lowest,
    /// The arriving packet.
    Arrival,
}

/// A class and its state in the schedule.
#[derive(Clone, Debug)]
struct Class {
    queue: Queue,
    buffer: Buffer,
    turns: Turns,
    /// Its place in the schedule while it is not paused.
    unpaused: Turns,
    /// The remaining allowance of this turn in the schedule's unit; negative if the class has sent
    /// more than that.
    balance: i64,
    /// The time since which nothing of the class waits or is in transmission.
    empty_since: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffer {
    Own,
    Shared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    /// The class goes before all that take turns.
    Strict,
    /// The class has this allowance in the schedule's unit.
    Weighted(i64),
    /// The class is paused.
    Paused,
}

impl QueueDiscipline for Classes {
    const DESCRIPTION: Description = Description {
        name: "classes",
        aliases: &[],
        title: "Classes of flow groups, each with a buffer and a discipline of its own",
        formula: &[
            "strict: a packet leaves only where no class before its own has one",
            "wrr: per round a class sends weight packets; dwrr: weight * quantum bytes, what is left over carried to the next round while it has packets",
        ],
        source: "RFC 2475 section 2.3.3; RFC 3246; Shreedhar and Varghese 1996; Cisco's class-based weighted fair queueing",
        checked: &[Evidence::Theory(
            "shares in proportion to the weights; the first strict class waits for one packet at most",
        )],
        parameters: &[
            Parameter {
                name: "schedule",
                meaning: "Order of service. strict: a class is served if no class before it has packets; wrr: in turn, `weight` packets each; dwrr: in turn, `weight` times `quantum` bytes each.",
                kind: ParameterKind::Choice {
                    words: &["strict", "wrr", "dwrr"],
                },
                default: Value::Word("strict"),
            },
            Parameter {
                name: "drop",
                meaning: "Packet that is dropped if the buffer that classes share is full: one of the last class that has packets (lowest), or the arrival (tail). Automatic: lowest for strict, otherwise tail.",
                kind: ParameterKind::Choice {
                    words: &["lowest", "tail"],
                },
                default: Value::Automatic,
            },
            Parameter {
                name: "quantum",
                meaning: "Size per turn for each unit of weight with dwrr, at least 64 bytes.",
                kind: ParameterKind::Bytes,
                default: Value::Bytes(Bytes::new(1500)),
            },
        ],
    };

    /// Creates one class of all traffic; [`Classes::of`] creates several.
    fn new(parameters: &Parameters, setting: &Setting) -> Self {
        let mut all = Self::without_classes(parameters, setting);
        let gate = Admission::DropTail(DropTail);
        let queue = Queue::Fifo(Fifo::new(gate, setting.limit));
        let turns = all.schedule.turns(1);
        all.members.push(Class::new(queue, Buffer::Shared, turns));
        all
    }

    fn enqueue(&mut self, packet: Packet, port: &mut Port) {
        let at = self.class_of(packet.group());
        if self.members[at].turns == Turns::Paused {
            self.enqueue_paused(at, packet, port);
            return;
        }
        self.enqueue_to(at, packet, port);
    }

    fn dequeue(&mut self, port: &mut Port) -> Option<Packet> {
        if let Some(at) = self.sending.take()
            && !self.members[at].is_backlogged()
        {
            // A link that runs out of packets also calls once in vain. Flow queues and CoDel change
            // their state then.
            let none = self.members[at].queue.dequeue(port);
            debug_assert!(none.is_none());
            self.note_empty(at, port.now);
        }
        while let Some(at) = self.next() {
            let sent = self.changing(at, |queue| queue.dequeue(port));
            if let Some(packet) = sent {
                self.charge(at, packet.size);
                self.sending = Some(at);
                return Some(packet);
            }
            // The discipline has dropped all packets that waited.
            self.note_empty(at, port.now);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.total
    }
}

impl Classes {
    /// Passes an arrival to its class if the buffer that classes share has room.
    #[expect(
        clippy::inline_always,
        reason = "a call would pass the packet in memory"
    )]
    #[inline(always)]
    fn enqueue_to(&mut self, at: usize, packet: Packet, port: &mut Port) {
        let contends = self.members[at].buffer == Buffer::Shared && port.idle_since.is_none();
        if contends && self.victim == Victim::Arrival && !self.has_room(at, packet.size) {
            port.discard(packet);
            return;
        }
        self.pass_on(at, packet, port);
        if self.members[at].queue.backlog().packets > 0 {
            self.members[at].empty_since = None;
        }
        if contends && self.victim == Victim::Lowest {
            self.push_out(port);
        }
    }

    /// The same for a paused class: its packet waits, also if nothing is in transmission.
    #[cold]
    #[inline(never)]
    fn enqueue_paused(&mut self, at: usize, packet: Packet, port: &mut Port) {
        let idle_since = port.idle_since.take();
        self.enqueue_to(at, packet, port);
        port.idle_since = idle_since;
    }

    /// Memory that the queue of a class needs.
    pub fn storage_of_class(name: &str, parameters: &Parameters) -> Storage {
        if name == Pie::DESCRIPTION.name {
            FqPie::storage_of_one_queue()
        } else {
            storage(name, parameters).unwrap_or(Storage::QUEUE)
        }
    }

    /// Creates several classes at a link. `None` if a discipline is unknown.
    pub fn of(
        parameters: &Parameters,
        setting: &Setting,
        classes: &[ClassSetting<'_>],
    ) -> Option<Self> {
        let mut all = Self::without_classes(parameters, setting);
        for class in classes {
            let inner = Setting {
                limit: class.limit.unwrap_or(setting.limit),
                packet: class.packet,
                ..setting.clone()
            };
            let buffer = match class.limit {
                Some(_) => Buffer::Own,
                None => Buffer::Shared,
            };
            let turns = if class.priority {
                Turns::Strict
            } else {
                all.schedule.turns(class.weight)
            };
            let queue = all.queue(class, &inner)?;
            all.members.push(Class::new(queue, buffer, turns));
        }
        (1..=MAX_CLASSES)
            .contains(&all.members.len())
            .then_some(all)
    }

    /// Sets the class of each flow group. Groups beyond the list belong to the last class.
    #[must_use]
    pub fn for_groups(self, of_groups: Vec<u8>) -> Self {
        Self { of_groups, ..self }
    }

    /// A pause of a class begins or ends. The schedule skips a paused class.
    pub fn pause(&mut self, at: usize, begins: bool) {
        let class = &mut self.members[at];
        let was_paused = class.turns == Turns::Paused;
        class.turns = if begins {
            Turns::Paused
        } else {
            class.unpaused
        };
        self.paused = self.paused + usize::from(begins) - usize::from(was_paused);
    }

    /// The class of a flow group.
    pub fn class_of(&self, group: u16) -> usize {
        let last = self.members.len() - 1;
        let known = self.of_groups.get(usize::from(group));
        known.map_or(last, |class| usize::from(*class).min(last))
    }

    /// The packets of a class that wait.
    pub fn backlog_of(&self, at: usize) -> Backlog {
        self.members[at].queue.backlog()
    }

    /// Whether a packet waits in a class that is not paused.
    pub fn has_unpaused(&self) -> bool {
        let mut members = self.members.iter();
        members.any(|class| class.turns != Turns::Paused && class.is_backlogged())
    }

    fn without_classes(parameters: &Parameters, setting: &Setting) -> Self {
        let schedule = Schedule::of(parameters);
        Self {
            members: Vec::new(),
            of_groups: Vec::new(),
            schedule,
            victim: match (parameters.get("drop"), schedule) {
                (Value::Word("lowest"), _) | (Value::Automatic, Schedule::Strict) => Victim::Lowest,
                _ => Victim::Arrival,
            },
            limit: setting.limit,
            shared: Backlog::default(),
            total: Backlog::default(),
            turn: 0,
            served: false,
            sending: None,
            paused: 0,
        }
    }

    /// Creates the queue of a class.
    fn queue(&self, class: &ClassSetting<'_>, setting: &Setting) -> Option<Queue> {
        let chosen = discipline(class.discipline, class.parameters, setting)?;
        Some(match chosen {
            // A full shared buffer drops the last packet of this queue, whichever packet arrives.
            Discipline::AtArrival(gate @ Admission::DropTail(_))
                if class.limit.is_none() && self.victim == Victim::Lowest =>
            {
                Queue::Fifo(Fifo::new(gate, Limit::Packets(u64::MAX)))
            }
            // The link's rate does not give the rate at which one class drains. The controller
            // therefore uses the packets' sojourn times (RFC 8033 section 4.2; the default in
            // Linux).
            Discipline::AtArrival(Admission::Pie(_)) => {
                Queue::FqPie(FqPie::of_one_queue(class.parameters, setting))
            }
            other => other.queued(setting),
        })
    }

    /// Whether the shared buffer has room for a packet of `size` bytes of class `at`. If all
    /// waiting packets belong to this class, its own discipline enforces the limit and may drop
    /// another packet.
    fn has_room(&self, at: usize, size: u32) -> bool {
        self.limit.fits(self.shared, size) || self.shared == self.members[at].queue.backlog()
    }

    /// Passes an arrival to its class. The discipline sees the state of the class and not of the
    /// whole link.
    fn pass_on(&mut self, at: usize, packet: Packet, port: &mut Port) {
        let memory = port.shared;
        let class = &self.members[at];
        if class.buffer == Buffer::Shared {
            port.shared = memory.or(Some(Shared {
                limit: self.limit,
                used: self.shared,
            }));
        }
        port.class = Some(OfClass {
            empty_since: class.empty_since,
        });
        self.changing(at, |queue| queue.enqueue(packet, port));
        port.class = None;
        port.shared = memory;
    }

    /// Applies `change` to a class's queue and updates the backlogs.
    fn changing<T>(&mut self, at: usize, change: impl FnOnce(&mut Queue) -> T) -> T {
        let class = &mut self.members[at];
        let before = class.queue.backlog();
        let result = change(&mut class.queue);
        let after = class.queue.backlog();
        let shared = (class.buffer == Buffer::Shared).then_some(&mut self.shared);
        for sum in [Some(&mut self.total), shared].into_iter().flatten() {
            sum.packets = sum.packets + after.packets - before.packets;
            sum.bytes = sum.bytes + after.bytes - before.bytes;
        }
        result
    }

    /// Makes room in the shared buffer: the last class that has a packet in it loses one.
    fn push_out(&mut self, port: &mut Port) {
        while self.limit.exceeded(self.shared) {
            let holds = |class: &Class| class.buffer == Buffer::Shared && class.is_backlogged();
            let Some(at) = self.members.iter().rposition(holds) else {
                return;
            };
            if let Some(packet) = self.changing(at, |queue| queue.push_out(port)) {
                port.discard(packet);
            }
            if self.sending != Some(at) {
                self.note_empty(at, port.now);
            }
        }
    }

    /// The class with the most bytes; of equal classes the last one.
    fn longest(&self) -> Option<usize> {
        let members = self.members.iter().enumerate();
        let longest = members.max_by_key(|(_, class)| class.queue.backlog().bytes);
        longest.map(|(at, _)| at)
    }

    /// Whether another class has more bytes than the one of this group with a packet of `size`
    /// bytes more.
    pub fn has_longer(&self, group: u16, size: u32) -> bool {
        let own = self.backlog_of(self.class_of(group)).bytes + u64::from(size);
        let longest = self.longest();
        longest.is_some_and(|at| self.backlog_of(at).bytes > own)
    }

    /// Removes a packet from the class with the most bytes; of equal classes from the last one.
    pub(crate) fn push_out_longest(&mut self, port: &mut Port) -> Option<Packet> {
        let at = self
            .longest()
            .filter(|at| self.members[*at].is_backlogged())?;
        let packet = self.changing(at, |queue| queue.push_out(port));
        if self.sending != Some(at) {
            self.note_empty(at, port.now);
        }
        packet
    }

    /// Updates the class after a packet of it has left or was dropped.
    fn note_empty(&mut self, at: usize, now: Time) {
        let class = &mut self.members[at];
        if !class.is_backlogged() {
            class.empty_since.get_or_insert(now);
        }
    }

    /// The class to serve next, if any has a packet.
    fn next(&mut self) -> Option<usize> {
        if self.total.packets == 0 {
            return None;
        }
        let strict = |class: &Class| class.turns == Turns::Strict && class.is_backlogged();
        if let Some(at) = self.members.iter().position(strict) {
            return Some(at);
        }
        if self.paused > 0 && !self.has_unpaused() {
            return None;
        }
        loop {
            let class = &mut self.members[self.turn];
            match class.turns {
                Turns::Weighted(allowance) if class.is_backlogged() => {
                    class.balance += if self.served { 0 } else { allowance };
                    self.served = true;
                    if class.balance > 0 {
                        return Some(self.turn);
                    }
                }
                // A class without packets saves no allowance, nor does a paused class. It still
                // owes its excess.
                _ => class.balance = class.balance.min(0),
            }
            self.served = false;
            self.turn = (self.turn + 1) % self.members.len();
        }
    }

    /// Charges a sent packet to its class.
    fn charge(&mut self, at: usize, size: u32) {
        let class = &mut self.members[at];
        class.balance -= match (class.turns, self.schedule) {
            (Turns::Strict | Turns::Paused, _) => 0,
            (_, Schedule::Dwrr { .. }) => i64::from(size),
            _ => 1,
        };
    }
}

impl Schedule {
    /// These bounds keep balances from overflowing.
    const MOST_QUANTUM: u64 = 1 << 32;
    const MOST_WEIGHT: u64 = 1 << 24;

    fn of(parameters: &Parameters) -> Self {
        match parameters.word("schedule") {
            "strict" => Self::Strict,
            "wrr" => Self::Wrr,
            _ => Self::Dwrr {
                quantum: parameters
                    .bytes("quantum")
                    .get()
                    .clamp(64, Self::MOST_QUANTUM),
            },
        }
    }

    fn turns(self, weight: u64) -> Turns {
        let weight = weight.clamp(1, Self::MOST_WEIGHT);
        match self {
            Self::Strict => Turns::Strict,
            Self::Wrr => Turns::Weighted(weight as i64),
            Self::Dwrr { quantum } => Turns::Weighted((weight * quantum) as i64),
        }
    }
}

impl Class {
    fn new(queue: Queue, buffer: Buffer, turns: Turns) -> Self {
        Self {
            queue,
            buffer,
            turns,
            unpaused: turns,
            balance: 0,
            empty_since: Some(Time::ZERO),
        }
    }

    fn is_backlogged(&self) -> bool {
        self.queue.backlog().packets > 0
    }
}
