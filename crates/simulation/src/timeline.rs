//! Time in both directions: the events that are still to come, and the record of what has been.

use crate::calendar::Calendar;
use crate::measure::recorder::Recorder;

/// What whoever acts in a run needs beside the network: where to put what follows, and where to
/// count what happened.
#[derive(Debug)]
pub struct Timeline<'a> {
    /// What is to come.
    pub calendar: Calendar,
    /// What has been.
    pub recorder: Recorder<'a>,
}
