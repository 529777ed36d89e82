//! The share of a link's rate that its medium leaves to packets. Engines and formulas ask a link
//! for it.

use std::sync::Arc;

use forebay_units::Rate;

use crate::model::link::{Link, RateLayer};
use crate::model::medium::{Medium, Phy};
use crate::model::varying::{RATE, Varying};
use crate::text::cursor::Cursor;
use crate::text::tree::ScenarioError;

impl Link {
    /// Lets the medium take its share of the rate, if there is a medium. Afterwards the rate of the
    /// link is the rate that it carries, never idle, of packets with this mean and largest size in
    /// bytes.
    pub(crate) fn meet_medium(
        &mut self,
        table: &Cursor<'_>,
        (mean, largest): (f64, f64),
    ) -> Result<(), ScenarioError> {
        let Some(medium) = self.medium else {
            return Ok(());
        };
        let phy = Phy {
            rate: self.rate,
            varying: self.varying.clone(),
            highest: self.highest_rate(),
            packet: mean.round().max(1.0) as u64,
            largest: largest.ceil() as u64,
        };
        let at = |key: &str| table.get(key).unwrap_or_else(|| table.clone());
        let of_slots = !matches!(medium, Medium::Docsis(_));
        if of_slots && self.rate_layer != RateLayer::L3 {
            return Err(at("rate_layer").error("l3: the medium has frames of its own"));
        }
        if self.opportunities().is_some() {
            let allowed = "a rate, beside which there may be a medium";
            return Err(at("rate").error_found("opportunities", allowed));
        }
        if self.shaper.is_some() {
            return Err(at("shaper").error_found("a shaper", "none in front of a medium"));
        }
        if self.outages.flush {
            return Err(at("outages").error_found("`flush`", "outages in which packets wait"));
        }
        let carried = match medium {
            Medium::Wifi(wifi) => {
                if self.outages.any() {
                    return Err(at("outages").error_found("outages", "none on Wi-Fi"));
                }
                if self.changes() {
                    return Err(at("rate").error_found("a rate that changes", "a constant one"));
                }
                wifi.saturation(phy.packet, phy.rate)
            }
            Medium::Cellular(cellular) => {
                let rates = self.rates().into_iter();
                let least = rates.filter(|rate| *rate > Rate::default()).min();
                if let Some(least) = least.filter(|rate| !cellular.has_room(*rate)) {
                    let found = format!("a slot of {} at {least}", cellular.slot);
                    return Err(at("medium").error_found(found, "slots of 8 B at least"));
                }
                self.scale(cellular.arriving())
            }
            // Nothing is lost but time.
            Medium::Docsis(_) => return Ok(()),
        };
        self.rate = Rate::from_bits_per_second(carried.round() as u64);
        if self.rate < RATE.least {
            let found = format!("a medium that carries {} of it", self.rate);
            return Err(at("rate").error_found(found, "a rate of which 1kbps are left"));
        }
        self.phy = Some(phy);
        Ok(())
    }

    /// Leaves a share of all rates; says what is left of the average.
    fn scale(&mut self, share: f64) -> f64 {
        let scaled = |rate: Rate| {
            let bits = rate.as_bits_per_second() as f64 * share;
            Rate::from_bits_per_second(bits.round() as u64)
        };
        match &mut self.varying {
            None | Some(Varying::Opportunities(_)) => {}
            Some(Varying::Steps(steps)) => *steps = Arc::new(steps.map(scaled)),
            Some(Varying::Markov(markov)) => *markov = markov.map(scaled),
        }
        self.steps = self.steps.as_ref().map(|steps| Arc::new(steps.map(scaled)));
        self.rate.as_bits_per_second() as f64 * share
    }

    /// A sentence on how the medium differs from a wire; `None` for a wire.
    pub fn takes_turns(&self) -> Option<String> {
        let how = match self.medium? {
            Medium::Wifi(wifi) if wifi.stations > 0 => {
                "in aggregates, after contention with other stations"
            }
            Medium::Wifi(_) => "in aggregates, each after contention",
            Medium::Cellular(_) => "in slots, and repeats failed blocks",
            Medium::Docsis(_) => "after requests and grants",
        };
        Some(format!("the link “{}” sends {how}", self.name))
    }

    /// A sentence on the rate that the medium carries; `None` for a wire.
    pub(crate) fn of_medium(&self) -> Option<String> {
        let phy = self.phy.as_ref()?;
        let of = match self.medium? {
            Medium::Wifi(_) => format!(" if packets of {} B always wait", phy.packet),
            Medium::Cellular(_) => " on average, without repetitions".to_owned(),
            Medium::Docsis(_) => return None,
        };
        Some(format!(
            "`{}` carries {} of its {}{of}. Its BDP, and buffers in time or BDP, use the carried rate",
            self.name, self.rate, phy.rate
        ))
    }
}
