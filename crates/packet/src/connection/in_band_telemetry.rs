//! In-band telemetry at a connection: links write statements into its packets, and acknowledgments
//! carry them to the congestion control.

use super::Connection;
use super::control_block::ControlBlock;
use super::path_telemetry::PathTelemetry;

impl Connection {
    /// The statements of links in its packets, if its congestion control requires them.
    pub(crate) fn telemetry_mut(&mut self) -> Option<&mut PathTelemetry> {
        self.control.sent_packets.as_mut()?.telemetry.as_mut()
    }

    /// The packet with these low 32 bits has arrived. Its acknowledgment carries the statements of
    /// the links.
    pub(crate) fn read_telemetry(&mut self, low: u32) {
        let ControlBlock {
            sender,
            sent_packets,
            ..
        } = &mut self.control;
        if let Some(sent_packets) = sent_packets
            && let Some(telemetry) = &mut sent_packets.telemetry
        {
            telemetry.take(low, |links| sender.controller.on_telemetry(links));
        }
    }
}
