//! Wildcards: `*` and `?` within one part of an object path or file name, and what they matched.

/// One part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Text(char),
    /// `?`
    One,
    /// `*`
    Any,
    /// `[abc]`, `[a-z]`, `[!a-z]`, of file names only: object names may hold brackets themselves.
    OneOf { ranges: Vec<(char, char)>, negated: bool },
}

impl Token {
    fn is_wild(&self) -> bool {
        !matches!(self, Self::Text(_))
    }
    fn takes(&self, c: char) -> bool {
        match self {
            Self::Text(text) => *text == c,
            Self::One | Self::Any => true,
            Self::OneOf { ranges, negated } => ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated,
        }
    }
}

fn tokens(pattern: &str, brackets: bool) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest: Vec<char> = pattern.chars().rev().collect();
    while let Some(c) = rest.pop() {
        tokens.push(match c {
            '?' => Token::One,
            '*' => Token::Any,
            '[' if brackets => match class(&rest) {
                Some((token, left)) => {
                    rest.truncate(left);
                    token
                }
                None => Token::Text('['),
            },
            c => Token::Text(c),
        });
    }
    tokens
}

/// The class that begins behind `[` of the reversed `rest`, and how much of `rest` stays; `None` where
/// no bracket closes it.
fn class(rest: &[char]) -> Option<(Token, usize)> {
    let text: Vec<char> = rest.iter().rev().copied().collect();
    let negated = text.first() == Some(&'!');
    let start = usize::from(negated);
    // A closing bracket in the first place is one of the class, as in Python's glob.
    let end = (start + 1..text.len()).find(|&i| text.get(i) == Some(&']'))?;
    let mut members = text.get(start..end)?;
    let mut ranges = Vec::new();
    while let [first, tail @ ..] = members {
        (ranges, members) = match tail {
            ['-', last, tail @ ..] => ([ranges, vec![(*first, *last)]].concat(), tail),
            tail => ([ranges, vec![(*first, *first)]].concat(), tail),
        };
    }
    Some((Token::OneOf { ranges, negated }, text.len() - end - 1))
}

/// Matches `name` against `pattern`; returns what each run of wildcards stood for, `None` where the
/// name does not match. `*` is any text, `?` one character; everything else, `#` too, is itself.
pub(super) fn matched(pattern: &str, name: &str) -> Option<Vec<String>> {
    captures(&tokens(pattern, false), name)
}

/// As [`matched`], for the path of a file, where `[…]` is a class of characters.
pub(crate) fn matched_file(pattern: &str, name: &str) -> Option<Vec<String>> {
    captures(&tokens(pattern, true), name)
}

/// Whether the text has a wildcard at all.
pub(crate) fn has_wildcard(text: &str) -> bool {
    tokens(text, false).iter().any(Token::is_wild)
}

fn captures(pattern: &[Token], name: &str) -> Option<Vec<String>> {
    let name: Vec<char> = name.chars().collect();
    let mut captures = Vec::new();
    walk(pattern, &name, &mut captures).then_some(captures)
}

fn walk(pattern: &[Token], name: &[char], captures: &mut Vec<String>) -> bool {
    let wild = pattern.iter().take_while(|token| token.is_wild()).count();
    if wild == 0 {
        return match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((token, pattern)), Some((c, name))) => token.takes(*c) && walk(pattern, name, captures),
            _ => false,
        };
    }
    let (run, rest) = pattern.split_at(wild);
    let least = run.iter().filter(|token| **token != Token::Any).count();
    let most = if run.contains(&Token::Any) { name.len() } else { least };
    for length in (least..=most.min(name.len())).rev() {
        let (taken, left) = name.split_at(length);
        if !fits(run, taken) {
            continue;
        }
        let before = captures.len();
        captures.push(taken.iter().collect());
        if walk(rest, left, captures) {
            return true;
        }
        captures.truncate(before);
    }
    false
}

/// Whether a run of wildcards can stand for all of `taken`.
fn fits(run: &[Token], taken: &[char]) -> bool {
    match run.split_first() {
        None => taken.is_empty(),
        Some((Token::Any, run)) => (0..=taken.len()).any(|n| taken.get(n..).is_some_and(|left| fits(run, left))),
        Some((token, run)) => taken.split_first().is_some_and(|(c, left)| token.takes(*c) && fits(run, left)),
    }
}

/// Column names for the wildcards of an object path: the text of the path part around each
/// (`Step#*` gives `Step`), made unique by a number.
pub(crate) fn column_names(pattern: &str) -> Vec<String> {
    named(pattern, false)
}

/// As [`column_names`], for the path of a file; its extension does not name a column.
pub(crate) fn file_column_names(pattern: &str) -> Vec<String> {
    let stem = match pattern.rsplit_once('.') {
        Some((stem, extension)) if !extension.contains(['/', '*', '?', '[']) => stem,
        _ => pattern,
    };
    named(stem, true)
}

fn named(pattern: &str, brackets: bool) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in pattern.split('/') {
        let tokens = tokens(part, brackets);
        let text = tokens.iter().filter_map(|token| if let Token::Text(c) = token { Some(*c) } else { None });
        let base: String = text.filter(|c| c.is_alphanumeric() || *c == '_').collect();
        let base = base.trim_matches('_');
        let base = if base.is_empty() { "part" } else { base };
        let mut in_run = false;
        for token in &tokens {
            if token.is_wild() && !in_run {
                let mut name = base.to_owned();
                let mut number = 2;
                while names.contains(&name) {
                    name = format!("{base}_{number}");
                    number += 1;
                }
                names.push(name);
            }
            in_run = token.is_wild();
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_return_what_they_stood_for() {
        assert_eq!(matched("Step#*", "Step#12"), Some(vec!["12".to_owned()]));
        assert_eq!(matched("a*c?", "abbcd"), Some(vec!["bb".to_owned(), "d".to_owned()]));
        assert_eq!(matched("Step#*", "Stop#12"), None);
        assert_eq!(matched("x", "x"), Some(vec![]));
        assert_eq!(matched("??", "abc"), None);
    }

    #[test]
    fn wildcard_columns_are_named_by_the_text_around_them() {
        assert_eq!(column_names("/Step#*/x"), ["Step"]);
        assert_eq!(column_names("/*/run_*"), ["part", "run"]);
        assert_eq!(file_column_names("data/run*.h5"), ["run"]);
        assert_eq!(file_column_names("run[0-9]*.v1.h5"), ["runv1"]);
    }

    #[test]
    fn brackets_are_a_class_in_file_names_only() {
        assert_eq!(matched_file("run[12]*.h5", "run10.h5"), Some(vec!["10".to_owned()]));
        assert_eq!(matched_file("run[!12].h5", "run3.h5"), Some(vec!["3".to_owned()]));
        assert_eq!(matched_file("run[!12].h5", "run2.h5"), None);
        assert_eq!(matched_file("[a-c]x", "bx"), Some(vec!["b".to_owned()]));
        assert_eq!(matched_file("a[", "a["), Some(vec![]));
        assert_eq!(matched("x[1]", "x[1]"), Some(vec![]));
    }
}
