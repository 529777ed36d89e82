//! Pieces of which the sizing rules of several models are made.

use forebay_scenario::{Metric, ModelError};

use crate::error::{FormulaError, open_unit, positive};
use crate::model::{Numbers, Packets};
use crate::situation::Situation;

/// Utilisation by traffic that the link does not hold up for good: its offered load.
pub(crate) fn carried_load(s: &Situation) -> Numbers {
    no_bottlenecked_flows(s)?;
    let load = open_unit("offered load", s.offered_load())?;
    Ok(vec![(Metric::Utilization, load)])
}

/// Refuses links that persistent flows fill.
pub(crate) fn no_bottlenecked_flows(s: &Situation) -> Result<(), ModelError> {
    if s.bottlenecked > 0.0 {
        let why = format!("{} persistent flows fill the link", s.bottlenecked);
        return Err(ModelError::NotApplicable(why));
    }
    Ok(())
}

/// The smallest whole buffer up to 1e7 packets that is good enough, for conditions that get easier
/// with the buffer; none where no such buffer is.
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

/// Utilisation of the whole link when the long flows use `share` of what is left to them.
pub(crate) fn on_whole_link(s: &Situation, share: f64) -> f64 {
    (1.0 - s.residual() + s.residual() * share).min(1.0)
}

/// Utilisation that the long flows must reach on what is left for the link to reach `goal`.
pub(crate) fn residual_goal(s: &Situation, goal: f64) -> Result<f64, FormulaError> {
    let residual = positive("capacity left to the long flows (share)", s.residual())?;
    Ok(((goal - 1.0 + residual) / residual).clamp(1e-9, 1.0))
}

/// Fraction of the fair window that the long flows keep at a cut.
pub(crate) fn kept(s: &Situation) -> Result<f64, ModelError> {
    let controller = s.controller.as_ref().ok_or_else(no_long_flows)?;
    let window = s.fair_window()?;
    let cannot =
        || ModelError::NotApplicable(format!("no law here says how {} cuts", controller.name));
    controller.kept(window).ok_or_else(cannot)
}

/// How many long flows there are, at least one.
pub(crate) fn long_flows(s: &Situation) -> Result<f64, ModelError> {
    let n = s.long_flows();
    if n > 0.0 && n.is_finite() {
        Ok(n.max(1.0))
    } else {
        Err(no_long_flows())
    }
}

/// Why there is no number without long flows.
pub(crate) fn no_long_flows() -> ModelError {
    ModelError::NotApplicable("no long flows share the link".into())
}
