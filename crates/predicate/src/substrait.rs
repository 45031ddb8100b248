//! Decodes the subset of Substrait ExtendedExpressions that pyarrow writes for filters into a predicate that keeps at least
//! the same rows. Field numbers follow the Substrait specification. The rules for nulls, NaN and casts are the rules of
//! pyarrow's compute functions; `testing/tables/test_pushed_functions.py` compares each of them with pyarrow.

use std::collections::HashMap;

use hyperslab_array::{Error, Result};
use prost::Message;

use super::{Comparison, List, Literal, Predicate};

#[derive(Clone, PartialEq, Message)]
struct ExtendedExpression {
    #[prost(message, repeated, tag = "2")]
    extensions: Vec<Declaration>,
    #[prost(message, repeated, tag = "3")]
    expressions: Vec<ExpressionReference>,
    #[prost(message, optional, tag = "4")]
    schema: Option<NamedStruct>,
}

#[derive(Clone, PartialEq, Message)]
struct Declaration {
    #[prost(message, optional, tag = "1")]
    extension_type: Option<TypeDeclaration>,
    #[prost(message, optional, tag = "3")]
    function: Option<FunctionDeclaration>,
}

#[derive(Clone, PartialEq, Message)]
struct TypeDeclaration {
    #[prost(uint32, tag = "2")]
    anchor: u32,
    #[prost(string, tag = "3")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct FunctionDeclaration {
    #[prost(uint32, tag = "2")]
    anchor: u32,
    #[prost(string, tag = "3")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ExpressionReference {
    #[prost(message, optional, tag = "1")]
    expression: Option<Expression>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedStruct {
    #[prost(string, repeated, tag = "1")]
    names: Vec<String>,
    #[prost(message, optional, tag = "2")]
    types: Option<StructType>,
}

#[derive(Clone, PartialEq, Message)]
struct StructType {
    #[prost(message, repeated, tag = "1")]
    types: Vec<Type>,
}

/// The types of columns whose lists are pushed down. Other types leave all members empty.
#[derive(Clone, PartialEq, Message)]
struct Type {
    #[prost(bytes = "vec", optional, tag = "1")]
    boolean: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "2")]
    i8: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "3")]
    i16: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "5")]
    i32: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "7")]
    i64: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "10")]
    f32: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "11")]
    f64: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "12")]
    text: Option<Vec<u8>>,
    #[prost(message, optional, tag = "30")]
    user_defined: Option<UserDefined>,
}

#[derive(Clone, PartialEq, Message)]
struct UserDefined {
    #[prost(uint32, tag = "1")]
    anchor: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Expression {
    #[prost(message, optional, tag = "1")]
    literal: Option<LiteralValue>,
    #[prost(message, optional, tag = "2")]
    selection: Option<FieldReference>,
    #[prost(message, optional, tag = "3")]
    function: Option<ScalarFunction>,
    #[prost(message, optional, tag = "8")]
    list: Option<SingularOrList>,
}

#[derive(Clone, PartialEq, Message)]
struct LiteralValue {
    #[prost(bool, optional, tag = "1")]
    boolean: Option<bool>,
    #[prost(int32, optional, tag = "2")]
    i8: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    i16: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    i32: Option<i32>,
    #[prost(int64, optional, tag = "7")]
    i64: Option<i64>,
    #[prost(float, optional, tag = "10")]
    f32: Option<f32>,
    #[prost(double, optional, tag = "11")]
    f64: Option<f64>,
    #[prost(string, optional, tag = "12")]
    text: Option<String>,
    #[prost(int64, optional, tag = "14")]
    microseconds: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldReference {
    #[prost(message, optional, tag = "1")]
    direct: Option<ReferenceSegment>,
}

#[derive(Clone, PartialEq, Message)]
struct ReferenceSegment {
    #[prost(message, optional, tag = "2")]
    field: Option<Box<StructField>>,
}

#[derive(Clone, PartialEq, Message)]
struct StructField {
    #[prost(int32, tag = "1")]
    field: i32,
    #[prost(message, optional, boxed, tag = "2")]
    child: Option<Box<ReferenceSegment>>,
}

#[derive(Clone, PartialEq, Message)]
struct ScalarFunction {
    #[prost(uint32, tag = "1")]
    reference: u32,
    #[prost(message, repeated, tag = "4")]
    arguments: Vec<Argument>,
}

#[derive(Clone, PartialEq, Message)]
struct Argument {
    #[prost(message, optional, tag = "3")]
    value: Option<Expression>,
}

#[derive(Clone, PartialEq, Message)]
struct SingularOrList {
    #[prost(message, optional, boxed, tag = "1")]
    value: Option<Box<Expression>>,
    #[prost(message, repeated, tag = "2")]
    options: Vec<Expression>,
}

impl Predicate {
    /// Decodes pyarrow's `Expression.to_substrait(schema)` (an ExtendedExpression). Parts that a predicate cannot express are
    /// widened: the result keeps every row that the expression keeps. `None` if it would keep all rows.
    ///
    /// # Errors
    /// `InvalidInput` for bytes that are not an expression.
    pub fn from_substrait(bytes: &[u8]) -> Result<Option<Self>> {
        decode(bytes)
    }
}

pub(super) fn decode(bytes: &[u8]) -> Result<Option<Predicate>> {
    let message = ExtendedExpression::decode(bytes).map_err(|error| Error::invalid_input(format!("this is not a Substrait expression: {error}")))?;
    let schema = message.schema.unwrap_or_default();
    // Names are listed depth first; with nested types a field number no longer numbers the names.
    let types = schema.types.unwrap_or_default().types;
    if types.len() != schema.names.len() {
        return Ok(None);
    }
    let functions = message.extensions.iter().filter_map(|declaration| declaration.function.as_ref());
    let functions = functions.map(|f| (f.anchor, f.name.split(':').next().unwrap_or_default().to_owned())).collect();
    let extension_types = message.extensions.iter().filter_map(|declaration| declaration.extension_type.as_ref());
    let extension_types = extension_types.map(|declared| (declared.anchor, declared.name.clone())).collect();
    let decoder = Decoder { names: schema.names, types, functions, extension_types };
    let mut predicate: Option<Predicate> = None;
    for expression in message.expressions.iter().filter_map(|reference| reference.expression.as_ref()) {
        if let Some(part) = decoder.superset(expression, true) {
            predicate = Some(match predicate {
                Some(rest) => rest.and(part),
                None => part,
            });
        }
    }
    Ok(predicate)
}

struct Decoder {
    names: Vec<String>,
    types: Vec<Type>,
    functions: HashMap<u32, String>,
    extension_types: HashMap<u32, String>,
}

enum Operand {
    Column(String),
    Literal(Literal),
}

/// How `is_in` compares a column with the values of its list.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Boolean,
    /// Lower and upper bound of the type.
    Integer(i128, i128),
    Single,
    Double,
    Text,
}

impl Decoder {
    /// A predicate that holds for at least the rows for which the expression has the truth value `truth`. Rows for which the
    /// expression is null have neither. `None` if all rows may have it.
    fn superset(&self, expression: &Expression, truth: bool) -> Option<Predicate> {
        if let Some(list) = &expression.list {
            return self.list(list, truth);
        }
        if expression.selection.is_some() {
            return self.boolean_column(expression, truth);
        }
        let (name, arguments) = self.call(expression)?;
        match (name, arguments.as_slice()) {
            ("and" | "and_kleene", parts) => self.joined(parts, truth, truth),
            ("or" | "or_kleene", parts) => self.joined(parts, truth, !truth),
            ("not" | "invert", [part]) => self.superset(part, !truth),
            ("is_null", [part]) => self.null(part, truth),
            ("is_not_null" | "is_valid", [part]) => self.null(part, !truth),
            ("is_nan", [part]) => self.nan(part, truth),
            (_, [left, right]) => {
                let compared = self.compared(comparison(name)?, left, right)?;
                // A comparison with NaN is false, not null, so its negation holds.
                Some(if truth { compared } else { not(compared) })
            }
            _ => None,
        }
    }

    /// Parts that all have to have `truth`, or at least one of them.
    fn joined(&self, parts: &[&Expression], truth: bool, all: bool) -> Option<Predicate> {
        let supersets = parts.iter().map(|part| self.superset(part, truth));
        if all {
            return supersets.flatten().reduce(Predicate::and);
        }
        Some(Predicate::Or(supersets.collect::<Option<_>>()?))
    }

    fn boolean_column(&self, expression: &Expression, truth: bool) -> Option<Predicate> {
        let Operand::Column(column) = self.operand(expression)? else { return None };
        (self.kind(&column)? == Kind::Boolean).then(|| Predicate::Compare { column, comparison: Comparison::Equal, literal: Literal::Boolean(truth) })
    }

    fn null(&self, part: &Expression, is_null: bool) -> Option<Predicate> {
        let Operand::Column(column) = self.operand(part)? else { return None };
        let null = Predicate::IsNull { column };
        Some(if is_null { null } else { not(null) })
    }

    fn nan(&self, part: &Expression, truth: bool) -> Option<Predicate> {
        let Operand::Column(column) = self.operand(part)? else { return None };
        matches!(self.kind(&column)?, Kind::Single | Kind::Double).then(|| {
            let comparison = if truth { Comparison::NotEqual } else { Comparison::Equal };
            Predicate::CompareColumns { left: column.clone(), comparison, right: column }
        })
    }

    fn compared(&self, comparison: Comparison, left: &Expression, right: &Expression) -> Option<Predicate> {
        Some(match (self.operand(left)?, self.operand(right)?) {
            (Operand::Column(column), Operand::Literal(literal)) => Predicate::Compare { column, comparison, literal },
            (Operand::Literal(literal), Operand::Column(column)) => Predicate::Compare { column, comparison: comparison.mirrored(), literal },
            (Operand::Column(left), Operand::Column(right)) => Predicate::CompareColumns { left, comparison, right },
            _ => return None,
        })
    }

    /// `is_in` is never null, NaN is in a list that contains NaN, and -0.0 is not in a list that contains 0.0 only. pyarrow casts
    /// between the type of the list and the type of the column; lists in which such a cast may change a value are not pushed down.
    fn list(&self, list: &SingularOrList, truth: bool) -> Option<Predicate> {
        let Operand::Column(column) = self.operand(list.value.as_ref()?)? else { return None };
        let kind = self.kind(&column)?;
        let literals = list.options.iter().map(|option| match self.operand(option)? {
            Operand::Literal(literal) => as_kind(literal, kind),
            Operand::Column(_) => None,
        });
        let mut literals = literals.collect::<Option<Vec<_>>>()?;
        let has_nan = literals.iter().any(|literal| is_float(literal, f64::is_nan));
        if truth {
            let listed = Predicate::In { column: column.clone(), literals: List::literals(literals) };
            let nan = has_nan.then(|| Predicate::CompareColumns { left: column.clone(), comparison: Comparison::NotEqual, right: column });
            return Some(match nan {
                Some(nan) => Predicate::Or(vec![listed, nan]),
                None => listed,
            });
        }
        // A zero of the other sign is not in the list, and NaN may stay: the engine tests all rows again.
        literals.retain(|literal| !is_float(literal, |value| value == 0.0) || matches!(kind, Kind::Integer(..)));
        let null = Predicate::IsNull { column: column.clone() };
        Some(Predicate::Or(vec![null, not(Predicate::In { column, literals: List::literals(literals) })]))
    }

    fn kind(&self, column: &str) -> Option<Kind> {
        let data_type = self.types.get(self.names.iter().position(|name| name == column)?)?;
        let integer = |low: i64, high: u64| Some(Kind::Integer(low.into(), high.into()));
        match data_type {
            Type { boolean: Some(_), .. } => Some(Kind::Boolean),
            Type { i8: Some(_), .. } => integer(i8::MIN.into(), i8::MAX as u64),
            Type { i16: Some(_), .. } => integer(i16::MIN.into(), i16::MAX as u64),
            Type { i32: Some(_), .. } => integer(i32::MIN.into(), i32::MAX as u64),
            Type { i64: Some(_), .. } => integer(i64::MIN, i64::MAX as u64),
            Type { f32: Some(_), .. } => Some(Kind::Single),
            Type { f64: Some(_), .. } => Some(Kind::Double),
            Type { text: Some(_), .. } => Some(Kind::Text),
            Type { user_defined: Some(defined), .. } => match self.extension_types.get(&defined.anchor)?.as_str() {
                "u8" => integer(0, u8::MAX.into()),
                "u16" => integer(0, u16::MAX.into()),
                "u32" => integer(0, u32::MAX.into()),
                "u64" => integer(0, u64::MAX),
                _ => None,
            },
            _ => None,
        }
    }

    fn call<'a>(&'a self, expression: &'a Expression) -> Option<(&'a str, Vec<&'a Expression>)> {
        let function = expression.function.as_ref()?;
        let name = self.functions.get(&function.reference)?;
        let arguments = function.arguments.iter().map(|argument| argument.value.as_ref()).collect::<Option<_>>()?;
        Some((name, arguments))
    }

    fn operand(&self, expression: &Expression) -> Option<Operand> {
        if let Some(selection) = &expression.selection {
            let field = selection.direct.as_ref()?.field.as_ref()?;
            if field.child.is_some() {
                return None;
            }
            let name = self.names.get(usize::try_from(field.field).ok()?)?;
            return Some(Operand::Column(name.clone()));
        }
        let literal = expression.literal.as_ref()?;
        let integer = literal.i8.or(literal.i16).or(literal.i32).map(i64::from).or(literal.i64);
        let float = literal.f64.or(literal.f32.map(f64::from));
        Some(Operand::Literal(if let Some(value) = literal.boolean {
            Literal::Boolean(value)
        } else if let Some(value) = integer {
            Literal::Number(value.to_string())
        } else if let Some(value) = float {
            Literal::Number(format!("{value:?}"))
        } else if let Some(text) = &literal.text {
            Literal::Bytes(text.clone())
        } else {
            let time = chrono::DateTime::from_timestamp_micros(literal.microseconds?)?;
            Literal::Text(time.format("%Y-%m-%dT%H:%M:%S%.6f").to_string())
        }))
    }
}

fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        "equal" => Comparison::Equal,
        "not_equal" => Comparison::NotEqual,
        "lt" | "less" => Comparison::Less,
        "lte" | "less_equal" => Comparison::LessOrEqual,
        "gt" | "greater" => Comparison::Greater,
        "gte" | "greater_equal" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn not(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}

/// A value of a list as one of the column's type, if pyarrow's cast between the two types keeps it.
fn as_kind(literal: Literal, kind: Kind) -> Option<Literal> {
    match (&literal, kind) {
        (Literal::Boolean(_), Kind::Boolean) | (Literal::Bytes(_), Kind::Text) => Some(literal),
        (Literal::Number(text), Kind::Integer(low, high)) => text.parse::<i128>().ok().filter(|value| (low..=high).contains(value)).map(|_| literal),
        (Literal::Number(text), Kind::Double) => exact_double(text).map(|_| literal),
        (Literal::Number(text), Kind::Single) => exact_double(text).map(|value| Literal::Number(format!("{:?}", f64::from(value as f32)))),
        _ => None,
    }
}

/// The value of a number. Integers beyond 24 bits, which single precision may round, have none.
fn exact_double(text: &str) -> Option<f64> {
    text.parse::<i64>().map_or_else(|_| text.parse().ok(), |whole| (whole.unsigned_abs() <= 1 << 24).then_some(whole as f64))
}

fn is_float(literal: &Literal, test: impl Fn(f64) -> bool) -> bool {
    literal.to_f64().is_some_and(test)
}
