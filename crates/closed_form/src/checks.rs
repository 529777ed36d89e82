//! Assumptions that several models share, checked against a scenario. Each reason is complete by
//! itself after "applies: " or "does not apply: ".

use forebay_scenario::{Check, Holds, ModelError};

use crate::mix::{FlowRequirement, shared};
use crate::numeric::settled;
use crate::response::Response;
use crate::situation::{Situation, nothing_left};
use crate::words::{act, count, duration, name, percent, there_are};

/// Number of flows from which a rule that averages over many flows applies.
pub(crate) const MANY: f64 = 10.0;

/// Number of flows from which a sum of independent windows is nearly normal: "hundreds".
pub(crate) const HUNDREDS: f64 = 100.0;

/// The check of an assumption: whether it holds, and the reason.
pub(crate) fn checked(assumption: &'static str, holds: bool, why: String) -> Check {
    Check {
        assumption,
        holds: if holds { Holds::Yes } else { Holds::No },
        share: None,
        why,
    }
}

/// The check of an assumption that the scenario does not decide.
pub(crate) fn unknown(assumption: &'static str, why: String) -> Check {
    Check {
        holds: Holds::Unknown,
        ..checked(assumption, true, why)
    }
}

/// The check of an assumption that depends on a formula. If the formula gives no figure, the
/// assumption does not hold, and the formula's error is the reason.
pub(crate) fn unless_refused(assumption: &'static str, figure: Result<Check, ModelError>) -> Check {
    figure.unwrap_or_else(|error| checked(assumption, false, error.to_string()))
}

/// Checks that long flows fill the link.
pub(crate) fn has_long_flows(s: &Situation) -> Check {
    let held = s.persistent - s.bottlenecked;
    let filled = act(s.long_flows(), "long flow", ("fills", "fill"));
    let why = match (s.long_flows() >= 0.5, held > 0.0) {
        (true, false) => format!("{filled} the link"),
        (true, true) => {
            format!("{filled} the link; receive windows or access links limit {held} more")
        }
        (false, true) => {
            let flows = count(held, "flow").replacen("one", "the one", 1);
            format!("receive windows or access links limit {flows}, so that the link is not full")
        }
        (false, false) => "no flow lasts long enough to fill the link".to_owned(),
    };
    checked("long flows that fill the link", s.long_flows() >= 0.5, why)
}

/// Checks that there is one long flow, or few.
pub(crate) fn few_flows(s: &Situation) -> Check {
    /// From about this number on, some flow is always out of step.
    const FEW: f64 = 20.0;
    let n = s.long_flows();
    let why = if n < 1.5 {
        there_are(n, "long flow")
    } else if n < FEW {
        format!("{} may be synchronized", count(n, "long flow"))
    } else {
        format!("{} are not synchronized", count(n, "long flow"))
    };
    checked("one long flow, or few that cut together", n < FEW, why)
}

/// Checks that there are at least `least` long flows.
pub(crate) fn many_flows(s: &Situation, least: f64) -> Check {
    let n = s.long_flows();
    let there = there_are(n, "long flow");
    let why = if n >= least {
        format!("{there}, enough for independent windows")
    } else if least >= HUNDREDS {
        format!("{there}, and the rule needs about {least:.0} flows with independent windows")
    } else {
        format!("{there}, and the rule needs about {least:.0} or more")
    };
    checked("many unsynchronized long flows", n >= least, why)
}

/// Checks that the load comes from many sources, as Poisson arrivals need.
pub(crate) fn many_sources(s: &Situation) -> Check {
    let why = if s.sources >= MANY {
        "the load comes from many flows".to_owned()
    } else if s.sources == 0.0 {
        "no traffic has a load independent of the link".to_owned()
    } else {
        let sources = if s.sources < 1.05 {
            "one flow".to_owned()
        } else {
            format!("about {:.0} flows", s.sources)
        };
        format!(
            "the load comes from {sources}, and Poisson arrivals need about {MANY:.0} flows or more"
        )
    };
    checked("Poisson arrivals of many flows", s.sources >= MANY, why)
}

/// Checks that the controllers have a response function.
pub(crate) fn loss_based(s: &Situation) -> Check {
    let fits = |part: &crate::mix::Part| part.response.is_some();
    let assumption = "controllers that cut at a loss";
    let check = s.mix.check(&FlowRequirement {
        assumption,
        about: "congestion controls that reduce the window at a loss by a known factor",
        fits: &fits,
    });
    let Some(taken) = s.mix.cutting().filter(|_| s.mix.kinds(fits) > 1) else {
        return check;
    };
    let taken = name(taken.controller());
    let how = if s.mix.names(fits) == taken {
        "their parameters differ, and the formula uses the most common ones".to_owned()
    } else {
        format!("the formula uses the decrease of {taken}")
    };
    let why = format!("{}; {how}", check.why);
    match check.holds {
        Holds::Yes => Check {
            share: check.share,
            ..unknown(assumption, why)
        },
        _ => Check { why, ..check },
    }
}

/// Checks that the windows follow Reno, whatever the controller's name.
pub(crate) fn reno(s: &Situation) -> Check {
    s.mix.check(&FlowRequirement {
        assumption: "Reno windows",
        about: "Reno",
        fits: &|part| part.response.as_deref().is_some_and(Response::is_reno),
    })
}

/// Checks that sources send no bursts: they are paced, or their access links have at most a tenth
/// of the link's rate.
pub(crate) fn paced_or_limited(s: &Situation) -> Check {
    let smooth =
        |part: &crate::mix::Part| part.paced || part.core_access.is_some_and(|ratio| ratio >= 10.0);
    let share = s.mix.share(smooth);
    let why = if share >= 1.0 {
        "the flows are paced or have slow access links".to_owned()
    } else if share > 0.0 {
        let these = "those that are paced or have slow access links";
        s.mix.part_of(share, (these, "send bursts"))
    } else {
        "no flow is paced or has an access link with at most a tenth of the link's rate".to_owned()
    };
    shared("paced or access-limited sources", share, why)
}

/// Checks that the queue is drop-tail.
pub(crate) fn droptail(s: &Situation) -> Check {
    queue(s, "drop-tail queue", ("droptail", "drop-tail"))
}

/// Checks the queue discipline by its name in scenario files; `words` names it in the reason.
pub(crate) fn queue(
    s: &Situation,
    assumption: &'static str,
    (discipline, words): (&str, &str),
) -> Check {
    let found = match s.discipline {
        "droptail" => "drop-tail".to_owned(),
        "red" => "RED".to_owned(),
        "step" => "step marking".to_owned(),
        other => name(other),
    };
    let why = if s.discipline == discipline {
        format!("the queue is {words}")
    } else {
        format!("the queue is {found}, and the rule is about {words}")
    };
    checked(assumption, s.discipline == discipline, why)
}

/// Checks that windows and access links allow the flows to fill the link.
pub(crate) fn saturable(s: &Situation) -> Check {
    let room = s.residual();
    let limit = if s.persistent > 0.0 && s.long_transfers == 0.0 {
        s.saturation - s.held_down
    } else {
        f64::INFINITY
    };
    let why = if room <= 0.0 {
        nothing_left()
    } else if limit >= room {
        format!("the flows can fill the rest of the link, {}", percent(room))
    } else {
        format!(
            "receive windows and access links allow the flows {} of the link, and {} is available",
            percent(limit.max(0.0)),
            percent(room)
        )
    };
    checked(
        "flows able to fill the link",
        limit >= room && room > 0.0,
        why,
    )
}

/// Checks that the offered load is below one.
pub(crate) fn below_one(s: &Situation) -> Check {
    load_below_one(s.offered_load())
}

/// Checks that this load is below one.
pub(crate) fn load_below_one(load: f64) -> Check {
    let load = settled(load);
    let why = if load < 1.0 {
        format!("the offered load is {} of the link", percent(load))
    } else {
        too_much(load)
    };
    checked("offered load below 1", load < 1.0, why)
}

/// The reason why a formula has no result at a load of 1 or more.
pub(crate) fn too_much(load: f64) -> String {
    let needed = if load > 1.0 {
        "less than 100 %"
    } else {
        "less than that"
    };
    format!(
        "the offered load is {} of the link; the formula needs {needed}",
        percent(load)
    )
}

/// Checks that round-trip times differ by more than 5 %.
pub(crate) fn equal_round_trips(s: &Situation) -> Check {
    let low = s
        .flows
        .iter()
        .map(|g| g.rtt_s)
        .fold(f64::INFINITY, f64::min);
    let high = s.flows.iter().map(|g| g.rtt_s).fold(0.0, f64::max);
    let assumption = "round-trip times that differ (no lock-step)";
    if s.flows.is_empty() {
        let why = "there are no long flows whose round-trip times could differ".to_owned();
        return unknown(assumption, why);
    }
    let (from, to) = (duration(low), duration(high));
    let why = if high > 1.05 * low {
        format!("round-trip times of {from} to {to} prevent synchronization")
    } else if from == to {
        format!("all long flows have a round-trip time of {from} and may be synchronized")
    } else {
        format!("with round-trip times of {from} to {to} the flows may be synchronized")
    };
    checked(assumption, high > 1.05 * low, why)
}
