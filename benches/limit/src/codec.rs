//! Codec: the chunks of a file inflated in memory, each in one call into known size; nothing else.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::Outcome;
use crate::chunks::Table;
use crate::memory::Memory;

/// Inflates all chunks of `path` by `codec` on one thread. They are fetched at the first request, which a
/// benchmark does not count.
pub fn inflate(codec: &str, path: &str, memory: &mut Memory) -> Outcome<u64> {
    let table = Table::open(path)?;
    if memory.raw.is_empty() {
        let file = File::open(path)?;
        for [_, _, offset, length] in &table.chunks {
            let mut raw = vec![0; *length as usize];
            file.read_exact_at(&mut raw, *offset)?;
            memory.raw.push(raw);
        }
    }
    memory.output.resize(table.chunk_bytes(), 0);
    let mut sum = 0;
    let mut libdeflate = libdeflater::Decompressor::new();
    for raw in &memory.raw {
        match codec {
            "libdeflate" => _ = libdeflate.zlib_decompress(raw, &mut memory.output)?,
            "zlib-rs" => {
                let (_, code) = zlib_rs::decompress_slice(&mut memory.output, raw, zlib_rs::InflateConfig::default());
                if code != zlib_rs::ReturnCode::Ok {
                    return Err(format!("zlib-rs: {code:?}").into());
                }
            }
            other => return Err(format!("no such codec: {other}").into()),
        }
        sum += u64::from(memory.output[memory.output.len() / 2]);
    }
    Ok(sum)
}
