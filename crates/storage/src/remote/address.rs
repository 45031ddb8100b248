//! Addresses of objects: which texts are addresses, and what messages show of them.

use std::borrow::Cow;

/// Whether a path is the address of something remote: it begins with a scheme, such as `s3://`. `file://` is local.
pub fn is_address(path: &str) -> bool {
    scheme(path).is_some_and(|scheme| !scheme.eq_ignore_ascii_case("file"))
}

/// The scheme of an address.
pub(crate) fn scheme(path: &str) -> Option<&str> {
    let (scheme, _) = path.split_once("://")?;
    let is_scheme = scheme.len() > 1 && scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_plain = scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    (is_scheme && is_plain).then_some(scheme)
}

/// An address without its query, fragment, user name and password, which may grant access. A path stays as it is.
pub fn shown_address(path: &str) -> Cow<'_, str> {
    if !is_address(path) {
        return Cow::Borrowed(path);
    }
    let Some((scheme, rest)) = path.split_once("://") else { return Cow::Borrowed(path) };
    let rest = rest.find('?').map_or(rest, |end| rest.get(..end).unwrap_or_default());
    let (host, key) = rest.split_once('/').map_or((rest, None), |(host, key)| (host, Some(key)));
    // The container of abfs://container@account is no user name.
    let host = if scheme.starts_with("http") { host.rsplit_once('@').map_or(host, |(_, host)| host) } else { host };
    Cow::Owned(key.map_or_else(|| format!("{scheme}://{host}"), |key| format!("{scheme}://{host}/{key}")))
}

/// A text of others, such as an error message, without the queries of addresses in it.
pub fn without_queries(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (number, word) in text.split(' ').enumerate() {
        if number > 0 {
            shown.push(' ');
        }
        match word.find("://").and_then(|address| word.get(address..)?.find('?').map(|query| address + query)) {
            Some(query) => {
                shown.push_str(word.get(..query).unwrap_or_default());
                shown.push_str("?...");
            }
            None => shown.push_str(word),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_scheme_of_two_letters_or_more() {
        for address in ["s3://b/k", "http://h/x", "abfs+x://c@a/k", "HTTPS://h"] {
            assert!(is_address(address), "{address}");
        }
        for path in ["a.h5", "/s3/b", "s3:/b", "c://x", "file:///tmp/a.h5", "://x", "a b://c", "1s://x"] {
            assert!(!is_address(path), "{path}");
        }
    }

    #[test]
    fn nothing_that_grants_access_is_shown() {
        assert_eq!(shown_address("https://me:secret@h/a/b.nc?X-Amz-Signature=ab#c"), "https://h/a/b.nc");
        assert_eq!(shown_address("https://h?sig=1"), "https://h");
        assert_eq!(shown_address("abfs://container@account/k?sv=1"), "abfs://container@account/k");
        assert_eq!(shown_address("run?.h5"), "run?.h5", "a path");
        assert_eq!(without_queries("cannot GET https://h/k?sig=ab (why?) now"), "cannot GET https://h/k?... (why?) now");
    }
}
