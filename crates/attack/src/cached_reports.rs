//! Reports as an unfinished search stores them, on a disk that may have been tampered with.

use forebay_scenario::Report;

use crate::text;

/// Restores a report. A report that was restored is stored as the same text; every other text gives
/// none.
pub(crate) fn feed(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    if let Some(report) = Report::from_cached(text) {
        assert_eq!(report.to_cached().expect("it was kept before"), text);
    }
}
