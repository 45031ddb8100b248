//! Type text: spells out types for identities. These texts are hashed and stored, so that they must not change without a new
//! format version; they do not depend on derived `Debug` output or on the Arrow library.

use arrow_schema::{DataType, TimeUnit};
use hyperslab_array::{ByteOrder, CharacterSet, Datatype, FloatFormat, ReferenceKind, Result, TimeEncoding};

use crate::block::not_indexed::not_indexed;

/// A text in double quotes, with a backslash before `"` and `\`.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The type of an element in the file, such as `integer(4,signed,little,0,32)`.
pub(crate) fn datatype_text(datatype: &Datatype) -> String {
    match datatype {
        Datatype::Integer { size, signed, order, bit_offset, bit_precision } => {
            format!("integer({size},{},{},{bit_offset},{bit_precision})", if *signed { "signed" } else { "unsigned" }, order_text(*order))
        }
        Datatype::Float { size, order, format } => format!("float({size},{},{})", order_text(*order), float_text(*format)),
        Datatype::FixedString { size, padding, character_set } => {
            format!("fixed_string({size},{},{})", padding.name(), character_set_text(*character_set))
        }
        Datatype::VariableString { size, padding, character_set } => {
            format!("variable_string({size},{},{})", padding.name(), character_set_text(*character_set))
        }
        Datatype::Bitfield { size, order } => format!("bitfield({size},{})", order_text(*order)),
        Datatype::Time { size, order, encoding } => {
            let encoding = match encoding {
                TimeEncoding::Stored => "stored",
                TimeEncoding::SecondsAndMicroseconds => "seconds_and_microseconds",
            };
            format!("time({size},{},{encoding})", order_text(*order))
        }
        Datatype::Opaque { size, tag } => format!("opaque({size},{})", quoted(tag)),
        Datatype::Compound { size, members } => {
            let members: String =
                members.iter().map(|member| format!(",{}@{}:{}", quoted(&member.name), member.offset, datatype_text(&member.datatype))).collect();
            format!("compound({size}{members})")
        }
        Datatype::Reference { size, kind } => {
            let kind = match kind {
                ReferenceKind::Object => "object",
                ReferenceKind::Region => "region",
                ReferenceKind::Standard => "standard",
            };
            format!("reference({size},{kind})")
        }
        Datatype::Enum { base, members } => {
            let members: String = members.iter().map(|member| format!(",{}={}", quoted(&member.name), member.value)).collect();
            format!("enum({}{members})", datatype_text(base))
        }
        Datatype::Sequence { size, base } => format!("sequence({size},{})", datatype_text(base)),
        Datatype::Array { base, shape } => {
            let extents: String = shape.iter().map(|extent| format!(",{extent}")).collect();
            format!("array({}{extents})", datatype_text(base))
        }
        Datatype::Unsupported { size, class } => format!("unsupported({size},{})", quoted(class)),
    }
}

fn order_text(order: ByteOrder) -> &'static str {
    match order {
        ByteOrder::Little => "little",
        ByteOrder::Big => "big",
    }
}

fn character_set_text(character_set: CharacterSet) -> &'static str {
    match character_set {
        CharacterSet::Ascii => "ascii",
        CharacterSet::Utf8 => "utf8",
    }
}

fn float_text(format: FloatFormat) -> String {
    match format {
        FloatFormat::Ieee => "ieee".to_owned(),
        FloatFormat::Custom(layout) => {
            let mantissa = layout.mantissa.name();
            let bits = [layout.bit_offset, layout.bit_precision].map(|n| n.to_string());
            let parts = [layout.sign_location, layout.exponent_location, layout.exponent_size, layout.mantissa_location, layout.mantissa_size];
            format!("custom({},{},{},{mantissa})", bits.join(","), parts.map(|n| n.to_string()).join(","), layout.exponent_bias)
        }
    }
}

/// The Arrow type of a column that can have an index, such as `float32` or `timestamp(ns,"UTC")`.
pub(crate) fn arrow_type_text(data_type: &DataType) -> Result<String> {
    let name = match data_type {
        DataType::Boolean => "boolean",
        DataType::Int8 => "int8",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::UInt8 => "uint8",
        DataType::UInt16 => "uint16",
        DataType::UInt32 => "uint32",
        DataType::UInt64 => "uint64",
        DataType::Float16 => "float16",
        DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::Utf8 => "utf8",
        DataType::Timestamp(unit, zone) => {
            let unit = match unit {
                TimeUnit::Second => "s",
                TimeUnit::Millisecond => "ms",
                TimeUnit::Microsecond => "us",
                TimeUnit::Nanosecond => "ns",
            };
            return Ok(match zone {
                Some(zone) => format!("timestamp({unit},{})", quoted(zone)),
                None => format!("timestamp({unit})"),
            });
        }
        DataType::Dictionary(keys, values) => return Ok(format!("dictionary({},{})", arrow_type_text(keys)?, arrow_type_text(values)?)),
        other => return Err(not_indexed(other)),
    };
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_array::{FloatLayout, Mantissa};

    /// Stored values: if these change, old indexes are no longer recognized.
    #[test]
    fn texts_have_not_changed() {
        assert_eq!(datatype_text(&Datatype::integer(4, true, ByteOrder::Little)), "integer(4,signed,little,0,32)");
        assert_eq!(datatype_text(&Datatype::float(8, ByteOrder::Big)), "float(8,big,ieee)");
        let bfloat16 = FloatLayout {
            bit_offset: 0,
            bit_precision: 16,
            sign_location: 15,
            exponent_location: 7,
            exponent_size: 8,
            mantissa_location: 0,
            mantissa_size: 7,
            exponent_bias: 127,
            mantissa: Mantissa::Implied,
        };
        let bfloat16 = Datatype::Float { size: 2, order: ByteOrder::Little, format: FloatFormat::Custom(bfloat16) };
        assert_eq!(datatype_text(&bfloat16), "float(2,little,custom(0,16,15,7,8,0,7,127,implied))");
        let opaque = Datatype::Opaque { size: 3, tag: "a\"\\".to_owned() };
        assert_eq!(datatype_text(&Datatype::Array { base: Box::new(opaque), shape: vec![2, 5] }), r#"array(opaque(3,"a\"\\"),2,5)"#);
        let zone = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        assert!(arrow_type_text(&zone).is_ok_and(|text| text == "timestamp(ns,\"UTC\")"));
        let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        assert!(arrow_type_text(&words).is_ok_and(|text| text == "dictionary(int32,utf8)"));
        assert!(arrow_type_text(&DataType::Null).is_err());
    }
}
