//! Names as text that keeps every byte.
//!
//! HDF5 does not enforce an encoding of names: links, attributes and members of compounds can have any bytes but NUL. Here a name
//! is a `String`. Bytes that are valid UTF-8 are themselves; each other byte `b` is the private-use character U+10FF00 + `b`. A
//! name that contains one of these characters itself keeps the character's four bytes in the same way, so that two names are
//! equal if and only if their bytes are. Python's names have surrogates instead (PEP 383), which a `String` cannot hold.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write;

/// The character of byte 0.
const FIRST: u32 = 0x10_FF00;
/// The first byte of each such character in UTF-8.
const LEAD: u8 = 0xF4;
/// Begins the path of an object without a name, before its address. It stands for the byte 0, which no name has.
pub const ADDRESS: char = '\u{10FF00}';

/// The byte that a character stands for.
fn byte_of(character: char) -> Option<u8> {
    u8::try_from(u32::from(character).checked_sub(FIRST)?).ok()
}

/// The name that has these bytes.
///
/// ```
/// # use hyperslab_array::name::{bytes_of, name_of};
/// assert_eq!(name_of("größe".as_bytes()), "größe");
/// assert_eq!(bytes_of(&name_of(b"a\xff")).as_ref(), b"a\xff");
/// ```
pub fn name_of(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes)
        && is_plain(text)
    {
        return text.to_owned();
    }
    let mut name = String::with_capacity(bytes.len());
    let push_bytes = |name: &mut String, bytes: &[u8]| name.extend(bytes.iter().filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match byte_of(character) {
                Some(_) => push_bytes(&mut name, character.encode_utf8(&mut [0; 4]).as_bytes()),
                None => name.push(character),
            }
        }
        push_bytes(&mut name, chunk.invalid());
    }
    name
}

/// The bytes of a name.
pub fn bytes_of(name: &str) -> Cow<'_, [u8]> {
    if is_plain(name) {
        return Cow::Borrowed(name.as_bytes());
    }
    let mut bytes = Vec::with_capacity(name.len());
    for character in name.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// Whether the bytes of a name are those of the text.
pub fn is_plain(name: &str) -> bool {
    !name.as_bytes().contains(&LEAD) || !name.chars().any(|character| byte_of(character).is_some())
}

/// Whether a name needs the character set UTF-8, which is stored with it. ASCII is stored for bytes that are not UTF-8.
pub fn is_utf8(name: &str) -> bool {
    !name.is_ascii() && is_plain(name)
}

/// The order of the bytes of two names, which is the order of names in HDF5.
pub fn compare(a: &str, b: &str) -> Ordering {
    match is_plain(a) && is_plain(b) {
        true => a.as_bytes().cmp(b.as_bytes()),
        false => bytes_of(a).cmp(&bytes_of(b)),
    }
}

/// A name or path for messages: bytes that are not UTF-8 as `\xff`, an object without a name as `#0x320`.
pub fn printable(name: &str) -> Cow<'_, str> {
    if is_plain(name) {
        return Cow::Borrowed(name);
    }
    let mut text = String::with_capacity(name.len());
    for character in name.chars() {
        match byte_of(character) {
            Some(0) => text.push('#'),
            // Writing into a string cannot fail.
            Some(byte) => drop(write!(text, "\\x{byte:02x}")),
            None => text.push(character),
        }
    }
    Cow::Owned(text)
}

/// The path of the object whose header is at `address`, for one that has no name. No link can have such a path.
pub fn path_of_address(address: u64) -> String {
    format!("{ADDRESS}{address:#x}")
}

/// Whether links lead to a path, not an address.
pub fn is_of_links(path: &str) -> bool {
    !path.trim_start_matches('/').starts_with(ADDRESS)
}

/// The address in a path that [`path_of_address`] made; `None` for other paths.
pub fn address_in_path(path: &str) -> Option<u64> {
    let digits = path.trim_start_matches('/').strip_prefix(ADDRESS)?.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_every_byte() {
        let names: [&[u8]; 9] =
            [b"", b"plain", "größe".as_bytes(), b"a\xff", b"a\xfe", b"\xe9t\xe9", b"\xf4\x8f\xbf\xa9", b"\xf4\x8f\xbf", "\u{10ff00}\u{10ffff}x".as_bytes()];
        let mut seen = std::collections::HashSet::new();
        for name in names {
            let text = name_of(name);
            assert_eq!(bytes_of(&text).as_ref(), name);
            assert!(seen.insert(text));
        }
        for first in 0..=255 {
            for second in 0..=255 {
                let name = [b'a', first, second, b'z'];
                assert_eq!(bytes_of(&name_of(&name)).as_ref(), name);
            }
        }
    }

    #[test]
    fn names_are_ordered_by_their_bytes() {
        let mut names = [name_of(b"\xff"), name_of("é".as_bytes()), name_of(b"\x80"), name_of(b"z"), name_of("\u{10fffe}".as_bytes())];
        names.sort_by(|a, b| compare(a, b));
        let bytes: Vec<Vec<u8>> = names.iter().map(|name| bytes_of(name).into_owned()).collect();
        assert!(bytes.is_sorted());
    }

    #[test]
    fn messages_show_bytes_and_addresses() {
        assert_eq!(printable(&name_of(b"a\xff/x")), "a\\xff/x");
        let path = path_of_address(0x320);
        assert_eq!((printable(&path).as_ref(), address_in_path(&path)), ("#0x320", Some(0x320)));
        assert_eq!(address_in_path(&name_of("\u{10ff00}0x320".as_bytes())), None);
        assert_eq!(address_in_path("/#0x320"), None);
    }
}
