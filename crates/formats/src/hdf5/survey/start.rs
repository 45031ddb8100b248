//! Where a survey begins: the superblock, or what is left of it.

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

use super::log::Log;
use super::structure::{Purpose, StructureKind};
use crate::Limits;
use crate::budget::Budget;
use crate::hdf5::superblock::{Superblock, find_superblock, stated_end};
use crate::hdf5::{Cursor, Source};

/// What the superblock says, as far as it can be read.
pub(super) struct Start {
    pub source: Source,
    pub version: Option<u8>,
    pub root: Option<u64>,
    pub extension: Option<u64>,
    pub driver: Option<u64>,
    /// Entries of the nodes of old groups and chunk B-trees, halved as in the superblock.
    pub group_leaf_k: u64,
    pub group_internal_k: u64,
    pub chunk_k: u64,
    pub stated_end: Option<u64>,
    pub is_open_for_writing: bool,
    /// Bytes of the superblock.
    pub length: u64,
    /// Why it cannot be used as it is.
    pub error: Option<Error>,
}

impl Start {
    /// Reads the superblock of `storage`. A damaged one is used as far as it makes sense.
    pub fn read(storage: &Arc<dyn Storage>, limits: &Limits, joins_members: bool) -> Result<Self> {
        let place = find_superblock(storage.as_ref())?;
        let source = Source {
            storage: storage.clone(),
            base_address: place.unwrap_or(0),
            offset_size: 8,
            length_size: 8,
            limits: limits.clone(),
            shared_messages: Arc::default(),
            budget: Arc::new(Budget::new(storage.len(), limits.metadata_bytes)),
        };
        let mut start = Self {
            source,
            version: None,
            root: None,
            extension: None,
            driver: None,
            group_leaf_k: 4,
            group_internal_k: 16,
            chunk_k: 32,
            stated_end: None,
            is_open_for_writing: false,
            length: 0,
            error: None,
        };
        let Some(place) = place else {
            start.error = Some(Error::corrupt("there is no superblock"));
            return Ok(start);
        };
        if let Err(error) = start.fields(place) {
            start.error = Some(error);
        }
        if let Ok(Some(end)) = stated_end(storage.as_ref()) {
            start.stated_end = Some(end.end);
            start.is_open_for_writing |= end.is_open_for_writing;
        }
        // Joins members, shows the cached metadata and the heaps of shared messages.
        match Superblock::read(storage.clone(), place, limits, joins_members) {
            Ok(superblock) => start.source = superblock.source,
            Err(error) => start.error = Some(error),
        }
        Ok(start)
    }

    fn fields(&mut self, place: u64) -> Result<()> {
        let bytes = self.source.read_up_to(0, 128)?.into_owned();
        let budget = self.source.budget.clone();
        let mut cursor = Cursor::new(&bytes, place, 8, 8, &budget);
        cursor.skip(8)?;
        let version = cursor.u8()?;
        let is_old = version < 2;
        cursor.skip(if is_old { 4 } else { 0 })?;
        let sizes = (cursor.u8()?, cursor.u8()?);
        if version > 3 || [sizes.0, sizes.1].iter().any(|size| ![2, 4, 8].contains(size)) {
            return Err(cursor.corrupt(format!("a superblock of version {version} with offsets of {} and lengths of {} bytes", sizes.0, sizes.1)));
        }
        (self.version, self.source.offset_size, self.source.length_size) = (Some(version), sizes.0, sizes.1);
        let (at, o, l) = (cursor.position(), u64::from(sizes.0), u64::from(sizes.1));
        let mut cursor = Cursor::new(&bytes, place, sizes.0, sizes.1, &budget);
        cursor.skip(at)?;
        if is_old {
            cursor.skip(1)?;
            (self.group_leaf_k, self.group_internal_k) = (cursor.u16()?.into(), cursor.u16()?.into());
            self.is_open_for_writing = cursor.u32()? & 1 != 0;
            if version == 1 {
                self.chunk_k = cursor.u16()?.into();
                cursor.skip(2)?;
            }
            for _ in 0..3 {
                cursor.address()?;
            }
            self.driver = cursor.address()?;
            cursor.length()?;
            self.root = cursor.address()?;
            self.length = 24 + if version == 1 { 4 } else { 0 } + 4 * o + l + o + 24;
        } else {
            self.is_open_for_writing = cursor.u8()? & 5 != 0;
            cursor.address()?;
            self.extension = cursor.address()?;
            cursor.address()?;
            self.root = cursor.address()?;
            self.length = 12 + 4 * o + 4;
        }
        Ok(())
    }

    /// Records the superblock and what belongs to it.
    pub fn record(&self, log: &mut Log<'_>) -> Result<()> {
        log.for_purpose(Purpose::File, |log| {
            if self.length > 0 {
                log.claim(StructureKind::Superblock, 0, self.length)?;
            }
            if let Some(error) = &self.error {
                log.damage(StructureKind::Superblock, 0, self.length, error.clone())?;
            }
            let Some(driver) = self.driver else { return Ok(()) };
            let source = log.source;
            let length = source.read(driver, 16).and_then(|head| {
                let mut cursor = source.cursor(&head, driver);
                cursor.skip(4)?;
                Ok(16 + u64::from(cursor.u32()?))
            });
            if let Some(length) = log.noted(StructureKind::DriverInformation, driver, 16, length)? {
                log.claim(StructureKind::DriverInformation, driver, length)?;
            }
            Ok(())
        })
    }
}
