//! Decimal numbers with a unit, converted to scaled integers without floating point.

/// A unit symbol and the number of base units in one such unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub(crate) symbol: &'static str,
    pub(crate) scale: u64,
}

/// The integer number of base units in `text`, rounded to the nearest (ties away from zero).
///
/// # Errors
/// The allowed form, if `text` is not a non-negative decimal number with one of `units`. The same
/// if the result exceeds 64 bits.
pub(crate) fn parse_scaled(text: &str, units: &[Unit]) -> Result<u64, String> {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|&(at, c)| c.is_alphabetic() && !is_exponent(&text[at..]))
        .map_or(text.len(), |(at, _)| at);
    let (number, symbol) = (text[..split].trim_end(), &text[split..]);
    let unit = units
        .iter()
        .find(|unit| unit.symbol == symbol)
        .ok_or_else(|| allowed(units))?;
    let (digits, exponent) = decimal(number).ok_or_else(|| allowed(units))?;
    scale(digits, exponent, unit.scale)
        .ok_or_else(|| "the value must be below 2^64 base units".to_owned())
}

/// Whether `text` begins with the exponent part of a number ("e-3"), as opposed to a symbol.
fn is_exponent(text: &str) -> bool {
    let rest = text.strip_prefix(['e', 'E']);
    rest.is_some_and(|rest| {
        rest.trim_start_matches(['+', '-'])
            .starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Splits a decimal number into an integer and a power of ten.
fn decimal(text: &str) -> Option<(u128, i32)> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut digits: u128 = 0;
    for c in whole.chars().chain(fraction.chars()) {
        digits = digits
            .checked_mul(10)?
            .checked_add(u128::from(c.to_digit(10)?))?;
    }
    let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    Some((digits, exponent))
}

/// The rounded product digits x 10^exponent x scale; `None` if it exceeds 64 bits.
fn scale(digits: u128, exponent: i32, scale: u64) -> Option<u64> {
    if digits == 0 {
        return Some(0);
    }
    let scaled = digits.checked_mul(u128::from(scale))?;
    let value = if exponent >= 0 {
        scaled.checked_mul(10u128.checked_pow(exponent.unsigned_abs())?)?
    } else {
        match 10u128.checked_pow(exponent.unsigned_abs()) {
            Some(divisor) => scaled / divisor + u128::from(scaled % divisor >= divisor.div_ceil(2)),
            None => 0,
        }
    };
    u64::try_from(value).ok()
}

fn allowed(units: &[Unit]) -> String {
    let symbols: Vec<_> = units
        .iter()
        .map(|unit| unit.symbol)
        .filter(|s| s.is_ascii())
        .collect();
    format!(
        "a non-negative number and a unit out of {}",
        symbols.join(", ")
    )
}

/// Prints `value` exactly, in the largest of `units` that leaves at least one whole unit. The units
/// are ascending powers of ten of one another.
pub(crate) fn print_scaled(value: u64, units: &[Unit]) -> String {
    let unit = units
        .iter()
        .rev()
        .find(|unit| value >= unit.scale)
        .unwrap_or(&units[0]);
    let (whole, rest) = (value / unit.scale, value % unit.scale);
    if rest == 0 {
        return format!("{whole}{}", unit.symbol);
    }
    let width = unit.scale.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    format!("{whole}.{}{}", fraction.trim_end_matches('0'), unit.symbol)
}
