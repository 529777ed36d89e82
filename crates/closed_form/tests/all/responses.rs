//! Invariants of every response function.

use forebay_closed_form::models::aimd::AimdResponse;
use forebay_closed_form::models::cubic_response::CubicResponse;
use forebay_closed_form::models::hstcp_throughput::{Form, HstcpThroughput};
use forebay_closed_form::models::htcp_response::HtcpResponse;
use forebay_closed_form::models::mathis::RenoResponse;
use forebay_closed_form::models::scalable_response::ScalableResponse;
use forebay_closed_form::response::Response;
use proptest::prelude::*;

fn all() -> Vec<Box<dyn Response>> {
    let mut all: Vec<Box<dyn Response>> = vec![
        Box::new(RenoResponse::default()),
        Box::new(AimdResponse {
            increase: 1.0,
            cut: 0.5,
        }),
        Box::new(CubicResponse::default()),
        Box::new(CubicResponse {
            cut: 0.2,
            ..CubicResponse::default()
        }),
        Box::new(HtcpResponse::default()),
        Box::new(HtcpResponse {
            beta: 0.8,
            ..HtcpResponse::default()
        }),
        Box::new(ScalableResponse),
    ];
    for form in Form::ALL {
        all.push(Box::new(HstcpThroughput {
            form,
            ..HstcpThroughput::default()
        }));
    }
    all
}

proptest! {
    #[test]
    fn rates_go_as_the_inverse_round_trip_time(ln_loss in -40.0_f64..0.0, rtt in 1e-5_f64..1.0) {
        // The windows of HSTCP, AIMD and Scalable do not depend on the round-trip time.
        for response in all().iter().filter(|response| !response.depends_on_rtt()) {
            prop_assert_eq!(response.ln_window(ln_loss, rtt), response.ln_window(ln_loss, 1.0));
        }
    }

    #[test]
    fn windows_fall_with_loss_and_are_finite(ln_loss in -700_000.0_f64..-1e-3,
                                             ln_rtt in -11.6_f64..0.1) {
        let rtt = libm::exp(ln_rtt);
        for response in all() {
            let here = response.ln_window(ln_loss, rtt);
            prop_assert!(here.is_finite(), "{response:?}");
            // HSTCP switches its formula at `low_loss`, where three forms jump (erratum B9).
            let hstcp = format!("{response:?}").starts_with("Hstcp");
            let jump = hstcp && (-8.0..0.0).contains(&ln_loss);
            let below = response.ln_window(ln_loss - 1.0, rtt);
            prop_assert!(jump || below > here, "{response:?} {below} {here}");
        }
    }

    #[test]
    fn cuts_and_spreads_are_those_of_a_sawtooth(window in 1.0_f64..1e6) {
        for response in all() {
            let beta = response.beta(window);
            prop_assert!(beta > 0.0 && beta < 1.0, "{response:?} {beta}");
            let spread = response.variation(window).unwrap();
            // A concave epoch varies less than the linear one, which is this bound.
            let linear = (1.0 - beta) / (3.0_f64.sqrt() * (1.0 + beta));
            prop_assert!(spread > 0.0 && spread <= linear * (1.0 + 1e-12), "{response:?} {spread}");
        }
    }
}

/// If a window grows by a constant, the mean window goes as the inverse root of the loss. The
/// constant follows from the increase and the decrease: a cycle of a linear sawtooth has 1/p
/// packets. For other windows no such law holds at small losses.
#[test]
fn constant_increases_give_the_law_of_the_inverse_root() {
    let (mut constant, mut other) = (0, 0);
    for response in all() {
        let at = |ln_loss: f64| response.ln_window(ln_loss, 0.1);
        let slope = at(-31.0) - at(-30.0);
        let Some(increase) = response.additive_increase() else {
            assert!((slope - 0.5).abs() > 0.01, "{response:?} {slope}");
            assert!(!response.is_reno(), "{response:?}");
            other += 1;
            continue;
        };
        let beta = response.beta(1e6);
        // A cycle from k W to W takes (1 - k) W / a round trips of (1 + k) W / 2 packets each and
        // loses one packet.
        let mean = (increase * (1.0 + beta) / (2.0 * (1.0 - beta))).sqrt();
        assert!(
            (libm::exp(at(-30.0) - 15.0) / mean - 1.0).abs() < 1e-9,
            "{response:?}"
        );
        assert!((slope - 0.5).abs() < 1e-12, "{response:?} {slope}");
        constant += 1;
    }
    assert_eq!((constant, other), (2, all().len() - 2));
    // Reno is the function that halves its window and grows by a packet.
    assert_eq!(
        all().iter().filter(|response| response.is_reno()).count(),
        1
    );
}

/// With short round trips and frequent losses CUBIC grows as Reno does, whatever its decrease (RFC
/// 9438 section 4.3). Its increase is chosen so that the mean windows are equal.
#[test]
fn cubic_is_as_fast_as_reno_where_reno_is_faster() {
    let reno = RenoResponse::default();
    for cut in [0.1, 0.2, 0.3, 0.5, 0.8] {
        let cubic = CubicResponse {
            cut,
            ..CubicResponse::default()
        };
        for ln_loss in [-1.0, -4.0, -8.0] {
            let (ours, theirs) = (
                cubic.ln_window(ln_loss, 1e-5),
                reno.ln_window(ln_loss, 1e-5),
            );
            assert!((ours - theirs).abs() < 1e-12, "{cut} {ln_loss}");
            assert!(cubic.ln_window(ln_loss, 10.0) > theirs, "{cut} {ln_loss}");
        }
    }
}
