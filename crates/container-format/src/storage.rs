//! All datasets of a container as one range of bytes: each has a place in it, at which its elements lie one after the other.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyperslab_array::{Error, Result};
use hyperslab_arrow_container::elements::Dataspace;
use hyperslab_storage::{ForkMutex, Storage, check_open};

use crate::column::HEAP_BITS;
use crate::datatype::Decoded;
use crate::place::Place;
use crate::values::Values;

/// Most files of values that are open at a time. Others are opened again when they are needed.
const MAX_OPEN: usize = 512;
/// Alignment of datasets, in bytes.
const ALIGNMENT: u64 = 64;

/// A dataset whose values are in a file.
pub(crate) struct StoredDataset {
    /// Where its elements begin, and their bytes.
    start: u64,
    bytes: u64,
    decoded: Arc<Decoded>,
    space: Dataspace,
    file: String,
}

/// Gives datasets their places.
#[derive(Default)]
pub(crate) struct Layout {
    datasets: Vec<StoredDataset>,
    end: u64,
}

impl Layout {
    /// Adds a dataset; returns its number, and where its elements begin.
    pub fn add(&mut self, decoded: Arc<Decoded>, space: Dataspace, file: String) -> Result<(usize, u64)> {
        let beyond = || Error::corrupt("a dataset beyond 64 bits");
        let bytes = space.count().and_then(|count| count.checked_mul(decoded.form.bytes() as u64)).ok_or_else(beyond)?;
        let start = self.end;
        self.end = start.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(ALIGNMENT)).ok_or_else(beyond)?;
        self.datasets.push(StoredDataset { start, bytes, decoded, space, file });
        Ok((self.datasets.len() - 1, start))
    }
}

/// The elements of all datasets.
pub(crate) struct ContainerStorage {
    name: String,
    place: Place,
    /// In the order of their places.
    datasets: Vec<StoredDataset>,
    opened: ForkMutex<HashMap<usize, Arc<Values>>>,
    length: u64,
    version: String,
    max_metadata_bytes: u64,
    is_closed: AtomicBool,
}

impl ContainerStorage {
    pub fn new(place: Place, layout: Layout, generation: u64, max_metadata_bytes: u64) -> Self {
        let Layout { datasets, end } = layout;
        Self {
            name: place.name(),
            place,
            datasets,
            opened: ForkMutex::new(HashMap::new()),
            length: end,
            version: format!("generation {generation}"),
            max_metadata_bytes,
            is_closed: AtomicBool::new(false),
        }
    }

    /// The values of a dataset by its number.
    ///
    /// # Errors
    /// `Conflict` if the container was rewritten meanwhile; `Corrupt`, `Unsupported` or `Io` if they cannot be opened.
    pub fn values(&self, number: usize) -> Result<Arc<Values>> {
        check_open(self)?;
        if let Some(values) = self.opened.lock().and_then(|opened| opened.get(&number).cloned()) {
            return Ok(values);
        }
        let dataset = self.datasets.get(number).ok_or_else(|| Error::internal("no such dataset in the container"))?;
        let part = self.place.open(&dataset.file)?;
        let mut next = (number as u64 + 1) << HEAP_BITS;
        let values = Values::open(part, &dataset.decoded.form, &dataset.space, self.max_metadata_bytes, &mut next);
        let values = Arc::new(values.map_err(|error| Error::new(error.kind(), format!("{}: {}", dataset.file, error.message())))?);
        if let Some(mut opened) = self.opened.lock() {
            if opened.len() >= MAX_OPEN {
                opened.clear();
            }
            opened.insert(number, values.clone());
        }
        Ok(values)
    }

    fn dataset_at(&self, offset: u64) -> Result<(usize, &StoredDataset)> {
        let after = self.datasets.partition_point(|dataset| dataset.start <= offset);
        let found = after.checked_sub(1).and_then(|index| Some((index, self.datasets.get(index)?)));
        found.filter(|(_, dataset)| offset - dataset.start < dataset.bytes).ok_or_else(|| Error::corrupt("bytes that belong to no dataset").at_offset(offset))
    }
}

impl Storage for ContainerStorage {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let (number, dataset) = self.dataset_at(offset)?;
        let inside = offset - dataset.start;
        if inside.checked_add(buffer.len() as u64).is_none_or(|end| end > dataset.bytes) {
            return Err(Error::corrupt("bytes beyond the end of a dataset").at_offset(offset));
        }
        self.values(number)?.read(inside, buffer)
    }
    fn file_with(&self, offset: u64, length: u64) -> Result<Option<(std::fs::File, u64)>> {
        let (number, dataset) = self.dataset_at(offset)?;
        self.values(number)?.file_with(offset - dataset.start, length)
    }
    fn version(&self) -> Option<&str> {
        Some(&self.version)
    }
    fn modified_nanoseconds(&self) -> Option<u64> {
        self.place.modified_nanoseconds()
    }
    fn stamped_bytes(&self) -> u64 {
        self.place.stamped_bytes()
    }
    fn is_remote(&self) -> bool {
        self.place.is_remote()
    }
    // Files of values are never changed: what was published stays as it is, or is gone.
    fn is_unchanged(&self) -> bool {
        !self.is_closed()
    }
    fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        if let Some(mut opened) = self.opened.lock() {
            opened.drain().for_each(|(_, values)| values.close());
        }
        self.place.close();
    }
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
    fn name(&self) -> &str {
        &self.name
    }
}
