//! Files of addresses that a program opens in a way of its own.

use std::fmt;
use std::sync::Arc;

use hyperslab_array::Result;

use super::range_reader::RangeReader;

/// Opens the files at addresses in a way of its own, such as by a Hadoop file system, instead of the stores that are built in.
///
/// Its functions are called on threads of this crate, so that the callers can be cancelled while they wait.
pub trait RemoteOpener: Send + Sync + fmt::Debug {
    /// Opens the file at an address, such as `hdfs://host/data/run.h5`.
    ///
    /// # Errors
    /// `NotFound` if there is none; what the opener cannot do.
    fn open(&self, address: &str) -> Result<OpenedRanges>;

    /// The version of the file at an address, without reading it.
    ///
    /// # Errors
    /// As [`RemoteOpener::open`].
    fn version(&self, address: &str) -> Result<RangesVersion>;
}

/// A file that a [`RemoteOpener`] opened.
#[non_exhaustive]
pub struct OpenedRanges {
    /// Reads it.
    pub reader: Arc<dyn RangeReader>,
    /// Its version.
    pub version: RangesVersion,
}

impl OpenedRanges {
    /// What `reader` reads, of this version.
    pub fn new(reader: Arc<dyn RangeReader>, version: RangesVersion) -> Self {
        Self { reader, version }
    }
}

impl fmt::Debug for OpenedRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedRanges").field("version", &self.version).finish_non_exhaustive()
    }
}

/// The version of a file that a [`RemoteOpener`] knows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RangesVersion {
    /// Length in bytes.
    pub length: u64,
    /// Time of the last modification in milliseconds since 1970, if known.
    pub modified_milliseconds: Option<i64>,
    /// The entity tag, if there is one.
    pub tag: Option<String>,
}

impl RangesVersion {
    /// A file of `length` bytes, with the time of its last modification and its entity tag if they are known.
    pub fn new(length: u64, modified_milliseconds: Option<i64>, tag: Option<String>) -> Self {
        Self { length, modified_milliseconds, tag }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use hyperslab_array::{Cancellation, Error, ErrorKind, interruption};

    use super::*;
    use crate::{RemoteFile, Storage};

    /// Files in memory. Each read takes a while.
    #[derive(Debug, Default)]
    struct Shelf {
        files: HashMap<String, Vec<u8>>,
        pause: Duration,
    }

    struct Slow {
        bytes: Vec<u8>,
        pause: Duration,
        calls: AtomicU64,
    }

    impl RangeReader for Slow {
        fn read_ranges(&self, ranges: &[(u64, u64)]) -> Result<Vec<Vec<u8>>> {
            // The first call is for the head.
            if self.calls.fetch_add(1, Ordering::Relaxed) > 0 {
                std::thread::sleep(self.pause);
            }
            let read = |&(offset, length): &(u64, u64)| self.bytes.get(usize::try_from(offset).ok()?..usize::try_from(offset + length).ok()?);
            ranges.iter().map(|range| read(range).map(<[u8]>::to_vec).ok_or_else(|| Error::corrupt("past the end"))).collect()
        }
        fn reads_aside(&self) -> bool {
            true
        }
    }

    impl RemoteOpener for Shelf {
        fn open(&self, address: &str) -> Result<OpenedRanges> {
            let bytes = self.files.get(address).cloned().ok_or_else(|| Error::not_found("no such file"))?;
            Ok(OpenedRanges::new(Arc::new(Slow { bytes, pause: self.pause, calls: AtomicU64::new(0) }), self.version(address)?))
        }
        fn version(&self, address: &str) -> Result<RangesVersion> {
            let bytes = self.files.get(address).ok_or_else(|| Error::not_found("no such file"))?;
            Ok(RangesVersion::new(bytes.len() as u64, Some(1_700_000_000_123), Some("tag".to_owned())))
        }
    }

    fn shelf(pause: Duration) -> Arc<dyn RemoteOpener> {
        let bytes = (0..48u32 << 20).map(|n| (n % 251) as u8).collect();
        Arc::new(Shelf { files: HashMap::from([("x://h/f/a".to_owned(), bytes), ("x://h/f/b".to_owned(), vec![7; 5])]), pause })
    }

    #[test]
    fn an_opened_file_has_its_version_and_neighbors_and_bytes() -> Result<()> {
        let shelf = shelf(Duration::ZERO);
        let file = RemoteFile::open_by("x://h/f/a", &shelf)?;
        assert_eq!((file.len(), file.version(), file.modified_nanoseconds()), (48 << 20, Some("tag"), Some(1_700_000_000_123_000_000)));
        let ranges: Vec<(u64, u64)> = (0..40).map(|n| ((n << 20) + 77, 900_000)).collect();
        let view = file.fetched(&ranges, &Cancellation::new())?.ok_or_else(|| Error::internal("all in the head"))?;
        for (offset, length) in ranges {
            let mut buffer = vec![0; usize::try_from(length).unwrap_or_default()];
            view.read_exact_at(offset, &mut buffer)?;
            assert!(buffer.iter().zip(offset..).all(|(byte, at)| u64::from(*byte) == at % 251), "{offset}");
        }
        assert_eq!(file.beside("b")?.len(), 5);
        assert_eq!(file.beside("c").err().map(|error| error.kind()), Some(ErrorKind::NotFound));
        assert!(file.beside("../f/b").is_err());
        assert_eq!(RemoteFile::open_by("x://h/f/c", &shelf).err().and_then(|error| error.file().map(str::to_owned)), Some("x://h/f/c".to_owned()));
        Ok(())
    }

    #[test]
    fn waiting_for_a_slow_reader_can_be_cancelled() -> Result<()> {
        let file = RemoteFile::open_by("x://h/f/a", &shelf(Duration::from_secs(5)))?;
        let cancellation = Cancellation::new();
        let other = cancellation.clone();
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            other.cancel();
        });
        let begun = Instant::now();
        let outcome = interruption::cancellable(&cancellation, || file.read_exact_at(20 << 20, &mut [0; 100]));
        assert_eq!(outcome.err().map(|error| error.kind()), Some(ErrorKind::Cancelled));
        assert!(begun.elapsed() < Duration::from_secs(2), "it does not wait for the reader");
        let _ = canceller.join();
        Ok(())
    }
}
