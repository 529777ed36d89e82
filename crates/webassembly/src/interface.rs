//! The functions of the interface, with their types and the texts of refusals. Each runtime
//! describes a module as [`Item`]s and calls the checks.

use std::borrow::Cow;
use std::sync::Arc;

use forebay_random::Stream;

use crate::exchange::BYTES;
use crate::facts::line;

/// Longest description, in bytes.
pub(crate) const MOST_DESCRIPTION: usize = 1 << 14;
/// The methods that are called by their names, because they are called seldom.
pub(crate) const NAMED: [&str; 5] = [
    "create",
    "on_open",
    "on_congestion_event",
    "on_timeout",
    "on_idle",
];

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

/// An import or an export of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A memory of 32 bits that is not shared.
    Memory,
    Function(Arc<Signature>),
    Other,
}

/// The types of a function, by their names in the text format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) arguments: Vec<Cow<'static, str>>,
    pub(crate) results: Vec<Cow<'static, str>>,
}

impl Signature {
    fn is(&self, arguments: (usize, &str), results: &[&str]) -> bool {
        self.arguments.len() == arguments.0
            && self.arguments.iter().all(|ty| ty == arguments.1)
            && self.results == results
    }

    fn shown(&self) -> String {
        let (arguments, results) = (self.arguments.join(", "), self.results.join(", "));
        format!("({arguments}) -> ({results})")
    }
}

impl Export {
    fn results(self) -> &'static [&'static str] {
        match self.result {
            None => &[],
            Some(Returns::Address) => &["i32"],
            Some(Returns::Real) => &["f64"],
        }
    }

    fn shown(self) -> String {
        let arguments = vec!["i32"; self.arguments].join(", ");
        let result = self
            .results()
            .first()
            .map_or_else(String::new, |ty| format!(" -> {ty}"));
        format!("({arguments}){result}")
    }
}

/// Refuses an import that forebay does not have.
///
/// # Errors
/// A text of one line.
pub(crate) fn check_import(module: &str, name: &str, item: &Item) -> Result<(), String> {
    let known = IMPORTS
        .iter()
        .find(|(known, _)| module == "forebay" && name == *known);
    let place = line(&format!("{module}.{name}"));
    let Some((_, arguments)) = known else {
        let names: Vec<_> = IMPORTS.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        return Err(format!(
            "found the import `{place}`; allowed: functions of `forebay`: {names}"
        ));
    };
    match item {
        Item::Function(ty) if ty.is((*arguments, "f64"), &["f64"]) => Ok(()),
        _ => Err(format!(
            "found the import `{place}` of another type; allowed: {arguments} f64, and an f64 as \
             result"
        )),
    }
}

/// Refuses a module without the functions of the interface. `find` returns an export by its name.
///
/// # Errors
/// A text of one line.
pub(crate) fn check_exports(find: impl Fn(&str) -> Option<Item>) -> Result<(), String> {
    match find("memory") {
        Some(Item::Memory) => {}
        Some(_) => return Err("`memory`: found another export; allowed: a memory".to_owned()),
        None => return Err("found no export `memory`".to_owned()),
    }
    for export in EXPORTS {
        let name = export.name;
        let found = match find(name) {
            None if export.required => return Err(format!("found no export `{name}`")),
            None => continue,
            Some(Item::Function(ty)) if ty.is((export.arguments, "i32"), export.results()) => {
                continue;
            }
            Some(Item::Function(ty)) => line(&ty.shown()),
            Some(_) => "no function".to_owned(),
        };
        return Err(format!(
            "`{name}`: found {found}; allowed: {}",
            export.shown()
        ));
    }
    if find("on_ack").is_none() && find("on_sample").is_none() {
        return Err("found no export `on_ack` or `on_sample`".to_owned());
    }
    Ok(())
}

/// The address of the exchange, in a memory of `size` bytes.
///
/// # Errors
/// A text of one line.
pub(crate) fn check_exchange(address: i32, size: usize) -> Result<usize, String> {
    let exchange = address as u32 as usize;
    if exchange.is_multiple_of(8) && exchange.saturating_add(BYTES) <= size {
        return Ok(exchange);
    }
    Err(format!(
        "`forebay_exchange` returned {exchange}; allowed: the address of 256 bytes, a multiple of 8"
    ))
}

/// The description at the beginning of some bytes of a module's memory.
///
/// # Errors
/// A text of one line.
pub(crate) fn description(bytes: &[u8]) -> Result<String, String> {
    let bytes = &bytes[..bytes.len().min(MOST_DESCRIPTION)];
    let end = bytes.iter().position(|byte| *byte == 0);
    let text = end.and_then(|end| std::str::from_utf8(&bytes[..end]).ok());
    text.map(str::to_owned).ok_or_else(|| {
        "`forebay_describe`: found no text; allowed: JSON in UTF-8 that ends with a zero, of at \
         most 16384 bytes"
            .to_owned()
    })
}

/// Whether an import needs the random numbers of a connection.
pub(crate) fn is_random(name: &str) -> bool {
    name.starts_with("random_")
}

/// The next random number of a connection, by the name of an import.
pub(crate) fn drawn(name: &str, stream: &mut Stream) -> f64 {
    match name {
        "random_uniform" => stream.uniform(),
        "random_exponential" => stream.exponential(),
        _ => stream.normal(),
    }
}

/// The result of a function of `libm`, which is equal on every machine; none for another name. `y`
/// is the second argument of `pow`.
pub fn exact(name: &str, x: f64, y: f64) -> Option<f64> {
    Some(match name {
        "cbrt" => libm::cbrt(x),
        "cos" => libm::cos(x),
        "exp" => libm::exp(x),
        "exp2" => libm::exp2(x),
        "log" => libm::log(x),
        "log2" => libm::log2(x),
        "pow" => libm::pow(x, y),
        "sin" => libm::sin(x),
        "tanh" => libm::tanh(x),
        _ => return None,
    })
}
