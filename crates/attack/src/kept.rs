//! Reports as an unfinished search keeps them, on a disk that may have been tampered with.

use forebay_scenario::Report;

use crate::text;

/// What is restored is kept as the same text; all other texts are none.
pub(crate) fn feed(bytes: &[u8]) {
    let Some(text) = text(bytes) else {
        return;
    };
    if let Some(report) = Report::restored(text) {
        assert_eq!(report.kept().expect("it was kept before"), text);
    }
}
