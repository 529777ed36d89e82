//! Processes that make only system calls. A copy of a multithreaded process may hold any lock
//! forever, so it must not allocate, print or panic (POSIX.1-2024, `fork`). Keepers and programs
//! start with it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_long};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use rustix::process::Pid;

/// Exit status of a process whose body panicked.
const PANICKED: c_int = 101;

/// Starts a process that runs `body` and exits with its result. All its signals are blocked: a
/// Ctrl-C is for the caller, whose handlers are also in the copy. `flags` are namespace flags of
/// clone(2).
///
/// `body` may make only system calls: no allocation, no lock, no panic, no print.
pub(crate) fn start(flags: c_int, body: impl FnOnce() -> c_int) -> io::Result<Pid> {
    let mut before = SigSet::empty();
    let all = SigSet::all();
    nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&all), Some(&mut before))?;
    let outcome = copy(flags);
    if let Ok(None) = outcome {
        let mut exit = Exit(PANICKED);
        exit.0 = body();
    }
    nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&before), None)?;
    outcome.and_then(|pid| pid.ok_or_else(|| io::Error::other("a copy came back")))
}

/// Copies the calling process. Returns the copy's PID in the caller, and `None` in the copy. The
/// copy may make only system calls until it executes a program.
#[expect(
    unsafe_code,
    reason = "no crate wraps clone(2) without libc's fork handlers"
)]
pub(crate) fn copy(flags: c_int) -> io::Result<Option<Pid>> {
    let flags = c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and without a stack of its own the copy has its own memory, as after
    // fork(). The handlers of libc, which may wait for another thread's lock, do not run. All other
    // arguments are zero, so their order, which depends on the architecture, does not matter.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid as libc::pid_t)),
    }
}

/// Exits the process when dropped, also during a panic.
struct Exit(c_int);

impl Drop for Exit {
    fn drop(&mut self) {
        exit(self.0);
    }
}

/// Ends the process without handlers of libc or Rust.
#[expect(unsafe_code, reason = "no crate wraps _exit(2)")]
pub(crate) fn exit(status: c_int) -> ! {
    // SAFETY: it touches no memory and does not return.
    unsafe { libc::_exit(status) }
}

/// Closes every descriptor except these. A copy inherits all descriptors and would keep the
/// caller's pipes and sockets open.
pub(crate) fn close_all_but<const N: usize>(kept: [BorrowedFd; N]) -> io::Result<()> {
    let mut kept = kept.map(|descriptor| descriptor.as_raw_fd() as u32);
    kept.sort_unstable();
    let mut first = 0;
    for descriptor in kept {
        if first < descriptor {
            close(first, descriptor - 1)?;
        }
        first = descriptor + 1;
    }
    close(first, u32::MAX)
}

#[expect(unsafe_code, reason = "no crate wraps close_range(2)")]
fn close(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: only copies that own nothing else call this; they never use the closed descriptors.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the kernel reap children. The first process of a PID namespace inherits orphans and must
/// not leave zombies.
pub(crate) fn let_the_kernel_reap() -> io::Result<()> {
    dispose(libc::SIGCHLD, libc::SIG_IGN)
}

/// Lets the kernel store the exit status of children, even if the caller ignores SIGCHLD.
pub(crate) fn retain_child_status() -> io::Result<()> {
    dispose(libc::SIGCHLD, libc::SIG_DFL)
}

/// Ends the process by the signal that ended its child, so that a waiting parent sees the same
/// status.
pub(crate) fn die_of(signal: c_int) -> ! {
    let no_core = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, no_core);
    let _ = dispose(signal, libc::SIG_DFL);
    if let Ok(named) = Signal::try_from(signal) {
        // Other signals stay blocked, because a pending one would run a handler of the caller.
        let mut others = SigSet::all();
        others.remove(named);
        let _ = others.thread_set_mask();
        let _ = nix::sys::signal::raise(named);
    }
    exit(128 + signal)
}

/// Blocks every signal.
pub(crate) fn block_signals() {
    let _ = SigSet::all().thread_set_mask();
}

/// Unblocks every signal.
pub(crate) fn unblock_signals() {
    let _ = SigSet::empty().thread_set_mask();
}

#[expect(
    unsafe_code,
    reason = "signal dispositions may be handlers; these are not"
)]
fn dispose(signal: c_int, what: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: SIG_IGN and SIG_DFL run no code.
    match unsafe { libc::signal(signal, what) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use rustix::process::WaitOptions;

    use super::*;

    #[test]
    fn a_copy_keeps_the_descriptors_it_names_in_any_order_and_no_other() {
        let null = || std::fs::File::open("/dev/null").expect("a file");
        let (first, second, third) = (null(), null(), null());
        let is_open = |file: &std::fs::File| rustix::io::fcntl_getfd(file).is_ok();
        let pid = start(0, || {
            let closed = close_all_but([third.as_fd(), first.as_fd()]).is_ok();
            let kept = is_open(&first) && is_open(&third);
            c_int::from(!(closed && kept && !is_open(&second)))
        })
        .expect("a copy");
        let ended = rustix::process::waitpid(Some(pid), WaitOptions::empty());
        let (_, status) = ended.expect("an end").expect("a status");
        assert_eq!(status.exit_status(), Some(0));
        assert!(is_open(&second), "the caller keeps its own");
    }
}
