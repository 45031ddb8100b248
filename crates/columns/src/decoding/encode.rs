//! Encoding: numbers, truth values, dates and durations as the numbers that a variable stores, the inverse of decoding.
//!
//! What comes back differs by at most half a step of packed numbers. Counts of times in integers are exact, or refused.

use arrow_schema::DataType;
use half::f16;
use hyperslab_array::{ByteOrder, Error, Result};

use super::numpy::Stored;
use super::time::Count;
use super::{Decoding, Kind, Number, TimeUnits};

/// Decoded values, in memory of this machine.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_enums, reason = "what numpy has")]
pub enum Decoded<'a> {
    /// Numbers of this type. NaN means a missing value.
    Numbers(&'a DataType, &'a [u8]),
    /// Truth values, one byte each.
    Booleans(&'a [u8]),
    /// numpy's dates, as `i64` since 1970, and durations; the minimum means a missing one.
    Times {
        /// Nanoseconds of one.
        step: i128,
        /// The numbers.
        counts: &'a [u8],
    },
    /// Dates of any calendar, as in [`Decoding::microseconds`].
    Microseconds(&'a [u8]),
}

/// Why a value cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unencodable {
    /// A time between two counts.
    NotWhole,
    /// A number that the stored type cannot hold.
    OutOfRange,
    /// A value whose stored number means a missing one.
    MeansMissing,
    /// A missing value of a variable without a number for it.
    HasNoMark,
    /// A date of numpy in a calendar in which it is another day.
    OtherCalendar,
}

impl Unencodable {
    /// The reason in words, after "the value".
    pub fn message(self) -> &'static str {
        match self {
            Self::NotWhole => "is not a whole number of the variable's units",
            Self::OutOfRange => "is out of the range of the stored numbers",
            Self::MeansMissing => "has the stored number that means a missing value",
            Self::HasNoMark => "is missing, and the variable has no _FillValue",
            Self::OtherCalendar => "is a date of numpy, and another day in the variable's calendar",
        }
    }
}

/// What became of values that were encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a result")]
pub struct Encoded {
    /// Whether some are missing.
    pub has_missing: bool,
    /// The index of the first value that cannot be stored, and why; the stored numbers are then undefined.
    pub problem: Option<(usize, Unencodable)>,
}

type Converted = Result<Number, Unencodable>;

impl Decoding {
    /// The decoding of dates or durations that are stored with these attributes; `None` for units of other things.
    ///
    /// # Errors
    /// What is not understood of units of dates.
    pub fn of_times(stored: &DataType, units: &str, calendar: Option<&str>, missing: Option<Number>) -> Result<Option<Self>, String> {
        let kind = match TimeUnits::parse(units, calendar)? {
            Some(time) => Kind::Time(time),
            None => match super::time::duration(units) {
                Some(unit) => Kind::Duration(unit),
                None => return Ok(None),
            },
        };
        Ok(Some(Self::of_kind(stored.clone(), kind, missing)))
    }

    /// Encodes decoded values as stored numbers in a byte order. Numbers are rounded to the nearest stored one, of two the even one, as
    /// xarray does; missing values become the first number that means one.
    ///
    /// # Errors
    /// `InvalidInput` if the values are of another kind than the variable's, `Internal` if the lengths differ.
    pub fn encode_into(&self, decoded: Decoded<'_>, order: ByteOrder, out: &mut [u8]) -> Result<Encoded> {
        if let Decoded::Times { step, counts } = decoded
            && let Some(has_missing) = self.whole_counts(step, counts, order, out)
        {
            return Ok(Encoded { has_missing, problem: None });
        }
        self.encode_wide(decoded, order, out)
    }

    /// Values of any numbers, one by one.
    pub(super) fn encode_wide(&self, decoded: Decoded<'_>, order: ByteOrder, out: &mut [u8]) -> Result<Encoded> {
        match (decoded, &self.kind) {
            (Decoded::Times { step, counts }, Kind::Time(time)) => {
                if !time.calendar().is_gregorian() {
                    return Ok(Encoded { has_missing: false, problem: counts.first().map(|_| (0, Unencodable::OtherCalendar)) });
                }
                let reform = time.reform();
                self.put(longs(counts), order, out, |count| {
                    let since_1970 = i128::from(count) * step;
                    match reform {
                        Some(reform) if since_1970 < reform => Err(Unencodable::OtherCalendar),
                        _ => self.time_as_stored(since_1970 - time.reference(), time.step()),
                    }
                })
            }
            (Decoded::Times { step, counts }, Kind::Duration(unit)) => {
                self.put(longs(counts), order, out, |count| self.time_as_stored(i128::from(count) * step, *unit))
            }
            (Decoded::Microseconds(counts), Kind::Time(time)) => {
                self.put(longs(counts), order, out, |count| self.time_as_stored(i128::from(count) * 1_000 - time.reference(), time.step()))
            }
            (Decoded::Booleans(values), Kind::Boolean | Kind::Number | Kind::Flag) => {
                self.put(values.iter().map(|value| Some(Number::Integer((*value).into()))), order, out, |number| Ok(self.packed(number)))
            }
            (Decoded::Numbers(of, values), Kind::Number | Kind::Flag | Kind::Boolean) => self.put_numbers(of, values, order, out),
            (_, Kind::Text { .. }) => Err(Error::invalid_input("texts of characters are written as characters")),
            (Decoded::Numbers(..), Kind::Time(_)) => Err(Error::invalid_input("numbers for a variable of dates: give dates")),
            (Decoded::Numbers(..), _) => Err(Error::invalid_input("numbers for a variable of durations: give durations")),
            (Decoded::Booleans(_), _) => Err(Error::invalid_input("truth values for a variable of times")),
            (Decoded::Times { .. } | Decoded::Microseconds(_), _) => Err(Error::invalid_input("dates or durations for a variable of another kind")),
        }
    }

    /// The same of numbers that were read as doubles.
    #[must_use]
    pub fn of_doubles(&self) -> Self {
        Self { stored: DataType::Float64, meant: DataType::Float64, order: None, ..self.clone() }
    }

    /// Converts stored counts of dates to counts of the same dates in other units. Missing ones, and infinite ones, stay as they are.
    ///
    /// # Errors
    /// `InvalidInput` if this variable has no dates, or they are of another calendar; `Internal` if the lengths differ.
    pub fn recount_into(&self, order: ByteOrder, stored: &[u8], to: &TimeUnits, out: &mut [u8]) -> Result<Encoded> {
        let Some(from) = self.time().filter(|from| from.calendar() == to.calendar() && !self.is_packed()) else {
            return Err(Error::invalid_input("dates that are packed, or of another calendar"));
        };
        let mut counts = Vec::with_capacity(stored.len() / self.stored_size());
        self.counts(order, stored, |count| counts.push(count.filter(|count| !matches!(count, Count::Float(value) if value.is_infinite()))));
        let encoded = self.put(counts.iter().copied(), order, out, |count| {
            let nanoseconds = count.nanoseconds(from.step()).and_then(|n| n.checked_add(from.reference() - to.reference()));
            self.time_as_stored(nanoseconds.ok_or(Unencodable::OutOfRange)?, to.step())
        })?;
        let width = self.stored_size();
        for ((from, to), count) in stored.chunks_exact(width).zip(out.chunks_exact_mut(width)).zip(counts) {
            if count.is_none() {
                to.copy_from_slice(from);
            }
        }
        Ok(encoded)
    }

    fn put_numbers(&self, of: &DataType, values: &[u8], order: ByteOrder, out: &mut [u8]) -> Result<Encoded> {
        macro_rules! put {
            ($type:ty, $number:expr) => {{
                let (values, rest) = values.as_chunks::<{ size_of::<$type>() }>();
                if !rest.is_empty() {
                    return Err(Error::internal("part of a value"));
                }
                let number = $number;
                self.put(values.iter().map(|bytes| number(<$type>::from_ne_bytes(*bytes))), order, out, |number| Ok(self.packed(number)))
            }};
        }
        macro_rules! whole {
            ($type:ty) => {
                put!($type, |value: $type| Some(Number::Integer(value.into())))
            };
        }
        let float = |value: f64| (!value.is_nan()).then_some(Number::Float(value));
        match of {
            DataType::Int8 => whole!(i8),
            DataType::Int16 => whole!(i16),
            DataType::Int32 => whole!(i32),
            DataType::Int64 => whole!(i64),
            DataType::UInt8 => whole!(u8),
            DataType::UInt16 => whole!(u16),
            DataType::UInt32 => whole!(u32),
            DataType::UInt64 => whole!(u64),
            DataType::Float16 => put!(f16, |value: f16| float(value.to_f64())),
            DataType::Float32 => put!(f32, |value: f32| float(value.into())),
            DataType::Float64 => put!(f64, float),
            other => Err(Error::invalid_input(format!("values of Arrow type {other}, which are no numbers"))),
        }
    }

    /// A number without scale and offset.
    fn packed(&self, number: Number) -> Number {
        if !self.is_packed() {
            return number;
        }
        Number::Float((number.as_f64() - self.offset().unwrap_or(0.0)) / self.scale().unwrap_or(1.0))
    }

    /// Nanoseconds as a stored number: exact for integers, the nearest of floats.
    fn time_as_stored(&self, nanoseconds: i128, unit: i128) -> Converted {
        let (whole, rest) = divided(nanoseconds, unit);
        if !self.is_packed() && self.stored.is_integer() {
            return if rest == 0 { Ok(Number::Integer(whole)) } else { Err(Unencodable::NotWhole) };
        }
        let packed = self.packed(Number::Float(whole as f64 + rest as f64 / unit as f64)).as_f64();
        if self.stored.is_floating() {
            return Ok(Number::Float(packed));
        }
        let rounded = packed.round_ties_even();
        let unpacked = rounded * self.scale().unwrap_or(1.0) + self.offset().unwrap_or(0.0);
        let is_same = Count::Float(unpacked).nanoseconds(unit) == Some(nanoseconds);
        if is_same { Ok(Number::Float(rounded)) } else { Err(Unencodable::NotWhole) }
    }

    /// Writes numbers in the type that values of this variable have.
    fn put<V>(&self, values: impl ExactSizeIterator<Item = Option<V>>, order: ByteOrder, out: &mut [u8], convert: impl Fn(V) -> Converted) -> Result<Encoded> {
        if values.len().checked_mul(self.stored_size()) != Some(out.len()) {
            return Err(Error::internal("encoded values of another number"));
        }
        Ok(match self.meant {
            DataType::Int8 => put_as::<i8, V>(self, values, order, out, convert),
            DataType::UInt8 => put_as::<u8, V>(self, values, order, out, convert),
            DataType::Int16 => put_as::<i16, V>(self, values, order, out, convert),
            DataType::UInt16 => put_as::<u16, V>(self, values, order, out, convert),
            DataType::Int32 => put_as::<i32, V>(self, values, order, out, convert),
            DataType::UInt32 => put_as::<u32, V>(self, values, order, out, convert),
            DataType::Int64 => put_as::<i64, V>(self, values, order, out, convert),
            DataType::UInt64 => put_as::<u64, V>(self, values, order, out, convert),
            DataType::Float16 => put_as::<f16, V>(self, values, order, out, convert),
            DataType::Float32 => put_as::<f32, V>(self, values, order, out, convert),
            _ => put_as::<f64, V>(self, values, order, out, convert),
        })
    }
}

/// Whole units, and what is left. Numbers of 64 bits, which most are, are divided faster.
fn divided(nanoseconds: i128, unit: i128) -> (i128, i128) {
    match (i64::try_from(nanoseconds), i64::try_from(unit)) {
        (Ok(nanoseconds), Ok(unit)) => (nanoseconds.div_euclid(unit).into(), nanoseconds.rem_euclid(unit).into()),
        _ => (nanoseconds.div_euclid(unit), nanoseconds.rem_euclid(unit)),
    }
}

fn put_as<S: Put, V>(
    decoding: &Decoding,
    values: impl Iterator<Item = Option<V>>,
    order: ByteOrder,
    out: &mut [u8],
    convert: impl Fn(V) -> Converted,
) -> Encoded {
    let marks = S::missing(&decoding.missing);
    let mark = marks.first().copied().or(S::NAN);
    let mut has_missing = false;
    for (index, (value, out)) in values.zip(out.chunks_exact_mut(size_of::<S>())).enumerate() {
        let found = match value.map(&convert).transpose() {
            Ok(Some(number)) => match S::nearest(number) {
                Some(stored) if marks.contains(&stored) => Err(Unencodable::MeansMissing),
                stored => stored.ok_or(Unencodable::OutOfRange),
            },
            Ok(None) => {
                has_missing = true;
                mark.ok_or(Unencodable::HasNoMark)
            }
            Err(problem) => Err(problem),
        };
        match found {
            Ok(stored) => stored.put(order, out),
            Err(problem) => return Encoded { has_missing, problem: Some((index, problem)) },
        }
    }
    Encoded { has_missing, problem: None }
}

/// numpy's times; `None` for `NaT`.
fn longs(counts: &[u8]) -> impl ExactSizeIterator<Item = Option<i64>> {
    counts.as_chunks::<8>().0.iter().map(|bytes| Some(i64::from_ne_bytes(*bytes)).filter(|count| *count != i64::MIN))
}

/// A type of stored numbers.
pub(super) trait Put: Stored {
    /// What means a missing value without an attribute.
    const NAN: Option<Self>;
    /// The nearest number of this type, of two the even one; `None` beyond its range.
    fn nearest(number: Number) -> Option<Self>;
    fn put(self, order: ByteOrder, out: &mut [u8]);
}

macro_rules! put {
    () => {
        #[inline(always)]
        fn put(self, order: ByteOrder, out: &mut [u8]) {
            out.copy_from_slice(&if order == ByteOrder::Big { self.to_be_bytes() } else { self.to_le_bytes() });
        }
    };
}

macro_rules! put_integers {
    ($($type:ty)*) => {$(
        impl Put for $type {
            const NAN: Option<Self> = None;
            #[inline(always)]
            fn nearest(number: Number) -> Option<Self> {
                match number {
                    Number::Integer(value) => Self::try_from(value).ok(),
                    // Larger ones are values of no integer type, and NaN is none.
                    Number::Float(value) if value.abs() < 1e30 => Self::try_from(value.round_ties_even() as i128).ok(),
                    Number::Float(_) => None,
                }
            }
            put!();
        }
    )*};
}
put_integers!(i8 u8 i16 u16 i32 u32 i64 u64);

macro_rules! put_floats {
    ($($type:ty: $nearest:expr),*) => {$(
        impl Put for $type {
            const NAN: Option<Self> = Some(<$type>::NAN);
            #[inline(always)]
            fn nearest(number: Number) -> Option<Self> {
                let (value, found) = (number.as_f64(), $nearest(number));
                (!found.is_infinite() || value.is_infinite()).then_some(found).filter(|found| !found.is_nan())
            }
            put!();
        }
    )*};
}
put_floats!(
    f16: |number: Number| Self::from_f64(number.as_f64()),
    f32: |number: Number| match number {
        Number::Integer(value) => value as Self,
        Number::Float(value) => value as Self,
    },
    f64: |number: Number| number.as_f64()
);

#[cfg(test)]
mod tests;
