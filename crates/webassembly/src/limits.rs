//! The limits of a module: instructions, memory and tables.

#[cfg(feature = "runtime")]
use wasmtime::{Error, ResourceLimiter};

/// The limits of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most instructions of one call.
    pub call: u64,
    /// Most instructions of all calls of a run.
    pub run: u64,
    /// Most memory, in bytes.
    pub memory: usize,
    /// Most elements of a table.
    pub table: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            call: 100_000_000,
            run: 1_000_000_000_000,
            memory: 64 << 20,
            table: 10_000,
        }
    }
}

#[cfg(feature = "runtime")]
impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, _: usize, wanted: usize, _: Option<usize>) -> Result<bool, Error> {
        if wanted > self.memory {
            let most = self.memory >> 20;
            return Err(Error::msg(format!(
                "found a memory of {wanted} bytes; allowed: {most} MiB"
            )));
        }
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, wanted: usize, _: Option<usize>) -> Result<bool, Error> {
        if wanted > self.table {
            let most = self.table;
            return Err(Error::msg(format!(
                "found a table of {wanted} elements; allowed: {most}"
            )));
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        4
    }

    fn memories(&self) -> usize {
        1
    }
}
