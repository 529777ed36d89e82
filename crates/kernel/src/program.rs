//! Programs in a namespace. They keep the terminal and process group of the caller, and use the
//! namespaces of a keeper and their own /proc.
//!
//! Each program has two processes. The outer one is a child of the caller that enters the
//! namespaces. It stays in its PID namespace (setns(2)), so it starts the inner process, which
//! becomes the program. The outer one waits and ends in the same way.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

use nix::sched::CloneFlags;
use nix::sys::signal::{SigSet, Signal};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::process::{Pid, WaitOptions};

use crate::privileges;
use crate::process;

/// Signal that orders the outer process to kill the program. If the outer process itself were
/// killed, the program would become an orphan of another PID namespace. Its namespace could not end
/// until the machine's first process reaps it (kernel/pid_namespace.c, `zap_pid_ns_processes`).
const KILL: Signal = Signal::SIGTERM;

/// A program that runs in a namespace. Dropping it kills the program.
#[derive(Debug)]
pub struct Running {
    outer: Child,
}

impl Running {
    /// Waits for the end of the program.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.outer.wait()
    }

    /// The exit status of the program, or `None` if it still runs.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.outer.try_wait()
    }

    /// Kills the program (SIGKILL). Its own children live on until the namespaces end.
    pub fn kill(&mut self) -> io::Result<()> {
        // After a wait, the PID may belong to another process.
        if self.outer.try_wait()?.is_none() {
            let outer = Pid::from_child(&self.outer);
            rustix::process::kill_process(outer, rustix::process::Signal::TERM)?;
        }
        Ok(())
    }

    /// The outer process, with the pipes that the command asked for.
    pub fn child(&mut self) -> &mut Child {
        &mut self.outer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.kill();
        let _ = self.outer.wait();
    }
}

/// Starts `command` in the namespaces of `namespace_process` that `which` lists. Without a user
/// namespace it keeps only the capabilities of [`privileges::RETAINED_CAPABILITIES`].
#[expect(unsafe_code, reason = "pre_exec() asks for a promise")]
pub(crate) fn run(
    namespace_process: BorrowedFd,
    which: CloneFlags,
    mut command: Command,
) -> io::Result<Running> {
    let namespace_process = namespace_process.try_clone_to_owned()?;
    let enter = move || {
        enter(namespace_process.as_fd(), which)?;
        if which.contains(CloneFlags::CLONE_NEWUSER) {
            return Ok(());
        }
        privileges::give_up()
    };
    // SAFETY: `enter` and `give_up` make only system calls: they allocate nothing and take no lock.
    let command = unsafe { command.pre_exec(enter) };
    Ok(Running {
        outer: command.spawn()?,
    })
}

/// Enters the namespaces. It returns only in the inner process.
fn enter(namespace_process: BorrowedFd, which: CloneFlags) -> io::Result<()> {
    nix::sched::setns(namespace_process, which)?;
    process::block_signals();
    process::retain_child_status()?;
    if let Some(program) = process::copy(0)? {
        stand_for(program);
    }
    // The outer process has one thread, so the death signal does not come from the end of a thread
    // (prctl(2)).
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    process::unblock_signals();
    show_own_processes();
    Ok(())
}

/// Waits for the program and ends in the same way. Signals of the terminal are for the program. All
/// descriptors are closed, because the program's pipes must close when the program closes them.
fn stand_for(program: Pid) -> ! {
    let _ = process::close_all_but([]);
    let heard = SigSet::from_iter([Signal::SIGCHLD, KILL]);
    loop {
        match rustix::process::waitpid(Some(program), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => {
                if let Some(code) = status.exit_status() {
                    process::exit(code);
                }
                if let Some(signal) = status.terminating_signal() {
                    process::die_of(signal);
                }
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => process::exit(1),
        }
        // Both signals are blocked, so neither is lost between the check and the wait.
        if heard.wait() == Ok(KILL) {
            let _ = rustix::process::kill_process(program, rustix::process::Signal::KILL);
        }
    }
}

/// Mounts a /proc with the PIDs of the namespace, in a mount namespace of its own. Containers may
/// forbid it (fs/namespace.c, `mount_too_revealing`); then the caller's /proc stays visible.
fn show_own_processes() {
    if nix::sched::unshare(CloneFlags::CLONE_NEWNS).is_err() {
        return;
    }
    let private = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    if rustix::mount::mount_change(c"/", private).is_ok() {
        let safe = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        let _ = rustix::mount::mount(c"proc", c"/proc", c"proc", safe, None);
    }
}
