//! The detectors of each spot, with the channels that they are for: spectral, polarization and split.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_reader::File;
use hyperslab_scan::{Literal, SegmentDefinition, Values};

use super::path;
use crate::budget::Budget;
use crate::groups::Group;
use crate::look::{contradiction, members, optional};
use crate::small_values::{cost, values_of};

/// Group with an array of detectors for each channel.
const SPECS: &str = "measurement_specs/detectors_specs";
/// Beginnings of the names of these arrays; the number of the channel follows.
const KINDS: [&str; 3] = ["spectral_ch", "polarization_ch", "split_ch"];

/// Channels of a detector, one for each kind.
type Channels = [Option<i64>; KINDS.len()];

pub(super) fn are_described(file: &File, group: &Group) -> bool {
    optional(file, &path(group, SPECS)).ok().flatten().is_some_and(|member| member.group().is_some())
}

/// The channels of each detector of a spot.
fn channels(file: &File, group: &Group, budget: &mut Budget) -> Result<BTreeMap<i64, Channels>> {
    let mut found: BTreeMap<i64, Channels> = BTreeMap::new();
    if !are_described(file, group) {
        return Ok(found);
    }
    for member in members(file, &path(group, SPECS))? {
        let kind = KINDS.iter().enumerate().find_map(|(kind, name)| Some((kind, member.name.strip_prefix(name)?.parse::<i64>().ok()?)));
        let Some((kind, channel)) = kind else { continue };
        let Some(values) = values_of(&member)? else { continue };
        budget.pay(cost(&values), &member.path)?;
        if !values.data_type().is_integer() {
            return Err(contradiction(file, &member.path, format!("holds {}, not numbers of detectors", values.data_type())));
        }
        let detectors = arrow_cast::cast(&values, &DataType::Int64).map_err(|error| Error::internal(error.to_string()))?;
        if detectors.null_count() > 0 {
            return Err(contradiction(file, &member.path, "holds a number of a detector beyond 63 bits"));
        }
        for detector in detectors.as_primitive::<Int64Type>().values() {
            let slot = found.entry(*detector).or_default().get_mut(kind).ok_or_else(|| Error::internal("a kind of channel"))?;
            if slot.is_some_and(|known| known != channel) {
                return Err(contradiction(file, &member.path, format!("detector {detector} is in two channels of one kind")));
            }
            *slot = Some(channel);
        }
    }
    Ok(found)
}

pub(super) fn table(file: &File, spots: &[(Option<i64>, Group)]) -> Result<Vec<SegmentDefinition>> {
    let mut budget = Budget::of(file);
    let mut rows: Vec<(Option<i64>, i64, Channels)> = Vec::new();
    for (spot, group) in spots {
        rows.extend(channels(file, group, &mut budget)?.into_iter().map(|(detector, channels)| (*spot, detector, channels)));
    }
    let listed = |values: Int64Array| Values::Listed { axis: 0, values: Literal(Arc::new(values) as ArrayRef) };
    let count = rows.len() as u64;
    let mut table = SegmentDefinition::new("/", vec![count], vec![count.max(1)]);
    if spots.iter().any(|(spot, _)| spot.is_some()) {
        table = table.with_column("spot", listed(rows.iter().map(|(spot, ..)| *spot).collect()));
    }
    table = table.with_column("detector", listed(rows.iter().map(|(_, detector, _)| Some(*detector)).collect()));
    for (kind, name) in KINDS.iter().enumerate() {
        if rows.iter().any(|(.., channels)| channels.get(kind).is_some_and(Option::is_some)) {
            table = table.with_column(*name, listed(rows.iter().map(|(.., channels)| channels.get(kind).copied().flatten()).collect()));
        }
    }
    Ok(vec![table])
}
