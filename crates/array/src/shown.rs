//! Shortens text that a user typed, or that is a name in a file, for messages.

use std::borrow::Cow;

use crate::name::printable;

/// Most characters that a message quotes.
const MAX_CHARS: usize = 200;
/// Characters kept at the end of a long text.
const END_CHARS: usize = 40;

/// `text`, or its beginning and its end if it is long.
pub fn shown(text: &str) -> Cow<'_, str> {
    let text = printable(text);
    let Some((_, rest)) = cut(&text, MAX_CHARS) else { return text };
    let count = rest.chars().count();
    let (head, _) = cut(&text, MAX_CHARS - END_CHARS).unwrap_or((&text, ""));
    let end: String = rest.chars().skip(count.saturating_sub(END_CHARS)).collect();
    Cow::Owned(format!("{head}…{end}"))
}

/// `text`, or the part around its character `position` (from 0) if it is long.
pub fn shown_around(text: &str, position: usize) -> Cow<'_, str> {
    if cut(text, MAX_CHARS).is_none() {
        return Cow::Borrowed(text);
    }
    let start = position.saturating_sub(MAX_CHARS / 2);
    let mut rest = text.chars().skip(start);
    let here: String = rest.by_ref().take(MAX_CHARS).collect();
    let (before, after) = (if start > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
    Cow::Owned(format!("{before}{here}{after}"))
}

/// The first `count` characters and the rest; `None` if there are no more.
fn cut(text: &str, count: usize) -> Option<(&str, &str)> {
    let (end, _) = text.char_indices().nth(count)?;
    text.split_at_checked(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shown("é < 5"), "é < 5");
        let long = "é".repeat(100_000);
        assert_eq!(shown(&long).chars().count(), MAX_CHARS + 1);
        assert_eq!(shown(&"x".repeat(201)).chars().count(), MAX_CHARS - END_CHARS + 2);
        let text = format!("{}here{}", "é".repeat(5000), "é".repeat(5000));
        assert!(shown_around(&text, 5000).contains("here") && shown_around(&text, 5000).chars().count() == MAX_CHARS + 2);
        assert_eq!(shown_around("x >< 1", 3), "x >< 1");
    }
}
