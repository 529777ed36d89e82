//! Numbers that are derived from a scenario once, when they are first needed.

use std::sync::OnceLock;

/// A number for each flow group. A copy of the scenario derives its own, because it may be changed.
#[derive(Debug, Default)]
pub(crate) struct OfGroups(OnceLock<Box<[OnceLock<f64>]>>);

impl OfGroups {
    /// The number of group `at` of `count` groups; `derive` is called the first time.
    pub(crate) fn of(&self, at: usize, count: usize, derive: impl FnOnce() -> f64) -> f64 {
        let all = self
            .0
            .get_or_init(|| (0..count).map(|_| OnceLock::new()).collect());
        *all[at].get_or_init(derive)
    }
}

impl Clone for OfGroups {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Derived numbers do not distinguish two scenarios.
impl PartialEq for OfGroups {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn each_group_has_its_number_which_is_derived_once_and_again_by_a_copy() {
        let calls = Cell::new(0);
        let derive = |value: f64| {
            calls.set(calls.get() + 1);
            value
        };
        let numbers = OfGroups::default();
        for _ in 0..3 {
            assert_eq!(
                numbers.of(0, 2, || derive(5.0)).to_bits(),
                5.0_f64.to_bits()
            );
            assert_eq!(
                numbers.of(1, 2, || derive(7.0)).to_bits(),
                7.0_f64.to_bits()
            );
        }
        assert_eq!(calls.get(), 2);
        let copy = numbers.clone();
        assert_eq!(copy.of(0, 1, || derive(9.0)).to_bits(), 9.0_f64.to_bits());
        assert_eq!(calls.get(), 3);
    }
}
