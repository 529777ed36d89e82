//! The mix of flows that the formulas are about: who is in it, and which share of it a rule fits.
//!
//! A published rule knows one kind of flow. Held against a mix it fits a share of the flows, whatever
//! the order in which a scenario lists them and however it divides them into groups.

use forebay_scenario::{Algorithm, Check, FlowGroup, Holds};

use crate::checks::checked;
use crate::numeric::settled;
use crate::response::Response;
use crate::words::{list, name, percent};

/// A rule that fits more than this share of the flows applies, as far as that is concerned; at a tie
/// none does.
pub(crate) const MAJORITY: f64 = 0.5;

/// The flows that the formulas are about, by group.
#[derive(Debug)]
pub(crate) struct Mix {
    /// What they are, in the plural.
    noun: &'static str,
    /// Of what the shares are.
    whole: &'static str,
    parts: Vec<Part>,
}

/// The flows of one group.
#[derive(Debug)]
pub(crate) struct Part {
    /// Share of all.
    share: f64,
    controller: Algorithm,
    /// The controller's response function; none for those without one (BBR).
    pub(crate) response: Option<Box<dyn Response>>,
    /// Whether they are paced.
    pub(crate) paced: bool,
    /// Rate of the target link over that of their access links, where they have some.
    pub(crate) core_access: Option<f64>,
}

impl Part {
    /// Flows of `group` on a link of this rate, with a weight yet to be made a share.
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

    /// Fraction of a window of `window` packets that a flow keeps at a cut.
    pub(crate) fn kept(&self, window: f64) -> Option<f64> {
        Some(self.response.as_ref()?.kept(window))
    }
}

/// What a rule asks of each flow.
pub(crate) struct Asked<'a> {
    /// The assumption in a few words.
    pub(crate) assumption: &'static str,
    /// Whom the rule is about, as in "the rule is about ...".
    pub(crate) about: &'static str,
    /// Whether a flow is one of them.
    pub(crate) fits: &'a dyn Fn(&Part) -> bool,
}

impl Mix {
    /// The mix of parts with weights: flows of this kind, and of what their shares are.
    pub(crate) fn new((noun, whole): (&'static str, &'static str), mut parts: Vec<Part>) -> Self {
        let total: f64 = parts.iter().map(|part| part.share).sum();
        parts.retain(|part| part.share > 0.0);
        for part in &mut parts {
            part.share /= total;
        }
        Self { noun, whole, parts }
    }

    /// The share of the flows for which `fits` holds, 0 where there are no flows.
    pub(crate) fn share(&self, fits: impl Fn(&Part) -> bool) -> f64 {
        let fitting = self.parts.iter().filter(|part| fits(part));
        settled(fitting.map(|part| part.share).sum())
    }

    /// The flows for which `fits` holds that use the commonest controller among them: those with
    /// which a formula of one kind of flow computes. On a tie those that cut deeper, whose buffer is
    /// the larger, and then by name.
    pub(crate) fn commonest(&self, fits: impl Fn(&Part) -> bool) -> Option<&Part> {
        /// A window of packets at which cuts are compared.
        const WINDOW: f64 = 100.0;
        let rank = |part: &Part| {
            let share = self.share(|other| fits(other) && other.controller == part.controller);
            (share, -part.kept(WINDOW).unwrap_or(1.0))
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

    /// The commonest controller that cuts at a loss by a known law.
    pub(crate) fn cutting(&self) -> Option<&Part> {
        self.commonest(|part| part.response.is_some())
    }

    /// How many different controllers the flows use for which `fits` holds.
    pub(crate) fn kinds(&self, fits: impl Fn(&Part) -> bool) -> usize {
        let mut known: Vec<&Algorithm> = Vec::new();
        for part in self.parts.iter().filter(|part| fits(part)) {
            if !known.contains(&&part.controller) {
                known.push(&part.controller);
            }
        }
        known.len()
    }

    /// The controllers' names, the commonest first.
    pub(crate) fn names(&self, fits: impl Fn(&Part) -> bool) -> String {
        let fitting = || self.parts.iter().filter(|part| fits(part));
        let mut names: Vec<&str> = fitting().map(Part::controller).collect();
        names.sort_unstable();
        names.dedup();
        let share = |name: &str| self.share(|part| fits(part) && part.controller() == name);
        names.sort_by(|a, b| share(b).total_cmp(&share(a)));
        list(&names.into_iter().map(name).collect::<Vec<_>>())
    }

    /// Which share of the flows is what a rule is about.
    pub(crate) fn check(&self, asked: &Asked<'_>) -> Check {
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

    /// Says of which share a rule speaks: who it is, and what the others do.
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
