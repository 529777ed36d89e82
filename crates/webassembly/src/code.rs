//! The code of a module, compiled by Wasmtime. Its imports and exports are checked before it runs.

use std::sync::Arc;

use wasmtime::{Config, Engine, ExternType};

use crate::canonical::canonical;
use crate::facts::line;
use crate::interface::{Item, Signature, check_exports, check_import, is_random};
use crate::limits::Limits;

/// The compiled code of a module.
#[derive(Clone)]
pub(crate) struct Code(wasmtime::Module);

impl Code {
    pub(crate) fn compile(bytes: &[u8], limits: Limits) -> Result<Self, String> {
        let engine = engine(limits).map_err(|error| reason(&error))?;
        let invalid = |text: String| format!("the module is not valid: {text}");
        wasmtime::Module::validate(&engine, bytes).map_err(|error| invalid(reason(&error)))?;
        let bytes = canonical(bytes).map_err(invalid)?;
        let code = wasmtime::Module::from_binary(&engine, &bytes)
            .map_err(|error| invalid(reason(&error)))?;
        check_imports(&code)?;
        check_exports(|name| code.get_export(name).map(|ty| item(&ty)))?;
        Ok(Self(code))
    }

    pub(crate) fn module(&self) -> &wasmtime::Module {
        &self.0
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.get_export(name).is_some()
    }

    pub(crate) fn has_random_numbers(&self) -> bool {
        let mut imports = self.0.imports();
        imports.any(|import| is_random(import.name()))
    }
}

/// The engine, whose code has equal results everywhere and counts its instructions.
fn engine(limits: Limits) -> Result<Engine, wasmtime::Error> {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        // `canonical` takes care of numbers, and not of vectors.
        .wasm_simd(false)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_tail_call(false)
        .wasm_backtrace(false)
        // Every access is checked in the code, so that the process needs no signal handlers.
        .signals_based_traps(false)
        .memory_reservation(limits.memory as u64)
        .memory_reservation_for_growth(0)
        .memory_guard_size(0)
        .memory_may_move(false)
        .max_wasm_stack(256 << 10);
    Engine::new(&config)
}

fn check_imports(module: &wasmtime::Module) -> Result<(), String> {
    module
        .imports()
        .try_for_each(|import| check_import(import.module(), import.name(), &item(&import.ty())))
}

fn item(ty: &ExternType) -> Item {
    match ty {
        ExternType::Memory(memory) if !memory.is_shared() && !memory.is_64() => Item::Memory,
        ExternType::Func(ty) => Item::Function(Arc::new(Signature {
            arguments: ty.params().map(|ty| ty.to_string().into()).collect(),
            results: ty.results().map(|ty| ty.to_string().into()).collect(),
        })),
        _ => Item::Other,
    }
}

/// The innermost cause of an error, in one line.
pub(crate) fn reason(error: &wasmtime::Error) -> String {
    line(&error.root_cause().to_string())
}
