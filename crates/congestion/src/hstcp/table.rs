//! The table of RFC 3649, from which Linux's tcp_highspeed.c takes a(w), in whole packets, and b(w).

use super::growth::ResponseFunctions;

/// RFC 3649 appendix B without its last row, as Linux has it: the largest windows with a(w) = 1, 2,
/// 3, ... and their b(w).
#[rustfmt::skip]
pub(super) const TABLE: [(f64, f64); 72] = [
    (38.0, 0.50),
    (118.0, 0.44),
    (221.0, 0.41),
    (347.0, 0.38),
    (495.0, 0.37),
    (663.0, 0.35),
    (851.0, 0.34),
    (1058.0, 0.33),
    (1284.0, 0.32),
    (1529.0, 0.31),
    (1793.0, 0.30),
    (2076.0, 0.29),
    (2378.0, 0.28),
    (2699.0, 0.28),
    (3039.0, 0.27),
    (3399.0, 0.27),
    (3778.0, 0.26),
    (4177.0, 0.26),
    (4596.0, 0.25),
    (5036.0, 0.25),
    (5497.0, 0.24),
    (5979.0, 0.24),
    (6483.0, 0.23),
    (7009.0, 0.23),
    (7558.0, 0.22),
    (8130.0, 0.22),
    (8726.0, 0.22),
    (9346.0, 0.21),
    (9991.0, 0.21),
    (10661.0, 0.21),
    (11358.0, 0.20),
    (12082.0, 0.20),
    (12834.0, 0.20),
    (13614.0, 0.19),
    (14424.0, 0.19),
    (15265.0, 0.19),
    (16137.0, 0.19),
    (17042.0, 0.18),
    (17981.0, 0.18),
    (18955.0, 0.18),
    (19965.0, 0.17),
    (21013.0, 0.17),
    (22101.0, 0.17),
    (23230.0, 0.17),
    (24402.0, 0.16),
    (25618.0, 0.16),
    (26881.0, 0.16),
    (28193.0, 0.16),
    (29557.0, 0.15),
    (30975.0, 0.15),
    (32450.0, 0.15),
    (33986.0, 0.15),
    (35586.0, 0.14),
    (37253.0, 0.14),
    (38992.0, 0.14),
    (40808.0, 0.14),
    (42707.0, 0.13),
    (44694.0, 0.13),
    (46776.0, 0.13),
    (48961.0, 0.13),
    (51258.0, 0.13),
    (53677.0, 0.12),
    (56230.0, 0.12),
    (58932.0, 0.12),
    (61799.0, 0.12),
    (64851.0, 0.11),
    (68113.0, 0.11),
    (71617.0, 0.11),
    (75401.0, 0.10),
    (79517.0, 0.10),
    (84035.0, 0.10),
    (89053.0, 0.10),
];

/// The row of the table for this window; larger windows have the last one.
pub(super) fn row(window: f64) -> usize {
    TABLE
        .partition_point(|&(largest, _)| largest < window)
        .min(TABLE.len() - 1)
}

/// Appendix B for the default parameters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Table;

impl ResponseFunctions for Table {
    fn a(&self, w: f64) -> f64 {
        1.0 + row(w) as f64
    }

    fn b(&self, w: f64) -> f64 {
        TABLE[row(w)].1
    }
}

#[cfg(test)]
mod tests {
    use super::super::response::HstcpResponse;
    use super::*;

    /// RFC 3649 appendix B: w, a(w), b(w).
    #[test]
    fn linux_goes_by_the_table() {
        let rows = [
            (20.0, 1.0, 0.50),
            (60.0, 2.0, 0.44),
            (118.0, 2.0, 0.44),
            (119.0, 3.0, 0.41),
            (1000.0, 8.0, 0.33),
            (10_300.0, 30.0, 0.21),
            (80_000.0, 71.0, 0.10),
            (1e9, 72.0, 0.10),
        ];
        for (window, increase, decrease) in rows {
            assert_eq!(Table.a(window), increase, "a({window})");
            assert_eq!(Table.b(window), decrease, "b({window})");
        }
        // The functions agree with every row up to High_Window within four percent and 0.02.
        let functions = HstcpResponse::default();
        let to_high_window = TABLE
            .into_iter()
            .filter(|(window, _)| *window <= functions.high_window);
        for (number, (window, decrease)) in to_high_window.enumerate() {
            let exact = functions.bounded_increase(window);
            let table = (number + 1) as f64;
            assert!((exact / table - 1.0).abs() < 0.04, "a({window}) = {exact}");
            assert!((functions.bounded_decrease(window) - decrease).abs() < 0.02);
        }
    }
}
