//! Check, stat and recovery of a file: their results are JSON, which Python makes values of.

use std::path::PathBuf;

use hyperslab::Cancellation;
use hyperslab::check::CheckOptions;
use hyperslab::recover::RecoverOptions;
use pyo3::prelude::*;

use crate::session::Session;
use crate::wait::wait;

/// Calls `progress`, if there is one, with what is done, what there is to do, and the unit. An exception in it does not stop the work.
fn report(progress: &Option<Py<PyAny>>, done: u64, total: u64, unit: &'static str) {
    if let Some(progress) = progress {
        let _ = Python::attach(|py| progress.call1(py, (done, total, unit)).map(|_| ()));
    }
}

/// Checks a file; returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (session, path, with_data, progress=None))]
pub(crate) fn check(py: Python<'_>, session: &Session, path: PathBuf, with_data: bool, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let session = session.inner().clone();
    let cancellation = Cancellation::new();
    let shared = cancellation.clone();
    wait(py, &cancellation, move || {
        let options = CheckOptions::default().with_data(with_data);
        let mut report = |done, total, unit| report(&progress, done, total, unit);
        hyperslab::check::check(&path, &session, &options, &shared, &mut report)?.to_json()
    })
}

/// Sums up a file; returns the sums as JSON.
#[pyfunction]
#[pyo3(signature = (session, path, progress=None))]
pub(crate) fn stat(py: Python<'_>, session: &Session, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<String> {
    let session = session.inner().clone();
    let cancellation = Cancellation::new();
    let shared = cancellation.clone();
    wait(py, &cancellation, move || {
        let mut report = |done, total, unit| report(&progress, done, total, unit);
        hyperslab::check::stat(&path, &session, &shared, &mut report)?.to_json()
    })
}

/// Recovers what a damaged file holds into a new one; returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (session, broken, out, replace, deleted, progress=None))]
pub(crate) fn recover(
    py: Python<'_>,
    session: &Session,
    broken: PathBuf,
    out: PathBuf,
    replace: bool,
    deleted: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let session = session.inner().clone();
    let cancellation = Cancellation::new();
    let shared = cancellation.clone();
    wait(py, &cancellation, move || {
        let options = RecoverOptions::default().with_replace(replace).with_deleted(deleted);
        let mut report = |done, total, unit| report(&progress, done, total, unit);
        hyperslab::recover::recover(&broken, &out, &session, &options, &shared, &mut report)?.to_json()
    })
}
