"""Selections of every kind in memory and in the file: what is written and read is what numpy says, natively and through the connector."""

from __future__ import annotations

import pathlib

import pytest
from programs import run, script

PROGRAM = """
    import sys
    import h5py
    import numpy as np

    g = np.random.default_rng(int(sys.argv[2]))
    inner = np.dtype([("p", "<i2"), ("q", ">i4")])
    dtypes = [np.dtype("<f8"), np.dtype(">i2"), np.dtype("S3"), np.dtype([("x", "<f4"), ("n", inner), ("v", "<i2", (3,)), ("k", "<i8")])]
    dtypes.append(np.dtype({"names": ["a", "b"], "formats": ["i1", "<f8"], "offsets": [0, 16], "itemsize": 40}))

    def values(dtype, shape):
        raw = g.integers(0, 120, (int(np.prod(shape)), dtype.itemsize), dtype="u1")
        out = np.zeros(shape, dtype)
        if dtype.names is None:
            return raw.view(dtype).reshape(shape)
        for name in dtype.names:
            out[name] = values(dtype[name].base, (*shape, *dtype[name].shape))
        return out

    def axis(extent):
        kind = g.integers(4)
        start = int(g.integers(0, extent))
        if kind == 0:
            return (0, 1, extent, 1)
        if kind == 1:
            return (start, 1, 1, int(g.integers(1, extent - start + 1)))
        stride = int(g.integers(1, 12))
        block = int(g.integers(1, stride + 1)) if kind == 3 else 1
        count = max(1, (extent - start - block) // stride + 1) if start + block <= extent else 0
        return (start, stride, int(g.integers(1, count + 1)), block) if count else (start, 1, 1, 1)

    def selected(shape):
        '''A space with a selection, and the positions of its elements in order.'''
        space = h5py.h5s.create_simple(shape)
        positions = np.arange(int(np.prod(shape))).reshape(shape)
        if g.integers(5) == 0:
            points = np.stack([g.integers(0, n, int(g.integers(1, 60))) for n in shape[:1]] * 1, axis=1)
            points = np.stack([g.integers(0, n, len(points)) for n in shape], axis=1)
            points = np.unique(points, axis=0)
            g.shuffle(points)
            space.select_elements(points.astype("u8"))
            return space, positions[tuple(points.T)].reshape(-1)
        mask = np.zeros(shape, bool)
        for turn in range(int(g.integers(1, 4))):
            axes = [axis(n) for n in shape]
            start, stride, count, block = (tuple(one[i] for one in axes) for i in range(4))
            space.select_hyperslab(start, count, stride, block, op=h5py.h5s.SELECT_SET if turn == 0 else h5py.h5s.SELECT_OR)
            indexes = [np.concatenate([s + k * t + np.arange(b) for k in range(c)]) for s, t, c, b in axes]
            if turn == 0:
                mask[:] = False
            mask[np.ix_(*indexes)] = True
        return space, positions[mask]

    def in_memory(count):
        '''A space in memory that selects as many elements.'''
        kind = g.integers(3)
        if kind == 0:
            return h5py.h5s.create_simple((count,)), np.arange(count)
        if kind == 1:
            stride = int(g.integers(2, 9))
            space = h5py.h5s.create_simple((count * stride + 3,))
            space.select_hyperslab((3,), (count,), (stride,))
            return space, 3 + stride * np.arange(count)
        places = g.permutation(2 * count)[:count]
        space = h5py.h5s.create_simple((2 * count,))
        space.select_elements(places.reshape(-1, 1).astype("u8"))
        return space, places

    with h5py.File(sys.argv[1], "w") as f:
        for number in range(12):
            dtype = dtypes[int(g.integers(len(dtypes)))]
            shape = [(int(g.integers(50, 40_000)),), (int(g.integers(20, 90)), int(g.integers(20, 200))), (7, 31, 29)][int(g.integers(3))]
            expected = values(dtype, shape)
            dataset = f.create_dataset(f"d{number}", data=expected, chunks=True if g.integers(2) else None)
            if g.integers(2):
                f.flush()
            for turn in range(8):
                space, places = selected(shape)
                memory, targets = in_memory(len(places))
                memory_type = h5py.h5t.py_create(dtype if g.integers(2) or dtype.names else dtype.newbyteorder())
                own = memory_type.dtype if dtype.names is None else dtype
                buffer = values(own, (memory.get_simple_extent_npoints(),))
                if turn % 2:
                    before = buffer.copy()
                    dataset.id.read(memory, space, buffer, memory_type)
                    wanted = before.copy()
                    wanted[targets] = expected.reshape(-1)[places].astype(own)
                    if dtype.names:
                        # Bytes that belong to no member stay, too.
                        assert all(np.array_equal(buffer[name], wanted[name]) for name in dtype.names), (number, turn)
                    else:
                        assert np.array_equal(buffer, wanted), (number, turn)
                else:
                    dataset.id.write(memory, space, buffer, memory_type)
                    flat = expected.reshape(-1)
                    flat[places] = buffer[targets].astype(dtype)
                    expected = flat.reshape(shape)
            part = None
            if dtype.names and len(dtype.names) > 2:
                part = dtype.names[1]
                some = np.dtype([(part, dtype[part])])
                space, places = selected(shape)
                memory, targets = in_memory(len(places))
                buffer = np.zeros(memory.get_simple_extent_npoints(), some)
                dataset.id.read(memory, space, buffer, h5py.h5t.py_create(some))
                assert np.array_equal(buffer[part][targets], expected.reshape(-1)[places][part]), number
                buffer[part][targets] = values(dtype[part].base, (len(targets), *dtype[part].shape))
                dataset.id.write(memory, space, buffer, h5py.h5t.py_create(some))
                flat = expected.reshape(-1)
                flat[part][places] = buffer[part][targets]
                expected = flat.reshape(shape)
            found = dataset[()]
            same = all(np.array_equal(found[name], expected[name]) for name in dtype.names) if dtype.names else np.array_equal(found, expected)
            assert same, number
    print("equal")
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("connector", ["native", "arrow", "arrow form=file"])
def test_random_selections(seed: int, connector: str, plugins: pathlib.Path, tmp_path: pathlib.Path) -> None:
    done = run(script(PROGRAM, tmp_path / "out.h5", seed), None if connector == "native" else plugins, connector)
    assert done.stdout.strip() == "equal", done.stderr


CHANGES = """
    import sys
    import h5py
    import numpy as np

    path, big = sys.argv[1], 300_000
    record = np.dtype([("a", "<i4"), ("b", ">f8")])
    values = np.zeros(big, record)
    values["a"], values["b"] = np.arange(big), np.arange(big) / 7
    with h5py.File(path, "w") as f:
        f.create_dataset("grows", data=np.arange(5), maxshape=(None,), chunks=(4,), fillvalue=77)
        f.create_dataset("large", data=np.arange(100_000), maxshape=(None,), chunks=(1000,), fillvalue=-5)
        f["records"], f["other"] = values, np.arange(big)
        appended = f.create_dataset("appended", (0,), record, maxshape=(None,), chunks=(1000,))
        for i in range(2000):
            appended.resize((30 * (i + 1),))
            appended[-30:] = values[30 * i : 30 * i + 30]
            if i % 700 == 0:
                assert np.array_equal(appended[:], values[: 30 * i + 30])
                f.flush()
    expected = {"grows": np.arange(5), "large": np.arange(100_000), "records": values, "other": np.arange(big), "appended": values[:60_000]}
    with h5py.File(path, "r+") as f:
        # Values are written before the fill value is needed.
        for name, count, fill in [("grows", 9, 77), ("large", 120_000, -5)]:
            f[name][1] = 1000
            f[name].resize((count,))
            old = expected[name].copy()
            old[1] = 1000
            expected[name] = np.concatenate([old, np.full(count - len(old), fill)])
            assert np.array_equal(f[name][:], expected[name]), name
        for start, step in [(0, 2), (7, 3), (100_001, 1)]:
            f["records"][start::step] = values[::-1][start::step]
            expected["records"] = expected["records"].copy()
            expected["records"][start::step] = values[::-1][start::step]
            assert np.array_equal(f["records"][:], expected["records"]), (start, step)
        f["other"][...] = np.arange(big)[::-1]
        expected["other"] = np.arange(big)[::-1]
        f["again"] = f["records"][::2]
        del f["again"]
    with h5py.File(path) as f:
        assert set(f) == set(expected)
        for name, found in expected.items():
            assert np.array_equal(f[name][:], found), name
    print("done")
"""


@pytest.mark.parametrize("connector", [None, "arrow", "arrow form=file"])
def test_published_values_change_as_natively(plugins: pathlib.Path, tmp_path: pathlib.Path, connector: str | None) -> None:
    program = script(CHANGES, tmp_path / "x.h5")
    found = run(program, plugins, connector) if connector else run(program)
    assert found.stdout == "done\n", found.stderr
