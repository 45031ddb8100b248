#!/usr/bin/env bash
# run.sh NAME [ENVIRONMENT]: the tests of a suite in an environment of its own, outside of the clone. What a suite needs beyond its packages is in
# its prepare.sh, which is sourced: it may export variables, and set `options` of pytest, `path` (of Python), `before` and `after` (commands).
# TESTS adds options and names of pytest.
set -euo pipefail
name=$1
suite=testing/suites/$name
environment=$VENVS/${2:-$name}
path=$PWD/bindings/python/python
options=
locks=("$suite"/requirements.lock)
borrow=
eval "selected=(${TESTS:-})"
untested() { echo "*** NOT TESTED: $1 ***"; exit 0; }
tests() { PYTHONPATH=$path "$environment/bin/python" -m pytest -q -p no:cacheprovider --disable-warnings --confcutdir="$suite" $options "$suite" "${selected[@]}"; }
prepared() { packaging/environment.sh $borrow "$environment" "${locks[@]}"; }
if [ -e "$suite/prepare.sh" ]; then source "$suite/prepare.sh"; else prepared; fi
tests
if [ "$(type -t after)" = function ]; then after; fi
