//! A TUN device: packets that a namespace sends are read from it, and what is written to it the
//! namespace receives.
//!
//! Without a virtio header the device offers no segmentation, so the kernel cuts what TCP sends to
//! the MTU before it comes here (drivers/net/tun.c of Linux 6.12, `TUNSETOFFLOAD`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// Whether a device took a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// It is received.
    Yes,
    /// The kernel has no room; the packet was not taken.
    Full,
}

/// A TUN device of a namespace, nonblocking. It keeps the namespace alive.
#[derive(Debug)]
pub struct Device {
    file: OwnedFd,
    mtu: u16,
}

impl Device {
    pub(crate) fn new(file: OwnedFd, mtu: u16) -> Self {
        Self { file, mtu }
    }

    /// The largest packet, bytes with the IP header.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Takes the next packet that the namespace sent: its bytes, from the IP header on, or nothing if
    /// there is none.
    ///
    /// # Errors
    ///
    /// `InvalidInput` where `packet` is shorter than the MTU: the rest of a packet would be lost.
    /// What read(2) says otherwise.
    pub fn read(&self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        if packet.len() < usize::from(self.mtu) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        loop {
            match rustix::io::read(&self.file, &mut *packet) {
                Ok(length) => return Ok(Some(length)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Has the namespace receive a packet, which begins with its IP header.
    ///
    /// # Errors
    ///
    /// What write(2) says; `EINVAL` where the packet is no IP packet.
    pub fn write(&self, packet: &[u8]) -> io::Result<Written> {
        loop {
            match rustix::io::write(&self.file, packet) {
                Ok(_) => return Ok(Written::Yes),
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM) => return Ok(Written::Full),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
