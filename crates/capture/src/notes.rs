//! What a capture does not show: frames that are no packets, packets cut short, clocks that stepped and
//! packets that the capture itself lost. Each frame of a file is counted once as what became of it.

/// What was found in a capture beside its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Frames that were read; each is one of the five below.
    pub frames: u64,
    /// Frames that were told as packets.
    pub packets: u64,
    /// Frames that carry no IP: ARP, spanning trees, LLDP.
    pub not_ip: u64,
    /// Frames whose headers contradict themselves before the end of the IP header.
    pub undecodable: u64,
    /// Frames that the snap length cut off before the end of the IP header.
    pub cut_before_ip: u64,
    /// Frames of link types that are not read.
    pub unknown_link: u64,
    /// Number of the first link type that is not read.
    pub unknown_link_type: Option<u16>,

    /// Frames of which the capture has fewer bytes than were on the wire.
    pub snapped: u64,
    /// Packets told without all of their transport header or its options, since the snap length cut them
    /// off.
    pub cut_in_transport: u64,
    /// Packets that are fragments, first ones and others.
    pub fragments: u64,
    /// Packets told from within a tunnel: GRE, VXLAN, IP in IP.
    pub tunneled: u64,
    /// Packets whose header states no length, as cards are given them that cut them up (segmentation
    /// offload): the frame's length was taken.
    pub unstated_length: u64,
    /// Packets whose comment says that they were dropped.
    pub dropped: u64,

    /// Frames without a time of their own: they were given the time of the frame before.
    pub untimed: u64,
    /// Frames whose time lies before 1970 or after the year 2554: they were given the nearest time that
    /// can be told.
    pub beyond_time: u64,
    /// How often time went backward on an interface.
    pub steps_back: u64,
    /// The largest such step, in nanoseconds.
    pub largest_step_back: u64,

    /// Packets that the capture lost by its own account, over all interfaces.
    pub lost: u64,
    /// Files that end in the middle of a packet or of what they are packed with; all before it was read.
    pub ended_early: u64,
}

impl Notes {
    /// Takes in the notes of another file.
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
