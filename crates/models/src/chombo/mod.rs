//! Chombo: adaptive meshes in two or three dimensions, as Chombo, PLUTO and BoxLib or AMReX write them.
//!
//! A file has levels, each with boxes of cells of one size, and flat data: box after box, in a box component after component. The
//! table `cells` has a row for each cell of each box of each level, with indexes, the coordinates of its center, the components,
//! and whether a finer box covers it. The table `boxes` has a row for each box.

mod attributes;
mod level;
mod tables;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::look::{no_table, optional};
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use crate::patches::{BOXES, CELLS};
use level::Mesh;

/// The group that says how many dimensions the mesh has.
const GLOBAL: &str = "/Chombo_global";

/// The model.
pub(crate) struct Chombo;

impl Model for Chombo {
    fn name(&self) -> &'static str {
        "chombo"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let is_group = optional(file, GLOBAL).ok().flatten().is_some_and(|member| member.group().is_some());
        Ok(is_group.then(|| Recognition::new(self.name(), Certainty::Certain, "it has a group Chombo_global")))
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
            Ok(mesh) => mesh.problems(file),
        }
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        Mesh::of(file)?.omitted(file)
    }

    fn facts(&self, file: &File) -> Result<String> {
        Mesh::of(file)?.facts(file)
    }
}
