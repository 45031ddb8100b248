//! The values of a window by their types, and blocks of them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use hyperslab_array::{Error, Result};

/// The type in which values are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Float,
    Double,
    /// Up to 8 bytes with a sign, and instants.
    Integer,
    Flag,
    /// A constant, which takes the type of what it is computed with.
    Constant,
    /// Values that are only counted.
    Opaque,
}

impl Kind {
    pub fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Float16 | DataType::Float32 => Self::Float,
            DataType::Float64 => Self::Double,
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Self::Integer,
            DataType::Timestamp(..) => Self::Integer,
            DataType::Boolean => Self::Flag,
            _ => Self::Opaque,
        }
    }

    /// Bits of a value's key.
    pub fn bits(self) -> u32 {
        if self == Self::Float { u32::BITS } else { u64::BITS }
    }
}

/// Values in the type in which they are computed.
#[derive(Debug, Clone)]
pub(super) enum Numbers<'a> {
    Floats(Cow<'a, [f32]>),
    Doubles(Cow<'a, [f64]>),
    Integers(Cow<'a, [i64]>),
    /// 0 or 1.
    Flags(Cow<'a, [u8]>),
    Constant(f64),
    Opaque,
}

impl<'a> Numbers<'a> {
    pub fn into_doubles(self, count: usize) -> Result<Self> {
        Ok(match self {
            Self::Floats(values) => Self::Doubles(values.iter().map(|value| f64::from(*value)).collect()),
            Self::Integers(values) => Self::Doubles(values.iter().map(|value| *value as f64).collect()),
            Self::Constant(value) => Self::Doubles(Cow::Owned(vec![value; count])),
            Self::Doubles(values) => Self::Doubles(values),
            Self::Flags(_) | Self::Opaque => return Err(Error::unsupported("values of this type as doubles in a reduction")),
        })
    }

    /// Some of the values.
    pub fn within(&self, range: Range<usize>) -> Result<Numbers<'_>> {
        Ok(match self {
            Self::Floats(values) => Numbers::Floats(values.get(range).ok_or_else(beyond)?.into()),
            Self::Doubles(values) => Numbers::Doubles(values.get(range).ok_or_else(beyond)?.into()),
            Self::Integers(values) => Numbers::Integers(values.get(range).ok_or_else(beyond)?.into()),
            Self::Flags(values) => Numbers::Flags(values.get(range).ok_or_else(beyond)?.into()),
            Self::Constant(value) => Numbers::Constant(*value),
            Self::Opaque => Numbers::Opaque,
        })
    }
}

/// The values of a block, and 1 for each that is not null.
pub(super) struct Values<'a> {
    pub numbers: Numbers<'a>,
    pub valid: Option<Cow<'a, [u8]>>,
}

impl<'a> Values<'a> {
    pub fn of(numbers: Numbers<'a>) -> Self {
        Self { numbers, valid: None }
    }
}

/// Where both have values.
pub(super) fn both<'a>(left: Option<Cow<'a, [u8]>>, right: Option<Cow<'a, [u8]>>) -> Option<Cow<'a, [u8]>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.iter().zip(right.iter()).map(|(left, right)| left & right).collect()),
        (one, other) => one.or(other),
    }
}

/// A column of a window.
pub(super) struct Column {
    values: ArrayRef,
    /// `None` if no value is null.
    nulls: Option<NullBuffer>,
}

impl Column {
    pub fn new(values: ArrayRef) -> Result<Self> {
        let values = match values.data_type() {
            DataType::Float16 => arrow_cast::cast(&values, &DataType::Float32).map_err(|error| Error::internal(error.to_string()))?,
            _ => values,
        };
        let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        Ok(Self { values, nulls })
    }

    fn slice<T: ArrowPrimitiveType>(&self, range: Range<usize>) -> Result<&[T::Native]> {
        self.values.as_primitive::<T>().values().get(range).ok_or_else(beyond)
    }

    fn integers<T: ArrowPrimitiveType>(&self, range: Range<usize>) -> Result<Numbers<'_>>
    where
        T::Native: Into<i64>,
    {
        Ok(Numbers::Integers(self.slice::<T>(range)?.iter().map(|value| (*value).into()).collect()))
    }

    fn numbers(&self, range: Range<usize>) -> Result<Numbers<'_>> {
        Ok(match self.values.data_type() {
            DataType::Float32 => Numbers::Floats(self.slice::<Float32Type>(range)?.into()),
            DataType::Float64 => Numbers::Doubles(self.slice::<Float64Type>(range)?.into()),
            DataType::Int64 => Numbers::Integers(self.slice::<Int64Type>(range)?.into()),
            DataType::Int8 => self.integers::<Int8Type>(range)?,
            DataType::Int16 => self.integers::<Int16Type>(range)?,
            DataType::Int32 => self.integers::<Int32Type>(range)?,
            DataType::UInt8 => self.integers::<UInt8Type>(range)?,
            DataType::UInt16 => self.integers::<UInt16Type>(range)?,
            DataType::UInt32 => self.integers::<UInt32Type>(range)?,
            DataType::Timestamp(TimeUnit::Second, _) => Numbers::Integers(self.slice::<TimestampSecondType>(range)?.into()),
            DataType::Timestamp(TimeUnit::Millisecond, _) => Numbers::Integers(self.slice::<TimestampMillisecondType>(range)?.into()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Numbers::Integers(self.slice::<TimestampMicrosecondType>(range)?.into()),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Numbers::Integers(self.slice::<TimestampNanosecondType>(range)?.into()),
            DataType::Boolean => {
                let values = self.values.as_boolean().values();
                let bit = |at: usize| u8::from(at < values.len() && values.value(at));
                Numbers::Flags(range.map(bit).collect())
            }
            _ => Numbers::Opaque,
        })
    }

    fn valid(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        let nulls = self.nulls.as_ref()?;
        let valid: Vec<u8> = range.map(|at| u8::from(at < nulls.len() && nulls.is_valid(at))).collect();
        if valid.contains(&0) { Some(valid.into()) } else { None }
    }
}

/// A vector along one of the dimensions, for the elements of a run.
pub(super) enum AlongRun {
    /// The same value in the whole run.
    Same(f64),
    /// A value for each element.
    Each(Arc<[f64]>),
}

/// Some adjacent elements of a window.
pub(super) struct Block<'a> {
    pub columns: &'a [Column],
    pub vectors: &'a [AlongRun],
    /// Its elements in the window.
    pub range: Range<usize>,
    /// Its first element in its run.
    pub in_run: usize,
}

impl<'a> Block<'a> {
    pub fn count(&self) -> usize {
        self.range.len()
    }

    pub fn column(&self, number: usize) -> Result<Values<'a>> {
        let column = self.columns.get(number).ok_or_else(|| Error::internal("no such column in a reduction"))?;
        Ok(Values { numbers: column.numbers(self.range.clone())?, valid: column.valid(self.range.clone()) })
    }

    pub fn vector(&self, number: usize) -> Result<Values<'a>> {
        let vector = self.vectors.get(number).ok_or_else(|| Error::internal("no such vector in a reduction"))?;
        Ok(Values::of(match vector {
            AlongRun::Same(value) => Numbers::Doubles(Cow::Owned(vec![*value; self.count()])),
            AlongRun::Each(values) => Numbers::Doubles(values.get(self.in_run..self.in_run + self.count()).ok_or_else(beyond)?.into()),
        }))
    }
}

pub(super) fn beyond() -> Error {
    Error::internal("elements beyond a window")
}
