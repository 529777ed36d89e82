//! The departures of a link that states its load: each packet of a flow carries the statement on.
//! The network passes the departures here before [`Onward`].

use forebay_congestion::telemetry::LinkTelemetry;
use forebay_discipline::PacketQueue;

use crate::departure::Onward;
use crate::ends::Ends;
use crate::flow::InFlight;
use crate::ids::FlowId;
use crate::link::queued::{Departures, Discarded, Service};
use crate::link::statistics::Account;
use crate::link::transmitter::Transmitter;
use crate::telemetry::HopTelemetry;

/// The destination of packets from a link that states its load.
pub(crate) struct Measured<'m, 'a, 's, E>(pub(crate) &'m mut Onward<'a, 's, E>);

impl<E: Ends> Departures for Measured<'_, '_, '_, E> {
    fn send(&mut self, service: &Service) -> Account {
        self.0.send(service)
    }

    fn send_from<Q: PacketQueue>(
        &mut self,
        service: &Service,
        queue: &Q,
        transmitter: &Transmitter,
    ) -> Account {
        let packet = InFlight::of(&service.packet);
        if let Some(sent) = &mut self.0.telemetry {
            let waiting = queue.backlog();
            let link = LinkTelemetry {
                queue: transmitter.wire_of(waiting.packets, waiting.bytes).get(),
                sent: **sent,
                time: service.start,
                rate: transmitter.rate(service.start),
            };
            **sent += transmitter.wire(packet.size).get();
            if let FlowId::Responsive(flow) = packet.flow {
                let flow = &mut self.0.flows[flow];
                let hop = HopTelemetry {
                    number: packet.hop,
                    is_last: self.0.hops[flow.transit.route.hop(packet.hop, packet.number)].last,
                    link,
                };
                flow.ends.note_telemetry(packet.number, hop);
            }
        }
        self.0.send(service)
    }

    fn discard(&mut self, discarded: &Discarded) {
        self.0.discard(discarded);
    }
}
