//! What a condition on a column of text says of the words in it, for an index of words.

use super::bind::Bound;
use super::value_test::Test;
use super::word::words_of;
use crate::Comparison;

/// Most texts of a list whose words are looked up.
const MAX_TEXTS: usize = 64;

/// A condition on a text that may be null, in terms of its words. With null, conditions are three-valued as in SQL.
///
/// `x match 'red' or x = 'green apples'` is `Any([Words(["red"]), OneOf([["apples", "green"]])])`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an index has to evaluate each of them")]
pub enum WordTest {
    /// All of them hold.
    All(Vec<WordTest>),
    /// One of them holds.
    Any(Vec<WordTest>),
    /// It does not hold.
    Not(Box<WordTest>),
    /// The text is null.
    Null,
    /// The text has all of these words, which are folded; null for null.
    Words(Vec<String>),
    /// May hold if the text has all words of one of these lists, and does not hold otherwise; null for null.
    OneOf(Vec<Vec<String>>),
    /// Words say nothing about it.
    Unknown,
}

impl WordTest {
    /// The test of a predicate that uses one column only.
    pub(super) fn of(bound: &Bound) -> Self {
        match bound {
            Bound::And(parts) => Self::All(parts.iter().map(Self::of).collect()),
            Bound::Or(parts) => Self::Any(parts.iter().map(Self::of).collect()),
            Bound::Not(part) => Self::Not(Box::new(Self::of(part))),
            Bound::IsNull(_) => Self::Null,
            Bound::Match(_, words) => Self::Words(words.as_slice().to_vec()),
            Bound::Test(_, Test::Text(Comparison::Equal, text)) => Self::one_of(std::iter::once(text)),
            Bound::In(_, set) => set.texts().filter(|texts| texts.len() <= MAX_TEXTS).map_or(Self::Unknown, |texts| Self::one_of(texts.iter())),
            Bound::Xor(_) | Bound::Test(..) | Bound::Columns(..) | Bound::Computed(..) | Bound::Numbers(..) | Bound::Like(..) => Self::Unknown,
        }
    }

    /// Equality with one of these texts.
    fn one_of<'a>(texts: impl Iterator<Item = &'a String>) -> Self {
        let lists: Vec<Vec<String>> = texts.map(|text| words_of(text)).collect();
        // A text without words equals texts that no word finds.
        if lists.iter().any(Vec::is_empty) { Self::Unknown } else { Self::OneOf(lists) }
    }

    /// Whether words say anything.
    pub fn is_known(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.is_empty() || parts.iter().any(Self::is_known),
            Self::Not(part) => part.is_known(),
            Self::Null | Self::Words(_) | Self::OneOf(_) => true,
            Self::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::Predicate;

    fn test(text: &str) -> Option<WordTest> {
        let schema = Schema::new(vec![Field::new("x", DataType::Utf8, true)]);
        Some(WordTest::of(&super::super::bind::bind(&Predicate::parse(text).ok()?, &schema).ok()?))
    }

    #[test]
    fn conditions_say_which_words_a_text_has() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
        assert_eq!(test("x match 'Red, apples!'"), Some(WordTest::Words(words("apples red"))));
        assert_eq!(test("x contains ('red', 'Red apples')"), Some(WordTest::Words(words("apples red"))));
        assert_eq!(test("x = 'a b'"), Some(WordTest::OneOf(vec![words("a b")])));
        assert_eq!(test("x = '--'"), Some(WordTest::Unknown));
        let either = WordTest::Any(vec![WordTest::Not(Box::new(WordTest::Words(words("a")))), WordTest::Null, WordTest::Unknown]);
        assert_eq!(test("x not match 'a' or x is null or x like 'b%'"), Some(either));
        assert!(test("x > 'a' and x like 'b'").is_some_and(|test| !test.is_known()));
    }
}
