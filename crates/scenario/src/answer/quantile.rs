//! Quantiles of a sample, as every engine's report states them. Engines call it for their reports.

use std::collections::BTreeMap;

/// The quantile of values in rising order that the fraction `q`, 0 to 1, of them lie below, linear
/// between neighbors (type 7 of Hyndman and Fan 1996); 0 without values.
///
/// ```
/// use forebay_scenario::sorted_quantile;
///
/// assert_eq!(sorted_quantile(&[10.0, 20.0, 40.0], 0.75), 30.0);
/// assert_eq!(sorted_quantile(&[], 0.5), 0.0);
/// ```
pub fn sorted_quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let at = q * last as f64;
    let low = at.floor() as usize;
    let high = (low + 1).min(last);
    sorted[low] + (at - low as f64) * (sorted[high] - sorted[low])
}

/// The quantiles of the flows' goodputs that a [`crate::GroupReport`] lists, by their names in it
/// ("p10", ...), from the `quantile` at a fraction.
pub fn listed_quantiles(quantile: impl Fn(f64) -> f64) -> BTreeMap<String, f64> {
    [10_u32, 25, 50, 75, 90]
        .into_iter()
        .map(|percent| (format!("p{percent}"), quantile(f64::from(percent) / 100.0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_on_the_lines_between_the_values() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        for (q, expected) in [
            (0.0, 1.0),
            (0.25, 2.0),
            (0.375, 3.0),
            (0.9, 12.8),
            (1.0, 16.0),
        ] {
            assert!(
                (sorted_quantile(&values, q) - expected).abs() < 1e-12,
                "{q}"
            );
        }
        assert_eq!(sorted_quantile(&[7.0], 0.3), 7.0);
    }

    #[test]
    fn a_group_lists_five_quantiles() {
        let listed = listed_quantiles(|q| q);
        let expected = [
            ("p10", 0.1),
            ("p25", 0.25),
            ("p50", 0.5),
            ("p75", 0.75),
            ("p90", 0.9),
        ];
        let expected = expected.map(|(name, q)| (name.to_owned(), q));
        assert_eq!(listed, BTreeMap::from(expected));
    }
}
