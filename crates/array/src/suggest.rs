//! Suggestions: the names most similar to one that was not found.

use crate::shown::shown;

/// Longer names are not compared, in characters.
const MAX_CHARS: usize = 256;
/// Most pairs of characters compared for one suggestion, about 0.1 s; further names are ignored.
const MAX_PAIRS: usize = 1 << 25;

/// Up to `count` of the names, the most similar ones first.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>, count: usize) -> Vec<&'a str> {
    let short = |text: &str| text.chars().nth(MAX_CHARS).is_none();
    if !short(name) {
        return Vec::new();
    }
    let mut left = MAX_PAIRS;
    let mut near: Vec<(usize, &str)> = Vec::new();
    for candidate in candidates.into_iter().filter(|candidate| short(candidate)) {
        let pairs = (name.len() + 1) * (candidate.len() + 1);
        if pairs > left {
            break;
        }
        left -= pairs;
        near.push((distance(candidate, name), candidate));
    }
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(count).map(|(_, candidate)| candidate).collect()
}

/// `; nearest: a, b`, or empty if no name is similar.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>, count: usize) -> String {
    match nearest(name, candidates, count).as_slice() {
        [] => String::new(),
        near => format!("; nearest: {}", near.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")),
    }
}

/// Edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let (mut diagonal, mut before) = (i, i + 1);
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (y, above) in b.iter().zip(row.iter_mut().skip(1)) {
            let here = (diagonal + usize::from(x != *y)).min(before + 1).min(*above + 1);
            (diagonal, before, *above) = (*above, here, here);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        for (a, b, wanted) in [("", "", 0), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("é", "e", 1)] {
            assert_eq!(distance(a, b), wanted, "{a} {b}");
        }
        assert_eq!(nearest("thta", ["lat", "theta", "depth"], 2), ["theta", "lat"]);
    }

    #[test]
    fn names_that_a_file_makes_long_or_many_are_not_compared() {
        let long = "x".repeat(65_000);
        assert_eq!(suggestion(&long, ["a"], 5), "");
        assert_eq!(nearest("a", [long.as_str(), "b"], 5), ["b"]);
        // Work is bounded: of names that are too many, the first ones are compared.
        let many: Vec<String> = (0..100_000).map(|n| format!("{n:0>256}")).collect();
        let first = many.iter().take(600).map(String::as_str).collect::<Vec<_>>();
        let found = nearest(&"9".repeat(256), many.iter().map(String::as_str), usize::MAX);
        assert!(found.len() < 600 && found.iter().all(|name| first.contains(name)), "{}", found.len());
    }
}
