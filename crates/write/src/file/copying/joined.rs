//! A file that shows several files as one: what a copy of the first of them takes from it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use hyperslab_array::{Cancellation, Error, Result};
use hyperslab_formats::{Dataset, ObjectId};
use hyperslab_reader::File;

use super::dataset::{CopyCounts, DatasetCopy};
use super::source_file::{CopiedAttribute, SourceFile};
use crate::file::file_writer::FileWriter;

/// What is not as it is in the first of several files. Paths are absolute.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Merging {
    /// Datasets with the extent and the values of the joined file.
    pub datasets: Vec<String>,
    /// Objects and names of attributes whose values come from the joined file.
    pub attributes: Vec<(String, String)>,
    /// Objects and names of attributes that are left out.
    pub left_out: Vec<(String, String)>,
    /// Links that are left out.
    pub links: Vec<String>,
    /// A dimension scale that only the joined file has, and the datasets whose new first dimension it names.
    pub new_dimension: Option<(String, Vec<String>)>,
}

/// A dataset of the joined file.
pub(crate) struct Whole {
    pub file: File,
    pub id: ObjectId,
    pub dataset: Arc<Dataset>,
}

impl Whole {
    fn find(file: &File, path: &str) -> Result<Self> {
        let found = file.find(path)?;
        let dataset = found.dataset()?;
        Ok(Self { file: found.file, id: found.object, dataset })
    }
}

/// The joined file, and what comes from it. Objects are those of the first file, which may have several names.
pub(crate) struct Joined<'a> {
    pub source: SourceFile<'a>,
    file: &'a File,
    datasets: HashMap<ObjectId, Whole>,
    /// Paths in the joined file, by object and name of the attribute.
    attributes: HashMap<(ObjectId, &'a str), &'a str>,
    left_out: HashSet<(ObjectId, &'a str)>,
    /// Links that are left out, by group and name.
    links: HashSet<(ObjectId, &'a str)>,
    new_dimension: Option<(&'a str, Whole)>,
    /// The datasets along the new dimension.
    along: HashSet<ObjectId>,
}

impl<'a> Joined<'a> {
    /// # Errors
    /// `NotFound` for an object that `how` names and one of the files does not have; `Io` or `Corrupt` if a file cannot be read; `Cancelled`.
    pub fn new(first: &File, file: &'a File, how: &'a Merging, cancellation: &Cancellation) -> Result<Self> {
        let id = |path: &str| Ok::<_, Error>(first.find(path)?.object);
        let named = |(path, name): &'a (String, String)| Ok::<_, Error>((id(path)?, name.as_str()));
        let link = |path: &'a String| {
            let (above, name) = path.rsplit_once('/').ok_or_else(|| Error::internal("a link without a group"))?;
            Ok::<_, Error>((id(if above.is_empty() { "/" } else { above })?, name))
        };
        let (scale, along) = how.new_dimension.as_ref().map(|(scale, along)| (scale.as_str(), along.as_slice())).unzip();
        Ok(Self {
            source: SourceFile::new(file, cancellation)?,
            file,
            datasets: how.datasets.iter().map(|path| Ok((id(path)?, Whole::find(file, path)?))).collect::<Result<_>>()?,
            attributes: how.attributes.iter().map(|attribute| Ok((named(attribute)?, attribute.0.as_str()))).collect::<Result<_>>()?,
            left_out: how.left_out.iter().map(named).collect::<Result<_>>()?,
            links: how.links.iter().map(link).collect::<Result<_>>()?,
            new_dimension: scale.map(|scale| Ok::<_, Error>((scale, Whole::find(file, scale)?))).transpose()?,
            along: along.unwrap_or_default().iter().map(|path| id(path)).collect::<Result<_>>()?,
        })
    }

    /// The dataset in the joined file, if its values come from there.
    pub fn dataset(&self, id: ObjectId) -> Option<&Whole> {
        self.datasets.get(&id)
    }

    pub fn leaves_link_out(&self, group: ObjectId, name: &str) -> bool {
        self.links.contains(&(group, name))
    }

    pub fn leaves_attribute_out(&self, id: ObjectId, name: &str) -> bool {
        self.left_out.contains(&(id, name))
    }

    /// The attribute in the joined file, if its value comes from there.
    pub fn attribute(&self, id: ObjectId, name: &str) -> Result<Option<CopiedAttribute>> {
        let Some(path) = self.attributes.get(&(id, name)) else { return Ok(None) };
        let attributes = self.file.attributes(self.file.find(path)?.object)?;
        let found = attributes.list.iter().find(|attribute| attribute.name == name);
        found.map(|attribute| self.source.attribute(attribute)).transpose().map_err(|error| error.at_object(*path))
    }

    /// Number of dimensions that a dataset has in front of those that it has in the first file.
    pub fn new_dimensions(&self, id: ObjectId) -> u32 {
        u32::from(self.along.contains(&id))
    }

    /// Copies the scale of the new dimension. It comes first: the netCDF library looks for dimensions among what was created before.
    pub fn copy_new_dimension(&self, out: &mut FileWriter, cancellation: &Cancellation, counts: &mut CopyCounts) -> Result<()> {
        let Some((path, whole)) = &self.new_dimension else { return Ok(()) };
        let objects = Some(&self.source);
        let mut copy = DatasetCopy { out: &mut *out, path, cancellation, counts, grows: false, format: None, objects, checkpoints: None };
        copy.dataset(&whole.file, whole.id, &whole.dataset, None)?;
        for attribute in &self.file.attributes(whole.id)?.list {
            if let CopiedAttribute::Value(value) = self.source.attribute(attribute)? {
                out.set_attribute(path, &attribute.name, value)?;
            }
        }
        Ok(())
    }

    /// Attaches the scale of the new dimension to the datasets of the first file along it.
    pub fn attach_new_dimension(&self, out: &mut FileWriter, first: &SourceFile<'_>) -> Result<()> {
        let Some((scale, _)) = &self.new_dimension else { return Ok(()) };
        let mut paths: Vec<&str> = self.along.iter().filter_map(|id| first.path(*id)).collect();
        paths.sort_unstable();
        paths.into_iter().try_for_each(|path| out.attach_scale(path, 0, scale))
    }
}
