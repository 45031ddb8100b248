//! Selections as runs of contiguous elements.

use crate::ffi::*;
use crate::host::{Host, Owned, check};
use hyperslab_arrow_container::error::{Result, error};

/// Runs to request from HDF5 at a time.
const RUNS: usize = 1024;

/// Iterates over the runs of a selection, as (first element, number of elements).
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

    fn next(&mut self) -> Result<Option<(u64, u64)>> {
        match self {
            Self::One(run) => Ok(run.take()),
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
                let run = (offsets[*at], lengths[*at] as u64);
                *at += 1;
                Ok(Some(run))
            }
        }
    }
}

/// Intersects the runs of two selections: (element in the file, element in memory, number of elements).
pub(super) struct Pairs<'a> {
    file: Runs<'a>,
    memory: Runs<'a>,
    left: Option<(u64, u64)>,
    right: Option<(u64, u64)>,
}

impl<'a> Pairs<'a> {
    pub(super) fn of(file: Runs<'a>, memory: Runs<'a>) -> Self {
        Self { file, memory, left: None, right: None }
    }

    pub(super) fn next(&mut self) -> Result<Option<(u64, u64, usize)>> {
        if self.left.is_none() {
            self.left = self.file.next()?;
        }
        if self.right.is_none() {
            self.right = self.memory.next()?;
        }
        let (Some((file, in_file)), Some((memory, in_memory))) = (self.left, self.right) else { return Ok(None) };
        let now = in_file.min(in_memory);
        let rest = |at: u64, length: u64| (length > now).then_some((at + now, length - now));
        (self.left, self.right) = (rest(file, in_file), rest(memory, in_memory));
        Ok(Some((file, memory, usize::try_from(now).map_err(|_| error!("{now} elements exceed what one transfer can move"))?)))
    }
}
