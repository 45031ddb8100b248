# Needs Debian's package chromium, or CHROMIUM=program. PICTURES=folder keeps pictures of what was shown.
prepared
make --no-print-directory viewer
export HYPERSLAB_PYTHON=$PWD/.venv/bin/python HYPERSLAB_PICTURES=${PICTURES:-}
path=
