//! Joined elements: reads columns and joins them to elements as they are shown, and reads what values of variable length hold.

use hyperslab_array::{Error, HeapReference, Result};
use hyperslab_arrow_container::elements::is_whole;
use hyperslab_arrow_container::table::{Lane, interleave};
use hyperslab_storage::Storage;

use crate::column::{Bytes, Column, Kind, REFERENCE_HEAD_BYTES};
use crate::form::{HEAP_BYTES, MEMORY_REFERENCE_BYTES, REFERENCE_BYTES, shown_memory_reference};

/// Elements that are joined at a time: few enough that their bytes stay in the processor's cache.
const BLOCK_ELEMENTS: u64 = 16 << 10;
/// Bytes of addresses in a file, which hold the number of a heap and the upper half of an element's number.
const INDEX_BITS: u32 = 32;

/// The storage with the columns.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub storage: &'a dyn Storage,
}

fn too_large<T>(_: T) -> Error {
    Error::limit_exceeded("a column exceeds memory")
}

impl Source<'_> {
    fn read(&self, at: u64, out: &mut [u8]) -> Result<()> {
        if out.is_empty() { Ok(()) } else { self.storage.read_exact_at(at, out) }
    }

    fn bytes(&self, at: u64, length: u64) -> Result<Vec<u8>> {
        let length = usize::try_from(length).map_err(too_large)?;
        let mut out = Vec::new();
        out.try_reserve_exact(length).map_err(too_large)?;
        out.resize(length, 0);
        self.read(at, &mut out)?;
        Ok(out)
    }

    /// Where the values from `first` on begin and end: `count + 1` offsets that do not decrease, up to `max`.
    fn ends(&self, ends: Bytes, first: u64, count: u64, max: u64) -> Result<Vec<u64>> {
        if count == 0 {
            return Ok(vec![0]);
        }
        let bytes = self.bytes(ends.offset + first * 8, (count + 1) * 8)?;
        let ends: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        if ends.is_sorted() && ends.last().is_none_or(|last| *last <= max) {
            Ok(ends)
        } else {
            Err(Error::corrupt("offsets of a column that decrease, or are beyond its end"))
        }
    }

    /// Whether each of `count` values from `first` on is there.
    fn present(&self, bits: Option<Bytes>, first: u64, count: u64) -> Result<Option<Vec<bool>>> {
        let Some(bits) = bits else { return Ok(None) };
        let (from, to) = (first / 8, (first + count).div_ceil(8));
        let bytes = self.bytes(bits.offset + from, to - from)?;
        let bit = |i: u64| bytes.get(((first + i) / 8 - from) as usize).is_some_and(|byte| byte >> ((first + i) % 8) & 1 == 1);
        Ok(Some((0..count).map(bit).collect()))
    }
}

/// References that are in sequences as they are shown.
fn memory_references(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut shown = Vec::with_capacity(bytes.len() / MEMORY_REFERENCE_BYTES * REFERENCE_BYTES);
    for stored in bytes.chunks_exact(MEMORY_REFERENCE_BYTES) {
        shown.extend(shown_memory_reference(stored).ok_or_else(|| Error::unsupported("sequences of references to selections or attributes"))?);
    }
    Ok(shown)
}

/// The stored form of values of variable length, from element `first` of heap `number` on. Each is between two of `places`; those that are not present
/// are zeros, like empty ones.
fn heap_elements(places: &[u64], is_present: impl Fn(usize) -> bool, number: u64, first: u64) -> Result<Vec<u8>> {
    let mut shown = Vec::with_capacity(places.len().saturating_sub(1) * HEAP_BYTES);
    for (i, place) in places.windows(2).enumerate() {
        let &[start, end] = place else { continue };
        shown.extend(if is_present(i) && end > start { heap_element(end - start, number, first + i as u64)? } else { [0; HEAP_BYTES] });
    }
    Ok(shown)
}

/// The stored form of a value of variable length.
fn heap_element(count: u64, number: u64, element: u64) -> Result<[u8; HEAP_BYTES]> {
    let count = u32::try_from(count).map_err(|_| Error::unsupported(format!("a value of {count} elements: at most {} are read", u32::MAX)))?;
    let reference = reference_of(number, element)?;
    let mut out = [0; HEAP_BYTES];
    out[..4].copy_from_slice(&count.to_le_bytes());
    out[4..12].copy_from_slice(&reference.address.to_le_bytes());
    out[12..].copy_from_slice(&reference.index.to_le_bytes());
    Ok(out)
}

/// The place of a value of variable length: the heap's number and the element's.
fn reference_of(number: u64, element: u64) -> Result<HeapReference> {
    let upper = u32::try_from(element >> INDEX_BITS)
        .ok()
        .filter(|upper| *upper < 1 << 16)
        .ok_or_else(|| Error::unsupported("a column with too many values of variable length"))?;
    Ok(HeapReference { address: number << 16 | u64::from(upper), index: element as u32 })
}

/// The heap's number and the element of a place.
pub(crate) fn parts_of(reference: HeapReference) -> (u64, u64) {
    (reference.address >> 16, (reference.address & 0xffff) << INDEX_BITS | u64::from(reference.index))
}

/// Puts values of `width` bytes into elements of `stride` bytes.
fn scatter(values: &[u8], width: usize, out: &mut [u8], at: usize, stride: usize) -> Result<()> {
    if width == stride && at == 0 {
        return match out.get_mut(..values.len()) {
            Some(out) => {
                out.copy_from_slice(values);
                Ok(())
            }
            None => Err(Error::internal("values that exceed their elements")),
        };
    }
    for (value, element) in values.chunks_exact(width.max(1)).zip(out.chunks_mut(stride.max(1))) {
        element.get_mut(at..at + width).ok_or_else(|| Error::internal("a member outside of its element"))?.copy_from_slice(value);
    }
    Ok(())
}

impl Column {
    /// Reads `count` elements from `first` on into `out`, whose elements are `stride` bytes apart, at byte `at` of each.
    pub fn fill(&self, source: Source<'_>, first: u64, count: u64, out: &mut [u8], at: usize, stride: usize) -> Result<()> {
        if first.checked_add(count).is_none_or(|end| end > self.length) {
            return Err(Error::internal(format!("{count} elements from {first} on of a column of {}", self.length)));
        }
        match &self.kind {
            Kind::Plain { values, width, swap } => {
                let place = values.offset + first * *width as u64;
                if *width == stride && at == 0 {
                    let out = out.get_mut(..(count as usize) * stride).ok_or_else(|| Error::internal("a buffer that is too short"))?;
                    source.read(place, out)?;
                    swap_bytes(out, *swap);
                    return Ok(());
                }
                let mut bytes = source.bytes(place, count * *width as u64)?;
                swap_bytes(&mut bytes, *swap);
                scatter(&bytes, *width, out, at, stride)
            }
            Kind::MemoryReferences { values } => {
                let bytes = source.bytes(values.offset + first * MEMORY_REFERENCE_BYTES as u64, count * MEMORY_REFERENCE_BYTES as u64)?;
                let shown = memory_references(&bytes)?;
                scatter(&shown, REFERENCE_BYTES, out, at, stride)
            }
            Kind::Text { present, ends, values, is_reference, number } => {
                let places = source.ends(*ends, first, count, values.length)?;
                let present = source.present(*present, first, count)?;
                let is_present = |i: usize| present.as_ref().is_none_or(|present| present.get(i).copied().unwrap_or(false));
                if *is_reference {
                    let shown = references(source, *values, &places, is_present, *number, first)?;
                    return scatter(&shown, REFERENCE_BYTES, out, at, stride);
                }
                let shown = heap_elements(&places, is_present, *number, first)?;
                scatter(&shown, HEAP_BYTES, out, at, stride)
            }
            Kind::Sequences { present, ends, elements, number, .. } => {
                let places = source.ends(*ends, first, count, elements.length)?;
                let present = source.present(*present, first, count)?;
                let is_present = |i: usize| present.as_ref().is_none_or(|present| present.get(i).copied().unwrap_or(false));
                let shown = heap_elements(&places, is_present, *number, first)?;
                scatter(&shown, HEAP_BYTES, out, at, stride)
            }
            Kind::Arrays { count: inner, elements, element_bytes } => {
                let width = inner * element_bytes;
                if width == stride && at == 0 {
                    return elements.fill(source, first * *inner as u64, count * *inner as u64, out, 0, *element_bytes);
                }
                let mut joined = vec![0; count as usize * width];
                elements.fill(source, first * *inner as u64, count * *inner as u64, &mut joined, 0, *element_bytes)?;
                scatter(&joined, width, out, at, stride)
            }
            Kind::Members(members) => fill_members(members, source, first, count, out, at, stride),
        }
    }

    /// Where values are that are stored as they are shown, and their size.
    pub fn as_shown(&self) -> Option<(u64, u64)> {
        match plain_of(self)? {
            (offset, bytes, 1) => Some((offset, bytes as u64)),
            _ => None,
        }
    }

    /// The column of values of variable length with this number, in this one.
    pub fn heap(&self, wanted: u64) -> Option<&Self> {
        match &self.kind {
            Kind::Plain { .. } | Kind::MemoryReferences { .. } => None,
            Kind::Text { number, .. } => (*number == wanted).then_some(self),
            Kind::Sequences { number, elements, .. } => {
                if *number == wanted {
                    Some(self)
                } else {
                    elements.heap(wanted)
                }
            }
            Kind::Arrays { elements, .. } => elements.heap(wanted),
            Kind::Members(members) => members.iter().find_map(|(_, column)| column.heap(wanted)),
        }
    }

    /// The bytes of the values of variable length from `first` on: of all, one after the other, and where each ends.
    pub fn objects(&self, source: Source<'_>, first: u64, count: u64) -> Result<(Vec<u8>, Vec<usize>)> {
        if first.checked_add(count).is_none_or(|end| end > self.length) {
            return Err(Error::corrupt("a value of variable length that does not exist"));
        }
        match &self.kind {
            Kind::Text { ends, values, is_reference, .. } => {
                let places = source.ends(*ends, first, count, values.length)?;
                let (start, end) = (places.first().copied().unwrap_or(0), places.last().copied().unwrap_or(0));
                let bytes = source.bytes(values.offset + start, end - start)?;
                if !is_reference {
                    return Ok((bytes, places.iter().skip(1).map(|end| (end - start) as usize).collect()));
                }
                // The part of a reference after its own bytes.
                let (mut blobs, mut blob_ends) = (Vec::new(), Vec::new());
                for place in places.windows(2) {
                    let &[from, to] = place else { continue };
                    let blob = (from - start) as usize + REFERENCE_HEAD_BYTES..(to - start) as usize;
                    blobs.extend_from_slice(bytes.get(blob).unwrap_or_default());
                    blob_ends.push(blobs.len());
                }
                Ok((blobs, blob_ends))
            }
            Kind::Sequences { ends, elements, element_bytes, .. } => {
                let places = source.ends(*ends, first, count, elements.length)?;
                let (start, end) = (places.first().copied().unwrap_or(0), places.last().copied().unwrap_or(0));
                let length = usize::try_from(end - start).ok().and_then(|count| count.checked_mul(*element_bytes)).ok_or_else(|| too_large(()))?;
                let mut bytes = Vec::new();
                bytes.try_reserve_exact(length).map_err(too_large)?;
                bytes.resize(length, 0);
                elements.fill(source, start, end - start, &mut bytes, 0, *element_bytes)?;
                Ok((bytes, places.iter().skip(1).map(|end| (end - start) as usize * element_bytes).collect()))
            }
            _ => Err(Error::corrupt("a value of variable length in a column that has none")),
        }
    }
}

fn swap_bytes(values: &mut [u8], width: usize) {
    if width > 1 {
        values.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}

/// References of HDF5 1.12 as they are shown.
fn references(source: Source<'_>, values: Bytes, places: &[u64], is_present: impl Fn(usize) -> bool, number: u64, first: u64) -> Result<Vec<u8>> {
    let (start, end) = (places.first().copied().unwrap_or(0), places.last().copied().unwrap_or(0));
    let bytes = source.bytes(values.offset + start, end - start)?;
    let mut shown = Vec::with_capacity(places.len() * REFERENCE_BYTES);
    for (i, place) in places.windows(2).enumerate() {
        let &[from, to] = place else { continue };
        let stored = bytes.get((from - start) as usize..(to - start) as usize).unwrap_or_default();
        let mut one = [0; REFERENCE_BYTES];
        if is_present(i) && !stored.is_empty() {
            let (head, rest) = stored.split_at_checked(REFERENCE_HEAD_BYTES).ok_or_else(|| Error::corrupt("a reference that ends too early"))?;
            one[..REFERENCE_HEAD_BYTES].copy_from_slice(head);
            if is_whole(head) {
                // The length of the token, and the token.
                let token = rest.get(..9).ok_or_else(|| Error::corrupt("a reference without its object"))?;
                one[2..11].copy_from_slice(token);
            } else {
                one[2..].copy_from_slice(&heap_element(rest.len() as u64, number, first + i as u64)?);
            }
        }
        shown.extend(one);
    }
    Ok(shown)
}

/// Reads members into elements, some thousand at a time; plain ones are joined together.
fn fill_members(members: &[(usize, Column)], source: Source<'_>, first: u64, count: u64, out: &mut [u8], at: usize, stride: usize) -> Result<()> {
    let mut plain = Vec::new();
    let mut others = Vec::new();
    flatten(members, at, &mut plain, &mut others);
    let row: usize = plain.iter().map(|plain| plain.lane.bytes).sum();
    let mut scratch = vec![0; row * usize::try_from(count.min(BLOCK_ELEMENTS)).unwrap_or(0)];
    let mut done = 0;
    while done < count {
        let now = BLOCK_ELEMENTS.min(count - done);
        let records = out.get_mut(done as usize * stride..).ok_or_else(|| Error::internal("a buffer that is too short"))?;
        let mut rest = scratch.as_mut_slice();
        let mut columns: Vec<&[u8]> = Vec::with_capacity(plain.len());
        for Plain { offset, lane, .. } in &plain {
            let (column, later) = rest.split_at_mut(lane.bytes * now as usize);
            source.read(offset + (first + done) * lane.bytes as u64, column)?;
            columns.push(column);
            rest = later;
        }
        let lanes: Vec<Lane> = plain.iter().map(|plain| plain.lane).collect();
        if !lanes.is_empty() {
            interleave(&columns, &lanes, records, stride).map_err(|error| Error::internal(error.message))?;
        }
        for (place, column) in &others {
            column.fill(source, first + done, now, records, *place, stride)?;
        }
        done += now;
    }
    Ok(())
}

/// A plain column and its place in an element.
struct Plain {
    offset: u64,
    lane: Lane,
}

/// Divides members into plain columns, arrays of plain elements among them, and others.
fn flatten<'a>(members: &'a [(usize, Column)], at: usize, plain: &mut Vec<Plain>, others: &mut Vec<(usize, &'a Column)>) {
    for (offset, column) in members {
        let place = at + offset;
        match &column.kind {
            Kind::Members(inner) => flatten(inner, place, plain, others),
            _ => match plain_of(column) {
                Some((offset, bytes, swap_bytes)) => plain.push(Plain { offset, lane: Lane { at: place, bytes, swap_bytes } }),
                None => others.push((place, column)),
            },
        }
    }
}

/// Offset, bytes of an element, and the size of numbers whose bytes are swapped, of a plain column or arrays of plain elements.
fn plain_of(column: &Column) -> Option<(u64, usize, usize)> {
    match &column.kind {
        Kind::Plain { values, width, swap } => Some((values.offset, *width, *swap)),
        Kind::Arrays { count, elements, .. } => {
            plain_of(elements).map(|(offset, bytes, swap)| (offset, bytes * count, swap)).filter(|(_, bytes, _)| *bytes > 0)
        }
        _ => None,
    }
}
