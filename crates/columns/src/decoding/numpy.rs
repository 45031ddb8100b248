//! Decoded values in numpy, with the dtypes of xarray's `decode_cf`: missing numbers are NaN, missing times NaT.

use arrow_schema::DataType;
use half::f16;
use hyperslab_array::{ByteOrder, Error, Result};

use super::time::Count;
use super::{Decoding, Kind, Number};

/// The dtype of decoded values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NumpyType {
    /// Stored numbers, with the sign that `_Unsigned` gives them.
    Stored(DataType),
    /// Numbers with NaN for missing ones, unpacked if they are packed.
    Float(DataType),
    /// `bool`.
    Boolean,
    /// `datetime64[ns]`; dates of cftime where numpy has none.
    Datetime,
    /// `timedelta64[ns]`.
    Timedelta,
    /// Objects: `str`.
    Text,
}

impl NumpyType {
    /// Name of the dtype.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stored(data_type) | Self::Float(data_type) => match data_type {
                DataType::Int8 => "i1",
                DataType::Int16 => "i2",
                DataType::Int32 => "i4",
                DataType::Int64 => "i8",
                DataType::UInt8 => "u1",
                DataType::UInt16 => "u2",
                DataType::UInt32 => "u4",
                DataType::UInt64 => "u8",
                DataType::Float16 => "f2",
                DataType::Float32 => "f4",
                _ => "f8",
            },
            Self::Boolean => "?",
            Self::Datetime => "M8[ns]",
            Self::Timedelta => "m8[ns]",
            Self::Text => "O",
        }
    }

    /// Bytes of a decoded value.
    pub fn size(&self) -> usize {
        match self {
            Self::Stored(data_type) | Self::Float(data_type) => data_type.primitive_width().unwrap_or(8),
            Self::Boolean => 1,
            Self::Datetime | Self::Timedelta | Self::Text => 8,
        }
    }
}

/// numpy's NaT.
pub(super) const NAT: i64 = i64::MIN;

impl Decoding {
    /// Bytes of a stored number.
    pub fn stored_size(&self) -> usize {
        self.stored.primitive_width().unwrap_or(1)
    }

    /// The dtype of decoded values.
    pub fn numpy_type(&self) -> NumpyType {
        let marks = self.missing.iter().any(|number| !number.as_f64().is_nan());
        match self.kind {
            Kind::Time(_) => NumpyType::Datetime,
            Kind::Duration(_) => NumpyType::Timedelta,
            Kind::Text { .. } => NumpyType::Text,
            // numpy's truth values have no missing one.
            Kind::Boolean if !marks => NumpyType::Boolean,
            _ if self.is_packed() => NumpyType::Float(self.unpacked()),
            _ if marks && self.meant.is_integer() => {
                NumpyType::Float(if self.meant.primitive_width() <= Some(2) { DataType::Float32 } else { DataType::Float64 })
            }
            _ if marks => NumpyType::Float(self.meant.clone()),
            _ => NumpyType::Stored(self.meant.clone()),
        }
    }

    /// Type of unpacked numbers, as xarray chooses it.
    pub(super) fn unpacked(&self) -> DataType {
        let float = |data_type: &DataType| matches!(data_type, DataType::Float32 | DataType::Float64).then(|| data_type.clone());
        let is_four_bytes = self.meant.is_integer() && self.meant.primitive_width() == Some(4);
        match (&self.scale, &self.offset) {
            (Some(scale), Some(offset)) if scale.data_type == offset.data_type && !is_four_bytes => float(&scale.data_type),
            // Whole factors would make whole numbers, which have no NaN.
            (Some(scale), None) => float(&scale.data_type),
            _ => None,
        }
        .unwrap_or(DataType::Float64)
    }

    /// Decodes stored numbers in a byte order into memory of [`Decoding::numpy_type`]. `false`, with `out` undefined, if numpy lacks
    /// one of the dates: [`Decoding::microseconds`] has them all.
    ///
    /// # Errors
    /// `InvalidInput` if the lengths differ, or if a duration exceeds 292 years.
    pub fn decode_into(&self, order: ByteOrder, stored: &[u8], out: &mut [u8]) -> Result<bool> {
        let (width, to) = (self.stored_size(), self.numpy_type());
        if stored.len() / width != out.len() / to.size() || !stored.len().is_multiple_of(width) || !out.len().is_multiple_of(to.size()) {
            return Err(Error::internal("decoded values of another number"));
        }
        match &to {
            NumpyType::Stored(_) => copy(order, width, stored, out),
            NumpyType::Boolean => {
                for (bytes, out) in stored.chunks_exact(width).zip(out) {
                    *out = u8::from(bytes.iter().any(|byte| *byte != 0));
                }
            }
            // Packed numbers are longer.
            NumpyType::Float(DataType::Float16) => unpack::<f16, f16>(self, order, stored, out),
            NumpyType::Float(DataType::Float32) => singles(self, order, stored, out),
            NumpyType::Float(_) => doubles(self, order, stored, out),
            NumpyType::Text => return Err(Error::invalid_input("texts of characters, which have no numbers")),
            NumpyType::Datetime if self.cuts_floats && (self.is_packed() || self.meant.is_floating()) => return Ok(self.cut_times(order, stored, out)),
            NumpyType::Datetime | NumpyType::Timedelta => return Ok(self.whole_times(order, stored, out) || self.wide_times(order, stored, out)?),
        }
        Ok(true)
    }

    /// Times of any numbers.
    pub(super) fn wide_times(&self, order: ByteOrder, stored: &[u8], out: &mut [u8]) -> Result<bool> {
        let mut put = out.as_chunks_mut::<8>().0.iter_mut();
        let mut outside = None;
        self.counts(order, stored, |count| {
            let found = match (count, &self.kind) {
                (None, _) => Some(NAT),
                (Some(count), Kind::Time(time)) => time.datetime(count),
                (Some(count), Kind::Duration(unit)) => count.nanoseconds(*unit).and_then(|n| i64::try_from(n).ok()).filter(|n| *n != NAT),
                _ => None,
            };
            match (put.next(), found) {
                (Some(out), Some(found)) => *out = found.to_ne_bytes(),
                _ => outside = outside.or(count),
            }
        });
        match (outside, &self.kind) {
            (Some(_), Kind::Duration(_)) => {
                Err(Error::invalid_input("durations beyond 292 years, which numpy's nanoseconds do not hold: read them without `decoded`"))
            }
            (outside, _) => Ok(outside.is_none()),
        }
    }

    /// Converts stored numbers to microseconds since [`super::TimeUnits::epoch`], from which cftime makes dates: 64-bit integers, whose
    /// minimum means a missing date.
    ///
    /// # Errors
    /// `InvalidInput` if this is not a variable of dates, the lengths differ, or a date is too far away.
    pub fn microseconds(&self, order: ByteOrder, stored: &[u8], out: &mut [u8]) -> Result<()> {
        let Kind::Time(time) = &self.kind else { return Err(Error::invalid_input("a variable that has no dates")) };
        let mut put = out.as_chunks_mut::<8>().0.iter_mut();
        let mut outside = false;
        self.counts(order, stored, |count| {
            let found = count.map_or(Some(NAT), |count| time.microseconds(count).filter(|found| *found != NAT));
            match (put.next(), found) {
                (Some(out), Some(found)) => *out = found.to_ne_bytes(),
                _ => outside = true,
            }
        });
        if outside { Err(Error::invalid_input("a date that is further than 292,000 years from 1970")) } else { Ok(()) }
    }

    /// Unpacked numbers, each rounded as numpy's are; NaN for missing ones.
    pub(super) fn floats(&self, order: ByteOrder, stored: &[u8]) -> Vec<f64> {
        let count = stored.len() / self.stored_size();
        if self.is_packed() && self.unpacked() == DataType::Float32 {
            let mut unpacked = vec![0; count * 4];
            singles(self, order, stored, &mut unpacked);
            return unpacked.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes).into()).collect();
        }
        let mut unpacked = vec![0; count * 8];
        doubles(self, order, stored, &mut unpacked);
        unpacked.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect()
    }

    /// Stored counts of times, unpacked; `None` for missing ones.
    pub(super) fn counts(&self, order: ByteOrder, stored: &[u8], mut each: impl FnMut(Option<Count>)) {
        if self.is_packed() {
            self.floats(order, stored).into_iter().for_each(|value| each((!value.is_nan()).then_some(Count::Float(value))));
            return;
        }
        macro_rules! counts {
            ($stored:ty, $count:expr) => {{
                let missing = <$stored as Stored>::missing(&self.missing);
                for bytes in stored.chunks_exact(size_of::<$stored>()) {
                    let value = <$stored as Stored>::get(bytes, order);
                    each(if missing.contains(&value) { None } else { $count(value) });
                }
            }};
        }
        macro_rules! whole {
            ($stored:ty) => {
                counts!($stored, |value: $stored| Some(Count::Integer(value.into())))
            };
        }
        let float = |value: f64| (!value.is_nan()).then_some(Count::Float(value));
        match self.meant {
            DataType::Int8 => whole!(i8),
            DataType::Int16 => whole!(i16),
            DataType::Int32 => whole!(i32),
            DataType::Int64 => whole!(i64),
            DataType::UInt8 => whole!(u8),
            DataType::UInt16 => whole!(u16),
            DataType::UInt32 => whole!(u32),
            DataType::UInt64 => whole!(u64),
            DataType::Float16 => counts!(f16, |value: f16| float(value.to_f64())),
            DataType::Float32 => counts!(f32, |value: f32| float(value.into())),
            _ => counts!(f64, float),
        }
    }
}

/// Numbers in the byte order of this machine.
fn copy(order: ByteOrder, width: usize, stored: &[u8], out: &mut [u8]) {
    out.copy_from_slice(stored);
    if is_swapped(order) {
        out.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}

fn is_swapped(order: ByteOrder) -> bool {
    (order == ByteOrder::Big) != cfg!(target_endian = "big")
}

/// A stored number.
pub(super) trait Stored: Sized + Copy + PartialEq {
    /// The number in its bytes.
    fn get(bytes: &[u8], order: ByteOrder) -> Self;
    /// Those of the numbers that a stored one can be.
    fn missing(numbers: &[Number]) -> Vec<Self>;
}

macro_rules! get {
    ($stored:ty) => {
        #[inline(always)]
        fn get(bytes: &[u8], order: ByteOrder) -> Self {
            let mut own = [0; size_of::<$stored>()];
            own.copy_from_slice(bytes);
            if order == ByteOrder::Big { Self::from_be_bytes(own) } else { Self::from_le_bytes(own) }
        }
    };
}

macro_rules! stored {
    ($($stored:ty)*) => {$(
        impl Stored for $stored {
            get!($stored);
            fn missing(numbers: &[Number]) -> Vec<Self> {
                numbers.iter().filter_map(|number| Self::try_from(number.whole()?).ok()).collect()
            }
        }
    )*};
}
stored!(i8 u8 i16 u16 i32 u32 i64 u64);

// Constants are compared in the stored type: a double 1e20 marks a float 1e20. NaN stays NaN without a mark.
impl Stored for f16 {
    get!(f16);
    fn missing(numbers: &[Number]) -> Vec<Self> {
        numbers.iter().map(|number| Self::from_f64(number.as_f64())).collect()
    }
}
impl Stored for f32 {
    get!(f32);
    fn missing(numbers: &[Number]) -> Vec<Self> {
        numbers.iter().map(|number| number.as_f64() as Self).collect()
    }
}
impl Stored for f64 {
    get!(f64);
    fn missing(numbers: &[Number]) -> Vec<Self> {
        numbers.iter().map(|number| number.as_f64()).collect()
    }
}

/// Floats that values become.
trait Float: Copy + PartialEq + std::ops::Mul<Output = Self> + std::ops::Add<Output = Self> {
    const SIZE: usize;
    const NAN: Self;
    const ONE: Self;
    /// Adding it changes no number; +0 would change -0.
    const MINUS_ZERO: Self;
    /// The float nearest to this number.
    fn nearest(number: f64) -> Self;
    fn get(bytes: &[u8]) -> Self;
    fn put(self, out: &mut [u8]);
}

macro_rules! float {
    ($float:ty, $nearest:expr, $one:expr, $minus_zero:expr) => {
        impl Float for $float {
            const SIZE: usize = size_of::<$float>();
            const NAN: Self = <$float>::NAN;
            const ONE: Self = $one;
            const MINUS_ZERO: Self = $minus_zero;
            #[inline(always)]
            fn nearest(number: f64) -> Self {
                $nearest(number)
            }
            #[inline(always)]
            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$float>()];
                own.copy_from_slice(bytes);
                Self::from_ne_bytes(own)
            }
            #[inline(always)]
            fn put(self, out: &mut [u8]) {
                out.copy_from_slice(&self.to_ne_bytes());
            }
        }
    };
}
float!(f16, f16::from_f64, f16::ONE, f16::NEG_ZERO);
float!(f32, |number| number as f32, 1.0, -0.0);
float!(f64, |number| number, 1.0, -0.0);

/// A stored number as a float, rounded once.
trait Becomes<F> {
    /// Whether different numbers become different floats.
    const IS_EXACT: bool;
    fn float(self) -> F;
}

macro_rules! becomes {
    ($float:ty: $($stored:ty)*) => {$(
        impl Becomes<$float> for $stored {
            const IS_EXACT: bool = size_of::<$stored>() < size_of::<$float>() || (size_of::<$stored>() == size_of::<$float>() && <$stored>::MAX as f64 > 1e30);
            #[inline(always)]
            fn float(self) -> $float {
                self as $float
            }
        }
    )*};
}
becomes!(f32: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
becomes!(f64: i8 u8 i16 u16 i32 u32 i64 u64 f32 f64);
impl Becomes<Self> for f16 {
    const IS_EXACT: bool = true;
    fn float(self) -> Self {
        self
    }
}
impl Becomes<f32> for f16 {
    const IS_EXACT: bool = true;
    fn float(self) -> f32 {
        self.to_f32()
    }
}
impl Becomes<f64> for f16 {
    const IS_EXACT: bool = true;
    fn float(self) -> f64 {
        self.to_f64()
    }
}

/// Unpacks numbers of any type into floats of one type.
macro_rules! unpack_into {
    ($float:ty, $decoding:expr, $order:expr, $stored:expr, $out:expr) => {
        match $decoding.meant {
            DataType::Int8 => unpack::<i8, $float>($decoding, $order, $stored, $out),
            DataType::UInt8 => unpack::<u8, $float>($decoding, $order, $stored, $out),
            DataType::Int16 => unpack::<i16, $float>($decoding, $order, $stored, $out),
            DataType::UInt16 => unpack::<u16, $float>($decoding, $order, $stored, $out),
            DataType::Int32 => unpack::<i32, $float>($decoding, $order, $stored, $out),
            DataType::UInt32 => unpack::<u32, $float>($decoding, $order, $stored, $out),
            DataType::Int64 => unpack::<i64, $float>($decoding, $order, $stored, $out),
            DataType::UInt64 => unpack::<u64, $float>($decoding, $order, $stored, $out),
            DataType::Float16 => unpack::<f16, $float>($decoding, $order, $stored, $out),
            DataType::Float32 => unpack::<f32, $float>($decoding, $order, $stored, $out),
            _ => unpack::<f64, $float>($decoding, $order, $stored, $out),
        }
    };
}

fn singles(decoding: &Decoding, order: ByteOrder, stored: &[u8], out: &mut [u8]) {
    unpack_into!(f32, decoding, order, stored, out);
}

fn doubles(decoding: &Decoding, order: ByteOrder, stored: &[u8], out: &mut [u8]) {
    unpack_into!(f64, decoding, order, stored, out);
}

/// Values whose stored and decoded bytes fit into the first cache together.
const BLOCK: usize = 1024;

/// Unpacks numbers of one type: `stored * scale + offset`, each step rounded in the type of the result, as numpy computes.
fn unpack<S: Stored + Becomes<F>, F: Float>(decoding: &Decoding, order: ByteOrder, stored: &[u8], out: &mut [u8]) {
    let scale = decoding.scale().map_or(F::ONE, F::nearest);
    let offset = decoding.offset().map_or(F::MINUS_ZERO, F::nearest);
    let missing = S::missing(&decoding.missing);
    // The order and the number of marks are looked at once: compilers make vector code of loops with one comparison.
    match (order, missing.as_slice()) {
        (ByteOrder::Little, []) => each::<S, F>(stored, out, ByteOrder::Little, |value| value.float() * scale + offset),
        // Floats are compared faster, and equal if the numbers are.
        (ByteOrder::Little, [mark]) if S::IS_EXACT => {
            let mark = mark.float();
            each::<S, F>(stored, out, ByteOrder::Little, |value| {
                let value = value.float();
                let unpacked = value * scale + offset;
                if value == mark { F::NAN } else { unpacked }
            });
        }
        (ByteOrder::Little, [mark]) => each::<S, F>(stored, out, ByteOrder::Little, |value| {
            let unpacked = value.float() * scale + offset;
            if value == *mark { F::NAN } else { unpacked }
        }),
        (_, marks) => {
            for (stored, out) in stored.chunks(BLOCK * size_of::<S>()).zip(out.chunks_mut(BLOCK * F::SIZE)) {
                if order == ByteOrder::Big {
                    each::<S, F>(stored, out, ByteOrder::Big, |value| value.float() * scale + offset);
                    marks.iter().for_each(|mark| mask::<S, F>(stored, out, ByteOrder::Big, *mark));
                } else {
                    each::<S, F>(stored, out, ByteOrder::Little, |value| value.float() * scale + offset);
                    marks.iter().for_each(|mark| mask::<S, F>(stored, out, ByteOrder::Little, *mark));
                }
            }
        }
    }
}

#[inline(always)]
fn each<S: Stored, F: Float>(stored: &[u8], out: &mut [u8], order: ByteOrder, decode: impl Fn(S) -> F) {
    for (bytes, out) in stored.chunks_exact(size_of::<S>()).zip(out.chunks_exact_mut(F::SIZE)) {
        decode(S::get(bytes, order)).put(out);
    }
}

/// Replaces by NaN what was decoded of a number that means a missing value.
#[inline(always)]
fn mask<S: Stored, F: Float>(stored: &[u8], out: &mut [u8], order: ByteOrder, mark: S) {
    for (bytes, out) in stored.chunks_exact(size_of::<S>()).zip(out.chunks_exact_mut(F::SIZE)) {
        let unpacked = F::get(out);
        (if S::get(bytes, order) == mark { F::NAN } else { unpacked }).put(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::Conventions;
    use hyperslab_array::{Attribute, Datatype};

    fn decoding(datatype: &Datatype, attributes: &[Attribute]) -> Decoding {
        let found = Decoding::new(datatype, attributes, Conventions::Attributes).ok().flatten();
        found.unwrap_or_else(|| unreachable!("numbers are decoded"))
    }

    fn text(name: &str, text: &str) -> Attribute {
        crate::attributes::of_text(name, text)
    }

    fn number(name: &str, datatype: Datatype, bytes: &[u8]) -> Attribute {
        let value = hyperslab_array::Elements { datatype, bytes: bytes.to_vec(), heap: Default::default() };
        Attribute { name: name.to_owned(), dataspace: hyperslab_array::Dataspace::Scalar, value: Ok(value) }
    }

    #[test]
    fn packed_numbers_of_both_orders_are_scaled_and_masked() {
        let float = |name: &str, value: f32| number(name, Datatype::float(4, ByteOrder::Little), &value.to_le_bytes());
        let short = |name: &str, value: i16| number(name, Datatype::integer(2, true, ByteOrder::Little), &value.to_le_bytes());
        let attributes = [float("scale_factor", 0.5), float("add_offset", 1.0), short("_FillValue", -1), short("missing_value", 7)];
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let decoding = decoding(&Datatype::integer(2, true, order), &attributes);
            let bytes = |value: i16| if order == ByteOrder::Big { value.to_be_bytes() } else { value.to_le_bytes() };
            let stored: Vec<u8> = [-1, 0, 3, 7].into_iter().flat_map(bytes).collect();
            let mut out = vec![0; 16];
            assert_eq!(decoding.decode_into(order, &stored, &mut out).ok(), Some(true));
            let found: Vec<f32> = out.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
            assert!(found[0].is_nan() && found[3].is_nan() && found[1..3] == [1.0, 2.5], "{found:?}");
        }
    }

    #[test]
    fn without_factors_the_sign_of_zero_is_kept() {
        let fill = number("_FillValue", Datatype::float(4, ByteOrder::Little), &9f32.to_le_bytes());
        let mut out = [0; 4];
        let decoding = decoding(&Datatype::float(4, ByteOrder::Little), &[fill]);
        assert_eq!(decoding.decode_into(ByteOrder::Little, &(-0.0_f32).to_le_bytes(), &mut out).ok(), Some(true));
        assert_eq!(f32::from_ne_bytes(out).to_bits(), (-0.0_f32).to_bits());
    }

    #[test]
    fn dates_are_nanoseconds_or_microseconds_for_cftime() {
        let datatype = Datatype::float(8, ByteOrder::Little);
        let stored: Vec<u8> = [0.5f64, f64::NAN].into_iter().flat_map(f64::to_le_bytes).collect();
        let day = 86_400_000_000i64;
        for (calendar, is_numpys, microseconds) in [("standard", true, day / 2), ("noleap", false, day / 2), ("julian", false, 13 * day + day / 2)] {
            let decoding = decoding(&datatype, &[text("units", "days since 1970-01-01"), text("calendar", calendar)]);
            let mut out = [0; 16];
            assert_eq!(decoding.decode_into(ByteOrder::Little, &stored, &mut out).ok(), Some(is_numpys), "{calendar}");
            assert!(decoding.microseconds(ByteOrder::Little, &stored, &mut out).is_ok());
            let found: Vec<i64> = out.as_chunks().0.iter().map(|bytes| i64::from_ne_bytes(*bytes)).collect();
            assert_eq!(found, [microseconds, NAT], "{calendar}");
        }
    }
}
