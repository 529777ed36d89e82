//! Settings that the shell of a test may have changed.

use std::fs;

use rustix::process::Signal;

/// Whether this process and its children ignore a signal (proc_pid_status(5), `SigIgn`).
pub(crate) fn is_ignored(signal: Signal) -> bool {
    let status = fs::read_to_string("/proc/self/status").expect("proc");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = u64::from_str_radix(mask.expect("a mask").trim(), 16).expect("a mask");
    mask >> (signal.as_raw() - 1) & 1 == 1
}
