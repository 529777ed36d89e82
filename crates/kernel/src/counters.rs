//! The counters of a namespace: TCP events and packets of its device. The source is
//! /proc/net/netstat, snmp and dev (net/ipv4/proc.c and net/core/net-procfs.c of Linux 6.12).

use std::collections::BTreeMap;
use std::io;

/// Events of a namespace since its creation, by the kernel's names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    events: BTreeMap<String, u64>,
    device: DeviceCounters,
}

/// Packets of the TUN device. The namespace receives the packets that are written to the device,
/// and sends the packets that are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets that the namespace received.
    pub received_packets: u64,
    /// Packets that were lost before the namespace received them.
    pub received_dropped_packets: u64,
    /// Packets that the namespace sent.
    pub sent_packets: u64,
    /// Packets that were lost because earlier ones were not read in time.
    pub sent_dropped_packets: u64,
}

macro_rules! events {
    ($($event:ident $kernel:literal $meaning:literal,)*) => {
        /// An event that the kernel counts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event {
            $(#[doc = concat!($meaning, " (`", $kernel, "`).")] $event,)*
        }

        impl Event {
            /// Every event.
            pub const ALL: &[Self] = &[$(Self::$event),*];

            /// Group and name of the event in the kernel's files, such as `TcpExt.TCPTimeouts`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$event => $kernel,)* }
            }
        }
    };
}

events! {
    SegmentsSent "Tcp.OutSegs" "Segments sent, without retransmissions",
    SegmentsReceived "Tcp.InSegs" "Segments received",
    SegmentsRetransmitted "Tcp.RetransSegs" "Segments sent again",
    Resets "Tcp.EstabResets" "Connections that a reset ended",
    Timeouts "TcpExt.TCPTimeouts" "Retransmission timeouts",
    LossProbes "TcpExt.TCPLossProbes" "Tail loss probes",
    FastRetransmissions "TcpExt.TCPFastRetrans" "Segments sent again in fast recovery",
    SpuriousTimeouts "TcpExt.TCPSpuriousRTOs" "Timeouts that F-RTO found needless",
    SynRetransmissions "TcpExt.TCPSynRetrans" "SYNs and SYN-ACKs sent again",
    MemoryPressures "TcpExt.TCPMemoryPressures" "Times that all of TCP's memory ran short",
    ReceiveCollapsed "TcpExt.TCPRcvCollapsed" "Segments joined since a receive buffer ran short",
    ReceivePruned "TcpExt.RcvPruned" "Segments dropped since a receive buffer ran short",
    OutOfOrderPruned "TcpExt.OfoPruned" "Out-of-order segments dropped since a receive buffer ran short",
    BacklogDrops "TcpExt.TCPBacklogDrop" "Segments dropped since a socket's backlog was full",
    ReceiveQueueDrops "TcpExt.TCPRcvQDrop" "Segments dropped since a receive queue was full",
    OutOfOrderDrops "TcpExt.TCPOFODrop" "Out-of-order segments dropped since memory was short",
    ListenDrops "TcpExt.ListenDrops" "Connections dropped by a listening socket",
    ListenOverflows "TcpExt.ListenOverflows" "Connections dropped since an accept queue was full",
    DelayedAcks "TcpExt.DelayedACKs" "ACKs that a delayed-ACK timer sent",
}

impl Counters {
    /// Number of times that an event happened; `None` if this kernel does not count it.
    pub fn count(&self, event: Event) -> Option<u64> {
        self.events.get(event.name()).copied()
    }

    /// Every event that this kernel counts, as `group.name` such as `TcpExt.TCPTimeouts`, with its
    /// count.
    pub fn all(&self) -> impl Iterator<Item = (&str, u64)> {
        self.events
            .iter()
            .map(|(name, count)| (name.as_str(), *count))
    }

    /// The packets of the device.
    pub fn device(&self) -> DeviceCounters {
        self.device
    }

    /// The counts since `earlier`, which must be of the same namespace.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let since = |name: &String, count: u64| {
            let before = earlier.events.get(name).copied().unwrap_or(0);
            // Some counters are gauges, such as CurrEstab, and can fall.
            (name.clone(), count.saturating_sub(before))
        };
        let (now, then) = (self.device, earlier.device);
        Self {
            events: self
                .events
                .iter()
                .map(|(name, count)| since(name, *count))
                .collect(),
            device: DeviceCounters {
                received_packets: now.received_packets - then.received_packets,
                received_dropped_packets: now.received_dropped_packets
                    - then.received_dropped_packets,
                sent_packets: now.sent_packets - then.sent_packets,
                sent_dropped_packets: now.sent_dropped_packets - then.sent_dropped_packets,
            },
        }
    }

    /// Reads the texts of /proc/net/netstat, snmp and dev. The error kind is `InvalidData`.
    pub(crate) fn parse(tables: [&str; 2], devices: &str, device: &str) -> io::Result<Self> {
        let mut events = BTreeMap::new();
        for table in tables {
            add_table(table, &mut events).ok_or_else(|| malformed("a table of counters"))?;
        }
        let device = device_line(devices, device).ok_or_else(|| malformed("/proc/net/dev"))?;
        Ok(Self { events, device })
    }
}

fn malformed(what: &str) -> io::Error {
    let text = format!("{what} does not read as expected");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Adds a table: pairs of lines with names and numbers, both after their group and a colon.
/// Negative numbers are skipped (`MaxConn` is -1).
fn add_table(table: &str, events: &mut BTreeMap<String, u64>) -> Option<()> {
    let mut lines = table.lines();
    while let Some(names) = lines.next() {
        let (group, names) = names.split_once(':')?;
        let (same, numbers) = lines.next()?.split_once(':')?;
        let (names, numbers) = (names.split_whitespace(), numbers.split_whitespace());
        if group != same || names.clone().count() != numbers.clone().count() {
            return None;
        }
        for (name, number) in names.zip(numbers) {
            if let Ok(number) = number.parse() {
                events.insert(format!("{group}.{name}"), number);
            }
        }
    }
    Some(())
}

/// Reads `name: bytes packets errors dropped ...` with eight numbers received and eight sent.
fn device_line(devices: &str, device: &str) -> Option<DeviceCounters> {
    let numbers = devices.lines().find_map(|line| {
        let (name, numbers) = line.split_once(':')?;
        (name.trim() == device).then_some(numbers)
    })?;
    let numbers: Vec<u64> = numbers
        .split_whitespace()
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    Some(DeviceCounters {
        received_packets: *numbers.get(1)?,
        received_dropped_packets: *numbers.get(3)?,
        sent_packets: *numbers.get(9)?,
        sent_dropped_packets: *numbers.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Tcp: RtoMin MaxConn OutSegs RetransSegs\nTcp: 200 -1 70 7\n";
    const NETSTAT: &str =
        "TcpExt: TCPTimeouts DelayedACKs\nTcpExt: 3 5\nIpExt: InOctets\nIpExt: 9\n";
    const DEVICES: &str = "Inter-|   Receive      |  Transmit\n face |bytes    packets errs\n\
        lo: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n\
        near: 100 11 0 12 0 0 0 0 200 21 0 22 0 0 0 0\n";

    #[test]
    fn numbers_belong_to_the_names_above_them() {
        let counters = Counters::parse([NETSTAT, SNMP], DEVICES, "near").expect("counters");
        assert_eq!(counters.count(Event::SegmentsSent), Some(70));
        assert_eq!(counters.count(Event::SegmentsRetransmitted), Some(7));
        assert_eq!(counters.count(Event::Timeouts), Some(3));
        assert_eq!(counters.count(Event::DelayedAcks), Some(5));
        assert_eq!(counters.count(Event::BacklogDrops), None);
        assert!(counters.all().any(|all| all == ("IpExt.InOctets", 9)));
        let device = counters.device();
        assert_eq!(
            (device.received_packets, device.received_dropped_packets),
            (11, 12)
        );
        assert_eq!((device.sent_packets, device.sent_dropped_packets), (21, 22));
        let later = SNMP.replace(" 7\n", " 9\n");
        let later = Counters::parse([NETSTAT, &later], DEVICES, "near").expect("counters");
        let since = later.since(&counters);
        assert_eq!(since.count(Event::SegmentsRetransmitted), Some(2));
        assert_eq!(since.count(Event::Timeouts), Some(0));
        assert_eq!(since.device(), DeviceCounters::default());
    }

    #[test]
    fn half_a_table_and_a_missing_device_are_errors() {
        let half = "Tcp: A B\n";
        let uneven = "Tcp: A B\nTcp: 1\n";
        for table in [half, uneven, "Tcp: A\nUdp: 1\n"] {
            assert!(
                Counters::parse([table, SNMP], DEVICES, "near").is_err(),
                "{table}"
            );
        }
        assert!(Counters::parse([NETSTAT, SNMP], DEVICES, "far").is_err());
    }
}
