"""h5py's reading interface: each name of h5py's classes, and each key and question, compared with h5py on one file."""

from __future__ import annotations

import copy
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import h5py
import hyperslab as hs
import hyperslab.h5py as ours
import numpy as np
import pytest
from judge import identical

#: Public names of h5py's classes that `hyperslab.h5py` lacks, and why.
MISSING: dict[str, set[str]] = {"File": set(), "Group": set(), "Dataset": set(), "AttributeManager": set(), "Datatype": set()}
#: The same for the classes of `hyperslab` itself, which keep names of their own.
MISSING_IN_HYPERSLAB = {
    # Low-level identifiers, and what concerns the HDF5 library only.
    "File": {"id", "driver", "in_memory", "libver", "meta_block_size", "swmr_mode"},
    "Group": {"id"},
    # `dims` are the names of dimensions; a netCDF file shows no scales.
    "Dataset": {"id", "is_scale"},
    "AttributeManager": {"get_id"},
    "Datatype": {"id"},
}


def public(kind: Any) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("name", MISSING)
def test_each_public_name_is_there(path: pathlib.Path, name: str) -> None:
    theirs = public(getattr(h5py, name))
    for module, missing in ((ours.File, MISSING), (hs.open, MISSING_IN_HYPERSLAB)):
        f = module(path)
        thing = {"File": f, "Group": f["group"], "Dataset": f["x"], "AttributeManager": f["x"].attrs, "Datatype": f["type"]}[name]
        assert theirs - public(thing) == missing[name]


def test_each_public_name_of_the_module_is_there() -> None:
    left_out = {"atexit", "defs", "enable_ipython_completer", "h5ac", "h5py_warnings", "run_tests", "tests", "utils"}
    assert {name for name in public(h5py) - left_out if not hasattr(ours, name)} == set()
    for module in ("h5t", "h5d"):
        with pytest.raises(AttributeError, match=f"hyperslab.h5py.{module} has no 'nonsense'"):
            getattr(getattr(ours, module), "nonsense")  # noqa: B009
    with pytest.raises(hs.UnsupportedError, match="h5z.register_filter"):
        ours.h5z.register_filter(0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    found = tmp_path_factory.mktemp("h5py") / "data.h5"
    with h5py.File(found, "w") as f:
        f["dangling"], f["external"] = h5py.SoftLink("/no"), h5py.ExternalLink("no.h5", "/x")
        f["x"] = np.arange(12.0).reshape(3, 4)
        f["x"].attrs["text"], f["x"].attrs["texts"], f["x"].attrs["none"] = "é", ["a", "b"], h5py.Empty("i4")
        f["soft"], f["hard"] = h5py.SoftLink("/x"), f["x"]
        f["texts"], f["text"], f["bytes"] = ["a", "é"], "one", np.array([b"ab", b"c"])
        f["null"], f["scalar"], f["bool"], f["complex"] = h5py.Empty("f4"), 3, np.array([True, False]), np.array([1 + 2j])
        f["record"] = np.array([(1, 2.5, 3), (4, 5.5, 6)], dtype=[("a", "i1"), ("b", "f8"), ("c", "i4")])
        f["opaque"], f["enum"] = np.void(b"abc"), np.array([1, 2], h5py.enum_dtype({"A": 1, "B": 2}))
        f["dates"] = np.array(["2020-01-01"], "M8[D]").astype(h5py.opaque_dtype("M8[D]"))
        f.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))[0] = [1, 2]
        f.create_dataset("ragged text", (1,), h5py.vlen_dtype(h5py.string_dtype("utf-8", 2)))
        f["reference"] = np.array([f["x"].ref], h5py.ref_dtype)
        f.create_dataset("array", (2,), np.dtype(("i4", (3,))))
        f.create_dataset("chunked", (7, 9), ">i2", chunks=(2, 4), maxshape=(None, 9), compression="gzip", compression_opts=7, shuffle=True, fletcher32=True)
        f.create_dataset("scaled", (8,), "i4", chunks=(4,), scaleoffset=3, fillvalue=7)
        f.create_dataset("filled", (2,), h5py.string_dtype(), fillvalue="empty")
        f["type"] = np.dtype("f4")
        g = f.create_group("group", track_order=True)
        g["z"], g["a"] = 1, 2
        f["x"].make_scale("length")
        f["chunked"].dims[0].label = "rows"
    return found


NAMES = [
    "array",
    "bool",
    "bytes",
    "chunked",
    "complex",
    "dates",
    "enum",
    "filled",
    "null",
    "opaque",
    "ragged",
    "record",
    "reference",
    "scalar",
    "scaled",
    "text",
    "texts",
    "x",
]
PROPERTIES = [
    "dtype",
    "dtype.metadata",
    "shape",
    "size",
    "maxshape",
    "fillvalue",
    "chunks",
    "compression",
    "compression_opts",
    "shuffle",
    "fletcher32",
    "scaleoffset",
    "is_virtual",
    "is_scale",
    "ndim",
    "nbytes",
    "name",
    "external",
    "filter_ids",
    "_filters",
    "file.filename",
    "parent.name",
    "dims.__len__()",
    "id.rank",
    "id.get_type().get_class()",
    "id.get_storage_size()",
]
KEYS = [
    "()",
    "...",
    "0",
    "0,...",
    "...,0",
    "1:",
    "None",
    "'a'",
    "'a','b'",
    "0,'a','b'",
    "'a',0",
    "'zz'",
    "0,0",
    "0,0,...",
    "5",
    "-1",
    "0,0,0",
    "1.0",
    "::-1",
    "['a']",
    "[0,1]",
    "[]",
    "True",
    "np.array(1)",
    "range(0,2)",
    "::2",
    "1:1",
    "-1:",
    "...,...",
    "[-1]",
    "[0,7]",
    "slice(0,99)",
    "1:3,[0,2]",
    "np.array([True,False,True])",
    "[[0],[1]]",
]
QUESTIONS = [
    *(f"f[{name!r}].{what}" for name in NAMES for what in PROPERTIES if (name, what) not in {("null", "id.rank")}),
    *(f"f[{name!r}][{key}]" for name in NAMES for key in KEYS),
    *(
        f"{call.format(f'f[{name!r}]')}"
        for name in NAMES
        for call in ("repr({})", "list({})", "len({})", "{}.asstr()[...]", "{}.fields('a')[1:]", "{}.fields(['a','c'])[1]")
    ),
    *(f"list(f[{name!r}].iter_chunks({region}))" for name in ("x", "chunked", "scaled") for region in ("", "np.s_[1:5,3:8]", "np.s_[1:3]", "np.s_[3:1]", "2")),
    *(f"f[{name!r}].astype({dtype!r})[...]" for name in NAMES for dtype in ("i1", "u1", "f4", ">i2", "S5", "T") if name not in ("opaque", "null", "array")),
    *(f"{path!r} in f" for path in ("x", "/x", "./x", ".", "/", "no", "x/y", "no/y", "dangling", "external", "group/z", "", b"x")),
    *(
        f"f.get({path!r}, {more})"
        for path in ("x", "no", "dangling", "soft", "external", "group/z")
        for more in ("None", "3", "getlink=True", "getlink=True,getclass=True")
    ),
    *(f"f[{path!r}]" for path in ("no", "x/y", "/", "", ".", "./x", "x/..", "external", 3, b"x", "dangling", "//x", "x/", "type")),
    *[
        "list(f)",
        "list(f['group'])",
        "list(reversed(f))",
        "list(f.keys())",
        "list(f.values())",
        "list(f.items())",
        "repr(f)",
        "repr(f['group'])",
        "repr(f.keys())",
    ],
    *[
        "f.mode",
        "f.name",
        "f.libver",
        "f.userblock_size",
        "f.driver",
        "f.swmr_mode",
        "f.meta_block_size",
        "f.filename",
        "f['x'].parent",
        "f['x'].file==f",
        "f['x'].parent==f",
        "f['x']==f['hard']",
    ],
    *[
        "f[f['x'].ref]==f['x']",
        "f['x'].dims[0].label",
        "f['chunked'].dims[0].label",
        "f['x'].dims[3]",
        "f['x'].is_scale",
        "f['soft'].name",
        "f['type'].dtype",
        "repr(f['type'])",
    ],
    *[
        "f['x'].attrs['text']",
        "f['x'].attrs['texts']",
        "f['x'].attrs['none']",
        "f['x'].attrs['no']",
        "f['x'].attrs.get('no',3)",
        "f['x'].attrs[3]",
        "len(f['x'].attrs)",
    ],
    *[
        "list(f['x'].attrs)",
        "list(f['x'].attrs.items())",
        "'text' in f['x'].attrs",
        "f['x'].attrs.get_id('texts').shape",
        "f['x'].attrs.get_id('texts').dtype.metadata",
    ],
    *[
        "f['x'].id.get_offset()",
        "f['chunked'].id.get_offset()",
        "f['chunked'].id.get_num_chunks()",
        "f['scaled'].id.get_create_plist().get_filter(0)[0]",
        "bool(f)",
    ],
    *["f['x'].read_direct(np.zeros(3))", "f['x'].len()", "f['scalar'].len()", "f['x'].asstr()", "f['x'].virtual_sources()"],
    "f.visit(lambda name: name if name > 'd' else None)",
    "f.visit_links(lambda name: name if name > 'd' else None)",
    "f['group'].id.get_create_plist().get_link_creation_order()",
]


def outcome(question: str, f: Any) -> tuple[str, Any]:
    try:
        return "value", eval(question, {"f": f, "np": np})
    except Exception as error:
        return "error", error


def test_each_question_has_h5pys_answer(path: pathlib.Path) -> None:
    wrong = []
    with h5py.File(path, "r") as theirs_file, ours.File(path, "r") as ours_file:
        for question in QUESTIONS:
            theirs, mine = outcome(question, theirs_file), outcome(question, ours_file)
            if theirs[0] == "error" and mine[0] == "error":
                kinds = {next(c for c in type(e).__mro__ if c.__module__ == "builtins") for e in (theirs[1], mine[1])}
                # The HDF5 library's own errors are of whatever class h5py maps them to.
                equal = isinstance(mine[1], tuple(kinds)) and (
                    len(kinds) == 1 or kinds <= {TypeError, ValueError, IndexError} or kinds & {OSError, RuntimeError}
                )
            elif question.endswith("dtype.metadata") and theirs[0] == mine[0]:
                equal = repr(theirs[1]) == repr(mine[1]).replace("hyperslab.values.references", "h5py.h5r")
            else:
                equal = theirs[0] == mine[0] and identical(theirs[1], mine[1])
            if not equal:
                wrong.append(f"{question}: h5py {theirs[1]!r}, here {mine[1]!r}")
    assert wrong == [], "\n".join(wrong)
    assert len(QUESTIONS) > 1000


def test_names_that_change_files_say_what_to_do(path: pathlib.Path) -> None:
    for opened in (hs.open(path), ours.File(path)):
        for change in (
            lambda f: f.create_dataset("new", data=1),
            lambda f: f.create_group("new"),
            lambda f: f.__setitem__("new", 1),
            lambda f: f.__delitem__("x"),
            lambda f: f["x"].__setitem__(0, 1),
            lambda f: f["x"].resize((5,)),
            lambda f: f["x"].make_scale("x"),
            lambda f: f.attrs.create("a", 1),
            lambda f: f.attrs.update(a=1),
            lambda f: f.move("x", "y"),
        ):
            with pytest.raises(hs.ReadOnlyError, match=r"hyperslab\.create"):
                change(opened)
    with pytest.raises(ValueError, match="unknown mode 'rb'"):
        ours.File(path, "rb")


def test_files_that_are_not_hdf5_are_os_errors(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.txt").write_text("text" * 1000)
    assert not ours.is_hdf5(tmp_path / "a.txt") and not ours.is_hdf5(tmp_path / "none.h5")
    with pytest.raises(OSError):
        ours.File(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError):
        ours.File(tmp_path / "none.h5")


def test_conversion_is_that_of_hdf5(tmp_path: pathlib.Path) -> None:
    values = {
        "f": np.array([1.5, -1.5, 300, -300, np.inf, -np.inf, 1e300, 2.9, -0.9]),
        "h": np.array([1.5, 7, 65504], "f2"),
        "i": np.array([300, -300, 127, -129, 2**40, -(2**63)]),
        "u": np.array([200, 2**64 - 1, 2**63], "u8"),
        "b": np.array([True, False]),
        "r": np.array([(1, 300.7)], dtype=[("a", "i4"), ("b", "f8")]),
    }
    with h5py.File(tmp_path / "c.h5", "w") as f:
        f.update(values)
    with h5py.File(tmp_path / "c.h5") as theirs, ours.File(tmp_path / "c.h5") as mine:
        for name in values:
            for dtype in ("i1", "u1", "i2", ">u2", "i8", "u8", "f2", "f4", "f8") if name != "r" else ([("b", "i1"), ("a", "f4")], [("b", "u2")]):
                assert identical(theirs[name].astype(dtype)[...], mine[name].astype(dtype)[...]), (name, dtype)
                if name != "r":
                    out, expected = np.zeros(len(values[name]), dtype), np.zeros(len(values[name]), dtype)
                    theirs[name].read_direct(expected)
                    mine[name].read_direct(out)
                    assert identical(expected, out) and identical(np.asarray(theirs[name], dtype), np.asarray(mine[name], dtype)), (name, dtype)
    with h5py.File(tmp_path / "nan.h5", "w") as f:
        f["x"] = [np.nan]
    with pytest.raises(hs.InvalidInputError, match="NaN as int8"):
        ours.File(tmp_path / "nan.h5")["x"].astype("i1")[...]
    with pytest.raises(TypeError, match="does not convert"):
        ours.File(tmp_path / "c.h5")["r"].astype("f8")[...]


def test_committed_datatypes_have_attributes_by_their_identifiers(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["t"] = np.dtype([("a", "i4")])
        f["t"].attrs["x"] = 3
    for module in (h5py, ours):
        with module.File(tmp_path / "a.h5", "r") as f:
            found = f["t"].id
            assert module.h5a.exists(found, b"x") and not module.h5a.exists(found, b"y") and module.h5a.get_num_attrs(found) == 1
            assert f["t"].attrs.get_id("x").dtype == np.int64


def test_region_references_have_shapes(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "r.h5", "w") as f:
        x = f.create_dataset("x", data=np.arange(20).reshape(4, 5))
        f["r"] = np.array([x.regionref[1:3, ::2], x.regionref[...], x.regionref[[0, 2], 1]], h5py.regionref_dtype)
    with h5py.File(tmp_path / "r.h5") as theirs, ours.File(tmp_path / "r.h5") as mine:
        for a, b in zip(theirs["r"][()], mine["r"][()]):
            assert theirs["x"].regionref.shape(a) == mine["x"].regionref.shape(b)
            assert np.prod(theirs["x"].regionref.selection(a)) == np.prod(mine["x"].regionref.selection(b)) == mine["x"][b].size
        # h5py makes references in files only that can be written.
        made = mine["x"].regionref[1:3, ::2]
        assert theirs["x"][1:3, ::2].tolist() == mine["x"][made].tolist() and mine[made] == mine["x"]


def test_virtual_datasets_and_chunks(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "v.h5", "w") as f:
        x = f.create_dataset("x", data=np.arange(40.0).reshape(10, 4), chunks=(3, 4), compression="gzip")
        layout = h5py.VirtualLayout((4, 10), "f8")
        for i in range(4):
            layout[i] = h5py.VirtualSource(x)[:, i]
        f.create_virtual_dataset("v", layout)
    with h5py.File(tmp_path / "v.h5") as theirs, ours.File(tmp_path / "v.h5") as mine:
        assert mine["v"].is_virtual and not mine["x"].is_virtual
        for a, b in zip(theirs["v"].virtual_sources(), mine["v"].virtual_sources(), strict=True):
            assert (a.file_name, a.dset_name) == (b.file_name, b.dset_name)
            assert a.vspace.get_regular_hyperslab() == b.vspace.get_regular_hyperslab()
            assert a.src_space.get_regular_hyperslab() == b.src_space.get_regular_hyperslab()
        assert [s.dset_name for s in hs.open(tmp_path / "v.h5")["v"].virtual_sources()] == ["/x"] * 4
        infos = [[tuple(d[n].id.get_chunk_info(i)) for i in range(d[n].id.get_num_chunks())] for d, n in ((theirs, "x"), (mine, "x"))]
        assert infos[0] == infos[1] and len(infos[0]) == 4
        found: list[Any] = []
        mine["x"].id.chunk_iter(found.append)
        assert [tuple(one) for one in found] == infos[1]


def test_objects_pickle_and_copy(path: pathlib.Path) -> None:
    with ours.File(path) as f:
        for thing in (f, f["group"], f["x"], f["type"]):
            again = pickle.loads(pickle.dumps(thing))
            assert type(again) is type(thing) and again == thing and copy.copy(thing) == thing
        assert isinstance(f["x"].file, ours.File) and isinstance(f["x"].parent, ours.Group)


def test_it_takes_h5pys_place_and_gives_it_back(path: pathlib.Path) -> None:
    script = f"""
import h5py as before, sys
import hyperslab as hs
with hs.install_as_h5py(threads=1):
    import h5py
    from h5py._hl.dataset import Dataset
    from h5py import h5t, File
    assert h5py is not before and h5py.__name__ == "h5py" and "hyperslab" in h5py.__file__
    with h5py.File({str(path)!r}, "r") as f:
        assert type(f["x"]) is Dataset and Dataset.__module__ == "h5py._hl.dataset"
        assert h5py.check_string_dtype(f["texts"].dtype).encoding == "utf-8"
        print(f["x"][0, 1])
import h5py
assert h5py is before and Dataset.__module__ == "hyperslab.h5py._hl.dataset"
import hyperslab.h5py
assert hyperslab.h5py.__name__ == "hyperslab.h5py"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1.0\n"), done.stderr


def test_selections_of_dataspaces_are_combined_as_by_h5py() -> None:
    random = np.random.default_rng(7)

    def chosen() -> tuple[dict[str, tuple[int, ...]], int]:
        block = random.integers(1, 3, 2)
        stride = block + random.integers(0, 3, 2)
        count = random.integers(1, 4, 2)
        start = random.integers(0, 12 - (count - 1) * stride - block + 1)
        parts = {"start": start, "count": count, "stride": stride, "block": block}
        return {name: tuple(int(n) for n in part) for name, part in parts.items()}, int(random.integers(1, 6))

    for _ in range(200):
        theirs, mine = h5py.h5s.create_simple((14, 15)), ours.h5s.create_simple((14, 15))
        for place in range(int(random.integers(1, 4))):
            region, op = chosen()
            for space, module in ((theirs, h5py.h5s), (mine, ours.h5s)):
                space.select_hyperslab(**region, op=op if place else module.SELECT_SET)
        assert theirs.get_select_npoints() == mine.get_select_npoints()
        assert theirs.get_select_type() == mine.get_select_type()
        if mine.get_select_npoints():
            assert theirs.get_select_bounds() == mine.get_select_bounds()
            blocks = [{tuple(map(tuple, block)) for block in space.get_select_hyper_blocklist().tolist()} for space in (theirs, mine)]
            assert blocks[0] == blocks[1]
        assert theirs.select_valid() == mine.select_valid()


@pytest.mark.parametrize("module", ["h5d", "h5f", "h5g", "h5i", "h5l", "h5o", "h5p", "h5r", "h5s", "h5t", "h5z"])
def test_constants_are_those_of_h5py(module: str) -> None:
    theirs, mine = getattr(h5py, module), vars(getattr(ours, module))
    known = {name: value for name, value in vars(theirs).items() if name.isupper() and isinstance(value, int) and name in mine}
    assert {name: mine[name] for name in known} == known and known
    if module == "h5d":
        assert {"COMPACT", "CONTIGUOUS", "CHUNKED", "VIRTUAL", "UNLIMITED"} <= set(mine)
