"""Comparing files: what `hs.diff` and `hyperslab diff` find, judged by numpy on files that h5py wrote."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import dump_tools
import h5py
import hdf5plugin
import hyperslab as hs
import numpy as np
import pytest
from hyperslab.comparing.stored import StoredChunks
from hyperslab.comparing.tolerance import Tolerance, differing
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

KINDS = ("i1", "u1", "<i4", ">i8", "u8", "f2", "f4", ">f8", "c16", "S5", "V3")


def file_of_everything(path: pathlib.Path) -> None:
    rng = np.random.default_rng(3)
    with h5py.File(path, "w") as f:
        f["a/x"] = rng.normal(size=(40, 30))
        f.create_dataset("a/packed", data=rng.integers(0, 50, (100, 70)), chunks=(16, 20), compression="gzip", shuffle=True)
        f.create_dataset("a/zstd", data=rng.normal(size=(64, 50)).astype("f4"), chunks=(10, 50), **hdf5plugin.Zstd())
        f.create_dataset("partly", (1000, 10), "i4", chunks=(100, 10), fillvalue=7)
        f["partly"][200:300] = 1
        f["text"] = ["one", "two", "three"]
        f["fixed"] = np.array([b"ab", b"c"])
        f.create_dataset("nothing", (0, 3), np.dtype([("a", "f4", 2), ("b", "S3")]))
        f["compound"] = np.array([(1, 2.5, [1, 2]), (2, np.nan, [3, 4])], [("i", "i4"), ("x", "f8"), ("v", "u2", 2)])
        f["lists"] = np.zeros(2)
        lists = f.create_dataset("ragged", (2,), h5py.vlen_dtype("f4"))
        lists[0], lists[1] = [1, 2], [np.nan]
        f["scalar"], f["empty"], f["null"] = 3.5, np.zeros((0, 4)), h5py.Empty("f4")
        f["kinds"] = h5py.Group(f.create_group("kind").id)
        f["committed"] = np.dtype("f8")
        f["reference"] = np.array([f["a/x"].ref, h5py.Reference()], h5py.ref_dtype)
        f["hard"], f["soft"], f["far"] = f["a/x"], h5py.SoftLink("/a/x"), h5py.ExternalLink("other.h5", "/x")
        f["a/x"].make_scale("x")
        f["a/packed"].attrs["units"], f["a"].attrs["n"], f.attrs["x"] = "K", [1, 2], np.nan
        f.attrs["nothing"] = h5py.Empty("f4")


@pytest.fixture
def pair(tmp_path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    file_of_everything(tmp_path / "a.h5")
    shutil.copy(tmp_path / "a.h5", tmp_path / "b.h5")
    return tmp_path / "a.h5", tmp_path / "b.h5"


def test_equal_files_are_equal_without_decoding_them(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
    found = hs.diff(*pair)
    assert found.equal and found.differences == () and found.not_compared == ()
    with h5py.File(pair[0]) as f:
        sizes = [f[name].id.get_storage_size() for name in ("a/x", "a/packed", "a/zstd", "partly", "fixed", "compound", "lists")]
    assert found.stored_bytes == sum(sizes)
    assert hs.diff(pair[0], pair[0]).equal


def change(name: str, **how: Any) -> Callable[[h5py.File], None]:
    def run(f: h5py.File) -> None:
        f[name][how.get("at", ())] = how["value"]

    return run


def delete(f: h5py.File, name: str, value: Any = None) -> None:
    del f[name]
    if value is not None:
        f[name] = value


CHANGES: dict[str, tuple[Callable[[h5py.File], Any], list[tuple[str, str]]]] = {
    "a value": (change("a/x", at=(3, 4), value=9), [("/a/x", "values")]),
    "a packed value": (change("a/packed", at=(99, 69), value=-1), [("/a/packed", "values")]),
    "an unwritten chunk": (change("partly", at=(999, 9), value=8), [("/partly", "values")]),
    "text": (change("text", at=1, value="2"), [("/text", "values")]),
    "fixed text": (change("fixed", at=1, value=b"d"), [("/fixed", "values")]),
    "a list": (change("ragged", at=0, value=[1, 3]), [("/ragged", "values")]),
    "a scalar": (change("scalar", value=4), [("/scalar", "values")]),
    "a reference": (lambda f: f["reference"].__setitem__(0, f["text"].ref), [("/reference", "values")]),
    "one object less": (lambda f: delete(f, "text"), [("/text", "only_first")]),
    "one object more": (lambda f: f.create_group("new/below"), [("/new", "only_second")]),
    "another kind": (lambda f: (delete(f, "text"), f.create_group("text")), [("/text", "object")]),
    "another shape": (lambda f: delete(f, "scalar", [3.5]), [("/scalar", "shape")]),
    "another type": (lambda f: delete(f, "scalar", np.float32(3.5)), [("/scalar", "type")]),
    "another type of other values": (lambda f: delete(f, "scalar", np.int64(3)), [("/scalar", "type"), ("/scalar", "values")]),
    "no numbers": (lambda f: delete(f, "scalar", "3.5"), [("/scalar", "type")]),
    "a soft link": (lambda f: delete(f, "soft", h5py.SoftLink("/a/y")), [("/soft", "link")]),
    "an external link": (lambda f: delete(f, "far", h5py.SoftLink("/x")), [("/far", "link")]),
    "an object for a link": (lambda f: delete(f, "hard", f["a/x"][()]), [("/hard", "link"), *[("/hard", "attribute")] * 2]),
    "an attribute": (lambda f: f["a/packed"].attrs.__setitem__("units", "C"), [("/a/packed", "attribute")]),
    "attributes": (lambda f: (f["a"].attrs.__delitem__("n"), f["a"].attrs.__setitem__("m", 1)), [("/a", "attribute"), ("/a", "attribute")]),
    "a committed type": (lambda f: delete(f, "committed", np.dtype("f4")), [("/committed", "type")]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found_and_nothing_else(pair: tuple[pathlib.Path, pathlib.Path], name: str) -> None:
    work, wanted = CHANGES[name]
    with h5py.File(pair[1], "r+") as f:
        work(f)
    found = hs.diff(*pair)
    assert [(one.path, one.kind) for one in found.differences] == wanted
    assert not found.equal and found.not_compared == ()
    back = {(one.path, one.kind) for one in hs.diff(pair[1], pair[0]).differences}
    swapped = {"only_first": "only_second", "only_second": "only_first"}
    assert back == {(path, swapped.get(kind, kind)) for path, kind in wanted}


def test_how_many_values_differ_and_by_how_much(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
    with h5py.File(pair[0]) as f, h5py.File(pair[1], "r+") as g:
        old = f["a/packed"][()]
        new = old.copy()
        new[17:90:5, 3:60:7] += np.arange(1, 136).reshape(15, 9)
        g["a/packed"][...] = new
    [one] = hs.diff(*pair).differences
    found = one.values
    assert found is not None
    assert (found.count, found.total, found.index) == (int((old != new).sum()), old.size, (17, 3))
    assert found.values == (old[17, 3], new[17, 3]) and found.absolute == 135
    nonzero = new != 0
    assert found.relative == pytest.approx((np.abs(new - old)[nonzero] / np.abs(new[nonzero])).max())
    assert "the first at [17, 3]" in one.text and f"{found.count} of 7,000" in one.text


def test_chunks_filters_and_the_order_of_objects_do_not_matter(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
    with h5py.File(pair[0]) as f, h5py.File(pair[1], "r+") as g:
        for name, options in (("a/packed", {"chunks": (7, 70)}), ("a/zstd", {}), ("partly", {"compression": "lzf", "chunks": (33, 3), "fillvalue": 7})):
            attributes = dict(f[name].attrs)
            del g[name]
            g.create_dataset(name, data=f[name][()], **options).attrs.update(attributes)
    found = hs.diff(*pair, storage=True)
    assert {(one.path, one.kind) for one in found.differences} == {("/a/packed", "storage"), ("/a/zstd", "storage"), ("/partly", "storage")}
    assert hs.diff(*pair).equal


@pytest.mark.parametrize("limits", [{}, {"atol": 0.5}, {"rtol": 0.1}])
def test_h5diff_counts_the_same(tmp_path: pathlib.Path, limits: dict[str, float]) -> None:
    program = dump_tools.program("h5diff")
    if program is None:
        pytest.skip("there is no h5diff: `make dump-tools` unpacks it")
    command, environment = program
    rng = np.random.default_rng(4)
    for name, dtype in (("x", "f4"), ("n", "i8"), ("c", [("a", "i4"), ("b", "f8")])):
        a, b = (np.zeros((50, 20), dtype) for _ in range(2))
        for field in np.dtype(dtype).names or (...,):
            a[field] = rng.integers(1, 100, (50, 20))
            b[field] = a[field] + np.where(rng.random((50, 20)) < 0.02, rng.integers(1, 40, (50, 20)), 0)
        for file, values in (("a.h5", a), ("b.h5", b), ("equal.h5", a)):
            with h5py.File(tmp_path / file, "a") as f:
                f.create_dataset(name, data=values, chunks=(7, 9) if file != "equal.h5" else None)
    options = [f"--delta={limits['atol']}"] if "atol" in limits else [f"--relative={limits['rtol']}"] if "rtol" in limits else []

    def theirs(other: str) -> tuple[int, list[int]]:
        arguments = [*command, *options, "-r", str(tmp_path / "a.h5"), str(tmp_path / other)]
        done = subprocess.run(arguments, capture_output=True, text=True, env=environment, check=False)
        return done.returncode, [int(number) for number in re.findall(r"(\d+) differences found", done.stdout)]

    assert theirs("equal.h5")[0] == 0 and hs.diff(tmp_path / "a.h5", tmp_path / "equal.h5", **limits).equal
    status, counts = theirs("b.h5")
    # h5diff takes differences relative to the first file, and counts the members of compounds one by one.
    first = ("a.h5", "b.h5") if "rtol" not in limits else ("b.h5", "a.h5")
    found = {one.path: one.values.count for one in hs.diff(*(tmp_path / name for name in first), **limits).differences if one.values}
    assert status == 1 and {path: found[path] for path in ("/n", "/x")} == dict(zip(("/n", "/x"), counts[1:], strict=True))
    with h5py.File(tmp_path / "a.h5") as f, h5py.File(tmp_path / "b.h5") as g:
        a, b = f["c"][()], g["c"][()]
        near = [np.isclose(b[name], a[name], rtol=limits.get("rtol", 0), atol=limits.get("atol", 0)) for name in ("a", "b")]
    assert counts[0] == sum(int((~one).sum()) for one in near) and found["/c"] == int((~near[0] | ~near[1]).sum())


def test_tolerances_are_those_of_numpy(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(8)
    a = rng.normal(size=5000)
    b = a * (1 + rng.normal(size=5000) * 1e-3)
    a[:6], b[:6] = [np.inf, np.inf, np.nan, 1, np.nan, -np.inf], [np.inf, -np.inf, np.nan, np.inf, 3, 1]
    for name, values in (("a.h5", a), ("b.h5", b)):
        with h5py.File(tmp_path / name, "w") as f:
            f.create_dataset("x", data=values, chunks=(512,))
    for rtol, atol, nan in ((0, 0, True), (1e-3, 0, True), (0, 1e-4, False), (1e-3, 1e-3, True), (10, 0, True)):
        found = hs.diff(tmp_path / "a.h5", tmp_path / "b.h5", rtol=rtol, atol=atol, equal_nan=nan).differences
        count = int((~np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=nan)).sum())
        assert [one.values.count for one in found if one.values] == ([count] if count else [])
    with pytest.raises(hs.InvalidInputError, match="rtol is -1"):
        hs.diff(tmp_path / "a.h5", tmp_path / "b.h5", rtol=-1)
    # NaN of the same stored bytes still differs from itself where that is asked for.
    assert not hs.diff(tmp_path / "a.h5", tmp_path / "a.h5", equal_nan=False).equal


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_arrays_differ_where_numpy_says_so(data: st.DataObject) -> None:
    one, other = (np.dtype(data.draw(st.sampled_from(KINDS))) for _ in range(2))
    if one.kind not in "biufc" or other.kind not in "biufc":
        other = one
    size = data.draw(st.integers(0, 8))

    def draw(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        return np.frombuffer(data.draw(st.binary(min_size=size * dtype.itemsize, max_size=size * dtype.itemsize)), dtype)

    a, b = draw(one), draw(other)
    if data.draw(st.booleans()) and one == other:
        b = a.copy()
    naive = []
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        nan = one.kind in "fc" and other.kind in "fc" and x != x and y != y
        naive.append(not nan and x != y)
    with np.errstate(all="ignore"):
        found = differing(a, b, Tolerance())
    # Python compares integers with floats exactly, numpy after it made floats of both.
    if {one.kind in "iu", other.kind in "iu"} == {True, False}:
        naive = [bool(x) for x in (a != b)]
    assert found.tolist() == naive
    assert differing(a, a, Tolerance(bits=True)).tolist() == [False] * size


def test_integers_of_64_bits_are_compared_exactly(tmp_path: pathlib.Path) -> None:
    big = np.array([2**63 - 1, -(2**63), 2**53 + 1], "i8")
    for name, values in (("a.h5", big), ("b.h5", big - np.array([2, -2, 1]))):
        with h5py.File(tmp_path / name, "w") as f:
            f["x"] = values
    a, b = tmp_path / "a.h5", tmp_path / "b.h5"
    assert hs.diff(a, b).differences[0].values.count == 3  # type: ignore[union-attr]
    assert hs.diff(a, b, atol=1).differences[0].values.count == 2  # type: ignore[union-attr]
    assert hs.diff(a, b, atol=2).equal


def test_rows_in_any_order(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(1)
    order = rng.permutation(500)
    table = np.zeros(500, [("id", "i4"), ("x", "f8")])
    table["id"], table["x"] = rng.integers(0, 40, 500), rng.normal(size=500).round(1)
    table["x"][:20] = np.nan
    names = [f"n{number % 30}" for number in range(500)]
    with h5py.File(tmp_path / "a.h5", "w") as f, h5py.File(tmp_path / "b.h5", "w") as g:
        f["events"], g["events"] = table, table[order]
        f["grid"], g["grid"] = np.arange(1500).reshape(500, 3), np.arange(1500).reshape(500, 3)[order]
        f["names"], g["names"] = names, [names[at] for at in order]
        f["x"], g["x"] = table["x"], table["x"][order] + 1e-9
    a, b = tmp_path / "a.h5", tmp_path / "b.h5"
    assert {one.path for one in hs.diff(a, b).differences} == {"/events", "/grid", "/names", "/x"}
    assert [one.path for one in hs.diff(a, b, unordered=["/events", "/grid", "/names"]).differences] == ["/x"]
    assert hs.diff(a, b, unordered="/*", atol=1e-6, exclude=["/events", "/grid", "/names"]).equal
    with h5py.File(b, "r+") as g:
        g["events"][7] = (1000, 0)
        g["names"][3] = "other"
    found = hs.diff(a, b, unordered="/*", exclude="/x").differences
    assert [(one.path, one.values and one.values.count) for one in found] == [("/events", 2), ("/names", 2)]
    refused = hs.diff(a, b, unordered="/*", exclude="/x", atol=1e-6).not_compared
    assert [path for path, _ in refused] == ["/events", "/grid", "/names"]


def test_parts_of_files_and_what_is_left_out(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
    with h5py.File(pair[1], "r+") as f:
        f["a/x"][0, 0] = 100
        f["moved"] = f["a/packed"][()]
        f["moved"].attrs["units"] = "K"
        f.attrs["x"] = 1
    assert {one.path for one in hs.diff(*pair).differences} == {"/", "/a/x", "/moved"}
    assert hs.diff(*pair, exclude=["/a/*", "/moved", "/hard"], attributes=False).equal
    assert hs.diff(*pair, "/a/packed").equal
    assert [one.kind for one in hs.diff(*pair, "/a/packed", "/moved", storage=True).differences] == ["storage"] * 3
    assert not hs.diff(*pair, "/a/packed", "/moved").differences
    with hs.open(pair[0]) as one, hs.open(pair[1]) as other:
        assert not hs.diff(one, other, "/a").equal
        assert one["text"][0] == b"one"  # files that were open stay open
    with pytest.raises(hs.NotFoundError):
        hs.diff(*pair, "/nowhere")
    with pytest.raises(hs.NotFoundError):
        hs.diff(pair[0], "nowhere.h5")


def test_what_cannot_be_read_is_not_equal(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
    with h5py.File(pair[0], "r+") as f:
        start = f["a/zstd"].id.get_chunk_info(2)
    for path in pair:
        data = bytearray(path.read_bytes())
        data[start.byte_offset : start.byte_offset + 8] = b"\0" * 8
        path.write_bytes(data)
    # The stored bytes are the same, so the values are, whatever they would have been.
    assert hs.diff(*pair).equal
    data = bytearray(pair[1].read_bytes())
    data[start.byte_offset] = 1
    pair[1].write_bytes(data)
    found = hs.diff(*pair)
    assert [path for path, _ in found.not_compared] == ["/a/zstd"] and not found.equal and not found.differences


def test_numbers_that_numpy_does_not_have(tmp_path: pathlib.Path) -> None:
    datatype = h5py.h5t.NATIVE_INT64.copy()
    datatype.set_size(16)
    for name, value in (("a.h5", 1), ("b.h5", 1), ("c.h5", 2)):
        with h5py.File(tmp_path / name, "w") as f:
            space = h5py.h5s.create(h5py.h5s.SCALAR)
            h5py.h5a.create(f.id, b"n", datatype, space).write(np.array(value, "i8"), mtype=h5py.h5t.NATIVE_INT64)
    assert hs.diff(tmp_path / "a.h5", tmp_path / "b.h5").equal
    assert [one.kind for one in hs.diff(tmp_path / "a.h5", tmp_path / "c.h5").differences] == ["attribute"]
    hs.repack(tmp_path / "a.h5", tmp_path / "copy.h5")
    assert hs.diff(tmp_path / "a.h5", tmp_path / "copy.h5").equal


def test_stored_bytes_tell_nothing_of_text(pair: tuple[pathlib.Path, pathlib.Path]) -> None:
    with hs.open(pair[0]) as one, hs.open(pair[1]) as other, StoredChunks(one._file, other._file) as stored:
        assert stored.differing_chunks(one["text"], other["text"]) is None
        assert stored.differing_chunks(one["reference"], other["reference"]) is None
        numbers = stored.differing_chunks(one["partly"], other["partly"])
        assert numbers is not None and len(numbers) == 0


def test_a_huge_dataset_of_few_chunks_costs_what_it_has(tmp_path: pathlib.Path) -> None:
    for name, value in (("a.h5", 1), ("b.h5", 1), ("c.h5", 2)):
        with h5py.File(tmp_path / name, "w") as f:
            d = f.create_dataset("x", (1 << 21, 1 << 21), "i4", chunks=(4000, 4000), compression="gzip")
            d[1 << 19, 17] = 5
            d[(1 << 21) - 1, 1 << 19] = value
    assert hs.diff(tmp_path / "a.h5", tmp_path / "b.h5").equal
    [found] = hs.diff(tmp_path / "a.h5", tmp_path / "c.h5").differences
    assert found.values is not None and (found.values.count, found.values.index) == (1, ((1 << 21) - 1, 1 << 19))


def test_more_chunks_than_are_listed_at_once(tmp_path: pathlib.Path) -> None:
    for name, value in (("a.h5", 1), ("b.h5", 1), ("c.h5", 2)):
        with h5py.File(tmp_path / name, "w") as f:
            f.create_dataset("x", (1_200_000,), "i4", chunks=(1,))[1_100_000] = value
    assert hs.diff(tmp_path / "a.h5", tmp_path / "b.h5").equal
    [found] = hs.diff(tmp_path / "a.h5", tmp_path / "c.h5").differences
    assert found.values is not None and (found.values.count, found.values.index) == (1, (1_100_000,))


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_random_changes_are_found_where_they_are(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("random")
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    chunks = data.draw(st.none() | st.tuples(*(st.integers(1, extent) for extent in shape)))
    options = {} if chunks is None else {"chunks": chunks, "compression": data.draw(st.sampled_from([None, "gzip"]))}
    old = np.arange(int(np.prod(shape))).reshape(shape)
    new = old.copy()
    for _ in range(data.draw(st.integers(0, 4))):
        new[tuple(data.draw(st.integers(0, extent - 1)) for extent in shape)] += data.draw(st.integers(-2, 2))
    for name, values in (("a.h5", old), ("b.h5", new)):
        with h5py.File(folder / name, "w") as f:
            f.create_dataset("x", data=values, **options)
    found = hs.diff(folder / "a.h5", folder / "b.h5").differences
    if (old == new).all():
        assert not found
    else:
        assert found[0].values is not None
        assert (found[0].values.count, found[0].values.index) == (int((old != new).sum()), tuple(np.argwhere(old != new)[0]))


@pytest.mark.parametrize(("one", "other"), [((1, 40), (60, 1)), ((60, 40), (7, 3)), (None, (5, 40)), ((11, 13), (13, 11))])
def test_chunks_of_other_shapes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, one: Any, other: Any) -> None:
    # Small boxes, so that there are many.
    monkeypatch.setattr("hyperslab.comparing.values._BOX_BYTES", 800)
    monkeypatch.setattr("hyperslab.comparing.values._UNIT_BYTES", 3000)
    old = np.arange(2400.0).reshape(60, 40)
    new = old.copy()
    new[[3, 59, 31], [39, 0, 17]] += [1, 2, 3]
    for name, values, chunks in (("a.h5", old, one), ("b.h5", new, other), ("c.h5", old, other)):
        with h5py.File(tmp_path / name, "w") as f:
            f.create_dataset("x", data=values, chunks=chunks)
    [found] = hs.diff(tmp_path / "a.h5", tmp_path / "b.h5").differences
    assert found.values is not None and (found.values.count, found.values.index, found.values.absolute) == (3, (3, 39), 3)
    assert hs.diff(tmp_path / "a.h5", tmp_path / "c.h5").equal


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hyperslab", "diff", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_command(pair: tuple[pathlib.Path, pathlib.Path], tmp_path: pathlib.Path) -> None:
    same = run(*pair)
    assert (same.returncode, same.stderr) == (0, "") and "are equal" in same.stdout
    with h5py.File(pair[1], "r+") as f:
        f["a/x"][3, 4] = 9
        f["\x1b[31mred"] = 1
    found = run(*pair)
    assert found.returncode == 1 and "/a/x: 1 of 1,200 values differs" in found.stdout and "\x1b" not in found.stdout
    assert run(*pair, "-q").stdout == ""
    facts = json.loads(run(*pair, "--json").stdout)
    assert not facts["equal"] and facts["differences"][0]["values"]["index"] == [3, 4]
    page = tmp_path / "page.html"
    assert run(*pair, "--html", page).returncode == 1
    assert "<td style='text-align:left'>/a/x</td>" in page.read_text() and "\x1b" not in page.read_text()
    wrong = run(pair[0], tmp_path / "nowhere.h5")
    assert wrong.returncode == 2 and wrong.stdout == "" and wrong.stderr.count("\n") == 1


def test_text_of_bytes_is_shown_as_text(tmp_path: pathlib.Path) -> None:
    for name, text in (("a.h5", "metre"), ("b.h5", "feet")):
        with h5py.File(tmp_path / name, "w") as f:
            f["x"] = 1
            f["x"].attrs["units"] = np.bytes_(text)
    found = hs.diff(tmp_path / "a.h5", tmp_path / "b.h5")
    assert "the attribute 'units': 'metre' and 'feet'" in [one.text for one in found.differences]
