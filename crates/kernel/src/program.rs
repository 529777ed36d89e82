//! Programs inside a namespace: started by the caller, in the caller's terminal and process group, with
//! the PID, network and user namespaces of a keeper and a /proc of their own.
//!
//! Two processes are started. The outer one is a child of the caller that enters the namespaces; since a
//! process stays in its PID namespace (setns(2)), it starts the inner one, which is the program,
//! waits, and ends as the program ends.

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

/// What the outer process takes as the order to kill the program. It must not be killed itself: the program,
/// an orphan of another PID namespace, would be left to the machine's first process, and until that
/// cares the namespace could not end (kernel/pid_namespace.c, `zap_pid_ns_processes`).
const KILL: Signal = Signal::SIGTERM;

/// A program that runs in a namespace. Dropping it kills the program.
#[derive(Debug)]
pub struct Running {
    outer: Child,
}

impl Running {
    /// Waits for its end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.outer.wait()
    }

    /// How it ended, or nothing if it still runs.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.outer.try_wait()
    }

    /// Kills it (SIGKILL); what it started lives on, as after every kill, until the namespaces go.
    pub fn kill(&mut self) -> io::Result<()> {
        // Once it was waited for, its PID may be another's.
        if self.outer.try_wait()?.is_none() {
            let outer = Pid::from_child(&self.outer);
            rustix::process::kill_process(outer, rustix::process::Signal::TERM)?;
        }
        Ok(())
    }

    /// The child of the caller that stands for it, with the pipes that the command asked for.
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

/// Starts `command` in the namespaces of `keeper` that `which` lists. Outside a user namespace it keeps the
/// capabilities of [`privileges::KEPT`] only.
#[expect(unsafe_code, reason = "pre_exec() asks for a promise")]
pub(crate) fn run(
    keeper: BorrowedFd,
    which: CloneFlags,
    mut command: Command,
) -> io::Result<Running> {
    let keeper = keeper.try_clone_to_owned()?;
    let enter = move || {
        enter(keeper.as_fd(), which)?;
        if which.contains(CloneFlags::CLONE_NEWUSER) {
            return Ok(());
        }
        privileges::give_up()
    };
    // SAFETY: `enter` and `give_up` make system calls only: they allocate nothing and take no lock.
    let command = unsafe { command.pre_exec(enter) };
    Ok(Running {
        outer: command.spawn()?,
    })
}

/// In the outer process: enters the namespaces and does not return; in the inner one it returns.
fn enter(keeper: BorrowedFd, which: CloneFlags) -> io::Result<()> {
    nix::sched::setns(keeper, which)?;
    process::block_signals();
    process::be_told_of_children()?;
    if let Some(program) = process::copy(0)? {
        stand_for(program);
    }
    // The outer process has one thread, so this is not about the end of a thread (prctl(2)).
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    process::unblock_signals();
    show_own_processes();
    Ok(())
}

/// Waits for the program and ends in the same way. Signals of the terminal are the program's affair,
/// and its pipes must close when it closes them.
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
        // Both are blocked, so neither is lost between the question and the wait.
        if heard.wait() == Ok(KILL) {
            let _ = rustix::process::kill_process(program, rustix::process::Signal::KILL);
        }
    }
}

/// A /proc with the namespace's PIDs, in a mount namespace of its own. Containers may forbid it
/// (fs/namespace.c, `mount_too_revealing`); then the caller's /proc is seen.
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
