//! H5Block: scalar and vector fields on regular 3-D grids in the steps of a file.
//!
//! A field is a group `Step#n/Block/<field>` with its components `0`, `1`, `2`, arrays in the order (k, j, i), and attributes for
//! origin and spacing. The table `cells` has a row for each cell of each step, with indexes and physical coordinates. Fields on
//! different grids have a table for each grid.

mod cells;
mod field;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::look::no_table;
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use crate::steps::{self, BLOCK};
use cells::Tables;

/// The model.
pub(crate) struct H5Block;

impl Model for H5Block {
    fn name(&self) -> &'static str {
        "h5block"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let names = steps::names(file)?;
        let Some((number, path)) = names.first() else { return Ok(None) };
        let Ok(step) = steps::one(file, *number, path.clone()) else { return Ok(None) };
        if !step.members.iter().any(|member| member.name == BLOCK && member.group().is_some()) {
            return Ok(None);
        }
        let reason = format!("{} steps with a group {BLOCK}", names.len());
        Ok(Some(Recognition::new(self.name(), Certainty::Likely, reason)))
    }

    fn tables(&self, file: &File) -> Result<Vec<String>> {
        // The plan of this table says what is wrong with a file that contradicts the model.
        Ok(Tables::of(file).map_or_else(|_| vec![cells::CELLS.to_owned()], |tables| tables.names()))
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        let tables = Tables::of(file)?;
        match tables.definition(name)? {
            Some(table) => Ok(table),
            None => Err(no_table(self.name(), name, &tables.names())),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        Ok(Tables::of(file)?.arrays())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        cells::validate(file)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        Tables::of(file)?.omitted(file)
    }
}
