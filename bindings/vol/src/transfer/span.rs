//! Spans: runs of selected elements that are near each other in the file, and are moved together. Between a span and the program's
//! memory are packed elements: those from the span's first to its last, or only the selected ones, one after the other.

use hyperslab_arrow_container::error::Result;
use hyperslab_arrow_container::table::{Part, Table};

/// Elements that are contiguous in the file and in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    /// The first one in the file, and in memory.
    pub(super) file: u64,
    pub(super) memory: u64,
    pub(super) count: usize,
}

/// Maximum gap in bytes between runs that are moved together: moving the bytes between them costs less than another call.
pub(super) const MAX_GAP_BYTES: usize = 2 << 10;
/// Longer runs are moved by themselves, straight between memory and the columns.
const MIN_STRAIGHT_BYTES: usize = 64 << 10;
/// Bytes of a span.
const SPAN_BYTES: usize = 1 << 20;

/// Runs in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Span {
    pub(super) runs: Vec<Run>,
    /// The first element in the file, and one past the last.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Number of selected elements.
    pub(super) elements: usize,
}

impl Span {
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Number of elements from the first to the last.
    pub(super) fn covered(&self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether all elements from the first to the last are selected.
    pub(super) fn is_dense(&self) -> bool {
        self.elements == self.covered()
    }

    /// Whether a run can be added, if elements have this many bytes.
    pub(super) fn admits(&self, run: &Run, element_bytes: usize) -> bool {
        if self.is_empty() {
            return true;
        }
        let max = (SPAN_BYTES / element_bytes.max(1)) as u64;
        let max_gap = (MAX_GAP_BYTES / element_bytes.max(1)) as u64;
        let is_short = |run: &Run| run.count.saturating_mul(element_bytes) < MIN_STRAIGHT_BYTES;
        run.file >= self.end
            && run.file - self.end <= max_gap
            && run.file + run.count as u64 - self.start <= max
            && is_short(run)
            && self.runs.iter().rev().take(1).all(is_short)
    }

    pub(super) fn push(&mut self, run: Run) {
        let end = run.file + run.count as u64;
        match self.runs.last_mut() {
            None => (self.start, self.end) = (run.file, end),
            Some(last) if last.file + last.count as u64 == run.file && last.memory + last.count as u64 == run.memory => {
                last.count += run.count;
                self.elements += run.count;
                self.end = end;
                return;
            }
            Some(_) => self.end = end,
        }
        self.elements += run.count;
        self.runs.push(run);
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        (self.start, self.end, self.elements) = (0, 0, 0);
    }

    /// Reads the selected elements into `packed`, one after the other. `covering` is space for all elements of the span.
    pub(super) fn read_packed(&self, table: &Table, parts: &[Part], packed: &mut [u8], covering: &mut Vec<u8>, width: usize) -> Result<()> {
        if self.is_dense() {
            return table.read(parts, self.start, self.elements, packed, width);
        }
        if covering.len() < self.covered() * width {
            covering.resize(self.covered() * width, 0);
        }
        let covering = &mut covering[..self.covered() * width];
        table.read(parts, self.start, self.covered(), covering, width)?;
        let mut to = 0;
        for run in &self.runs {
            let from = (run.file - self.start) as usize * width;
            let bytes = run.count * width;
            copy(&mut packed[to..to + bytes], &covering[from..from + bytes]);
            to += bytes;
        }
        Ok(())
    }

    /// As [`Span::read_packed`], keeping the bytes of `packed` that belong to no part.
    pub(super) fn read_over(&self, table: &Table, parts: &[Part], packed: &mut [u8], covering: &mut Vec<u8>, width: usize) -> Result<()> {
        if covering.len() < self.covered() * width {
            covering.resize(self.covered() * width, 0);
        }
        let mut from = 0;
        for run in &self.runs {
            let to = (run.file - self.start) as usize * width;
            copy(&mut covering[to..to + run.count * width], &packed[from..from + run.count * width]);
            from += run.count * width;
        }
        self.read_packed(table, parts, packed, covering, width)
    }

    /// Parts of it with at most `max` elements from the first to the last.
    pub(super) fn pieces(&self, max: usize) -> Vec<Self> {
        let max = max.max(1);
        let (mut pieces, mut piece) = (Vec::new(), Self::default());
        for run in &self.runs {
            let mut rest = *run;
            while rest.count > 0 {
                let room = if piece.is_empty() { max } else { (piece.start + max as u64).saturating_sub(rest.file) as usize };
                let now = room.min(rest.count);
                if now > 0 {
                    piece.push(Run { count: now, ..rest });
                    rest = Run { file: rest.file + now as u64, memory: rest.memory + now as u64, count: rest.count - now };
                }
                if rest.count > 0 {
                    pieces.push(std::mem::take(&mut piece));
                }
            }
        }
        if !piece.is_empty() {
            pieces.push(piece);
        }
        pieces
    }

    /// Writes the selected elements, which are in `packed` one after the other.
    pub(super) fn write_packed(&self, table: &mut Table, parts: &[Part], packed: &[u8], covering: &mut Vec<u8>, width: usize) -> Result<()> {
        if self.is_dense() {
            return table.write(parts, self.start, self.elements, packed, width);
        }
        if table.is_shared() {
            // Another rank may write the elements in between.
            let mut from = 0;
            for run in &self.runs {
                table.write(parts, run.file, run.count, &packed[from..], width)?;
                from += run.count * width;
            }
            return Ok(());
        }
        if covering.len() < self.covered() * width {
            covering.resize(self.covered() * width, 0);
        }
        let covering = &mut covering[..self.covered() * width];
        table.read(parts, self.start, self.covered(), covering, width)?;
        let mut from = 0;
        for run in &self.runs {
            let to = (run.file - self.start) as usize * width;
            let bytes = run.count * width;
            copy(&mut covering[to..to + bytes], &packed[from..from + bytes]);
            from += bytes;
        }
        table.write(parts, self.start, self.covered(), covering, width)
    }
}

/// Copies bytes of the same length. A call for few bytes costs more than the copy.
#[inline]
pub(super) fn copy(to: &mut [u8], from: &[u8]) {
    macro_rules! fixed {
        ($($bytes:literal)*) => {
            match from.len() {
                $($bytes => {
                    if let (Some(to), Some(from)) = (to.first_chunk_mut::<$bytes>(), from.first_chunk::<$bytes>()) {
                        *to = *from;
                    }
                })*
                _ => to.copy_from_slice(from),
            }
        };
    }
    fixed!(1 2 4 8 16 32 64);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(file: u64, memory: u64, count: usize) -> Run {
        Run { file, memory, count }
    }

    #[test]
    fn near_runs_are_moved_together_and_far_ones_are_not() {
        let mut span = Span::default();
        assert!(span.admits(&run(900, 0, 1), 32));
        span.push(run(10, 0, 2));
        assert!(span.admits(&run(12, 5, 1), 32) && span.admits(&run(12 + 64, 5, 1), 32));
        assert!(!span.admits(&run(12 + 65, 5, 1), 32), "a large gap");
        assert!(!span.admits(&run(11, 5, 1), 32), "not in the order of the file");
        assert!(!span.admits(&run(12, 5, 1 << 20), 32), "a long run");
        span.push(run(12, 2, 3));
        assert_eq!((span.runs.len(), span.elements, span.covered(), span.is_dense()), (1, 5, 5, true));
        span.push(run(16, 5, 1));
        assert_eq!((span.runs.len(), span.elements, span.covered(), span.is_dense()), (2, 6, 7, false));
    }

    #[test]
    fn pieces_have_the_same_elements() {
        let mut span = Span::default();
        for i in 0..20 {
            span.push(run(3 * i, 100 - 5 * i, 2));
        }
        for max in 1..70 {
            let pieces = span.pieces(max);
            assert!(pieces.iter().all(|piece| piece.covered() <= max && !piece.is_empty()), "{max}");
            let all = |runs: &[Run]| runs.iter().flat_map(|run| (0..run.count as u64).map(|i| (run.file + i, run.memory + i))).collect::<Vec<_>>();
            assert_eq!(pieces.iter().flat_map(|piece| all(&piece.runs)).collect::<Vec<_>>(), all(&span.runs), "{max}");
        }
    }

    #[test]
    fn a_copy_is_the_same_for_every_length() {
        let from: Vec<u8> = (0..100).collect();
        for length in 0..100 {
            let mut to = vec![0; length];
            copy(&mut to, &from[..length]);
            assert_eq!(to, &from[..length]);
        }
    }
}
