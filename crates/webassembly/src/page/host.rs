//! The functions of the page around the engines, which runs modules beside them, and those that
//! modules import. `lab/src/engine/user_modules.ts` is the other side.
//!
//! Addresses are those of the engines' memory. A call returns 0 for a failure, whose reason
//! [`error`] returns.

#![expect(
    unsafe_code,
    reason = "functions of a page are an unsafe block; nothing here reads through an address"
)]

use std::cell::RefCell;

use forebay_random::Stream;

use crate::exchange::BYTES;
use crate::facts::line;
use crate::interface::{IMPORTS, drawn, exact, is_random};

/// Longest reason of a failure, in bytes.
const MOST_REASON: usize = 800;

mod page {
    #[link(wasm_import_module = "page")]
    unsafe extern "C" {
        pub(super) safe fn compile(
            bytes: *const u8,
            length: usize,
            names: *const u8,
            of: usize,
        ) -> u32;
        pub(super) safe fn start(module: u32) -> u32;
        pub(super) safe fn stop(instance: u32);
        pub(super) safe fn method(instance: u32, name: *const u8, length: usize) -> u32;
        pub(super) safe fn call(
            instance: u32,
            method: u32,
            first: u32,
            second: u32,
            at: usize,
            exchange: *mut u8,
            length: usize,
        ) -> u32;
        pub(super) safe fn size(instance: u32) -> usize;
        pub(super) safe fn grow(instance: u32, pages: usize) -> u32;
        pub(super) safe fn copy(instance: u32, from: usize, to: usize, length: usize);
        pub(super) safe fn fill(instance: u32, at: usize, length: usize);
        pub(super) safe fn read(instance: u32, at: usize, into: *mut u8, length: usize) -> usize;
        pub(super) safe fn error(into: *mut u8, length: usize) -> usize;
    }
}

thread_local! {
    /// Random numbers of the connection whose method runs.
    static RANDOM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// The structure of a call, at an address that the page reads as words.
#[repr(C, align(8))]
pub(crate) struct Buffer(pub(crate) [u8; BYTES]);

/// Compiles a module, which may import functions of these names. The result is its number.
pub(crate) fn compile(bytes: &[u8], names: &str) -> Option<u32> {
    let number = page::compile(bytes.as_ptr(), bytes.len(), names.as_ptr(), names.len());
    (number > 0).then_some(number)
}

/// Makes an instance.
pub(crate) fn start(module: u32) -> Option<u32> {
    let instance = page::start(module);
    (instance > 0).then_some(instance)
}

/// Forgets an instance.
pub(crate) fn stop(instance: u32) {
    page::stop(instance);
}

/// The number of an exported function.
pub(crate) fn method(instance: u32, name: &str) -> Option<u32> {
    let number = page::method(instance, name.as_ptr(), name.len());
    (number > 0).then_some(number)
}

/// Calls a function with up to two arguments. The page copies `length` bytes of the structure to
/// the address `at` of the module, and its first 16 bytes back. The result is in the next 8 bytes.
#[inline]
pub(crate) fn call(
    (instance, method): (u32, u32),
    (first, second): (u32, u32),
    (at, length): (usize, usize),
    exchange: &mut Buffer,
) -> bool {
    let into = exchange.0.as_mut_ptr();
    page::call(instance, method, first, second, at, into, length) > 0
}

/// The size of an instance's memory, in bytes.
pub(crate) fn size(instance: u32) -> usize {
    page::size(instance)
}

/// Grows the memory of an instance. Returns false at its limit.
pub(crate) fn grow(instance: u32, pages: usize) -> bool {
    page::grow(instance, pages) > 0
}

/// Copies bytes within the memory of an instance.
pub(crate) fn copy(instance: u32, from: usize, to: usize, length: usize) {
    page::copy(instance, from, to, length);
}

/// Fills bytes of the memory of an instance with zeros.
pub(crate) fn fill(instance: u32, at: usize, length: usize) {
    page::fill(instance, at, length);
}

/// Bytes of the memory of an instance, fewer at its end.
pub(crate) fn read(instance: u32, at: usize, most: usize) -> Vec<u8> {
    let mut bytes = vec![0; most];
    let length = page::read(instance, at, bytes.as_mut_ptr(), most);
    bytes.truncate(length);
    bytes
}

/// The reason of the last failure, in one line.
pub(crate) fn error() -> String {
    let mut bytes = vec![0; MOST_REASON];
    let length = page::error(bytes.as_mut_ptr(), MOST_REASON);
    bytes.truncate(length);
    line(&String::from_utf8_lossy(&bytes))
}

/// Sets the random numbers for the next call and returns those after the last one.
pub(crate) fn replace_random(stream: Option<Stream>) -> Option<Stream> {
    RANDOM.replace(stream)
}

/// The result of a function that a module imports, by its number among them. NaN if there is no
/// connection whose random numbers it could use. The page calls it during a call of the module.
pub fn imported(number: usize, x: f64, y: f64) -> f64 {
    let Some((name, _)) = IMPORTS.get(number) else {
        return f64::NAN;
    };
    let found = if is_random(name) {
        RANDOM.with_borrow_mut(|stream| stream.as_mut().map(|stream| drawn(name, stream)))
    } else {
        exact(name, x, y)
    };
    found.unwrap_or(f64::NAN)
}
