//! The path of a class of flows: its links, its delay, and the rates that arrive at a link.

use super::Run;
use crate::capacity::NO_ARRIVALS;
use crate::flows::with_class;

impl<'m> Run<'m> {
    /// The links that a class crosses.
    #[inline]
    pub(crate) fn path(&self, class: usize) -> &'m [usize] {
        &self.model.paths[self.flows.classes[class].path]
    }

    /// Queueing delay along a class's path now.
    #[inline]
    pub(crate) fn delay(&self, class: usize) -> f64 {
        self.path(class)
            .iter()
            .map(|&l| self.links[l].delay())
            .sum()
    }

    /// Waiting time along the path of a class for an arrival at `at`, in seconds.
    pub(crate) fn wait(&self, class: usize, at: f64) -> f64 {
        self.path(class)
            .iter()
            .map(|&l| self.links[l].wait(at))
            .sum()
    }

    /// Whether a class sends over a link. It does not if senders know of an outage on its path.
    #[inline]
    pub(crate) fn offers(&self, class: usize, link: usize) -> bool {
        let path = self.path(class);
        path.contains(&link) && path.iter().all(|&l| self.links[l].hold < NO_ARRIVALS)
    }

    /// Highest capacity of the narrowest link of a class's path, in packets of the class per
    /// second.
    pub(crate) fn capacity(&self, class: usize) -> f64 {
        let capacities = self.path(class).iter().map(|&l| self.links[l].highest());
        capacities.fold(f64::INFINITY, f64::min) / self.flows.classes[class].size
    }

    /// Current rate of the flows at a link, in packets per second.
    pub(crate) fn arrivals(&mut self, link: usize) -> f64 {
        let now = self.now;
        let mut sum = 0.0;
        for class in 0..self.flows.classes.len() {
            if self.offers(class, link) {
                let delay = self.delay(class);
                let rate =
                    with_class!(self.model, self.flows, class, part => part.rate(now, delay));
                sum += self.flows.classes[class].size * rate;
            }
        }
        sum
    }
}
