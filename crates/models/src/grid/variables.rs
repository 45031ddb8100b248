//! The variables of a group with their dimensions.

use std::sync::Arc;

use hyperslab_array::{Datatype, Result};
use hyperslab_columns::decoding::is_character;
use hyperslab_formats::Attributes;
use hyperslab_reader::File;
use hyperslab_scan::Omitted;

use crate::look::members;

/// A variable.
pub(crate) struct Variable {
    pub name: String,
    pub path: String,
    /// Names of its dimensions; empty if one of them has no name.
    pub dimensions: Vec<String>,
    pub shape: Vec<u64>,
    /// Chunk extents.
    pub chunk: Vec<u64>,
    pub datatype: Datatype,
    pub attributes: Arc<Attributes>,
}

impl Variable {
    /// Whether its values are single characters, so that the last dimension is the length of texts.
    pub fn is_characters(&self) -> bool {
        is_character(&self.datatype)
    }

    /// The position of a dimension.
    pub fn axis(&self, dimension: &str) -> Option<usize> {
        self.dimensions.iter().position(|own| own == dimension)
    }

    /// The chunk extent along a dimension.
    pub fn chunk_along(&self, axis: usize) -> u64 {
        self.chunk.get(axis).copied().unwrap_or(1).max(1)
    }
}

/// The variables of a group, in the order of the file.
pub(crate) struct Variables {
    pub list: Vec<Variable>,
    /// Other members of the group.
    pub omitted: Vec<Omitted>,
}

impl Variables {
    /// The variables of the root.
    pub fn of(file: &File) -> Result<Self> {
        Self::of_group(file, "/")
    }

    /// The variables of the group at `path`.
    pub fn of_group(file: &File, path: &str) -> Result<Self> {
        let (mut list, mut omitted) = (Vec::new(), Vec::new());
        for member in members(file, path)? {
            let (found, object) = match &member.object {
                Ok(object) => object,
                Err(error) => {
                    omitted.push(Omitted::new(member.path.clone(), format!("cannot be read: {}", error.message())));
                    continue;
                }
            };
            let Some(dataset) = object.dataset() else {
                omitted.push(Omitted::new(member.path.clone(), format!("is {}", object.kind())));
                continue;
            };
            if let Some(refusal) = &dataset.refusal {
                omitted.push(Omitted::new(member.path.clone(), format!("cannot be read: {}", refusal.message())));
                continue;
            }
            let attributes = match member.attributes() {
                Ok(attributes) => attributes,
                Err(error) => {
                    omitted.push(Omitted::new(member.path.clone(), format!("has attributes that cannot be read: {}", error.message())));
                    continue;
                }
            };
            let names: Option<Vec<String>> = found.file.dimensions(found.object)?.iter().map(|dimension| dimension.name.clone()).collect();
            list.push(Variable {
                dimensions: names.unwrap_or_default(),
                shape: dataset.dataspace.shape().to_vec(),
                chunk: dataset.chunk_grid.chunk_shape().to_vec(),
                datatype: dataset.datatype.clone(),
                attributes,
                name: member.name,
                path: member.path,
            });
        }
        Ok(Self { list, omitted })
    }

    pub fn get(&self, name: &str) -> Option<&Variable> {
        self.list.iter().find(|variable| variable.name == name)
    }

    /// The extent of a dimension, from the first variable that has it.
    pub fn extent(&self, dimension: &str) -> Option<u64> {
        self.list.iter().find_map(|variable| variable.axis(dimension).and_then(|axis| variable.shape.get(axis).copied()))
    }
}
