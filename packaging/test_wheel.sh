#!/usr/bin/env bash
# test_wheel.sh FOLDER: the wheel in FOLDER, in a fresh environment: first without extras, then with them, and its pages if they were built.
set -euo pipefail
cd "$1"
data=$OLDPWD/examples/data/atlantic_profiles.nc
check() { env -u PYTHONPATH venv/bin/python -I "$OLDPWD/packaging/check_wheel.py" "$1" "$data"; }
"${PYTHON:-python3}" -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check ./*.whl
check bare
venv/bin/python -m pip install --quiet --disable-pip-version-check "$(echo ./*.whl)[cli,sql,plot,viewer]"
check extras
if [ -e "$OLDPWD/bindings/python/python/hyperslab/viewer/static/index.html" ]; then check pages; fi
