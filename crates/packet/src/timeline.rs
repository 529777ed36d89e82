//! Time in both directions: the events that are still to come, and the record of what has been.

use crate::calendar::Calendar;
use crate::recorder::Recorder;

/// What whoever acts in a run needs beside the network: where to put what follows, and where to
/// count what happened.
#[derive(Debug)]
pub(crate) struct Timeline<'a> {
    pub(crate) calendar: Calendar,
    pub(crate) recorder: Recorder<'a>,
}
