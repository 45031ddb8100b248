//! Dataspaces: the number of elements, and how far it may grow.

/// The extent of a dataset or an attribute. HDF5 has these three classes and no others, so matches may be exhaustive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dataspace {
    /// No element at all.
    Null,
    /// One element.
    Scalar,
    /// An array that may grow to `max_shape` (`u64::MAX`: unlimited).
    Simple {
        /// Extent of each dimension.
        shape: Vec<u64>,
        /// Maximum extent of each dimension.
        max_shape: Vec<u64>,
    },
}

impl Dataspace {
    /// The number of elements; `None` if it exceeds `u64`.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Null => Some(0),
            Self::Scalar => Some(1),
            Self::Simple { shape, .. } => shape.iter().try_fold(1u64, |product, length| product.checked_mul(*length)),
        }
    }

    /// The extent of each dimension; empty for a scalar or null dataspace.
    pub fn shape(&self) -> &[u64] {
        match self {
            Self::Simple { shape, .. } => shape,
            _ => &[],
        }
    }
}

/// Calls `each` with the runs that two row-major arrays of different shapes have in common, as (first element in `from`,
/// first element in `to`, number of elements). A change of shape copies these runs.
pub(crate) fn common_runs(from: &[u64], to: &[u64], mut each: impl FnMut(u64, u64, u64)) {
    let shared: Vec<u64> = from.iter().zip(to).map(|(a, b)| *a.min(b)).collect();
    let Some((run, outer)) = shared.split_last() else { return };
    if shared.contains(&0) {
        return;
    }
    let mut at = vec![0u64; outer.len()];
    loop {
        let place = |shape: &[u64]| at.iter().zip(shape).fold(0u64, |sum, (i, n)| sum * n + i) * shape.last().copied().unwrap_or(1);
        each(place(&from[..from.len()]), place(to), *run);
        let mut dim = outer.len();
        loop {
            if dim == 0 {
                return;
            }
            dim -= 1;
            at[dim] += 1;
            if at[dim] < outer[dim] {
                break;
            }
            at[dim] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::common_runs;

    #[test]
    fn a_change_of_shape_keeps_each_element_at_its_coordinates() {
        let (from, to) = ([2u64, 3, 4], [3u64, 2, 5]);
        let mut old = [0u64; 24];
        (0..24).for_each(|i| old[i as usize] = i + 1);
        let mut new = vec![0u64; 30];
        common_runs(&from, &to, |a, b, n| (0..n).for_each(|i| new[(b + i) as usize] = old[(a + i) as usize]));
        for i in 0..3u64 {
            for j in 0..2u64 {
                for k in 0..5u64 {
                    let expected = if i < 2 && k < 4 { 1 + (i * 3 + j) * 4 + k } else { 0 };
                    assert_eq!(new[((i * 2 + j) * 5 + k) as usize], expected);
                }
            }
        }
    }
}
