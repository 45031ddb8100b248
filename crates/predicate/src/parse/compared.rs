//! Conditions on a value: comparisons, lists, ranges, patterns and null tests after it.

use hyperslab_array::Result;
use hyperslab_array::shown::shown;

use super::super::lex::Word;
use super::super::value::Value;
use super::super::word::Words;
use super::super::{Comparison, List, Literal, Predicate};
use super::{BIT_OR, MAX_COMPUTED_LITERALS, Node, Parser, negate, single_or};

/// Maximum number of constants in a list that is kept as written.
const MAX_WRITTEN_LITERALS: usize = 64;

impl Parser<'_> {
    /// The test after a value: a chain of comparisons, a list, a range, a pattern, or a null test.
    pub(super) fn test(&mut self, left: Node, start: usize) -> Result<Predicate> {
        let left = self.value(left, start)?;
        if let Some(comparison) = self.comparison() {
            return self.chain(left, comparison);
        }
        if self.keyword("is") {
            let negated = self.keyword("not");
            let test = match () {
                () if self.keyword("null") => null(&left),
                () if self.keyword("nan") => compare(left.clone(), Comparison::NotEqual, left.clone()),
                () => return Err(self.error("expected `null` or `nan`")),
            };
            self.not_constant(&left, start)?;
            return Ok(negate(test, negated));
        }
        let negated = self.keyword("not");
        let test = match () {
            () if self.keyword("in") => self.list(left, start)?,
            () if self.keyword("between") => {
                let low = self.side()?;
                if !self.keyword("and") {
                    return Err(self.error("expected `and`"));
                }
                let high = self.side()?;
                self.not_constant(&left, start)?;
                Predicate::And(vec![compare(left.clone(), Comparison::GreaterOrEqual, low), compare(left, Comparison::LessOrEqual, high)])
            }
            () if self.keyword("like") => {
                let (Some(column), Some(Word::Text(pattern))) = (left.as_column(), self.peek()) else {
                    return Err(self.error("a column is like a pattern in single quotes, which is expected"));
                };
                let (column, pattern) = (column.to_owned(), pattern.clone());
                self.next += 1;
                Predicate::Like { column, pattern }
            }
            () if self.keyword("match") || self.keyword("contains") => self.word_match(&left)?,
            () if negated && self.keyword("null") => {
                self.not_constant(&left, start)?;
                null(&left)
            }
            () => return Err(self.error("expected `in`, `between`, `like` or `match`")),
        };
        Ok(negate(test, negated))
    }

    /// The words after `match`: one text, or several in parentheses.
    fn word_match(&mut self, left: &Value) -> Result<Predicate> {
        let Some(column) = left.as_column().filter(|column| !column.is_empty()).map(str::to_owned) else {
            return Err(self.error("a column of text matches words in single quotes, which are expected"));
        };
        let is_list = self.symbol("(");
        let start = self.next;
        let mut texts = Vec::new();
        loop {
            let Some(Word::Text(text)) = self.peek() else { return Err(self.error("expected words in single quotes")) };
            texts.push(text.clone());
            self.next += 1;
            if !is_list || !self.symbol(",") {
                break;
            }
        }
        if is_list && !self.symbol(")") {
            return Err(self.error("expected `,` or `)`"));
        }
        if Words::of_texts(&texts).is_none() {
            return Err(self.error_at_word(start, "expected a word, which is letters and digits,"));
        }
        Ok(Predicate::Match { column, texts })
    }

    fn not_constant(&self, value: &Value, start: usize) -> Result<()> {
        match value.as_constant() {
            Some(_) => Err(self.error_at_word(start, "a test needs a column; there is only a constant")),
            None => Ok(()),
        }
    }

    /// One side of a comparison.
    fn side(&mut self) -> Result<Value> {
        let start = self.next;
        let node = self.expression(BIT_OR)?;
        self.value(node, start)
    }

    fn list(&mut self, left: Value, start: usize) -> Result<Predicate> {
        self.not_constant(&left, start)?;
        let members = match self.named_list()? {
            Some(list) => list,
            None => self.written_list()?,
        };
        if let Some(column) = left.as_column() {
            return Ok(Predicate::In { column: column.to_owned(), literals: members });
        }
        if members.len() > MAX_COMPUTED_LITERALS {
            return Err(self.error_at_word(start, &format!("a list of more than {MAX_COMPUTED_LITERALS} constants beside something that is computed")));
        }
        let tests = members.iter().map(|member| compare(left.clone(), Comparison::Equal, Value::constant(member)));
        Ok(single_or(tests.collect(), Predicate::Or))
    }

    /// The list that the next token refers to, if it is a name.
    fn named_list(&mut self) -> Result<Option<List>> {
        let Some(Word::Name { text, .. }) = self.peek() else { return Ok(None) };
        let Some((_, list)) = self.lists.iter().find(|(name, _)| name == text) else {
            return Err(self.error(&format!("expected `(` or the name of a list; give {:?} in `variables`, it is named", shown(text))));
        };
        self.next += 1;
        Ok(Some(list.clone()))
    }

    fn written_list(&mut self) -> Result<List> {
        if !self.symbol("(") {
            return Err(self.error("expected `(` or the name of a list"));
        }
        let mut members = Vec::new();
        loop {
            let place = self.next;
            match self.number_alone() {
                Some(number) => members.push(Literal::Number(number)),
                None => {
                    let member = self.side()?;
                    members.push(member.as_constant().cloned().ok_or_else(|| self.error_at_word(place, "expected a constant"))?);
                }
            }
            if !self.symbol(",") {
                break;
            }
        }
        if !self.symbol(")") {
            return Err(self.error("expected `,` or `)`"));
        }
        let integer = |literal: &Literal| match literal {
            Literal::Number(text) => text.parse::<i64>().ok().map(i128::from),
            _ => None,
        };
        // Many numbers take less memory than their text.
        let integers = (members.len() > MAX_WRITTEN_LITERALS).then(|| members.iter().map(integer).collect::<Option<Vec<_>>>()).flatten();
        Ok(integers.map_or_else(|| List::literals(members), List::integers))
    }

    /// A number with an optional sign, if it is a complete member of a list.
    fn number_alone(&mut self) -> Option<String> {
        let sign = usize::from(self.is_symbol("-"));
        let ends = matches!(self.words.get(self.next + sign + 1), Some((_, Word::Symbol("," | ")"))));
        let Some((_, Word::Number(number))) = self.words.get_mut(self.next + sign).filter(|_| ends) else { return None };
        self.next += sign + 1;
        let number = std::mem::take(number);
        Some(if sign == 1 { format!("-{number}") } else { number })
    }

    /// `1 < x <= 3` is `1 < x and x <= 3`.
    fn chain(&mut self, mut left: Value, mut comparison: Comparison) -> Result<Predicate> {
        let mut parts = Vec::new();
        loop {
            let start = self.next;
            let right = self.side()?;
            if left.as_constant().is_some() && right.as_constant().is_some() {
                return Err(self.error_at_word(start, "a comparison needs a column on one side; the second constant begins"));
            }
            parts.push(compare(left, comparison, right.clone()));
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
}

/// A comparison in its simplest form: indexes can answer comparisons of a column with a constant.
pub(super) fn compare(left: Value, comparison: Comparison, right: Value) -> Predicate {
    match (left.as_column(), left.as_constant(), right.as_column(), right.as_constant()) {
        (Some(column), _, _, Some(literal)) => Predicate::Compare { column: column.to_owned(), comparison, literal: literal.clone() },
        (_, Some(literal), Some(column), _) => Predicate::Compare { column: column.to_owned(), comparison: comparison.mirrored(), literal: literal.clone() },
        (Some(left), _, Some(right), _) => Predicate::CompareColumns { left: left.to_owned(), comparison, right: right.to_owned() },
        _ => Predicate::CompareValues { left, comparison, right },
    }
}

/// The test whether a value is null; a computed value is null if one of its columns is.
pub(super) fn null(value: &Value) -> Predicate {
    let mut columns: Vec<&str> = value.columns().collect();
    columns.sort_unstable();
    columns.dedup();
    single_or(columns.into_iter().map(|column| Predicate::IsNull { column: column.to_owned() }).collect(), Predicate::Or)
}
