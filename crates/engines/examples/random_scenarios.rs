//! Runs random scenarios for a given time: `make fuzz ONLY=scenarios SECONDS=7200`.
//!
//! `random_scenarios SECONDS [SEED]` runs the cases of a seed. `random_scenarios 0 SEED CASE`
//! repeats one. Each broken invariant is printed with the shortest scenario that breaks it and the
//! command that repeats it. The exit code is then 1.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use forebay_attack::allocations::Counted;
use forebay_attack::{Runner, hostile, random_scenario};
use forebay_engines::{aggregate, engines, rules};
use forebay_scenario::Seed;

/// The memory of a run is compared with its estimate.
#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// The arguments of the command line.
struct Asked {
    seconds: u64,
    seed: u64,
    case: Option<u64>,
}

impl Asked {
    fn read() -> Option<Self> {
        let numbers: Option<Vec<u64>> = std::env::args().skip(1).map(|x| x.parse().ok()).collect();
        let clock = SystemTime::now().duration_since(UNIX_EPOCH);
        match numbers?[..] {
            [seconds] => Some(Self {
                seconds,
                seed: clock.map_or(1, |since| since.as_secs()),
                case: None,
            }),
            [seconds, seed] => Some(Self {
                seconds,
                seed,
                case: None,
            }),
            [seconds, seed, case] => Some(Self {
                seconds,
                seed,
                case: Some(case),
            }),
            _ => None,
        }
    }
}

fn main() -> ExitCode {
    let Some(asked) = Asked::read() else {
        eprintln!("random_scenarios: found other arguments; allowed: SECONDS [SEED [CASE]]");
        return ExitCode::from(2);
    };
    let Asked {
        seconds,
        seed,
        case,
    } = asked;
    println!("random scenarios of seed {seed}");
    std::panic::set_hook(Box::new(|_| {}));
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut answers, mut broken) = (BTreeMap::<usize, u64>::new(), 0);
    let mut number = case.unwrap_or(0);
    loop {
        let case = Case::new(seed, number);
        match case.breaks() {
            Ok(answered) => *answers.entry(answered).or_default() += 1,
            Err(why) => {
                broken += 1;
                report(&case, &why);
            }
        }
        number += 1;
        if asked.case.is_some() || Instant::now() >= end {
            break;
        }
    }
    let run: u64 = answers.values().sum::<u64>() + broken;
    let by = |count| answers.get(&count).unwrap_or(&0);
    println!(
        "seed {seed}: {run} scenarios, {} answered by three engines, {} by two, {} by one, {} refused, {broken} broke a law",
        by(3),
        by(2),
        by(1),
        by(0)
    );
    ExitCode::from(u8::from(broken > 0))
}

/// A scenario by its number.
#[derive(Clone)]
struct Case {
    seed: u64,
    number: u64,
    words: Vec<u16>,
    /// The hostile value and the place that it takes, in every fourth case.
    hostile: Option<(u16, u16)>,
}

impl Case {
    fn new(seed: u64, number: u64) -> Self {
        let seed_of = Seed {
            seed,
            replication: number,
        };
        let purpose = forebay_random::Purpose::Controller;
        let mut stream = forebay_random::Stream::new(seed_of, 0, purpose);
        let mut word = || (stream.bits() >> 48) as u16;
        let length = usize::from(word()) % 200;
        let words = (0..length).map(|_| word()).collect();
        let hostile = (number % 4 == 3).then(|| (word(), word()));
        Self {
            seed,
            number,
            words,
            hostile,
        }
    }

    fn text(&self) -> String {
        let text = random_scenario(&self.words);
        match self.hostile {
            Some((at, value)) => hostile(&text, at, value),
            None => text,
        }
    }

    /// The number of engines that answer, or the invariant that is broken.
    fn breaks(&self) -> Result<usize, String> {
        let runner = Runner {
            engines: engines(),
            rules: rules(),
            aggregate,
            most_events: 5e6,
            patience: Duration::from_secs(120),
        };
        let text = self.text();
        catch_unwind(AssertUnwindSafe(|| runner.check(&text))).map_err(|why| said(&*why))
    }

    /// A case with fewer words, or more zeros, that still breaks an invariant.
    fn shrunk(&self) -> Self {
        let mut least = self.clone();
        let end = Instant::now() + Duration::from_secs(60);
        let mut steps = vec![];
        steps.extend((0..8).rev().map(|shift| (self.words.len() >> shift, None)));
        steps.extend((0..self.words.len()).map(|at| (self.words.len(), Some(at))));
        for (length, zero) in steps {
            let mut next = least.clone();
            next.words.truncate(length);
            if let Some(word) = zero.and_then(|at| next.words.get_mut(at)) {
                *word = 0;
            }
            if next.words != least.words && next.breaks().is_err() {
                least = next;
            }
            if Instant::now() > end {
                break;
            }
        }
        least
    }
}

/// The message of a panic.
fn said(why: &(dyn Any + Send)) -> String {
    let text = why.downcast_ref::<String>().cloned();
    let text = text.or_else(|| why.downcast_ref::<&str>().map(|&text| text.to_owned()));
    text.unwrap_or_else(|| "a panic without words".to_owned())
}

fn report(case: &Case, why: &str) {
    let least = case.shrunk();
    let Case { seed, number, .. } = case;
    println!("seed {seed}, case {number} breaks a law: {why}");
    println!(
        "shrunk: {}\n{}",
        least.breaks().err().unwrap_or_default(),
        least.text()
    );
    println!(
        "repeat: cargo run --profile attack -p forebay-engines --example random_scenarios -- 0 {seed} {number}"
    );
}
