//! The processes in the namespaces: a first process, whose end kills all others, and one keeper per
//! side. A keeper owns a network namespace and executes requests in it. All are copies of the
//! caller that make only system calls ([`crate::process`]).
//!
//! A request is one datagram: a byte for its kind, and its arguments. The reply is one datagram: a
//! stage, an error number, and descriptors (unix(7), `SCM_RIGHTS`).

use std::ffi::CStr;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libc::c_int;
use nix::sched::CloneFlags;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags,
    SocketType,
};

use crate::process;

/// Maximum number of sockets per request. The kernel passes at most 253 descriptors (`SCM_MAX_FD`,
/// include/net/scm.h).
pub(crate) const BATCH: usize = 128;
/// Maximum bytes of a request: the longest name of a sysctl and its value.
pub(crate) const REQUEST: usize = 4096;
/// Bytes of a reply: a stage and an error number.
pub(crate) const REPLY: usize = 8;

/// The kind of a request, which is its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Request {
    /// Makes sockets; a second byte holds their number.
    Tcp,
    Udp,
    /// Makes a socket of rtnetlink(7).
    Netlink,
    /// Opens a path for reading.
    Read,
    /// Opens a path for reading and writing, nonblocking.
    Device,
    /// Writes a file: path, zero byte, content.
    Write,
}

impl Request {
    const ALL: [Self; 6] = [
        Self::Tcp,
        Self::Udp,
        Self::Netlink,
        Self::Read,
        Self::Device,
        Self::Write,
    ];
}

/// The subject of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Stage {
    /// A request.
    Reply,
    /// The start of the processes.
    Start,
    /// The writing of the user and group ID maps.
    Maps,
    /// The creation of the network namespace.
    Network,
}

impl Stage {
    pub(crate) const ALL: [Self; 4] = [Self::Reply, Self::Start, Self::Maps, Self::Network];
}

/// The inputs of the first process, which are complete before it starts.
pub(crate) struct Plan<'fd> {
    /// Descriptor of the caller, readable once it has ended (pidfd_open(2)).
    pub(crate) caller: BorrowedFd<'fd>,
    /// Socket whose other end only the caller holds.
    pub(crate) lifeline: BorrowedFd<'fd>,
    /// Sockets of the keepers, near first.
    pub(crate) keepers: [BorrowedFd<'fd>; 2],
    /// Lines of `uid_map` and `gid_map`, if there is a user namespace.
    pub(crate) maps: Option<[Vec<u8>; 2]>,
}

/// The first process of the PID namespace. When it ends, the kernel kills all other processes
/// (pid_namespaces(7)). It ends when the caller ends or closes the lifeline.
pub(crate) fn first(plan: &Plan) -> c_int {
    let [near, far] = plan.keepers;
    let started = process::close_all_but([plan.caller, plan.lifeline, near, far])
        .and_then(|()| process::let_the_kernel_reap())
        .and_then(|()| Ok(rustix::thread::set_name(c"forebay")?));
    if let Err(error) = started {
        return fail(near, Stage::Start, &error);
    }
    if let Some(maps) = &plan.maps
        && let Err(error) = write_maps(maps)
    {
        return fail(near, Stage::Maps, &error);
    }
    for namespace_process in [near, far] {
        if let Err(error) = process::start(0, || keep(namespace_process)) {
            return fail(near, Stage::Start, &error);
        }
    }
    // Only the keepers hold their socket ends now, so the caller notices when a keeper ends.
    if process::close_all_but([plan.caller, plan.lifeline]).is_err() {
        return 1;
    }
    let mut ends = [
        PollFd::from_borrowed_fd(plan.caller, PollFlags::IN),
        PollFd::from_borrowed_fd(plan.lifeline, PollFlags::IN),
    ];
    while rustix::event::poll(&mut ends, None) == Err(Errno::INTR) {}
    0
}

/// Maps the caller's user and group to root of the user namespace. A process without privileges
/// must give up setgroups(2) before it may map a group (user_namespaces(7)).
fn write_maps([user, group]: &[Vec<u8>; 2]) -> io::Result<()> {
    write_file(c"/proc/self/setgroups", b"deny")?;
    write_file(c"/proc/self/uid_map", user)?;
    write_file(c"/proc/self/gid_map", group)
}

/// A keeper: makes a network namespace and serves requests until the caller closes its end.
fn keep(control: BorrowedFd) -> c_int {
    let ready = process::close_all_but([control])
        .map_err(|error| (Stage::Start, error))
        .and_then(|()| {
            nix::sched::unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|error| (Stage::Network, error.into()))
        });
    match ready {
        Ok(()) => reply(control, Stage::Reply, 0, &[]),
        Err((stage, error)) => return fail(control, stage, &error),
    }
    let mut request = [0; REQUEST];
    loop {
        match rustix::net::recv(control, &mut request, RecvFlags::empty()) {
            Ok((0, _)) => return 0,
            Ok((length, _)) => serve(control, request.get(..length).unwrap_or(&[])),
            Err(Errno::INTR) => {}
            Err(_) => return 1,
        }
    }
}

fn serve(control: BorrowedFd, request: &[u8]) {
    let mut made = [const { None }; BATCH];
    let done = answer(request, &mut made);
    let mut passed = [control; BATCH];
    let mut count = 0;
    for (slot, descriptor) in passed.iter_mut().zip(made.iter().flatten()) {
        *slot = OwnedFd::as_fd(descriptor);
        count += 1;
    }
    let error = done.err().map_or(0, Errno::raw_os_error);
    let passed = if error == 0 {
        passed.get(..count)
    } else {
        None
    };
    reply(control, Stage::Reply, error, passed.unwrap_or(&[]));
}

/// Executes a request. The resulting descriptors go to the front of `made`.
fn answer(request: &[u8], made: &mut [Option<OwnedFd>; BATCH]) -> Result<(), Errno> {
    let (code, arguments) = request.split_first().ok_or(Errno::INVAL)?;
    let request = Request::ALL.get(usize::from(*code)).ok_or(Errno::INVAL)?;
    match request {
        Request::Tcp | Request::Udp | Request::Netlink => {
            let count = usize::from(*arguments.first().ok_or(Errno::INVAL)?);
            for slot in made.get_mut(..count).ok_or(Errno::INVAL)? {
                *slot = Some(socket(*request)?);
            }
        }
        Request::Read => made[0] = Some(open(path(arguments)?, OFlags::RDONLY)?),
        Request::Device => {
            made[0] = Some(open(path(arguments)?, OFlags::RDWR | OFlags::NONBLOCK)?);
        }
        Request::Write => {
            let path = path(arguments)?;
            let value = arguments.get(path.to_bytes_with_nul().len()..);
            write_once(path, value.ok_or(Errno::INVAL)?)?;
        }
    }
    Ok(())
}

fn socket(request: Request) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match request {
        Request::Tcp => {
            rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)
        }
        Request::Udp => {
            rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)
        }
        _ => rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None,
        ),
    }
}

fn path(arguments: &[u8]) -> Result<&CStr, Errno> {
    CStr::from_bytes_until_nul(arguments).map_err(|_| Errno::INVAL)
}

fn open(path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())
}

fn write_file(path: &CStr, value: &[u8]) -> io::Result<()> {
    Ok(write_once(path, value)?)
}

/// Files of /proc accept a value only in one write.
fn write_once(path: &CStr, value: &[u8]) -> Result<(), Errno> {
    let file = open(path, OFlags::WRONLY)?;
    match rustix::io::write(&file, value)? {
        written if written == value.len() => Ok(()),
        _ => Err(Errno::IO),
    }
}

fn fail(control: BorrowedFd, stage: Stage, error: &io::Error) -> c_int {
    let number = error.raw_os_error().unwrap_or(libc::EIO);
    reply(control, stage, number, &[]);
    1
}

/// Sends a reply. A failure is ignored, because then the caller is gone and this process will end
/// soon.
fn reply(control: BorrowedFd, stage: Stage, error: c_int, passed: &[BorrowedFd]) {
    let mut bytes = [0; REPLY];
    bytes[0] = stage as u8;
    bytes[4..].copy_from_slice(&error.to_ne_bytes());
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(BATCH))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !passed.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(passed));
    }
    let parts = [IoSlice::new(&bytes)];
    while rustix::net::sendmsg(control, &parts, &mut beside, SendFlags::NOSIGNAL)
        == Err(Errno::INTR)
    {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_stages_are_found_by_their_number() {
        for (index, request) in Request::ALL.into_iter().enumerate() {
            assert_eq!(request as usize, index);
        }
        for (index, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!(stage as usize, index);
        }
    }

    #[test]
    fn a_request_that_says_nothing_is_refused() {
        let mut made = [const { None }; BATCH];
        for request in [
            &[][..],
            &[99],
            &[Request::Tcp as u8],
            &[Request::Udp as u8, BATCH as u8 + 1],
            &[Request::Read as u8, b'/', b'x'],
            &[Request::Write as u8, b'/'],
        ] {
            assert_eq!(answer(request, &mut made), Err(Errno::INVAL), "{request:?}");
        }
    }
}
