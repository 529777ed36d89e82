//! Observation of captures: dictionaries of figures and of columns as NumPy arrays. Times are
//! nanoseconds. An unobserved value is None, or NaN in a column.

mod streams;
mod tables;

use std::time::{Duration, Instant};

use forebay_capture::{
    CaptureError, Merged, Observation, Observer, Reader, Settings, merged_level,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::InputError;
use crate::listening::listen;
use tables::{Table, amount, bins, histogram};

/// The interval at which Python handles signals.
const HEARTBEAT: Duration = Duration::from_millis(50);
/// Number of packets read between two looks at the clock.
const STRIDE: u32 = 4096;

/// The reason why a reading stopped early.
enum Stopped {
    Capture(CaptureError),
    Python(PyErr),
}

/// Observe captures together, in order of time.
///
/// `before` and `after` are numbers or names of the interfaces before and after a queue. Without
/// them the interfaces named `arrivals` and `departures` are used.
///
/// `ahead_ns` is the clock offset of each file relative to the others; it is subtracted from its
/// times. `progress` is called with the bytes read and the total bytes (None if unknown).
#[pyfunction]
#[pyo3(signature = (paths, *, before = None, after = None, ahead_ns = Vec::new(), progress = None))]
#[expect(clippy::needless_pass_by_value, reason = "what Python hands over")]
pub(crate) fn observe_captures(
    py: Python<'_>,
    paths: Vec<std::path::PathBuf>,
    before: Option<InterfaceName>,
    after: Option<InterfaceName>,
    ahead_ns: Vec<i64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'_, PyDict>> {
    if paths.is_empty() {
        return Err(InputError::new_err((
            "found none; allowed: 1 or more",
            "paths",
        )));
    }
    if before.is_some() != after.is_some() {
        let argument = if before.is_some() { "after" } else { "before" };
        let text = "found none; allowed: both interfaces of a queue, or neither";
        return Err(InputError::new_err((text, argument)));
    }
    let read = py.detach(|| {
        let readers: Result<Vec<_>, _> = paths.iter().map(Reader::open).collect();
        let captures = readers
            .and_then(|it| merged_level(it, &ahead_ns))
            .map_err(Stopped::Capture)?;
        let queue = queue_of(&captures, before.as_ref(), after.as_ref());
        let queue = queue.map_err(Stopped::Python)?;
        observe(captures, queue, progress.as_ref())
    });
    match read {
        Ok((captures, observation)) => {
            let all = shown(py, &captures, &observation)?;
            all.set_item("ahead_ns", ahead_ns)?;
            Ok(all)
        }
        Err(Stopped::Capture(error)) => Err(InputError::new_err(error.to_string())),
        Err(Stopped::Python(error)) => Err(error),
    }
}

/// An interface as Python names it.
#[derive(FromPyObject)]
pub(crate) enum InterfaceName {
    Number(u16),
    Name(String),
}

/// The interfaces on both sides of a queue.
fn queue_of(
    captures: &Merged,
    before: Option<&InterfaceName>,
    after: Option<&InterfaceName>,
) -> PyResult<Option<(u16, u16)>> {
    let named = |name: &str| {
        let known = |&number: &u16| captures.interface(number).is_some();
        let mut numbers = (0..=u16::MAX).take_while(known);
        numbers.find(|&number| {
            let interface = captures.interface(number);
            interface.is_some_and(|(_, it)| it.name.as_deref() == Some(name))
        })
    };
    let (Some(before), Some(after)) = (before, after) else {
        return Ok(named("arrivals").zip(named("departures")));
    };
    let found = |place: &InterfaceName, argument: &'static str| match place {
        InterfaceName::Number(number) => Ok(*number),
        InterfaceName::Name(name) => named(name).ok_or_else(|| {
            let text = format!(
                "found {name:?}; allowed: the name of an interface of the captures, or its number"
            );
            InputError::new_err((text, argument))
        }),
    };
    let (before, after) = (found(before, "before")?, found(after, "after")?);
    if before == after {
        let text = format!(
            "found interface {after} on both sides; allowed: another one than before the queue"
        );
        return Err(InputError::new_err((text, "after")));
    }
    Ok(Some((before, after)))
}

/// Reads everything and calls Python at intervals.
fn observe(
    mut captures: Merged,
    queue: Option<(u16, u16)>,
    progress: Option<&Py<PyAny>>,
) -> Result<(Merged, Observation), Stopped> {
    let mut observer = Observer::new(Settings {
        queue,
        ..Settings::default()
    });
    let (mut reported, mut read) = (Instant::now(), 0u32);
    while let Some(packet) = captures.next().map_err(Stopped::Capture)? {
        observer.observe(&packet);
        read = read.wrapping_add(1);
        if read % STRIDE == 0 && reported.elapsed() >= HEARTBEAT {
            tell(&captures, progress).map_err(Stopped::Python)?;
            reported = Instant::now();
        }
    }
    tell(&captures, progress).map_err(Stopped::Python)?;
    Ok((captures, observer.finish()))
}

/// Lets Python handle signals and reports the progress.
fn tell(captures: &Merged, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| {
        listen(py)?;
        if let Some(progress) = progress {
            let so_far = captures.progress();
            progress.call1(py, (so_far.read, so_far.size))?;
        }
        Ok(())
    })
}

/// All observations.
fn shown<'py>(
    py: Python<'py>,
    captures: &Merged,
    observation: &Observation,
) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("packets", observation.packets)?;
    all.set_item("between_ns", observation.between)?;
    all.set_item("connections", observation.connections)?;
    all.set_item("max_concurrent_flows", observation.max_concurrent_flows)?;
    all.set_item("evicted", observation.evicted)?;
    all.set_item("unobserved", amount(observation.unobserved))?;
    all.set_item("notes", notes(py, captures)?)?;
    let interfaces = observation.interfaces.iter();
    let interfaces: PyResult<Vec<_>> = interfaces.map(|it| interface(py, captures, it)).collect();
    all.set_item("interfaces", PyList::new(py, interfaces?)?)?;
    let queue = observation.queue.as_ref();
    let queue = queue.map(|it| tables::crossed(py, it)).transpose()?;
    all.set_item("queue", queue)?;
    Ok(all)
}

/// The counts of frames by kind and of irregularities in the captures.
fn notes<'py>(py: Python<'py>, captures: &Merged) -> PyResult<Bound<'py, PyDict>> {
    let (notes, table) = (captures.notes(), PyDict::new(py));
    for (name, count) in [
        ("frames", notes.frames),
        ("packets", notes.packets),
        ("not_ip", notes.not_ip),
        ("undecodable", notes.undecodable),
        ("cut_before_ip", notes.cut_before_ip),
        ("unknown_link", notes.unknown_link),
        ("snapped", notes.snapped),
        ("cut_in_transport", notes.cut_in_transport),
        ("fragments", notes.fragments),
        ("tunneled", notes.tunneled),
        ("unstated_length", notes.unstated_length),
        ("dropped", notes.dropped),
        ("untimed", notes.untimed),
        ("beyond_time", notes.beyond_time),
        ("steps_back", notes.steps_back),
        ("largest_step_back_ns", notes.largest_step_back),
        ("lost", notes.lost),
        ("ended_early", notes.ended_early),
    ] {
        table.set_item(name, count)?;
    }
    table.set_item("unknown_link_type", notes.unknown_link_type)?;
    Ok(table)
}

fn interface<'py>(
    py: Python<'py>,
    captures: &Merged,
    observed: &forebay_capture::ObservedInterface,
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("number", observed.number)?;
    let of_file = captures.interface(observed.number);
    table.set_item("file", of_file.map(|(file, _)| file))?;
    let name = of_file.and_then(|(_, it)| it.name.as_deref());
    table.set_item("name", name)?;
    table.set_item("link_type", of_file.map(|(_, it)| it.link_type))?;
    table.set_item("snap_length", of_file.and_then(|(_, it)| it.snap_length))?;
    table.set_item("lost", of_file.map(|(_, it)| it.lost))?;
    table.set_item("inbound", observed.inbound)?;
    let (clock, evidence) = (PyDict::new(py), PyDict::new(py));
    clock.set_item("backward", observed.clock.backward)?;
    clock.set_item("largest_backward_ns", observed.clock.largest_backward)?;
    clock.set_item("set_back", observed.clock.set_back)?;
    clock.set_item("leaps", observed.clock.leaps)?;
    clock.set_item("stray", observed.clock.stray)?;
    table.set_item("clock", clock)?;
    evidence.set_item("by_capture", observed.evidence.by_capture)?;
    evidence.set_item("by_station", observed.evidence.by_station)?;
    evidence.set_item("by_address", observed.evidence.by_address)?;
    evidence.set_item("by_port", observed.evidence.by_port)?;
    evidence.set_item("unclear", observed.evidence.unclear)?;
    table.set_item("told", evidence)?;
    let directions = observed.directions.iter();
    let directions: PyResult<Vec<_>> = directions.map(|it| direction(py, it)).collect();
    table.set_item("directions", PyList::new(py, directions?)?)?;
    Ok(table)
}

fn direction<'py>(
    py: Python<'py>,
    observed: &forebay_capture::Direction,
) -> PyResult<Bound<'py, PyDict>> {
    let (load, all) = (&observed.load, PyDict::new(py));
    all.set_item("total", amount(load.total))?;
    all.set_item("frame_bytes", load.frame_bytes)?;
    all.set_item("between_ns", load.between)?;
    all.set_item("oversized", amount(load.oversized))?;
    all.set_item("largest", load.largest)?;
    all.set_item("other", amount(observed.other))?;
    let series = bins(py, &load.bins)?;
    series.put("packets", load.bins.bins().iter().map(|it| it.packets))?;
    series.put("bytes", load.bins.bins().iter().map(|it| it.bytes))?;
    all.set_item("bins", series)?;
    let sizes = PyDict::new(py);
    let counted = || (0u64..).zip(&load.sizes).filter(|(_, count)| **count > 0);
    sizes.put("bytes", counted().map(|(size, _)| size))?;
    sizes.put("packets", counted().map(|(_, count)| *count))?;
    all.set_item("sizes", sizes)?;
    let protocols = PyDict::new(py);
    for (number, carried) in load.protocols.iter().enumerate() {
        if carried.packets > 0 {
            protocols.set_item(number, amount(*carried))?;
        }
    }
    all.set_item("protocols", protocols)?;
    let codepoints = PyDict::new(py);
    for (name, carried) in ["not_capable", "ect0", "ect1", "ce"]
        .iter()
        .zip(load.codepoints)
    {
        codepoints.set_item(name, amount(carried))?;
    }
    all.set_item("codepoints", codepoints)?;
    let gaps = PyDict::new(py);
    let each = || {
        let pairs = observed.gaps.iter();
        pairs.flat_map(|gap| gap.times.bins().map(move |bin| (gap, bin)))
    };
    gaps.put("before", each().map(|(gap, _)| gap.before))?;
    gaps.put("behind", each().map(|(gap, _)| gap.behind))?;
    gaps.put("least_ns", each().map(|(_, bin)| bin.least))?;
    gaps.put("most_ns", each().map(|(_, bin)| bin.most))?;
    gaps.put("count", each().map(|(_, bin)| bin.count))?;
    all.set_item("gaps", gaps)?;
    all.set_item("tick_ns", observed.tick)?;
    let streams = &observed.streams;
    let evidence = PyDict::new(py);
    evidence.set_item("count", streams.count)?;
    evidence.set_item("long_count", streams.long_count)?;
    evidence.set_item("carried", amount(streams.carried))?;
    evidence.set_item("bare", amount(streams.bare))?;
    evidence.set_item("series_lost", streams.series_lost)?;
    evidence.set_item("sizes", histogram(py, &streams.sizes)?)?;
    evidence.set_item("durations_ns", histogram(py, &streams.durations)?)?;
    evidence.set_item("start_gaps_ns", histogram(py, &streams.start_gaps)?)?;
    evidence.put("starts_ns", streams.starts.iter().copied())?;
    evidence.set_item("long", streams::columns(py, &streams.long)?)?;
    evidence.set_item("sample", streams::columns(py, &streams.sample)?)?;
    all.set_item("streams", evidence)?;
    Ok(all)
}
