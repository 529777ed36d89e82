//! Sets of hosts by name: the senders and the receivers of a flow group in a fabric.

use serde_json::{Value, json};

use crate::model::fabric::shape::Shape;
use crate::text::cursor::Cursor;
use crate::text::grammar::Grammar;
use crate::text::keys::{Context, Form};
use crate::text::tree::ScenarioError;

/// Names of hosts, of leaves, or ranges of hosts; none stand for the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSet(Vec<String>);

/// The form of a set of hosts.
pub(crate) struct Hosts;

const ALLOWED: &str = "\"all\", or one or a list of \"host3\", \"host1..host8\" and \"leaf2\"";

impl HostSet {
    /// The hosts, in the order in which they are named, each once.
    pub(crate) fn hosts(&self, shape: Shape, at: &Cursor<'_>) -> Result<Vec<u32>, ScenarioError> {
        let items = at.items();
        let mut hosts = Vec::new();
        let mut known = vec![false; shape.hosts];
        for (number, name) in self.0.iter().enumerate() {
            let place = items.as_ref().and_then(|items| items.get(number));
            let range = range(name, shape).ok_or_else(|| {
                let (hosts, leaves) = (shape.hosts, shape.leaves);
                let allowed = format!("hosts from host1 to host{hosts}, leaves up to leaf{leaves}");
                place.unwrap_or(at).error(allowed)
            })?;
            for host in range {
                if !known[host] {
                    known[host] = true;
                    hosts.push(host as u32);
                }
            }
        }
        Ok(hosts)
    }
}

/// The number in a name with this prefix, counted from zero.
fn number(name: &str, prefix: &str) -> Option<usize> {
    let digits = name.strip_prefix(prefix)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: usize = digits.parse().ok().filter(|_| plain)?;
    number.checked_sub(1)
}

/// The hosts that a name stands for.
fn range(name: &str, shape: Shape) -> Option<std::ops::Range<usize>> {
    let (first, end) = if name == "all" {
        (0, shape.hosts)
    } else if let Some((first, last)) = name.split_once("..") {
        (number(first, "host")?, number(last, "host")? + 1)
    } else if let Some(leaf) = number(name, "leaf") {
        let each = shape.hosts_per_leaf();
        (leaf * each, (leaf + 1) * each)
    } else {
        let host = number(name, "host")?;
        (host, host + 1)
    };
    (first < end && end <= shape.hosts).then_some(first..end)
}

impl Form<HostSet> for Hosts {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<HostSet, ScenarioError> {
        if let Some(name) = at.text() {
            return Ok(HostSet(vec![name.to_owned()]));
        }
        let items = at.items().filter(|items| (1..=1024).contains(&items.len()));
        let items = items.ok_or_else(|| at.error(ALLOWED))?;
        let names = items.iter().map(|item| {
            let name = item.text().map(str::to_owned);
            name.ok_or_else(|| item.error(ALLOWED))
        });
        names.collect::<Result<_, _>>().map(HostSet)
    }

    fn write(&self, set: &HostSet, _: &Context<'_>) -> Option<Value> {
        match &set.0[..] {
            [] => None,
            [name] => Some(name.as_str().into()),
            names => Some(names.iter().map(String::as_str).collect()),
        }
    }

    fn grammar(&self) -> Grammar {
        let name = json!({"type": "string", "pattern": "^(all|leaf[0-9]+|host[0-9]+(\\.\\.host[0-9]+)?)$"});
        let schema = json!({"anyOf": [name, {"type": "array", "minItems": 1, "items": name}]});
        Grammar::new(schema, ALLOWED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_hosts_of_the_fabric_only() {
        let shape = Shape {
            leaves: 2,
            spines: 1,
            hosts: 6,
        };
        assert_eq!(range("all", shape), Some(0..6));
        assert_eq!(range("host6", shape), Some(5..6));
        assert_eq!(range("leaf2", shape), Some(3..6));
        assert_eq!(range("host2..host4", shape), Some(1..4));
        for name in [
            "host0",
            "host7",
            "leaf3",
            "host4..host2",
            "host+1",
            "spine1",
            "host",
            "",
        ] {
            assert_eq!(range(name, shape), None, "{name}");
        }
    }
}
