//! Lossless queues and their senders, as the scenario lays them out: which queues can pause which
//! links, and which classes of two links correspond. [`crate::pause`] counts and pauses.
//!
//! A class of a link corresponds to the class of the next link that carries the same flow groups. A
//! real pause frame names a priority, which a packet keeps on its way. Here, the groups of a class
//! have one priority.

use forebay_scenario::{Link, Scenario};

/// The class of a flow group at link number `at`; the first one at a link without classes.
pub(super) fn class_at(scenario: &Scenario, at: usize, group: usize) -> u8 {
    let name = &scenario.flows()[group].name;
    scenario.links()[at].class_of(name).unwrap_or_default() as u8
}

/// The groups that go from link number `before` to another one directly after it, as data or as
/// acknowledgments: the link, and the group.
fn crossings(scenario: &Scenario, before: usize) -> impl Iterator<Item = (usize, usize)> {
    let groups = scenario.flows().iter().enumerate();
    groups.flat_map(move |(number, group)| {
        let routed = group.routing.is_some();
        let links = 0..if routed { scenario.links().len() } else { 0 };
        let reached = links.filter(move |&next| group.leads(before, next));
        let paths = [&group.path, &group.reverse].into_iter();
        let pairs = paths
            .filter(move |_| !routed)
            .flat_map(|path| path.windows(2));
        let on_paths = pairs.filter(move |pair| pair[0] == before);
        let next = reached.chain(on_paths.map(|pair| pair[1]));
        next.map(move |link| (link, number))
    })
}

/// Whether a link pauses its senders, or may be paused.
pub fn takes_part(scenario: &Scenario, at: usize) -> bool {
    scenario.links()[at].is_lossless() || may_be_paused(scenario, at)
}

/// Whether a queue behind a link may pause it, or a class of it.
pub fn may_be_paused(scenario: &Scenario, at: usize) -> bool {
    let links = scenario.links();
    let is_lossless =
        |link: usize, group: usize| links[link].pfc_of(&scenario.flows()[group].name).is_some();
    links.iter().any(Link::is_lossless)
        && crossings(scenario, at).any(|(link, group)| is_lossless(link, group))
}

/// Whether a link has a lossless queue for the packets of a flow group.
fn is_lossless_for(scenario: &Scenario, at: usize, group: usize) -> bool {
    let name = &scenario.flows()[group].name;
    scenario.links()[at].pfc_of(name).is_some()
}

/// A lossless class that pauses packets of other classes at a link before it, as a sentence: the
/// link before has the groups of both classes in one queue, which a pause would stop.
pub fn mixed_classes(scenario: &Scenario) -> Option<String> {
    let links = scenario.links();
    if links.iter().all(|link| link.classes.is_empty()) {
        return None;
    }
    let from = |before: usize| {
        let found = crossings(scenario, before);
        found.map(move |(link, group)| (before, link, group))
    };
    let all: Vec<_> = (0..links.len()).flat_map(from).collect();
    for &(before, at, group) in &all {
        if !is_lossless_for(scenario, at, group) || links[at].classes.is_empty() {
            continue;
        }
        let class = class_at(scenario, at, group);
        let shares = |&&(sender, link, other): &&(usize, usize, usize)| {
            (sender, link) == (before, at)
                && class_at(scenario, before, other) == class_at(scenario, before, group)
                && class_at(scenario, at, other) != class
        };
        if let Some(&(_, _, other)) = all.iter().find(shares) {
            let name = |group: usize| &scenario.flows()[group].name;
            return Some(format!(
                "the lossless class `{}` of link `{}`, whose pauses of link `{}` would stop the group `{}` of another class together with `{}`; allowed: a class of `{}` for the groups of each class of `{}`",
                links[at].classes[usize::from(class)].name,
                links[at].name,
                links[before].name,
                name(other),
                name(group),
                links[before].name,
                links[at].name,
            ));
        }
    }
    None
}
