//! Tests that the reason of each check agrees with its verdict.

use std::collections::BTreeMap;

use forebay_closed_form::rules;
use forebay_scenario::{Check, Holds};

use crate::links::{link, links, long, stream};

/// Whether a reason says that an assumption holds, judged by its words.
fn affirms(check: &Check) -> bool {
    let (assumption, why) = (check.assumption, check.why.as_str());
    let says = |part: &str| why.contains(part);
    let about = |part: &str| assumption.contains(part);
    if about("BBR version")
        || about("DCTCP windows")
        || about("Reno windows")
        || about("cut at a loss")
        || about("grow by a constant")
    {
        return why.starts_with("all ");
    }
    if about("ECN marks") {
        return says("the queue marks");
    }
    if about("Poisson arrivals of") {
        return says("from many flows");
    }
    if about("RED queue") || about("drop-tail queue") || about("offered load of 1") {
        return !says("and the rule is about");
    }
    if about("able to fill") {
        return says("the flows can fill");
    }
    if about("slower than the link") {
        return why.ends_with("of the time");
    }
    if about("long flows that fill") {
        return says("long flow");
    }
    if about("many unsynchronized") {
        return says("enough for independent windows");
    }
    if about("transparent regime") {
        return says("except for")
            || says("a small part")
            || why == "no flow can fill the link by itself";
    }
    if about("below 1") || about("without bursts") {
        return !says("the formula");
    }
    if about("or few that cut") {
        return !says("are not synchronized");
    }
    if about("access-limited sources") {
        return why.starts_with("the flows are");
    }
    if about("queueing delay far below") {
        return says("too little to lengthen");
    }
    if about("round-trip times that differ") {
        return says("prevent synchronization");
    }
    if about("no persistent flows") {
        return why.starts_with("finite transfers have");
    }
    if about("above about four") {
        return why.starts_with("a flow's share") && !says("timeout");
    }
    if about("stable equilibrium") {
        return says("are steady");
    }
    if about("a known") {
        return true;
    }
    panic!("{assumption}: {why}")
}

/// A reason does not contradict its verdict.
#[test]
fn reasons_agree_with_verdicts() {
    let mut all = links();
    let same = |count: u32| format!("count = {count}\nrtt = \"40ms\"");
    let nearly = "count = 4\nrtt = { linspace = [\"40ms\", \"41ms\"] }".to_owned();
    let cbr =
        |count: u32| format!("count = {count}\nworkload = {{ cbr = {{ rate = \"20Mbps\" }} }}");
    let held = format!("{}\nreceive_window = \"1p\"", long(4, "newreno"));
    for groups in [
        vec![same(1)],
        vec![same(15)],
        vec![same(25), stream(1000)],
        vec![nearly],
        vec![cbr(1)],
        vec![cbr(9)],
        vec![cbr(300)],
        vec![held],
        vec![long(5000, "newreno")],
        vec![long(3, "newreno"), stream(60_000)],
        vec!["rtt = \"40ms\"\nworkload = { finite = { size = \"1MB\" } }".to_owned()],
        vec![format!("{}\npacing = true", long(20, "newreno"))],
        vec![long(10, "newreno"), long(10, "bbr"), long(10, "dctcp")],
    ] {
        for buffer in [2, 3000] {
            all.push(link(50_000, buffer, &groups));
        }
    }
    let mut seen = BTreeMap::new();
    for scenario in &all {
        for rule in rules() {
            for check in rule.assumptions(scenario) {
                if check.holds == Holds::Unknown {
                    continue;
                }
                let verdict = check.holds == Holds::Yes;
                assert_eq!(affirms(&check), verdict, "{}: {check:?}", rule.name());
                assert_eq!(
                    check.share.is_some_and(|share| share >= 1.0),
                    verdict && check.share.is_some(),
                    "{check:?}"
                );
                // The reason gives the number of flows that the rule needs.
                if check.why.contains("the rule needs about") {
                    assert!(
                        check.why.ends_with("about 10 or more")
                            || check.why.contains("about 100 flows with"),
                        "{check:?}"
                    );
                }
                if check.why.starts_with("all long flows have")
                    || check.why.contains("may be synchronized")
                {
                    let one = check.why.matches("ms").count() == 1;
                    assert_eq!(
                        one,
                        check.why.starts_with("all long flows have"),
                        "{check:?}"
                    );
                }
                seen.entry(check.assumption)
                    .or_insert_with(Vec::new)
                    .push(verdict);
            }
        }
    }
    let both = seen
        .values()
        .filter(|found| found.contains(&true) && found.contains(&false))
        .count();
    assert!(both > 14, "{both} of {}", seen.len());
}

fn why(name: &str, part: &str, groups: &[String]) -> (Holds, String) {
    let rule = forebay_closed_form::rule(name).unwrap();
    let checks = rule.assumptions(&link(50_000, 20, groups));
    let found = checks
        .into_iter()
        .find(|check| check.assumption.contains(part));
    found.map(|check| (check.holds, check.why)).unwrap()
}

/// Reasons give the figures found: both ends of a range, and the controller whose decrease is used.
#[test]
fn reasons_tell_what_was_found() {
    let rtt = |law: &str| format!("count = 4\nrtt = {law}");
    let spread = |law: &str| why("sqrt-n", "differ", &[rtt(law)]).1;
    let told = spread("{ linspace = [\"40ms\", \"41ms\"] }");
    assert!(
        told.contains("40 ms to 41 ms") && told.contains("may be synchronized"),
        "{told}"
    );
    let told = spread("\"40ms\"");
    assert!(
        told.matches("40 ms").count() == 1 && told.contains("may be synchronized"),
        "{told}"
    );
    let told = spread("{ linspace = [\"40ms\", \"60ms\"] }");
    assert!(
        told.contains("40 ms to 60 ms") && told.contains("prevent synchronization"),
        "{told}"
    );
    let cut = |groups: &[String]| why("sqrt-n", "cut at a loss", groups);
    let (holds, told) = cut(&[long(60, "newreno"), long(40, "cubic")]);
    assert!(
        holds == Holds::Unknown && told.contains("the formula uses the decrease of newreno"),
        "{told}"
    );
    let (holds, told) = cut(&[long(60, "newreno"), long(40, "newreno")]);
    assert!(
        holds == Holds::Yes && !told.contains("the formula uses"),
        "{told}"
    );
    let (_, told) = cut(&[long(60, "newreno"), long(40, "bbr")]);
    assert!(!told.contains("the formula uses"), "{told}");
    // Transfers that end have no windows that could be too small for long.
    let short =
        "rtt = \"40ms\"\nworkload = { open_loop = { load = 0.3, size = \"3kB\" } }".to_owned();
    for groups in [vec![short], vec![stream(10_000)]] {
        assert_eq!(
            why("flow-proportional", "able to fill", &groups).0,
            Holds::Yes
        );
    }
}
