# Needs Debian's package chromium, or CHROMIUM=program. PICTURES=folder keeps pictures of what was shown.
command -v "${CHROMIUM:-/usr/bin/chromium}" > /dev/null || untested "the viewer in a browser. Chromium is missing."
prepared
make --no-print-directory viewer
export HYPERSLAB_PYTHON=$PWD/.venv/bin/python HYPERSLAB_PICTURES=${PICTURES:-}
path=
