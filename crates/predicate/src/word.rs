//! Words of a text, for `match`: runs of letters and digits, without regard to upper and lower case.
//!
//! A letter or digit is a character with the Unicode property Alphabetic, or of a general category of numbers; all others
//! separate words. Words are compared after folding: each character to upper case, and the result to lower case, by Unicode's
//! full mappings without regard to language. There is no normalization, no stemming, and no word is left out.
//!
//! Example: the words of `Straße No.7, re-read` are `strasse`, `no`, `7`, `re` and `read`.

use std::ops::ControlFlow;

use memchr::memmem::Finder;

/// The version of Unicode whose letters and mappings are used: words that were stored with another one may differ.
pub const UNICODE_VERSION: [u8; 3] = [char::UNICODE_VERSION.0, char::UNICODE_VERSION.1, char::UNICODE_VERSION.2];

/// Calls `visit` with each word of a text, folded, in order, until it breaks. `folded` is a buffer for reuse.
///
/// ```
/// use std::ops::ControlFlow;
/// let (mut found, mut folded) = (Vec::new(), String::new());
/// let ended = hyperslab_predicate::word::each_word("Wind & Wave", &mut folded, |word| {
///     found.push(word.to_owned());
///     ControlFlow::Continue(())
/// });
/// assert!(ended.is_continue());
/// assert_eq!(found, ["wind", "wave"]);
/// ```
pub fn each_word(text: &str, folded: &mut String, mut visit: impl FnMut(&str) -> ControlFlow<()>) -> ControlFlow<()> {
    folded.clear();
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            folded.push(character.to_ascii_lowercase());
        } else if character.is_alphanumeric() {
            folded.extend(character.to_uppercase().flat_map(char::to_lowercase));
        } else if !folded.is_empty() {
            visit(folded)?;
            folded.clear();
        }
    }
    if folded.is_empty() { ControlFlow::Continue(()) } else { visit(folded) }
}

/// The distinct words of a text, folded and sorted.
pub fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    // The visitor never breaks.
    let _ = each_word(text, &mut String::new(), |word| {
        words.push(word.to_owned());
        ControlFlow::Continue(())
    });
    words.sort_unstable();
    words.dedup();
    words
}

/// Words that a text must contain, all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words(Vec<String>);

impl Words {
    /// The words of all these texts; `None` if they have none.
    pub fn of_texts(texts: &[String]) -> Option<Self> {
        let mut words: Vec<String> = texts.iter().flat_map(|text| words_of(text)).collect();
        words.sort_unstable();
        words.dedup();
        (!words.is_empty()).then_some(Self(words))
    }

    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// What `are_in` needs.
    pub fn scratch(&self) -> Scratch<'_> {
        Scratch { finders: self.0.iter().map(|word| Finder::new(word.as_bytes())).collect(), folded: String::new(), found: Vec::new() }
    }

    /// Whether a text contains all of the words. `scratch` is reused.
    pub fn are_in(&self, text: &str, scratch: &mut Scratch<'_>) -> bool {
        if text.is_ascii() {
            scratch.folded.clear();
            scratch.folded.push_str(text);
            scratch.folded.make_ascii_lowercase();
            return scratch.finders.iter().all(|finder| ascii_has(scratch.folded.as_bytes(), finder));
        }
        scratch.found.clear();
        scratch.found.resize(self.0.len(), false);
        let (found, mut missing) = (&mut scratch.found, self.0.len());
        let ended = each_word(text, &mut scratch.folded, |word| {
            if let Ok(index) = self.0.binary_search_by(|wanted| wanted.as_str().cmp(word))
                && let Some(seen) = found.get_mut(index).filter(|seen| !**seen)
            {
                *seen = true;
                missing -= 1;
            }
            if missing == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        ended.is_break()
    }
}

/// Prepared searches and buffers of [`Words::are_in`].
#[derive(Debug)]
pub(super) struct Scratch<'a> {
    /// Finds the bytes of each word.
    finders: Vec<Finder<'a>>,
    folded: String,
    found: Vec<bool>,
}

/// Whether a text of lower-case ASCII characters has the word of a finder, which is not empty. Places are found without overlap: one that overlaps
/// another begins after a separator, which no word has inside.
fn ascii_has(text: &[u8], finder: &Finder<'_>) -> bool {
    let is_separator = |place: Option<usize>| place.and_then(|place| text.get(place)).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    finder.find_iter(text).any(|start| is_separator(start.checked_sub(1)) && is_separator(Some(start + finder.needle().len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        assert_eq!(words_of("Straße No.7, re-read"), ["7", "no", "re", "read", "strasse"]);
        assert_eq!(words_of("a_b  İstanbul ΣΊΣΥΦΟΣ σίσυφος 東京 10²"), ["10²", "a", "b", "i\u{307}stanbul", "σίσυφοσ", "東京"]);
        assert_eq!(words_of(" -- \u{301}…"), Vec::<String>::new());
        assert_eq!(Words::of_texts(&["?".to_owned()]), None);
    }

    #[test]
    fn a_part_of_a_word_is_no_word() {
        let has = |text: &str, words: &str| Words::of_texts(&[words.to_owned()]).is_some_and(|words| words.are_in(text, &mut words.scratch()));
        assert!(has("Red apples", "APPLES red") && has("re-read", "re") && has("(x1)", "x1") && has("ÄPFEL", "äpfel"));
        assert!(!has("Red apples", "apple") && !has("pineapples", "apples") && !has("x12", "x1") && !has("", "x") && !has("Äpfel", "pfel"));
    }

    proptest! {
        #[test]
        fn both_ways_to_find_words_agree(text in "[aAbB1 _ßé-]{0,12}", words in "[aAbB1 ßÉ]{1,5}") {
            let wanted = words_of(&words);
            if let Some(words) = Words::of_texts(&[words]) {
                let all = words_of(&text);
                prop_assert_eq!(words.are_in(&text, &mut words.scratch()), wanted.iter().all(|word| all.contains(word)), "{}", text);
            }
        }
    }
}
