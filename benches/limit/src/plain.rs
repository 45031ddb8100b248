//! Plain: one run of bytes. Copied by `pread` on each thread, or mapped and looked at in place.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use crate::Outcome;
use crate::memory::Memory;

/// The run of `path`, as its side file has it: offset and length.
fn run(path: &str) -> Outcome<(u64, usize)> {
    let text = std::fs::read_to_string(format!("{path}.run"))?;
    let mut words = text.split_whitespace();
    let offset = words.next().ok_or("no offset")?.parse()?;
    Ok((offset, words.next().ok_or("no length")?.parse()?))
}

pub fn read(path: &str, threads: usize, memory: &mut Memory) -> Outcome<u64> {
    let (offset, length) = run(path)?;
    memory.prepare(length, threads);
    let file = File::open(path)?;
    let part = length.div_ceil(threads);
    std::thread::scope(|scope| {
        let work = |(number, out): (usize, &mut [u8])| {
            for (k, block) in out.chunks_mut(4 << 20).enumerate() {
                file.read_exact_at(block, offset + (number * part + k * (4 << 20)) as u64)?;
            }
            Ok::<_, std::io::Error>(())
        };
        let threads: Vec<_> = memory.output.chunks_mut(part).enumerate().map(|job| scope.spawn(move || work(job))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?.map_err(Into::into))
    })
    .map(|()| u64::from(memory.output[length / 2]))
}

/// The sum of all 64-bit words, as a consumer that looks at mapped bytes.
pub fn map(path: &str, threads: usize) -> Outcome<u64> {
    let (offset, length) = run(path)?;
    let file = File::open(path)?;
    let whole = offset as usize + length;
    // SAFETY: a private, read-only map of a file that only this benchmark has; unmapped below.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), whole, libc::PROT_READ, libc::MAP_SHARED | libc::MAP_POPULATE, file.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: the map above is `whole` bytes long.
    let bytes = &unsafe { std::slice::from_raw_parts(address.cast::<u8>(), whole) }[offset as usize..];
    let sum = std::thread::scope(|scope| {
        let part = length.div_ceil(threads).next_multiple_of(8);
        let work = |part: &[u8]| part.chunks_exact(8).fold(0u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(word.try_into().unwrap_or_default())));
        let threads: Vec<_> = bytes.chunks(part).map(|part| scope.spawn(move || work(part))).collect();
        threads.into_iter().fold(0, |sum: u64, thread| sum.wrapping_add(thread.join().unwrap_or(0)))
    });
    // SAFETY: the address and length of the map above, which nothing uses any more.
    unsafe { libc::munmap(address, whole) };
    Ok(sum)
}
