//! Runs of a region that are contiguous in two arrays, and copying a region between them.

/// Splits a region into runs that are contiguous in two arrays. The region has `count` elements and begins at `a_start` in an
/// array of `a_shape` and at `b_start` in one of `b_shape`. Calls `each` with the offset in both arrays and the length of each
/// run, in elements.
pub fn region_runs(count: &[u64], a_shape: &[u64], a_start: &[u64], b_shape: &[u64], b_start: &[u64], mut each: impl FnMut(u64, u64, u64)) {
    if count.contains(&0) {
        return;
    }
    let ndim = count.len();
    // All dimensions after `inner` are whole in both arrays.
    let mut inner = ndim.saturating_sub(1);
    while inner > 0 && count[inner] == a_shape[inner] && count[inner] == b_shape[inner] {
        inner -= 1;
    }
    let length: u64 = count.get(inner..).unwrap_or_default().iter().product();
    let strides = |shape: &[u64]| {
        let mut strides = vec![1u64; ndim];
        for axis in (0..ndim.saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * shape[axis + 1];
        }
        strides
    };
    let (a_strides, b_strides) = (strides(a_shape), strides(b_shape));
    let mut index = vec![0u64; inner];
    loop {
        let offset =
            |start: &[u64], strides: &[u64]| -> u64 { (0..ndim).map(|axis| (start[axis] + index.get(axis).copied().unwrap_or(0)) * strides[axis]).sum() };
        each(offset(a_start, &a_strides), offset(b_start, &b_strides), length);
        let Some(axis) = (0..inner).rev().find(|axis| index[*axis] + 1 < count[*axis]) else { return };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

/// Copies a region between arrays of elements of `size` bytes, each given as bytes, shape, and the region's start in it. Returns `false` if one
/// array is too short.
pub fn copy_region(count: &[u64], size: usize, from: (&[u8], &[u64], &[u64]), to: (&mut [u8], &[u64], &[u64])) -> bool {
    let mut whole = true;
    region_runs(count, from.1, from.2, to.1, to.2, |a, b, length| {
        let bytes = |at: u64| {
            let start = usize::try_from(at).ok()?.checked_mul(size)?;
            Some(start..start.checked_add(usize::try_from(length).ok()?.checked_mul(size)?)?)
        };
        let source = bytes(a).and_then(|range| from.0.get(range));
        let target = bytes(b).and_then(|range| to.0.get_mut(range));
        match (source, target) {
            (Some(source), Some(target)) => target.copy_from_slice(source),
            _ => whole = false,
        }
    });
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts, and shape and start in both arrays.
    fn case() -> impl Strategy<Value = [Vec<u64>; 5]> {
        proptest::collection::vec((0u64..4, 0u64..3, 0u64..3, 0u64..3, 0u64..3), 0..4).prop_map(|axes| {
            let pick = |f: fn(&(u64, u64, u64, u64, u64)) -> u64| axes.iter().map(f).collect();
            [pick(|a| a.0), pick(|a| a.0 + a.1 + a.2), pick(|a| a.1), pick(|a| a.0 + a.3 + a.4), pick(|a| a.3)]
        })
    }

    fn size(index: u64) -> usize {
        usize::try_from(index).unwrap_or(usize::MAX)
    }

    fn place(index: &[u64], start: &[u64], shape: &[u64]) -> usize {
        size(index.iter().zip(start).zip(shape).fold(0, |at, ((i, s), n)| at * n + i + s))
    }

    proptest! {
        #[test]
        fn a_copied_box_is_as_element_by_element([count, a_shape, a_start, b_shape, b_start] in case()) {
            let length = |shape: &[u64]| size(shape.iter().product());
            let source: Vec<u8> = (0..2 * length(&a_shape)).map(|n| n.to_le_bytes()[0]).collect();
            let mut target = vec![255u8; 2 * length(&b_shape)];
            let mut naive = target.clone();
            let mut index = vec![vec![]];
            for extent in &count {
                index = index.iter().flat_map(|i: &Vec<u64>| (0..*extent).map(move |n| { let mut i = i.clone(); i.push(n); i })).collect();
            }
            for i in index {
                for byte in 0..2 {
                    naive[2 * place(&i, &b_start, &b_shape) + byte] = source[2 * place(&i, &a_start, &a_shape) + byte];
                }
            }
            prop_assert!(copy_region(&count, 2, (&source, &a_shape, &a_start), (&mut target, &b_shape, &b_start)));
            prop_assert_eq!(target, naive);
        }
    }
}
