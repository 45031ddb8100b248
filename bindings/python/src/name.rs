//! Name: names and paths of objects, attributes and members as Python has them. Bytes that are not UTF-8 are surrogates (PEP 383),
//! as in the names of files, and can be given as `bytes`.

use std::ops::Deref;

use hyperslab::name::{ADDRESS, bytes_of, is_plain, name_of};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The handler of `str.encode` and `bytes.decode` for bytes that are not UTF-8.
const SURROGATES: &str = "surrogateescape";

/// A name or path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Name(pub String);

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

/// Names without their type.
pub(crate) fn texts(names: Vec<Name>) -> Vec<String> {
    names.into_iter().map(String::from).collect()
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl<'py> FromPyObject<'_, 'py> for Name {
    type Error = PyErr;
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = given.cast::<PyBytes>() {
            return Ok(Self(name_of(bytes.as_bytes())));
        }
        let text = given.cast::<PyString>()?;
        match text.to_cow() {
            Ok(text) => Ok(Self(name_of(text.as_bytes()))),
            Err(_) => of_surrogates(&text).map(Self),
        }
    }
}

/// A name of a column, or a text that has such names. Text of Arrow has bytes that are not UTF-8 as the core has them.
pub(crate) struct ColumnText(pub String);

impl<'py> FromPyObject<'_, 'py> for ColumnText {
    type Error = PyErr;
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let text = given.cast::<PyString>()?;
        match text.to_cow() {
            Ok(text) => Ok(Self(text.into_owned())),
            Err(_) => of_surrogates(&text).map(Self),
        }
    }
}

/// The name that a text with surrogates is.
fn of_surrogates(text: &Borrowed<'_, '_, PyString>) -> PyResult<String> {
    let encoded = |text: &Bound<'_, PyAny>| -> PyResult<String> {
        let bytes = text.call_method1("encode", ("utf-8", SURROGATES))?;
        Ok(name_of(bytes.cast::<PyBytes>()?.as_bytes()))
    };
    let begin = address_mark(text.py())?;
    let (absolute, plain) = (text.call_method1("removeprefix", ("/",))?, text.as_any());
    match absolute.call_method1("startswith", (&begin,))?.extract::<bool>()? {
        true => Ok(format!("{ADDRESS}{}", encoded(&absolute.call_method1("removeprefix", (&begin,))?)?)),
        false => encoded(plain),
    }
}

/// What begins the path of an object without a name in Python: a surrogate that stands for no byte of a name.
fn address_mark(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    PyBytes::new(py, b"\xed\xb0\x80").call_method1("decode", ("utf-8", "surrogatepass"))
}

impl<'py> IntoPyObject<'py> for Name {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        text(py, &self.0)
    }
}

impl<'py> IntoPyObject<'py> for &Name {
    type Target = PyString;
    type Output = Bound<'py, PyString>;
    type Error = PyErr;
    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        text(py, self)
    }
}

/// A name as Python has it.
pub(crate) fn text<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyString>> {
    if is_plain(name) {
        return Ok(PyString::new(py, name));
    }
    let (begin, name) = match name.strip_prefix(ADDRESS) {
        Some(rest) => (Some(address_mark(py)?), rest),
        None => (None, name),
    };
    let text = PyBytes::new(py, &bytes_of(name)).call_method1("decode", ("utf-8", SURROGATES))?;
    let text = match begin {
        Some(begin) => begin.add(text)?,
        None => text,
    };
    Ok(text.cast_into::<PyString>()?)
}

/// Names in a list.
pub(crate) fn list<'py, 'n>(py: Python<'py>, names: impl ExactSizeIterator<Item = &'n str>) -> PyResult<Bound<'py, pyo3::types::PyList>> {
    let names: Vec<_> = names.map(|name| text(py, name)).collect::<PyResult<_>>()?;
    pyo3::types::PyList::new(py, names)
}
