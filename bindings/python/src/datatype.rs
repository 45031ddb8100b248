//! Datatype: how one element is stored, as an object of Python.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use hyperslab::{ByteOrder, CharacterSet, Datatype as Core, EnumMember, Error, FloatFormat, FloatLayout as CoreLayout, Member, StringPadding, TimeEncoding};
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};

use crate::error::raise;
use crate::float_layout::FloatLayout;
use crate::name::Name;
use crate::reference;

/// How one element is stored: the class, the size and what else the class has. Copies share the members of compounds and
/// enumerations.
#[pyclass(frozen, module = "hyperslab._native")]
pub(crate) struct Datatype {
    core: Core,
    /// The fields of a compound or the values of an enumeration, once Python asked for them.
    members: PyOnceLock<Py<PyTuple>>,
    /// The base, once Python asked for it.
    base: PyOnceLock<Py<Datatype>>,
}

impl From<Core> for Datatype {
    fn from(core: Core) -> Self {
        Self { core, members: PyOnceLock::new(), base: PyOnceLock::new() }
    }
}

impl From<&Core> for Datatype {
    fn from(core: &Core) -> Self {
        core.clone().into()
    }
}

impl Datatype {
    /// The core's datatype.
    pub(crate) fn core(&self) -> Core {
        self.core.clone()
    }

    /// The name of the class in Python.
    fn class<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        match &self.core {
            Core::Integer { .. } => intern!(py, "integer"),
            Core::Float { .. } => intern!(py, "float"),
            Core::FixedString { .. } => intern!(py, "string"),
            Core::VariableString { .. } => intern!(py, "variable string"),
            Core::Bitfield { .. } => intern!(py, "bitfield"),
            Core::Time { .. } => intern!(py, "time"),
            Core::Opaque { .. } => intern!(py, "opaque"),
            Core::Compound { .. } => intern!(py, "compound"),
            Core::Reference { .. } => intern!(py, "reference"),
            Core::Enum { .. } => intern!(py, "enum"),
            Core::Sequence { .. } => intern!(py, "sequence"),
            Core::Array { .. } => intern!(py, "array"),
            Core::Unsupported { .. } => intern!(py, "unsupported"),
        }
    }

    /// The error for an attribute that datatypes of this class do not have.
    fn missing(&self, py: Python<'_>, name: &str) -> PyErr {
        PyAttributeError::new_err(format!("a datatype of class {} has no attribute {name:?}", self.class(py)))
    }

    /// The attributes from which the constructor of this class makes an equal datatype, in the order of its arguments.
    fn parts(&self) -> &'static [&'static str] {
        match &self.core {
            Core::Integer { .. } => &["size", "signed", "order", "bit_offset", "bit_precision"],
            Core::Float { format: FloatFormat::Custom(_), .. } => &["size", "order", "layout"],
            Core::Float { .. } | Core::Bitfield { .. } | Core::Time { .. } => &["size", "order"],
            Core::FixedString { .. } | Core::VariableString { .. } => &["size", "padding", "utf8"],
            Core::Opaque { .. } => &["size", "tag"],
            Core::Compound { .. } => &["size", "fields"],
            Core::Reference { .. } => &["reference_kind", "size"],
            Core::Enum { .. } => &["base", "values"],
            Core::Sequence { .. } => &["base", "size"],
            Core::Array { .. } => &["base", "shape"],
            Core::Unsupported { .. } => &["size", "name"],
        }
    }

    /// The name of the constructor of this class.
    fn constructor(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.class(py).to_str()?.replace(' ', "_"))
    }
}

/// The values of attributes.
pub(crate) fn values_of<'py>(object: &Bound<'py, PyAny>, names: &[&str]) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(object.py(), names.iter().map(|name| object.getattr(*name)).collect::<PyResult<Vec<_>>>()?)
}

/// A call with the values of attributes as arguments of the same names.
pub(crate) fn call_with(object: &Bound<'_, PyAny>, function: &str, names: &[&str]) -> PyResult<String> {
    let argument = |name: &&str| Ok(format!("{name}={}", object.getattr(*name)?.repr()?));
    Ok(format!("{function}({})", names.iter().map(argument).collect::<PyResult<Vec<_>>>()?.join(", ")))
}

/// The name of a byte order in Python.
fn order_name<'py>(py: Python<'py>, order: ByteOrder) -> &'py Bound<'py, PyString> {
    match order {
        ByteOrder::Little => intern!(py, "<"),
        ByteOrder::Big => intern!(py, ">"),
    }
}

/// The byte order of this name.
fn byte_order(py: Python<'_>, name: &str) -> PyResult<ByteOrder> {
    match name {
        "<" => Ok(ByteOrder::Little),
        ">" => Ok(ByteOrder::Big),
        other => Err(invalid(py, format!("unknown byte order {other:?}; expected '<' or '>'"))),
    }
}

/// Padding and character set of text.
fn text(py: Python<'_>, padding: &str, utf8: bool) -> PyResult<(StringPadding, CharacterSet)> {
    let known = StringPadding::ALL.into_iter().find(|known| known.name() == padding);
    let padding =
        known.ok_or_else(|| invalid(py, format!("unknown padding {padding:?}; expected one of {:?}", StringPadding::ALL.map(StringPadding::name))))?;
    Ok((padding, if utf8 { CharacterSet::Utf8 } else { CharacterSet::Ascii }))
}

fn invalid(py: Python<'_>, message: String) -> PyErr {
    raise(py, &Error::invalid_input(message))
}

/// Whether two datatypes are equal. Members that both share are not compared one by one.
fn is_equal(one: &Core, other: &Core) -> bool {
    match (one, other) {
        (Core::Compound { members, size }, Core::Compound { members: others, size: other_size }) => {
            size == other_size && (Arc::ptr_eq(members, others) || members == others)
        }
        (Core::Enum { base, members }, Core::Enum { base: other_base, members: others }) => {
            base == other_base && (Arc::ptr_eq(members, others) || members == others)
        }
        (Core::Array { base, shape }, Core::Array { base: other_base, shape: other_shape }) => shape == other_shape && is_equal(base, other_base),
        (Core::Sequence { base, size }, Core::Sequence { base: other_base, size: other_size }) => size == other_size && is_equal(base, other_base),
        _ => one == other,
    }
}

/// Hashes a datatype in constant time: only the number of its members counts.
fn hash(datatype: &Core, hasher: &mut DefaultHasher) {
    match datatype {
        Core::Compound { size, members } => (size, members.len()).hash(hasher),
        Core::Enum { base, members } => (base, members.len()).hash(hasher),
        Core::Array { base, shape } => {
            shape.hash(hasher);
            hash(base, hasher);
        }
        Core::Sequence { base, size } => {
            size.hash(hasher);
            hash(base, hasher);
        }
        _ => datatype.hash(hasher),
    }
}

/// Whether numpy has no dtype with the bit layout of this number.
fn is_nonstandard(datatype: &Core) -> bool {
    match datatype {
        Core::Float { format, .. } => *format != FloatFormat::Ieee,
        Core::Integer { size, .. } => !is_whole_integer(datatype) || !matches!(size, 1 | 2 | 4 | 8),
        Core::Bitfield { size, .. } => !matches!(size, 1 | 2 | 4 | 8),
        _ => false,
    }
}

/// Whether all bits of an integer are significant.
fn is_whole_integer(datatype: &Core) -> bool {
    matches!(datatype, Core::Integer { size, bit_offset: 0, bit_precision, .. } if u64::from(*bit_precision) == size.saturating_mul(8))
}

/// Whether an element has the same bytes in the file and in numpy.
fn is_plain(datatype: &Core) -> bool {
    match datatype {
        Core::Compound { members, .. } => members.iter().all(|member| is_plain(&member.datatype)),
        // numpy's booleans have one byte.
        Core::Enum { base, .. } => is_plain(base) && (base.size() == 1 || !datatype.is_boolean()),
        Core::Array { base, .. } => is_plain(base),
        Core::VariableString { .. } | Core::Sequence { .. } | Core::Reference { .. } => false,
        other => !is_nonstandard(other),
    }
}

/// Whether part of an element is a fixed string whose padding numpy does not know.
fn has_padded_strings(datatype: &Core) -> bool {
    match datatype {
        Core::FixedString { padding, .. } => *padding != StringPadding::NullPadded,
        Core::Compound { members, .. } => members.iter().any(|member| has_padded_strings(&member.datatype)),
        Core::Array { base, .. } => has_padded_strings(base),
        _ => false,
    }
}

/// numpy's dtypes of numbers.
static NUMBER_DTYPES: [PyOnceLock<Py<PyAny>>; 24] = [const { PyOnceLock::new() }; 24];

/// Byte order and letter of numpy's dtype of an integer or a float that numpy has, and its place among [`NUMBER_DTYPES`].
fn number_dtype(datatype: &Core) -> Option<(char, char, usize)> {
    let (letter, row, order) = match datatype {
        Core::Integer { signed: false, order, .. } => ('u', 0, order),
        Core::Integer { order, .. } => ('i', 1, order),
        Core::Float { order, .. } => ('f', 2, order),
        _ => return None,
    };
    if is_nonstandard(datatype) {
        return None;
    }
    let (sign, is_big) = match order {
        ByteOrder::Little => ('<', 0),
        ByteOrder::Big => ('>', 1),
    };
    Some((sign, letter, (row * 4 + datatype.size().trailing_zeros() as usize) * 2 + is_big))
}

#[pymethods]
impl Datatype {
    /// An integer. By default all of its bits are significant.
    #[staticmethod]
    #[pyo3(signature = (size, signed, order="<", bit_offset=0, bit_precision=None))]
    fn integer(py: Python<'_>, size: u64, signed: bool, order: &str, bit_offset: u16, bit_precision: Option<u16>) -> PyResult<Self> {
        let order = byte_order(py, order)?;
        Ok(match bit_precision {
            Some(bit_precision) => Core::Integer { size, signed, order, bit_offset, bit_precision },
            None => Core::integer(size, signed, order),
        }
        .into())
    }

    /// A floating-point number: an IEEE float without a `layout`.
    #[staticmethod]
    #[pyo3(signature = (size, order="<", layout=None))]
    fn float(py: Python<'_>, size: u64, order: &str, layout: Option<&FloatLayout>) -> PyResult<Self> {
        let order = byte_order(py, order)?;
        match layout {
            Some(layout) => Ok(Core::Float { size, order, format: FloatFormat::Custom(layout.core(py)?) }.into()),
            None if CoreLayout::ieee(size).is_some() => Ok(Core::float(size, order).into()),
            None => Err(invalid(py, format!("an IEEE float of {size} bytes; expected 2, 4 or 8"))),
        }
    }

    /// A string of fixed length.
    #[staticmethod]
    #[pyo3(signature = (size, padding="null_terminated", utf8=false))]
    fn string(py: Python<'_>, size: u64, padding: &str, utf8: bool) -> PyResult<Self> {
        let (padding, character_set) = text(py, padding, utf8)?;
        Ok(Core::FixedString { size, padding, character_set }.into())
    }

    /// A string of variable length, whose elements are references to a heap, of `size` bytes.
    #[staticmethod]
    #[pyo3(signature = (size=16, padding="null_terminated", utf8=false))]
    fn variable_string(py: Python<'_>, size: u64, padding: &str, utf8: bool) -> PyResult<Self> {
        let (padding, character_set) = text(py, padding, utf8)?;
        Ok(Core::VariableString { size, padding, character_set }.into())
    }

    /// Bits without a numeric meaning.
    #[staticmethod]
    #[pyo3(signature = (size, order="<"))]
    fn bitfield(py: Python<'_>, size: u64, order: &str) -> PyResult<Self> {
        Ok(Core::Bitfield { size, order: byte_order(py, order)? }.into())
    }

    /// A time.
    #[staticmethod]
    #[pyo3(signature = (size, order="<"))]
    fn time(py: Python<'_>, size: u64, order: &str) -> PyResult<Self> {
        Ok(Core::Time { size, order: byte_order(py, order)?, encoding: TimeEncoding::Stored }.into())
    }

    /// Bytes without a meaning.
    #[staticmethod]
    #[pyo3(signature = (size, tag=Name(String::new())), text_signature = "(size, tag='')")]
    fn opaque(size: u64, tag: Name) -> Self {
        Core::Opaque { size, tag: tag.0 }.into()
    }

    /// A compound: name, byte offset and datatype of each field.
    #[staticmethod]
    fn compound(size: u64, fields: Vec<(Name, u64, PyRef<'_, Datatype>)>) -> Self {
        let member = |(name, offset, datatype): (Name, u64, PyRef<'_, Datatype>)| Member { name: name.0, offset, datatype: datatype.core() };
        Core::Compound { size, members: fields.into_iter().map(member).collect() }.into()
    }

    /// A reference of kind `object`, `region` or `standard`.
    #[staticmethod]
    fn reference(py: Python<'_>, reference_kind: &str, size: u64) -> PyResult<Self> {
        Ok(Core::Reference { size, kind: reference::kind(py, reference_kind)? }.into())
    }

    /// An enumeration: an integer, and name and value of each member.
    #[staticmethod]
    #[pyo3(name = "enum")]
    fn enumeration(base: &Self, values: Vec<(Name, i128)>) -> Self {
        let members = values.into_iter().map(|(name, value)| EnumMember { name: name.0, value }).collect();
        Core::Enum { base: Box::new(base.core()), members }.into()
    }

    /// A sequence of variable length, whose elements are references to a heap, of `size` bytes.
    #[staticmethod]
    #[pyo3(signature = (base, size=16))]
    fn sequence(base: &Self, size: u64) -> Self {
        Core::Sequence { size, base: Box::new(base.core()) }.into()
    }

    /// An array of fixed shape.
    #[staticmethod]
    fn array(base: &Self, shape: Vec<u64>) -> Self {
        Core::Array { base: Box::new(base.core()), shape }.into()
    }

    /// A class that is neither read nor written.
    #[staticmethod]
    fn unsupported(size: u64, name: String) -> Self {
        Core::Unsupported { size, class: name }.into()
    }

    /// The name of the class.
    #[getter]
    fn class_name<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        self.class(py)
    }

    /// Bytes of an element in the file.
    #[getter]
    fn size(&self) -> u64 {
        self.core.size()
    }

    /// The byte order of a number, a bitfield or a time: `<` or `>`.
    #[getter]
    fn order<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyString>> {
        match &self.core {
            Core::Integer { order, .. } | Core::Float { order, .. } | Core::Bitfield { order, .. } | Core::Time { order, .. } => Ok(order_name(py, *order)),
            _ => Err(self.missing(py, "order")),
        }
    }

    /// Whether an integer has a sign.
    #[getter]
    fn signed(&self, py: Python<'_>) -> PyResult<bool> {
        let Core::Integer { signed, .. } = &self.core else { return Err(self.missing(py, "signed")) };
        Ok(*signed)
    }

    /// Position of the lowest significant bit of an integer.
    #[getter]
    fn bit_offset(&self, py: Python<'_>) -> PyResult<u16> {
        let Core::Integer { bit_offset, .. } = &self.core else { return Err(self.missing(py, "bit_offset")) };
        Ok(*bit_offset)
    }

    /// Number of significant bits of an integer.
    #[getter]
    fn bit_precision(&self, py: Python<'_>) -> PyResult<u16> {
        let Core::Integer { bit_precision, .. } = &self.core else { return Err(self.missing(py, "bit_precision")) };
        Ok(*bit_precision)
    }

    /// Whether all bits of an integer are significant, or a float is an IEEE float.
    #[getter]
    fn is_ordinary(&self, py: Python<'_>) -> PyResult<bool> {
        match &self.core {
            Core::Integer { .. } => Ok(is_whole_integer(&self.core)),
            Core::Float { format, .. } => Ok(*format == FloatFormat::Ieee),
            _ => Err(self.missing(py, "is_ordinary")),
        }
    }

    /// Where the parts of a float are.
    #[getter]
    fn layout(&self, py: Python<'_>) -> PyResult<FloatLayout> {
        let found = match &self.core {
            Core::Float { format: FloatFormat::Custom(layout), .. } => Some(*layout),
            Core::Float { format: FloatFormat::Ieee, size, .. } => CoreLayout::ieee(*size),
            _ => None,
        };
        found.map(|layout| FloatLayout::from(&layout)).ok_or_else(|| self.missing(py, "layout"))
    }

    /// Whether text is in UTF-8; else it is ASCII.
    #[getter]
    fn utf8(&self, py: Python<'_>) -> PyResult<bool> {
        match &self.core {
            Core::FixedString { character_set, .. } | Core::VariableString { character_set, .. } => Ok(*character_set == CharacterSet::Utf8),
            _ => Err(self.missing(py, "utf8")),
        }
    }

    /// How text shorter than its field is filled: `null_terminated`, `null_padded` or `space_padded`.
    #[getter]
    fn padding(&self, py: Python<'_>) -> PyResult<&'static str> {
        match &self.core {
            Core::FixedString { padding, .. } | Core::VariableString { padding, .. } => Ok(padding.name()),
            _ => Err(self.missing(py, "padding")),
        }
    }

    /// What the writer of opaque bytes called them.
    #[getter]
    fn tag(&self, py: Python<'_>) -> PyResult<Name> {
        let Core::Opaque { tag, .. } = &self.core else { return Err(self.missing(py, "tag")) };
        Ok(Name(tag.clone()))
    }

    /// Name, byte offset and datatype of each field of a compound.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyTuple>> {
        let Core::Compound { members, .. } = &self.core else { return Err(self.missing(py, "fields")) };
        let fields =
            || PyTuple::new(py, members.iter().map(|member| (Name(member.name.clone()), member.offset, Self::from(&member.datatype)))).map(Bound::unbind);
        self.members.get_or_try_init(py, fields).map(|fields| fields.bind(py))
    }

    /// Name and value of each member of an enumeration.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyTuple>> {
        let Core::Enum { members, .. } = &self.core else { return Err(self.missing(py, "values")) };
        let values = || PyTuple::new(py, members.iter().map(|member| (Name(member.name.clone()), member.value))).map(Bound::unbind);
        self.members.get_or_try_init(py, values).map(|values| values.bind(py))
    }

    /// Number of fields of a compound or of values of an enumeration; 0 for other classes.
    #[getter]
    fn member_count(&self) -> usize {
        match &self.core {
            Core::Compound { members, .. } => members.len(),
            Core::Enum { members, .. } => members.len(),
            _ => 0,
        }
    }

    /// The datatype of the elements of an array or a sequence, or the integer of an enumeration.
    #[getter]
    fn base<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, Datatype>> {
        let (Core::Enum { base, .. } | Core::Sequence { base, .. } | Core::Array { base, .. }) = &self.core else { return Err(self.missing(py, "base")) };
        self.base.get_or_try_init(py, || Py::new(py, Self::from(&**base))).map(|base| base.bind(py))
    }

    /// The extents of an array.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let Core::Array { shape, .. } = &self.core else { return Err(self.missing(py, "shape")) };
        PyTuple::new(py, shape)
    }

    /// What references point at: `object`, `region` or `standard`.
    #[getter]
    fn reference_kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        let Core::Reference { kind, .. } = &self.core else { return Err(self.missing(py, "reference_kind")) };
        Ok(reference::name(*kind))
    }

    /// The name of a class that is not supported.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<&str> {
        let Core::Unsupported { class, .. } = &self.core else { return Err(self.missing(py, "name")) };
        Ok(class)
    }

    /// Whether it is h5py's boolean: an enumeration of FALSE = 0 and TRUE = 1 over one byte.
    #[getter]
    fn is_boolean(&self) -> bool {
        self.core.is_boolean()
    }

    /// Whether it is a number with a bit layout that numpy does not have.
    #[getter]
    fn is_nonstandard(&self) -> bool {
        is_nonstandard(&self.core)
    }

    /// Whether an element has the same bytes in the file and in numpy.
    #[getter]
    fn is_plain(&self) -> bool {
        is_plain(&self.core)
    }

    /// Whether part of an element is stored in a heap.
    #[getter]
    fn uses_heap(&self) -> bool {
        self.core.uses_heap()
    }

    /// Whether part of an element is a reference.
    #[getter]
    fn has_references(&self) -> bool {
        self.core.has_references()
    }

    /// Whether part of an element is a fixed string whose padding numpy does not know.
    #[getter]
    fn has_padded_strings(&self) -> bool {
        has_padded_strings(&self.core)
    }

    /// numpy's dtype of an integer or a float that numpy has; `None` for all other datatypes.
    #[getter]
    fn number_dtype<'py>(&self, py: Python<'py>) -> PyResult<Option<&Bound<'py, PyAny>>> {
        static DTYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let Some((sign, letter, place)) = number_dtype(&self.core) else { return Ok(None) };
        let Some(kept) = NUMBER_DTYPES.get(place) else { return Ok(None) };
        let made = || DTYPE.import(py, "numpy", "dtype")?.call1((format!("{sign}{letter}{}", self.core.size()),)).map(Bound::unbind);
        kept.get_or_try_init(py, made).map(|dtype| Some(dtype.bind(py)))
    }

    /// The datatype as files that are created store it: in files whose addresses do not have 8 bytes, references and what has a variable length have
    /// another size.
    #[getter]
    fn widened(&self) -> Self {
        Self::from(hyperslab::widened_datatype(&self.core))
    }

    /// The names of the constructor's arguments that differ between this and another datatype; `class` if their classes differ.
    fn differences(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<Vec<&'static str>> {
        let (mine, theirs) = (slf.get(), other.get());
        if std::mem::discriminant(&mine.core) != std::mem::discriminant(&theirs.core) {
            return Ok(vec!["class"]);
        }
        // An IEEE float has a layout, too, which its constructor does not need.
        let parts = if mine.parts().len() < theirs.parts().len() { theirs.parts() } else { mine.parts() };
        let mut differing = Vec::new();
        for part in parts {
            if slf.getattr(*part)?.ne(other.getattr(*part)?)? {
                differing.push(*part);
            }
        }
        Ok(differing)
    }

    fn __eq__(&self, other: &Self) -> bool {
        is_equal(&self.core, &other.core)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        std::mem::discriminant(&self.core).hash(&mut hasher);
        hash(&self.core, &mut hasher);
        hasher.finish()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let datatype = slf.get();
        call_with(slf, &format!("Datatype.{}", datatype.constructor(slf.py())?), datatype.parts())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let datatype = slf.get();
        Ok((slf.get_type().getattr(datatype.constructor(slf.py())?)?, values_of(slf, datatype.parts())?))
    }
}
