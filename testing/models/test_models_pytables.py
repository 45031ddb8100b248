"""PyTables and pandas' HDFStore as models, judged by tables and pandas."""

from __future__ import annotations

import decimal
import os
import pathlib
import pickle
import warnings
import zoneinfo
from typing import Any

import h5py
import hyperslab as hs
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import tables
from hyperslab.models.pickled_lists import object_array, parsed


@pytest.fixture
def nodes(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "nodes.h5"
    with tables.open_file(path, "w") as f:
        dtype = np.dtype([("name", "S8"), ("n", "i4"), ("ok", "?"), ("v", "f8", (3,)), ("z", "c16"), ("inner", [("q", "i1"), ("on", "?")])])
        table = f.create_table(f.create_group("/", "g"), "readout", np.zeros(1000, dtype))
        table.cols.n[:], table.cols.ok[:], table.cols.v[:] = np.arange(1000), np.arange(1000) % 3 == 0, np.ones((1000, 3))
        table.cols.n.create_index()
        f.create_array("/", "array", np.arange(6).reshape(2, 3))
        f.create_carray("/", "carray", obj=np.eye(3))
        f.create_earray("/", "earray", tables.Float32Atom(), (0, 2)).append(np.ones((4, 2), "f4"))
        f.create_array("/", "flags", np.array([True, False]))
        ragged = f.create_vlarray("/", "ragged", tables.Int32Atom())
        ragged.append([1, 2])
        ragged.append([3])
        f.create_vlarray("/", "objects", tables.ObjectAtom()).append({"a": 1})
        f.create_vlarray("/", "texts", tables.VLUnicodeAtom()).append("hällo")
        f.create_vlarray("/", "bytes", tables.VLStringAtom()).append(b"abc")
    return path


def test_nodes_are_what_pytables_reads(nodes: pathlib.Path) -> None:
    view = hs.models.pytables.open(nodes)
    assert (view.certainty, view.tables, view.validate()) == ("certain", ["g/readout"], [])
    assert {array.name for array in view.arrays} == {"array", "carray", "earray", "flags"}
    assert set(view.omitted) == {"/objects", "/ragged", "/texts", "/bytes"} and "never unpickled" in view.omitted["/objects"]
    with tables.open_file(nodes) as f:
        for leaf in f.walk_nodes("/", "Leaf"):
            if leaf._v_pathname == "/objects" or "_i_" in leaf._v_pathname:
                continue
            got, wanted = view.read(leaf._v_pathname), leaf.read()
            if leaf.name == "readout":
                assert got.dtype.names == wanted.dtype.names and got["ok"].dtype == got["inner"]["on"].dtype == bool
                assert all(np.array_equal(got[name], wanted[name]) for name in ("name", "n", "ok", "v", "z")) and np.array_equal(
                    got["inner"]["q"], wanted["inner"]["q"]
                )
            elif isinstance(wanted, list):
                assert [row.tolist() if isinstance(row, np.ndarray) else row for row in got] == [
                    row.tolist() if isinstance(row, np.ndarray) else row for row in wanted
                ]
            else:
                assert np.array_equal(got, wanted) and got.dtype == wanted.dtype
        assert [pickle.loads(one) for one in view.pickles("objects")] == f.root.objects.read()
    for path, error in (("objects", hs.UnsupportedError), ("q", hs.NotFoundError), ("g", hs.NotFoundError)):
        with pytest.raises(error):
            view.read(path)
    with pytest.raises(hs.NotFoundError):
        view.pickles("array")


def test_tables_are_scanned(nodes: pathlib.Path) -> None:
    view = hs.models.pytables.open(nodes)
    found = view.table("g/readout", "n >= 990 and ok = 1", columns=["n", "v"])
    assert found.to_arrow().to_pydict() == {"n": [990, 993, 996, 999], "v": [[1.0] * 3] * 4}
    whole = view.table("g/readout")
    assert sum(split.read().num_rows for split in whole.splits(4)) == 1000 and whole.splits(1)[0].read().equals(whole.to_arrow())
    assert hs.sql('select sum(n) from "g/readout" where ok = 1', nodes).fetchall() == [(sum(range(0, 1000, 3)),)]
    with pytest.raises(hs.UnsupportedError, match="never unpickled"):
        view.table("objects")
    with pytest.raises(hs.NotFoundError, match="is an array"):
        view.table("array")


def test_times_are_seconds_as_in_pytables(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "times.h5"
    # Doubles that PyTables keeps: seconds of 32 bits with a sign, microseconds.
    seconds = np.array([0.0, 1700000000.25, -1.75, 2147483647.999999, -2147483648.0, 1e-6, -0.000001, 1234.5678915])
    dtype = np.dtype([("n", "i4"), ("t", "f8"), ("s", "i4"), ("pair", "f8", (2,)), ("inner", [("u", "f8")])])
    rows = np.zeros(len(seconds), dtype)
    rows["n"], rows["t"], rows["s"], rows["inner"]["u"] = np.arange(len(seconds)), seconds, np.arange(len(seconds)) - 3, seconds[::-1]
    rows["pair"] = np.stack([seconds, -seconds], axis=1)

    class Row(tables.IsDescription):  # type: ignore[misc]
        n, t, s, pair = tables.Int32Col(pos=0), tables.Time64Col(pos=1), tables.Time32Col(pos=2), tables.Time64Col(shape=(2,), pos=3)

        class inner(tables.IsDescription):  # type: ignore[misc]
            u = tables.Time64Col()

    with tables.open_file(path, "w") as f:
        for order in ("little", "big"):
            table = f.create_table("/", order, Row, byteorder=order)
            table.append(rows)
            f.create_earray("/", f"e_{order}", tables.Time64Atom(), (0, 2), byteorder=order).append(rows["pair"])
            f.create_carray("/", f"c_{order}", tables.Time32Atom(), obj=rows["s"], byteorder=order)
        ragged = f.create_vlarray("/", "ragged", tables.Time64Atom())
        ragged.append(seconds[:3])
        ragged.append(seconds[3:])
    view = hs.models.pytables.open(path)
    assert view.tables == ["big", "little"] and view.validate() == [] and set(view.omitted) == {"/ragged"}
    with tables.open_file(path) as f:
        for order in ("little", "big"):
            wanted, got = f.get_node(f"/{order}").read(), view.read(order)
            assert all(np.array_equal(got[name], wanted[name]) for name in ("n", "t", "s", "pair")) and np.array_equal(got["inner"]["u"], wanted["inner"]["u"])
            assert np.allclose(wanted["t"], seconds, rtol=0, atol=1e-6)
            frame = view.table(order).to_pandas()
            assert frame.t.tolist() == wanted["t"].tolist() and frame.s.tolist() == wanted["s"].tolist()
            assert np.array_equal(np.stack(frame.pair), wanted["pair"]) and [value["u"] for value in frame.inner] == wanted["inner"]["u"].tolist()
            # Through splits, and in a condition.
            found = view.table(order, "t > 1000 and t < 2e9")
            assert [n for split in found.splits(2) for n in split.read()["n"].to_pylist()] == [1, 7]
            assert np.array_equal(view.read(f"e_{order}"), f.get_node(f"/e_{order}").read())
            assert np.array_equal(view.read(f"c_{order}"), f.get_node(f"/c_{order}").read())
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(view.read("ragged"), f.root.ragged.read(), strict=True))
        # Without the model, a time is the integer that is stored: HDF5 does not say what it counts.
        assert view.file["c_little"].dtype == "i4" and view.file["c_little"][:].tolist() == rows["s"].tolist()
        assert view.file["e_big"][:].dtype == "i8" and view.file["e_big"][1, 0] == (1700000000 << 32) + 250000
    # An index of a column of the dataset knows integers; the model's seconds do not ask it.
    hs.index(path, "/c_little")
    assert view.table("little", "s = 2").to_pandas().n.tolist() == [5]


def test_indexes_of_columns_are_named_and_not_used(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "indexed.h5"
    with tables.open_file(path, "w") as f:
        table = f.create_table(f.create_group("/", "g"), "readout", np.zeros(3000, [("n", "i4"), ("x", "f8"), ("inner", [("q", "i2")]), ("s", "S4")]))
        table.cols.n.create_index(kind="light")
        table.cols.x.create_csindex()
        table.cols.inner.q.create_index(kind="ultralight")
        table.cols.s.create_index()
        table.autoindex = False
        table.cols.x[:] = np.ones(3000)
        wanted = {("g/readout", one.column.pathname, one.kind, one.optlevel, bool(one.dirty)) for one in table.colindexes.values()}
    with h5py.File(path, "r+") as f:  # another program, which knows of no index
        f["g/readout"][7] = (5, 2.0, (1,), b"a")
    view = hs.models.pytables.open(path)
    assert set(view.indexes) == wanted and {one.column for one in view.indexes if one.is_dirty} == {"x"}
    assert view.table("g/readout", "n = 5 and x = 2", columns=["s"]).to_arrow().to_pydict() == {"s": ["a"]}
    with tables.open_file(tmp_path / "plain.h5", "w") as f:
        f.create_table("/", "t", np.zeros(3, [("n", "i4")]))
    assert hs.models.pytables.open(tmp_path / "plain.h5").indexes == []


def frame() -> pd.DataFrame:
    zoned = pd.date_range("2020", periods=5, tz="Europe/Berlin")
    return pd.DataFrame(
        {
            "a": np.arange(5.0),
            "b": np.arange(5),
            "zoned": zoned,
            "plain": [*pd.date_range("2020", periods=4), pd.NaT],
            "text": ["a", "bb", None, "ä", ""],
            "ok": [True, False, True, True, False],
            "kind": pd.Categorical(["x", None, "y", "x", "z"], categories=["z", "x", "y"], ordered=True),
            "span": pd.to_timedelta(np.arange(5), "h"),
            "small": np.arange(5, dtype="i2"),
        },
        index=pd.date_range("2021", periods=5, freq="h", name="when"),
    )


def test_what_pandas_keeps_is_what_it_reads(tmp_path: pathlib.Path) -> None:
    path, data = tmp_path / "store.h5", frame()
    numbers = data[["a", "b"]]
    levels = numbers.set_index(pd.MultiIndex.from_arrays([list("aabbc"), range(5)], names=["k", "l"]))
    fixed = data.drop(columns=["text", "kind"])
    with warnings.catch_warnings(), pd.HDFStore(path, "w") as store:
        warnings.simplefilter("ignore")
        kept: dict[str, tuple[Any, dict[str, Any]]] = {
            "fixed": (fixed.drop(columns="zoned"), {}),
            "fixed_levels": (levels, {}),
            "fixed_zoned": (data["zoned"].reset_index(drop=True), {}),
            "series": (data["a"], {}),
            "empty": (numbers.iloc[:0], {}),
            "numbered": (pd.DataFrame(np.eye(3)), {}),
            "by_text": (numbers.set_axis(list("vwxyz")), {}),
            "table": (data, {"format": "table", "data_columns": ["a", "text"]}),
            "table_levels": (levels, {"format": "table"}),
            "table_series": (data["b"], {"format": "table"}),
            "table_nameless": (pd.Series([1.5, 2.5]), {"format": "table"}),
            "deep/er/one": (numbers, {"format": "table"}),
            "table_zoned_index": (numbers.set_index(data["zoned"].rename("z")), {"format": "table"}),
            "table_zoneinfo": (numbers.set_index(data.index.tz_localize(zoneinfo.ZoneInfo("Asia/Tokyo"))), {"format": "table"}),
            "fixed_zoneinfo": (numbers.set_index(data.index.tz_localize(zoneinfo.ZoneInfo("Asia/Tokyo"))), {}),
            "table_utc": (numbers.set_index(data.index.tz_localize("UTC")), {"format": "table"}),
            "fixed_utc": (numbers.set_index(data.index.tz_localize("UTC")), {}),
            "table_offset": (numbers.set_index(data.index.tz_localize("+05:30")), {"format": "table"}),
            "table_numbered": (pd.DataFrame(np.eye(3)), {"format": "table"}),
        }
        for key, (value, options) in kept.items():
            store.put(key, value, **options)
    store = hs.models.pandas.open(path)
    assert set(store) == set(kept) and len(store) == len(kept) and "nothing" not in store
    for key in kept:
        wanted = pd.read_hdf(path, key)
        same = pd.testing.assert_frame_equal if isinstance(wanted, pd.DataFrame) else pd.testing.assert_series_equal
        same(store[key], wanted, check_freq=False, obj=key)
    with pytest.raises(hs.NotFoundError):
        store["nothing"]


def test_pickled_values_are_refused_and_nothing_is_run(tmp_path: pathlib.Path) -> None:
    path, witness = tmp_path / "store.h5", tmp_path / "ran"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pd.DataFrame({"text": [decimal.Decimal(1), "b"]}).to_hdf(path, key="texts")
        pd.DataFrame({"x": [1.0]}).to_hdf(path, key="x", format="table")
    with pytest.raises(hs.UnsupportedError, match="Decimal, not unpickled") as caught:
        hs.models.pandas.open(path)["texts"]
    assert caught.value.object == "/texts/block0_values"

    class Evil:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {witness}",)

    for protocol in range(6):
        assert "not unpickled" in repr(parsed(pickle.dumps([Evil(), 1], protocol)))
        with h5py.File(path, "r+") as f:
            f["x"].attrs["info"] = np.bytes_(pickle.dumps({"index": {"index_name": Evil()}}, 0))
        with pytest.raises(hs.UnsupportedError, match="not unpickled"):
            hs.models.pandas.open(path)["x"]
    assert not witness.exists()


def test_columns_of_objects_in_the_fixed_format(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "o.h5"
    mixed = [1, "x", 2.5, True]
    frames = {
        "texts": pd.DataFrame({"s": ["a", "grün", None, np.nan], "m": mixed, "x": np.arange(4.0), "b": [b"q", b"", None, b"z"]}, index=list("ijkl")),
        "numbers": pd.DataFrame({"n": np.array([np.float64(1.5), np.int8(-3), np.bool_(True), np.uint64(2**63)], object)}),
        "mixed_index": pd.DataFrame({"x": [1, 2]}, index=pd.Index([None, "b"], dtype=object)),
        "empty": pd.DataFrame({"a": []}, dtype=object),
        "series": pd.Series(["a", None, "b"], name="s"),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, value in frames.items():
            value.to_hdf(path, key=key)
    store = hs.models.pandas.open(path)
    for key, value in frames.items():
        wanted, found = pd.read_hdf(path, key), store[key]
        (pd.testing.assert_frame_equal if isinstance(value, pd.DataFrame) else pd.testing.assert_series_equal)(found, wanted)
        if isinstance(value, pd.DataFrame) and len(value):
            assert [list(map(type, found[name])) for name in found] == [list(map(type, wanted[name])) for name in wanted], "types, too"


def test_a_table_without_rows_is_a_data_frame(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.h5"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame().to_hdf(path, key="t", format="table", append=True)
        with pd.HDFStore(path) as store:
            store.get_storer("t").table.remove_rows(0)
            store.flush()
        wanted = pd.read_hdf(path, "t")
    found = hs.models.pandas.open(path)["t"]
    assert not len(found) and list(found.columns) == list(wanted.columns) and found.dtypes.astype(str).tolist() == wanted.dtypes.astype(str).tolist()


def test_damaged_arrays_of_objects_are_errors() -> None:
    array = np.array([["a", None, b""], [np.float64(2), b"bc", "ä"]], object).T
    for protocol in range(6):
        assert object_array(pickle.dumps(array, protocol)).tolist() == array.tolist()
    whole = pickle.dumps(array, 2)
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(3000):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), int(rng.integers(1, 4))):
            damaged[place] = int(rng.integers(0, 256))
        try:
            object_array(bytes(damaged))
        except (hs.CorruptError, hs.UnsupportedError):
            refused += 1
    assert refused > 1000
    for value in (np.array(["a"]), ["a"], np.array([decimal.Decimal(1)], object), np.array([["a"]], object)[0][:0]):
        if isinstance(value, np.ndarray) and value.dtype.kind == "O" and not value.size:
            assert object_array(pickle.dumps(value)).shape == (0,)
            continue
        with pytest.raises(hs.UnsupportedError, match="pickle"):
            object_array(pickle.dumps(value))


def test_pickles_are_parsed() -> None:
    value = ["a", ("b", 1, None, 2.5, True, False), {"x": [1, "y"], 1: {}}, 10**20, (), ("ä",), -3, 70000, [[]]]
    for protocol in range(6):
        assert parsed(pickle.dumps(value, protocol)) == value
    for damaged in (b"", b".", b"a.", b"(lp0", b"\x80\x02X\xff\xff\xff\x7f.", b"h\x01.", b"not a pickle"):
        with pytest.raises(hs.CorruptError, match="pickled attribute"):
            parsed(damaged)


def test_what_contradicts_pandas_is_an_error_with_the_object(tmp_path: pathlib.Path) -> None:
    def broken(change: Any) -> Any:
        path = tmp_path / f"{change.__name__}.h5"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame().to_hdf(path, key="t", format="table")
            frame()[["a", "b"]].to_hdf(path, key="f")
        with h5py.File(path, "r+") as f:
            change(f)
        return hs.models.pandas.open(path)

    def categories(f: h5py.File) -> None:
        del f["t/meta"]

    def names(f: h5py.File) -> None:
        f["t/table"].attrs["values_block_0_kind"] = np.bytes_(pickle.dumps(["a", "b", "c"], 0))

    def rows(f: h5py.File) -> None:
        values = f["f/block0_values"][:3]
        kept = dict(f["f/block0_values"].attrs)
        del f["f/block0_values"]
        f["f/block0_values"] = values
        f["f/block0_values"].attrs.update(kept)

    def codes(f: h5py.File) -> None:
        table = f["t/table"][...]
        name = next(name for name in table.dtype.names if table.dtype[name].base == np.dtype("i1"))
        table[name] = 9
        f["t/table"][...] = table

    for change, key, place, message in [
        (categories, "t", "/t/table", "without categories"),
        (names, "t", "/t/table", "for 3 names"),
        (rows, "f", "/f/block0_values", "a block of 3 rows"),
        (codes, "t", "/t/table", "codes"),
    ]:
        with pytest.raises(hs.CorruptError, match=message) as caught:
            broken(change)[key]
        assert caught.value.object == place, change.__name__


def test_only_files_of_pytables_are_recognized(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as f:
        f["x"] = [1]
    assert hs.open(path).models == []
    with pytest.raises(hs.InvalidInputError, match="not recognized as pytables"):
        hs.models.pandas.open(path)
    with tables.open_file(tmp_path / "t.h5", "w") as f:
        f.create_array("/", "x", [1])
    with pytest.raises(hs.NotFoundError, match="no objects of pandas"):
        hs.models.pandas.open(tmp_path / "t.h5")


def test_times_have_one_value_in_each_door(tmp_path: pathlib.Path) -> None:
    class Row(tables.IsDescription):
        t = tables.Time64Col(shape=(2,))
        n = tables.Int32Col()

    seconds = [[1.6e9, -0.25], [12.000001, 0.0]]
    with tables.open_file(tmp_path / "t.h5", "w") as f:
        made = f.create_table("/", "rows", Row)
        made.append([(7, row) for row in seconds])  # columns are ordered by name
        f.create_array("/", "times", atom=tables.Time64Atom(), shape=(2, 2))[...] = seconds
    with tables.open_file(tmp_path / "t.h5") as judge, hs.open(tmp_path / "t.h5") as f:
        right = judge.root.rows.col("t").tolist()
        assert right == judge.root.times[...].tolist()
        assert f["rows"].decoded[...]["t"].tolist() == right and f["rows"].decoded.dtype["t"].base == np.dtype("f8")
        assert f["times"].decoded[...].tolist() == right and f["times"].decoded[1].tolist() == right[1]
        assert f.table("/rows").to_arrow()["t"].to_pylist() == right == hs.sql("select t from rows", f).to_arrow_table()["t"].to_pylist()
        assert f.table("/times").to_arrow()["times"].to_pylist() == [one for row in right for one in row]
        assert hs.models.pytables.open(f).read("rows")["t"].tolist() == right
        assert f.table("/rows", raw=True).schema.field("t").type == pa.list_(pa.field("item", pa.int64(), nullable=False), 2)
