//! Makes the bits of a NaN equal on every machine before a module can see them.
//!
//! WebAssembly leaves the sign and the payload of a NaN that an instruction makes to the machine
//! (WebAssembly 2.0, section 4.3.3). A module sees them only after a store to memory, a
//! reinterpretation or the copy of a sign. [`canonical`] puts the canonical NaN there. Wasmtime can
//! do this after every instruction with numbers, which takes half of the speed of a controller.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode};
use wasm_encoder::{CodeSection, Function, Ieee32, Ieee64, Instruction, Module, ValType};
use wasmparser::{FunctionBody, Operator, Parser, Payload};

/// Bits of the canonical NaN (section 2.2.3).
const NAN_32: u32 = 0x7fc0_0000;
const NAN_64: u64 = 0x7ff8_0000_0000_0000;

/// Rewrites a valid module.
///
/// # Errors
/// A text if a part of the module has no binary form.
pub(crate) fn canonical(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let arguments = arguments(bytes).map_err(|error| error.to_string())?;
    let mut rewriter = Rewriter {
        arguments: arguments.into_iter(),
    };
    let mut module = Module::new();
    rewriter
        .parse_core_module(&mut module, Parser::new(0), bytes)
        .map_err(|error| error.to_string())?;
    Ok(module.finish())
}

/// The number of arguments of each function with a body.
fn arguments(bytes: &[u8]) -> Result<Vec<u32>, wasmparser::BinaryReaderError> {
    let mut types = Vec::new();
    let mut found = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::TypeSection(section) => {
                for ty in section.into_iter_err_on_gc_types() {
                    types.push(ty?.params().len() as u32);
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    found.push(types.get(ty? as usize).copied().unwrap_or_default());
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The width of the number whose bits an instruction shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    Single,
    Double,
}

fn shown(operator: &Operator<'_>) -> Option<Width> {
    match operator {
        Operator::F32Store { .. } | Operator::I32ReinterpretF32 | Operator::F32Copysign => {
            Some(Width::Single)
        }
        Operator::F64Store { .. } | Operator::I64ReinterpretF64 | Operator::F64Copysign => {
            Some(Width::Double)
        }
        _ => None,
    }
}

struct Rewriter {
    arguments: std::vec::IntoIter<u32>,
}

impl Reencode for Rewriter {
    type Error = Infallible;

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: FunctionBody<'_>,
    ) -> Result<(), Error> {
        let mut next = self.arguments.next().unwrap_or_default();
        let mut locals = Vec::new();
        for pair in body.get_locals_reader()? {
            let (count, ty) = pair?;
            next += count;
            locals.push((count, self.val_type(ty)?));
        }
        // The last two are for the number that is tested.
        let (single, double) = (next, next + 1);
        locals.extend([(1, ValType::F32), (1, ValType::F64)]);
        let mut function = Function::new(locals);
        let mut reader = body.get_operators_reader()?;
        while !reader.eof() {
            let operator = reader.read()?;
            match shown(&operator) {
                Some(Width::Single) => function
                    .instruction(&Instruction::LocalTee(single))
                    .instruction(&Instruction::F32Const(Ieee32::new(NAN_32)))
                    .instruction(&Instruction::LocalGet(single))
                    .instruction(&Instruction::LocalGet(single))
                    .instruction(&Instruction::F32Eq)
                    .instruction(&Instruction::Select),
                Some(Width::Double) => function
                    .instruction(&Instruction::LocalTee(double))
                    .instruction(&Instruction::F64Const(Ieee64::new(NAN_64)))
                    .instruction(&Instruction::LocalGet(double))
                    .instruction(&Instruction::LocalGet(double))
                    .instruction(&Instruction::F64Eq)
                    .instruction(&Instruction::Select),
                None => &mut function,
            };
            function.instruction(&self.instruction(operator)?);
        }
        code.function(&function);
        Ok(())
    }

    /// Leaves out names and information of debuggers.
    fn parse_custom_section(
        &mut self,
        _: &mut Module,
        _: wasmparser::CustomSectionReader<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }
}
