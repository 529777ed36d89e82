//! The capabilities of programs in the namespaces of root. If root makes a network namespace
//! without a user namespace, capabilities in it hold on the whole machine.

use std::io;

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets};

/// Capabilities for making namespaces without a user namespace; `SETPCAP` is for dropping others.
pub(crate) const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::SETPCAP);

/// Capabilities that a program keeps: those of the network, and root's own over files, processes
/// and users. A Docker container has the same by default, except `NET_ADMIN`, `MKNOD` and
/// `SETFCAP`.
pub(crate) const RETAINED_CAPABILITIES: CapabilitySet = CapabilitySet::NET_ADMIN
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::AUDIT_WRITE);

/// Drops all capabilities but [`RETAINED_CAPABILITIES`], also for programs that are executed later,
/// whose limit is the bounding set (capabilities(7)). It makes only system calls.
pub(crate) fn give_up() -> io::Result<()> {
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if RETAINED_CAPABILITIES.contains(one) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(one) {
            Ok(()) => {}
            // The kernel has no further capabilities.
            Err(Errno::INVAL) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let own = rustix::thread::capabilities(None)?;
    let sets = CapabilitySets {
        effective: own.effective & RETAINED_CAPABILITIES,
        permitted: own.permitted & RETAINED_CAPABILITIES,
        inheritable: own.inheritable & RETAINED_CAPABILITIES,
    };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}
