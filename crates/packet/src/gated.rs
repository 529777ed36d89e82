//! A first-in-first-out link whose discipline decides at arrival: drop, mark or take.

use forebay_discipline::{Admission, Packet, Port, Shared, Verdict};
use forebay_units::Time;

use crate::fifo::FifoLink;
use crate::statistics::Account;

/// A first-in-first-out link with a discipline that decides at arrival.
#[derive(Clone, Debug)]
pub(crate) struct GatedLink {
    pub(crate) fifo: FifoLink,
    admission: Admission,
    port: Port,
}

impl GatedLink {
    pub(crate) fn new(fifo: FifoLink, admission: Admission, port: Port) -> Self {
        Self {
            fifo,
            admission,
            port,
        }
    }

    /// A packet arrives: its departure and whether it was marked, or `None` where it is dropped. Its
    /// wait goes to an account.
    pub(crate) fn arrive(&mut self, packet: &Packet, account: Account) -> Option<(Time, bool)> {
        let now = packet.arrival;
        let arrival = self.fifo.found(now, packet.size);
        self.port.now = now;
        self.port.idle_since = arrival.idle_since;
        let verdict = self.admission.admit(packet, &arrival, &mut self.port);
        if arrival.full || verdict == Verdict::Drop {
            self.fifo.statistics.refused();
            return None;
        }
        let marked = verdict == Verdict::Mark;
        self.fifo.statistics.marks += u64::from(marked && !packet.marked());
        let departure = self.fifo.arrive(now, packet.size, account)?;
        Some((departure, marked || packet.marked()))
    }

    /// What waits in the memory that the next arrival shares with other links.
    pub(crate) fn share(&mut self, shared: Shared) {
        self.port.shared = Some(shared);
    }
}
