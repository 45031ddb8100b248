//! Parser: words to a predicate, by recursive descent.

use hyperslab_array::{Error, Result};

use super::lex::{Word, error_at, words};
use super::{Comparison, Literal, Predicate};

/// Deepest nesting of parentheses and `not`.
const DEPTH: u32 = 200;

pub(super) fn parse(text: &str) -> Result<Predicate> {
    let mut parser = Parser { text, words: words(text)?, next: 0, depth: DEPTH };
    if parser.words.is_empty() {
        return Err(Error::invalid_input("predicate: it is empty; write for example: lat > 60"));
    }
    let predicate = parser.or()?;
    match parser.peek() {
        None => Ok(predicate),
        Some(_) => Err(parser.error("expected `and`, `or` or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<(usize, Word)>,
    next: usize,
    depth: u32,
}

enum Operand {
    Column(String),
    Literal(Literal),
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.next).map(|(_, word)| word)
    }
    fn error(&self, message: &str) -> Error {
        let end = self.text.chars().count();
        error_at(self.text, self.words.get(self.next).map_or(end, |(position, _)| *position), message)
    }
    /// Consumes a symbol.
    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Word::Symbol(s)) if *s == symbol);
        self.next += usize::from(found);
        found
    }
    /// Consumes a keyword, in any case.
    fn keyword(&mut self, keyword: &str) -> bool {
        let found = matches!(self.peek(), Some(Word::Name { text, quoted: false }) if text.eq_ignore_ascii_case(keyword));
        self.next += usize::from(found);
        found
    }

    fn or(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.and()?];
        while self.keyword("or") || self.symbol("||") {
            parts.push(self.and()?);
        }
        Ok(single_or(parts, Predicate::Or))
    }

    fn and(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.not()?];
        while self.keyword("and") || self.symbol("&&") {
            parts.push(self.not()?);
        }
        Ok(single_or(parts, Predicate::And))
    }

    fn not(&mut self) -> Result<Predicate> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| self.error("too many nested parentheses"))?;
        let result = if self.keyword("not") || self.symbol("!") {
            self.not().map(|part| Predicate::Not(Box::new(part)))
        } else if self.symbol("(") {
            let inner = self.or()?;
            if !self.symbol(")") {
                return Err(self.error("expected `)`"));
            }
            Ok(inner)
        } else {
            self.test()
        };
        self.depth += 1;
        result
    }

    fn test(&mut self) -> Result<Predicate> {
        let start = self.next;
        let first = self.operand()?;
        if let Some(comparison) = self.comparison() {
            return self.chain(first, comparison);
        }
        let Operand::Column(column) = first else {
            return Err(self.error("expected a comparison"));
        };
        if self.keyword("is") {
            let negated = self.keyword("not");
            if !self.keyword("null") {
                return Err(self.error("expected `null`"));
            }
            return Ok(negate(Predicate::IsNull { column }, negated));
        }
        let negated = self.keyword("not");
        if self.keyword("in") {
            if !self.symbol("(") {
                return Err(self.error("expected `(`"));
            }
            let mut literals = vec![self.literal()?];
            while self.symbol(",") {
                literals.push(self.literal()?);
            }
            if !self.symbol(")") {
                return Err(self.error("expected `,` or `)`"));
            }
            return Ok(negate(Predicate::In { column, literals }, negated));
        }
        if self.keyword("between") {
            let low = self.literal()?;
            if !self.keyword("and") {
                return Err(self.error("expected `and`"));
            }
            let high = self.literal()?;
            let at_least = Predicate::Compare {
                column: column.clone(),
                comparison: Comparison::GreaterOrEqual,
                literal: low,
            };
            let at_most = Predicate::Compare { column, comparison: Comparison::LessOrEqual, literal: high };
            return Ok(negate(Predicate::And(vec![at_least, at_most]), negated));
        }
        if negated || self.next == start {
            return Err(self.error("expected `in` or `between`"));
        }
        Err(self.error("expected a comparison, `in`, `between` or `is null`"))
    }

    /// `1 < x <= 3` is `1 < x and x <= 3`.
    fn chain(&mut self, mut left: Operand, mut comparison: Comparison) -> Result<Predicate> {
        let mut parts = Vec::new();
        loop {
            let right = self.operand()?;
            parts.push(match (left, &right) {
                (Operand::Column(column), Operand::Literal(literal)) => {
                    Predicate::Compare { column, comparison, literal: literal.clone() }
                }
                (Operand::Literal(literal), Operand::Column(column)) => {
                    Predicate::Compare { column: column.clone(), comparison: comparison.mirrored(), literal }
                }
                (Operand::Column(left), Operand::Column(right)) => {
                    Predicate::CompareColumns { left, comparison, right: right.clone() }
                }
                (Operand::Literal(_), Operand::Literal(_)) => {
                    return Err(self.error("a comparison needs a column on one side; the second constant ends"));
                }
            });
            left = right;
            match self.comparison() {
                Some(next) => comparison = next,
                None => return Ok(single_or(parts, Predicate::And)),
            }
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let Some(Word::Symbol(symbol)) = self.peek() else { return None };
        let comparison = match *symbol {
            "=" | "==" => Comparison::Equal,
            "!=" | "<>" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        self.next += 1;
        Some(comparison)
    }

    fn operand(&mut self) -> Result<Operand> {
        let operand = match self.peek() {
            Some(Word::Name { text, quoted }) => match text.to_ascii_lowercase().as_str() {
                "true" if !quoted => Operand::Literal(Literal::Boolean(true)),
                "false" if !quoted => Operand::Literal(Literal::Boolean(false)),
                "nan" if !quoted => Operand::Literal(Literal::Number("nan".to_owned())),
                "and" | "or" | "not" | "in" | "between" | "is" | "null" if !quoted => {
                    return Err(self.error("expected a column or a constant"));
                }
                _ => Operand::Column(text.clone()),
            },
            Some(Word::Number(number)) => Operand::Literal(Literal::Number(number.clone())),
            Some(Word::Text(text)) => Operand::Literal(Literal::Text(text.clone())),
            _ => return Err(self.error("expected a column or a constant")),
        };
        self.next += 1;
        Ok(operand)
    }

    fn literal(&mut self) -> Result<Literal> {
        let before = self.next;
        match self.operand()? {
            Operand::Literal(literal) => Ok(literal),
            Operand::Column(_) => {
                self.next = before;
                Err(self.error("expected a constant"))
            }
        }
    }
}

fn single_or(mut parts: Vec<Predicate>, all: fn(Vec<Predicate>) -> Predicate) -> Predicate {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            all(parts)
        }
        None => all(parts),
    }
}

fn negate(predicate: Predicate, negated: bool) -> Predicate {
    if negated { Predicate::Not(Box::new(predicate)) } else { predicate }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: &str, b: &str) {
        assert_eq!(parse(a).map_err(|e| e.to_string()), parse(b).map_err(|e| e.to_string()), "{a} | {b}");
    }

    #[test]
    fn spellings_of_one_predicate_are_one_predicate() {
        same("1 < x <= 3", "x > 1 && x <= 3");
        same("x between 1 and 3", "x >= 1 and x <= 3");
        same("!(x == 1)", "NOT x = 1");
        same("x <> 1 || `odd name` = 'it''s'", "x != 1 or \"odd name\" == 'it''s'");
        same("x not in (1, -2)", "not (x in (1,-2))");
        same("a = 1 or b.c > 1 and d < 2", "a = 1 or (b.c > 1 and d < 2)");
    }

    #[test]
    fn an_error_points_at_the_character() {
        for (text, place) in [("lat >< 5", "character 6"), ("lat > ", "character 7"), ("(x > 1", "character 7"), ("x > 1 y", "character 7"), ("x ~ 1", "character 3")] {
            let message = parse(text).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(message.contains(place), "{text}: {message}");
        }
    }
}
