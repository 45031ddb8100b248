"""Plain Arrow IPC, Feather and Parquet files through h5py on the connector: what pyarrow says is what HDF5 says."""

from __future__ import annotations

import datetime
import decimal
import json
import pathlib
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from programs import run, script
from test_connector import failure

ROWS = 7
READ = """
import sys, json, h5py, numpy as np
def plain(value):
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.void) and value.dtype.names:
        return {name: plain(value[name]) for name in value.dtype.names}
    if isinstance(value, np.void):
        return value.tobytes().hex()
    if isinstance(value, np.ndarray) and value.dtype.kind == "V" and not value.dtype.names:
        return [item.tobytes().hex() for item in value]
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value] if value.dtype == object or value.dtype.names else plain(value.tolist())
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and np.isnan(value):
        return "nan"
    return value.item() if isinstance(value, np.generic) else value
told = {}
with h5py.File(sys.argv[1]) as f:
    told["names"] = list(f)
    told["root"] = {name: plain(value) for name, value in f.attrs.items()}
    def tell(name, item):
        if isinstance(item, h5py.Dataset):
            told[name] = [plain(item[()]), str(item.dtype), list(item.shape), {key: plain(value) for key, value in item.attrs.items()}]
    f.visititems(tell)
print(json.dumps(told))
"""


def table() -> pa.Table:
    """Every type that has a form, in columns without nulls and in columns with them."""
    utc = pa.timestamp("us", "UTC")
    species = pa.array(["iron", "gold", "iron", "iron", "lead", "gold", "iron"]).dictionary_encode()
    columns = {
        **{name: pa.array(range(ROWS), type=getattr(pa, name)()) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
        **{f"f{bits}": pa.array(np.linspace(-1, 1, ROWS).astype(f"f{bits // 8}")) for bits in (16, 32, 64)},
        "flag": pa.array([True, False, True, True, False, False, True]),
        "text": pa.array(["a", "", "wörld", "d", "e", "f", "g" * 300]),
        "view": pa.array(["a", "", "wörld", "d", "e", "f", "g" * 300], pa.string_view()),
        "bytes": pa.array([b"\0\xff", b"", b"abc", b"d", b"e", b"f", b"g"], pa.large_binary()),
        "uuid": pa.array([bytes([i]) * 16 for i in range(ROWS)], pa.binary(16)),
        "list": pa.array([[1, 2], [], [3], [4], [5], [6], [7, 8, 9]], pa.list_(pa.int16())),
        "lists": pa.array([[["x"], []], [], [["y", "z"]], [], [], [], []], pa.list_(pa.list_(pa.string()))),
        "vector": pa.array([[i, i + 0.5, -i] for i in range(ROWS)], pa.list_(pa.float32(), 3)),
        "point": pa.array([{"x": i, "name": str(i)} for i in range(ROWS)], pa.struct({"x": pa.float64(), "name": pa.string()})),
        "pair": pa.array([{"a": i, "b": -i} for i in range(ROWS)], pa.struct({"a": pa.int32(), "b": pa.int64()})),
        "species": species,
        "map": pa.array([[("k", i)] for i in range(ROWS)], pa.map_(pa.string(), pa.int32())),
        "price": pa.array([decimal.Decimal(f"{i}.25") for i in range(ROWS)], pa.decimal128(9, 2)),
        "time": pa.array([datetime.datetime(2020, 1, 1, i, tzinfo=datetime.UTC) for i in range(ROWS)], utc),
        "day": pa.array([datetime.date(2020, 1, 1 + i) for i in range(ROWS)], pa.date32()),
        "null_int": pa.array([1, None, 3, None, 5, 6, 7], pa.int32()),
        "null_float": pa.array([1, None, 3, None, 5, 6, 7], pa.float64()),
        "null_flag": pa.array([True, None, False, None, True, True, True]),
        "null_text": pa.array(["a", None, "c", None, "", "f", "g"]),
        "null_list": pa.array([[1], None, [], [None, 2], [3], [4], [5]], pa.list_(pa.int32())),
        "null_point": pa.array([{"x": 1.0}, None, {"x": None}, {"x": 4.0}, {"x": 5.0}, {"x": 6.0}, {"x": 7.0}], pa.struct({"x": pa.float64()})),
        "group/inside": pa.array(range(ROWS), pa.int32()),
    }
    fields = [pa.field(name, array.type, metadata={"long_name": "the price"} if name == "price" else None) for name, array in columns.items()]
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata={"made": "here"}))


def write_arrow(whole: pa.Table, path: pathlib.Path, compression: str | None = None) -> None:
    """Three record batches, the middle one empty."""
    options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, whole.schema, options=options) as writer:
        for part in (whole.slice(0, 3), whole.slice(3, 0), whole.slice(3)):
            writer.write_table(part)


def told(plugins: pathlib.Path, path: pathlib.Path) -> dict:
    done = run(script(READ, path), plugins)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


FORMS = ["arrow", "lz4.arrow", "zstd.arrow", "feather", "snappy.parquet", "zstd.parquet", "lz4.parquet", "gzip.parquet", "none.parquet"]


@pytest.mark.parametrize("form", FORMS)
def test_h5py_reads_what_pyarrow_wrote(plugins: pathlib.Path, tmp_path: pathlib.Path, form: str) -> None:
    whole, path = table(), tmp_path / f"t.{form}"
    codec = form.split(".")[0]
    if form.endswith("parquet"):
        whole = whole.drop_columns(["view"]) if "view" in whole.column_names else whole
        pq.write_table(whole, path, compression=codec, row_group_size=3)
    elif form == "feather":
        feather.write_feather(whole, path)
    else:
        write_arrow(whole, path, None if form == "arrow" else codec)
    found = told(plugins, path)
    assert found["root"]["made"] == "here"
    assert "columns_left_out" not in found["root"]
    rows, dtype, shape, _ = found["table"]
    assert (shape, len(rows)) == ([ROWS], ROWS)

    def expected(name: str, value: object) -> object:
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        if isinstance(value, datetime.datetime):
            return (value - epoch) // datetime.timedelta(microseconds=1)
        if isinstance(value, datetime.date):
            return (value - epoch.date()).days
        if name == "bytes":
            return list(value)
        if name == "map":
            return [{"key": key, "value": item} for key, item in value]
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, decimal.Decimal):
            return str(value)
        stand_ins = {"null_int": -2147483647, "null_float": "nan", "null_flag": 2, "null_text": "", "null_list": [], "null_point": {"x": "nan"}}
        if value is None:
            return stand_ins[name]
        if name == "null_list":
            return [-2147483647 if item is None else item for item in value]
        if name == "null_point":
            return {"x": "nan" if value["x"] is None else value["x"]}
        return int(value) if name == "null_flag" else value

    for name in whole.column_names:
        wanted = [expected(name, value) for value in whole[name].to_pylist()]
        assert found[name][0] == wanted, name
        assert [row[name] for row in rows] == wanted, name
    attributes = {name: found[name][3] for name in whole.column_names}
    assert attributes["time"]["units"] == "microseconds since 1970-01-01 00:00:00"
    assert attributes["time"]["timezone"] == "UTC"
    assert attributes["day"]["units"] == "days since 1970-01-01"
    assert attributes["null_int"]["_FillValue"] == -2147483647
    assert attributes["null_float"]["_FillValue"] == "nan"
    assert "_FillValue" not in attributes["int32"]
    assert attributes["price"]["long_name"] == "the price"
    assert found["flag"][1] == "bool"
    assert found["vector"][2] == [ROWS, 3]


def test_tensors_have_their_shape_and_parts_are_read_from_many_record_batches(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    values = np.arange(30_000 * 6, dtype="f4").reshape(30_000, 2, 3)
    column = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [2, 3]), pa.FixedSizeListArray.from_arrays(values.ravel(), 6))
    ids = pa.array(np.arange(30_000))
    batch = pa.record_batch([column, ids], names=["t", "id"])
    path = tmp_path / "t.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        for start in range(0, 30_000, 7_001):
            writer.write_batch(batch.slice(start, 7_001))
    program = """
    import sys, h5py, numpy as np
    with h5py.File(sys.argv[1]) as f:
        wanted = np.arange(30_000 * 6, dtype="f4").reshape(30_000, 2, 3)
        assert f["t"].shape == (30_000, 2, 3) and f["t"].dtype == "f4"
        assert np.array_equal(f["t"][()], wanted)
        assert np.array_equal(f["t"][6_990:14_010:3, 1, ::2], wanted[6_990:14_010:3, 1, ::2])
        assert np.array_equal(f["t"][[5, 7_000, 7_001, 29_999]], wanted[[5, 7_000, 7_001, 29_999]])
        assert np.array_equal(f["id"].astype("f8")[6_999:7_003], [6_999, 7_000, 7_001, 7_002])
        records = f["table"][7_000:7_002]
        assert records["id"].tolist() == [7_000, 7_001]
        assert np.array_equal(records["t"].reshape(2, 2, 3), wanted[7_000:7_002])
        assert np.array_equal(f["table"]["id"], np.arange(30_000))
        print("same")
    """
    done = run(script(program, path), plugins)
    assert done.stdout.strip() == "same", done.stderr


def test_what_cannot_be_had_is_said(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.arrow"
    union = pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])])
    write_arrow(pa.table({"u": union, "n": pa.nulls(3), "x": [1, 2, 3], "table": [4, 5, 6]}), path)
    found = told(plugins, path)
    assert found["names"] == ["x", "table", "table_1"]
    assert found["root"]["columns_left_out"].split("\n")[1].startswith("n: Null")
    assert found["root"]["columns_left_out"].startswith("u: Union")
    assert found["table_1"][0] == [{"x": 1, "table": 4}, {"x": 2, "table": 5}, {"x": 3, "table": 6}]

    assert "can only be read" in failure(plugins, "h5py.File(sys.argv[1], 'r+')", path)
    before = path.read_bytes()
    assert "not an HDF5 file" in failure(plugins, "h5py.File(sys.argv[1], 'w')", path)
    assert path.read_bytes() == before
    # A null cannot be told from a value that equals what would stand for it.
    write_arrow(pa.table({"x": pa.array([None, -127], pa.int8())}), path)
    assert "fill value" in failure(plugins, "h5py.File(sys.argv[1])['x'][()]", path)
    with pa.OSFile(str(tmp_path / "s.arrow"), "wb") as sink, pa.ipc.new_stream(sink, pa.schema({"x": pa.int8()})):
        pass
    assert "stream" in failure(plugins, "h5py.File(sys.argv[1])", tmp_path / "s.arrow")
    feather.write_feather(pa.table({"x": [1]}), tmp_path / "old.feather", version=1)
    assert "version 1" in failure(plugins, "h5py.File(sys.argv[1])", tmp_path / "old.feather")


@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_damaged_files_are_errors_and_no_crash(plugins: pathlib.Path, tmp_path: pathlib.Path, form: str) -> None:
    path = tmp_path / f"t.{form}"
    whole = pa.table({"x": np.arange(1000), "s": [str(i) for i in range(1000)]})
    write_arrow(whole, path) if form == "arrow" else pq.write_table(whole, path)
    content = path.read_bytes()
    program = """
    import sys, h5py, random
    content, generator, told = open(sys.argv[1], "rb").read(), random.Random(5), []
    for turn in range(60):
        broken = bytearray(content)
        if turn % 2:
            del broken[generator.randrange(len(broken)):]
        else:
            for _ in range(3):
                broken[generator.randrange(len(broken))] ^= 1 << generator.randrange(8)
        open(sys.argv[2], "wb").write(broken)
        try:
            with h5py.File(sys.argv[2]) as f:
                told.append(len(f["x"][()]) + len(f["s"][()]) + len(f["table"][()]))
        except (OSError, KeyError, ValueError) as error:
            told.append(str(error))
    print(len(told), sum(isinstance(one, str) for one in told))
    """
    done = run(script(program, path, tmp_path / f"broken.{form}"), plugins)
    assert done.returncode == 0, done.stderr
    turns, refused = map(int, done.stdout.split())
    assert turns == 60
    assert refused >= 30
    assert content == path.read_bytes()


def test_h5dump_and_h5ls_show_it(plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    acceptance = pytest.importorskip("acceptance")
    if not (acceptance.BUILD / "bin/h5dump").exists():
        pytest.skip("HDF5's tools are not built: make vol-acceptance")
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3], "name": ["a", "b", "c"]}), path)
    environment = {"HDF5_PLUGIN_PATH": str(plugins), "HDF5_VOL_CONNECTOR": "arrow"}
    shown = subprocess.run([acceptance.BUILD / "bin/h5dump", path], env=environment, capture_output=True, text=True, check=True).stdout
    assert "H5T_COMPOUND" in shown
    assert '(0): "a", "b", "c"' in shown
    listed = subprocess.run([acceptance.BUILD / "bin/h5ls", path], env=environment, capture_output=True, text=True, check=True).stdout
    assert listed.split()[:3] == ["name", "Dataset", "{3}"]
