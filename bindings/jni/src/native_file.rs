//! `NativeFile`: lists the contents of a file for catalogs.

use hyperslab::{Content, LinkTarget, ObjectId, Result, Tree};
use jni::JNIEnv;
use jni::objects::{JClass, JString};
use jni::sys::jstring;
use serde_json::{Value, json};

use crate::boundary::{guard, jni_error, text};
use crate::request::SessionRequest;

/// The members of the group at `group`: `[{"name": …, "kind": "group" | "dataset" | "datatype" | "link" | "unreadable",
/// "shape": […], "type": …, "refusal": …, "target": …}, …]`, with the keys that the kind has.
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
        env.new_string(members.to_string()).map_err(jni_error)
    });
    members.into_raw()
}

/// All objects: `[{"path": …, "kind": …, "shape": …, "type": …, "refusal": …, "attributes": [[name, value], …]}, …]`.
#[unsafe(no_mangle)]
pub extern "system" fn Java_io_hyperslab_NativeFile_objects<'local>(
    mut env: JNIEnv<'local>,
    _: JClass<'local>,
    file: JString<'local>,
    options: JString<'local>,
) -> jstring {
    let objects = guard(&mut env, |env| {
        let session = SessionRequest::parse(&text(env, &options)?)?.session()?;
        let file = text(env, &file)?;
        let file = session.open(&file).map_err(|error| error.in_file(&file))?;
        let objects = file.tree().objects.iter().map(|object| {
            let mut described = described(&object.content);
            if let Value::Object(fields) = &mut described {
                let attributes = object.attributes.iter().map(|a| json!([a.name, hyperslab::columns::attribute_text(a)]));
                fields.insert("path".to_owned(), json!(object.path));
                fields.insert("attributes".to_owned(), attributes.collect());
            }
            described
        });
        let objects: Value = objects.collect();
        env.new_string(objects.to_string()).map_err(jni_error)
    });
    objects.into_raw()
}

fn described(content: &Content) -> Value {
    match content {
        Content::Group(_) => json!({"kind": "group"}),
        Content::Dataset(dataset) => json!({
            "kind": "dataset",
            "shape": dataset.dataspace.shape(),
            "type": hyperslab::columns::arrow_type(&dataset.datatype).map(|t| t.to_string()).ok(),
            "refusal": dataset.refusal.as_ref().map(ToString::to_string),
        }),
        Content::Datatype(_) => json!({"kind": "datatype"}),
        Content::Unreadable(error) => json!({"kind": "unreadable", "refusal": error.to_string()}),
    }
}

fn members(tree: &Tree, group: ObjectId) -> Result<Value> {
    let links = tree.group(group).map(|group| group.links.as_slice()).unwrap_or_default();
    let members = links.iter().map(|link| match &link.target {
        LinkTarget::Hard(id) => {
            let mut member = tree.object(*id).map_or_else(|| json!({"kind": "unreadable"}), |object| described(&object.content));
            if let Value::Object(fields) = &mut member {
                fields.insert("name".to_owned(), json!(link.name));
            }
            member
        }
        LinkTarget::Soft(path) => json!({"name": link.name, "kind": "link", "target": path}),
        LinkTarget::External { file, path } => json!({"name": link.name, "kind": "link", "target": format!("{file}:{path}")}),
        LinkTarget::UserDefined(class) => json!({"name": link.name, "kind": "link", "target": format!("class {class}")}),
    });
    Ok(Value::Array(members.collect()))
}
