//! Column: which values of a dataset are indexed, and the identity by which an index finds its column again.

use hyperslab_array::Result;

use super::indexed_values::{IndexedValues, MemberPlace};
use super::type_text::{arrow_type_text, datatype_text, quoted};
use crate::block::hash::hash;

/// Identifies what the values of a column mean: the type in the file, the Arrow type, and the attributes that decode them. A
/// column with another identity needs another index.
///
/// The identity is stored in manifests. It is the hash of a text with one item per line: the type in the file, the Arrow
/// type, `nullable` or `required`, and for each item of the field's metadata, sorted by key, the quoted key and value with
/// `=` between them. For a member of a compound dataset, `member=` follows with its quoted name, its offset in the record and the
/// record's length in bytes: members of one type differ, and so does a member that has moved.
pub(crate) fn identity(values: &IndexedValues) -> Result<String> {
    let (column, field) = (&values.column, values.column.field());
    let mut metadata: Vec<(&String, &String)> = field.metadata().iter().collect();
    metadata.sort();
    let mut text =
        format!("{}\n{}\n{}", datatype_text(column.datatype()), arrow_type_text(field.data_type())?, if field.is_nullable() { "nullable" } else { "required" });
    for (key, value) in metadata {
        text.push_str(&format!("\n{}={}", quoted(key), quoted(value)));
    }
    if let Some(MemberPlace { name, offset, record_bytes }) = &values.member {
        text.push_str(&format!("\nmember={} {offset} {record_bytes}", quoted(name)));
    }
    Ok(format!("{:016x}", hash(0, text.as_bytes())))
}
