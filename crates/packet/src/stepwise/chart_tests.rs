//! Laws of charts: they do not depend on the caller's steps, they are the sums over all events of a
//! run, and their losses are those of the report.

use forebay_attack::random_scenario;
use forebay_scenario::{Format, Metric, Scenario};
use forebay_simulation::{
    Count, Level, PacketEvent, PacketEventKind, Signals, may_be_paused, takes_turns,
};
use forebay_units::Time;
use proptest::prelude::*;

use super::tests::{QUEUES, contested, options};
use super::*;

const MOST: usize = 50;
const FLOWS: usize = 8;

/// All that a chart contains.
#[derive(Debug, PartialEq)]
struct Drawn {
    width: Time,
    waiting: Vec<Level>,
    counts: Vec<Count>,
    windows: Vec<Vec<Level>>,
    dropped: Vec<PacketEvent>,
    marked: Vec<PacketEvent>,
}

impl Drawn {
    fn of(run: &mut Stepwise<'_>) -> Self {
        let chart = run.chart().unwrap();
        let signals = |of: &Signals| (0..of.total()).map(|at| *of.get(at).unwrap()).collect();
        Self {
            width: chart.width,
            waiting: chart.waiting.to_vec(),
            counts: chart.counts.to_vec(),
            windows: chart.windows.iter().map(|it| it.to_vec()).collect(),
            dropped: signals(chart.dropped),
            marked: signals(chart.marked),
        }
    }
}

/// A run with a chart, up to `until` in steps of `step` and `events`.
fn drawn(
    scenario: &Scenario,
    until: Time,
    (step, events): (Time, u64),
) -> Result<Drawn, EngineError> {
    let mut run = Stepwise::begin(scenario, options(scenario))?;
    assert!(run.draw(MOST, FLOWS));
    while run.now() < until {
        let next = run.now().saturating_add(step).min(until);
        run.advance(next, events)?;
        if events == 1 {
            run.watch(run.now().as_picos() as usize % 3);
            run.chart();
        }
    }
    Ok(Drawn::of(&mut run))
}

/// The value of a quantity in columns, from all its changes.
fn in_columns(changes: &[(Time, Option<u64>)], until: Time, width: Time) -> Vec<Level> {
    let mut columns = vec![Level::default(); until.as_picos().div_ceil(width.as_picos()) as usize];
    for (at, &(since, value)) in changes.iter().enumerate() {
        let end = changes.get(at + 1).map_or(until, |next| next.0).min(until);
        for (number, column) in columns.iter_mut().enumerate() {
            let from = since.max(Time::from_picos(number as u64 * width.as_picos()));
            let to = end.min(Time::from_picos((number as u64 + 1) * width.as_picos()));
            let (Some(value), true) = (value, from < to) else {
                continue;
            };
            column.least = column.least.min(value);
            column.most = column.most.max(value);
            column.sum += u128::from(value) * u128::from((to - from).as_picos());
            column.ticks += (to - from).as_picos();
        }
    }
    columns
}

/// The same from the events of all packets, and from a look at all flows after every instant.
fn brute_force(scenario: &Scenario, until: Time, width: Time) -> Result<Drawn, EngineError> {
    let mut run = Stepwise::begin(scenario, options(scenario))?;
    run.watch(usize::MAX);
    let mut windows = vec![vec![(Time::ZERO, None)]; FLOWS];
    let mut pictures = vec![(Time::ZERO, Some(0))];
    loop {
        let next = run.simulation.timeline.calendar.next_time();
        if next >= until {
            break;
        }
        run.advance(next.saturating_add(INSTANT), 1)?;
        let target = run.links()[scenario.target_index()];
        pictures.push((next, Some(target.waiting)));
        for (flow, windows) in run.flows(FLOWS).iter().zip(&mut windows) {
            let window = (flow.cwnd_packets / WINDOW_UNIT) as u64;
            windows.push((next, flow.active.then_some(window)));
        }
    }
    run.advance(until, u64::MAX)?;
    let mut events = run.packet_events().packet_events;
    events.retain(|event| event.time < until);
    for event in &mut events {
        let has_number = scenario.flows()[event.group as usize].responsive();
        event.packet *= u64::from(has_number);
    }
    events.sort_by_key(|it| {
        (
            it.time,
            it.kind as u8,
            it.group,
            it.flow,
            it.packet,
            it.bytes,
        )
    });
    let waits = u64::from(!takes_turns(scenario.target()));
    let (mut present, mut changes) = (0u64, vec![(Time::ZERO, Some(0))]);
    let mut counts = vec![Count::default(); until.as_picos().div_ceil(width.as_picos()) as usize];
    for (at, event) in events.iter().enumerate() {
        let count = &mut counts[(event.time.as_picos() / width.as_picos()) as usize];
        match event.kind {
            PacketEventKind::Arrives => present += 1,
            PacketEventKind::IsDropped => {
                present -= 1;
                count.losses += 1;
            }
            PacketEventKind::Departs | PacketEventKind::DepartsMarked => {
                present -= 1;
                count.bytes += u64::from(event.bytes);
                count.marks += u64::from(event.kind == PacketEventKind::DepartsMarked);
            }
        }
        if events.get(at + 1).is_none_or(|next| next.time > event.time) {
            changes.push((event.time, Some(present.saturating_sub(waits))));
        }
    }
    // All packets of a link that is paused may wait.
    if may_be_paused(scenario, scenario.target_index()) {
        changes = pictures;
    }
    let kind = |kind| move |event: &&PacketEvent| event.kind == kind;
    let of = |wanted| events.iter().filter(kind(wanted)).copied().collect();
    Ok(Drawn {
        width,
        waiting: in_columns(&changes, until, width),
        counts,
        windows: windows
            .iter()
            .map(|it| in_columns(it, until, width))
            .collect(),
        dropped: of(PacketEventKind::IsDropped),
        marked: of(PacketEventKind::DepartsMarked),
    })
}

/// Columns at the end are empty where nothing has been drawn in them.
fn padded(mut drawn: Drawn) -> Drawn {
    let columns = drawn.waiting.len();
    for window in &mut drawn.windows {
        window.resize(columns, Level::default());
    }
    drawn
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// A chart is that of all events, whatever the steps of the caller.
    #[test]
    fn a_chart_is_the_sum_of_all_events(
        words in prop::collection::vec(any::<u16>(), 0..160),
        share in 0.01f64..1.0,
        steps in 1u64..30,
        events in prop::sample::select(vec![1u64, 5000, u64::MAX]),
    ) {
        let text = random_scenario(&words);
        let scenario = Scenario::parse(&text, Format::Toml, "random", &[]);
        prop_assume!(scenario.as_ref().is_ok_and(|it| it.most_events() < 3e5));
        let scenario = scenario.unwrap();
        let until = Time::from_secs_f64(scenario.run().end().as_secs_f64() * share);
        let whole = drawn(&scenario, until, (Time::MAX, u64::MAX));
        let step = Time::from_picos(until.as_picos() / steps + 1);
        prop_assert_eq!(&drawn(&scenario, until, (step, events)), &whole, "{}", text);
        let Ok(whole) = whole else { return Ok(()) };
        let width = whole.width;
        prop_assert!(until.as_picos().div_ceil(width.as_picos()) <= MOST as u64);
        let expected = brute_force(&scenario, until, width);
        prop_assert_eq!(Ok(padded(whole)), expected, "{}", text);
    }
}

/// The present queue of a chart is that of the link, and its losses and marks are those of the
/// report.
#[test]
fn losses_of_a_chart_are_those_of_the_report() {
    for queue in QUEUES {
        let scenario = contested(queue);
        let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
        assert!(run.draw(MOST, FLOWS));
        while run.now() < run.end() {
            run.advance(run.now() + Time::from_millis(37), u64::MAX)
                .unwrap();
            let waiting = run.links()[0].waiting;
            let now = run.now();
            let chart = run.simulation.queue_chart(now).unwrap();
            assert_eq!(chart.waiting().value(), Some(waiting), "{queue} {now:?}");
        }
        let link = run.links()[0];
        let chart = run.chart().unwrap();
        let sum = |of: fn(&Count) -> u64| chart.counts.iter().map(of).sum::<u64>();
        assert_eq!(
            (sum(|it| it.losses), sum(|it| it.marks)),
            (link.drops, link.marks)
        );
        assert_eq!(
            (chart.dropped.total(), chart.marked.total()),
            (link.drops, link.marks)
        );
        let most = chart.waiting.iter().map(|it| it.most).max();
        assert!((1..=30).contains(&most.unwrap()), "{queue} {most:?}");
        let ends = chart.width.as_picos() * (chart.counts.len() as u64 - 1);
        assert!(ends < scenario.run().end().as_picos());
        let report = run.finish().unwrap();
        let lost = report.value(Metric::LossRate).unwrap() * link.arrivals as f64;
        assert!(
            (lost - link.drops as f64).abs() < 1e-6 * lost + 1e-9,
            "{queue} {lost}"
        );
    }
}

/// The long saw teeth of a drop-tail link reach its buffer where packets are lost.
#[test]
fn a_saw_tooth_reaches_the_buffer() {
    let text = r#"
        link = { rate = "10Mbps", buffer = "30p" }
        run = { warmup = "0s", measure = "300s" }
        flows = [{ rtt = "100ms" }]
        "#;
    let scenario = Scenario::parse(text, Format::Toml, "test", &[]).unwrap();
    let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
    assert!(run.draw(1000, FLOWS));
    run.advance(Time::MAX, u64::MAX).unwrap();
    let chart = run.chart().unwrap();
    assert!(chart.counts.len() > 500);
    let lossy: Vec<usize> = (0..chart.counts.len())
        .filter(|at| chart.counts[*at].losses > 0)
        .collect();
    assert!(lossy.len() > 5);
    for at in lossy {
        let full = chart.waiting[at.saturating_sub(1)..=at]
            .iter()
            .map(|it| it.most)
            .max();
        assert_eq!(full, Some(30), "column {at}");
    }
}

/// A chart begins with its run.
#[test]
fn no_chart_begins_in_the_middle() {
    let scenario = contested("\"droptail\"");
    let mut run = Stepwise::begin(&scenario, options(&scenario)).unwrap();
    run.advance(Time::from_secs(1), u64::MAX).unwrap();
    assert!(!run.draw(MOST, FLOWS));
    assert!(run.chart().is_none());
}
