"""Objects of MATLAB's classes against mat-io: the files that MATLAB wrote for mat-io's own tests (BSD-3, in its source package on PyPI)."""

from __future__ import annotations

import pathlib
import sys
import warnings
from typing import Any

import hyperslab as hs
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "conformance"))

import packages

(PACKAGE,) = [package for package in packages.listed() if package.name == "mat-io"]
MatlabObject = hs.models.matlab.MatlabObject
#: What mat-io does not read, or reads as something that cannot be compared: the tests say what ours is.
APART = {"handletype": "COM.Excel_Application", "javatype": "java.lang.String"}


def is_hdf5(path: pathlib.Path) -> bool:
    return path.read_bytes()[:10] == b"MATLAB 7.3"


def files() -> list[pathlib.Path]:
    found = sorted(path for path in packages.unpack(PACKAGE).rglob("*.mat") if "corrupted" not in path.name and is_hdf5(path))
    assert len(found) >= 10, "the source package has the files"
    return found


FILES = files()


def theirs(path: pathlib.Path, raw: bool = False) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The import changes an option of pandas.
        infer = pd.get_option("future.infer_string")
        import matio

        pd.set_option("future.infer_string", infer)
        read = matio.load_from_mat(str(path), raw_data=raw)
    return {name: value for name, value in read.items() if not name.startswith("__")}


def plain(value: Any) -> Any:
    """A value in a form that both readers share: lists in MATLAB's order without extents of 1; objects as their properties."""
    name = type(value).__name__
    if isinstance(value, MatlabObject) and value.class_name == "categorical":
        about = value.contents
        labels = np.array([*about["categories"], np.nan], object)[about["codes"]]
        return {"labels": plain(labels), "categories": about["categories"], "ordered": about["ordered"]}
    if isinstance(value, MatlabObject):
        return plain(value.contents)
    if name == "EmptyMatStruct":
        return plain([{}] * value.size)
    if getattr(value, "classname", "") == "dictionary":
        parts = value.properties["data"][0, 0]
        return (
            {}
            if "Unconfigured" in parts.dtype.names
            else {str(plain(key)): plain(item) for key, item in zip(parts["Key"].ravel(), np.ravel(parts["Value"]), strict=True)}
        )
    if name == "MatlabOpaque":
        return plain(value.properties)
    if name == "MatlabFunction":
        return plain(np.asarray(value))
    if name == "MatlabEnumerationArray":
        return plain(np.array([member.name for member in np.ravel(value)], object).reshape(value.shape))
    if isinstance(value, pd.DataFrame):
        return {"index": plain(value.index.to_numpy()), **{str(column): plain(value[column].to_numpy()) for column in value.columns}}
    if isinstance(value, pd.Categorical):
        return {"labels": plain(np.asarray(value, object)), "categories": list(value.categories), "ordered": value.ordered}
    if scipy.sparse.issparse(value):
        return plain(value.toarray())
    if hasattr(value, "items"):
        # The workspace of a function handle contains itself; dynamic properties have names of our own.
        return {str(key): plain(item) for key, item in value.items() if key != "workspace" and "dynamic" not in str(key)}
    if isinstance(value, np.ndarray):
        return of_array(value)
    if isinstance(value, (list, tuple)):
        return plain(value[0]) if len(value) == 1 else [plain(item) for item in value]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return None if np.isnat(value) else int(value.astype(f"{value.dtype.kind}8[ns]").astype("i8"))
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, str):
        # mat-io's arrays of text lose what numpy pads with.
        value = value.rstrip(" \0")
    return [] if value is None or (isinstance(value, str) and not value) else value


def of_array(value: np.ndarray) -> Any:
    if value.dtype.names:
        parts = [{name: plain(element[name]) for name in value.dtype.names if name != "workspace"} for element in value.ravel()]
        return parts[0] if len(parts) == 1 else parts
    if not value.size:
        return []
    shape = tuple(extent for extent in value.shape if extent != 1)
    if not shape:
        return plain(value.ravel()[0] if value.dtype.kind != "O" else value.item())
    return [plain(item) for item in value.reshape(shape)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_that_matlab_wrote(path: pathlib.Path) -> None:
    m, expected, raw = hs.models.matlab.open(path), theirs(path), theirs(path, raw=True)
    assert set(m) >= set(expected)
    for name, value in expected.items():
        if name in APART:
            assert m[name].class_name == APART[name]
            continue
        ours = m[name]
        if name == "table_name_clash":
            # mat-io invents the name m_1_1; ours keeps the matrix as one column.
            assert [row.tolist() for row in ours["m"]] == [[1, 2], [3, 4]] and ours["m_1"].tolist() == [5, 6]
        elif getattr(raw[name], "classname", "") == "calendarDuration":
            for field, unit in (("months", "M"), ("days", "D")):
                assert plain(ours[field]) == plain(value[field].astype(f"m8[{unit}]").astype("f8")), name
            assert plain(ours["time"]) == plain(value["millis"]), name
        elif getattr(raw[name], "classname", "") == "duration":
            # mat-io cuts durations off to the unit of their format.
            properties = raw[name].properties
            assert plain(ours) == plain(np.round(np.asarray(properties["millis"]) * 1e6).astype("m8[ns]")), name
        else:
            assert plain(ours) == plain(value), name


def test_damaged_subsystems_are_refused_by_name() -> None:
    found = sorted(path for path in packages.unpack(PACKAGE).rglob("*corrupted*.mat") if is_hdf5(path))
    assert len(found) == 2
    for path in found:
        with pytest.raises(hs.Error) as caught:
            hs.models.matlab.open(path)["var"]
        assert caught.value.object in ("/var", "/#subsystem#/MCOS"), path.name


def test_times_and_tables_as_their_generator_says() -> None:
    """Values from the scripts in MATLAB that made the files."""
    by_name = {path.name: path for path in FILES}
    times = hs.models.matlab.open(by_name["test_time_v73.mat"])
    # Noon in New York in April.
    assert times["dt_tz"].dtype.metadata == {"tz": "America/New_York"} and times["dt_tz"] == np.datetime64("2025-04-01T16:00")
    assert times["dur_hms"] == np.timedelta64(3723, "s") and times["dt_array"].shape == (2, 3)
    tables = hs.models.matlab.open(by_name["test_tables_v73.mat"])
    frame = tables["table_with_attrs"]
    assert frame.attrs["description"] == "Test table with full metadata" and frame.attrs["variable_units"] == ["", "category"]
    assert tables["timetable_from_starttime_calendarDuration"].index.tolist() == [pd.Timestamp(f"2020-0{month}-01") for month in (1, 4, 7)]
    assert tables["timetable_with_attrs"].index.name == "Date" and tables["cat_ordered"].ordered
