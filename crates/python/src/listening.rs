//! Work that takes a while and still hears Ctrl-C, in whichever thread of Python it was asked for.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use forebay_engines::BatchError;
use pyo3::prelude::*;

use crate::errors::batch_error;

/// How often Python is asked.
const HEARTBEAT: Duration = Duration::from_millis(20);

/// Texts that are shorter are read in no time.
pub(crate) const LONG: usize = 1 << 16;

/// Raises what somebody wants to be raised here: by a signal in the main thread, and in every thread
/// what `PyThreadState_SetAsyncExc` has left for it, which only running Python takes up.
pub(crate) fn listen(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    py.eval(c"None", None, None).map(drop)
}

/// Does work that may be long without the GIL, in a thread of its own, and waits for it. Where an
/// exception comes first the work is left to end by itself: it has nobody to tell.
pub(crate) fn listening<T: Send + 'static>(
    py: Python<'_>,
    long: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if !long {
        return Ok(work());
    }
    let (send, mut done) = mpsc::channel();
    let worker = thread::Builder::new().spawn(move || {
        // Whoever waited may be gone.
        let _ = send.send(work());
    });
    let worker = worker.map_err(|error| batch_error(&BatchError::Thread(error)))?;
    loop {
        let heard;
        (done, heard) = py.detach(move || {
            let heard = done.recv_timeout(HEARTBEAT);
            (done, heard)
        });
        match heard {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Timeout) => listen(py)?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match worker.join() {
        Err(panic) => std::panic::resume_unwind(panic),
        Ok(()) => unreachable!("a worker that ends has answered"),
    }
}
