//! Column: which values of a dataset are indexed, and the identity by which an index finds its column again.

use arrow_schema::DataType;
use hyperslab_array::{Error, Result};
use hyperslab_columns::Column;
use hyperslab_formats::ObjectId;
use hyperslab_predicate::KeyType;
use hyperslab_reader::File;
use hyperslab_scan::decoding;
use hyperslab_scan::pruner::Level;

use super::type_text::{arrow_type_text, datatype_text, quoted};
use crate::block::hash::hash;
use crate::store::manifest::IndexedDataset;

/// The column of a dataset as a table shows it, or with `raw` as it is stored. `Unsupported` if it cannot have an index.
pub(crate) fn column_of(file: &File, dataset: ObjectId, raw: bool) -> Result<Column> {
    let description = file.dataset(dataset)?;
    let attributes = match file.attributes(dataset) {
        Err(error) if !raw => return Err(error),
        attributes => attributes.unwrap_or_default(),
    };
    let path = file.path_of(dataset)?;
    let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("value");
    let column = Column::new(name, &description.datatype, &attributes.list, decoding(file, !raw))?;
    supported_level(Level::Bitmaps, &column)?;
    Ok(column)
}

/// Returns `level`; `Unsupported` if the column cannot have an index of this level.
pub(crate) fn supported_level(level: Level, column: &Column) -> Result<Level> {
    let data_type = column.field().data_type();
    let is_text = match data_type {
        DataType::Utf8 => true,
        DataType::Dictionary(_, values) => **values == DataType::Utf8,
        _ => false,
    };
    match KeyType::of(data_type) {
        Some(_) => Ok(level),
        None if is_text && level == Level::Bitmaps => Ok(level),
        None if is_text => Err(Error::unsupported(format!("an index of level {} of text: it has bitmaps (B) only", level.letter()))),
        None => Err(Error::unsupported(format!("an index of {data_type}"))),
    }
}

/// Identifies what the values of a column mean: the type in the file, the Arrow type, and the attributes that decode them. A
/// column with another identity needs another index.
///
/// The identity is stored in manifests. It is the hash of a text with one item per line: the type in the file, the Arrow
/// type, `nullable` or `required`, and for each item of the field's metadata, sorted by key, the quoted key and value with
/// `=` between them.
pub(crate) fn identity(column: &Column) -> Result<String> {
    let field = column.field();
    let mut metadata: Vec<(&String, &String)> = field.metadata().iter().collect();
    metadata.sort();
    let mut text =
        format!("{}\n{}\n{}", datatype_text(column.datatype()), arrow_type_text(field.data_type())?, if field.is_nullable() { "nullable" } else { "required" });
    for (key, value) in metadata {
        text.push_str(&format!("\n{}={}", quoted(key), quoted(value)));
    }
    Ok(format!("{:016x}", hash(0, text.as_bytes())))
}

/// The column of a dataset that has this identity: the one that a table shows, or the raw one.
pub(crate) fn column_with_identity(file: &File, dataset: ObjectId, wanted: &str) -> Option<Column> {
    let mut columns = [false, true].into_iter().filter_map(|raw| column_of(file, dataset, raw).ok());
    columns.find(|column| identity(column).is_ok_and(|identity| identity == wanted))
}

/// The dataset and the column of `file` that an index was built for, if they still exist.
pub(crate) fn indexed_column(file: &File, indexed: &IndexedDataset) -> Option<(ObjectId, Column)> {
    let found = file.find(&indexed.path).ok().filter(|found| found.file == *file)?;
    let column = column_with_identity(file, found.object, &indexed.identity)?;
    Some((found.object, column))
}
