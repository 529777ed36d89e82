//! The links of a fabric. A table of a role comes over the table of all ports; the result is the
//! table of each link with that role.

use forebay_units::Time;

use crate::model::fabric::ports::CABLE;
use crate::model::fabric::shape::Role;
use crate::model::fabric::table::Fabric;
use crate::model::link::Link;
use crate::model::pfc::CableLength;
use crate::text::cursor::Cursor;
use crate::text::keys::{Context, Form, Section};
use crate::text::tree::{Content, Node, ScenarioError, Span};

/// The buffer of a host's link: hosts do not lose their own packets.
const NIC_BUFFER: &str = "100MB";

/// A fabric with the table of a link for each role.
pub(crate) struct Ports {
    pub(crate) fabric: Fabric,
    tables: [Node; 4],
}

impl Ports {
    /// Reads the table `[fabric]`.
    pub(crate) fn read(table: &Cursor<'_>) -> Result<Self, ScenarioError> {
        let fabric = Fabric::read(table, &Context::default())?;
        if !fabric.hosts.is_multiple_of(fabric.leaves) {
            let at = table.get("hosts").unwrap_or_else(|| table.clone());
            let leaves = fabric.leaves;
            return Err(at.error(format!("a multiple of {leaves}, the number of leaves")));
        }
        let links = fabric.shape().links();
        if links > 1024 {
            let found = format!("{links} links");
            return Err(table.error_found(
                found,
                "at most 1024 links: two for each host, and two between each leaf and spine",
            ));
        }
        let all = table.get("port");
        if let Some(all) = &all {
            check(all)?;
        }
        let all = match all {
            Some(at) => settled(&at)?,
            None => Node::of(Content::Table(Vec::new()), table.node.place.clone()),
        };
        let own = |role: Role| {
            let at = table.get(role.key());
            let own = at.as_ref().map(settled).transpose()?;
            let place = table.node.place.clone();
            Ok(own.unwrap_or_else(|| Node::of(Content::Table(Vec::new()), place)))
        };
        let over = |role| -> Result<Node, ScenarioError> { Ok(merged(&all, own(role)?)) };
        let host_port = over(Role::HostPort)?;
        let nic = nic(own(Role::Nic)?, &host_port);
        let tables = [nic, host_port, over(Role::Uplink)?, over(Role::SpinePort)?];
        Ok(Self { fabric, tables })
    }

    /// The cursors of all links: each at the table of its role.
    pub(crate) fn cursors<'a>(&'a self, file: &'a str) -> Vec<Cursor<'a>> {
        let shape = self.fabric.shape();
        let of = |role: Role| {
            let cursor = Cursor {
                node: &self.tables[role as usize],
                key: format!("fabric.{}", role.key()),
                file,
            };
            std::iter::repeat_n(cursor, shape.range(role).1)
        };
        Role::ALL.into_iter().flat_map(of).collect()
    }

    /// All links, without what depends on the rest of the scenario.
    pub(crate) fn links(
        &self,
        cursors: &[Cursor<'_>],
        context: &Context<'_>,
    ) -> Result<Vec<Link>, ScenarioError> {
        let shape = self.fabric.shape();
        let mut links = Vec::with_capacity(cursors.len());
        for role in Role::ALL {
            let (first, count) = shape.range(role);
            let link = Link::read(&cursors[first], context)?;
            if link.varying.is_some() || link.delays.is_some() {
                let key = if link.varying.is_some() {
                    "rate"
                } else {
                    "delay"
                };
                let at = cursors[first].get(key);
                let at = at.unwrap_or_else(|| cursors[first].clone());
                return Err(at.error(format!("a constant {key}")));
            }
            links.extend((first..first + count).map(|number| {
                let memory = shape
                    .switch(number)
                    .filter(|_| self.fabric.memory.is_some());
                let mut link = link.clone();
                link.name = shape.name(number);
                link.memory = memory;
                link
            }));
        }
        Ok(links)
    }

    /// The number of the target link.
    pub(crate) fn target(&self, table: &Cursor<'_>) -> Result<usize, ScenarioError> {
        let shape = self.fabric.shape();
        let Some(name) = &self.fabric.target else {
            return Ok(shape.host_port(0));
        };
        let found = (0..shape.links()).find(|&link| shape.name(link) == *name);
        found.ok_or_else(|| {
            let at = table.get("target").unwrap_or_else(|| table.clone());
            let names: Vec<String> = (0..shape.links()).map(|link| shape.name(link)).collect();
            at.unknown("link", name, names.iter().map(String::as_str))
        })
    }
}

/// Refuses wrong values of the table of all ports. They would otherwise be found at a role.
fn check(all: &Cursor<'_>) -> Result<(), ScenarioError> {
    let mut node = settled(all)?;
    if let Some(entries) = node.entries_mut() {
        for (key, value) in [("rate", "1Gbps"), ("buffer", "1p")] {
            if !entries.iter().any(|(known, _)| known == key) {
                let value = Node::of(Content::Text(value.into()), Span::Nowhere);
                entries.push((key.into(), value));
            }
        }
    }
    let cursor = Cursor {
        node: &node,
        ..all.clone()
    };
    Link::read(&cursor, &Context::default()).map(|_| ())
}

/// A table of ports with the delay of its cable.
fn settled(at: &Cursor<'_>) -> Result<Node, ScenarioError> {
    let mut node = at.node.clone();
    let Some(cable) = at.get(CABLE) else {
        return Ok(node);
    };
    if at.get("delay").is_some() {
        return Err(cable.error("no `cable` beside `delay`"));
    }
    let meters = CableLength.read(&cable, &Context::default())?;
    let delay: Time = CableLength::delay(meters);
    if let Some(entries) = node.entries_mut() {
        entries.retain(|(key, _)| key != CABLE);
        let delay = Node::of(Content::Text(delay.to_string()), cable.node.place.clone());
        entries.push(("delay".into(), delay));
    }
    Ok(node)
}

/// The link of a host: with the rate, the delay and the rate's layer of the port back to it.
fn nic(own: Node, host_port: &Node) -> Node {
    let shared = ["rate", "delay", "rate_layer"];
    let mut entries: Vec<(String, Node)> = shared
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), host_port.find(key)?.clone())))
        .collect();
    let buffer = Node::of(Content::Text(NIC_BUFFER.into()), own.place.clone());
    entries.push(("buffer".into(), buffer));
    let base = Node::of(Content::Table(entries), own.place.clone());
    merged(&base, own)
}

/// A table over another one: its keys have precedence, also within tables of one kind.
fn merged(base: &Node, over: Node) -> Node {
    let Content::Table(above) = &over.content else {
        return over;
    };
    let mut entries = match &base.content {
        Content::Table(below) => below.clone(),
        // A name is short for a table with this kind.
        Content::Text(_) => vec![("kind".to_owned(), base.clone())],
        _ => return over,
    };
    let kind = |entries: &[(String, Node)]| {
        let found = entries.iter().find(|(key, _)| key == "kind");
        found.map(|(_, node)| node.content.clone())
    };
    if let Some(other) = kind(above)
        && kind(&entries) != Some(other)
    {
        return over;
    }
    for (key, node) in above {
        match entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, known)) => *known = merged(known, node.clone()),
            None => entries.push((key.clone(), node.clone())),
        }
    }
    Node {
        content: Content::Table(entries),
        place: over.place,
    }
}
