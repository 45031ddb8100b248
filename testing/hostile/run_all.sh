#!/usr/bin/env bash
# Files of shared structures (GRAPHS) opened, EDITS of them changed, CONVERSIONS compared and copied, RECOVERIES checked and recovered; MODELS files of
# data models; DOCUMENTS sidecars, plans, splits, references and commits; CONTAINERS of the connector; COUNT damaged files, for at most LIMIT seconds,
# compared with h5py. Files of other people are used, too, once `make conformance` has gathered them.
set -euo pipefail
python=.venv/bin/python
gathered=$CACHE/conformance/files
run() { "$python" "testing/hostile/$1.py" "${@:2}"; }
run run_graphs --count "${GRAPHS:-3000}"
[ ! -d "$gathered" ] || run run_graphs --use open --file "$gathered"
run run_graphs --use edit --count "${EDITS:-500}"
run run_graphs --use objects --count "${EDITS:-500}"
run run_graphs --use convert --count "${CONVERSIONS:-300}"
run run_graphs --use recover --count "${RECOVERIES:-300}"
run run_models --count "${MODELS:-2000}"
run run_documents --count "${DOCUMENTS:-1000}"
run run_containers --connector --count "${CONTAINERS:-1000}"
HYPERSLAB_POISON=1 run run --count "${COUNT:-100000}" $([ ! -d "$gathered" ] || echo "--gathered $gathered") ${LIMIT:+--seconds "$LIMIT"}
