//! Audit memory: which indexes were compared with their data, for as long as the process runs. Sessions come and go (each task of
//! Spark has one); what one of them has found holds for all.
//!
//! It is a table of fixed size without locks, so that a forked child never waits for a thread of its parent. If a set of the table
//! is full, an older entry is lost, and its index is compared again.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use hyperslab_array::{Error, Result};

use super::manifest::IndexedDataset;
use super::places::Version;

/// Number of entries: 128 KiB.
const ENTRIES: usize = 1 << 14;
/// Number of entries among which an index's hash chooses one.
const SET: usize = 4;

static TABLE: Table = Table([const { AtomicU64::new(0) }; ENTRIES]);

/// What an audit has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Finding {
    /// What the index says agreed with the data.
    Claims,
    /// What the index decided for a condition agreed with the data.
    Decisions,
    /// The index disagrees with the data.
    Refuted,
}

/// One state of an index and of the data that it is of: a hash with a key of this process, so that no file can be made to have
/// the hash of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexState(u64);

fn hasher() -> impl Hasher {
    static KEY: OnceLock<RandomState> = OnceLock::new();
    KEY.get_or_init(RandomState::new).build_hasher()
}

impl IndexState {
    /// The index `indexed` of a data file of this version. `files` are the versions of the index files and of the sources of a
    /// virtual dataset. `None` if one of them is unknown: such an index is not remembered.
    pub fn new(indexed: &IndexedDataset, data: Option<Version>, files: impl IntoIterator<Item = Option<Version>>) -> Result<Option<Self>> {
        let mut hasher = hasher();
        let Some(data) = data else { return Ok(None) };
        data.hash(&mut hasher);
        for version in files {
            let Some(version) = version else { return Ok(None) };
            version.hash(&mut hasher);
        }
        let mut writer = HashWriter(hasher);
        serde_json::to_writer(&mut writer, indexed).map_err(|error| Error::internal(format!("cannot hash an index: {error}")))?;
        Ok(Some(Self(writer.0.finish())))
    }

    /// Whether an audit in this process has found this.
    pub fn has(self, finding: Finding) -> bool {
        TABLE.has(self.entry(finding))
    }

    /// Notes what an audit has found.
    pub fn note(self, finding: Finding) {
        TABLE.add(self.entry(finding));
    }

    fn entry(self, finding: Finding) -> u64 {
        let mut hasher = hasher();
        (self.0, finding).hash(&mut hasher);
        // 0 is an empty entry.
        hasher.finish().max(1)
    }
}

/// Hashes what is written.
struct HashWriter<H>(H);

impl<H: Hasher> Write for HashWriter<H> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Table([AtomicU64; ENTRIES]);

impl Table {
    /// The entries among which the one of `hash` is.
    fn set(&self, hash: u64) -> &[AtomicU64] {
        let first = (hash as usize % (ENTRIES / SET)) * SET;
        self.0.get(first..first + SET).unwrap_or_default()
    }

    fn has(&self, hash: u64) -> bool {
        self.set(hash).iter().any(|entry| entry.load(Ordering::Relaxed) == hash)
    }

    fn add(&self, hash: u64) {
        let set = self.set(hash);
        if self.has(hash) || set.iter().any(|entry| entry.compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed).is_ok()) {
            return;
        }
        // The upper bits choose which one is lost.
        if let Some(entry) = set.get((hash >> 32) as usize % SET) {
            entry.store(hash, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use hyperslab_scan::pruner::Level;

    use super::*;
    use crate::block::block_grid::BlockGrid;

    fn indexed(path: &str) -> IndexedDataset {
        IndexedDataset {
            path: path.to_owned(),
            member: None,
            others: Vec::new(),
            identity: "i".to_owned(),
            data_type: "Float64".to_owned(),
            level: Level::Exact,
            shape: vec![10],
            grid: BlockGrid { outer: vec![10], inner: vec![10] },
            fingerprint: "f".to_owned(),
            index_files: Vec::new(),
            seal: None,
            is_own: true,
        }
    }

    #[test]
    fn a_finding_is_of_one_state() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let version = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, name).and_then(|()| Version::of(&path)).ok()
        };
        let (data, other, index_file) = (version("a"), version("bb"), version("ccc"));
        let (known, fields) = (indexed("/x"), indexed("/y"));
        let state = IndexState::new(&known, data, [index_file])?.ok_or("no state")?;
        state.note(Finding::Claims);
        assert!(state.has(Finding::Claims) && !state.has(Finding::Decisions) && !state.has(Finding::Refuted));
        assert_eq!(IndexState::new(&known, data, [index_file])?, Some(state));
        let others = [
            IndexState::new(&fields, data, [index_file])?,
            IndexState::new(&IndexedDataset { fingerprint: "g".to_owned(), ..known.clone() }, data, [index_file])?,
            IndexState::new(&known, other, [index_file])?,
            IndexState::new(&known, data, [other])?,
            IndexState::new(&known, data, [])?,
        ];
        for other in others {
            assert!(!other.ok_or("no state")?.has(Finding::Claims));
        }
        assert_eq!(IndexState::new(&known, None, [index_file])?, None);
        assert_eq!(IndexState::new(&known, data, [index_file, None])?, None);
        // The same name and length, rewritten: the times and the inode's change time differ.
        std::fs::remove_file(folder.path().join("a"))?;
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(!IndexState::new(&known, version("a"), [index_file])?.ok_or("no state")?.has(Finding::Claims));
        Ok(())
    }

    #[test]
    fn the_table_forgets_but_never_invents() {
        let table = Table([const { AtomicU64::new(0) }; ENTRIES]);
        let hash = |index: u64| index.wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1);
        let count = 4 * ENTRIES as u64;
        (0..count).for_each(|index| {
            table.add(hash(index));
            assert!(table.has(hash(index)), "the last one is always there");
        });
        let kept = (0..count).filter(|index| table.has(hash(*index))).count();
        assert!(kept > ENTRIES / 2 && kept <= ENTRIES, "{kept} of {ENTRIES}");
        assert!(!(count..2 * count).any(|index| table.has(hash(index))));
    }
}
