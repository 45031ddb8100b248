//! Ours, in Rust, without Python: requests come line by line on standard input (see `benches/contestant.py`).

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use hyperslab::{Cancellation, Selection, Session, SessionOptions, new_session};
use rayon::prelude::*;

// The allocator of the Python package.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut output = Vec::new();
    let mut sessions: Vec<(usize, Session, rayon::ThreadPool)> = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split('\t').collect();
        let &[work, path, threads, reuse] = words.as_slice() else { return Err(format!("not a request: {line}").into()) };
        let threads: usize = threads.parse()?;
        if reuse == "fresh" {
            output = Vec::new();
        }
        if !sessions.iter().any(|(count, ..)| *count == threads) {
            let session = new_session(SessionOptions::default().with_threads(Some(threads)))?;
            sessions.push((threads, session, rayon::ThreadPoolBuilder::new().num_threads(threads).build()?));
        }
        let (_, session, pool) = sessions.iter().find(|(count, ..)| *count == threads).ok_or("no session")?;
        let start = Instant::now();
        let sum = match work {
            "dataset" => dataset(session, path, &mut output)?,
            "files" => pool.install(|| files(path))?,
            "links" => {
                let file = session.open(path)?;
                u64::try_from(file.links(file.root())?.iter().len())?
            }
            _ => return Err(format!("no such work: {work}").into()),
        };
        let seconds = start.elapsed().as_secs_f64();
        println!("{seconds}\t{sum}\t{}", peak_bytes()?);
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// All of dataset `x` of a file.
fn dataset(session: &Session, path: &str, output: &mut Vec<u8>) -> Outcome<u64> {
    let file = session.open(path)?;
    let found = file.find("/x")?;
    let dataset = found.dataset()?;
    let selection = Selection::all(dataset.dataspace.shape());
    output.resize(usize::try_from(selection.element_count()? * dataset.datatype.size())?, 0);
    file.read_into(found.object, &selection, output, &Cancellation::new())?;
    Ok(output.get(output.len() / 2).copied().unwrap_or(0).into())
}

/// Dataset `x` of every file of a folder.
fn files(folder: &str) -> Outcome<u64> {
    let text = std::fs::read_to_string(format!("{folder}.files"))?;
    let count: usize = text.split_whitespace().nth(2).ok_or("no count of files")?.parse()?;
    // Each file is read by one thread: more of them are a matter of the caller.
    let session = new_session(SessionOptions::default().with_threads(Some(1)))?;
    let sums = (0..count).into_par_iter().map_init(Vec::new, |output, number| -> Outcome<u64> {
        dataset(&session, &format!("{folder}/{number:05}.h5"), output)?;
        Ok(output.iter().step_by(8).copied().map(u64::from).sum())
    });
    sums.sum()
}

/// The most memory this process has held, in bytes.
fn peak_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no VmHWM")?.parse()?;
    Ok(kib * 1024)
}
