"""Data models on the real files of packages.toml: what each model reads, compared with the library of its format. Prints a table.

`models.py [FOLDER …]` takes folders; by default all packages that are in the cache (`make conformance` fetches them). Each file is read in a
process of its own. A file counts once for each model that recognizes it. Exits with 1 if anything is different, or neither read nor refused by
name.

| model | judge | compared |
|---|---|---|
| matlab | pymatreader | the values of all variables; those of objects are in `make test-instruments` |
| anndata | anndata | obs, var, X, layers |
| pytables | PyTables | tables and arrays |
| pandas | pandas | all objects |
| cf | netCDF4 and NumPy | each variable of each table |
| others | h5py | tables are read, or refused with the object |
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import signal
import sys
import warnings
from typing import Any

import anndata as ad
import hyperslab as hs
import netCDF4
import numpy as np
import packages
import pandas as pd
import pymatreader
import signature
import tables

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

from test_models_matlab import normal

SECONDS = 600
#: Rows of a table that are read where the judge is asked for these alone.
ROWS = 20_000
OUTCOMES = ("equal", "read", "refused", "judge fails", "different", "error")


def same(ours: Any, theirs: Any) -> bool:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        return False
    if ours.dtype.kind in "fc" and theirs.dtype.kind in "fciu":
        return bool(np.array_equal(ours, theirs, equal_nan=True))
    if ours.dtype.names:
        # PyTables orders members by their place.
        return set(ours.dtype.names) == set(theirs.dtype.names or ()) and all(same(ours[name], theirs[name]) for name in ours.dtype.names)
    return bool(np.array_equal(ours, theirs))


def matlab(path: str) -> str:
    ours = hs.models.matlab.open(path)
    try:
        theirs = pymatreader.read_mat(path)
    except Exception:
        ours.load()
        return "judge fails"
    compared = 0
    for name in ours:
        value = ours[name]
        if f"/{name}" in ours.omitted and "object" in ours.omitted[f"/{name}"]:
            continue
        # Struct arrays by field, and structs with objects in them, are pymatreader's forms.
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value)) or name not in theirs:
            continue
        try:
            mine, other = normal(value), normal(theirs[name])
        except ValueError:
            # pymatreader has records for the values of complex sparse matrices, which SciPy cannot use.
            continue
        # pymatreader has logicals in cells as numbers, and nothing for function handles.
        if isinstance(value, hs.models.matlab.MatlabObject) or "MatlabObject" in str(mine) or "HDF5 object reference" in str(other):
            continue
        if json.dumps(mine, default=str).replace("true", "1").replace("false", "0") != json.dumps(other, default=str).replace("true", "1").replace(
            "false", "0"
        ):
            raise AssertionError(f"{name}: {str(mine)[:80]} and {str(other)[:80]}")
        compared += 1
    return "equal" if compared else "read"


def anndata(path: str) -> str:
    ours = hs.models.anndata.open(path)
    try:
        theirs = ad.read_h5ad(path)
    except Exception:
        return everything(path, "anndata", "judge fails")
    for name in ("obs", "var"):
        mine, other = ours.frame(name), getattr(theirs, name)
        if list(mine.columns) != list(other.columns) or not same(mine.index.astype(str), other.index.astype(str)):
            raise AssertionError(f"{name} has other columns or labels")
        for column in mine:
            a, b = (frame[column].astype(object).where(frame[column].notna(), None).tolist() for frame in (mine, other))
            if a != b and not pd.Series(a).equals(pd.Series(b)):
                raise AssertionError(f"{name}/{column} is different")
    if "X" in ours.tables and theirs.X is not None:
        rows = np.arange(theirs.X.shape[0])
        if abs(ours.rows(rows) - theirs.X).sum() != 0:
            raise AssertionError("X is different")
    return "equal"


def pytables(path: str) -> str:
    ours = hs.models.pytables.open(path)
    compared, refused = 0, 0
    with tables.open_file(path) as f:
        for name in [*ours.tables, *(array.name for array in ours.arrays)]:
            try:
                theirs = f.get_node("/" + name)
                if not isinstance(theirs, (tables.Table, tables.Array)):
                    continue
                wanted = theirs.read()
            except Exception:
                continue
            try:
                mine = ours.read(name)
            except hs.UnsupportedError:
                refused += 1
                continue
            if not same(mine, np.asarray(wanted).reshape(np.shape(mine)) if np.size(mine) == np.size(wanted) else wanted):
                raise AssertionError(f"{name} is different")
            compared += 1
    if any(name.startswith("time") for name in ours.omitted.values()):
        refused += 1
    return "equal" if compared else "refused" if refused else "read"


def pandas(path: str) -> str:
    ours = hs.models.pandas.open(path)
    compared, refused = 0, []
    for key in ours:
        try:
            theirs = pd.read_hdf(path, key)
        except Exception:
            continue
        try:
            mine = ours[key]
        except hs.UnsupportedError as error:
            refused.append(str(error))
            continue
        check = pd.testing.assert_frame_equal if isinstance(theirs, pd.DataFrame) else pd.testing.assert_series_equal
        check(mine, theirs, check_freq=False)
        compared += 1
    return "equal" if compared else "refused" if refused else "judge fails"


def cf(path: str) -> str:
    view = next(model for model in hs.open(path).models if model.name == "cf")
    compared, refused = 0, 0
    with netCDF4.Dataset(path) as f:
        f.set_auto_maskandscale(False)
        f.set_auto_chartostring(False)
        for array in view.arrays:
            variable = f[array.path.lstrip("/")] if array.path.lstrip("/").split("/")[-1] in str(list(f.variables)) or "/" in array.path.strip("/") else None
            if variable is None or variable.dtype is str or variable.dtype.kind not in "iufS":
                continue
            mine, other = view.file[array.path][...] if variable.shape else view.file[array.path][()], variable[...]
            if any(dimension.isunlimited() for dimension in variable.get_dims()) and np.shape(mine) == np.shape(other):
                # netCDF-C gives leftovers of its memory for rows that were never written, which are fill values.
                other = np.where(mine == getattr(variable, "_FillValue", np.nan), mine, other)
            if not same(mine, other):
                raise AssertionError(f"{array.path} is different")
            compared += 1
        for name in view.tables:
            try:
                view.table(name, limit=ROWS).to_arrow()
            except hs.UnsupportedError:
                refused += 1
    return "equal" if compared else "refused" if refused else "read"


def everything(path: str, model: str, outcome: str = "read") -> str:
    """All tables and what the model says, each read or refused with the object."""

    view = next(found for found in hs.open(path).models if found.name == model)
    view.validate(), view.omitted, view.facts
    refused = 0
    for name in view.tables:
        try:
            view.table(name, limit=ROWS).to_arrow()
        except hs.Error as error:
            if error.object is None or isinstance(error, hs.InternalError):
                raise
            refused += 1
    return outcome if not refused else "refused"


JUDGED = {"matlab": matlab, "anndata": anndata, "pytables": pytables, "cf": cf, "pandas": pandas}


def one(path: str) -> list[tuple[str, str, str]]:
    """The models of a file with their outcome and a reason."""

    warnings.simplefilter("ignore")
    try:
        names = [model.name for model in hs.open(path).models if model.certainty != "possible"]
    except hs.Error:
        return []
    if "pytables" in names:
        try:
            hs.models.pandas.open(path)
            names.append("pandas")
        except hs.Error:
            pass
    found = []
    for name in names:
        try:
            outcome = JUDGED[name](path) if name in JUDGED else everything(path, name)
            found.append((name, outcome, ""))
        except hs.UnsupportedError as error:
            found.append((name, "refused", str(error)))
        except hs.Error as error:
            has_place = error.object is not None and not isinstance(error, hs.InternalError)
            found.append((name, "refused" if has_place else "error", str(error)))
        except AssertionError as error:
            found.append((name, "different", str(error)[:300]))
        except Exception as error:  # whatever is not an error with a name is a finding
            found.append((name, "error", f"{type(error).__name__}: {error}"[:300]))
    return found


def judged(path: pathlib.Path) -> list[list[str]]:
    """What `one` finds in a process of its own."""
    out, pipe = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.write(pipe, json.dumps(one(str(path))).encode())
        os._exit(0)
    os.close(pipe)
    with os.fdopen(out, "rb") as answer:
        data = answer.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(data) if data else [["any", "error", f"ended with status {status}, or not within {SECONDS} s"]]


def share(files: list[pathlib.Path], pipe: int) -> None:
    """A worker: a line of JSON for each of its files."""
    with os.fdopen(pipe, "w") as out:
        for path in files:
            out.write(json.dumps([str(path), judged(path)]) + "\n")
            out.flush()


def main() -> int:
    folders = [pathlib.Path(folder) for folder in sys.argv[1:]] or [packages.CACHE / "files"]
    files, seen = [], set()
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        if signature.kind(path) is not None and (digest := packages.sha256(path)) not in seen:
            seen.add(digest)
            files.append(path)
    outcomes: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    worst = 0
    jobs = int(os.environ.get("JOBS") or os.cpu_count() or 1)
    pipes = []
    for job in range(jobs):
        out, pipe = os.pipe()
        if os.fork() == 0:
            share(files[job::jobs], pipe)
            os._exit(0)
        os.close(pipe)
        pipes.append(out)
    for out in pipes:
        with os.fdopen(out) as lines:
            for line in lines:
                name, found = json.loads(line)
                for model, outcome, reason in found:
                    outcomes[model][outcome] += 1
                    if outcome not in ("equal", "read"):
                        print(f"# {model} {outcome}: {pathlib.Path(name).name}: {reason}", flush=True)
                    worst |= outcome in ("different", "error")
    print(f"{'model':14} files " + " ".join(f"{outcome:>11}" for outcome in OUTCOMES))
    for model, counts in sorted(outcomes.items()):
        print(f"{model:14} {sum(counts.values()):5} " + " ".join(f"{counts[outcome] or '':>11}" for outcome in OUTCOMES))
    return int(worst)


if __name__ == "__main__":
    sys.exit(main())
