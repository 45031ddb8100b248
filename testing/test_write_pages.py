"""Properties of a file that other programs honor when they change it: when fill values are written, and pages."""

import h5py
import hyperslab as hs
import numpy as np
import pyarrow as pa
import pytest
from h5py import h5d

TIMES = {"alloc": h5d.FILL_TIME_ALLOC, "never": h5d.FILL_TIME_NEVER, "ifset": h5d.FILL_TIME_IFSET}
LAYOUTS = {
    "contiguous": {}, "chunked": {"chunks": (3, 4)}, "filtered": {"chunks": (3, 4), "compression": "gzip"}, "growing": {"maxshape": (None, 10)},
}


def stored_time(dataset):
    return dataset.id.get_create_plist().get_fill_time()


@pytest.mark.parametrize("fillvalue", [None, 7])
@pytest.mark.parametrize("time", [None, *TIMES])
def test_the_time_that_was_asked_for_is_stored(tmp_path, time, fillvalue):
    path, values = tmp_path / "x.h5", np.arange(100).reshape(10, 10)
    with hs.create(path) as f:
        for name, layout in LAYOUTS.items():
            f.create_dataset(name, data=values, dtype="i4", fill_time=time, fillvalue=fillvalue, **layout)
            part = f.create_dataset(f"part of {name}", (10, 10), "i4", fill_time=time, fillvalue=fillvalue, **layout)
            part[2:5, 3:] = values[2:5, 3:]
        f.create_dataset("scalar", data=3, fill_time=time, fillvalue=fillvalue)
        f.copy("chunked", "copied")
    with h5py.File(path) as f, hs.open(path) as ours:
        for name in f:
            assert stored_time(f[name]) == TIMES[time or "ifset"], name
            if name == "scalar":
                assert f[name][()] == 3
            elif name.startswith("part of"):
                assert (f[name][2:5, 3:] == values[2:5, 3:]).all()
                # What was never written is the fill value to us, whatever the time.
                expected = np.full((10, 10), fillvalue or 0)
                expected[2:5, 3:] = values[2:5, 3:]
                assert (ours[name][:] == expected).all()
            else:
                assert (f[name][:] == values).all() and (ours[name][:] == values).all()


def test_hdf5_fills_what_it_allocates_as_the_time_says(tmp_path):
    path = tmp_path / "x.h5"
    with hs.create(path) as f:
        for time in TIMES:
            f.create_dataset(time, (4,), "i4", chunks=(2,), maxshape=(None,), fill_time=time, fillvalue=7)
    with h5py.File(path, "r+") as f:
        for time in TIMES:
            f[time][0] = 1
    with h5py.File(path) as f:
        assert [f[time][0] for time in TIMES] == [1, 1, 1]
        assert [f[time][1] for time in ("alloc", "ifset")] == [7, 7]


@pytest.mark.parametrize("time", TIMES)
def test_plans_commits_appends_and_fusing_keep_the_time(tmp_path, time):
    path, values = tmp_path / "x.h5", np.arange(12.0)
    plan = hs.WritePlan(path, writers=2, factor=2)
    plan.create_dataset("run", (12,), "f8", fill_time=time, fillvalue=-1)
    plan.create_dataset("packed", (12,), "f8", chunks=(3,), compression="gzip", fill_time=time)
    fragments = []
    for number in range(2):
        mine = np.s_[number * 6:number * 6 + 6]
        with plan.task(number) as task:
            task.write("run", values[mine])
            task.write("packed", values[mine])
            region = task.create_dataset("region", (12,), "f8", region=mine, fill_time=time, fillvalue=-1)
            region[mine] = values[mine]
            rows = task.create_dataset("rows", (0,), "f8", rows=True, fill_time=time)
            rows.append(values[mine])
            fragments.append(task.finish())
    plan.commit(fragments)
    more = hs.WritePlan(path, "append")
    with more.task(0) as task:
        rows = task.create_dataset("rows", (0,), "f8", rows=True)
        rows.append([12.0])
        more.commit([task.finish()])
    hs.fuse(path, tmp_path / "fused.h5")
    names = ["run", "packed", "region", "rows"]
    for found in (path, tmp_path / "fused.h5"):
        with h5py.File(found) as f:
            assert {name: stored_time(f[name]) for name in names} == dict.fromkeys(names, TIMES[time])
            assert all((f[name][:12] == values).all() for name in names) and f["rows"][12] == 12
    for part in tmp_path.glob("x.h5.d/**/*.h5"):
        with h5py.File(part) as f:
            assert all(stored_time(f[name]) == TIMES[time] for name in f if "rows" not in name), part


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("time", TIMES)
def test_appending_to_a_file_of_h5py_keeps_the_time(tmp_path, time, libver):
    """Both versions of the message: 2 and 3."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("id", data=np.arange(3), maxshape=(None,), chunks=(4,), fill_time=time, fillvalue=9)
        f.create_dataset("other/whole", data=np.arange(3), fill_time=time)
    hs.write_table(pa.table({"id": [3, 4]}), path, mode="a")
    with h5py.File(path) as f:
        assert (stored_time(f["id"]), stored_time(f["other/whole"])) == (TIMES[time], TIMES[time])
        assert f["id"][:].tolist() == [0, 1, 2, 3, 4]


def test_times_that_do_not_exist_are_refused(tmp_path):
    plan = hs.WritePlan(tmp_path / "x.h5", writers=1)
    for create in (hs.create(tmp_path / "y.h5").create_dataset, plan.create_dataset):
        with pytest.raises(hs.InvalidInputError, match="fill_time='sometimes': give one of ifset, alloc, never"):
            create("x", (3,), "i4", fill_time="sometimes")
