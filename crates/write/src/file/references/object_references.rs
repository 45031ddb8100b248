//! References to objects. Targets are paths until the file is finished and every object has an address.

use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Datatype, Elements, Error, HeapObjects, ReferenceKind, Result};
use hyperslab_formats::FillTime;
use hyperslab_formats::filter::Pipeline;
use hyperslab_formats::hdf5::writer::{NewAttribute, NewDataset, NewStorage};
use serde::{Deserialize, Serialize};

use super::object_path::normalized_path;

/// Bytes of an object reference.
pub(crate) const REFERENCE_BYTES: u64 = 8;

/// A reference to the object with this index, in the encoding of [`NewAttribute`]: index plus 1.
pub(crate) fn reference(index: usize) -> [u8; 8] {
    (index as u64 + 1).to_le_bytes()
}

/// An array of object references, row-major; `None` is a null reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ObjectReferences {
    shape: Vec<u64>,
    targets: Vec<Option<String>>,
    /// Address in the file, once it is allocated.
    #[serde(skip)]
    pub address: Option<u64>,
}

impl ObjectReferences {
    pub fn new(shape: Vec<u64>, targets: &[Option<String>]) -> Result<Self> {
        let targets = targets.iter().map(|target| target.as_deref().map(normalized_path).transpose()).collect::<Result<Vec<_>>>()?;
        if Dataspace::fixed(shape.clone()).element_count()? != targets.len() as u64 {
            return Err(Error::invalid_input(format!("{} references for shape {shape:?}", targets.len())));
        }
        Ok(Self { shape, targets, address: None })
    }

    /// Calls `each` with the path of each target; `each` may change it.
    pub fn for_each_path(&mut self, each: impl FnMut(&mut Option<String>)) {
        self.targets.iter_mut().for_each(each);
    }

    /// Shape and target paths.
    pub fn parts(&self) -> (&[u64], &[Option<String>]) {
        (&self.shape, &self.targets)
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        self.targets.len() as u64 * REFERENCE_BYTES
    }

    fn object_indexes<'a>(&'a self, object_indexes: &'a BTreeMap<&str, usize>) -> impl Iterator<Item = Result<Option<usize>>> + 'a {
        self.targets.iter().map(|target| match target {
            None => Ok(None),
            Some(path) => match object_indexes.get(path.as_str()) {
                Some(index) => Ok(Some(*index)),
                None => Err(Error::not_found(format!("a reference to /{path}, which is neither a group nor a dataset of this file"))),
            },
        })
    }

    /// The references as an attribute.
    pub fn attribute(&self, name: &str, object_indexes: &BTreeMap<&str, usize>) -> Result<NewAttribute> {
        let mut bytes = Vec::new();
        for index in self.object_indexes(object_indexes) {
            bytes.extend_from_slice(&index?.map_or([0; 8], reference));
        }
        let value = Elements { datatype: datatype(), bytes, heap: HeapObjects::default() };
        Ok(NewAttribute { name: name.to_owned(), committed: None, dataspace: Dataspace::fixed(self.shape.clone()), value })
    }

    /// The references as a dataset.
    pub fn description(&self) -> NewDataset {
        let storage = NewStorage::Contiguous(self.address);
        NewDataset {
            datatype: datatype(),
            committed: None,
            dataspace: Dataspace::fixed(self.shape.clone()),
            fill_value: None,
            is_fill_undefined: false,
            fill_time: FillTime::default(),
            allocation: None,
            filters: Pipeline::default(),
            storage,
        }
    }

    /// The values of the dataset; the object with index `i` is at `addresses[i]`.
    pub fn values(&self, object_indexes: &BTreeMap<&str, usize>, addresses: &[u64]) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for index in self.object_indexes(object_indexes) {
            let address = match index? {
                None => 0,
                Some(index) => *addresses.get(index).ok_or_else(|| Error::internal("an object without an address"))?,
            };
            bytes.extend_from_slice(&address.to_le_bytes());
        }
        Ok(bytes)
    }
}

pub(crate) fn datatype() -> Datatype {
    Datatype::Reference { size: REFERENCE_BYTES, kind: ReferenceKind::Object }
}
