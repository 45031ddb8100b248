//! Writes the tree to its three files.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, Int32Builder, Int64Builder, LargeBinaryBuilder, ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};

use super::format::{FILL, VERSION, VERSION_WITH_PACKS, to_hex};
use crate::elements::arrow_arrays;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::Datatype;
use crate::error::{Result, error};
use crate::files::record_batch::write;
use crate::lock;
use crate::model::{AttributeValue, Body, Link, Object, ObjectId, Target, Tree};

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

fn space_word(space: &Dataspace) -> &'static str {
    match space {
        Dataspace::Null => "null",
        Dataspace::Scalar => "scalar",
        Dataspace::Simple { .. } => "simple",
    }
}

/// The columns of the file of the links.
#[derive(Default)]
struct LinkColumns {
    group: UInt64Builder,
    name: StringBuilder,
    class: Int32Builder,
    object: UInt64Builder,
    value: LargeBinaryBuilder,
    order: Int64Builder,
    utf8: BooleanBuilder,
}

impl LinkColumns {
    fn append(&mut self, group: ObjectId, name: &str, link: &Link) {
        self.group.append_value(group);
        self.name.append_value(name);
        self.order.append_value(link.order);
        self.utf8.append_value(link.utf8);
        match &link.target {
            Target::Hard(target) => {
                self.class.append_value(0);
                self.object.append_value(*target);
                self.value.append_null();
            }
            Target::Soft(target) => {
                self.class.append_value(1);
                self.object.append_null();
                self.value.append_value(target);
            }
            Target::User(class, value) => {
                self.class.append_value(*class);
                self.object.append_null();
                self.value.append_value(value);
            }
        }
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("group", Arc::new(self.group.finish())),
            ("name", Arc::new(self.name.finish())),
            ("class", Arc::new(self.class.finish())),
            ("object", Arc::new(self.object.finish())),
            ("value", Arc::new(self.value.finish())),
            ("order", Arc::new(self.order.finish())),
            ("utf8", Arc::new(self.utf8.finish())),
        ];
        batch(columns, HashMap::new())
    }
}

/// The columns of the file of the objects.
#[derive(Default)]
struct ObjectColumns {
    object: UInt64Builder,
    kind: StringBuilder,
    path: StringBuilder,
    file: StringBuilder,
    space: StringBuilder,
    shape: ListBuilder<UInt64Builder>,
    max_shape: ListBuilder<UInt64Builder>,
    datatype: BinaryBuilder,
    committed_type: UInt64Builder,
    creation: BinaryBuilder,
    comment: StringBuilder,
    link_order: BooleanBuilder,
    attribute_order: BooleanBuilder,
    next_link: Int64Builder,
    next_attribute: Int64Builder,
    references: Int64Builder,
    born: Int64Builder,
    times: ListBuilder<UInt64Builder>,
}

impl ObjectColumns {
    /// Appends an object, whose values are in `file` if it is a dataset that has a file.
    fn append(&mut self, id: ObjectId, path: &str, file: Option<&String>, object: &Object) {
        self.object.append_value(id);
        self.path.append_value(path);
        self.creation.append_value(&object.creation);
        self.comment.append_option(object.comment.as_deref());
        self.attribute_order.append_value(object.attributes_tracked);
        self.born.append_value(object.born);
        lengths(&mut self.times, object.times.map(|times| times.map(u64::from)).as_ref().map(<[u64; 4]>::as_slice));
        self.references.append_value(object.extra_references);
        self.next_attribute.append_value(object.next_attribute);
        self.file.append_option(file);
        match &object.body {
            Body::Group { next_order, tracked, .. } => {
                self.kind.append_value("group");
                self.append_no_space();
                self.datatype.append_null();
                self.committed_type.append_null();
                self.link_order.append_value(*tracked);
                self.next_link.append_value(*next_order);
            }
            Body::Dataset(dataset) => {
                self.kind.append_value("dataset");
                self.append_space(&lock(&dataset.extent).space);
                self.datatype.append_value(&dataset.datatype.encoded);
                self.committed_type.append_option(dataset.datatype.committed);
                self.link_order.append_null();
                self.next_link.append_null();
            }
            Body::Datatype(datatype) => {
                self.kind.append_value("datatype");
                self.append_no_space();
                self.datatype.append_value(&datatype.encoded);
                self.committed_type.append_null();
                self.link_order.append_null();
                self.next_link.append_null();
            }
        }
    }

    fn append_space(&mut self, space: &Dataspace) {
        self.space.append_value(space_word(space));
        let (shape, max_shape): (&[u64], &[u64]) = match space {
            Dataspace::Simple { shape, max_shape } => (shape, max_shape),
            _ => (&[], &[]),
        };
        lengths(&mut self.shape, Some(shape));
        lengths(&mut self.max_shape, Some(max_shape));
    }

    fn append_no_space(&mut self) {
        self.space.append_null();
        lengths(&mut self.shape, None);
        lengths(&mut self.max_shape, None);
    }

    fn finish(mut self, metadata: HashMap<String, String>) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("object", Arc::new(self.object.finish())),
            ("kind", Arc::new(self.kind.finish())),
            ("path", Arc::new(self.path.finish())),
            ("file", Arc::new(self.file.finish())),
            ("space", Arc::new(self.space.finish())),
            ("shape", Arc::new(self.shape.finish())),
            ("max_shape", Arc::new(self.max_shape.finish())),
            ("type", Arc::new(self.datatype.finish())),
            ("committed_type", Arc::new(self.committed_type.finish())),
            ("creation", Arc::new(self.creation.finish())),
            ("comment", Arc::new(self.comment.finish())),
            ("link_order", Arc::new(self.link_order.finish())),
            ("attribute_order", Arc::new(self.attribute_order.finish())),
            ("next_link", Arc::new(self.next_link.finish())),
            ("next_attribute", Arc::new(self.next_attribute.finish())),
            ("references", Arc::new(self.references.finish())),
            ("born", Arc::new(self.born.finish())),
            ("times", Arc::new(self.times.finish())),
        ];
        batch(columns, metadata)
    }
}

/// Writes the tree; its values have been published before. `files` maps each dataset to the file of its values, which may be in one of
/// `packs`. `catalog` is the name of the file of the objects. Returns the names of the other files.
pub(crate) fn save(
    tree: &Tree,
    folder: &Path,
    catalog: &str,
    generation: u64,
    files: &BTreeMap<ObjectId, String>,
    packs: &[String],
    sync: bool,
) -> Result<[String; 2]> {
    let (mut objects, mut links) = (ObjectColumns::default(), LinkColumns::default());
    let mut attributes: Vec<(Field, ArrayRef)> = Vec::new();
    for (id, path) in &tree.reachable() {
        let Ok(object) = tree.object(*id) else { continue };
        objects.append(*id, path, files.get(id), object);
        if let Body::Group { links: own, .. } = &object.body {
            own.iter().for_each(|(name, link)| links.append(*id, name, link));
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
    let (links_file, attributes_file) = (format!("links.{generation}.arrow"), format!("attributes.{generation}.arrow"));
    write(folder, &links_file, &links.finish()?, sync)?;
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = attributes.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    write(folder, &attributes_file, &RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?, sync)?;
    let version = if packs.is_empty() { VERSION } else { VERSION_WITH_PACKS };
    let mut metadata = vec![
        ("hyperslab.container", version.to_owned()),
        ("hyperslab.links", links_file.clone()),
        ("hyperslab.attributes", attributes_file.clone()),
        ("hyperslab.generation", generation.to_string()),
        ("hyperslab.next", tree.next.to_string()),
        ("hyperslab.creation", to_hex(&tree.creation)),
        ("hyperslab.regions", tree.regions.iter().map(|region| to_hex(&region.selection)).collect::<Vec<_>>().join(",")),
    ];
    if !packs.is_empty() {
        metadata.push(("hyperslab.packs", packs.join(",")));
    }
    let objects = objects.finish(metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())?;
    write(folder, catalog, &objects, sync)?;
    Ok([links_file, attributes_file])
}

fn save_attribute(id: ObjectId, path: &str, name: &str, attribute: &AttributeValue) -> Result<(Field, ArrayRef)> {
    let datatype = &attribute.datatype.decoded;
    let count = attribute.space.count().unwrap_or(0);
    let array = if attribute.space == Dataspace::Scalar {
        arrow_arrays::to_arrow(datatype, &attribute.bytes, datatype.bytes(), 1)?
    } else {
        let inner = usize::try_from(count).map_err(|_| error!("an attribute of {count} elements is too large"))?;
        arrow_arrays::to_arrow(&Datatype::Array { count: inner, element: Box::new(datatype.clone()) }, &attribute.bytes, attribute.bytes.len(), 1)?
    };
    let list = |lengths: &[u64]| lengths.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let mut metadata = HashMap::from([
        ("hyperslab.object".to_owned(), id.to_string()),
        ("hyperslab.name".to_owned(), name.to_owned()),
        ("hyperslab.order".to_owned(), attribute.order.to_string()),
        ("hyperslab.utf8".to_owned(), attribute.utf8.to_string()),
        ("hyperslab.type".to_owned(), to_hex(&attribute.datatype.encoded)),
        ("hyperslab.space".to_owned(), space_word(&attribute.space).to_owned()),
    ]);
    if let Some(committed) = attribute.datatype.committed {
        metadata.insert("hyperslab.committed_type".to_owned(), committed.to_string());
    }
    if let Dataspace::Simple { shape, max_shape } = &attribute.space {
        metadata.insert("hyperslab.shape".to_owned(), list(shape));
        metadata.insert("hyperslab.max_shape".to_owned(), list(max_shape));
    }
    Ok((Field::new(format!("{path}@{name}"), array.data_type().clone(), true).with_metadata(metadata), array))
}
