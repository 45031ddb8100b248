//! `NativeFile`: lists the contents of a file for catalogs.

use hyperslab::{File, LinkTarget, Object, ObjectId, Result};
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
        let members = members(&found.file, found.object)?;
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
        let objects = file.walk().map(|walked| {
            let mut described = described(&walked.object);
            if let Value::Object(fields) = &mut described {
                let attributes = file.attributes(walked.id).unwrap_or_default();
                let attributes = attributes.iter().map(|a| json!([a.name, hyperslab::columns::attribute_text(a)]));
                fields.insert("attributes".to_owned(), attributes.collect());
                fields.insert("path".to_owned(), json!(walked.path));
            }
            described
        });
        let objects: Value = objects.collect();
        env.new_string(objects.to_string()).map_err(jni_error)
    });
    objects.into_raw()
}

fn described(object: &Result<Object>) -> Value {
    match object {
        Ok(Object::Group) => json!({"kind": "group"}),
        Ok(Object::Dataset(dataset)) => json!({
            "kind": "dataset",
            "shape": dataset.dataspace.shape(),
            "type": hyperslab::columns::arrow_type(&dataset.datatype).map(|t| t.to_string()).ok(),
            "refusal": dataset.refusal.as_ref().map(ToString::to_string),
        }),
        Ok(Object::Datatype(_)) => json!({"kind": "datatype"}),
        Err(error) => json!({"kind": "unreadable", "refusal": error.to_string()}),
    }
}

fn members(file: &File, group: ObjectId) -> Result<Value> {
    let links = file.links(group)?;
    let members = links.iter().map(|link| match &link.target {
        LinkTarget::Hard(id) => {
            let mut member = described(&file.object(*id));
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
