//! Streams as columns. Losses, pauses and windows have tables of their own, with the row of the
//! stream.

use forebay_capture::{Least, Series, Stream, Window};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::tables::Table;

/// Makes columns of integers, each named after its field.
macro_rules! counts {
    ($table:expr, $streams:expr, $($field:ident),* $(,)?) => {
        $($table.put(stringify!($field), $streams.iter().map(|it| it.$field))?;)*
    };
}

/// The columns of streams, and the tables `losses`, `pauses`, `windows`, `reductions` and `visits`.
pub(super) fn columns<'py>(py: Python<'py>, streams: &[Stream]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    counts!(
        table,
        streams,
        connection,
        path,
        protocol,
        quic,
        begun,
        packets,
        bytes,
        data_packets,
        payload,
        distinct,
        unseen,
        largest_payload,
        capable,
        marks,
        echoes,
        reduced,
        repeated_packets,
        repeated,
        filled_packets,
        filled,
        reordered_packets,
        losses,
        selective_acks,
        duplicate_selective_acks,
        duplicate_acks,
        zero_windows,
        scale_known,
        dropped,
        marked_inside,
    );
    let endings: Vec<_> = streams.iter().map(|it| it.ending.name()).collect();
    table.set_item("ending", endings)?;
    table.put("first_ns", streams.iter().map(|it| it.first))?;
    table.put("last_ns", streams.iter().map(|it| it.last))?;
    table.put("first_data_ns", streams.iter().map(|it| it.first_data))?;
    table.put("last_data_ns", streams.iter().map(|it| it.last_data))?;
    let real = |column: &str, value: fn(&Stream) -> Option<f64>| {
        table.put(column, streams.iter().map(|it| known(value(it))))
    };
    real("announced_segment", |it| {
        it.announced_segment.map(f64::from)
    })?;
    real("least_behind_ns", |it| it.least_behind().map(time))?;
    real("least_before_ns", |it| it.least_before().map(time))?;
    real("base_round_trip_ns", |it| it.base_round_trip().map(time))?;
    real("handshake_behind_ns", |it| it.handshake_behind.map(time))?;
    real("handshake_before_ns", |it| it.handshake_before.map(time))?;
    real("behind_p5_ns", |it| it.behind_quantiles[0])?;
    real("behind_p50_ns", |it| it.behind_quantiles[1])?;
    real("behind_p95_ns", |it| it.behind_quantiles[2])?;
    real("before_p5_ns", |it| it.before_quantiles[0])?;
    real("before_p50_ns", |it| it.before_quantiles[1])?;
    real("before_p95_ns", |it| it.before_quantiles[2])?;
    real("tick_ns", |it| it.tick)?;
    real("largest_flight", |it| it.largest_flight.map(time))?;
    real("receive_window_least", |it| {
        it.receive_window.map(|(least, _)| f64::from(least))
    })?;
    real("receive_window_most", |it| {
        it.receive_window.map(|(_, most)| f64::from(most))
    })?;
    real("gap_mean_ns", |it| it.evenness.map(|it| it.mean))?;
    real("gap_variation", |it| it.evenness.map(|it| it.variation))?;
    real("gap_smallest_ns", |it| it.evenness.map(|it| it.smallest))?;
    real("gap_close", |it| it.evenness.map(|it| it.close))?;
    real("train", |it| it.evenness.map(|it| it.train))?;
    let least = |name: &str, value: fn(&Stream) -> Least| {
        let ns = format!("{name}_least_ns");
        table.put(
            &ns,
            streams.iter().map(|it| known(value(it).least().map(time))),
        )?;
        let count = format!("{name}_count");
        table.put(&count, streams.iter().map(|it| value(it).count()))
    };
    least("behind", |it| it.behind)?;
    least("behind_timestamps", |it| it.behind_timestamps)?;
    least("before", |it| it.before)?;
    least("spin", |it| it.spin)?;
    table.put("watched_ns", streams.iter().map(|it| it.spent.watched))?;
    table.put(
        "window_limited_ns",
        streams.iter().map(|it| it.spent.window_limited),
    )?;
    table.put("empty_ns", streams.iter().map(|it| it.spent.empty))?;
    table.put("pause_count", streams.iter().map(|it| it.spent.pauses))?;
    table.set_item("loss_times", losses(py, streams)?)?;
    table.set_item("pauses", pauses(py, streams)?)?;
    table.set_item("windows", windows(py, streams)?)?;
    table.set_item("reductions", reductions(py, streams)?)?;
    table.set_item("visits", visits(py, streams)?)?;
    table.put(
        "rounds_compared",
        streams.iter().map(|it| it.windows.compared),
    )?;
    table.put("rounds_fallen", streams.iter().map(|it| it.windows.falls))?;
    let series = |value: fn(&Series) -> u64| {
        let series = streams.iter().map(|it| it.series.as_ref());
        series.map(move |it| it.map_or(0, value))
    };
    table.put("series_origin_ns", series(Series::origin))?;
    // A width of zero means that there are no windows.
    table.put("series_width_ns", series(Series::width))?;
    Ok(table)
}

fn losses<'py>(py: Python<'py>, streams: &[Stream]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let each = || {
        let rows = (0u32..).zip(streams);
        rows.flat_map(|(row, it)| it.loss_times.iter().map(move |loss| (row, loss)))
    };
    table.put("stream", each().map(|(row, _)| row))?;
    table.put("time_ns", each().map(|(_, it)| it.time))?;
    table.put("before", each().map(|(_, it)| it.before))?;
    Ok(table)
}

/// Windows before and after each reduction, in bytes; 0 if unknown.
fn reductions<'py>(py: Python<'py>, streams: &[Stream]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let each = || {
        let rows = (0u32..).zip(streams);
        rows.flat_map(|(row, it)| it.windows.reductions.iter().map(move |each| (row, each)))
    };
    table.put("stream", each().map(|(row, _)| row))?;
    table.put("time_ns", each().map(|(_, it)| it.time))?;
    table.put("repaired_ns", each().map(|(_, it)| it.repaired))?;
    table.put("before", each().map(|(_, it)| it.before))?;
    table.put("earlier", each().map(|(_, it)| it.earlier))?;
    table.put("after", each().map(|(_, it)| it.after))?;
    table.put("later", each().map(|(_, it)| it.later))?;
    table.put("rounds", each().map(|(_, it)| it.window_rounds))?;
    table.put("silence_ns", each().map(|(_, it)| it.silence))?;
    Ok(table)
}

/// Times with at most BBR's smallest window outstanding.
fn visits<'py>(py: Python<'py>, streams: &[Stream]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let each = || {
        let rows = (0u32..).zip(streams);
        rows.flat_map(|(row, it)| it.windows.visits.iter().map(move |each| (row, each)))
    };
    table.put("stream", each().map(|(row, _)| row))?;
    table.put("time_ns", each().map(|(_, it)| it.time))?;
    table.put("length_ns", each().map(|(_, it)| it.length))?;
    table.put("former", each().map(|(_, it)| it.former))?;
    table.put("regained", each().map(|(_, it)| it.regained))?;
    table.put("silence_ns", each().map(|(_, it)| it.silence))?;
    Ok(table)
}

fn pauses<'py>(py: Python<'py>, streams: &[Stream]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let each = || {
        let rows = (0u32..).zip(streams);
        rows.flat_map(|(row, it)| it.pauses.iter().map(move |pause| (row, pause)))
    };
    table.put("stream", each().map(|(row, _)| row))?;
    table.put("start_ns", each().map(|(_, it)| it.start))?;
    table.put("length_ns", each().map(|(_, it)| it.length))?;
    Ok(table)
}

fn windows<'py>(py: Python<'py>, streams: &[Stream]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let each = || {
        let rows = (0u32..).zip(streams);
        rows.flat_map(|(row, it)| {
            let windows = it.series.as_ref().map_or(&[][..], Series::windows);
            windows
                .iter()
                .map(move |&(index, window)| (row, index, window))
        })
    };
    table.put("stream", each().map(|(row, _, _)| row))?;
    table.put("index", each().map(|(_, index, _)| index))?;
    table.put("packets", each().map(|(_, _, it)| it.packets))?;
    table.put("bytes", each().map(|(_, _, it)| it.bytes))?;
    table.put("repeated", each().map(|(_, _, it)| it.repeated))?;
    table.put("filled", each().map(|(_, _, it)| it.filled))?;
    table.put("marks", each().map(|(_, _, it)| it.marks))?;
    let real = |column: &str, value: fn(Window) -> Option<f64>| {
        table.put(column, each().map(|(_, _, it)| known(value(it))))
    };
    real("flight_least", |it| it.flight.map(|it| f64::from(it.0)))?;
    real("flight_most", |it| it.flight.map(|it| f64::from(it.1)))?;
    real("behind_least_ns", |it| it.behind.map(|it| time(it.0)))?;
    real("behind_most_ns", |it| it.behind.map(|it| time(it.1)))?;
    real("before_least_ns", |it| it.before.map(time))?;
    real("receive_window_least", |it| {
        it.receive_window.map(f64::from)
    })?;
    Ok(table)
}

/// The value, or NaN if it was not observed.
fn known(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

fn time(nanoseconds: u64) -> f64 {
    nanoseconds as f64
}
