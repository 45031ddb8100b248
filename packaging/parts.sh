#!/usr/bin/env bash
# parts.sh TARGET...: makes one after the other, and says how long each took.
set -uo pipefail
times=
for part in "$@"; do
	echo "== $part"
	start=$SECONDS
	"${MAKE:-make}" --no-print-directory "$part" || { echo "== $part failed after $((SECONDS - start)) s"; exit 1; }
	times+=$(printf '%-16s %2d min %02d s' "$part" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)))$'\n'
done
echo "== passed"
printf '%s' "$times"
