#!/usr/bin/env bash
# Writes each lock file anew: every package that a requirements.txt needs, with the hashes of its files. uv resolves; versions that are in a lock stay.
set -euo pipefail
packaging/environment.sh "$VENVS/pins" packaging/uv.lock
lock() { "$VENVS/pins/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make pins" "$@"; }
lock_in() { (cd "$1" && shift && lock "$@"); }
lock_in testing requirements.txt -o requirements.lock
for part in demo maturin; do lock_in testing --constraints requirements.lock $part.txt -o $part.lock; done
for file in testing/suites/*/requirements.txt benches/*/requirements.txt docs/site/requirements.txt packaging/requirements.txt; do
	lock_in "$(dirname "$file")" requirements.txt -o requirements.lock
done
for folder in testing/suites/instruments benches/batches; do lock_in $folder --no-deps without_dependencies.txt -o without_dependencies.lock; done
lock_in benches/reading/contestants xarray-sql.txt -o xarray-sql.lock
for version in 3 4; do lock_in testing/suites/spark --constraints requirements.lock spark$version.txt -o spark$version.lock; done
for tool in uv deny conda free-threaded; do lock_in packaging $tool.txt -o $tool.lock; done
