#!/usr/bin/env bash
# install.sh FOLDER: Azurite into a folder outside of the clone, as its lock says.
set -euo pipefail
here=$(dirname "$0")
[ "$1/.installed" -nt "$here/package-lock.json" ] && exit 0
mkdir -p "$1" && cp "$here"/package*.json "$1"
cd "$1" && npm install --no-save --silent --no-audit --no-fund --ignore-scripts && touch .installed
