//! Laws that hold for every response function.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
            kept: 0.8,
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
        // HSTCP, AIMD and Scalable hold a window whatever the round-trip time.
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
            // HSTCP switches formula at low_loss, where three forms jump (erratum B9).
            let hstcp = format!("{response:?}").starts_with("Hstcp");
            let jump = hstcp && (-8.0..0.0).contains(&ln_loss);
            let below = response.ln_window(ln_loss - 1.0, rtt);
            prop_assert!(jump || below > here, "{response:?} {below} {here}");
        }
    }

    #[test]
    fn cuts_and_spreads_are_those_of_a_sawtooth(window in 1.0_f64..1e6) {
        for response in all() {
            let kept = response.kept(window);
            prop_assert!(kept > 0.0 && kept < 1.0, "{response:?} {kept}");
            let spread = response.variation(window).unwrap();
            // A concave epoch spreads less than the linear one, whose bound this is.
            let linear = (1.0 - kept) / (3.0_f64.sqrt() * (1.0 + kept));
            prop_assert!(spread > 0.0 && spread <= linear * (1.0 + 1e-12), "{response:?} {spread}");
        }
    }
}
