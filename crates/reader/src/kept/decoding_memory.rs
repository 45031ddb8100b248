//! Memory of decoded chunks: a bound for all threads and sessions of the process, from the memory that it may use.

use std::path::Path;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use hyperslab_array::{Cancellation, Error, Result};

/// Minimum bytes of a buffer that is counted: threads keep smaller ones from read to read.
const MIN_COUNTED_BYTES: u64 = 64 << 20;
/// Decoded chunks may take 1/2 of the process' memory.
const SHARE: u64 = 2;
/// How often a waiting thread looks whether it was cancelled.
const POLL: Duration = Duration::from_millis(50);

/// Bytes that large buffers of all threads take.
static HELD: Mutex<u64> = Mutex::new(0);
static RELEASED: Condvar = Condvar::new();

thread_local! {
    /// How many counted buffers this thread holds: one that holds some never waits for others.
    static OWN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The memory of one buffer as far as it is counted. Dropping it gives the memory back.
#[derive(Debug, Default)]
pub(crate) struct Held {
    bytes: u64,
    by: Option<std::thread::ThreadId>,
}

impl Held {
    /// Counts `bytes` in all. Waits until other threads have released enough.
    ///
    /// # Errors
    /// `LimitExceeded` for more than the bound; `Cancelled`.
    pub fn grow(&mut self, bytes: u64, cancellation: &Cancellation) -> Result<()> {
        if bytes <= self.bytes.max(MIN_COUNTED_BYTES) {
            return Ok(());
        }
        if bytes > bound() {
            return Err(Error::limit_exceeded(format!("a chunk needs {bytes} bytes of memory, and this process has {} for decoded chunks", bound())));
        }
        let more = bytes - self.bytes;
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        while *held > 0 && held.saturating_add(more) > bound() && OWN.get() == 0 {
            cancellation.check()?;
            held = RELEASED.wait_timeout(held, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
        *held = held.saturating_add(more);
        drop(held);
        if self.bytes == 0 {
            OWN.set(OWN.get() + 1);
            self.by = Some(std::thread::current().id());
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        if self.by == Some(std::thread::current().id()) {
            OWN.set(OWN.get().saturating_sub(1));
        }
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        *held = held.saturating_sub(self.bytes);
        drop(held);
        RELEASED.notify_all();
    }
}

/// What is taken for the machine's memory where it is not known.
const UNKNOWN_MEMORY_BYTES: u64 = 8 << 30;

/// Bytes that decoded chunks may take in this process.
pub fn bound() -> u64 {
    static BOUND: OnceLock<u64> = OnceLock::new();
    *BOUND.get_or_init(|| (memory() / SHARE).max(2 * MIN_COUNTED_BYTES))
}

/// Memory that this process may use: the machine's, its control groups', or its address space.
fn memory() -> u64 {
    let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let kibibytes = |line: &str| line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).map(|number| number.saturating_mul(1024));
    let machine = text(Path::new("/proc/meminfo")).lines().find(|line| line.starts_with("MemTotal:")).and_then(kibibytes);
    let address_space =
        text(Path::new("/proc/self/limits")).lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next()?.parse::<u64>().ok());
    let groups = text(Path::new("/proc/self/cgroup"));
    let of_groups = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => return Vec::new(),
        };
        // A container may see its own group as the root.
        let own = Path::new(root).join(group.trim_start_matches('/'));
        own.ancestors().take_while(|folder| folder.starts_with(root)).filter_map(|folder| text(&folder.join(file)).trim().parse::<u64>().ok()).collect()
    });
    // Systems other than Linux do not say it in files.
    of_groups.chain(machine).chain(address_space).min().unwrap_or(UNKNOWN_MEMORY_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_wait_for_each_other_and_small_ones_are_not_counted() -> Result<()> {
        let never = Cancellation::new();
        let mut small = Held::default();
        small.grow(MIN_COUNTED_BYTES, &never)?;
        assert_eq!(small.bytes, 0);
        assert!(Held::default().grow(bound() + 1, &never).is_err_and(|error| error.kind() == hyperslab_array::ErrorKind::LimitExceeded));
        let mut large = Held::default();
        large.grow(bound(), &never)?;
        // A second one of this thread does not wait for the first.
        Held::default().grow(bound(), &never)?;
        let cancelled = Cancellation::new();
        cancelled.cancel();
        let other = |cancellation: Cancellation| std::thread::spawn(move || Held::default().grow(bound(), &cancellation).map(drop));
        assert!(other(cancelled).join().is_ok_and(|outcome| outcome.is_err()), "it did not wait");
        let waiting = other(never);
        std::thread::sleep(2 * POLL);
        assert!(!waiting.is_finished());
        drop(large);
        assert!(waiting.join().is_ok_and(|outcome| outcome.is_ok()));
        Ok(())
    }

    #[test]
    fn the_bound_follows_from_the_machine() {
        assert!(memory() > 64 << 20 && memory() < u64::MAX);
        assert!(bound() <= memory());
    }
}
