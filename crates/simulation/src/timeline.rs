//! The events that are to come and the record of those that have been, in one value. The event loop
//! passes it to every handler.

use crate::calendar::Calendar;
use crate::measure::recorder::Recorder;

/// The context of every action in a run beside the network: the calendar for the events that
/// follow, and the recorder for those that happened.
#[derive(Debug)]
pub struct Timeline<'a> {
    /// Coming events.
    pub calendar: Calendar,
    /// Records of past events.
    pub recorder: Recorder<'a>,
}
