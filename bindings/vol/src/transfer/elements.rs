//! `H5Dread` and `H5Dwrite`.

use super::dataspace::{dataspace_of, give_dataspace};
use super::moves::{Moves, moves};
use super::references::adopt_references;
use super::runs::{Pairs, Runs};
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

/// Elements that are contiguous in the file and in memory: (first in the file, first in memory, number).
type Run = (u64, u64, usize);
/// Runs that are converted together.
type Batch = Vec<Run>;

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

    fn with_table<T>(&self, work: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
        let (host, container) = (self.host, &self.handle.place.container);
        let dataset = self.handle.dataset()?;
        let fill = || {
            let object = lock(&container.tree).object(self.handle.place.object)?.clone();
            crate::callbacks::dataset::fill_of(host, container, &object, &dataset.datatype)
        };
        let fill = if lock(&dataset.extent).table.is_none() { fill()? } else { Vec::new() };
        dataset.with_table(&container.folder, container.ranks.get(), || Ok(fill), |table, _| work(table))
    }

    /// Iterates over the runs of both selections. Calls `straight` with each run, and `converted` with batches of runs and their
    /// number of elements; the last argument of both is the size of an element in memory.
    fn walk(
        &self,
        has_memory: bool,
        mut straight: impl FnMut(&Moves, Run, usize) -> Result<()>,
        mut converted: impl FnMut(&Moves, &Batch, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let Some(mut pairs) = self.pairs()? else { return Ok(()) };
        if !has_memory {
            return Err(error!("the memory buffer is null"));
        }
        let memory = self.memory_type()?;
        // SAFETY: a valid ID of the host.
        let stride = unsafe { (self.host.call.H5Tget_size)(memory.id) };
        let moves = moves(self.host, self.handle.raw(), &self.handle.dataset()?.datatype.decoded, self.file_type()?, memory)?;
        let (mut batch, mut elements) = (Batch::new(), 0);
        let max_elements = (BLOCK_BYTES / stride.max(1)).max(1);
        while let Some((file, at, count)) = pairs.next()? {
            if !moves.direct.is_empty() {
                straight(&moves, (file, at, count), stride)?;
            }
            let mut done = if moves.converted.is_empty() { count } else { 0 };
            while done < count {
                let now = (count - done).min(max_elements - elements);
                batch.push((file + done as u64, at + done as u64, now));
                elements += now;
                done += now;
                if elements == max_elements {
                    converted(&moves, &batch, elements, stride)?;
                    (elements, _) = (0, batch.clear());
                }
            }
        }
        if elements > 0 { converted(&moves, &batch, elements, stride) } else { Ok(()) }
    }

    /// Writes elements from memory to the columns.
    ///
    /// # Safety
    /// `buf` must hold what the datatype and the dataspace in memory say.
    pub(crate) unsafe fn write(&self, buf: *const u8) -> Result<()> {
        let straight = |moves: &Moves, (file, at, count): Run, stride: usize| {
            // SAFETY: the caller promises that these elements are in memory.
            let source = unsafe { std::slice::from_raw_parts(buf.add(at as usize * stride), count * stride) };
            self.with_table(|table| table.write(&moves.direct, file, count, source, stride))
        };
        // SAFETY: as above.
        self.walk(!buf.is_null(), straight, |moves, batch, elements, stride| unsafe { self.write_converted(moves, batch, elements, buf, stride) })
    }

    /// Reads elements from the columns into memory.
    ///
    /// # Safety
    /// `buf` must have space for what the datatype and the dataspace in memory say.
    pub(crate) unsafe fn read(&self, buf: *mut u8) -> Result<()> {
        let straight = |moves: &Moves, (file, at, count): Run, stride: usize| {
            // SAFETY: the caller promises space for these elements.
            let target = unsafe { std::slice::from_raw_parts_mut(buf.add(at as usize * stride), count * stride) };
            self.with_table(|table| table.read(&moves.direct, file, count, target, stride))
        };
        // SAFETY: as above.
        self.walk(!buf.is_null(), straight, |moves, batch, elements, stride| unsafe { self.read_converted(moves, batch, elements, buf, stride) })
    }

    unsafe fn write_converted(&self, moves: &Moves, batch: &Batch, elements: usize, buf: *const u8, stride: usize) -> Result<()> {
        for conversion in &moves.converted {
            let (small, large) = (conversion.memory_bytes, conversion.memory_bytes.max(conversion.file_bytes));
            let mut scratch = vec![0u8; large * elements];
            let mut background = vec![0u8; large * elements];
            let mut filled = 0;
            for (file, at, count) in batch {
                for i in 0..*count {
                    // SAFETY: the caller promises that these elements are in memory.
                    let source = unsafe { std::slice::from_raw_parts(buf.add((*at as usize + i) * stride + conversion.at), small) };
                    scratch[filled * small..(filled + 1) * small].copy_from_slice(source);
                    filled += 1;
                }
                if conversion.background {
                    let from = (filled - count) * conversion.file_bytes;
                    self.with_table(|table| table.read(&conversion.parts, *file, *count, &mut background[from..], conversion.file_bytes))?;
                }
            }
            convert(self.host, conversion.memory.id, conversion.file.id, elements, &mut scratch, &mut background, self.dxpl)?;
            let mut from = 0;
            for (file, _, count) in batch {
                self.with_table(|table| table.write(&conversion.parts, *file, *count, &scratch[from..], conversion.file_bytes))?;
                from += count * conversion.file_bytes;
            }
        }
        Ok(())
    }

    unsafe fn read_converted(&self, moves: &Moves, batch: &Batch, elements: usize, buf: *mut u8, stride: usize) -> Result<()> {
        for conversion in &moves.converted {
            let (small, large) = (conversion.memory_bytes, conversion.memory_bytes.max(conversion.file_bytes));
            let mut scratch = vec![0u8; large * elements];
            let mut background = vec![0u8; large * elements];
            let mut filled = 0;
            for (file, at, count) in batch {
                let to = filled * conversion.file_bytes;
                self.with_table(|table| table.read(&conversion.parts, *file, *count, &mut scratch[to..], conversion.file_bytes))?;
                if conversion.background {
                    for i in 0..*count {
                        // SAFETY: the caller promises that these elements are in memory.
                        let target = unsafe { std::slice::from_raw_parts(buf.add((*at as usize + i) * stride + conversion.at), small) };
                        background[(filled + i) * small..(filled + i + 1) * small].copy_from_slice(target);
                    }
                }
                filled += count;
            }
            convert(self.host, conversion.file.id, conversion.memory.id, elements, &mut scratch, &mut background, self.dxpl)?;
            // SAFETY: the scratch holds this many converted elements.
            unsafe { adopt_references(self.host, self.handle, conversion.memory.id, scratch.as_mut_ptr(), elements)? };
            let mut from = 0;
            for (_, at, count) in batch {
                for i in 0..*count {
                    // SAFETY: the caller promises space for these elements.
                    unsafe { std::ptr::copy_nonoverlapping(scratch[from..].as_ptr(), buf.add((*at as usize + i) * stride + conversion.at), small) };
                    from += small;
                }
            }
        }
        Ok(())
    }
}
