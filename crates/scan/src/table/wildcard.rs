//! Wildcards: `*` and `?` within one part of an object path or file name, and the text that they match.

/// One part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Text(char),
    /// `?`
    One,
    /// `*`
    Any,
    /// `[abc]`, `[a-z]`, `[!a-z]`, in file names only: object names may contain brackets.
    OneOf {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
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

/// The class that begins after `[` in the reversed `rest`, and how much of `rest` remains; `None` if no bracket closes it.
fn class(rest: &[char]) -> Option<(Token, usize)> {
    let text: Vec<char> = rest.iter().rev().copied().collect();
    let negated = text.first() == Some(&'!');
    let start = usize::from(negated);
    // A closing bracket as the first character is a member of the class, as in Python's glob.
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

/// Matches `name` against `pattern`; returns the text that each run of wildcards matched, or `None` if the name does not
/// match. `*` is any text, `?` one character; every other character, `#` included, matches itself.
pub fn matched(pattern: &str, name: &str) -> Option<Vec<String>> {
    captures(&tokens(pattern, false), name)
}

/// A pattern of paths of files, in which `[…]` is a class of characters.
#[derive(Debug, Clone)]
pub struct FilePattern(Vec<Token>);

impl FilePattern {
    /// The pattern with this text.
    pub fn new(pattern: &str) -> Self {
        Self(tokens(pattern, true))
    }
    /// As [`matched`], for the path of a file.
    pub fn matched(&self, name: &str) -> Option<Vec<String>> {
        captures(&self.0, name)
    }
}

/// As [`matched`], for the path of a file, in which `[…]` is a class of characters.
pub fn matched_file(pattern: &str, name: &str) -> Option<Vec<String>> {
    FilePattern::new(pattern).matched(name)
}

/// Whether the text contains a wildcard.
pub fn has_wildcard(text: &str) -> bool {
    tokens(text, false).iter().any(Token::is_wild)
}

/// The text that each run of wildcards matches: the longest for the first run, then the longest for the second, and so on;
/// `None` if the name does not match. Takes time proportional to the pattern's length times the name's.
fn captures(pattern: &[Token], name: &str) -> Option<Vec<String>> {
    let name: Vec<char> = name.chars().collect();
    let plain = pattern.iter().take_while(|token| !token.is_wild()).count();
    let (prefix, pattern) = pattern.split_at(plain);
    let (head, rest) = name.split_at_checked(plain)?;
    if !prefix.iter().zip(head).all(|(token, c)| token.takes(*c)) {
        return None;
    }
    if let Some((Token::Any, after)) = pattern.split_first()
        && !after.iter().any(Token::is_wild)
    {
        // One `*` and text, the usual pattern.
        let (captured, tail) = rest.split_at_checked(rest.len().checked_sub(after.len())?)?;
        return after.iter().zip(tail).all(|(token, c)| token.takes(*c)).then(|| vec![captured.iter().collect()]);
    }
    let ends = ends(pattern, rest);
    if !*ends.first()?.first()? {
        return None;
    }
    let (mut captures, mut at, mut index) = (Vec::new(), 0, 0);
    while let Some(token) = pattern.get(index) {
        if !token.is_wild() {
            (at, index) = (at + 1, index + 1);
            continue;
        }
        let run: Vec<&Token> = pattern.iter().skip(index).take_while(|token| token.is_wild()).collect();
        index += run.len();
        let reached = reached(&run, rest.get(at..)?);
        // The longest text from which the rest of the pattern still matches.
        let fits = |length: &usize| reached.get(*length) == Some(&true) && ends.get(index).and_then(|ends| ends.get(at + length)) == Some(&true);
        let length = (0..reached.len()).rev().find(fits)?;
        captures.push(rest.get(at..at + length)?.iter().collect());
        at += length;
    }
    Some(captures)
}

/// For each token of a pattern, and for its end: the positions of `name` from which the rest of the pattern matches.
fn ends(pattern: &[Token], name: &[char]) -> Vec<Vec<bool>> {
    let mut after = vec![false; name.len() + 1];
    if let Some(last) = after.last_mut() {
        *last = true;
    }
    let mut all = vec![after.clone()];
    for token in pattern.iter().rev() {
        let mut here = vec![false; name.len() + 1];
        let mut any = false;
        for (place, (slot, matches)) in here.iter_mut().zip(&after).enumerate().rev() {
            any |= *matches;
            *slot = match token {
                Token::Any => any,
                token => name.get(place).is_some_and(|c| token.takes(*c)) && after.get(place + 1) == Some(&true),
            };
        }
        after.clone_from(&here);
        all.push(here);
    }
    all.reverse();
    all
}

/// The lengths of the text that a run of wildcards can match at the beginning of `name`.
fn reached(run: &[&Token], name: &[char]) -> Vec<bool> {
    let mut reached = vec![false; name.len() + 1];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for token in run {
        if **token == Token::Any {
            let mut any = false;
            reached.iter_mut().for_each(|reached| {
                any |= *reached;
                *reached = any;
            });
            continue;
        }
        let mut before = false;
        for (length, slot) in reached.iter_mut().enumerate() {
            let takes = length.checked_sub(1).and_then(|place| name.get(place)).is_some_and(|c| token.takes(*c));
            (*slot, before) = (before && takes, *slot);
        }
    }
    reached
}

/// Column names for the wildcards of an object path: the text around each in its part of the path (`Step#*` gives `Step`),
/// made unique by a number.
pub fn column_names(pattern: &str) -> Vec<String> {
    named(pattern, false)
}

/// As [`column_names`], for the path of a file; its extension is not part of a name.
pub fn file_column_names(pattern: &str) -> Vec<String> {
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

    /// The longest text for each run of wildcards, by trying all of them.
    fn tried(pattern: &[Token], name: &[char]) -> Option<Vec<String>> {
        let Some(token) = pattern.first() else { return name.is_empty().then(Vec::new) };
        if !token.is_wild() {
            return if token.takes(*name.first()?) { tried(&pattern[1..], &name[1..]) } else { None };
        }
        let run = pattern.iter().take_while(|token| token.is_wild()).count();
        (0..=name.len()).rev().find_map(|length| {
            let (taken, left) = name.split_at(length);
            let rest = tried(&pattern[run..], left).filter(|_| stands(&pattern[..run], taken))?;
            Some([vec![taken.iter().collect()], rest].concat())
        })
    }

    fn stands(run: &[Token], taken: &[char]) -> bool {
        match run.split_first() {
            None => taken.is_empty(),
            Some((Token::Any, run)) => (0..=taken.len()).any(|n| stands(run, &taken[n..])),
            Some((token, run)) => taken.split_first().is_some_and(|(c, left)| token.takes(*c) && stands(run, left)),
        }
    }

    proptest::proptest! {
        #[test]
        fn wildcards_stand_for_what_trying_all_finds(pattern in "[ab*?]{0,7}(\\[[!]?[ab]\\][ab*?]{0,3})?", name in "[abc]{0,9}") {
            for brackets in [false, true] {
                let tokens = tokens(&pattern, brackets);
                let wanted = tried(&tokens, &name.chars().collect::<Vec<_>>());
                proptest::prop_assert_eq!(captures(&tokens, &name), wanted, "{} {}", pattern, name);
            }
        }
    }

    #[test]
    fn long_names_do_not_make_matching_long() {
        let name = "a".repeat(60_000);
        for pattern in ["a*a*b", "*a*a*a*a*a*b", "a*b", "a*?*?*?b"] {
            assert_eq!(matched(pattern, &name), None, "{pattern}");
        }
        let captures = matched("a*a*", &name).unwrap_or_default();
        assert_eq!(captures.iter().map(String::len).collect::<Vec<_>>(), [59_998, 0]);
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
