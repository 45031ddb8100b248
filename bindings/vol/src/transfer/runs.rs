//! Selections as elements at regular distances.

use crate::ffi::*;
use crate::host::{Host, Owned, check};
use hyperslab_arrow_container::error::{Result, error};

/// Runs to request from HDF5 at a time.
const RUNS: usize = 1024;

/// Elements of a selection at regular distances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch {
    pub(super) first: u64,
    pub(super) count: u64,
    /// From one element to the next; 1: they are contiguous.
    pub(super) step: u64,
}

impl Stretch {
    fn contiguous(first: u64, count: u64) -> Self {
        Self { first, count, step: 1 }
    }

    /// What is left after the first `count` elements.
    fn after(self, count: u64) -> Option<Self> {
        (self.count > count).then(|| Self { first: self.first + count * self.step, count: self.count - count, ..self })
    }
}

/// The stretch that a list of runs begins with, and the number of runs in it.
fn stretch_of(offsets: &[u64], lengths: &[usize]) -> Option<(Stretch, usize)> {
    let (first, length) = (*offsets.first()?, *lengths.first()?);
    let step = offsets.get(1).and_then(|next| next.checked_sub(first)).unwrap_or(0);
    if length != 1 || step == 0 || lengths.get(1) != Some(&1) {
        return Some((Stretch::contiguous(first, length as u64), 1));
    }
    let pairs = offsets.windows(2).zip(lengths.get(1..).unwrap_or_default());
    let more = pairs.take_while(|(pair, length)| matches!(pair, [one, next] if next.wrapping_sub(*one) == step) && **length == 1).count();
    Some((Stretch { first, count: more as u64 + 1, step }, more + 1))
}

/// Iterates over the stretches of a selection.
pub(super) enum Runs<'a> {
    One(Option<(u64, u64)>),
    Many { host: &'a Host, iterator: Owned, offsets: Vec<hsize_t>, lengths: Vec<usize>, at: usize, count: usize },
}

impl<'a> Runs<'a> {
    pub(super) fn of(host: &'a Host, space: hid_t) -> Result<Self> {
        // SAFETY: valid IDs of the host.
        unsafe {
            if (host.call.H5Sget_select_type)(space) == 3 {
                let count = (host.call.H5Sget_simple_extent_npoints)(space);
                return Ok(Self::One(u64::try_from(count).ok().filter(|count| *count > 0).map(|count| (0, count))));
            }
            let iterator = Owned::new((host.call.H5Ssel_iter_create)(space, 1, 0), host.call.H5Ssel_iter_close, "the selection cannot be iterated")?;
            Ok(Self::Many { host, iterator, offsets: vec![0; RUNS], lengths: vec![0; RUNS], at: 0, count: 0 })
        }
    }

    fn next(&mut self) -> Result<Option<Stretch>> {
        match self {
            Self::One(run) => Ok(run.take().map(|(first, count)| Stretch::contiguous(first, count))),
            Self::Many { host, iterator, offsets, lengths, at, count } => {
                if at == count {
                    let mut elements = 0;
                    // SAFETY: the buffers have space for the requested number of runs.
                    let status = unsafe {
                        (host.call.H5Ssel_iter_get_seq_list)(
                            iterator.id,
                            RUNS,
                            usize::MAX >> 1,
                            count,
                            &raw mut elements,
                            offsets.as_mut_ptr(),
                            lengths.as_mut_ptr(),
                        )
                    };
                    check(status, "the selection cannot be iterated")?;
                    *at = 0;
                    if *count == 0 {
                        return Ok(None);
                    }
                }
                let left = *at..*count;
                let found = stretch_of(offsets.get(left.clone()).unwrap_or_default(), lengths.get(left).unwrap_or_default());
                let (stretch, runs) = found.ok_or_else(|| error!("HDF5 returned more runs of a selection than it was asked for"))?;
                *at += runs;
                Ok(Some(stretch))
            }
        }
    }
}

/// Elements at regular distances in the file and in memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) file: u64,
    pub(super) memory: u64,
    pub(super) count: usize,
    /// From one element to the next.
    pub(super) file_step: u64,
    pub(super) memory_step: u64,
}

impl Pair {
    /// Whether the elements are contiguous in the file and in memory.
    pub(super) fn is_contiguous(&self) -> bool {
        self.count == 1 || (self.file_step, self.memory_step) == (1, 1)
    }

    /// Adds the elements of `next` if they follow at the same distances.
    pub(super) fn extend(&mut self, next: &Self) -> bool {
        let steps = (self.file_step, self.memory_step);
        let follows = steps == (next.file_step, next.memory_step)
            && self.file + self.count as u64 * steps.0 == next.file
            && self.memory + self.count as u64 * steps.1 == next.memory;
        if follows {
            self.count += next.count;
        }
        follows
    }
}

/// Pairs the elements of two selections.
pub(super) struct Pairs<'a> {
    file: Runs<'a>,
    memory: Runs<'a>,
    left: Option<Stretch>,
    right: Option<Stretch>,
}

impl<'a> Pairs<'a> {
    pub(super) fn of(file: Runs<'a>, memory: Runs<'a>) -> Self {
        Self { file, memory, left: None, right: None }
    }

    pub(super) fn next(&mut self) -> Result<Option<Pair>> {
        if self.left.is_none() {
            self.left = self.file.next()?;
        }
        if self.right.is_none() {
            self.right = self.memory.next()?;
        }
        let (Some(file), Some(memory)) = (self.left, self.right) else { return Ok(None) };
        let now = file.count.min(memory.count);
        (self.left, self.right) = (file.after(now), memory.after(now));
        let count = usize::try_from(now).map_err(|_| error!("{now} elements exceed what one transfer can move"))?;
        Ok(Some(Pair { file: file.first, memory: memory.first, count, file_step: file.step, memory_step: memory.step }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_elements_at_regular_distances_are_one_stretch() {
        let of = |offsets: &[u64], lengths: &[usize]| stretch_of(offsets, lengths).map(|(stretch, runs)| (stretch.first, stretch.count, stretch.step, runs));
        assert_eq!(of(&[], &[]), None);
        assert_eq!(of(&[7], &[3]), Some((7, 3, 1, 1)));
        assert_eq!(of(&[7], &[1]), Some((7, 1, 1, 1)));
        assert_eq!(of(&[7, 9, 11, 13], &[1, 1, 1, 1]), Some((7, 4, 2, 4)));
        assert_eq!(of(&[7, 9, 11, 14], &[1, 1, 1, 1]), Some((7, 3, 2, 3)));
        assert_eq!(of(&[7, 9, 11, 13], &[1, 1, 2, 1]), Some((7, 2, 2, 2)));
        assert_eq!(of(&[7, 9], &[1, 2]), Some((7, 1, 1, 1)));
        assert_eq!(of(&[9, 7, 5], &[1, 1, 1]), Some((9, 1, 1, 1)), "points in falling order");
        assert_eq!(of(&[9, 9], &[1, 1]), Some((9, 1, 1, 1)), "the same point twice");
    }

    #[test]
    fn stretches_of_two_selections_are_cut_where_either_ends() -> Result<()> {
        let mut pairs = Pairs::of(Runs::One(Some((100, 5))), Runs::One(None));
        pairs.right = Some(Stretch { first: 0, count: 3, step: 8 });
        let first = pairs.next()?;
        assert_eq!(first, Some(Pair { file: 100, memory: 0, count: 3, file_step: 1, memory_step: 8 }));
        assert_eq!(pairs.left, Some(Stretch { first: 103, count: 2, step: 1 }));
        let (mut pair, next) = (
            first.unwrap_or(Pair { file: 0, memory: 0, count: 0, file_step: 0, memory_step: 0 }),
            Pair { file: 103, memory: 24, count: 2, file_step: 1, memory_step: 8 },
        );
        assert!(pair.extend(&next) && pair.count == 5 && !pair.extend(&next));
        Ok(())
    }
}
