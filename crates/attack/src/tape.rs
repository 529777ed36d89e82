//! Random words that choose.

use std::fmt::Write as _;

/// Words out of which random things are made; where they end the first choice is taken, so that a
/// shorter tape, or one of zeros, spells something plainer.
#[derive(Clone, Debug)]
pub struct Tape<'a>(std::slice::Iter<'a, u16>);

impl<'a> Tape<'a> {
    /// Of these words.
    pub fn new(words: &'a [u16]) -> Self {
        Self(words.iter())
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n
    }

    /// One of these.
    pub fn one<'b>(&mut self, choices: &[&'b str]) -> &'b str {
        choices[self.below(choices.len())]
    }

    /// One in `n` times, so that the plain case is common and where a failure shrinks to.
    pub fn rarely(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Lines of some of these keys, each one in `n` times, with one of its values.
    pub fn some_of(&mut self, keys: &[(&str, &[&str])], n: usize) -> String {
        let mut text = String::new();
        for (key, values) in keys {
            if self.rarely(n) {
                let _ = writeln!(text, "{key} = {}", self.one(values));
            }
        }
        text
    }
}
