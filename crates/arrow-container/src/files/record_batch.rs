//! Arrow files of one record batch.

use std::fs::File;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;

use super::ipc;
use super::names::unique_name;
use super::source::Source;
use crate::error::{Result, error};

/// Writes a record batch as an Arrow file: to a temporary name first, then renamed.
pub(crate) fn write(folder: &Path, name: &str, batch: &RecordBatch, sync: bool) -> Result<()> {
    let aside = folder.join(format!(".{}.part", unique_name()));
    let work = || -> Result<()> {
        let file = File::create_new(&aside)?;
        let mut writer = FileWriter::try_new_buffered(file, &batch.schema())?;
        writer.write(batch)?;
        writer.finish()?;
        let file = writer.into_inner()?.into_inner().map_err(|error| error.into_error())?;
        if sync {
            file.sync_all()?;
        }
        std::fs::rename(&aside, folder.join(name))?;
        Ok(())
    };
    work().map_err(|error| {
        let _ = std::fs::remove_file(&aside);
        error!("cannot write {}: {}", folder.join(name).display(), error.message).with_source(error)
    })
}

/// Reads a file that [`write`] wrote.
pub(crate) fn read(source: &dyn Source, name: &str) -> Result<RecordBatch> {
    let work = || -> Result<RecordBatch> {
        let mut file = source.open(name)?;
        ipc::check(&mut *file)?;
        let mut reader = FileReader::try_new_buffered(file, None)?;
        let batch = reader.next().ok_or_else(|| error!("the file has no record batch"))??;
        Ok(batch)
    };
    work().map_err(|error| error!("{}/{name}: {}", source.name(), error.message).with_source(error))
}
