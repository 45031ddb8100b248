//! FLASH: adaptive meshes of blocks, each with the same number of cells, as FLASH writes them in its plot files and checkpoints.
//!
//! A file has arrays of blocks: where each begins and ends, its level, whether it is a leaf, and an array of cells of all blocks for
//! each variable. The table `cells` has a row for each cell of each block, level by level; cells of leaves are not covered. The table
//! `boxes` has a row for each block.

mod mesh;
mod tables;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::look::{no_table, optional};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use crate::patches::{BOXES, CELLS};
use mesh::{BOUNDS, LEVELS, Mesh, NAMES, NODE_TYPES};

/// The model.
pub(crate) struct Flash;

impl Model for Flash {
    fn name(&self) -> &'static str {
        "flash"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let is_dataset = |path: &&str| optional(file, path).ok().flatten().is_some_and(|member| member.dataset().is_some());
        let is_mesh = [BOUNDS, LEVELS, NODE_TYPES, NAMES].iter().all(is_dataset);
        Ok(is_mesh.then(|| Recognition::new(self.name(), Certainty::Certain, "it has the datasets bounding box, refine level, node type and unknown names")))
    }

    fn tables(&self, _file: &File) -> Result<Vec<String>> {
        Ok(vec![CELLS.to_owned(), BOXES.to_owned()])
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        match name {
            CELLS => Ok(Mesh::of(file)?.cells()),
            BOXES => Ok(Mesh::of(file)?.boxes()),
            _ => Err(no_table(self.name(), name, &self.tables(file)?)),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        Ok(Mesh::of(file)?.arrays())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        match Mesh::of(file) {
            Err(error) => Ok(vec![Problem::new(error.object().unwrap_or("/"), error.message())]),
            Ok(mesh) => Ok(mesh.problems()),
        }
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        Ok(Mesh::of(file)?.omitted)
    }

    fn facts(&self, file: &File) -> Result<String> {
        Mesh::of(file)?.facts(file)
    }
}
