//! Two network namespaces with a TUN device each and no other connection. TCP between them passes
//! only through the caller. They live in processes that end with the caller, even if it is killed.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;

use nix::sched::CloneFlags;
use rustix::io::Errno;
use rustix::process::{PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};

use crate::counters::Counters;
use crate::device::Device;
use crate::missing::Missing;
use crate::namespace_process::{self, Plan, Request, Stage};
use crate::namespace_requests::NamespaceProcess;
use crate::network::{self, Shape};
use crate::privileges;
use crate::process;
use crate::program;

pub use crate::network::Sysctl;
pub use crate::program::Running;
pub use crate::side::Side;

/// Configuration of the namespaces.
#[derive(Clone, Debug)]
pub struct Setup {
    /// MTU: the largest packet in bytes, IP header included, from 68 to 65535.
    pub mtu: u16,
    /// Number of packets that a device queues until they are read. Further packets are dropped and
    /// counted.
    pub queue_packets: u32,
    /// Maximum number of segments that senders pass to a device at once; the device emits them one
    /// by one. `None` keeps the kernel's own limit.
    pub segments_at_once: Option<u32>,
    /// Number of addresses of each side, from 1 to [`Side::ADDRESSES`].
    pub addresses: u16,
    /// Sysctls of the near namespace, in this order.
    pub near: Vec<Sysctl>,
    /// Sysctls of the far namespace, in this order.
    pub far: Vec<Sysctl>,
}

impl Default for Setup {
    /// Ethernet's 1500 bytes, one address and no sysctls. The queue has 131072 packets, which take
    /// a megabyte and hold a window of 190 MB.
    fn default() -> Self {
        Self {
            mtu: 1500,
            queue_packets: 1 << 17,
            segments_at_once: None,
            addresses: 1,
            near: Vec::new(),
            far: Vec::new(),
        }
    }
}

/// Kind of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP over IPv4.
    Tcp,
    /// UDP over IPv4.
    Udp,
}

/// The way for other processes to enter a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// PID of a process in the namespace, in the caller's PID namespace.
    pub pid: i32,
    /// Command line of nsenter(1): program and arguments. A program to run may follow.
    pub command: Vec<String>,
}

/// Two network namespaces and their devices. Dropping it kills all processes in them. Sockets that
/// the caller holds remain open, but lead nowhere.
#[derive(Debug)]
pub struct Namespaces {
    sides: [Ends; 2],
    addresses: u16,
    of_a_user: bool,
    // This field is last, because the keepers above are children of the process.
    _first: First,
}

/// One side.
#[derive(Debug)]
struct Ends {
    namespace_process: NamespaceProcess,
    device: Device,
    /// Files netstat, snmp and dev of /proc/net, opened in the namespace.
    counters: [OwnedFd; 3],
}

impl Namespaces {
    /// Makes the namespaces. The calling process stays in its own namespaces.
    pub fn make(setup: &Setup) -> Result<Self, Missing> {
        check(setup)?;
        let of_a_user = !is_privileged();
        let (first, controls) = start(of_a_user)?;
        let [near, far] = controls;
        let near = meet(near, of_a_user)?;
        let far = meet(far, of_a_user)?;
        Ok(Self {
            sides: [
                Ends::build(near, Side::Near, setup)?,
                Ends::build(far, Side::Far, setup)?,
            ],
            addresses: setup.addresses,
            of_a_user,
            _first: first,
        })
    }

    /// The device of a side.
    pub fn device(&self, side: Side) -> &Device {
        &self.ends(side).device
    }

    /// The `index`-th address of a side, from 0; `None` from `Setup::addresses` on.
    pub fn address(&self, side: Side, index: u16) -> Option<Ipv4Addr> {
        side.address(index).filter(|_| index < self.addresses)
    }

    /// A new nonblocking socket in the namespace of a side.
    pub fn socket(&self, side: Side, kind: Kind) -> io::Result<OwnedFd> {
        self.ends(side).namespace_process.socket(kind.into())
    }

    /// Makes `count` sockets in batches: a thousand take about ten messages.
    ///
    /// # Errors
    ///
    /// `EMFILE` if the caller may not have as many descriptors (`RLIMIT_NOFILE`).
    pub fn sockets(&self, side: Side, kind: Kind, count: usize) -> io::Result<Vec<OwnedFd>> {
        self.ends(side)
            .namespace_process
            .sockets(kind.into(), count)
    }

    /// The congestion control algorithms available to the sockets of a side.
    pub fn congestion_controls(&self, side: Side) -> io::Result<Vec<String>> {
        let text = self.sysctl(side, "net.ipv4.tcp_available_congestion_control")?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    }

    /// The value of a sysctl in the namespace of a side, without the newline.
    pub fn sysctl(&self, side: Side, name: &str) -> io::Result<String> {
        let path = network::sysctl_path(name).ok_or(io::ErrorKind::InvalidInput)?;
        let file = self
            .ends(side)
            .namespace_process
            .open(Request::Read, &path)?;
        Ok(read_from_start(&file)?.trim_end().to_owned())
    }

    /// The counters of the namespace of a side.
    pub fn counters(&self, side: Side) -> io::Result<Counters> {
        let [netstat, snmp, devices] = &self.ends(side).counters;
        let tables = [read_from_start(netstat)?, read_from_start(snmp)?];
        let tables = [tables[0].as_str(), tables[1].as_str()];
        let devices = read_from_start(devices)?;
        Counters::parse(tables, &devices, &network::device_name(side))
    }

    /// Starts a program in the namespace of a side with the streams, folder and environment of
    /// `command`. Unset ones are inherited from the caller. Without privileges of the caller, the
    /// program runs as root of a user namespace. With them, it keeps only the capabilities in
    /// `privileges::RETAINED_CAPABILITIES`.
    pub fn run(&self, side: Side, command: Command) -> io::Result<Running> {
        let mut which = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNET;
        if self.of_a_user {
            which |= CloneFlags::CLONE_NEWUSER;
        }
        program::run(self.ends(side).namespace_process.process(), which, command)
    }

    /// The way to enter the namespace of a side.
    pub fn entry(&self, side: Side) -> Entry {
        let pid = self
            .ends(side)
            .namespace_process
            .pid()
            .as_raw_nonzero()
            .get();
        let mut command = vec!["nsenter".to_owned(), format!("--target={pid}")];
        if self.of_a_user {
            command.extend(["--user", "--preserve-credentials"].map(str::to_owned));
        }
        command.extend(["--net", "--pid"].map(str::to_owned));
        Entry { pid, command }
    }

    fn ends(&self, side: Side) -> &Ends {
        let [near, far] = &self.sides;
        match side {
            Side::Near => near,
            Side::Far => far,
        }
    }
}

impl Ends {
    fn build(
        namespace_process: NamespaceProcess,
        side: Side,
        setup: &Setup,
    ) -> Result<Self, Missing> {
        let shape = Shape {
            mtu: setup.mtu,
            queue_packets: setup.queue_packets,
            segments_at_once: setup.segments_at_once,
            addresses: setup.addresses,
        };
        let device = network::build(&namespace_process, side, shape)?;
        let sysctls = match side {
            Side::Near => &setup.near,
            Side::Far => &setup.far,
        };
        for sysctl in sysctls {
            network::set(&namespace_process, side, sysctl)?;
        }
        let open = |name: &str| {
            let path = format!("/proc/self/net/{name}");
            let opened = namespace_process.open(Request::Read, &path);
            opened.map_err(|source| Missing::Configuration {
                what: "counters",
                side,
                source,
            })
        };
        let counters = [open("netstat")?, open("snmp")?, open("dev")?];
        Ok(Self {
            namespace_process,
            device,
            counters,
        })
    }
}

impl From<Kind> for Request {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Tcp => Self::Tcp,
            Kind::Udp => Self::Udp,
        }
    }
}

/// The first process of the PID namespace, a child of the caller.
#[derive(Debug)]
struct First {
    process: OwnedFd,
    _lifeline: OwnedFd,
}

impl Drop for First {
    /// Kills the first process. Before it has ended, the kernel kills all others in the namespace
    /// (pid_namespaces(7)).
    fn drop(&mut self) {
        let _ = rustix::process::pidfd_send_signal(&self.process, Signal::KILL);
        let ended = || {
            let id = WaitId::PidFd(self.process.as_fd());
            rustix::process::waitid(id, WaitIdOptions::EXITED)
        };
        while ended().is_err_and(|error| error == Errno::INTR) {}
    }
}

fn check(setup: &Setup) -> Result<(), Missing> {
    let range = |what, found: u64, allowed, sound: bool| {
        if sound {
            Ok(())
        } else {
            Err(Missing::OutOfRange {
                what,
                found,
                allowed,
            })
        }
    };
    let (mtu, addresses) = (setup.mtu, setup.addresses);
    // RFC 791: every link carries 68 bytes.
    range("the MTU", mtu.into(), "68 to 65535", mtu >= 68)?;
    let sound = (1..=Side::ADDRESSES).contains(&addresses);
    range(
        "the number of addresses",
        addresses.into(),
        "1 to 65024",
        sound,
    )?;
    let queue = setup.queue_packets;
    // The kernel's ring takes eight bytes per packet and must be contiguous
    // (include/linux/ptr_ring.h).
    let sound = (1..=1 << 24).contains(&queue);
    range(
        "the queue of a device",
        queue.into(),
        "1 to 16777216 packets",
        sound,
    )
}

/// Whether network namespaces can be made without a user namespace.
fn is_privileged() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(privileges::NEEDED))
}

/// Starts the first process. Returns the caller's ends of the keepers' sockets, near first.
fn start(of_a_user: bool) -> Result<(First, [OwnedFd; 2]), Missing> {
    let system = |what| {
        move |error: Errno| Missing::System {
            what,
            source: error.into(),
        }
    };
    let pair = || NamespaceProcess::ends().map_err(system("socketpair"));
    let pidfd =
        |pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(system("pidfd_open"));
    let caller = pidfd(rustix::process::getpid())?;
    let (lifeline, its_lifeline) = pair()?;
    let (near, its_near) = pair()?;
    let (far, its_far) = pair()?;
    let map = |id: u32| format!("0 {id} 1\n").into_bytes();
    let plan = Plan {
        caller: caller.as_fd(),
        lifeline: its_lifeline.as_fd(),
        keepers: [its_near.as_fd(), its_far.as_fd()],
        maps: of_a_user.then(|| {
            [
                map(rustix::process::geteuid().as_raw()),
                map(rustix::process::getegid().as_raw()),
            ]
        }),
    };
    let mut flags = CloneFlags::CLONE_NEWPID;
    if of_a_user {
        flags |= CloneFlags::CLONE_NEWUSER;
    }
    let pid =
        process::start(flags.bits(), || namespace_process::first(&plan)).map_err(|source| {
            match source.raw_os_error() {
                Some(libc::EAGAIN | libc::ENOMEM) => Missing::System {
                    what: "clone",
                    source,
                },
                _ if of_a_user => no_user_namespaces(source),
                _ => Missing::Namespaces {
                    what: "PID",
                    source,
                },
            }
        })?;
    let process = pidfd(pid).inspect_err(|_| {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
        let _ = rustix::process::waitpid(Some(pid), WaitOptions::empty());
    })?;
    let first = First {
        process,
        _lifeline: lifeline,
    };
    Ok((first, [near, far]))
}

/// Waits for a keeper and converts its errors.
fn meet(control: OwnedFd, of_a_user: bool) -> Result<NamespaceProcess, Missing> {
    NamespaceProcess::meet(control).map_err(|(stage, source)| match stage {
        Stage::Maps | Stage::Network if of_a_user => no_user_namespaces(source),
        Stage::Maps | Stage::Network => Missing::Namespaces {
            what: "network",
            source,
        },
        Stage::Start | Stage::Reply => Missing::System {
            what: "starting a keeper",
            source,
        },
    })
}

/// The error with the setting that forbids user namespaces.
fn no_user_namespaces(source: io::Error) -> Missing {
    let setting = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let help = forbidding(setting);
    Missing::UserNamespaces { source, help }
}

fn forbidding(setting: impl Fn(&str) -> Option<u64>) -> &'static str {
    if setting("user/max_user_namespaces") == Some(0) {
        "set user.max_user_namespaces (`sysctl -w user.max_user_namespaces=1000`)"
    } else if setting("kernel/unprivileged_userns_clone") == Some(0) {
        "allow them (`sysctl -w kernel.unprivileged_userns_clone=1`)"
    } else if setting("kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        "AppArmor forbids them (`sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`)"
    } else {
        "a container's seccomp profile or a limit may forbid them; let it allow clone and unshare"
    }
}

/// Reads a file of /proc, whose text is generated again at each read from the start.
fn read_from_start(file: &OwnedFd) -> io::Result<String> {
    let mut text = Vec::new();
    let mut part = [0; 16 << 10];
    loop {
        match rustix::io::pread(file, &mut part, text.len() as u64) {
            Ok(0) => break,
            Ok(length) => text.extend_from_slice(part.get(..length).unwrap_or(&[])),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    String::from_utf8(text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_forbids_user_namespaces_is_named() {
        for (name, value) in [
            ("user/max_user_namespaces", 0),
            ("kernel/unprivileged_userns_clone", 0),
            ("kernel/apparmor_restrict_unprivileged_userns", 1),
        ] {
            let help = forbidding(|asked| (asked == name).then_some(value));
            assert!(help.contains(&name.replace('/', ".")), "{help}");
            let harmless = forbidding(|asked| (asked == name).then_some(1 - value));
            assert!(harmless.contains("seccomp"), "{harmless}");
        }
    }

    #[test]
    fn numbers_that_no_device_has_are_refused() {
        let check = |change: fn(&mut Setup)| {
            let mut setup = Setup::default();
            change(&mut setup);
            check(&setup).is_ok()
        };
        assert!(check(|_| ()));
        assert!(check(|setup| setup.mtu = 68) && !check(|setup| setup.mtu = 67));
        assert!(!check(|setup| setup.addresses = 0));
        assert!(check(|setup| setup.addresses = Side::ADDRESSES));
        assert!(!check(|setup| setup.addresses = Side::ADDRESSES + 1));
        assert!(!check(|setup| setup.queue_packets = 0));
    }
}
