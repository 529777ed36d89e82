//! Scheduling of threads that must be on time, and their CPU time. No error is fatal: if the
//! machine refuses, the run is late, and the lateness is measured.

use std::io;
use std::num::NonZeroU64;

use forebay_units::Time;
use nix::sys::mman::MlockAllFlags;
use rustix::process::{Resource, Rlimit};
use rustix::time::ClockId;

/// Scheduling policy of a thread (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The default policy.
    Normal,
    /// Priority from 1 to 99. The thread runs before all threads of a lower priority until it
    /// waits.
    Fifo(u8),
    /// The same, taking turns with other threads of the priority.
    RoundRobin(u8),
}

/// Result of a request to the system.
#[derive(Debug)]
#[must_use]
pub enum Allowed {
    /// The request was granted.
    Yes,
    /// The request was refused. `EPERM` means that a privilege or a resource limit is missing.
    No(io::Error),
}

impl Allowed {
    /// Whether the request was granted.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Yes)
    }
}

impl From<io::Result<()>> for Allowed {
    fn from(result: io::Result<()>) -> Self {
        match result {
            Ok(()) => Self::Yes,
            Err(error) => Self::No(error),
        }
    }
}

/// Sets the policy of the calling thread. Programs that it starts do not inherit a real-time
/// policy. Root may do it, and a user with a sufficient limit `rtprio` (getrlimit(2),
/// `RLIMIT_RTPRIO`).
#[expect(
    unsafe_code,
    reason = "neither nix nor rustix wraps sched_setscheduler(2)"
)]
pub fn set_policy(policy: Policy) -> Allowed {
    let (number, priority) = match policy {
        Policy::Normal => (libc::SCHED_OTHER, 0),
        Policy::Fifo(priority) => (libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, priority),
        Policy::RoundRobin(priority) => (libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, priority),
    };
    // The kernel's own sched_param has only this field; that of musl has more.
    let parameter = libc::c_int::from(priority);
    // SAFETY: the kernel reads the parameter and keeps no pointer; 0 is the calling thread. The
    // system call is direct, because wrappers of some libcs refuse (musl's sched_setscheduler fails
    // with ENOSYS).
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            number,
            &raw const parameter,
        )
    };
    match result {
        0 => Allowed::Yes,
        _ => Allowed::No(io::Error::last_os_error()),
    }
}

/// Lets the kernel wake the calling thread exactly at a timeout. By default it may be 50
/// microseconds late to combine wake-ups (prctl(2), `PR_SET_TIMERSLACK`).
pub fn set_exact_timers() -> Allowed {
    let result = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    result.map_err(io::Error::from).into()
}

/// Locks the process's memory against swapping. Future memory is locked only without a limit,
/// because a limit could make allocations fail (mlockall(2), `RLIMIT_MEMLOCK`).
pub fn lock_memory() -> Allowed {
    let limit = rustix::process::getrlimit(Resource::Memlock).current;
    let flags = match limit {
        None => MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE,
        Some(_) => MlockAllFlags::MCL_CURRENT,
    };
    nix::sys::mman::mlockall(flags)
        .map_err(io::Error::from)
        .into()
}

/// Raises the limit of descriptors to `count`, or to the hard limit (getrlimit(2),
/// `RLIMIT_NOFILE`). A higher limit is not changed.
pub fn allow_descriptors(count: u64) -> Allowed {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(count, |most| most.min(count));
    if limit.current.is_none_or(|current| current >= most) {
        return Allowed::Yes;
    }
    let current = Some(most);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current, ..limit })
        .map_err(io::Error::from)
        .into()
}

/// CPU time of the calling thread, user and system together.
pub fn thread_cpu_time() -> Time {
    let used = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    let nanos = used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64;
    Time::from_picos(nanos.saturating_mul(1_000))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    /// Fields 40 and 41 of /proc/thread-self/stat: the real-time priority and the policy
    /// (proc_pid_stat(5)).
    fn scheduling() -> (i32, i32) {
        let stat = fs::read_to_string("/proc/thread-self/stat").expect("proc");
        let (_, rest) = stat.rsplit_once(')').expect("a name");
        let field = |number: usize| {
            let text = rest.split_whitespace().nth(number - 3);
            text.and_then(|text| text.parse().ok()).expect("a number")
        };
        (field(40), field(41))
    }

    #[test]
    fn a_policy_is_the_kernel_s_or_not_allowed() {
        std::thread::spawn(|| {
            for (policy, expected) in [
                (Policy::Fifo(7), (7, libc::SCHED_FIFO)),
                (Policy::RoundRobin(3), (3, libc::SCHED_RR)),
                (Policy::Normal, (0, libc::SCHED_OTHER)),
            ] {
                let before = scheduling();
                match set_policy(policy) {
                    Allowed::Yes => assert_eq!(scheduling(), expected, "{policy:?}"),
                    Allowed::No(error) => {
                        assert_eq!(scheduling(), before);
                        eprintln!("skipped: {policy:?}: {error}");
                    }
                }
            }
            assert!(!set_policy(Policy::Fifo(100)).is_allowed());
        })
        .join()
        .expect("the thread");
    }

    #[test]
    fn timers_of_this_thread_become_exact() {
        std::thread::spawn(|| {
            let allowed = set_exact_timers();
            let slack = rustix::thread::current_timer_slack().expect("the slack");
            assert_eq!(allowed.is_allowed(), slack == 1, "{allowed:?} {slack}");
        })
        .join()
        .expect("the thread");
    }

    #[test]
    fn a_thread_s_cpu_time_is_what_it_worked_and_not_what_it_slept() {
        std::thread::spawn(|| {
            let start = thread_cpu_time();
            std::thread::sleep(Duration::from_millis(50));
            let slept = thread_cpu_time() - start;
            assert!(slept < Time::from_millis(20), "{slept}");
            let begun = Instant::now();
            while thread_cpu_time() - start < slept + Time::from_millis(20) {
                assert!(begun.elapsed() < Duration::from_secs(30));
            }
            assert!(begun.elapsed() >= Duration::from_millis(19));
        })
        .join()
        .expect("the thread");
    }

    #[test]
    fn memory_is_locked_where_that_is_allowed() {
        let locked = || {
            let status = fs::read_to_string("/proc/self/status").expect("proc");
            let line = status.lines().find(|line| line.starts_with("VmLck:"));
            let field = line.and_then(|line| line.split_whitespace().nth(1));
            field
                .and_then(|text| text.parse::<u64>().ok())
                .expect("a number")
        };
        let before = locked();
        match lock_memory() {
            Allowed::Yes => assert!(locked() > before),
            Allowed::No(error) => eprintln!("skipped: {error}"),
        }
        nix::sys::mman::munlockall().expect("unlocked");
    }
}
