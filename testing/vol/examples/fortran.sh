#!/usr/bin/env bash
# Prints a Fortran compiler: the system's, else Debian's for the version of gcc that is here, unpacked into $1. Nothing is installed.
# Where there is none, it prints nothing.
set -uo pipefail
out=$1

command -v gfortran && exit 0
[ -x "$out/gfortran" ] || {
    version=$(gcc -dumpversion | cut -d. -f1)
    mkdir -p "$out/packages" && cd "$out/packages" || exit 0
    apt-get download -qq "gfortran-$version" "libgfortran-$version-dev" libgfortran5 > "$out/download.log" 2>&1 || exit 0
    for package in *.deb; do dpkg -x "$package" ../root || exit 0; done
    root=$out/root/usr
    library=$(dirname "$root"/lib/*/libgfortran.so.5)
    # Its linker and start files are gcc's own.
    cat > "$out/gfortran.part" <<END
#!/bin/sh
exec "$root/bin/gfortran-$version" -fno-use-linker-plugin "-B$(dirname "$(gcc -print-libgcc-file-name)")/" "-L$library" "-Wl,-rpath,$library" "\$@"
END
    chmod +x "$out/gfortran.part" && mv "$out/gfortran.part" "$out/gfortran"
}
echo "$out/gfortran"
