//! The demand of a run in a fabric: that of one receiver, times the largest number of receivers of
//! a group. `memory_estimate.rs` asks for it.

use forebay_units::Time;

use crate::model::distribution::Distribution;
use crate::model::flows::FlowGroup;
use crate::model::scenario::Scenario;
use crate::model::workload::Workload;

impl Scenario {
    /// Whether flows have routes through a fabric.
    pub(super) fn has_routes(&self) -> bool {
        self.flows().iter().any(|group| group.routing.is_some())
    }

    /// The scenario with what one receiver of each group gets, over the port to it only, and the
    /// largest number of receivers.
    pub(super) fn of_one_receiver(&self) -> (Self, f64) {
        let most = self.flows().iter().map(receivers).fold(1.0, f64::max);
        let groups = self.flows().iter().map(|group| {
            let mut one = group.clone();
            let Some(_) = one.routing.take() else {
                return one;
            };
            let share = receivers(group);
            one.path = group.path.last().copied().into_iter().collect();
            one.count = ((group.count as f64 / share).ceil() as u64).max(1);
            if let Workload::OpenLoop { interarrival, .. } = &mut one.workload {
                let mean = interarrival.mean() * share;
                let mean = Time::from_secs_f64(mean.min(1e9));
                *interarrival = Distribution::Exponential(mean);
            }
            one
        });
        (self.with_groups(groups.collect()), most)
    }

    /// The number of slots of an open loop: of its transfers that are alive at once, and of the
    /// paths that any has taken.
    pub(super) fn transfers_alive_in_fabric(
        &self,
        group: &FlowGroup,
        interarrival: &Distribution<Time>,
    ) -> f64 {
        let (one, _) = self.of_one_receiver();
        let at = self.flows().iter().position(|it| std::ptr::eq(it, group));
        let alive = at.map_or(0.0, |at| one.alive(&one.flows()[at]).1);
        alive * receivers(group) + paths_taken(group, self.arrivals(interarrival))
    }
}

/// Paths that the open-loop transfers of a group take. Each has slots of its own.
fn paths_taken(group: &FlowGroup, transfers: f64) -> f64 {
    let Some(routing) = &group.routing else {
        return 0.0;
    };
    let pairs = (routing.senders() * routing.receivers()) as f64;
    let paths = if group.spray {
        1
    } else {
        routing.shape().spines
    };
    (pairs * paths as f64).min(transfers)
}

/// Receivers of a group; one where it has no routes.
fn receivers(group: &FlowGroup) -> f64 {
    let routing = group.routing.as_ref();
    routing.map_or(1.0, |routing| routing.receivers() as f64)
}
