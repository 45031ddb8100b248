//! Key: a numpy key as what it picks of a dataset, in one crossing. No element of a list or an array is handled in Python.

use hyperslab::{Axis, Mask, Pick, Picked};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyInt, PyList, PyRange, PyRangeMethods, PySlice, PyString, PyTuple, PyType};

/// What a key selects.
pub(crate) struct Key<'py> {
    pub picked: Picked,
    /// Extents of the result's dimensions: those that the key does not drop.
    pub shape: Vec<u64>,
    pub has_ellipsis: bool,
    /// Names of members of a compound.
    pub fields: Vec<Bound<'py, PyString>>,
}

impl<'py> Key<'py> {
    /// What a key selects of a dataset of this shape; `None` if it is wrong, which `hyperslab.values.indexing_keys` words.
    pub fn parse(key: &Bound<'py, PyAny>, shape: &[u64]) -> Option<Self> {
        let mut parser = Parser { extents: shape, picks: Vec::with_capacity(shape.len()), shape: Vec::with_capacity(shape.len()), has_ellipsis: false };
        let mut fields = Vec::new();
        let Ok(keys) = key.cast::<PyTuple>() else {
            if let Ok(name) = key.cast::<PyString>() {
                fields.push(name.clone());
            } else if let Some(mask) = whole_mask(key, shape) {
                return Some(Self::of_mask(mask, fields));
            } else {
                parser.take(key, 1)?;
            }
            return parser.finish(fields);
        };
        let mut items = Vec::with_capacity(keys.len());
        for item in keys.iter_borrowed() {
            match item.cast::<PyString>() {
                Ok(name) => fields.push((*name).clone()),
                Err(_) => items.push(item),
            }
        }
        if let [only] = items.as_slice()
            && let Some(mask) = whole_mask(only, shape)
        {
            return Some(Self::of_mask(mask, fields));
        }
        let given = items.iter().filter(|item| !item.is(item.py().Ellipsis())).count();
        for item in items {
            parser.take(&item, given)?;
        }
        parser.finish(fields)
    }

    fn of_mask(mask: Mask, fields: Vec<Bound<'py, PyString>>) -> Self {
        Self { shape: vec![mask.count()], picked: Picked::Mask(mask), has_ellipsis: false, fields }
    }
}

/// Parses a key, item by item.
struct Parser<'a> {
    /// Shape of the dataset.
    extents: &'a [u64],
    picks: Vec<Pick>,
    shape: Vec<u64>,
    has_ellipsis: bool,
}

impl Parser<'_> {
    /// Parses an item of a key with `given` items for dimensions; `None` if it is wrong.
    fn take(&mut self, item: &Bound<'_, PyAny>, given: usize) -> Option<()> {
        if item.is(item.py().Ellipsis()) {
            let missing = self.extents.len().checked_sub(given).filter(|_| !self.has_ellipsis)?;
            self.has_ellipsis = true;
            self.all(missing);
            return Some(());
        }
        let extent = *self.extents.get(self.picks.len())?;
        let pick = if let Ok(slice) = item.cast_exact::<PySlice>() {
            range_of(slice, extent)?
        } else if is_integer(item) {
            self.picks.push(Pick::Axis(single(index(item, extent)?)));
            return Some(());
        } else if let Some(pick) = list(item, extent) {
            pick?
        } else {
            self.picks.push(Pick::Axis(single(index(item, extent)?)));
            return Some(());
        };
        self.shape.push(pick.count());
        self.picks.push(pick);
        Some(())
    }

    /// Takes the next dimensions whole.
    fn all(&mut self, count: usize) {
        let first = self.picks.len();
        let extents = self.extents.get(first..first + count).unwrap_or_default();
        self.picks.extend(extents.iter().map(|&extent| Pick::Axis(Axis::all(extent))));
        self.shape.extend(extents);
    }

    /// Takes the dimensions that the key did not mention.
    fn finish(mut self, fields: Vec<Bound<'_, PyString>>) -> Option<Key<'_>> {
        self.all(self.extents.len().checked_sub(self.picks.len())?);
        Some(Key { picked: Picked::Outer(self.picks), shape: self.shape, has_ellipsis: self.has_ellipsis, fields })
    }
}

fn single(index: u64) -> Axis {
    Axis::Range { start: index, count: 1, step: 1 }
}

/// Whether an item is surely a single index. Others may be, too.
fn is_integer(item: &Bound<'_, PyAny>) -> bool {
    item.is_instance_of::<PyInt>() || imported(item.py(), &INTEGER, "integer").is_ok_and(|integer| item.is_instance(integer).unwrap_or(false))
}

/// An integer, or what Python takes for one, as an index; negative ones count from the end. `None` if it is out of range.
fn index(item: &Bound<'_, PyAny>, extent: u64) -> Option<u64> {
    match item.extract::<i64>() {
        Ok(index) => resolved(index, extent),
        Err(_) => item.extract::<u64>().ok().filter(|index| *index < extent),
    }
}

fn resolved(index: i64, extent: u64) -> Option<u64> {
    match index {
        0.. => Some(index.unsigned_abs()).filter(|index| *index < extent),
        _ => extent.checked_sub(index.unsigned_abs()),
    }
}

/// A slice with a positive step.
fn range_of(slice: &Bound<'_, PySlice>, extent: u64) -> Option<Pick> {
    let (start, step, count) = match isize::try_from(extent) {
        Ok(length) => {
            let found = slice.indices(length).ok()?;
            (u64::try_from(found.start).ok()?, u64::try_from(found.step).ok()?, found.slicelength as u64)
        }
        Err(_) => {
            let (start, stop, step): (u64, u64, u64) = slice.call_method1(intern!(slice.py(), "indices"), (extent,)).ok()?.extract().ok()?;
            (start, step, stop.saturating_sub(start).div_ceil(step.max(1)))
        }
    };
    let range = match count {
        0 => Axis::range(0, 0),
        _ => Axis::Range { start, count, step },
    };
    (step > 0).then_some(Pick::Axis(range))
}

/// A list of integers or truth values along a dimension; `None` of other items, `Some(None)` of a wrong list.
fn list(item: &Bound<'_, PyAny>, extent: u64) -> Option<Option<Pick>> {
    if let Ok(range) = item.cast::<PyRange>()
        && let Ok(ends) = range.start().and_then(|start| Ok((start, range.step()?, range.len()?)))
    {
        return Some(of_range(ends, extent));
    }
    if let Ok(list) = item.cast_exact::<PyList>()
        && let Some(indexes) = integers(list, extent)
    {
        return Some(indexes.map(Pick::List));
    }
    let array = array_of(item)?;
    // Other arrays may stand for a single index.
    if array.getattr(intern!(item.py(), "ndim")).ok()?.extract::<usize>().ok()? != 1 {
        return None;
    }
    Some(of_array(&array, extent))
}

/// The elements of a range: they need no memory if none is negative and they increase.
fn of_range((start, step, count): (isize, isize, usize), extent: u64) -> Option<Pick> {
    let at = |place: usize| i128::try_from(place).ok().map(|place| start as i128 + place * step as i128);
    let Some(last) = count.checked_sub(1) else { return Some(Pick::Axis(Axis::range(0, 0))) };
    let resolve = |value: i128| resolved(i64::try_from(value).ok()?, extent);
    let (first, end) = (resolve(at(0)?)?, resolve(at(last)?)?);
    if start >= 0 && step > 0 {
        return Some(Pick::Axis(Axis::Range { start: first, count: count as u64, step: if first == end { 1 } else { step.unsigned_abs() as u64 } }));
    }
    let mut indexes = Vec::new();
    indexes.try_reserve_exact(count).ok()?;
    for place in 0..count {
        indexes.push(resolve(at(place)?)?);
    }
    Some(Pick::List(indexes))
}

/// The elements of a list of nothing but Python's integers; `Some(None)` if one of them is out of range.
fn integers(list: &Bound<'_, PyList>, extent: u64) -> Option<Option<Vec<u64>>> {
    let mut indexes = Vec::with_capacity(list.len());
    for item in list.iter() {
        // Truth values are integers, too, but not exactly.
        if !item.is_exact_instance_of::<PyInt>() {
            return None;
        }
        match index(&item, extent) {
            Some(index) => indexes.push(index),
            None => return Some(None),
        }
    }
    Some(Some(indexes))
}

/// A list, tuple, range or array as an array of numpy; `None` of other objects.
fn array_of<'py>(item: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = item.py();
    let ndarray = imported(py, &NDARRAY, "ndarray").ok()?;
    if item.is_exact_instance(ndarray) {
        return Some(item.clone());
    }
    let is_sequence = item.is_instance_of::<PyList>() || item.is_instance_of::<PyTuple>() || item.is_instance_of::<PyRange>();
    if !is_sequence && !item.is_instance(ndarray).ok()? {
        return None;
    }
    static ASARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    ASARRAY.import(py, "numpy", "asarray").ok()?.call1((item,)).ok()
}

/// The dtype of an array, as `<i8`.
fn dtype_of(array: &Bound<'_, PyAny>) -> Option<String> {
    array.getattr(intern!(array.py(), "dtype")).ok()?.getattr(intern!(array.py(), "str")).ok()?.extract().ok()
}

/// The elements of an array of one dimension.
fn of_array(array: &Bound<'_, PyAny>, extent: u64) -> Option<Pick> {
    let py = array.py();
    let dtype = dtype_of(array)?;
    if dtype == "|b1" {
        return (array.len().ok()? as u64 == extent).then(|| mask_of(array, vec![extent])).flatten().map(Pick::Mask);
    }
    if array.len().ok()? == 0 {
        return Some(Pick::List(Vec::new()));
    }
    let (is_signed, wanted) = match dtype.as_bytes().get(1)? {
        b'i' => (true, "<i8"),
        b'u' => (false, "<u8"),
        _ => return None,
    };
    let bytes = match dtype == wanted {
        true => array.call_method0(intern!(py, "tobytes")),
        false => array.call_method1(intern!(py, "astype"), (wanted,)).and_then(|array| array.call_method0(intern!(py, "tobytes"))),
    };
    let bytes = bytes.ok()?.cast_into::<PyBytes>().ok()?;
    let words = bytes.as_bytes().as_chunks::<8>().0;
    let resolve = |word: &[u8; 8]| match is_signed {
        true => resolved(i64::from_le_bytes(*word), extent),
        false => Some(u64::from_le_bytes(*word)).filter(|index| *index < extent),
    };
    words.iter().map(resolve).collect::<Option<Vec<u64>>>().map(Pick::List)
}

/// The mask of a dataset of this shape that is not one-dimensional; `None` of other items, and of a mask of another shape.
fn whole_mask(item: &Bound<'_, PyAny>, shape: &[u64]) -> Option<Mask> {
    let is_list = item.cast::<PyList>().is_ok_and(|list| list.get_item(0).is_ok_and(|first| !first.is_exact_instance_of::<PyInt>()));
    if shape.len() == 1 || !(is_list || imported(item.py(), &NDARRAY, "ndarray").is_ok_and(|ndarray| item.is_instance(ndarray).unwrap_or(false))) {
        return None;
    }
    let array = array_of(item)?;
    if dtype_of(&array)? != "|b1" {
        return None;
    }
    let found: Vec<u64> = array.getattr(intern!(item.py(), "shape")).ok()?.extract().ok()?;
    (found == shape && !found.contains(&0)).then(|| mask_of(&array, found)).flatten()
}

fn mask_of(array: &Bound<'_, PyAny>, shape: Vec<u64>) -> Option<Mask> {
    static PACKBITS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = array.py();
    let packed = PACKBITS.import(py, "numpy", "packbits").ok()?.call1((array, py.None(), intern!(py, "little"))).ok()?;
    let bytes = packed.call_method0(intern!(py, "tobytes")).ok()?.cast_into::<PyBytes>().ok()?;
    Mask::new(shape, bytes.as_bytes().to_vec()).ok()
}

static INTEGER: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NDARRAY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// A class of numpy.
fn imported<'py>(py: Python<'py>, kept: &'static PyOnceLock<Py<PyType>>, name: &str) -> PyResult<&'py Bound<'py, PyType>> {
    kept.import(py, "numpy", name)
}

/// numpy's array, for those who make one.
pub(crate) fn ndarray(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    imported(py, &NDARRAY, "ndarray")
}
