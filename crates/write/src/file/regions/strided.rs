//! Splits strided regions into contiguous ones.

use hyperslab_array::{Error, Result};

use super::region::{Region, copy};

/// Splits a strided region, whose elements are `step` apart along each dimension, into regions without gaps. Calls `each`
/// with each of them and its values. `bytes` are the elements of the strided region, row-major.
///
/// # Errors
/// That of `each`; `InvalidInput` for bytes or steps that do not fit the region; `Unsupported` for values beyond
/// memory.
pub fn without_steps(region: &Region, step: &[u64], bytes: &[u8], mut each: impl FnMut(&Region, &[u8]) -> Result<()>) -> Result<()> {
    if step.len() != region.count.len() || step.contains(&0) || region.start.len() != region.count.len() {
        return Err(Error::invalid_input(format!("steps {step:?} for {} dimensions", region.count.len())));
    }
    let stepped: Vec<bool> = step.iter().zip(&region.count).map(|(step, count)| *step > 1 && *count > 1).collect();
    if !stepped.contains(&true) {
        return each(region, bytes);
    }
    let elements = region.elements().and_then(|elements| usize::try_from(elements).ok()).filter(|elements| *elements > 0);
    let Some(elements) = elements else { return each(&Region { start: region.start.clone(), count: region.count.clone() }, bytes) };
    if !bytes.len().is_multiple_of(elements) {
        return Err(Error::invalid_input(format!("{} bytes for {:?} elements", bytes.len(), region.count)));
    }
    let size = bytes.len() / elements;
    let count: Vec<u64> = region.count.iter().zip(&stepped).map(|(count, stepped)| if *stepped { 1 } else { *count }).collect();
    let length = count.iter().try_fold(size, |n, count| n.checked_mul(usize::try_from(*count).ok()?));
    let mut piece = vec![0; length.ok_or_else(|| Error::unsupported("values beyond memory"))?];
    let zeros = vec![0; count.len()];
    let mut index: Vec<u64> = zeros.clone();
    loop {
        let start = region.start.iter().zip(&index).zip(step).map(|((start, index), step)| index.checked_mul(*step)?.checked_add(*start));
        let start: Option<Vec<u64>> = start.collect();
        let start = start.ok_or_else(|| Error::invalid_input("a selection beyond 64 bits"))?;
        if !copy(&count, size, (bytes, &region.count, &index), (&mut piece, &count, &zeros)) {
            return Err(Error::internal("a piece outside of its values"));
        }
        each(&Region { start, count: count.clone() }, &piece)?;
        let next = (0..index.len())
            .rev()
            .find(|axis| stepped.get(*axis) == Some(&true) && index.get(*axis).zip(region.count.get(*axis)).is_some_and(|(at, count)| at + 1 < *count));
        let Some(axis) = next else { return Ok(()) };
        for (index, at) in index.iter_mut().enumerate().skip(axis) {
            *at = if index == axis { *at + 1 } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_element_goes_where_its_steps_lead(axes in proptest::collection::vec((0u64..3, 0u64..5, 1u64..4), 0..4)) {
            let region = Region { start: axes.iter().map(|a| a.0).collect(), count: axes.iter().map(|a| a.1).collect() };
            let step: Vec<u64> = axes.iter().map(|a| a.2).collect();
            let total = u8::try_from(region.elements().unwrap_or(0)).unwrap_or(u8::MAX);
            let bytes: Vec<u8> = (0..total).flat_map(|n| [n, n]).collect();
            let mut found = Vec::new();
            without_steps(&region, &step, &bytes, |piece, values| {
                let mut at = vec![0; piece.count.len()];
                for value in values.chunks(2) {
                    found.push((value[0], piece.start.iter().zip(&at).map(|(s, a)| s + a).collect::<Vec<u64>>()));
                    for axis in (0..at.len()).rev() {
                        at[axis] += 1;
                        if at[axis] < piece.count[axis] { break; }
                        at[axis] = 0;
                    }
                }
                Ok(())
            }).map_err(|error| TestCaseError::fail(error.to_string()))?;
            found.sort();
            let naive: Vec<(u8, Vec<u64>)> = (0..total).map(|n| {
                let mut left = u64::from(n);
                let mut place = vec![0; axes.len()];
                for axis in (0..axes.len()).rev() {
                    place[axis] = axes[axis].0 + (left % axes[axis].1) * axes[axis].2;
                    left /= axes[axis].1;
                }
                (n, place)
            }).collect();
            prop_assert_eq!(found, naive);
        }
    }
}
