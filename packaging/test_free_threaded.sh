#!/usr/bin/env bash
# test_free_threaded.sh FOLDER: a wheel for python3.14t (or 3.13t, if Debian gives no source of 3.14), read and written by many threads without Python's lock.
set -euo pipefail
mkdir -p "$1"
.venv/bin/python packaging/free_threaded.py .venv/bin/maturin "$1"
rm -rf "$1/venv" "$1/files" && mkdir "$1/files"
"$(cat "$1/interpreter")" -m venv "$1/venv"
"$1/venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r packaging/free-threaded.lock
"$1/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps "$1"/*.whl
.venv/bin/python packaging/check_free_threaded.py expected "$1/files" examples/data
root=$PWD
cd "$1" && env -u PYTHONPATH venv/bin/python -I "$root/packaging/check_free_threaded.py" files "$root/examples/data"
