//! `NativeFile`: what is in a file, for catalogs.

use hyperslab::{Content, LinkTarget, ObjectId, Result, Tree};
use jni::JNIEnv;
use jni::objects::{JClass, JString};
use jni::sys::jstring;
use serde_json::{Value, json};

use crate::boundary::{at_border, guard, text};
use crate::request::SessionRequest;

/// The members of the group at `group`: `[{"name": …, "kind": "group" | "dataset" | "datatype" | "link",
/// "shape": […], "type": …, "refusal": …, "attributes": […]}, …]`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeFile_members<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    file: JString<'local>,
    group: JString<'local>,
    options: JString<'local>,
) -> jstring {
    let members = guard(&mut env, |env| {
        let session = SessionRequest::parse(&text(env, &options)?)?.session()?;
        let (file, group) = (text(env, &file)?, text(env, &group)?);
        let file = session.open(&file).map_err(|error| error.in_file(&file))?;
        let found = file.find(&group)?;
        let members = members(found.file.tree(), found.object)?;
        env.new_string(members.to_string()).map_err(at_border)
    });
    members.into_raw()
}

fn members(tree: &Tree, group: ObjectId) -> Result<Value> {
    let links = tree.group(group).map(|group| group.links.as_slice()).unwrap_or_default();
    let members = links.iter().map(|link| match &link.target {
        LinkTarget::Hard(id) => match tree.object(*id).map(|object| &object.content) {
            Some(Content::Group(_)) => json!({"name": link.name, "kind": "group"}),
            Some(Content::Dataset(dataset)) => json!({
                "name": link.name,
                "kind": "dataset",
                "shape": dataset.dataspace.shape(),
                "type": hyperslab::columns::arrow_type(&dataset.datatype).map(|t| t.to_string()).unwrap_or_default(),
                "refusal": dataset.refusal.as_ref().map(ToString::to_string),
            }),
            Some(Content::Datatype(_)) => json!({"name": link.name, "kind": "datatype"}),
            Some(Content::Unreadable(error)) => json!({"name": link.name, "kind": "unreadable", "refusal": error.to_string()}),
            None => json!({"name": link.name, "kind": "unreadable"}),
        },
        LinkTarget::Soft(path) => json!({"name": link.name, "kind": "link", "target": path}),
        LinkTarget::External { file, path } => json!({"name": link.name, "kind": "link", "target": format!("{file}:{path}")}),
        LinkTarget::UserDefined(class) => json!({"name": link.name, "kind": "link", "target": format!("class {class}")}),
    });
    Ok(Value::Array(members.collect()))
}
