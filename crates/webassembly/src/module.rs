//! A compiled module: its file is checked before any of its code runs.

use std::fmt;
use std::sync::Arc;

use wasmtime::{Config, Engine, ExternType, Val};

use crate::canonical::canonical;
use crate::facts::{Facts, line};
use crate::interface;
pub(crate) use crate::interface::IMPORTS;
use crate::interface::{Item, Signature, check_exports, check_import};
use crate::limits::Limits;
use crate::running::Running;
use crate::{ABI, MOST_BYTES};

/// A module that can run.
#[derive(Clone)]
pub struct Module {
    pub(crate) file: Arc<str>,
    pub(crate) inner: wasmtime::Module,
    pub(crate) limits: Limits,
    pub(crate) facts: Arc<Facts>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({})", self.file)
    }
}

impl Module {
    /// Compiles a module and asks it for its facts. `file` is its name in errors.
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
        let engine = engine(limits).map_err(|error| reason(&error))?;
        let invalid = |text: String| format!("the module is not valid: {text}");
        wasmtime::Module::validate(&engine, bytes).map_err(|error| invalid(reason(&error)))?;
        let bytes = canonical(bytes).map_err(invalid)?;
        let inner = wasmtime::Module::from_binary(&engine, &bytes)
            .map_err(|error| invalid(reason(&error)))?;
        check_imports(&inner)?;
        check_exports(|name| inner.get_export(name).map(|ty| item(&ty)))?;
        let mut module = Self {
            file: file.into(),
            inner,
            limits,
            facts: Arc::new(Facts {
                title: String::new(),
                state_bytes: 0,
                scalable: false,
                samples: "none",
                own_recovery: false,
                parameters: Vec::new(),
            }),
        };
        let mut running = Running::new(&module)?;
        let abi = running.number("forebay_abi")?;
        if abi != ABI {
            return Err(format!("`forebay_abi` returned {abi}; allowed: {ABI}"));
        }
        // A pace needs the times of packets, which the engine keeps for samples.
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
        self.inner.get_export(name).is_some()
    }

    pub(crate) fn has_random_numbers(&self) -> bool {
        let mut imports = self.inner.imports();
        imports.any(|import| import.name().starts_with("random_"))
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

/// Results of the functions of `libm`, which are equal on every machine.
pub(crate) fn exact(name: &str, values: &[Val]) -> f64 {
    let at = |index: usize| values.get(index).and_then(Val::f64).unwrap_or(f64::NAN);
    interface::exact(name, at(0), at(1))
}
