//! Phases of losses at a drop-tail link.

use forebay_scenario::WarningKind;

use super::run_with;

const FOUR: &str = r#"
[link]
rate = "100Mbps"
buffer = "1BDP"
[[flows]]
name = "short"
count = 2
cca = "cubic"
rtt = "20ms"
start = { uniform = ["0s", "2s"] }
[[flows]]
name = "long"
count = 2
cca = "cubic"
rtt = "100ms"
start = { uniform = ["0s", "2s"] }
[run]
warmup = "20s"
measure = "200s"
"#;

/// Share of the losses with the phase of the flow's loss before, if the report warns of it.
fn in_phase(changes: &[&str]) -> Option<f64> {
    let report = run_with(FOUR, changes);
    let kind = WarningKind::SimultaneousEvents;
    let warning = report
        .warnings
        .iter()
        .find(|warning| warning.kind == kind)?;
    Some(warning.values["same_phase"] / warning.values["compared"])
}

/// Flows of exact hosts lose at the same phase again and again, and those of other hosts by chance
/// only.
#[test]
fn only_flows_of_exact_hosts_keep_their_phase() {
    for exact in ["flows.*.processing=0s", "flows.*.stack=ns2"] {
        let share = in_phase(&[exact]).expect("a warning");
        assert!(share > 0.5, "{exact}: {share}");
    }
    for varied in [
        "flows.*.stack=rfc",
        "flows.*.stack=linux",
        "flows.*.processing=300us",
    ] {
        assert_eq!(in_phase(&[varied]), None, "{varied}");
    }
}
