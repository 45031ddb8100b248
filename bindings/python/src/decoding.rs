//! Decoding: what the stored numbers of a variable mean, for numpy.

use hyperslab::columns::decoding::{self, Kind, Number};
use hyperslab::columns::{Conventions, Decoding as Core};
use hyperslab::{Attribute, ByteOrder, Dataspace, Elements};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
        of_attributes(py, &datatype.core(), &attributes)
    }

    /// What decoded values are: `number`, `time`, `duration` or `boolean`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind() {
            Kind::Time(_) => "time",
            Kind::Duration(_) => "duration",
            Kind::Boolean => "boolean",
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

    /// Converts stored numbers in the byte order of this machine to microseconds since `time.epoch`: 64-bit integers, whose minimum means
    /// a missing date.
    fn microseconds<'py>(&self, py: Python<'py>, stored: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let width = self.0.stored_size();
        PyBytes::new_with(py, stored.len() / width * 8, |out| self.0.microseconds(NATIVE, stored, out).map_err(|error| raise(py, &error)))
    }
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

    /// Counts of the same times in other units, each `None` if it is not a whole number, or the calendars differ.
    fn recounted(&self, counts: Vec<i128>, to: &Self) -> Vec<Option<i128>> {
        counts.into_iter().map(|count| self.0.recounted(count, &to.0)).collect()
    }
}

/// The decoding of values of a datatype by the core's own attributes.
pub(crate) fn of_attributes(py: Python<'_>, datatype: &hyperslab::Datatype, attributes: &[Attribute]) -> PyResult<Option<Decoding>> {
    if hyperslab::columns::arrow_type(datatype).is_err() {
        return Ok(None);
    }
    Ok(Core::new(datatype, attributes, Conventions::Attributes).map_err(|error| raise(py, &error))?.map(Decoding))
}
