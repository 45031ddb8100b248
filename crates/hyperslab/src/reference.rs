//! References: stored addresses of objects, and of selections of datasets (specification IV.A.2.d,
//! class 7; `H5R_OBJECT1` and `H5R_DATASET_REGION1`).

use hyperslab_array::{Error, ReferenceKind, Result, StoredSelection};
use hyperslab_formats::ObjectId;

use crate::File;

/// What a reference points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Referenced {
    /// The object.
    pub object: ObjectId,
    /// The elements of it, for a region reference.
    pub selection: Option<StoredSelection>,
}

impl File {
    /// What a stored reference points at; `None` for one that was never set. `NotFound` where no hard
    /// link leads to the object any more.
    pub fn dereference(&self, kind: ReferenceKind, element: &[u8]) -> Result<Option<Referenced>> {
        let (address, selection) = match kind {
            ReferenceKind::Object => {
                let address = element.iter().rev().try_fold(0u64, |n, &byte| Some(n.checked_mul(256)? | u64::from(byte)));
                match address.filter(|address| *address != u64::MAX) {
                    Some(0) | None => return Ok(None),
                    Some(address) => (address, None),
                }
            }
            ReferenceKind::Region => match self.array_file().region(element)? {
                None => return Ok(None),
                Some((address, selection)) => (address, Some(selection)),
            },
            ReferenceKind::Standard => {
                return Err(Error::unsupported("a reference of HDF5 1.12 (H5T_STD_REF)").in_file(self.name()));
            }
        };
        let object = self.at_address(address).ok_or_else(|| {
            Error::not_found(format!("the object at address {address:#x} that a reference points at")).in_file(self.name())
        })?;
        Ok(Some(Referenced { object, selection }))
    }
}
