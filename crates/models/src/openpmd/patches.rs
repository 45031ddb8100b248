//! Patches of a species: which particles are in which part of space. Each patch is a range of particles and a box.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, UInt64Array};
use arrow_schema::DataType;
use hyperslab_array::{Cancellation, Error, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_reader::File;
use hyperslab_scan::SegmentDefinition;

use super::record::{Component, Unit};
use super::series::Iteration;
use super::species::{PATCHES, Species, rows, segments};
use crate::budget::Budget;
use crate::look::{Member, contradiction, join, members, optional};

/// The record with the number of particles of each patch. Names of records that begin with it have no unit.
const COUNTS: &str = "numParticles";
/// The record with the first particle of each patch.
const FIRSTS: &str = "numParticlesOffset";

/// Whether a species has patches.
pub(crate) fn has_patches(file: &File, member: &Member) -> Result<bool> {
    Ok(member.group().is_some() && optional(file, &join(&member.path, PATCHES))?.is_some())
}

/// The path and the records of the patches of a species; `None` if it has no patches.
fn patches(file: &File, member: &Member) -> Result<Option<(String, Species)>> {
    if !has_patches(file, member)? {
        return Ok(None);
    }
    let path = join(&member.path, PATCHES);
    let unit = |record: &str| if record.starts_with(COUNTS) { Unit::Without } else { Unit::Needed };
    let records = rows(file, &members(file, &path)?, unit)?;
    Ok(Some((path, records)))
}

/// A row for each patch of a species in all iterations.
pub(crate) fn table(file: &File, iterations: &[Iteration], name: &str) -> Result<Vec<SegmentDefinition>> {
    let mut all = Vec::new();
    for iteration in iterations {
        let Some(member) = iteration.species.iter().find(|member| member.name == name) else { continue };
        if let Some((path, records)) = patches(file, member)? {
            all.push((iteration, path, records));
        }
    }
    segments(&all)
}

/// Checks that the patches of a species have each of its `count` particles once.
///
/// # Errors
/// `Corrupt` if they do not, with the record. `LimitExceeded` if the budget does not suffice for the numbers of the patches.
pub(crate) fn check(file: &File, member: &Member, count: u64, budget: &mut Budget) -> Result<()> {
    let Some((path, records)) = patches(file, member)? else { return Ok(()) };
    let component = |name: &str| {
        let found = records.components.get(&(name.to_owned(), String::new()));
        found.ok_or_else(|| contradiction(file, &path, format!("the patches have no record {name} of whole numbers")))
    };
    let (counts, firsts) = (component(COUNTS)?, component(FIRSTS)?);
    let mut ranges: Vec<(u64, u64, usize)> = Vec::new();
    for (patch, (first, own)) in whole_numbers(file, firsts, budget)?.into_iter().zip(whole_numbers(file, counts, budget)?).enumerate() {
        match first.checked_add(own) {
            Some(end) if end <= count => ranges.push((first, end, patch)),
            _ => {
                let message = format!("patch {patch} has {own} particles from {first} on, but there are {count} particles");
                return Err(contradiction(file, &firsts.path, message));
            }
        }
    }
    ranges.retain(|(first, end, _)| first < end);
    ranges.sort_unstable();
    let mut next = 0;
    for (first, end, patch) in ranges {
        if first != next {
            let message = if first < next {
                format!("patch {patch} begins at particle {first}, which another patch has, too")
            } else {
                format!("the particles from {next} to {} are in no patch", first - 1)
            };
            return Err(contradiction(file, &firsts.path, message));
        }
        next = end;
    }
    if next != count {
        return Err(contradiction(file, &counts.path, format!("the patches have {next} particles, but there are {count}")));
    }
    Ok(())
}

/// The values of a component of one dimension that holds numbers of particles.
fn whole_numbers(file: &File, component: &Component, budget: &mut Budget) -> Result<Vec<u64>> {
    let path = &component.path;
    let length = component.shape.iter().fold(1u64, |all, extent| all.saturating_mul(*extent));
    // The bytes of the file, the column and the numbers.
    budget.pay(length.saturating_mul(3 * 8), path)?;
    let unusable = || contradiction(file, path, "holds a value that is not a number of particles");
    if let Some(constant) = component.constant {
        if constant < 0.0 || constant.fract() != 0.0 || constant >= 2f64.powi(53) {
            return Err(unusable());
        }
        let length = usize::try_from(length).map_err(|_| Error::internal("the number of patches"))?;
        return Ok(vec![constant as u64; length]);
    }
    let found = file.find(path)?;
    let elements = found.file.read(found.object, &Selection::all(&component.shape), &Cancellation::default()).map_err(|error| error.at_object(path))?;
    let column = Column::new(path, &elements.datatype, &[], Conventions::Raw).and_then(|column| column.to_arrow(&elements.bytes, &elements.heap));
    let column = column.map_err(|error| error.at_object(path))?;
    if !column.data_type().is_integer() {
        return Err(contradiction(file, path, format!("holds {}, not whole numbers", column.data_type())));
    }
    let cast = arrow_cast::cast(&column, &DataType::UInt64).map_err(|error| Error::internal(error.to_string()))?;
    let numbers: &UInt64Array = cast.as_primitive::<UInt64Type>();
    if numbers.null_count() > 0 { Err(unusable()) } else { Ok(numbers.values().to_vec()) }
}
