//! The code of a module in a page. Its imports and exports are checked before the browser compiles
//! it.

use std::sync::Arc;

use crate::binary::{self, Binary};
use crate::host;
use crate::interface::{IMPORTS, check_exports, check_import, is_random};
use crate::limits::Limits;

/// The compiled code of a module.
#[derive(Clone)]
pub(crate) struct Code {
    /// Number by which the page knows it.
    pub(crate) number: u32,
    binary: Arc<Binary>,
}

impl Code {
    pub(crate) fn compile(bytes: &[u8], limits: Limits) -> Result<Self, String> {
        let mut binary = binary::read(bytes, limits)?;
        for (module, name, item) in &binary.imports {
            check_import(module, name, item)?;
        }
        check_exports(|name| binary.export(name))?;
        let names = IMPORTS.map(|(name, _)| name).join(",");
        let number = host::compile(&binary.limited, &names)
            .ok_or_else(|| format!("the module is not valid: {}", host::error()))?;
        binary.limited = Vec::new();
        Ok(Self {
            number,
            binary: Arc::new(binary),
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.binary.export(name).is_some()
    }

    pub(crate) fn has_random_numbers(&self) -> bool {
        let mut imports = self.binary.imports.iter();
        imports.any(|(_, name, _)| is_random(name))
    }
}
