//! Reads the tree from its three files; nothing in them is trusted.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::Field;

use super::format::{CATALOG, FILL, VERSION, VERSION_WITH_PACKS, from_hex};
use crate::elements::arrow_arrays;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::{Datatype, DecodeDatatype};
use crate::error::{Error, Result, error};
use crate::files::Source;
use crate::files::archive::Archive;
use crate::files::record_batch::read;
use crate::files::regular::open_part;
use crate::model::{AttributeValue, Body, Dataset, Extent, Link, Object, ROOT, Region, StoredDatatype, Target, Tree};

/// Maximum number of packs; more mean that the catalog is damaged.
const MAX_PACKS: usize = 1 << 16;

fn numbers(text: &str) -> Vec<u64> {
    text.split(',').filter_map(|word| word.parse().ok()).collect()
}

fn load_attribute(field: &Field, array: &ArrayRef, decode: DecodeDatatype<'_>) -> Result<AttributeValue> {
    let metadata = field.metadata();
    let missing = |key: &str| error!("the attribute {} has no valid {key}", field.name());
    let word = |key: &str| metadata.get(&format!("hyperslab.{key}")).map(String::as_str).ok_or_else(|| missing(key));
    let encoded = from_hex(word("type")?).ok_or_else(|| missing("type"))?;
    let datatype = StoredDatatype { decoded: decode(&encoded)?, encoded, committed: word("committed_type").ok().and_then(|text| text.parse().ok()) };
    let space = match word("space")? {
        "null" => Dataspace::Null,
        "scalar" => Dataspace::Scalar,
        _ => Dataspace::Simple { shape: numbers(word("shape")?), max_shape: numbers(word("max_shape")?) },
    };
    let count = usize::try_from(space.count().ok_or_else(|| missing("shape"))?).map_err(|_| missing("shape"))?;
    let mut arenas = Vec::new();
    let bytes = if space == Dataspace::Scalar {
        arrow_arrays::from_arrow(&datatype.decoded, array, &mut arenas)?
    } else {
        arrow_arrays::from_arrow(&Datatype::Array { count, element: Box::new(datatype.decoded.clone()) }, array, &mut arenas)?
    };
    if bytes.len() != count.saturating_mul(datatype.decoded.bytes()) {
        return Err(error!("the attribute {} has {} bytes, which does not fit its datatype and dataspace", field.name(), bytes.len()));
    }
    Ok(AttributeValue {
        name: word("name")?.to_owned(),
        object: word("object")?.parse().map_err(|_| missing("object"))?,
        datatype,
        space,
        bytes,
        arenas,
        order: word("order")?.parse().map_err(|_| missing("order"))?,
        utf8: word("utf8")? == "true",
    })
}

struct Columns<'a>(&'a RecordBatch, String);

impl Columns<'_> {
    fn wrong(&self, name: &str) -> Error {
        error!("{}: column '{name}' is missing or has the wrong type", self.1)
    }
    fn column(&self, name: &str) -> Result<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| self.wrong(name))
    }
    fn u64(&self, name: &str, row: usize) -> Result<Option<u64>> {
        let array = self.column(name)?.as_primitive_opt::<UInt64Type>().ok_or_else(|| self.wrong(name))?;
        Ok(array.is_valid(row).then(|| array.value(row)))
    }
    fn i64(&self, name: &str, row: usize) -> Result<i64> {
        let array = self.column(name)?.as_primitive_opt::<Int64Type>().ok_or_else(|| self.wrong(name))?;
        Ok(if array.is_valid(row) { array.value(row) } else { 0 })
    }
    fn i32(&self, name: &str, row: usize) -> Result<i32> {
        Ok(self.column(name)?.as_primitive_opt::<Int32Type>().ok_or_else(|| self.wrong(name))?.value(row))
    }
    fn flag(&self, name: &str, row: usize) -> Result<bool> {
        let array = self.column(name)?.as_boolean_opt().ok_or_else(|| self.wrong(name))?;
        Ok(array.is_valid(row) && array.value(row))
    }
    fn text(&self, name: &str, row: usize) -> Result<Option<String>> {
        let array = self.column(name)?.as_string_opt::<i32>().ok_or_else(|| self.wrong(name))?;
        Ok(array.is_valid(row).then(|| array.value(row).to_owned()))
    }
    fn bytes(&self, name: &str, row: usize) -> Result<Option<Vec<u8>>> {
        let array = self.column(name)?.as_binary_opt::<i32>().ok_or_else(|| self.wrong(name))?;
        Ok(array.is_valid(row).then(|| array.value(row).to_vec()))
    }
    fn large_bytes(&self, name: &str, row: usize) -> Result<Vec<u8>> {
        let array = self.column(name)?.as_binary_opt::<i64>().ok_or_else(|| self.wrong(name))?;
        Ok(array.value(row).to_vec())
    }
    /// The times of a copied object. Older catalogs do not have the column.
    fn times(&self, row: usize) -> Result<Option<[u32; 4]>> {
        const NAME: &str = "times";
        let Some(column) = self.0.column_by_name(NAME).filter(|column| column.is_valid(row)) else { return Ok(None) };
        let array = column.as_list_opt::<i32>().ok_or_else(|| self.wrong(NAME))?.value(row);
        let values = array.as_primitive_opt::<UInt64Type>().ok_or_else(|| self.wrong(NAME))?.values();
        let times: Option<Vec<u32>> = values.iter().map(|time| u32::try_from(*time).ok()).collect();
        times.and_then(|times| times.try_into().ok()).map(Some).ok_or_else(|| self.wrong(NAME))
    }
    fn lengths(&self, name: &str, row: usize) -> Result<Vec<u64>> {
        let array = self.column(name)?.as_list_opt::<i32>().ok_or_else(|| self.wrong(name))?;
        Ok(array.value(row).as_primitive_opt::<UInt64Type>().ok_or_else(|| self.wrong(name))?.values().to_vec())
    }
}

/// Whether a folder or file is a container, judging by its catalog's metadata or its mark.
pub(crate) fn is_container(path: &Path) -> bool {
    if path.is_file() {
        return Archive::is_claimed(path) && Archive::open(path).is_ok();
    }
    open_part(&path.join(CATALOG))
        .ok()
        .and_then(|file| FileReader::try_new_buffered(file, None).ok())
        .is_some_and(|reader| reader.schema().metadata().contains_key("hyperslab.container"))
}

/// A catalog that was read.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The objects.
    pub tree: Tree,
    /// Which version of the catalog it is.
    pub generation: u64,
    /// The name of the file of its links.
    pub links: String,
    /// The names of the packs: archives of the files of small datasets. If several have a file, the last one counts.
    pub packs: Vec<String>,
}

/// The object in a row of the file of the objects, without its links and attributes.
fn load_object(columns: &Columns<'_>, row: usize, decode: DecodeDatatype<'_>) -> Result<Object> {
    let datatype = |encoded: Option<Vec<u8>>| -> Result<StoredDatatype> {
        let encoded = encoded.ok_or_else(|| columns.wrong("type"))?;
        Ok(StoredDatatype { decoded: decode(&encoded)?, encoded, committed: columns.u64("committed_type", row)? })
    };
    let body = match columns.text("kind", row)?.as_deref() {
        Some("group") => Body::Group { links: BTreeMap::new(), next_order: columns.i64("next_link", row)?, tracked: columns.flag("link_order", row)? },
        Some("datatype") => Body::Datatype(datatype(columns.bytes("type", row)?)?),
        Some("dataset") => {
            let space = match columns.text("space", row)?.as_deref() {
                Some("null") => Dataspace::Null,
                Some("scalar") => Dataspace::Scalar,
                _ => Dataspace::Simple { shape: columns.lengths("shape", row)?, max_shape: columns.lengths("max_shape", row)? },
            };
            let extent = Extent { space, table: None, file: columns.text("file", row)?, source: None };
            if extent.file.as_deref().is_some_and(|name| name.contains('/')) {
                return Err(error!("{}: the name of a file of values leads out of the folder", columns.1));
            }
            Body::Dataset(Arc::new(Dataset { datatype: datatype(columns.bytes("type", row)?)?, extent: Mutex::new(extent), written: true.into() }))
        }
        other => return Err(error!("{}: an object has the unknown kind {other:?}", columns.1)),
    };
    let mut object = Object::new(body, columns.bytes("creation", row)?.unwrap_or_default());
    object.attributes_tracked = columns.flag("attribute_order", row)?;
    object.next_attribute = columns.i64("next_attribute", row)?;
    object.extra_references = columns.i64("references", row)?;
    object.born = columns.i64("born", row)?;
    object.comment = columns.text("comment", row)?;
    object.times = columns.times(row)?;
    Ok(object)
}

/// Adds the links in the file of this name to the objects of a tree.
fn load_links(tree: &mut Tree, links: &RecordBatch, name: &str) -> Result<()> {
    let columns = Columns(links, name.to_owned());
    for row in 0..links.num_rows() {
        let target = match columns.i32("class", row)? {
            0 => Target::Hard(
                columns
                    .u64("object", row)?
                    .filter(|id| tree.objects.contains_key(id))
                    .ok_or_else(|| error!("{}: the target of a link does not exist", columns.1))?,
            ),
            1 => Target::Soft(String::from_utf8(columns.large_bytes("value", row)?).map_err(|_| columns.wrong("value"))?),
            class => Target::User(class, columns.large_bytes("value", row)?),
        };
        let link = Link { order: columns.i64("order", row)?, utf8: columns.flag("utf8", row)?, target };
        let group = columns.u64("group", row)?.ok_or_else(|| columns.wrong("group"))?;
        let name = columns.text("name", row)?.ok_or_else(|| columns.wrong("name"))?;
        tree.restore_link(group, name, link).map_err(|error| error!("{}: {}", columns.1, error.message))?;
    }
    Ok(())
}

/// Adds the attributes and fill values to the objects of a tree.
fn load_attributes(tree: &mut Tree, attributes: &RecordBatch, decode: DecodeDatatype<'_>) -> Result<()> {
    for (field, array) in attributes.schema().fields().iter().zip(attributes.columns()) {
        let attribute = load_attribute(field, array, decode)?;
        let object = tree.objects.get_mut(&attribute.object).ok_or_else(|| error!("the object of the attribute {} does not exist", field.name()))?;
        if field.metadata().contains_key(FILL) {
            object.fill = Some(Arc::new(Mutex::new(attribute)));
        } else {
            object.attributes.insert(attribute.name.clone(), Arc::new(Mutex::new(attribute)));
        }
    }
    Ok(())
}

/// Reads the catalog.
///
/// # Errors
/// If a file of the catalog cannot be read or is damaged; errors of `decode`.
pub fn load(folder: &dyn Source, decode: DecodeDatatype<'_>) -> Result<Loaded> {
    let objects = read(folder, CATALOG)?;
    let schema = objects.schema();
    let word = |key: &str| {
        schema
            .metadata()
            .get(&format!("hyperslab.{key}"))
            .cloned()
            .ok_or_else(|| error!("{}: not a container of Hyperslab: its metadata have no '{key}'", folder.name()))
    };
    let version = word("container")?;
    if version != VERSION && version != VERSION_WITH_PACKS {
        return Err(error!(
            "{}: version {version} of the container is unknown; this connector reads versions {VERSION} and {VERSION_WITH_PACKS}",
            folder.name()
        ));
    }
    let columns = Columns(&objects, format!("{}/{CATALOG}", folder.name()));
    // Most objects have one of few datatypes.
    let known: RefCell<HashMap<Vec<u8>, Datatype>> = RefCell::default();
    let decode = &|encoded: &[u8]| -> Result<Datatype> {
        if let Some(datatype) = known.borrow().get(encoded) {
            return Ok(datatype.clone());
        }
        let datatype = decode(encoded)?;
        known.borrow_mut().insert(encoded.to_vec(), datatype.clone());
        Ok(datatype)
    };
    let regions = word("regions").unwrap_or_default();
    let regions = regions.split(',').filter(|text| !text.is_empty()).map(|text| from_hex(text).map(|selection| Region { selection }));
    let regions = regions.collect::<Option<Vec<_>>>().ok_or_else(|| error!("{}: the selection of a region reference is damaged", folder.name()))?;
    let mut tree = Tree::without_objects(word("next")?.parse().unwrap_or(2), from_hex(&word("creation")?).unwrap_or_default(), regions);
    for row in 0..objects.num_rows() {
        let object = load_object(&columns, row, decode)?;
        tree.objects.insert(columns.u64("object", row)?.ok_or_else(|| columns.wrong("object"))?, object);
    }
    let inside = |name: String| if name.contains('/') { Err(error!("{}: the file name '{name}' leads out of the folder", columns.1)) } else { Ok(name) };
    let links_file = inside(word("links")?)?;
    load_links(&mut tree, &read(folder, &links_file)?, &links_file)?;
    let attributes = read(folder, &inside(word("attributes")?)?)?;
    load_attributes(&mut tree, &attributes, decode)?;
    if !matches!(tree.objects.get(&ROOT).map(|object| &object.body), Some(Body::Group { .. })) {
        return Err(error!("{}: the root group is missing", columns.1));
    }
    let packs = word("packs").unwrap_or_default();
    let packs = packs.split(',').filter(|name| !name.is_empty()).map(|name| inside(name.to_owned())).collect::<Result<Vec<_>>>()?;
    if packs.len() > MAX_PACKS {
        return Err(error!("{}: {} packs of small datasets are too many", columns.1, packs.len()));
    }
    Ok(Loaded { tree, generation: word("generation")?.parse().unwrap_or(0), links: links_file, packs })
}
