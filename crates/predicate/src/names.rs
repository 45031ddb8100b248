//! Names of types and constants in messages, as authors of predicates write them.

use std::borrow::Cow;

use arrow_schema::DataType;
use hyperslab_array::shown::shown;

use super::Literal;

/// The name of a type in numpy and SQL.
pub(super) fn type_name(data_type: &DataType) -> Cow<'static, str> {
    Cow::Borrowed(match data_type {
        DataType::Boolean => "boolean",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text",
        DataType::Dictionary(_, values) => return type_name(values),
        DataType::Timestamp(..) => "a time",
        DataType::Binary | DataType::LargeBinary | DataType::FixedSizeBinary(_) => "binary",
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "a list",
        DataType::Struct(_) => "a struct",
        other => return Cow::Owned(other.to_string().to_ascii_lowercase()),
    })
}

/// A constant as it is written.
pub(super) fn literal_name(literal: &Literal) -> String {
    match literal {
        Literal::Number(number) => shown(number).into_owned(),
        Literal::Text(text) | Literal::Bytes(text) => format!("'{}'", shown(&text.replace('\'', "''"))),
        Literal::Boolean(value) => value.to_string(),
    }
}
