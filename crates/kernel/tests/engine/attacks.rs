//! Programs that send invalid packets. The packets are carried, dropped at the link or counted as
//! strays, and the flows of the scenario continue.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use forebay_kernel::emulation::Emulation;
use forebay_kernel::side::Side;
use rustix::net::{AddressFamily, SendFlags, SocketType};

use crate::{plain, start, turn};

const SCENARIO: &str = r#"
    [link]
    rate = "20Mbps"
    buffer = "50p"
    [[flows]]
    count = 2
    rtt = "10ms"
    stack = "linux"
    [run]
    warmup = "0s"
    measure = "600s"
"#;

/// Runs an attack to its end.
fn attack(emulation: &Emulation, side: Side, kind: &str) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--ignored", "--exact", "attacks::send"]);
    command.env("ATTACK", kind).env("SIDE", side.to_string());
    command.stdout(Stdio::null());
    let mut running = emulation.run(side, command).expect("running");
    assert!(
        running.wait().expect("an end").success(),
        "{kind} from {side}"
    );
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next());
    1024 * kilobytes
        .and_then(|word| word.parse::<u64>().ok())
        .expect("a figure")
}

/// Runs attacks from both sides. The link counts the packets, and the flows continue afterwards.
fn survives(kind: &str, strays: bool) {
    let _turn = turn();
    let Some(emulation) = start(SCENARIO, plain()) else {
        return;
    };
    thread::sleep(Duration::from_millis(300));
    let (quiet, memory) = (emulation.live(), resident());
    assert!(quiet.arrived > 0 && quiet.strays == 0, "{quiet:?}");
    for side in Side::BOTH {
        attack(&emulation, side, kind);
        let live = emulation.live();
        assert!(
            live.waiting <= 51 && live.dropped + live.waiting <= live.arrived,
            "{live:?}"
        );
    }
    assert!(emulation.goes_on());
    // All packets of the attack have been read by now, except retransmissions that senders delay
    // after losses.
    thread::sleep(Duration::from_millis(800));
    let noisy = emulation.live();
    assert_eq!(noisy.strays > 0, strays, "{noisy:?}");
    assert!(resident() < memory + (64 << 20), "{memory} {}", resident());
    let mut patience = 50;
    while emulation.live().arrived < noisy.arrived + 20 {
        patience -= 1;
        assert!(
            patience > 0 && emulation.goes_on(),
            "{:?}",
            emulation.live()
        );
        thread::sleep(Duration::from_millis(100));
    }
    let report = emulation.finish().expect("a report");
    let goodput = report
        .value(forebay_scenario::Metric::Goodput)
        .expect("a metric");
    // The goodput is at most that of the link, so forged data is not counted as delivered.
    assert!(goodput > 0.0 && goodput <= 20e6, "{goodput}");
}

#[test]
fn malformed_packets_are_counted_as_strays() {
    survives("malformed", true);
}

#[test]
fn fragments_options_protocols_and_times_to_live_are_carried() {
    survives("unusual", false);
}

#[test]
fn floods_of_resets_and_beginnings_are_the_link_s_to_drop() {
    survives("flood", false);
}

#[test]
fn other_ends_of_the_scenario_s_own_ports_disturb_no_flow() {
    survives("spoof", false);
}

// --- In the namespace ---

#[test]
#[ignore = "run by other tests, in a namespace"]
fn send() {
    let (Ok(kind), Ok(side)) = (std::env::var("ATTACK"), std::env::var("SIDE")) else {
        return;
    };
    let device = wire(&side).expect("a device");
    let (from, to) = match side.as_str() {
        "near" => (Side::Near, Side::Far),
        _ => (Side::Far, Side::Near),
    };
    let ends = [from, to].map(|side| side.address(0).expect("an address"));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    match kind.as_str() {
        "malformed" => malformed(&device, ends, &mut random),
        "unusual" => unusual(&device, ends, &mut random),
        "flood" => flood(&device, ends, &mut random),
        "spoof" => spoof(&device, ends, &mut random),
        other => panic!("{other}"),
    }
}

/// The generator SplitMix64 (Steele et al. 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, most: u64) -> usize {
        (self.next() % most) as usize
    }
}

/// A socket that sends arbitrary bytes to the device.
#[expect(unsafe_code, reason = "neither nix nor rustix makes a sockaddr_ll")]
fn wire(device: &str) -> io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::PACKET, SocketType::RAW, None)?;
    let name = std::ffi::CString::new(device)?;
    // SAFETY: the string has its end, and the kernel keeps no pointer; any bytes are a valid
    // sockaddr_ll.
    let result = unsafe {
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        address.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let length = size_of::<libc::sockaddr_ll>() as u32;
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length)
    };
    if result == 0 {
        Ok(socket)
    } else {
        Err(io::Error::last_os_error())
    }
}

fn give(device: &OwnedFd, packet: &[u8]) {
    // The device may be full, or refuse bytes that are no packet. The attacker accepts both.
    let _ = rustix::net::send(device, packet, SendFlags::empty());
}

/// An IPv4 packet with a valid checksum.
fn ip([from, to]: [Ipv4Addr; 2], protocol: u8, options: &[u8], body: &[u8]) -> Vec<u8> {
    let length = (20 + options.len() + body.len()) as u16;
    let mut packet = vec![0x45 + (options.len() / 4) as u8, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 7, 0, 0, 64, protocol, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend(options);
    packet.extend(body);
    seal(&mut packet);
    packet
}

/// Sets the header's checksum (RFC 1071).
fn seal(packet: &mut [u8]) {
    let header = usize::from(packet[0] & 15) * 4;
    packet[10..12].fill(0);
    let words = packet[..header].chunks(2);
    let sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

/// A TCP header with an invalid checksum. The path ignores the checksum, and the other end drops
/// the segment.
fn tcp(ports: [u16; 2], numbers: [u32; 2], flags: u8, payload: usize) -> Vec<u8> {
    let mut segment: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    segment.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.resize(20 + payload, 0);
    segment
}

fn malformed(device: &OwnedFd, ends: [Ipv4Addr; 2], random: &mut Random) {
    for _ in 0..5_000 {
        let length = 1 + random.below(1500);
        let noise: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        give(device, &noise);
        let whole = ip(ends, 6, &[], &tcp([40_000, 61_000], [1, 1], 16, 100));
        let mut lengths = whole.clone();
        lengths[2..4].copy_from_slice(&(random.next() as u16).to_be_bytes());
        give(device, &lengths);
        let mut header = whole.clone();
        header[0] = random.next() as u8;
        give(device, &header);
        give(device, &whole[..=random.below(139)]);
        let mut offset = whole;
        offset[32] = random.next() as u8;
        give(device, &offset);
    }
}

fn unusual(device: &OwnedFd, ends: [Ipv4Addr; 2], random: &mut Random) {
    for protocol in 0..=255 {
        let body: Vec<u8> = (0..random.below(1480))
            .map(|_| random.next() as u8)
            .collect();
        give(device, &ip(ends, protocol, &[], &body));
        give(device, &ip(ends, protocol, &[], &[]));
    }
    for options in 1..=10 {
        give(device, &ip(ends, 17, &vec![1; options * 4], &[0; 40]));
        give(device, &ip(ends, 6, &vec![7; options * 4], &[0; 5]));
    }
    for time_to_live in [0, 1] {
        let mut packet = ip(ends, 17, &[], &[0; 40]);
        packet[8] = time_to_live;
        seal(&mut packet);
        give(device, &packet);
    }
    // The packet has the largest size that the device accepts.
    give(device, &ip(ends, 17, &[], &[0; 1480]));
    for _ in 0..2_000 {
        let mut fragment = ip(ends, 17, &[], &vec![0; 8 * (1 + random.below(185))]);
        let more = (random.below(2) as u16) << 13;
        let place = more | random.below(1 << 13) as u16;
        fragment[6..8].copy_from_slice(&place.to_be_bytes());
        seal(&mut fragment);
        give(device, &fragment);
    }
}

fn flood(device: &OwnedFd, ends: [Ipv4Addr; 2], random: &mut Random) {
    const FLAGS: [u8; 2] = [2, 4];
    for number in 0..100_000 {
        let ports = [random.next() as u16, 1 + random.below(60_000) as u16];
        let numbers = [random.next() as u32, random.next() as u32];
        let segment = tcp(ports, numbers, FLAGS[number % 2], 0);
        give(device, &ip(ends, 6, &[], &segment));
    }
}

/// Sends from all ports that a scenario's flow cannot have, with random sequence numbers.
fn spoof(device: &OwnedFd, ends: [Ipv4Addr; 2], random: &mut Random) {
    for number in 0..30_000_u32 {
        // The ports are below those that Linux assigns automatically.
        let ports = [1 + (number % 32_000) as u16, 61_000];
        let stranger = Ipv4Addr::from_bits(random.next() as u32);
        let ends = if number % 2 == 0 {
            ends
        } else {
            [stranger, ends[1]]
        };
        let numbers = [random.next() as u32, random.next() as u32];
        let segment = tcp(ports, numbers, random.next() as u8, random.below(1000));
        give(device, &ip(ends, 6, &[], &segment));
    }
}
