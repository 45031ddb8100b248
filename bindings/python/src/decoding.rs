//! Decoding: what the stored numbers of a variable mean, for numpy.

use arrow_schema::DataType;
use hyperslab::columns::decoding::{self, Decoded, Kind, Number, Unencodable};
use hyperslab::columns::{Conventions, Decoding as Core};
use hyperslab::{Attribute, ByteOrder, Dataspace, Elements};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::datatype::Datatype;
use crate::error::raise;
use crate::results::object::AttributeValue;

/// Attributes that a decoding is made of.
pub(crate) const ATTRIBUTES: [&str; 15] = decoding::ATTRIBUTES;

/// What the stored numbers of a variable mean, by the attributes that the conventions of netCDF define.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Decoding(pub(crate) Core);

#[pymethods]
impl Decoding {
    /// The decoding of values of a datatype by the attributes of their variable; `None` for values that are not numbers.
    #[staticmethod]
    fn of(py: Python<'_>, datatype: &Datatype, attributes: Vec<(String, PyRef<'_, AttributeValue>)>) -> PyResult<Option<Self>> {
        let attributes: Vec<Attribute> = attributes
            .into_iter()
            .map(|(name, value)| {
                let elements = Elements { datatype: value.datatype.get().core(), bytes: value.data.as_bytes(py).to_vec(), heap: value.heap.get().0.clone() };
                let dataspace = value.shape.as_ref().map_or(Dataspace::Null, |shape| Dataspace::fixed(shape.clone()));
                Attribute { name, dataspace, value: Ok(elements) }
            })
            .collect();
        let datatype = datatype.core();
        if hyperslab::columns::arrow_type(&datatype).is_err() {
            return Ok(None);
        }
        Ok(Core::new(&datatype, &attributes, Conventions::Attributes).map_err(|error| raise(py, &error))?.map(Self))
    }

    /// The decoding of dates or durations that are stored as numbers of a dtype (`i4`, `i8`, `f4`, `f8`) with these attributes; `None` for
    /// units of other things. `fill` means a missing one.
    #[staticmethod]
    fn of_times(dtype: &str, units: &str, calendar: Option<&str>, fill: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Self>> {
        let stored = data_type(dtype)?;
        let number = |fill: &Bound<'_, PyAny>| fill.extract().map(Number::Integer).or_else(|_| fill.extract().map(Number::Float));
        let found = Core::of_times(&stored, units, calendar, fill.map(number).transpose()?).map_err(PyValueError::new_err)?;
        Ok(found.map(Self))
    }

    /// What decoded values are: `number`, `time`, `duration`, `boolean`, `flag` or `text`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            Kind::Time(_) => "time",
            Kind::Duration(_) => "duration",
            Kind::Boolean => "boolean",
            Kind::Flag => "flag",
            Kind::Text { .. } => "text",
            _ => "number",
        }
    }

    /// Name of the dtype of decoded values; dates that numpy lacks are objects of cftime.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.numpy_type().name()
    }

    /// The units of dates.
    #[getter]
    fn time(&self) -> Option<TimeUnits> {
        self.0.time().copied().map(TimeUnits)
    }

    /// Names of values, or of bits in them.
    #[getter]
    fn flags(&self) -> Vec<Flag> {
        self.0.flags().iter().cloned().map(Flag).collect()
    }

    /// Stored numbers that mean a missing value.
    #[getter]
    fn missing<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let number = |number: &Number| match number {
            Number::Integer(value) => value.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from),
            Number::Float(value) => Ok(value.into_pyobject(py)?.into_any()),
        };
        self.0.missing().iter().map(number).collect()
    }

    /// Whether stored numbers are scaled, shifted, or have the other sign.
    #[getter]
    fn is_packed(&self) -> bool {
        self.0.is_packed() || self.0.has_other_sign()
    }

    /// Whether decoded values are the stored ones.
    #[getter]
    fn is_plain(&self) -> bool {
        matches!(self.0.numpy_type(), decoding::NumpyType::Stored(_)) && !self.0.has_other_sign()
    }

    /// The same of the numbers alone: counts of times and truth values stay numbers.
    fn as_numbers(&self) -> Self {
        Self(self.0.as_numbers())
    }

    /// The same with dates of floats as xarray computes them: cut to whole nanoseconds, not the nearest ones.
    fn cutting_floats(&self) -> Self {
        Self(self.0.cutting_floats())
    }

    /// Whether columns of tables show other values than the stored ones.
    #[getter]
    fn changes_columns(&self) -> bool {
        self.0.changes_columns()
    }

    /// Attributes whose statement the core does not understand, and why.
    #[getter]
    fn problems(&self) -> Vec<(&'static str, String)> {
        self.0.problems().iter().map(|problem| (problem.attribute, problem.message.clone())).collect()
    }

    /// Decodes stored numbers in the byte order of this machine. `None` if numpy lacks one of the dates.
    fn decode<'py>(&self, py: Python<'py>, stored: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let width = self.0.stored_size();
        let mut is_complete = true;
        let out = PyBytes::new_with(py, stored.len() / width * self.0.numpy_type().size(), |out| {
            is_complete = self.0.decode_into(NATIVE, stored, out).map_err(|error| raise(py, &error))?;
            Ok(())
        })?;
        Ok(is_complete.then_some(out))
    }

    /// The texts of stored characters, without trailing NULs.
    fn decode_texts<'py>(&self, py: Python<'py>, stored: &[u8]) -> PyResult<Bound<'py, PyList>> {
        let mut texts = Vec::new();
        self.0.decode_texts(stored, |text| texts.push(text.to_owned())).map_err(|error| raise(py, &error))?;
        PyList::new(py, texts)
    }

    /// Converts stored numbers in the byte order of this machine to microseconds since `time.epoch`: 64-bit integers, whose minimum means
    /// a missing date.
    fn microseconds<'py>(&self, py: Python<'py>, stored: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let width = self.0.stored_size();
        PyBytes::new_with(py, stored.len() / width * 8, |out| self.0.microseconds(NATIVE, stored, out).map_err(|error| raise(py, &error)))
    }

    /// Encodes numbers of a dtype as stored ones in the byte order of this machine.
    fn encode<'py>(&self, py: Python<'py>, dtype: &str, values: &[u8]) -> PyResult<Encoded<'py>> {
        if dtype == "?" {
            return self.encoded(py, values.len(), Decoded::Booleans(values));
        }
        let of = data_type(dtype)?;
        self.encoded(py, values.len() / of.primitive_width().unwrap_or(1), Decoded::Numbers(&of, values))
    }

    /// Encodes numpy's dates, as 64-bit counts of `step` nanoseconds since 1970, or durations.
    fn encode_times<'py>(&self, py: Python<'py>, step: i64, counts: &[u8]) -> PyResult<Encoded<'py>> {
        self.encoded(py, counts.len() / 8, Decoded::Times { step: step.into(), counts })
    }

    /// Encodes dates of any calendar, as `microseconds` gives them.
    fn encode_microseconds<'py>(&self, py: Python<'py>, counts: &[u8]) -> PyResult<Encoded<'py>> {
        self.encoded(py, counts.len() / 8, Decoded::Microseconds(counts))
    }

    /// Counts of the same dates in other units, as stored or, if they were read `as_doubles`, as doubles.
    fn recounted<'py>(&self, py: Python<'py>, stored: &[u8], to: &TimeUnits, as_doubles: bool) -> PyResult<Encoded<'py>> {
        let decoding = if as_doubles { self.0.of_doubles() } else { self.0.clone() };
        encoded_in(py, stored.len(), |out| decoding.recount_into(NATIVE, stored, &to.0, out))
    }
}

impl Decoding {
    fn encoded<'py>(&self, py: Python<'py>, count: usize, values: Decoded<'_>) -> PyResult<Encoded<'py>> {
        encoded_in(py, count * self.0.stored_size(), |out| self.0.encode_into(values, NATIVE, out))
    }
}

/// The stored numbers, whether some are missing, and of the first value that cannot be stored the index, the reason, and the reason in words.
type Encoded<'py> = (Bound<'py, PyBytes>, bool, Option<(usize, &'static str, &'static str)>);

fn encoded_in<'py>(py: Python<'py>, length: usize, encode: impl FnOnce(&mut [u8]) -> hyperslab::Result<decoding::Encoded>) -> PyResult<Encoded<'py>> {
    let mut found = decoding::Encoded { has_missing: false, problem: None };
    let out = PyBytes::new_with(py, length, |out| {
        found = encode(out).map_err(|error| raise(py, &error))?;
        Ok(())
    })?;
    let name = |reason| match reason {
        Unencodable::NotWhole => "not whole",
        Unencodable::OutOfRange => "out of range",
        Unencodable::MeansMissing => "means missing",
        Unencodable::HasNoMark => "has no mark",
        _ => "other calendar",
    };
    Ok((out, found.has_missing, found.problem.map(|(index, reason)| (index, name(reason), reason.message()))))
}

/// The type of numbers of a dtype.
fn data_type(dtype: &str) -> PyResult<DataType> {
    Ok(match dtype {
        "i1" => DataType::Int8,
        "i2" => DataType::Int16,
        "i4" => DataType::Int32,
        "i8" => DataType::Int64,
        "u1" => DataType::UInt8,
        "u2" => DataType::UInt16,
        "u4" => DataType::UInt32,
        "u8" => DataType::UInt64,
        "f2" => DataType::Float16,
        "f4" => DataType::Float32,
        "f8" => DataType::Float64,
        other => return Err(PyTypeError::new_err(format!("values of dtype {other}, which are no numbers"))),
    })
}

const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

/// A name of values, or of bits in them.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Flag(decoding::Flag);

#[pymethods]
impl Flag {
    /// What it says.
    #[getter]
    fn meaning(&self) -> &str {
        &self.0.meaning
    }

    /// What the bits of `mask` are equal to; `None` if one of them is set.
    #[getter]
    fn value(&self) -> Option<i128> {
        self.0.value
    }

    /// The bits that decide; `None` if all do.
    #[getter]
    fn mask(&self) -> Option<i128> {
        self.0.mask
    }

    /// Whether a value has this name.
    fn is_of(&self, value: i128) -> bool {
        self.0.is_of(value)
    }
}

/// Units of dates: how long one count is, and from when and in which calendar it counts.
#[pyclass(frozen, eq, module = "hyperslab._native")]
#[derive(PartialEq)]
pub(crate) struct TimeUnits(decoding::TimeUnits);

#[pymethods]
impl TimeUnits {
    /// Reads `units` such as `days since 2000-01-01`; no `calendar` is the standard one. `None` for units of other things.
    #[staticmethod]
    #[pyo3(signature = (units, calendar=None))]
    fn parse(units: &str, calendar: Option<&str>) -> PyResult<Option<Self>> {
        let found = decoding::TimeUnits::parse(units, calendar).map_err(PyValueError::new_err)?;
        Ok(found.map(Self))
    }

    /// Name of the calendar in CF.
    #[getter]
    fn calendar(&self) -> &'static str {
        self.0.calendar().name()
    }

    /// Nanoseconds of one count.
    #[getter]
    fn step(&self) -> i128 {
        self.0.step()
    }

    /// Nanoseconds from `epoch` to the date that is counted from.
    #[getter]
    fn reference(&self) -> i128 {
        self.0.reference()
    }

    /// The date of the calendar that `reference` counts from.
    #[getter]
    fn epoch(&self) -> &'static str {
        self.0.epoch()
    }

    /// Microseconds from the date that is counted from to timestamps of a column, both 64-bit integers; the minimum for those that are no
    /// dates of the calendar.
    fn elapsed<'py>(&self, py: Python<'py>, timestamps: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let stamps = timestamps.as_chunks::<8>().0;
        PyBytes::new_with(py, stamps.len() * 8, |out| {
            for (bytes, out) in stamps.iter().zip(out.as_chunks_mut::<8>().0) {
                *out = self.0.elapsed(i64::from_ne_bytes(*bytes)).unwrap_or(i64::MIN).to_ne_bytes();
            }
            Ok(())
        })
    }

    /// The same for times of a calendar that columns have as text.
    fn elapsed_of_texts(&self, texts: Vec<Option<String>>) -> Vec<i64> {
        texts.into_iter().map(|text| text.and_then(|text| self.0.elapsed_of_text(&text)).unwrap_or(i64::MIN)).collect()
    }
}
