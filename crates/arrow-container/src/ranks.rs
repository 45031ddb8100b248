//! The processes that have one file open together. They make the same calls about its structure in the same order, so
//! that each knows the whole tree; values go into one file at places of their own. Nothing is locked: they meet where
//! HDF5 says that a call is collective.

use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::error::{Error, Result, error};
use crate::files::names::unique_name;

/// Gives every process's bytes to every process.
pub(crate) type Exchange = Box<dyn Fn(&[u8]) -> Result<Vec<Vec<u8>>> + Send + Sync>;

/// Whether this process is one of several, which share the cores.
static SEVERAL: AtomicBool = AtomicBool::new(false);

/// Says that this process opens a file as one of several.
pub fn set_multi_process() {
    SEVERAL.store(true, Ordering::Relaxed);
}

/// Whether this process has opened a file as one of several.
pub(crate) fn is_multi_process() -> bool {
    SEVERAL.load(Ordering::Relaxed)
}

/// The processes, and which of them this one is.
pub struct Ranks {
    pub(crate) rank: usize,
    pub(crate) size: usize,
    exchange: Exchange,
    /// What all processes know and no other file has.
    salt: String,
    names: AtomicU64,
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ranks").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

impl Ranks {
    /// All processes call this together.
    pub fn new(rank: usize, size: usize, exchange: Exchange) -> Result<Self> {
        let salt = exchange(unique_name().as_bytes())?.into_iter().next().ok_or_else(|| error!("no process answers"))?;
        Ok(Self { rank, size, exchange, salt: String::from_utf8_lossy(&salt).into_owned(), names: AtomicU64::new(0) })
    }

    /// Whether this process does what one alone must do.
    pub(crate) fn is_leader(&self) -> bool {
        self.rank == 0
    }

    /// Gives every process's bytes to every process.
    pub(crate) fn exchange(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        (self.exchange)(own)
    }

    /// Waits for all processes; where one has failed, all fail.
    pub(crate) fn agree<T>(&self, own: Result<T>) -> Result<T> {
        let message = own.as_ref().err().map_or("", |failure| failure.message.as_str());
        let all = self.exchange(message.as_bytes())?;
        let own = own?;
        match all.iter().position(|message| !message.is_empty()) {
            Some(rank) => Err(Error::new(format!("rank {rank}: {}", String::from_utf8_lossy(&all[rank])))),
            None => Ok(own),
        }
    }

    /// What the first process finds, for all.
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
            None => Err(error!("the first process does not answer")),
        }
    }

    /// The next name for a file aside: the same for every process.
    pub(crate) fn next_name(&self) -> String {
        self.name_for(&self.names.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// A name for a file aside that all processes make of the same words.
    pub(crate) fn name_for(&self, words: &str) -> String {
        let mut name = String::new();
        for half in [0, 1] {
            let mut hasher = DefaultHasher::new();
            hasher.write(self.salt.as_bytes());
            hasher.write_u8(half);
            hasher.write(words.as_bytes());
            name.push_str(&format!("{:016x}", hasher.finish()));
        }
        name
    }

    /// Which rows of `rows` are this process's share, and those of the others: where each share begins, and the end.
    pub(crate) fn shares(&self, rows: u64) -> Vec<u64> {
        let size = self.size as u64;
        (0..=size).map(|rank| (u128::from(rows) * u128::from(rank) / u128::from(size)) as u64).collect()
    }
}
