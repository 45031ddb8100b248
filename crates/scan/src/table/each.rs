//! The same for each of many files or segments, by several threads.

use hyperslab_array::{Result, interruption};
use hyperslab_reader::Session;
use rayon::prelude::*;

/// From this number of items on, several threads work.
const MIN_PARALLEL: usize = 128;
/// Number of items that a thread takes at least.
const MIN_OF_THREAD: usize = 16;

/// The outcome for each item, in order; the first error in this order, whichever thread is first.
pub(crate) fn each_of<'a, T: Sync, U: Send>(session: &Session, items: &'a [T], work: impl Fn(&'a T) -> Result<U> + Sync + Send) -> Result<Vec<U>> {
    if items.len() < MIN_PARALLEL {
        return items.iter().map(work).collect();
    }
    let work = interruption::carried(work);
    let outcomes: Vec<Result<U>> = session.compute(|| Ok(items.par_iter().with_min_len(MIN_OF_THREAD).map(&work).collect()))?;
    outcomes.into_iter().collect()
}

/// As [`each_of`], for items that are consumed.
pub(crate) fn each_into<T: Send, U: Send>(session: &Session, items: Vec<T>, work: impl Fn(T) -> Result<U> + Sync + Send) -> Result<Vec<U>> {
    if items.len() < MIN_PARALLEL {
        return items.into_iter().map(work).collect();
    }
    let work = interruption::carried(work);
    let outcomes: Vec<Result<U>> = session.compute(|| Ok(items.into_par_iter().with_min_len(MIN_OF_THREAD).map(&work).collect()))?;
    outcomes.into_iter().collect()
}
