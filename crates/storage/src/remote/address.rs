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
    // The container of abfs://container@account is not a user name.
    let host = if scheme.starts_with("http") { host.rsplit_once('@').map_or(host, |(_, host)| host) } else { host };
    Cow::Owned(key.map_or_else(|| format!("{scheme}://{host}"), |key| format!("{scheme}://{host}/{key}")))
}

/// The name of a file, or a path relative to a folder, as part of an address. What means something else there is percent-encoded, so that
/// the name leads to nothing but a file of this name: `%`, `?`, `#`, the backslash, which is a slash in addresses of web servers, and control
/// characters, which these leave out.
pub fn encoded_name(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '%' | '?' | '#' | '\\' | '\0'..='\x1f' | '\x7f' => encoded.push_str(&format!("%{:02X}", u32::from(character))),
            _ => encoded.push(character),
        }
    }
    encoded
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
    fn a_name_means_itself_in_an_address() {
        assert_eq!(encoded_name("a b/100% of run #1?.h5"), "a b/100%25 of run %231%3F.h5");
        assert_eq!(encoded_name("..\\..\\%2e%2e/.\t./x"), "..%5C..%5C%252e%252e/.%09./x");
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
