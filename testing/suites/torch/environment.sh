#!/usr/bin/env bash
# environment.sh ENVIRONMENT LOCK...: an environment with Debian's PyTorch, whose packages are unpacked outside of the clone; nothing is installed.
# PyTorch's own wheel brings gigabytes of CUDA, Debian's build none. Prints the folders of its libraries.
set -euo pipefail
debian=$CACHE/torch environment=$1
if [ ! -e "$debian/.unpacked" ]; then
	rm -rf "$debian" && mkdir -p "$debian/packages"
	pushd "$debian/packages" > /dev/null
	packages=$(apt-get install --simulate --no-install-recommends python3-torch 2> /dev/null | sed -n 's/^Inst \([^ ]*\).*/\1/p')
	[ -n "$packages" ] && apt-get download -qq $packages 2> /dev/null
	for package in *.deb; do dpkg -x "$package" ..; done
	rm ./*.deb
	popd > /dev/null
	touch "$debian/.unpacked"
fi
ENVIRONMENT_PYTHON=/usr/bin/python3 packaging/environment.sh "$@" >&2
echo "$debian/usr/lib/python3/dist-packages" > "$(echo "$environment"/lib/python3*/site-packages)/debian.pth"
triplet=$(dpkg --print-architecture | sed 's/amd64/x86_64/; s/arm64/aarch64/')-linux-gnu
libraries=$debian/usr/lib/$triplet
echo "$debian/usr/lib:$debian/lib/$triplet:$libraries:$libraries/blas:$libraries/lapack"
