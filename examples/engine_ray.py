"""Ray Data on arrays: each split is read by a task. Needs `pip install 'ray[data]'`."""

import pathlib

import hyperslab as hs
import pyarrow as pa
import ray


def read(batch: dict) -> pa.Table:
    return pa.concat_tables(split.read(threads=1) for split in batch["item"])


ray.init(ignore_reinit_error=True, include_dashboard=False, log_to_driver=False)
theta = hs.open(pathlib.Path(__file__).parent / "data" / "atlantic_profiles.nc").table("/theta", "depth < 30", columns=["depth", "theta"])
rows = ray.data.from_items(theta.splits(8)).map_batches(read, batch_size=1)
print(rows.sum("theta") / rows.count(), theta.sum("theta") / theta.count())
