//! The engines and the closed-form models by name.

use forebay_scenario::{ClosedForm, Engine};

/// All engines, the default first.
pub fn engines() -> &'static [&'static dyn Engine] {
    &[]
}

/// The engine of this name.
///
/// # Errors
/// The names that exist.
pub fn engine(name: &str) -> Result<&'static dyn Engine, String> {
    let found = engines().iter().find(|engine| engine.name() == name);
    found.copied().ok_or_else(|| {
        let known: Vec<&str> = engines().iter().map(|engine| engine.name()).collect();
        format!("unknown engine `{name}`; known: {}", known.join(", "))
    })
}

/// All closed-form models.
pub fn models() -> &'static [&'static dyn ClosedForm] {
    &[]
}
