//! H5Part: particles as equally long 1-D arrays in the steps of a file.
//!
//! Tables: `particles` has the rows of all steps with `step` and `time`; `steps` has a row for each step with its attributes, and
//! `particles_with_attributes` has these in every row.

mod particles;
mod step_table;

use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Omitted, SegmentDefinition};

use crate::look::no_table;
use crate::model::{Certainty, Model, NamedArray, Problem, Recognition};
use crate::steps::{self, BLOCK};
use particles::Particles;

/// The model.
pub(crate) struct H5Part;

const PARTICLES: &str = "particles";
const STEPS: &str = "steps";
const WITH_ATTRIBUTES: &str = "particles_with_attributes";

impl Model for H5Part {
    fn name(&self) -> &'static str {
        "h5part"
    }

    fn recognize(&self, file: &File) -> Result<Option<Recognition>> {
        let names = steps::names(file)?;
        let Some((number, path)) = names.first() else { return Ok(None) };
        // A file that is damaged further inside is still of this model: its tables say what is wrong.
        let first = steps::one(file, *number, path.clone());
        let arrays = first.as_ref().map_or(0, |step| Particles::of(step).arrays.len());
        let block = first.as_ref().is_ok_and(|step| step.members.iter().any(|member| member.name == BLOCK));
        let count = names.len();
        Ok(match (arrays, block) {
            (0, true) => None,
            (0, false) => Some(Recognition::new(self.name(), Certainty::Possible, format!("{count} steps, the first without 1-D arrays"))),
            (arrays, _) => Some(Recognition::new(self.name(), Certainty::Likely, format!("{count} steps, {arrays} 1-D arrays in {path}"))),
        })
    }

    fn tables(&self, _: &File) -> Result<Vec<String>> {
        Ok([PARTICLES, STEPS, WITH_ATTRIBUTES].map(str::to_owned).to_vec())
    }

    fn table(&self, file: &File, name: &str) -> Result<Vec<SegmentDefinition>> {
        match name {
            PARTICLES => particles::table(file, false),
            WITH_ATTRIBUTES => particles::table(file, true),
            STEPS => step_table::table(file),
            _ => Err(no_table(self.name(), name, &self.tables(file)?)),
        }
    }

    fn arrays(&self, file: &File) -> Result<Vec<NamedArray>> {
        let steps = steps::all(file)?;
        let of_step = |step: &steps::Step| {
            let arrays = Particles::of(step).arrays;
            arrays
                .into_iter()
                .map(|array| NamedArray { name: array.name.clone(), step: Some(step.number), path: array.path.clone(), shape: vec![array.length] })
                .collect::<Vec<_>>()
        };
        Ok(steps.iter().flat_map(of_step).collect())
    }

    fn validate(&self, file: &File) -> Result<Vec<Problem>> {
        particles::validate(file)
    }

    fn omitted(&self, file: &File) -> Result<Vec<Omitted>> {
        particles::omitted(file)
    }
}
