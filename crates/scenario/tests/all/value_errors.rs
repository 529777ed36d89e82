//! Mistakes in scenarios: what is refused, in which words, and at which place.

use forebay_scenario::{Format, Override, Scenario};

use crate::scenario::{EXAMPLE, read, with};

#[test]
fn errors_name_file_line_key_found_and_allowed() {
    let text = EXAMPLE.replace("\"newreno\"", "\"reno2\"");
    let shown = read(&text, &[]).unwrap_err().to_string();
    let expected = "example.toml:12: flows[0].cca: unknown cca `reno2`; did you mean `newreno`? known: newreno, ";
    assert!(shown.starts_with(expected), "{shown}");
}

#[test]
fn mistakes_are_refused() {
    for change in [
        "link.rate=50",
        "link.rate=0bps",
        "link.rate=-5Mbps",
        "link.rate=1e300bps",
        "link.buffer=-1p",
        "link.buffer=NaNp",
        "link.buffer=1e300p",
        "link.buffer=1e300BDP",
        "link.queue=lifo",
        "link.queue={ kind = \"red\", min = \"80p\", max = \"40p\" }",
        "link.queue={ kind = \"red\", min = \"60%\", max = \"40%\" }",
        "link.queue={ kind = \"red\", bottom = 0.6, top = 0.5 }",
        "link.color=red",
        "flows.elephants.count=0",
        "flows.elephants.initial_rto=0s",
        "flows.elephants.reduction=slowly",
        "flows.elephants.timeout_cut=second",
        "flows.elephants.frto=sometimes",
        "flows.elephants.count=-3",
        "flows.elephants.count=1e300",
        "flows.elephants.count=100000000",
        "flows.elephants.rtt=0s",
        "flows.elephants.rtt=[\"1ms\", \"2ms\"]",
        "flows.elephants.rtt={ uniform = [\"2ms\", \"1ms\"] }",
        "flows.elephants.start={ weibull = { scale = \"5s\" } }",
        "flows.elephants.start={ weibull = { shape = 2, scale = \"0s\" } }",
        "flows.elephants.start={ weibull = { shape = 2, scale = \"1s\", mean = \"1s\" } }",
        "flows.elephants.start={ weibull = { shape = 0.01, scale = \"1s\" } }",
        "flows.elephants.rtt={ normal = \"2ms\" }",
        "flows.elephants.packet=40B",
        "flows.elephants.packet=1MB",
        "flows.elephants.min_rto=0s",
        "flows.elephants.initial_window=0p",
        "flows.elephants.initial_window=nan",
        "flows.elephants.workload=forever",
        "flows.elephants.workload={ open_loop = { size = \"10p\" } }",
        "flows.elephants.workload={ open_loop = { load = 0.0, size = \"10p\" } }",
        "flows.elephants.path=[\"nowhere\"]",
        "flows.nobody.count=1",
        "run.measure=0s",
        "run.measure=1000d",
        "run.replications=0",
        "run.seed=-1",
        "goal.speed=>= 1",
        "goal.utilization=99%",
        "goal.queue_delay_p99=<= 20",
        "goal.nobody.loss_rate=<= 1%",
        "fluid.law=normal",
        "fluid.law=empirical",
        "fluid.victims=loudest",
        "fluid.victims={ priority = [] }",
        "fluid.victims={ priority = [[1, 2, 3]] }",
        "fluid.victims={ priority = [[1, 2, 3, nan]] }",
        "fluid.victims={ priority = [[1, 2, 3, 4]], other = 1 }",
        "fluid.background=bursty",
        "fluid.background={ redrawn = \"0s\" }",
        "fluid.background={ redrawn = 5 }",
        "fluid.background={ every = \"1s\" }",
        "fluid.tolerance=0",
        "trace.every=0s",
        "title=5",
    ] {
        let error = with(&[change]).expect_err(change);
        assert!(!error.value_error.allowed().is_empty(), "{change}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

/// The words that users and their scripts have seen.
#[test]
fn mistakes_are_said_in_these_words() {
    for (change, said) in [
        (
            "link.rate=1bps",
            "link.rate: found `1bps`; allowed: a rate from 1kbps to 100Tbps",
        ),
        (
            r#"link.queue={ kind = "red", nonsense = 1 }"#,
            "link.queue.nonsense: unknown key `nonsense`; known: kind, min, max, max_p, weight, gentle, adaptive, bottom, top, wait",
        ),
        (
            "link.memory=chip",
            "link.memory: found `chip`; allowed: the name of one of [[memories]], of which there are none",
        ),
        (
            "flows.0.min_rto=61s",
            "flows.0.min_rto: found `61s`; allowed: a time from 1us to 60s",
        ),
        (
            "flows.0.delayed_ack={ packets = 0 }",
            "flows.0.delayed_ack.packets: found `0`; allowed: a whole number from 1 to 1000",
        ),
        (
            "flows.0.initial_window=0p",
            r#"flows.0.initial_window: found `0p`; allowed: packets from 1 to 1e9, as in "10p""#,
        ),
        (
            "flows.0.recovery=rock",
            "flows.0.recovery: unknown recovery `rock`; did you mean `rack`? known: newreno, go_back_n, sack, pipe, fack, rack",
        ),
        (
            r#"flows.0.rtt={ uniform = ["1ms"] }"#,
            r#"flows.0.rtt.uniform: found a list of 1; allowed: a list of two values such as "100ms""#,
        ),
        (
            "flows.0.workload={ closed_loop = { users = 4 } }",
            r#"flows.0.workload.closed_loop: found no `think`; allowed: think = { exponential = "5s" }"#,
        ),
        (
            r#"flows.0.workload={ on_off = { peak = "0bps", on = "1s", off = "1s" } }"#,
            "flows.0.workload.on_off.peak: found `0bps`; allowed: a rate above 0",
        ),
        (
            r#"flows.0.workload={ incast = { servers = 4, x = "10ms" } }"#,
            "flows.0.workload.incast.x: unknown key `x`; known: servers, pause, delay, size",
        ),
        (
            r#"flows.0.access={ queue = "50p" }"#,
            r#"flows.0.access: found no `rate`; allowed: rate = "100Mbps""#,
        ),
        (
            r#"flows.0.path=["nowhere"]"#,
            "flows.0.path[0]: unknown link `nowhere`; known: link",
        ),
        (
            "run.measure=101d",
            "run.measure: found `101d`; allowed: a time above 0s and up to 100d",
        ),
        (
            "fluid.empirical=[]",
            "fluid.empirical: found a list of 0; allowed: a list of numbers of flows",
        ),
        (
            "fluid.victims={ priority = [[1]] }",
            "fluid.victims.priority[0]: found a list of 1; allowed: rows of 4 numbers, one per persistent flow, as in [[3, 2, 1]]",
        ),
        (
            r#"trace.record=["cwnd","nonsense"]"#,
            "trace.record[1]: unknown record `nonsense`; known: cwnd, queue, utilization, packets, transfers, pauses",
        ),
    ] {
        let error = with(&[change]).expect_err(change);
        assert_eq!(error.to_string(), format!("overrides: {said}"), "{change}");
    }
}

/// An error about a change names its argument, in the words that were written. An error about the
/// file names the file.
#[test]
fn a_mistake_points_at_who_made_it() {
    let shown = |change: Override| {
        let error = Scenario::parse(EXAMPLE, Format::Toml, "example.toml", &[change]);
        error.unwrap_err().to_string()
    };
    let also = Override::of("also", "link.buffer", "20 packts");
    assert!(shown(also).starts_with("also: found `20 packts`; allowed: packets"));
    let pkts = Override::of("also", "link.buffer", "20 pkts");
    assert!(shown(pkts).starts_with("also: found `20 pkts`; did you mean `20p`? allowed: "));
    for (asked, said) in [
        (
            "link.bufer=1p",
            "over: link.bufer: unknown key `bufer`; did you mean `buffer`?",
        ),
        (
            "lnk.buffer=1p",
            "over: lnk.buffer: unknown key `lnk`; did you mean `link`?",
        ),
        (
            "seed=1",
            "over: seed: unknown key `seed`; did you mean `run.seed`?",
        ),
        (
            "flows.elephant.rtt=1s",
            "over: flows.elephant.rtt: unknown group `elephant`; did you mean `elephants`?",
        ),
        (
            "flows.elephants.cca.kind=cubik",
            "over: flows.elephants.cca.kind: unknown cca `cubik`; did you mean `cubic`?",
        ),
        (
            "flows.elephants.cca={ kind = \"cubic\", beta = 7 }",
            "over: flows.elephants.cca.beta: found `7`; allowed: a number from 0.1 to 0.99",
        ),
        (
            "goal.elephants.loss_rat=<= 1%",
            "over: goal.elephants.loss_rat: unknown metric `loss_rat`; did you mean `loss_rate`?",
        ),
        (
            "goal.elefants.loss_rate=<= 1%",
            "over: goal.elefants.loss_rate: unknown group `elefants`; did you mean `elephants`?",
        ),
        (
            "goal.queue_delay_p99=<= 5 msec",
            "over: goal.queue_delay_p99: found `<= 5 msec`; did you mean `<= 5ms`?",
        ),
        (
            "goal.utilization=90%",
            "over: goal.utilization: found `90%`; did you mean `>= 90%`?",
        ),
        (
            "link.rate=5mbit",
            "over: link.rate: found `5mbit`; did you mean `5Mbps`?",
        ),
        (
            "link.buffer",
            "over: found `link.buffer`; allowed: key=value",
        ),
    ] {
        let error = match Override::for_argument("over", asked) {
            Ok(change) => shown(change),
            Err(error) => error.to_string(),
        };
        assert!(error.starts_with(said), "{error}");
    }
    // A value that was valid before is an error of the argument that changed another value.
    let listed = with(&["flows.0.rtt=[\"1ms\", \"2ms\", \"3ms\", \"4ms\"]"]).unwrap();
    let change = Override::for_argument("over", "flows.0.count=2").unwrap();
    let error = listed.with(&[change]).unwrap_err().to_string();
    assert!(
        error.starts_with("over: flows[0].rtt: found a list of 4;"),
        "{error}"
    );
    let text = EXAMPLE.replace("\"50Mbps\"", "\"fast\"");
    let error = read(&text, &[]).unwrap_err().to_string();
    assert!(error.starts_with("example.toml:"), "{error}");
}
