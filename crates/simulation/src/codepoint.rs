//! The ECN codepoints that senders give their packets.

use forebay_congestion::EcnSemantics;
use forebay_discipline::Ecn;
use forebay_scenario::FlowGroup;

/// The ECN codepoint of a group's packets: it follows from the controller's reaction to marks.
pub(crate) fn codepoint(spec: &FlowGroup) -> Ecn {
    if !spec.stack.ecn || !spec.responsive() {
        return Ecn::NotCapable;
    }
    match forebay_congestion::description(spec.controller.name()).map(|known| known.ecn) {
        Some(EcnSemantics::Scalable) => Ecn::Scalable,
        _ => Ecn::Classic,
    }
}
