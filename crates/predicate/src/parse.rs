//! Precedence-climbing parser from tokens to a predicate. Conditions and values share one grammar, so parentheses may
//! contain either; combinations that make no sense are reported at their position.

mod call;
mod compared;
mod joined;

use hyperslab_array::{Error, Result};
use joined::{Binary, joined, negate, single_or};

use super::constant::folded_step;
use super::lex::{Word, error_at, words};
use super::value::{Operator, Step, Value};
use super::{Comparison, Lists, Literal, Predicate};

/// Deepest nesting of parentheses, `not` and signs. JSON of predicates of this depth can still be parsed.
const DEPTH: u32 = 50;
/// Most constants in a list that a computed value is compared with.
const MAX_COMPUTED_LITERALS: usize = 1000;

// Precedence of operators: the operands of one contain only operators that bind more strongly.
const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const TEST: u8 = 5;
const BIT_OR: u8 = 6;
const BIT_AND: u8 = 7;
const SUM: u8 = 8;
const PRODUCT: u8 = 9;
const POWER: u8 = 11;

/// Names after `in`, which may refer to lists.
pub(super) fn list_names(text: &str) -> Result<Vec<String>> {
    let words = words(text)?;
    let pairs = words.iter().zip(words.iter().skip(1));
    Ok(pairs
        .filter_map(|pair| match pair {
            ((_, Word::Name { text: word, quoted: false }), (_, Word::Name { text, .. })) if word.eq_ignore_ascii_case("in") => Some(text.clone()),
            _ => None,
        })
        .collect())
}

pub(super) fn parse(text: &str, lists: &Lists) -> Result<Predicate> {
    let mut parser = Parser { text, words: words(text)?, next: 0, depth: DEPTH, lists };
    if parser.words.is_empty() {
        return Err(Error::invalid_input("predicate: it is empty; write for example: lat > 60"));
    }
    let node = parser.expression(OR)?;
    if parser.peek().is_some() {
        return Err(parser.error(match node {
            Node::Condition(_) if parser.is_text_with_prefix() => "text has no prefix such as b, which stands before the quote",
            Node::Condition(_) => "expected `and`, `or` or the end",
            Node::Value(_) if parser.is_name_with_blank() => "expected a comparison; a name with blanks stands in double quotes, here",
            Node::Value(_) => "expected a comparison, `in`, `between` or `is null`",
        }));
    }
    parser.condition(node)
}

/// The result of parsing some tokens.
enum Node {
    Condition(Predicate),
    Value(Value),
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<(usize, Word)>,
    next: usize,
    depth: u32,
    /// The lists that names after `in` refer to.
    lists: &'a Lists,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Word> {
        self.words.get(self.next).map(|(_, word)| word)
    }
    fn error(&self, message: &str) -> Error {
        self.error_at_word(self.next, message)
    }
    fn error_at_word(&self, word: usize, message: &str) -> Error {
        let end = self.text.chars().count();
        error_at(self.text, self.words.get(word).map_or(end, |(position, _)| *position), message)
    }
    /// Whether the next two tokens are names.
    fn is_name_with_blank(&self) -> bool {
        let is_name = |word: Option<&(usize, Word)>| matches!(word, Some((_, Word::Name { quoted: false, .. })));
        is_name(self.words.get(self.next)) && self.next.checked_sub(1).is_some_and(|before| is_name(self.words.get(before)))
    }
    /// Whether the last token is a name that touches the text after it, as in Python's `b'text'`.
    fn is_text_with_prefix(&self) -> bool {
        let before = self.next.checked_sub(1).and_then(|before| self.words.get(before));
        match (before, self.words.get(self.next)) {
            (Some((start, Word::Name { text, quoted: false })), Some((end, Word::Text(_)))) => start + text.chars().count() == *end,
            _ => false,
        }
    }
    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), Some(Word::Symbol(s)) if *s == symbol)
    }
    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.peek(), Some(Word::Name { text, quoted: false }) if text.eq_ignore_ascii_case(keyword))
    }
    /// Consumes a symbol.
    fn symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        self.next += usize::from(found);
        found
    }
    /// Consumes a keyword, in any case.
    fn keyword(&mut self, keyword: &str) -> bool {
        let found = self.is_keyword(keyword);
        self.next += usize::from(found);
        found
    }

    fn condition(&self, node: Node) -> Result<Predicate> {
        match node {
            Node::Condition(predicate) => Ok(predicate),
            Node::Value(value) => match value.as_column() {
                // A boolean column is a condition by itself.
                Some(column) if !column.is_empty() => {
                    let column = column.to_owned();
                    Ok(Predicate::Compare { column, comparison: Comparison::Equal, literal: Literal::Boolean(true) })
                }
                _ => Err(self.error("expected a comparison")),
            },
        }
    }

    fn value(&self, node: Node, start: usize) -> Result<Value> {
        match node {
            Node::Value(value) => Ok(value),
            Node::Condition(_) => Err(self.error_at_word(start, "expected a number or a column, not a condition,")),
        }
    }

    /// The next operator and its precedence.
    fn binary(&self) -> Option<(Binary, u8)> {
        Some(match self.peek()? {
            Word::Symbol(symbol) => match *symbol {
                "||" => (Binary::Or, OR),
                "&&" => (Binary::And, AND),
                "&!" | "&~" => (Binary::AndNot, AND),
                "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" => (Binary::Test, TEST),
                "|" => (Binary::Number(Operator::BitOr), BIT_OR),
                "&" => (Binary::Number(Operator::BitAnd), BIT_AND),
                "+" => (Binary::Number(Operator::Add), SUM),
                "-" => (Binary::Number(Operator::Subtract), SUM),
                "*" => (Binary::Number(Operator::Multiply), PRODUCT),
                "/" => (Binary::Number(Operator::Divide), PRODUCT),
                "%" => (Binary::Number(Operator::Remainder), PRODUCT),
                "**" | "^" => (Binary::Number(Operator::Power), POWER),
                _ => return None,
            },
            Word::Name { text, quoted: false } => match text.to_ascii_lowercase().as_str() {
                "or" => (Binary::Or, OR),
                "xor" => (Binary::Xor, XOR),
                "and" => (Binary::And, AND),
                "andnot" | "minus" => (Binary::AndNot, AND),
                "in" | "between" | "is" | "like" | "match" | "contains" | "not" => (Binary::Test, TEST),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// An operand and the operators after it whose precedence is at least `least`.
    fn expression(&mut self, least: u8) -> Result<Node> {
        let start = self.next;
        let mut left = self.operand()?;
        while let Some((binary, strength)) = self.binary().filter(|(_, strength)| *strength >= least) {
            left = match binary {
                Binary::Test => Node::Condition(self.test(left, start)?),
                Binary::Number(operator) => self.computed(left, operator, strength, start)?,
                _ => {
                    self.next += 1;
                    let left = self.condition(left)?;
                    let right = self.expression(strength + 1)?;
                    Node::Condition(joined(left, binary, self.condition(right)?))
                }
            };
        }
        Ok(left)
    }

    /// `left operator …`; `&` and `|` between conditions join them.
    fn computed(&mut self, left: Node, operator: Operator, strength: u8, start: usize) -> Result<Node> {
        self.next += 1;
        let after = self.next;
        // Powers are right-associative, and a sign on the right side belongs to the exponent.
        let right = match operator {
            Operator::Power => self.deeper(|parser| parser.expression(strength))?,
            _ => self.expression(strength + 1)?,
        };
        let left = match (left, operator) {
            (Node::Condition(left), Operator::BitAnd) => return Ok(Node::Condition(joined(left, Binary::And, self.condition(right)?))),
            (Node::Condition(left), Operator::BitOr) => return Ok(Node::Condition(joined(left, Binary::Or, self.condition(right)?))),
            (left, _) => left,
        };
        let (left, right) = (self.value(left, start)?, self.value(right, after)?);
        self.step(vec![left, right], Step::Operator(operator), start).map(Node::Value)
    }

    /// Applies a step to values; constants are folded.
    fn step(&self, arguments: Vec<Value>, step: Step, start: usize) -> Result<Value> {
        let constants: Option<Vec<&Literal>> = arguments.iter().map(Value::as_constant).collect();
        for literal in arguments.iter().filter_map(Value::as_constant) {
            if !matches!(literal, Literal::Number(_)) {
                return Err(self.error_at_word(start, "texts and truth values cannot be computed with,"));
            }
        }
        if let Some(constant) = constants.and_then(|constants| folded_step(&step, &constants)) {
            return Ok(Value::constant(constant));
        }
        let mut values = arguments.into_iter();
        let Some(first) = values.next() else { return Err(self.error("expected an argument")) };
        Ok(match values.next() {
            Some(second) => first.with(second, step),
            None => first.then(step),
        })
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| self.error("too many nested parentheses"))?;
        let result = parse(self);
        self.depth += 1;
        result
    }

    /// A name, a constant, a function call, a parenthesized expression, or one of these after `not` or a sign.
    fn operand(&mut self) -> Result<Node> {
        let start = self.next;
        if self.keyword("not") || self.symbol("!") || self.symbol("~") {
            let part = self.deeper(|parser| {
                let part = parser.expression(TEST)?;
                parser.condition(part)
            })?;
            return Ok(Node::Condition(Predicate::Not(Box::new(part))));
        }
        if self.is_symbol("-") || self.is_symbol("+") {
            let minus = self.symbol("-") || !self.symbol("+");
            let after = self.next;
            // A sign binds more weakly than a power and more strongly than a product: -2**2 is -4.
            let part = self.deeper(|parser| parser.expression(POWER))?;
            let part = self.value(part, after)?;
            return Ok(Node::Value(if minus { self.step(vec![part], Step::Negate, after)? } else { part }));
        }
        if self.symbol("(") {
            let inner = self.deeper(|parser| parser.expression(OR))?;
            if !self.symbol(")") {
                return Err(self.error("expected `)`"));
            }
            return Ok(inner);
        }
        let value = match self.peek() {
            Some(Word::Name { text, quoted: false }) if matches!(self.words.get(self.next + 1), Some((_, Word::Symbol("(")))) => {
                let name = text.clone();
                match name.to_ascii_lowercase().as_str() {
                    "and" | "or" | "not" | "in" | "between" | "is" | "null" | "like" => {
                        return Err(self.error("expected a column or a constant"));
                    }
                    _ => return self.deeper(|parser| parser.call(&name, start)),
                }
            }
            Some(Word::Name { text, quoted }) => match text.to_ascii_lowercase().as_str() {
                "true" if !quoted => Value::constant(Literal::Boolean(true)),
                "false" if !quoted => Value::constant(Literal::Boolean(false)),
                "nan" if !quoted => Value::constant(Literal::Number("nan".to_owned())),
                "inf" | "infinity" if !quoted => Value::constant(Literal::Number("inf".to_owned())),
                "exists" if !quoted && matches!(self.words.get(self.next + 1), Some((_, Word::Name { .. }))) && !self.is_operator(1) => {
                    self.next += 1;
                    let name = self.words.get(self.next).and_then(|(_, word)| if let Word::Name { text, .. } = word { Some(text.clone()) } else { None });
                    let column = name.ok_or_else(|| self.error("expected a column"))?;
                    self.next += 1;
                    return Ok(Node::Condition(negate(Predicate::IsNull { column }, true)));
                }
                "and" | "or" | "not" | "in" | "between" | "is" | "null" | "like" if !quoted => {
                    return Err(self.error("expected a column or a constant"));
                }
                _ => Value::column(text.clone()),
            },
            Some(Word::Number(number)) => Value::constant(Literal::Number(number.clone())),
            Some(Word::Text(text)) => Value::constant(Literal::Text(text.clone())),
            _ => return Err(self.error("expected a column or a constant")),
        };
        self.next += 1;
        Ok(Node::Value(value))
    }

    /// Whether the token `ahead` is a binary operator.
    fn is_operator(&self, ahead: usize) -> bool {
        matches!(self.words.get(self.next + ahead), Some((_, Word::Name { text, quoted: false }))
            if ["and", "or", "xor", "andnot", "minus", "in", "between", "is", "like", "match", "contains", "not"].iter().any(|word| text.eq_ignore_ascii_case(word)))
    }
}

impl Predicate {
    /// Parses text.
    ///
    /// # Errors
    /// `InvalidInput`, which points at the character.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text, &[])
    }
    /// Like [`Predicate::parse`], for text that may refer to named lists: `id in ids`.
    ///
    /// # Errors
    /// As [`Predicate::parse`], and for a list that is missing.
    pub fn parse_with(text: &str, lists: &Lists) -> Result<Self> {
        parse(text, lists)
    }
    /// Names in the text that refer to lists: those after `in`.
    ///
    /// # Errors
    /// As [`Predicate::parse`].
    pub fn list_names(text: &str) -> Result<Vec<String>> {
        list_names(text)
    }
    /// The index of the character where a name first occurs in a text.
    pub fn place_of(name: &str, text: &str) -> Option<usize> {
        let words = words(text).ok()?;
        words.into_iter().find_map(|(place, word)| matches!(word, Word::Name { text, .. } if text == name).then_some(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Predicate> {
        super::parse(text, &[])
    }

    fn same(a: &str, b: &str) {
        assert_eq!(parse(a).map_err(|e| e.to_string()), parse(b).map_err(|e| e.to_string()), "{a} | {b}");
        assert!(parse(a).is_ok(), "{a}: {:?}", parse(a));
    }

    #[test]
    fn spellings_of_one_predicate_are_one_predicate() {
        same("1 < x <= 3", "x > 1 && x <= 3");
        same("x between 1 and 3", "x >= 1 and x <= 3");
        same("!(x == 1)", "NOT x = 1");
        same("x <> 1 || `odd name` = 'it''s'", "x != 1 or \"odd name\" == 'it''s'");
        same("x not in (1, -2)", "not (x in (1,-2))");
        same("a = 1 or b.c > 1 and d < 2", "a = 1 or (b.c > 1 and d < 2)");
        same("x > 2*(1+3)", "x > 8");
        same("x > -2**2", "x > -4");
        same("x > 0x10", "x > 16UL");
        same("a > 1 minus b > 2", "a > 1 && !(b > 2)");
        same("(a > 1) & (b < 2) | (c = 3)", "a > 1 and b < 2 or c = 3");
        same("exists x", "x is not null");
        same("x - 1 > 2", "x -1 > 2");
        same("/a/b#1/x > 1 and 2 < /c", "\"/a/b#1/x\" > 1 and 2 < `/c`");
        same("E[0:100, :, 3] > 1", "`E`[0:100,:,3] > 1");
        same("a /b > 1", "a / b > 1");
        same("minus > 1 and xor < 2", "`minus` > 1 and `xor` < 2");
        same("match match 'a' and contains > 1", "`match` contains ('a') && `contains` > 1");
        same("x NOT MATCH ('a', 'b')", "not (x match ('a', 'b'))");
    }

    #[test]
    fn parentheses_and_words_bind_as_the_grammar_says() {
        let differ = |a: &str, b: &str| assert_ne!(parse(a).ok(), parse(b).ok(), "{a} | {b}");
        differ("(a > 1 or b > 1) and c > 1", "a > 1 or b > 1 and c > 1");
        differ("x*(y+1) > 2", "x*y+1 > 2");
        same("x*y+1 > 2", "(x*y)+1 > 2");
        same("x-y-1 > 2", "(x-y)-1 > 2");
        same("2**x**y > 1", "2**(x**y) > 1");
        same("a = 1 or b = 1 xor c = 1 and not d = 1", "a = 1 or (b = 1 xor (c = 1 and (not (d = 1))))");
    }

    #[test]
    fn an_error_points_at_the_character() {
        for (text, place) in [
            ("lat >< 5", "character 6"),
            ("lat > ", "character 7"),
            ("(x > 1", "character 7"),
            ("x > 1 y", "character 7"),
            ("x $ 1", "character 3"),
            ("x > sqr(y)", "character 5"),
            ("x > sqrt(y, 2)", "character 5"),
            ("x + (y > 1) > 2", "character 5"),
            ("x > 1 and 3 < 4", "character 15"),
            ("x > 'a' + 1", "character 5"),
            ("E[0:a] > 1", "character 5"),
            ("x + 1", "character 6"),
            ("x match y", "character 9"),
            ("x match '?!'", "character 9"),
            ("x match ('a', 1)", "character 15"),
            ("x + 1 match 'a'", "character 13"),
            ("contains(x, 'a')", "character 1"),
        ] {
            let message = parse(text).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(message.contains(place), "{text}: {message}");
        }
    }

    #[test]
    fn what_is_long_or_deep_does_not_end_the_stack() {
        let long = format!("x{} > 1", " + 1".repeat(50_000));
        assert!(parse(&long).is_ok());
        let deep = format!("{}x > 1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(parse(&deep).is_err_and(|error| error.to_string().contains("nested")));
        assert!(parse(&format!("{}x > 1", "not ".repeat(100_000))).is_err());
        assert!(parse(&format!("{}x > 1", "-".repeat(100_000))).is_err());
        assert!(parse(&format!("2{} > x", "**2".repeat(100_000))).is_err());
    }

    #[test]
    fn the_deepest_that_is_parsed_can_be_sent_as_json() -> std::result::Result<(), serde_json::Error> {
        let around = |open: &str, close: &str, count: usize| format!("{}x > 1{}", open.repeat(count), close.repeat(count));
        for (open, close, count) in
            [("(a > 1 or (b > 1 and ", "))", 24), ("not (", ")", 25), ("not ", "", 49), ("(a > 1 xor (b > 1 or ", "))", 24), ("(", ")", 49)]
        {
            let text = around(open, close, count);
            let predicate = parse(&text).map_err(serde::ser::Error::custom)?;
            let sent = serde_json::to_vec(&vec![Some(predicate.clone())])?;
            let received: Vec<Option<Predicate>> = serde_json::from_slice(&sent)?;
            assert_eq!(received, [Some(predicate)], "{text}");
        }
        Ok(())
    }

    proptest::proptest! {
        #[test]
        fn no_words_end_the_parser_and_what_it_makes_can_be_sent(words in proptest::collection::vec(proptest::sample::select(vec![
            "x", "y", "\"odd\"", "/a/b", "E[0:2,:]", "1", "2.5", "1e3", "0x1f", "'t'", "(", ")", "(", ")", ",", "+", "-", "*", "/", "%", "**", "^", "&", "|",
            "&&", "||", "&!", "!", "~", "<", "<=", ">", ">=", "=", "!=", "and", "or", "xor", "not", "in", "between", "like", "match", "contains", "is", "null", "nan", "inf", "exists",
            "minus", "true", "sqrt", "min", "isnan", "[", "'", "é",
        ]), 0..14)) {
            let text = words.join(" ");
            if let Ok(predicate) = parse(&text) {
                let sent = serde_json::to_vec(&predicate).map_err(|e| proptest::test_runner::TestCaseError::fail(e.to_string()))?;
                proptest::prop_assert_eq!(serde_json::from_slice::<Predicate>(&sent).ok(), Some(predicate));
            }
        }
    }
}
