"""References: the objects and the elements that h5py finds at their end."""

from __future__ import annotations

import pathlib

import h5py
import hyperslab as hs
import numpy as np
import pytest
import same_file
from standard_references import Made, told


@pytest.fixture(params=["earliest", "latest"])
def path(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> pathlib.Path:
    with h5py.File(tmp_path / "a.h5", "w", libver=request.param) as f:
        x = f.create_dataset("g/x", data=np.arange(70).reshape(7, 10), chunks=(3, 4))
        f["type"] = np.dtype("i4")
        f.create_dataset("objects", data=[x.ref, f["g"].ref, f["type"].ref, f.ref, h5py.Reference()], dtype=h5py.ref_dtype)
        # h5py makes these of selections: slices, strides, lists (blocks) and points.
        regions = [x.regionref[2:5, 3:7], x.regionref[::3, 1], x.regionref[...], x.regionref[[0, 4, 5], 2:4]]
        points = h5py.h5s.create_simple((7, 10))
        points.select_elements([(6, 1), (0, 0), (3, 9), (3, 1)])
        regions.append(h5py.h5r.create(x.id, b".", h5py.h5r.DATASET_REGION, points))
        strided = h5py.h5s.create_simple((7, 10))
        strided.select_hyperslab((1, 0), (2, 3), (3, 4), (2, 2))
        regions.append(h5py.h5r.create(x.id, b".", h5py.h5r.DATASET_REGION, strided))
        f.create_dataset("regions", data=regions, dtype=h5py.regionref_dtype)
        f["g"].attrs["ref"] = x.ref
        records = np.empty(2, dtype=[("n", "i4"), ("to", h5py.ref_dtype)])
        records["n"], records["to"] = [1, 2], [x.ref, f["g"].ref]
        f["records"] = records
    return tmp_path / "a.h5"


def test_object_references_lead_to_their_objects(path: pathlib.Path) -> None:
    f = hs.open(path)
    found = f["objects"][...]
    assert [ref.path for ref in found] == ["/g/x", "/g", "/type", "/", None]
    assert [bool(ref) for ref in found] == [True] * 4 + [False]
    assert f[found[0]] == f["/g/x"]
    assert f[f["g"].attrs["ref"]].shape == (7, 10)
    assert [ref.path for ref in f["records"]["to"]] == ["/g/x", "/g"]
    assert f["records"]["n"].tolist() == [1, 2]
    with pytest.raises(hs.InvalidInputError, match="nothing"):
        f[found[4]]


def test_region_references_select_what_h5py_selects(path: pathlib.Path) -> None:
    f = hs.open(path)
    x = f["g/x"]
    with h5py.File(path) as theirs:
        for ours, reference in zip(f["regions"][...], theirs["regions"][...], strict=True):
            assert f[ours] == x
            wanted = theirs["g/x"][reference]
            found = x[ours]
            np.testing.assert_array_equal(found, wanted)
    kinds = [ref.selection[0] for ref in f["regions"][...]]
    assert "points" in kinds and ("hyperslab" in kinds or "blocks" in kinds)
    with pytest.raises(hs.InvalidInputError, match="/g/x"):
        f["objects"][f["regions"][0]]


def overwritten(path: pathlib.Path) -> None:
    """Deletes `/type`, to which references lead, and overwrites its header."""
    with h5py.File(path, "a") as f:
        del f["type"]
    address = hs.open(path).table("/objects", raw=True).to_arrow()["objects"][2].as_py()
    data = bytearray(path.read_bytes())
    start = int.from_bytes(address, "little")
    data[start : start + 16] = bytes(16)
    path.write_bytes(data)


def test_a_reference_to_a_deleted_object_leads_to_it_as_in_h5py(path: pathlib.Path) -> None:
    with h5py.File(path, "a") as f:
        del f["type"]
    with h5py.File(path) as theirs, hs.open(path) as ours:
        assert theirs[theirs["objects"][2]].dtype == ours[ours["objects"][2]].dtype
        assert theirs[theirs["objects"][2]].name is None and repr(ours["objects"][2]).startswith("<Reference to #0x")


def test_a_reference_to_an_object_that_is_gone_is_an_error(path: pathlib.Path) -> None:
    overwritten(path)
    with pytest.raises(hs.NotFoundError, match="reference"):
        _ = hs.open(path)["objects"][2].path


def test_references_are_text_in_tables(path: pathlib.Path) -> None:
    f = hs.open(path)
    with h5py.File(path) as theirs:
        names = [h5py.h5r.get_name(ref, theirs.id).decode() if ref else None for ref in theirs["objects"][...]]
        regions = [h5py.h5r.get_name(ref, theirs.id).decode() for ref in theirs["regions"][...]]
    objects = f.table("/objects").to_arrow()
    assert objects["objects"].to_pylist() == names == ["/g/x", "/g", "/type", "/", None]
    field = objects.schema.field("objects")
    assert (str(field.type), field.nullable, field.metadata[b"hdf5.reference"]) == ("string", True, b"object: path")
    found = f.table("/regions").to_arrow()
    assert [text.partition("[")[0] for text in found["regions"].to_pylist()] == regions
    assert found["regions"].to_pylist() == [
        "/g/x[2:5, 3:7]",
        "/g/x[0:7:3, 1:2]",
        "/g/x[...]" if f["regions"][2].selection[0] == "all" else "/g/x[0:7, 0:10]",
        "/g/x[0:1, 2:4; 4:6, 2:4]",
        "/g/x[(6, 1); (0, 0); (3, 9); (3, 1)]",
        "/g/x[1:6:3:2, 0:10:4:2]",
    ]
    records = f.table("/records").to_arrow()
    assert records["to"].to_pylist() == ["/g/x", "/g"] and records["n"].to_pylist() == [1, 2]
    assert f.table("/records", where="to = '/g'").to_arrow()["n"].to_pylist() == [2]


def test_undecoded_references_are_their_bytes(path: pathlib.Path) -> None:
    with h5py.File(path) as theirs:
        dataset = theirs["objects"]
        offset, size = dataset.id.get_offset(), dataset.id.get_storage_size()
    stored = path.read_bytes()[offset : offset + size]
    raw = hs.open(path).table("/objects", raw=True).to_arrow()
    assert str(raw.schema.field("objects").type) == "fixed_size_binary[8]"
    assert b"".join(raw["objects"].to_pylist()) == stored
    records = hs.open(path).table("/records", raw=True).to_arrow()
    assert [value[:8] for value in records["to"].to_pylist()] == [stored[:8], stored[8:16]]


def test_references_within_sequences_arrays_and_structs_are_text(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["x"], f["g/y"] = 1, 2
        refs = [f["x"].ref, f["g/y"].ref, h5py.Reference()]
        lists = f.create_dataset("lists", (2,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
        lists[0], lists[1] = np.array(refs, h5py.ref_dtype), np.array(refs[1:2], h5py.ref_dtype)
        f.create_dataset("pairs", (1,), dtype=np.dtype((h5py.ref_dtype, (2, 3))))[0] = np.array([refs, refs[::-1]], h5py.ref_dtype)
    f = hs.open(tmp_path / "a.h5")
    assert f.table("/lists").to_arrow()["lists"].to_pylist() == [["/x", "/g/y", None], ["/g/y"]]
    assert f.table("/pairs").to_arrow()["pairs"].to_pylist() == [[["/x", "/g/y", None], [None, "/g/y", "/x"]]]
    assert [[ref.path for ref in values] for values in f["lists"][...]] == [["/x", "/g/y", None], ["/g/y"]]


def test_a_reference_to_nothing_any_more_stops_a_table_unless_undecoded(path: pathlib.Path) -> None:
    overwritten(path)
    with pytest.raises(hs.NotFoundError, match="raw gives"):
        hs.open(path).table("/objects").to_arrow()
    assert hs.open(path).table("/objects", raw=True).to_arrow().num_rows == 5


@pytest.mark.parametrize("kind", ["COMPLEX_IEEE_F32LE", "COMPLEX_IEEE_F64LE", "COMPLEX_IEEE_F64BE", "NATIVE_LDOUBLE_COMPLEX"])
def test_complex_numbers_of_hdf5_2(tmp_path: pathlib.Path, kind: str) -> None:
    values = np.array([1 + 2j, -1.5j, complex(np.inf, 0), complex(0, -np.inf)])
    datatype = getattr(h5py.h5t, kind)
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:
        h5py.h5d.create(f.id, b"x", datatype, h5py.h5s.create_simple((4,))).write(h5py.h5s.ALL, h5py.h5s.ALL, values.astype(datatype.dtype), mtype=datatype)
    found = hs.open(tmp_path / "a.h5")["x"]
    with h5py.File(tmp_path / "a.h5") as theirs:
        assert found.dtype == theirs["x"].dtype
        np.testing.assert_array_equal(found[...], theirs["x"][...])
    np.testing.assert_array_equal(found[...], values)


@pytest.fixture(params=["earliest", "latest"])
def standard(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> pathlib.Path:
    """References of HDF5 1.12 to objects, regions and attributes of this file and of another."""
    (tmp_path / "below").mkdir()
    with h5py.File(tmp_path / "below" / "other.h5", "w", libver=request.param) as other:
        other["deep/y"] = np.arange(12).reshape(3, 4)
        other["deep/y"].attrs["unit"] = "K"
    with h5py.File(tmp_path / "a.h5", "w", libver=request.param) as f, h5py.File(tmp_path / "below" / "other.h5") as other:
        f.create_dataset("g/x", data=np.arange(70).reshape(7, 10), chunks=(3, 4)).attrs["größe"] = 5
        f["type"] = np.dtype("i4")
        blocks, points, box = (h5py.h5s.create_simple(shape) for shape in [(7, 10), (7, 10), (3, 4)])
        blocks.select_hyperslab((1, 0), (2, 3), (3, 4), (2, 2))
        points.select_elements([(6, 1), (0, 0), (3, 9), (3, 1)])
        box.select_hyperslab((1, 0), (1, 1), (1, 1), (2, 2))
        everything, nothing = h5py.h5s.create_simple((7, 10)), h5py.h5s.create_simple((7, 10))
        nothing.select_none()
        with Made() as made:
            made.object(f, "/g/x").null().object(f, "/g").object(f, "/type").object(f, "/").object(other, "/deep/y")
            for space in [blocks, points, everything, nothing]:
                made.region(f, "/g/x", space)
            made.region(other, "/deep/y", box).attribute(f, "/g/x", "größe").attribute(other, "/deep/y", "unit").null()
            made.write(f, "refs")
            made.write_attribute(f, "/g", "refs")
            made.write_records(f, "records")
    return tmp_path / "a.h5"


def test_references_of_hdf5_1_12_lead_where_the_library_says(standard: pathlib.Path) -> None:
    f = hs.open(standard)
    found = f["refs"][...]
    classes = {0: hs.Reference, 2: hs.Reference, 3: hs.RegionReference, 4: hs.AttributeReference}
    with h5py.File(standard, "r+") as theirs:
        wanted = told(theirs, "refs")
    assert [answer.kind for answer in wanted] == [2, 0, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 0]
    for ours, answer in zip(found, wanted, strict=True):
        assert type(ours) is classes[answer.kind]
        assert bool(ours) is (answer.kind != 0)
        assert ours.path == answer.path
        assert ours.filename == answer.file
        if answer.kind == 4:
            assert ours.attribute == answer.attribute
            assert f[ours].attrs[ours.attribute] == (5 if ours.attribute == "größe" else "K")
        if answer.kind == 3:
            elements = f[ours][ours]
            assert elements.dtype == answer.elements.dtype
            np.testing.assert_array_equal(elements.reshape(-1), answer.elements)
        if answer.kind == 0:
            with pytest.raises(hs.InvalidInputError, match="nothing"):
                f[ours]
    assert [ref.path for ref in f["g"].attrs["refs"]] == [answer.path for answer in wanted]
    records = f["records"][...]
    assert records["n"].tolist() == list(range(len(wanted)))
    assert [ref.path for ref in records["to"]] == [answer.path for answer in wanted]


def test_references_of_hdf5_1_12_are_text_in_tables(standard: pathlib.Path) -> None:
    with h5py.File(standard, "r+") as theirs:
        wanted = told(theirs, "refs")
    f = hs.open(standard)
    for table, column in [("/refs", "refs"), ("/records", "to")]:
        found = f.table(table).to_arrow()
        field = found.schema.field(column)
        assert b"attribute" in field.metadata[b"hdf5.reference"] and str(field.type) == "string"
        for text, answer in zip(found[column].to_pylist(), wanted, strict=True):
            if answer.kind == 0:
                assert text is None
                continue
            where = answer.path if answer.file == str(standard) else f"{answer.file}:{answer.path}"
            if answer.kind == 3:
                assert text.partition("[")[0] == where
            else:
                assert text == (where if answer.kind == 2 else f"{where}@{answer.attribute}")
    texts = [text for text in f.table("/refs").to_arrow()["refs"].to_pylist() if text and "[" in text]
    assert [text[text.index("[") :] for text in texts] == ["[1:6:3:2, 0:10:4:2]", "[(6, 1); (0, 0); (3, 9); (3, 1)]", "[...]", "[]", "[1:3, 0:2]"]
    raw = f.table("/refs", raw=True).to_arrow()["refs"]
    assert str(raw.type).startswith("fixed_size_binary") and raw.null_count == 0


def test_references_into_files_elsewhere_follow_the_path_policy(tmp_path: pathlib.Path) -> None:
    (tmp_path / "here").mkdir()
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["y"] = [1, 2, 3]
    with h5py.File(tmp_path / "here" / "a.h5", "w") as f, h5py.File(tmp_path / "other.h5") as other, Made() as made:
        made.object(other, "/y").write(f, "refs")
    with pytest.raises(hs.UnsupportedError, match="other.h5.*paths="):
        _ = hs.open(tmp_path / "here" / "a.h5")["refs"][0].path
    f = hs.open(tmp_path / "here" / "a.h5", paths="anywhere")
    assert f["refs"][0].path == "/y"
    assert f[f["refs"][0]][...].tolist() == [1, 2, 3]
    (tmp_path / "other.h5").unlink()
    with pytest.raises(hs.NotFoundError, match="other.h5"):
        _ = hs.open(tmp_path / "here" / "a.h5", paths="anywhere")["refs"][0].path


def test_references_of_hdf5_1_12_that_are_damaged_are_refused(standard: pathlib.Path) -> None:
    with h5py.File(standard) as f:
        offset, size = f["refs"].id.get_offset(), f["refs"].id.get_storage_size()
    data = bytearray(standard.read_bytes())
    width = size // 14
    region = offset + 6 * width
    for at, byte, error, match in [
        (offset, 9, hs.CorruptError, "type"),
        (offset + 1, 0x80, hs.CorruptError, "flags"),
        (offset + 2, 16, hs.UnsupportedError, "token of 16 bytes"),
        (offset + 3, data[offset + 3] ^ 1, hs.NotFoundError, "object at address"),
        (region + 2, 250, hs.CorruptError, "heap object"),
        (region + 2, 12, hs.CorruptError, "too early"),
        (region + 14, 200, hs.CorruptError, "no object"),
        (region, 4, hs.CorruptError, "bytes are left"),
    ]:
        changed = data.copy()
        changed[at] = byte
        standard.write_bytes(changed)
        with pytest.raises(error, match=match):
            _ = [ref.path for ref in hs.open(standard)["refs"][...]]


def test_a_region_beyond_its_dataset_is_an_error(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        x = f.create_dataset("x", data=np.arange(10), maxshape=(None,), chunks=(4,))
        f.create_dataset("regions", data=[x.regionref[6:9], x.regionref[::5]], dtype=h5py.regionref_dtype)
        x.resize((5,))
    f = hs.open(tmp_path / "a.h5")
    for region in f["regions"][...]:
        with pytest.raises(hs.InvalidInputError, match="shape"):
            f["x"][region]


@pytest.mark.parametrize("address_bytes", [4, 8])
def test_sequences_of_region_references(tmp_path: pathlib.Path, address_bytes: int) -> None:
    """The library stores them as they are in memory, whatever the size of addresses. h5py cannot read them: the library itself is asked."""
    path = tmp_path / "x.h5"
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    plist.set_sizes(address_bytes, 8)
    with h5py.File(h5py.h5f.create(str(path).encode(), h5py.h5f.ACC_TRUNC, plist)) as f:
        x, y = f.create_dataset("x", data=np.arange(20).reshape(4, 5)), f.create_dataset("y", data=np.arange(7))
        lists = f.create_dataset("lists", (3,), h5py.vlen_dtype(h5py.regionref_dtype))
        lists[0] = np.array([x.regionref[1:3, 2:4], y.regionref[2:5]], h5py.regionref_dtype)
        lists[2] = np.array([x.regionref[0]], h5py.regionref_dtype)
    with hs.open(path) as f:
        found = [[(f[reference].name, f[reference][reference].tolist()) for reference in row] for row in f["lists"][...]]
        assert found == [[("/x", [[7, 8], [12, 13]]), ("/y", [2, 3, 4])], [], [("/x", [[0, 1, 2, 3, 4]])]]
    (judged,) = same_file.describe(str(path))[b"/lists", "values"]
    assert [[target.decode() for _, target, _ in row] for row in judged] == [[name for name, _ in row] for row in found]
