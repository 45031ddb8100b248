//! `H5Dread` and `H5Dwrite`.

use std::sync::Arc;

use super::dataspace::{dataspace_of, give_dataspace};
use super::moves::{Moves, moves};
use super::references::{adopt_references, of_older};
use super::runs::{Pair, Pairs, Runs};
use super::span::{MAX_GAP_BYTES, Run, Span, copy};
use super::transform::Transform;
use super::{convert, copy_of_file_type};
use crate::datatype;
use crate::ffi::*;
use crate::handle::Handle;
use crate::host::{Host, Owned, check};
use hyperslab_arrow_container::error::{Error, Result, error};
use hyperslab_arrow_container::lock;
use hyperslab_arrow_container::table::Table;

/// Bytes to convert at a time.
const BLOCK_BYTES: usize = 1 << 20;
/// Fewer elements at regular distances are moved one by one with their neighbors.
const MIN_STRIDED: usize = 64;
const SPACE_ALL: hid_t = 0;
const SPACE_BLOCK: hid_t = 1;
const SPACE_LIST: hid_t = 2;

/// One call of `H5Dread` or `H5Dwrite`.
pub(crate) struct Io<'a> {
    pub(crate) host: &'static Host,
    pub(crate) handle: &'a Handle,
    pub(crate) mem_type: hid_t,
    pub(crate) mem_space: hid_t,
    pub(crate) file_space: hid_t,
    pub(crate) dxpl: hid_t,
}

/// Memory that is used again from span to span.
#[derive(Default)]
struct Scratch {
    /// Selected elements, one after the other.
    packed: Vec<u8>,
    /// All elements of a span.
    covering: Vec<u8>,
}

impl Scratch {
    /// Space for packed elements.
    fn packed(&mut self, bytes: usize) -> (&mut [u8], &mut Vec<u8>) {
        if self.packed.len() < bytes {
            self.packed.resize(bytes, 0);
        }
        (&mut self.packed[..bytes], &mut self.covering)
    }
}

impl Io<'_> {
    fn file_type(&self) -> Result<Owned> {
        let stored = &self.handle.dataset()?.datatype;
        copy_of_file_type(self.host, self.handle, &stored.encoded)
    }

    /// The runs of the two selections, checked against the extent.
    fn pairs(&self) -> Result<Option<Pairs<'static>>> {
        let host = self.host;
        let space = lock(&self.handle.dataset()?.extent).space.clone();
        if [self.file_space, self.mem_space].contains(&SPACE_LIST) {
            return Err(Error::unsupported("a selection in the transfer property list (H5S_PLIST) is not supported; pass a dataspace instead"));
        }
        let close = host.call.H5Sclose;
        // SAFETY: valid IDs of the host; the slices outlive the calls.
        unsafe {
            let file = if self.file_space == SPACE_ALL {
                Owned::new(give_dataspace(host, &space)?, close, "the dataspace cannot be created")?
            } else {
                let file = Owned::new((host.call.H5Scopy)(self.file_space), close, "the dataspace of the file cannot be copied")?;
                let given = dataspace_of(host, file.id)?;
                if given.shape() != space.shape() {
                    if given.shape().len() != space.shape().len() {
                        return Err(error!("a selection in {} dimensions, but the dataset has {}", given.shape().len(), space.shape().len()));
                    }
                    check(
                        (host.call.H5Sset_extent_simple)(file.id, space.shape().len() as i32, space.shape().as_ptr(), std::ptr::null()),
                        "the selection does not fit the dataset",
                    )?;
                }
                file
            };
            if (host.call.H5Sselect_valid)(file.id) <= 0 {
                return Err(error!("the selection exceeds the dataset, whose shape is {:?}", space.shape()));
            }
            let points = (host.call.H5Sget_select_npoints)(file.id);
            let memory = match self.mem_space {
                SPACE_ALL => None,
                SPACE_BLOCK => Some(Runs::One(u64::try_from(points).ok().filter(|points| *points > 0).map(|points| (0, points)))),
                id => {
                    if (host.call.H5Sselect_valid)(id) <= 0 {
                        return Err(error!("the selection in memory exceeds its dataspace"));
                    }
                    let in_memory = (host.call.H5Sget_select_npoints)(id);
                    if in_memory != points {
                        return Err(error!("{points} elements are selected in the file, but {in_memory} in memory"));
                    }
                    Some(Runs::of(host, id)?)
                }
            };
            if points <= 0 {
                return Ok(None);
            }
            let memory = match memory {
                Some(memory) => memory,
                None => Runs::of(host, file.id)?,
            };
            let runs = Runs::of(host, file.id)?;
            // The iterators keep what they need of the dataspace.
            Ok(Some(Pairs::of(runs, memory)))
        }
    }

    fn memory_type(&self) -> Result<Owned> {
        datatype::copy(self.host, self.mem_type)
    }

    /// How values are moved: as in the last transfer, if the datatype in memory is the same.
    fn moves(&self) -> Result<Arc<Moves>> {
        let encoded = datatype::encode(self.host, self.mem_type)?;
        if let Some((known, moves)) = &*lock(&self.handle.moves)
            && *known == encoded
        {
            return Ok(Arc::clone(moves));
        }
        let decoded = &self.handle.dataset()?.datatype.decoded;
        let moves = Arc::new(moves(self.host, self.handle.raw(), decoded, self.file_type()?, self.memory_type()?)?);
        // Conversions hold datatypes of the host, which must not outlive the transfer.
        if moves.converted.is_empty() {
            *lock(&self.handle.moves) = Some((encoded, Arc::clone(&moves)));
        }
        Ok(moves)
    }

    fn with_table<T>(&self, work: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
        let (host, container) = (self.host, &self.handle.place.container);
        let dataset = self.handle.dataset()?;
        let fill = || {
            let object = lock(&container.tree).object(self.handle.place.object)?.clone();
            crate::callbacks::dataset::fill_of(host, container, &object, &dataset.datatype)
        };
        let is_new = {
            let extent = lock(&dataset.extent);
            extent.table.is_none() && extent.file.is_none() && extent.source.is_none()
        };
        let fill = if is_new { fill()? } else { Vec::new() };
        dataset.with_values(&container.folder, container.ranks.get(), || Ok(fill), |table, _| work(table))
    }

    /// Pairs the elements of both selections, and calls `each` with spans of them and the size of an element in memory, or
    /// `strided` with elements at regular distances, if it `may_stride`.
    fn walk(
        &self,
        has_memory: bool,
        may_stride: bool,
        mut each: impl FnMut(&Moves, &Span, usize) -> Result<()>,
        mut strided: impl FnMut(&Moves, &Pair, usize) -> Result<()>,
    ) -> Result<()> {
        let Some(mut pairs) = self.pairs()? else { return Ok(()) };
        if !has_memory {
            return Err(error!("the memory buffer is null"));
        }
        // SAFETY: a valid ID of the host.
        let stride = unsafe { (self.host.call.H5Tget_size)(self.mem_type) };
        let element_bytes = stride.max(self.handle.dataset()?.datatype.decoded.bytes());
        let moves = self.moves()?;
        // The elements in between are read and written again, which no rank may do to another's.
        let max_step = if self.handle.place.container.ranks.get().is_some() { 1 } else { 1 + (MAX_GAP_BYTES / element_bytes.max(1)) as u64 };
        let is_strided =
            |pair: &Pair| may_stride && moves.converted.is_empty() && pair.count >= MIN_STRIDED && !pair.is_contiguous() && pair.file_step <= max_step;
        let mut span = Span::default();
        let mut next = pairs.next()?;
        while let Some(mut pair) = next {
            next = pairs.next()?;
            while !pair.is_contiguous() && next.as_ref().is_some_and(|next| pair.extend(next)) {
                next = pairs.next()?;
            }
            if is_strided(&pair) {
                if !span.is_empty() {
                    each(&moves, &span, stride)?;
                    span.clear();
                }
                strided(&moves, &pair, stride)?;
                continue;
            }
            let (runs, count) = if pair.is_contiguous() { (1, pair.count) } else { (pair.count as u64, 1) };
            for i in 0..runs {
                let run = Run { file: pair.file + i * pair.file_step, memory: pair.memory + i * pair.memory_step, count };
                if !span.admits(&run, element_bytes) {
                    each(&moves, &span, stride)?;
                    span.clear();
                }
                span.push(run);
            }
        }
        if span.is_empty() { Ok(()) } else { each(&moves, &span, stride) }
    }

    /// Writes elements from memory to the columns.
    ///
    /// # Safety
    /// `buf` must hold what the datatype and the dataspace in memory say.
    pub(crate) unsafe fn write(&self, buf: *const u8) -> Result<()> {
        let mut scratch = Scratch::default();
        let transform = Transform::of(self.host, self.dxpl, self.mem_type)?;
        self.walk(
            !buf.is_null(),
            transform.is_none(),
            |moves, span, stride| {
                let Some(transform) = &transform else {
                    // SAFETY: the caller promises that these elements are in memory.
                    return unsafe { self.write_span(moves, span, buf, stride, &mut scratch) };
                };
                for mut piece in span.pieces(BLOCK_BYTES / stride.max(1)) {
                    let mut transformed = vec![0u8; piece.elements * stride];
                    let mut at = 0;
                    for run in &mut piece.runs {
                        // SAFETY: as above.
                        let source = unsafe { std::slice::from_raw_parts(buf.add(run.memory as usize * stride), run.count * stride) };
                        copy(&mut transformed[at * stride..(at + run.count) * stride], source);
                        run.memory = at as u64;
                        at += run.count;
                    }
                    transform.apply(&mut transformed)?;
                    // SAFETY: the elements of the piece are there, one after the other.
                    unsafe { self.write_span(moves, &piece, transformed.as_ptr(), stride, &mut scratch)? };
                }
                Ok(())
            },
            |moves, pair, stride| {
                let distance = pair.memory_step as usize * stride;
                // SAFETY: the caller promises that these elements are in memory.
                let source = unsafe { std::slice::from_raw_parts(buf.add(pair.memory as usize * stride), (pair.count - 1) * distance + stride) };
                self.with_table(|table| table.write_strided(&moves.direct, pair.file, pair.file_step, pair.count, source, distance))
            },
        )
    }

    /// Reads elements from the columns into memory.
    ///
    /// # Safety
    /// `buf` must have space for what the datatype and the dataspace in memory say.
    pub(crate) unsafe fn read(&self, buf: *mut u8) -> Result<()> {
        let mut scratch = Scratch::default();
        let transform = Transform::of(self.host, self.dxpl, self.mem_type)?;
        self.walk(
            !buf.is_null(),
            transform.is_none(),
            |moves, span, stride| {
                if !moves.direct.is_empty() {
                    // SAFETY: the caller promises space for these elements.
                    unsafe { self.read_direct(moves, span, buf, stride, &mut scratch)? };
                }
                // SAFETY: as above.
                unsafe { self.read_converted(moves, span, buf, stride, &mut scratch)? };
                for run in transform.iter().flat_map(|_| &span.runs) {
                    // SAFETY: as above.
                    let target = unsafe { std::slice::from_raw_parts_mut(buf.add(run.memory as usize * stride), run.count * stride) };
                    transform.as_ref().map_or(Ok(()), |transform| transform.apply(target))?;
                }
                Ok(())
            },
            |moves, pair, stride| {
                let distance = pair.memory_step as usize * stride;
                // SAFETY: the caller promises space for these elements.
                let target = unsafe { std::slice::from_raw_parts_mut(buf.add(pair.memory as usize * stride), (pair.count - 1) * distance + stride) };
                self.with_table(|table| table.read_strided(&moves.direct, pair.file, pair.file_step, pair.count, target, distance))
            },
        )
    }

    /// Writes the elements of a span.
    ///
    /// # Safety
    /// As for [`Io::write`].
    unsafe fn write_span(&self, moves: &Moves, span: &Span, buf: *const u8, stride: usize, scratch: &mut Scratch) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            if !moves.direct.is_empty() {
                self.write_direct(moves, span, buf, stride, scratch)?;
            }
            self.write_converted(moves, span, buf, stride, scratch)
        }
    }

    unsafe fn write_direct(&self, moves: &Moves, span: &Span, buf: *const u8, stride: usize, scratch: &mut Scratch) -> Result<()> {
        // SAFETY: the caller promises that the elements of a run are in memory.
        let source = |run: &Run| unsafe { std::slice::from_raw_parts(buf.add(run.memory as usize * stride), run.count * stride) };
        if let [run] = span.runs.as_slice() {
            return self.with_table(|table| table.write(&moves.direct, run.file, run.count, source(run), stride));
        }
        let (packed, covering) = scratch.packed(span.elements * stride);
        let mut to = 0;
        for run in &span.runs {
            copy(&mut packed[to..to + run.count * stride], source(run));
            to += run.count * stride;
        }
        self.with_table(|table| span.write_packed(table, &moves.direct, packed, covering, stride))
    }

    unsafe fn read_direct(&self, moves: &Moves, span: &Span, buf: *mut u8, stride: usize, scratch: &mut Scratch) -> Result<()> {
        // SAFETY: the caller promises space for the elements of a run.
        let target = |run: &Run| unsafe { std::slice::from_raw_parts_mut(buf.add(run.memory as usize * stride), run.count * stride) };
        if let [run] = span.runs.as_slice() {
            return self.with_table(|table| table.read(&moves.direct, run.file, run.count, target(run), stride));
        }
        let (packed, covering) = scratch.packed(span.elements * stride);
        if !moves.is_whole(stride) {
            // Members that are not read stay as they are.
            let mut to = 0;
            for run in &span.runs {
                copy(&mut packed[to..to + run.count * stride], target(run));
                to += run.count * stride;
            }
        }
        self.with_table(|table| match (span.is_dense(), moves.is_whole(stride)) {
            (false, false) => span.read_over(table, &moves.direct, packed, covering, stride),
            _ => span.read_packed(table, &moves.direct, packed, covering, stride),
        })?;
        let mut from = 0;
        for run in &span.runs {
            copy(target(run), &packed[from..from + run.count * stride]);
            from += run.count * stride;
        }
        Ok(())
    }

    unsafe fn write_converted(&self, moves: &Moves, span: &Span, buf: *const u8, stride: usize, scratch: &mut Scratch) -> Result<()> {
        for conversion in &moves.converted {
            let (small, large) = (conversion.memory_bytes, conversion.memory_bytes.max(conversion.file_bytes));
            for piece in span.pieces(BLOCK_BYTES / large.max(stride).max(1)) {
                let elements = piece.elements;
                let (values, covering) = scratch.packed(2 * large * elements);
                let (values, background) = values.split_at_mut(large * elements);
                let mut filled = 0;
                for run in &piece.runs {
                    for i in 0..run.count {
                        // SAFETY: the caller promises that these elements are in memory.
                        let source = unsafe { std::slice::from_raw_parts(buf.add((run.memory as usize + i) * stride + conversion.at), small) };
                        copy(&mut values[filled * small..(filled + 1) * small], source);
                        filled += 1;
                    }
                }
                background.fill(0);
                if conversion.background {
                    self.with_table(|table| {
                        piece.read_packed(table, &conversion.parts, &mut background[..elements * conversion.file_bytes], covering, conversion.file_bytes)
                    })?;
                }
                convert(self.host, conversion.memory.id, conversion.file.id, elements, values, background, self.dxpl)?;
                self.with_table(|table| {
                    piece.write_packed(table, &conversion.parts, &values[..elements * conversion.file_bytes], covering, conversion.file_bytes)
                })?;
            }
        }
        Ok(())
    }

    unsafe fn read_converted(&self, moves: &Moves, span: &Span, buf: *mut u8, stride: usize, scratch: &mut Scratch) -> Result<()> {
        for conversion in &moves.converted {
            let (small, large) = (conversion.memory_bytes, conversion.memory_bytes.max(conversion.file_bytes));
            for piece in span.pieces(BLOCK_BYTES / large.max(stride).max(1)) {
                let elements = piece.elements;
                let (values, covering) = scratch.packed(2 * large * elements);
                let (values, background) = values.split_at_mut(large * elements);
                self.with_table(|table| {
                    piece.read_packed(table, &conversion.parts, &mut values[..elements * conversion.file_bytes], covering, conversion.file_bytes)
                })?;
                background.fill(0);
                if conversion.background {
                    let mut filled = 0;
                    for run in &piece.runs {
                        for i in 0..run.count {
                            // SAFETY: the caller promises space for these elements.
                            let target = unsafe { std::slice::from_raw_parts(buf.add((run.memory as usize + i) * stride + conversion.at), small) };
                            copy(&mut background[filled * small..(filled + 1) * small], target);
                            filled += 1;
                        }
                    }
                }
                let (from, to) = (conversion.file.id, conversion.memory.id);
                // SAFETY: the scratch has space for this many elements of either datatype.
                if !unsafe { of_older(self.host, self.handle, from, to, values, elements)? } {
                    convert(self.host, from, to, elements, values, background, self.dxpl)?;
                }
                // SAFETY: the scratch holds this many converted elements.
                unsafe { adopt_references(self.host, self.handle, conversion.memory.id, values.as_mut_ptr(), elements)? };
                let mut from = 0;
                for run in &piece.runs {
                    for i in 0..run.count {
                        // SAFETY: the caller promises space for these elements.
                        let target = unsafe { std::slice::from_raw_parts_mut(buf.add((run.memory as usize + i) * stride + conversion.at), small) };
                        copy(target, &values[from..from + small]);
                        from += small;
                    }
                }
            }
        }
        Ok(())
    }
}
