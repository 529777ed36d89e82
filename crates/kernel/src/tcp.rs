//! Nonblocking TCP over IPv4 on sockets of a namespace: listening, connecting, accepting, and
//! socket options. The hosts and applications use it.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use forebay_units::Bytes;
use nix::sys::socket::sockopt::{IpBindAddressNoPort, TcpMaxSeg};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketFlags, sockopt};

use crate::tcp_info::TcpInfo;

/// A socket that accepts connections.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Binds a new socket to `address` and listens. `backlog` connections can wait to be accepted,
    /// at most `net.core.somaxconn` of the namespace.
    pub fn listen(socket: OwnedFd, address: SocketAddrV4, backlog: u16) -> io::Result<Self> {
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, backlog.into())?;
        Ok(Self(socket))
    }

    /// The next connection and its remote address, or `None` if none waits.
    pub fn accept(&self) -> io::Result<Option<(Connection, SocketAddrV4)>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        loop {
            match rustix::net::acceptfrom_with(&self.0, flags) {
                Ok((socket, from)) => {
                    let from = from.ok_or(Errno::AFNOSUPPORT)?.try_into()?;
                    return Ok(Some((Connection(socket), from)));
                }
                Err(Errno::AGAIN) => return Ok(None),
                // CONNABORTED is a connection that ended before it was accepted (accept(2)).
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The local address. Its port is the one that the kernel chose if zero was requested.
    pub fn address(&self) -> io::Result<SocketAddrV4> {
        Ok(rustix::net::getsockname(&self.0)?.try_into()?)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Source and destination of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Address of this side; the kernel chooses the port.
    pub from: Ipv4Addr,
    /// Address and port of the listener.
    pub to: SocketAddrV4,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Connection(OwnedFd);

impl Connection {
    /// Starts to connect a new socket; [`Connection::is_connected`] reports the result.
    pub fn connect(socket: OwnedFd, route: Route) -> io::Result<Self> {
        // The port is chosen when the other end is known, so one port serves connections to several
        // ends.
        nix::sys::socket::setsockopt(&socket, IpBindAddressNoPort, &true)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(route.from, 0))?;
        match rustix::net::connect(&socket, &route.to) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(Self(socket)),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the connection is established.
    ///
    /// # Errors
    ///
    /// The reason why it failed, such as `ConnectionRefused`, or `TimedOut` if the SYNs were not
    /// answered.
    pub fn is_connected(&self) -> io::Result<bool> {
        sockopt::socket_error(&self.0)??;
        match rustix::net::getpeername(&self.0) {
            Ok(peer) => Ok(peer.is_some()),
            Err(Errno::NOTCONN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes bytes. Returns the number of accepted bytes, or `None` if the kernel has no room.
    pub fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retried(|| rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL))
    }

    /// Reads received bytes. Returns their number, `None` if there are none yet, and 0 at the end.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        retried(|| rustix::net::recv(&self.0, &mut *bytes, RecvFlags::empty()).map(|read| read.1))
    }

    /// Closes the sending direction: a FIN follows the written data.
    pub fn finish(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.0, Shutdown::Write)?)
    }

    /// The kernel's state of the connection.
    pub fn info(&self) -> io::Result<TcpInfo> {
        TcpInfo::of(self)
    }

    /// The address and port of this end.
    pub fn address(&self) -> io::Result<SocketAddrV4> {
        Ok(rustix::net::getsockname(&self.0)?.try_into()?)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn retried(mut call: impl FnMut() -> Result<usize, Errno>) -> io::Result<Option<usize>> {
    loop {
        match call() {
            Ok(count) => return Ok(Some(count)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Reason why a socket did not get a congestion control.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CongestionControlError {
    /// The kernel has no congestion control of this name, or its module is not loaded.
    #[error(
        "this kernel has no congestion control `{name}`; it has {}: load its module (`modprobe tcp_{name}`)",
        .available.join(", ")
    )]
    Unknown {
        /// Requested name.
        name: String,
        /// Available names.
        available: Vec<String>,
    },
    /// Only privileged users may use it (`net.ipv4.tcp_allowed_congestion_control`).
    #[error(
        "the congestion control `{name}` is not allowed to this user: add it to net.ipv4.tcp_allowed_congestion_control or run as root"
    )]
    NotAllowed {
        /// Requested name.
        name: String,
    },
    /// Another error occurred.
    #[error("the congestion control `{name}` could not be set ({source})")]
    System {
        /// Requested name.
        name: String,
        /// Error of the kernel.
        source: io::Error,
    },
}

/// Sets a socket's congestion control by the kernel's name (tcp(7), `TCP_CONGESTION`). Accepted
/// connections inherit that of the listener. `available` are the names for the error text.
pub fn set_congestion_control(
    socket: impl AsFd,
    name: &str,
    available: &[String],
) -> Result<(), CongestionControlError> {
    let owned = || name.to_owned();
    match sockopt::set_tcp_congestion(socket, name) {
        Ok(()) => Ok(()),
        Err(Errno::NOENT) => Err(CongestionControlError::Unknown {
            name: owned(),
            available: available.to_vec(),
        }),
        Err(Errno::PERM) => Err(CongestionControlError::NotAllowed { name: owned() }),
        Err(error) => Err(CongestionControlError::System {
            name: owned(),
            source: error.into(),
        }),
    }
}

/// Limits a socket's packets to `packet` bytes, headers included. `TCP_MAXSEG` does not subtract
/// options such as timestamps (RFC 6691 section 2).
pub fn set_segment_size(socket: impl AsFd, packet: Bytes) -> io::Result<()> {
    const FIXED_HEADERS: u64 = 40;
    let size = packet.get().saturating_sub(FIXED_HEADERS).clamp(88, 32_767) as u32;
    Ok(nix::sys::socket::setsockopt(&socket, TcpMaxSeg, &size)?)
}

/// Lets close() reset a connection: unacknowledged data is discarded, and the other end gets a RST
/// (socket(7), `SO_LINGER` of 0).
pub fn reset_on_close(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// Disables Nagle's algorithm, so that small segments are sent at once (RFC 9293, section 3.7.4).
pub fn send_at_once(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, true)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_congestion_control_names_those_that_there_are() {
        let unknown = CongestionControlError::Unknown {
            name: "vegas".into(),
            available: vec!["reno".into(), "cubic".into()],
        };
        let text = unknown.to_string();
        assert!(text.contains("`vegas`; it has reno, cubic:"), "{text}");
    }
}
