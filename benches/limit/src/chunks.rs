//! Chunks: those of a 2-D dataset, wherever they lie, to their places in the output.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use crate::Outcome;
use crate::memory::{Memory, Scratch};

/// What the side file `<path>.chunks` says: a line `rows columns chunk_rows chunk_columns element codec`,
/// then a line `row column offset length` a chunk. Codecs: `none`, `deflate+shuffle`.
pub struct Table {
    shape: [usize; 2],
    chunk: [usize; 2],
    element: usize,
    inflate: bool,
    pub chunks: Vec<[u64; 4]>,
}

impl Table {
    /// Bytes of a chunk when it is decoded.
    pub fn chunk_bytes(&self) -> usize {
        self.chunk.iter().product::<usize>() * self.element
    }
    pub fn open(path: &str) -> Outcome<Self> {
        let text = std::fs::read_to_string(format!("{path}.chunks"))?;
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next().ok_or("no first line")?.split(' ').collect();
        let [rows, columns, chunk_rows, chunk_columns, element, codec] = head[..] else { return Err("a first line of six words".into()) };
        let chunks = lines.map(|line| {
            let numbers: Vec<u64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
            Ok(<[u64; 4]>::try_from(numbers).map_err(|_| "a chunk of four numbers")?)
        });
        Ok(Self {
            shape: [rows.parse()?, columns.parse()?],
            chunk: [chunk_rows.parse()?, chunk_columns.parse()?],
            element: element.parse()?,
            inflate: codec == "deflate+shuffle",
            chunks: chunks.collect::<Outcome<_>>()?,
        })
    }
}

pub fn read(path: &str, threads: usize, memory: &mut Memory) -> Outcome<u64> {
    let table = Table::open(path)?;
    let [rows, columns] = table.shape;
    memory.prepare(rows * columns * table.element, threads);
    let file = File::open(path)?;
    let band_bytes = table.chunk[0] * columns * table.element;
    let mut by_band: Vec<Vec<[u64; 4]>> = vec![Vec::new(); rows.div_ceil(table.chunk[0])];
    for chunk in &table.chunks {
        by_band[chunk[0] as usize / table.chunk[0]].push(*chunk);
    }
    let todo = Mutex::new(memory.output.chunks_mut(band_bytes).zip(by_band));
    std::thread::scope(|scope| {
        let (table, file, todo) = (&table, &file, &todo);
        let work = move |scratch: &mut Scratch| -> Outcome<()> {
            loop {
                let Some((band, chunks)) = todo.lock().map_err(|_| "a thread panicked")?.next() else { return Ok(()) };
                for chunk in chunks {
                    one(table, file, chunk, band, scratch)?;
                }
            }
        };
        let threads: Vec<_> = memory.workers.iter_mut().map(|scratch| scope.spawn(move || work(scratch))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })?;
    Ok(u64::from(memory.output[memory.output.len() / 2]))
}

fn one(table: &Table, file: &File, [_, column, offset, length]: [u64; 4], band: &mut [u8], scratch: &mut Scratch) -> Outcome<()> {
    let size = table.element;
    let chunk_bytes = table.chunk[0] * table.chunk[1] * size;
    scratch.raw.resize(length as usize, 0);
    file.read_exact_at(&mut scratch.raw, offset)?;
    let row = table.chunk[1] * size;
    let stride = table.shape[1] * size;
    let first = column as usize * size;
    if !table.inflate {
        for (k, from) in scratch.raw.chunks_exact(row).take(band.len() / stride).enumerate() {
            band[k * stride + first..][..row].copy_from_slice(from);
        }
        return Ok(());
    }
    scratch.planes.resize(chunk_bytes, 0);
    scratch.inflate.zlib_decompress(&scratch.raw, &mut scratch.planes)?;
    // Unshuffled straight into place, a row of the chunk at a time.
    let count = table.chunk[0] * table.chunk[1];
    let planes: [&[u8]; 4] = std::array::from_fn(|k| &scratch.planes[k * count..][..count]);
    for k in 0..band.len() / stride {
        let out = &mut band[k * stride + first..][..row];
        unshuffle(planes.map(|plane| &plane[k * table.chunk[1]..][..table.chunk[1]]), out);
    }
    Ok(())
}

/// Elements of four bytes out of four planes, sixteen at a time.
#[cfg(target_arch = "x86_64")]
fn unshuffle(planes: [&[u8]; 4], out: &mut [u8]) {
    use std::arch::x86_64::*;
    let count = planes[0].len();
    assert!(planes.iter().all(|plane| plane.len() == count) && out.len() == 4 * count);
    let mut at = 0;
    while at + 16 <= count {
        // SAFETY: SSE2 is part of x86-64; the assertion and the loop's condition keep all inside.
        unsafe {
            let load = |k: usize| _mm_loadu_si128(planes[k].as_ptr().add(at).cast());
            let (a, b, c, d) = (load(0), load(1), load(2), load(3));
            let (low, high) = (_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b));
            let (low2, high2) = (_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d));
            let mut store = |k: usize, value| _mm_storeu_si128(out.as_mut_ptr().add(4 * at + 16 * k).cast(), value);
            store(0, _mm_unpacklo_epi16(low, low2));
            store(1, _mm_unpackhi_epi16(low, low2));
            store(2, _mm_unpacklo_epi16(high, high2));
            store(3, _mm_unpackhi_epi16(high, high2));
        }
        at += 16;
    }
    for k in at..count {
        for (plane, place) in planes.iter().zip(4 * k..) {
            out[place] = plane[k];
        }
    }
}
