#!/usr/bin/env bash
# quietly.sh "What it does" COMMAND...: runs a command of `make` and prints what it does, and every half minute how far
# it is. The command's own output is printed if it fails.
set -uo pipefail
what=$1
shift
log=$(mktemp)
start=$SECONDS
echo "$what ..."
"$@" >"$log" 2>&1 &
command=$!
(
	waited=0
	while sleep 1 && kill -0 "$command" 2>/dev/null; do
		waited=$((waited + 1))
		if [ $((waited % ${QUIETLY_SECONDS:-30})) -eq 0 ]; then
			echo "  ${waited} s: $(grep -aE '^ *(Compiling|Collecting|Installing|Downloading)' "$log" | tail -n 1 | sed -e 's/ (.*//' -e 's/^ *//' | cut -c1-60)"
		fi
	done
) &
heart=$!
# Only now: a subshell that is killed as it begins runs the traps that it inherited.
trap 'rm -f "$log"' EXIT
trap 'kill "$command" 2>/dev/null; exit 130' INT TERM
wait "$command"
status=$?
kill "$heart" 2>/dev/null
wait "$heart" 2>/dev/null
if [ "$status" -ne 0 ]; then
	cat "$log"
	echo "$what: failed"
	exit "$status"
fi
echo "  done in $((SECONDS - start)) s"
