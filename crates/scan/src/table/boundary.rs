//! Boundary variables (CF Conventions 7.1 and 7.4): the bounds of a coordinate's cells inherit the coordinate's units and
//! calendar unless they have their own.

use std::borrow::Cow;

use hyperslab_array::Attribute;
use hyperslab_columns::attribute_text;
use hyperslab_formats::{Content, Object, Tree};

/// Attributes that a boundary variable inherits.
const INHERITED: [&str; 5] = ["units", "calendar", "leap_month", "leap_year", "month_lengths"];

/// The attributes of a variable, including inherited ones.
pub(crate) fn attributes<'a>(tree: &Tree, object: &'a Object) -> Cow<'a, [Attribute]> {
    let own = Cow::Borrowed(object.attributes.as_slice());
    let has = |name: &str| object.attributes.iter().any(|attribute| attribute.name == name);
    let Some((group, name)) = object.path.rsplit_once('/') else { return own };
    if has("units") && has("calendar") {
        return own;
    }
    let Some(parent) = tree.objects.iter().find(|parent| is_parent(parent, group, name)) else { return own };
    let inherited: Vec<Attribute> =
        parent.attributes.iter().filter(|attribute| INHERITED.contains(&attribute.name.as_str()) && !has(&attribute.name)).cloned().collect();
    if inherited.is_empty() { own } else { Cow::Owned([object.attributes.as_slice(), &inherited].concat()) }
}

/// Whether an object is a variable of `group` whose bounds are the variable `name`.
fn is_parent(object: &Object, group: &str, name: &str) -> bool {
    let sibling = object.path.strip_prefix(group).and_then(|rest| rest.strip_prefix('/'));
    if !sibling.is_some_and(|own| !own.contains('/') && own != name) || !matches!(object.content, Content::Dataset(_)) {
        return false;
    }
    let says =
        |attribute: &Attribute| ["bounds", "climatology"].contains(&attribute.name.as_str()) && attribute_text(attribute).is_some_and(|text| text == name);
    object.attributes.iter().any(says)
}
