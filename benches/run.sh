#!/usr/bin/env bash
# run.sh NAME: a benchmark, benches/NAME/PROGRAM.py ARGUMENTS; PROGRAM is `run` if it is not given. With a requirements.lock it has an environment of its
# own, outside of the clone. What it needs beyond that is in its prepare.sh, which is sourced: it may set `environment`, `program` and `arguments`.
set -euo pipefail
name=$1
bench=benches/$name
program=$bench/${PROGRAM:-run}.py
folder=$CACHE/bench/$name
arguments=()
environment=.venv
if [ -e "$bench/requirements.lock" ] && [ "$name" != batches ]; then
	environment=$VENVS/bench-$name
	packaging/environment.sh --borrow "$environment" "$bench"/*.lock
fi
if [ -e "$bench/prepare.sh" ]; then source "$bench/prepare.sh"; fi
mkdir -p "$folder"
PYTHONPATH=$PWD/bindings/python/python exec "$environment/bin/python" -W ignore "$program" "${arguments[@]}" ${ARGUMENTS:-}
