//! The tables of a scenario's links: `[link]`, `[[links]]`, or the ports of `[fabric]`.

use serde_json::{Map, Value};

use crate::model::fabric::links::Ports;
use crate::model::link::Link;
use crate::text::cursor::Cursor;
use crate::text::keys::Context;
use crate::text::naming::counted;
use crate::text::tree::{Node, ScenarioError};

/// The table of each link.
pub(super) fn link_tables<'a>(
    root: &Cursor<'a>,
    ports: Option<&'a Ports>,
) -> Result<Vec<Cursor<'a>>, ScenarioError> {
    match (root.get("link"), root.get("links"), ports) {
        (Some(link), None, None) => Ok(vec![link]),
        (None, Some(links), None) => links
            .items()
            .filter(|items| (1..=64).contains(&items.len()))
            .ok_or_else(|| links.error("[[links]], one to 64 of them")),
        (None, _, Some(ports)) => Ok(ports.cursors(root.file)),
        (link, links, fabric) => {
            let given = [
                ("[link]", link.is_some()),
                ("[[links]]", links.is_some()),
                ("[fabric]", fabric.is_some()),
            ];
            let given: Vec<&str> = given.iter().filter(|it| it.1).map(|it| it.0).collect();
            let found = match &given[..] {
                [] => "no link".to_owned(),
                [one, other] => format!("both {one} and {other}"),
                all => all.join(", "),
            };
            Err(root.error_found(found, "either [link] or [[links]] or [fabric]"))
        }
    }
}

/// Removes the links and memories of a fabric from a tree, which the canonical form has beside it.
/// They would contradict changes of the fabric.
pub(super) fn drop_links_of_fabric(root: &mut Node) {
    if root.find("fabric").is_some()
        && let Some(entries) = root.entries_mut()
    {
        entries.retain(|(key, _)| !LISTED.contains(&key.as_str()));
    }
}

/// The tables that the canonical form has beside a fabric.
const LISTED: [&str; 2] = ["links", "memories"];

/// Refuses links and memories beside a fabric unless they are those that the canonical form has.
pub(super) fn check_links_of_fabric(
    root: &Cursor<'_>,
    canonical: impl FnOnce() -> Map<String, Value>,
) -> Result<(), ScenarioError> {
    let listed = LISTED.iter().filter_map(|key| Some((key, root.get(key)?)));
    let mut listed = listed.peekable();
    if root.get("fabric").is_none() || listed.peek().is_none() {
        return Ok(());
    }
    let canonical = canonical();
    match listed.find(|(key, at)| canonical.get(**key) != Some(&at.node.value())) {
        Some((key, at)) => Err(at.error(format!("no [[{key}]] beside [fabric]"))),
        None => Ok(()),
    }
}

/// The links, without what depends on the rest of the scenario, and the number of the target link.
pub(super) fn read_links(
    root: &Cursor<'_>,
    (ports, cursors): (Option<&Ports>, &[Cursor<'_>]),
    context: &Context<'_>,
) -> Result<(Vec<Link>, usize), ScenarioError> {
    let (mut links, target) = if let Some(ports) = ports {
        let table = root.get("fabric").unwrap_or_else(|| root.clone());
        (ports.links(cursors, context)?, ports.target(&table)?)
    } else {
        let numbered = cursors.iter().enumerate();
        let links = numbered.map(|(number, at)| Link::read_unresolved(at, number, context));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let target = find_target(&links, root)?;
        (links, target)
    };
    links[target].target = true;
    Ok((links, target))
}

fn find_target(links: &[Link], root: &Cursor<'_>) -> Result<usize, ScenarioError> {
    for (at, link) in links.iter().enumerate() {
        if links[..at].iter().any(|other| other.name == link.name) {
            return Err(root.error_found(
                format!("two links named `{}`", link.name),
                "a different name for each link",
            ));
        }
    }
    let targets: Vec<usize> = (0..links.len()).filter(|&at| links[at].target).collect();
    match (&targets[..], links.len()) {
        ([target], _) => Ok(*target),
        ([], 1) => Ok(0),
        _ => Err(root.error_found(
            format!(
                "{} with target = true",
                counted(targets.len() as u64, "link")
            ),
            "exactly one link with target = true",
        )),
    }
}
