"""Ray Data on arrays: each task reads some splits. Needs `pip install 'hyperslab[ray]'`."""

import pathlib

import hyperslab as hs
import ray

ray.init(ignore_reinit_error=True, include_dashboard=False, log_to_driver=False)
path = pathlib.Path(__file__).parent / "data" / "atlantic_profiles.nc"
rows = hs.ray.read_hdf5(path, "/theta", "depth < 30", columns=["depth", "theta"], layout="cells")
theta = hs.open(path).table("/theta", "depth < 30")
print(rows.sum("theta") / rows.count(), theta.sum("theta") / theta.count())
