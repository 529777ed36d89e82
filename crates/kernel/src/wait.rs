//! Waiting for devices and sockets, with a timeout in nanoseconds: ppoll(2). The real-time loop
//! sleeps with it.

use std::io;
use std::os::fd::BorrowedFd;

use forebay_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec};

/// Events of a descriptor that end a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Data to read, or an end.
    Read,
    /// Room to write.
    Write,
    /// Data to read or room to write.
    Both,
}

/// A set of descriptors for one wait. Their numbers follow the order in which they were added.
#[derive(Debug, Default)]
pub struct Waiting<'fd> {
    descriptors: Vec<PollFd<'fd>>,
}

impl<'fd> Waiting<'fd> {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a descriptor and returns its number: 0, 1, 2 ...
    pub fn add(&mut self, descriptor: BorrowedFd<'fd>, interest: Interest) -> usize {
        let flags = match interest {
            Interest::Read => PollFlags::IN,
            Interest::Write => PollFlags::OUT,
            Interest::Both => PollFlags::IN | PollFlags::OUT,
        };
        self.descriptors
            .push(PollFd::from_borrowed_fd(descriptor, flags));
        self.descriptors.len() - 1
    }

    /// Waits until a descriptor is ready, or for `timeout` (rounded up to a nanosecond; `None`
    /// waits forever). Returns the number of ready descriptors. A signal ends the wait early and
    /// returns 0.
    pub fn wait(&mut self, timeout: Option<Time>) -> io::Result<usize> {
        let timeout = timeout.map(timespec);
        match rustix::event::poll(&mut self.descriptors, timeout.as_ref()) {
            Err(rustix::io::Errno::INTR) => {
                for descriptor in &mut self.descriptors {
                    descriptor.clear_revents();
                }
                Ok(0)
            }
            other => Ok(other?),
        }
    }

    /// Whether the last wait found the descriptor with this number readable or writable as
    /// requested, or ended.
    pub fn ready(&self, number: usize) -> bool {
        self.descriptors
            .get(number)
            .is_some_and(|descriptor| !descriptor.revents().is_empty())
    }
}

fn timespec(time: Time) -> Timespec {
    let nanos = time.as_picos().div_ceil(1_000);
    Timespec {
        tv_sec: (nanos / 1_000_000_000) as i64,
        tv_nsec: (nanos % 1_000_000_000) as i64,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::time::Instant;

    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    #[test]
    fn what_is_ready_is_told_from_what_is_not() {
        let pair = || {
            socketpair(
                AddressFamily::UNIX,
                SocketType::STREAM,
                SocketFlags::CLOEXEC,
                None,
            )
            .expect("a pair")
        };
        let (quiet, _other) = pair();
        let (spoken, speaker) = pair();
        let mut waiting = Waiting::new();
        assert_eq!(waiting.add(quiet.as_fd(), Interest::Read), 0);
        assert_eq!(waiting.add(spoken.as_fd(), Interest::Read), 1);
        assert_eq!(waiting.wait(Some(Time::ZERO)).expect("a wait"), 0);
        assert!(!waiting.ready(0) && !waiting.ready(1));
        rustix::io::write(&speaker, b"x").expect("a byte");
        assert_eq!(waiting.wait(None).expect("a wait"), 1);
        assert!(!waiting.ready(0) && waiting.ready(1) && !waiting.ready(2));
        let mut writing = Waiting::new();
        writing.add(quiet.as_fd(), Interest::Write);
        assert_eq!(writing.wait(None).expect("a wait"), 1);
        let mut either = Waiting::new();
        either.add(quiet.as_fd(), Interest::Both);
        assert_eq!(either.wait(None).expect("a wait"), 1);
    }

    #[test]
    fn a_timeout_passes_and_no_less() {
        let mut nothing = Waiting::new();
        let timeout = Time::from_picos(1_000_000_000 + 1);
        let start = Instant::now();
        assert_eq!(nothing.wait(Some(timeout)).expect("a wait"), 0);
        assert!(start.elapsed().as_nanos() >= 1_000_001);
        let rounded = timespec(timeout);
        assert_eq!((rounded.tv_sec, rounded.tv_nsec), (0, 1_000_001));
        let long = timespec(Time::from_millis(2_500));
        assert_eq!((long.tv_sec, long.tv_nsec), (2, 500_000_000));
    }
}
