//! Random words that make choices.

use std::fmt::Write as _;

/// Words that define random things. After their end the first choice is taken, so a shorter tape,
/// or one of zeros, gives a plainer result.
#[derive(Clone, Debug)]
pub struct Tape<'a>(std::slice::Iter<'a, u16>);

impl<'a> Tape<'a> {
    /// Creates a tape of these words.
    pub fn new(words: &'a [u16]) -> Self {
        Self(words.iter())
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % n
    }

    /// One of these choices.
    pub fn one<'b>(&mut self, choices: &[&'b str]) -> &'b str {
        choices[self.below(choices.len())]
    }

    /// True once in `n` times. The plain case is thus common, and a failure shrinks to it.
    pub fn rarely(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// Lines for some of these keys, each once in `n` times, with one of its values.
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
