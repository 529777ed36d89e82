//! Columns of NumPy in dictionaries, and parts that several tables share.

use forebay_capture::{Amount, Bins, Crossed, Crossing, Merge};
use forebay_units::LogHistogram;
use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// A dictionary of columns.
pub(super) trait Table {
    /// Adds a column.
    fn put<T: Element>(&self, column: &str, values: impl Iterator<Item = T>) -> PyResult<()>;
}

impl Table for Bound<'_, PyDict> {
    fn put<T: Element>(&self, column: &str, values: impl Iterator<Item = T>) -> PyResult<()> {
        self.set_item(column, PyArray1::from_vec(self.py(), values.collect()))
    }
}

/// Numbers of packets and bytes.
pub(super) fn amount(amount: Amount) -> (u64, u64) {
    (amount.packets, amount.bytes)
}

/// A histogram: the bounds of each bin that is not empty, and its count.
pub(super) fn histogram<'py, const PRECISION: u32>(
    py: Python<'py>,
    counted: &LogHistogram<PRECISION>,
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.put("least", counted.bins().map(|it| it.least))?;
    table.put("most", counted.bins().map(|it| it.most))?;
    table.put("count", counted.bins().map(|it| it.count))?;
    Ok(table)
}

/// The origin and the width of bins; the caller adds their columns.
pub(super) fn bins<'py, T: Merge + Clone + Default>(
    py: Python<'py>,
    bins: &Bins<T>,
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("origin_ns", bins.origin())?;
    table.set_item("width_ns", bins.width())?;
    Ok(table)
}

/// A queue that was observed from both sides.
pub(super) fn crossed<'py>(py: Python<'py>, crossed: &Crossed) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("strangers", crossed.strangers)?;
    table.set_item("hurried", crossed.hurried)?;
    table.set_item("unattributed", crossed.unattributed)?;
    let directions = crossed.directions.iter();
    let directions: PyResult<Vec<_>> = directions.map(|it| crossing(py, it)).collect();
    table.set_item("directions", PyList::new(py, directions?)?)?;
    Ok(table)
}

fn crossing<'py>(py: Python<'py>, crossing: &Crossing) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("through", amount(crossing.through))?;
    table.set_item("dropped", amount(crossing.dropped))?;
    table.set_item("unfinished", amount(crossing.unfinished))?;
    table.set_item("marked", crossing.marked)?;
    table.set_item("negative", crossing.negative)?;
    table.set_item("largest_backlog", amount(crossing.largest_backlog))?;
    table.set_item("overtaken", crossing.overtaken)?;
    table.set_item("overtaken_inside", crossing.overtaken_inside)?;
    for (name, counted) in [
        ("waits_ns", &crossing.waits),
        ("backlog_bytes", &crossing.backlog),
        ("backlog_packets", &crossing.backlog_packets),
        ("backlog_bytes_at_drops", &crossing.backlog_at_drops),
        (
            "backlog_packets_at_drops",
            &crossing.backlog_packets_at_drops,
        ),
    ] {
        table.set_item(name, histogram(py, counted)?)?;
    }
    let windows = bins(py, &crossing.windows)?;
    let each = || crossing.windows.bins().iter();
    windows.put("packets", each().map(|it| it.through.packets))?;
    windows.put("bytes", each().map(|it| it.through.bytes))?;
    windows.put("dropped_packets", each().map(|it| it.dropped.packets))?;
    windows.put("dropped_bytes", each().map(|it| it.dropped.bytes))?;
    windows.put("wait_sum_ns", each().map(|it| it.wait))?;
    let wait = |wait: Option<i64>| wait.map_or(f64::NAN, |it| it as f64);
    windows.put(
        "wait_least_ns",
        each().map(|it| wait(it.waits.map(|it| it.0))),
    )?;
    windows.put(
        "wait_most_ns",
        each().map(|it| wait(it.waits.map(|it| it.1))),
    )?;
    windows.put("backlog_most_bytes", each().map(|it| it.backlog))?;
    table.set_item("windows", windows)?;
    let offsets = bins(py, &crossing.offsets)?;
    let each = crossing.offsets.bins().iter();
    offsets.put("wait_least_ns", each.map(|it| wait(it.0)))?;
    table.set_item("offsets", offsets)?;
    Ok(table)
}
