//! The code of users in a scenario. A program runs it only with the user's consent.

use crate::model::algorithm::Code;
use crate::model::scenario::Scenario;

impl Scenario {
    /// The code of users, each with whether it is a congestion control; else it is a queue
    /// discipline. Equal code is there once.
    pub fn code(&self) -> Vec<(&Code, bool)> {
        let controllers = self.flows().iter().map(|group| (&group.controller, true));
        let queues = self.links().iter().flat_map(|link| {
            let classes = link.classes.iter().map(|class| &class.discipline);
            classes
                .chain([&link.discipline])
                .map(|queue| (queue, false))
        });
        let mut found: Vec<(&Code, bool)> = Vec::new();
        for (algorithm, controls) in controllers.chain(queues) {
            if let Some(code) = algorithm.code().filter(|code| !code.place.is_empty())
                && !found.contains(&(code, controls))
            {
                found.push((code, controls));
            }
        }
        found
    }
}
