"""netCDF files of every kind: names, dimensions, values and attributes are netCDF4's."""

from __future__ import annotations

import pathlib
import struct
import warnings

import h5py
import hyperslab as hs
import netCDF4
import numpy as np
import pyarrow as pa
import pytest

MODELS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC", "NETCDF4"]
CLASSIC = ["i1", "S1", "i2", "i4", "f4", "f8"]
WIDE = ["u1", "u2", "u4", "i8", "u8"]


def types(model: str) -> list[str]:
    return CLASSIC + (WIDE if model in ("NETCDF3_64BIT_DATA", "NETCDF4") else [])


def some(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    if kind == "S1":
        return np.array([b"abcdefg"[i % 7 : i % 7 + 1] for i in range(count)], "S1").reshape(shape)
    values = (np.arange(count) % 120).astype(kind)
    if count:
        values[0] = np.iinfo(kind).min if np.dtype(kind).kind in "iu" else np.nan
    return values.reshape(shape)


def compare(ours: hs.Group, theirs: netCDF4.Dataset) -> int:
    """Every variable and attribute of a group and those below; gives how many were compared."""
    theirs.set_auto_maskandscale(False)
    theirs.set_auto_chartostring(False)
    count = 0
    assert list(ours.attrs) == theirs.ncattrs()
    assert [name for name in ours if name in theirs.variables] == list(theirs.variables)
    assert sorted(ours.keys()) == sorted([*theirs.variables, *theirs.groups, *theirs.cmptypes, *theirs.vltypes, *theirs.enumtypes])
    for name, variable in theirs.variables.items():
        mine = ours[name]
        assert mine.dims == variable.dimensions
        assert mine.shape == variable.shape
        if name.startswith("both_"):
            continue  # netCDF-C 4.9 puts values read along two grown dimensions in the wrong places
        wanted = variable[...]
        found = mine[...] if mine.dtype.kind != "O" else mine.asstr()[...]
        np.testing.assert_array_equal(found, wanted)
        if mine.dtype.kind != "O":
            assert mine.dtype.newbyteorder("=") == wanted.dtype.newbyteorder("=")
        assert list(mine.attrs) == variable.ncattrs()
        for attribute in variable.ncattrs():
            equal(mine.attrs[attribute], variable.getncattr(attribute))
        count += 1
    for name in theirs.groups:
        count += compare(ours[name], theirs.groups[name])
    for attribute in theirs.ncattrs():
        equal(ours.attrs[attribute], theirs.getncattr(attribute))
    return count


def equal(ours: object, theirs: object) -> None:
    """netCDF4 gives one number for an attribute of one element, and text as str."""
    if isinstance(theirs, str):
        assert (ours.decode() if isinstance(ours, bytes) else ours if isinstance(ours, str) else np.ravel(ours)[0]) == theirs
    elif isinstance(theirs, list):
        assert list(ours) == theirs  # type: ignore[call-overload]
    else:
        np.testing.assert_array_equal(np.ravel(ours), np.ravel(theirs))  # type: ignore[arg-type]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("records", [0, 1, 3])
def test_every_type_fixed_and_record_equals_netcdf4(tmp_path: pathlib.Path, model: str, records: int) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.title, f.numbers = "ä title", np.arange(3, dtype="i4")
        f.createDimension("t", None)
        f.createDimension("x", 5)
        f.createDimension("y", 3)
        for kind in types(model):
            fixed = f.createVariable(f"fixed_{kind}", kind, ("x", "y"))
            fixed[:] = some(kind, (5, 3))
            record = f.createVariable(f"record_{kind}", kind, ("t", "y"))
            record[0:records] = some(kind, (records, 3))
            f.createVariable(f"along_{kind}", kind, ("t",))[0:records] = some(kind, (records,))
            f.createVariable(f"scalar_{kind}", kind, ())[...] = some(kind, (1,))[0]
            if kind != "S1":
                fixed.setncattr("list", some(kind, (4,)))
                fixed.setncattr("one", some(kind, (2,))[1])
        f.createVariable("never_written", "f4", ("x",))
    with netCDF4.Dataset(path) as theirs:
        assert compare(hs.open(path), theirs) == 4 * len(types(model)) + 1


@pytest.mark.parametrize("model", MODELS[:3])
@pytest.mark.parametrize("kind", ["i1", "S1", "i2"])
def test_one_record_variable_is_not_padded(tmp_path: pathlib.Path, model: str, kind: str) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.createDimension("t", None)
        f.createDimension("x", 3)
        f.createVariable("only", kind, ("t", "x"))[0:7] = some(kind, (7, 3))
        f.createVariable("fixed", "i2", ("x",))[:] = [1, 2, 3]
    with netCDF4.Dataset(path) as theirs:
        assert compare(hs.open(path), theirs) == 2


def test_groups_inherit_dimensions_and_hide_bookkeeping(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 4)
        f.createDimension("unused", 2)
        f.createVariable("x", "f8", ("x",))[:] = np.arange(4) * 10
        inner = f.createGroup("a").createGroup("b")
        inner.createDimension("z", 2)
        inner.createVariable("field", "f4", ("time", "z", "x"), zlib=True, shuffle=True, fletcher32=True)[0:3] = some("f4", (3, 2, 4))
        inner.createVariable("text", str, ("x",))[:] = np.array(["a", "", "ü", "long" * 50], dtype=object)
        inner.createVariable("coordinate_without_variable", "i4", ("z",))[:] = [4, 5]
        f.createVariable("square", "i4", ("x", "x"))[:] = some("i4", (4, 4))
        inner.createVariable("z", "i8", ("x",))[:] = np.arange(4)  # a variable of a dimension's name, along another
    f = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        assert compare(f, theirs) == 6
    assert "_NCProperties" not in f.attrs
    assert not {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid"} & set(f["x"].attrs) | set(f["square"].attrs)
    table = f.table("/a/b/field").to_arrow()
    assert table.column_names == ["time", "z", "x", "field"]
    assert table["x"].to_pylist()[:4] == [0, 10, 20, 30]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fill", [None, -5, False], ids=["default", "own", "no fill"])
def test_variables_are_as_long_as_their_unlimited_dimensions(tmp_path: pathlib.Path, model: str, fill: object) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.createDimension("t", None)
        f.createDimension("u", None if model == "NETCDF4" else 4)
        f.createDimension("x", 3)
        f.createVariable("long", "i4", ("t",))[0:9] = np.arange(9)
        for kind in types(model):
            if kind == "S1" and fill is not None:
                continue
            options = {"fill_value": fill} if fill is not None and not (kind.startswith("u") and fill) else {}
            f.createVariable(f"short_{kind}", kind, ("t", "x"), **options)[0:4] = some(kind, (4, 3))
            f.createVariable(f"none_{kind}", kind, ("t", "x"), **options)
            if model == "NETCDF4":
                f.createVariable(f"both_{kind}", kind, ("t", "u"), chunksizes=(2, 3), **options)[0:2, 0:2] = some(kind, (2, 2))
        if model == "NETCDF4":
            f.createVariable("wide", "i4", ("u",))[0:7] = np.arange(7)
            f.createVariable("text", str, ("t",))[0:2] = np.array(["a", "b"], dtype=object)
            inner = f.createGroup("g")
            inner.createDimension("t", None)  # another dimension of the same name, and longer
            inner.createVariable("longest", "i4", ("t",))[0:20] = np.arange(20)
    if fill is False and model.startswith("NETCDF3"):
        return  # what was never written is whatever the disk held
    f = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        compare(f, theirs)
        assert f["short_i4"].shape == (9, 3)
        theirs.set_auto_mask(False)
        for key in (np.s_[2:6, ::2], np.s_[5:], np.s_[::3, 1], np.s_[[1, 8]]):
            np.testing.assert_array_equal(f["short_f4"][key], theirs["short_f4"][key])
    assert f.table("/short_i4").count() == 27
    if model == "NETCDF4":
        wanted = np.full((9, 7), f["none_i4"][0, 0], "i4")
        wanted[0:2, 0:2] = some("i4", (2, 2))
        np.testing.assert_array_equal(f["both_i4"][...], wanted)
        np.testing.assert_array_equal(f["both_i4"][::2, 1:5], wanted[::2, 1:5])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "f4", "f8"])
def test_a_table_has_nulls_where_netcdf4_masks(tmp_path: pathlib.Path, model: str, kind: str) -> None:
    """`_FillValue` or the type's default, `missing_value` and the valid range all mean: not there."""
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.createDimension("x", 8)
        values = np.arange(8).astype(kind)
        f.createVariable("default", kind, ("x",))[0:5] = values[:5]
        f.createVariable("own", kind, ("x",), fill_value=3)[:] = values
        other = f.createVariable("missing", kind, ("x",))
        other.missing_value = np.array([2, 5], kind)
        other[:] = values
        ranged = f.createVariable("ranged", kind, ("x",))
        ranged.valid_min, ranged.valid_max = np.array(1, kind), np.array(6, kind)
        ranged[:] = values
        packed = f.createVariable("packed", kind, ("x",), fill_value=7)
        packed.scale_factor, packed.add_offset = 0.5, 10.0
        packed.set_auto_maskandscale(False)
        packed[:] = values
    f = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        for name in ("default", "own", "missing", "ranged", "packed"):
            # netCDF4-python masks a byte's default fill too; the Users Guide says that every byte may be meant.
            variable = theirs[name]
            variable.set_auto_mask(not (name == "default" and kind == "i1"))
            wanted = variable[:].tolist()
            assert f.table(f"/{name}").to_arrow()[name].to_pylist() == wanted, name


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", ["i1", "i2", "i4"])
def test_signed_integers_that_are_meant_unsigned(tmp_path: pathlib.Path, model: str, kind: str) -> None:
    """`_Unsigned`, as the classic model says unsigned numbers, with constants of the signed type."""
    path = tmp_path / "a.nc"
    values = np.array([0, 1, -1, -2, 100, np.iinfo(kind).min, np.iinfo(kind).max], kind)
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.createDimension("x", len(values))
        for name, fill in (("plain", None), ("filled", -2), ("packed", -1)):
            variable = f.createVariable(name, kind, ("x",), fill_value=fill)
            variable.setncattr("_Unsigned", "true")
            if name == "packed":
                variable.scale_factor, variable.add_offset = 0.5, 10.0
            variable.set_auto_maskandscale(False)
            variable[:] = values
    f = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        for name in ("filled", "packed"):
            assert f.table(f"/{name}").to_arrow()[name].to_pylist() == theirs[name][:].tolist(), name
    whole = [number % (1 << 8 * np.dtype(kind).itemsize) for number in values.tolist()]
    assert [n for n in f.table("/plain").to_arrow()["plain"].to_pylist() if n is not None] == whole
    assert f["plain"][...].tolist() == values.tolist()


def large_header(version: int, x: int, y: int) -> tuple[bytes, dict[str, int]]:
    """The header of `first(x)` f8, `record(t, y)` f4 and `other(t)` i2 with 2 records (NetCDF classic format
    specification), and where each variable begins: the library would write gigabytes to make such a file."""
    wide = ">Q" if version == 5 else ">I"  # a count or a size

    def listed(tag: int, entries: list[bytes]) -> bytes:
        return struct.pack(">I", tag) + struct.pack(wide, len(entries)) + b"".join(entries)

    def name(text: str) -> bytes:
        return struct.pack(wide, len(text)) + text.encode().ljust(-(-len(text) // 4) * 4, b"\0")

    def header(begins: dict[str, int]) -> bytes:
        def variable(text: str, dimensions: list[int], kind: int, size: int) -> bytes:
            size = min(size, 2**32 - 1) if version == 2 else size
            return (
                name(text)
                + struct.pack(wide, len(dimensions))
                + b"".join(struct.pack(wide, d) for d in dimensions)
                + struct.pack(">I", 0)
                + struct.pack(wide, 0)
                + struct.pack(">I", kind)
                + struct.pack(wide, size)
                + struct.pack(">Q", begins[text])
            )

        dimensions = [name(n) + struct.pack(wide, e) for n, e in (("t", 0), ("x", x), ("y", y))]
        variables = [variable("first", [1], 6, 8 * x), variable("record", [0, 2], 5, 4 * y), variable("other", [0], 3, 4)]
        return b"CDF" + bytes([version]) + struct.pack(wide, 2) + listed(10, dimensions) + struct.pack(">I", 0) + struct.pack(wide, 0) + listed(11, variables)

    size = len(header(dict.fromkeys(("first", "record", "other"), 0)))
    begins = {"first": size, "record": size + 8 * x, "other": size + 8 * x + 4 * y}
    return header(begins), begins


@pytest.mark.parametrize("version", [2, 5])
def test_values_beyond_4_gib_are_found(tmp_path: pathlib.Path, version: int) -> None:
    """Sparse on disk: only the ends of the variables are written."""
    path, x, y = tmp_path / "large.nc", 270_000_000, 560_000_000
    header, begins = large_header(version, x, y)
    with path.open("wb") as f:
        f.write(header)
        f.seek(begins["record"] - 40)
        f.write(np.arange(5, dtype=">f8").tobytes())
        for record in range(2):
            f.seek(begins["other"] + record * (4 * y + 4) - 20)
            f.write(np.arange(5, dtype=">f4").tobytes() + np.array([7 + record, 0], ">i2").tobytes())
    assert path.stat().st_size > 6 << 30
    f = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        theirs.set_auto_maskandscale(False)
        for name, key in (("first", np.s_[x - 7 :]), ("record", np.s_[1, y - 7 :]), ("record", np.s_[0, y - 6 :]), ("other", np.s_[:])):
            np.testing.assert_array_equal(f[name][key], theirs[name][key])
    assert f["first"][x - 1] == 4 and f["record"][1, y - 1] == 4
    assert f["other"][...].tolist() == [7, 8]


@pytest.mark.parametrize("model", MODELS[:3])
@pytest.mark.parametrize("cut", [1, 5, 40])
def test_truncated_records_are_an_error_and_the_rest_reads(tmp_path: pathlib.Path, model: str, cut: int) -> None:
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.createDimension("t", None)
        f.createDimension("x", 5)
        f.createVariable("fixed", "f8", ("x",))[:] = np.arange(5)
        f.createVariable("a", "i4", ("t", "x"))[:] = np.arange(20).reshape(4, 5)
        f.createVariable("b", "i2", ("t", "x"))[:] = np.arange(20).reshape(4, 5)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    f = hs.open(path)
    assert f["fixed"][...].tolist() == [0, 1, 2, 3, 4]
    assert f["a"][:2].tolist() == np.arange(10).reshape(2, 5).tolist()
    assert f["b"][:2].tolist() == np.arange(10).reshape(2, 5).tolist()
    if cut > 2:  # a record ends with two bytes of padding here
        with pytest.raises(hs.CorruptError, match="truncated"):
            f["b"][...]


@pytest.mark.parametrize("calendar", ["standard", "proleptic_gregorian"])
@pytest.mark.parametrize(
    "units",
    [
        "days since 0001-01-01 00:00:00",
        "hours since 1-1-1 00:00:0.0",
        "days since 1582-10-04",
        "days since 1582-10-15",
        "seconds since 1900-01-01 12:34:56.789",
        "days since 2000-02-29 00:00 -06:00",
        "day since 1800-1-1 06:00:00 +01:30",
    ],
)
def test_old_references_count_in_their_own_calendar(tmp_path: pathlib.Path, calendar: str, units: str) -> None:
    path = tmp_path / "a.nc"
    per_day = {"days": 1, "day": 1, "hours": 24, "seconds": 86400}[units.split()[0]]
    numbers = (np.array([0, 0.25, 600_000, 720_000.5]) * per_day)[1 if "0001" in units or "1-1-1" in units else 0 :]
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("time", len(numbers))
        time = f.createVariable("time", "f8", ("time",))
        time.units, time.calendar = units, calendar
        time[:] = numbers
    found = hs.open(path).table("/time").to_arrow()["time"].cast(pa.int64()).to_pylist()
    # The same instants, counted from 1970 by cftime.
    dates = netCDF4.num2date(numbers, units, calendar)
    wanted = netCDF4.date2num(dates, "microseconds since 1970-01-01", calendar)
    assert found == list(wanted)


def test_limits_that_the_stored_type_cannot_hold_are_ignored(tmp_path: pathlib.Path) -> None:
    """As netCDF4 does it: limits of unsigned bytes, of unpacked values, fractions, NaN."""
    path = tmp_path / "made.nc"
    cases: dict[str, tuple[str, dict]] = {
        "minc": ("i1", {"valid_range": np.array([0.0, 255.0])}),
        "unpacked": ("i2", {"valid_range": np.array([-50.5, 50.5]), "scale_factor": 0.01}),
        "beyond": ("i2", {"valid_min": np.int32(-40_000), "valid_max": np.int32(40_000)}),
        "below": ("u1", {"valid_range": np.array([-1, 100], "i2")}),
        "half": ("i2", {"valid_min": 0.5}),
        "one_side": ("i1", {"valid_min": np.int32(-100), "valid_max": np.int32(300)}),
        "whole": ("i2", {"valid_range": np.array([-5.0, 90.0])}),
        "nan": ("f4", {"valid_min": np.float32("nan"), "valid_max": np.float32(50)}),
        "range_first": ("i2", {"valid_range": np.array([-40_000, 5], "i4"), "valid_max": np.int16(60)}),
        "missing": ("i1", {"missing_value": np.int32(300)}),
        "fine": ("i1", {"valid_range": np.array([-3, 3], "i1")}),
    }
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("n", 200)
        for name, (kind, attributes) in cases.items():
            variable = f.createVariable(name, kind, ("n",), fill_value=False)
            variable[:] = (np.arange(200) - 100).astype(kind)
            variable.setncatts(attributes)
    with netCDF4.Dataset(path) as theirs, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = hs.open(path)
        for name in cases:
            expected = theirs[name][:]
            found = ours.table(f"/{name}").to_arrow()[name]
            assert found.is_null().to_pylist() == np.ma.getmaskarray(expected).tolist(), name
            np.testing.assert_allclose(np.array(found.drop_null()), expected.compressed().astype("f8"), rtol=1e-6)


def test_class_and_name_are_the_librarys_own_everywhere(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 3)
        f.createVariable("x", "f4", ("x",))[:] = 1
        f.createVariable("v", "f4", ("x",))[:] = 1
        f.createGroup("g")
    with h5py.File(path, "r+") as f:
        for place in ("/", "v", "g"):
            f[place].attrs.update({"CLASS": "mine", "NAME": "mine", "kept": 1})
    ours = hs.open(path)
    with netCDF4.Dataset(path) as theirs:
        for mine, their in [(ours, theirs), (ours["v"], theirs["v"]), (ours["g"], theirs.groups["g"]), (ours["x"], theirs["x"])]:
            assert list(mine.attrs) == their.ncattrs()
    assert hs.open(path, format="hdf5")["v"].attrs["CLASS"] == "mine"


def test_dimensions_without_a_scale_are_named_as_the_library_does(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "made.nc"
    with netCDF4.Dataset(path, "w") as f:
        f.createDimension("x", 3)
        f.createVariable("x", "f4", ("x",))
        f.createVariable("named", "f4", ("x",))
        f.createGroup("g").createDimension("y", 4)
    with h5py.File(path, "r+") as f:
        for group in ("/", "/g", "/g/inner", "/h"):
            made = f.require_group(group) if group in ("/", "/g") else f.create_group(group, track_order=True)
            made["a"] = np.zeros((4, 5, 4))
            made["b"] = np.zeros((5, 3))
            made.create_dataset("c", (4, 5), maxshape=(None, 5), chunks=(1, 5))
            made["d"] = np.zeros(4)
            made["scalar"] = 1.0

    def names(ours: hs.Group, theirs: netCDF4.Dataset) -> None:
        for name, variable in theirs.variables.items():
            assert ours[name].dims == variable.dimensions, f"{theirs.path} {name}"
        for name, group in theirs.groups.items():
            names(ours[name], group)

    with netCDF4.Dataset(path) as theirs:
        names(hs.open(path), theirs)


@pytest.mark.parametrize("model", MODELS[:3])
def test_a_variable_beyond_the_end_of_the_file_is_an_error_that_says_why(tmp_path: pathlib.Path, model: str) -> None:
    """What PnetCDF leaves of a file without fill values whose last variables nobody wrote; and what a broken download leaves."""
    path = tmp_path / "a.nc"
    with netCDF4.Dataset(path, "w", format=model) as f:
        f.createDimension("x", 500)
        f.createVariable("written", "f8", ("x",))[:] = np.arange(500)
        f.createVariable("never", "f8", ("x",))[:] = 1
    whole = path.read_bytes()
    for length in (len(whole) - 4000, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:length])
        f = hs.open(path)
        assert f["written"][...].tolist() == list(range(500))
        with pytest.raises(hs.CorruptError, match="truncated, or was made without fill values.*/never"):
            f["never"][...]
