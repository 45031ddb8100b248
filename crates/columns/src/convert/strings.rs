//! Strings: padding is removed; ASCII that is not valid UTF-8 is read as Latin-1.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use hyperslab_array::{CharacterSet, Error, HeapObjects, Result, StringPadding};

pub(super) fn fixed(bytes: &[u8], size: usize, padding: StringPadding, set: CharacterSet) -> Result<ArrayRef> {
    build(bytes.chunks_exact(size).map(|e| Ok(cut(e, padding))), set, bytes.len())
}

pub(super) fn variable(bytes: &[u8], size: usize, padding: StringPadding, set: CharacterSet, heap: &HeapObjects) -> Result<ArrayRef> {
    // In the library's memory they end at the first NUL, whatever their length in the file and their padding.
    build(bytes.chunks_exact(size).map(|e| Ok(cut(cut(heap.value(e, 1)?, StringPadding::NullTerminated), padding))), set, bytes.len())
}

fn build<'a>(values: impl Iterator<Item = Result<&'a [u8]>>, set: CharacterSet, capacity: usize) -> Result<ArrayRef> {
    let mut builder = StringBuilder::with_capacity(0, capacity);
    let mut total = 0usize;
    for value in values {
        let text = decode(value?, set)?;
        total = total.saturating_add(text.len());
        if i32::try_from(total).is_err() {
            return Err(Error::limit_exceeded("2 GiB of text in one batch; ask for fewer rows a batch"));
        }
        builder.append_value(text);
    }
    Ok(Arc::new(builder.finish()))
}

fn cut(bytes: &[u8], padding: StringPadding) -> &[u8] {
    let end = match padding {
        StringPadding::NullTerminated => bytes.iter().position(|b| *b == 0),
        StringPadding::NullPadded => Some(bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1)),
        // Programs pad buffers with NULs, whatever padding the datatype states.
        StringPadding::SpacePadded => Some(bytes.iter().rposition(|b| !matches!(*b, b' ' | 0)).map_or(0, |i| i + 1)),
    };
    end.and_then(|n| bytes.get(..n)).unwrap_or(bytes)
}

fn decode(bytes: &[u8], set: CharacterSet) -> Result<Cow<'_, str>> {
    match (std::str::from_utf8(bytes), set) {
        (Ok(text), _) => Ok(Cow::Borrowed(text)),
        (Err(_), CharacterSet::Ascii) => Ok(Cow::Owned(bytes.iter().map(|b| char::from(*b)).collect())),
        (Err(e), CharacterSet::Utf8) => Err(Error::corrupt(format!("a UTF-8 string that is not: {:?}: {e}", String::from_utf8_lossy(bytes)))),
    }
}
