//! Lexer: text to words, each with the character where it begins.

use hyperslab_array::shown::shown_around;
use hyperslab_array::{Error, Result};

/// A word of the grammar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// A name, quoted or not, or a keyword (only unquoted). A part in brackets after a name belongs to it.
    Name { text: String, quoted: bool },
    /// Decimal text.
    Number(String),
    /// Text in single quotes.
    Text(String),
    /// Operators and punctuation.
    Symbol(&'static str),
}

/// Longer ones first.
const SYMBOLS: [&str; 26] =
    ["<=", ">=", "==", "!=", "<>", "&&", "||", "&!", "&~", "**", "<", ">", "=", "!", "~", "(", ")", ",", "+", "-", "*", "/", "%", "^", "&", "|"];

/// Keywords that a value follows.
const BEFORE_VALUES: [&str; 10] = ["and", "or", "not", "xor", "in", "between", "like", "minus", "andnot", "exists"];

/// An error that points at a character (counted from 1).
pub(super) fn error_at(text: &str, position: usize, message: &str) -> Error {
    Error::invalid_input(format!("predicate: {message} at character {} of: {}", position + 1, shown_around(text, position)))
}

/// The words with their positions in characters.
pub(super) fn words(text: &str) -> Result<Vec<(usize, Word)>> {
    let mut lexer = Lexer { text, characters: text.chars().collect(), position: 0, words: Vec::new() };
    while let Some(c) = lexer.at(0) {
        if c.is_whitespace() {
            lexer.position += 1;
            continue;
        }
        let start = lexer.position;
        let word = lexer.word(c)?;
        lexer.words.push((start, word));
    }
    Ok(lexer.words)
}

struct Lexer<'a> {
    text: &'a str,
    characters: Vec<char>,
    position: usize,
    words: Vec<(usize, Word)>,
}

impl Lexer<'_> {
    fn at(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.position + ahead).copied()
    }
    fn error(&self, start: usize, message: &str) -> Error {
        error_at(self.text, start, message)
    }
    fn since(&self, start: usize) -> String {
        self.characters.iter().skip(start).take(self.position.saturating_sub(start)).collect()
    }
    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        while self.at(0).is_some_and(&wanted) {
            self.position += 1;
        }
    }

    fn word(&mut self, c: char) -> Result<Word> {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        Ok(match c {
            '\'' => Word::Text(self.quoted(c)?),
            '"' | '`' => {
                let name = self.quoted(c)?;
                Word::Name { text: name + &self.brackets()?, quoted: true }
            }
            c if c.is_ascii_digit() || (c == '.' && digit(self.at(1))) => self.number()?,
            c if c.is_alphabetic() || c == '_' => {
                let start = self.position;
                self.skip(|next| next.is_alphanumeric() || matches!(next, '_' | '.'));
                let name = self.since(start);
                Word::Name { text: name + &self.brackets()?, quoted: false }
            }
            // Where a value must come, a slash divides nothing: it begins a path.
            '/' if self.value_comes() && self.at(1).is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '#')) => {
                let start = self.position;
                self.skip(|next| next.is_alphanumeric() || matches!(next, '_' | '.' | '/' | '#'));
                let name = self.since(start);
                Word::Name { text: name + &self.brackets()?, quoted: true }
            }
            c => {
                let rest: String = self.characters.iter().skip(self.position).take(2).collect();
                let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
                let symbol = symbol.ok_or_else(|| self.error(self.position, &format!("{c:?} has no meaning here,")))?;
                self.position += symbol.len();
                Word::Symbol(symbol)
            }
        })
    }

    /// Whether the grammar wants a value after the words so far.
    fn value_comes(&self) -> bool {
        match self.words.last() {
            None => true,
            Some((_, Word::Symbol(symbol))) => *symbol != ")",
            Some((_, Word::Name { text, quoted: false })) => BEFORE_VALUES.iter().any(|word| text.eq_ignore_ascii_case(word)),
            Some(_) => false,
        }
    }

    /// The text between two quotes. Two quotes in a row stand for one.
    fn quoted(&mut self, quote: char) -> Result<String> {
        let start = self.position;
        let mut value = String::new();
        self.position += 1;
        loop {
            match self.at(0) {
                None => return Err(self.error(start, &format!("the quote {quote} is not closed, which begins"))),
                Some(c) if c == quote && self.at(1) == Some(quote) => {
                    value.push(c);
                    self.position += 2;
                }
                Some(c) if c == quote => break,
                Some(other) => {
                    value.push(other);
                    self.position += 1;
                }
            }
        }
        self.position += 1;
        Ok(value)
    }

    /// A part of an array directly after its name, without blanks: `[0:100,:,3]`; empty if there is none.
    fn brackets(&mut self) -> Result<String> {
        if self.at(0) != Some('[') {
            return Ok(String::new());
        }
        let start = self.position;
        self.skip(|c| c != ']');
        if self.at(0).is_none() {
            return Err(self.error(start, "the bracket [ is not closed, which begins"));
        }
        self.position += 1;
        let part = self.since(start);
        let known = |c: char| c.is_ascii_digit() || c.is_whitespace() || matches!(c, '[' | ']' | ':' | ',' | '-');
        match part.chars().position(|c| !known(c)) {
            Some(wrong) => Err(self.error(start + wrong, "a part of an array is written as [0:100, :, 3], which ends")),
            None => Ok(part.chars().filter(|c| !c.is_whitespace()).collect()),
        }
    }

    fn number(&mut self) -> Result<Word> {
        let start = self.position;
        let wrong = |lexer: &Self| lexer.error(start, "this is not a number,");
        if self.at(0) == Some('0') && matches!(self.at(1), Some('x' | 'X')) {
            self.position += 2;
            self.skip(|c| c.is_ascii_hexdigit());
            let digits = self.since(start + 2);
            let number = i128::from_str_radix(&digits, 16).map_err(|_| wrong(self))?;
            self.suffix();
            return self.ended(start).then(|| Word::Number(number.to_string())).ok_or_else(|| wrong(self));
        }
        self.skip(|c| c.is_ascii_digit());
        let mut whole = true;
        if self.at(0) == Some('.') {
            whole = false;
            self.position += 1;
            self.skip(|c| c.is_ascii_digit());
        }
        if matches!(self.at(0), Some('e' | 'E')) {
            whole = false;
            self.position += if matches!(self.at(1), Some('+' | '-')) { 2 } else { 1 };
            self.skip(|c| c.is_ascii_digit());
        }
        let number = self.since(start);
        if whole {
            self.suffix();
        }
        if number.parse::<f64>().is_err() || !self.ended(start) {
            return Err(wrong(self));
        }
        Ok(Word::Number(number))
    }

    /// C's suffixes of an integer (`7UL`), which change nothing.
    fn suffix(&mut self) {
        self.skip(|c| matches!(c, 'u' | 'U'));
        self.skip(|c| matches!(c, 'l' | 'L'));
    }

    /// Whether a number is over here.
    fn ended(&self, start: usize) -> bool {
        self.position > start && !self.at(0).is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '.'))
    }
}
