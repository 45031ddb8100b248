//! Indexed values: which values of a dataset an index is of, its elements or one member of its records, and how they are read.

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use hyperslab_array::shown::shown;
use hyperslab_array::suggest::suggestion;
use hyperslab_array::{Cancellation, Datatype, Error, Region, Result, Selection};
use hyperslab_columns::{Column, Conventions};
use hyperslab_formats::{Dataset, ObjectId};
use hyperslab_predicate::KeyType;
use hyperslab_reader::{File, PooledBuffer, read};
use hyperslab_scan::decoding;
use hyperslab_scan::pruner::Level;

use crate::block::not_indexed::not_indexed;
use crate::store::manifest::label;

/// Records are read in parts of about this size, because a file decides how long a record is.
const RECORDS_BYTES: u64 = 16 << 20;

/// The values that an index is of.
#[derive(Debug, Clone)]
pub(crate) struct IndexedValues {
    pub dataset: ObjectId,
    /// How they become Arrow values.
    pub column: Column,
    /// The member of the compound dataset; `None` for whole elements.
    pub member: Option<MemberPlace>,
}

/// Where a member is in the records of its dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberPlace {
    pub name: String,
    /// Offset in the record, in bytes.
    pub offset: u64,
    /// Size of the record in bytes.
    pub record_bytes: u64,
}

impl IndexedValues {
    /// The values of a dataset, or of its member of this name, as a table shows them, or with `raw` as they are stored.
    /// `Unsupported` if they cannot have an index, `NotFound` if there is no such member.
    pub fn new(file: &File, dataset: ObjectId, member: Option<&str>, raw: bool) -> Result<Self> {
        let description = file.dataset(dataset)?;
        let values = match member {
            None => Self { dataset, column: dataset_column(file, dataset, &description, raw)?, member: None },
            Some(name) => {
                let place = member_place(&description, |(_, member)| member.name == name)?;
                let (place, datatype) = place.ok_or_else(|| no_member(&description, name))?;
                // As the layout `records` of a table shows it: attributes of the dataset say nothing of its members.
                Self { dataset, column: Column::new(name, &datatype, &[], Conventions::Raw)?, member: Some(place) }
            }
        };
        supported_level(Level::Bitmaps, &values.column)?;
        Ok(values)
    }

    /// The values of the member with this number as `column` decodes them.
    pub fn of_member(file: &File, dataset: ObjectId, number: usize, column: &Column) -> Result<Self> {
        let place = member_place(&*file.dataset(dataset)?, |(index, _)| index == number)?;
        let (place, datatype) = place.ok_or_else(|| Error::internal("a member that its dataset does not have"))?;
        if datatype.size() != column.datatype().size() {
            return Err(Error::internal("a column of another size than its member"));
        }
        Ok(Self { dataset, column: column.clone(), member: Some(place) })
    }

    /// The path of the dataset, and the name of the member: `/table/energy`.
    pub fn label(&self, path: &str) -> String {
        label(path, self.member.as_ref().map(|member| member.name.as_str()))
    }

    /// Bytes from one stored value to the next, and offset of the first one.
    pub fn stride(&self) -> (u64, u64) {
        self.member.as_ref().map_or((self.column.datatype().size(), 0), |member| (member.record_bytes, member.offset))
    }

    /// Reads the values of a box of the dataset, which has this `shape`.
    pub fn read(&self, file: &File, block: &Region, shape: &[u64], cancellation: &Cancellation) -> Result<ArrayRef> {
        let inner = || {
            let Some(member) = &self.member else { return self.read_part(file, &block.selection(shape)?, cancellation) };
            let chunk = file.dataset(self.dataset)?.chunk_shape.clone();
            let parts = parts(block, chunk.as_deref().unwrap_or_default(), member.record_bytes);
            let arrays = parts.iter().map(|part| self.read_part(file, &part.selection(shape)?, cancellation)).collect::<Result<Vec<ArrayRef>>>()?;
            if let [only] = arrays.as_slice() {
                return Ok(only.clone());
            }
            let arrays: Vec<&dyn arrow_array::Array> = arrays.iter().map(AsRef::as_ref).collect();
            arrow_select::concat::concat(&arrays).map_err(|error| Error::internal(error.to_string()))
        };
        inner().map_err(|error| file.place(self.dataset, error))
    }

    fn read_part(&self, file: &File, selection: &Selection, cancellation: &Cancellation) -> Result<ArrayRef> {
        let datatype = self.column.datatype();
        let mut bytes = read::read_values(file, self.dataset, selection, cancellation)?;
        if let Some(member) = &self.member {
            bytes = member.extract(file, &bytes, datatype.size())?;
        }
        let mut heap = read::heap(file, self.dataset, datatype, &bytes)?;
        file.name_references(datatype, &bytes, &mut heap)?;
        self.column.take_arrow(bytes.into_buffer(), &heap)
    }
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
        _ if level == Level::Composite => Err(Error::invalid_input("an index of level C is of several datasets together, and one was named")),
        Some(_) if level == Level::Words => Err(Error::unsupported("an index of the words (W) of values that are not text")),
        Some(_) => Ok(level),
        None if is_text && level >= Level::Bitmaps => Ok(level),
        None if is_text => Err(Error::unsupported(format!("an index of level {} of text: it has bitmaps (B) or words (W)", level.letter()))),
        None => Err(not_indexed(data_type)),
    }
}

/// The column of a dataset's elements.
fn dataset_column(file: &File, dataset: ObjectId, description: &Dataset, raw: bool) -> Result<Column> {
    let attributes = match file.attributes(dataset) {
        Err(error) if !raw => return Err(error),
        attributes => attributes.unwrap_or_default(),
    };
    let path = file.path_of(dataset)?;
    let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("value");
    Column::new(name, &description.datatype, &attributes.list, decoding(file, !raw))
}

/// The first member that is `wanted`, and its datatype.
fn member_place(description: &Dataset, wanted: impl Fn((usize, &hyperslab_array::Member)) -> bool) -> Result<Option<(MemberPlace, Datatype)>> {
    let Datatype::Compound { size, members } = &description.datatype else {
        return Err(Error::invalid_input("an index of a member of a dataset that is not compound"));
    };
    let Some((_, member)) = members.iter().enumerate().find(|(index, member)| wanted((*index, member))) else { return Ok(None) };
    let bytes = member.datatype.size();
    if bytes == 0 || member.offset.checked_add(bytes).is_none_or(|end| end > *size) {
        return Err(Error::corrupt(format!("the member {} is outside of its record", shown(&member.name))));
    }
    Ok(Some((MemberPlace { name: member.name.clone(), offset: member.offset, record_bytes: *size }, member.datatype.clone())))
}

fn no_member(description: &Dataset, name: &str) -> Error {
    let members = match &description.datatype {
        Datatype::Compound { members, .. } => members.as_ref(),
        _ => &[],
    };
    let near = suggestion(name, members.iter().map(|member| member.name.as_str()), 6);
    Error::not_found(format!("the compound dataset has no member {:?}{near}", shown(name)))
}

/// Cuts a box into parts of whole chunks and about [`RECORDS_BYTES`], in row-major order, along its first dimension of more than
/// one index.
fn parts(block: &Region, chunk: &[u64], record_bytes: u64) -> Vec<Region> {
    let Some(cut) = block.count.iter().position(|count| *count > 1) else { return vec![block.clone()] };
    let below = block.count.iter().skip(cut + 1).fold(record_bytes, |bytes, count| bytes.saturating_mul(*count)).max(1);
    let (Some(&start), Some(&count)) = (block.start.get(cut), block.count.get(cut)) else { return vec![block.clone()] };
    let chunk = chunk.get(cut).copied().unwrap_or(1).max(1);
    let step = (RECORDS_BYTES / below / chunk).max(1).saturating_mul(chunk);
    let end = start.saturating_add(count);
    let (mut parts, mut next) = (Vec::new(), start);
    while next < end {
        // Parts end at borders of chunks, so that each chunk is decoded once.
        let stop = (next / step + 1).saturating_mul(step).min(end);
        let mut part = block.clone();
        if let (Some(start), Some(count)) = (part.start.get_mut(cut), part.count.get_mut(cut)) {
            (*start, *count) = (next, stop - next);
        }
        parts.push(part);
        next = stop;
    }
    parts
}

impl MemberPlace {
    /// The values of `width` bytes of the member in these records.
    fn extract(&self, file: &File, records: &[u8], width: u64) -> Result<PooledBuffer> {
        let index = |bytes: u64| usize::try_from(bytes).map_err(|_| Error::limit_exceeded("a record exceeds memory"));
        let (record_bytes, start, width) = (index(self.record_bytes)?, index(self.offset)?, index(width)?);
        let count = records.len().checked_div(record_bytes).unwrap_or(0);
        let mut values = file.session().values().take(count * width)?;
        for (value, record) in values.chunks_exact_mut(width.max(1)).zip(records.chunks_exact(record_bytes.max(1))) {
            value.copy_from_slice(record.get(start..start + width).ok_or_else(|| Error::internal("a member is outside of its record"))?);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_chunks_in_order() {
        let block = Region { start: vec![3, 5], count: vec![1, 100] };
        let spans = |record_bytes| -> Vec<(u64, u64)> {
            parts(&block, &[1, 10], record_bytes)
                .iter()
                .map(|part| (part.start.get(1).copied().unwrap_or(0), part.count.get(1).copied().unwrap_or(0)))
                .collect()
        };
        assert_eq!(spans(8), [(5, 100)]);
        assert_eq!(spans(RECORDS_BYTES / 40), [(5, 35), (40, 40), (80, 25)]);
        assert_eq!(spans(RECORDS_BYTES).len(), 11, "a chunk is not cut, however long its records are");
        assert_eq!(parts(&Region { start: vec![3], count: vec![1] }, &[], 8).len(), 1);
    }
}
