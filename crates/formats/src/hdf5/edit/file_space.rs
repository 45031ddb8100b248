//! How the space of a file is divided, as the file space info message of its superblock says (specification IV.A.2.x).

use std::sync::Arc;

use hyperslab_array::{Error, Result};
use hyperslab_storage::Storage;

use super::header::EditedHeader;
use super::space::Space;
use super::superblock::SuperblockImage;
use crate::Limits;
use crate::hdf5::object_header::kind;
use crate::hdf5::superblock::Superblock;

/// The strategy of files of pages.
const PAGE: u8 = 1;
/// Smallest page of the HDF5 library, and where its structures begin.
const MIN_PAGE_BYTES: u64 = 512;
const ALIGNMENT: u64 = 8;

/// The rules of version 1 of the message for new structures. A file without the message has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileSpace {
    /// Bytes of a page, in a file of pages.
    pub page_bytes: Option<u64>,
    /// Whether managers of free space are kept in the file. They know nothing of what is allocated after the end of the file, and stay right.
    persists: bool,
}

impl FileSpace {
    /// The rules of a file.
    ///
    /// # Errors
    /// `Unsupported` for pages that are no multiple of eight bytes; `Corrupt` or `Io` if the superblock cannot be parsed.
    pub fn read(storage: Arc<dyn Storage>, limits: &Limits) -> Result<Self> {
        let image = SuperblockImage::read(storage.as_ref())?;
        if !image.may_be_extended() {
            return Ok(Self::default());
        }
        let superblock = Superblock::read(storage, image.place(), limits, true)?;
        let Some(extension) = superblock.extension.filter(|_| superblock.driver.is_none()) else { return Ok(Self::default()) };
        let header = EditedHeader::read(&superblock.source, extension)?;
        let Some(message) = header.own(kind::FILE_SPACE_INFO, "a file space message")? else { return Ok(Self::default()) };
        let mut cursor = superblock.source.cursor(header.body(message)?, extension);
        if cursor.u8()? != 1 {
            return Ok(Self::default());
        }
        let (strategy, persists) = (cursor.u8()?, cursor.u8()? != 0);
        cursor.length()?;
        let page_bytes = cursor.length()?;
        if strategy != PAGE {
            return Ok(Self { page_bytes: None, persists });
        }
        if page_bytes < MIN_PAGE_BYTES {
            return Err(cursor.corrupt(format!("pages of {page_bytes} bytes")));
        }
        if !page_bytes.is_multiple_of(ALIGNMENT) {
            return Err(Error::unsupported(format!("a file of pages of {page_bytes} bytes cannot be edited yet: they are no multiple of {ALIGNMENT}")));
        }
        // Metadata may grow into such ends. No version of the library leaves any.
        if cursor.u16()? != 0 {
            return Err(Error::unsupported("a file of pages whose ends are kept free cannot be edited yet"));
        }
        Ok(Self { page_bytes: Some(page_bytes), persists })
    }

    /// Writes the end of a file that keeps its free space into the message, which the library before HDF5 1.10.2 cuts the file off to.
    ///
    /// # Errors
    /// As [`FileSpace::read`]; errors of `space`.
    pub fn set_end(&self, storage: Arc<dyn Storage>, limits: &Limits, space: &dyn Space, end: u64) -> Result<()> {
        if !self.persists {
            return Ok(());
        }
        let place = SuperblockImage::read(storage.as_ref())?.place();
        let superblock = Superblock::read(storage, place, limits, true)?;
        let source = &superblock.source;
        let extension = superblock.extension.ok_or_else(|| Error::internal("a file space message without a superblock extension"))?;
        let mut header = EditedHeader::read(source, extension)?;
        let message = header.own(kind::FILE_SPACE_INFO, "a file space message")?;
        let message = message.ok_or_else(|| Error::internal("a superblock extension without its file space message"))?;
        // Version, strategy, persistence, threshold, page size and threshold at the end of a page.
        let at = 3 + 2 * usize::from(source.length_size) + 2;
        let mut cursor = source.cursor(header.body(message)?.get(at..).unwrap_or_default(), extension);
        // The file of a program that was killed states none.
        if cursor.address()?.is_none() {
            return Ok(());
        }
        header.patch(message, at, end.to_le_bytes().get(..usize::from(source.offset_size)).unwrap_or_default())?;
        header.store(space)
    }
}
