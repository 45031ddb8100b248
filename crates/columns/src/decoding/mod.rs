//! Decoding: what the stored numbers of a variable mean, by the attributes that the conventions of netCDF define (CF
//! Conventions 2.5.1, 4.4, 8.1; NetCDF Users Guide, "Attribute Conventions"; UDUNITS-2 for units of time).
//!
//! This is the only place that knows these attributes. Columns of Arrow and arrays of numpy are made from one [`Decoding`], and
//! stored numbers from decoded ones. Columns and arrays differ in what numpy lacks, null: there missing numbers are NaN, and values
//! out of the valid range are kept, as in xarray.

mod arrow;
mod encode;
mod flags;
mod numpy;
mod stated;
mod texts;
pub(crate) mod time;
mod valid;
mod whole_counts;
mod whole_times;

use arrow_schema::DataType;
use hyperslab_array::{Attribute, ByteOrder, CharacterSet, Datatype, FloatFormat, Result};
use stated::Factor;

pub use encode::{Decoded, Encoded, Unencodable};
pub use flags::Flag;
pub use numpy::NumpyType;
pub use stated::Number;
pub use texts::is_character;
pub use time::{Calendar, TimeUnits};

/// Which conventions decode stored values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conventions {
    /// No conventions: values as stored.
    Raw,
    /// Conventions that attributes state, in any file format.
    Attributes,
    /// Conventions of a netCDF file, in which unwritten values are missing even without an attribute.
    Netcdf,
}

/// What decoded values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Numbers.
    Number,
    /// Dates, in units since a date.
    Time(TimeUnits),
    /// Durations. One unit has this many nanoseconds.
    Duration(i128),
    /// Truth values (`dtype = "bool"`, which netCDF lacks a type for).
    Boolean,
    /// Numbers whose values, or bits, have names.
    Flag,
    /// Texts, one for each row of characters.
    Text {
        /// Characters of each, with padding.
        length: u64,
        /// Their encoding.
        character_set: CharacterSet,
    },
}

/// What an attribute states, but nothing here understands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Name of the attribute.
    pub attribute: &'static str,
    /// What is wrong with it.
    pub message: String,
}

/// What the stored numbers of a variable mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoding {
    /// Type of the stored values.
    stored: DataType,
    /// The same with the sign that `_Unsigned` gives them.
    meant: DataType,
    missing: Vec<Number>,
    default_fill: Option<Number>,
    valid_min: Option<Number>,
    valid_max: Option<Number>,
    scale: Option<Factor>,
    offset: Option<Factor>,
    kind: Kind,
    flags: Vec<Flag>,
    problems: Vec<Problem>,
    /// The byte order, if the bytes of stored numbers are those of a plain number.
    order: Option<ByteOrder>,
    /// Whether numpy's dates of floats are products of doubles, cut to nanoseconds.
    cuts_floats: bool,
}

/// Attributes that a [`Decoding`] is made of.
pub const ATTRIBUTES: [&str; 15] = [
    "_FillValue",
    "missing_value",
    "valid_range",
    "valid_min",
    "valid_max",
    "scale_factor",
    "add_offset",
    "_Unsigned",
    "units",
    "calendar",
    "month_lengths",
    "dtype",
    "flag_values",
    "flag_masks",
    "flag_meanings",
];

impl Decoding {
    /// The decoding of values of `datatype` by the attributes of their variable. `None` for values that are not numbers.
    ///
    /// # Errors
    /// `Unsupported` for a datatype without an Arrow type; `Corrupt` for attributes that cannot be read.
    pub fn new(datatype: &Datatype, attributes: &[Attribute], conventions: Conventions) -> Result<Option<Self>> {
        let stored = &crate::arrow_type(datatype)?;
        if conventions == Conventions::Raw || !stored.is_numeric() || matches!(stored, DataType::Decimal128(..)) {
            return Ok(None);
        }
        let find = |name: &str| attributes.iter().find(|attribute| attribute.name == name);
        let meant = stated::with_sign(stored, find("_Unsigned").and_then(stated::text).as_deref());
        let has_other_sign = meant != *stored;
        let list = |name: &str| -> Result<Vec<Number>> {
            let numbers = find(name).map_or_else(|| Ok(Vec::new()), stated::numbers)?;
            Ok(numbers.into_iter().map(|number| if has_other_sign { number.with_sign_of(&meant) } else { number }).collect())
        };
        let mut missing = list("_FillValue")?;
        // The library's mark of unwritten unsigned values is -1 as a signed one, which is a value like others.
        let has_default = conventions == Conventions::Netcdf && missing.is_empty() && !(has_other_sign && meant.is_signed_integer());
        let default_fill = stated::default_fill(stored).filter(|_| has_default);
        let default_fill = default_fill.map(|fill| if has_other_sign { fill.with_sign_of(&meant) } else { fill });
        missing.extend(list("missing_value")?);
        // Ignore limits that the stored type cannot hold: usually they refer to unpacked or unsigned values.
        let limit = |name: &str| list(name).map(|list| list.first().copied().filter(|limit| limit.is_held(&meant)));
        let (low, high) = match list("valid_range")?.as_slice() {
            [low, high] if low.is_held(&meant) && high.is_held(&meant) => (Some(*low), Some(*high)),
            _ => (None, None),
        };
        let (valid_min, valid_max) = (low.or(limit("valid_min")?), high.or(limit("valid_max")?));
        let mut problems = Vec::new();
        let mut factor = |attribute: &'static str| match find(attribute).map(stated::factor) {
            Some(Ok(factor)) => Some(factor),
            Some(Err(message)) => {
                problems.push(Problem { attribute, message });
                None
            }
            None => None,
        };
        let (scale, offset) = (factor("scale_factor"), factor("add_offset"));
        let kind = kind_of(&find, &meant, scale.is_some() || offset.is_some()).unwrap_or_else(|message| {
            problems.push(Problem { attribute: "units", message });
            Kind::Number
        });
        if matches!(kind, Kind::Time(_) | Kind::Duration(_)) && meant == DataType::Int64 {
            // numpy's NaT, which pandas and xarray write as the number that it is.
            missing.push(Number::Integer(i64::MIN.into()));
        }
        let flags = if meant.is_integer() && kind == Kind::Number && scale.is_none() && offset.is_none() {
            flags::flags(&find, |number| if has_other_sign { number.with_sign_of(&meant) } else { number })?
        } else {
            Vec::new()
        };
        let kind = if flags.is_empty() { kind } else { Kind::Flag };
        Ok(Some(Self {
            stored: stored.clone(),
            meant,
            missing,
            default_fill,
            valid_min,
            valid_max,
            scale,
            offset,
            kind,
            flags,
            problems,
            order: plain_order(datatype),
            cuts_floats: false,
        }))
    }

    /// The decoding of unpacked values of a kind.
    fn of_kind(stored: DataType, kind: Kind, missing: Option<Number>) -> Self {
        Self {
            meant: stored.clone(),
            stored,
            missing: missing.into_iter().collect(),
            default_fill: None,
            valid_min: None,
            valid_max: None,
            scale: None,
            offset: None,
            kind,
            flags: Vec::new(),
            problems: Vec::new(),
            order: None,
            cuts_floats: false,
        }
    }

    /// What decoded values are.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Names of values, or of bits in them, of integers that are not packed.
    pub fn flags(&self) -> &[Flag] {
        &self.flags
    }

    /// The same of the numbers alone: counts of times and truth values stay numbers.
    #[must_use]
    pub fn as_numbers(&self) -> Self {
        let mut missing = self.missing.clone();
        if self.has_nat() {
            missing.pop();
        }
        Self { kind: Kind::Number, missing, ..self.clone() }
    }

    /// The same with dates of floats as xarray computes them for numpy: the product of doubles, cut to whole nanoseconds. Others are the
    /// nearest ones.
    #[must_use]
    pub fn cutting_floats(&self) -> Self {
        Self { cuts_floats: true, ..self.clone() }
    }

    /// Whether the last missing number is numpy's NaT, which no attribute states.
    fn has_nat(&self) -> bool {
        matches!(self.kind, Kind::Time(_) | Kind::Duration(_)) && self.meant == DataType::Int64
    }

    /// The byte order of the stored numbers; `None` if they do not fill their bytes, so that [`Decoding::decode_into`] takes
    /// them only after they were read into numpy.
    pub fn plain_order(&self) -> Option<ByteOrder> {
        self.order
    }

    /// What the attributes state, but nothing here understands: the values stay as if it were not stated.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The units of dates, of a variable of dates.
    pub fn time(&self) -> Option<&TimeUnits> {
        match &self.kind {
            Kind::Time(time) => Some(time),
            _ => None,
        }
    }

    /// Stored numbers that mean a missing value, as the variable's attributes state them.
    pub fn missing(&self) -> &[Number] {
        &self.missing
    }

    /// What stored numbers are multiplied by.
    pub fn scale(&self) -> Option<f64> {
        self.scale.as_ref().map(|factor| factor.value)
    }

    /// What is added then.
    pub fn offset(&self) -> Option<f64> {
        self.offset.as_ref().map(|factor| factor.value)
    }

    /// Whether `_Unsigned` gives the stored bits the other sign.
    pub fn has_other_sign(&self) -> bool {
        self.meant != self.stored
    }

    /// Whether stored numbers are scaled or shifted.
    pub fn is_packed(&self) -> bool {
        self.scale.is_some() || self.offset.is_some()
    }
}

/// The byte order of numbers that fill their bytes, as those of numpy do.
fn plain_order(datatype: &Datatype) -> Option<ByteOrder> {
    match datatype {
        Datatype::Integer { size, order, bit_offset: 0, bit_precision, .. } if u64::from(*bit_precision) == size * 8 => Some(*order),
        Datatype::Float { order, format: FloatFormat::Ieee, .. } => Some(*order),
        _ => None,
    }
}

/// What numbers are.
///
/// # Errors
/// Units of dates that are not understood.
fn kind_of<'a>(find: &impl Fn(&str) -> Option<&'a Attribute>, meant: &DataType, is_packed: bool) -> Result<Kind, String> {
    if find("dtype").and_then(stated::text).as_deref() == Some("bool") && meant.is_integer() && !is_packed {
        return Ok(Kind::Boolean);
    }
    let Some(units) = find("units").and_then(stated::text) else { return Ok(Kind::Number) };
    let calendar = find("calendar").map(|calendar| stated::text(calendar).ok_or("its attribute calendar is not a text"));
    let found = match calendar {
        // Only dates have a calendar.
        _ if !TimeUnits::are_dates(&units) => return Ok(time::duration(&units).map_or(Kind::Number, Kind::Duration)),
        // A calendar of the file's own (CF 4.4.2) is not the standard one.
        _ if find("month_lengths").is_some() => return Err("its calendar has months of other lengths (month_lengths)".to_owned()),
        Some(calendar) => TimeUnits::parse(&units, Some(&calendar?))?,
        None => TimeUnits::parse(&units, None)?,
    };
    Ok(found.map_or(Kind::Number, Kind::Time))
}
