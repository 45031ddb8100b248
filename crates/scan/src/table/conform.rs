//! Segments with different columns as one table: a column that a segment lacks is null there.

use std::sync::Arc;

use arrow_array::new_null_array;
use arrow_schema::Field;
use hyperslab_array::shown::shown;
use hyperslab_array::{Error, Result};

use super::segment::{Segment, SegmentColumn, Source};

/// The segments with the columns of all of them, in the order in which they are met first. `InvalidInput` if a column has
/// different types, or if a segment with rows as lists lacks a column.
pub(crate) fn conform(segments: Vec<Segment>) -> Result<Vec<Segment>> {
    // Each column with the segment that has it first.
    let mut union: Vec<(&SegmentColumn, &Segment)> = Vec::new();
    for segment in &segments {
        for column in &segment.columns {
            match union.iter().find(|(first, _)| first.field.name() == column.field.name()) {
                None => union.push((column, segment)),
                Some((first, _)) if first.field.data_type() == column.field.data_type() => (),
                Some((first, owner)) => return Err(other_type(first, owner, column, segment)),
            }
        }
    }
    // Hyperslab's own columns are the last of a segment.
    let (own, mut arrays): (Vec<_>, Vec<_>) = union.iter().map(|(column, _)| *column).partition(|column| column.is_metadata());
    arrays.extend(own);
    let names: Vec<&str> = arrays.iter().map(|column| column.field.name().as_str()).collect();
    segments.iter().map(|segment| with_all(segment, &arrays, &names)).collect()
}

/// The segment with these columns.
fn with_all(segment: &Segment, union: &[&SegmentColumn], names: &[&str]) -> Result<Segment> {
    if segment.columns.iter().map(|column| column.field.name().as_str()).eq(names.iter().copied()) {
        return Ok(segment.clone());
    }
    let column = |first: &&SegmentColumn| match segment.column(first.field.name()) {
        Some(column) => column.clone(),
        None => null_column(&first.field),
    };
    if segment.columns.iter().any(|column| matches!(column.source, Source::Variable { per_row: Some(_), .. })) {
        let message = format!("{} in {} lacks columns of the other tables; with layout 'rows' they cannot be null", shown(&segment.path), segment.file.name());
        return Err(Error::invalid_input(message));
    }
    // A definition: the columns no longer follow from path and layout.
    Ok(Segment { columns: union.iter().map(column).collect(), named: true, ..segment.clone() })
}

fn null_column(field: &Field) -> SegmentColumn {
    let source = Source::Constant(new_null_array(field.data_type(), 1));
    SegmentColumn { field: Arc::new(field.clone().with_nullable(true)), source }
}

fn other_type(first: &SegmentColumn, owner: &Segment, column: &SegmentColumn, segment: &Segment) -> Error {
    Error::invalid_input(format!(
        "{} in {} and {} in {} do not make one table: column '{}' is {} in the first and {} in the second",
        shown(&owner.path),
        owner.file.name(),
        shown(&segment.path),
        segment.file.name(),
        shown(column.field.name()),
        first.field.data_type(),
        column.field.data_type()
    ))
}
