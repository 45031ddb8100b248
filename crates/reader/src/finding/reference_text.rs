//! References as text, for tables: the path of the object, with the selected elements or the attribute.
//!
//! ```text
//! /g/x                     an object
//! /g/x[2:5, 0:10:3]        elements: first and end along each dimension, and a step
//! /g/x[0:11:4:2, 7:8]      blocks: first, end, step, and length of a block
//! /g/x[0:2, 0:3; 4:6, 5:9] several boxes
//! /g/x[(6, 1); (0, 0)]     single elements
//! /g/x[...]   /g/x[]       all of them, none of them
//! /g/x@units               an attribute
//! file.h5:/g/x             the same of another file
//! #0x320                   an object without a name, by its address
//! ```

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use hyperslab_array::name::{is_of_links, printable};
use hyperslab_array::{Datatype, Error, HeapObjects, HyperslabAxis, ReferenceKind, ReferencedPart, Result, StoredSelection};

use crate::finding::stored_references::each_reference;
use crate::reading::virtual_dataset::regular;
use crate::{File, Referenced};

impl File {
    /// Follows the references in `bytes`, elements of `datatype`, and in the objects of `heap` that they use, and stores
    /// their text in `heap`. Reads metadata.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are not references.
    pub fn name_references(&self, datatype: &Datatype, bytes: &[u8], heap: &mut HeapObjects) -> Result<()> {
        if !datatype.has_references() {
            return Ok(());
        }
        let mut elements = HashSet::new();
        each_reference(datatype, bytes, heap, &mut |kind, size, bytes| {
            elements.extend(bytes.chunks_exact(size).map(|element| (kind, element.to_vec())));
            Ok(())
        })?;
        let mut elements: Vec<(ReferenceKind, Vec<u8>)> = elements.into_iter().filter(|(kind, element)| !heap.has_name(*kind, element)).collect();
        elements.sort_unstable_by(|(a, x), (b, y)| (*a as u8, x.len(), x).cmp(&(*b as u8, y.len(), y)));
        for alike in elements.chunk_by(|(a, x), (b, y)| a == b && x.len() == y.len()) {
            let Some((kind, first)) = alike.first() else { continue };
            let bytes: Vec<u8> = alike.iter().flat_map(|(_, element)| element).copied().collect();
            let found = self
                .dereference(*kind, first.len(), &bytes)
                .map_err(|error| Error::new(error.kind(), format!("{} (raw gives the references' bytes)", error.message())).in_file(self.name()))?;
            for ((_, element), found) in alike.iter().zip(found) {
                let name = found.map(|found| self.text(&found)).transpose()?;
                heap.insert_name(*kind, element, name.map(Arc::from));
            }
        }
        Ok(())
    }

    fn text(&self, found: &Referenced) -> Result<String> {
        let path = found.file.path_of(found.object)?;
        let path = if is_of_links(&path) { Cow::Borrowed(&*path) } else { printable(&path) };
        let mut text = if found.file == *self { path.to_string() } else { format!("{}:{path}", found.file.name()) };
        match &found.part {
            ReferencedPart::Object => {}
            ReferencedPart::Region(selection) => text.push_str(&selection_text(selection)),
            ReferencedPart::Attribute(name) => {
                text.push('@');
                text.push_str(name);
            }
        }
        Ok(text)
    }
}

fn selection_text(selection: &StoredSelection) -> String {
    // Older files list a hyperslab as its blocks: show the same text for the same elements.
    let selection = &regular(selection).unwrap_or_else(|| selection.clone());
    let list = |parts: Vec<String>, between: &str| parts.join(between);
    let inside = match selection {
        StoredSelection::None => String::new(),
        StoredSelection::All => "...".to_owned(),
        StoredSelection::Points(points) => {
            let point = |point: &Vec<u64>| format!("({})", list(point.iter().map(u64::to_string).collect(), ", "));
            list(points.iter().map(point).collect(), "; ")
        }
        StoredSelection::Hyperslab(axes) => list(axes.iter().map(axis_text).collect(), ", "),
        StoredSelection::Blocks(blocks) => {
            let range = |(first, last): (&u64, &u64)| format!("{first}:{}", last.saturating_add(1));
            let block = |(first, last): &(Vec<u64>, Vec<u64>)| list(first.iter().zip(last).map(range).collect(), ", ");
            list(blocks.iter().map(block).collect(), "; ")
        }
    };
    format!("[{inside}]")
}

fn axis_text(axis: &HyperslabAxis) -> String {
    let mut text = format!("{}:", axis.start);
    if let Some(len) = axis.len() {
        let end = if len == 0 { axis.start } else { axis.extent_of(len) };
        text.push_str(&end.to_string());
    }
    let block = axis.block.unwrap_or(axis.stride);
    if axis.count != Some(1) && block != axis.stride {
        text.push_str(&format!(":{}", axis.stride));
        if block != 1 {
            text.push_str(&format!(":{block}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_read_the_same_however_they_are_stored() {
        let axis = |start, stride, count, block| HyperslabAxis { start, stride, count: Some(count), block: Some(block), limit: None };
        let boxed = StoredSelection::Blocks(vec![(vec![2, 3], vec![4, 6])]);
        assert_eq!(selection_text(&boxed), "[2:5, 3:7]");
        assert_eq!(selection_text(&StoredSelection::Hyperslab(vec![axis(2, 3, 1, 3), axis(3, 1, 4, 1)])), "[2:5, 3:7]");
        assert_eq!(selection_text(&StoredSelection::Hyperslab(vec![axis(0, 3, 3, 1), axis(1, 4, 2, 2)])), "[0:7:3, 1:7:4:2]");
        let rows = StoredSelection::Blocks(vec![(vec![0], vec![0]), (vec![3], vec![3]), (vec![6], vec![6])]);
        assert_eq!(selection_text(&rows), "[0:7:3]");
        let odd = StoredSelection::Blocks(vec![(vec![0], vec![1]), (vec![4], vec![4])]);
        assert_eq!(selection_text(&odd), "[0:2; 4:5]");
        assert_eq!(selection_text(&StoredSelection::Points(vec![vec![6, 1], vec![0, 0]])), "[(6, 1); (0, 0)]");
        let endless = HyperslabAxis { start: 2, stride: 4, count: None, block: Some(1), limit: None };
        assert_eq!(selection_text(&StoredSelection::Hyperslab(vec![endless])), "[2::4]");
        assert_eq!((selection_text(&StoredSelection::All), selection_text(&StoredSelection::None)), ("[...]".into(), "[]".into()));
    }
}
