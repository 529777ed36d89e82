//! The network of a namespace: TUN device, `lo`, addresses, routes and sysctls. The caller
//! configures it from outside, through descriptors that the keeper opened inside. The owner of a
//! user namespace may do that (user_namespaces(7), the third rule on capabilities).

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::net::{RecvFlags, SendFlags};

use crate::device::Device;
use crate::missing::Missing;
use crate::namespace_process::Request;
use crate::namespace_requests::NamespaceProcess;
use crate::side::Side;

/// Index of `lo`, which is the first device of every network namespace (net/core/dev.h,
/// `LOOPBACK_IFINDEX`).
const LOOPBACK: u32 = 1;
/// Table that the kernel searches first (rtnetlink(7), `RT_TABLE_LOCAL`).
const LOCAL_TABLE: u8 = 255;

/// Configuration of a TUN device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) mtu: u16,
    pub(crate) queue_packets: u32,
    pub(crate) segments_at_once: Option<u32>,
    pub(crate) addresses: u16,
}

/// A sysctl and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    /// Name of the sysctl with dots, beginning with `net.`, such as `net.ipv4.tcp_rmem`.
    pub name: String,
    /// Value of the sysctl, in the form of /proc.
    pub value: String,
    /// Whether a kernel may lack the sysctl.
    pub optional: bool,
}

impl Sysctl {
    /// A sysctl that must exist.
    pub fn new(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
            optional: false,
        }
    }

    /// A sysctl that may be absent.
    pub fn optional(name: &str, value: &str) -> Self {
        Self {
            optional: true,
            ..Self::new(name, value)
        }
    }
}

/// Makes the device of a side with its addresses and routes.
pub(crate) fn build(
    namespace_process: &NamespaceProcess,
    side: Side,
    shape: Shape,
) -> Result<Device, Missing> {
    for which in ["all", "default"] {
        let name = format!("net.ipv6.conf.{which}.disable_ipv6");
        set(namespace_process, side, &Sysctl::optional(&name, "1"))?;
    }
    let device = tun(namespace_process, side)?;
    configure(namespace_process, side, shape).map_err(|(what, source)| Missing::Configuration {
        what,
        side,
        source,
    })?;
    Ok(Device::new(device, shape.mtu))
}

/// Writes a sysctl of a side.
pub(crate) fn set(
    namespace_process: &NamespaceProcess,
    side: Side,
    sysctl: &Sysctl,
) -> Result<(), Missing> {
    let missing = |why: &str| Missing::Sysctl {
        name: sysctl.name.clone(),
        value: sysctl.value.clone(),
        side,
        why: why.to_owned(),
    };
    let path = sysctl_path(&sysctl.name)
        .ok_or_else(|| missing("only names such as net.ipv4.tcp_sack belong to a namespace"))?;
    match namespace_process.write(&path, &sysctl.value) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if sysctl.optional {
                Ok(())
            } else {
                Err(missing("this kernel does not have it in a namespace"))
            }
        }
        Err(error) => Err(missing(&error.to_string())),
    }
}

/// The file of a sysctl. Names outside `net.` are refused, because those sysctls belong to the
/// whole machine.
pub(crate) fn sysctl_path(name: &str) -> Option<String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    let sound = name.starts_with("net.")
        && name.chars().all(allowed)
        && name.split('.').all(|part| !part.is_empty());
    sound.then(|| format!("/proc/sys/{}", name.replace('.', "/")))
}

/// Makes a TUN device in the keeper's namespace. A device belongs to the namespace in which its
/// file was opened.
fn tun(namespace_process: &NamespaceProcess, side: Side) -> Result<OwnedFd, Missing> {
    let file = namespace_process
        .open(Request::Device, "/dev/net/tun")
        .map_err(|source| match source.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => Missing::NoTunDevice,
            _ => Missing::TunNotOpened { source },
        })?;
    attach(&file, side).map_err(|source| Missing::TunRefused { source })?;
    Ok(file)
}

/// The structure `struct ifreq` for `TUNSETIFF` (include/uapi/linux/if.h).
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: libc::c_short,
    rest: [u8; 22],
}

#[expect(unsafe_code, reason = "ioctls of TUN devices are in no crate")]
fn attach(file: &OwnedFd, side: Side) -> io::Result<()> {
    const OPCODE: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<libc::c_int>(b'T', 202);
    let mut request = InterfaceRequest {
        name: [0; libc::IFNAMSIZ],
        flags: (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short,
        rest: [0; 22],
    };
    for (slot, letter) in request.name.iter_mut().zip(device_name(side).bytes()) {
        *slot = letter;
    }
    // SAFETY: the opcode is TUNSETIFF, which reads and writes a `struct ifreq` of this size.
    unsafe {
        let updater = rustix::ioctl::Updater::<OPCODE, _>::new(&mut request);
        rustix::ioctl::ioctl(file, updater)?;
    }
    Ok(())
}

/// The name of a side's device, which is the name of the side.
pub(crate) fn device_name(side: Side) -> String {
    side.to_string()
}

fn configure(
    namespace_process: &NamespaceProcess,
    side: Side,
    shape: Shape,
) -> Result<(), (&'static str, io::Error)> {
    let at = |what: &'static str| move |error: io::Error| (what, error);
    let any = namespace_process
        .socket(Request::Udp)
        .map_err(at("sockets"))?;
    let index = rustix::net::netdevice::name_to_index(&any, &device_name(side))
        .map_err(|error| ("TUN device", error.into()))?;
    let socket = namespace_process
        .socket(Request::Netlink)
        .map_err(at("netlink"))?;
    let own = side.address(0).unwrap_or(Ipv4Addr::UNSPECIFIED);
    let ask = |what, message| request(&socket, message).map_err(at(what));
    ask("loopback device", link(LOOPBACK, vec![]))?;
    ask("queueing discipline", no_queue(index))?;
    let size = LinkAttribute::Mtu(shape.mtu.into());
    let queue = LinkAttribute::TxQueueLen(shape.queue_packets);
    let segments = shape.segments_at_once.map(LinkAttribute::GsoMaxSegs);
    let attributes = [size, queue].into_iter().chain(segments).collect();
    ask("TUN device", link(index, attributes))?;
    ask("address", address(index, own))?;
    ask("route", route_to_all(index, own))?;
    if shape.addresses > 1 {
        for block in side.blocks(shape.addresses) {
            ask("further addresses", local_block(block))?;
        }
    }
    Ok(())
}

/// A request that sets attributes of a device and brings it up.
fn link(index: u32, attributes: Vec<LinkAttribute>) -> RouteNetlinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    message.attributes = attributes;
    RouteNetlinkMessage::SetLink(message)
}

/// A request that removes the machine's default discipline (`net.core.default_qdisc`) from the
/// device, because fq would pace and drop.
fn no_queue(index: u32) -> RouteNetlinkMessage {
    let mut message = TcMessage::default();
    message.header.index = index as i32;
    message.header.parent = TcHandle::ROOT;
    message.attributes = vec![TcAttribute::Kind("noqueue".into())];
    RouteNetlinkMessage::NewQueueDiscipline(message)
}

fn address(index: u32, own: Ipv4Addr) -> RouteNetlinkMessage {
    let mut message = AddressMessage::default();
    message.header.family = AddressFamily::Inet;
    message.header.prefix_len = 32;
    message.header.scope = AddressScope::Universe;
    message.header.index = index;
    let own = IpAddr::V4(own);
    message.attributes = vec![AddressAttribute::Local(own), AddressAttribute::Address(own)];
    RouteNetlinkMessage::NewAddress(message)
}

/// A route to the addresses of both sides through the device. Local addresses have priority.
fn route_to_all(index: u32, own: Ipv4Addr) -> RouteNetlinkMessage {
    route(
        &RouteHeader {
            table: RouteHeader::RT_TABLE_MAIN,
            scope: RouteScope::Link,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        },
        Side::RANGE,
        vec![
            RouteAttribute::Oif(index),
            RouteAttribute::PrefSource(RouteAddress::Inet(own)),
        ],
    )
}

/// A route that makes a block of addresses local without listing them. Thousands of addresses need
/// only a few routes.
fn local_block(block: Ipv4Addr) -> RouteNetlinkMessage {
    route(
        &RouteHeader {
            table: LOCAL_TABLE,
            scope: RouteScope::Host,
            kind: RouteType::Local,
            ..RouteHeader::default()
        },
        (block, 24),
        vec![RouteAttribute::Oif(LOOPBACK)],
    )
}

fn route(
    header: &RouteHeader,
    (destination, prefix): (Ipv4Addr, u8),
    attributes: Vec<RouteAttribute>,
) -> RouteNetlinkMessage {
    let mut message = RouteMessage::default();
    message.header = RouteHeader {
        address_family: AddressFamily::Inet,
        destination_prefix_length: prefix,
        protocol: RouteProtocol::Static,
        ..header.clone()
    };
    message.attributes = attributes;
    let destination = RouteAddress::Inet(destination);
    message
        .attributes
        .push(RouteAttribute::Destination(destination));
    RouteNetlinkMessage::NewRoute(message)
}

/// Sends a request to rtnetlink(7) and waits for its acknowledgment.
fn request(socket: impl AsFd, message: RouteNetlinkMessage) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    rustix::net::send(&socket, &bytes, SendFlags::empty())?;
    let mut reply = [0; 4096];
    let (_, length) = rustix::net::recv(&socket, &mut reply, RecvFlags::empty())?;
    let reply = reply.get(..length).unwrap_or(&[]);
    match NetlinkMessage::<RouteNetlinkMessage>::deserialize(reply) {
        Ok(NetlinkMessage {
            payload: NetlinkPayload::Error(error),
            ..
        }) => match error.code {
            None => Ok(()),
            Some(code) => Err(io::Error::from_raw_os_error(code.get().abs())),
        },
        Ok(_) => Err(io::Error::other("rtnetlink answered something else")),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sysctls_stay_within_the_namespace() {
        assert_eq!(
            sysctl_path("net.ipv4.tcp_rmem").as_deref(),
            Some("/proc/sys/net/ipv4/tcp_rmem")
        );
        for name in [
            "kernel.sched_rt_runtime_us",
            "net",
            "net.",
            "net..ipv4",
            "net.ipv4/../../kernel/x",
            "net.../kernel.x",
            "net.ipv4.tcp sack",
            "",
        ] {
            assert_eq!(sysctl_path(name), None, "{name}");
        }
    }
}
