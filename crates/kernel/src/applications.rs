//! The applications of both ends: one thread writes the data of senders, and another reads the data
//! of receivers. They do not depend on a scenario or on time.
//!
//! Two threads are needed. Linux acknowledges every second segment at once only while the
//! receiver's window advances. The window advances when the application reads
//! (net/ipv4/tcp_input.c, `__tcp_ack_snd_check`, 6.18). A single thread that fills a send buffer of
//! megabytes would not read meanwhile. The one acknowledgment after that would release a burst that
//! overflows a small buffer.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread::{self, JoinHandle};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::priority::{Policy, set_policy};
use crate::tcp::{Connection, Listener};

/// Bytes that are written or read in one call.
const BLOCK: usize = 256 << 10;

/// Real-time priority of the applications, below that of the path. A source that gets its processor
/// only when its socket is empty would send a whole window at once.
const PRIORITY: u8 = 10;

/// An order to the applications.
enum Order {
    /// Starts to write this number of bytes on a connection; `None` means without end.
    Send(u64, Arc<Connection>, Option<u64>),
    /// Adds bytes to write.
    More(u64, u64),
    /// Stops writing, and drops the connection.
    Close(u64),
}

/// The threads of the applications. They end when this is dropped.
pub(crate) struct Applications {
    sources: Worker,
    sinks: Worker,
}

impl Applications {
    /// Starts the threads. The receivers accept from these listeners.
    pub(crate) fn start(listeners: Vec<Listener>) -> io::Result<Self> {
        Ok(Self {
            sources: Worker::start("sources", Vec::new())?,
            sinks: Worker::start("sinks", listeners)?,
        })
    }

    /// Orders a connection's sender to write `bytes` bytes, or without end if `None`.
    pub(crate) fn send(&self, key: u64, connection: Arc<Connection>, bytes: Option<u64>) {
        self.sources.order(Order::Send(key, connection, bytes));
    }

    /// Orders the sender to write more bytes.
    pub(crate) fn write(&self, key: u64, bytes: u64) {
        self.sources.order(Order::More(key, bytes));
    }

    /// Orders the sender to stop writing.
    pub(crate) fn close(&self, key: u64) {
        self.sources.order(Order::Close(key));
    }

    /// The error that stopped one of the threads, if one has stopped.
    pub(crate) fn failure(&mut self) -> Option<io::Error> {
        self.sources.failure().or_else(|| self.sinks.failure())
    }
}

/// One of the threads.
struct Worker {
    orders: Option<Sender<Order>>,
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Worker {
    fn start(name: &str, listeners: Vec<Listener>) -> io::Result<Self> {
        let (orders, received) = mpsc::channel();
        let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let mut room = Room::new(listeners, bell.clone(), received)?;
        let thread = thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || {
            // Without this priority sources are late more often, and the verdict reports it.
            let _ = set_policy(Policy::RoundRobin(PRIORITY));
            room.work()
        })?;
        Ok(Self {
            orders: Some(orders),
            bell,
            thread: Some(thread),
        })
    }

    /// The error that stopped the thread, if it has stopped.
    fn failure(&mut self) -> Option<io::Error> {
        if !self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            return None;
        }
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(Err(error))) => Some(error),
            _ => Some(io::Error::other("the applications have ended")),
        }
    }

    fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            // If the thread has ended, `failure` reports it.
            let _ = orders.send(order);
            ring(&self.bell);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.orders = None;
        ring(&self.bell);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Wakes the thread. An overflow of the event counter is harmless, because the thread then wakes
/// anyway.
fn ring(bell: &OwnedFd) {
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// A connection that writes.
struct Writer {
    connection: Arc<Connection>,
    /// Bytes left to write; `None` means without end.
    left: Option<u64>,
}

/// Event keys: those of writers are their own, and those of other sources have a high bit.
const BELL: u64 = 1 << 63;
const LISTENER: u64 = 1 << 62;
const READER: u64 = 1 << 61;

/// State of a thread.
struct Room {
    epoll: OwnedFd,
    bell: Arc<OwnedFd>,
    orders: Receiver<Order>,
    listeners: Vec<Listener>,
    writers: BTreeMap<u64, Writer>,
    readers: BTreeMap<u64, Connection>,
    accepted: u64,
    block: Vec<u8>,
}

impl Room {
    fn new(
        listeners: Vec<Listener>,
        bell: Arc<OwnedFd>,
        orders: Receiver<Order>,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &*bell, EventData::new_u64(BELL), EventFlags::IN)?;
        for (number, listener) in listeners.iter().enumerate() {
            let data = EventData::new_u64(LISTENER | number as u64);
            epoll::add(&epoll, listener, data, EventFlags::IN)?;
        }
        Ok(Self {
            epoll,
            bell,
            orders,
            listeners,
            writers: BTreeMap::new(),
            readers: BTreeMap::new(),
            accepted: 0,
            block: vec![0; BLOCK],
        })
    }

    /// Works until the sender of orders is dropped.
    fn work(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        loop {
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                None,
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in &events {
                let (key, flags) = (event.data.u64(), event.flags);
                if key == BELL {
                    let mut rung = [0; 8];
                    let _ = rustix::io::read(&*self.bell, &mut rung);
                    if !self.obey()? {
                        return Ok(());
                    }
                } else if key & LISTENER != 0 {
                    self.accept((key ^ LISTENER) as usize)?;
                } else if key & READER != 0 {
                    self.take(key);
                } else if flags.contains(EventFlags::HUP) {
                    // Both directions are closed. Without removal, epoll would report this event
                    // forever.
                    self.forget(key);
                } else {
                    self.write(key)?;
                }
            }
        }
    }

    /// Executes the pending orders. Returns false if the sender of orders was dropped.
    fn obey(&mut self) -> io::Result<bool> {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Send(key, connection, left)) => {
                    let data = EventData::new_u64(key);
                    epoll::add(&self.epoll, &*connection, data, interest(left))?;
                    self.writers.insert(key, Writer { connection, left });
                }
                Ok(Order::More(key, bytes)) => {
                    if let Some(writer) = self.writers.get_mut(&key) {
                        writer.left = writer.left.map(|left| left + bytes);
                        let (data, flags) = (EventData::new_u64(key), interest(writer.left));
                        epoll::modify(&self.epoll, &*writer.connection, data, flags)?;
                    }
                }
                Ok(Order::Close(key)) => self.forget(key),
                Err(TryRecvError::Empty) => return Ok(true),
                Err(TryRecvError::Disconnected) => return Ok(false),
            }
        }
    }

    fn accept(&mut self, listener: usize) -> io::Result<()> {
        while let Some((connection, _)) = self.listeners[listener].accept()? {
            let key = READER | self.accepted;
            self.accepted += 1;
            let data = EventData::new_u64(key);
            epoll::add(&self.epoll, &connection, data, EventFlags::IN)?;
            self.readers.insert(key, connection);
        }
        Ok(())
    }

    /// Discards the received bytes: with `MSG_TRUNC` the kernel copies nothing (tcp(7)).
    fn take(&mut self, key: u64) {
        let Some(reader) = self.readers.get(&key) else {
            return;
        };
        match rustix::net::recv(reader, &mut self.block[..], RecvFlags::TRUNC) {
            Ok((_, 1..)) | Err(Errno::AGAIN | Errno::INTR) => {}
            // The other end has closed, or an ICMP error or RST ended the connection. Other
            // connections are not affected.
            Ok((_, 0)) | Err(_) => {
                if let Some(reader) = self.readers.remove(&key) {
                    let _ = epoll::delete(&self.epoll, &reader);
                }
            }
        }
    }

    fn write(&mut self, key: u64) -> io::Result<()> {
        let Some(writer) = self.writers.get_mut(&key) else {
            return Ok(());
        };
        loop {
            let most = writer.left.map_or(BLOCK, |left| BLOCK.min(left as usize));
            if most == 0 {
                let data = EventData::new_u64(key);
                epoll::modify(&self.epoll, &*writer.connection, data, interest(Some(0)))?;
                return Ok(());
            }
            match writer.connection.write(&self.block[..most]) {
                Ok(Some(written)) => {
                    writer.left = writer.left.map(|left| left - written as u64);
                }
                Ok(None) => return Ok(()),
                // The connection is gone: the SYN was never answered, or the connection was reset.
                Err(_) => {
                    self.forget(key);
                    return Ok(());
                }
            }
        }
    }

    fn forget(&mut self, key: u64) {
        if let Some(writer) = self.writers.remove(&key) {
            let _ = epoll::delete(&self.epoll, &*writer.connection);
        }
    }
}

/// The events that a writer waits for, by its bytes left to write.
fn interest(left: Option<u64>) -> EventFlags {
    if left == Some(0) {
        EventFlags::empty()
    } else {
        EventFlags::OUT
    }
}

impl std::fmt::Debug for Applications {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Applications").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};
    use std::time::Duration;

    use rustix::net::{AddressFamily, SocketType};

    use super::*;
    use crate::tcp::{Route, reset_on_close};

    fn socket() -> OwnedFd {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        rustix::io::ioctl_fionbio(&socket, true).unwrap();
        socket
    }

    /// CPU time of the writing thread in clock ticks of 10 ms (proc_pid_stat(5), fields 14 and 15).
    fn ticks() -> u64 {
        let read = || {
            let mut tasks = std::fs::read_dir("/proc/self/task").ok()?;
            let stat = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("stat"));
            tasks.find_map(|task| stat(task.ok()?).ok().filter(|s| s.contains("(sources)")))
        };
        // If threads of other tests end meanwhile, the folder may omit some threads.
        let stat = (0..1000).find_map(|_| read()).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        fields
            .skip(14 - 3)
            .take(2)
            .map(|field| field.parse::<u64>().unwrap())
            .sum()
    }

    #[test]
    fn a_writer_that_was_cut_off_costs_nothing_more() {
        let anywhere = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let listener = Listener::listen(socket(), anywhere, 1).unwrap();
        let (from, to) = (Ipv4Addr::LOCALHOST, listener.address().unwrap());
        let connection = Connection::connect(socket(), Route { from, to }).unwrap();
        let applications = Applications::start(Vec::new()).unwrap();
        applications.send(0, Arc::new(connection), Some(5));
        let mut bytes = [0; 9];
        let peer = loop {
            if let Some((peer, _)) = listener.accept().unwrap() {
                break peer;
            }
        };
        while peer.read(&mut bytes).unwrap() != Some(5) {}
        reset_on_close(&peer).unwrap();
        drop(peer);
        let before = ticks();
        thread::sleep(Duration::from_millis(600));
        assert!(ticks() < before + 10, "{}", ticks() - before);
    }
}
