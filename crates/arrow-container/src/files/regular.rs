//! Opens regular files only: a container of a stranger may have a pipe, which opening waits for, or a link to a file elsewhere in
//! the place of each of its files.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a part of a container for reading; a symbolic link is an error.
pub(crate) fn open_part(path: &Path) -> io::Result<File> {
    open(path, OFlags::NOFOLLOW)
}

/// Opens what a user named for reading; links are followed.
pub(crate) fn open_named(path: &Path) -> io::Result<File> {
    open(path, OFlags::empty())
}

fn open(path: &Path, more: OFlags) -> io::Result<File> {
    let file = match rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | more, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP) => return Err(io::Error::other("this is a symbolic link, which is not followed here")),
        Err(error) => return Err(error.into()),
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("this is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_are_not_waited_for_and_links_of_parts_not_followed() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let (pipe, link, file) = (folder.path().join("pipe"), folder.path().join("link"), folder.path().join("file"));
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR)?;
        std::fs::write(&file, "x")?;
        std::os::unix::fs::symlink(&file, &link)?;
        assert!(open_part(&file).is_ok() && open_named(&file).is_ok() && open_named(&link).is_ok());
        for (error, said) in [
            (open_part(&pipe), "not a regular file"),
            (open_named(&pipe), "not a regular file"),
            (open_part(&link), "symbolic link"),
            (open_part(folder.path()), "not a regular file"),
        ] {
            assert!(error.is_err_and(|error| error.to_string().contains(said)), "{said}");
        }
        Ok(())
    }
}
