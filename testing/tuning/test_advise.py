"""Advice: accesses, what the model says, what is measured, and files that are written with it. The judge is h5py."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import random
import re
import subprocess
import sys

import h5py
import hdf5plugin  # noqa: F401  (registers zstd, lz4 and others for h5py)
import hyperslab as hs
import library_calls
import netCDF4
import numpy as np
import pytest
from hyperslab.advising import dataset_advice, pilot
from hyperslab.advising.accesses import parse_accesses
from hyperslab.advising.layouts import NO_FILTER, Costs, Filter, Layout, chunk_shapes, work_of
from hyperslab.comparing.diff import check_copy

COMMAND = pathlib.Path(sys.executable).parent / "hyperslab"
GZIP = Filter("gzip", (("compression", "gzip"),), 2.0, decode_rate=3e8)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A small model run in chunks of one time step each."""
    path = tmp_path_factory.mktemp("advise") / "grid.h5"
    chance = np.random.default_rng(1)
    values = np.round(280 + np.cumsum(chance.normal(size=(400, 40, 60)), axis=0), 2).astype("f4")
    with h5py.File(path, "w") as f:
        f.create_dataset("run/t2m", data=values, chunks=(1, 40, 60), compression="gzip", shuffle=True, fillvalue=np.float32(-1))
        f["run/t2m"].attrs["units"] = "K"
        f["run/small"] = np.arange(5)
        f["latest"] = h5py.SoftLink("/run/t2m")
    return path


@pytest.mark.parametrize(
    ("text", "shape", "dims", "counts"),
    [
        ("whole", (7, 5, 3), (None,) * 3, [7, 5, 3]),
        ("time series at a point", (7, 5, 3), (None,) * 3, [7, 1, 1]),
        ("time series at a point", (7, 5, 3), ("lat", "lon", "time"), [1, 1, 3]),
        ("one level", (7, 5, 3), (None,) * 3, [1, 5, 3]),
        ("one level", (7, 4, 5, 3), (None,) * 4, [1, 1, 5, 3]),
        ("one level", (7, 5), (None,) * 2, [1, 5]),
        ("random rows", (7, 5, 3), (None,) * 3, [1, 5, 3]),
        ("/x[:, ?, ?:2]", (7, 5, 3), (None,) * 3, [7, 1, 2]),
        ("[3, ..., 1:3]", (7, 5, 9, 3), (None,) * 4, [1, 5, 9, 2]),
        ("[-1]", (7, 5), (None,) * 2, [1, 5]),
    ],
)
def test_what_a_read_takes(text: str, shape: tuple[int, ...], dims: tuple[str | None, ...], counts: list[int]) -> None:
    (access,) = parse_accesses(text)
    pattern = access.pattern(shape, dims)
    assert pattern.counts() == counts
    values = np.zeros(shape)
    for seed in range(20):
        assert list(values[pattern.keys(random.Random(seed), 1)[0]].shape) == counts


def test_weights_and_conditions() -> None:
    assert [(a.text, a.weight) for a in parse_accesses(["one level=3", "whole"])] == [("one level", 3.0), ("whole", 1.0)]
    assert parse_accesses({"whole": 0.5})[0].weight == 0.5
    (access,) = parse_accesses("where x = 5")
    assert (access.condition, access.weight) == ("x = 5", 1.0)
    for wrong in ("levels", "one level=0", "[:, ?", [], "x["):
        with pytest.raises(hs.InvalidInputError):
            parse_accesses(wrong)
    for wrong in ("[:, :, :]", "[9]", "[3:2]", "[?:9]", "[a]", "[..., ...]"):
        with pytest.raises(hs.InvalidInputError, match="access"):
            parse_accesses(wrong)[0].pattern((7, 5), (None, None))


def test_chunks_are_counted_as_they_are_touched() -> None:
    """The mean over all places, by counting."""
    for text, chunks in (("[?:3, :]", (4, 2)), ("[?, ?:5]", (3, 3)), ("[2:7, ?]", (4, 5)), ("whole", (4, 7))):
        pattern = parse_accesses(text)[0].pattern((12, 15), (None, None))
        found = []
        for seed in range(4000):
            key = pattern.keys(random.Random(seed), 1)[0]
            found.append([(part.stop - 1) // chunk - part.start // chunk + 1 for part, chunk in zip(key, chunks)])
        for predicted, counted in zip(pattern.touched(chunks), np.mean(found, axis=0)):
            assert abs(predicted - counted) < 0.06, (text, chunks)


def test_the_counters_agree_with_the_work(tmp_path: pathlib.Path) -> None:
    """What the model says that a read decodes and gets is what the reader counts."""
    values = np.random.default_rng(2).integers(0, 1000, (64, 48, 40)).astype("i4")
    with hs.create(tmp_path / "x.h5") as f:
        f.create_dataset("packed", data=values, chunks=(8, 16, 40), compression="zstd")
        f.create_dataset("plain", data=values, chunks=(8, 16, 40))
    with hs.open(tmp_path / "x.h5", chunk_cache_bytes=0, threads=1) as f:
        for text in ("[5, :, :]", "[:, 7, 9]", "[3:20, 5, :]", "whole"):
            pattern = parse_accesses(text)[0].pattern(values.shape, (None,) * 3)
            key = pattern.keys(random.Random(1), 1)[0]
            for name, filter in (("packed", GZIP), ("plain", NO_FILTER)):
                before = hs.counters()
                f[name][key]
                done = hs.counters().since(before)
                work = work_of(pattern, Layout((8, 16, 40), filter), 4)
                if name == "packed":
                    assert done.chunks_decoded == work.chunks, text
                    ratio = values.nbytes / f["packed"].stored_bytes
                    # Gaps between aligned chunks are read, too.
                    assert 0.95 < done.bytes_read * ratio / work.decoded_bytes < 1.4, text
                else:
                    assert done.bytes_read <= 2 * work.read_bytes + 65536, (text, done.bytes_read, work.read_bytes)


def test_the_model_prefers_chunks_along_what_is_read() -> None:
    shape = (1000, 100, 100)
    shapes = chunk_shapes(shape, 4)
    assert all(4 * int(np.prod(chunk)) <= 4 << 20 and all(1 <= c <= s for c, s in zip(chunk, shape)) for chunk in shapes)

    def best(*texts: str) -> tuple[int, ...]:
        patterns = [access.pattern(shape, (None,) * 3) for access in parse_accesses(list(texts))]
        return min(shapes, key=lambda c: sum(p.access.weight * work_of(p, Layout(c, GZIP), 4).seconds(Layout(c, GZIP), Costs()) for p in patterns))

    series, level, both = best("time series at a point"), best("one level"), best("time series at a point", "one level")
    assert series[0] >= 250 and level[0] == 1 and level[0] < both[0] < series[0]


def test_advice_for_series(grid: pathlib.Path) -> None:
    advice = hs.advise(grid, "time series at a point", threads=2)
    (one,) = advice.datasets
    assert one.path == "/run/t2m" and one.current.chunks == (1, 40, 60) and not one.is_kept and one.basis == "pilot"
    assert one.advised.chunks is not None and one.advised.chunks[0] >= 100
    assert advice.gain > 5 and one.accesses[0].after_bytes < one.accesses[0].before_bytes / 5
    assert not one.advised.filter.needs_plugin
    assert not one.advised.filter.lossy and any(filter.lossy for filter in one.filters)
    current = next(filter for filter in one.filters if filter.is_current)
    assert current.name == "shuffle, gzip" and current.ratio > 1
    assert advice.omitted["/run/small"].startswith("40 bytes")
    assert {hint.topic for hint in advice.hints} >= {"alignment", "transfer size", "threads", "subfiles", "stripes", "paged metadata", "value indexes"}
    assert all(hint.reason and hint.basis and " at 0x" not in hint.reason for hint in advice.hints)
    assert re.search(r"\(\d+ cores\)", next(hint.reason for hint in advice.hints if hint.topic == "threads"))
    assert json.loads(json.dumps(advice.to_dict()))["datasets"][0]["advised"]["chunks"] == list(one.advised.chunks)
    page = advice.to_html()
    assert page.startswith("<!doctype html>") and "/run/t2m" in page and "lossy" in page


def test_what_is_good_stays(grid: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = np.random.default_rng(1).random((300, 1000))
    # Pilots are timed: while other programs run, one may be faster by chance, but not each time.
    tried = (hs.advise(tmp_path / "x.h5", "whole", seed=seed) for seed in range(5))
    advice = next((advice for advice in tried if advice.datasets[0].is_kept), None)
    assert advice is not None and advice.gain == 1
    done = advice.apply(tmp_path / "same.h5")
    assert done.reencoded_bytes in (0, 300 * 1000 * 8)
    assert h5py.File(tmp_path / "same.h5")["x"].chunks is None


def test_checksums_are_kept(tmp_path: pathlib.Path) -> None:
    values = np.random.default_rng(1).integers(0, 99, (200, 40, 40)).astype("i4")
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("x", data=values, chunks=(1, 40, 40), compression="gzip", fletcher32=True)
    advice = hs.advise(tmp_path / "x.h5", "time series at a point")
    assert not advice.datasets[0].is_kept
    advice.apply(tmp_path / "y.h5")
    with h5py.File(tmp_path / "y.h5") as f:
        assert f["x"].fletcher32 and (f["x"][...] == values).all()


def test_size_and_speed_may_be_preferred(grid: pathlib.Path) -> None:
    for prefer in ("size", "speed"):
        (one,) = hs.advise(grid, "one level", prefer=prefer).datasets
        smallest = max(filter.ratio for filter in one.filters if not filter.lossy and not filter.needs_plugin)
        if prefer == "size" and not one.is_kept:
            assert one.advised.filter.ratio >= smallest * 0.97
    with pytest.raises(hs.InvalidInputError, match="balanced, speed or size"):
        hs.advise(grid, prefer="best")


def test_conditions_are_advised_an_index(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("energy", data=np.random.default_rng(1).exponential(size=300_000).astype("f4"), chunks=(50_000,), compression="gzip")
    (hint,) = [h for h in hs.advise(tmp_path / "x.h5", "where energy > 9").hints if h.topic == "value indexes"]
    assert hint.advice.startswith("/energy: level X") and "0.0" in hint.reason
    (hint,) = [h for h in hs.advise(tmp_path / "x.h5", "where energy > 0.1").hints if h.topic == "value indexes"]
    assert "not of /energy" in hint.advice and "1/16" in hint.reason


def everything(path: pathlib.Path) -> None:
    """A file with one of each kind of object."""
    values = np.random.default_rng(3).integers(0, 200, (300, 50, 60)).astype("i4")
    with h5py.File(path, "w", track_order=True) as f:
        x = f.create_dataset("a/x", data=values, chunks=(1, 50, 60), compression="gzip", maxshape=(None, 50, 60), fillvalue=7)
        x.attrs.update({"units": "K", "valid": np.array([0, 200], "i4"), "ref": f["a"].ref, "names": ["å", "b"]})
        f["a/text"] = ["eins", "zwei", ""]
        f["a/compound"] = np.array([(1, 2.5, b"ab"), (3, np.nan, b"")], dtype=[("i", "i2"), ("f", "f8"), ("s", "S2")])
        f["a/scalar"], f["a/null"] = 5.5, h5py.Empty("f4")
        f["a/enum"] = np.array([0, 1, 1], dtype=h5py.enum_dtype({"no": 0, "yes": 1}, "i1"))
        f.create_dataset("a/vlen", (2,), h5py.vlen_dtype("i4"))[:] = [np.array([1, 2, 3], "i4"), np.array([], "i4")]
        f["a/refs"] = np.array([f["a"].ref, f["a/x"].ref], dtype=h5py.ref_dtype)
        f["type"] = np.dtype([("u", "f4"), ("v", "f4")])
        f.create_dataset("a/committed", (3,), f["type"])
        f["hard"], f["soft"], f["dangling"] = f["a/x"], h5py.SoftLink("/a/x"), h5py.SoftLink("/nowhere")
        f["external"] = h5py.ExternalLink("other.h5", "/x")
        f["empty"] = np.zeros((0, 4))
        f.create_group("no members").attrs["x"] = np.nan
        f["time"] = np.arange(300.0)
        f["time"].make_scale("time")
        f["a/x"].dims[0].attach_scale(f["time"])


@pytest.mark.slow
def test_a_repacked_file_has_everything(tmp_path: pathlib.Path) -> None:
    everything(tmp_path / "in.h5")
    done = hs.advise(tmp_path / "in.h5", "/a/x[:, ?, ?]", threads=2).apply(tmp_path / "out.h5")
    assert done.reencoded_bytes >= 300 * 50 * 60 * 4
    assert [one.path for one in done.accesses] == ["/a/x"] and done.gain > 2
    check_copy(str(tmp_path / "in.h5"), str(tmp_path / "out.h5"))
    with h5py.File(tmp_path / "in.h5") as old, h5py.File(tmp_path / "out.h5") as new:
        assert sorted(old) == sorted(new)
        assert new["a/x"].chunks != old["a/x"].chunks and new["a/x"].maxshape == (None, 50, 60) and new["a/x"].fillvalue == 7
        for name in ("a/x", "a/text", "a/compound", "a/scalar", "a/enum", "a/vlen", "a/committed", "empty", "time"):
            theirs, ours = old[name][()], new[name][()]
            if old[name].dtype.kind == "O" and old[name].shape:
                assert all(np.array_equal(a, b) for a, b in zip(theirs, ours)), name
            else:
                assert np.asarray(theirs).tobytes() == np.asarray(ours).tobytes(), name
            assert old[name].dtype == new[name].dtype
        assert isinstance(new["a/null"][()], h5py.Empty)
        assert new[new["a/refs"][1]].name == "/a/x" and new[new["a/x"].attrs["ref"]].name == "/a"
        assert new["hard"] == new["a/x"] and new.get("soft", getlink=True).path == "/a/x"
        assert new.get("external", getlink=True).filename == "other.h5" and new.get("dangling", getlink=True).path == "/nowhere"
        assert new["a/x"].dims[0][0].name == "/time" and new["a/committed"].id.get_type().committed()
        assert {k: np.asarray(v).tolist() for k, v in new["a/x"].attrs.items() if k in ("units", "valid", "names")} == {
            k: np.asarray(v).tolist() for k, v in old["a/x"].attrs.items() if k in ("units", "valid", "names")
        }


def test_a_netcdf_file_stays_one(tmp_path: pathlib.Path) -> None:
    with netCDF4.Dataset(tmp_path / "in.nc", "w") as f:
        for name, extent in (("time", None), ("lat", 40), ("lon", 60)):
            f.createDimension(name, extent)
            f.createVariable(name, "f8", (name,))[:] = np.arange(extent or 200)
        f.createVariable("t", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 40, 60))[:] = np.random.default_rng(1).random((200, 40, 60)).round(2)
        f["t"].units, f.title = "K", "a test"
    advice = hs.advise(tmp_path / "in.nc", "time series at a point")
    assert advice.datasets[0].current.chunks == (1, 40, 60)
    advice.apply(tmp_path / "out.nc")
    with netCDF4.Dataset(tmp_path / "in.nc") as old, netCDF4.Dataset(tmp_path / "out.nc") as new:
        assert new["t"].chunking() != old["t"].chunking() and new["t"].dimensions == ("time", "lat", "lon")
        assert new.dimensions["time"].isunlimited() and new.title == "a test" and new["t"].units == "K"
        for name in ("time", "lat", "lon", "t"):
            assert np.array_equal(old[name][:].data, new[name][:].data)


def test_nothing_is_left_if_something_cannot_be_copied(grid: pathlib.Path, tmp_path: pathlib.Path) -> None:
    advice = hs.advise(grid, "time series at a point")
    (tmp_path / "there.h5").write_text("mine")
    with pytest.raises(hs.ConflictError):
        advice.apply(tmp_path / "there.h5")
    assert (tmp_path / "there.h5").read_text() == "mine"

    with h5py.File(tmp_path / "parts.h5", "w") as f:
        f["x"] = np.zeros((300, 1000))
        library_calls.link_by_user(f, "user")
    with pytest.raises(hs.UnsupportedError, match="link of class"):
        hs.advise(tmp_path / "parts.h5", "whole").apply(tmp_path / "out.h5")
    assert sorted(os.listdir(tmp_path)) == ["parts.h5", "there.h5"]


def test_a_copy_that_differs_never_appears(grid: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    advice = hs.advise(grid, "time series at a point")
    other = tmp_path / "other.h5"
    other.write_bytes(grid.read_bytes())
    with h5py.File(other, "r+") as f:
        f["run/t2m"][3, 4, 5] += 1

    def wrong(source: str, copy: str, **options: object) -> None:
        check_copy(str(other), copy)

    monkeypatch.setattr("hyperslab.advising.applying.check_copy", wrong)
    with pytest.raises(hs.CorruptError, match="/run/t2m: 1 of"):
        advice.apply(tmp_path / "out.h5")
    assert os.listdir(tmp_path) == ["other.h5"]


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f["a/x"].attrs.__setitem__("units", "C"),
        lambda f: f["a/x"].attrs.__delitem__("units"),
        lambda f: f["a/x"].__setitem__((0, 0, 0), 201),
        lambda f: f["a/text"].__setitem__(0, "drei"),
        lambda f: f["a/vlen"].__setitem__(1, np.array([5], "i4")),
        lambda f: f.__delitem__("soft"),
        lambda f: f.__setitem__("more", 1),
        lambda f: f["a/refs"].__setitem__(0, f.ref),
        lambda f: f.move("hard", "harder"),
        lambda f: (f.__delitem__("soft"), f.__setitem__("soft", h5py.SoftLink("/a"))),
        lambda f: f["a/x"].resize(301, axis=0),
        lambda f: (f.__delitem__("hard"), f.__setitem__("hard", f["a/x"][...])),
    ],
)
def test_the_comparison_sees_every_difference(tmp_path: pathlib.Path, change) -> None:
    for name in ("one.h5", "other.h5"):
        everything(tmp_path / name)
    check_copy(str(tmp_path / "one.h5"), str(tmp_path / "other.h5"))
    with h5py.File(tmp_path / "other.h5", "r+") as f:
        change(f)
    with pytest.raises(hs.CorruptError, match="differs from the original"):
        check_copy(str(tmp_path / "one.h5"), str(tmp_path / "other.h5"))


def test_files_and_datasets_without_advice(tmp_path: pathlib.Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["text"] = ["a", "b"]
        f["few"] = np.arange(10)
    with pytest.raises(hs.InvalidInputError, match="no dataset of at least 1 MiB"):
        hs.advise(tmp_path / "x.h5")
    with pytest.raises(hs.UnsupportedError, match="no fixed size"):
        hs.advise(tmp_path / "x.h5", datasets="/text")
    with pytest.raises(hs.NotFoundError):
        hs.advise(tmp_path / "x.h5", datasets="/nothing")
    assert hs.advise(tmp_path / "x.h5", datasets="/few").datasets[0].path == "/few"


def test_the_command(grid: pathlib.Path, tmp_path: pathlib.Path) -> None:
    words = [
        COMMAND,
        "advise",
        grid,
        "--access",
        "time series at a point=3",
        "-a",
        "one level",
        "--plugins",
        "--apply",
        tmp_path / "out.h5",
        "--html",
        tmp_path / "a.html",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stderr == "" and "/run/t2m" in done.stdout and "predicted" in done.stdout and "measured" in done.stdout and "are equal" in done.stdout
    assert len(done.stdout.splitlines()) < 60, "a page"
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
    done = subprocess.run([*words[:3], "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["datasets"][0]["path"] == "/run/t2m"
    for wrong in (["--access", "never"], ["--apply", str(tmp_path / "out.h5")]):
        done = subprocess.run([COMMAND, "advise", grid, *wrong], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.startswith("hyperslab: ") and done.stderr.count("\n") == 1


def test_a_layout_that_the_dataset_has_is_not_advised(tmp_path: pathlib.Path) -> None:
    """Its filter was measured, so it is another object, and a pilot of the same layout may be faster by chance."""
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["x"] = np.zeros((512, 1024), "f4")
    dataset = hs.open(tmp_path / "x.h5")["x"]
    current = Layout(None, dataclasses.replace(NO_FILTER, ratio=1.01, is_current=True))
    assert Layout(None, NO_FILTER) != current and Layout(None, NO_FILTER).stores_like(current)
    assert not Layout(None, GZIP).stores_like(current) and not Layout((512, 1024), NO_FILTER).stores_like(current)
    wishes = dataset_advice.Wishes(parse_accesses("whole"), "balanced", False, False, 1, 1, str(tmp_path))
    patterns = [wishes.accesses[0].pattern(dataset.shape, (None, None))]
    reads = [pilot.choose_reads(patterns[0], 4, random.Random(1), (1, 1))]
    best, before, after, basis = dataset_advice._best(
        dataset, str(tmp_path / "x.h5"), [Layout(None, NO_FILTER)], reads, patterns, wishes, dataset_advice.Costs(), current
    )
    assert best is current and before == after and basis == "none"
