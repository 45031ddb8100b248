"""SQL of DataFusion on arrays: columns, comparisons and limits are pushed down. Needs `pip install datafusion`."""

import pathlib

import hyperslab as hs
from datafusion import SessionContext

profiles = hs.open(pathlib.Path(__file__).parent / "data" / "atlantic_profiles.nc")
context = SessionContext()
context.register_dataset("theta", profiles.table("/theta").dataset())
context.register_dataset("salinity", profiles.table("/salinity").dataset())
warm = context.sql("""select theta.depth, avg(theta) as theta, avg(salinity) as salinity from theta join salinity using (depth, lat, lon)
                      where theta.depth < 30 group by theta.depth order by theta.depth""")
print(warm.to_pandas())
