#!/usr/bin/env bash
# environment.sh [--borrow] FOLDER LOCK...: a virtual environment with the packages of the lock files, made again when a lock file is newer.
# A lock named without_dependencies.lock is installed without what its packages ask for. With --borrow it finds the packages of the project's own
# environment, too, after its own.
set -euo pipefail
own=.venv
borrow=
if [ "$1" = --borrow ]; then borrow=1; shift; fi
environment=$1; shift
packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
current() { for lock in "$@"; do [ "$environment/.installed" -nt "$lock" ] || return 1; done; }
if ! current "$@"; then
	[ -x "$environment/bin/python" ] || "${ENVIRONMENT_PYTHON:-${PYTHON:-python3}}" -m venv "$environment"
	for lock in "$@"; do
		case $lock in *without_dependencies.lock) options=--no-deps ;; *) options= ;; esac
		packaging/quietly.sh "Installing ${lock%.lock} into $environment" "$environment/bin/python" -m pip install \
			--disable-pip-version-check --require-hashes $options -r "$lock"
	done
	touch "$environment/.installed"
fi
# Said at each run: another clone may have run before, and be gone.
if [ -n "$borrow" ]; then packages "$own" > "$(packages "$environment")/project.pth"; fi
