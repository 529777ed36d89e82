//! Tests of the error control, step by step: the error of an accepted step is at most the tolerated
//! one.

use super::step::Method;
use super::*;
use crate::convergence_tests::smooth;

/// Step sizes from a tenth of a millisecond to seconds.
fn steps() -> impl Iterator<Item = f64> {
    (0..60).map(|k| 1e-4 * libm::pow(1.2, f64::from(k)))
}

/// A model at several tolerances, at the start and a second later.
fn beginnings(mut examine: impl FnMut(&mut Adaptive, &mut Run<'_>)) {
    for tolerance in [1e-3, 1e-4, 1e-5, 1e-6] {
        for later in [false, true] {
            let mut model = smooth();
            model.tolerance = tolerance;
            // The queues also relax within steps of the series.
            model.links[0].buffer = 2000.0;
            let mut run = Run::new(&model, model.measure).unwrap();
            let mut adaptive = Adaptive::new(&mut run, STANDARD);
            while later && run.now < 1.0 || run.links[0].mode != Mode::Free {
                adaptive.advance(&mut run).unwrap();
            }
            adaptive.step.prepare(&mut run);
            examine(&mut adaptive, &mut run);
        }
    }
}

#[test]
fn a_step_that_is_accepted_errs_by_what_is_tolerated_at_most() {
    let (mut kept, mut shortened) = (0, 0);
    beginnings(|adaptive, run| {
        for asked in steps() {
            let Adaptive { step, control } = adaptive;
            let error = step.try_rosenbrock(run, asked);
            let taken = step.shrink_to_tolerance(run, control, asked).unwrap();
            assert!(step.try_rosenbrock(run, taken) <= 1.0, "{asked} {taken}");
            assert_eq!(taken == asked, error <= 1.0, "{asked} {taken} {error}");
            kept += usize::from(error <= 1.0 && error > 0.25);
            shortened += usize::from(error > 1.0 && error < 4.0);
        }
    });
    // Errors just below and just above the limit have occurred.
    assert!(kept > 5 && shortened > 5, "{kept} {shortened}");
}

/// Comparison with the Rosenbrock method, whose error is a hundredth of that.
#[test]
fn where_the_series_serves_it_errs_by_what_is_tolerated_at_most() {
    let (mut near, mut compared) = (0, 0);
    beginnings(|adaptive, run| {
        let step = &mut adaptive.step;
        for h in steps() {
            let serves = step.try_taylor(run, h);
            let series = run.links[0].dense.at(1.0);
            let error = step.try_rosenbrock(run, h);
            if !serves || error > 0.01 {
                continue;
            }
            let _ = step.first_ending(run, h);
            let apart = (series - run.links[0].dense.at(1.0)).abs() / run.links[0].tolerated;
            assert!(apart <= 0.5, "{h} {apart}");
            compared += 1;
            near += usize::from(apart > 0.05);
        }
    });
    assert!(compared > 50 && near > 0, "{compared} {near}");
}

/// Between the cuts of one event a step is a small part of a round trip, and the series suffices.
/// The Rosenbrock method makes longer steps, at any tolerance.
#[test]
fn the_series_serves_below_a_quarter_of_the_shortest_round_trip() {
    let (mut served, mut not) = (0, 0);
    for asked in steps() {
        let mut model = smooth();
        model.tolerance = 0.1;
        let mut run = Run::new(&model, model.measure).unwrap();
        let mut adaptive = Adaptive::new(&mut run, STANDARD);
        while run.links[0].mode != Mode::Free {
            adaptive.advance(&mut run).unwrap();
        }
        let Adaptive { step, control } = &mut adaptive;
        control.suggested = asked;
        let (before, quarter) = (run.now, 0.25 * 0.2);
        step.free_stretch(&mut run, control, before + 10.0).unwrap();
        let series = step.method == Method::Taylor;
        assert_eq!(series, asked <= quarter, "{asked} {}", run.now - before);
        served += usize::from(series);
        not += usize::from(!series);
    }
    assert!(served > 10 && not > 10, "{served} {not}");
}

/// A full queue of 59 packets that a flow of 4.7 ms with `window` packets lets drain.
struct Emptying {
    model: FluidModel,
}

impl Emptying {
    const SHORT: f64 = 0.0047;

    fn new(window: f64) -> Self {
        let mut model = crate::run::tests::model(&[Self::SHORT]);
        (model.links[0].capacity, model.links[0].buffer) = (17_823.0, 59.0);
        model.flows[0].initial_window = Some(window);
        Self { model }
    }

    /// The largest error of `pieces` steps over `h` seconds, and the queue after them unless it has
    /// emptied.
    fn after(&self, h: f64, pieces: u32) -> (f64, Option<f64>) {
        let mut run = Run::new(&self.model, self.model.measure).unwrap();
        let Adaptive { mut step, .. } = Adaptive::new(&mut run, STANDARD);
        (run.links[0].queue, run.links[0].mode) = (59.0, Mode::Free);
        let (part, mut worst) = (h / f64::from(pieces), 0.0_f64);
        for _ in 0..pieces {
            run.links[0].mode = Mode::Free;
            step.prepare(&mut run);
            worst = worst.max(step.try_rosenbrock(&mut run, part));
            let _ = step.first_ending(&mut run, part);
            if run.links[0].dense.at(1.0) < 0.0 {
                return (worst, None);
            }
            step.commit(&mut run, (part, 1.0)).unwrap();
            run.now += part;
        }
        (worst, Some(run.links[0].queue))
    }
}

/// For steps of many round trips some sizes seem exact, because the embedded error changes its sign
/// there. The stages then lie far outside the possible queues.
#[test]
fn no_step_is_accepted_by_accident() {
    let mut accepted = 0;
    for window in (20..=140).step_by(5) {
        let emptying = Emptying::new(f64::from(window));
        let steps = (0..6000).map(|k| 1e-3 * libm::pow(1.0008, f64::from(k)));
        for h in steps.filter(|h| *h > 2.0 * Emptying::SHORT) {
            let (error, queue) = emptying.after(h, 1);
            if error > 1.0 {
                continue;
            }
            accepted += 1;
            let (_, truth) = emptying.after(h, 400);
            assert_eq!(queue.is_some(), truth.is_some(), "{window} {h}");
            let apart = queue.zip(truth).map_or(0.0, |(a, b)| (a - b).abs());
            assert!(apart < 4.0 * 0.059, "{window} {h} {queue:?} {truth:?}");
        }
    }
    assert!(accepted > 100, "{accepted}");
}
