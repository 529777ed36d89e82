//! What a machine lacks for emulated paths, and what would help. Every text is one line, for
//! whoever asked for a run.

use std::io;

use crate::side::Side;

/// Why no namespaces could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// The operating system is another one.
    #[error("real TCP needs Linux; this is {found}")]
    NotLinux {
        /// Its name, as `std::env::consts::OS` has it.
        found: &'static str,
    },
    /// The kernel has no TUN driver, or the container does not show it.
    #[error(
        "/dev/net/tun does not exist: load the module (`modprobe tun`) or give the container the device (`--device /dev/net/tun`)"
    )]
    NoTunDevice,
    /// The file may not be opened.
    #[error(
        "/dev/net/tun cannot be opened ({source}): let this user read and write it (`chmod 0666 /dev/net/tun`) or run as root"
    )]
    TunNotOpened {
        /// What the kernel said.
        source: io::Error,
    },
    /// `TUNSETIFF` failed.
    #[error(
        "the kernel refused to make a TUN device ({source}): in a container, add the capability NET_ADMIN (`--cap-add NET_ADMIN`)"
    )]
    TunRefused {
        /// What the kernel said.
        source: io::Error,
    },
    /// The process has no privilege of its own, and may not make a user namespace to get some.
    #[error("user namespaces are not allowed ({source}): {help}, or run as root")]
    UserNamespaces {
        /// What the kernel said.
        source: io::Error,
        /// The setting that forbids them, as far as it can be told.
        help: &'static str,
    },
    /// PID or network namespaces may not be made although the process is privileged.
    #[error(
        "{what} namespaces are not allowed ({source}): a container needs the capability SYS_ADMIN and a seccomp profile that lets unshare and clone pass"
    )]
    Namespaces {
        /// `PID` or `network`.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A sysctl could not be written.
    #[error("the sysctl {name} of the {side} namespace cannot be set to {value:?} ({why})")]
    Sysctl {
        /// Its name with dots.
        name: String,
        /// The value that was to be written.
        value: String,
        /// Whose.
        side: Side,
        /// What the kernel said, or what is wrong with the name.
        why: String,
    },
    /// A device, an address or a route could not be configured.
    #[error("the {side} namespace's {what} could not be configured ({source})")]
    Configuration {
        /// What could not.
        what: &'static str,
        /// Whose.
        side: Side,
        /// What the kernel said.
        source: io::Error,
    },
    /// A system call failed that nothing forbids: too many processes or descriptors, an old kernel.
    #[error("{what} failed ({source}); needed are Linux 5.9 and free processes and descriptors")]
    System {
        /// What was attempted.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A number that no device has.
    #[error("{what} is {found}; allowed are {allowed}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The values allowed.
        allowed: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_one_line() {
        let source = || io::Error::from_raw_os_error(1);
        let side = Side::Near;
        for missing in [
            Missing::NotLinux { found: "plan9" },
            Missing::NoTunDevice,
            Missing::TunNotOpened { source: source() },
            Missing::TunRefused { source: source() },
            Missing::UserNamespaces {
                source: source(),
                help: "set a sysctl",
            },
            Missing::Namespaces {
                what: "PID",
                source: source(),
            },
            Missing::Sysctl {
                name: "net.ipv4.tcp_sack".into(),
                value: "2\n3".into(),
                side,
                why: "no".into(),
            },
            Missing::Configuration {
                what: "route",
                side,
                source: source(),
            },
            Missing::System {
                what: "clone",
                source: source(),
            },
            Missing::OutOfRange {
                what: "mtu",
                found: 3,
                allowed: "68 to 65535",
            },
        ] {
            let text = missing.to_string();
            assert!(!text.contains('\n') && text.len() > 20, "{text}");
        }
    }
}
