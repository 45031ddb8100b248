//! The tree of an HDF5 file as the netCDF-4 conventions show it.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use hyperslab_array::Result;

use super::interpreted::Interpreted;
use super::phony::Phony;
use super::shown::{self, BOOKKEEPING};
use crate::tree::PathOf;
use crate::{Attributes, Dimension, DimensionScale, Link, Links, Object, ObjectId, ObjectProperties, Tree};

/// The objects of an HDF5 file by the netCDF-4 conventions: dimensions with names, coordinate variables, and no bookkeeping.
pub struct Netcdf4Tree {
    /// The objects as HDF5 has them.
    file: Arc<dyn Tree>,
    interpreted: Interpreted,
    phony: OnceLock<Phony>,
}

impl Netcdf4Tree {
    /// Shows `file` by the conventions.
    pub fn new(file: Arc<dyn Tree>) -> Self {
        Self { interpreted: Interpreted::new(file.clone()), file, phony: OnceLock::new() }
    }
    fn phony(&self) -> Result<&Phony> {
        if let Some(phony) = self.phony.get() {
            return Ok(phony);
        }
        let phony = Phony::name(self.file.root(), &self.interpreted)?;
        Ok(self.phony.get_or_init(|| phony))
    }
}

impl Tree for Netcdf4Tree {
    fn root(&self) -> ObjectId {
        self.file.root()
    }
    fn object(&self, id: ObjectId) -> Result<Object> {
        self.interpreted.object(id)
    }
    fn attributes(&self, id: ObjectId) -> Result<Arc<Attributes>> {
        self.interpreted.attributes(id)
    }
    fn has_attribute(&self, id: ObjectId, names: &[&str]) -> Result<bool> {
        let shown: Vec<&str> = names.iter().copied().filter(|name| !BOOKKEEPING.contains(name)).collect();
        self.file.has_attribute(id, &shown)
    }
    fn attributes_where(&self, id: ObjectId, wanted: &dyn Fn(&str) -> bool) -> Result<Attributes> {
        self.file.attributes_where(id, &|name| !BOOKKEEPING.contains(&name) && wanted(name))
    }
    fn links(&self, group: ObjectId) -> Result<Arc<Links>> {
        self.interpreted.links(group)
    }
    fn link(&self, group: ObjectId, name: &str) -> Result<Option<Link>> {
        self.interpreted.link(group, name)
    }
    fn first_links(&self, group: ObjectId, max: usize) -> Result<Vec<Link>> {
        let first = self.file.first_links(group, max)?;
        Ok(shown::links(&first, |id| self.interpreted.scale_for_listing(id))?.unwrap_or(first))
    }
    fn tracks_links(&self, group: ObjectId) -> Result<bool> {
        self.file.tracks_links(group)
    }
    fn properties(&self, id: ObjectId) -> Result<ObjectProperties> {
        self.file.properties(id)
    }
    fn dimensions(&self, dataset: ObjectId, path_of: &PathOf<'_>) -> Result<Arc<[DimensionScale]>> {
        if let Some(dimensions) = self.interpreted.dimensions(dataset, path_of)? {
            return Ok(dimensions.into());
        }
        match self.phony()?.dimensions(dataset) {
            Some(dimensions) => Ok(dimensions.into()),
            // No link leads to the variable.
            None => Ok(self.interpreted.dimensions_with_scales(dataset)?.into()),
        }
    }
    fn declared_dimensions(&self, group: ObjectId) -> Result<Arc<[Dimension]>> {
        let mut declared = self.interpreted.dimensions_of_scales(group)?;
        if self.interpreted.may_lack_scales(group)? {
            declared.extend_from_slice(self.phony()?.declared(group));
        }
        Ok(declared.into())
    }
    fn address(&self, id: ObjectId) -> Option<u64> {
        self.file.address(id)
    }
    fn at_address(&self, address: u64) -> Option<ObjectId> {
        self.file.at_address(address)
    }
    fn path(&self, id: ObjectId) -> Option<Cow<'_, str>> {
        self.file.path(id)
    }
}
