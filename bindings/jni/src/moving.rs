//! Moving: what tasks wrote into a file of its own becomes a single file, or one object of an existing file.

use std::path::{Path, PathBuf};

use hyperslab::edit::{CopyOptions, Editor};
use hyperslab::write::{COMMIT_ATTRIBUTE, Existing, fuse};
use hyperslab::{Cancellation, Error, Interpretation, Result, Session, SessionOptions, new_session};

fn plain_session() -> Result<Session> {
    new_session(SessionOptions::default().with_threads(Some(1)).with_interpretation(Interpretation::Hdf5))
}

/// Checks that one object of the file at `target` can be replaced. `Unsupported` if the file is the master of subfiles.
pub(crate) fn check_replaceable(target: &Path) -> Result<()> {
    let file = plain_session()?.open(target)?;
    let root = file.find("/")?.object;
    if file.attributes(root)?.iter().any(|attribute| attribute.name == COMMIT_ATTRIBUTE) {
        let message = "replacing a dataset of a file that Spark or many writers wrote is not supported: make one file of it with `hyperslab fuse`, or append another dataset";
        return Err(Error::unsupported(message).in_file(target.display().to_string()));
    }
    Ok(())
}

/// Makes the container at `source` one ordinary file at `target`, which must not exist, and removes `source`.
pub(crate) fn move_to(source: &Path, target: &Path) -> Result<()> {
    fuse(source, target, Existing::Keep, &Cancellation::new(), &mut |_, _| {})?;
    remove(source)
}

/// Replaces the object `path` of the file at `target`, which may lack it, by the same object of the container at `source`. Everything else in
/// the file stays, and readers see the file before or after the change. Removes `source`.
pub(crate) fn move_into(source: &Path, target: &Path, path: &str) -> Result<()> {
    let single = with_suffix(source, ".single");
    let moved = (|| {
        check_replaceable(target)?;
        fuse(source, &single, Existing::Keep, &Cancellation::new(), &mut |_, _| {})?;
        let session = plain_session()?;
        let written = session.open(&single)?.find(path)?;
        let mut editor = Editor::open(target, &session)?;
        if editor.view_in(&session)?.exists(path)? {
            editor.remove(path)?;
        }
        editor.copy(&written, path, CopyOptions::default(), &Cancellation::new())?;
        editor.commit().map(drop)
    })();
    let removed = match std::fs::remove_file(&single) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(error, "removing a temporary file").in_file(single.display().to_string())),
        _ => remove(source),
    };
    moved.and(removed)
}

/// Removes a container and its subfiles.
fn remove(master: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Error::io(error, "removing a temporary file").in_file(master.display().to_string());
    std::fs::remove_file(master).map_err(failed)?;
    match std::fs::remove_dir_all(with_suffix(master, ".d")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
        _ => Ok(()),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
