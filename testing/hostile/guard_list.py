"""The checks of the readers that `guards.py` takes out: each with its place in the sources and what stands there without it."""

from __future__ import annotations

from typing import NamedTuple


class Guard(NamedTuple):
    """One check. `audit` are the classes of files that it is for, by their letters in the list of `docs/hostile-files.md`.
    `with_others` are checks that catch the same files: what shows the guard is what happens without all of them, and does not without
    the others alone. `limits` are limits that the files are read with. `file` is below `crates`, or in the Python package."""

    what: str
    audit: str
    file: str
    old: str
    new: str
    with_others: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @property
    def is_python(self) -> bool:
        return self.file.endswith(".py")


# Checks that others name.
READING = "reading is paid for"
COMMITTED = "a committed header is read once"
KEEPING = "what a cursor keeps is paid for"
CHUNKS = "a read lists no more chunks than the file's length justifies"
LISTING = "unwritten chunks are not listed when a file is opened"
BLOCKS = "a large block belongs to one object header"
SHOWN = "members of a group are shown at one of its paths"
DESCRIBED = "what is in an object is shown once"

GUARDS = [
    Guard("complex numbers are of floats", "a", "formats/src/hdf5/message/datatype.rs", "if !matches!(base, Datatype::Float { .. }) {", "if false {"),
    Guard(
        "a node of a version-2 B-tree is read once",
        "b h",
        "formats/src/hdf5/btree/v2.rs",
        "if !seen.insert(node.address) {",
        "if !seen.insert(node.address) && false {",
        (READING, KEEPING),
    ),
    Guard(READING, "b c m", "formats/src/hdf5/source.rs", "self.budget.charge_read(length as u64)?;", "", (COMMITTED,)),
    Guard(
        COMMITTED,
        "c",
        "formats/src/hdf5/object_header/mod.rs",
        "    if let Some(messages) = kept.lock().and_then(|mut kept| kept.get(address)) {\n        return Ok(messages);\n    }\n",
        "",
        (READING,),
    ),
    Guard(BLOCKS, "c", "formats/src/hdf5/object_header/claim.rs", "if length < MIN_BYTES {", "if length < u64::MAX {"),
    Guard(
        "a header has no more messages than the limit",
        "d",
        "formats/src/hdf5/object_header/blocks.rs",
        "if self.list.len() as u64 >= self.source.limits.messages_per_object {",
        "if self.list.len() as u64 >= u64::MAX - self.source.limits.messages_per_object {",
        (),
        ("messages_per_object=100",),
    ),
    Guard(
        KEEPING,
        "e k",
        "formats/src/hdf5/cursor.rs",
        "self.budget.charge(bytes as u64).map_err(|error| error.at_offset(self.offset_in_file()))",
        "let _ = bytes; Ok(())",
    ),
    Guard(
        "messages are paid for",
        "e",
        "formats/src/hdf5/object_header/blocks.rs",
        "self.source.budget.charge((message.body.len() as u64).saturating_add(MESSAGE_COST))?;",
        "",
        (BLOCKS,),
    ),
    Guard(
        "trees are shown down to a depth and a length of paths",
        "f",
        "objects/tree.py",
        "return depth >= MAX_DEPTH or len(path) > MAX_PATH_CHARS",
        "return False",
    ),
    Guard(
        "texts of local heaps are paid for",
        "g j",
        "formats/src/hdf5/heap/local.rs",
        "self.source.budget.charge(text.len() as u64).map(|()|",
        "Ok::<(), hyperslab_array::Error>(()).map(|()|",
    ),
    Guard(
        "a committed datatype is parsed once",
        "i",
        "formats/src/hdf5/object_header/mod.rs",
        "    if let Some(datatype) = kept.lock().and_then(|mut kept| kept.get(address)) {\n        cursor.keep(size_of::<Datatype>())?;\n        return Ok(datatype);\n    }\n",
        "",
    ),
    Guard("names that mappings share are paid for", "k", "formats/src/hdf5/virtual_dataset.rs", "cursor.keep(name(mapping).len())?;", ""),
    Guard(
        LISTING,
        "l",
        "formats/src/hdf5/dataset.rs",
        "if count.is_none_or(|cost| source.budget.charge(cost).is_err()) {",
        "if count.is_none() {",
        (CHUNKS,),
    ),
    Guard(CHUNKS, "l", "formats/src/limits.rs", "if count > max { Err(", "if count > u64::MAX - 1 { Err(", (LISTING,)),
    Guard(
        "unwritten chunks are not walked over",
        "l",
        "formats/src/hdf5/chunk_locator/mod.rs",
        "    let sink = &mut Stored { layout, each: &mut each };\n    match &layout.locator {\n        Locator::None => {}\n        Locator::BtreeV1 { address } => btree_v1::locate(source, *address, sink)?,\n        Locator::Single { address, filtered } => single::locate(source, *address, *filtered, sink)?,\n        Locator::Implicit { address } => return",
        "    for chunk in locate(source, layout, &Selection::all(&layout.shape))? {\n        if let ChunkSource::Stored { length, .. } = chunk.source { each(StoredAt { offset: 0, length, filter_mask: 0 })?; }\n    }\n    if layout.shape.len() > 100 { return Ok(0); }\n    let sink = &mut Stored { layout, each: &mut each };\n    match &layout.locator {\n        Locator::None => {}\n        Locator::BtreeV1 { address } => btree_v1::locate(source, *address, sink)?,\n        Locator::Single { address, filtered } => single::locate(source, *address, *filtered, sink)?,\n        Locator::Implicit { address } => return",
        (CHUNKS,),
    ),
    Guard(
        "blocks of a heap of shared messages are read once",
        "m",
        "formats/src/hdf5/heap/fractal.rs",
        "        if let Some(bytes) = self.blocks.direct.get(&address) {\n            return Ok(bytes.clone());\n        }\n",
        "",
        (READING,),
    ),
    Guard(
        "a read of a cache image looks at the patches that it touches",
        "n",
        "storage/src/overlay.rs",
        "        let before = self.parts.range(..range.start).next_back();\n        let parts = before.into_iter().chain(self.parts.range(range.clone()));\n",
        "        let end = range.end;\n        let parts = self.parts.iter().filter(move |(start, _)| **start < end);\n",
    ),
    Guard(
        "coordinates of netCDF classic are found in one pass",
        "o",
        "formats/src/netcdf3/file.rs",
        "            scale.get_or_insert(ObjectId::of_index(number + 1));\n",
        "            scale.get_or_insert(ObjectId::of_index(number + 1));\n        }\n        for dimension in dimensions {\n            std::hint::black_box(dimension.name == variable.name);\n",
    ),
    Guard(
        "the header of netCDF classic is paid for",
        "p",
        "formats/src/netcdf3/header.rs",
        "self.budget.charge(bytes as u64).map_err(|error| error.at_offset(self.position as u64))",
        "let _ = bytes; Ok(())",
    ),
    Guard(
        "a part of an object is paid for once, and from one budget",
        "e g h i",
        "formats/src/hdf5/lazy_tree.rs",
        "let source = self.source.with_budget(Budget::of(self.source.budget.left()));",
        "let source = self.source.with_own_budget();",
    ),
    Guard("the budget has an end", "all", "formats/src/budget.rs", "left.checked_sub(bytes)", "Some(left.saturating_sub(bytes))"),
    Guard(SHOWN, "H4", "objects/tree.py", "return None if known is path else known", "return None", (DESCRIBED,)),
    Guard(DESCRIBED, "H4", "objects/tree.py", "if item.object is None or item.object._number in described:", "if item.object is None:", (SHOWN,)),
]
