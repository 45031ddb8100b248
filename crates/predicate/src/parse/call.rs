//! Function calls: functions of numbers, and functions that are conditions.

use hyperslab_array::Result;
use hyperslab_array::shown::shown;

use super::super::date_part::DatePart;
use super::super::value::{Function, Operator, Step, Value};
use super::super::{Comparison, Literal};
use super::compared::{compare, null};
use super::{Node, OR, Parser, negate};

/// Date functions of other query languages, for error messages.
const UNKNOWN_DATES: [&str; 14] = [
    "week",
    "weekday",
    "weekofyear",
    "dayofweek",
    "dayofyear",
    "date",
    "date_part",
    "date_trunc",
    "datepart",
    "extract",
    "now",
    "strftime",
    "to_timestamp",
    "timestamp",
];

impl Parser<'_> {
    /// A function call: of numbers, or one that is a condition.
    pub(super) fn call(&mut self, name: &str, start: usize) -> Result<Node> {
        self.next += 1;
        let mut arguments = Vec::new();
        if !self.symbol("(") {
            return Err(self.error("expected `(`"));
        }
        loop {
            let after = self.next;
            let argument = self.expression(OR)?;
            arguments.push(self.value(argument, after)?);
            if !self.symbol(",") {
                break;
            }
        }
        if !self.symbol(")") {
            return Err(self.error("expected `,` or `)`"));
        }
        let number = |text: &str| Value::constant(Literal::Number(text.to_owned()));
        let lower = name.to_ascii_lowercase();
        if let ("isnan" | "isinf" | "isfinite" | "isnull" | "exists", [one]) = (lower.as_str(), arguments.as_slice()) {
            if let Some(place) = one.as_constant().map(|_| start) {
                return Err(self.error_at_word(place, &format!("{name} of a constant")));
            }
            let magnitude = one.clone().then(Step::Function(Function::Abs));
            return Ok(Node::Condition(match lower.as_str() {
                "isnan" => compare(one.clone(), Comparison::NotEqual, one.clone()),
                "isinf" => compare(magnitude, Comparison::Equal, number("inf")),
                "isfinite" => compare(magnitude, Comparison::Less, number("inf")),
                _ => negate(null(one), lower == "exists"),
            }));
        }
        if let Some(part) = DatePart::named(name) {
            return match arguments.as_slice() {
                [one] if one.as_column().is_some() => Ok(Node::Value(Value::date_part(part, one.as_column().unwrap_or_default().to_owned()))),
                _ => Err(self.error_at_word(start, &format!("{lower} takes the name of one column of times, called"))),
            };
        }
        let Some(function) = Function::named(name) else {
            let message = match UNKNOWN_DATES.iter().any(|date| lower == *date) {
                true => format!(
                    "there is no function {lower}: year, quarter, month, day, hour, minute and second are parts of a time, and times compare with texts, as in time >= '1990-01-01',"
                ),
                false if ["contains", "match", "freetext", "hastoken"].contains(&lower.as_str()) => {
                    format!("there is no function {lower}: name match 'red apples' tests for words and name like '%apple%' for a part of the text,")
                }
                false => format!("there is no function {:?}{}, which is called", shown(name), Function::nearest(name)),
            };
            return Err(self.error_at_word(start, &message));
        };
        if arguments.len() != function.arity() {
            let message = format!("{name} takes {} and not {} arguments, called", function.arity(), arguments.len());
            return Err(self.error_at_word(start, &message));
        }
        if function == Function::Pow {
            return self.step(arguments, Step::Operator(Operator::Power), start).map(Node::Value);
        }
        self.step(arguments, Step::Function(function), start).map(Node::Value)
    }
}
