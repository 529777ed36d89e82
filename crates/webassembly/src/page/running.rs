//! The instance of a module in one run, beside the engines in a page: the states of connections in
//! its memory.

use std::fmt;
use std::marker::PhantomData;

use forebay_random::{Stream, StreamKey};

use crate::binary::PAGE;
use crate::exchange::{BYTES, Exchange};
use crate::host::{self, Buffer};
use crate::limits::Limits;
use crate::module::Module;

/// Longest description, in bytes.
const MOST_DESCRIPTION: usize = 1 << 14;
/// Alignment of states, in bytes.
const ALIGNMENT: usize = 16;

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
    state_bytes: usize,
    /// Addresses of states that no connection has.
    free: Vec<u32>,
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
        let instance = host::start(module.number)
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
            state_bytes: module.facts.state_bytes as usize,
            free: Vec::new(),
            has_random_numbers: module.has_random_numbers(),
        };
        let exchange = running.number("forebay_exchange")? as u32 as usize;
        if !exchange.is_multiple_of(8) || exchange.saturating_add(BYTES) > running.core.size() {
            return Err(format!(
                "`forebay_exchange` returned {exchange}; allowed: the address of 256 bytes, a \
                 multiple of 8"
            ));
        }
        running.core.exchange = exchange;
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
        let text = host::read(self.core.instance.0, at, MOST_DESCRIPTION);
        let end = text.iter().position(|byte| *byte == 0);
        let text = end.and_then(|end| std::str::from_utf8(&text[..end]).ok());
        text.map(str::to_owned).ok_or_else(|| {
            "`forebay_describe`: found no text; allowed: JSON in UTF-8 that ends with a zero, of at \
             most 16384 bytes"
                .to_owned()
        })
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
        if self.free.is_empty() {
            self.grow()?;
        }
        let state = self.free.pop().ok_or("found no room for a state")?;
        host::fill(self.core.instance.0, state as usize, self.state_bytes);
        Ok(state)
    }

    /// Takes pages of the memory for states.
    fn grow(&mut self) -> Result<(), String> {
        let size = self.state_bytes.max(1).next_multiple_of(ALIGNMENT);
        let pages = size.div_ceil(PAGE);
        let begin = self.core.size();
        let end = begin + pages * PAGE;
        if !host::grow(self.core.instance.0, pages) {
            let most = self.core.limits.memory >> 20;
            return Err(format!(
                "no memory for the state of a connection: found a memory of {end} bytes; allowed: \
                 {most} MiB"
            ));
        }
        // The lowest address is the first to be used.
        let states = (begin..=end - size).step_by(size).map(|at| at as u32);
        self.free
            .extend(states.collect::<Vec<_>>().into_iter().rev());
        Ok(())
    }

    /// A copy of a state.
    pub(crate) fn copy(&mut self, state: u32) -> Result<u32, String> {
        let copy = self.allocate()?;
        let (from, to) = (state as usize, copy as usize);
        host::copy(self.core.instance.0, from, to, self.state_bytes);
        Ok(copy)
    }

    /// Gives a state back.
    pub(crate) fn release(&mut self, state: u32) {
        self.free.push(state);
    }
}

impl Methods {
    fn of(instance: &Instance) -> Self {
        let names = [
            "create",
            "on_open",
            "on_congestion_event",
            "on_timeout",
            "on_idle",
        ];
        let named = names.into_iter();
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
