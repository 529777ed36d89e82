//! Priority flow control: a queue that pauses its senders instead of dropping their packets. The
//! table of a link reads it.

use forebay_units::{Bytes, Time};
use serde_json::{Value, json};

use crate::model::memory::ALPHA;
use crate::text::cursor::Cursor;
use crate::text::form::{Maybe, Table, Within};
use crate::text::grammar::Grammar;
use crate::text::keys::{Context, Form, keys};
use crate::text::tree::ScenarioError;

keys! {
    /// Priority flow control of a queue (IEEE 802.1Qbb). The queue counts the waiting bytes of each
    /// sender: of each host that sends into it directly, and of each link before it. It pauses a
    /// sender with too many of them. A host without an access link then sends at the link's rate.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Pfc: const {
        /// Waiting bytes of a sender above which the queue pauses it.
        xoff: Bytes = Bytes::ZERO, required("\"100kB\"", SIZE);
        /// Waiting bytes at which the sender may send again; at most `xoff`.
        xon: Bytes = Bytes::ZERO, required("\"80kB\"", SIZE);
        /// Bytes beyond `xoff` for which there is memory. Packets beyond that are lost.
        headroom: Bytes = Bytes::ZERO, required("\"60kB\"", SIZE);
        /// Multiple of the free shared memory that lowers `xoff`: the queue pauses a sender with
        /// more waiting bytes than this, too. Only with `memory`.
        alpha: Option<f64> = None, key(Maybe(ALPHA));
        /// Length of the cable to a sender, as in "300m". Without it, the cable has the `delay` of
        /// the link before, and none to a host.
        cable: Option<f64> = None, key(Maybe(CableLength));
        /// Time from the arrival of a pause frame until the sender obeys it. A packet in
        /// transmission is always completed.
        response: Time = Time::ZERO, key(UP_TO_A_SECOND);
    }
}

impl Pfc {
    /// Propagation delay of the cable, if its length is stated: 198,000 km/s as in SONiC's
    /// calculation of headroom.
    pub fn cable_delay(&self) -> Option<Time> {
        self.cable.map(CableLength::delay)
    }
}

const UP_TO_A_SECOND: Within<Time> = Within {
    least: Time::ZERO,
    most: Time::from_secs(1),
    allowed: "a time up to 1s",
};

const SIZE: Within<Bytes> = Within {
    least: Bytes::ZERO,
    most: Bytes::new(1_000_000_000_000),
    allowed: "a size up to 1e12 bytes, as in \"100kB\"",
};

/// The length of a cable in meters.
pub(crate) struct CableLength;

impl CableLength {
    /// Propagation delay of a cable of this length.
    pub(crate) fn delay(meters: f64) -> Time {
        const METERS_PER_SECOND: f64 = 198e6;
        Time::from_secs_f64(meters / METERS_PER_SECOND)
    }

    const ALLOWED: &'static str = "a length up to 100km, as in \"300m\" or \"40km\"";

    fn parse(text: &str) -> Option<f64> {
        let (number, factor) = match text.strip_suffix("km") {
            Some(number) => (number, 1000.0),
            None => (text.strip_suffix('m')?, 1.0),
        };
        let meters = number.trim_end().parse::<f64>().ok()? * factor;
        (0.0..=100e3).contains(&meters).then_some(meters)
    }
}

impl Form<f64> for CableLength {
    fn read(&self, at: &Cursor<'_>, _: &Context<'_>) -> Result<f64, ScenarioError> {
        let length = at.text().map(str::trim).and_then(Self::parse);
        length.ok_or_else(|| at.error(Self::ALLOWED))
    }

    fn write(&self, meters: &f64, _: &Context<'_>) -> Option<Value> {
        Some(format!("{meters}m").into())
    }

    fn grammar(&self) -> Grammar {
        let schema = json!({"type": "string", "pattern": "^[0-9.eE+-]+ ?k?m$"});
        Grammar::new(schema, Self::ALLOWED)
    }
}

/// The form of the table, whose keys must agree with each other.
pub(crate) struct PfcTable;

impl Form<Pfc> for PfcTable {
    fn read(&self, at: &Cursor<'_>, context: &Context<'_>) -> Result<Pfc, ScenarioError> {
        let pfc: Pfc = Table.read(at, context)?;
        if let Some(xon) = at.get("xon").filter(|_| pfc.xon > pfc.xoff) {
            return Err(xon.error(format!("a size of at most {}, the `xoff`", pfc.xoff)));
        }
        Ok(pfc)
    }

    fn write(&self, pfc: &Pfc, context: &Context<'_>) -> Option<Value> {
        Table.write(pfc, context)
    }

    fn grammar(&self) -> Grammar {
        Form::<Pfc>::grammar(&Table)
    }
}
