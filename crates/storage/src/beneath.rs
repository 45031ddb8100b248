//! Opens files that other files name, without leaving a folder by a symbolic link.

use std::fs::File;
use std::path::Path;

use hyperslab_array::Error;
use rustix::fs::{Mode, OFlags};

/// What an error of the operating system holds if a link leads out of the folder.
#[derive(Debug)]
struct LeadsOut;

impl std::error::Error for LeadsOut {}

impl std::fmt::Display for LeadsOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "a symbolic link that leads out of the folder of the file that names it; only files in the same folder and below are opened (set paths=\"anywhere\" to widen it)",
        )
    }
}

/// `Unsupported` if `error` says that a link leads out of a folder; `None` for other errors.
pub(crate) fn leads_out(error: &std::io::Error) -> Option<Error> {
    error.get_ref()?.downcast_ref::<LeadsOut>().map(|leads_out| Error::unsupported(leads_out.to_string()))
}

/// Opens `path`, whose parts before the rest are `folder`, for reading without blocking. The kernel follows symbolic links below
/// the folder only, so that no process can exchange a part of the path in between; a kernel without `openat2` compares where both
/// lead to first.
pub(crate) fn open_beneath(folder: &Path, path: &Path) -> std::io::Result<File> {
    let below = path.strip_prefix(folder).map_err(|_| std::io::Error::other(LeadsOut))?;
    match resolved(folder, below, false) {
        Some(Err(error)) if leads_out(&error).is_some() => {}
        Some(opened) => return opened,
        None => {}
    }
    // An absolute link may lead back to the folder: its target is opened without any link.
    let (folder, path) = (if folder.as_os_str().is_empty() { Path::new(".") } else { folder }.canonicalize()?, path.canonicalize()?);
    let below = path.strip_prefix(&folder).map_err(|_| std::io::Error::other(LeadsOut))?;
    resolved(&folder, below, true).unwrap_or_else(|| Ok(File::from(rustix::fs::open(&path, FLAGS | OFlags::NOFOLLOW, Mode::empty())?)))
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Opens a path below `folder` by `openat2`; `None` if the kernel has none.
#[cfg(target_os = "linux")]
fn resolved(folder: &Path, below: &Path, without_links: bool) -> Option<std::io::Result<File>> {
    use rustix::fs::ResolveFlags;
    use rustix::io::Errno;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let open = || {
        let folder = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let links = if without_links { ResolveFlags::NO_SYMLINKS } else { ResolveFlags::empty() };
        rustix::fs::openat2(folder, below, FLAGS, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | links)
    };
    // `AGAIN`: a folder was renamed meanwhile.
    let opened = (0..8).map(|_| open()).find(|opened| !matches!(opened, Err(Errno::AGAIN)))?;
    match opened {
        Ok(file) => Some(Ok(File::from(file))),
        Err(Errno::XDEV | Errno::LOOP) => Some(Err(std::io::Error::other(LeadsOut))),
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => None,
        Err(error) => Some(Err(error.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn resolved(_folder: &Path, _below: &Path, _without_links: bool) -> Option<std::io::Result<File>> {
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_below_the_folder_only() -> std::io::Result<()> {
        let root = std::env::temp_dir().join(format!("hyperslab-beneath-{}", std::process::id()));
        let folder = root.join("here");
        std::fs::create_dir_all(folder.join("below"))?;
        std::fs::write(folder.join("below/data"), b"data")?;
        std::fs::write(root.join("secret"), b"secret")?;
        symlink("below/data", folder.join("inside"))?;
        symlink(folder.join("below/data"), folder.join("absolute"))?;
        symlink("../secret", folder.join("outside"))?;
        symlink("..", folder.join("up"))?;
        symlink("loop", folder.join("loop"))?;
        for name in ["below/data", "inside", "absolute"] {
            assert_eq!(std::io::read_to_string(open_beneath(&folder, &folder.join(name))?)?, "data", "{name}");
        }
        for name in ["outside", "up/secret", "../secret"] {
            let error = open_beneath(&folder, &folder.join(name)).err();
            assert!(error.as_ref().is_some_and(|error| leads_out(error).is_some()), "{name}: {error:?}");
        }
        for name in ["missing", "loop"] {
            assert!(open_beneath(&folder, &folder.join(name)).is_err_and(|error| leads_out(&error).is_none()), "{name}");
        }
        std::fs::remove_dir_all(&root)
    }
}
