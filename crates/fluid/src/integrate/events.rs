//! What happens at an instant: a queue changes its mode, a congestion event opens, a cut arrives.

use super::Run;
use super::free::Opening;
use super::location::Ending;
use crate::flows::with_class;
use crate::links::Mode;
use crate::schedule::Occurrence;
use crate::synchronisation::Candidate;

impl Run<'_> {
    pub(super) fn end_stretch(&mut self, ending: Ending) {
        match ending {
            Ending::None => {}
            Ending::Empties(l) => {
                self.links[l].queue = 0.0;
                self.links[l].mode = Mode::Empty;
            }
            Ending::Fills(l) => {
                self.links[l].queue = self.links[l].buffer;
                self.links[l].mode = Mode::Full;
                self.open_event(l);
            }
            Ending::Leaves(l) => {
                let link = &mut self.links[l];
                let clipped = link.mode == Mode::Empty && link.buffer <= 0.0;
                link.mode = if clipped { Mode::Full } else { Mode::Free };
                self.reopen(Opening::Overflow);
                if clipped {
                    self.open_event(l);
                }
            }
            Ending::Drops(l) => self.open_event(l),
        }
    }

    /// Takes everything that is due now.
    pub(super) fn occur(&mut self) {
        while let Some(what) = self.schedule.take_due(self.now) {
            match what {
                Occurrence::Cut { slot } | Occurrence::AccessCut { slot } => {
                    self.cut(slot as usize);
                }
                Occurrence::Close { link } => {
                    let link = &mut self.links[link as usize];
                    link.event_open = false;
                    if let Some(red) = &mut link.red {
                        red.restart();
                    }
                }
                Occurrence::Redraw { link: number } => {
                    let link = &mut self.links[number as usize];
                    link.redraw();
                    if let Some(interval) = link.redraw_interval() {
                        self.schedule.enter(self.now + interval, what);
                    }
                }
                Occurrence::Measure => self.begin_measurement(),
            }
        }
        self.reopen(Opening::Jump);
        self.place_links();
    }

    fn cut(&mut self, slot: usize) {
        let now = self.now;
        let class = self.flows.class_of[slot] as usize;
        let delay = self.delay(class);
        with_class!(self.model, self.flows, class, part => part.cut(slot, now, delay));
    }

    /// Opens a congestion event at a link, unless one is open.
    pub(super) fn open_event(&mut self, link: usize) {
        if self.links[link].event_open || self.links[link].crowd == 0 {
            return;
        }
        self.gather_candidates(link);
        let state = &mut self.links[link];
        let law = &self.model.synchronisation;
        let count = law.draw_count(state.crowd, &mut state.counts);
        law.choose(
            &mut self.candidates,
            count,
            state.event_number,
            &mut state.victims,
        );
        state.event_number += 1;
        state.event_open = true;
        if let Some(red) = &mut state.red {
            red.restart();
        }
        let fraction = count as f64 / state.crowd as f64;
        let mut last = self.now;
        for chosen in &self.candidates[..count] {
            let time = self.now + chosen.round_trip;
            last = last.max(time);
            self.schedule
                .enter(time, Occurrence::Cut { slot: chosen.slot });
        }
        self.schedule
            .enter(last, Occurrence::Close { link: link as u32 });
        if link == self.model.target {
            self.delimit();
        }
        let tally = &mut self.links[link].tally;
        tally.events += 1;
        tally.fractions += fraction;
    }

    /// Lists the flows of a link with their rates and round-trip times.
    fn gather_candidates(&mut self, link: usize) {
        self.candidates.clear();
        for class in 0..self.flows.classes.len() {
            if !self.path(class).contains(&link) {
                continue;
            }
            let delay = self.delay(class);
            let mut candidates = std::mem::take(&mut self.candidates);
            let now = self.now;
            with_class!(self.model, self.flows, class, part => {
                part.pinned_windows((now, 0.0, delay), |slot, window| {
                    candidates.push(Candidate::new(0, slot as u32, window, 0.0));
                });
            });
            self.candidates = candidates;
            let range = self.flows.classes[class].range.clone();
            let first = self.candidates.len() - range.len();
            for (candidate, slot) in self.candidates[first..].iter_mut().zip(range) {
                candidate.flow = self.flows.number[slot];
                candidate.round_trip = self.flows.propagation[slot] + delay;
                candidate.rate /= candidate.round_trip;
            }
        }
    }
}
