//! Counts beside the packets: frames that are no packets, truncated packets, clock steps and losses
//! of the capture. Each frame counts in exactly one class. Readers fill them.

/// Counts of a capture beside its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Frames that were read. Each frame is in one of the next five counts.
    pub frames: u64,
    /// Frames that became packets.
    pub packets: u64,
    /// Frames that carry no IP: ARP, spanning trees, LLDP.
    pub not_ip: u64,
    /// Frames whose headers contradict themselves before the end of the IP header.
    pub undecodable: u64,
    /// Frames that the snap length truncated before the end of the IP header.
    pub cut_before_ip: u64,
    /// Frames of unsupported link types.
    pub unknown_link: u64,
    /// Number of the first unsupported link type.
    pub unknown_link_type: Option<u16>,

    /// Frames with fewer captured bytes than on the wire.
    pub snapped: u64,
    /// Packets whose transport header or options the snap length truncated.
    pub cut_in_transport: u64,
    /// Packets that are fragments, first fragments included.
    pub fragments: u64,
    /// Packets from within a tunnel: GRE, VXLAN, IP in IP.
    pub tunneled: u64,
    /// Packets whose header states no length, because a card segments them later (segmentation
    /// offload). They have the frame's length.
    pub unstated_length: u64,
    /// Packets whose comment says that they were dropped.
    pub dropped: u64,

    /// Frames without a time of their own. They take the time of the frame before them.
    pub untimed: u64,
    /// Frames with a time before 1970 or after the year 2554. They take the nearest valid time.
    pub beyond_time: u64,
    /// Number of times that time went backward on an interface.
    pub steps_back: u64,
    /// Largest of these steps, in nanoseconds.
    pub largest_step_back: u64,

    /// Packets that the capture lost by its own account, on all interfaces.
    pub lost: u64,
    /// Files that end within a packet or within compressed data. All packets before that were read.
    pub ended_early: u64,
}

impl Notes {
    /// Adds the notes of another file.
    pub fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.packets += other.packets;
        self.not_ip += other.not_ip;
        self.undecodable += other.undecodable;
        self.cut_before_ip += other.cut_before_ip;
        self.unknown_link += other.unknown_link;
        self.unknown_link_type = self.unknown_link_type.or(other.unknown_link_type);
        self.snapped += other.snapped;
        self.cut_in_transport += other.cut_in_transport;
        self.fragments += other.fragments;
        self.tunneled += other.tunneled;
        self.unstated_length += other.unstated_length;
        self.dropped += other.dropped;
        self.untimed += other.untimed;
        self.beyond_time += other.beyond_time;
        self.steps_back += other.steps_back;
        self.largest_step_back = self.largest_step_back.max(other.largest_step_back);
        self.lost = self.lost.saturating_add(other.lost);
        self.ended_early += other.ended_early;
    }
}
