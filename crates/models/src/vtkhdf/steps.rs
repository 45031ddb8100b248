//! The steps of a file: their times, and where the values of each begin.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::SegmentDefinition;

use super::GROUP;
use crate::budget::Budget;
use crate::look::{contradiction, join, numbers, optional};
use crate::patches::{number, whole_number};
use crate::small_values::values_of;

/// Bytes that a step costs in memory, for each of its levels.
pub(super) const STEP_BYTES: u64 = 256;

/// The steps of a file.
pub(super) struct Steps {
    path: String,
    pub times: Vec<f64>,
}

impl Steps {
    /// `None` for a file without steps.
    pub fn of(file: &File, budget: &mut Budget) -> Result<Option<Self>> {
        let path = join(GROUP, "Steps");
        let Some(group) = optional(file, &path)? else { return Ok(None) };
        let attributes = group.attributes()?;
        let count = attributes.get("NSteps").map(numbers).transpose().map_err(|error| error.at_object(&path).in_file(file.name()))?.flatten();
        let count = count.and_then(|count| count.first().copied());
        let values = join(&path, "Values");
        let Some(read) = read(file, &values, &DataType::Float64)? else { return Err(contradiction(file, &values, "is missing, or has more than 1 MiB")) };
        let times = read.as_primitive::<Float64Type>().values().to_vec();
        budget.pay((times.len() as u64).saturating_mul(STEP_BYTES), &path)?;
        #[expect(clippy::cast_precision_loss, reason = "a number of steps")]
        if count.is_some_and(|count| count != times.len() as f64) {
            return Err(contradiction(file, &path, format!("the attribute NSteps is {}, but there are {} times", count.unwrap_or(0.0), times.len())));
        }
        if times.is_empty() {
            return Err(contradiction(file, &values, "there is no step"));
        }
        Ok(Some(Self { path, times }))
    }

    /// One number for each step, of a dataset by the first of `names` that exists. `None` if there is none.
    pub fn numbers(&self, file: &File, names: &[String]) -> Result<Option<Vec<u64>>> {
        for name in names {
            let path = join(&self.path, name);
            if optional(file, &path)?.is_none() {
                continue;
            }
            let Some(read) = read(file, &path, &DataType::Int64)? else {
                return Err(contradiction(file, &path, "is not a dataset of numbers of at most 1 MiB"));
            };
            let numbers: Option<Vec<u64>> = read.as_primitive::<Int64Type>().values().iter().map(|number| u64::try_from(*number).ok()).collect();
            return match numbers {
                Some(numbers) if numbers.len() == self.times.len() => Ok(Some(numbers)),
                Some(numbers) => Err(contradiction(file, &path, format!("has {} numbers for {} steps", numbers.len(), self.times.len()))),
                None => Err(contradiction(file, &path, "has a number below 0")),
            };
        }
        Ok(None)
    }
}

/// A small dataset of numbers as another type. `None` if there is none, or it has more than 1 MiB.
pub(super) fn read(file: &File, path: &str, to: &DataType) -> Result<Option<ArrayRef>> {
    let Some(member) = optional(file, path)? else { return Ok(None) };
    let Some(values) = values_of(&member)? else { return Ok(None) };
    let fits = if *to == DataType::Int64 { values.data_type().is_integer() } else { values.data_type().is_numeric() };
    if !fits {
        return Err(contradiction(file, path, format!("holds {}, not numbers", values.data_type())));
    }
    let cast = arrow_cast::cast(&values, to).map_err(|error| Error::internal(error.to_string()))?;
    if cast.null_count() > 0 {
        return Err(contradiction(file, path, "has a number beyond 63 bits"));
    }
    Ok(Some(cast))
}

/// The segment with the columns `step` and `time`.
pub(super) fn with_step(segment: SegmentDefinition, steps: Option<&Steps>, step: usize) -> SegmentDefinition {
    match steps.and_then(|steps| steps.times.get(step)) {
        Some(time) => segment.with_column("step", whole_number(step as u64)).with_column("time", number(*time)),
        None => segment,
    }
}
