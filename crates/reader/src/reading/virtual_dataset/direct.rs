//! Direct reads: if each part of a virtual dataset is one contiguous run of the output and none overlap, parts are read
//! straight into the output, several in parallel.

use hyperslab_array::{Axis, Cancellation, Error, HyperslabAxis, Result, Selection, StoredSelection};
use hyperslab_formats::Dataset;
use rayon::prelude::*;

use super::source::{conversion, open};
use super::source_part::{BlocksLeft, SourcePart, misses, parts};
use crate::File;
use crate::reading::stored::{MIN_PARALLEL_BYTES, fill_value as write_fill_value};

/// Maximum number of small parts that the calling thread reads: waking another one costs more, especially next to processes
/// that spin while they wait, as MPI's do.
const MAX_SERIAL_PARTS: usize = 4;

/// A part, the selection of its source, and its run in the output (first element and number of elements).
struct Run {
    part: SourcePart,
    source: Vec<Axis>,
    start: u64,
    count: u64,
}

/// What a part contributes to a selection.
enum Share {
    Nothing,
    Run {
        source: Vec<Axis>,
        start: u64,
        count: u64,
    },
    /// Elements that are not contiguous in the output.
    Scattered,
}

/// First index and number of elements, if they are adjacent.
fn adjacent(axis: &HyperslabAxis) -> Option<(u64, u64)> {
    let count = axis.len()?;
    let last = count.checked_sub(1)?;
    (axis.index(last).checked_sub(axis.start)? == last).then_some((axis.start, count))
}

fn share(part: &SourcePart, selection: &Selection) -> Share {
    let (StoredSelection::Hyperslab(target), StoredSelection::Hyperslab(from)) = (&part.target, &part.source) else { return Share::Scattered };
    let shape = selection.shape();
    if target.len() != from.len() || target.len() != selection.axes().len() || shape.len() != target.len() {
        return Share::Scattered;
    }
    let (mut source, mut start, mut count) = (Vec::with_capacity(target.len()), 0u64, 1u64);
    // Whether a dimension so far has several elements: those after it must be whole.
    let mut several = false;
    for (((target, from), wanted), extent) in target.iter().zip(from).zip(selection.axes()).zip(&shape) {
        let (Some((first, length)), Some((source_first, source_length))) = (adjacent(target), adjacent(from)) else { return Share::Scattered };
        let Axis::Range { start: begin, count: many, step } = *wanted else { return Share::Scattered };
        if length != source_length || (step != 1 && many > 1) {
            return Share::Scattered;
        }
        let (low, high) = (first.max(begin), first.saturating_add(length).min(begin.saturating_add(many)));
        let Some(here) = high.checked_sub(low).filter(|here| *here > 0) else { return Share::Nothing };
        if several && here != *extent {
            return Share::Scattered;
        }
        several |= here > 1;
        let Some(inside) = source_first.checked_add(low - first) else { return Share::Scattered };
        source.push(Axis::Range { start: inside, count: here, step: 1 });
        let place = start.checked_mul(*extent).and_then(|start| start.checked_add(low - begin));
        let (Some(place), Some(product)) = (place, count.checked_mul(here)) else { return Share::Scattered };
        (start, count) = (place, product);
    }
    Share::Run { source, start, count }
}

/// The runs of the parts in the output, in its order; `None` if some part is not one run, or two overlap.
fn runs_of(file: &File, description: &Dataset, selection: &Selection) -> Result<Option<Vec<Run>>> {
    let (mut runs, mut left) = (Vec::new(), BlocksLeft::of_a_read());
    for mapping in description.virtual_mappings.iter().filter(|mapping| !misses(mapping, selection)) {
        for part in parts(file, mapping, description.dataspace.shape(), Some(selection), &mut left)? {
            match share(&part, selection) {
                Share::Nothing => {}
                Share::Run { source, start, count } => runs.push(Run { part, source, start, count }),
                Share::Scattered => return Ok(None),
            }
        }
    }
    runs.sort_by_key(|run| run.start);
    let overlap = runs.windows(2).any(|pair| matches!(pair, [a, b] if a.start.saturating_add(a.count) > b.start));
    Ok((!overlap).then_some(runs))
}

/// Fills `out` if every part is one run of it and no two overlap; otherwise returns `false` and leaves `out` unchanged.
pub(super) fn fill(file: &File, description: &Dataset, selection: &Selection, out: &mut [u8], cancellation: &Cancellation) -> Result<bool> {
    if description.datatype.uses_heap() || description.datatype.has_references() {
        return Ok(false);
    }
    let size = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("element size"))?;
    let Some(runs) = runs_of(file, description, selection)? else { return Ok(false) };
    let fill_value = description.fill_value.as_deref();
    let bytes = out.len() as u64;
    let mut rest = out;
    let mut at = 0u64;
    let mut work: Vec<(&Run, &mut [u8])> = Vec::with_capacity(runs.len());
    for run in &runs {
        let outside = || Error::internal("a part of a virtual dataset outside of its output");
        let bytes = |elements: u64| usize::try_from(elements).ok().and_then(|elements| elements.checked_mul(size)).ok_or_else(outside);
        let (gap, after) = std::mem::take(&mut rest).split_at_mut_checked(bytes(run.start - at)?).ok_or_else(outside)?;
        let (values, after) = after.split_at_mut_checked(bytes(run.count)?).ok_or_else(outside)?;
        write_fill_value(fill_value, size, gap);
        work.push((run, values));
        (rest, at) = (after, run.start + run.count);
    }
    write_fill_value(fill_value, size, rest);
    let read_one = |(run, values): (&Run, &mut [u8])| -> Result<()> {
        cancellation.check()?;
        let Some((other, id)) = open(file, &run.part, values.len())? else {
            write_fill_value(fill_value, size, values);
            return Ok(());
        };
        let theirs = other.dataset(id)?;
        let conversion = conversion(&theirs, description, &run.part)?;
        let wanted = Selection::new(run.source.clone(), theirs.dataspace.shape())
            .map_err(|error| Error::corrupt(format!("a virtual mapping that its source does not hold: {}", error.message())))?;
        let placed = |error: Error| error.at_object(&run.part.dataset).in_file(other.name());
        match conversion {
            None => other.read_bytes_into(id, &wanted, values, cancellation).map_err(placed),
            Some(conversion) => {
                let converted = conversion.convert(&other.read_bytes(id, &wanted, cancellation).map_err(placed)?)?;
                if converted.len() != values.len() {
                    return Err(Error::internal("converted values of another length"));
                }
                values.copy_from_slice(&converted);
                Ok(())
            }
        }
    };
    let few = work.len() == 1 || (work.len() <= MAX_SERIAL_PARTS && bytes < MIN_PARALLEL_BYTES);
    if few || file.session().thread_count()? == 1 {
        return work.into_iter().try_for_each(read_one).map(|()| true);
    }
    file.session().compute(|| work.into_par_iter().try_for_each(read_one))?;
    Ok(true)
}
