//! The requirements that a machine lacks for emulated paths, with remedies. Each text is one line
//! for the user.

use std::io;

use crate::side::Side;

/// Reason why no namespaces could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// The operating system is not Linux.
    #[error("real TCP needs Linux; this is {found}")]
    NotLinux {
        /// Name of the system, from `std::env::consts::OS`.
        found: &'static str,
    },
    /// The kernel has no TUN driver, or the container does not show it.
    #[error(
        "/dev/net/tun does not exist: load the module (`modprobe tun`) or give the container the device (`--device /dev/net/tun`)"
    )]
    NoTunDevice,
    /// The file cannot be opened.
    #[error(
        "/dev/net/tun cannot be opened ({source}): let this user read and write it (`chmod 0666 /dev/net/tun`) or run as root"
    )]
    TunNotOpened {
        /// Error of the kernel.
        source: io::Error,
    },
    /// `TUNSETIFF` failed.
    #[error(
        "the kernel refused to make a TUN device ({source}): in a container, add the capability NET_ADMIN (`--cap-add NET_ADMIN`)"
    )]
    TunRefused {
        /// Error of the kernel.
        source: io::Error,
    },
    /// The process has no privileges, and may not make a user namespace to get some.
    #[error("user namespaces are not allowed ({source}): {help}, or run as root")]
    UserNamespaces {
        /// Error of the kernel.
        source: io::Error,
        /// Setting that forbids user namespaces, as far as it is known.
        help: &'static str,
    },
    /// PID or network namespaces are not allowed, although the process is privileged.
    #[error(
        "{what} namespaces are not allowed ({source}): a container needs the capability SYS_ADMIN and a seccomp profile that lets unshare and clone pass"
    )]
    Namespaces {
        /// `PID` or `network`.
        what: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A sysctl could not be written.
    #[error("the sysctl {name} of the {side} namespace cannot be set to {value:?} ({why})")]
    Sysctl {
        /// Name of the sysctl, with dots.
        name: String,
        /// Value that was written.
        value: String,
        /// Side of the namespace.
        side: Side,
        /// Error of the kernel, or the problem with the name.
        why: String,
    },
    /// A device, an address or a route could not be configured.
    #[error("the {side} namespace's {what} could not be configured ({source})")]
    Configuration {
        /// Name of the device, address or route.
        what: &'static str,
        /// Side of the namespace.
        side: Side,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A system call failed without a known prohibition: too many processes or descriptors, or an
    /// old kernel.
    #[error("{what} failed ({source}); needed are Linux 5.9 and free processes and descriptors")]
    System {
        /// Name of the operation.
        what: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A number is outside its valid range.
    #[error("{what} is {found}; allowed are {allowed}")]
    OutOfRange {
        /// Name of the number.
        what: &'static str,
        /// Value of the number.
        found: u64,
        /// Allowed values.
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
