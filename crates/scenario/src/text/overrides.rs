//! Changes to a scenario from outside of its file: the argument that asked for them, and the way in
//! which they enter the tree. The new nodes remember the argument, so that an error points at it.

use std::sync::Arc;

use crate::text::naming::{Unknown, american, canonical_key, shortened};
use crate::text::tree::{Content, Format, Node, ScenarioError, Source, Span, ValueError};

/// A change to a scenario: `key = value` with a dotted key ("link.buffer", "flows.bulk.cca").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Dotted key. A flow group or link is named by its name or its number.
    pub key: String,
    /// The value as TOML, or as bare text where it is not TOML (`100p`).
    pub value: String,
    /// The argument or option that asks for it: what a mistake points at.
    argument: Arc<str>,
    /// The key as it was written there; empty where the argument says it already.
    written: String,
}

impl Override {
    /// Reads `key=value`.
    ///
    /// ```
    /// use forebay_scenario::Override;
    ///
    /// let change = Override::parse("link.buffer = 50p")?;
    /// assert_eq!((change.key.as_str(), change.value.as_str()), ("link.buffer", "50p"));
    /// assert!(Override::parse("link.buffer").is_err());
    /// # Ok::<(), forebay_scenario::ScenarioError>(())
    /// ```
    ///
    /// # Errors
    /// A text without `=`, or without a key before it.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        Self::for_argument("overrides", text)
    }

    /// Reads `key=value` out of this argument.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn for_argument(argument: &str, text: &str) -> Result<Self, ScenarioError> {
        let parts = text
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()));
        match parts {
            Some((key, value)) if !key.is_empty() => Ok(Self {
                key: key.to_owned(),
                value: value.to_owned(),
                argument: argument.into(),
                written: key.to_owned(),
            }),
            _ => Err(ScenarioError {
                source: Source::Argument(argument.into()),
                key: String::new(),
                value_error: Box::new(ValueError::value(
                    format!("`{}`", shortened(text)),
                    "key=value, as in link.buffer=100p",
                )),
            }),
        }
    }

    /// The change of an argument whose user writes no key: `--also 20p`.
    pub fn of(argument: &str, key: &str, value: &str) -> Self {
        Self {
            key: key.to_owned(),
            value: value.to_owned(),
            argument: argument.into(),
            // A goal is written with its metric.
            written: key.strip_prefix("goal.").unwrap_or_default().to_owned(),
        }
    }

    /// Whether defaults of a group follow from what it changes: its preset of a stack or its
    /// controller.
    pub(crate) fn chooses_defaults(&self) -> bool {
        let mut parts = self.key.split('.');
        parts.next() == Some("flows") && matches!(parts.nth(1), Some("stack" | "cca"))
    }

    /// The argument that asks for it.
    pub fn argument(&self) -> &str {
        &self.argument
    }

    fn place(&self) -> Span {
        Span::Argument(self.argument.clone(), self.written.clone())
    }

    fn error(&self, value_error: ValueError) -> ScenarioError {
        ScenarioError {
            source: Source::Argument(self.argument.clone()),
            key: self.written.clone(),
            value_error: Box::new(value_error),
        }
    }

    /// The value as a node that remembers where it comes from.
    fn node(&self) -> Node {
        let parsed = format!("x = {}", self.value);
        let read = Node::read(&parsed, Format::Toml, "").ok();
        let value = read.and_then(|mut node| node.entries_mut().and_then(Vec::pop));
        let mut node = value.map_or_else(
            || Node::of(Content::Text(self.value.clone()), Span::Nowhere),
            |(_, node)| node,
        );
        node.set_argument(&self.argument, &self.written);
        node
    }
}

impl Node {
    /// Applies one override, creating tables on the way.
    pub(crate) fn apply(&mut self, change: &Override) -> Result<(), ScenarioError> {
        self.put_override(change)?;
        let mut parts = change.key.split('.');
        if parts.next() == Some("flows")
            && let Some(group) = parts.next()
            && parts.next() == Some("workload")
        {
            self.drop_former_counts(group);
        }
        Ok(())
    }

    /// Drops the `count` of groups with this name or number, or of all ("*"), whose workload says
    /// how many flows there are, so that changed users or servers do not contradict the former
    /// number. A count that an argument asks for remains.
    fn drop_former_counts(&mut self, group: &str) {
        let mut entries = self.entries_mut().into_iter().flatten();
        let flows = entries.find(|(key, _)| key == "flows");
        let Some(Content::List(groups)) = flows.map(|(_, node)| &mut node.content) else {
            return;
        };
        for (at, node) in groups.iter_mut().enumerate() {
            let changed = group == "*" || node.name() == Some(group) || at.to_string() == group;
            let counted = [("closed_loop", "users"), ("incast", "servers")];
            let states_a_number = counted.iter().any(|(kind, number)| {
                let body = node
                    .find("workload")
                    .and_then(|workload| workload.find(kind));
                body.is_some_and(|body| body.find(number).is_some())
            });
            if changed
                && states_a_number
                && let Content::Table(entries) = &mut node.content
            {
                entries.retain(|(key, count)| {
                    key != "count" || matches!(count.place, Span::Argument(..))
                });
            }
        }
    }

    /// Puts the value at its key.
    fn put_override(&mut self, change: &Override) -> Result<(), ScenarioError> {
        let value = change.node();
        let path = self.path_of(&change.key);
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        if let [list, "*", rest @ ..] = &path[..] {
            return self.put_in_each(list, rest, &value, change);
        }
        self.put(&path, value, change)
    }

    /// The parts of a dotted key. If there are several links, `link` is the target.
    fn path_of(&self, key: &str) -> Vec<String> {
        let mut path: Vec<String> = key.split('.').map(str::to_owned).collect();
        if path[0] == "goal" && path.len() > 2 {
            // A goal on a group's metric is one key with a dot in it.
            path = vec!["goal".to_owned(), key["goal.".len()..].to_owned()];
        }
        if path[0] == "link" && self.find("link").is_none() && self.find("links").is_some() {
            let links = self.find("links");
            let target = links.and_then(Node::target_name).unwrap_or_default();
            path.splice(..1, ["links".to_owned(), target]);
        } else if path[0] == "link"
            && self.find("link").is_none()
            && let Some(fabric) = self.find("fabric")
        {
            path.splice(..1, ["fabric".to_owned(), fabric.target_role().to_owned()]);
        }
        path
    }

    /// Removes a key, as [`Override`]s name it. A tree without it stays as it is.
    pub(crate) fn remove(&mut self, key: &str) {
        let path = self.path_of(key);
        let Some((last, parents)) = path.split_last() else {
            return;
        };
        let mut node = self;
        for part in parents {
            let child = match &mut node.content {
                Content::Table(entries) => {
                    let part = canonical_key(part);
                    let entry = entries.iter_mut().find(|(key, _)| *key == part);
                    entry.map(|(_, child)| child)
                }
                Content::List(items) => match index(items, part, key) {
                    Ok(at) => items.get_mut(at),
                    Err(_) => None,
                },
                _ => None,
            };
            match child {
                Some(child) => node = child,
                None => return,
            }
        }
        if let Content::Table(entries) = &mut node.content {
            let last = canonical_key(last);
            entries.retain(|(key, _)| *key != last);
        }
    }

    /// The number of a flow group that is named by its name or its number.
    pub(crate) fn group_number(&self, name: &str) -> Option<usize> {
        match self.find("flows").map(|flows| &flows.content) {
            Some(Content::List(groups)) => index(groups, name, "flows").ok(),
            _ => None,
        }
    }

    /// The same change in every table of a list, as in `flows.*.min_rto`.
    fn put_in_each(
        &mut self,
        list: &str,
        rest: &[&str],
        value: &Self,
        change: &Override,
    ) -> Result<(), ScenarioError> {
        let items = match self.find(list).map(|node| &node.content) {
            Some(Content::List(items)) => items.len(),
            _ => 0,
        };
        if items == 0 || rest.is_empty() {
            let allowed = "LIST.*.KEY with a list of tables, as in flows.*.rtt";
            return Err(change.error(ValueError::value(
                format!("`{}`", shortened(&change.key)),
                allowed,
            )));
        }
        for at in 0..items {
            let at = at.to_string();
            let path: Vec<&str> = [list, &at].iter().chain(rest).copied().collect();
            self.put(&path, value.clone(), change)?;
        }
        Ok(())
    }

    /// Puts `value` at the end of `path`.
    fn put(&mut self, path: &[&str], value: Self, change: &Override) -> Result<(), ScenarioError> {
        let Some((last, parents)) = path.split_last() else {
            let allowed = "key=value, as in link.buffer=100p";
            return Err(change.error(ValueError::value("no key", allowed)));
        };
        let mut node = self;
        for part in parents {
            node = node.child(part, change)?;
        }
        match &mut node.content {
            Content::Table(entries) => {
                let last = canonical_key(last);
                match entries.iter_mut().find(|(key, _)| *key == last) {
                    Some(entry) => entry.1 = value,
                    None => entries.push((last.into_owned(), value)),
                }
                Ok(())
            }
            Content::List(items) => {
                let at = index(items, last, &change.key)
                    .map_err(|value_error| change.error(value_error))?;
                items[at] = value;
                Ok(())
            }
            other => Err(change.error(no_key_within(last, other))),
        }
    }

    /// The child `part` of a table (created where missing) or of a list (by name or number).
    fn child(&mut self, part: &str, change: &Override) -> Result<&mut Self, ScenarioError> {
        match &mut self.content {
            Content::Table(entries) => {
                let part = american(part);
                let steps = part == "rate" || part == "delay";
                let known = entries.iter().position(|(key, _)| *key == part);
                let at = known.unwrap_or_else(|| {
                    let table = Self::of(Content::Table(Vec::new()), change.place());
                    entries.push((part.into_owned(), table));
                    entries.len() - 1
                });
                let child = &mut entries[at].1;
                if let Content::Text(kind) = &child.content {
                    // `queue = "red"` is short for `queue = { kind = "red" }`; of a rate or a delay
                    // steps take the place.
                    let kind = Self::of(Content::Text(kind.clone()), child.place.clone());
                    let kind = (!steps).then(|| ("kind".into(), kind));
                    child.content = Content::Table(kind.into_iter().collect());
                }
                Ok(child)
            }
            Content::List(items) => {
                let at = index(items, part, &change.key)
                    .map_err(|value_error| change.error(value_error))?;
                Ok(&mut items[at])
            }
            other => Err(change.error(no_key_within(part, other))),
        }
    }

    /// Lets this and everything in it come from an argument, under the key that was written there.
    fn set_argument(&mut self, argument: &Arc<str>, key: &str) {
        self.place = Span::Argument(argument.clone(), key.to_owned());
        match &mut self.content {
            Content::List(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    item.set_argument(argument, &format!("{key}[{at}]"));
                }
            }
            Content::Table(entries) => {
                for (name, item) in entries {
                    let dot = if key.is_empty() { "" } else { "." };
                    item.set_argument(argument, &format!("{key}{dot}{name}"));
                }
            }
            _ => {}
        }
    }

    /// The key of the ports in a fabric that the target link is one of. Names of links have the
    /// sender first.
    fn target_role(&self) -> &'static str {
        let target = match self.find("target").map(|node| &node.content) {
            Some(Content::Text(name)) => name.as_str(),
            _ => "",
        };
        let (sender, receiver) = target.split_once('-').unwrap_or_default();
        if sender.starts_with("host") {
            "nic"
        } else if sender.starts_with("spine") {
            "spine_port"
        } else if receiver.starts_with("spine") {
            "uplink"
        } else {
            "host_port"
        }
    }

    /// The name (or number) of the link marked as target in a list of links.
    fn target_name(&self) -> Option<String> {
        let Content::List(items) = &self.content else {
            return None;
        };
        let is_target = |item: &Self| {
            let target = item.find("target");
            target.is_some_and(|target| target.content == Content::Bool(true))
        };
        let at = items.iter().position(is_target).unwrap_or(0);
        let name = items.get(at)?.name();
        Some(name.map_or_else(|| at.to_string(), str::to_owned))
    }
}

/// That a plain value has no `part`.
fn no_key_within(part: &str, value: &Content) -> ValueError {
    let found = format!("`{}` within {}", shortened(part), value.shown());
    ValueError::value(found, "a key of a table")
}

/// The index in a list of `part` of a key, a name or a number.
fn index(items: &[Node], part: &str, key: &str) -> Result<usize, ValueError> {
    let named = items.iter().position(|item| item.name() == Some(part));
    let numbered = || part.parse().ok().filter(|&at: &usize| at < items.len());
    named.or_else(numbered).ok_or_else(|| {
        let names: Vec<&str> = items.iter().filter_map(Node::name).collect();
        if names.is_empty() {
            let last = items.len().saturating_sub(1);
            ValueError::value(
                format!("`{}`", shortened(part)),
                format!("a number from 0 to {last}"),
            )
        } else {
            // The key has the list's name before the part.
            let lists = key.split('.').zip(key.split('.').skip(1));
            let list = lists.into_iter().find(|(_, name)| *name == part);
            let what = match list.map(|(list, _)| list) {
                Some("flows") => "group",
                Some("memories") => "memory",
                Some("classes") => "class",
                _ => "link",
            };
            ValueError::Name(Unknown::among(what, part, names))
        }
    })
}
