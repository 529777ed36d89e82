//! Pause frames, as events carry them.

use crate::ids::{LinkId, ResponsiveId};

/// A sender into a lossless queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sender {
    /// A class of the link before, with all that it carries; the first one at a link without
    /// classes.
    Link(LinkId, u8),
    /// The host of a flow.
    Host(ResponsiveId),
}

/// A pause frame that takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PauseFrame {
    /// The paused sender.
    pub(crate) sender: Sender,
    /// Whether the pause begins; else it ends.
    pub(crate) begins: bool,
}
