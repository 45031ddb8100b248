//! Limit: the least work that gives the same bytes. It knows from a side file where every chunk is, and
//! parses nothing. Requests come line by line on standard input, as those of the other contestants
//! (see `benches/contestant.py`); an answer is the seconds that a request took.

mod chunks;
mod codec;
mod files;
mod memory;
mod plain;

use std::io::{BufRead, Write};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut memory = memory::Memory::default();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split('\t').collect();
        let [work, path, threads, reuse] = words[..] else { return Err(format!("not a request: {line}").into()) };
        let threads: usize = threads.parse()?;
        if reuse == "fresh" {
            memory = memory::Memory::default();
        }
        let start = Instant::now();
        let sum = match work {
            "plain" => plain::read(path, threads, &mut memory)?,
            "mapped" => plain::map(path, threads)?,
            "chunks" => chunks::read(path, threads, &mut memory)?,
            "inflate libdeflate" => codec::inflate("libdeflate", path, &mut memory)?,
            "inflate zlib-rs" => codec::inflate("zlib-rs", path, &mut memory)?,
            "files" => files::read(path, threads)?,
            _ => return Err(format!("no such work: {work}").into()),
        };
        let seconds = start.elapsed().as_secs_f64();
        println!("{seconds}\t{sum}\t{}", memory::peak_bytes()?);
        std::io::stdout().flush()?;
    }
    Ok(())
}
