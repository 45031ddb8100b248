//! Files: open, read at once, close. The side file `<folder>.files` has a line `offset length`: where in
//! each file its values are.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::Outcome;

pub fn read(folder: &str, threads: usize) -> Outcome<u64> {
    let text = std::fs::read_to_string(format!("{folder}.files"))?;
    let numbers: Vec<usize> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [offset, length, count] = numbers[..] else { return Err("three numbers".into()) };
    let (next, total) = (AtomicUsize::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let work = || -> Outcome<()> {
            let mut bytes = vec![0; offset + length];
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok(());
                }
                File::open(format!("{folder}/{number:05}.h5"))?.read_exact_at(&mut bytes, 0)?;
                let sum = bytes[offset..].chunks_exact(8).fold(0u64, |sum, word| sum.wrapping_add(u64::from(word[0])));
                total.fetch_add(sum, Ordering::Relaxed);
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })?;
    Ok(total.load(Ordering::Relaxed))
}
