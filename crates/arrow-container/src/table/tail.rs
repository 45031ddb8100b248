//! Elements that were written last, in small writes one after the other: they are kept in memory, and go to the file together. A record
//! of many members otherwise takes a system call for each of them.

use super::blocks::{place, write_pieces};
use super::kernel::deinterleave;
use super::lane::Lane;
use super::state::Table;
use super::store::{Backing, Part, Store, Tail, parts_of};
use crate::error::Result;
use crate::lock;

/// Maximum bytes of a write that is kept in memory; larger ones go to the file at once.
const MAX_WRITE_BYTES: usize = 16 << 10;
/// Maximum bytes kept in memory in total.
const MAX_TAIL_BYTES: usize = 256 << 10;

impl Table {
    /// Keeps whole elements in memory, if they are few and follow those that were written before. `false` if they have to be written to
    /// the file.
    pub(super) fn keep_tail(&self, parts: &[Part], lanes: &[Lane], start: u64, count: usize, source: &[u8], stride: usize) -> Result<bool> {
        let row: usize = lanes.iter().map(|lane| lane.bytes).sum();
        let is_whole = parts.len() == self.leaves.len() && parts.iter().enumerate().all(|(leaf, part)| part.leaf == leaf);
        let is_in_file = self.stores.iter().all(|store| matches!(store, Store::File)) && matches!(self.backing, Backing::Aside(_));
        if !is_whole || !is_in_file || self.ranks.is_some() || count.saturating_mul(row) > MAX_WRITE_BYTES {
            self.settle()?;
            return Ok(false);
        }
        if lock(&self.tail).as_ref().is_some_and(|tail| tail.first + tail.count as u64 != start || (tail.count + count) * row > MAX_TAIL_BYTES) {
            self.settle()?;
        }
        let mut tail = lock(&self.tail);
        let tail = tail.get_or_insert_with(|| Tail { first: start, count: 0, columns: vec![Vec::new(); lanes.len()] });
        for (column, lane) in tail.columns.iter_mut().zip(lanes) {
            column.resize((tail.count + count) * lane.bytes, 0);
        }
        let mut columns: Vec<&mut [u8]> = tail.columns.iter_mut().zip(lanes).map(|(column, lane)| &mut column[tail.count * lane.bytes..]).collect();
        deinterleave(source, stride, lanes, &mut columns)?;
        tail.count += count;
        Ok(true)
    }

    /// Writes the elements that are kept in memory to the file. If that fails, they are kept.
    pub(super) fn settle(&self) -> Result<()> {
        let mut kept = lock(&self.tail);
        let Some(tail) = &*kept else { return Ok(()) };
        let file = self.backing.file()?;
        for (batch, first, count) in parts_of(&self.batches, tail.first, tail.count as u64) {
            for (leaf, column) in tail.columns.iter().enumerate() {
                let bytes = self.leaves[leaf].bytes;
                let from = (first - tail.first) as usize * bytes;
                write_pieces(file, &column[from..from + count as usize * bytes], place(batch, leaf, bytes, first))?;
            }
        }
        *kept = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::elements::dataspace::Dataspace;
    use crate::elements::datatype::{Datatype, Member};
    use crate::error::Result;
    use crate::lock;
    use crate::table::Table;

    fn space(count: u64) -> Dataspace {
        Dataspace::Simple { shape: vec![count], max_shape: vec![u64::MAX] }
    }

    /// Small writes, reads and changes of shape in any order give what a vector gives.
    #[test]
    fn small_writes_are_kept_and_every_other_use_sees_them() -> Result<()> {
        let members = [("a", 0, Datatype::Integer { bytes: 4, signed: true, swapped: true }), ("b", 4, Datatype::Float { bytes: 8, swapped: false })];
        let members = members.into_iter().map(|(name, at, datatype)| Member::new(name.to_owned(), at, datatype)).collect();
        let record = Datatype::Compound { bytes: 12, members };
        let folder = tempfile::tempdir()?;
        let mut now = 50_000u64;
        let mut table = Table::create(&record, &space(now), folder.path(), None, Vec::new())?;
        let mut expected = vec![0u8; now as usize * 12];
        let parts = table.all_parts();
        let (mut state, mut was_kept) = (1u64, 0);
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for step in 0..3000u64 {
            let count = 1 + random(40);
            match random(12) {
                0 => {
                    let next = (now / 2 + random(now)).max(100);
                    table.resize(&space(now), &space(next))?;
                    expected.resize(next as usize * 12, 0);
                    now = next;
                }
                1 => {
                    let from = random(now - count);
                    let mut found = vec![0; count as usize * 12];
                    table.read(&parts, from, count as usize, &mut found, 12)?;
                    assert!(found == expected[from as usize * 12..(from + count) as usize * 12], "step {step}");
                }
                2 => {
                    let one = [parts[(step % 2) as usize]];
                    let width = if step % 2 == 0 { 4 } else { 8 };
                    let from = random(now - count);
                    let bytes = vec![step as u8; count as usize * 12];
                    table.write(&one, from, count as usize, &bytes, 12)?;
                    let at = one[0].at;
                    (from..from + count).for_each(|i| expected[i as usize * 12 + at..i as usize * 12 + at + width].fill(step as u8));
                }
                3 if step % 10 == 0 => {
                    table.publish(&format!("x-1.{step}.arrow"), &space(now), false)?;
                    assert!(!table.changed);
                }
                4 if count > 3 => {
                    let bytes = vec![step as u8 ^ 0x55; count as usize * 12];
                    let from = random(now - 2 * count);
                    table.write_strided(&parts, from, 2, count as usize, &bytes, 12)?;
                    (0..count).for_each(|i| expected[(from + 2 * i) as usize * 12..][..12].fill(step as u8 ^ 0x55));
                }
                _ => {
                    // Appends.
                    table.resize(&space(now), &space(now + count))?;
                    let bytes: Vec<u8> = (0..count * 12).map(|i| (i + step) as u8).collect();
                    table.write(&parts, now, count as usize, &bytes, 12)?;
                    expected.extend(&bytes);
                    now += count;
                    was_kept += usize::from(lock(&table.tail).is_some());
                }
            }
        }
        assert!(was_kept > 200, "{was_kept}");
        assert!(table.records()? == expected);
        Ok(())
    }
}
