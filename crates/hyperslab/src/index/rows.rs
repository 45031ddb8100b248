//! Rows of one block: which of its positions pass a condition, and their numbers in a selection.

use arrow_buffer::Buffer;
use hyperslab_array::{Result, Run, Selection};
use roaring::{RoaringBitmap, RoaringTreemap};

use super::grid::BlockBox;
use crate::scan::pruner::RowSet;

const WORDS: usize = 1024;
/// Fewer positions than this are sorted rather than marked in a bitmap of the block.
const FEW: usize = 256;

/// Positions of a block.
#[derive(Debug, Clone)]
pub(super) enum Positions {
    None,
    /// All of so many.
    All(u32),
    /// In any order, no two alike.
    Few(Vec<u16>),
    Many(Box<[u64; WORDS]>),
}

impl Positions {
    /// All but the given ones of `count`.
    pub fn all_but(count: u32, mut visit: impl FnMut(&mut dyn FnMut(u16)) -> Result<()>) -> Result<Self> {
        let mut words = Box::new([0u64; WORDS]);
        fill(&mut words, count);
        visit(&mut |position| words[usize::from(position) / 64] &= !(1 << (position % 64)))?;
        Ok(Self::Many(words))
    }

    /// The given ones, about `expected`.
    pub fn of(expected: usize, mut visit: impl FnMut(&mut dyn FnMut(u16)) -> Result<()>) -> Result<Self> {
        if expected <= FEW {
            let mut few = Vec::with_capacity(expected);
            visit(&mut |position| few.push(position))?;
            return Ok(if few.is_empty() { Self::None } else { Self::Few(few) });
        }
        let mut words = Box::new([0u64; WORDS]);
        visit(&mut |position| words[usize::from(position) / 64] |= 1 << (position % 64))?;
        Ok(Self::Many(words))
    }

    /// As bits.
    fn words(&self) -> Box<[u64; WORDS]> {
        let mut words = Box::new([0u64; WORDS]);
        match self {
            Self::None => {}
            Self::All(count) => fill(&mut words, *count),
            Self::Few(few) => few.iter().for_each(|position| words[usize::from(*position) / 64] |= 1 << (position % 64)),
            Self::Many(many) => words = many.clone(),
        }
        words
    }
}

fn fill(words: &mut [u64; WORDS], count: u32) {
    let count = count as usize;
    for (number, word) in words.iter_mut().enumerate().take(count.div_ceil(64)) {
        let left = count - number * 64;
        *word = if left >= 64 { u64::MAX } else { (1 << left) - 1 };
    }
}

/// Numbers of rows, block after block.
#[derive(Default)]
pub(super) struct Gathered {
    rows: RoaringTreemap,
}

impl Gathered {
    /// The rows of what was gathered in parts, block after block.
    pub fn join(parts: impl IntoIterator<Item = Self>) -> RowSet {
        let mut all = RoaringTreemap::new();
        for part in parts {
            all |= part.rows;
        }
        RowSet(all)
    }

    /// Adds positions of a block whose elements follow each other from number `first` on.
    pub fn add_run(&mut self, positions: Positions, first: u64) {
        match positions {
            Positions::None => {}
            Positions::All(count) => {
                self.rows.insert_range(first..first + u64::from(count));
            }
            Positions::Few(mut few) => {
                few.sort_unstable();
                let numbers = few.iter().map(|position| first + u64::from(*position));
                self.add_sorted(numbers.collect());
            }
            Positions::Many(words) => {
                let (base, low) = ((first >> 32) as u32, first as u32);
                if u64::from(low) + (WORDS as u64) * 64 > 1 << 32 {
                    self.add_sorted(bits(&words).map(|position| first + u64::from(position)).collect());
                    return;
                }
                let bytes = Buffer::from_vec(words.iter().map(|word| word.to_le()).collect::<Vec<u64>>());
                self.rows |= RoaringTreemap::from_bitmaps([(base, RoaringBitmap::from_lsb0_bytes(low, &bytes))]);
            }
        }
    }

    fn add_sorted(&mut self, numbers: Vec<u64>) {
        if numbers.len() < 16 {
            numbers.iter().for_each(|number| {
                self.rows.insert(*number);
            });
        } else if let Ok(part) = RoaringTreemap::from_sorted_iter(numbers) {
            self.rows |= part;
        }
    }

    /// Adds positions of a block, as far as they are selected, by their numbers in the selection.
    pub fn add_selected(&mut self, positions: Positions, place: &BlockBox, selection: &Selection) -> Result<()> {
        if matches!(positions, Positions::None) {
            return Ok(());
        }
        if let Some(first) = whole_run(place, selection) {
            self.add_run(positions, first);
            return Ok(());
        }
        let words = positions.words();
        let mut numbers = Vec::new();
        each_run(place, selection, &mut |source, target, count| {
            let end = source + count;
            let mut number = source / 64;
            while number * 64 < end {
                let mut word = words.get(number as usize).copied().unwrap_or_default();
                if number * 64 < source {
                    word &= u64::MAX << (source % 64);
                }
                if end - number * 64 < 64 {
                    word &= (1 << (end % 64)) - 1;
                }
                while word != 0 {
                    numbers.push(target + (number * 64 + u64::from(word.trailing_zeros()) - source));
                    word &= word - 1;
                }
                number += 1;
            }
        });
        numbers.sort_unstable();
        self.add_sorted(numbers);
        Ok(())
    }
}

/// The number in the selection of a block's first element, where all of them follow each other there.
fn whole_run(place: &BlockBox, selection: &Selection) -> Option<u64> {
    let (mut first, mut stride, mut whole) = (0u64, 1u64, true);
    let axes = selection.axes().iter().zip(place.origin.iter().zip(&place.shape));
    for (axis, (start, count)) in axes.rev() {
        let (position, selected) = axis.positions_within(*start, start + count);
        if selected != *count || (!whole && *count > 1) {
            return None;
        }
        whole &= axis.count() == *count;
        first += position * stride;
        stride *= axis.count();
    }
    Some(first)
}

/// Calls `visit(position in the block, number in the selection, count)` for each run of both.
pub(super) fn each_run(place: &BlockBox, selection: &Selection, visit: &mut impl FnMut(u64, u64, u64)) {
    let axes = selection.axes().iter().zip(place.origin.iter().zip(&place.shape));
    let runs: Vec<Vec<Run>> = axes.map(|(axis, (start, count))| axis.runs_within(*start, start + count)).collect();
    let strides = |shape: &[u64]| {
        let mut strides = vec![1u64; shape.len()];
        let mut below = 1;
        for (stride, extent) in strides.iter_mut().zip(shape).rev() {
            *stride = below;
            below *= extent;
        }
        strides
    };
    let (here, there) = (strides(&place.shape), strides(&selection.shape()));
    descend(&runs, &here, &there, 0, 0, visit);
}

fn descend(runs: &[Vec<Run>], here: &[u64], there: &[u64], source: u64, target: u64, visit: &mut impl FnMut(u64, u64, u64)) {
    let (Some((first, rest)), Some((step_here, here)), Some((step_there, there))) = (runs.split_first(), here.split_first(), there.split_first()) else {
        visit(source, target, 1);
        return;
    };
    for run in first {
        if rest.is_empty() {
            visit(source + run.source, target + run.target, run.count);
            continue;
        }
        for step in 0..run.count {
            descend(rest, here, there, source + (run.source + step) * step_here, target + (run.target + step) * step_there, visit);
        }
    }
}

fn bits(words: &[u64; WORDS]) -> impl Iterator<Item = u32> + '_ {
    words.iter().enumerate().flat_map(|(number, word)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(number as u32 * 64 + bit)
        })
    })
}
