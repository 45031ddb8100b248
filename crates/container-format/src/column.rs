//! Columns: where the values of one record batch are in its Arrow file.

use arrow_schema::{DataType, Field, Fields};
use hyperslab_array::{Error, Result};
use hyperslab_arrow_container::files::ipc::FoundBatch;

use crate::form::{Form, FormMember, stored_reference_bytes};

/// Bits of the number of a heap in its dataset: the number of the dataset, from 1 on, is above them.
pub(crate) const HEAP_BITS: u32 = 24;

/// A run of bytes of the Arrow file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes {
    pub offset: u64,
    pub length: u64,
}

/// A column, or a part of one.
#[derive(Debug)]
pub(crate) struct Column {
    /// Number of elements.
    pub length: u64,
    pub kind: Kind,
}

/// What a column holds.
#[derive(Debug)]
pub(crate) enum Kind {
    /// Elements of `width` bytes, numbers in Arrow's byte order: `swap` is the size of those whose bytes are reversed, or 1.
    Plain { values: Bytes, width: usize, swap: usize },
    /// References of a fixed size, in sequences.
    MemoryReferences { values: Bytes },
    /// Text, or references, which begin with `head` bytes of their own. `number` identifies the column among all heaps.
    Text { present: Option<Bytes>, ends: Bytes, values: Bytes, is_reference: bool, number: u64 },
    /// Sequences of the elements of another column.
    Sequences { present: Option<Bytes>, ends: Bytes, elements: Box<Column>, element_bytes: usize, number: u64 },
    /// Each element is `count` elements of another column.
    Arrays { count: usize, elements: Box<Column>, element_bytes: usize },
    /// Members at offsets.
    Members(Vec<(usize, Column)>),
}

/// Finds the columns of a record batch from its buffers, in Arrow's order.
pub(crate) struct Finder<'a> {
    buffers: std::slice::Iter<'a, (u64, u64)>,
    nodes: std::slice::Iter<'a, (u64, u64)>,
    /// The number of the next heap.
    next: &'a mut u64,
}

impl<'a> Finder<'a> {
    pub fn new(batch: &'a FoundBatch, next: &'a mut u64) -> Self {
        Self { buffers: batch.buffers.iter(), nodes: batch.nodes.iter(), next }
    }

    fn buffer(&mut self) -> Result<Bytes> {
        let (offset, length) = *self.buffers.next().ok_or_else(|| Error::corrupt("a record batch with too few buffers"))?;
        Ok(Bytes { offset, length })
    }

    /// A buffer of at least this many bytes.
    fn buffer_of(&mut self, length: u64, width: u64) -> Result<Bytes> {
        let buffer = self.buffer()?;
        match length.checked_mul(width) {
            Some(needed) if needed <= buffer.length => Ok(buffer),
            _ => Err(Error::corrupt(format!("a column of {length} values has {} bytes", buffer.length))),
        }
    }

    fn number(&mut self) -> Result<u64> {
        let number = *self.next;
        *self.next = number + 1;
        if *self.next >> HEAP_BITS == number >> HEAP_BITS { Ok(number) } else { Err(Error::limit_exceeded("too many columns of variable length")) }
    }

    /// The length of a node, and which of its values are there. Only values of variable length may be null.
    fn node(&mut self, may_be_null: bool) -> Result<(u64, Option<Bytes>)> {
        let (length, nulls) = *self.nodes.next().ok_or_else(|| Error::corrupt("a record batch with too few columns"))?;
        let present = self.buffer()?;
        if nulls == 0 {
            return Ok((length, None));
        }
        if !may_be_null {
            return Err(Error::unsupported("null values in a container"));
        }
        if present.length.saturating_mul(8) < length {
            return Err(Error::corrupt("a column whose null bits are too short"));
        }
        Ok((length, Some(present)))
    }

    fn ends(&mut self, length: u64) -> Result<Bytes> {
        let ends = self.buffer()?;
        // Arrow allows no offsets at all for no values.
        if length > 0 && length.checked_add(1).and_then(|count| count.checked_mul(8)).is_none_or(|needed| needed > ends.length) {
            return Err(Error::corrupt("a column whose offsets are too short"));
        }
        Ok(ends)
    }

    /// The next column, which has this form and this field.
    pub fn column(&mut self, form: &Form, field: &Field) -> Result<Column> {
        let found = field.data_type();
        let other = || Error::corrupt(format!("column '{}' is {found}, which does not fit its datatype", field.name()));
        match form {
            Form::Plain(stored) => {
                if stored.data_type() != *found {
                    return Err(other());
                }
                let (length, _) = self.node(false)?;
                let width = stored.bytes();
                let values = self.buffer_of(length, width as u64)?;
                Ok(Column { length, kind: Kind::Plain { values, width, swap: stored.swap_bytes() } })
            }
            Form::MemoryReference => {
                let stored = form.stored();
                if stored.data_type() != *found {
                    return Err(other());
                }
                let (length, _) = self.node(false)?;
                let values = self.buffer_of(length, stored.bytes() as u64)?;
                Ok(Column { length, kind: Kind::MemoryReferences { values } })
            }
            Form::Text | Form::Reference => {
                let is_reference = *form == Form::Reference;
                if !matches!(found, DataType::LargeBinary) && (is_reference || !matches!(found, DataType::LargeUtf8)) {
                    return Err(other());
                }
                let (length, present) = self.node(true)?;
                let (ends, values, number) = (self.ends(length)?, self.buffer()?, self.number()?);
                Ok(Column { length, kind: Kind::Text { present, ends, values, is_reference, number } })
            }
            Form::Sequence(element) => {
                let DataType::LargeList(inner) = found else { return Err(other()) };
                let (length, present) = self.node(true)?;
                let (ends, number) = (self.ends(length)?, self.number()?);
                let elements = Box::new(self.column(element, inner)?);
                Ok(Column { length, kind: Kind::Sequences { present, ends, elements, element_bytes: element.bytes(), number } })
            }
            Form::Array { count, element } => {
                let DataType::FixedSizeList(inner, size) = found else { return Err(other()) };
                if usize::try_from(*size).ok() != Some(*count) {
                    return Err(other());
                }
                self.list(*count, |finder| finder.column(element, inner), element.bytes())
            }
            Form::Compound { members, .. } => {
                let DataType::Struct(fields) = found else { return Err(other()) };
                if fields.len() != members.len() {
                    return Err(other());
                }
                self.members(members, fields)
            }
        }
    }

    /// The members of a compound.
    fn members(&mut self, members: &[FormMember], fields: &Fields) -> Result<Column> {
        let (length, _) = self.node(false)?;
        let mut columns = Vec::with_capacity(members.len());
        for (member, field) in members.iter().zip(fields) {
            let column = self.column(&member.form, field)?;
            if column.length != length {
                return Err(Error::corrupt(format!("column '{}' has {} values, its record {length}", field.name(), column.length)));
            }
            columns.push((member.offset, column));
        }
        Ok(Column { length, kind: Kind::Members(columns) })
    }

    /// A list of a fixed number of elements.
    fn list(&mut self, count: usize, inner: impl FnOnce(&mut Self) -> Result<Column>, element_bytes: usize) -> Result<Column> {
        let (length, _) = self.node(false)?;
        let elements = inner(self)?;
        if length.checked_mul(count as u64) != Some(elements.length) {
            return Err(Error::corrupt(format!("{length} lists of {count} values have {}", elements.length)));
        }
        Ok(Column { length, kind: Kind::Arrays { count, elements: Box::new(elements), element_bytes } })
    }

    /// The elements of a column in which each row is a list of `inner` elements.
    pub fn listed(&mut self, inner: u64, form: &Form, field: &Field) -> Result<Column> {
        let DataType::FixedSizeList(item, size) = field.data_type() else {
            return Err(Error::corrupt(format!("column '{}' is {}, not a list", field.name(), field.data_type())));
        };
        if u64::try_from(*size).ok() != Some(inner) {
            return Err(Error::corrupt(format!("column '{}' has lists of {size} elements, not of {inner}", field.name())));
        }
        let list = self.list(usize::try_from(inner).unwrap_or(usize::MAX), |finder| finder.column(form, item), form.bytes())?;
        match list.kind {
            Kind::Arrays { elements, .. } => Ok(*elements),
            _ => Err(Error::internal("a list that is none")),
        }
    }
}

/// Bytes of a reference that are its own, before its blob.
pub(crate) const REFERENCE_HEAD_BYTES: usize = stored_reference_bytes() - 20;
