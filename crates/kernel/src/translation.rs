//! What the kernel is told of a scenario, what it does instead of what the scenario says, and what it
//! cannot do.

use forebay_scenario::{
    DelayedAck, EngineError, FlowGroup, Scenario, Stack, Warning, WarningKind, Workload,
};
use forebay_units::parameter::{Parameters, Value};
use forebay_units::{Bytes, Time};

use crate::NAME;

/// The first port on which receivers listen; each group has its own. Behind the ports that Linux gives away by
/// itself (`net.ipv4.ip_local_port_range`, 32768 to 60999), and where no program that is run beside them listens.
pub(crate) const FIRST_PORT: u16 = 61_000;

/// IPv4 and TCP headers with timestamps, which Linux sends.
pub(crate) const TCP_HEADERS: Bytes = Bytes::new(52);

/// The send buffers of all flows together. Too much brings a machine over `tcp_mem`, and a kernel
/// under memory pressure clamps every receive window to four segments.
const SEND_BUFFERS: u64 = 16 << 20;

/// The most flows at once: each takes two descriptors.
const MOST_FLOWS: u64 = 2000;

/// The smallest and the largest packets of a device (Linux: ETH_MIN_MTU is 68, and below 576 nobody goes).
const PACKETS: std::ops::RangeInclusive<u64> = 200..=65_535;

/// The kernel's name of a group's controller.
pub(crate) fn controller_of(group: &FlowGroup) -> &'static str {
    match group.controller.name() {
        "newreno" => "reno",
        "hstcp" => "highspeed",
        name => name,
    }
}

fn unsupported(feature: String) -> EngineError {
    EngineError::Unsupported {
        engine: NAME,
        feature,
    }
}

/// Groups whose flows are sockets.
fn of_sockets(scenario: &Scenario) -> impl Iterator<Item = (usize, &FlowGroup)> {
    let groups = scenario.flows().iter().enumerate();
    groups.filter(|(_, group)| group.responsive())
}

/// Refuses by name what the kernel cannot do, whichever it is.
pub(crate) fn check(scenario: &Scenario) -> Result<(), EngineError> {
    let mut flows = 0.0;
    for (_, group) in of_sockets(scenario) {
        flows += match group.workload {
            Workload::OpenLoop { .. } => 0.0,
            _ => group.count as f64,
        };
        let (name, law) = (&group.name, &group.packet);
        let (least, most) = (law.infimum(), law.supremum());
        if !(*PACKETS.start() as f64..=*PACKETS.end() as f64).contains(&least)
            || most > *PACKETS.end() as f64
        {
            let (from, to) = (PACKETS.start(), PACKETS.end());
            return Err(unsupported(format!(
                "packets of {least} to {most} B in group `{name}` (TCP's are {from} to {to} B here)"
            )));
        }
        if let Some(parameter) = changed_parameter(group) {
            return Err(unsupported(format!(
                "`{parameter}` of the controller `{}` in group `{name}`: parameters of the kernel's modules hold for all of the machine",
                group.controller.name()
            )));
        }
        if group.processing > Time::ZERO {
            return Err(unsupported(format!("`processing` in group `{name}`")));
        }
    }
    if flows > MOST_FLOWS as f64 {
        return Err(EngineError::TooLarge {
            engine: NAME,
            why: format!("it has {flows} flows of TCP, more than {MOST_FLOWS}"),
        });
    }
    for choice in ["ecn", "slow_start_after_idle"] {
        let mut asked = of_sockets(scenario).map(|(_, group)| match choice {
            "ecn" => group.stack.ecn,
            _ => group.stack.slow_start_after_idle,
        });
        let first = asked.next();
        if asked.any(|each| Some(each) != first) {
            return Err(unsupported(format!(
                "`{choice}` in some groups and not in others: a namespace has one setting"
            )));
        }
    }
    Ok(())
}

/// A parameter of a group's controller that is not as the kernel has it.
fn changed_parameter(group: &FlowGroup) -> Option<&'static str> {
    let defaults = Parameters::defaults(group.controller.description().parameters);
    let known = defaults.iter().zip(group.controller.parameters().iter());
    let changed = |(usual, found): &(&(_, Value), &(_, Value))| {
        // A word chooses an implementation, and here that is the kernel's.
        !matches!(found.1, Value::Word(_)) && usual.1 != found.1
    };
    known.into_iter().find(changed).map(|((name, _), _)| *name)
}

/// Refuses controllers that the kernel does not have.
pub(crate) fn check_controllers(
    scenario: &Scenario,
    available: &[String],
) -> Result<(), EngineError> {
    for (_, group) in of_sockets(scenario) {
        let name = controller_of(group);
        if !available.iter().any(|known| known == name) {
            let has = available.join(", ");
            return Err(unsupported(format!(
                "cca `{}` in group `{}`: this kernel has {has}",
                group.controller.name(),
                group.name
            )));
        }
    }
    Ok(())
}

/// The largest packet of any flow of TCP.
pub(crate) fn largest_packet(scenario: &Scenario) -> u16 {
    let sizes = of_sockets(scenario).map(|(_, group)| group.packet.supremum());
    sizes.fold(1500.0, f64::max) as u16
}

/// Settings of both namespaces: names under net.ipv4, and values.
pub(crate) fn settings(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let flows: u64 = of_sockets(scenario).map(|(_, group)| group.count).sum();
    let buffer = (SEND_BUFFERS / flows.max(1)).clamp(256 << 10, SEND_BUFFERS);
    let mut stacks = of_sockets(scenario).map(|(_, group)| &group.stack);
    let stack = stacks.next().unwrap_or(&Stack::LINUX);
    let flag = |yes: bool| u8::from(yes).to_string();
    vec![
        ("tcp_rmem", "4096 1048576 67108864".to_owned()),
        ("tcp_wmem", format!("4096 {buffer} 67108864")),
        // What one transfer learns of the path the next one does not know.
        ("tcp_no_metrics_save", flag(true)),
        ("tcp_ecn", flag(stack.ecn)),
        ("tcp_sack", flag(true)),
        ("tcp_timestamps", flag(true)),
        (
            "tcp_slow_start_after_idle",
            flag(stack.slow_start_after_idle),
        ),
    ]
}

/// Says of each group what of its stack the kernel does otherwise.
pub(crate) fn remarks(scenario: &Scenario) -> Vec<Warning> {
    let remark = |(_, group): (usize, &FlowGroup)| {
        let keys = otherwise(&group.stack);
        (!keys.is_empty()).then(|| {
            let text = format!(
                "group `{}`: the kernel's own TCP answers, not {}",
                group.name,
                keys.join(", ")
            );
            Warning::new(WarningKind::HostStack, text).about(&group.name)
        })
    };
    of_sockets(scenario).filter_map(remark).collect()
}

/// Keys of a stack in which it is not the one of Linux, without those that the kernel is told.
fn otherwise(stack: &Stack) -> Vec<&'static str> {
    let linux = Stack::LINUX;
    let acks = |stack: &Stack| DelayedAck {
        gro: linux.delayed_ack.gro,
        ..stack.delayed_ack
    };
    [
        ("recovery", stack.recovery != linux.recovery),
        ("reduction", stack.reduction != linux.reduction),
        ("min_rto", stack.min_rto != linux.min_rto),
        ("delayed_ack", acks(stack) != linux.delayed_ack),
        ("gro", stack.delayed_ack.gro != linux.delayed_ack.gro),
        (
            "initial_window",
            stack.initial_window != linux.initial_window,
        ),
        ("initial_ssthresh", stack.initial_ssthresh.is_some()),
        ("receive_window", stack.receive_window.is_some()),
        ("header", stack.header != linux.header),
        ("timestamps", stack.timestamps != linux.timestamps),
        ("handshake", stack.handshake != linux.handshake),
        ("pacing", stack.pacing != linux.pacing),
        ("offload", stack.offload != linux.offload),
        ("frto", stack.frto != linux.frto),
    ]
    .into_iter()
    .filter_map(|(key, differs)| differs.then_some(key))
    .collect()
}
