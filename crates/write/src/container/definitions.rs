//! Objects that the plan itself defines, so that no task needs to.

use std::collections::BTreeMap;

use hyperslab_array::{Dataspace, Datatype, Elements, Error, Result};
use hyperslab_formats::hdf5::writer::encode_datatype;
use hyperslab_storage::UniqueName;
use serde::{Deserialize, Serialize};

use super::dimensions::several_scales;
use super::fragment::{AttributeFragment, DatasetFragment, EntryKind, Fragment, ObjectFragment, OtherFragment, StoredValue};
use crate::encoding::hex::Hex;
use crate::file::definition::{AttributeValue, DatasetDefinition, check_attribute};
use crate::file::references::links::Link;
use crate::file::references::object_path::normalized_path;
use crate::file::references::object_references::ObjectReferences;

/// Maximum bytes of a value in a plan, because the plan is sent to every task.
const MAX_VALUE_BYTES: usize = 16 << 20;

/// Groups, datasets, attributes, links and datatypes that a plan defines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definitions {
    objects: BTreeMap<String, ObjectFragment>,
}

impl Definitions {
    fn define(&mut self, path: &str, kind: EntryKind, dataset: Option<DatasetFragment>, other: Option<OtherFragment>) -> Result<()> {
        let path = normalized_path(path)?;
        if self.objects.get(&path).is_some_and(|known| known.kind != kind || kind != EntryKind::Group) {
            return Err(Error::invalid_input("the plan has an object of this name already").at_object(format!("/{path}")));
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.create_group(above)?;
        }
        let created = self.objects.len() as u64;
        self.objects.entry(path).or_insert_with(|| ObjectFragment {
            kind,
            created,
            tracked: false,
            attributes: Vec::new(),
            dataset,
            other,
            scales: BTreeMap::new(),
        });
        Ok(())
    }

    /// Creates a group and its parents; existing groups are unchanged.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_group(&mut self, path: &str) -> Result<()> {
        self.define("", EntryKind::Group, None, None)?;
        if normalized_path(path)?.is_empty() { Ok(()) } else { self.define(path, EntryKind::Group, None, None) }
    }

    /// Creates a dataset. With `rows`, each task appends its own rows; with `value`, the plan has all values and no task writes
    /// any. Readers see the maximum shape of its dataspace.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store, or
    /// more values than a plan can have.
    pub fn create_dataset(&mut self, path: &str, definition: DatasetDefinition, rows: bool, value: Option<&Elements>) -> Result<()> {
        self.create_group("")?;
        let given = definition.chunk_shape.clone();
        let definition = definition.checked().map_err(|error| error.at_object(path))?;
        if value.is_some_and(|value| value.bytes.len() > MAX_VALUE_BYTES) {
            return Err(Error::unsupported("more than 16 MiB of values in a plan: let a task write them").at_object(path));
        }
        let growable = matches!(&definition.dataspace, Dataspace::Simple { max_shape, .. } if max_shape.contains(&None));
        let shape = definition.dataspace.shape().to_vec();
        let mut dataset = DatasetFragment::new(&definition, rows, vec![0; shape.len()], shape, Vec::new(), value)?;
        dataset.growable = growable;
        dataset.chunk_shape = given.and(definition.chunk_shape);
        dataset.filters = definition.filters.filters.into_iter().map(|filter| (filter.id, filter.name, filter.optional, filter.parameters)).collect();
        self.define(path, EntryKind::Dataset, Some(dataset), None)
    }

    /// Creates a link.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_link(&mut self, path: &str, link: Link) -> Result<()> {
        self.define(path, EntryKind::Link, None, Some(OtherFragment::Link(link.checked()?)))
    }

    /// Commits a datatype.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_datatype(&mut self, path: &str, datatype: &Datatype) -> Result<()> {
        self.define(path, EntryKind::Datatype, None, Some(OtherFragment::Datatype(Hex(encode_datatype(datatype)?))))
    }

    /// Creates a dataset of references to objects.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid path, or one that has another object; `Unsupported` for what HDF5 cannot store.
    pub fn create_references(&mut self, path: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        self.define(path, EntryKind::References, None, Some(OtherFragment::References(ObjectReferences::new(shape, targets)?)))
    }

    fn object(&mut self, path: &str) -> Result<&mut ObjectFragment> {
        self.create_group("")?;
        let path = normalized_path(path)?;
        self.objects.get_mut(&path).ok_or_else(|| Error::not_found("there is no such object in the plan").at_object(format!("/{path}")))
    }

    fn set(&mut self, path: &str, name: &str, value: AttributeFragment) -> Result<()> {
        if normalized_path(path)?.is_empty() && name.starts_with("_hyperslab") {
            return Err(Error::invalid_input(format!("attribute {name} is reserved for Hyperslab")));
        }
        let object = self.object(path)?;
        if object.kind == EntryKind::Link {
            return Err(Error::invalid_input("a link has no attributes").at_object(path));
        }
        match object.attributes.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => object.attributes.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `InvalidInput` for a link or a reserved name; `Unsupported` for a value
    /// that HDF5 cannot store.
    pub fn set_attribute(&mut self, path: &str, name: &str, value: &AttributeValue) -> Result<()> {
        check_attribute(name, value)?;
        self.set(path, name, AttributeFragment::Value(StoredValue::new(value)?))
    }

    /// Sets an attribute of references to objects.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn set_references(&mut self, path: &str, name: &str, shape: Vec<u64>, targets: &[Option<String>]) -> Result<()> {
        self.set(path, name, AttributeFragment::References(ObjectReferences::new(shape, targets)?))
    }

    /// Attaches a dataset as the scale of a dimension of another.
    ///
    /// # Errors
    /// `NotFound` if there is no such object; `Unsupported` if the dimension has another scale.
    pub fn attach_scale(&mut self, path: &str, dimension: u32, scale: &str) -> Result<()> {
        let scale = normalized_path(scale)?;
        let scales = &mut self.object(path)?.scales;
        if let Some(known) = scales.get(&dimension).filter(|known| **known != scale) {
            return Err(several_scales(dimension, known, &scale).at_object(path));
        }
        scales.insert(dimension, scale);
        Ok(())
    }

    /// Sets whether the file records the creation order of an object's attributes and members.
    ///
    /// # Errors
    /// `NotFound` if there is no such object.
    pub fn set_tracked(&mut self, path: &str, tracked: bool) -> Result<()> {
        self.object(path)?.tracked = tracked;
        Ok(())
    }

    /// A dataset of the plan.
    pub(crate) fn dataset(&self, path: &str) -> Option<&DatasetFragment> {
        self.objects.get(path)?.dataset.as_ref()
    }

    /// All definitions as a fragment.
    pub(crate) fn fragment(&self, write_id: &UniqueName) -> Fragment {
        let mut fragment = Fragment::new(write_id, 0, write_id.clone().into());
        fragment.objects.clone_from(&self.objects);
        fragment
    }
}
