//! The table `steps`: a row for each step with its time, its number of particles, and the attributes of step, arrays and file.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{Literal, SegmentDefinition, Values};

use super::particles::{Particles, attributes};
use crate::steps::{self, Step};

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
    let attributes = attributes(file, &steps, &particles)?;
    let mut taken: BTreeSet<String> = ["step", "time", "particles"].map(str::to_owned).into();
    let mut table = SegmentDefinition::new("/", vec![steps.len() as u64], vec![steps.len().max(1) as u64])
        .with_column("step", listed(Arc::new(numbers)))
        .with_column("time", listed(Arc::new(times)))
        .with_column("particles", listed(Arc::new(counts)));
    let (columns, omitted) = attributes.finish(&mut taken)?;
    for (name, values) in columns {
        table = table.with_column(name, listed(values));
    }
    Ok(vec![table.with_omitted(omitted)])
}
