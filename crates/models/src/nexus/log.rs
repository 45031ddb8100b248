//! NXlog: values with the times at which they were recorded.

use arrow_schema::DataType;
use hyperslab_array::Result;
use hyperslab_columns::{Column, Conventions};
use hyperslab_reader::File;
use hyperslab_scan::{ArrayPart, Omitted, SegmentDefinition, Values};

use super::{chunk_of, length_of, shape_of};
use crate::groups::Group;
use crate::look::{contradiction, join, text_of};

/// Datasets with a value for each time.
const VALUES: [&str; 2] = ["value", "raw_value"];

/// The units that make times of numbers that count from the date in an attribute; why there are none, if there is a date.
pub(super) fn since(group: &Group, name: &str, attribute: &str) -> Result<Option<Result<String, String>>> {
    let Some(member) = group.member(name) else { return Ok(None) };
    let attributes = member.attributes()?;
    let Some(start) = text_of(&attributes, attribute)? else { return Ok(None) };
    let Some(unit) = text_of(&attributes, "units")? else { return Ok(Some(Err(format!("its {attribute} is {start:?}, but it has no units")))) };
    let units = format!("{unit} since {start}");
    let Some(dataset) = member.dataset() else { return Ok(None) };
    let column = Column::with_assumed_units(name, &dataset.datatype, &[], Conventions::Attributes, &units);
    match column.is_ok_and(|column| matches!(column.field().data_type(), DataType::Timestamp(..))) {
        true => Ok(Some(Ok(units))),
        false => Ok(Some(Err(format!("{units:?} is not understood as times")))),
    }
}

pub(super) fn definition(file: &File, group: &Group) -> Result<SegmentDefinition> {
    let rows = length_of(file, group, "time")?.ok_or_else(|| contradiction(file, &group.path, "a log without times"))?;
    let time = ArrayPart::whole(join(&group.path, "time"));
    let mut table = SegmentDefinition::new(group.path.clone(), vec![rows], vec![chunk_of(group, "time")]).with_column("time", Values::Array(time.clone()));
    if let Some(Ok(units)) = since(group, "time", "start")? {
        table = table.with_column("timestamp", Values::Array(time.with_units(units)));
    }
    for name in VALUES {
        let Some(shape) = shape_of(file, group, name)? else { continue };
        let path = join(&group.path, name);
        if shape.first() != Some(&rows) {
            return Err(contradiction(file, &path, format!("has shape {shape:?}, but the log has {rows} times")));
        }
        let values = ArrayPart::whole(path);
        table = table.with_column(name, if shape.len() == 1 { Values::Array(values) } else { Values::Vectors { values } });
    }
    Ok(table)
}

/// What is not a column: times that are not understood.
pub(super) fn omitted(file: &File, group: &Group) -> Vec<Omitted> {
    let mut omitted = match since(group, "time", "start") {
        Ok(Some(Err(reason))) => vec![Omitted::new(join(&group.path, "time"), format!("has no column timestamp: {reason}"))],
        _ => Vec::new(),
    };
    if let Err(error) = definition(file, group) {
        omitted.push(Omitted::new(group.path.clone(), format!("contradicts the model: {}", error.message())));
    }
    omitted
}
