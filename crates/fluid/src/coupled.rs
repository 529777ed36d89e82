//! placeholder
use crate::model::{FluidError, FluidModel};
use crate::outcome::FluidOutcome;

/// todo
pub fn integrate_coupled(model: &FluidModel) -> Result<FluidOutcome, FluidError> {
    model.check()?;
    crate::integrate(model)
}
