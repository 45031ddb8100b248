"""Where the bytes of files are: `hs.stat` and `hyperslab stat`, judged by h5py and h5stat."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import dump_tools
import h5py
import hyperslab as hs
import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parents[1]

import files  # noqa: E402


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pathlib.Path]:
    return files.make_all(tmp_path_factory.mktemp("whole"))


def test_all_bytes_are_in_one_sum(made: dict[str, pathlib.Path]) -> None:
    for path in made.values():
        found = hs.stat(path)
        assert found.data_bytes + found.metadata_bytes + found.free_bytes + found.unaccounted_bytes == found.file_bytes == path.stat().st_size
        assert sum(one.stored_bytes for one in found.dataset_list if one.storage in ("chunked", "contiguous")) == found.data_bytes
        assert found.damages == 0


def test_chunks_are_those_that_h5py_lists(made: dict[str, pathlib.Path]) -> None:
    for name in ("earliest", "latest"):
        found = {one.path: one for one in hs.stat(made[name]).dataset_list}
        with h5py.File(made[name]) as f:
            for path in ("packed/gzip", "grows/one", "grows/two", "grows/many", "single", "partly"):
                d = f[path]
                sizes = sorted(d.id.get_chunk_info(n).size for n in range(d.id.get_num_chunks()))
                one = found[f"/{path}"]
                assert (one.chunks, one.stored_bytes, one.chunk_shape) == (len(sizes), d.id.get_storage_size(), d.chunks)
                assert one.chunk_bytes == (sizes[0], sizes[len(sizes) // 2], sizes[-1])
                assert one.ratio == pytest.approx(len(sizes) * np.prod(d.chunks) * d.dtype.itemsize / sum(sizes))


def test_sums_are_those_of_h5stat(made: dict[str, pathlib.Path]) -> None:
    if dump_tools.program("h5stat") is None:
        pytest.skip("no h5stat: make dump-tools")
    # h5stat counts the index block of an extensible array without the addresses of its super blocks: 29 of 8 bytes.
    for name, left_out in (("earliest", 0), ("default", 0), ("v110", 29 * 8)):
        text = dump_tools.run("h5stat", made[name])
        assert text is not None

        def number(label: str, text: str = text) -> int:
            found = re.search(rf"{label}: (\d+)", text)
            assert found is not None, label
            return int(found[1])

        found = hs.stat(made[name])
        assert found.data_bytes == number("Raw data")
        heaps = sum(one.bytes for one in found.kinds if one.kind == "global heap collection")
        left_out *= sum(one.number for one in found.kinds if one.kind == "extensible array header")
        assert found.unaccounted_bytes + heaps == number("Unaccounted space") - left_out
        assert (found.groups, found.datasets) == (number("# of unique groups"), number("# of unique datasets"))
        assert found.metadata_bytes - heaps == number("File metadata") + left_out


def test_netcdf_classic(tmp_path: pathlib.Path) -> None:
    """Values, header and padding, by the shapes that netCDF4 says."""
    netCDF4 = pytest.importorskip("netCDF4")
    for format in ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"):
        path = tmp_path / f"{format}.nc"
        with netCDF4.Dataset(path, "w", format=format) as f:
            f.title = "a title"
            f.createDimension("t", None)
            f.createDimension("x", 1001)
            f.createVariable("fixed", "f8", ("x",))[:] = 1.5
            f.createVariable("bytes", "i1", ("x",))[:] = 3
            for name in ("a", "b"):
                f.createVariable(name, "f4", ("t", "x"))[:300] = 2
            f["a"].units = "m"
        found = hs.stat(path)
        by_path = {one.path: one for one in found.dataset_list}
        assert {name: (one.shape, one.stored_bytes, one.element_bytes) for name, one in by_path.items()} == {
            "/fixed": ((1001,), 8008, 8),
            "/bytes": ((1001,), 1001, 1),
            "/a": ((300, 1001), 1_201_200, 4),
            "/b": ((300, 1001), 1_201_200, 4),
        }
        assert (found.datasets, found.groups, found.attributes, found.data_bytes) == (4, 1, 2, 2 * 1_201_200 + 8008 + 1001)
        assert found.data_bytes + found.metadata_bytes + found.unaccounted_bytes == found.file_bytes == path.stat().st_size
        # Three bytes of padding after `bytes`.
        assert found.unaccounted_bytes == 3 and found.metadata_bytes > 100
        assert {one.path for one in found.advice} == {"/a", "/b"}
        assert "/fixed" in found.to_html()
        path.write_bytes(path.read_bytes()[:20_000])
        cut = hs.stat(path)
        assert cut.file_bytes == 20_000 and sum(one.stored_bytes for one in cut.dataset_list) == cut.data_bytes <= 20_000 - cut.metadata_bytes


def test_advice(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(1)
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["gone"] = np.ones(1 << 20)
        f.create_dataset("tiny", data=np.zeros(200_000), chunks=(100,))
        f.create_dataset("noise", data=np.frombuffer(rng.bytes(4 << 20), "u1"), chunks=(1 << 19,), compression="gzip")
        f.create_dataset("large", data=np.cumsum(rng.integers(0, 3, 1 << 20)), chunks=(1 << 19,), compression="gzip", compression_opts=1)
    with h5py.File(tmp_path / "a.h5", "a") as f:
        del f["gone"]
        f["small"] = 1
    found = hs.stat(tmp_path / "a.h5")
    texts = {(one.path, one.command.split()[1]) for one in found.advice}
    assert {(None, "repack"), ("/tiny", "advise"), ("/noise", "repack"), ("/large", "advise")} <= texts, found.advice


def test_the_command_and_the_picture(made: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    run = subprocess.run([sys.executable, "-m", "hyperslab", "stat", made["latest"], "--plot", tmp_path / "a.png"], capture_output=True, text=True, check=True)
    assert "/packed/gzip" in run.stdout and "object header" in run.stdout and (tmp_path / "a.png").stat().st_size > 10_000
    run = subprocess.run([sys.executable, "-m", "hyperslab", "stat", made["latest"], "--json"], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["datasets"] == hs.stat(made["latest"]).datasets
    assert "object header" in hs.stat(made["latest"]).to_html()
    (tmp_path / "a.txt").write_text("text")
    run = subprocess.run([sys.executable, "-m", "hyperslab", "stat", tmp_path / "a.txt"], capture_output=True, text=True)
    assert run.returncode == 1 and "no superblock" in run.stderr


def test_narrow_terminals_get_fewer_columns(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from hyperslab.cli import grids

    monkeypatch.setattr(grids, "width", lambda: 30)
    grids.print_facts_grid([grids.Column("dataset", ["/a/rather/long/name"], False), grids.Column("bytes", ["192 bytes"]), grids.Column("ratio", ["1.00"]), grids.Column("chunks", ["123"])])  # fmt: skip
    printed = capsys.readouterr()
    assert "192 bytes" in printed.out and "1.00" in printed.out and "123" not in printed.out
    assert printed.err == "hyperslab: 3 of 4 columns fit the terminal; not shown: chunks. --json prints all\n"
