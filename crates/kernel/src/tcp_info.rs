//! The kernel's state of a connection: `struct tcp_info`, as far as this kernel fills it. Hosts
//! read the sender's window from it.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use forebay_units::{Bytes, Rate, Time};

/// Bytes of the buffer. Linux 6.18 fills 280 bytes, and the structure only grows.
const ROOM: usize = 512;
/// Bytes up to and including `tcpi_total_retrans`, which every kernel since 2.6 has.
const SHORTEST: usize = 104;

/// The state of loss recovery (include/net/tcp.h, `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryState {
    /// No loss or reordering is suspected.
    Open,
    /// Duplicate ACKs or SACKs have arrived.
    Disorder,
    /// The window was reduced because of ECN or a local queue.
    WindowReduced,
    /// Fast recovery.
    Recovery,
    /// Loss recovery after a retransmission timeout.
    Loss,
    /// A state that this program does not know.
    Other(u8),
}

/// The sender's state of a connection. A field is `None` if the kernel is too old for it.
///
/// Names and layout follow include/uapi/linux/tcp.h of Linux 6.12.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpInfo {
    /// State of loss recovery (`tcpi_ca_state`).
    pub recovery_state: RecoveryState,
    /// Whether the latest sample of the delivery rate was limited by the application
    /// (`tcpi_delivery_rate_app_limited`).
    pub application_limited: bool,
    /// Retransmission timeout (`tcpi_rto`).
    pub retransmission_timeout: Time,
    /// Maximum segment size of the sender (`tcpi_snd_mss`).
    pub segment_size: Bytes,
    /// Number of unacknowledged segments (`tcpi_unacked`).
    pub unacknowledged_packets: u32,
    /// Number of unacknowledged segments that a SACK reported (`tcpi_sacked`).
    pub sacked_packets: u32,
    /// Number of unacknowledged segments that are considered lost (`tcpi_lost`).
    pub lost_packets: u32,
    /// Number of unacknowledged segments that were retransmitted (`tcpi_retrans`).
    pub retransmitted_packets: u32,
    /// Smoothed round-trip time (`tcpi_rtt`), in whole microseconds.
    pub smoothed_rtt: Time,
    /// Mean deviation of the round-trip time (`tcpi_rttvar`).
    pub rtt_deviation: Time,
    /// Slow-start threshold (`tcpi_snd_ssthresh`), in packets; `None` before the first loss.
    pub slow_start_threshold_packets: Option<u32>,
    /// Congestion window (`tcpi_snd_cwnd`), in packets.
    pub congestion_window_packets: u32,
    /// Assumed reordering distance (`tcpi_reordering`), in packets.
    pub reordering_packets: u32,
    /// Number of retransmissions since the start (`tcpi_total_retrans`).
    pub total_retransmissions: u32,
    /// Pacing rate (`tcpi_pacing_rate`); `None` if the sender is not paced.
    pub pacing_rate: Option<Rate>,
    /// Acknowledged bytes (`tcpi_bytes_acked`), with one byte each for the SYN and the FIN.
    pub bytes_acknowledged: Option<Bytes>,
    /// Bytes received in order (`tcpi_bytes_received`).
    pub bytes_received: Option<Bytes>,
    /// Bytes written and not yet sent for the first time (`tcpi_notsent_bytes`).
    pub not_sent: Option<Bytes>,
    /// Smallest round-trip time within the last minutes (`tcpi_min_rtt`).
    pub min_rtt: Option<Time>,
    /// Latest sample of the delivery rate (`tcpi_delivery_rate`).
    pub delivery_rate: Option<Rate>,
    /// Time with data to send or unacknowledged data (`tcpi_busy_time`).
    pub busy: Option<Time>,
    /// Busy time limited by the receiver's window (`tcpi_rwnd_limited`).
    pub receive_window_limited: Option<Time>,
    /// Busy time limited by the send buffer (`tcpi_sndbuf_limited`).
    pub send_buffer_limited: Option<Time>,
    /// Number of delivered segments; each counts once (`tcpi_delivered`).
    pub delivered_packets: Option<u32>,
    /// Number of delivered segments whose ACK echoed a congestion mark (`tcpi_delivered_ce`).
    pub delivered_marked_packets: Option<u32>,
    /// Sent payload, retransmissions included (`tcpi_bytes_sent`).
    pub bytes_sent: Option<Bytes>,
    /// Retransmitted payload (`tcpi_bytes_retrans`).
    pub bytes_retransmitted: Option<Bytes>,
    /// Latest advertised window of the receiver (`tcpi_snd_wnd`).
    pub send_window: Option<Bytes>,
    /// Number of expiries of the retransmission timer (`tcpi_total_rto`, Linux 6.7).
    pub timeouts: Option<u16>,
}

impl TcpInfo {
    /// Reads the state from the kernel (tcp(7), `TCP_INFO`).
    #[expect(
        unsafe_code,
        reason = "nix and rustix know one length of the structure only"
    )]
    pub fn of(socket: impl AsFd) -> io::Result<Self> {
        let mut bytes = [0_u8; ROOM];
        let mut length = ROOM as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, and any bytes are valid.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let known = bytes.get(..length as usize).and_then(Self::parse);
        known.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a short tcp_info"))
    }

    /// Parses a structure of any length; `None` if it is shorter than that of any kernel.
    fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < SHORTEST {
            return None;
        }
        let word = |at| field(bytes, at).map(u32::from_ne_bytes);
        let long = |at| field(bytes, at).map(u64::from_ne_bytes);
        let micros = |at| Some(Time::from_micros(word(at)?.into()));
        // The value ~0 means that there is no rate (net/ipv4/tcp_input.c and tcp_rate.c).
        let rate = |at| {
            let bytes = long(at).filter(|rate| *rate != u64::MAX)?;
            Some(Rate::from_bits_per_second(bytes.saturating_mul(8)))
        };
        let amount = |at| long(at).map(Bytes::new);
        Some(Self {
            recovery_state: match *bytes.get(1)? {
                0 => RecoveryState::Open,
                1 => RecoveryState::Disorder,
                2 => RecoveryState::WindowReduced,
                3 => RecoveryState::Recovery,
                4 => RecoveryState::Loss,
                other => RecoveryState::Other(other),
            },
            application_limited: application_limited(*bytes.get(7)?),
            retransmission_timeout: micros(8)?,
            segment_size: Bytes::new(word(16)?.into()),
            unacknowledged_packets: word(24)?,
            sacked_packets: word(28)?,
            lost_packets: word(32)?,
            retransmitted_packets: word(36)?,
            smoothed_rtt: micros(68)?,
            rtt_deviation: micros(72)?,
            // 0x7fffffff is TCP_INFINITE_SSTHRESH (include/net/tcp.h).
            slow_start_threshold_packets: word(76).filter(|packets| *packets < 0x7fff_ffff),
            congestion_window_packets: word(80)?,
            reordering_packets: word(88)?,
            total_retransmissions: word(100)?,
            pacing_rate: rate(104),
            bytes_acknowledged: amount(120),
            bytes_received: amount(128),
            not_sent: word(144).map(|bytes| Bytes::new(bytes.into())),
            min_rtt: word(148)
                .filter(|micros| *micros != u32::MAX)
                .map(|micros| Time::from_micros(micros.into())),
            delivery_rate: rate(160),
            busy: long(168).map(Time::from_micros),
            receive_window_limited: long(176).map(Time::from_micros),
            send_buffer_limited: long(184).map(Time::from_micros),
            delivered_packets: word(192),
            delivered_marked_packets: word(196),
            bytes_sent: amount(200),
            bytes_retransmitted: amount(208),
            send_window: word(228).map(|bytes| Bytes::new(bytes.into())),
            timeouts: field(bytes, 240).map(u16::from_ne_bytes),
        })
    }
}

/// A field of a structure, if the structure is long enough.
fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// The first bit field of its byte; compilers of big-endian machines start at the top.
fn application_limited(byte: u8) -> bool {
    let first = if cfg!(target_endian = "big") { 0x80 } else { 1 };
    byte & first != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field has its own offset in a C compiler's layout as its value.
    fn whole() -> Vec<u8> {
        let mut bytes = vec![0; 280];
        for at in (8..104).step_by(4) {
            bytes[at..at + 4].copy_from_slice(&(at as u32).to_ne_bytes());
        }
        for (at, width) in [
            (104, 8),
            (112, 8),
            (120, 8),
            (128, 8),
            (136, 4),
            (140, 4),
            (144, 4),
        ]
        .into_iter()
        .chain([
            (148, 4),
            (152, 4),
            (156, 4),
            (160, 8),
            (168, 8),
            (176, 8),
            (184, 8),
        ])
        .chain([
            (192, 4),
            (196, 4),
            (200, 8),
            (208, 8),
            (216, 4),
            (220, 4),
            (224, 4),
            (228, 4),
        ]) {
            if width == 8 {
                bytes[at..at + 8].copy_from_slice(&(at as u64).to_ne_bytes());
            } else {
                bytes[at..at + 4].copy_from_slice(&(at as u32).to_ne_bytes());
            }
        }
        bytes[1] = 3;
        bytes[7] = if cfg!(target_endian = "big") { 0x80 } else { 1 };
        bytes
    }

    #[test]
    fn fields_are_where_the_kernel_s_header_puts_them() {
        // The expected values are offsetof() of each field of struct tcp_info, which `whole` wrote
        // there.
        let info = TcpInfo::parse(&whole()).expect("a whole structure");
        assert_eq!(info.recovery_state, RecoveryState::Recovery);
        assert!(info.application_limited);
        assert_eq!(info.smoothed_rtt, Time::from_micros(68));
        assert_eq!(info.congestion_window_packets, 80);
        assert_eq!(info.total_retransmissions, 100);
        assert_eq!(info.pacing_rate, Some(Rate::from_bits_per_second(104 * 8)));
        assert_eq!(info.bytes_acknowledged, Some(Bytes::new(120)));
        assert_eq!(info.bytes_received, Some(Bytes::new(128)));
        assert_eq!(info.not_sent, Some(Bytes::new(144)));
        assert_eq!(info.min_rtt, Some(Time::from_micros(148)));
        assert_eq!(info.busy, Some(Time::from_micros(168)));
        assert_eq!(info.receive_window_limited, Some(Time::from_micros(176)));
        assert_eq!(info.send_buffer_limited, Some(Time::from_micros(184)));
        assert_eq!(info.delivered_packets, Some(192));
        assert_eq!(info.delivered_marked_packets, Some(196));
        assert_eq!(info.bytes_retransmitted, Some(Bytes::new(208)));
        assert_eq!(info.send_window, Some(Bytes::new(228)));
    }

    #[test]
    fn an_older_kernel_says_less_and_nothing_else_changes() {
        let whole = whole();
        let all = TcpInfo::parse(&whole).expect("a whole structure");
        for length in 0..whole.len() {
            let part = TcpInfo::parse(&whole[..length]);
            assert_eq!(part.is_some(), length >= SHORTEST);
            let Some(part) = part else { continue };
            assert_eq!(part.total_retransmissions, all.total_retransmissions);
            assert_eq!(part.min_rtt, all.min_rtt.filter(|_| length >= 152));
            assert_eq!(part.busy, all.busy.filter(|_| length >= 176));
            assert_eq!(part.send_window, all.send_window.filter(|_| length >= 232));
        }
        let longer: Vec<u8> = whole.iter().copied().chain([7; 200]).collect();
        assert_eq!(TcpInfo::parse(&longer), Some(all));
    }

    #[test]
    fn what_is_not_there_is_none() {
        let mut bytes = whole();
        bytes[76..80].copy_from_slice(&0x7fff_ffff_u32.to_ne_bytes());
        bytes[104..112].fill(0xff);
        bytes[148..152].fill(0xff);
        let info = TcpInfo::parse(&bytes).expect("a structure");
        assert_eq!(info.slow_start_threshold_packets, None);
        assert_eq!(info.pacing_rate, None);
        assert_eq!(info.min_rtt, None);
    }
}
