//! Assumptions that several models share, held against a scenario.

use forebay_scenario::{Check, Holds};

use crate::situation::{CommonController, Situation};

/// Whether an assumption holds, and why.
pub(crate) fn checked(assumption: &'static str, holds: bool, why: String) -> Check {
    Check {
        assumption,
        holds: if holds { Holds::Yes } else { Holds::No },
        why,
    }
}

/// Flows that last fill the link.
pub(crate) fn has_long_flows(s: &Situation) -> Check {
    let mut parts = vec![format!("{} persistent flows", s.persistent)];
    if s.bottlenecked < s.persistent {
        let held = s.persistent - s.bottlenecked;
        parts.push(format!(
            "{held} of them held down by receive windows or access links"
        ));
    }
    if s.long_transfers > 0.0 {
        parts.push(format!(
            "about {:.1} long transfers at a time",
            s.long_transfers
        ));
    }
    checked(
        "long flows that fill the link",
        s.long_flows() >= 0.5,
        parts.join(", "),
    )
}

/// One long flow, or few.
pub(crate) fn few_flows(s: &Situation) -> Check {
    let n = s.long_flows();
    let why = if n <= 1.5 {
        "one long flow".to_owned()
    } else if n < 20.0 {
        format!("{n:.0} long flows may still cut together")
    } else {
        format!("{n:.0} long flows do not all cut together")
    };
    checked("one long flow, or few that cut together", n < 20.0, why)
}

/// At least `least` long flows.
pub(crate) fn many_flows(s: &Situation, least: f64) -> Check {
    let n = s.long_flows();
    let why =
        format!("{n:.0} long flows; from about {least:.0} on their windows move independently");
    checked("many unsynchronised long flows", n >= least, why)
}

/// Controllers with a response function.
pub(crate) fn loss_based(s: &Situation) -> Check {
    let Some(controller) = &s.controller else {
        return checked(
            "controllers that cut at a loss",
            false,
            "no responsive flows".into(),
        );
    };
    let why = if s.mixed {
        format!("several controllers; {} taken for all", controller.name)
    } else {
        format!("all flows use {}", controller.name)
    };
    let holds = match (controller.response.is_some(), s.mixed) {
        (false, _) => Holds::No,
        (true, true) => Holds::Unknown,
        (true, false) => Holds::Yes,
    };
    Check {
        assumption: "controllers that cut at a loss",
        holds,
        why,
    }
}

/// Reno in all but name.
pub(crate) fn reno(s: &Situation) -> Check {
    let name = s
        .controller
        .as_ref()
        .map_or("none", |controller| controller.name);
    let holds = s.controller.as_ref().is_some_and(CommonController::is_reno) && !s.mixed;
    checked("Reno windows", holds, format!("controller: {name}"))
}

/// A drop-tail queue.
pub(crate) fn droptail(s: &Situation) -> Check {
    checked(
        "drop-tail queue",
        s.discipline == "droptail",
        format!("queue: {}", s.discipline),
    )
}

/// Windows and access links that allow the flows to fill the link.
pub(crate) fn saturable(s: &Situation) -> Check {
    let room = s.residual();
    let limit = if s.persistent > 0.0 && s.long_transfers == 0.0 {
        s.saturation - s.held_down
    } else {
        f64::INFINITY
    };
    let why = if limit.is_finite() {
        format!("receive windows and access links allow {limit:.2} of the link; {room:.2} is left")
    } else {
        format!("no receive window or access link limits the flows; {room:.2} of the link is left")
    };
    checked(
        "flows able to fill the link",
        limit >= room && room > 0.0,
        why,
    )
}

/// A load below one.
pub(crate) fn below_one(s: &Situation) -> Check {
    let load = s.offered_load();
    checked(
        "offered load below 1",
        load < 1.0,
        format!("offered load {load:.3}"),
    )
}

/// Round-trip times that differ by more than 5 %.
pub(crate) fn equal_round_trips(s: &Situation) -> Check {
    let low = s
        .flows
        .iter()
        .map(|g| g.rtt_s)
        .fold(f64::INFINITY, f64::min);
    let high = s.flows.iter().map(|g| g.rtt_s).fold(0.0, f64::max);
    let assumption = "round-trip times that differ (no lock-step)";
    if s.flows.is_empty() {
        let why = "the scenario has no persistent flows".to_owned();
        return Check {
            assumption,
            holds: Holds::Unknown,
            why,
        };
    }
    let why = format!("round-trip times from {low:.4} to {high:.4} s");
    checked(assumption, high > 1.05 * low, why)
}
