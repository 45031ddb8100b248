//! The files of a folder that a pattern names, in natural order: `run2` before `run10`.

use std::cmp::Ordering;
use std::path::Path;

use super::wildcard::FilePattern;

/// The files of a folder whose names match a pattern of `*` and `?`, in natural order: the folder as it was given, a slash
/// and the name. `None` if a name is not UTF-8. A folder that cannot be read has no files.
///
/// As in Python's `glob`, a wildcard at the beginning of the pattern does not match names that begin with a dot.
pub fn matching_files(folder: &str, pattern: &str) -> Option<Vec<String>> {
    let listed = std::fs::read_dir(if folder.is_empty() { Path::new(".") } else { Path::new(folder) });
    let with_hidden = pattern.starts_with('.');
    let pattern = FilePattern::new(pattern);
    let mut names: Vec<String> = Vec::new();
    for entry in listed.into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().ok()?;
        if (with_hidden || !name.starts_with('.')) && pattern.matched(&name).is_some() {
            names.push(name);
        }
    }
    // Numbers of equal length are in natural order already, which is faster to check than to sort by.
    names.sort_unstable();
    if !names.is_sorted_by(|a, b| natural_order(a, b).is_le()) {
        // Stable: names that differ in leading zeros only stay in the order of their text.
        names.sort_by(|a, b| natural_order(a, b));
    }
    let separator = if folder.is_empty() || folder.ends_with('/') { "" } else { "/" };
    Some(names.into_iter().map(|name| [folder, separator, &name].concat()).collect())
}

/// Compares file names, with numbers in them by value. The order is the same as in the Python package's `natural_key`.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (words_a, digits_a, rest_a) = first_number(a);
        let (words_b, digits_b, rest_b) = first_number(b);
        let ordering = words_a.cmp(words_b).then_with(|| digits_a.len().cmp(&digits_b.len())).then_with(|| digits_a.cmp(digits_b));
        if ordering.is_ne() || (rest_a.is_empty() && rest_b.is_empty()) {
            return ordering;
        }
        (a, b) = (rest_a, rest_b);
    }
}

/// The text before the first number, the digits of the number without leading zeros, and what follows.
fn first_number(text: &str) -> (&str, &str, &str) {
    let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let (words, tail) = text.split_at(start);
    let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    let (digits, rest) = tail.split_at(end);
    (words, digits.trim_start_matches('0'), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let sorted = ["", "1", "2", "10", "a", "a1", "a2b", "a10", "a10b", "a100000000000000000000000000000000000000000", "b"];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(natural_order(a, b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
        assert_eq!(natural_order("a01", "a1"), Ordering::Equal);
    }

    #[test]
    fn files_of_a_folder_are_found_as_glob_finds_them() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("hyperslab-names-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        for name in ["run10.h5", "run9.h5", ".run1.h5", "run1.nc", "other.h5"] {
            std::fs::write(folder.join(name), b"")?;
        }
        let folder_name = folder.to_string_lossy().into_owned();
        let found = |pattern: &str| matching_files(&folder_name, pattern).unwrap_or_default();
        let named = |names: &[&str]| names.iter().map(|name| format!("{folder_name}/{name}")).collect::<Vec<_>>();
        assert_eq!(found("run*.h5"), named(&["run9.h5", "run10.h5"]));
        assert_eq!(found("*1*"), named(&["run1.nc", "run10.h5"]));
        assert_eq!(found(".run?.h5"), named(&[".run1.h5"]));
        assert_eq!(matching_files(&format!("{folder_name}/none"), "*"), Some(Vec::new()));
        std::fs::remove_dir_all(&folder)
    }
}
