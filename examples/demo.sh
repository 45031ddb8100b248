#!/usr/bin/env bash
# The main job on real files: look, query, export, plot. `make demo` runs it.
set -euo pipefail
cd "$(dirname "$0")/.."
data=examples/data
out=build/demo
mkdir -p "$out"
say() { printf '\n== %s\n' "$1"; }

say "What is in a netCDF-4 file (hyperslab ls)"
hyperslab ls "$data/atlantic_profiles.nc"

say "SQL on a variable (hyperslab sql): mean temperature by depth, 100 m and above"
hyperslab sql "$data/atlantic_profiles.nc" \
  'select depth, round(avg(theta), 2) as theta, count(*) as cells from theta where depth <= 100 group by depth order by depth'

say "SQL on a classic netCDF-3 file: electron density by height"
hyperslab sql "$data/space_weather.nc" \
  'select height, max(Ne) as densest from Ne group by height order by densest desc limit 3'

say "An HDF5 file that is not a grid: single cells (AnnData)"
hyperslab ls "$data/10x_pbmc68k_reduced.h5ad" /obs

say "Export to Parquet (hyperslab export)"
hyperslab export "$data/atlantic_profiles.nc" /theta "$out/theta.parquet"

say "A plot (hyperslab plot)"
hyperslab plot "$data/rotated_pole.nc" /air_pressure_at_sea_level "$out/pressure.png"

say "The files that were written"
ls -l "$out" | awk 'NR > 1 { print "  '"$out"'/" $NF " (" $5 " bytes)" }'
