//! Values in memory: values of attributes, and fill values, as they are shown.

use std::sync::Arc;

use hyperslab_array::{Attribute, Dataspace, Elements, Error, HeapObjects, HeapReference, Result};
use hyperslab_arrow_container::elements::{BlobName, Dataspace as StoredSpace, is_null, is_whole, with_blob};
use hyperslab_arrow_container::model::AttributeValue;
use hyperslab_storage::ForkMutex;

use crate::datatype::Decoded;
use crate::form::{Form, HEAP_BYTES, REFERENCE_BYTES, shown_memory_reference, stored_reference_bytes};

/// The heap of values in memory: any nonzero address below the addresses of columns.
pub(crate) const HEAP: u64 = 1;
/// Bytes of a blob's length and name.
const ENTRY_BYTES: usize = 20;

/// What values of variable length in memory hold, by index.
#[derive(Default)]
pub(crate) struct Heap(ForkMutex<Vec<Arc<[u8]>>>);

impl Heap {
    fn add(&self, bytes: Vec<u8>) -> Result<(HeapReference, Arc<[u8]>)> {
        let bytes: Arc<[u8]> = bytes.into();
        let mut all = self.0.lock().ok_or_else(|| Error::internal("attributes in a forked process"))?;
        let index = u32::try_from(all.len()).map_err(|_| Error::limit_exceeded("too many values of variable length in attributes"))?;
        all.push(bytes.clone());
        Ok((HeapReference { address: HEAP, index }, bytes))
    }

    /// The object with this index.
    pub fn get(&self, index: u32) -> Result<Arc<[u8]>> {
        let found = self.0.lock().and_then(|all| all.get(index as usize).cloned());
        found.ok_or_else(|| Error::corrupt("a value of variable length that does not exist"))
    }
}

/// A dataspace as it is shown.
pub(crate) fn space(stored: &StoredSpace) -> Result<Dataspace> {
    Ok(match stored {
        StoredSpace::Null => Dataspace::Null,
        StoredSpace::Scalar => Dataspace::Scalar,
        StoredSpace::Simple { shape, max_shape } => {
            if shape.len() != max_shape.len() || shape.is_empty() || shape.len() > hyperslab_array::MAX_NDIM {
                return Err(Error::corrupt(format!("a dataspace of shape {shape:?} and maximum shape {max_shape:?}")));
            }
            let max_shape = max_shape.iter().map(|extent| (*extent != u64::MAX).then_some(*extent)).collect();
            Dataspace::Simple { shape: shape.clone(), max_shape }
        }
    })
}

/// An attribute as it is shown. One whose value cannot be shown keeps the reason.
pub(crate) fn attribute(stored: &AttributeValue, decoded: &Decoded, heap: &Heap, max_bytes: u64) -> Result<Attribute> {
    let value = match decoded.shown.unsupported_class() {
        Some(class) => Err(Error::unsupported(format!("datatype class {class}"))),
        None => elements(stored, decoded, heap, max_bytes),
    };
    Ok(Attribute { name: stored.name.clone(), dataspace: space(&stored.space)?, value })
}

/// The elements of a value as they are shown.
pub(crate) fn elements(stored: &AttributeValue, decoded: &Decoded, heap: &Heap, max_bytes: u64) -> Result<Elements> {
    let (size, stored_size) = (decoded.form.bytes(), decoded.form.stored().bytes());
    let count = stored.bytes.len() / stored_size.max(1);
    if stored.bytes.len() as u64 > max_bytes {
        return Err(Error::limit_exceeded(format!("an attribute of {} bytes (limit attribute_bytes)", stored.bytes.len())));
    }
    let mut made = Made { heap, objects: HeapObjects::limited(max_bytes) };
    let mut bytes = vec![0; count.saturating_mul(size)];
    made.convert_all(&decoded.form, &stored.bytes, &mut bytes)?;
    Ok(Elements { datatype: decoded.shown.clone(), bytes, heap: made.objects })
}

/// Values while they are converted.
struct Made<'a> {
    heap: &'a Heap,
    objects: HeapObjects,
}

impl Made<'_> {
    fn add(&mut self, bytes: Vec<u8>) -> Result<HeapReference> {
        self.objects.charge(bytes.len() as u64)?;
        let (reference, bytes) = self.heap.add(bytes)?;
        self.objects.insert(reference, bytes);
        Ok(reference)
    }

    /// The blob that an entry names, `width` bytes for each of its elements; `None` for no blob.
    fn blob(&mut self, entry: &[u8], width: usize) -> Result<Option<(u32, Vec<u8>)>> {
        let (length, name) = entry.split_first_chunk().ok_or_else(|| Error::corrupt("a value of variable length that ends too early"))?;
        let name: BlobName =
            name.get(..16).and_then(|name| name.try_into().ok()).ok_or_else(|| Error::corrupt("a value of variable length that ends too early"))?;
        let count = u32::from_le_bytes(*length);
        if is_null(&name) || count == 0 {
            return Ok(None);
        }
        let bytes = (count as usize).saturating_mul(width);
        self.objects.charge(bytes as u64)?;
        with_blob(&name, bytes, <[u8]>::to_vec).map(|blob| Some((count, blob))).map_err(|error| Error::corrupt(error.message))
    }

    fn convert_all(&mut self, form: &Form, stored: &[u8], out: &mut [u8]) -> Result<()> {
        let (size, stored_size) = (form.bytes(), form.stored().bytes());
        if let Form::Plain(_) = form {
            let whole = out.len().min(stored.len());
            out.get_mut(..whole).unwrap_or_default().copy_from_slice(stored.get(..whole).unwrap_or_default());
            return Ok(());
        }
        stored.chunks_exact(stored_size.max(1)).zip(out.chunks_exact_mut(size.max(1))).try_for_each(|(stored, out)| self.convert(form, stored, out))
    }

    /// Converts one element.
    fn convert(&mut self, form: &Form, stored: &[u8], out: &mut [u8]) -> Result<()> {
        let ends_early = || Error::internal("an element that ends too early");
        match form {
            Form::Plain(_) => out.copy_from_slice(stored.get(..out.len()).ok_or_else(ends_early)?),
            Form::Text => {
                if let Some((count, blob)) = self.blob(stored, 1)? {
                    let reference = self.add(blob)?;
                    put(out, count, reference);
                }
            }
            Form::Sequence(element) => {
                if let Some((count, blob)) = self.blob(stored, element.stored().bytes())? {
                    let mut values = vec![0; (count as usize).saturating_mul(element.bytes())];
                    self.convert_all(element, &blob, &mut values)?;
                    let reference = self.add(values)?;
                    put(out, count, reference);
                }
            }
            Form::MemoryReference => {
                let shown = shown_memory_reference(stored).ok_or_else(|| Error::unsupported("sequences of references to selections or attributes"))?;
                out.copy_from_slice(&shown);
            }
            Form::Reference => self.reference(stored, out)?,
            Form::Array { element, .. } => self.convert_all(element, stored, out)?,
            Form::Compound { members, .. } => {
                for member in members {
                    let from = stored.get(member.stored_offset..member.stored_offset + member.form.stored().bytes()).ok_or_else(ends_early)?;
                    let to = out.get_mut(member.offset..member.offset + member.form.bytes()).ok_or_else(ends_early)?;
                    self.convert(&member.form, from, to)?;
                }
            }
        }
        Ok(())
    }

    fn reference(&mut self, stored: &[u8], out: &mut [u8]) -> Result<()> {
        let head_bytes = stored_reference_bytes() - ENTRY_BYTES;
        let (head, rest) = stored.split_at_checked(head_bytes).ok_or_else(|| Error::corrupt("a reference that ends too early"))?;
        let mut one = [0; REFERENCE_BYTES];
        one[..head_bytes].copy_from_slice(head);
        if is_whole(head) {
            one[head_bytes..head_bytes + 9].copy_from_slice(rest.get(..9).ok_or_else(|| Error::corrupt("a reference without its object"))?);
        } else if let Some((count, blob)) = self.blob(rest, 1)? {
            let reference = self.add(blob)?;
            put(&mut one[head_bytes..], count, reference);
        }
        out.copy_from_slice(&one);
        Ok(())
    }
}

/// Writes the stored form of a value of variable length.
fn put(out: &mut [u8], count: u32, reference: HeapReference) {
    let mut element = [0; HEAP_BYTES];
    element[..4].copy_from_slice(&count.to_le_bytes());
    element[4..12].copy_from_slice(&reference.address.to_le_bytes());
    element[12..].copy_from_slice(&reference.index.to_le_bytes());
    if let Some(out) = out.get_mut(..HEAP_BYTES) {
        out.copy_from_slice(&element);
    }
}
