//! Values between a program's memory and columns. A member of a compound that has the same datatype on both sides
//! goes straight between its column and the program's memory; any other is converted by the host, member by member.

use std::ffi::c_void;

use crate::container::fault::{Fault, Result, fault};
use crate::container::kind::{Kind, columns};
use crate::container::model::lock;
use crate::container::shape::Space;
use crate::container::table::Part;
use crate::datatype;
use crate::ffi::*;
use crate::handle::Handle;
use crate::host::{Host, Owned, check};

/// How many bytes are converted at a time.
const BLOCK_BYTES: usize = 1 << 20;
/// How many runs of a selection are asked for at a time.
const RUNS: usize = 1024;
const SPACE_ALL: hid_t = 0;
const SPACE_BLOCK: hid_t = 1;
const SPACE_LIST: hid_t = 2;

/// A dataspace of the host.
pub(crate) fn space_of(host: &Host, id: hid_t) -> Result<Space> {
    // SAFETY: an id of the library; room for the most dimensions that there can be.
    unsafe {
        Ok(match (host.call.H5Sget_simple_extent_type)(id) {
            H5S_SCALAR => Space::Scalar,
            H5S_NULL => Space::Null,
            H5S_SIMPLE => {
                let (mut shape, mut most) = ([0u64; 32], [0u64; 32]);
                let ndims = check((host.call.H5Sget_simple_extent_dims)(id, shape.as_mut_ptr(), most.as_mut_ptr()), "no dimensions")? as usize;
                Space::Simple { shape: shape[..ndims].to_vec(), max_shape: most[..ndims].to_vec() }
            }
            _ => return Err(fault!("a dataspace without an extent")),
        })
    }
}

/// A new dataspace for a program.
pub(crate) fn give_space(host: &Host, space: &Space) -> Result<hid_t> {
    // SAFETY: the lengths live through the call.
    let id = unsafe {
        match space {
            Space::Scalar => (host.call.H5Screate)(H5S_SCALAR),
            Space::Null => (host.call.H5Screate)(H5S_NULL),
            Space::Simple { shape, max_shape } => (host.call.H5Screate_simple)(shape.len() as i32, shape.as_ptr(), max_shape.as_ptr()),
        }
    };
    Ok(Owned::new(id, host.call.H5Sclose, "the dataspace cannot be made")?.give())
}

/// The runs of a selection in its order, as offsets and lengths in elements.
enum Runs<'a> {
    One(Option<(u64, u64)>),
    Many { host: &'a Host, iterator: Owned, offsets: Vec<hsize_t>, lengths: Vec<usize>, at: usize, count: usize },
}

impl<'a> Runs<'a> {
    fn of(host: &'a Host, space: hid_t) -> Result<Self> {
        // SAFETY: ids of the library.
        unsafe {
            if (host.call.H5Sget_select_type)(space) == 3 {
                let count = (host.call.H5Sget_simple_extent_npoints)(space);
                return Ok(Self::One(u64::try_from(count).ok().filter(|count| *count > 0).map(|count| (0, count))));
            }
            let iterator = Owned::new((host.call.H5Ssel_iter_create)(space, 1, 0), host.call.H5Ssel_iter_close, "the selection cannot be walked")?;
            Ok(Self::Many { host, iterator, offsets: vec![0; RUNS], lengths: vec![0; RUNS], at: 0, count: 0 })
        }
    }

    fn next(&mut self) -> Result<Option<(u64, u64)>> {
        match self {
            Self::One(run) => Ok(run.take()),
            Self::Many { host, iterator, offsets, lengths, at, count } => {
                if at == count {
                    let mut elements = 0;
                    // SAFETY: there is room for as many runs as are asked for.
                    let status = unsafe { (host.call.H5Ssel_iter_get_seq_list)(iterator.id, RUNS, usize::MAX >> 1, count, &raw mut elements, offsets.as_mut_ptr(), lengths.as_mut_ptr()) };
                    check(status, "the selection cannot be walked")?;
                    *at = 0;
                    if *count == 0 {
                        return Ok(None);
                    }
                }
                let run = (offsets[*at], lengths[*at] as u64);
                *at += 1;
                Ok(Some(run))
            }
        }
    }
}

/// Runs that both sides have: (element of the file, element of the memory, elements).
struct Pairs<'a> {
    file: Runs<'a>,
    memory: Runs<'a>,
    left: Option<(u64, u64)>,
    right: Option<(u64, u64)>,
}

impl Pairs<'_> {
    fn next(&mut self) -> Result<Option<(u64, u64, usize)>> {
        if self.left.is_none() {
            self.left = self.file.next()?;
        }
        if self.right.is_none() {
            self.right = self.memory.next()?;
        }
        let (Some((file, in_file)), Some((memory, in_memory))) = (self.left, self.right) else { return Ok(None) };
        let now = in_file.min(in_memory);
        let rest = |at: u64, length: u64| (length > now).then_some((at + now, length - now));
        (self.left, self.right) = (rest(file, in_file), rest(memory, in_memory));
        Ok(Some((file, memory, usize::try_from(now).map_err(|_| fault!("{now} elements at once"))?)))
    }
}

/// A member that needs converting.
struct Conversion {
    /// Where its leaves lie in its form in the file.
    parts: Vec<Part>,
    /// Where it begins in an element in memory, in bytes.
    at: usize,
    file_bytes: usize,
    memory_bytes: usize,
    file: Owned,
    memory: Owned,
    /// Whether what is there already matters: there are compounds below.
    background: bool,
}

/// How each column moves.
#[derive(Default)]
struct Moves {
    direct: Vec<Part>,
    converted: Vec<Conversion>,
}

/// Pairs a kind of the file with a datatype in memory. `leaf` counts the leaves of the file.
struct Pairing<'a> {
    host: &'a Host,
    handle: *mut c_void,
    moves: Moves,
    leaf: usize,
}

fn leaves_below(kind: &Kind) -> usize {
    match kind {
        Kind::Compound { members, .. } => members.iter().map(|member| leaves_below(&member.kind)).sum(),
        _ => 1,
    }
}

impl Pairing<'_> {
    /// `direct`: whether the leaves are those of the kind; one leaf otherwise.
    fn pair(&mut self, kind: &Kind, file: Owned, memory: Owned, at: usize, direct: bool) -> Result<()> {
        let host = self.host;
        // SAFETY: ids of the library.
        unsafe {
            let class = (host.call.H5Tget_class)(memory.id);
            if let (Kind::Compound { members, .. }, true, H5T_COMPOUND) = (kind, direct, class) {
                return self.members(members, &file, &memory, at, |_| true);
            }
            let bytes = kind.bytes();
            let count = if direct { leaves_below(kind) } else { 1 };
            let mut offsets: Vec<usize> = Vec::new();
            if direct {
                columns(kind).iter().for_each(|column| offsets.extend(column.leaves.iter().map(|leaf| leaf.offset)));
            } else {
                offsets.push(0);
            }
            offsets.truncate(count);
            let first = self.leaf;
            self.leaf += count;
            let parts = |base: usize| offsets.iter().enumerate().map(|(i, offset)| Part { leaf: first + i, at: base + offset }).collect::<Vec<_>>();
            if !kind.has_heap() && (host.call.H5Tequal)(file.id, memory.id) > 0 {
                self.moves.direct.extend(parts(at));
                return Ok(());
            }
            let background = (host.call.H5Tdetect_class)(file.id, H5T_COMPOUND) > 0;
            let (file_bytes, memory_bytes) = ((host.call.H5Tget_size)(file.id), (host.call.H5Tget_size)(memory.id));
            if file_bytes != bytes {
                return Err(fault!("a datatype of {file_bytes} bytes in the file, where the columns have {bytes}"));
            }
            self.moves.converted.push(Conversion { parts: parts(0), at, file_bytes, memory_bytes, file, memory, background });
            Ok(())
        }
    }

    fn members(&mut self, members: &[crate::container::kind::Member], file: &Owned, memory: &Owned, at: usize, direct: impl Fn(usize) -> bool) -> Result<()> {
        let host = self.host;
        let names = datatype::member_names(host, memory.id)?;
        for (number, member) in members.iter().enumerate() {
            let direct = direct(number);
            let Some(place) = names.iter().position(|name| *name == member.name) else {
                self.leaf += if direct { leaves_below(&member.kind) } else { 1 };
                continue;
            };
            // SAFETY: an id of the library, and a member that it has.
            let offset = unsafe { (host.call.H5Tget_member_offset)(memory.id, place as u32) };
            let (mut below_file, below_memory) = (datatype::member(host, file.id, number as u32)?, datatype::member(host, memory.id, place as u32)?);
            if member.kind.has_heap() {
                // HDF5 gives a member's datatype as it is in memory.
                below_file = datatype::in_file(host, self.handle, below_file.id)?;
            }
            self.pair(&member.kind, below_file, below_memory, at + offset, direct)?;
        }
        Ok(())
    }
}

fn moves(host: &Host, handle: *mut c_void, kind: &Kind, file: Owned, memory: Owned) -> Result<Moves> {
    let columns = columns(kind);
    let mut pairing = Pairing { host, handle, moves: Moves::default(), leaf: 0 };
    // SAFETY: an id of the library.
    let class = unsafe { (host.call.H5Tget_class)(memory.id) };
    match (kind, class) {
        (Kind::Compound { members, .. }, H5T_COMPOUND) => pairing.members(members, &file, &memory, 0, |number| columns.get(number).is_some_and(|column| column.direct))?,
        (Kind::Compound { .. }, _) => return Err(fault!("a compound cannot be converted to a datatype that is none")),
        _ => pairing.pair(kind, file, memory, 0, columns.first().is_some_and(|column| column.direct))?,
    }
    Ok(pairing.moves)
}

/// One call of `H5Dread` or `H5Dwrite`.
pub(crate) struct Io<'a> {
    pub(crate) host: &'static Host,
    pub(crate) handle: &'a Handle,
    pub(crate) mem_type: hid_t,
    pub(crate) mem_space: hid_t,
    pub(crate) file_space: hid_t,
    pub(crate) dxpl: hid_t,
}

/// Runs that are converted together.
type Batch = Vec<(u64, u64, usize)>;

impl Io<'_> {
    fn file_type(&self) -> Result<Owned> {
        let stored = &self.handle.dataset()?.datatype;
        copy_of_file_type(self.host, self.handle, &stored.encoded)
    }

    /// The runs of the two selections; checked against the extent.
    fn pairs(&self) -> Result<Option<Pairs<'static>>> {
        let host = self.host;
        let space = lock(&self.handle.dataset()?.extent).space.clone();
        if [self.file_space, self.mem_space].contains(&SPACE_LIST) {
            return Err(Fault::unsupported("a selection in the transfer property list (H5S_PLIST); give a dataspace"));
        }
        let close = host.call.H5Sclose;
        // SAFETY: ids of the library; the lengths live through the calls.
        unsafe {
            let file = if self.file_space == SPACE_ALL {
                Owned::new(give_space(host, &space)?, close, "no dataspace")?
            } else {
                let file = Owned::new((host.call.H5Scopy)(self.file_space), close, "the dataspace of the file cannot be copied")?;
                let given = space_of(host, file.id)?;
                if given.shape() != space.shape() {
                    if given.shape().len() != space.shape().len() {
                        return Err(fault!("a selection in {} dimensions, where the dataset has {}", given.shape().len(), space.shape().len()));
                    }
                    check((host.call.H5Sset_extent_simple)(file.id, space.shape().len() as i32, space.shape().as_ptr(), std::ptr::null()), "the selection does not fit the dataset")?;
                }
                file
            };
            if (host.call.H5Sselect_valid)(file.id) <= 0 {
                return Err(fault!("the selection reaches beyond the dataset, whose shape is {:?}", space.shape()));
            }
            let points = (host.call.H5Sget_select_npoints)(file.id);
            let memory = match self.mem_space {
                SPACE_ALL => None,
                SPACE_BLOCK => Some(Runs::One(u64::try_from(points).ok().filter(|points| *points > 0).map(|points| (0, points)))),
                id => {
                    if (host.call.H5Sselect_valid)(id) <= 0 {
                        return Err(fault!("the selection in memory reaches beyond its dataspace"));
                    }
                    let in_memory = (host.call.H5Sget_select_npoints)(id);
                    if in_memory != points {
                        return Err(fault!("{points} elements are selected in the file, and {in_memory} in memory"));
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
            // The iterators hold what they need of the dataspace.
            Ok(Some(Pairs { file: runs, memory, left: None, right: None }))
        }
    }

    fn memory_type(&self) -> Result<Owned> {
        datatype::copy(self.host, self.mem_type)
    }

    fn with_table<T>(&self, work: impl FnOnce(&mut crate::container::table::Table) -> Result<T>) -> Result<T> {
        let (host, container) = (self.host, &self.handle.place.container);
        let dataset = self.handle.dataset()?;
        let fill = || {
            let object = lock(&container.tree).object(self.handle.place.object)?.clone();
            super::callbacks::dataset::fill_of(host, container, &object, &dataset.datatype)
        };
        let fill = if lock(&dataset.extent).table.is_none() { fill()? } else { Vec::new() };
        dataset.with_table(&container.folder, container.ranks.get(), || Ok(fill), |table, _| work(table))
    }

    /// Brings elements from memory into the columns.
    ///
    /// # Safety
    /// `buf` must hold what the datatype and the dataspace in memory say.
    pub(crate) unsafe fn write(&self, buf: *const u8) -> Result<()> {
        let Some(mut pairs) = self.pairs()? else { return Ok(()) };
        if buf.is_null() {
            return Err(fault!("no memory to write from"));
        }
        let memory = self.memory_type()?;
        // SAFETY: an id of the library.
        let stride = unsafe { (self.host.call.H5Tget_size)(memory.id) };
        let moves = moves(self.host, self.handle.raw(), &self.handle.dataset()?.datatype.kind, self.file_type()?, memory)?;
        let (mut batch, mut elements) = (Batch::new(), 0);
        let most = (BLOCK_BYTES / stride.max(1)).max(1);
        while let Some((file, at, count)) = pairs.next()? {
            if !moves.direct.is_empty() {
                // SAFETY: the caller's promise: these elements are in memory.
                let source = unsafe { std::slice::from_raw_parts(buf.add(at as usize * stride), count * stride) };
                self.with_table(|table| table.write(&moves.direct, file, count, source, stride))?;
            }
            if moves.converted.is_empty() {
                continue;
            }
            let mut done = 0;
            while done < count {
                let now = (count - done).min(most - elements);
                batch.push((file + done as u64, at + done as u64, now));
                elements += now;
                done += now;
                if elements == most {
                    // SAFETY: as above.
                    unsafe { self.write_converted(&moves, &batch, elements, buf, stride)? };
                    (elements, _) = (0, batch.clear());
                }
            }
        }
        // SAFETY: as above.
        unsafe { self.write_converted(&moves, &batch, elements, buf, stride) }
    }

    unsafe fn write_converted(&self, moves: &Moves, batch: &Batch, elements: usize, buf: *const u8, stride: usize) -> Result<()> {
        for conversion in moves.converted.iter().filter(|_| elements > 0) {
            let (small, large) = (conversion.memory_bytes, conversion.memory_bytes.max(conversion.file_bytes));
            let mut scratch = vec![0u8; large * elements];
            let mut background = vec![0u8; large * elements];
            let mut filled = 0;
            for (file, at, count) in batch {
                for i in 0..*count {
                    // SAFETY: the caller's promise: these elements are in memory.
                    let source = unsafe { std::slice::from_raw_parts(buf.add((*at as usize + i) * stride + conversion.at), small) };
                    scratch[filled * small..(filled + 1) * small].copy_from_slice(source);
                    filled += 1;
                }
                if conversion.background {
                    let from = (filled - count) * conversion.file_bytes;
                    self.with_table(|table| table.read(&conversion.parts, *file, *count, &mut background[from..], conversion.file_bytes))?;
                }
            }
            self.convert(conversion.memory.id, conversion.file.id, elements, &mut scratch, &mut background)?;
            let mut from = 0;
            for (file, _, count) in batch {
                self.with_table(|table| table.write(&conversion.parts, *file, *count, &scratch[from..], conversion.file_bytes))?;
                from += count * conversion.file_bytes;
            }
        }
        Ok(())
    }

    fn convert(&self, from: hid_t, to: hid_t, count: usize, scratch: &mut [u8], background: &mut [u8]) -> Result<()> {
        // SAFETY: both buffers have room for the larger form of every element.
        let status = unsafe { (self.host.call.H5Tconvert)(from, to, count, scratch.as_mut_ptr().cast(), background.as_mut_ptr().cast(), self.dxpl) };
        check(status, "the values cannot be converted between the datatypes of the file and of memory").map(|_| ())
    }

    /// Brings elements from the columns into memory.
    ///
    /// # Safety
    /// `buf` must have room for what the datatype and the dataspace in memory say.
    pub(crate) unsafe fn read(&self, buf: *mut u8) -> Result<()> {
        let Some(mut pairs) = self.pairs()? else { return Ok(()) };
        if buf.is_null() {
            return Err(fault!("no memory to read into"));
        }
        let memory = self.memory_type()?;
        // SAFETY: an id of the library.
        let stride = unsafe { (self.host.call.H5Tget_size)(memory.id) };
        let moves = moves(self.host, self.handle.raw(), &self.handle.dataset()?.datatype.kind, self.file_type()?, memory)?;
        let (mut batch, mut elements) = (Batch::new(), 0);
        let most = (BLOCK_BYTES / stride.max(1)).max(1);
        while let Some((file, at, count)) = pairs.next()? {
            if !moves.direct.is_empty() {
                // SAFETY: the caller's promise: there is room for these elements.
                let target = unsafe { std::slice::from_raw_parts_mut(buf.add(at as usize * stride), count * stride) };
                self.with_table(|table| table.read(&moves.direct, file, count, target, stride))?;
            }
            if moves.converted.is_empty() {
                continue;
            }
            let mut done = 0;
            while done < count {
                let now = (count - done).min(most - elements);
                batch.push((file + done as u64, at + done as u64, now));
                elements += now;
                done += now;
                if elements == most {
                    // SAFETY: as above.
                    unsafe { self.read_converted(&moves, &batch, elements, buf, stride)? };
                    (elements, _) = (0, batch.clear());
                }
            }
        }
        // SAFETY: as above.
        unsafe { self.read_converted(&moves, &batch, elements, buf, stride) }
    }

    unsafe fn read_converted(&self, moves: &Moves, batch: &Batch, elements: usize, buf: *mut u8, stride: usize) -> Result<()> {
        for conversion in moves.converted.iter().filter(|_| elements > 0) {
            let (small, large) = (conversion.memory_bytes, conversion.memory_bytes.max(conversion.file_bytes));
            let mut scratch = vec![0u8; large * elements];
            let mut background = vec![0u8; large * elements];
            let mut filled = 0;
            for (file, at, count) in batch {
                let to = filled * conversion.file_bytes;
                self.with_table(|table| table.read(&conversion.parts, *file, *count, &mut scratch[to..], conversion.file_bytes))?;
                if conversion.background {
                    for i in 0..*count {
                        // SAFETY: the caller's promise: these elements are in memory.
                        let target = unsafe { std::slice::from_raw_parts(buf.add((*at as usize + i) * stride + conversion.at), small) };
                        background[(filled + i) * small..(filled + i + 1) * small].copy_from_slice(target);
                    }
                }
                filled += count;
            }
            self.convert(conversion.file.id, conversion.memory.id, elements, &mut scratch, &mut background)?;
            // SAFETY: the scratch holds this many converted elements.
            unsafe { adopt_references(self.host, self.handle, conversion.memory.id, scratch.as_mut_ptr(), elements)? };
            let mut from = 0;
            for (_, at, count) in batch {
                for i in 0..*count {
                    // SAFETY: the caller's promise: there is room for these elements.
                    unsafe { std::ptr::copy_nonoverlapping(scratch[from..].as_ptr(), buf.add((*at as usize + i) * stride + conversion.at), small) };
                    from += small;
                }
            }
        }
        Ok(())
    }
}

/// Where the parts of `H5R_ref_t` lie that hold for one process only, in HDF5 from 1.12 on.
mod reference {
    pub(super) const BYTES: usize = 64;
    pub(super) const FILE_NAME: usize = 16;
    pub(super) const LOCATION: usize = 32;
    pub(super) const KIND: usize = 44;
    pub(super) const COUNTED: usize = 46;
    /// `H5R_OBJECT2`.
    pub(super) const OBJECT: u8 = 2;
}

/// Sequences of references come back as they were in the memory of who wrote them: they are made references into
/// this file.
unsafe fn adopt_references(host: &'static Host, handle: &Handle, memory: hid_t, values: *mut u8, count: usize) -> Result<()> {
    // SAFETY: `values` holds `count` elements of the datatype; each names as many references as it says.
    unsafe {
        if (host.call.H5Tget_class)(memory) != H5T_VLEN {
            return Ok(());
        }
        let element = datatype::base(host, memory)?;
        if (host.call.H5Tget_class)(element.id) != H5T_REFERENCE || (host.call.H5Tget_size)(element.id) != reference::BYTES {
            return Ok(());
        }
        let place = crate::container::path::Place { container: std::sync::Arc::clone(&handle.place.container), object: crate::container::model::ROOT };
        let what = crate::handle::What::File { fapl: None, writable: false, name: handle.place.container.path.display().to_string(), primary: false };
        let raw = Handle::give(host, place, what, "/".to_owned());
        let file = (host.call.H5VLwrap_register)(raw, H5I_FILE);
        if file < 0 {
            Handle::close(raw)?;
        }
        let file = Owned::new(file, host.call.H5Idec_ref, "no id for the file of a reference")?;
        for i in 0..count {
            let [length, bytes] = values.cast::<[usize; 2]>().add(i).read_unaligned();
            for n in 0..length {
                let one = (bytes as *mut u8).add(n * reference::BYTES);
                if one.add(reference::KIND).read() != reference::OBJECT {
                    return Err(Fault::unsupported("sequences of references to selections or attributes; use an array of them"));
                }
                one.add(reference::FILE_NAME).cast::<usize>().write_unaligned(0);
                one.add(reference::LOCATION).cast::<hid_t>().write_unaligned(file.id);
                one.add(reference::COUNTED).write(1);
                (host.call.H5Iinc_ref)(file.id);
            }
        }
    }
    Ok(())
}

/// The datatype of a handle in its form in the file, for one use; made once a handle.
fn copy_of_file_type(host: &'static Host, handle: &Handle, encoded: &[u8]) -> Result<Owned> {
    let memory = datatype::decode(host, encoded)?;
    datatype::in_file(host, handle.raw(), memory.id)
}

fn attribute_type(host: &'static Host, handle: &Handle) -> Result<(Owned, usize)> {
    let (encoded, count) = {
        let attribute = lock(handle.attribute()?);
        (attribute.datatype.encoded.clone(), attribute.space.count().unwrap_or(0) as usize)
    };
    Ok((copy_of_file_type(host, handle, &encoded)?, count))
}

fn convert(host: &Host, from: hid_t, to: hid_t, count: usize, scratch: &mut [u8], background: &mut [u8], dxpl: hid_t) -> Result<()> {
    // SAFETY: both buffers have room for the larger form of every element.
    let status = unsafe { (host.call.H5Tconvert)(from, to, count, scratch.as_mut_ptr().cast(), background.as_mut_ptr().cast(), dxpl) };
    check(status, "the attribute cannot be converted between the datatypes of the file and of memory").map(|_| ())
}

/// Reads a whole attribute.
///
/// # Safety
/// `buf` must have room for its elements.
pub(crate) unsafe fn read_attribute(host: &'static Host, handle: &Handle, mem_type: hid_t, buf: *mut c_void, dxpl: hid_t) -> Result<()> {
    let (file, count) = attribute_type(host, handle)?;
    let memory = datatype::copy(host, mem_type)?;
    if count == 0 {
        return Ok(());
    }
    // SAFETY: ids of the library, and the caller's promise.
    unsafe {
        let (small, large) = ((host.call.H5Tget_size)(memory.id), (host.call.H5Tget_size)(file.id));
        let mut scratch = lock(handle.attribute()?).bytes.clone();
        scratch.resize(count * small.max(large), 0);
        let mut background = std::slice::from_raw_parts(buf.cast::<u8>(), count * small).to_vec();
        background.resize(count * small.max(large), 0);
        convert(host, file.id, memory.id, count, &mut scratch, &mut background, dxpl)?;
        adopt_references(host, handle, memory.id, scratch.as_mut_ptr(), count)?;
        std::ptr::copy_nonoverlapping(scratch.as_ptr(), buf.cast(), count * small);
    }
    Ok(())
}

/// Writes a whole attribute.
///
/// # Safety
/// `buf` must hold its elements.
pub(crate) unsafe fn write_attribute(host: &'static Host, handle: &Handle, mem_type: hid_t, buf: *const c_void, dxpl: hid_t) -> Result<()> {
    let (file, count) = attribute_type(host, handle)?;
    let memory = datatype::copy(host, mem_type)?;
    if count == 0 {
        return Ok(());
    }
    // SAFETY: ids of the library, and the caller's promise.
    unsafe {
        let (small, large) = ((host.call.H5Tget_size)(memory.id), (host.call.H5Tget_size)(file.id));
        let mut scratch = std::slice::from_raw_parts(buf.cast::<u8>(), count * small).to_vec();
        scratch.resize(count * small.max(large), 0);
        let mut background = lock(handle.attribute()?).bytes.clone();
        background.resize(count * small.max(large), 0);
        convert(host, memory.id, file.id, count, &mut scratch, &mut background, dxpl)?;
        scratch.truncate(count * large);
        lock(handle.attribute()?).bytes = scratch;
    }
    Ok(())
}
