//! The tree in three Arrow files: `catalog.arrow` (a row an object), and under the names that its schema's metadata
//! gives, the links (a row a link) and the attributes (a column an attribute, one row). The catalog's rename is the
//! moment that readers see.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Int32Builder, Int64Builder, LargeBinaryBuilder, ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{Field, Schema};

use super::archive::Archive;
use super::fault::{Fault, Result, fault};
use super::folder::Folder;
use super::kind::Kind;
use super::model::{AttributeValue, Body, Dataset, Datatype, Extent, Link, Object, ObjectId, Region, Target, Tree, lock};
use super::shape::Space;
use super::values;

/// The version of what is written; others are refused.
const VERSION: &str = "1";
/// Marks the column that is no attribute but a dataset's fill value.
const FILL: &str = "hyperslab.fill";
/// The file that makes a folder a container.
pub(crate) const CATALOG: &str = "catalog.arrow";

/// Writes one record batch as an Arrow file.
pub(super) fn write(folder: &Path, name: &str, batch: &RecordBatch, sync: bool) -> Result<()> {
    let aside = folder.join(format!(".{}.part", super::unique_name()));
    let work = || -> Result<()> {
        let file = File::create_new(&aside)?;
        let mut writer = FileWriter::try_new_buffered(file, &batch.schema())?;
        writer.write(batch)?;
        writer.finish()?;
        let file = writer.into_inner()?.into_inner().map_err(|error| fault!("{}", error.error()))?;
        if sync {
            file.sync_all()?;
        }
        std::fs::rename(&aside, folder.join(name))?;
        Ok(())
    };
    work().map_err(|error| {
        let _ = std::fs::remove_file(&aside);
        fault!("cannot write {}: {}", folder.join(name).display(), error.message)
    })
}

/// Reads what [`write`] has written.
pub(super) fn read(folder: &Folder, name: &str) -> Result<RecordBatch> {
    let work = || -> Result<RecordBatch> {
        let mut reader = FileReader::try_new_buffered(folder.piece(name)?, None)?;
        let batch = reader.next().ok_or_else(|| fault!("it has no record batch"))??;
        Ok(batch)
    };
    work().map_err(|error| fault!("{}: {}", folder.join(name).display(), error.message))
}

fn batch(columns: Vec<(&str, ArrayRef)>, metadata: HashMap<String, String>) -> Result<RecordBatch> {
    let fields: Vec<Field> = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let schema = Schema::new(fields).with_metadata(metadata);
    Ok(RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect())?)
}

fn lengths(builder: &mut ListBuilder<UInt64Builder>, space: Option<&[u64]>) {
    match space {
        Some(lengths) => {
            builder.values().append_slice(lengths);
            builder.append(true);
        }
        None => builder.append(false),
    }
}

fn space_word(space: &Space) -> &'static str {
    match space {
        Space::Null => "null",
        Space::Scalar => "scalar",
        Space::Simple { .. } => "simple",
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    text.len().is_multiple_of(2).then_some(())?;
    (0..text.len()).step_by(2).map(|at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok())).collect()
}

/// Writes the tree; the values are published already. `files` names the values of each dataset.
pub(crate) fn save(tree: &Tree, folder: &Path, generation: u64, files: &BTreeMap<ObjectId, String>, sync: bool) -> Result<Vec<String>> {
    let paths = tree.reachable();
    let (mut ids, mut kinds, mut path_names, mut names) = (UInt64Builder::new(), StringBuilder::new(), StringBuilder::new(), StringBuilder::new());
    let (mut spaces, mut shapes, mut maxima) = (StringBuilder::new(), ListBuilder::new(UInt64Builder::new()), ListBuilder::new(UInt64Builder::new()));
    let (mut types, mut creations, mut comments) = (BinaryBuilder::new(), BinaryBuilder::new(), StringBuilder::new());
    let (mut link_order, mut attribute_order, mut born, mut extra) = (BooleanBuilder::new(), BooleanBuilder::new(), Int64Builder::new(), Int64Builder::new());
    let (mut next_orders, mut next_attributes, mut committed) = (Int64Builder::new(), Int64Builder::new(), UInt64Builder::new());
    let (mut from, mut link_names, mut orders, mut utf8) = (UInt64Builder::new(), StringBuilder::new(), Int64Builder::new(), BooleanBuilder::new());
    let (mut classes, mut to, mut link_values) = (Int32Builder::new(), UInt64Builder::new(), LargeBinaryBuilder::new());
    let mut attributes: Vec<(Field, ArrayRef)> = Vec::new();
    for (id, path) in &paths {
        let Ok(object) = tree.object(*id) else { continue };
        ids.append_value(*id);
        path_names.append_value(path);
        creations.append_value(&object.creation);
        comments.append_option(object.comment.as_deref());
        attribute_order.append_value(object.attributes_tracked);
        born.append_value(object.born);
        extra.append_value(object.extra_references);
        next_attributes.append_value(object.next_attribute);
        names.append_option(files.get(id));
        match &object.body {
            Body::Group { links, next_order, tracked } => {
                kinds.append_value("group");
                spaces.append_null();
                lengths(&mut shapes, None);
                lengths(&mut maxima, None);
                types.append_null();
                committed.append_null();
                link_order.append_value(*tracked);
                next_orders.append_value(*next_order);
                for (name, link) in links {
                    from.append_value(*id);
                    link_names.append_value(name);
                    orders.append_value(link.order);
                    utf8.append_value(link.utf8);
                    match &link.target {
                        Target::Hard(target) => {
                            classes.append_value(0);
                            to.append_value(*target);
                            link_values.append_null();
                        }
                        Target::Soft(target) => {
                            classes.append_value(1);
                            to.append_null();
                            link_values.append_value(target);
                        }
                        Target::User(class, value) => {
                            classes.append_value(*class);
                            to.append_null();
                            link_values.append_value(value);
                        }
                    }
                }
            }
            Body::Dataset(dataset) => {
                kinds.append_value("dataset");
                let extent = lock(&dataset.extent);
                spaces.append_value(space_word(&extent.space));
                match &extent.space {
                    Space::Simple { shape, max_shape } => {
                        lengths(&mut shapes, Some(shape));
                        lengths(&mut maxima, Some(max_shape));
                    }
                    _ => {
                        lengths(&mut shapes, Some(&[]));
                        lengths(&mut maxima, Some(&[]));
                    }
                }
                types.append_value(&dataset.datatype.encoded);
                committed.append_option(dataset.datatype.committed);
                link_order.append_null();
                next_orders.append_null();
            }
            Body::Datatype(datatype) => {
                kinds.append_value("datatype");
                spaces.append_null();
                lengths(&mut shapes, None);
                lengths(&mut maxima, None);
                types.append_value(&datatype.encoded);
                committed.append_null();
                link_order.append_null();
                next_orders.append_null();
            }
        }
        for (name, attribute) in &object.attributes {
            attributes.push(save_attribute(*id, path, name, &lock(attribute))?);
        }
        if let Some(fill) = &object.fill {
            let (field, value) = save_attribute(*id, path, "", &lock(fill))?;
            let mut metadata = field.metadata().clone();
            metadata.insert(FILL.to_owned(), "true".to_owned());
            attributes.push((field.with_metadata(metadata), value));
        }
    }
    let links = batch(
        vec![
            ("group", Arc::new(from.finish())),
            ("name", Arc::new(link_names.finish())),
            ("class", Arc::new(classes.finish())),
            ("object", Arc::new(to.finish())),
            ("value", Arc::new(link_values.finish())),
            ("order", Arc::new(orders.finish())),
            ("utf8", Arc::new(utf8.finish())),
        ],
        HashMap::new(),
    )?;
    let (links_file, attributes_file) = (format!("links.{generation}.arrow"), format!("attributes.{generation}.arrow"));
    write(folder, &links_file, &links, sync)?;
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = attributes.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    write(folder, &attributes_file, &RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?, sync)?;
    let metadata = [
        ("hyperslab.container", VERSION.to_owned()),
        ("hyperslab.links", links_file.clone()),
        ("hyperslab.attributes", attributes_file.clone()),
        ("hyperslab.generation", generation.to_string()),
        ("hyperslab.next", tree.next.to_string()),
        ("hyperslab.creation", hex(&tree.creation)),
        ("hyperslab.regions", tree.regions.iter().map(|region| hex(&region.selection)).collect::<Vec<_>>().join(",")),
    ];
    let objects = batch(
        vec![
            ("object", Arc::new(ids.finish())),
            ("kind", Arc::new(kinds.finish())),
            ("path", Arc::new(path_names.finish())),
            ("file", Arc::new(names.finish())),
            ("space", Arc::new(spaces.finish())),
            ("shape", Arc::new(shapes.finish())),
            ("max_shape", Arc::new(maxima.finish())),
            ("type", Arc::new(types.finish())),
            ("committed_type", Arc::new(committed.finish())),
            ("creation", Arc::new(creations.finish())),
            ("comment", Arc::new(comments.finish())),
            ("link_order", Arc::new(link_order.finish())),
            ("attribute_order", Arc::new(attribute_order.finish())),
            ("next_link", Arc::new(next_orders.finish())),
            ("next_attribute", Arc::new(next_attributes.finish())),
            ("references", Arc::new(extra.finish())),
            ("born", Arc::new(born.finish())),
        ],
        metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
    )?;
    write(folder, CATALOG, &objects, sync)?;
    Ok(vec![CATALOG.to_owned(), links_file, attributes_file])
}

fn save_attribute(id: ObjectId, path: &str, name: &str, attribute: &AttributeValue) -> Result<(Field, ArrayRef)> {
    let kind = &attribute.datatype.kind;
    let count = attribute.space.count().unwrap_or(0);
    let array = if attribute.space == Space::Scalar {
        values::to_arrow(kind, &attribute.bytes, kind.bytes(), 1)?
    } else {
        let inner = usize::try_from(count).map_err(|_| fault!("an attribute of {count} elements"))?;
        values::to_arrow(&Kind::Array { count: inner, element: Box::new(kind.clone()) }, &attribute.bytes, attribute.bytes.len(), 1)?
    };
    let list = |lengths: &[u64]| lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let mut metadata = HashMap::from([
        ("hyperslab.object".to_owned(), id.to_string()),
        ("hyperslab.name".to_owned(), name.to_owned()),
        ("hyperslab.order".to_owned(), attribute.order.to_string()),
        ("hyperslab.utf8".to_owned(), attribute.utf8.to_string()),
        ("hyperslab.type".to_owned(), hex(&attribute.datatype.encoded)),
        ("hyperslab.space".to_owned(), space_word(&attribute.space).to_owned()),
    ]);
    if let Some(committed) = attribute.datatype.committed {
        metadata.insert("hyperslab.committed_type".to_owned(), committed.to_string());
    }
    if let Space::Simple { shape, max_shape } = &attribute.space {
        metadata.insert("hyperslab.shape".to_owned(), list(shape));
        metadata.insert("hyperslab.max_shape".to_owned(), list(max_shape));
    }
    Ok((Field::new(format!("{path}@{name}"), array.data_type().clone(), true).with_metadata(metadata), array))
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(',').filter_map(|word| word.parse().ok()).collect()
}

fn load_attribute(field: &Field, array: &ArrayRef, kind_of: &dyn Fn(&[u8]) -> Result<Kind>) -> Result<AttributeValue> {
    let metadata = field.metadata();
    let missing = |key: &str| fault!("the attribute {} has no {key}", field.name());
    let word = |key: &str| metadata.get(&format!("hyperslab.{key}")).map(String::as_str).ok_or_else(|| missing(key));
    let encoded = unhex(word("type")?).ok_or_else(|| missing("type"))?;
    let datatype = Datatype { kind: kind_of(&encoded)?, encoded, committed: word("committed_type").ok().and_then(|text| text.parse().ok()) };
    let space = match word("space")? {
        "null" => Space::Null,
        "scalar" => Space::Scalar,
        _ => Space::Simple { shape: numbers(word("shape")?), max_shape: numbers(word("max_shape")?) },
    };
    let count = usize::try_from(space.count().ok_or_else(|| missing("shape"))?).map_err(|_| missing("shape"))?;
    let mut arenas = Vec::new();
    let bytes = if space == Space::Scalar {
        values::from_arrow(&datatype.kind, array, &mut arenas)?
    } else {
        values::from_arrow(&Kind::Array { count, element: Box::new(datatype.kind.clone()) }, array, &mut arenas)?
    };
    if bytes.len() != count.saturating_mul(datatype.kind.bytes()) {
        return Err(fault!("the attribute {} holds {} bytes", field.name(), bytes.len()));
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
    fn wrong(&self, name: &str) -> Fault {
        fault!("{}: no column '{name}' of the type that it should have", self.1)
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
    fn lengths(&self, name: &str, row: usize) -> Result<Vec<u64>> {
        let array = self.column(name)?.as_list_opt::<i32>().ok_or_else(|| self.wrong(name))?;
        Ok(array.value(row).as_primitive_opt::<UInt64Type>().ok_or_else(|| self.wrong(name))?.values().to_vec())
    }
}

/// Whether a folder or a file claims to be a container.
pub(crate) fn is_container(path: &Path) -> bool {
    if path.is_file() {
        return Archive::is_claimed(path) && Archive::open(path).is_ok();
    }
    File::open(path.join(CATALOG)).ok().and_then(|file| FileReader::try_new_buffered(file, None).ok()).is_some_and(|reader| reader.schema().metadata().contains_key("hyperslab.container"))
}

/// Reads a tree; `kind_of` reads an encoded datatype.
pub(crate) fn load(folder: &Folder, kind_of: &dyn Fn(&[u8]) -> Result<Kind>) -> Result<(Tree, u64)> {
    let objects = read(folder, CATALOG)?;
    let schema = objects.schema();
    let word = |key: &str| schema.metadata().get(&format!("hyperslab.{key}")).cloned().ok_or_else(|| fault!("{}: not a container of Hyperslab: it has no '{key}'", folder.display()));
    let version = word("container")?;
    if version != VERSION {
        return Err(fault!("{}: version {version} of the container is not known; this connector reads version {VERSION}", folder.display()));
    }
    let columns = Columns(&objects, folder.join(CATALOG).display().to_string());
    let regions = word("regions").unwrap_or_default();
    let regions = regions.split(',').filter(|text| !text.is_empty()).map(|text| unhex(text).map(|selection| Region { selection }));
    let regions = regions.collect::<Option<Vec<_>>>().ok_or_else(|| fault!("{}: a selection is damaged", folder.display()))?;
    let mut tree = Tree { objects: BTreeMap::new(), next: word("next")?.parse().unwrap_or(2), creation: unhex(&word("creation")?).unwrap_or_default(), unlinked: 0, regions };
    for row in 0..objects.num_rows() {
        let datatype = |encoded: Option<Vec<u8>>| -> Result<Datatype> {
            let encoded = encoded.ok_or_else(|| columns.wrong("type"))?;
            Ok(Datatype { kind: kind_of(&encoded)?, encoded, committed: columns.u64("committed_type", row)? })
        };
        let body = match columns.text("kind", row)?.as_deref() {
            Some("group") => Body::Group { links: BTreeMap::new(), next_order: columns.i64("next_link", row)?, tracked: columns.flag("link_order", row)? },
            Some("datatype") => Body::Datatype(datatype(columns.bytes("type", row)?)?),
            Some("dataset") => {
                let space = match columns.text("space", row)?.as_deref() {
                    Some("null") => Space::Null,
                    Some("scalar") => Space::Scalar,
                    _ => Space::Simple { shape: columns.lengths("shape", row)?, max_shape: columns.lengths("max_shape", row)? },
                };
                let extent = Extent { space, table: None, file: columns.text("file", row)?, plain: None };
                if extent.file.as_deref().is_some_and(|name| name.contains('/')) {
                    return Err(fault!("{}: a file of values outside of the folder", columns.1));
                }
                Body::Dataset(Arc::new(Dataset { datatype: datatype(columns.bytes("type", row)?)?, extent: Mutex::new(extent) }))
            }
            other => return Err(fault!("{}: an object of kind {other:?}", columns.1)),
        };
        let mut object = Object::new(body, columns.bytes("creation", row)?.unwrap_or_default());
        object.attributes_tracked = columns.flag("attribute_order", row)?;
        object.next_attribute = columns.i64("next_attribute", row)?;
        object.extra_references = columns.i64("references", row)?;
        object.born = columns.i64("born", row)?;
        object.comment = columns.text("comment", row)?;
        tree.objects.insert(columns.u64("object", row)?.ok_or_else(|| columns.wrong("object"))?, object);
    }
    let inside = |name: String| if name.contains('/') { Err(fault!("{}: '{name}' is outside of the folder", columns.1)) } else { Ok(name) };
    let links_file = inside(word("links")?)?;
    let links = read(folder, &links_file)?;
    let links_columns = Columns(&links, links_file);
    for row in 0..links.num_rows() {
        let target = match links_columns.i32("class", row)? {
            0 => Target::Hard(links_columns.u64("object", row)?.filter(|id| tree.objects.contains_key(id)).ok_or_else(|| fault!("{}: a link to no object", links_columns.1))?),
            1 => Target::Soft(String::from_utf8(links_columns.large_bytes("value", row)?).map_err(|_| links_columns.wrong("value"))?),
            class => Target::User(class, links_columns.large_bytes("value", row)?),
        };
        let link = Link { order: links_columns.i64("order", row)?, utf8: links_columns.flag("utf8", row)?, target };
        let group = links_columns.u64("group", row)?.ok_or_else(|| links_columns.wrong("group"))?;
        let name = links_columns.text("name", row)?.ok_or_else(|| links_columns.wrong("name"))?;
        match tree.objects.get_mut(&group).map(|object| &mut object.body) {
            Some(Body::Group { links, .. }) => links.insert(name, link),
            _ => return Err(fault!("{}: a link of no group", links_columns.1)),
        };
    }
    let attributes = read(folder, &inside(word("attributes")?)?)?;
    for (field, array) in attributes.schema().fields().iter().zip(attributes.columns()) {
        let attribute = load_attribute(field, array, kind_of)?;
        let object = tree.objects.get_mut(&attribute.object).ok_or_else(|| fault!("the attribute {} belongs to no object", field.name()))?;
        if field.metadata().contains_key(FILL) {
            object.fill = Some(Arc::new(Mutex::new(attribute)));
        } else {
            object.attributes.insert(attribute.name.clone(), Arc::new(Mutex::new(attribute)));
        }
    }
    if !matches!(tree.objects.get(&super::model::ROOT).map(|object| &object.body), Some(Body::Group { .. })) {
        return Err(fault!("{}: no root group", columns.1));
    }
    Ok((tree, word("generation")?.parse().unwrap_or(0)))
}
