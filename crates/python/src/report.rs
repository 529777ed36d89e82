//! Reports: JSON for small values, NumPy arrays for traces.

use std::collections::BTreeMap;
use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::ForebayError;

/// The answer of an engine.
#[pyclass(frozen, module = "forebay._core")]
pub(crate) struct Report(
    pub(crate) Arc<forebay_scenario::Report>,
    /// Traces of a run in another process.
    Option<Py<PyDict>>,
);

impl Report {
    pub(crate) fn new(report: forebay_scenario::Report) -> Self {
        Self(Arc::new(report), None)
    }

    /// Traces of a run in another process.
    pub(crate) fn traces_elsewhere(&self, py: Python<'_>) -> Option<Py<PyDict>> {
        self.1.as_ref().map(|traces| traces.clone_ref(py))
    }
}

#[pymethods]
impl Report {
    /// Return the same report with the traces of a run in another process.
    pub(crate) fn with_traces(&self, traces: Py<PyDict>) -> Self {
        Self(self.0.clone(), Some(traces))
    }

    /// Return the report as JSON.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&*self.0).map_err(|error| ForebayError::new_err(error.to_string()))
    }

    /// Return the report as a text from which `restored` makes the same report, without traces.
    fn to_cached(&self) -> PyResult<String> {
        let cached = self.0.to_cached();
        cached.map_err(|error| ForebayError::new_err(error.to_string()))
    }

    /// Return the report that was stored as this text; None if the text is not one.
    #[staticmethod]
    fn from_cached(text: &str) -> Option<Self> {
        forebay_scenario::Report::from_cached(text).map(Self::new)
    }

    /// Return the warnings: kind, subject, figures by name, and sentence of each.
    fn warnings(&self) -> Vec<(&'static str, &str, BTreeMap<&str, f64>, &str)> {
        let warnings = self.0.warnings.iter();
        warnings
            .map(|it| {
                let (subject, text) = (it.subject.as_str(), it.text.as_str());
                let values = it.values.iter().map(|(name, value)| (&**name, *value));
                (it.kind.name(), subject, values.collect(), text)
            })
            .collect()
    }

    /// Return the traces: {table: {column: array}}, or None. The tables are "flows", "queue",
    /// "packets", "transfers" and "pauses". The column `link` of pauses is a list.
    fn traces<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if let Some(traces) = &self.1 {
            return Ok(Some(traces.bind(py).clone()));
        }
        let Some(traces) = &self.0.traces else {
            return Ok(None);
        };
        let all = PyDict::new(py);
        let table = PyDict::new(py);
        let rows = &traces.flows;
        put(&table, "time_s", rows.iter().map(|x| x.time_s))?;
        put(&table, "flow", rows.iter().map(|x| x.flow))?;
        put(&table, "group", rows.iter().map(|x| x.group))?;
        put(&table, "transfer", rows.iter().map(|x| x.transfer))?;
        put(&table, "cwnd_packets", rows.iter().map(|x| x.cwnd_packets))?;
        put(
            &table,
            "ssthresh_packets",
            rows.iter().map(|x| x.ssthresh_packets),
        )?;
        put(&table, "rtt_s", rows.iter().map(|x| x.rtt_s))?;
        all.set_item("flows", table)?;
        let table = PyDict::new(py);
        let rows = &traces.queue;
        put(&table, "time_s", rows.iter().map(|x| x.time_s))?;
        put(&table, "packets", rows.iter().map(|x| x.packets))?;
        put(&table, "delay_s", rows.iter().map(|x| x.delay_s))?;
        put(&table, "utilization", rows.iter().map(|x| x.utilization))?;
        all.set_item("queue", table)?;
        let table = PyDict::new(py);
        let rows = &traces.packets;
        put(&table, "time_s", rows.iter().map(|x| x.time_s))?;
        put(&table, "flow", rows.iter().map(|x| x.flow))?;
        put(&table, "group", rows.iter().map(|x| x.group))?;
        put(&table, "connection", rows.iter().map(|x| x.connection))?;
        put(&table, "packet", rows.iter().map(|x| x.packet))?;
        put(&table, "bytes", rows.iter().map(|x| x.bytes))?;
        put(&table, "ack", rows.iter().map(|x| x.segment.acknowledges()))?;
        put(&table, "syn", rows.iter().map(|x| x.segment.opens()))?;
        put(&table, "dropped", rows.iter().map(|x| x.dropped))?;
        put(&table, "marked", rows.iter().map(|x| x.marked))?;
        put(&table, "wait_s", rows.iter().map(|x| x.wait_s))?;
        all.set_item("packets", table)?;
        let table = PyDict::new(py);
        let rows = &traces.transfers;
        put(&table, "group", rows.iter().map(|x| x.group))?;
        put(&table, "user", rows.iter().map(|x| x.user))?;
        put(&table, "transfer", rows.iter().map(|x| x.transfer))?;
        put(&table, "begun_s", rows.iter().map(|x| x.begun_s))?;
        put(&table, "completed_s", rows.iter().map(|x| x.completed_s))?;
        put(
            &table,
            "first_signal_s",
            rows.iter().map(|x| x.first_signal_s),
        )?;
        put(&table, "packets", rows.iter().map(|x| x.packets))?;
        put(&table, "arrived", rows.iter().map(|x| x.arrived))?;
        put(&table, "dropped", rows.iter().map(|x| x.dropped))?;
        // The second name is deprecated.
        for name in ["drops_off_target", "lost_elsewhere"] {
            put(&table, name, rows.iter().map(|x| x.drops_off_target))?;
        }
        all.set_item("transfers", table)?;
        let table = PyDict::new(py);
        let rows = &traces.pauses;
        let links: Vec<_> = rows.iter().map(|x| x.link.as_str()).collect();
        table.set_item("link", links)?;
        put(&table, "group", rows.iter().map(|x| x.group))?;
        put(&table, "flow", rows.iter().map(|x| x.flow))?;
        put(&table, "begun_s", rows.iter().map(|x| x.begun_s))?;
        put(&table, "ended_s", rows.iter().map(|x| x.ended_s))?;
        all.set_item("pauses", table)?;
        Ok(Some(all))
    }

    /// Write the traced packets as a capture for tshark and Wireshark. Return whether there were
    /// any.
    fn write_pcapng(&self, path: std::path::PathBuf) -> PyResult<bool> {
        match &self.0.traces {
            Some(traces) if !traces.packets.is_empty() => {
                forebay_engines::write_pcapng(traces, &path)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

fn put<T: numpy::Element>(
    table: &Bound<'_, PyDict>,
    column: &str,
    values: impl Iterator<Item = T>,
) -> PyResult<()> {
    let array = PyArray1::from_vec(table.py(), values.collect());
    table.set_item(column, array)
}
