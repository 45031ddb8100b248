//! The table `steps`: a row for each step with its time, its number of particles, and the attributes of step, arrays and file.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Literal, SegmentDefinition, Values};

use super::particles::Particles;
use crate::steps::{self, AttributeColumns, Step};

pub(crate) fn table(file: &File) -> Result<Vec<SegmentDefinition>> {
    let steps = steps::all(file)?;
    let listed = |values: ArrayRef| Values::Listed { axis: 0, values: Literal(values) };
    let numbers: Int64Array = steps.iter().map(|step| step.number).collect::<Vec<i64>>().into();
    let times = steps.iter().map(Step::time).collect::<Result<Float64Array>>()?;
    let particles: Vec<Particles> = steps.iter().map(Particles::of).collect();
    // A step of fields alone has no number of particles.
    let count = |(step, own): (&Step, &Particles)| match own.arrays.is_empty() {
        true => Ok(None),
        false => own.count(file, step).map(|count| i64::try_from(count).ok()),
    };
    let counts = steps.iter().zip(&particles).map(count).collect::<Result<Int64Array>>()?;
    let mut attributes = AttributeColumns::new(steps.len());
    for (row, step) in steps.iter().enumerate() {
        attributes.set(row, "", &step.attributes);
    }
    for (row, (step, own)) in steps.iter().zip(&particles).enumerate() {
        for array in &own.arrays {
            if let Some(member) = step.members.iter().find(|member| member.path == array.path) {
                attributes.set(row, &format!("{}_", array.name), &*member.attributes()?);
            }
        }
    }
    let own = file.attributes(file.root())?;
    for row in 0..steps.len() {
        attributes.set(row, "file_", &own);
    }
    let mut taken: BTreeSet<String> = ["step", "time", "particles"].map(str::to_owned).into();
    let table = SegmentDefinition::new("/", vec![steps.len() as u64], vec![steps.len().max(1) as u64])
        .with_column("step", listed(Arc::new(numbers)))
        .with_column("time", listed(Arc::new(times)))
        .with_column("particles", listed(Arc::new(counts)));
    let (table, omitted) = attributes.add_to(table, &mut taken)?;
    Ok(vec![table.with_omitted(omitted)])
}
