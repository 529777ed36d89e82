//! The mix of flows that the formulas describe, and the share of it that a rule fits.
//!
//! A published rule describes one kind of flow. In a mix it fits a share of the flows. The order of
//! the flows in the scenario and their division into groups do not matter.

use forebay_scenario::{Algorithm, Check, FlowGroup, Holds};

use crate::checks::checked;
use crate::numeric::settled;
use crate::response::Response;
use crate::words::{list, name, percent};

/// A rule must fit more than this share of the flows to apply. A rule that fits exactly this share
/// does not apply.
pub(crate) const MAJORITY: f64 = 0.5;

/// The flows that the formulas describe, by group.
#[derive(Debug)]
pub(crate) struct Mix {
    /// A noun for them in the plural.
    noun: &'static str,
    /// The total of the shares, in words.
    whole: &'static str,
    parts: Vec<Part>,
}

/// The flows of one group.
#[derive(Debug)]
pub(crate) struct Part {
    /// Share of the total.
    share: f64,
    controller: Algorithm,
    /// The controller's response function; `None` for controllers without one (BBR).
    pub(crate) response: Option<Box<dyn Response>>,
    /// Whether they are paced.
    pub(crate) paced: bool,
    /// Rate of the target link divided by that of their access links, if they have some.
    pub(crate) core_access: Option<f64>,
}

impl Part {
    /// Creates the flows of `group` on a link of this rate. `Mix::new` converts the weight to a
    /// share.
    pub(crate) fn new(
        group: &FlowGroup,
        (weight, link_bps): (f64, f64),
        response: Option<Box<dyn Response>>,
    ) -> Self {
        let access = group.access.as_ref();
        Self {
            share: weight,
            controller: group.controller.clone(),
            response,
            paced: group.stack.pacing,
            core_access: access.map(|access| link_bps / access.rate.as_bits_per_second() as f64),
        }
    }

    /// The controller's name in scenario files.
    pub(crate) fn controller(&self) -> &'static str {
        self.controller.name()
    }

    /// Fraction of a window of `window` packets that a flow keeps at a multiplicative decrease.
    pub(crate) fn beta(&self, window: f64) -> Option<f64> {
        Some(self.response.as_ref()?.beta(window))
    }
}

/// The requirement of a rule for each flow.
pub(crate) struct FlowRequirement<'a> {
    /// The assumption in a few words.
    pub(crate) assumption: &'static str,
    /// The flows that the rule describes, as in "the rule is about ...".
    pub(crate) about: &'static str,
    /// Whether a flow is one of them.
    pub(crate) fits: &'a dyn Fn(&Part) -> bool,
}

impl Mix {
    /// Creates the mix of weighted parts: a noun for its flows, and the total of their shares in
    /// words.
    pub(crate) fn new((noun, whole): (&'static str, &'static str), mut parts: Vec<Part>) -> Self {
        let total: f64 = parts.iter().map(|part| part.share).sum();
        parts.retain(|part| part.share > 0.0);
        for part in &mut parts {
            part.share /= total;
        }
        Self { noun, whole, parts }
    }

    /// The share of the flows for which `fits` holds; 0 without flows.
    pub(crate) fn share(&self, fits: impl Fn(&Part) -> bool) -> f64 {
        let fitting = self.parts.iter().filter(|part| fits(part));
        settled(fitting.map(|part| part.share).sum())
    }

    /// The flows with the commonest controller among those for which `fits` holds. A formula for
    /// one kind of flow uses them. At a tie the deeper decrease decides, because its buffer is
    /// larger, and then the name.
    pub(crate) fn commonest(&self, fits: impl Fn(&Part) -> bool) -> Option<&Part> {
        /// The window, in packets, at which decreases are compared.
        const WINDOW: f64 = 100.0;
        let rank = |part: &Part| {
            let share = self.share(|other| fits(other) && other.controller == part.controller);
            (share, -part.beta(WINDOW).unwrap_or(1.0))
        };
        let fitting = self.parts.iter().filter(|part| fits(part));
        fitting.max_by(|a, b| {
            let ((share, cut), (other_share, other_cut)) = (rank(a), rank(b));
            let by_share = share.total_cmp(&other_share);
            by_share
                .then(cut.total_cmp(&other_cut))
                .then_with(|| b.controller().cmp(a.controller()))
        })
    }

    /// The flows with the commonest controller that has a response function.
    pub(crate) fn cutting(&self) -> Option<&Part> {
        self.commonest(|part| part.response.is_some())
    }

    /// The number of different controllers among the flows for which `fits` holds.
    pub(crate) fn kinds(&self, fits: impl Fn(&Part) -> bool) -> usize {
        let mut known: Vec<&Algorithm> = Vec::new();
        for part in self.parts.iter().filter(|part| fits(part)) {
            if !known.contains(&&part.controller) {
                known.push(&part.controller);
            }
        }
        known.len()
    }

    /// The names of the controllers, the commonest first.
    pub(crate) fn names(&self, fits: impl Fn(&Part) -> bool) -> String {
        let fitting = || self.parts.iter().filter(|part| fits(part));
        let mut names: Vec<&str> = fitting().map(Part::controller).collect();
        names.sort_unstable();
        names.dedup();
        let share = |name: &str| self.share(|part| fits(part) && part.controller() == name);
        names.sort_by(|a, b| share(b).total_cmp(&share(a)));
        list(&names.into_iter().map(name).collect::<Vec<_>>())
    }

    /// Checks the share of the flows that a rule describes.
    pub(crate) fn check(&self, asked: &FlowRequirement<'_>) -> Check {
        let fits = asked.fits;
        let (noun, about) = (self.noun, asked.about);
        let share = self.share(fits);
        let why = if self.parts.is_empty() {
            "no flow reacts to losses or marks".to_owned()
        } else if share >= 1.0 {
            format!("all {noun} use {}", self.names(fits))
        } else if share <= 0.0 {
            format!(
                "the {noun} use {}, and the rule is about {about}",
                self.names(|_| true)
            )
        } else {
            self.part_of(
                share,
                (
                    &self.names(fits),
                    &format!("use {}", self.names(|part| !fits(part))),
                ),
            )
        };
        shared(asked.assumption, share, why)
    }

    /// Says which share a rule fits, which flows these are, and what the others do.
    pub(crate) fn part_of(&self, share: f64, (these, others): (&str, &str)) -> String {
        format!(
            "fits {} of the {}: {these}; the others {others}",
            percent(share),
            self.whole
        )
    }
}

/// A check that holds for a share of the flows, or of the load.
pub(crate) fn shared(assumption: &'static str, share: f64, why: String) -> Check {
    let holds = if share >= 1.0 {
        Holds::Yes
    } else if share > MAJORITY {
        Holds::Partly
    } else {
        Holds::No
    };
    Check {
        holds,
        share: Some(share),
        ..checked(assumption, true, why)
    }
}
