//! Sizes of token buckets, which must hold the largest packet that crosses their link. A scenario
//! checks them after its flow groups.

use forebay_units::Bytes;

use crate::model::flows::FlowGroup;
use crate::model::link::Link;
use crate::model::shaper::ShaperKind;
use crate::text::cursor::Cursor;
use crate::text::tree::ScenarioError;

/// The largest packet of flows that cross link number `number`.
pub(crate) fn largest_packet(number: usize, flows: &[FlowGroup]) -> Bytes {
    let crossing = flows.iter().filter(|group| group.crosses(number));
    let packets = crossing.map(|group| group.packet.supremum() as u64);
    Bytes::new(packets.max().unwrap_or(0))
}

/// Refuses token buckets of link number `number`, which its table gives, that never hold tokens for
/// the largest packet of the flows that cross it: such packets would never pass.
pub(crate) fn check_buckets(
    link: &Link,
    table: &Cursor<'_>,
    number: usize,
    flows: &[FlowGroup],
) -> Result<(), ScenarioError> {
    let largest = largest_packet(number, flows);
    let mut buckets = vec![("policer", largest)];
    if link
        .shaper
        .is_some_and(|shaper| shaper.kind == ShaperKind::Tbf)
    {
        buckets.push(("shaper", largest + link.rate_layer.framing()));
    }
    for (key, needed) in buckets {
        let sizes = ["burst", "excess_burst", "peak_burst"];
        for at in sizes.iter().filter_map(|size| table.get(key)?.get(size)) {
            if at.unit::<Bytes>()? < needed {
                let allowed = format!("{needed} or more, the largest packet that crosses the link");
                return Err(at.error(allowed));
            }
        }
    }
    Ok(())
}
