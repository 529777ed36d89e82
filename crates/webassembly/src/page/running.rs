//! The instance of a module in one run, beside the engines in a page: the states of connections in
//! its memory.

use std::fmt;
use std::marker::PhantomData;

use forebay_random::{Stream, StreamKey};

use crate::exchange::{BYTES, Exchange};
use crate::host::{self, Buffer};
use crate::interface::{self, MOST_DESCRIPTION, NAMED};
use crate::limits::Limits;
use crate::module::Module;
use crate::states::{PAGE, States};

/// The result of a method.
pub(crate) trait WasmResults {
    fn of(number: f64) -> Self;
}

impl WasmResults for () {
    fn of(_: f64) -> Self {}
}

impl WasmResults for f64 {
    fn of(number: f64) -> Self {
        number
    }
}

/// A function with the address of a state as its first argument.
pub(crate) struct Method<R = ()> {
    number: u32,
    result: PhantomData<R>,
}

/// The methods of a module; none where it has no such export.
pub(crate) struct Methods {
    named: Vec<(&'static str, Method)>,
    /// The methods that run for each acknowledgment.
    pub(crate) on_ack: Option<Method>,
    pub(crate) on_sample: Option<Method>,
    pub(crate) pacing_rate: Option<Method<f64>>,
    pub(crate) recovery_floor: Option<Method<f64>>,
    pub(crate) on_undo: Option<Method>,
}

/// One instance.
pub(crate) struct Running {
    pub(crate) core: Core,
    pub(crate) methods: Methods,
    states: States,
    has_random_numbers: bool,
}

/// The parts of an instance that a call changes.
pub(crate) struct Core {
    instance: Instance,
    exchange: usize,
    limits: Limits,
    /// Random streams of connections.
    streams: Vec<Stream>,
}

/// Number of an instance, which the page forgets with this value.
struct Instance(u32);

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Running({})", self.core.instance.0)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        host::stop(self.0);
    }
}

impl Running {
    /// A new instance. Its start function runs.
    pub(crate) fn new(module: &Module) -> Result<Self, String> {
        let instance = host::start(module.code.number)
            .map(Instance)
            .ok_or_else(|| format!("the module does not start: {}", host::error()))?;
        let mut running = Self {
            methods: Methods::of(&instance),
            core: Core {
                instance,
                exchange: 0,
                limits: module.limits,
                streams: Vec::new(),
            },
            states: States::new(module.facts.state_bytes),
            has_random_numbers: module.code.has_random_numbers(),
        };
        let address = running.number("forebay_exchange")?;
        running.core.exchange = interface::check_exchange(address, running.core.size())?;
        Ok(running)
    }

    /// The result of a function without arguments.
    pub(crate) fn number(&mut self, name: &str) -> Result<i32, String> {
        let method: Method<f64> = Method::of(&self.core.instance, name)
            .ok_or_else(|| format!("found no export `{name}`"))?;
        let number = self.core.call(name, &method, (0, 0))?;
        Ok(number as i32)
    }

    /// The text of `forebay_describe`, which ends with a zero.
    pub(crate) fn description(&mut self) -> Result<String, String> {
        let at = self.number("forebay_describe")? as u32 as usize;
        let bytes = host::read(self.core.instance.0, at, MOST_DESCRIPTION);
        interface::description(&bytes)
    }

    /// The same as [`Core::call_with`] for a method by its name; none if the module has no such
    /// method.
    pub(crate) fn call_named(
        &mut self,
        name: &'static str,
        at: (u32, usize),
        exchange: &Exchange,
    ) -> Result<Option<[u8; 16]>, String> {
        let mut named = self.methods.named.iter();
        let Some((_, method)) = named.find(|(known, _)| *known == name) else {
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
        self.core.streams.push(key.stream());
        self.core.streams.len() - 1
    }

    /// A state of zeros.
    pub(crate) fn allocate(&mut self) -> Result<u32, String> {
        let pages = self.states.missing_pages();
        if pages > 0 {
            let begin = self.core.size();
            if !host::grow(self.core.instance.0, pages) {
                let (end, most) = (begin + pages * PAGE, self.core.limits.memory >> 20);
                return Err(format!(
                    "no memory for the state of a connection: found a memory of {end} bytes; \
                     allowed: {most} MiB"
                ));
            }
            self.states.add(begin, pages);
        }
        let state = self.states.take()?;
        host::fill(self.core.instance.0, state as usize, self.states.bytes);
        Ok(state)
    }

    /// A copy of a state.
    pub(crate) fn copy(&mut self, state: u32) -> Result<u32, String> {
        let copy = self.allocate()?;
        let (from, to) = (state as usize, copy as usize);
        host::copy(self.core.instance.0, from, to, self.states.bytes);
        Ok(copy)
    }

    /// Gives a state back.
    pub(crate) fn release(&mut self, state: u32) {
        self.states.release(state);
    }
}

impl Methods {
    fn of(instance: &Instance) -> Self {
        let named = NAMED.into_iter();
        Self {
            named: named
                .filter_map(|name| Some((name, Method::of(instance, name)?)))
                .collect(),
            on_ack: Method::of(instance, "on_ack"),
            on_sample: Method::of(instance, "on_sample"),
            pacing_rate: Method::of(instance, "pacing_rate"),
            recovery_floor: Method::of(instance, "recovery_floor"),
            on_undo: Method::of(instance, "on_undo"),
        }
    }
}

impl<R> Method<R> {
    fn of(instance: &Instance, name: &str) -> Option<Self> {
        let number = host::method(instance.0, name)?;
        Some(Self {
            number,
            result: PhantomData,
        })
    }
}

impl Core {
    fn size(&self) -> usize {
        host::size(self.instance.0)
    }

    /// Calls a function without the structure.
    pub(crate) fn call<R: WasmResults>(
        &mut self,
        name: &str,
        method: &Method<R>,
        arguments: (u32, u32),
    ) -> Result<R, String> {
        let mut buffer = Buffer([0; BYTES]);
        let method = (self.instance.0, method.number);
        if !host::call(method, arguments, (0, 0), &mut buffer) {
            return Err(format!("`{name}` failed: {}", host::error()));
        }
        Ok(R::of(buffer.result()))
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
        let bytes = exchange.bytes();
        let mut buffer = Buffer([0; BYTES]);
        buffer.0[..bytes.len()].copy_from_slice(bytes);
        let method = (self.instance.0, method.number);
        let place = (self.exchange, bytes.len());
        let random = self.streams.get_mut(stream);
        let done = match random {
            None => host::call(method, (state, 0), place, &mut buffer),
            Some(random) => {
                host::replace_random(Some(random.clone()));
                let done = host::call(method, (state, 0), place, &mut buffer);
                if let Some(after) = host::replace_random(None) {
                    *random = after;
                }
                done
            }
        };
        if !done {
            return Err(format!("`{name}` failed: {}", host::error()));
        }
        let mut window = [0; 16];
        window.copy_from_slice(&buffer.0[..16]);
        Ok((R::of(buffer.result()), window))
    }
}

impl Buffer {
    /// The result of a call.
    fn result(&self) -> f64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[16..24]);
        f64::from_le_bytes(bytes)
    }
}
