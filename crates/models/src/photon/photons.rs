//! The photons of all spots, with times in seconds.

use std::sync::Arc;

use arrow_array::Int64Array;
use hyperslab_array::Result;
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Literal, SegmentDefinition, Term, Values};

use super::{OF_PHOTONS, path};
use crate::groups::Group;
use crate::look::{contradiction, optional};
use crate::small_values::number_in;

/// Arrays of photons with the columns that they are.
const COLUMNS: [(&str, &str); 3] = [("detectors", "detector"), ("nanotimes", "nanotime"), ("particles", "particle")];

/// A positive number of seconds.
fn unit(file: &File, group: &Group, name: &str) -> Result<Option<f64>> {
    let path = path(group, name);
    let Some(member) = optional(file, &path)? else { return Ok(None) };
    match number_in(Some(&member))? {
        Some(unit) if unit > 0.0 && unit.is_finite() => Ok(Some(unit)),
        _ => Err(contradiction(file, &path, "is not a positive number of seconds")),
    }
}

/// The length of an array of photons; `None` if it is not there.
fn length(file: &File, group: &Group, name: &str) -> Result<Option<u64>> {
    let Some(member) = group.member(name) else { return Ok(None) };
    match (&member.object, member.dataset()) {
        (Err(error), _) => Err(error.clone().at_object(&member.path)),
        (_, None) => Err(contradiction(file, &member.path, "is not a dataset")),
        (_, Some(dataset)) => match dataset.dataspace.shape() {
            [length] => Ok(Some(*length)),
            shape => Err(contradiction(file, &member.path, format!("has shape {shape:?}, not one dimension"))),
        },
    }
}

pub(super) fn table(file: &File, spots: &[(Option<i64>, Group)]) -> Result<Vec<SegmentDefinition>> {
    let with: Vec<&(Option<i64>, Group)> = spots.iter().filter(|(_, group)| group.member("timestamps").is_some()).collect();
    // An array that only some spots have is null in the others.
    let like = |name: &str| with.iter().find(|(_, group)| group.member(name).is_some()).map(|(_, group)| ArrayPart::whole(path(group, name)));
    let has_decays = with.iter().map(|(_, group)| unit(file, group, "nanotimes_specs/tcspc_unit")).collect::<Result<Vec<_>>>()?;
    let mut segments = Vec::new();
    for ((spot, group), decay) in with.iter().zip(&has_decays) {
        let count = length(file, group, "timestamps")?.unwrap_or(0);
        for name in OF_PHOTONS {
            if let Some(own) = length(file, group, name)?
                && own != count
            {
                return Err(contradiction(file, &path(group, name), format!("has {own} values for {count} timestamps")));
            }
        }
        let seconds = unit(file, group, "timestamps_specs/timestamps_unit")?;
        let seconds = seconds.ok_or_else(|| contradiction(file, &group.path, "timestamps without timestamps_specs/timestamps_unit"))?;
        let dataset = group.member("timestamps").and_then(|member| member.dataset());
        let chunk = dataset.and_then(|dataset| dataset.chunk_grid.chunk_shape().first().copied()).unwrap_or(1).max(1);
        let scaled = |name: &str, unit: f64| Values::Scaled {
            terms: vec![Term::new(ArrayPart::whole(path(group, name)), unit)],
            constant: 0.0,
            factors: None,
            metadata: [("units".to_owned(), "s".to_owned())].into(),
        };
        let mut table = SegmentDefinition::new(group.path.clone(), vec![count], vec![chunk]);
        if let Some(spot) = spot {
            table = table.with_column("spot", Values::Constant(Literal(Arc::new(Int64Array::from(vec![*spot])))));
        }
        table = table.with_column("time", scaled("timestamps", seconds)).with_column("timestamp", Values::Array(ArrayPart::whole(path(group, "timestamps"))));
        for (name, column) in COLUMNS {
            table = match (group.member(name), like(name)) {
                (Some(_), _) => table.with_column(column, Values::Array(ArrayPart::whole(path(group, name)))),
                (None, Some(like)) => table.with_column(column, Values::Missing { like }),
                (None, None) => table,
            };
        }
        let all_have = |with: &&(Option<i64>, Group)| with.1.member("nanotimes").is_some();
        // Without a unit in each spot there are no seconds: nanotimes are numbers of bins.
        if let Some(unit) = decay.filter(|_| has_decays.iter().all(Option::is_some) && with.iter().all(all_have)) {
            table = table.with_column("decay_time", scaled("nanotimes", unit));
        }
        segments.push(table);
    }
    if segments.is_empty() {
        return Err(contradiction(file, "/", "there are no timestamps of photons in this file"));
    }
    Ok(segments)
}
