//! Space: a run of the file in which structures get their addresses and bytes.

use hyperslab_array::{Error, Result};

use super::HeapWriter;
use super::pages::{PageKind, Pages};

/// Where structures begin.
const ALIGNMENT: usize = 8;

/// Bytes from some address of the file on.
pub(crate) struct Space {
    start: u64,
    bytes: Vec<u8>,
    /// The pages of a paged file.
    pages: Option<Pages>,
}

impl Space {
    /// Nothing yet, from address `start` on, a multiple of 8; in a file of pages their bytes.
    pub fn new(start: u64, page_bytes: Option<u64>) -> Self {
        Self { start, bytes: Vec::new(), pages: page_bytes.map(|bytes| Pages::new(bytes, start)) }
    }
    /// Room for `length` bytes of metadata; its address.
    pub fn reserve(&mut self, length: usize) -> u64 {
        let address = match &mut self.pages {
            None => self.start + self.bytes.len().next_multiple_of(ALIGNMENT) as u64,
            Some(pages) => pages.allocate(PageKind::Metadata, length as u64),
        };
        self.extend(address, length);
        address
    }
    /// A structure whose bytes are known; its address.
    pub fn put(&mut self, bytes: &[u8]) -> u64 {
        let address = self.reserve(bytes.len());
        self.copy(address, bytes);
        address
    }
    /// Bytes that the HDF5 library treats as values; their address.
    pub fn put_raw(&mut self, bytes: &[u8]) -> u64 {
        let Some(pages) = &mut self.pages else { return self.put(bytes) };
        let address = pages.allocate(PageKind::Raw, bytes.len() as u64);
        self.extend(address, bytes.len());
        self.copy(address, bytes);
        address
    }
    /// What `fill` puts into a global heap. It may be called twice, and puts the same each time.
    pub fn put_heap<T>(&mut self, mut fill: impl FnMut(&mut HeapWriter) -> Result<T>) -> Result<T> {
        let page_bytes = self.page_bytes();
        let mut filled = |at: u64| {
            let mut heap = HeapWriter::in_pages(at, page_bytes);
            let found = fill(&mut heap)?;
            Ok::<_, Error>((at, found, heap.finish()))
        };
        let (at, found, bytes) = match &self.pages {
            None => filled(self.end().next_multiple_of(ALIGNMENT as u64))?,
            Some(pages) => {
                let open = pages.open_raw();
                // The page that takes small values may be followed by others.
                match filled(open.start)? {
                    (at, _, bytes) if at.saturating_add(bytes.len() as u64) > open.end => filled(pages.end())?,
                    fits => fits,
                }
            }
        };
        if !bytes.is_empty() {
            if let Some(pages) = &mut self.pages {
                pages.take_raw(at, bytes.len() as u64);
            }
            self.extend(at, bytes.len());
            self.copy(at, &bytes);
        }
        Ok(found)
    }
    /// The bytes of what was reserved at `address`.
    pub fn fill(&mut self, address: u64, bytes: &[u8]) -> Result<()> {
        if self.copy(address, bytes) { Ok(()) } else { Err(Error::internal("a structure outside of its room")) }
    }
    /// Bytes of a page in a file of pages.
    pub fn page_bytes(&self) -> Option<u64> {
        self.pages.as_ref().map(Pages::page_bytes)
    }
    /// The address after everything.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Makes `length` bytes at `address` part of the space.
    fn extend(&mut self, address: u64, length: usize) {
        let stop = usize::try_from(address - self.start).unwrap_or(usize::MAX).saturating_add(length);
        if self.bytes.len() < stop {
            self.bytes.resize(stop, 0);
        }
    }
    /// Puts bytes at an address; whether it is in the space.
    fn copy(&mut self, address: u64, bytes: &[u8]) -> bool {
        let at = address.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let place = at.and_then(|at| self.bytes.get_mut(at..at.checked_add(bytes.len())?));
        place.map(|place| place.copy_from_slice(bytes)).is_some()
    }
}
