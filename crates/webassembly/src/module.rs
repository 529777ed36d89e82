//! A module that can run: its file is checked before any of its code runs.

use std::fmt;
use std::sync::Arc;

use crate::MOST_BYTES;
use crate::code::Code;
use crate::facts::Facts;
use crate::limits::Limits;
use crate::running::Running;

/// A module that can run.
#[derive(Clone)]
pub struct Module {
    pub(crate) file: Arc<str>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) limits: Limits,
    pub(crate) code: Code,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({})", self.file)
    }
}

impl Module {
    /// Compiles a module and asks it for its facts. `file` is its name in errors. A page has no
    /// limits of instructions; it ends a worker that does not answer.
    ///
    /// # Errors
    /// A text of one line: wrong file, import, export or description.
    pub fn compile(file: &str, bytes: &[u8], limits: Limits) -> Result<Self, String> {
        Self::compiled(bytes, limits, file).map_err(|text| format!("{file}: {text}"))
    }

    fn compiled(bytes: &[u8], limits: Limits, file: &str) -> Result<Self, String> {
        if bytes.len() > MOST_BYTES {
            let found = bytes.len();
            return Err(format!(
                "found {found} bytes; allowed: at most {MOST_BYTES}"
            ));
        }
        if !bytes.starts_with(b"\0asm") {
            return Err("found no WebAssembly module; allowed: a binary `.wasm` file".to_owned());
        }
        let mut module = Self {
            file: file.into(),
            facts: Arc::default(),
            limits,
            code: Code::compile(bytes, limits)?,
        };
        // A pace needs the times of packets, which the engine keeps for samples.
        let has_samples = module.has("on_sample") || module.has("pacing_rate");
        let facts = Facts::of(&mut Running::new(&module)?, has_samples)?;
        module.facts = Arc::new(facts);
        Ok(module)
    }

    /// The facts that the module tells.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.code.has(name)
    }
}
