//! A module in a page: its file is checked before the browser compiles it.

use std::fmt;
use std::sync::Arc;

use crate::binary::{self, Binary};
use crate::facts::Facts;
use crate::host;
use crate::interface::{IMPORTS, check_exports, check_import};
use crate::limits::Limits;
use crate::running::Running;
use crate::{ABI, MOST_BYTES};

/// A module that can run.
#[derive(Clone)]
pub struct Module {
    pub(crate) file: Arc<str>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) limits: Limits,
    /// Number by which the page knows the compiled module.
    pub(crate) number: u32,
    binary: Arc<Binary>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({})", self.file)
    }
}

impl Module {
    /// Compiles a module and asks it for its facts. `file` is its name in errors. The page has no
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
        let mut binary = binary::read(bytes, limits)?;
        for (module, name, item) in &binary.imports {
            check_import(module, name, item)?;
        }
        check_exports(|name| binary.export(name))?;
        let names = IMPORTS.map(|(name, _)| name).join(",");
        let number = host::compile(&binary.limited, &names)
            .ok_or_else(|| format!("the module is not valid: {}", host::error()))?;
        binary.limited = Vec::new();
        let mut module = Self {
            file: file.into(),
            facts: Arc::default(),
            limits,
            number,
            binary: Arc::new(binary),
        };
        let mut running = Running::new(&module)?;
        let abi = running.number("forebay_abi")?;
        if abi != ABI {
            return Err(format!("`forebay_abi` returned {abi}; allowed: {ABI}"));
        }
        let has_samples = module.has("on_sample") || module.has("pacing_rate");
        let facts = Facts::read(&running.description()?, has_samples)?;
        module.facts = Arc::new(facts);
        Ok(module)
    }

    /// The facts that the module tells.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.binary.export(name).is_some()
    }

    pub(crate) fn has_random_numbers(&self) -> bool {
        let mut imports = self.binary.imports.iter();
        imports.any(|(_, name, _)| name.starts_with("random_"))
    }
}
