//! Float layout: where the parts of a floating-point number are, as an object of Python.

use hyperslab::{Error, FloatLayout as Core, Mantissa};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::datatype::{call_with, values_of};
use crate::error::raise;

/// Where the parts of a floating-point number are, in bits.
#[pyclass(frozen, eq, hash, get_all, module = "hyperslab._native")]
#[derive(PartialEq, Hash)]
pub(crate) struct FloatLayout {
    /// Position of the lowest significant bit.
    bit_offset: u16,
    /// Number of significant bits.
    bit_precision: u16,
    /// Position of the sign.
    sign_location: u8,
    /// Lowest bit of the exponent.
    exponent_location: u8,
    /// Bits of the exponent.
    exponent_size: u8,
    /// Lowest bit of the mantissa.
    mantissa_location: u8,
    /// Bits of the mantissa.
    mantissa_size: u8,
    /// What is subtracted from the stored exponent.
    exponent_bias: u32,
    /// How the leading bit of the mantissa is kept: `as_stored`, `always_set` or `implied`.
    mantissa: String,
}

impl From<&Core> for FloatLayout {
    fn from(layout: &Core) -> Self {
        let Core { bit_offset, bit_precision, sign_location, exponent_location, exponent_size, mantissa_location, mantissa_size, exponent_bias, mantissa } =
            *layout;
        let mantissa = mantissa.name().to_owned();
        Self { bit_offset, bit_precision, sign_location, exponent_location, exponent_size, mantissa_location, mantissa_size, exponent_bias, mantissa }
    }
}

impl FloatLayout {
    /// The arguments of the constructor.
    const PARTS: [&str; 9] = [
        "bit_offset",
        "bit_precision",
        "sign_location",
        "exponent_location",
        "exponent_size",
        "mantissa_location",
        "mantissa_size",
        "exponent_bias",
        "mantissa",
    ];

    /// The core's layout.
    pub(crate) fn core(&self, py: Python<'_>) -> PyResult<Core> {
        let Self { bit_offset, bit_precision, sign_location, exponent_location, exponent_size, mantissa_location, mantissa_size, exponent_bias, .. } = *self;
        let known = [Mantissa::AsStored, Mantissa::AlwaysSet, Mantissa::Implied];
        let mantissa = known.into_iter().find(|known| known.name() == self.mantissa);
        let mantissa = mantissa.ok_or_else(|| {
            raise(py, &Error::invalid_input(format!("unknown mantissa {:?}; expected one of {:?}", self.mantissa, known.map(Mantissa::name))))
        })?;
        Ok(Core { bit_offset, bit_precision, sign_location, exponent_location, exponent_size, mantissa_location, mantissa_size, exponent_bias, mantissa })
    }
}

#[pymethods]
impl FloatLayout {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "one for each number of HDF5's description of a float")]
    fn new(
        bit_offset: u16,
        bit_precision: u16,
        sign_location: u8,
        exponent_location: u8,
        exponent_size: u8,
        mantissa_location: u8,
        mantissa_size: u8,
        exponent_bias: u32,
        mantissa: String,
    ) -> Self {
        Self { bit_offset, bit_precision, sign_location, exponent_location, exponent_size, mantissa_location, mantissa_size, exponent_bias, mantissa }
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        call_with(slf, "FloatLayout", &Self::PARTS)
    }

    fn __getnewargs__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        values_of(slf, &Self::PARTS)
    }
}
