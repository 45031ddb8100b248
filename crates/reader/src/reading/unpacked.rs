//! Unpacked: numbers as floats, scaled and masked by the rules of netCDF while they are read, in one pass over the values.

use hyperslab_array::{ByteOrder, Cancellation, Datatype, Error, FloatFormat, Result};
use hyperslab_formats::ObjectId;
use rayon::prelude::*;

use crate::{File, Picked};

/// Elements that a thread unpacks at a time.
const PART_ELEMENTS: usize = 64 << 10;

/// How stored numbers become floats: `stored * scale + offset`, and NaN where the stored number is one of `fills`. Products and
/// sums are computed in the type of the result, each rounded, as numpy computes them.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Unpacking {
    /// Whether results are doubles; otherwise they are single floats.
    pub is_double: bool,
    /// Numbers that mean a missing value.
    pub fills: Vec<f64>,
    /// What numbers are multiplied by.
    pub scale: Option<f64>,
    /// What is added then.
    pub offset: Option<f64>,
}

impl Unpacking {
    /// Numbers as they are.
    pub fn new(is_double: bool) -> Self {
        Self { is_double, fills: Vec::new(), scale: None, offset: None }
    }

    /// Makes these numbers NaN.
    #[must_use]
    pub fn with_fills(mut self, fills: Vec<f64>) -> Self {
        self.fills = fills;
        self
    }

    /// Multiplies by `scale`, then adds `offset`.
    #[must_use]
    pub fn with_factors(mut self, scale: Option<f64>, offset: Option<f64>) -> Self {
        (self.scale, self.offset) = (scale, offset);
        self
    }

    /// Bytes of a result.
    pub fn size(&self) -> usize {
        if self.is_double { 8 } else { 4 }
    }
}

impl File {
    /// Reads what `picked` selects, unpacked, into `out`: floats in the byte order of this machine.
    ///
    /// # Errors
    /// As [`File::read_picked_into`]; `Unsupported` if the elements are not integers or floats of 1, 2, 4 or 8 bytes in little-endian
    /// byte order; `InvalidInput` if `out` has another length.
    pub fn read_unpacked_into(&self, dataset: ObjectId, picked: &Picked, unpacking: &Unpacking, out: &mut [u8], cancellation: &Cancellation) -> Result<()> {
        let mut read = || {
            let description = self.dataset(dataset)?;
            let unpack = unpack_of(&description.datatype, unpacking)?;
            let width = usize::try_from(description.datatype.size()).map_err(|_| Error::internal("the size of a number"))?;
            let count = picked.count()?;
            let width_of_both = width.max(unpacking.size());
            let length = usize::try_from(count).ok().and_then(|count| count.checked_mul(width_of_both));
            let count = length
                .map(|length| length / width_of_both)
                .ok_or_else(|| Error::limit_exceeded("the selection exceeds the memory of this machine: read it in parts"))?;
            if out.len() != count * unpacking.size() {
                return Err(Error::invalid_input(format!("the buffer has {} bytes, {count} floats need {}", out.len(), count * unpacking.size())));
            }
            let mut stored = self.session().values().take(count * width)?;
            self.read_picked_into(dataset, picked, &mut stored, cancellation)?;
            if count <= PART_ELEMENTS {
                unpack(&stored, out, unpacking);
                return Ok(());
            }
            let parts = out.par_chunks_mut(PART_ELEMENTS * unpacking.size()).zip(stored.par_chunks(PART_ELEMENTS * width));
            self.session().compute(|| {
                parts.for_each(|(out, stored)| unpack(stored, out, unpacking));
                Ok(())
            })
        };
        read().map_err(|error| self.place(dataset, error))
    }
}

/// Unpacks numbers of one type into floats of one type.
type Unpack = fn(&[u8], &mut [u8], &Unpacking);

fn unpack_of(datatype: &Datatype, unpacking: &Unpacking) -> Result<Unpack> {
    let is_double = unpacking.is_double;
    macro_rules! to {
        ($stored:ty) => {
            if is_double { unpack::<$stored, f64> } else { unpack::<$stored, f32> }
        };
    }
    Ok(match datatype {
        Datatype::Integer { size, signed, order: ByteOrder::Little, bit_offset: 0, bit_precision } if u64::from(*bit_precision) == size * 8 => {
            match (size, signed) {
                (1, true) => to!(i8),
                (1, false) => to!(u8),
                (2, true) => to!(i16),
                (2, false) => to!(u16),
                (4, true) => to!(i32),
                (4, false) => to!(u32),
                (8, true) => to!(i64),
                (8, false) => to!(u64),
                _ => return Err(unsupported()),
            }
        }
        Datatype::Float { size: 4, order: ByteOrder::Little, format: FloatFormat::Ieee } => to!(f32),
        Datatype::Float { size: 8, order: ByteOrder::Little, format: FloatFormat::Ieee } => to!(f64),
        _ => return Err(unsupported()),
    })
}

fn unsupported() -> Error {
    Error::unsupported("unpacking of elements that are not integers or floats of 1, 2, 4 or 8 bytes in little-endian byte order")
}

/// A stored number as a float of type `F`.
trait Stored<F>: Sized {
    /// Bytes of a stored number.
    const SIZE: usize;
    /// The number in these bytes, rounded to the nearest float.
    fn float(bytes: &[u8]) -> F;
}

macro_rules! stored {
    ($float:ty: $($stored:ty)*) => {$(
        impl Stored<$float> for $stored {
            const SIZE: usize = size_of::<$stored>();
            #[inline(always)]
            fn float(bytes: &[u8]) -> $float {
                let mut own = [0; size_of::<$stored>()];
                own.copy_from_slice(bytes);
                <$stored>::from_le_bytes(own) as $float
            }
        }
    )*};
}
stored!(f32: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
stored!(f64: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);

/// Floats that values become.
trait Float: Copy + PartialEq + std::ops::Mul<Output = Self> + std::ops::Add<Output = Self> {
    const BYTES: usize;
    const NAN: Self;
    const ONE: Self;
    /// Adding it changes no number; +0 would change -0.
    const MINUS_ZERO: Self;
    /// The float that is this number, if there is one.
    fn exactly(number: f64) -> Option<Self>;
    /// The float nearest to this number.
    fn nearest(number: f64) -> Self;
    fn put(self, out: &mut [u8]);
}

macro_rules! float {
    ($float:ty) => {
        impl Float for $float {
            const BYTES: usize = size_of::<$float>();
            const NAN: Self = <$float>::NAN;
            const ONE: Self = 1.0;
            const MINUS_ZERO: Self = -0.0;
            fn exactly(number: f64) -> Option<Self> {
                let nearest = Self::nearest(number);
                (f64::from(nearest) == number).then_some(nearest)
            }
            fn nearest(number: f64) -> Self {
                number as $float
            }
            #[inline(always)]
            fn put(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_ne_bytes());
            }
        }
    };
}
float!(f32);
float!(f64);

fn unpack<S: Stored<F>, F: Float>(stored: &[u8], out: &mut [u8], unpacking: &Unpacking) {
    let scale = unpacking.scale.map_or(F::ONE, F::nearest);
    let offset = unpacking.offset.map_or(F::MINUS_ZERO, F::nearest);
    // Values are compared as floats; a number that is none of these equals no value.
    let fills: Vec<F> = unpacking.fills.iter().filter_map(|fill| F::exactly(*fill)).collect();
    let values = stored.chunks_exact(S::SIZE).map(S::float).zip(out.chunks_exact_mut(F::BYTES));
    // One comparison for each value is what compilers make vector code of.
    match fills.as_slice() {
        [] => values.for_each(|(value, out)| (value * scale + offset).put(out)),
        [fill] => values.for_each(|(value, out)| {
            let unpacked = value * scale + offset;
            (if value == *fill { F::NAN } else { unpacked }).put(out);
        }),
        several => values.for_each(|(value, out)| {
            let unpacked = value * scale + offset;
            (if several.contains(&value) { F::NAN } else { unpacked }).put(out);
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(stored: &[i16], unpacking: &Unpacking) -> Vec<f32> {
        let stored: Vec<u8> = stored.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut out = vec![0; stored.len() * 2];
        unpack::<i16, f32>(&stored, &mut out, unpacking);
        out.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    }

    #[test]
    fn numbers_are_scaled_and_masked() {
        let unpacking = Unpacking::new(false).with_fills(vec![-1.0, 7.0]).with_factors(Some(0.5), Some(1.0));
        let found = floats(&[-1, 0, 3, 7], &unpacking);
        assert!(found[0].is_nan() && found[3].is_nan());
        assert_eq!(found[1..3], [1.0, 2.5]);
    }

    #[test]
    fn without_factors_the_sign_of_zero_is_kept() {
        let mut out = [0; 4];
        unpack::<f32, f32>(&(-0.0_f32).to_le_bytes(), &mut out, &Unpacking::new(false));
        assert_eq!(f32::from_ne_bytes(out).to_bits(), (-0.0_f32).to_bits());
    }

    #[test]
    fn a_fill_value_that_no_float_is_masks_nothing() {
        let unpacking = Unpacking::new(false).with_fills(vec![0.1]);
        let mut out = [0; 4];
        unpack::<f32, f32>(&0.1_f32.to_le_bytes(), &mut out, &unpacking);
        assert_eq!(f32::from_ne_bytes(out), 0.1);
    }
}
