//! Nonblocking TCP over IPv4 on sockets of a namespace: listening, connecting, accepting, and what may be
//! set on a connection.

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
    /// Binds a fresh socket to `address` and listens, with room for `backlog` connections that
    /// nobody has accepted (at most `net.core.somaxconn` of the namespace).
    pub fn listen(socket: OwnedFd, address: SocketAddrV4, backlog: u16) -> io::Result<Self> {
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, backlog.into())?;
        Ok(Self(socket))
    }

    /// The next connection and where it comes from, or nothing if none waits.
    pub fn accept(&self) -> io::Result<Option<(Connection, SocketAddrV4)>> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        loop {
            match rustix::net::acceptfrom_with(&self.0, flags) {
                Ok((socket, from)) => {
                    let from = from.ok_or(Errno::AFNOSUPPORT)?.try_into()?;
                    return Ok(Some((Connection(socket), from)));
                }
                Err(Errno::AGAIN) => return Ok(None),
                // A connection that ended before it was accepted (accept(2)).
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Where it listens; the port that the kernel chose where it was to.
    pub fn address(&self) -> io::Result<SocketAddrV4> {
        Ok(rustix::net::getsockname(&self.0)?.try_into()?)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Where a connection comes from and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// An address of this side; the kernel chooses the port.
    pub from: Ipv4Addr,
    /// The listener's.
    pub to: SocketAddrV4,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Connection(OwnedFd);

impl Connection {
    /// Begins to connect a fresh socket; [`Connection::is_connected`] says when that is done.
    pub fn connect(socket: OwnedFd, route: Route) -> io::Result<Self> {
        // The port is chosen when the other end is known, so one port serves connections to several ends.
        nix::sys::socket::setsockopt(&socket, IpBindAddressNoPort, &true)?;
        rustix::net::bind(&socket, &SocketAddrV4::new(route.from, 0))?;
        match rustix::net::connect(&socket, &route.to) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => Ok(Self(socket)),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the connection stands.
    ///
    /// # Errors
    ///
    /// Why it never will, such as `ConnectionRefused`, or `TimedOut` once the SYN was sent in vain.
    pub fn is_connected(&self) -> io::Result<bool> {
        sockopt::socket_error(&self.0)??;
        match rustix::net::getpeername(&self.0) {
            Ok(peer) => Ok(peer.is_some()),
            Err(Errno::NOTCONN) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives bytes to the kernel, and says how many it took: nothing where it has no room.
    pub fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        retried(|| rustix::net::send(&self.0, bytes, SendFlags::NOSIGNAL))
    }

    /// Takes bytes that came: nothing where there are none yet, and 0 at the end.
    pub fn read(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        retried(|| rustix::net::recv(&self.0, &mut *bytes, RecvFlags::empty()).map(|read| read.1))
    }

    /// Says that nothing more will be written: a FIN follows what was.
    pub fn finish(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.0, Shutdown::Write)?)
    }

    /// What the kernel says of it.
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

/// Why a socket did not get a congestion control.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CongestionControlError {
    /// The kernel has none of this name, or its module is not loaded.
    #[error(
        "this kernel has no congestion control `{name}`; it has {}: load its module (`modprobe tcp_{name}`)",
        .available.join(", ")
    )]
    Unknown {
        /// The name asked for.
        name: String,
        /// Those that there are.
        available: Vec<String>,
    },
    /// It is kept for privileged users (`net.ipv4.tcp_allowed_congestion_control`).
    #[error(
        "the congestion control `{name}` is not allowed to this user: add it to net.ipv4.tcp_allowed_congestion_control or run as root"
    )]
    NotAllowed {
        /// The name asked for.
        name: String,
    },
    /// Something else.
    #[error("the congestion control `{name}` could not be set ({source})")]
    System {
        /// The name asked for.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// Gives a socket a congestion control by the kernel's name (tcp(7), `TCP_CONGESTION`); connections
/// that a listener accepts have the listener's. `available` are those that the namespace has, for the error.
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

/// Has a socket's packets be of `packet` bytes at most, headers included; `TCP_MAXSEG` takes no account of
/// options such as timestamps (RFC 6691 section 2).
pub fn set_segment_size(socket: impl AsFd, packet: Bytes) -> io::Result<()> {
    const FIXED_HEADERS: u64 = 40;
    let size = packet.get().saturating_sub(FIXED_HEADERS).clamp(88, 32_767) as u32;
    Ok(nix::sys::socket::setsockopt(&socket, TcpMaxSeg, &size)?)
}

/// Has a connection that is closed cut off at once: what was written and not acknowledged is forgotten, and the
/// other end gets a RST (socket(7), `SO_LINGER` of 0).
pub fn cut_off_when_closed(socket: impl AsFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// A socket's congestion control.
pub fn congestion_control(socket: impl AsFd) -> io::Result<String> {
    Ok(sockopt::tcp_congestion(socket)?)
}

/// Bounds a socket's send buffer, which then no longer grows by itself, and says what the bound is:
/// the kernel doubles it, for its own bookkeeping (socket(7), `SO_SNDBUF`). Who may not exceed
/// `net.core.wmem_max` gets at most that.
pub fn bound_send_buffer(socket: impl AsFd, bound: Bytes) -> io::Result<Bytes> {
    let socket = socket.as_fd();
    // The option is an int, and the kernel doubles it.
    let bytes = usize::try_from(bound.get().min(i32::MAX as u64 / 2)).map_err(io::Error::other)?;
    if sockopt::set_socket_send_buffer_size_force(socket, bytes).is_err() {
        sockopt::set_socket_send_buffer_size(socket, bytes)?;
    }
    Ok(Bytes::new(sockopt::socket_send_buffer_size(socket)? as u64))
}

/// Has a socket send small segments at once, without Nagle's algorithm (RFC 9293, section 3.7.4).
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
