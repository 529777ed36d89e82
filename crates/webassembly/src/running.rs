//! The instance of a module in one run: its memory, the states of connections, and the budget of
//! instructions.

use std::collections::BTreeMap;
use std::fmt;

use forebay_random::{Stream, StreamKey};
use wasmtime::{
    FuncType, Linker, Memory, Store, Trap, TypedFunc, Val, ValType, WasmParams, WasmResults,
};

use crate::code::{Code, reason};
use crate::exchange::Exchange;
use crate::interface::{self, IMPORTS, NAMED, drawn, exact, is_random};
use crate::limits::Limits;
use crate::module::Module;
use crate::states::States;

/// The data beside an instance.
struct Data {
    limits: Limits,
    /// Random streams of connections, and the one whose method runs.
    streams: Vec<Stream>,
    current: usize,
}

/// Functions of one argument, the address of a state.
pub(crate) type Method<R = ()> = TypedFunc<u32, R>;

/// The methods of a module; none where it has no such export.
#[derive(Default)]
pub(crate) struct Methods {
    named: BTreeMap<&'static str, Method>,
    /// The methods that run for each acknowledgment.
    pub(crate) on_ack: Option<Method>,
    pub(crate) on_sample: Option<Method>,
    pub(crate) pacing_rate: Option<Method<f64>>,
    pub(crate) recovery_floor: Option<Method<f64>>,
    pub(crate) on_undo: Option<TypedFunc<(u32, u32), ()>>,
}

/// One instance.
pub(crate) struct Running {
    pub(crate) core: Core,
    pub(crate) methods: Methods,
    instance: wasmtime::Instance,
    states: States,
    has_random_numbers: bool,
}

/// The parts of an instance that a call changes, apart from the methods: a copy of a method costs
/// more than a call.
pub(crate) struct Core {
    store: Store<Data>,
    memory: Memory,
    exchange: usize,
    /// Instructions that remain for the run.
    left: u64,
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Running({} instructions left)", self.core.left)
    }
}

impl Running {
    /// A new instance. Its start function runs, within the limits of a call.
    pub(crate) fn new(module: &Module) -> Result<Self, String> {
        let limits = module.limits;
        let data = Data {
            limits,
            streams: Vec::new(),
            current: 0,
        };
        let mut store = Store::new(module.code.module().engine(), data);
        store.limiter(|data| &mut data.limits);
        let failed =
            |error: wasmtime::Error| format!("the module does not start: {}", told(&error));
        store.set_fuel(limits.call).map_err(failed)?;
        let linker = linker(&module.code).map_err(failed)?;
        let instance = linker
            .instantiate(&mut store, module.code.module())
            .map_err(failed)?;
        let memory = instance
            .get_memory(&mut store, "memory")
            .ok_or("found no export `memory`")?;
        let mut running = Self {
            core: Core {
                store,
                memory,
                exchange: 0,
                left: limits.run,
            },
            methods: Methods::default(),
            instance,
            states: States::new(module.facts.state_bytes),
            has_random_numbers: module.code.has_random_numbers(),
        };
        running.methods = running.found_methods(&module.code);
        let address = running.number("forebay_exchange")?;
        let size = running.core.memory.data_size(&running.core.store);
        running.core.exchange = interface::check_exchange(address, size)?;
        Ok(running)
    }

    fn found_methods(&mut self, code: &Code) -> Methods {
        let mut named = BTreeMap::new();
        for name in NAMED {
            if code.has(name)
                && let Some(found) = self.typed(name)
            {
                named.insert(name, found);
            }
        }
        Methods {
            named,
            on_ack: self.typed("on_ack"),
            on_sample: self.typed("on_sample"),
            pacing_rate: self.typed("pacing_rate"),
            recovery_floor: self.typed("recovery_floor"),
            on_undo: self.typed("on_undo"),
        }
    }

    fn typed<P: WasmParams, R: WasmResults>(&mut self, name: &str) -> Option<TypedFunc<P, R>> {
        self.instance
            .get_typed_func(&mut self.core.store, name)
            .ok()
    }

    /// The result of a function without arguments.
    pub(crate) fn number(&mut self, name: &str) -> Result<i32, String> {
        let function: TypedFunc<(), i32> = self
            .typed(name)
            .ok_or_else(|| format!("found no export `{name}`"))?;
        self.core.call(name, &function, ())
    }

    /// The text of `forebay_describe`, which ends with a zero.
    pub(crate) fn description(&mut self) -> Result<String, String> {
        let at = self.number("forebay_describe")? as u32 as usize;
        let memory = self.core.memory.data(&self.core.store);
        interface::description(memory.get(at..).unwrap_or_default())
    }

    /// The same for a method by its name; none if the module has no such method.
    pub(crate) fn call_named(
        &mut self,
        name: &'static str,
        at: (u32, usize),
        exchange: &Exchange,
    ) -> Result<Option<[u8; 16]>, String> {
        let Some(method) = self.methods.named.get(name) else {
            return Ok(None);
        };
        let called = self.core.call_with(name, method, at, exchange);
        called.map(|((), window)| Some(window))
    }

    /// The number of a connection's random stream.
    pub(crate) fn add_stream(&mut self, key: StreamKey) -> usize {
        if !self.has_random_numbers {
            return 0;
        }
        let streams = &mut self.core.store.data_mut().streams;
        streams.push(key.stream());
        streams.len() - 1
    }

    /// A state of zeros.
    pub(crate) fn allocate(&mut self) -> Result<u32, String> {
        let pages = self.states.missing_pages();
        if pages > 0 {
            let begin = self.core.memory.data_size(&self.core.store);
            let grown = self.core.memory.grow(&mut self.core.store, pages as u64);
            grown.map_err(|error| {
                format!("no memory for the state of a connection: {}", told(&error))
            })?;
            self.states.add(begin, pages);
        }
        let state = self.states.take()?;
        let (from, to) = (state as usize, state as usize + self.states.bytes);
        self.core.memory.data_mut(&mut self.core.store)[from..to].fill(0);
        Ok(state)
    }

    /// A copy of a state.
    pub(crate) fn copy(&mut self, state: u32) -> Result<u32, String> {
        let copy = self.allocate()?;
        let (from, bytes) = (state as usize, self.states.bytes);
        let memory = self.core.memory.data_mut(&mut self.core.store);
        memory.copy_within(from..from + bytes, copy as usize);
        Ok(copy)
    }

    /// Gives a state back.
    pub(crate) fn release(&mut self, state: u32) {
        self.states.release(state);
    }
}

impl Core {
    /// Calls a function within the limits of instructions.
    #[inline]
    pub(crate) fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        name: &str,
        function: &TypedFunc<P, R>,
        arguments: P,
    ) -> Result<R, String> {
        let budget = self.store.data().limits.call.min(self.left);
        let fuel = self.store.set_fuel(budget);
        fuel.map_err(|error| told(&error))?;
        let result = function.call(&mut self.store, arguments);
        let left = self.store.get_fuel().unwrap_or(0);
        self.left -= budget - left;
        result.map_err(|error| {
            let out = matches!(error.downcast_ref::<Trap>(), Some(Trap::OutOfFuel));
            let limits = self.store.data().limits;
            match out {
                true if budget < limits.call => {
                    format!("the run needs more than {} instructions", limits.run)
                }
                true => format!("`{name}` needs more than {} instructions", limits.call),
                false => format!("`{name}` failed: {}", told(&error)),
            }
        })
    }

    /// Writes the structure, calls a method with a state, and reads the first 16 bytes.
    #[inline]
    pub(crate) fn call_with<R: WasmResults>(
        &mut self,
        name: &'static str,
        method: &Method<R>,
        (state, stream): (u32, usize),
        exchange: &Exchange,
    ) -> Result<(R, [u8; 16]), String> {
        self.store.data_mut().current = stream;
        let bytes = exchange.bytes();
        let at = self.exchange;
        let memory = self.memory.data_mut(&mut self.store);
        memory[at..at + bytes.len()].copy_from_slice(bytes);
        let result = self.call(name, method, state)?;
        let mut window = [0; 16];
        window.copy_from_slice(&self.memory.data(&self.store)[at..at + 16]);
        Ok((result, window))
    }
}

/// The functions that a module may import.
fn linker(code: &Code) -> Result<Linker<Data>, wasmtime::Error> {
    let engine = code.module().engine();
    let mut linker = Linker::new(engine);
    for (name, arguments) in IMPORTS {
        let ty = FuncType::new(engine, vec![ValType::F64; arguments], [ValType::F64]);
        linker.func_new("forebay", name, ty, move |mut caller, values, results| {
            let value = if is_random(name) {
                let data: &mut Data = caller.data_mut();
                let current = data.current;
                let stream = data
                    .streams
                    .get_mut(current)
                    .ok_or_else(|| wasmtime::Error::msg("there is no connection yet"))?;
                drawn(name, stream)
            } else {
                let at = |index: usize| values.get(index).and_then(Val::f64).unwrap_or(f64::NAN);
                exact(name, at(0), at(1)).unwrap_or(f64::NAN)
            };
            results[0] = Val::F64(value.to_bits());
            Ok(())
        })?;
    }
    Ok(linker)
}

/// The reason of a failed call.
fn told(error: &wasmtime::Error) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => "it needs too many instructions".to_owned(),
        Some(trap) => trap.to_string().replace("wasm trap: ", ""),
        None => reason(error),
    }
}
