//! The TUN device of a namespace: the loop reads the packets that the namespace sends, and writes
//! the packets that it receives.
//!
//! Without a virtio header the device offers no segmentation offload. Therefore the kernel cuts TCP
//! data to the MTU before the device gets it (drivers/net/tun.c of Linux 6.12, `TUNSETOFFLOAD`).

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;

/// Result of writing a packet to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    /// The namespace receives the packet.
    Yes,
    /// The kernel had no room, and the packet was not written.
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

    /// The MTU: the largest packet in bytes, IP header included.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Reads the next packet that the namespace sent. Returns its length in bytes from the IP
    /// header on, or `None` if no packet waits.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `packet` is shorter than the MTU, because the rest of a packet would be
    /// lost. Otherwise the errors of read(2).
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

    /// Writes a packet, which begins with its IP header; the namespace receives it.
    ///
    /// # Errors
    ///
    /// The errors of write(2), such as `EINVAL` if the packet is no IP packet.
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
