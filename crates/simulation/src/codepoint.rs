//! What senders tell the links about explicit congestion notification.

use forebay_congestion::EcnSemantics;
use forebay_discipline::Ecn;
use forebay_scenario::FlowGroup;

/// What the packets of a group say about ECN: by what their controller makes of marks.
pub(crate) fn codepoint(spec: &FlowGroup) -> Ecn {
    if !spec.stack.ecn || !spec.responsive() {
        return Ecn::NotCapable;
    }
    match forebay_congestion::description(spec.controller.name()).map(|known| known.ecn) {
        Some(EcnSemantics::Scalable) => Ecn::Scalable,
        _ => Ecn::Classic,
    }
}
