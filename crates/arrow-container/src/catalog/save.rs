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
use crate::model::{AttributeValue, Body, ObjectId, Target, Tree};

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
                    Dataspace::Simple { shape, max_shape } => {
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
