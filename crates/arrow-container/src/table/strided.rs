//! Moves elements that are at regular distances in the file: every second one, for example. Each column is read with the values
//! in between, and written back with them.

use super::kernel::{gather, interleave};
use super::lane::Lane;
use super::state::Table;
use super::store::{Part, Store};
use crate::error::{Result, error};

/// Bytes of a column, with the values in between, that are moved at a time.
const COLUMN_BYTES: usize = 128 << 10;
/// Maximum number of elements that are read at a time, so that their columns stay in the processor's cache.
const MAX_READ_ELEMENTS: usize = 8 << 10;
/// Maximum number of elements that are written at a time.
const MAX_WRITTEN_ELEMENTS: usize = 16 << 10;

/// Elements at regular distances, in the table and in the caller's memory.
#[derive(Debug, Clone, Copy)]
struct Strided {
    /// The first one, and the distance of elements in the table.
    start: u64,
    step: usize,
    count: usize,
    /// The distance of elements in memory, in bytes.
    stride: usize,
}

/// Some of the elements.
struct Block {
    /// Its first element, counted from the first that is moved.
    index: usize,
    /// The same in the table.
    first: u64,
    count: usize,
    /// Number of elements from the first to the first of the next block, or to the last one.
    covered: usize,
}

impl Table {
    /// The lane of a part among elements `stride` bytes apart, without swapped bytes: whole columns are moved in the order of memory.
    fn plain_lane(&self, part: &Part) -> Result<Lane> {
        let leaf = self.leaves.get(part.leaf).ok_or_else(|| error!("there is no column {}", part.leaf))?;
        Ok(Lane { at: part.at, bytes: leaf.bytes, swap_bytes: 1 })
    }

    /// Cuts `count` elements, `step` elements apart, into blocks.
    fn blocks(lanes: &[Lane], start: u64, step: usize, count: usize, max: usize) -> impl Iterator<Item = Block> {
        let width = lanes.iter().map(|lane| lane.bytes).max().unwrap_or(1).max(1);
        let each = (COLUMN_BYTES / width.saturating_mul(step)).clamp(1, max);
        (0..count).step_by(each).map(move |index| {
            let now = each.min(count - index);
            let covered = if index + now < count { now * step } else { (now - 1) * step + 1 };
            Block { index, first: start + (index * step) as u64, count: now, covered }
        })
    }

    /// As [`Table::write`], for elements that are `step` elements apart in the table. If `step` is not 1, the values in between are
    /// read and written again.
    ///
    /// # Errors
    /// As for [`Table::write`].
    pub fn write_strided(&mut self, parts: &[Part], start: u64, step: u64, count: usize, source: &[u8], stride: usize) -> Result<()> {
        let Some(step) = self.step_of(start, step, count)? else { return self.write(parts, start, count, source, stride) };
        self.settle()?;
        let covered = start..start + (count as u64 - 1) * step as u64 + 1;
        // Published values are read from the old file and written to the new one, instead of being copied first.
        let copy = self.copy_without(parts, &covered)?;
        if copy.is_none() {
            self.own(None)?;
            self.touched = self.touched.max(covered.end);
            if self.ranks.is_some() {
                parts.iter().for_each(|part| self.note(part.leaf, covered.start, covered.end - covered.start));
            }
        }
        let (in_file, in_memory): (Vec<Part>, Vec<Part>) = parts.iter().partition(|part| matches!(self.stores[part.leaf], Store::File));
        let elements = Strided { start, step, count, stride };
        self.strew_in_memory(&in_memory, &elements, source)?;
        let this: &Self = self;
        let target = copy.as_ref().unwrap_or(this);
        if !in_file.is_empty() {
            target.preallocate(&in_file, covered.start, covered.end - covered.start)?;
        }
        // Each thread moves some of the columns. Linux serializes the writes, not what is between them.
        let threads = this.threads_for(&in_file, count * step, stride).min(in_file.len().max(1));
        let each = in_file.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let mut shares = in_file.chunks(each).map(|share| move || this.strew_columns(target, share, &elements, source));
            let own = shares.next();
            let others: Vec<_> = shares.map(|share| scope.spawn(share)).collect();
            let own = own.map_or(Ok(()), |own| own());
            others.into_iter().map(|other| other.join().unwrap_or_else(|_| Err(error!("a thread of the connector panicked")))).fold(own, Result::and)
        })?;
        if let Some(copy) = copy {
            self.replace_with(copy);
        }
        Ok(())
    }

    /// Writes elements at distances to columns in memory.
    fn strew_in_memory(&mut self, parts: &[Part], elements: &Strided, source: &[u8]) -> Result<()> {
        let &Strided { start, step, count, stride } = elements;
        let mut column = Vec::new();
        for part in parts {
            let (lane, whole) = (self.plain_lane(part)?, [Part::new(part.leaf, 0)]);
            for block in Self::blocks(&[lane], start, step, count, MAX_WRITTEN_ELEMENTS) {
                let column = resized(&mut column, block.covered * lane.bytes);
                self.read(&whole, block.first, block.covered, column, lane.bytes)?;
                let from = source.get(block.index * stride + lane.at..).ok_or_else(|| error!("the memory buffer is too short"))?;
                strew(from, stride, lane.bytes, column, step * lane.bytes, block.count)?;
                self.write(&whole, block.first, block.covered, column, lane.bytes)?;
            }
        }
        Ok(())
    }

    /// Writes elements at distances to columns in the file of `target`, with the values of this table in between.
    fn strew_columns(&self, target: &Self, parts: &[Part], elements: &Strided, source: &[u8]) -> Result<()> {
        let &Strided { start, step, count, stride } = elements;
        let lanes = parts.iter().map(|part| self.plain_lane(part)).collect::<Result<Vec<_>>>()?;
        let mut column = Vec::new();
        for block in Self::blocks(&lanes, start, step, count, MAX_WRITTEN_ELEMENTS) {
            for (part, lane) in parts.iter().zip(&lanes) {
                let whole = [Part::new(part.leaf, 0)];
                let column = resized(&mut column, block.covered * lane.bytes);
                self.read(&whole, block.first, block.covered, column, lane.bytes)?;
                let from = source.get(block.index * stride + lane.at..).ok_or_else(|| error!("the memory buffer is too short"))?;
                strew(from, stride, lane.bytes, column, step * lane.bytes, block.count)?;
                target.write_file(&whole, block.first, block.covered, column, lane.bytes)?;
            }
        }
        Ok(())
    }

    /// As [`Table::read`], for elements that are `step` elements apart in the table.
    ///
    /// # Errors
    /// As for [`Table::read`].
    pub fn read_strided(&self, parts: &[Part], start: u64, step: u64, count: usize, target: &mut [u8], stride: usize) -> Result<()> {
        let Some(step) = self.step_of(start, step, count)? else { return self.read(parts, start, count, target, stride) };
        let lanes = parts.iter().map(|part| self.plain_lane(part)).collect::<Result<Vec<_>>>()?;
        let row: usize = lanes.iter().map(|lane| lane.bytes).sum();
        let (mut column, mut packed) = (Vec::new(), Vec::new());
        for block in Self::blocks(&lanes, start, step, count, MAX_READ_ELEMENTS) {
            let mut rest = resized(&mut packed, block.count * row);
            let mut columns: Vec<&[u8]> = Vec::with_capacity(lanes.len());
            for (part, lane) in parts.iter().zip(&lanes) {
                let column = resized(&mut column, block.covered * lane.bytes);
                self.read(&[Part::new(part.leaf, 0)], block.first, block.covered, column, lane.bytes)?;
                let (to, after) = rest.split_at_mut(block.count * lane.bytes);
                gather(column, step * lane.bytes, lane.bytes, to);
                columns.push(to);
                rest = after;
            }
            let records = target.get_mut(block.index * stride..).ok_or_else(|| error!("the memory buffer is too short"))?;
            interleave(&columns, &lanes, records, stride)?;
        }
        Ok(())
    }

    /// The distance of elements if it is not 1; an error if the last one is beyond the table.
    fn step_of(&self, start: u64, step: u64, count: usize) -> Result<Option<usize>> {
        if step == 1 || count == 0 {
            return Ok(None);
        }
        let last = (count as u64 - 1).checked_mul(step).and_then(|distance| start.checked_add(distance));
        match (last.filter(|last| *last < self.count), usize::try_from(step)) {
            (Some(_), Ok(step)) if step > 0 => Ok(Some(step)),
            _ => Err(error!("{count} elements from {start} on, {step} apart, are out of range: there are {}", self.count)),
        }
    }
}

/// The first `bytes` of a buffer, which grows if necessary.
fn resized(buffer: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    if buffer.len() < bytes {
        buffer.resize(bytes, 0);
    }
    &mut buffer[..bytes]
}

/// Copies `count` values of `width` bytes, which are `stride` bytes apart in `from`, to places that are `step` bytes apart.
fn strew(from: &[u8], stride: usize, width: usize, to: &mut [u8], step: usize, count: usize) -> Result<()> {
    fn words<const N: usize>(from: &[u8], stride: usize, to: &mut [u8], step: usize) {
        for (to, from) in to.chunks_mut(step).zip(from.chunks(stride)) {
            if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
                *to = *from;
            }
        }
    }
    let needed = count.checked_sub(1).map_or(0, |before| before * stride + width);
    if from.len() < needed || width > stride {
        return Err(error!("the memory buffer is too short"));
    }
    match width {
        0 => {}
        1 => words::<1>(from, stride, to, step),
        2 => words::<2>(from, stride, to, step),
        4 => words::<4>(from, stride, to, step),
        8 => words::<8>(from, stride, to, step),
        _ => to.chunks_mut(step).zip(from.chunks(stride)).for_each(|(to, from)| to[..width].copy_from_slice(&from[..width])),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::elements::dataspace::Dataspace;
    use crate::elements::datatype::{Datatype, Member};
    use crate::error::Result;
    use crate::table::Table;

    fn record() -> Datatype {
        let members = [
            ("a", 0, Datatype::Integer { bytes: 4, signed: true, swapped: false }),
            ("b", 4, Datatype::Integer { bytes: 2, signed: true, swapped: true }),
            ("c", 6, Datatype::Fixed(3)),
            ("d", 9, Datatype::Integer { bytes: 1, signed: false, swapped: false }),
            ("e", 10, Datatype::Float { bytes: 8, swapped: true }),
        ];
        Datatype::Compound { bytes: 18, members: members.into_iter().map(|(name, at, datatype)| Member::new(name.to_owned(), at, datatype)).collect() }
    }

    /// In memory and in a file: strided moves give what moves of single elements give.
    #[test]
    fn elements_at_distances_move_as_one_by_one() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let width = 18;
        for count in [500u64, 50_000] {
            let space = Dataspace::Simple { shape: vec![count], max_shape: vec![count] };
            let make = || Table::create(&record(), &space, folder.path(), None, Vec::new());
            let (mut strided, mut single) = (make()?, make()?);
            let parts = strided.all_parts();
            let first: Vec<u8> = (0..count as usize * width).map(|i| (i * 7 + i / 251) as u8).collect();
            for table in [&mut strided, &mut single] {
                table.write(&parts, 0, count as usize, &first, width)?;
            }
            for (start, step, stride) in [(0, 1, 18), (3, 2, 18), (1, 7, 40), (0, 64, 19), (5, 33, 256)] {
                let moved = ((count - start).div_ceil(step)) as usize;
                let source: Vec<u8> = (0..moved * stride).map(|i| (i * 11 + i / 253 + step as usize) as u8).collect();
                // The last element ends with its last member.
                let source = &source[..(moved - 1) * stride + width];
                strided.write_strided(&parts, start, step, moved, source, stride)?;
                for i in 0..moved {
                    single.write(&parts, start + i as u64 * step, 1, &source[i * stride..], stride)?;
                }
                assert!(strided.records()? == single.records()?, "{count} elements, every {step}th from {start} on");
                let (mut found, mut expected) = (vec![0xa5; source.len()], vec![0xa5; source.len()]);
                strided.read_strided(&parts, start, step, moved, &mut found, stride)?;
                for i in 0..moved {
                    single.read(&parts, start + i as u64 * step, 1, &mut expected[i * stride..], stride)?;
                }
                assert!(found == expected, "{count} elements, every {step}th from {start} on");
                let some = [parts[4], parts[1]];
                found.fill(1);
                expected.fill(1);
                strided.read_strided(&some, start, step, moved, &mut found, stride)?;
                for i in 0..moved {
                    single.read(&some, start + i as u64 * step, 1, &mut expected[i * stride..], stride)?;
                }
                assert!(found == expected, "two members of {count} elements, every {step}th from {start} on");
            }
            let mut out = vec![0; 3 * width];
            assert!(strided.read_strided(&parts, count - 4, 2, 3, &mut out, width).is_err());
            assert!(strided.write_strided(&parts, count - 4, 2, 3, &out, width).is_err());
            assert!(strided.read_strided(&parts, 0, 2, 4, &mut out, width).is_err());
            assert!(strided.write_strided(&parts, 0, 2, 4, &out, width).is_err());
            assert!(strided.read_strided(&parts, 0, u64::MAX, 3, &mut out, width).is_err());
        }
        Ok(())
    }
}
