//! Converts a scenario to kernel settings. It also lists where the kernel differs from the
//! scenario, and refuses what the kernel cannot do.

use forebay_scenario::{
    DelayedAck, EngineError, FlowGroup, Scenario, Stack, Warning, WarningKind, Workload,
};
use forebay_units::parameter::{Parameters, Value};
use forebay_units::{Bytes, Time};

use crate::NAME;

/// First port of the receivers; each group has its own port. It is above the ports that Linux
/// assigns automatically (`net.ipv4.ip_local_port_range`, 32768 to 60999). Programs rarely listen
/// there.
pub(crate) const FIRST_PORT: u16 = 61_000;

/// Maximum number of groups, one per port.
const MOST_GROUPS: usize = (u16::MAX - FIRST_PORT) as usize + 1;

/// Headers of IPv4 and TCP with timestamps, which Linux sends.
pub(crate) const TCP_HEADERS: Bytes = Bytes::new(52);

/// Total send buffers of all flows, in bytes. A larger total could exceed `tcp_mem`; under memory
/// pressure the kernel clamps every receive window to four segments.
const SEND_BUFFERS: u64 = 16 << 20;

/// Maximum number of concurrent flows; each takes two descriptors.
const MOST_FLOWS: u64 = 2000;

/// Smallest and largest TCP packet in bytes. Linux accepts an MTU from 68 (ETH_MIN_MTU), but an MTU
/// below 576 is unusual.
const PACKETS: std::ops::RangeInclusive<u64> = 200..=65_535;

/// The kernel's name of a group's congestion control.
pub(crate) fn controller_of(group: &FlowGroup) -> &str {
    if let Some(kernel) = group
        .controller
        .code()
        .and_then(|code| code.kernel.as_deref())
    {
        return kernel;
    }
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

/// Refuses a scenario with features that the kernel lacks, and names the feature.
pub(crate) fn check(scenario: &Scenario) -> Result<(), EngineError> {
    if scenario.links().iter().any(|link| link.pfc.is_some()) {
        return Err(unsupported("lossless queues (`pfc`)".into()));
    }
    if scenario.fabric().is_some() {
        return Err(unsupported("a `[fabric]`".into()));
    }
    let groups = scenario.flows().len();
    if groups > MOST_GROUPS {
        return Err(EngineError::TooLarge {
            engine: NAME,
            why: format!(
                "it has {groups} groups of flows, and the engine has ports for {MOST_GROUPS}"
            ),
        });
    }
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
        if group.stack.processing.beyond() > Time::ZERO {
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
                "`{choice}` in some groups and not in others, because a namespace has one setting"
            )));
        }
    }
    Ok(())
}

/// The name of a controller parameter that differs from the kernel's default.
fn changed_parameter(group: &FlowGroup) -> Option<&'static str> {
    let defaults = Parameters::defaults(group.controller.description().parameters);
    let known = defaults.iter().zip(group.controller.parameters().iter());
    let changed = |(usual, found): &(&(_, Value), &(_, Value))| {
        // A word selects an implementation, and here the implementation is the kernel's.
        !matches!(found.1, Value::Word(_)) && usual.1 != found.1
    };
    known.into_iter().find(changed).map(|((name, _), _)| *name)
}

/// Refuses congestion controls that the kernel lacks.
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

/// The largest packet of all TCP flows, in bytes.
pub(crate) fn largest_packet(scenario: &Scenario) -> u16 {
    let sizes = of_sockets(scenario).map(|(_, group)| group.packet.supremum());
    sizes.fold(1500.0, f64::max) as u16
}

/// The maximum number of segments that senders pass to a device at once. It is one if no group uses
/// offload, because the device has one setting. Otherwise the kernel's limit applies.
pub(crate) fn segments_at_once(scenario: &Scenario) -> Option<u32> {
    let mut gathers = of_sockets(scenario).map(|(_, group)| group.stack.offload);
    (gathers.next() == Some(false) && !gathers.any(|each| each)).then_some(1)
}

/// Sysctls of both namespaces: names under net.ipv4, and values.
pub(crate) fn settings(scenario: &Scenario) -> Vec<(&'static str, String)> {
    let flows: u64 = of_sockets(scenario).map(|(_, group)| group.count).sum();
    let buffer = (SEND_BUFFERS / flows.max(1)).clamp(256 << 10, SEND_BUFFERS);
    let mut stacks = of_sockets(scenario).map(|(_, group)| &group.stack);
    let stack = stacks.next().unwrap_or(&Stack::LINUX);
    let flag = |yes: bool| u8::from(yes).to_string();
    vec![
        ("tcp_rmem", "4096 1048576 67108864".to_owned()),
        ("tcp_wmem", format!("4096 {buffer} 67108864")),
        // A transfer must not use path metrics of an earlier one.
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

/// Warnings about the stack features of each group that the kernel implements differently.
pub(crate) fn notes(scenario: &Scenario) -> Vec<Warning> {
    let told = segments_at_once(scenario).is_some();
    let remark = |(_, group): (usize, &FlowGroup)| {
        let mut keys = otherwise(&group.stack);
        keys.retain(|&key| !(told && key == "offload"));
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

/// Keys of a stack that differ from Linux, without those that sysctls set.
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

#[cfg(test)]
mod tests {
    use forebay_scenario::Format;

    use super::*;

    fn scenario(flows: &str) -> Scenario {
        let text = format!(
            "[link]\nrate = \"100Mbps\"\nbuffer = \"100p\"\n{flows}\n[run]\nmeasure = \"1s\""
        );
        Scenario::parse(&text, Format::Toml, "test", &[]).unwrap()
    }

    fn group(keys: &str) -> Scenario {
        scenario(&format!(
            "[[flows]]\nname = \"bulk\"\nrtt = \"10ms\"\n{keys}"
        ))
    }

    fn refusal(scenario: &Scenario) -> String {
        let text = check(scenario).expect_err("a refusal").to_string();
        assert!(
            !text.contains('\n') && text.contains("kernel engine"),
            "{text}"
        );
        text
    }

    #[test]
    fn what_the_kernel_has_is_not_refused() {
        let background =
            "[[flows]]\nworkload = { poisson = { rate = \"1Mbps\" } }\npacket = \"60B\"";
        for keys in [
            "",
            "packet = \"200B\"",
            "packet = \"65535B\"",
            "count = 2000",
            "cca = \"bbr\"",
            "stack = \"linux\"\necn = true",
            // Open-loop transfers have no fixed number.
            "count = 2000\n[[flows]]\nrtt = \"1ms\"\nworkload = { open_loop = { load = 0.1, size = \"9kB\" } }",
            background,
        ] {
            assert_eq!(check(&group(keys)), Ok(()), "{keys}");
        }
        let two = "[[flows]]\nrtt = \"1ms\"\nstack = \"linux\"\n";
        assert_eq!(check(&scenario(&two.repeat(2))), Ok(()));
    }

    #[test]
    fn what_the_kernel_cannot_do_is_refused_by_name() {
        let cases = [
            (
                "packet = \"199B\"",
                &["packets of 199 to 199 B", "`bulk`", "200 to 65535"][..],
            ),
            (
                "packet = { uniform = [\"199B\", \"1500B\"] }",
                &["packets of 199 to 1500 B", "`bulk`"],
            ),
            ("processing = \"1ms\"", &["`processing`", "`bulk`"]),
            (
                "cca = { kind = \"cubic\", beta = 0.5 }",
                &["`beta`", "`cubic`", "`bulk`", "all of the machine"],
            ),
            ("count = 2001", &["2001 flows", "more than 2000"]),
            (
                "[[flows]]\nname = \"other\"\nrtt = \"1ms\"\necn = true",
                &["`ecn` in some groups and not in others"],
            ),
            (
                "[[flows]]\nname = \"other\"\nrtt = \"1ms\"\nslow_start_after_idle = false",
                &["`slow_start_after_idle` in some groups"],
            ),
        ];
        for (keys, words) in cases {
            let text = refusal(&group(keys));
            for word in words {
                assert!(text.contains(word), "{word}: {text}");
            }
        }
        // Several groups together can also have too many flows.
        let many = "[[flows]]\nrtt = \"1ms\"\ncount = 1001\n";
        assert!(refusal(&scenario(&many.repeat(2))).contains("2002 flows"));
        let speech = "[[flows]]\nworkload = \"voip\"\n";
        assert_eq!(check(&scenario(&speech.repeat(4_536))), Ok(()));
        let text = refusal(&scenario(&speech.repeat(4_537)));
        assert!(
            text.contains("4537 groups of flows, and the engine has ports for 4536"),
            "{text}"
        );
    }

    #[test]
    fn a_controller_is_known_by_the_kernel_s_name_and_refused_with_what_there_is() {
        let known = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        for (ours, theirs) in [
            ("newreno", "reno"),
            ("hstcp", "highspeed"),
            ("cubic", "cubic"),
            ("kernel:mine", "mine"),
        ] {
            let own = ours.strip_prefix("kernel:");
            let cca = own.map_or(format!("\"{ours}\""), |name| {
                format!("{{ kernel = \"{name}\" }}")
            });
            let scenario = group(&format!("cca = {cca}"));
            assert_eq!(controller_of(&scenario.flows()[0]), theirs);
            assert_eq!(check_controllers(&scenario, &known(&["x", theirs])), Ok(()));
            let refused = check_controllers(&scenario, &known(&["x", "y"]));
            let text = refused.expect_err("a refusal").to_string();
            for word in [ours, "`bulk`", "x, y"] {
                assert!(text.contains(word), "{text}");
            }
        }
        let unresponsive = scenario("[[flows]]\nworkload = \"voip\"");
        assert_eq!(check_controllers(&unresponsive, &[]), Ok(()));
    }

    #[test]
    fn a_device_takes_the_largest_packet_and_1500_bytes_at_least() {
        assert_eq!(largest_packet(&group("packet = \"300B\"")), 1500);
        assert_eq!(largest_packet(&group("packet = \"9000B\"")), 9000);
        assert_eq!(largest_packet(&group("packet = \"65535B\"")), 65_535);
        let uniform = group("packet = { uniform = [\"500B\", \"4000B\"] }");
        assert_eq!(largest_packet(&uniform), 4000);
        let unresponsive =
            "[[flows]]\nworkload = { poisson = { rate = \"1Mbps\" } }\npacket = \"9000B\"";
        assert_eq!(largest_packet(&scenario(unresponsive)), 1500);
    }

    #[test]
    fn settings_say_what_the_stack_says() {
        let setting = |scenario: &Scenario, name: &str| {
            let mut found = settings(scenario)
                .into_iter()
                .filter(|(known, _)| *known == name);
            let value = found.next().map(|(_, value)| value);
            assert_eq!(found.next(), None);
            value.unwrap_or_default()
        };
        for (keys, ecn, idle) in [
            ("stack = \"linux\"", "0", "1"),
            ("ecn = true", "1", "1"),
            ("slow_start_after_idle = false", "0", "0"),
        ] {
            let scenario = group(keys);
            assert_eq!(setting(&scenario, "tcp_ecn"), ecn);
            assert_eq!(setting(&scenario, "tcp_slow_start_after_idle"), idle);
            for name in ["tcp_no_metrics_save", "tcp_sack", "tcp_timestamps"] {
                assert_eq!(setting(&scenario, name), "1");
            }
        }
        // The send buffers share 16 MiB, but each one has at least 256 KiB.
        for (count, each) in [
            (1, 16 << 20),
            (4, 4 << 20),
            (64, 256 << 10),
            (2000, 256 << 10),
        ] {
            let scenario = group(&format!("count = {count}"));
            let wmem = setting(&scenario, "tcp_wmem");
            assert_eq!(wmem, format!("4096 {each} 67108864"));
        }
        assert_eq!(setting(&group(""), "tcp_rmem"), "4096 1048576 67108864");
    }

    #[test]
    fn segments_are_handed_over_one_by_one_where_every_group_says_so() {
        let linux = "[[flows]]\nrtt = \"1ms\"\nstack = \"linux\"\n";
        let single = format!("{linux}offload = false\n");
        assert_eq!(segments_at_once(&scenario(linux)), None);
        assert_eq!(segments_at_once(&scenario(&single)), Some(1));
        assert_eq!(
            segments_at_once(&scenario(&format!("{single}{single}"))),
            Some(1)
        );
        assert_eq!(
            segments_at_once(&scenario(&format!("{single}{linux}"))),
            None
        );
        assert_eq!(
            segments_at_once(&scenario(&format!("{linux}{single}"))),
            None
        );
        let nobody = "[[flows]]\nrtt = \"1ms\"\nworkload = { cbr = { rate = \"1Mbps\" } }\n";
        assert_eq!(
            segments_at_once(&scenario(nobody)),
            None,
            "programs gather as they like"
        );
    }

    #[test]
    fn what_the_kernel_does_otherwise_is_said_of_its_group() {
        assert_eq!(notes(&group("stack = \"linux\"")), []);
        let told = "stack = \"linux\"\necn = true\nslow_start_after_idle = false\noffload = false";
        assert_eq!(notes(&group(told)), []);
        let linux = "[[flows]]\nrtt = \"1ms\"\nstack = \"linux\"\n";
        let one = notes(&scenario(&format!("{linux}{linux}offload = false\n")));
        assert_eq!(one.len(), 1, "a device gathers for all or for none");
        assert!(one[0].text.contains("offload"), "{}", one[0].text);
        for (key, value) in [
            ("recovery", "\"sack\""),
            ("reduction", "\"rate_halving\""),
            ("min_rto", "\"1s\""),
            ("delayed_ack", "{ packets = 5 }"),
            ("initial_window", "\"3p\""),
            ("initial_ssthresh", "\"9p\""),
            ("receive_window", "\"9p\""),
            ("header", "\"40B\""),
            ("timestamps", "false"),
            ("handshake", "false"),
            ("pacing", "true"),
            ("frto", "false"),
        ] {
            let other = group(&format!("stack = \"linux\"\n{key} = {value}"));
            let said = notes(&other);
            assert_eq!(said.len(), 1, "{key}");
            let text = &said[0].text;
            assert!(
                text.contains("`bulk`") && text.contains(key),
                "{key}: {text}"
            );
        }
        let both = notes(&scenario(
            "[[flows]]\nrtt = \"1ms\"\n[[flows]]\nworkload = \"voip\"\n[[flows]]\nrtt = \"2ms\"",
        ));
        assert_eq!(both.len(), 2);
    }
}
