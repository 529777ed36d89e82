//! The binary form of a module (WebAssembly Core Specification 2.0, section 5): its imports and
//! exports with their types, because browsers tell no types, and its limits.
//!
//! [`read`] checks nothing else. The browser checks the code.

use std::borrow::Cow;
use std::sync::Arc;

use crate::interface::{Item, Signature};
use crate::limits::Limits;
use crate::states::PAGE;

/// Most tables of a module.
const MOST_TABLES: usize = 4;

/// The parts of a module that forebay checks.
#[derive(Default)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Binary {
    /// Module, name and type.
    pub(crate) imports: Vec<(String, String, Item)>,
    /// Name and type.
    pub(crate) exports: Vec<(String, Item)>,
    /// The module, whose memory and tables grow at most to the limits.
    pub(crate) limited: Vec<u8>,
}

impl Binary {
    /// The export of this name.
    pub(crate) fn export(&self, name: &str) -> Option<Item> {
        let found = self.exports.iter().find(|(known, _)| known == name);
        found.map(|(_, item)| item.clone())
    }
}

/// Numbers of sections.
mod section {
    pub(super) const TYPE: u8 = 1;
    pub(super) const IMPORT: u8 = 2;
    pub(super) const FUNCTION: u8 = 3;
    pub(super) const TABLE: u8 = 4;
    pub(super) const MEMORY: u8 = 5;
    pub(super) const EXPORT: u8 = 7;
}

/// Declarations of the sections so far.
#[derive(Default)]
struct Declared {
    types: Vec<Arc<Signature>>,
    /// Types of functions, with those of imports first.
    functions: Vec<usize>,
    /// Whether each memory has 32-bit addresses and is not shared.
    memories: Vec<bool>,
}

/// Reads a module.
///
/// # Errors
/// A text of one line: a damaged module, or a memory or table beyond the limits.
pub(crate) fn read(bytes: &[u8], limits: Limits) -> Result<Binary, String> {
    let mut at = Reader { bytes };
    let head = at.take(8)?;
    let mut found = Binary {
        limited: head.to_vec(),
        ..Binary::default()
    };
    let mut declared = Declared::default();
    while !at.bytes.is_empty() {
        let number = at.byte()?;
        let body = at.sized()?;
        let mut inside = Reader { bytes: body };
        let mut rewritten = None;
        match number {
            section::TYPE => declared.types = inside.many(Reader::signature)?,
            section::IMPORT => {
                let imports = inside.many(Reader::import)?;
                for (module, name, function) in imports {
                    let item = match function {
                        Some(ty) => {
                            declared.functions.push(ty);
                            declared.function(declared.functions.len() - 1)
                        }
                        None => Item::Other,
                    };
                    found.imports.push((module, name, item));
                }
            }
            section::FUNCTION => declared.functions.extend(inside.many(Reader::index)?),
            section::TABLE => {
                let tables = inside.many(Reader::table)?;
                if tables.len() > MOST_TABLES {
                    let found = tables.len();
                    return Err(format!("found {found} tables; allowed: {MOST_TABLES}"));
                }
                rewritten = Some(limited_tables(&tables, limits.table)?);
            }
            section::MEMORY => {
                let memories = inside.many(Reader::limits)?;
                if memories.len() > 1 {
                    return Err("found several memories; allowed: one".to_owned());
                }
                declared.memories = memories.iter().map(|it| it.flags <= 1).collect();
                rewritten = Some(limited_memories(&memories, limits.memory)?);
            }
            section::EXPORT => {
                for (name, kind, index) in inside.many(Reader::export)? {
                    let item = match kind {
                        0 => declared.function(index),
                        2 if declared.memories.get(index) == Some(&true) => Item::Memory,
                        _ => Item::Other,
                    };
                    found.exports.push((name, item));
                }
            }
            _ => {}
        }
        let body = rewritten.as_deref().unwrap_or(body);
        found.limited.push(number);
        write(&mut found.limited, body.len());
        found.limited.extend_from_slice(body);
    }
    Ok(found)
}

impl Declared {
    fn function(&self, index: usize) -> Item {
        let ty = self.functions.get(index);
        let ty = ty.and_then(|ty| self.types.get(*ty));
        ty.map_or(Item::Other, |ty| Item::Function(Arc::clone(ty)))
    }
}

/// The section of memories, which grow at most to a number of bytes.
fn limited_memories(memories: &[Range], most: usize) -> Result<Vec<u8>, String> {
    let mut section = Vec::new();
    write(&mut section, memories.len());
    for memory in memories {
        let wanted = memory.least as u64 * PAGE as u64;
        if wanted > most as u64 {
            let most = most >> 20;
            return Err(format!(
                "the module does not start: found a memory of {wanted} bytes; allowed: {most} MiB"
            ));
        }
        memory.write(&mut section, most / PAGE);
    }
    Ok(section)
}

/// The section of tables, which grow at most to a number of elements.
fn limited_tables(tables: &[(u8, Range)], most: usize) -> Result<Vec<u8>, String> {
    let mut section = Vec::new();
    write(&mut section, tables.len());
    for (kind, table) in tables {
        let wanted = table.least;
        if wanted > most {
            return Err(format!(
                "the module does not start: found a table of {wanted} elements; allowed: {most}"
            ));
        }
        section.push(*kind);
        table.write(&mut section, most);
    }
    Ok(section)
}

/// The size of a memory or a table.
struct Range {
    /// 0 without a largest size, and 1 with one. Others mean shared memories or 64-bit addresses.
    flags: u8,
    least: usize,
    most: Option<usize>,
}

impl Range {
    /// Writes it with a largest size.
    fn write(&self, section: &mut Vec<u8>, most: usize) {
        section.push(self.flags | 1);
        write(section, self.least);
        write(section, self.most.map_or(most, |own| own.min(most)));
    }
}

/// Writes an unsigned number in LEB128.
fn write(bytes: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The bytes that are not read yet.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let cut = self.bytes.split_at_checked(count);
        let (taken, rest) = cut.ok_or("the module is not valid: it ends too early")?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    /// An unsigned number of 32 bits in LEB128.
    fn index(&mut self) -> Result<usize, String> {
        let mut number = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                let number = u32::try_from(number).ok();
                return number
                    .map(|number| number as usize)
                    .ok_or_else(Self::unknown);
            }
        }
        Err(Self::unknown())
    }

    /// Bytes after their number.
    fn sized(&mut self) -> Result<&'a [u8], String> {
        let length = self.index()?;
        self.take(length)
    }

    fn name(&mut self) -> Result<String, String> {
        let bytes = self.sized()?;
        let name = std::str::from_utf8(bytes).ok();
        name.map(str::to_owned).ok_or_else(Self::unknown)
    }

    /// Items after their number. Each has at least one byte, which bounds the memory.
    fn many<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let count = self.index()?;
        (0..count).map(|_| item(self)).collect()
    }

    fn signature(&mut self) -> Result<Arc<Signature>, String> {
        if self.byte()? != 0x60 {
            return Err(Self::unknown());
        }
        Ok(Arc::new(Signature {
            arguments: self.many(Self::value_type)?,
            results: self.many(Self::value_type)?,
        }))
    }

    fn value_type(&mut self) -> Result<Cow<'static, str>, String> {
        let name = match self.byte()? {
            0x7f => "i32",
            0x7e => "i64",
            0x7d => "f32",
            0x7c => "f64",
            0x7b => "v128",
            0x70 => "funcref",
            0x6f => "externref",
            _ => return Err(Self::unknown()),
        };
        Ok(name.into())
    }

    /// Module, name, and the type of a function; none for other imports.
    fn import(&mut self) -> Result<(String, String, Option<usize>), String> {
        let (module, name) = (self.name()?, self.name()?);
        let function = match self.byte()? {
            0 => Some(self.index()?),
            1 => self.table().map(|_| None)?,
            2 => self.limits().map(|_| None)?,
            3 => self.take(2).map(|_| None)?,
            _ => return Err(Self::unknown()),
        };
        Ok((module, name, function))
    }

    fn export(&mut self) -> Result<(String, u8, usize), String> {
        Ok((self.name()?, self.byte()?, self.index()?))
    }

    fn table(&mut self) -> Result<(u8, Range), String> {
        let kind = self.byte()?;
        if !matches!(kind, 0x70 | 0x6f) {
            return Err(Self::unknown());
        }
        Ok((kind, self.limits()?))
    }

    fn limits(&mut self) -> Result<Range, String> {
        let flags = self.byte()?;
        if flags > 3 {
            return Err("the module is not valid: found 64-bit addresses".to_owned());
        }
        let least = self.index()?;
        let most = (flags & 1 == 1).then(|| self.index()).transpose()?;
        Ok(Range { flags, least, most })
    }

    fn unknown() -> String {
        "the module is not valid: found an unknown form".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::{Engine, ExternType};

    use super::*;

    const LIMITS: Limits = Limits {
        call: 1,
        run: 1,
        memory: 64 << 20,
        table: 10_000,
    };

    fn binary(text: &str) -> Result<Binary, String> {
        read(&wat::parse_str(text).expect("it is WebAssembly"), LIMITS)
    }

    /// Sizes of the memories and tables of a module, as a runtime reads them.
    fn sizes(bytes: &[u8]) -> Vec<(u64, Option<u64>)> {
        let module = wasmtime::Module::from_binary(&Engine::default(), bytes).expect("it is valid");
        let exports = module.exports().map(|export| export.ty());
        exports
            .filter_map(|ty| match ty {
                ExternType::Memory(ty) => Some((ty.minimum(), ty.maximum())),
                ExternType::Table(ty) => Some((ty.minimum(), ty.maximum())),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn imports_and_exports_have_their_types() {
        let found = binary(
            r#"(module (import "forebay" "pow" (func (param f64 f64) (result f64)))
                (import "env" "table" (table 1 funcref)) (import "env" "memory" (memory 1))
                (import "env" "global" (global i32))
                (func (export "f") (param i32 i64 f32) (result externref v128) unreachable)
                (func (export "g")) (global (export "h") i32 (i32.const 0)))"#,
        )
        .expect("it is valid");
        let function = |arguments: &[&'static str], results: &[&'static str]| {
            let names = |types: &[&'static str]| types.iter().map(|ty| (*ty).into()).collect();
            Item::Function(Arc::new(Signature {
                arguments: names(arguments),
                results: names(results),
            }))
        };
        let imports: Vec<_> = found.imports.iter().map(|(_, _, item)| item).collect();
        let pow = function(&["f64", "f64"], &["f64"]);
        assert_eq!(imports, [&pow, &Item::Other, &Item::Other, &Item::Other]);
        let f = function(&["i32", "i64", "f32"], &["externref", "v128"]);
        assert_eq!(found.export("f"), Some(f));
        assert_eq!(found.export("g"), Some(function(&[], &[])));
        assert_eq!(found.export("h"), Some(Item::Other));
        assert_eq!(found.export("i"), None);
    }

    #[test]
    fn memories_and_tables_get_a_largest_size_and_the_rest_stays() {
        let text = r#"(module (memory (export "memory") 2) (table (export "t") 3 funcref)
            (table (export "u") 4 20 funcref) (table (export "v") 5 20000 funcref)
            (data (i32.const 0) "abc") (func (export "f") (drop (memory.grow (i32.const 1)))))"#;
        let found = binary(text).expect("it is valid");
        let expected = [
            (2, Some(1024)),
            (3, Some(10_000)),
            (4, Some(20)),
            (5, Some(10_000)),
        ];
        assert_eq!(sizes(&found.limited), expected);
        let again = read(&found.limited, LIMITS).expect("it is valid");
        assert_eq!(again.limited, found.limited);
        assert_eq!(found.export("memory"), Some(Item::Memory));
        let shared = binary(r#"(module (memory (export "memory") 1 2 shared))"#);
        let shared = shared.expect("it is valid");
        assert_eq!(shared.export("memory"), Some(Item::Other));
    }

    #[test]
    fn sizes_beyond_the_limits_are_refused() {
        for (text, reason) in [
            (
                "(module (memory 1025))",
                "a memory of 67174400 bytes; allowed: 64 MiB",
            ),
            (
                "(module (table 10001 funcref))",
                "a table of 10001 elements; allowed: 10000",
            ),
            ("(module (memory 1) (memory 1))", "several memories"),
            ("(module (memory i64 1))", "64-bit addresses"),
            (
                "(module (table 1 funcref) (table 1 funcref) (table 1 funcref)
                    (table 1 funcref) (table 1 funcref))",
                "5 tables; allowed: 4",
            ),
        ] {
            let refused = binary(text).expect_err(text);
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn damaged_modules_are_refused_or_read_within_their_bounds() {
        let whole = wat::parse_str(
            r#"(module (import "forebay" "exp" (func (param f64) (result f64)))
                (memory (export "memory") 1) (table 1 funcref) (func (export "f") (param i32)))"#,
        )
        .expect("it is WebAssembly");
        for length in 0..whole.len() {
            if let Err(text) = read(&whole[..length], LIMITS) {
                assert!(text.starts_with("the module is not valid: "), "{text}");
            }
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = value;
                let _ = read(&damaged, LIMITS);
            }
        }
        // A number of 2^32 - 1 types in a section of six bytes.
        let many = [b"\0asm\x01\0\0\0\x01\x05".as_slice(), &[0xff; 4], &[0x0f]].concat();
        assert!(read(&many, LIMITS).is_err());
    }
}
