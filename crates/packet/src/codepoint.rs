//! What senders tell the links about explicit congestion notification.

use forebay_discipline::Ecn;
use forebay_scenario::FlowGroup;

/// What the packets of a group say about ECN. Senders with a scalable response use ECT(1) (RFC
/// 9331 section 4.1), and so does DCTCP where it shares a dual queue (RFC 9332 section 1.2).
pub(crate) fn codepoint(spec: &FlowGroup) -> Ecn {
    if !spec.stack.ecn || !spec.responsive() {
        return Ecn::NotCapable;
    }
    match spec.controller.name() {
        "prague" | "dctcp" => Ecn::Scalable,
        _ => Ecn::Classic,
    }
}
