//! The header: dimensions, attributes and variables.

use hyperslab_array::name::name_of;
use hyperslab_array::{Attribute, ByteOrder, CharacterSet, Dataspace, Datatype, Elements, Error, HeapObjects, Result, StringPadding};
use hyperslab_storage::Storage;

use crate::Limits;
use crate::budget::Budget;

/// A dimension; extent 0 is the record dimension.
pub(super) struct HeaderDimension {
    pub name: String,
    pub extent: u64,
}

/// A variable as the header describes it.
pub(super) struct Variable {
    pub name: String,
    /// Numbers of dimensions, slowest first.
    pub dimensions: Vec<usize>,
    pub attributes: Vec<Attribute>,
    pub datatype: Datatype,
    /// Bytes of it, or of a record, as the header states them.
    pub stated_bytes: u64,
    /// Absolute offset of its first byte.
    pub begin: u64,
}

/// The parsed header.
pub(super) struct Header {
    /// Number of records; `None` when the writer streamed and did not know.
    pub records: Option<u64>,
    pub dimensions: Vec<HeaderDimension>,
    pub attributes: Vec<Attribute>,
    pub variables: Vec<Variable>,
    /// Bytes of the header.
    pub bytes: u64,
}

const DIMENSION: u64 = 0x0a;
const VARIABLE: u64 = 0x0b;
const ATTRIBUTE: u64 = 0x0c;

/// Bytes that a dimension, an attribute and a variable take besides their texts and values: here, and as objects of the tree.
const DIMENSION_COST: usize = 150;
const ATTRIBUTE_COST: usize = 700;
const VARIABLE_COST: usize = 1000;
const VARIABLE_DIMENSION_COST: usize = 150;

/// Parses the header.
pub(super) fn parse(storage: &dyn Storage, limits: &Limits) -> Result<Header> {
    let max_bytes = limits.metadata_block_bytes;
    // The header does not state its length: read more and more of the file until it parses.
    let mut length = 64 << 10;
    loop {
        let available = storage.len().min(length);
        let too_long = || Error::limit_exceeded(format!("no memory for a netCDF header of {available} bytes"));
        let mut bytes = Vec::new();
        let room = usize::try_from(available).map_err(|_| too_long())?;
        bytes.try_reserve_exact(room).map_err(|_| too_long())?;
        bytes.resize(room, 0);
        storage.read_exact_at(0, &mut bytes)?;
        // What was kept of a part of the header is gone when more of it is read.
        let budget = Budget::new(storage.len(), limits.metadata_bytes);
        let mut reader = Reader { bytes: &bytes, position: 0, version: 0, ran_out: false, budget, limits };
        match reader.header() {
            Err(_) if reader.ran_out && available < storage.len() => {
                if length >= max_bytes {
                    return Err(Error::limit_exceeded(format!("a netCDF header of more than {max_bytes} bytes")));
                }
                length *= 4;
            }
            other => return other,
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
    version: u8,
    ran_out: bool,
    budget: Budget,
    limits: &'a Limits,
}

impl<'a> Reader<'a> {
    fn corrupt(&self, message: impl Into<String>) -> Error {
        Error::corrupt(message).at_offset(self.position as u64)
    }
    /// Pays for `bytes` of memory.
    fn keep(&self, bytes: usize) -> Result<()> {
        self.budget.charge(bytes as u64).map_err(|error| error.at_offset(self.position as u64))
    }
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let range = self.position.checked_add(count).and_then(|end| self.bytes.get(self.position..end));
        let Some(taken) = range else {
            self.ran_out = true;
            return Err(self.corrupt("the netCDF header ends too early: the file is truncated"));
        };
        self.position += count;
        Ok(taken)
    }
    fn uint(&mut self, size: usize) -> Result<u64> {
        Ok(self.take(size)?.iter().fold(0, |n, &b| (n << 8) | u64::from(b)))
    }
    fn u32(&mut self) -> Result<u64> {
        self.uint(4)
    }
    /// NON_NEG: 64 bits in CDF-5, else 32.
    fn count(&mut self) -> Result<u64> {
        self.uint(if self.version == 5 { 8 } else { 4 })
    }
    /// A count of things that take at least `least` bytes each, checked before anything is allocated.
    fn items(&mut self, least: u64) -> Result<u64> {
        let count = self.count()?;
        if count > u64::from(u32::MAX) || count.checked_mul(least).is_none() {
            return Err(self.corrupt(format!("the header gives a list {count} entries, which is more than it can have")));
        }
        Ok(count)
    }
    fn name(&mut self) -> Result<String> {
        let length = self.items(1)?;
        let text = self.padded(length)?;
        // Early writers counted the closing NUL in; the netCDF library reads a name as far as it.
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        // The name of a variable is in its path, too.
        self.keep(text.len().saturating_mul(3))?;
        Ok(name_of(text))
    }
    /// `length` bytes and the padding to four.
    fn padded(&mut self, length: u64) -> Result<&'a [u8]> {
        let length = usize::try_from(length).map_err(|_| self.corrupt("a length beyond memory"))?;
        let text = self.take(length)?;
        self.take(length.next_multiple_of(4) - length)?;
        Ok(text)
    }
    /// The number of entries of a list with this tag, 0 if it is absent.
    fn list(&mut self, tag: u64, what: &str) -> Result<u64> {
        let found = self.u32()?;
        let count = self.items(8)?;
        if found == tag || (found == 0 && count == 0) {
            return Ok(count);
        }
        Err(self.corrupt(format!("expected the list of {what}s, found tag {found:#x}")))
    }

    fn header(&mut self) -> Result<Header> {
        let [.., version] = self.u32()?.to_be_bytes();
        self.version = version;
        let records = self.count()?;
        let streaming = if self.version == 5 { u64::MAX } else { u64::from(u32::MAX) };
        let records = (records != streaming).then_some(records);
        let mut dimensions = Vec::new();
        for _ in 0..self.list(DIMENSION, "dimension")? {
            self.keep(DIMENSION_COST)?;
            dimensions.push(HeaderDimension { name: self.name()?, extent: self.count()? });
        }
        if dimensions.iter().filter(|d| d.extent == 0).count() > 1 {
            return Err(self.corrupt("more than one record dimension"));
        }
        let attributes = self.attributes()?;
        let mut variables = Vec::new();
        for _ in 0..self.list(VARIABLE, "variable")? {
            let count = variables.len() as u64;
            if count >= self.limits.objects.min(self.limits.links_per_group) {
                return Err(Error::limit_exceeded(format!("more than {count} variables in one file")).at_offset(self.position as u64));
            }
            variables.push(self.variable(&dimensions)?);
        }
        Ok(Header { records, dimensions, attributes, variables, bytes: self.position as u64 })
    }

    fn variable(&mut self, dimensions: &[HeaderDimension]) -> Result<Variable> {
        self.keep(VARIABLE_COST)?;
        let name = self.name()?;
        let ndim = self.items(4)?;
        if ndim > 1024 {
            return Err(self.corrupt(format!("a variable of {ndim} dimensions; netCDF allows 1024")));
        }
        let mut numbers = Vec::new();
        for _ in 0..ndim {
            let number = usize::try_from(self.count()?).unwrap_or(usize::MAX);
            let Some(dimension) = dimensions.get(number) else {
                return Err(self.corrupt(format!("variable {name} uses dimension {number} of {}", dimensions.len())));
            };
            // The variable shows the name of each of its dimensions.
            self.keep(VARIABLE_DIMENSION_COST.saturating_add(dimension.name.len()))?;
            numbers.push(number);
        }
        let attributes = self.attributes()?;
        let datatype = self.datatype()?;
        // The stored size overflows for large variables; it follows from the shape.
        let stated_bytes = self.count()?;
        let begin = self.uint(if self.version == 1 { 4 } else { 8 })?;
        Ok(Variable { name, dimensions: numbers, attributes, datatype, stated_bytes, begin })
    }

    fn datatype(&mut self) -> Result<Datatype> {
        let code = self.u32()?;
        let integer = |size, signed| Datatype::integer(size, signed, ByteOrder::Big);
        let newer = self.version == 5;
        Ok(match code {
            1 => integer(1, true),
            2 => Datatype::FixedString { size: 1, padding: StringPadding::NullPadded, character_set: CharacterSet::Ascii },
            3 => integer(2, true),
            4 => integer(4, true),
            5 => Datatype::float(4, ByteOrder::Big),
            6 => Datatype::float(8, ByteOrder::Big),
            7 if newer => integer(1, false),
            8 if newer => integer(2, false),
            9 if newer => integer(4, false),
            10 if newer => integer(8, true),
            11 if newer => integer(8, false),
            _ => return Err(self.corrupt(format!("the header gives a variable or attribute the type {code}, which netCDF does not have"))),
        })
    }

    fn attributes(&mut self) -> Result<Vec<Attribute>> {
        let mut attributes = Vec::new();
        for _ in 0..self.list(ATTRIBUTE, "attribute")? {
            let name = self.name()?;
            let datatype = self.datatype()?;
            let count = self.items(datatype.size())?;
            let bytes = self.padded(count.saturating_mul(datatype.size()))?;
            self.keep(ATTRIBUTE_COST.saturating_add(bytes.len()))?;
            if bytes.len() as u64 > self.limits.attribute_bytes {
                return Err(Error::limit_exceeded("an attribute beyond the limit").at_offset(self.position as u64));
            }
            let bytes = bytes.to_vec();
            attributes.push(attribute(name, datatype, count, bytes));
        }
        Ok(attributes)
    }
}

/// Text is one string; one number is a scalar, as every netCDF interface shows them.
fn attribute(name: String, datatype: Datatype, count: u64, mut bytes: Vec<u8>) -> Attribute {
    let (datatype, dataspace) = match datatype {
        Datatype::FixedString { padding, .. } => {
            if bytes.is_empty() {
                bytes.push(0);
            }
            let size = bytes.len() as u64;
            (Datatype::FixedString { size, padding, character_set: CharacterSet::Utf8 }, Dataspace::Scalar)
        }
        number if count == 1 => (number, Dataspace::Scalar),
        number => (number, Dataspace::fixed(vec![count])),
    };
    Attribute { name, dataspace, value: Ok(Elements { datatype, bytes, heap: HeapObjects::default() }) }
}
