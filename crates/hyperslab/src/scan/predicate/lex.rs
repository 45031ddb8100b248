//! Lexer: text to words, each with the character where it begins.

use hyperslab_array::{Error, Result};

/// A word of the grammar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// A column name, quoted or not, or a keyword (only unquoted).
    Name { text: String, quoted: bool },
    /// Decimal text.
    Number(String),
    /// Text in single quotes.
    Text(String),
    /// Operators and punctuation.
    Symbol(&'static str),
}

const SYMBOLS: [&str; 14] = ["<=", ">=", "==", "!=", "<>", "&&", "||", "<", ">", "=", "!", "(", ")", ","];

/// An error that points at a character (counted from 1).
pub(super) fn error_at(text: &str, position: usize, message: &str) -> Error {
    Error::invalid_input(format!("predicate: {message} at character {} of: {text}", position + 1))
}

/// The words with their positions in characters.
pub(super) fn words(text: &str) -> Result<Vec<(usize, Word)>> {
    let characters: Vec<char> = text.chars().collect();
    let at = |position: usize| characters.get(position).copied();
    let mut words = Vec::new();
    let mut position = 0;
    while let Some(c) = at(position) {
        let start = position;
        if c.is_whitespace() {
            position += 1;
            continue;
        }
        let word = if matches!(c, '\'' | '"' | '`') {
            let mut value = String::new();
            position += 1;
            loop {
                match at(position) {
                    None => return Err(error_at(text, start, &format!("the quote {c} is not closed, which begins"))),
                    Some(q) if q == c && at(position + 1) == Some(c) => {
                        value.push(c);
                        position += 2;
                    }
                    Some(q) if q == c => break,
                    Some(other) => {
                        value.push(other);
                        position += 1;
                    }
                }
            }
            position += 1;
            if c == '\'' { Word::Text(value) } else { Word::Name { text: value, quoted: true } }
        } else if number_starts(c, at(position + 1), at(position + 2), words.last().map(|(_, word)| word)) {
            position += 1;
            while let Some(next) = at(position) {
                let sign = matches!(next, '+' | '-') && matches!(at(position - 1), Some('e' | 'E'));
                if !(next.is_ascii_digit() || next == '.' || matches!(next, 'e' | 'E') || sign) {
                    break;
                }
                position += 1;
            }
            let number: String = characters.iter().skip(start).take(position - start).collect();
            if number.parse::<f64>().is_err() || at(position).is_some_and(|next| next.is_alphanumeric() || next == '_') {
                return Err(error_at(text, start, "this is no number,"));
            }
            Word::Number(number.trim_start_matches('+').to_owned())
        } else if c.is_alphabetic() || c == '_' {
            while at(position).is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '.')) {
                position += 1;
            }
            Word::Name { text: characters.iter().skip(start).take(position - start).collect(), quoted: false }
        } else {
            let rest: String = characters.iter().skip(start).take(2).collect();
            let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) else {
                return Err(error_at(text, start, &format!("{c:?} has no meaning here,")));
            };
            position += symbol.len();
            Word::Symbol(symbol)
        };
        words.push((start, word));
    }
    Ok(words)
}

/// A digit, or a sign or point before one where a value may stand.
fn number_starts(c: char, next: Option<char>, after: Option<char>, before: Option<&Word>) -> bool {
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let value_may_stand = !matches!(before, Some(Word::Number(_) | Word::Text(_)));
    match c {
        _ if c.is_ascii_digit() => true,
        '.' => digit(next),
        '-' | '+' => value_may_stand && (digit(next) || (next == Some('.') && digit(after))),
        _ => false,
    }
}
