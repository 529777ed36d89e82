//! Parts that the sizing rules of several models share.

use forebay_scenario::{Metric, ModelError};

use crate::checks::too_much;
use crate::model::{Numbers, Packets};
use crate::response::Response;
use crate::situation::Situation;
use crate::words::act;

/// Utilization by traffic that the link does not bottleneck: its offered load.
pub(crate) fn carried_load(s: &Situation) -> Numbers {
    no_bottlenecked_flows(s)?;
    Ok(vec![(Metric::Utilization, stable(s.offered_load())?)])
}

/// Refuses links that persistent flows fill.
pub(crate) fn no_bottlenecked_flows(s: &Situation) -> Result<(), ModelError> {
    if s.bottlenecked > 0.0 {
        return Err(ModelError::NotApplicable(filled(s)));
    }
    Ok(())
}

/// A sentence part: long flows fill the link.
pub(crate) fn filled(s: &Situation) -> String {
    let flows = act(s.bottlenecked, "long flow", ("fills", "fill"));
    format!("{flows} the link")
}

/// `load` if it is above 0 and below 1, so that a queue has a steady state.
pub(crate) fn stable(load: f64) -> Result<f64, ModelError> {
    if load >= 1.0 {
        return Err(ModelError::NotApplicable(too_much(load)));
    }
    some(load)
}

/// `load` if it is above 0.
pub(crate) fn some(load: f64) -> Result<f64, ModelError> {
    if load > 0.0 {
        return Ok(load);
    }
    let none = "no traffic has a load independent of the link; long flows take the available rate";
    Err(ModelError::NotApplicable(none.into()))
}

/// The smallest whole buffer up to 1e7 packets for which `good` is true; `None` if there is none.
/// The condition must get easier with the buffer.
pub(crate) fn buffer_where(
    s: &Situation,
    good: impl Fn(f64) -> Result<bool, ModelError>,
) -> Packets {
    let mut high = 1.0_f64.max((s.bdp()? * 0.01).floor());
    while !good(high)? {
        high *= 2.0;
        if high > 1e7 {
            return Ok(None);
        }
    }
    let mut low = 0.0;
    if good(low)? {
        return Ok(Some(0.0));
    }
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high).floor();
        if good(middle)? {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(Some(high))
}

/// Utilization of the whole link if the long flows use `share` of the capacity that is left to
/// them.
pub(crate) fn on_whole_link(s: &Situation, share: f64) -> f64 {
    (1.0 - s.residual() + s.residual() * share).min(1.0)
}

/// Utilization that the long flows must reach on the capacity left to them, so that the link
/// reaches `goal`.
pub(crate) fn residual_goal(s: &Situation, goal: f64) -> Result<f64, ModelError> {
    let residual = s.left()?;
    Ok(((goal - 1.0 + residual) / residual).clamp(1e-9, 1.0))
}

/// Decrease factor of the long flows at the fair window.
pub(crate) fn beta(s: &Situation) -> Result<f64, ModelError> {
    let window = s.fair_window()?;
    let beta = s.mix.cutting().and_then(|part| part.beta(window));
    beta.ok_or_else(|| no_response_function(s))
}

/// The response function of the commonest controller that has one.
pub(crate) fn response(s: &Situation) -> Result<&dyn Response, ModelError> {
    let cutting = s.mix.cutting().and_then(|part| part.response.as_deref());
    cutting.ok_or_else(|| no_response_function(s))
}

/// The error if no controller has a response function.
fn no_response_function(s: &Situation) -> ModelError {
    if s.mix.kinds(|_| true) == 0 {
        return no_long_flows();
    }
    let names = s.mix.names(|_| true);
    ModelError::NotApplicable(format!(
        "no published formula says how {names} reduces its window at a loss"
    ))
}

/// The number of long flows, at least one.
pub(crate) fn long_flows(s: &Situation) -> Result<f64, ModelError> {
    let n = s.long_flows();
    if n > 0.0 && n.is_finite() {
        Ok(n.max(1.0))
    } else {
        Err(no_long_flows())
    }
}

/// The error if there are no long flows.
pub(crate) fn no_long_flows() -> ModelError {
    ModelError::NotApplicable("no long flows fill the link".into())
}
