//! The caller's end of a keeper: what it is asked for, and what comes back.

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

use crate::keeper::{BATCH, REPLY, REQUEST, Request, Stage};

/// How long a keeper may take for a reply. It only makes system calls, which take long on a machine
/// that swaps.
const PATIENCE: Duration = Duration::from_secs(20);

/// A process that keeps a network namespace and works in it.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// Held from a request to its reply.
    control: Mutex<OwnedFd>,
    process: OwnedFd,
    pid: Pid,
}

impl Keeper {
    /// Two ends of a conversation: the caller's and the keeper's.
    pub(crate) fn ends() -> Result<(OwnedFd, OwnedFd), Errno> {
        let flags = SocketFlags::CLOEXEC;
        let ends =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // A keeper knows its PID in its own namespace only. The kernel passes it beside what the keeper
        // says, and translates it (unix(7)); this must be so before it speaks.
        sockopt::set_socket_passcred(&ends.0, true)?;
        Ok(ends)
    }

    /// Waits until the keeper at the other end is ready. What else it has to say comes with the stage.
    pub(crate) fn meet(control: OwnedFd) -> Result<Self, (Stage, io::Error)> {
        let failed = |error: Errno| (Stage::Start, error.into());
        sockopt::set_socket_timeout(&control, Timeout::Recv, Some(PATIENCE)).map_err(failed)?;
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

    /// Its process, as pidfd_open(2) has it.
    pub(crate) fn process(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// Its PID in the caller's PID namespace.
    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// `count` sockets, in batches.
    pub(crate) fn sockets(&self, kind: Request, count: usize) -> io::Result<Vec<OwnedFd>> {
        let mut sockets = Vec::with_capacity(count);
        while sockets.len() < count {
            let batch = (count - sockets.len()).min(BATCH);
            let made = self.ask(&[kind as u8, batch as u8])?;
            if made.len() != batch {
                // The kernel passes as many as this process may have (unix(7), MSG_CTRUNC).
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

    /// A file as the keeper sees it.
    pub(crate) fn open(&self, request: Request, path: &str) -> io::Result<OwnedFd> {
        one(self.ask(&file_request(request, path, "")?)?)
    }

    /// Writes a file as the keeper sees it.
    pub(crate) fn write(&self, path: &str, value: &str) -> io::Result<()> {
        self.ask(&file_request(Request::Write, path, value)?)?;
        Ok(())
    }

    fn ask(&self, request: &[u8]) -> io::Result<Vec<OwnedFd>> {
        // The guarded descriptor has no state that a panic could have left half changed.
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        while let Err(error) = rustix::net::send(&*control, request, SendFlags::NOSIGNAL) {
            if error != Errno::INTR {
                return Err(error.into());
            }
        }
        let Reply { error, passed, .. } = receive(control.as_fd()).inspect_err(|error| {
            if error.kind() == io::ErrorKind::TimedOut {
                // A late reply must not be taken for that of the next request.
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
