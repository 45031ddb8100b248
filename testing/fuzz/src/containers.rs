//! Containers of the VOL connector, one file or a folder: datasets whole and in hyperslabs give the same bytes, as `read_sizes` does.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fuzz::honest;
use crate::read_sizes;

/// Containers that the connector wrote, and their Arrow files, in the order of their names.
pub fn golden() -> PathBuf {
    // Clones may share a target folder, and with it the binaries of tests: cargo says where it runs one.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.join("../../crates/arrow-container/tests/golden")
}

fn arrow_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder of a container");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.extension().is_some_and(|e| e == "arrow")).collect();
    files.sort();
    files
}

/// A number, then bytes: with 0 a container of one file; otherwise the file of that number in a folder, whose other files are whole.
pub fn container(data: &[u8]) {
    let [number, body @ ..] = data else { return };
    let files = arrow_files(&golden().join("version-1-folder.h5"));
    let place = usize::from(*number) % (files.len() + 1);
    let Some(changed) = place.checked_sub(1) else { return read_sizes::read_file(body) };
    let scratch = std::env::var_os("HYPERSLAB_FUZZ_SCRATCH").map_or_else(std::env::temp_dir, Into::into);
    let folder = scratch.join(format!("hyperslab-fuzz-container-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a scratch folder");
    for (index, file) in files.iter().enumerate() {
        let target = folder.join(file.file_name().expect("a file"));
        if index == changed { fs::write(&target, body).map(drop) } else { fs::copy(file, &target).map(drop) }.expect("a scratch file");
    }
    let file = honest(read_sizes::session().open(&folder));
    if let Some(file) = file {
        read_sizes::read_all(&file, data);
    }
    fs::remove_dir_all(&folder).expect("the scratch folder");
}

/// Seeds in a folder: the containers, each Arrow file after its number.
pub fn write_seeds(to: &Path) -> Vec<PathBuf> {
    let whole = [golden().join("version-1-file.h5")];
    let files = whole.into_iter().chain(arrow_files(&golden().join("version-1-folder.h5"))).enumerate();
    files
        .map(|(number, file)| {
            let seed = to.join(format!("container{number:02}"));
            let body = fs::read(&file).expect("a golden file");
            fs::write(&seed, [&[u8::try_from(number).expect("few files")], body.as_slice()].concat()).expect("a seed");
            seed
        })
        .collect()
}
