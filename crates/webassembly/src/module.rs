//! A compiled module: its file is checked before any of its code runs.

use std::fmt;
use std::sync::Arc;

use wasmtime::{Config, Engine, ExternType, FuncType, Val};

use crate::canonical::canonical;
use crate::facts::{Facts, line};
use crate::limits::Limits;
use crate::running::Running;
use crate::{ABI, MOST_BYTES};

/// A function that a module has or may have: its name, its number of `i32` arguments and its
/// result.
#[derive(Clone, Copy)]
pub(crate) struct Export {
    pub(crate) name: &'static str,
    pub(crate) arguments: usize,
    pub(crate) result: Option<Returns>,
    pub(crate) required: bool,
}

/// The result of an export.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Returns {
    Address,
    Real,
}

const fn export(
    name: &'static str,
    arguments: usize,
    result: Option<Returns>,
    required: bool,
) -> Export {
    Export {
        name,
        arguments,
        result,
        required,
    }
}

/// All functions of the interface.
pub(crate) const EXPORTS: [Export; 13] = [
    export("forebay_abi", 0, Some(Returns::Address), true),
    export("forebay_describe", 0, Some(Returns::Address), true),
    export("forebay_exchange", 0, Some(Returns::Address), true),
    export("create", 1, None, true),
    export("on_congestion_event", 1, None, true),
    export("on_open", 1, None, false),
    export("on_ack", 1, None, false),
    export("on_sample", 1, None, false),
    export("on_timeout", 1, None, false),
    export("on_idle", 1, None, false),
    export("on_undo", 2, None, false),
    export("pacing_rate", 1, Some(Returns::Real), false),
    export("recovery_floor", 1, Some(Returns::Real), false),
];

/// Functions of `forebay` that a module may import: numbers of arguments; each returns an `f64`.
pub(crate) const IMPORTS: [(&str, usize); 12] = [
    ("cbrt", 1),
    ("cos", 1),
    ("exp", 1),
    ("exp2", 1),
    ("log", 1),
    ("log2", 1),
    ("pow", 2),
    ("sin", 1),
    ("tanh", 1),
    ("random_uniform", 0),
    ("random_exponential", 0),
    ("random_normal", 0),
];

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
        check_exports(&inner)?;
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
    for import in module.imports() {
        let known = IMPORTS
            .iter()
            .find(|(name, _)| import.module() == "forebay" && import.name() == *name);
        let place = line(&format!("{}.{}", import.module(), import.name()));
        let Some((_, arguments)) = known else {
            let names: Vec<_> = IMPORTS.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            return Err(format!(
                "found the import `{place}`; allowed: functions of `forebay`: {names}"
            ));
        };
        let ty = import.ty();
        let is_right = matches!(&ty, ExternType::Func(f)
            if f.params().len() == *arguments
                && f.params().all(|p| p.is_f64())
                && f.results().len() == 1
                && f.results().all(|r| r.is_f64()));
        if !is_right {
            return Err(format!(
                "found the import `{place}` of another type; allowed: {arguments} f64, and an f64 \
                 as result"
            ));
        }
    }
    Ok(())
}

fn check_exports(module: &wasmtime::Module) -> Result<(), String> {
    match module.get_export("memory") {
        Some(ExternType::Memory(memory)) if !memory.is_shared() && !memory.is_64() => {}
        Some(_) => return Err("`memory`: found another export; allowed: a memory".to_owned()),
        None => return Err("found no export `memory`".to_owned()),
    }
    for export in EXPORTS {
        let name = export.name;
        match module.get_export(name) {
            None if export.required => return Err(format!("found no export `{name}`")),
            None => {}
            Some(ExternType::Func(ty)) if export.fits(&ty) => {}
            Some(ExternType::Func(ty)) => {
                let found = line(&shown(&ty));
                return Err(format!(
                    "`{name}`: found {found}; allowed: {}",
                    export.shown()
                ));
            }
            Some(_) => {
                return Err(format!(
                    "`{name}`: found no function; allowed: {}",
                    export.shown()
                ));
            }
        }
    }
    if module.get_export("on_ack").is_none() && module.get_export("on_sample").is_none() {
        return Err("found no export `on_ack` or `on_sample`".to_owned());
    }
    Ok(())
}

impl Export {
    fn fits(self, ty: &FuncType) -> bool {
        let mut results = ty.results();
        let result = results.next();
        ty.params().len() == self.arguments
            && ty.params().all(|p| p.is_i32())
            && results.next().is_none()
            && match self.result {
                None => result.is_none(),
                Some(Returns::Address) => result.is_some_and(|r| r.is_i32()),
                Some(Returns::Real) => result.is_some_and(|r| r.is_f64()),
            }
    }

    fn shown(self) -> String {
        let arguments = vec!["i32"; self.arguments].join(", ");
        let result = match self.result {
            None => "",
            Some(Returns::Address) => " -> i32",
            Some(Returns::Real) => " -> f64",
        };
        format!("({arguments}){result}")
    }
}

fn shown(ty: &FuncType) -> String {
    let list = |types: &mut dyn Iterator<Item = wasmtime::ValType>| {
        types
            .map(|ty| ty.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (arguments, results) = (list(&mut ty.params()), list(&mut ty.results()));
    format!("({arguments}) -> ({results})")
}

/// The innermost cause of an error, in one line.
pub(crate) fn reason(error: &wasmtime::Error) -> String {
    line(&error.root_cause().to_string())
}

/// Results of the functions of `libm`, which are equal on every machine.
pub(crate) fn exact(name: &str, values: &[Val]) -> f64 {
    let at = |index: usize| values.get(index).and_then(Val::f64).unwrap_or(f64::NAN);
    let x = at(0);
    match name {
        "cbrt" => libm::cbrt(x),
        "cos" => libm::cos(x),
        "exp" => libm::exp(x),
        "exp2" => libm::exp2(x),
        "log" => libm::log(x),
        "log2" => libm::log2(x),
        "pow" => libm::pow(x, at(1)),
        "sin" => libm::sin(x),
        "tanh" => libm::tanh(x),
        _ => f64::NAN,
    }
}
