//! Classes of traffic at a link: `queue = { kind = "classes", ... }`. The table of a link reads
//! them.

use std::sync::LazyLock;

use forebay_discipline::MAX_CLASSES;
use forebay_units::parameter::Description;
use serde_json::{Value, json};

use crate::model::algorithm::{Algorithm, Registered, custom_discipline};
use crate::model::buffer::{Buffer, BufferLimit};
use crate::model::pfc::{Pfc, PfcTable};
use crate::text::cursor::Cursor;
use crate::text::form::NAME;
use crate::text::form::{List, Maybe, Switch, Text, WholeNumber};
use crate::text::grammar::object;
use crate::text::grammar::{Grammar, KeyText};
use crate::text::keys::{Context, Form, Section, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// Flow groups that share a queue at a link.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TrafficClass {
        /// Name, unique at the link; keys such as `link.queue.classes.voice.buffer` use it.
        name: String = String::new(), required("\"voice\"", NAME);
        /// Names of the flow groups in the class. Groups that no class names are in the last class.
        groups: Vec<String> = Vec::new(), key(GROUPS);
        /// Weight of the class among the classes that take turns; for the schedules `wrr` and
        /// `dwrr`.
        weight: u64 = 1, key(WholeNumber(1, 10_000));
        /// Whether the class is served before all classes that take turns; for the schedules `wrr`
        /// and `dwrr`.
        priority: bool = false, key(Switch);
        /// Buffer of the class, converted with the link's rate and bandwidth-delay product. Without
        /// one the class shares the link's buffer with the other classes that have none.
        buffer: Option<BufferLimit> = None, key(Maybe(Buffer));
        /// Priority flow control of the class: it pauses the senders of its packets instead of
        /// dropping them. Packets of other classes are not paused.
        pfc: Option<Pfc> = None, key(Maybe(PfcTable));
        /// Queue discipline of the class: any discipline without classes of its own.
        discipline: Algorithm = Algorithm::new(forebay_discipline::descriptions()[0]),
            key(WITHIN, "queue");
    }
}

const GROUPS: List<Text> = List {
    of: Text {
        valid: |name| !name.is_empty(),
        allowed: "the name of a flow group",
    },
    least: 0,
    allowed: "a list of names of flow groups",
};

const WITHIN: Registered = Registered {
    built_in: || {
        static ALL: LazyLock<Vec<&'static Description>> = LazyLock::new(|| {
            let all = forebay_discipline::descriptions().iter();
            all.filter(|description| description.name != NAME_OF_CLASSES)
                .copied()
                .collect()
        });
        &ALL
    },
    custom: custom_discipline,
    in_kernel: false,
};

/// Every queue discipline.
pub(crate) const QUEUE: Registered = Registered {
    built_in: forebay_discipline::descriptions,
    custom: custom_discipline,
    in_kernel: false,
};

/// The name of the discipline that has classes.
const NAME_OF_CLASSES: &str = "classes";

/// A discipline with its classes, of which all but `classes` have none.
pub(crate) type Queue = (Algorithm, Vec<TrafficClass>);

/// The form of `queue`: a discipline out of the registry, with a list of classes where it is
/// `classes`.
pub(crate) struct LinkQueue;

impl LinkQueue {
    const EXAMPLE: &'static str =
        "classes = [{ name = \"voice\", groups = [\"calls\"] }, { name = \"rest\" }]";

    /// The description of the list.
    fn classes() -> KeyText {
        let allowed = format!(
            "a list of one to {MAX_CLASSES} tables with {}",
            TrafficClass::documented_names().join(", ")
        );
        let item = object(&TrafficClass::texts());
        let schema =
            json!({"type": "array", "minItems": 1, "maxItems": MAX_CLASSES, "items": item});
        let grammar = Grammar::new(schema, allowed).with_keys(TrafficClass::texts());
        let meaning =
            "Classes of the discipline `classes`; strict classes in the order of service.";
        KeyText::of("classes", meaning, grammar)
    }
}

impl Form<Queue> for LinkQueue {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Queue, ScenarioError> {
        let kind = at.get("kind").unwrap_or_else(|| at.clone());
        if kind.text() != Some(NAME_OF_CLASSES) {
            return Ok((QUEUE.read(at, context)?, Vec::new()));
        }
        let list = at.get("classes");
        let list = list.ok_or_else(|| at.error_found("no `classes`", Self::EXAMPLE))?;
        let items = list
            .items()
            .filter(|items| (1..=MAX_CLASSES).contains(&items.len()));
        let items = items.ok_or_else(|| list.error(Self::classes().allowed))?;
        let algorithm = QUEUE.read_beside(at, &["classes"], context)?;
        let mut classes: Vec<TrafficClass> = Vec::with_capacity(items.len());
        for item in &items {
            let class = TrafficClass::read(item, context)?;
            if classes.iter().any(|other| other.name == class.name) {
                return Err(item.error_found(
                    format!("a second class named `{}`", class.name),
                    "a different name for each class of a link",
                ));
            }
            classes.push(class);
        }
        Ok((algorithm, classes))
    }

    fn write(&self, (algorithm, classes): &Queue, context: &Context<'_>) -> Option<Value> {
        let mut queue = QUEUE.write(algorithm, context)?;
        if !classes.is_empty() {
            queue["classes"] = classes.iter().map(|class| class.write(context)).collect();
        }
        Some(queue)
    }

    fn grammar(&self) -> Grammar {
        let classes = Self::classes();
        let mut grammar = QUEUE.grammar();
        let kinds = grammar.schema["oneOf"].as_array_mut();
        for kind in kinds.into_iter().flatten() {
            // A name without aliases is a constant.
            if kind["properties"]["kind"]["const"] == NAME_OF_CLASSES {
                kind["properties"]["classes"] = classes.schema.clone();
                kind["required"] = json!(["kind", "classes"]);
            } else if let Some(words) = kind.get_mut("enum").and_then(Value::as_array_mut) {
                // Its name alone says too little.
                words.retain(|word| word != NAME_OF_CLASSES);
            }
        }
        grammar.with_keys(vec![classes])
    }
}
