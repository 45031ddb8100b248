//! Wildcards: `*` and `?` within one part of an object path or file name, and what they matched.

/// Matches `name` against `pattern`; returns what each run of wildcards stood for, `None` where the
/// name does not match. `*` is any text, `?` one character; everything else, `#` too, is itself.
pub(super) fn matched(pattern: &str, name: &str) -> Option<Vec<String>> {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let mut captures = Vec::new();
    walk(&pattern, &name, &mut captures).then_some(captures)
}

/// Whether the text has a wildcard at all.
pub(super) fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

fn walk(pattern: &[char], name: &[char], captures: &mut Vec<String>) -> bool {
    let wild = pattern.iter().take_while(|c| matches!(c, '*' | '?')).count();
    if wild == 0 {
        return match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((p, pattern)), Some((n, name))) => p == n && walk(pattern, name, captures),
            _ => false,
        };
    }
    let (run, rest) = pattern.split_at(wild);
    let least = run.iter().filter(|c| **c == '?').count();
    let most = if run.contains(&'*') { name.len() } else { least };
    for length in (least..=most.min(name.len())).rev() {
        let (taken, left) = name.split_at(length);
        let before = captures.len();
        captures.push(taken.iter().collect());
        if walk(rest, left, captures) {
            return true;
        }
        captures.truncate(before);
    }
    false
}

/// Column names for the wildcards of a pattern: the text of the path part around each
/// (`Step#*` gives `Step`), made unique by a number.
pub(super) fn column_names(pattern: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in pattern.split('/') {
        let mut in_run = false;
        let base: String = part.chars().filter(|c| c.is_alphanumeric() || *c == '_').collect();
        let base = base.trim_matches('_');
        for c in part.chars() {
            let wild = matches!(c, '*' | '?');
            if wild && !in_run {
                let base = if base.is_empty() { "part" } else { base };
                let mut name = base.to_owned();
                let mut number = 2;
                while names.contains(&name) {
                    name = format!("{base}_{number}");
                    number += 1;
                }
                names.push(name);
            }
            in_run = wild;
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
    }
}
