//! MPI ranks that have one file open together. HDF5 requires that all ranks change the structure of a file by the same
//! calls in the same order, so each rank holds the whole tree. Each rank writes values to its own regions of a shared file,
//! without locks; the ranks synchronize only in calls that HDF5 declares collective.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result, error};
use crate::files::names::unique_name;

/// An all-gather: sends this rank's bytes, and returns the bytes of all ranks, in rank order.
pub(crate) type Exchange = Box<dyn Fn(&[u8]) -> Result<Vec<Vec<u8>>> + Send + Sync>;

const FNV_OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Whether this process is one of several ranks on the same cores.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Records that this process is one of several ranks. It then uses one thread for each transfer, because the ranks share
/// the cores.
pub fn set_multi_process() {
    SEVERAL.store(true, Ordering::Relaxed);
}

/// Whether [`set_multi_process`] was called.
pub(crate) fn is_multi_process() -> bool {
    SEVERAL.load(Ordering::Relaxed)
}

/// A group of ranks, and this process's place in it.
pub struct Ranks {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    exchange: Exchange,
    /// A random string that all ranks share and no other open file has.
    salt: String,
    names: AtomicU64,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ranks").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Ranks {
    /// Creates the group: `rank` of `size`, with an all-gather of bytes. Collective.
    ///
    /// # Errors
    /// If the exchange fails.
    pub fn new(rank: usize, size: usize, exchange: Exchange) -> Result<Self> {
        let salt = exchange(unique_name().as_bytes())?.into_iter().next().ok_or_else(|| error!("no MPI rank answers"))?;
        Ok(Self { rank, size, exchange, salt: String::from_utf8_lossy(&salt).into_owned(), names: AtomicU64::new(0) })
    }

    /// Whether this rank does the work that only one rank may do.
    pub(crate) fn is_leader(&self) -> bool {
        self.rank == 0
    }

    /// Sends this rank's bytes and returns the bytes of all ranks. Collective.
    pub(crate) fn exchange(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        (self.exchange)(own)
    }

    /// Waits for all ranks. If one of them failed, all of them fail. Collective.
    pub(crate) fn agree<T>(&self, own: Result<T>) -> Result<T> {
        let message = own.as_ref().err().map_or("", |failure| failure.message.as_str());
        let all = self.exchange(message.as_bytes())?;
        let own = own?;
        match all.iter().position(|message| !message.is_empty()) {
            Some(rank) => Err(Error::new(format!("rank {rank}: {}", String::from_utf8_lossy(&all[rank])))),
            None => Ok(own),
        }
    }

    /// Runs `work` on the leader and returns its bytes on every rank. Collective.
    pub(crate) fn run_on_leader(&self, work: impl FnOnce() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
        let own = if self.is_leader() { work() } else { Ok(Vec::new()) };
        let (failed, bytes) = match own {
            Ok(bytes) => (0, bytes),
            Err(failure) => (1, failure.message.into_bytes()),
        };
        let first = self.exchange(&[&[failed], &bytes[..]].concat())?.into_iter().next().unwrap_or_default();
        match first.split_first() {
            Some((0, bytes)) => Ok(bytes.to_vec()),
            Some((_, message)) => Err(error!("{}", String::from_utf8_lossy(message))),
            None => Err(error!("MPI rank 0 does not answer")),
        }
    }

    /// The next name for a temporary file, the same on every rank.
    pub(crate) fn next_name(&self) -> String {
        self.name_for(&self.names.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// A name for a temporary file, derived from `words`, the same on every rank.
    pub(crate) fn name_for(&self, words: &str) -> String {
        // FNV-1a with 128 bits: ranks may run builds of different Rust versions, whose hashers differ.
        let bytes = self.salt.bytes().chain([0]).chain(words.bytes());
        let hash = bytes.fold(FNV_OFFSET, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(FNV_PRIME));
        format!("{hash:032x}")
    }

    /// Divides `rows` among the ranks: the first row of each rank's share, and the end.
    pub(crate) fn shares(&self, rows: u64) -> Vec<u64> {
        let size = self.size as u64;
        (0..=size).map(|rank| (u128::from(rows) * u128::from(rank) / u128::from(size)) as u64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Ranks;
    use crate::error::Error;

    #[test]
    fn names_are_the_same_on_every_rank_and_in_every_build() -> Result<(), Error> {
        let ranks = |rank| Ranks::new(rank, 2, Box::new(|_| Ok(vec![b"salt".to_vec(), b"other".to_vec()])));
        let (one, other) = (ranks(0)?, ranks(1)?);
        assert_eq!(one.name_for("given 1 2 3"), other.name_for("given 1 2 3"));
        assert_ne!(one.name_for("given 1 2 3"), one.name_for("given 1 2 4"));
        assert_eq!(one.next_name(), other.next_name());
        // The FNV-1a hash of "salt\0x".
        assert_eq!(one.name_for("x"), "cdc22c61c93c64bf6f4fe6ff28255a91");
        assert_ne!(one.next_name(), one.next_name());
        Ok(())
    }
}
