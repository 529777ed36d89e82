//! Tests of RFC 3649's numbers and limits, and of each form compared with the others.

use super::*;
use proptest::prelude::*;

/// Below the low window HSTCP is Reno, 1.5/W^2. At it the line begins, and above it the loss falls
/// along the line.
#[test]
fn a_row_names_the_loss_of_its_window() {
    let at = |window: f64| {
        let numbers = [window, 38.0, 83_000.0, 1e-3, 1e-7, 0.1];
        row_loss(&Arguments {
            numbers: &numbers,
            list: &[],
        })
        .unwrap()
    };
    let low = HstcpResponse::default().low_window;
    assert_eq!(low, 38.0);
    for window in [2.0, 10.0, 37.0] {
        assert!(
            (at(window) / (1.5 / (window * window)) - 1.0).abs() < 1e-12,
            "{window}"
        );
    }
    assert_eq!(at(1.0), 1.0);
    assert_eq!(at(low), 1e-3);
    // The loss is 1e-7 at 83,000 packets (RFC 3649 section 5), with a straight line in the
    // logarithms between.
    assert!((at(83_000.0) / 1e-7 - 1.0).abs() < 1e-9);
    let middle = (low * 83_000.0_f64).sqrt();
    assert!((at(middle) / (1e-3_f64 * 1e-7).sqrt() - 1.0).abs() < 1e-9);
}

/// The table of erratum B8: p, eq. (3), closed/(3), printed/(3), exact/(3).
const TABLE: [(f64, f64, f64, f64, f64); 5] = [
    (5e-4, 67.778, 0.745, 0.0917, 1.015),
    (1e-4, 259.78, 0.786, 0.0818, 1.019),
    (1e-5, 1775.95, 0.843, 0.0688, 1.022),
    (1e-6, 12141.0, 0.897, 0.0573, 1.024),
    (1e-7, 83000.0, 0.949, 0.0474, 1.023),
];

#[test]
fn forms_compare_as_tabulated() {
    let h = HstcpResponse::default();
    for (p, window, closed, printed, exact) in TABLE {
        let at = |form| mean_window(&h, form, p).unwrap();
        let base = at(Form::Approximate);
        assert!((base / window - 1.0).abs() < 1e-5);
        assert!((at(Form::Closed) / base - closed).abs() < 6e-4);
        assert!((at(Form::ClosedPrinted) / base - printed).abs() < 6e-5);
        assert!((at(Form::SelfConsistent) / base - exact).abs() < 6e-4);
    }
}

/// RFC 3649's parameters with `low_loss` = 1.5/w_l^2. It is the paper's definition and makes w(p)
/// and a(w) continuous (erratum B9).
fn continuous() -> HstcpResponse {
    let standard = HstcpResponse::default();
    HstcpResponse {
        low_loss: 1.5 / (standard.low_window * standard.low_window),
        ..standard
    }
}

#[test]
fn continuous_only_with_the_papers_low_loss() {
    let jump = |h: &HstcpResponse| {
        let below = mean_window(h, Form::Approximate, h.low_loss * (1.0 - 1e-12)).unwrap();
        let above = mean_window(h, Form::Approximate, h.low_loss).unwrap();
        above / below - 1.0
    };
    assert!(jump(&continuous()).abs() < 1e-10);
    assert!((jump(&HstcpResponse::default()) - (38.7298 / 38.0 - 1.0)).abs() < 1e-4);
    assert!((continuous().increase(38.0 + 1e-9) - 1.0).abs() < 1e-6);
    assert!((HstcpResponse::default().increase(38.0 + 1e-9) - 0.9627).abs() < 1e-4);
}

#[test]
fn closed_tends_to_the_response_function_as_b_tends_to_zero() {
    let h = HstcpResponse {
        high_decrease: 1e-5,
        ..HstcpResponse::default()
    };
    let ratio = mean_window(&h, Form::Closed, h.high_loss).unwrap() / h.window_at(h.high_loss);
    assert!((ratio - 1.0).abs() < 1e-4, "{ratio}");
}

#[test]
fn increase_agrees_with_the_table_of_the_rfc() {
    // RFC 3649, appendix B gives the windows at which a(w) steps to the next whole number.
    let h = HstcpResponse::default();
    for (w, a) in [
        (118.0, 2.0),
        (1058.0, 8.0),
        (10661.0, 30.0),
        (83981.0, 71.0),
    ] {
        assert!((h.increase(w) / a - 1.0).abs() < 0.035, "{w}");
    }
}

proptest! {
    #[test]
    fn frozen_quadrature_is_the_closed_form(ln_peak in 6.0_f64..11.0) {
        // With constant b, the quadrature of a cycle's packets and round trips gives the closed
        // form.
        let h = HstcpResponse::default();
        let saw = Sawtooth { response: &h, slope: h.slope() };
        let ln_beta = libm::log1p(-decrease(&h, libm::exp(ln_peak)));
        let moment = |k: f64| {
            numeric::integral((ln_peak + ln_beta, ln_peak), 0.05, |u| libm::exp(k * (u - ln_peak)))
        };
        let direct = moment(-h.slope()) / moment(-(1.0 + h.slope()));
        prop_assert!((saw.frozen_mean(ln_peak) / direct - 1.0).abs() < 1e-12);
    }

    #[test]
    fn closed_is_below_the_approximation(ln_loss in -30.0_f64..-7.0) {
        let h = HstcpResponse::default();
        prop_assert!(ln_window(&h, Form::Closed, ln_loss) < ln_window(&h, Form::Approximate, ln_loss));
    }

    #[test]
    fn cut_fraction_stays_between_its_ends(w in 1.0_f64..1e9) {
        let h = HstcpResponse::default();
        let b = decrease(&h, w);
        prop_assert!((0.05..=0.5).contains(&b));
    }
}

/// Far beyond every table all forms are the power law of the response, without a jump on the way.
#[test]
fn beyond_every_window_the_forms_are_power_laws() {
    let h = HstcpResponse::default();
    for form in Form::ALL {
        let at = |ln_loss: f64| ln_window(&h, form, ln_loss);
        let power = (at(-60.0) - at(-50.0)) * h.slope();
        assert!((power / -10.0 - 1.0).abs() < 1e-9, "{power}");
        assert!((at(FAR - 1e-7) - at(FAR + 1e-7)).abs() < 1e-5);
        assert!((at(FAR - 1.0) - at(FAR)) * -h.slope() > 0.999);
    }
}

/// The mean at a slope of -1 lies between those of neighboring slopes. At this slope a sawtooth has
/// as many round trips at every window.
#[test]
fn a_slope_of_minus_one_is_no_exception() {
    let h = HstcpResponse::default();
    let mean = |slope: f64| {
        Sawtooth {
            response: &h,
            slope,
        }
        .frozen_mean(8.0)
    };
    let [below, at, above] = [-1.0 - 1e-7, -1.0, -1.0 + 1e-7].map(mean);
    assert!(
        (at / below - 1.0).abs() < 1e-6 && (at / above - 1.0).abs() < 1e-6,
        "{below} {at} {above}"
    );
    assert!(at > 0.0 && at < 1.0);
}

#[test]
fn windows_and_losses_are_in_order() {
    let h = HstcpResponse::default();
    assert!(validate(&h).is_ok());
    for wrong in [
        HstcpResponse {
            high_window: h.low_window,
            ..h
        },
        HstcpResponse {
            high_window: 0.5 * h.low_window,
            ..h
        },
        HstcpResponse {
            high_loss: h.low_loss,
            ..h
        },
        HstcpResponse {
            high_loss: 2.0 * h.low_loss,
            ..h
        },
        HstcpResponse {
            high_loss: 0.0,
            ..h
        },
        HstcpResponse {
            low_window: 0.0,
            ..h
        },
    ] {
        assert!(validate(&wrong).is_err(), "{wrong:?}");
    }
}
