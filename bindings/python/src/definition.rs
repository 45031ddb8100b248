//! Definition: datatypes to write, from dictionaries as `describe` makes them.

use hyperslab::{ByteOrder, CharacterSet, Datatype, EnumMember, FloatFormat, Member, ReferenceKind, StringPadding, TimeEncoding};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

fn field<'py, T>(dict: &Bound<'py, PyDict>, name: &str) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
{
    let value = dict.get_item(name)?.ok_or_else(|| PyValueError::new_err(format!("a datatype without {name}")))?;
    value.extract().map_err(|_| PyValueError::new_err(format!("a datatype whose {name} is of another kind")))
}

/// The datatype that a dictionary describes.
pub(crate) fn datatype(dict: &Bound<'_, PyDict>) -> PyResult<Datatype> {
    let class: String = field(dict, "class")?;
    let size: u64 = field(dict, "size")?;
    let order = || -> PyResult<ByteOrder> {
        let order: String = field(dict, "order")?;
        Ok(if order == ">" { ByteOrder::Big } else { ByteOrder::Little })
    };
    let base = || -> PyResult<Box<Datatype>> { Ok(Box::new(datatype(&field::<Bound<'_, PyDict>>(dict, "base")?)?)) };
    let text = || -> PyResult<(StringPadding, CharacterSet)> {
        let padding: String = field(dict, "padding")?;
        let padding = StringPadding::ALL
            .into_iter()
            .find(|known| known.name() == padding)
            .ok_or_else(|| PyValueError::new_err(format!("unknown padding {padding:?}; expected one of {:?}", StringPadding::ALL.map(StringPadding::name))))?;
        Ok((padding, if field(dict, "utf8")? { CharacterSet::Utf8 } else { CharacterSet::Ascii }))
    };
    Ok(match class.as_str() {
        "integer" if dict.contains("bit_precision")? => Datatype::Integer {
            size,
            signed: field(dict, "signed")?,
            order: order()?,
            bit_offset: field(dict, "bit_offset")?,
            bit_precision: field(dict, "bit_precision")?,
        },
        "integer" => Datatype::integer(size, field(dict, "signed")?, order()?),
        "float" => Datatype::Float { size, order: order()?, format: FloatFormat::Ieee },
        "bitfield" => Datatype::Bitfield { size, order: order()? },
        "time" => Datatype::Time { size, order: order()?, encoding: TimeEncoding::Stored },
        "string" => {
            let (padding, character_set) = text()?;
            Datatype::FixedString { size, padding, character_set }
        }
        "variable string" => {
            let (padding, character_set) = text()?;
            Datatype::VariableString { size, padding, character_set }
        }
        "opaque" => Datatype::Opaque { size, tag: field(dict, "tag")? },
        "compound" => {
            let members: Vec<(String, u64, Bound<'_, PyDict>)> = field(dict, "members")?;
            let member = |(name, offset, inner): (String, u64, Bound<'_, PyDict>)| Ok(Member { name, offset, datatype: datatype(&inner)? });
            Datatype::Compound { size, members: members.into_iter().map(member).collect::<PyResult<_>>()? }
        }
        "enum" => {
            let members: Vec<(String, i128)> = field(dict, "members")?;
            let members = members.into_iter().map(|(name, value)| EnumMember { name, value }).collect();
            Datatype::Enum { base: base()?, members }
        }
        "sequence" => Datatype::Sequence { size, base: base()? },
        "array" => Datatype::Array { base: base()?, shape: field(dict, "shape")? },
        "reference" => {
            let kind: String = field(dict, "kind")?;
            let kind = match kind.as_str() {
                "region" => ReferenceKind::Region,
                "standard" => ReferenceKind::Standard,
                _ => ReferenceKind::Object,
            };
            Datatype::Reference { size, kind }
        }
        other => return Err(PyValueError::new_err(format!("datatype class {other} is not written"))),
    })
}
