//! The caller's end of a keeper: requests and their replies. Namespaces use it for all work inside.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendFlags,
    Shutdown, SocketFlags, SocketType,
};
use rustix::process::{Pid, PidfdFlags};

use crate::namespace_process::{BATCH, REPLY, REQUEST, Request, Stage};

/// Maximum time for a reply. A keeper makes only system calls, which are slow on a machine that
/// swaps.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// A process that owns a network namespace and works in it.
#[derive(Debug)]
pub(crate) struct NamespaceProcess {
    /// Socket to the keeper; locked from a request to its reply.
    control: Mutex<OwnedFd>,
    process: OwnedFd,
    pid: Pid,
}

impl NamespaceProcess {
    /// The two ends of a control socket: the caller's and the keeper's.
    pub(crate) fn ends() -> Result<(OwnedFd, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let ends =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // A keeper knows its PID only in its own namespace. The kernel translates it and passes it
        // with the first reply (unix(7)). The option must be set before the keeper sends.
        sockopt::set_socket_passcred(&ends.0, true)?;
        Ok(ends)
    }

    /// Waits until the keeper at the other end is ready. An error has the stage at which it
    /// occurred.
    pub(crate) fn meet(control: OwnedFd) -> Result<Self, (Stage, io::Error)> {
        let failed = |error: Errno| (Stage::Start, error.into());
        sockopt::set_socket_timeout(&control, Timeout::Recv, Some(REPLY_TIMEOUT))
            .map_err(failed)?;
        let Reply {
            stage, error, pid, ..
        } = receive(control.as_fd()).map_err(|error| (Stage::Start, error))?;
        sockopt::set_socket_passcred(&control, false).map_err(failed)?;
        if error != 0 {
            return Err((stage, io::Error::from_raw_os_error(error)));
        }
        let pid = pid.ok_or_else(|| (Stage::Start, io::Error::other("a keeper has no PID")))?;
        let process = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(failed)?;
        Ok(Self {
            control: Mutex::new(control),
            process,
            pid,
        })
    }

    /// Its process as a descriptor of pidfd_open(2).
    pub(crate) fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// The PID of the keeper in the caller's PID namespace.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Makes `count` sockets, in batches.
    pub(crate) fn sockets(&self, kind: Request, count: usize) -> io::Result<Vec<OwnedFd>> {
        let mut sockets = Vec::with_capacity(count);
        while sockets.len() < count {
            let batch = (count - sockets.len()).min(BATCH);
            let made = self.ask(&[kind as u8, batch as u8])?;
            if made.len() != batch {
                // The kernel truncates the descriptors at this process's limit (unix(7),
                // MSG_CTRUNC).
                return Err(Errno::MFILE.into());
            }
            sockets.extend(made);
        }
        Ok(sockets)
    }

    /// One socket.
    pub(crate) fn socket(&self, kind: Request) -> io::Result<OwnedFd> {
        one(self.sockets(kind, 1)?)
    }

    /// Opens a file from within the keeper's namespaces.
    pub(crate) fn open(&self, request: Request, path: &str) -> io::Result<OwnedFd> {
        one(self.ask(&file_request(request, path, "")?)?)
    }

    /// Writes a file from within the keeper's namespaces.
    pub(crate) fn write(&self, path: &str, value: &str) -> io::Result<()> {
        self.ask(&file_request(Request::Write, path, value)?)?;
        Ok(())
    }

    fn ask(&self, request: &[u8]) -> io::Result<Vec<OwnedFd>> {
        // A panic cannot leave the descriptor in an invalid state.
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        while let Err(error) = rustix::net::send(&*control, request, SendFlags::NOSIGNAL) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
        let Reply { error, passed, .. } = receive(control.as_fd()).inspect_err(|error| {
            if error.kind() == io::ErrorKind::TimedOut {
                // A late reply must not be mistaken for the reply to the next request.
                let _ = rustix::net::shutdown(&*control, Shutdown::Both);
            }
        })?;
        match error {
            0 => Ok(passed),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}

fn file_request(request: Request, path: &str, value: &str) -> io::Result<Vec<u8>> {
    let mut bytes = vec![request as u8];
    bytes.extend(path.bytes().chain([0]).chain(value.bytes()));
    if bytes.len() > REQUEST || path.contains('\0') {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(bytes)
}

fn one(descriptors: Vec<OwnedFd>) -> io::Result<OwnedFd> {
    descriptors
        .into_iter()
        .next()
        .ok_or_else(|| Errno::MFILE.into())
}

struct Reply {
    stage: Stage,
    error: i32,
    passed: Vec<OwnedFd>,
    pid: Option<Pid>,
}

fn receive(control: BorrowedFd) -> io::Result<Reply> {
    let mut bytes = [0; REPLY];
    let mut space =
        [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH), ScmCredentials(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        match rustix::net::recvmsg(control, &mut parts, &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
            other => break other?,
        }
    };
    let (mut passed, mut pid) = (Vec::new(), None);
    for message in beside.drain() {
        match message {
            RecvAncillaryMessage::ScmRights(descriptors) => passed.extend(descriptors),
            RecvAncillaryMessage::ScmCredentials(credentials) => pid = Some(credentials.pid),
            _ => {}
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(Errno::MFILE.into());
    }
    let [stage, _, _, _, error @ ..] = bytes;
    match Stage::ALL.get(usize::from(stage)) {
        Some(stage) if received.bytes == REPLY => Ok(Reply {
            stage: *stage,
            error: i32::from_ne_bytes(error),
            passed,
            pid,
        }),
        _ => Err(io::Error::new(
            io::ErrorKind::ConnectionAborted,
            "the process that keeps the namespace has ended",
        )),
    }
}
