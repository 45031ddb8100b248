//! Decodes the subset of Substrait ExtendedExpressions that pyarrow writes for filters into a predicate that keeps at least
//! the same rows. Field numbers are those of the Substrait specification.

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
    #[prost(message, optional, tag = "3")]
    function: Option<FunctionDeclaration>,
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
    #[prost(bytes = "vec", repeated, tag = "1")]
    types: Vec<Vec<u8>>,
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
    let message = ExtendedExpression::decode(bytes).map_err(|error| Error::invalid_input(format!("this is no Substrait expression: {error}")))?;
    let schema = message.schema.unwrap_or_default();
    // Names are listed depth first; with nested types a field number no longer numbers the names.
    if schema.types.map_or(0, |types| types.types.len()) != schema.names.len() {
        return Ok(None);
    }
    let functions = message.extensions.into_iter().filter_map(|declaration| declaration.function);
    let functions = functions.map(|f| (f.anchor, f.name.split(':').next().unwrap_or_default().to_owned())).collect();
    let decoder = Decoder { names: schema.names, functions };
    let mut predicate: Option<Predicate> = None;
    for expression in message.expressions.iter().filter_map(|reference| reference.expression.as_ref()) {
        if let Some(part) = decoder.widened(expression) {
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
    functions: HashMap<u32, String>,
}

enum Operand {
    Column(String),
    Literal(Literal),
}

impl Decoder {
    /// A predicate that holds for at least the rows for which the expression holds.
    fn widened(&self, expression: &Expression) -> Option<Predicate> {
        if let Some(("and" | "and_kleene", arguments)) = self.call(expression) {
            return arguments.into_iter().filter_map(|argument| self.widened(argument)).reduce(Predicate::and);
        }
        self.exact(expression)
    }

    /// A predicate that holds for exactly the rows for which the expression holds.
    fn exact(&self, expression: &Expression) -> Option<Predicate> {
        if let Some(list) = &expression.list {
            let Operand::Column(column) = self.operand(list.value.as_ref()?)? else { return None };
            let literals = list.options.iter().map(|option| match self.operand(option)? {
                Operand::Literal(literal) => Some(literal),
                Operand::Column(_) => None,
            });
            return Some(Predicate::In { column, literals: List::literals(literals.collect::<Option<_>>()?) });
        }
        let (name, arguments) = self.call(expression)?;
        let all = || arguments.iter().map(|argument| self.exact(argument)).collect::<Option<Vec<_>>>();
        let comparison = match name {
            "and" | "and_kleene" => return Some(Predicate::And(all()?)),
            "or" | "or_kleene" => return Some(Predicate::Or(all()?)),
            "not" | "invert" => {
                let [part] = arguments.as_slice() else { return None };
                return Some(Predicate::Not(Box::new(self.exact(part)?)));
            }
            "is_null" | "is_not_null" | "is_valid" => {
                let [part] = arguments.as_slice() else { return None };
                let Operand::Column(column) = self.operand(part)? else { return None };
                let is_null = Predicate::IsNull { column };
                return Some(if name == "is_null" { is_null } else { Predicate::Not(Box::new(is_null)) });
            }
            "equal" => Comparison::Equal,
            "not_equal" => Comparison::NotEqual,
            "lt" | "less" => Comparison::Less,
            "lte" | "less_equal" => Comparison::LessOrEqual,
            "gt" | "greater" => Comparison::Greater,
            "gte" | "greater_equal" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        let [left, right] = arguments.as_slice() else { return None };
        Some(match (self.operand(left)?, self.operand(right)?) {
            (Operand::Column(column), Operand::Literal(literal)) => Predicate::Compare { column, comparison, literal },
            (Operand::Literal(literal), Operand::Column(column)) => Predicate::Compare { column, comparison: comparison.mirrored(), literal },
            (Operand::Column(left), Operand::Column(right)) => Predicate::CompareColumns { left, comparison, right },
            _ => return None,
        })
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
