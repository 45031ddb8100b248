//! Memory: the output and the workers' scratch, kept from request to request.

use crate::Outcome;

#[derive(Default)]
pub struct Memory {
    pub output: Vec<u8>,
    /// Stored chunks, for `codec`.
    pub raw: Vec<Vec<u8>>,
    pub workers: Vec<Scratch>,
}

pub struct Scratch {
    pub raw: Vec<u8>,
    pub planes: Vec<u8>,
    pub inflate: libdeflater::Decompressor,
}

impl Default for Scratch {
    fn default() -> Self {
        Self { raw: Vec::new(), planes: Vec::new(), inflate: libdeflater::Decompressor::new() }
    }
}

impl Memory {
    pub fn prepare(&mut self, length: usize, threads: usize) {
        self.output.resize(length, 0);
        self.workers.resize_with(threads, Scratch::default);
    }
}

/// The most memory this process has held, in bytes.
pub fn peak_bytes() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    let kib: u64 = line.split_whitespace().nth(1).ok_or("no VmHWM")?.parse()?;
    Ok(kib * 1024)
}
