//! Builds the groups, datasets and attributes of a plain file.

use std::path::Path;
use std::sync::{Arc, Mutex};

use arrow_schema::{DataType, Field};

use super::form::{Form, MAX_MEMBERS, units};
use super::message::encode;
use super::source::Source;
use super::values::Values;
use crate::elements::blob::Arena;
use crate::elements::dataspace::Dataspace;
use crate::elements::datatype::DecodeDatatype;
use crate::error::{Result, error};
use crate::model::{AttributeValue, Body, Dataset, Extent, Object, ObjectId, ROOT, StoredDatatype, Target, Tree, path_names};

/// The tree of a plain file: one dataset per column, and the table. An attribute names the columns that HDF5 cannot express.
pub(crate) fn open(path: &Path, decode: DecodeDatatype<'_>) -> Result<Tree> {
    let source = Arc::new(Source::open(path)?);
    let mut tree = Tree::new(Vec::new(), Object::group(Vec::new(), true));
    let (mut left_out, mut members) = (Vec::new(), Vec::new());
    for (index, field) in source.schema.fields().iter().enumerate() {
        let nulls = source.nulls.get(index).copied().unwrap_or(true);
        let added = Form::of(field.data_type(), nulls).and_then(|form| {
            let clash = members.iter().any(|(_, name, _): &(usize, String, Form)| name == field.name());
            if clash || field.name().contains('\0') {
                return Err("another column has the same name, or the name contains a zero byte".to_owned());
            }
            let id = add_column(&mut tree, &source, index, &form, decode).map_err(|failure| failure.message)?;
            let failed = |failure: crate::error::Error| failure.message;
            describe(&mut tree, id, field, &form, nulls, decode).map_err(failed)?;
            if !field.name().is_empty() {
                members.push((index, field.name().clone(), form));
            }
            Ok(())
        });
        if let Err(reason) = added {
            left_out.push(format!("{}: {reason}", field.name()));
        }
    }
    if !members.is_empty() && members.len() <= MAX_MEMBERS {
        let form = Form::Struct(members.iter().map(|(_, name, form)| (name.clone(), form.clone())).collect());
        let values =
            Values { source: Arc::clone(&source), columns: members.iter().map(|(index, _, form)| (*index, form.clone())).collect(), is_table: true, inner: 1 };
        let taken = |name: &str| tree.links(ROOT).is_ok_and(|links| links.contains_key(name));
        let name = std::iter::once("table".to_owned()).chain((1..).map(|n| format!("table_{n}"))).find(|name| !taken(name)).unwrap_or_default();
        add_dataset(&mut tree, &name, vec![source.rows], &form, values, decode)?;
    }
    for (key, value) in source.schema.metadata().iter().filter(|(key, _)| !key.starts_with("ARROW:")) {
        add_text(&mut tree, ROOT, key, value, decode)?;
    }
    if !left_out.is_empty() {
        add_text(&mut tree, ROOT, "columns_left_out", &left_out.join("\n"), decode)?;
    }
    Ok(tree)
}

/// If each row is a fixed-size list: the extents of the list, and the form of its elements.
fn unlisted<'a>(form: &'a Form, field: &Field) -> (Vec<u64>, &'a Form) {
    let (mut lengths, mut inner) = (Vec::new(), form);
    while let Form::Array(count, element) = inner {
        lengths.push(*count as u64);
        inner = element;
    }
    if let ([flat], Some("arrow.fixed_shape_tensor")) = (&lengths[..], field.metadata().get("ARROW:extension:name").map(String::as_str)) {
        let text = field.metadata().get("ARROW:extension:metadata").map_or("", String::as_str);
        let shape = text.split_once("\"shape\"").and_then(|(_, rest)| rest.split_once('[')?.1.split_once(']')).map(|(shape, _)| shape);
        let shape: Option<Vec<u64>> = shape.and_then(|shape| shape.split(',').map(|word| word.trim().parse().ok()).collect());
        // Elements in another order of dimensions stay in the order in which they are stored.
        if let Some(shape) = shape.filter(|shape| shape.iter().try_fold(1u64, |product, n| product.checked_mul(*n)) == Some(*flat) && shape.len() < 32) {
            return (shape, inner);
        }
    }
    (lengths, inner)
}

fn add_column(tree: &mut Tree, source: &Arc<Source>, index: usize, form: &Form, decode: DecodeDatatype<'_>) -> Result<ObjectId> {
    let field = source.schema.field(index);
    let (lengths, element) = unlisted(form, field);
    let inner =
        lengths.iter().try_fold(1u64, |product, length| product.checked_mul(*length)).ok_or_else(|| error!("the number of elements exceeds 64 bits"))?;
    let values = Values { source: Arc::clone(source), columns: vec![(index, form.clone())], is_table: false, inner };
    add_dataset(tree, field.name(), [vec![source.rows], lengths].concat(), element, values, decode)
}

fn add_dataset(tree: &mut Tree, path: &str, shape: Vec<u64>, form: &Form, values: Values, decode: DecodeDatatype<'_>) -> Result<ObjectId> {
    let encoded = encode(form);
    let datatype = StoredDatatype { decoded: decode(&encoded)?, encoded, committed: None };
    let extent = Extent { space: Dataspace::Simple { max_shape: shape.clone(), shape }, table: None, file: None, source: Some(Box::new(values)) };
    let (mut group, mut all) = (ROOT, path_names(path).peekable());
    if all.peek().is_none() {
        return Err(error!("the name of the column is empty"));
    }
    while let Some(name) = all.next() {
        if all.peek().is_none() {
            let id = tree.add(Object::new(Body::Dataset(Arc::new(Dataset { datatype, extent: Mutex::new(extent), written: true.into() })), Vec::new()));
            return tree.link(group, name, true, Target::Hard(id)).map(|()| id).inspect_err(|_| drop(tree.objects.remove(&id)));
        }
        let known = tree.links(group)?.get(name).map(|link| link.target.clone());
        group = match known {
            Some(Target::Hard(id)) => id,
            _ => {
                let id = tree.add(Object::group(Vec::new(), true));
                tree.link(group, name, true, Target::Hard(id))?;
                id
            }
        };
    }
    Err(error!("the name of the column is empty"))
}

/// Adds attributes for what the Arrow type says and the HDF5 datatype cannot.
fn describe(tree: &mut Tree, id: ObjectId, field: &Field, form: &Form, nulls: bool, decode: DecodeDatatype<'_>) -> Result<()> {
    add_text(tree, id, "arrow_type", &field.data_type().to_string(), decode)?;
    let mut inner = field.data_type();
    while let DataType::FixedSizeList(below, _) = inner {
        inner = below.data_type();
    }
    if let Some(units) = units(inner) {
        add_text(tree, id, "units", &units, decode)?;
    }
    if let DataType::Timestamp(_, Some(zone)) = inner {
        add_text(tree, id, "timezone", zone, decode)?;
    }
    for (key, value) in field.metadata().iter().filter(|(key, _)| !key.starts_with("ARROW:") && !key.starts_with("PARQUET:")) {
        add_text(tree, id, key, value, decode)?;
    }
    let (_, element) = unlisted(form, field);
    if let (true, Some(bytes)) = (nulls, element.stand_in()) {
        let encoded = encode(element);
        let datatype = StoredDatatype { decoded: decode(&encoded)?, encoded, committed: None };
        add_attribute(tree, id, "_FillValue", datatype, bytes, Vec::new())?;
    }
    Ok(())
}

fn add_text(tree: &mut Tree, id: ObjectId, name: &str, value: &str, decode: DecodeDatatype<'_>) -> Result<()> {
    let encoded = encode(&Form::Text);
    let datatype = StoredDatatype { decoded: decode(&encoded)?, encoded, committed: None };
    let arena = Arena::new();
    let length = u32::try_from(value.len()).map_err(|_| error!("an attribute of {} bytes is too large", value.len()))?;
    let bytes = [&length.to_le_bytes()[..], &arena.put(value.as_bytes())?].concat();
    add_attribute(tree, id, name, datatype, bytes, vec![arena])
}

fn add_attribute(tree: &mut Tree, id: ObjectId, name: &str, datatype: StoredDatatype, bytes: Vec<u8>, arenas: Vec<Arc<Arena>>) -> Result<()> {
    let object = tree.object_mut(id)?;
    if name.is_empty() || name.contains('\0') || object.attributes.contains_key(name) {
        return Ok(());
    }
    let order = object.next_attribute;
    object.next_attribute += 1;
    let value = AttributeValue { name: name.to_owned(), object: id, datatype, space: Dataspace::Scalar, bytes, arenas, order, utf8: true };
    object.attributes.insert(name.to_owned(), Arc::new(Mutex::new(value)));
    Ok(())
}
