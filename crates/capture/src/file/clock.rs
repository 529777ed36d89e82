//! The clock of a pcapng interface: the length of its tick and its origin. It converts the time
//! stamps of packets to nanoseconds.

/// The clock of an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    tick: Tick,
    /// Seconds from 1970 to the origin of the clock.
    offset: i64,
}

/// A tick in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Tick {
    Times(u64),
    Over(u64),
    /// A second divided by this power of two.
    Binary(u32),
    /// A tick so short that 2^64 ticks last less than a nanosecond.
    Nothing,
}

impl Clock {
    /// The clock of the options `if_tsresol` and `if_tsoffset` (draft-ietf-opsawg-pcapng, section
    /// 4.2). A missing `if_tsresol` is 6, which means microseconds.
    pub(super) fn new(resolution: u8, offset: i64) -> Self {
        let exponent = u32::from(resolution & 0x7f);
        let tick = match (resolution & 0x80 != 0, exponent) {
            (true, exponent) => Tick::Binary(exponent),
            (false, 0..=9) => Tick::Times(10_u64.pow(9 - exponent)),
            (false, 10..=28) => Tick::Over(10_u64.pow(exponent - 9)),
            (false, _) => Tick::Nothing,
        };
        Self { tick, offset }
    }

    /// The time in nanoseconds since 1970, rounded down. The error is the nearest time that fits
    /// into the range.
    #[inline]
    pub(super) fn nanoseconds(self, ticks: u64) -> Result<u64, u64> {
        if let Tick::Times(factor) = self.tick
            && self.offset == 0
        {
            return ticks.checked_mul(factor).ok_or(u64::MAX);
        }
        let ticks = i128::from(ticks);
        let since = match self.tick {
            Tick::Times(factor) => ticks * i128::from(factor),
            Tick::Over(divisor) => ticks / i128::from(divisor),
            // 2^64 ticks in nanoseconds are less than 2^94.
            Tick::Binary(exponent) => (ticks * 1_000_000_000) >> exponent,
            Tick::Nothing => 0,
        };
        let time = since + i128::from(self.offset) * 1_000_000_000;
        u64::try_from(time).map_err(|_| if time < 0 { 0 } else { u64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_second_is_one_in_every_resolution() {
        for exponent in 0..=19 {
            assert_eq!(
                Clock::new(exponent, 0).nanoseconds(10_u64.pow(exponent.into())),
                Ok(SECOND)
            );
        }
        for exponent in 0..=63 {
            let clock = Clock::new(0x80 | exponent, 0);
            assert_eq!(clock.nanoseconds(1 << exponent), Ok(SECOND));
        }
    }

    #[test]
    fn ends_of_the_range_are_told_or_said_to_be_beyond() {
        assert_eq!(Clock::new(9, 0).nanoseconds(u64::MAX), Ok(u64::MAX));
        assert_eq!(Clock::new(8, 0).nanoseconds(u64::MAX), Err(u64::MAX));
        assert_eq!(Clock::new(6, -1).nanoseconds(999_999), Err(0));
        assert_eq!(Clock::new(6, -1).nanoseconds(1_000_000), Ok(0));
        assert_eq!(Clock::new(6, i64::MAX).nanoseconds(u64::MAX), Err(u64::MAX));
        assert_eq!(Clock::new(0, i64::MIN).nanoseconds(u64::MAX), Err(u64::MAX));
        assert_eq!(Clock::new(0x7f, 7).nanoseconds(u64::MAX), Ok(7 * SECOND));
        assert_eq!(Clock::new(0xff, 7).nanoseconds(u64::MAX), Ok(7 * SECOND));
    }

    proptest! {
        #[test]
        fn later_ticks_are_never_earlier(
            resolution: u8, offset: i64, ticks in prop::array::uniform2(any::<u64>())
        ) {
            let clock = Clock::new(resolution, offset);
            let told = |ticks| clock.nanoseconds(ticks).unwrap_or_else(|nearest| nearest);
            let [first, second] = ticks.map(told);
            prop_assert_eq!(first.cmp(&second).is_le() || ticks[0] > ticks[1], true);
            prop_assert!(second.cmp(&first).is_le() || ticks[1] > ticks[0]);
        }
    }
}
