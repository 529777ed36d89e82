//! The events that are to come and the record of those that have been, in one value. The event loop
//! passes it to every handler.

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
