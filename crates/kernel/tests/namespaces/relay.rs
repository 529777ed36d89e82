//! A minimal path between two namespaces: each packet that a side sends is received at once by the
//! other.

use std::net::SocketAddrV4;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use forebay_kernel::device::Written;
use forebay_kernel::namespaces::{Kind, Namespaces, Side};
use forebay_kernel::tcp::{Connection, Listener, Route};
use forebay_kernel::wait::{Interest, Waiting};
use forebay_units::Time;

/// Maximum time of any step on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Carries packets, counts them and stores the largest size.
pub(crate) struct Relay<'a> {
    namespaces: &'a Namespaces,
    packet: Vec<u8>,
    pub(crate) carried: usize,
    pub(crate) largest: usize,
}

impl<'a> Relay<'a> {
    pub(crate) fn new(namespaces: &'a Namespaces) -> Self {
        // The buffer is larger than a valid packet, so that a packet beyond the MTU would be read
        // whole.
        Self {
            namespaces,
            packet: vec![0; 70_000],
            carried: 0,
            largest: 0,
        }
    }

    /// Carries all waiting packets in both directions.
    pub(crate) fn carry(&mut self) {
        for side in Side::BOTH {
            let (from, to) = (
                self.namespaces.device(side),
                self.namespaces.device(side.other()),
            );
            while let Some(length) = from.read(&mut self.packet).expect("a packet") {
                assert_eq!(
                    to.write(&self.packet[..length]).expect("written"),
                    Written::Yes
                );
                self.carried += 1;
                self.largest = self.largest.max(length);
            }
        }
    }

    /// Carries packets until `done` returns a value.
    pub(crate) fn until<T>(&mut self, mut done: impl FnMut() -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            self.carry();
            if let Some(result) = done() {
                return result;
            }
            assert!(start.elapsed() < PATIENCE, "nothing comes");
            let mut waiting = Waiting::new();
            for side in Side::BOTH {
                waiting.add(self.namespaces.device(side).as_fd(), Interest::Read);
            }
            waiting.wait(Some(Time::from_micros(200))).expect("a wait");
        }
    }
}

/// A connection from near to far over a relay: the sender's end and the receiver's end.
pub(crate) fn connect(relay: &mut Relay, addresses: (u16, u16)) -> (Connection, Connection) {
    let namespaces = relay.namespaces;
    let far = namespaces
        .address(Side::Far, addresses.1)
        .expect("an address");
    let socket = namespaces.socket(Side::Far, Kind::Tcp).expect("a socket");
    let listener = Listener::listen(socket, SocketAddrV4::new(far, 0), 8).expect("listening");
    let route = Route {
        from: namespaces
            .address(Side::Near, addresses.0)
            .expect("an address"),
        to: listener.address().expect("an address"),
    };
    let socket = namespaces.socket(Side::Near, Kind::Tcp).expect("a socket");
    let sender = Connection::connect(socket, route).expect("connecting");
    let (receiver, from) = relay.until(|| listener.accept().expect("accepting"));
    relay.until(|| sender.is_connected().expect("connected").then_some(()));
    assert_eq!(from, sender.address().expect("an address"));
    assert_eq!(*from.ip(), route.from);
    assert_eq!(receiver.address().expect("an address"), route.to);
    (sender, receiver)
}

/// A byte of a sequence with a long period: SplitMix64 (Steele et al. 2014) of the position.
pub(crate) fn byte(seed: u64, position: usize) -> u8 {
    let mut word = seed.wrapping_add((position as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (word ^ (word >> 31)) as u8
}

/// A transfer in progress: every byte that arrives is compared.
pub(crate) struct Transfer {
    pub(crate) ends: (Connection, Connection),
    seed: u64,
    data: Vec<u8>,
    written: usize,
    read: usize,
    buffer: Vec<u8>,
}

impl Transfer {
    pub(crate) fn new(ends: (Connection, Connection), seed: u64, bytes: usize) -> Self {
        let data = (0..bytes).map(|position| byte(seed, position)).collect();
        Self {
            ends,
            seed,
            data,
            written: 0,
            read: 0,
            buffer: vec![0; 1 << 18],
        }
    }

    /// Writes and reads what is possible. Returns `Some` when all bytes have arrived.
    pub(crate) fn step(&mut self) -> Option<()> {
        let (sender, receiver) = &self.ends;
        while self.written < self.data.len() {
            // Each write has 256 KB, far more than a packet.
            let end = self.data.len().min(self.written + (1 << 18));
            let Some(count) = sender
                .write(&self.data[self.written..end])
                .expect("written")
            else {
                break;
            };
            self.written += count;
            if self.written == self.data.len() {
                sender.finish().expect("finished");
            }
        }
        while let Some(count) = receiver.read(&mut self.buffer).expect("read") {
            if count == 0 {
                assert_eq!(self.read, self.data.len(), "seed {}", self.seed);
                return Some(());
            }
            let expected = &self.data[self.read..self.read + count];
            assert!(
                self.buffer[..count] == *expected,
                "seed {} at {}",
                self.seed,
                self.read
            );
            self.read += count;
        }
        None
    }
}
