//! Other Rust readers, asked as the other contestants are (see `benches/reading/contestants/`).

mod small;

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use hdf5_reader::Hdf5File;
use rayon::prelude::*;

use small::Timed;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let mut output = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split('\t').collect();
        let [work, path, threads, reuse] = words[..] else { return Err(format!("not a request: {line}").into()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
        if reuse == "fresh" {
            output = Vec::new();
        }
        if let Some(case) = work.strip_prefix("small ") {
            let Timed { seconds, check } = small::run(case, path)?;
            println!("{seconds}\t{check}\t{}", peak_bytes()?);
            std::io::stdout().flush()?;
            continue;
        }
        let start = Instant::now();
        let check = match work {
            "hdf5-reader" => hdf5_reader(path, &pool, &mut output)?,
            "files" => pool.install(|| files(path))?,
            _ => return Err(format!("no such work: {work}").into()),
        };
        println!("{}\t{check}\t{}", start.elapsed().as_secs_f64(), peak_bytes()?);
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// Chunks are decoded on all threads (the crate gives a new array then), other datasets go to the kept memory.
fn hdf5_reader(path: &str, pool: &rayon::ThreadPool, output: &mut Vec<u8>) -> Outcome<f64> {
    let file = Hdf5File::open(path)?;
    let dataset = file.dataset("/x")?;
    if dataset.chunks().is_some() {
        let array = dataset.read_array_in_pool::<f32>(pool)?;
        let values = array.as_slice().ok_or("not in one piece")?;
        return Ok(values[values.len() / 2].into());
    }
    output.resize(dataset.raw_byte_len()?, 0);
    dataset.read_native_bytes_into(output)?;
    let size = dataset.raw_element_size()?;
    let first: [u8; 8] = output[output.len() / size / 2 * size..][..8].try_into()?;
    Ok(if size == 8 { f64::from_le_bytes(first) } else { i64::from_le_bytes(first) as f64 })
}

fn files(folder: &str) -> Outcome<f64> {
    let text = std::fs::read_to_string(format!("{folder}.files"))?;
    let count: usize = text.split_whitespace().nth(2).ok_or("no count of files")?.parse()?;
    let lengths = (0..count).into_par_iter().map(|number| -> Outcome<usize> {
        let file = Hdf5File::open(format!("{folder}/{number:05}.h5"))?;
        Ok(file.dataset("/x")?.read_array::<i64>()?.len())
    });
    Ok(lengths.sum::<Outcome<usize>>()? as f64)
}

fn peak_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no VmHWM")?.parse()?;
    Ok(kib * 1024)
}
