//! Dataspace: the extent of a dataset or attribute (HDF5 specification IV.A.2.b).

use crate::{Error, Result};

/// Number of dimensions that a dataset has at most, as in HDF5.
pub const MAX_NDIM: usize = 32;

/// Null, scalar, or simple with a current and a maximum shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dataspace {
    /// No elements and no shape (`h5py.Empty`).
    Null,
    /// One element, ndim 0.
    Scalar,
    /// An N-dimensional box; slowest dimension first.
    Simple {
        /// Current extent of each dimension.
        shape: Vec<u64>,
        /// Largest extent of each dimension; `None` is unlimited. As long as `shape`.
        max_shape: Vec<Option<u64>>,
    },
}

impl Dataspace {
    /// A simple dataspace that cannot grow (ndim 0 gives a scalar).
    pub fn fixed(shape: Vec<u64>) -> Self {
        if shape.is_empty() {
            return Self::Scalar;
        }
        let max_shape = shape.iter().copied().map(Some).collect();
        Self::Simple { shape, max_shape }
    }
    /// Current extent; empty for null and scalar.
    pub fn shape(&self) -> &[u64] {
        match self {
            Self::Simple { shape, .. } => shape,
            _ => &[],
        }
    }
    /// Number of dimensions; 0 for null and scalar.
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }
    /// Number of elements.
    ///
    /// # Errors
    /// `Corrupt` if the product exceeds 64 bits.
    pub fn element_count(&self) -> Result<u64> {
        match self {
            Self::Null => Ok(0),
            _ => checked_product(self.shape()),
        }
    }
}

pub(crate) fn checked_product(extents: &[u64]) -> Result<u64> {
    // A zero extent makes the whole empty, even if the product of the others overflows.
    if extents.contains(&0) {
        return Ok(0);
    }
    extents
        .iter()
        .try_fold(1u64, |product, &extent| product.checked_mul(extent))
        .ok_or_else(|| Error::corrupt(format!("the element count of shape {extents:?} exceeds 64 bits")))
}
