//! The columns of a table: the union over its segments, and those that a request selects.

use std::collections::BTreeSet;

use arrow_schema::{Field, Schema};
use hyperslab_array::shown::shown;
use hyperslab_array::suggest::suggestion;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::Predicate;

use super::members::Omitted;
use super::segment::{Segment, SegmentColumn};
use crate::request::ScanRequest;

/// The column of the table that holds `name`, which may be the dotted path of a compound member.
pub(crate) fn top_level(name: &str, table: &Schema) -> String {
    if table.field_with_name(name).is_ok() {
        return name.to_owned();
    }
    let mut end = name.len();
    while let Some(dot) = name.get(..end).and_then(|head| head.rfind('.')) {
        if let Some(head) = name.get(..dot).filter(|head| table.field_with_name(head).is_ok()) {
            return head.to_owned();
        }
        end = dot;
    }
    name.to_owned()
}

/// Members that the segments omit, each name once.
pub(crate) fn omitted(segments: &[Segment]) -> Vec<Omitted> {
    let mut names = BTreeSet::new();
    segments.iter().flat_map(|segment| &segment.omitted).filter(|omitted| names.insert(&omitted.name)).cloned().collect()
}

/// The columns that a request selects, in its order; all but row number and file if it names none.
pub(crate) fn wanted_columns(table: &Schema, segments: &[Segment], request: &ScanRequest, omitted: &[Omitted]) -> Result<Vec<String>> {
    let tested = request.predicate.iter().flat_map(Predicate::columns);
    for name in request.columns.iter().flatten().cloned().chain(tested) {
        if let Some(omitted) = omitted.iter().find(|omitted| omitted.name == name).filter(|_| table.field_with_name(&top_level(&name, table)).is_err()) {
            return Err(Error::not_found(format!("there is no column {name:?} in this table: it {}", omitted.reason)).at_object(&request.path));
        }
    }
    let all = table.fields().iter().map(|f| f.name().clone());
    let Some(columns) = &request.columns else {
        let is_metadata = |name: &str| segments.first().and_then(|segment| segment.column(name)).is_some_and(SegmentColumn::is_metadata);
        return Ok(all.filter(|name| !is_metadata(name)).collect());
    };
    for name in columns {
        if table.field_with_name(name).is_err() {
            let near = suggestion(name, table.fields().iter().map(|field| field.name().as_str()), 10);
            return Err(Error::not_found(format!("there is no column {:?}{near}", shown(name))).at_object(shown(&request.path)));
        }
    }
    Ok(columns.clone())
}

/// Names the columns that only one of two objects has.
fn only_in_one(fields: &[Field], segment: &Segment) -> String {
    let lacking = fields.iter().map(|field| field.name()).filter(|name| segment.column(name).is_none());
    let further = segment.columns.iter().map(|column| column.field.name()).filter(|name| fields.iter().all(|field| field.name() != *name));
    let quoted = |names: Vec<&String>| names.iter().take(5).map(|name| format!("'{}'", shown(name))).collect::<Vec<_>>().join(", ");
    match (lacking.collect::<Vec<_>>(), further.collect::<Vec<_>>()) {
        (only, others) if others.is_empty() => format!("only the first has {}; nonconforming='null' reads nulls instead", quoted(only)),
        (only, others) if only.is_empty() => format!("only the second has {}; nonconforming='null' reads nulls instead", quoted(others)),
        (first, second) => format!("only the first has {} and only the second has {}", quoted(first), quoted(second)),
    }
}

/// The schema of all segments, which must have equal names and types. A column that is nullable in one is nullable in all.
pub(crate) fn union_schema(segments: &[Segment]) -> Result<Schema> {
    let Some(first) = segments.first() else {
        return Err(Error::not_found("no object matches"));
    };
    let mut fields: Vec<Field> = first.columns.iter().map(|c| c.field.as_ref().clone()).collect();
    for segment in segments.iter().skip(1) {
        let differs = |what: String| {
            Err(Error::invalid_input(format!(
                "{} in {} and {} in {} do not make one table: {what}",
                first.path,
                first.file.name(),
                segment.path,
                segment.file.name()
            )))
        };
        if segment.columns.len() != fields.len() {
            return differs(only_in_one(&fields, segment));
        }
        for (field, column) in fields.iter_mut().zip(&segment.columns) {
            if field.name() != column.field.name() || field.data_type() != column.field.data_type() {
                return differs(format!(
                    "{} is {} in the first and {} is {} in the second; a dataset names its column, so give wildcards for groups and files",
                    field.name(),
                    field.data_type(),
                    column.field.name(),
                    column.field.data_type()
                ));
            }
            if column.field.is_nullable() {
                *field = field.clone().with_nullable(true);
            }
        }
    }
    Ok(Schema::new(fields))
}
