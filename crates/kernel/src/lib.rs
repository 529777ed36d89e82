//! Real Linux TCP: what the operating system lends to an emulator that runs in user space.
//!
//! Nothing here knows of scenarios, queues or links. Files from below: [`side`] names the two ends, [`missing`] says what the
//! machine lacks; [`lateness`] and [`clock`] measure time anywhere. The rest is Linux's:
//! [`priority`], [`wait`], [`device`], [`tcp_info`], [`tcp`] and [`counters`] are small and know of
//! nothing but themselves; `process` starts processes that only make system calls, `keeper` is what
//! such a process does in a network namespace, `keeping` what the caller asks of it, `network`
//! configures a namespace through it, [`program`] runs programs inside; [`namespaces`] puts them together.

pub mod clock;
pub mod lateness;
pub mod missing;
pub mod side;

#[cfg(target_os = "linux")]
pub mod counters;
#[cfg(target_os = "linux")]
pub mod device;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod keeping;
#[cfg(target_os = "linux")]
pub mod namespaces;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
pub mod priority;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
pub mod program;
#[cfg(target_os = "linux")]
pub mod tcp;
#[cfg(target_os = "linux")]
pub mod tcp_info;
#[cfg(target_os = "linux")]
pub mod wait;
