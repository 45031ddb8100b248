//! Columns and struct members: found by name in a schema, taken from a batch.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Schema};
use hyperslab_array::shown::shown;
use hyperslab_array::suggest::suggestion;
use hyperslab_array::{Error, Result};

/// A column, or a member of a struct column: the names along the path.
#[derive(Debug, Clone)]
pub(super) struct ColumnPath(pub Vec<String>);

/// The column called `name`, or the struct member that a dotted name leads to.
pub(super) fn resolve<'a>(name: &str, schema: &'a Schema) -> Result<(ColumnPath, &'a DataType)> {
    if let Ok(field) = schema.field_with_name(name) {
        return Ok((ColumnPath(vec![name.to_owned()]), field.data_type()));
    }
    // The longest prefix that is a column; its own name may have dots.
    for (dot, _) in name.rmatch_indices('.') {
        let (Some(head), Some(tail)) = (name.get(..dot), name.get(dot + 1..)) else { continue };
        let Ok(field) = schema.field_with_name(head) else { continue };
        let mut path = vec![head.to_owned()];
        let mut data_type = field.data_type();
        let mut found = true;
        for part in tail.split('.') {
            match data_type {
                DataType::Struct(fields) if fields.find(part).is_some() => {
                    if let Some((_, field)) = fields.find(part) {
                        path.push(part.to_owned());
                        data_type = field.data_type();
                    }
                }
                _ => found = false,
            }
        }
        if found {
            return Ok((ColumnPath(path), data_type));
        }
    }
    let near = suggestion(name, schema.fields().iter().map(|field| field.name().as_str()), 6);
    Err(Error::not_found(format!("predicate: there is no column {:?}{near}; text stands in single quotes", shown(name))))
}

/// The column or struct member, and its nulls including nulls of the structs around it.
pub(super) fn column(batch: &RecordBatch, path: &ColumnPath) -> Result<(ArrayRef, Option<NullBuffer>)> {
    let missing = || Error::internal(format!("the batch has no column {}", path.0.join(".")));
    let (first, rest) = path.0.split_first().ok_or_else(missing)?;
    let mut array = batch.column_by_name(first).ok_or_else(missing)?.clone();
    let mut nulls = array.logical_nulls();
    for part in rest {
        let member = array.as_struct_opt().and_then(|s| s.column_by_name(part)).ok_or_else(missing)?.clone();
        nulls = NullBuffer::union(nulls.as_ref(), member.logical_nulls().as_ref());
        array = member;
    }
    Ok((array, nulls))
}

/// The text of an array of strings or of a dictionary of strings.
pub(super) fn plain_text(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Utf8 => Ok(array.clone()),
        _ => arrow_cast::cast(array, &DataType::Utf8).map_err(|error| Error::internal(error.to_string())),
    }
}

pub(super) fn misbound(data_type: &DataType) -> Error {
    Error::internal(format!("a predicate for another type than {data_type}"))
}
