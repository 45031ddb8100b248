"""MATLAB v7.3 as a model: files of hdf5storage and of ours, and layouts of MATLAB built by h5py; judged by mat73, pymatreader,
hdf5storage and SciPy."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import h5py
import hdf5storage
import hyperslab as hs
import mat73
import numpy as np
import pymatreader
import pytest
import scipy.sparse

matlab = hs.models.matlab
HEADER = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Nov 23 07:00:00 2026 HDF5 schema 1.00 ."


def attributes(node: Any, class_name: str, **others: Any) -> Any:
    node.attrs["MATLAB_class"] = np.bytes_(class_name)
    for name, value in others.items():
        node.attrs[name] = value
    return node


def put(group: h5py.Group, name: str, class_name: str, stored: Any, **others: Any) -> h5py.Dataset:
    return attributes(group.create_dataset(name, data=stored), class_name, **others)


def chars(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-16-le"), "u2").reshape(-1, 1)


def build(path: pathlib.Path, fill: Callable[[h5py.File], None], header: bytes = HEADER) -> pathlib.Path:
    """A file as MATLAB lays it out: 512 bytes of user block, values of cells in #refs#."""
    with h5py.File(path, "w", userblock_size=512) as f:
        f.create_group("#refs#")
        fill(f)
    with open(path, "r+b") as f:
        f.write(header.ljust(116) + bytes(8) + b"\0\2IM")
    return path


def of_matlab(f: h5py.File) -> None:
    refs = f["#refs#"]
    put(f, "matrix", "double", np.arange(6.0).reshape(3, 2))
    put(f, "cube", "int16", np.arange(24, dtype="i2").reshape(4, 3, 2))
    put(f, "scalar", "single", np.float32([[2.5]]))
    put(f, "row", "double", np.arange(3.0).reshape(3, 1))
    put(f, "column", "double", np.arange(3.0).reshape(1, 3))
    put(f, "flags", "logical", np.uint8([[1], [0]]), MATLAB_int_decode=np.int32(1))
    put(f, "text", "char", chars("grüß \U0001f600"), MATLAB_int_decode=np.int32(2))
    put(f, "rows", "char", np.array([[ord(c) for c in row] for row in ("ab", "cd", "ef")], "u2").T, MATLAB_int_decode=np.int32(2))
    put(f, "nothing", "double", np.uint64([0, 3]), MATLAB_empty=np.uint8(1))
    put(f, "no_text", "char", np.uint64([0, 0]), MATLAB_empty=np.uint8(1))
    put(f, "no_cells", "cell", np.uint64([0, 0]), MATLAB_empty=np.uint8(1))
    pair = np.dtype([("real", "f8"), ("imag", "f8")])
    put(f, "z", "double", np.array([[(1, 2)], [(3, -4)]], pair))
    put(refs, "a", "canonical empty", np.uint64([0, 0]), MATLAB_empty=np.uint8(1))
    one = put(refs, "b", "double", np.array([[7.0]]))
    two = put(refs, "c", "char", chars("cell"), MATLAB_int_decode=np.int32(2))
    inner = put(refs, "d", "cell", np.array([[one.ref, two.ref]], h5py.ref_dtype))
    put(f, "cells", "cell", np.array([[one.ref], [two.ref], [refs["a"].ref], [inner.ref]], h5py.ref_dtype))
    put(f, "grid", "cell", np.array([[one.ref, two.ref], [one.ref, two.ref]], h5py.ref_dtype))
    # The order of the fields is not that of their names.
    run = attributes(f.create_group("run"), "struct")
    run.attrs.create("MATLAB_fields", np.array([np.array(list(n), "S1") for n in ("zeta", "alpha")], object), dtype=h5py.vlen_dtype("S1"))
    put(run, "zeta", "double", np.array([[1.0]]))
    put(run, "alpha", "char", chars("x"), MATLAB_int_decode=np.int32(2))
    people = attributes(f.create_group("people"), "struct")
    people["age"] = np.array([[one.ref], [refs["a"].ref]], h5py.ref_dtype)
    people["name"] = np.array([[two.ref], [two.ref]], h5py.ref_dtype)
    sparse = attributes(f.create_group("sparse"), "double", MATLAB_sparse=np.uint64(4))
    sparse["data"], sparse["ir"], sparse["jc"] = np.array([6.0, 7.0]), np.uint64([1, 3]), np.uint64([0, 1, 1, 2])
    zeros = attributes(f.create_group("zeros"), "logical", MATLAB_sparse=np.uint64(4), MATLAB_int_decode=np.int32(1))
    zeros["jc"] = np.uint64([0, 0, 0])
    table = attributes(f.create_group("table"), "struct")
    for name, values in (("t", np.arange(5.0)), ("n", np.arange(5, dtype="i4"))):
        put(table, name, values.dtype.name.replace("float64", "double"), values.reshape(1, 5))
    put(table, "names", "cell", np.array([[two.ref] * 5], h5py.ref_dtype))
    put(f, "when", "datetime", np.uint32([[3707764736, 2, 1, 1, 1, 1]]), MATLAB_object_decode=np.int32(3))
    handle = attributes(f.create_group("handle"), "function_handle", MATLAB_object_decode=np.int32(1))
    put(handle, "function", "char", chars("@(x)x+1"), MATLAB_int_decode=np.int32(2))


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return build(tmp_path / "a.mat", of_matlab)


def test_values_of_every_class(path: pathlib.Path) -> None:
    m = matlab.open(path)
    assert (m.certainty, m.reason) == ("certain", "the header says MATLAB 7.3") and m.validate() == []
    assert m["matrix"].tolist() == [[0, 2, 4], [1, 3, 5]] and m["cube"].shape == (2, 3, 4) and m["cube"][1, 2, 3] == 23 and m["cube"].dtype == "i2"
    assert m["scalar"] == np.float32(2.5) and np.ndim(m["scalar"]) == 0 and m["row"].tolist() == m["column"].tolist() == [0, 1, 2]
    assert m["flags"].tolist() == [True, False] and m["flags"].dtype == bool
    assert m["text"] == "grüß \U0001f600" and m["rows"] == ["ab", "cd", "ef"] and m["no_text"] == "" and m["no_cells"] == []
    assert m["nothing"].shape == (0, 3) and m["z"].tolist() == [1 + 2j, 3 - 4j]
    cells = m["cells"]
    assert cells[:2] == [7, "cell"] and cells[2].shape == (0, 0) and cells[3] == [7, "cell"]
    assert m["grid"].shape == (2, 2) and m["grid"].tolist() == [[7, 7], ["cell", "cell"]]
    assert list(m["run"]) == ["zeta", "alpha"] and m["run"] == {"zeta": 1.0, "alpha": "x"}
    assert [sorted(person) for person in m["people"]] == [["age", "name"]] * 2 and m["people"][0] == {"age": 7, "name": "cell"}
    assert m["sparse"].format == "csc" and m["sparse"].toarray().tolist() == [[0, 0, 0], [6, 0, 0], [0, 0, 0], [0, 0, 7]]
    assert m["zeros"].shape == (4, 2) and m["zeros"].nnz == 0 and m["zeros"].dtype == bool
    assert m["handle"].class_name == "function_handle" and m["handle"].contents == {"function": "@(x)x+1"}
    assert m["when"].class_name == "datetime"
    assert set(m.load()) == set(m) and "#refs#" not in m and len(m) == len(list(m))
    with pytest.raises(hs.NotFoundError, match="there is no variable 'q'"):
        m["q"]


def test_shapes_of_matlab_are_kept_on_request(path: pathlib.Path) -> None:
    m = matlab.open(path, squeeze=False)
    assert m["scalar"].shape == (1, 1) and m["row"].shape == (1, 3) and m["column"].shape == (3, 1)
    assert m["cells"].shape == (1, 4) and m["cells"][0, 3].shape == (2, 1) and m["no_cells"].shape == (0, 0) and m["people"].shape == (1, 2)


def test_a_struct_of_equally_long_vectors_is_a_table(path: pathlib.Path) -> None:
    m = matlab.open(path)
    assert m.tables == ["table"]
    assert m.table("table", "t > 2", omitted="ignore").to_arrow().to_pydict() == {"n": [3, 4], "t": [3.0, 4.0]}
    parts = [split.read().num_rows for split in m.table("table", omitted="ignore").splits(2)]
    assert sum(parts) == 5
    assert m.omitted["/table/names"] == "is a cell array" and m.omitted["/when"] == "is an object of class datetime"
    assert m.omitted["/run"] == "is a struct whose fields are not vectors of one length"
    assert {array.name for array in m.arrays} == {"matrix", "cube", "scalar", "row", "column", "flags", "z"}
    named = set(m.tables) | {array.name for array in m.arrays} | {path.split("/")[1] for path in m.omitted}
    assert named == set(m), "each variable is in a table, an array, or named"
    for name, error in (("run", hs.NotFoundError), ("cells", hs.UnsupportedError), ("matrix", hs.NotFoundError), ("q", hs.NotFoundError)):
        with pytest.raises(error):
            m.table(name)


def normal(value: Any) -> Any:
    """A value in the form that all readers share: arrays as lists, without extents of 1."""
    if scipy.sparse.issparse(value):
        return normal(value.toarray())
    if isinstance(value, dict):
        return {name: normal(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return normal(np.squeeze(value).tolist()) if value.size else []
    if isinstance(value, (list, tuple)):
        return normal(value[0]) if len(value) == 1 else [normal(item) for item in value]
    if isinstance(value, (np.generic, np.str_)):
        return normal(value.item())
    return [] if value is None or (isinstance(value, str) and not value) else value


def written() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {
        "matrix": rng.normal(size=(4, 3)),
        "cube": np.arange(24, dtype="u2").reshape(2, 3, 4),
        "vector": np.arange(5, dtype="i8"),
        "scalar": 2.5,
        "single": np.float32(0.5),
        "flag": True,
        "flags": np.array([True, False, True]),
        "text": "grüße",
        "z": np.array([1 + 2j, 3 - 4j]),
        "empty": np.zeros((0, 3)),
        "cells": ["ab", 1.0, np.arange(3.0)],
        "names": np.array(["a", "bc", "def"]),
        "run": {"zeta": 1.0, "alpha": "x", "inner": {"values": np.arange(4.0)}},
        "many": [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}, {"a": np.arange(2.0), "b": "zz"}],
        "nested": ["a", ["b", "c"]],
        "big": rng.normal(size=(100, 50)),
    }


def test_what_is_written_is_what_other_readers_read(tmp_path: pathlib.Path) -> None:
    path, values = tmp_path / "w.mat", written()
    matlab.write(path, values | {"sparse": scipy.sparse.csc_array(np.diag([1.0, 0, 2]))}, compression="gzip")
    assert path.read_bytes()[:10] == b"MATLAB 7.3" and path.read_bytes()[124:128] == b"\0\2IM"
    wanted = {name: normal(value) for name, value in values.items()}
    ours = matlab.open(path).load()
    assert {name: normal(value) for name, value in ours.items() if name != "sparse"} == wanted
    assert ours["matrix"].shape == (4, 3) and ours["sparse"].toarray().tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 2]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = {"mat73": mat73.loadmat(str(path)), "pymatreader": pymatreader.read_mat(str(path))}
        theirs["hdf5storage"] = hdf5storage.loadmat(str(path))
    for name, read in theirs.items():
        assert (
            np.array_equal(np.asarray(read["sparse"].todense() if hasattr(read["sparse"], "todense") else read["sparse"]), np.diag([1.0, 0, 2]))
            or name == "hdf5storage"
        )
        for variable in wanted:
            # Structs as records, and struct arrays by field, are the other readers' forms.
            if variable == "many" or (variable == "run" and name != "mat73"):
                continue
            assert normal(read[variable]) == wanted[variable], (name, variable)
    assert theirs["pymatreader"]["run"]["inner"]["values"].tolist() == [0, 1, 2, 3]
    assert theirs["pymatreader"]["many"]["b"] == theirs["mat73"]["many"]["b"] == ["x", "y", "zz"]


def test_files_of_hdf5storage(tmp_path: pathlib.Path) -> None:
    values = {
        "x": np.arange(6.0).reshape(2, 3),
        "s": "hällo",
        "c": np.array([1, "ab", np.arange(3)], dtype=object),
        "st": {"a": 1.5, "b": "t"},
        "z": np.array([1 + 2j]),
    }
    path = str(tmp_path / "h.mat")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hdf5storage.savemat(path, values, format="7.3", store_python_metadata=False)
    m = matlab.open(path)
    assert {name: normal(value) for name, value in m.load().items()} == {name: normal(value) for name, value in values.items()}


def test_names_and_values_that_matlab_does_not_have(tmp_path: pathlib.Path) -> None:
    loop: list[Any] = []
    loop.append(loop)
    for values in ({"1x": 1}, {"a b": 1}, {"ä": 1}, {"x" * 64: 1}, {"x": {"_y": 1}}, {"x": np.array(["2020"], "M8[s]")}, {"x": object()}, {"x": loop}):
        with pytest.raises(hs.InvalidInputError):
            matlab.write(tmp_path / "no.mat", values)
    assert not (tmp_path / "no.mat").exists()


def test_many_cells_and_shapes_are_gathered(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(4)
    makers = [
        lambda i: f"text {i}" * (i % 5),
        lambda i: float(i),
        lambda i: rng.normal(size=i % 7),
        lambda i: [f"{i}", i],
        lambda i: {"i": i, "s": str(i)},
        lambda i: i % 2 == 0,
    ]
    values = [makers[i % len(makers)](i) for i in range(5000)]
    path = tmp_path / "many.mat"
    matlab.write(path, {"c": values})
    got = matlab.open(path)["c"]
    assert len(got) == len(values)
    for mine, other in zip(got, values, strict=True):
        assert normal(mine) == normal(other)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_cells_whose_headers_are_alike(tmp_path: pathlib.Path, libver: str) -> None:
    """Their headers are compared, not parsed: values, attributes, shapes and storage that differ must be seen. h5py judges."""
    random = np.random.default_rng(5)
    path, count = tmp_path / "alike.mat", 600
    with h5py.File(path, "w", userblock_size=512, libver=libver) as f:
        refs, wanted = f.create_group("#refs#"), []
        cells = put(f, "c", "cell", np.full((count, 1), f["#refs#"].ref, h5py.ref_dtype))
        for i in range(count):
            kind = int(random.integers(0, 8))
            values = random.integers(1, 99, (int(random.integers(1, 4)), 1)).astype("u2" if kind < 4 else "f8")
            if kind == 5:
                one = attributes(refs.create_dataset(str(i), values.shape, "f8", track_times=True), "double")  # never written: zeros
                values = np.zeros(values.shape)
            elif kind == 6:
                one = attributes(refs.create_dataset(str(i), data=values, chunks=values.shape, compression="gzip"), "double")
            elif kind == 7:
                space, made = h5py.h5s.create_simple(values.shape), h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                made.set_layout(h5py.h5d.COMPACT)
                one = h5py.Dataset(h5py.h5d.create(refs.id, str(i).encode(), h5py.h5t.IEEE_F64LE, space, made))
                one[...] = values
                attributes(one, "double")
            else:
                one = put(refs, str(i), ("char", "uint16", "uint16", "uint16")[kind] if kind < 4 else "double", values)
            if kind == 4:
                one.attrs["note"] = "x" * int(random.integers(1, 400))
            wanted.append((one.attrs["MATLAB_class"], np.asarray(values)))
            cells[i] = one.ref
        # The same bytes, an earlier header that others were alike to.
        cells[count - 1] = refs["0"].ref
        wanted[count - 1] = wanted[0]
    with open(path, "r+b") as f:
        f.write(HEADER.ljust(116) + bytes(8) + b"\0\2IM")
    found = matlab.open(path, squeeze=False)["c"].ravel()
    assert len(found) == count
    for (class_name, values), value in zip(wanted, found, strict=True):
        if class_name == b"char":
            assert value == "".join(map(chr, values.ravel()))
        else:
            assert value.dtype == values.dtype and np.array_equal(value, values.T)
    # Damage of one header among those that are alike; only headers of "latest" have a checksum.
    with h5py.File(path) as f:
        name = next(str(i) for i in range(200, count) if wanted[i][0] == b"uint16")
        at, value_at = h5py.h5o.get_info(f[f"#refs#/{name}"].id).addr + 512, f[f"#refs#/{name}"].id.get_offset()
    data = bytearray(path.read_bytes())
    data[(place := data.index((value_at - 512).to_bytes(8, "little"), at)) : place + 8] = (1 << 40).to_bytes(8, "little")
    path.write_bytes(data)
    with pytest.raises(hs.CorruptError) as error:
        matlab.open(path)["c"]
    assert error.value.object == f"/#refs#/{name}" and ("checksum" in error.value.message) == (libver == "latest")


def test_codes_that_are_no_characters_are_an_error_with_the_object(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "c.mat"
    with h5py.File(path, "w") as f:
        put(f, "word", "char", np.uint32([[65], [0x110000]]))
        put(f, "good", "char", np.uint32([[65], [0x10FFFF]]))
    m = matlab.open(path)
    with pytest.raises(hs.CorruptError, match="codes are not characters") as caught:
        m["word"]
    assert caught.value.object == "/word" and m["good"] == "A\U0010ffff"


def test_damage_is_one_error_with_the_object(tmp_path: pathlib.Path) -> None:
    def broken(name: str, change: Callable[[h5py.File], None]) -> Any:
        path = build(tmp_path / f"{name}.mat", of_matlab)
        with h5py.File(path, "r+") as f:
            change(f)
        return matlab.open(path)

    def loop(f: h5py.File) -> None:
        f["#refs#/d"][0, 0] = f["#refs#/d"].ref

    def long_loop(f: h5py.File) -> None:
        outer = put(f["#refs#"], "outer", "cell", np.array([[f["run"].ref]], h5py.ref_dtype))
        f["run/zeta2"] = outer
        del f["run"].attrs["MATLAB_fields"]
        f["cells"][0, 0] = f["run"].ref

    def null(f: h5py.File) -> None:
        f["cells"][1, 0] = h5py.Reference()

    def fields(f: h5py.File) -> None:
        del f["run/alpha"]

    def elements(f: h5py.File) -> None:
        del f["people/age"]
        f["people/age"] = f["people/name"][:1]

    def offsets(f: h5py.File) -> None:
        f["sparse/jc"][1] = 9

    def rows(f: h5py.File) -> None:
        f["sparse/ir"][1] = 4

    def empty(f: h5py.File) -> None:
        f["nothing"][...] = [10**12, 10**12]

    for change, variable, place, message in [
        (loop, "cells", "/#refs#/d", "contains itself"),
        (long_loop, "cells", "/#refs#/outer|/run", "contains itself"),
        (null, "cells", "/cells", "null reference"),
        (fields, "run", "/run", "MATLAB_fields names"),
        (elements, "people", "/people", "different shapes"),
        (offsets, "sparse", "/sparse", "offsets jc"),
        (rows, "sparse", "/sparse", "outside of its 4 rows"),
        (empty, "nothing", "/nothing", "MATLAB_empty"),
    ]:
        m = broken(change.__name__, change)
        with pytest.raises(hs.CorruptError, match=message) as caught:
            m[variable]
        assert caught.value.object in place.split("|") and caught.value.file, change.__name__
        assert m["matrix"].shape == (2, 3), "other variables are read"
    (problem,) = broken("elements_again", elements).validate()
    assert problem.object == "/people" and "different shapes" in problem.message


def test_a_reference_into_the_blue_is_an_error(tmp_path: pathlib.Path) -> None:
    path = build(tmp_path / "a.mat", of_matlab)
    with h5py.File(path) as f:
        target, cells = f["#refs#/c"].id, f["cells"].id.get_offset()
        address = np.frombuffer(np.asarray(f["cells"][1, 0], object).tobytes(), "u1").size and h5py.h5o.get_info(target).addr
    raw = bytearray(path.read_bytes())
    at = raw.index(address.to_bytes(8, "little"), cells - 64)
    for bad in (address + 3, 10**15):
        raw[at : at + 8] = bad.to_bytes(8, "little")
        path.write_bytes(raw)
        with pytest.raises(hs.CorruptError) as caught:
            matlab.open(path)["cells"]
        assert caught.value.object == "/cells"


def test_recognized_by_header_or_class_and_nothing_else(tmp_path: pathlib.Path) -> None:
    plain = tmp_path / "plain.mat"
    with h5py.File(plain, "w") as f:
        put(f, "x", "double", np.zeros((1, 1)))
    assert [(view.name, view.certainty) for view in hs.open(plain).models] == [("matlab", "likely")]
    other = build(tmp_path / "other.h5", lambda f: f.create_dataset("x", data=[1.0]), b"something else in the user block")
    assert hs.open(other).models == []
    with pytest.raises(hs.InvalidInputError, match="not recognized as matlab"):
        matlab.open(other)
