#!/usr/bin/env bash
# Builds a thread-safe HDF5 from the sources in $1 into $2, with its C++, high-level and tool programs; with Fortran if $3 names a compiler.
# About six minutes; nothing is done where it was done before.
set -euo pipefail
source=$1
out=$2
fortran=$3

kind=c
[ -z "$fortran" ] || kind=fortran
[ -e "$out/$kind" ] && exit 0
rm -rf "$out/installed"
mkdir -p "$out"
options=(-DBUILD_SHARED_LIBS=ON -DBUILD_STATIC_LIBS=OFF -DHDF5_NO_PACKAGES=ON -DHDF5_BUILD_CPP_LIB=ON -DHDF5_BUILD_HL_LIB=ON
    -DHDF5_BUILD_TOOLS=ON -DHDF5_BUILD_EXAMPLES=OFF -DHDF5_BUILD_JAVA=OFF -DBUILD_TESTING=OFF
    -DHDF5_ENABLE_THREADSAFE=ON -DALLOW_UNSUPPORTED=ON -DHDF5_ENABLE_SZIP_SUPPORT=OFF)
[ -z "$fortran" ] || options+=(-DHDF5_BUILD_FORTRAN=ON "-DCMAKE_Fortran_COMPILER=$fortran")
# Not "thread-safe with C++" as such is unsupported: HDF5 only tests its C functions for it.
[ -e /usr/include/zlib.h ] && options+=(-DHDF5_ENABLE_Z_LIB_SUPPORT=ON) || options+=(-DHDF5_ENABLE_Z_LIB_SUPPORT=OFF)
cmake -S "$source" -B "$out/build" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=$out/installed" -DCMAKE_INSTALL_LIBDIR=lib \
    "${options[@]}" > "$out/configure.log" 2>&1 || { tail -40 "$out/configure.log"; exit 1; }
cmake --build "$out/build" --parallel 2 > "$out/build.log" 2>&1 || { tail -40 "$out/build.log"; exit 1; }
cmake --install "$out/build" > "$out/install.log" 2>&1
rm -rf "$out/build"
touch "$out/$kind"
