//! Long work that reacts to Ctrl-C, in any thread of Python. The other modules run their work
//! through it.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use forebay_engines::BatchError;
use pyo3::prelude::*;

use crate::errors::batch_error;

/// The interval at which Python handles signals.
const HEARTBEAT: Duration = Duration::from_millis(20);

/// Shorter texts are parsed in negligible time; the unit is the byte.
pub(crate) const LONG: usize = 1 << 16;

/// Raises the exceptions that are pending in this thread. In the main thread a signal handler may
/// raise one. In every thread `PyThreadState_SetAsyncExc` may have set one, which only running
/// Python code raises.
pub(crate) fn listen(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    py.eval(c"None", None, None).map(drop)
}

/// Does long work without the GIL in a thread of its own and waits for it. If an exception comes
/// first, the work continues to its end and its result is dropped.
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
        // The receiver may no longer exist.
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
