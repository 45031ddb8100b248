//! What of an object a new reference points at.

use hyperslab_array::name::name_of;
use hyperslab_array::{Error, HyperslabAxis, ReferencedPart, Result, StoredSelection};

use super::encode_selection;

/// The part of an object that a reference points at.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TargetPart {
    /// The object itself.
    Object,
    /// The attribute of this name.
    Attribute(String),
    /// Elements of a dataset.
    Region {
        /// Number of dimensions of the dataset.
        ndim: u32,
        /// As of [`super::encode_selection`].
        selection: Vec<u8>,
    },
}

impl TargetPart {
    /// The part that a stored reference means, of a dataset of `ndim` dimensions.
    ///
    /// # Errors
    /// That of `ndim`, which is asked if the selection does not tell; `Unsupported` for a selection that HDF5 cannot store.
    pub fn of(part: ReferencedPart, ndim: impl FnOnce() -> Result<u64>) -> Result<Self> {
        Ok(match part {
            ReferencedPart::Object => Self::Object,
            ReferencedPart::Attribute(name) => Self::Attribute(name),
            ReferencedPart::Region(selection) => {
                let ndim = selection.ndim().map_or_else(ndim, Ok)?;
                let ndim = u32::try_from(ndim).map_err(|_| Error::corrupt("a region of 2³² dimensions"))?;
                Self::Region { ndim, selection: encode_selection(&selection)? }
            }
        })
    }

    /// Parses the part that a caller wants a reference to point at: nothing for the object itself, or a letter and what it stands for:
    /// - `h`: start, stride, count and block of each dimension of a hyperslab;
    /// - `p`: the number of dimensions, and the coordinates of points;
    /// - `b`: the number of dimensions, and the coordinates of the first and of the last element of blocks;
    /// - `a`: the name of an attribute.
    ///
    /// Numbers are little-endian and have 64 bits.
    ///
    /// # Errors
    /// `InvalidInput` for other bytes; `Unsupported` for a selection that HDF5 cannot store.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = || Error::invalid_input("a reference that cannot be read");
        Ok(match bytes.split_first() {
            None => Self::Object,
            Some((b'a', name)) => Self::Attribute(name_of(name)),
            Some((kind, numbers)) => {
                let numbers = numbers.chunks(8).map(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)));
                let (ndim, selection) = numbers.collect::<Option<Vec<_>>>().and_then(|numbers| selected(*kind, &numbers)).ok_or_else(bad)?;
                Self::Region { ndim: u32::try_from(ndim).map_err(|_| bad())?, selection: encode_selection(&selection)? }
            }
        })
    }
}

/// Number of dimensions and selection of a region, see [`TargetPart::parse`]; `None` for numbers that are none.
fn selected(kind: u8, numbers: &[u64]) -> Option<(usize, StoredSelection)> {
    if kind == b'h' {
        let axes: Vec<[u64; 4]> = numbers.chunks(4).map(|axis| axis.try_into().ok()).collect::<Option<_>>()?;
        return Some((axes.len(), selection(&axes)));
    }
    let (ndim, numbers) = numbers.split_first()?;
    let ndim = usize::try_from(*ndim).ok().filter(|ndim| *ndim > 0 && numbers.len().is_multiple_of(*ndim))?;
    let mut points = numbers.chunks_exact(ndim).map(<[u64]>::to_vec);
    let selection = match kind {
        b'p' => StoredSelection::Points(points.collect()),
        b'b' => StoredSelection::Blocks(std::iter::from_fn(|| points.next().map(|first| Some((first, points.next()?)))).collect::<Option<_>>()?),
        _ => return None,
    };
    Some((ndim, selection))
}

fn selection(axes: &[[u64; 4]]) -> StoredSelection {
    if axes.is_empty() {
        return StoredSelection::All;
    }
    if axes.iter().any(|[_, _, count, block]| *count == 0 || *block == 0) {
        return StoredSelection::None;
    }
    let axis =
        |[start, stride, count, block]: &[u64; 4]| HyperslabAxis { start: *start, stride: *stride, count: Some(*count), block: Some(*block), limit: None };
    StoredSelection::Hyperslab(axes.iter().map(axis).collect())
}
