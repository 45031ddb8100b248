//! Words: for each word of a block of text, the positions of the texts that have it.
//!
//! Words are as in `hyperslab_predicate::word`, folded, sorted by their bytes. Of a word of more than 64 bytes, only the
//! first ones (at most 64, whole characters) are kept, followed by a byte 0xFF, which no other word has. The parts of the
//! block's row, all little endian:
//!
//! - `starts`: the version of Unicode (3 bytes), a 0, the number of groups (32 bits); then for each group of 64 words where its
//!   first word begins in `samples`, its words in `packed` and its positions in `order` (32 bits each)
//! - `samples`: the first word of each group, with its length before it (8 bits)
//! - `packed`: each word with its length before it (8 bits), and after it how many texts have it, less one (16 bits)
//! - `order`: for each word the positions (16 bits) in rising order, or if more than 4,096 texts have it a bitmap of 65,536 bits
//! - `bitmaps`: the positions of nulls, as a Roaring bitmap in the portable format; empty if there are none

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

use arrow_array::StringArray;
use arrow_buffer::Buffer;
use hyperslab_array::{Error, Result};
use hyperslab_predicate::word::{UNICODE_VERSION, each_word};
use roaring::RoaringBitmap;

use super::rank_query::{Part, Payload, truncated};

/// Words whose positions are found together.
const GROUP_WORDS: usize = 64;
/// Most bytes of a word that are kept.
const MAX_WORD_BYTES: usize = 64;
/// Follows a word that was cut.
const CUT: u8 = 0xFF;
/// Most positions that are listed; of more, there is a bitmap, which is not longer.
const MAX_LISTED_POSITIONS: usize = 4096;
/// Bytes of the bitmap of a block.
const BITMAP_BYTES: usize = 8192;
/// Bytes of `starts` before the groups, and of each group.
const HEADER_BYTES: usize = 8;
const GROUP_BYTES: usize = 12;
/// Most bytes of words and positions of a block. One with more has no index of words: each of its texts is a long document.
const MAX_BLOCK_BYTES: usize = 64 << 20;
/// Memory of a word in a table, besides its bytes.
const TABLE_BYTES: usize = 64;

/// The parts of a block's row.
#[derive(Debug)]
pub(crate) struct WordParts {
    pub starts: Vec<u8>,
    pub samples: Vec<u8>,
    pub packed: Buffer,
    pub order: Buffer,
    pub bitmaps: Vec<u8>,
}

/// What is kept of a word.
fn kept(word: &str) -> Vec<u8> {
    if word.len() <= MAX_WORD_BYTES {
        return word.as_bytes().to_vec();
    }
    let end = (0..=MAX_WORD_BYTES).rfind(|end| word.is_char_boundary(*end)).unwrap_or_default();
    let mut cut = word.get(..end).unwrap_or_default().as_bytes().to_vec();
    cut.push(CUT);
    cut
}

/// The words of a block of text; `None` if they take too much memory.
pub(crate) fn of_text(texts: &StringArray) -> Result<Option<WordParts>> {
    let (mut found, mut nulls): (HashMap<Vec<u8>, Vec<u16>>, RoaringBitmap) = (HashMap::new(), RoaringBitmap::new());
    let (mut bytes, mut folded) = (0, String::new());
    for (position, text) in texts.iter().enumerate() {
        let Some(text) = text else {
            nulls.insert(position as u32);
            continue;
        };
        let position = position as u16;
        let ended = each_word(text, &mut folded, |word| {
            let is_whole = word.len() <= MAX_WORD_BYTES;
            let known = if is_whole { found.get_mut(word.as_bytes()) } else { found.get_mut(kept(word).as_slice()) };
            match known {
                Some(positions) if positions.last() == Some(&position) => {}
                Some(positions) => {
                    positions.push(position);
                    bytes += 2;
                }
                None => {
                    let word = kept(word);
                    bytes += word.len() + TABLE_BYTES;
                    found.insert(word, vec![position]);
                }
            }
            if bytes > MAX_BLOCK_BYTES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if ended.is_break() {
            return Ok(None);
        }
    }
    let mut words: Vec<(Vec<u8>, Vec<u16>)> = found.into_iter().collect();
    words.sort_unstable();
    encode(&words, &nulls).map(Some)
}

fn encode(words: &[(Vec<u8>, Vec<u16>)], nulls: &RoaringBitmap) -> Result<WordParts> {
    let long = |length: usize| u32::try_from(length).map(u32::to_le_bytes).map_err(|_| Error::internal("the words of a block exceed their limit"));
    let (mut samples, mut packed, mut order) = (Vec::new(), Vec::new(), Vec::new());
    let mut starts = UNICODE_VERSION.to_vec();
    starts.push(0);
    starts.extend(long(words.len().div_ceil(GROUP_WORDS))?);
    let entry = |word: &[u8], to: &mut Vec<u8>| {
        to.push(word.len() as u8);
        to.extend(word);
    };
    for group in words.chunks(GROUP_WORDS) {
        for length in [samples.len(), packed.len(), order.len()] {
            starts.extend(long(length)?);
        }
        if let Some((first, _)) = group.first() {
            entry(first, &mut samples);
        }
        for (word, positions) in group {
            entry(word, &mut packed);
            packed.extend((positions.len().saturating_sub(1) as u16).to_le_bytes());
            if positions.len() <= MAX_LISTED_POSITIONS {
                order.extend(positions.iter().flat_map(|position| position.to_le_bytes()));
                continue;
            }
            let begin = order.len();
            order.resize(begin + BITMAP_BYTES, 0);
            for position in positions {
                if let Some(byte) = order.get_mut(begin + usize::from(position / 8)) {
                    *byte |= 1 << (position % 8);
                }
            }
        }
    }
    let mut bitmaps = Vec::new();
    if !nulls.is_empty() {
        nulls.serialize_into(&mut bitmaps).map_err(|error| Error::internal(format!("cannot encode a bitmap: {error}")))?;
    }
    Ok(WordParts { starts, samples, packed: Buffer::from_vec(packed), order: Buffer::from_vec(order), bitmaps })
}

/// Decodes the positions of the `count` nulls of a block. `Corrupt` for invalid bytes.
pub(crate) fn nulls(bytes: &[u8], count: u32, elements: u32) -> Result<RoaringBitmap> {
    if count == 0 {
        return Ok(RoaringBitmap::new());
    }
    let nulls = RoaringBitmap::deserialize_from(bytes).map_err(|error| Error::corrupt(format!("a bitmap of the index is invalid: {error}")))?;
    if nulls.len() != u64::from(count) || nulls.max().is_some_and(|last| last >= elements) {
        return Err(bad());
    }
    Ok(nulls)
}

fn bad() -> Error {
    Error::corrupt("the words of a block of the index are invalid")
}

/// The texts of a block that have a word.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub positions: RoaringBitmap,
    /// Whether all of them have it; otherwise they may have it, because only the beginning of the word is kept.
    pub is_certain: bool,
}

/// Finds words of one block.
#[derive(Clone, Copy)]
pub(crate) struct WordQuery<'a> {
    pub samples: &'a [u8],
    pub starts: &'a [u8],
    pub payload: &'a dyn Payload,
    /// Number of texts and nulls of the block.
    pub elements: u32,
}

/// A group: the bytes of its words, and where the positions begin and end.
struct Group {
    words: Range<usize>,
    positions: Range<usize>,
}

/// A stored word.
struct Entry<'a> {
    word: &'a [u8],
    count: usize,
    positions: Range<usize>,
}

/// The word with a length before it, and the bytes after it.
fn split_word(bytes: &[u8]) -> Result<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first().ok_or_else(bad)?;
    rest.split_at_checked(usize::from(*length)).ok_or_else(bad)
}

/// Whether `starts` say that the words follow another version of Unicode, so that they are not used.
pub(crate) fn has_other_unicode(starts: &[u8]) -> bool {
    starts.get(..3).is_some_and(|version| version != UNICODE_VERSION)
}

impl WordQuery<'_> {
    /// Number of groups. `Corrupt` also if the words follow another version of Unicode.
    pub fn groups(&self) -> Result<usize> {
        let (header, groups) = self.starts.split_at_checked(HEADER_BYTES).ok_or_else(truncated)?;
        let (version, count) = header.split_at_checked(4).ok_or_else(truncated)?;
        if version.get(..3) != Some(&UNICODE_VERSION) || version.get(3) != Some(&0) {
            return Err(Error::corrupt("the words of the index follow another version of Unicode; rebuild it"));
        }
        let count = count.first_chunk().map(|count| u32::from_le_bytes(*count) as usize).ok_or_else(truncated)?;
        (count.checked_mul(GROUP_BYTES) == Some(groups.len())).then_some(count).ok_or_else(bad)
    }

    /// Where a group begins in the samples, the words and the positions.
    fn start(&self, group: usize) -> Result<[usize; 3]> {
        let begin = HEADER_BYTES + group * GROUP_BYTES;
        let bytes = self.starts.get(begin..begin + GROUP_BYTES).ok_or_else(truncated)?;
        let mut numbers = bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number) as usize);
        let (Some(sample), Some(words), Some(positions)) = (numbers.next(), numbers.next(), numbers.next()) else { return Err(truncated()) };
        Ok([sample, words, positions])
    }

    fn group(&self, group: usize, groups: usize) -> Result<Group> {
        let [_, words, positions] = self.start(group)?;
        let [words_end, positions_end] = match group + 1 < groups {
            true => self.start(group + 1).map(|[_, words, positions]| [words, positions])?,
            false => [self.payload.length(Part::Packed), self.payload.length(Part::Order)],
        };
        if words > words_end || positions > positions_end {
            return Err(bad());
        }
        Ok(Group { words: words..words_end, positions: positions..positions_end })
    }

    /// The first word of a group.
    fn sample(&self, group: usize) -> Result<&[u8]> {
        let [sample, ..] = self.start(group)?;
        split_word(self.samples.get(sample..).ok_or_else(truncated)?).map(|(word, _)| word)
    }

    /// Calls `visit` with the words of a group until it returns something.
    fn find<T>(&self, group: &Group, scratch: &mut Vec<u8>, mut visit: impl FnMut(&Entry<'_>) -> Option<T>) -> Result<Option<T>> {
        let mut rest = self.payload.bytes(Part::Packed, group.words.clone(), scratch)?;
        let mut begin = group.positions.start;
        while !rest.is_empty() {
            let (word, after) = split_word(rest)?;
            let (count, after) = after.split_first_chunk::<2>().ok_or_else(bad)?;
            let count = usize::from(u16::from_le_bytes(*count)) + 1;
            let end = begin + if count <= MAX_LISTED_POSITIONS { 2 * count } else { BITMAP_BYTES };
            if end > group.positions.end {
                return Err(bad());
            }
            if let Some(found) = visit(&Entry { word, count, positions: begin..end }) {
                return Ok(Some(found));
            }
            (rest, begin) = (after, end);
        }
        Ok(None)
    }

    /// The texts that have a word, which is folded. `Corrupt` if the block is damaged.
    pub fn texts_with(&self, word: &str, scratch: &mut Vec<u8>) -> Result<Found> {
        let (wanted, is_certain) = (kept(word), word.len() <= MAX_WORD_BYTES);
        let groups = self.groups()?;
        let (mut low, mut high) = (0, groups);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.sample(middle)? <= wanted.as_slice() { low = middle + 1 } else { high = middle }
        }
        let none = Found { positions: RoaringBitmap::new(), is_certain: true };
        let Some(group) = low.checked_sub(1) else { return Ok(none) };
        let group = self.group(group, groups)?;
        let entry = self.find(&group, scratch, |entry| (entry.word == wanted).then(|| (entry.count, entry.positions.clone())))?;
        let Some((count, range)) = entry else { return Ok(none) };
        Ok(Found { positions: self.positions(count, range, scratch)?, is_certain })
    }

    /// Decodes positions.
    fn positions(&self, count: usize, range: Range<usize>, scratch: &mut Vec<u8>) -> Result<RoaringBitmap> {
        let bytes = self.payload.bytes(Part::Order, range, scratch)?;
        let positions = match count <= MAX_LISTED_POSITIONS {
            true => {
                let positions = bytes.as_chunks::<2>().0.iter().map(|position| u32::from(u16::from_le_bytes(*position)));
                RoaringBitmap::from_sorted_iter(positions).map_err(|_| bad())?
            }
            false => RoaringBitmap::from_lsb0_bytes(0, bytes),
        };
        if positions.len() != count as u64 || positions.max().is_some_and(|last| last >= self.elements) {
            return Err(bad());
        }
        Ok(positions)
    }

    /// The word at an index of a group, without its mark if it was cut, and the texts that have it. `None` if there are fewer.
    pub fn word_at(&self, group: usize, index: usize, scratch: &mut Vec<u8>) -> Result<Option<(Vec<u8>, RoaringBitmap)>> {
        let groups = self.groups()?;
        if group >= groups {
            return Ok(None);
        }
        let mut left = index;
        let entry = self.find(&self.group(group, groups)?, scratch, |entry| {
            let found = (left == 0).then(|| (entry.word.to_vec(), entry.count, entry.positions.clone()));
            left = left.saturating_sub(1);
            found
        })?;
        let Some((mut word, count, range)) = entry else { return Ok(None) };
        word.pop_if(|last| *last == CUT);
        Ok(Some((word, self.positions(count, range, scratch)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperslab_predicate::word::words_of;
    use proptest::prelude::*;

    impl Payload for WordParts {
        fn length(&self, part: Part) -> usize {
            match part {
                Part::Order => self.order.len(),
                Part::Packed => self.packed.len(),
            }
        }
        fn bytes<'a>(&'a self, part: Part, range: Range<usize>, _: &'a mut Vec<u8>) -> Result<&'a [u8]> {
            let bytes = match part {
                Part::Order => &self.order,
                Part::Packed => &self.packed,
            };
            bytes.get(range).ok_or_else(truncated)
        }
    }

    fn query(parts: &WordParts, elements: usize) -> WordQuery<'_> {
        WordQuery { samples: &parts.samples, starts: &parts.starts, payload: parts, elements: elements as u32 }
    }

    fn check(texts: &[Option<String>]) -> Result<()> {
        let bad = |what: &str| Error::internal(what.to_owned());
        let parts = of_text(&StringArray::from_iter(texts))?.ok_or_else(|| bad("no parts"))?;
        let query = query(&parts, texts.len());
        let mut all: Vec<String> = texts.iter().flatten().flat_map(|text| words_of(text)).collect();
        all.sort_unstable();
        all.dedup();
        for word in all.iter().map(String::as_str).chain(["", "absent", "zzzz"]) {
            let wanted: RoaringBitmap = (0u32..)
                .zip(texts)
                .filter(|(_, text)| text.as_ref().is_some_and(|text| words_of(text).iter().any(|here| here == word)))
                .map(|(position, _)| position)
                .collect();
            let found = query.texts_with(word, &mut Vec::new())?;
            if (found.is_certain && found.positions != wanted) || !wanted.is_subset(&found.positions) {
                return Err(bad(word));
            }
            if found.is_certain == (word.len() > MAX_WORD_BYTES) {
                return Err(bad("certainty"));
            }
        }
        let wanted: RoaringBitmap = (0u32..).zip(texts).filter(|(_, text)| text.is_none()).map(|(position, _)| position).collect();
        (nulls(&parts.bitmaps, wanted.len() as u32, texts.len() as u32)? == wanted).then_some(()).ok_or_else(|| bad("nulls"))
    }

    proptest! {
        #[test]
        fn words_have_the_texts_that_contain_them(texts in proptest::collection::vec(proptest::option::weighted(0.9, "([a-cß]{1,2} ?){0,6}|[ab]{60,70}( [é]{31,34})?"), 0..200)) {
            check(&texts).map_err(|error| TestCaseError::fail(error.to_string()))?;
        }

        /// Any bytes: an error, or some answer, and no panic.
        #[test]
        fn hostile_parts_do_no_harm(
            place in any::<prop::sample::Index>(), byte in any::<u8>(), part in 0..4, cut in any::<bool>(),
        ) {
            let texts: Vec<String> = (0..5000).map(|n| format!("all {} {n}", n % 7)).collect();
            let texts = StringArray::from_iter_values(&texts);
            let fail = |error: Error| TestCaseError::fail(error.to_string());
            let Some(mut parts) = of_text(&texts).map_err(fail)? else { return Err(TestCaseError::fail("no parts")) };
            let damage = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                let place = place.index(bytes.len());
                if cut { bytes.truncate(place) } else { bytes[place] = byte }
                bytes
            };
            match part {
                0 => parts.starts = damage(&parts.starts),
                1 => parts.samples = damage(&parts.samples),
                2 => parts.packed = damage(&parts.packed).into(),
                _ => parts.order = damage(&parts.order).into(),
            }
            let query = query(&parts, 5000);
            for word in ["all", "3", "4999", "zzz", "0"] {
                if let Ok(found) = query.texts_with(word, &mut Vec::new()) {
                    prop_assert!(found.positions.max().is_none_or(|last| last < 5000));
                }
            }
            for group in 0..100 {
                let _ = query.word_at(group, group % 64, &mut Vec::new());
            }
        }
    }

    #[test]
    fn a_word_of_many_texts_has_a_bitmap() {
        let texts: Vec<Option<String>> = (0..65_536).map(|n| (n % 5 > 0).then(|| format!("w{} all", n % 3))).collect();
        assert!(check(&texts).is_ok());
    }

    #[test]
    fn words_of_another_version_of_unicode_are_not_used() -> Result<()> {
        let mut parts = of_text(&StringArray::from(vec!["a b"]))?.ok_or_else(bad)?;
        assert!(!has_other_unicode(&parts.starts));
        parts.starts[0] ^= 1;
        assert!(query(&parts, 1).texts_with("a", &mut Vec::new()).is_err() && has_other_unicode(&parts.starts));
        Ok(())
    }

    #[test]
    fn positions_beyond_the_block_are_refused() -> Result<()> {
        let parts = of_text(&StringArray::from(vec!["a", "b", "a"]))?.ok_or_else(bad)?;
        assert!(query(&parts, 2).texts_with("a", &mut Vec::new()).is_err());
        assert!(query(&parts, 2).texts_with("b", &mut Vec::new()).is_ok());
        assert!(nulls(&[], 1, 3).is_err() && nulls(&parts.bitmaps, 0, 3).is_ok());
        Ok(())
    }
}
