//! A short fuzz run without a fuzzer, on stable Rust: inputs are made from seeds by number, so that the same
//! number is the same input on every machine, and only how many there are depends on the time.
//!
//! Environment: `HYPERSLAB_FUZZ_SEEDS` (folder of `files/`, `filters/`, `messages/`, `heaps/` and `trees/`, made by testing/hostile/corpus.py),
//! `HYPERSLAB_FUZZ_SECONDS` for each target, `HYPERSLAB_FUZZ_FIRST` for the number to begin with.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::Numbers;

/// What an input may take: ten times what `make fuzz` gives, for a build without optimisation.
const MOST_TIME: Duration = Duration::from_secs(50);
/// Numbers that lie about counts and places.
const LIES: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, u64::MAX];

/// Targets whose seeds are made by their tests.
const OWN_SEEDS: [&str; 3] = ["references", "containers", "sidecars"];

/// Runs `target` on the seeds as they are, then on seeds with damage, until the time is over. Panics with the
/// input's number, and leaves the input in `scratch`, also where the process ends at once.
pub fn run(name: &str, target: fn(&[u8]), longest: usize, scratch: &Path, own_seeds: &[PathBuf]) {
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seconds = variable("HYPERSLAB_FUZZ_SECONDS").unwrap_or(2);
    let first = variable("HYPERSLAB_FUZZ_FIRST").unwrap_or(0);
    let kind = if ["filters", "messages", "heaps", "trees"].contains(&name) || OWN_SEEDS.contains(&name) { name } else { "files" };
    let seeds = seeds(kind, longest, own_seeds);
    assert!(!seeds.is_empty(), "{name}: no seeds");
    let current = scratch.join(format!("fuzz-short-{name}"));
    let started = Instant::now();
    // The number of the input that runs, and since when.
    let running = Mutex::new((first, Instant::now()));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                let (number, since) = *running.lock().expect("nobody panics with it");
                if since.elapsed() > MOST_TIME && !done.load(Relaxed) {
                    eprintln!("{name}: input {number} takes longer than {MOST_TIME:?}; it is {}", current.display());
                    std::process::abort();
                }
            }
        });
        let mut number = first;
        let failure = loop {
            // The seeds themselves in any case.
            if started.elapsed().as_secs() >= seconds && number - first >= seeds.len() as u64 {
                break None;
            }
            let data = input(&seeds, number, longest);
            *running.lock().expect("nobody panics with it") = (number, Instant::now());
            fs::write(&current, &data).expect("a scratch file");
            if let Err(failure) = catch_unwind(AssertUnwindSafe(|| target(&data))) {
                break Some(failure);
            }
            number += 1;
        };
        done.store(true, Relaxed);
        if let Some(failure) = failure {
            eprintln!("{name}: HYPERSLAB_FUZZ_FIRST={number} fails; the input is {}", current.display());
            resume_unwind(failure);
        }
        println!("{name}: {} inputs from {} seeds, from number {first} on", number - first, seeds.len());
        fs::remove_file(&current).expect("the scratch file");
    });
}

/// Keeps seeds of a kind for `make fuzz`, in the folder that `HYPERSLAB_FUZZ_WRITE_SEEDS` names, if it does.
pub fn write_seeds(kind: &str, made: &[PathBuf]) {
    let Some(folder) = std::env::var_os("HYPERSLAB_FUZZ_WRITE_SEEDS") else { return };
    let folder = Path::new(&folder).join(kind);
    fs::create_dir_all(&folder).expect("a folder for seeds");
    for path in made {
        fs::copy(path, folder.join(path.file_name().expect("a file"))).expect("a seed");
    }
}

/// The contents of the seeds' files, in the order of their names.
fn seeds(kind: &str, longest: usize, own: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut paths = own.to_vec();
    if let Some(folder) = std::env::var_os("HYPERSLAB_FUZZ_SEEDS").filter(|_| !OWN_SEEDS.contains(&kind)) {
        let folder = Path::new(&folder).join(kind);
        let made = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        paths.extend(made.map(|entry| entry.expect("a seed").path()));
    }
    paths.sort();
    let seeds = paths.iter().map(|path| fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())));
    seeds.filter(|seed| seed.len() <= longest).collect()
}

/// The input of a number: first each seed, then seeds with one to eight damages.
fn input(seeds: &[Vec<u8>], number: u64, longest: usize) -> Vec<u8> {
    let place = usize::try_from(number).expect("few inputs");
    if let Some(seed) = seeds.get(place) {
        return seed.clone();
    }
    let mut numbers = Numbers::new(&number.to_le_bytes());
    let pick = |numbers: &mut Numbers| seeds[numbers.below(seeds.len() as u64) as usize].clone();
    let mut data = pick(&mut numbers);
    for _ in 0..=numbers.below(8) {
        let other = if numbers.below(16) == 0 { Some(pick(&mut numbers)) } else { None };
        damage(&mut data, &mut numbers, other.as_deref());
    }
    data.truncate(longest);
    data
}

/// Changes `data` in one way: bits, bytes, numbers that lie, blocks that move, an end that is cut off, or the
/// end of an`other` seed.
fn damage(data: &mut Vec<u8>, numbers: &mut Numbers, other: Option<&[u8]>) {
    let length = data.len();
    if length == 0 {
        data.push(numbers.below(256) as u8);
        return;
    }
    // Half of the damage goes to the front, where headers are.
    let reach = if numbers.below(2) == 0 { length.min(64) } else { length };
    let at = numbers.below(reach as u64) as usize;
    if let Some(other) = other {
        data.truncate(at);
        data.extend(other.iter().skip(at));
        return;
    }
    match numbers.below(6) {
        0 => data[at] ^= 1 << numbers.below(8),
        1 => data[at] = numbers.below(256) as u8,
        2 => {
            let width = (1 << numbers.below(4)).min(length - at);
            let lie = LIES[numbers.below(LIES.len() as u64) as usize].to_le_bytes();
            data[at..at + width].copy_from_slice(&lie[..width]);
        }
        3 => {
            let count = (1 + numbers.below(64) as usize).min(length - at);
            let from = numbers.below((length - count + 1) as u64) as usize;
            data.copy_within(from..from + count, at);
        }
        4 => {
            let count = 1 + numbers.below(16) as usize;
            data.splice(at..at, std::iter::repeat_n(numbers.below(256) as u8, count));
        }
        _ => {
            let count = (1 + numbers.below(64) as usize).min(length - at);
            data.drain(at..at + count);
        }
    }
}
